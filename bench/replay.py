"""Replay the functions of a project through `weft.compile`: the calls are those that the project's own tests make.

    python -m bench.replay colour --out colour.jsonl -- -q --pyargs colour.algebra
    python -m bench.replay --summary colour.jsonl

Every Python function and method of the project is watched while its tests run. The first calls of each are repeated
in a forked process on copies of their arguments: plainly, compiled, and compiled once more. What they return, raise,
print and change is compared. The tests themselves go on with the plain call. The packages live in an environment of
your own; weft must be importable there.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import dataclasses
import inspect
import io
import json
import os
import pickle
import random
import resource
import select
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

CALLS = 2  # of each function, with arguments that differ in type or shape
LIMIT = 15  # seconds of work that a replay may take
WAIT = 600.0  # seconds that it is waited for: a machine that does much else gives it a small part of them
LONG = 1.0  # seconds: longer plain calls are not replayed
_ORDER = ("wrong", "crash", "error", "slow", "refused", "plain", "captured", "skipped")  # worst first


@dataclasses.dataclass
class Outcome:
    """How one call of one function went."""

    function: str
    verdict: str
    detail: str = ""
    plain_s: float = 0.0
    cached_s: float = 0.0


class Replayer:
    """Watches the functions of a package; `outcomes` grows while they are called."""

    def __init__(self, package: str, out: Path) -> None:
        self.package = package
        self.out = out.open("a")
        self.seen: dict[Any, set[str]] = {}
        self.patched: list[tuple[Any, str, Any, Any]] = []
        self.busy = False

    # Watching

    def watch(self) -> None:
        """Put a watcher in the place of every function of the package, wherever a module holds it."""
        modules = [m for name, m in list(sys.modules.items()) if m is not None and self._counts(name)]
        watchers: dict[Any, Any] = {}
        for module in modules:
            for value in list(vars(module).values()):
                if isinstance(value, types.FunctionType) and self._own(value):
                    watchers.setdefault(value, self._watcher(value))
                elif isinstance(value, type) and self._counts(value.__module__):
                    self._watch_class(value)
        for module in [m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)]:
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and value in watchers:
                    self._patch(module, name, value, watchers[value])

    def _watch_class(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            plain = isinstance(value, types.FunctionType) and self._own(value)
            if plain and (not name.startswith("__") or name == "__call__"):
                self._patch(cls, name, value, self._watcher(value))

    def _patch(self, holder: Any, name: str, value: Any, watcher: Any) -> None:
        if getattr(value, "_replay_watcher", False):
            return
        with contextlib.suppress(AttributeError, TypeError):
            setattr(holder, name, watcher)
            self.patched.append((holder, name, value, watcher))

    def unwatch(self) -> None:
        """Put the functions back."""
        for holder, name, value, _ in self.patched:
            setattr(holder, name, value)

    def _counts(self, module: str) -> bool:
        inside = module == self.package or module.startswith(self.package + ".")
        return inside and ".tests" not in module and not module.rpartition(".")[2].startswith(("test_", "conftest"))

    def _own(self, function: types.FunctionType) -> bool:
        if not self._counts(function.__module__ or "") or inspect.isgeneratorfunction(function):
            return False
        return not function.__code__.co_filename.startswith("<") and function.__name__ != "<lambda>"

    def _watcher(self, function: Any) -> Any:
        def watcher(*args: Any, **kwargs: Any) -> Any:
            if not self.busy:
                self._meet(function, args, kwargs)
            return function(*args, **kwargs)

        watcher.__dict__.update(function.__dict__)
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__"):
            if "defaults" not in name:
                setattr(watcher, name, getattr(function, name))
        watcher.__wrapped__ = function  # type: ignore[attr-defined]
        watcher._replay_watcher = True  # type: ignore[attr-defined]
        return watcher

    # Replaying

    def _meet(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        kinds = self.seen.setdefault(function, set())
        if len(kinds) >= CALLS:
            return
        kind = _kind((args, kwargs))
        if kind in kinds:
            return
        kinds.add(kind)
        outcome = self._replay(function, args, kwargs)
        self.out.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
        self.out.flush()

    def _replay(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
        name = f"{function.__module__}.{function.__qualname__}"
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                self.busy = True
                resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                self.unwatch()
                data = pickle.dumps(dataclasses.asdict(compared(name, function, args, kwargs)))
            except BaseException as error:  # the harness's own failure is told as such
                data = pickle.dumps(dataclasses.asdict(Outcome(name, "skipped", f"harness: {error!r}"[:300])))
            with os.fdopen(write, "wb") as pipe:
                pipe.write(data)
            os._exit(0)
        os.close(write)
        data = b""
        end = time.monotonic() + WAIT
        with os.fdopen(read, "rb") as pipe:
            while time.monotonic() < end:
                if select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                    block = os.read(pipe.fileno(), 65536)
                    if not block:
                        break
                    data += block
            else:
                os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
        if os.WIFSIGNALED(status):
            killed, worked = os.WTERMSIG(status), used.ru_utime + used.ru_stime
            if killed == signal.SIGKILL and 1 < worked < LIMIT:
                return Outcome(name, "skipped", f"the machine gave it {worked:.1f} s of work in {WAIT:.0f} s")
            return Outcome(name, "slow" if killed in (signal.SIGKILL, signal.SIGXCPU) else "crash", f"signal {killed}")
        return Outcome(**pickle.loads(data))


def compared(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """A call made plainly, compiled, and compiled once more."""
    import weft

    try:
        copies = [_copied((args, kwargs)) for _ in range(3)]
    except Exception as error:
        return Outcome(name, "skipped", f"arguments cannot be copied: {error!r}"[:200])
    state = np.random.get_state(), random.getstate()
    _fill_free_memory(0x41)
    plain = _run(function, *copies[0], state)
    if plain.seconds > LONG:
        return Outcome(name, "skipped", f"the plain call takes {plain.seconds:.1f} s")
    _fill_free_memory(0x42)
    again = _run(function, *_copied((args, kwargs)), state)
    if different(plain.seen, again.seen):
        return Outcome(name, "skipped", "two plain calls differ")
    compiled = weft.compile(function)
    first = _run(compiled, *copies[1], state)
    cached = _run(compiled, *copies[2], state)
    what = different(plain.seen, first.seen) or different(plain.seen, cached.seen)
    times = (again.seconds, cached.seconds)
    raised = [run.seen["raised"] or "" for run in (first, cached)]
    refusal = next((text for text in raised if text.startswith("CaptureError")), None)
    if refusal and refusal != plain.seen["raised"]:
        return Outcome(name, "refused", refusal, *times)
    if what:
        verdict = "error" if what.startswith("raised") and plain.seen["raised"] is None else "wrong"
        return Outcome(name, verdict, what[:600], *times)
    if compiled._ran_plainly and plain.seen["raised"] is None:
        return Outcome(name, "refused", "; ".join(compiled._ran_plainly)[:600], *times)
    if not compiled._entries:
        return Outcome(name, "plain", plain.seen["raised"] or "", *times)
    return Outcome(name, "captured", "", *times)


def _fill_free_memory(byte: int) -> None:
    """Leave `byte` in memory that NumPy takes next: who returns what nobody has written returns something else then."""
    sizes = [*range(1, 1025), *range(1040, 70_000, 2048)]
    held = [np.full(size, byte, np.uint8) for size in sizes for _ in range(7)]
    held.clear()


def _copied(value: Any) -> Any:
    """A deep copy, in which objects that refuse to be copied are shared."""
    for _ in range(20):
        try:
            return copy.deepcopy(value)
        except Exception as error:
            step, refusing = error.__traceback__, None
            while step is not None:
                if step.tb_frame.f_code is copy.deepcopy.__code__:
                    refusing = step.tb_frame.f_locals["x"]
                step = step.tb_next
            if refusing is None or type(refusing) in copy._deepcopy_dispatch:
                raise
            copy._deepcopy_dispatch[type(refusing)] = lambda x, memo: x
    return copy.deepcopy(value)


@dataclasses.dataclass
class _Seen:
    seen: dict[str, Any]
    seconds: float


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> _Seen:
    np.random.set_state(state[0])
    random.setstate(state[1])
    result, raised = None, None
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            result = function(*args, **kwargs)
        except Exception as error:  # part of what a caller sees
            told = f"{type(error).__name__}: {error}".splitlines()
            raised = "\n".join(told[: 3 if told[0].startswith("CaptureError") else 1])  # a refusal with its line
        seconds = time.process_time() - start
    seen = {"raised": raised, "result": result, "printed": printed.getvalue(), "args": args, "kwargs": kwargs}
    return _Seen(seen, seconds)


# Comparing


def different(one: Any, other: Any) -> str | None:
    """Where two values differ, and how; None where they are the same in type and value."""
    return next(_differences("", one, other, set()), None)


def _differences(path: str, one: Any, other: Any, known: set[tuple[int, int]]) -> Iterator[str]:
    if one is other or (id(one), id(other)) in known:
        return
    known.add((id(one), id(other)))
    if type(one) is not type(other):
        yield f"{path}: {_short(one)} is of {type(one).__name__}, {_short(other)} of {type(other).__name__}"
        return
    if isinstance(one, np.ndarray) and one.dtype != object:
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            yield f"{path}: {one.dtype}{one.shape}, then {other.dtype}{other.shape}"
        elif not _same_numbers(one, other):
            yield f"{path}: {_short(one)}, then {_short(other)}"
    elif isinstance(one, (list, tuple, collections.deque, np.ndarray)):
        if len(one) != len(other):
            yield f"{path}: {len(one)} items, then {len(other)}"
        else:
            for k, (left, right) in enumerate(zip(one, other, strict=True)):
                yield from _differences(f"{path}[{k}]", left, right, known)
    elif isinstance(one, dict):
        if list(one) != list(other) and {str(k) for k in one} != {str(k) for k in other}:
            yield f"{path}: keys {_short(list(one))}, then {_short(list(other))}"
        else:
            same = dict.fromkeys(one) == dict.fromkeys(other)
            rights = map(other.__getitem__, one) if same else other.values()  # keys may be other objects of one class
            for key, right in zip(one, rights, strict=True):
                yield from _differences(f"{path}[{key!r}]" if path else key, one[key], right, known)
    elif isinstance(one, (float, complex, np.generic)):
        if not _same_numbers(np.asarray(one), np.asarray(other)):
            yield f"{path}: {one!r}, then {other!r}"
    elif isinstance(one, (int, str, bytes, bool, type(None), set, frozenset, range, slice)):
        if one != other:
            yield f"{path}: {_short(one)}, then {_short(other)}"
    elif hasattr(one, "equals") and type(one).__module__.startswith("pandas"):
        if not one.equals(other):
            yield f"{path}: {_short(one)}, then {_short(other)}"
    elif hasattr(one, "__dict__") and not callable(one) and not isinstance(one, types.ModuleType):
        yield from _differences(f"{path}.__dict__", vars(one), vars(other), known)


def _same_numbers(one: Any, other: Any) -> bool:
    if one.dtype.kind in "fc":  # sums may be taken in another order
        return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "mM"))


def _kind(value: Any, depth: int = 0) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    if isinstance(value, (list, tuple, set)) and depth < 4:
        return f"{type(value).__name__}({','.join(sorted({_kind(v, depth + 1) for v in value}))})"
    if isinstance(value, dict) and depth < 4:
        return ",".join(f"{k}:{_kind(v, depth + 1)}" for k, v in value.items())
    return repr(value) if isinstance(value, (str, bool)) else type(value).__name__


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = type(value).__name__
    return text if len(text) < 120 else f"{text[:117]}..."


# Reports


def summary(path: Path) -> str:
    """How many functions of a record were captured, refused and wrong, and the commonest reasons."""
    rows = [Outcome(**json.loads(line)) for line in path.read_text().splitlines()]
    by_function: dict[str, list[Outcome]] = {}
    for row in rows:
        by_function.setdefault(row.function, []).append(row)
    verdicts: dict[str, str] = {}
    for name, calls in by_function.items():
        counted = [call.verdict for call in calls if call.verdict not in ("skipped", "plain")]
        verdicts[name] = min(counted, key=_ORDER.index) if counted else calls[0].verdict
    counts = collections.Counter(verdicts.values())
    judged = len(verdicts) - counts["skipped"]
    share = f"{100 * counts['captured'] / judged:.1f}" if judged else "no"
    lines = [f"{len(verdicts)} functions, {judged} judged, {share} % captured: " + _counted(counts)]
    for verdict in _ORDER[:4]:
        lines += [f"  {v}: {r.function}: {r.detail}" for r in rows if (v := r.verdict) == verdict]
    reasons = collections.Counter(row.detail.splitlines()[0] for row in rows if row.verdict == "refused" and row.detail)
    lines += [f"  {count:4} {reason}" for reason, count in reasons.most_common(60)]
    slow = [r for r in rows if r.verdict == "captured" and r.cached_s > 10 * r.plain_s and r.cached_s > 1e-3]
    lines += [f"  slower: {r.function}: {r.plain_s * 1e3:.2f} ms, compiled {r.cached_s * 1e3:.2f} ms" for r in slow]
    return "\n".join(lines)


def _warm(x: Any) -> Any:
    for k in range(2):
        x = x * 2 if x.sum() > k else x
    return x


def _counted(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{verdict} {counts[verdict]}" for verdict in _ORDER if counts[verdict])


class Plugin:
    """Starts watching when pytest has imported the tests."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer = replayer

    def pytest_collection_finish(self, session: Any) -> None:
        """All test modules are imported: what they took from the package by name is watched as well."""
        self.replayer.watch()
        print(f"watching {len(self.replayer.patched)} places")


def main() -> int:
    """Run a project's tests with its functions watched, or print a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?")
    parser.add_argument("--out", type=Path, default=Path("replay.jsonl"))
    parser.add_argument("--summary", type=Path)
    own, _, for_pytest = " ".join(sys.argv[1:]).partition(" -- ")
    given = parser.parse_args(own.split())
    if given.summary:
        print(summary(given.summary))
        return 0
    if given.package is None:
        parser.error("name a package, or a record with --summary")
    import pytest

    import weft

    weft.compile(_warm)(np.ones(2))  # so that no replay has to import what capturing takes
    given.out.unlink(missing_ok=True)
    plugin = Plugin(Replayer(given.package, given.out))
    status = pytest.main([*for_pytest.split(), "-p", "no:cacheprovider"], plugins=[plugin])
    print(summary(given.out))
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
