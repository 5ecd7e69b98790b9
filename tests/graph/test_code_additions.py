"""Additions in generated code: `x[key] += value` and its helper where nothing can tell, copies everywhere else."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from body_builder import Body, body, compiled, f8, text

import weft
from weft.errors import DtypeError

mul = operator.mul


def add(g: Body, array: Any, key: Any, value: Any, **options: Any) -> weft.Node:
    return g.call(weft.index_add, array, key, value, type=array.meta.get("type"), **options)


def same(graph: weft.Graph, *args: Any) -> Any:
    """Run the code and the graph node by node: the same results to the bit, and the arguments as they were."""
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    expected = weft.Interpreter(None, graph=graph).run(*given)
    found = compiled(graph)(*args)
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    for one, other in zip(args, given, strict=True):
        np.testing.assert_array_equal(one, other)
    return found


def run_as_a_file(graph: weft.Graph, *args: Any) -> Any:
    code = graph.python_code()
    space: dict[str, Any] = {}
    exec(compile(f"{code.imports}\n{code.src}", "<file>", "exec", dont_inherit=True), space)
    return space["forward"](None, *args)


def added(known: Any, key: Any, value: Any, *inputs: tuple[str, Any]) -> weft.Graph:
    """`index_add(x * 1, key, value)`; where key or value is the name of an input, that."""
    g, x, *others = body(("x", known), *inputs)
    named = {name: node for (name, _), node in zip(inputs, others, strict=True)}

    def given(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(given, part))
        return named.get(part, part) if isinstance(part, str) else part

    y = g.call(weft.copy, x, name="y", type=known)
    g.gives(add(g, y, given(key), given(value)))
    return g.graph


# What is written


def test_elements_and_slices_are_added_to_in_place() -> None:
    g, x, i, v = body(("x", f8(4)), ("i", int), ("v", f8(3)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    z = add(g, add(g, add(g, y, 0, 1.0), slice(1, None), v), i, g.item(v, 0, name="first", type=f8()))
    g.gives(z)
    assert (
        text(g.graph)
        == """
def forward(self, x, i, v):
    y = x * 2;  x = None
    y[0] += 1.0
    y[1:] += v
    first = v[0];  v = None
    y[i] += first;  i = first = None
    return y
"""
    )
    assert same(g.graph, np.arange(4.0), 2, np.ones(3)).tolist() == [1, 3, 6, 7]


def test_a_carry_is_added_to_in_place() -> None:
    b, i, total, index, v = body(("i", int), ("total", f8(4)), ("index", weft.spec((6,), "int64")), ("v", f8(6)))
    at = b.item(index, i, name="at", type=weft.spec((), "int64"))
    step = b.gives((add(b, total, at, b.item(v, i, name="g", type=f8())),))
    g, index, v = body(("index", weft.spec((6,), "int64")), ("v", f8(6)))
    zeros = g.call(weft.zeros, (4,), name="zeros", type=f8(4))
    g.gives(g.item(g.call(weft.fori_loop, 0, 6, step, (zeros,), index, v), 0, name="total", type=f8(4)))
    assert (
        text(g.graph)
        == """
def forward(self, index, v):
    zeros = weft.zeros((4,))
    for i in range(6):
        at = index[i]
        g = v[i]
        zeros[at] += g
    return zeros
