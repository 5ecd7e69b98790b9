"""Calls functions of NumPy's in every spelling with every dtype, plainly and captured, and compares what happens.

A line of `numpy_table` becomes calls: the required arguments by position and by keyword, each optional one by keyword
and by position, all of them at once. `dtype=` and `out=` are tried with every dtype for every dtype of the arguments.
What counts is the result (type, dtype, shape, value), the arguments afterwards, the exception and the warnings.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import weft
from weft.capture._compile import CompiledFunction
from weft.errors import TraceError, WeftError

DENSE = bool(os.environ.get("WEFT_SWEEP_DENSE"))
DTYPES = [np.dtype(code) for code in "?bhilBHILefdgFDG"]
FEW = [np.dtype(code) for code in ("?BilefdgFD" if DENSE else "?lfF")]
SOME = DTYPES if DENSE else [np.dtype(code) for code in "?blBefdF"]
MISSING = object()
_BASE = np.array([[3.3, 1, 2, 5], [0, 4, 1.7, 70], [6, 2, 9, 1]])
_counter = itertools.count()


def arguments(dtype: Any) -> dict[str, Any]:
    """Fresh values for the names of the table, in a dtype. Python's `float` and `int` give numbers of that type."""
    dtype = np.dtype(dtype)
    x = _BASE - 2 if dtype.kind in "ifc" else _BASE
    y = _BASE[::-1] + (1j if dtype.kind == "c" else 0)
    if dtype.kind == "c":
        x = x + 1j * _BASE[:, ::-1]
    square = x[:, :3] + 6 * np.eye(3)
    values = {"x": x, "y": y, "v": x[0] + 1, "w": y[1], "S": square, "T": square @ square.conj().T}
    made = {name: np.ascontiguousarray(value.astype(dtype)) for name, value in values.items()}
    made["m"] = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], bool)
    made["k"] = np.array([2, 0, 1, 1])
    return made


_NUMBERS = {"r": 0.75, "q": 3, "t": True, "c": 1 + 2j}  # Python's


_NAMES = frozenset(arguments(float)) | {"D", "O", "P", *_NUMBERS}


