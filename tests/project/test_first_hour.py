"""What a newcomer meets in the first hour: messages that name what is wrong, the line, and what to write."""

from __future__ import annotations

import functools
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


async def waits(x: Any) -> Any:
    return x


@functools.lru_cache
def cached(x: Any) -> Any:
    return x * 2


class Node:
    weights = X


class Image:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X


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
        "no derivative by x: it is an array of int64, and.*\n(.*\n)*  help: give floating point numbers",
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
    "an op for a function": (lambda: weft.compile(weft.sin), CaptureError, r"help: .*lambda x: weft.sin\(x\)"),
    "a ufunc to trace": (lambda: weft.symbolic_trace(np.sin), TraceError, r"help: .*lambda x: np.sin\(x\)"),
    "a generator": (
        lambda: weft.grad(yields)(X),
        CaptureError,
        r"yields is a generator, which gives one value.*\n.*def yields.*\n  help: put the values into a list",
    ),
    "an array of objects": (
        lambda: weft.grad(squares)(np.array([1.0, None])),
        TypeError,
        r"no derivative by x: it is an array of objects(.*\n)*  help: .*np.asarray\(x, dtype=float\)",
    ),
    "a coroutine": (lambda: weft.script(waits), CaptureError, "waits is a coroutine, which runs when it is awaited"),
    "a class": (
        lambda: weft.compile(Node),
        CaptureError,
        r"Node is a class.*\n  help: give an object of it, Node\(...\)",
    ),
    "the class of a layer": (lambda: weft.script(nn.Linear), CaptureError, "Linear is the class of a Module"),
    "a function with a cache": (
        lambda: weft.compile(cached),
        CaptureError,
        "help: give the function inside: .*cached.__wrapped__",
    ),
    "a builtin": (
        lambda: weft.explain(len, X),
        CaptureError,
        r"help: write a function that calls it: lambda x: len\(x\)",
    ),
    "a list of functions": (lambda: weft.script([doubled]), TypeError, "script takes a function or a Module, got list"),
    "None to trace": (
        lambda: weft.symbolic_trace(None),
        TypeError,
        "symbolic_trace takes a function or a Module, got None",
    ),
    "an object for a result": (
        lambda: weft.grad(lambda x: Node())(X),
        CaptureError,
        "the function returns an object of class Node",
    ),
    "a Jacobian of an object": (
        lambda: weft.jacfwd(lambda x: Node())(X),
        CaptureError,
        "returns an object of class Node",
    ),
    "an image to differentiate": (
        lambda: weft.grad(lambda image: np.asarray(image).sum())(Image()),
        TypeError,
        r"no derivative by image: it is an object of class Image(.*\n)*  help: .*np.asarray\(image, dtype=float\)",
    ),
    "an image for many": (
        lambda: weft.vmap(doubled)(Image()),
        CaptureError,
        r"x is an object(.*\n)*  help: .*np.asarray\(x\)",
    ),
    "a number for many": (
        lambda: weft.vmap(weighted)({"slope": 2.0}),
        CaptureError,
        r"weights\['slope'\] is one float",
    ),
    "an axis that is not there": (
        lambda: weft.vmap(doubled, 4)(X),
        CaptureError,
        "axis 4 for x, an array of 2 dimensions",
    ),
    "a function to interpret": (lambda: weft.Interpreter(doubled), TypeError, "got function\n  help: capture it first"),
    "a text for an image": (
        lambda: nn.Conv2d(1, 1, 1)("abc"),
        DtypeError,
        "conv2d: input is an array.*got the text 'abc'",
    ),
    "an object for pixels": (lambda: nn.PixelShuffle(2)(Node()), DtypeError, "got an object of class Node"),
    "an object to embed": (lambda: nn.EmbeddingBag(4, 2)(None), DtypeError, "input is an array.*got None"),
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


def test_backward_shows_the_frames_of_the_program_alone() -> None:
    x = weft.tensor([1.0], requires_grad=True)
    total = (x * x).sum()
    total.backward()
    for call in (total.backward, lambda: weft.autograd.grad(total, x)):
        with pytest.raises(weft.errors.AutogradError, match="freed by an earlier backward") as caught:
            call()
        assert not any(SOURCES in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))


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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file$"),
        (b"short", r"a text file, not one that was saved\n  help: load reads what"),
        (b"just a text", r"a text file, not one that was saved\n  help: load reads what .save\(path\) wrote"),
        (b"\x93NUMPY\x01\x00v\x00", r"an array that numpy.save wrote\n  help: numpy.load reads what NumPy wrote"),
    ],
)
def test_other_files(tmp_path: Any, content: bytes, said: str) -> None:
    (tmp_path / "other").write_bytes(content)
    for load in (weft.load, nn.load_state):
        with pytest.raises(FileError, match=said) as caught:
            load(tmp_path / "other")
        assert not any(SOURCES in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))


