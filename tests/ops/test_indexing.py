"""Indexing against NumPy on random keys: values, the shape rule, writes, gradients, and what a key may hold."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import numpy as np
import pytest
from cases_indexing import ref_add, ref_update
from hypothesis import given, settings
from hypothesis import strategies as st
from tape import Traced, gradients

import weft
from weft.errors import IndexingError, ShapeError, UnknownShape
from weft.ops import op_of


@st.composite
def keys(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape and a key for it: mostly one that fits, with every kind of part in any order."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 2, 3, 3, 4]), max_size=4)))
    base = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))  # what the integer arrays broadcast to
    parts: list[Any] = []
    at = 0
    while len(parts) < 6 and draw(st.integers(0, 9)):
        full = at >= len(shape) and draw(st.integers(0, 15))
        taking = [] if full else ["int", "slice", "slice", "array", "array", "list", "mask"]
        kind = draw(st.sampled_from([*taking, "none", "ellipsis", "bool"]))
        dim = shape[at] if at < len(shape) else 2
        if kind == "int":
            parts.append(draw(st.integers(-dim, max(dim - 1, 0))))
        elif kind == "slice":
            bound = st.one_of(st.none(), st.integers(-6, 6))
            step = draw(st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3])))
            parts.append(slice(draw(bound), draw(bound), step))
        elif kind in ("array", "list"):
            size = tuple(draw(st.sampled_from([1, d])) for d in base)[draw(st.integers(0, len(base))) :]
            flat = draw(
                st.lists(st.integers(-dim, max(dim - 1, 0)), min_size=int(np.prod(size)), max_size=int(np.prod(size)))
            )
            array = np.array(flat, np.int64).reshape(size)
            parts.append(array.tolist() if kind == "list" and size else array)
        elif kind == "mask":
            over = shape[at : at + draw(st.integers(1, 2))]
            bits = draw(st.lists(st.booleans(), min_size=int(np.prod(over)), max_size=int(np.prod(over))))
            parts.append(np.array(bits, bool).reshape(over))
            at += len(over) - 1
        elif kind == "ellipsis":
            if any(p is Ellipsis for p in parts):
                continue
            parts.append(Ellipsis)
            at -= 1
        else:
            parts.append(None if kind == "none" else draw(st.booleans()))
            at -= 1
        at += 1
    return shape, parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


def test_random_keys() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=600, deadline=None, derandomize=True)
    @given(keys())
    def check(drawn: Any) -> None:
        seen[agrees_with_numpy(*drawn)] += 1

    check()
    assert seen["accepted"] > 200 and seen["refused"] > 20


def agrees_with_numpy(shape: tuple[int, ...], key: Any) -> str:
    """Check reading, writing, shapes and gradients, or that both refuse."""
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    try:
        expected = x[key]
    except IndexError:
        with pytest.raises(IndexError):
            weft.getitem(x, key)
        with pytest.raises(IndexingError):
            weft.getitem(weft.spec(shape), key)
        return "refused"
    except DeprecationWarning:
        # Older NumPy lets an index out of bounds pass, with a warning, where the result is empty; weft refuses it.
        with pytest.raises(IndexingError):
            weft.getitem(weft.spec(shape), key)
        return "refused"
    np.testing.assert_array_equal(weft.getitem(x, key), expected)
    assert weft.getitem(weft.spec(shape), key) == weft.spec(expected.shape)
    assert weft.getitem(weft.spec(shape), abstract(key)) == weft.spec(expected.shape)

    value = np.arange(1.0, 1.0 + expected.size).reshape(expected.shape)
    np.testing.assert_array_equal(weft.index_update(x, key, value), ref_update(x, key, value))
    np.testing.assert_array_equal(weft.index_add(x, key, value), ref_add(x, key, value))
    np.testing.assert_array_equal(weft.index_add(x, key, 2.0), ref_add(x, key, 2.0))

    tx, tv = Traced(x), Traced(value)
    weight = np.arange(x.size).reshape(shape) ** 2 + 1.0
    (gx,) = gradients(weft.getitem(tx, key), [tx], value)
    np.testing.assert_array_equal(gx.data, ref_add(np.zeros(shape), key, value))
    gx, gv = gradients(weft.index_add(tx, key, tv), [tx, tv], weight)
    np.testing.assert_array_equal(gx.data, weight)
    np.testing.assert_array_equal(gv.data, weight[key])
    gx, gv = gradients(weft.index_update(tx, key, tv), [tx, tv], weight)
    np.testing.assert_array_equal(gx.data, ref_update(weight, key, 0))
    np.testing.assert_array_equal(gv.data, last_writers(shape, key) * weight[key])
    one = Traced(3.0)
    (g,) = gradients(weft.index_update(tx, key, one), [one], weight)
    assert g.data == np.sum(last_writers(shape, key) * weight[key])
    (g,) = gradients(weft.index_add(tx, key, one), [one], weight)
    assert g.data == np.sum(weight[key])
    return "accepted"


def abstract(key: Any) -> Any:
    """The key with its integers and integer arrays known by shape and dtype alone."""
    if isinstance(key, tuple):
        return tuple(map(abstract, key))
    if isinstance(key, np.ndarray | list):
        array = np.asarray(key)
        return key if array.dtype == bool else weft.spec(array.shape, "int64" if array.size == 0 else array.dtype)
    return weft.spec((), "int64") if type(key) is int else key


def last_writers(shape: tuple[int, ...], key: Any) -> np.ndarray:
    """Whether each value assigned is still there at the end, found by assigning them one after another."""
    positions = np.ravel(np.arange(np.prod(shape, dtype=int)).reshape(shape)[key])
    holder = {int(at): i for i, at in enumerate(positions)}
    return np.array([holder[int(at)] == i for i, at in enumerate(positions)], float).reshape(np.empty(shape)[key].shape)


def test_traced_values_in_a_key() -> None:
    x = np.arange(12.0).reshape(3, 4)
    i, rows, start = Traced(np.array(2)), Traced(np.array([0, 2, 0])), Traced(np.array(1))
    for traced, plain in [
        (i, 2),
        ((rows, i), ([0, 2, 0], 2)),
        ((slice(start, None), i), (slice(1, None), 2)),
        ([start, i, start], [1, 2, 1]),
        (Traced(x > 4), x > 4),
    ]:
        result = weft.getitem(x, traced)
        assert isinstance(result, Traced)
        np.testing.assert_array_equal(result.data, x[plain])
        np.testing.assert_array_equal(weft.index_update(x, traced, 7.0).data, ref_update(x, plain, 7.0))


def test_size_of_a_computed_mask_or_slice_is_unknown() -> None:
    x = weft.spec((3, 4))
    with pytest.raises(
        UnknownShape, match=r"getitem: how many elements a mask selects .*\n  (at .*\n  )?help: weft.where"
    ):
        x[weft.spec((3, 4), bool)]
    with pytest.raises(UnknownShape, match=r"getitem: the size of a slice with a computed bound"):
        x[weft.spec((), "int64") :]
    assert x[np.array([True, False, True])] == weft.spec((2, 4))


def test_writes_through_a_computed_mask_have_a_shape() -> None:
    x, mask = weft.spec((3, 4)), weft.spec((3, 4), bool)
    assert weft.index_update(x, mask, 0.0) == x
    assert weft.index_add(x, mask, weft.spec(())) == x
    for op in (weft.index_update, weft.index_add):
        value = weft.spec(())
        assert op.gradient("x", x, x, (x, mask, value)) == x
        assert op.gradient("value", x, x, (x, mask, value)) == value
    rows = weft.spec((3,), bool)
    assert weft.index_update.gradient("value", x, x, (x, rows, weft.spec((4,)))) == weft.spec((4,))


def test_list_of_traced_integers_is_one_index_array() -> None:
    n = weft.spec((), "int64")
    assert weft.getitem(weft.spec((3, 4)), [n, 1, n]) == weft.spec((3, 4))
    assert weft.getitem(weft.spec((3, 4)), [[n, 1], [0, n]]) == weft.spec((2, 2, 4))


def test_a_slice_of_a_dimension_that_is_not_a_plain_integer() -> None:
    class Dim:
        """An integer that knows arithmetic and comparison but is no `int`, as a symbolic dimension will be."""

        def __init__(self, n: int) -> None:
            self.n = n

    def method(name: str) -> Any:
        def call(self: Dim, other: Any) -> Any:
            found = getattr(self.n, name)(getattr(other, "n", other))
            return found if isinstance(found, bool) else Dim(found)

        return call

    for name in ("add", "radd", "sub", "rsub", "floordiv", "lt", "gt", "le", "ge", "eq"):
        setattr(Dim, f"__{name}__", method(f"__{name}__"))

    for size in range(5):
        for start in (None, -9, -2, 0, 1, 7):
            for stop in (None, -9, -1, 0, 3, 7):
                for step in (None, 1, 2, -1, -3):
                    key = slice(start, stop, step)
                    found = weft.getitem(weft.Spec((Dim(size), 2)), key).shape[0]
                    assert getattr(found, "n", found) == len(range(size)[key]), (size, key)


def test_operator_getitem_is_the_op() -> None:
    assert op_of(operator.getitem) is weft.getitem


def test_gradient_through_an_item_of_a_tuple() -> None:
    a, b = Traced(np.ones(2)), Traced(np.ones(3))
    ga, gb = gradients(weft.getitem((a, b), 1), [a, b], np.arange(3.0))
    np.testing.assert_array_equal(ga.data, np.zeros(2))
    np.testing.assert_array_equal(gb.data, np.arange(3.0))


def test_iteration_over_a_spec_ends() -> None:
    assert list(weft.spec((2, 3))) == [weft.spec((3,))] * 2


def test_writes_leave_the_array_alone() -> None:
    x = np.zeros(3)
    assert not np.may_share_memory(weft.index_update(x, slice(None), 1.0), x)
    assert not x.any()


def test_take_along_axis_undoes_argsort_and_scatter_add_transposes_it() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5))
    order = weft.argsort(x, 0)
    np.testing.assert_array_equal(weft.take_along_axis(x, order, 0), np.sort(x, 0))
    np.testing.assert_array_equal(weft.scatter_add(np.zeros((4, 5)), order, np.sort(x, 0), 0), x)


def test_repeat_of_known_and_unknown_counts() -> None:
    x = weft.spec((2, 3))
    assert weft.repeat(x, np.array([2, 0, 1]), 1) == weft.spec((2, 3))
    assert weft.repeat(x, np.array([4]), 1) == weft.spec((2, 12))
    assert weft.repeat(x, np.array(2)) == weft.spec((12,))
    with pytest.raises(UnknownShape, match="repeat: sizes computed from values"):
        weft.repeat(x, weft.spec((3,), "int64"), 1)
    with pytest.raises(ShapeError, match=r"repeat: 2 repeats for axis 1 of \(2, 3\), expected 1 or 3"):
        weft.repeat(x, np.array([1, 2]), 1)
