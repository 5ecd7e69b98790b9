"""What a newcomer meets in the first hour: messages that name what is wrong, the line, and what to write."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import CaptureError, DtypeError, FileError, ShapeError, TraceError

X = np.ones((3, 4))
X32 = X.astype(np.float32)
SOURCES = str(Path(weft.__file__).parent)


def doubled(x: Any) -> Any:
    return x * 2


def squares(x: Any) -> Any:
    return (x**2).sum()


def forgets(x: Any) -> Any:
    total = x.sum()
    print(total, end="")


def writes(x: Any) -> Any:
    result = np.zeros((2, 3))
    result[0] = x[1]
    return result.sum()


def yields(x: Any) -> Any:
    for value in x:
        yield value * 2


class Node:
    weights = X


SAID: dict[str, tuple[Callable[[], Any], type, str]] = {
    "a result that is an array": (
        lambda: weft.grad(doubled)(X),
        CaptureError,
        r"returns an array of shape \(3, 4\)\n  at .*, in doubled\n    return x \* 2\n  help: sum it",
    ),
    "a forgotten return": (
        lambda: weft.grad(forgets)(X),
        CaptureError,
        "the function returns None\n  at .*, in forgets\n.*\n  help: a function without `return` gives None",
    ),
    "a complex result": (lambda: weft.grad(squares)(X + 1j), CaptureError, "return the real part"),
    "an integer result": (
        lambda: weft.grad(lambda x: np.argmax(x))(X),
        CaptureError,
        "returns int64\n.*\n.*\n  help: an integer does not vary continuously",
    ),
    "a gradient by integers": (
        lambda: weft.grad(squares)(np.array([1, 2])),
        TypeError,
        "array of int64 has no derivative.*\n(.*\n)*  help: give floating point numbers",
    ),
    "Jacobians by integers": (
        lambda: weft.jacrev(doubled)(np.array([1, 2])),
        CaptureError,
        "got int64\n(.*\n)*  help: an integer does not vary",
    ),
    "arguments given to grad": (lambda: weft.grad(squares, X), TypeError, r"help: .*weft.grad\(f\)\(x\)"),
    "a value given to grad": (lambda: weft.grad(squares(X)), TypeError, r"got float64\n  help: .*weft.grad\(f\)"),
    "a value given to compile": (lambda: weft.compile(squares(X)), TypeError, "help: give the function itself"),
    "an object given to grad": (
        lambda: weft.grad(lambda node: node.weights.sum())(Node()),
        TypeError,
        "(?s)class Node.*a dataclass or a Module.*pytree.register",
    ),
    "a tangent of another shape": (
        lambda: weft.jvp(squares, (X,), (np.ones(3),)),
        CaptureError,
        r"of shape \(3,\) for a value of shape \(3, 4\)",
    ),
    "an op for a function": (lambda: weft.compile(weft.sin), CaptureError, r"help: .*lambda x: np.sin\(x\)"),
    "a ufunc to trace": (lambda: weft.symbolic_trace(np.sin), TraceError, r"help: .*lambda x: np.sin\(x\)"),
    "a generator": (
        lambda: weft.grad(yields)(X),
        CaptureError,
        r"a generator cannot be .* a result in a graph\n(.*\n)*  help: make a list of it",
    ),
    "an array of objects": (
        lambda: weft.grad(squares)(np.array([1.0, None])),
        TypeError,
        "an array of objects or texts, has no derivative",
    ),
    "a product of wrong shapes": (
        lambda: weft.tensor(X) @ weft.tensor(X),
        ShapeError,
        r"\(3, 4\) @ \(3, 4\), 4 != 3\n  at .*test_first_hour.py:\d+: ",
    ),
    "a write that does not fit": (
        lambda: weft.grad(writes)(X),
        ShapeError,
        r"of shape \(4,\) does not fit the part of shape \(3,\)\n  at .*, in writes\n    result\[0\] = x\[1\]\n",
    ),
    "an index out of range": (
        lambda: weft.grad(lambda x: x[10, 0])(X),
        IndexError,
        "getitem: index 10 is out of range",
    ),
    "a layer for other features": (
        lambda: nn.Sequential(nn.Linear(4, 2), nn.Linear(3, 1))(X32),
        ShapeError,
        r"input \(3, 2\) and weight \(1, 3\).*\n  at .*test_first_hour.py",
    ),
    "channels of a norm": (lambda: nn.BatchNorm1d(3)(X32), ShapeError, "has 4 channels, the layer takes 3"),
    "a text for an array": (lambda: nn.Linear(3, 2)("abc"), DtypeError, "input is an array.*got the text 'abc'"),
    "None for an array": (lambda: weft.exp(None), DtypeError, "x is an array, a Tensor or a number, got None"),
    "a device": (lambda: weft.tensor([1.0], device="cuda"), ValueError, "'cuda' is not available"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    call, kind, said = SAID[name]
    with pytest.raises(kind) as caught:
        call()
    assert re.search(said, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("name", [name for name in SAID if "device" not in name])
def test_tracebacks_are_of_the_program(name: str) -> None:
    with pytest.raises(SAID[name][1]) as caught:
        SAID[name][0]()
    error = caught.value
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(SOURCES)]
    assert len(ours) <= 1, ours  # operators and functions are quick, and so hide all but themselves
    assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__)


def test_weft_debug_shows_all_frames(monkeypatch: Any) -> None:
    monkeypatch.setenv("WEFT_DEBUG", "1")
    with pytest.raises(ShapeError) as caught:
        nn.Linear(3, 2)(X32)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 5 and caught.value.__cause__ is not None


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = weft.reluu  # type: ignore[attr-defined]
    assert (caught.value.name, caught.value.obj) == ("reluu", weft), "so that Python says: did you mean relu?"


def test_a_graph_is_no_saved_state(tmp_path: Any) -> None:
    weft.symbolic_trace(doubled).graph.save(tmp_path / "graph.weft")
    with pytest.raises(FileError, match=r"a graph or a function, not a saved state\n  help: weft.load reads it"):
        nn.load_state(tmp_path / "graph.weft")


def test_a_traced_function_says_what_it_is() -> None:
    traced = weft.trace(doubled)
    assert repr(traced) == "<traced doubled, not called yet>"
    traced(X)
    assert repr(traced) == "<traced doubled>"


def weighted(weights: Any, scale: Any = 2.0) -> Any:
    return weights["slope"].sum()


def test_what_a_result_does_not_depend_on_goes_by_its_name() -> None:
    weights = {"slope": X, "bias": [X]}
    with pytest.warns(UserWarning, match=r"does not depend on weights\['bias'\]\[0\]; its derivative is zero"):
        weft.grad(weighted)(weights)
    with pytest.warns(UserWarning, match="does not depend on scale; its derivative is zero"):
        weft.grad(weighted, argnums=1)(weights, 3.0)