def function_of(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A function that runs an expression, and the names of its parameters. `D` and `O` stand for a dtype and `out`."""
    words = re.findall(r"[A-Za-z_]+", re.sub(r"(\w+)=(?!=)|'[^']*'|\.\w+", " ", text))
    names = [name for name in dict.fromkeys(words) if name in _NAMES]
    body = text if text.startswith(" ") else f"    return {text}\n"
    source = f"def f({', '.join(names)}):\n{body}"
    file = f"<sweep {next(_counter)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"], names


# ── Spellings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def parsed(table: str) -> dict[str, dict[str, list[str]]]:
    """Function → parameter → expressions."""
    found = {}
    for line in table.strip().splitlines():
        name, *parts = line.split(" ")
        pairs = (part.split("=", 1) for part in parts)
        found[name] = {key: value.split(";" if key[0] != "*" else "|") for key, value in pairs}
    return found


def spellings(
    called: str, function: Any, given: dict[str, list[str]], *, bound: bool = False
) -> tuple[list[str], list[str], list[str]]:
    """The calls of a function with its arguments spelled in every way; those with a dtype, and those with `out`."""
    try:
        parameters = [*inspect.signature(function).parameters.values()][bound:]
    except (TypeError, ValueError):  # of a function in C in an older NumPy: the names serve for those by keyword
        parameters = [inspect.Parameter(name.lstrip("*"), inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in given]
    many = next((name for name in given if name[0] == "*"), None)
    if many is not None:
        return _with_many(called, given, many, {p.name for p in parameters})
    kinds = {p.name: p.kind for p in parameters}
    needed = [p.name for p in parameters if p.default is p.empty and p.name in given and p.kind not in _OPEN]
    more = [name for name in given if name not in needed]
    byname = [name for name in (*needed, *more) if kinds.get(name) is not inspect.Parameter.POSITIONAL_ONLY]
    first = {name: given[name][0] for name in needed}
    texts = [_text(called, combination, {}) for combination in _each(needed, given)]
    named = {name: value for name, value in first.items() if name in byname}
    texts.append(_text(called, [value for name, value in first.items() if name not in byname], named))
    positional = list(first.values())
    for name in more:
        texts += [_text(called, positional, {name: value}) for value in given[name] if name in byname]
        texts += [_text(called, values, {name: given[name][0]}) for values in _each(needed, given) if name in byname]
    texts += _by_position(called, parameters, given, positional)
    if len(needed) == 1 and first[needed[0]] in ("x", "v"):
        given_numbers = ("[v, w]",) if called.startswith("np.fft") else ("r", "q", "x[0, 0]", "[v, w]", "[r, q]")
        texts += [_text(called, [value], {}) for value in given_numbers]
    everything = {name: given[name][0] for name in more if name in byname}
    texts.append(_text(called, positional, everything))
    texts.append(_text(called, [first[n] for n in needed if n not in byname], {**named, **everything}))
    options = [{}, *({name: given[name][0]} for name in more if name in byname)]
    options = options if DENSE else options[:2]
    dtyped = [_text(called, positional, {**option, "dtype": "D"}) for option in options if "dtype" in kinds]
    out = [_text(called, positional, {**option, "out": "O"}) for option in options if "out" in kinds]
    both = [_text(called, positional, {"dtype": "'f'", "out": "O"})] if "dtype" in kinds and "out" in kinds else []
    spots = [p.name for p in parameters]
    for name, placed in (("dtype", dtyped), ("out", out)):
        if name in kinds and kinds[name] is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            before = [_sample(p, given) for p in parameters[: spots.index(name)]]
            if None not in before:
                placed.append(_text(called, [*map(str, before), name[0].upper()], {}))
    return _unique(texts), _unique(dtyped), _unique(out + both)


_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _with_many(called: str, given: Any, many: str, names: set[str]) -> tuple[list[str], list[str], list[str]]:
    rest = {name: values for name, values in given.items() if name != many}
    texts = [_text(called, [value] if value else [], {}) for value in given[many]]
    for name, values in rest.items():
        texts += [_text(called, [first], {name: value}) for value in values for first in given[many] if first]
    everything = {name: values[0] for name, values in rest.items()}
    texts.append(_text(called, [given[many][-1]], everything))
    dtyped = [_text(called, [given[many][0]], {"dtype": "D"})] if "dtype" in names else []
    return _unique(texts), dtyped, []


def _each(names: list[str], given: Any) -> list[list[str]]:
    """Values for some parameters: the first of each, and every other value of one of them."""
    made = [[given[name][0] for name in names]]
    for at, name in enumerate(names):
        for k, value in enumerate(given[name][1:], 1):
            # Values at the same place belong together: a vector for `a` with a vector for `b`.
            made.append([value if j == at else given[n][min(k, len(given[n]) - 1)] for j, n in enumerate(names)])
    return made


def _by_position(called: str, parameters: list[Any], given: Any, positional: list[str]) -> list[str]:
    made, values = [], []
    for p in parameters:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            break
        sample = _sample(p, given)
        if sample is None:
            break
        values.append(sample)
        if len(values) > len(positional):
            made.append(_text(called, list(values), {}))
    return made


def _sample(parameter: Any, given: Any) -> str | None:
    if parameter.name in given:
        return given[parameter.name][0]
    if parameter.name in ("dtype", "out", "order", "like"):
        return "None"
    if parameter.default is parameter.empty or parameter.default is np._NoValue:
        return None
    return repr(parameter.default) if not isinstance(parameter.default, type) else f"np.{parameter.default.__name__}_"


def _text(called: str, values: Any, named: dict[str, str]) -> str:
    return f"{called}({', '.join([*values, *(f'{name}={value}' for name, value in named.items())])})"


def _unique(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


# ── Comparison ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Outcome:
    """What a caller notices of one call."""

    def __init__(self, function: Callable[..., Any], args: list[Any]) -> None:
        self.args = args
        self.result: Any = MISSING
        self.error: Exception | None = None
        with warnings.catch_warnings(record=True) as noted, np.errstate(all="warn"):
            warnings.simplefilter("always")
            try:
                self.result = function(*args)
            except Exception as error:  # whatever it raises is what is compared
                self.error = error
        # Which spelling is out of fashion is told once, when it is captured.
        self.warned = {w.category for w in noted if not issubclass(w.category, DeprecationWarning)}
        self.returned = next((k for k, arg in enumerate(args) if arg is self.result), None)


def difference(got: Any, expected: Any) -> str | None:
    """How two results differ; None where they are the same."""
    if isinstance(expected, (tuple, list)):
        if type(got) is not type(expected) and not hasattr(expected, "_fields"):
            return f"a {type(got).__name__} for a {type(expected).__name__}"
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            return f"{len(expected)} parts expected"
        return next(filter(None, map(difference, got, expected)), None)
    if type(got) is not type(expected):
        return f"type {_type(got)} for {_type(expected)}"
    if not isinstance(expected, (np.ndarray, np.generic, float, complex)):
        return None if got is expected or got == expected else f"{got!r} for {expected!r}"
    one, other = np.asarray(got), np.asarray(expected)
    if one.dtype != other.dtype:
        return f"dtype {one.dtype} for {other.dtype}"
    if one.shape != other.shape:
        return f"shape {one.shape} for {other.shape}"
    if one.dtype.kind not in "fc":
        return None if np.array_equal(one, other) else f"values {one.tolist()} for {other.tolist()}"
    close = np.array_equal(one, other, equal_nan=True) or np.allclose(
        one, other, rtol=64 * np.finfo(one.dtype).eps, atol=64 * np.finfo(one.dtype).eps, equal_nan=True
    )
    return None if close else f"values {one.tolist()} for {other.tolist()}"


def _type(value: Any) -> str:
    return f"{type(value).__name__} of {value.dtype}" if hasattr(value, "dtype") else type(value).__name__


def _base(error: Exception) -> type:
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


class Compiled:
    """A compiled function that tells when it ran as plain Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.compiled = CompiledFunction(function, "numpy", None)
        self.fallen: Any = None
        plainly = self.compiled._plainly

        def watched(args: Any, kwargs: Any, given_up: Any, why: str) -> Any:
            self.fallen = why
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                return plainly(args, kwargs, given_up, why)

        self.compiled._plainly = watched  # type: ignore[method-assign]  # watched

    def __call__(self, *args: Any) -> Any:
        self.fallen = None
        return self.compiled(*args)


def compared(text: str, cases: Any, make: Callable[[Any], Any] = Compiled) -> Iterator[tuple[str, str, str]]:
    """What differs between a call and the same call captured: kind, the call with its dtypes, how it differs."""
    function, names = function_of(text)
    captured = make(function)
    for label, values in cases(function, names):
        expected = Outcome(function, values())
        got = Outcome(captured, values())
        place = f"{text}  [{label}]"
        if isinstance(got.error, TraceError) and expected.error is None:
            yield "refused", place, str(got.error).splitlines()[0]
            continue
        if expected.error is not None:
            if "some positional-only arguments passed as keyword" in str(expected.error):
                continue  # NumPy's signature says otherwise
            if make is not Compiled and got.error is not None:
                continue  # an op says in its own words what is wrong
            if got.error is None or not issubclass(_base(got.error), _base(expected.error)):
                yield "error", place, f"{got.error!r} for {expected.error!r}, gave {got.result!r:.80}"
            continue
        if got.error is not None:
            yield "raises", place, repr(got.error)[:200]
            continue
        if getattr(captured, "fallen", None) is not None:
            yield "plain", place, repr(captured.fallen)[:200]
            continue
        found = difference(got.result, expected.result)
        for name, how in zip(names, map(difference, got.args, expected.args), strict=True):
            found = found or (how and f"argument {name}: {how}")
        if found is None and got.returned != expected.returned:
            found = f"gives argument {got.returned} back, not {expected.returned}"
        if found is None and got.warned != expected.warned:
            found = f"warns {got.warned} for {expected.warned}"
        if found is not None:
            yield "differs", place, found


def with_dtypes(dtypes: list[Any]) -> Callable[..., Iterator[Any]]:
    """Cases of arguments of each dtype."""

    def cases(function: Any, names: list[str]) -> Iterator[Any]:
        for dtype in dtypes:
            made = arguments(dtype)
            yield dtype.name, lambda made=made: [_value(made, name) for name in names]

    return cases


def _value(made: dict[str, Any], name: str) -> Any:
    return _NUMBERS[name] if name in _NUMBERS else made[name].copy()


def _fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def with_pairs(dtypes: list[Any], others: list[Any], name: str) -> Callable[..., Iterator[Any]]:
    """Cases of arguments of each dtype with each other one as `dtype=` (`D`), that of `out` (`O`) or of `P`."""

    def cases(function: Any, names: list[str]) -> Iterator[Any]:
        for dtype in dtypes:
            made = arguments(dtype)
            shape = _shape_of(function, names, made) if name == "O" else None
            if shape is None and name == "O":
                continue
            for other in others:
                last = other if name == "D" else arguments(other)["y"] if name == "P" else np.ones(shape, other)

                def values(made: Any = made, last: Any = last) -> list[Any]:
                    return [(last.copy() if name in "OP" else last) if n == name else made[n].copy() for n in names]

                yield f"{dtype.name}, {other.name}", values

    return cases


def _shape_of(function: Any, names: list[str], made: dict[str, Any]) -> Any:
    """The shape of what a call gives without `out`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for trial in (made, arguments(float)):
            try:
                return np.shape(function(*(None if n == "O" else trial[n] for n in names)))
            except Exception:  # this dtype is not taken without an array to write into
                continue
    return None


# ── Derivatives ───────────────────────────────────────────────────────────────────────────────────────────────────────

_WEIGHTS = np.random.default_rng(2).random(4000)


def weighed(value: Any) -> Any:
    """A number that depends on every element of a result."""
    if isinstance(value, (tuple, list)):
        total = 0.0
        for part in value:
            total = total + weighed(part)
        return total
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return weighed(np.real(value)) + 2 * weighed(np.imag(value))
    if value.dtype.kind != "f":
        return 0.0
    flat = np.reshape(value, (-1,))
    return np.sum(flat * _WEIGHTS[: flat.shape[0]])


def smooth() -> dict[str, Any]:
    """Values for the names of the table at which nothing has a kink."""
    g = np.random.default_rng(3)
    x = g.permutation(12).reshape(3, 4) * 0.31 + 0.6 + g.random((3, 4)) * 0.1
    y = g.permutation(12).reshape(3, 4) * 0.27 + 0.75
    square = g.random((3, 3)) + 3 * np.eye(3)
    v, w = np.array([1.3, 0.7, 2.2, 3.1]), np.array([0.43, 1.61, 1.13, 2.87])
    return {**arguments(float), **_NUMBERS, "x": x, "y": y, "v": v, "w": w, "S": square, "T": square @ square.T}


def derivative_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with the gradient of a call: refused and why, or unlike the differences. None where it is right."""
    function, names = function_of(f"weighed({text})")
    function.__globals__["weighed"] = weighed
    made = smooth()
    args = [made[name] for name in names]
    which = tuple(k for k, name in enumerate(names) if name in "xyvwSTr")

    def at(values: list[Any]) -> Any:
        return function(*map(_fresh, values))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            start = at(args)
        except Exception:  # not for these arguments
            return None
        if not which or (isinstance(start, float) and not isinstance(start, np.floating)):
            return None  # whole numbers
        try:
            gradients = weft.grad(function, argnums=which)(*map(_fresh, args))
        except Exception as error:  # each is reported
            return ("refused" if isinstance(error, WeftError) else "raises"), str(error).splitlines()[0]
        g = np.random.default_rng(4)
        for k, gradient in zip(which, gradients, strict=True):
            step = 1e-6 * g.normal(size=np.shape(args[k]))
            step = step + step.T if names[k] == "T" else step
            up, down = (at([a + sign * step if j == k else a for j, a in enumerate(args)]) for sign in (1, -1))
            wanted, found = (up - down) / 2e-6, np.sum(gradient * step) / 1e-6
            if not np.isnan([wanted, found]).all() and not abs(wanted - found) < 1e-4 * (1 + abs(wanted)):
                return "wrong", f"{names[k]}: {found} where differences give {wanted}"
    return None


def tensor_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with a call that is given Tensors: refused and why, or how it differs. None where it is right."""
    function, names = function_of(text)
    made = smooth()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = function(*(_fresh(made[name]) for name in names))
        except Exception:  # not for these arguments
            return None
        tensors = [weft.tensor(made[n], requires_grad=True) if n in "xyvwST" else made[n] for n in names]
        try:
            found = function(*tensors)
        except (TypeError, ValueError, IndexError) as error:
            return "refused", str(error).splitlines()[0]
    how = difference(_numbers(found), _numbers(expected))
    return None if how is None else ("differs", how)


def _numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_numbers(part) for part in value]
    return value.detach().numpy() if isinstance(value, weft.Tensor) else np.asarray(value)