"""
    )
    index, v = np.array([0, 1, 0, 3, 1, 0]), np.linspace(0.1, 0.7, 6)
    found = same(g.graph, index, v)
    np.testing.assert_allclose(found, np.bincount(index, v, 4), rtol=1e-15)


def test_inputs_and_what_is_read_later_are_copied() -> None:
    g, x = body(("x", f8(4)))
    g.gives((add(g, x, 0, 1.0), x))
    assert "weft.index_add(x, 0, 1.0)" in text(g.graph)
    same(g.graph, np.ones(4))
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    g.gives((add(g, y, 0, 1.0), y))
    assert "weft.index_add(y, 0, 1.0)" in text(g.graph)
    same(g.graph, np.ones(4))
    assert "weft.index_add(" in weft.graph._code.python_code(added(f8(4), 0, 1.0), in_place=False).src


def test_an_argument_that_is_written_is_added_to_itself() -> None:
    g, x = body(("x", f8(4)))
    new = add(g, x, slice(0, 2), 1.0)
    g.gives(None, writes=[(x, new)])
    assert "x[0:2] += 1.0" in text(g.graph)
    given = np.zeros(4)
    compiled(g.graph)(given)
    assert given.tolist() == [1, 1, 0, 0]


# Keys and values that need the helper, or do not

HELPER = "add_item("
INDEX = ("k", weft.spec((3,), "int64"))


@pytest.mark.parametrize(
    ("key", "value", "inputs", "args", "sign"),
    [
        pytest.param("k", 1.5, [INDEX], [np.array([1, 1, 2])], HELPER, id="an index twice"),
        pytest.param(("k", "k"), 1.5, [INDEX], [np.array([1, 1, 2])], HELPER, id="pairs"),
        pytest.param(np.array([1, 1]), 1.5, [], [], HELPER, id="a constant array"),
        pytest.param("k", 1.5, [("k", None)], [np.array([1, 1, 2])], HELPER, id="a key of which nothing is known"),
        pytest.param("k", 1.5, [("k", int)], [-1], "+=", id="an integer"),
        pytest.param(("k", -1), 1.5, [("k", weft.spec((), "int64"))], [np.int64(2)], "+=", id="an element"),
        pytest.param("m", 1.5, [("m", weft.spec((4, 3), "bool"))], [np.eye(4, 3) > 0], "+=", id="a mask"),
        pytest.param("m", "v", [("m", weft.spec((4, 3), "bool")), ("v", f8(1))], [np.eye(4, 3) > 0, np.ones(1)],
                     HELPER, id="a mask, and values"),
        pytest.param(0, "v", [("v", f8(3))], [np.ones(3)], "+=", id="a row"),
        pytest.param(0, "v", [("v", f8(1))], [np.ones(1)], "+=", id="a row of one value"),
        pytest.param(0, "v", [("v", f8(1, 3))], [np.ones((1, 3))], HELPER, id="a one in front"),
        pytest.param((0, 0), "v", [("v", f8(1, 1))], [np.ones((1, 1))], HELPER, id="ones in front of an element"),
        pytest.param((None, 0), "v", [("v", f8(1, 3))], [np.ones((1, 3))], "+=", id="a new dimension"),
        pytest.param((..., 0), "v", [("v", f8(4))], [np.ones(4)], "+=", id="an ellipsis"),
        pytest.param((0, 0, ...), "v", [("v", f8())], [np.array(2.0)], "+=", id="an element as an array"),
        pytest.param(0, "v", [("v", None)], [np.ones(3)], HELPER, id="a value of which nothing is known"),
        pytest.param(0, "v", [("v", float)], [0.1], "+=", id="a number"),
        pytest.param(0, "v", [("v", weft.spec((3,), "int64"))], [np.arange(3)], "+=", id="integers"),
    ],
)  # fmt: skip
def test_keys_and_values(key: Any, value: Any, inputs: Any, args: Any, sign: str) -> None:
    graph = added(f8(4, 3), key, value, *inputs)
    src = text(graph)
    assert "weft.index_add" not in src
    assert sign in src
    x = np.random.default_rng(0).random((4, 3))
    same(graph, x, *args)
    if not isinstance(key, np.ndarray):  # which a file cannot hold
        np.testing.assert_array_equal(run_as_a_file(graph, x, *args), compiled(graph)(x, *args))


@pytest.mark.parametrize(
    ("base", "value", "given", "sign"),
    [
        ("float32", weft.spec((), "float32"), np.float32(1 / 3), "+="),
        # Cast, then added: one rounding more than if the sum were cast.
        ("float32", weft.spec((), "float64"), np.float64(1 / 3), HELPER),
        ("float32", weft.spec((), "int64"), np.int64(2**24 + 1), HELPER),
        ("float32", float, 1 / 3, HELPER),
        ("float64", weft.spec((), "float32"), np.float32(1 / 3), "+="),
        ("complex128", complex, 1j / 3, "+="),
        ("complex128", weft.spec((), "float64"), np.float64(1 / 3), "+="),
        ("int8", weft.spec((), "int8"), np.int8(100), HELPER),
        ("int8", int, 100, HELPER),
        ("uint8", weft.spec((), "uint8"), np.uint8(200), HELPER),
        ("bool", weft.spec((), "bool"), np.bool_(True), HELPER),
    ],
)
@pytest.mark.parametrize("key", [1, slice(1, None)])
def test_dtypes(base: str, value: Any, given: Any, sign: str, key: Any) -> None:
    graph = added(weft.spec((4,), base), key, "v", ("v", value))
    assert sign in text(graph)
    x = (np.linspace(0.3, 90.7, 4)).astype(base)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as the op, without warnings
        same(graph, x, given)


def test_constants_take_the_precision_of_the_array() -> None:
    graph = added(weft.spec((4,), "float32"), 1, 1 / 3)
    assert "y[1] += 0.333" in text(graph)
    same(graph, np.linspace(0.3, 90.7, 4, dtype="float32"))


@pytest.mark.parametrize(("base", "value"), [("float64", complex(0, 1)), ("int64", 0.5), ("bool", 1)])
def test_what_cannot_be_added_is_refused(base: str, value: Any) -> None:
    graph = added(weft.spec((4,), base), 0, value)
    with pytest.raises(DtypeError, match="cannot be added into an array"):
        compiled(graph)(np.ones(4, base))
    with pytest.raises(DtypeError, match="cannot be added into an array"):
        weft.Interpreter(None, graph=graph).run(np.ones(4, base))


def test_arrays_of_no_dimensions() -> None:
    g, v = body(("v", f8()))
    zero = g.call(weft.zeros, (), name="zero", type=f8())
    g.gives(add(g, add(g, zero, (), v), ..., v))
    assert "index_add[...] += v" in text(g.graph)
    assert isinstance(same(g.graph, np.float64(1 / 3)), np.ndarray)
    g, v = body(("v", f8(3)))
    g.gives(add(g, g.call(weft.sum, v, type=f8()), (), 1.0))  # a number of NumPy's: nothing to write to
    assert "weft.index_add" in text(g.graph)
    same(g.graph, np.ones(3))


# Memory


def test_values_that_overlap_what_is_added_to() -> None:
    g, x = body(("x", f8(5)))
    y = g.call(mul, x, 1, name="y", type=f8(5))
    z = add(g, y, slice(1, None), g.item(y, slice(0, -1), type=f8(4)))
    z = add(g, z, slice(None, None, -1), g.item(z, slice(None), type=f8(5)))
    g.gives(z)
    assert text(g.graph).count("+=") == 2
    x = np.array([1.0, 2, 4, 8, 16])
    assert same(g.graph, x).tolist() == [25, 15, 12, 15, 25]


def test_values_that_overlap_under_an_array_of_indices_make_a_copy() -> None:
    g, x, k = body(("x", f8(5)), ("k", weft.spec((5,), "int64")))
    y = g.call(mul, x, 1, name="y", type=f8(5))
    g.gives(add(g, y, k, g.item(y, slice(None, None, -1), type=f8(5))))
    assert "weft.index_add" in text(g.graph)
    same(g.graph, np.array([1.0, 2, 4, 8, 16]), np.array([0, 0, 1, 4, 4]))


def test_a_key_that_shows_the_array_itself_makes_a_copy() -> None:
    known = weft.spec((4,), "int64")
    g, x = body(("x", known))
    y = g.call(mul, x, 1, name="y", type=known)
    g.gives(add(g, y, y, 1))
    assert "weft.index_add" in text(g.graph)
    same(g.graph, np.array([3, 0, 0, 1]))


def through_view(last: Any) -> Body:
    """A row taken out, added to, and then given back by `last`."""
    g, x = body(("x", f8(3, 4)))
    y = g.call(mul, x, 2, name="y", type=f8(3, 4))
    row = add(g, g.item(y, 1, name="row", type=f8(4)), 0, 5.0)
    g.gives(g.call(last, y, 1, row, type=f8(3, 4)))
    return g


def test_a_part_added_to_and_put_back_is_written_once() -> None:
    g = through_view(weft.index_update)
    assert (
        text(g.graph)
        == """