def test_what_is_built_of_the_wrong_things() -> None:
    with pytest.raises(TypeError, match=r"got Linear\n  help: give its parameters: model.parameters\(\)"):
        weft.optim.SGD(nn.Sequential(nn.Linear(1, 1)), lr=0.1)
    with pytest.raises(TypeError, match="batch_size is a whole number, or None for single samples, got 'a'"):
        weft.data.DataLoader([1], "a")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: weft.Session(doubled), "Session takes a GraphModule or a Graph, got function\n  help: capture it"),
        (lambda: weft.GraphModule({}, doubled), "GraphModule: the graph is a Graph, got function"),
        (lambda: weft.pytree.register(3, len, len), "register takes a class and two functions, got 3"),
        (lambda: weft.passes.PassManager([3]), "PassManager: a pass is a function of a graph, got 3"),
        (lambda: weft.spec((2, -1)), "spec: a size is a whole number that is not negative, or a name; got -1"),
        (lambda: weft.spec((2, 1.5)), "not negative, or a name; got 1.5"),
    ],
)
def test_what_takes_other_things(call: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        call()


def test_sizes_that_have_a_name_are_told_by_it() -> None:
    with pytest.raises(
        ShapeError, match=r"\(n, 3\) @ \(5, m\), 3 != 5\n(.*\n)*    x: float64\(n, 3\), y: float64\(5, m\)"
    ):
        weft.trace(lambda x, y: x @ y, weft.spec(("n", 3)), weft.spec((5, "m")))


def test_weights_are_no_graph(tmp_path: Any) -> None:
    nn.save_state(tmp_path / "ours", nn.Linear(2, 2).state_dict())
    header = b'{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}     '
    (tmp_path / "theirs").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    for name in ("ours", "theirs"):
        with pytest.raises(FileError, match=r"no graph\n  help: nn\.load_state\(path\) reads it"):
            weft.load(tmp_path / name)
        assert nn.load_state(tmp_path / name).keys()


def test_functions_print_as_what_they_are() -> None:
    made = [weft.compile, weft.grad, weft.vmap, weft.hessian, weft.value_and_grad, weft.jacrev]
    assert [repr(make(doubled)) for make in made] == [
        f"<{name} doubled, 0 graphs>"
        for name in ("compiled", "grad of", "vmap of", "hessian of", "value_and_grad of", "jacrev of")
    ]
    assert repr(weft.custom_vjp(doubled)) == "<custom_vjp of doubled>"
    assert repr(weft.vmap(weft.hessian(squares))) == "<vmap of hessian of squares, 0 graphs>"
    assert str(weft.hessian(squares).explain()).startswith("hessian of squares was not called yet")
    for traced in (weft.symbolic_trace(doubled), weft.script(doubled), weft.trace(doubled, X)):
        assert repr(traced) == "doubled()"


def test_gradcheck_shows_no_frame_of_weft() -> None:
    with pytest.raises(weft.errors.AutogradError) as caught:
        weft.autograd.gradcheck(doubled, (X.astype(np.float32),))
    assert not any(SOURCES in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))


def test_a_traced_function_says_what_it_is() -> None:
    traced = weft.trace(doubled)
    assert repr(traced) == "<traced doubled, not called yet>"
    traced(X)
    assert repr(traced) == "<traced doubled>"
    with pytest.raises(ShapeError) as caught:
        weft.trace(lambda x: x @ x)(X)
    assert not any(SOURCES in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))


def weighted(weights: Any, scale: Any = 2.0) -> Any:
    return weights["slope"].sum()


def test_what_a_result_does_not_depend_on_goes_by_its_name() -> None:
    weights = {"slope": X, "bias": [X]}
    with pytest.warns(UserWarning, match=r"does not depend on weights\['bias'\]\[0\]; its derivative is zero"):
        weft.grad(weighted)(weights)
    with pytest.warns(UserWarning, match="does not depend on scale; its derivative is zero"):
        weft.grad(weighted, argnums=1)(weights, 3.0)
