"""Runs a program and keeps all that a caller can notice of the run; two runs are the same when none of it differs.

What counts: the result (types, dtypes, shapes, values; NaN equals NaN), the arguments afterwards, the exception with
its text, the printed text. `identity=True` also asks that the same results be the very arguments.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from programs._program import Program
from programs._watched import watched

RTOL = 1e-12  # Room for a sum taken in another order; the same NumPy calls give the same bits.

_RESULTS = {
    type(None): "returns nothing",
    tuple: "returns a tuple",
    dict: "returns a dict",
    list: "returns a list",
    bool: "returns a Python number",
    int: "returns a Python number",
    float: "returns a Python number",
    complex: "returns a Python number",
}


@dataclass(frozen=True)
class Outcome:
    """All that a caller notices of one call. `returned` maps places in the result to positions of arguments."""

    result: Any
    arguments: tuple[Any, ...]
    exception: Exception | None
    printed: str
    returned: tuple[tuple[str, int], ...]


def run(program: Program, function: Callable[..., Any] | None = None, which: int = 0, seed: int = 0) -> Outcome:
    """Call `function` (the program itself where none is given) on fresh arguments of the program's maker `which`."""
    return call(function or program.function, program.arguments(which, seed))


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call a function and keep what happened, an exception included."""
    result, exception = None, None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            result = function(*arguments)
        except Exception as error:  # whatever the program raises is part of its outcome
            exception = error
    positions = {id(argument): k for k, argument in enumerate(arguments) if isinstance(argument, np.ndarray)}
    returned = tuple((path, positions[id(leaf)]) for path, leaf in _leaves("result", result) if id(leaf) in positions)
    return Outcome(result, arguments, exception, printed.getvalue(), returned)


def assert_same(got: Outcome, expected: Outcome, *, rtol: float = RTOL, identity: bool = False) -> None:
    """Raise AssertionError, naming the first place that differs, unless both outcomes are the same."""
    if expected.exception is None and got.exception is not None:
        raise AssertionError(f"raised {got.exception!r}, expected a result") from got.exception
    assert type(got.exception) is type(expected.exception), f"raised {got.exception!r}, not {expected.exception!r}"
    assert str(got.exception) == str(expected.exception), f"raised {got.exception!r}, not {expected.exception!r}"
    _same("result", got.result, expected.result, rtol)
    assert len(got.arguments) == len(expected.arguments)
    for k, (one, other) in enumerate(zip(got.arguments, expected.arguments, strict=True)):
        _same(f"argument {k}", one, other, rtol)
    assert got.printed == expected.printed, f"printed {got.printed!r}, not {expected.printed!r}"
    if identity:
        assert got.returned == expected.returned, f"returns the arguments {got.returned}, not {expected.returned}"


def observed(program: Program) -> set[str]:
    """The features that only running the program shows, over all its arguments."""
    found: set[str] = set()
    for which in range(len(program.makers)):
        function, notes = watched(program)
        before, after = program.arguments(which), run(program, function, which)
        found |= notes.found
        try:
            for one, other in zip(after.arguments, before, strict=True):
                _same("argument", one, other, 0.0)
        except AssertionError:
            found.add("writes argument")
        if after.exception is None:
            found |= {feature for kind, feature in _RESULTS.items() if type(after.result) is kind}
            found |= {"returns a NumPy scalar"} if isinstance(after.result, np.generic) else set()
    return found


def _same(path: str, got: Any, expected: Any, rtol: float) -> None:
    assert type(got) is type(expected), f"{path} is a {type(got).__name__}, not a {type(expected).__name__}"
    if isinstance(expected, np.ndarray | np.generic):
        assert got.dtype == expected.dtype, f"{path} has dtype {got.dtype}, not {expected.dtype}"
        assert got.shape == expected.shape, f"{path} has shape {got.shape}, not {expected.shape}"
        if expected.dtype.kind == "O":
            _same(path, got.tolist(), expected.tolist(), rtol)
        else:
            assert _close(got, expected, rtol), f"{path} differs:\n{got!r}\nnot\n{expected!r}"
    elif isinstance(expected, tuple | list):
        assert len(got) == len(expected), f"{path} has {len(got)} items, not {len(expected)}"
        for k, (one, other) in enumerate(zip(got, expected, strict=True)):
            _same(f"{path}[{k}]", one, other, rtol)
    elif isinstance(expected, dict):
        assert list(got) == list(expected), f"{path} has the keys {list(got)}, not {list(expected)}"
        for key, other in expected.items():
            _same(f"{path}[{key!r}]", got[key], other, rtol)
    elif isinstance(expected, float | complex):
        assert _close(np.asarray(got), np.asarray(expected), rtol), f"{path} is {got!r}, not {expected!r}"
    elif type(expected).__eq__ is object.__eq__ and hasattr(expected, "__dict__"):
        _same(f"vars({path})", vars(got), vars(expected), rtol)
    elif hasattr(expected, "numpy"):
        _same(f"{path}.numpy()", got.numpy(), expected.numpy(), rtol)
    else:
        assert got == expected, f"{path} is {got!r}, not {expected!r}"


def _close(got: Any, expected: Any, rtol: float) -> bool:
    """Equal values, NaN to NaN; floats may differ by `rtol` of the expected element."""
    if got.dtype.kind not in "fc":
        return bool(np.array_equal(got, expected))
    with np.errstate(all="ignore"):
        near = np.abs(got - expected) <= rtol * np.abs(expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return bool(np.all(same | (near & np.isfinite(expected))))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple | list):
        for k, item in enumerate(value):
            yield from _leaves(f"{path}[{k}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}[{key!r}]", item)
    else:
        yield path, value
