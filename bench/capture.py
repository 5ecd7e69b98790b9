"""Capture: the cost of a first call, of a cached one, and how both grow with a program's length and depth.

`python -m bench.capture plain` compares cached calls of all programs of the tests with plain ones, and no more.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import linecache
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import weft
from bench.capture_programs import PROGRAMS
from bench.measure import Row, seconds, show
from weft.capture import _convert
from weft.capture._captured import capture
from weft.errors import CaptureError

LONGEST = 20.0  # ms, to convert and capture a function of 100 lines
CALL, ARGUMENT = 3.0, 0.3  # µs, that a cached call may add, and more for each argument
LARGER = 2.0  # at most this much dearer a line in a program ten times as long
DEEPER = 2.0  # at most this much dearer for each level of loops
SLOWER, SLOWER_BY = 3.0, 30.0  # how many times as long as a plain call a cached one may take, or how many µs longer


def first_call() -> list[Row]:
    """Functions of about 100 lines: to convert and capture them, and the whole first call beside the plain one."""
    rows = []
    for function, arguments in PROGRAMS:
        taken = min(_captured(function, arguments) for _ in range(7)) * 1e3
        lines = max(line for *_, line in function.__code__.co_lines() if line) - function.__code__.co_firstlineno + 1
        row = f"{function.__name__}, {lines} lines: convert and capture"
        rows.append(Row(row, f"{taken:.1f} ms", "", "", f"< {LONGEST:.0f} ms", taken < LONGEST))
        whole = min(_first(function, arguments) for _ in range(5)) * 1e3
        rows.append(Row(f"{function.__name__}: the first call, less a plain one", f"{whole:.1f} ms"))
    return rows


def _captured(function: Any, arguments: Callable[[], tuple[Any, ...]]) -> float:
    _convert._CACHE.clear()
    args = arguments()
    gc.collect()  # what the capture before has left behind is not this one's cost
    return seconds(lambda: capture(function, args, {}, branches=True, dynamic=True, numbers=True), repeat=1)


def _first(function: Any, arguments: Callable[[], tuple[Any, ...]]) -> float:
    _convert._CACHE.clear()
    args, again = arguments(), arguments()
    plain = seconds(lambda: function(*again), repeat=1)
    return seconds(lambda: weft.compile(function)(*args), repeat=1) - plain


# A cached call

SCALE, SHIFT = 2.5, 7


def _one(a: Any) -> Any:
    return a


def _eight(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    return a + b + c + d + e + f + g + h


def _numbers(a: Any, n: int, m: int, x: float, y: float) -> Any:
    return a * n + m * x - y


def _writes(a: Any, b: Any, c: Any, d: Any) -> None:
    a[:] = b
    c[:] = d


def _globals(a: Any) -> Any:
    return a * SCALE + SHIFT


def _defaults(a: Any, *, factor: float = 2.0, flag: bool = True, mode: str = "x") -> Any:
    return a * factor if flag else a


def _nested(p: Any) -> Any:
    return p["a"][0] + p["b"]


def cached_call() -> list[Row]:
    """What guards and dispatch add to the generated code, each beside the code alone, in turns."""
    big = np.zeros((8, 16))
    cases: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
        ("one array", _one, (np.ones(8),), {}),
        ("eight arrays", _eight, tuple(np.ones(8) for _ in range(8)), {}),
        ("an array and four numbers", _numbers, (np.ones(8), 3, 4, 1.5, 2.5), {}),
        ("four arrays, two written", _writes, tuple(np.ones(8) for _ in range(4)), {}),
        ("four rows of one array, two written", _writes, tuple(big[:4]), {}),
        ("two globals read", _globals, (np.ones(8),), {}),
        ("defaults and keywords", _defaults, (np.ones(8),), {"factor": 3.0}),
        ("arrays in a tuple in a dict", _nested, ({"a": (np.ones(8),), "b": np.ones(8)},), {}),
    ]
    rows = []
    for what, function, args, kwargs in cases:
        code, whole, inputs = _overhead(weft.compile(function), args, kwargs)
        limit = CALL + ARGUMENT * max(inputs, len(args) + len(kwargs))
        added = whole - code
        rows.append(
            Row(f"{what}: added to {code:.2f} µs", f"{added:.2f} µs", "", "", f"< {limit:.1f} µs", added < limit)
        )
    return rows


def _overhead(compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float, int]:
    """The time of the generated code and of the whole call, in µs, and how many inputs the code has."""
    for _ in range(20):  # the first ones are compared with plain calls
        compiled(*args, **kwargs)
    space = compiled._entries[-1].checks.space
    run, given = space["run"], []
    space["run"] = lambda *inputs: given.append(inputs)
    compiled(*args, **kwargs)
    space["run"] = run
    inputs = given[0]
    best = [float("inf"), float("inf")]
    repeats = range(2000)
    gc.collect()
    for _ in range(15):
        start = time.thread_time()
        for _ in repeats:
            run(*inputs)
        middle = time.thread_time()
        for _ in repeats:
            compiled(*args, **kwargs)
        best = [min(best[0], middle - start), min(best[1], time.thread_time() - middle)]
    return best[0] / len(repeats) * 1e6, best[1] / len(repeats) * 1e6, len(inputs)


# Growth


def growth() -> list[Row]:
    """The first call of longer programs, by line, and of deeper loops, by level."""
    rows = []
    lengths = (100, 1_000, 10_000)
    taken = [_compiled(_straight(lines), np.ones(4)) / lines for lines in lengths]
    told = ", ".join(f"{each * 1e6:.0f}" for each in taken)
    ratio = taken[2] / taken[1]
    what = f"µs a line of {', '.join(f'{n:,}' for n in lengths)}"
    rows.append(Row(what, told, "", f"{ratio:.2f}", f"<= {LARGER}", ratio <= LARGER))
    for name, header, line in NESTS:
        by_depth = [_compiled(_nested_loops(depth, header, line), np.arange(9.0), 4) for depth in range(1, 7)]
        ratio = (by_depth[5] / by_depth[2]) ** (1 / 3)
        told = ", ".join(f"{each * 1e3:.1f}" for each in by_depth)
        rows.append(
            Row(f"loops 1 to 6 deep, {name}, ms", told, "", f"{ratio:.2f} a level", f"<= {DEEPER}", ratio <= DEEPER)
        )
    return rows


NESTS = [
    ("a sum", ["for i# in range(n):"], "s += a[i#]"),
    ("writes", ["for i# in range(n):"], "a[i#] = a[i0] + 1"),
    ("types that widen", ["x# = 0", "for i# in range(n):"], "x# += a[i0]; s += x#"),
    ("arrays that are exchanged", ["for i# in range(n):"], "a, b = b, a + 1"),
    ("while", ["i# = 0", "while i# < n:", "    i# += 1"], "s += a[i0 - 1]"),
]


def _compiled(function: Any, *args: Any) -> float:
    return min(seconds(lambda: _first_call(function, args), repeat=1) for _ in range(3))


def _first_call(function: Any, args: tuple[Any, ...]) -> Any:
    _convert._CACHE.clear()
    compiled = weft.compile(function)
    copies = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    return compiled._capture(copies, {})


def _straight(lines: int) -> Any:
    texts = ("x = x + {}.0", "y = np.sin(x)", "x = x * 0.5 + y", "y[0] = {}.0", "x = np.maximum(x, y)")
    body = [f"    {texts[k % len(texts)].format(k)}" for k in range(lines)]
    return _function("\n".join(["def program(x):", "    y = x * 2", *body, "    return x, y"]))


def _nested_loops(depth: int, header: list[str], line: str) -> Any:
    lines = ["def program(a, n):", "    s = 0", "    b = a * 2"]
    for k in range(depth):
        lines += ["    " * (k + 1) + text.replace("#", str(k)) for text in header]
    lines += ["    " * (depth + 1) + line.replace("#", str(depth - 1)), "    return s, a, b"]
    return _function("\n".join(lines))


def _function(source: str) -> Any:
    name = f"<program {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["program"]


# Cached calls beside plain ones


Case = tuple[str, Any, Any, Callable[[], Any], int]
"""What is called, compiled and plain, what makes the arguments, and how many calls of the user's that is."""