def forward(self, x):
    y = x * 2;  x = None
    row = y[1]
    row[0] += 5.0
    row = None
    return y
"""
    )
    same(g.graph, np.arange(12.0).reshape(3, 4))


def test_a_part_added_to_and_added_is_no_write_back() -> None:
    g = through_view(weft.index_add)
    assert same(g.graph, np.arange(12.0).reshape(3, 4))[1].tolist() == [21, 20, 24, 28]


# Tuples


def test_functions_that_make_tuples_are_written_as_tuples() -> None:
    from weft.transform._tape import record

    g, x = body(("x", f8(4)))
    one = g.call(record, (), x, name="one")
    g.gives((g.call(record, one, 1, 2.0, name="two"), one))
    assert lines_of(g.graph) == ["one = ((), x);  x = None", "two = (one, 1, 2.0)", "return (two, one)"]
    given = np.ones(4)
    two, one = run_as_a_file(g.graph, given)
    assert one[1] is given
    assert two == (one, 1, 2.0)


def lines_of(graph: weft.Graph) -> list[str]:
    return [line.strip() for line in graph.python_code().src.splitlines()[1:]]


# Tensors


@pytest.mark.parametrize("known", [True, False])
def test_tensors_are_added_to_with_their_gradients(known: bool) -> None:
    g, x, k, v = body(*(("x", f8(4)), ("k", weft.spec((3,), "int64")), ("v", f8(3))) if known else ("x", "k", "v"))
    y = g.call(mul, x, 2, type=f8(4))
    z = add(g, add(g, add(g, y, k, v), 1, g.item(v, 0, type=f8())), slice(0, 2), g.item(v, slice(1, 3), type=f8(2)))
    g.gives(z)
    assert "weft.index_add" not in text(g.graph)
    t, w = weft.tensor(np.ones(4), requires_grad=True), weft.tensor(np.arange(3.0), requires_grad=True)
    found = compiled(g.graph)(t, np.array([3, 3, 0]), w)
    assert found.numpy().tolist() == [2 + 2 + 1, 2 + 0 + 2, 2, 2 + 0 + 1]
    weft.sum(found * np.array([1.0, 10, 100, 1000])).backward()
    assert t.grad.numpy().tolist() == [2, 20, 200, 2000]
    assert w.grad.numpy().tolist() == [1010, 1001, 11]