def beside_plain() -> list[Row]:
    """The programs of the tests, and methods of objects with state: cached calls that take long beside plain ones."""
    tests = Path(__file__).parents[1] / "tests"
    sys.path += [str(tests), str(tests / "capture")]
    ratios, rows = [], []
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for name, compiled, plain, arguments, calls in [*_programs(), *_methods()]:
            try:
                ours, own = (taken / calls for taken in _in_turns(compiled, plain, arguments))
            except CaptureError:
                continue  # it was refused: there is nothing to run
            ratios.append(ours / own)
            if ours > SLOWER * own:
                target, met = f"{SLOWER:.0f}, or {SLOWER_BY:.0f} µs", ours < own + SLOWER_BY
                rows.append(Row(name, f"{ours:.1f} µs", f"{own:.1f} µs", f"{ours / own:.1f}", target, met))
    told = ", ".join(f"{share:.2f}" for share in np.quantile(ratios, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99]))
    what = f"compiled / plain of {len(ratios)}: the 10th, 25th, 50th, 75th, 90th, 99th percentile"
    return [Row(what, "", ratio=told), *sorted(rows, key=lambda row: -float(row.ratio))]


def _programs() -> Iterator[Case]:
    for each in importlib.import_module("programs._program").programs():
        yield each.name, weft.compile(each.function), each.function, each.arguments, 1


def _methods() -> Iterator[Case]:
    """Classes with state: all the calls that a test makes of one object."""
    for name, (made, given, calls) in importlib.import_module("stateful").CASES.items():
        compiled = {method: weft.compile(getattr(made, method)) for method, *_ in calls}
        plain = {method: getattr(made, method) for method in compiled}
        ways = [functools.partial(_call_all, made(*given), methods, calls) for methods in (compiled, plain)]
        yield name, *ways, lambda: (), len(calls)


def _call_all(owner: Any, methods: dict[str, Any], calls: list[tuple[Any, ...]]) -> None:
    for method, *args in calls:
        _call(methods[method], owner, *args)


def _call(function: Any, *args: Any) -> None:
    try:
        function(*args)
    except CaptureError:
        raise
    except Exception:  # what programs raise is theirs
        pass


def _in_turns(compiled: Any, plain: Any, arguments: Callable[[], Any]) -> tuple[float, float]:
    """The best times of both, in µs, after the calls that capture and compare."""
    best = [float("inf"), float("inf")]
    began = time.thread_time()
    for turn in range(200):
        if turn > 20 and time.thread_time() - began > 0.5:
            break
        for way, function in enumerate((compiled, plain)):
            args = arguments()
            start = time.perf_counter()
            _call(function, *args)
            taken = time.perf_counter() - start
            best[way] = min(best[way], taken if turn > 8 else float("inf"))
    return best[0] * 1e6, best[1] * 1e6


if __name__ == "__main__":
    if sys.argv[1:] == ["plain"]:
        show("Cached calls beside plain ones", beside_plain())
        sys.exit()
    show("Capturing functions of 100 lines", first_call())
    show("A cached call", cached_call())
    show("Growth of capture", growth())
