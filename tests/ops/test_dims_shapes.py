"""Slices, keys and broadcasting over symbolic sizes, against NumPy on arrays of every size that the guards allow."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import IndexingError, ShapeError, UnknownShape
from weft.graph._print import spec_text
from weft.ops import Spec
from weft.ops._dim import Dim, Sizes, broadcast_dim, fits_dim, range_length, slice_length, sliced, unknown_sizes

BOUNDS = (None, -7, -3, -1, 0, 1, 2, 4, 7)
STEPS = (None, 1, 2, 3, -1, -2, -3)


def at(dim: Any, values: dict[Any, int]) -> int:
    return dim.evaluate(values) if isinstance(dim, Dim) else dim


# --- slices ---


@pytest.mark.parametrize("hint", [0, 1, 3, 6])
def test_slices_of_a_hinted_size(hint: int) -> None:
    for start, stop, step in itertools.product(BOUNDS, BOUNDS, STEPS):
        env = Sizes()
        n = env.size("n", hint)
        length = slice_length(start, stop, step, n)
        alike = [size for size in range(12) if all(g.holds({n.atom: size}) for g in env.guards)]
        assert hint in alike
        for size in alike:
            assert at(length, {n.atom: size}) == len(range(size)[start:stop:step]), (start, stop, step, env.guards)


def test_slices_of_a_size_without_hint() -> None:
    """Nothing is assumed: the length is right for every size."""
    for start, stop, step in itertools.product(BOUNDS, BOUNDS, STEPS):
        env = Sizes()
        n = env.fresh("n")
        length = slice_length(start, stop, step, n)
        assert env.guards == env.assumed == []
        for size in range(12):
            assert at(length, {n.atom: size}) == len(range(size)[start:stop:step]), (start, stop, step)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_slices_with_symbolic_bounds(data: Any) -> None:
    """Bounds computed from sizes and counters, with and without hints."""
    env = Sizes()
    hints = data.draw(
        st.one_of(st.just((None, None)), st.tuples(st.integers(0, 6), st.sampled_from([-6, -2, -1, 1, 3, 6])))
    )
    n, i = env.size("n", hints[0]), env.value("i", hints[1])
    bound = st.sampled_from([None, i, i + 3, n - 1, n - i, i - n, n // 2, -2, 3])
    start, stop, step = data.draw(bound), data.draw(bound), data.draw(st.sampled_from([None, 1, 2, -1, -2, i]))
    length = slice_length(start, stop, step, n)
    assert env.assumed == []
    found = 0
    for size, counter in itertools.product(range(7), range(-7, 8)):
        values = {n.atom: size, i.atom: counter}
        if all(g.holds(values) for g in env.guards) and (step is not i or counter):
            found += 1
            first, last, pace = (None if b is None else at(b, values) for b in (start, stop, step))
            assert at(length, values) == len(range(size)[first:last:pace]), (start, stop, step, env.guards, values)
    assert found


@pytest.mark.parametrize(
    ("key", "text", "guards"),
    [
        (slice(1, None), "n - 1", "[n >= 1]"),
        (slice(None, -1), "n - 1", "[n >= 1]"),
        (slice(1, -1), "n - 2", "[n >= 2]"),
        (slice(None, 3), "3", "[n >= 3]"),
        (slice(None, None, 2), "(n + 1) // 2", "[]"),
        (slice(None, None, -1), "n", "[]"),
        (slice(None), "n", "[]"),
        (slice(20, None), "0", "[n < 20]"),
    ],
)
def test_common_slices_read_well(key: slice, text: str, guards: str) -> None:
    env = Sizes()
    x = weft.spec((env.size("n", 8), 2))
    assert str(x[key].shape[0]) == text and str(env.guards) == guards


def test_slices_without_hint_read_well() -> None:
    env = Sizes()
    n, i = env.fresh("n"), env.value("i")
    assert str(slice_length(1, None, None, n)) == "max(0, n - 1)"
    assert str(slice_length(None, 3, None, n)) == "min(3, n)"
    assert str(slice_length(None, i, None, n)) == "len(range(n)[:i])"
    assert str(slice_length(i, i + 3, 2, n)) == "len(range(n)[i:i + 3:2])"
    env.assume(">=", i, 0)
    assert str(slice_length(None, i, None, n)) == "min(n, i)"
    env.assume("<=", i, n - 3)
    assert slice_length(i, i + 3, None, n) == 3 and str(slice_length(None, i, None, n)) == "i"
    assert slice_length(None, i, None, n + i).key == i.key and env.assumed == []


def test_slices_of_plain_numbers() -> None:
    for start, stop, step in itertools.product(BOUNDS, BOUNDS, STEPS):
        assert slice_length(start, stop, step, 5) == sliced(start, stop, step, 5) == len(range(5)[start:stop:step])


def test_ranges() -> None:
    for start, stop, step in itertools.product((-2, 0, 3), (-1, 0, 4, 5), (1, 2, -1, -3)):
        assert range_length(start, stop, step) == len(range(start, stop, step))
        env = Sizes()
        n, k = env.value("n", stop), env.value("k")
        hinted, exact = range_length(start, n, step), range_length(start, k, step)
        for value in range(-6, 7):
            assert exact.evaluate({k.atom: value}) == len(range(start, value, step))
            if all(g.holds({n.atom: value}) for g in env.guards):
                assert at(hinted, {n.atom: value}) == len(range(start, value, step))
        assert env.assumed == []


# --- keys ---

KEYS: list[Any] = [
    0,
    -1,
    (slice(1, None), 2),
    (..., slice(None, -1)),
    (None, slice(None), np.array([0, 2, 1])),
    (np.array([[0, 1]]), slice(None, None, 2)),
    ([0, 1], [1, 2]),
    (slice(None), None, slice(2, 0, -1)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(key: Any) -> None:
    env = Sizes()
    n, m = env.size("n", 4), env.size("m", 5)
    part = weft.spec((n, m))[key]
    for rows, columns in itertools.product(range(3, 8), repeat=2):
        values = {n.atom: rows, m.atom: columns}
        if all(g.holds(values) for g in env.guards):
            assert tuple(at(d, values) for d in part.shape) == np.zeros((rows, columns))[key].shape
    assert not any(g.relation == "==" and g.outcome for g in env.guards)


def test_keys_of_sizes() -> None:
    env = Sizes()
    n, j = env.size("n", 6), env.value("j")
    x = weft.spec((n, 3))
    assert x[n - 1].shape == (3,) and env.guards == []
    assert x[n // 2 :].shape[0].key == (n - n // 2).key and env.guards == []
    assert str(x[:j].shape[0]) == "len(range(n)[:j])"
    assert x[[0, n - 1]].shape == (2, 3)
    assert weft.index_update(x, slice(1, None), weft.spec((n - 1, 3))).shape[0] is n and str(env.guards) == "[n >= 1]"
    assert weft.index_update(x, (slice(None), 0), weft.spec((n,))).shape[0] is n
    with pytest.raises(ShapeError, match=r"shape \(n - 2, 3\) does not fit the part of shape \(n - 1, 3\)"):
        weft.index_update(x, slice(1, None), weft.spec((n - 2, 3)))
    with pytest.raises(IndexingError, match="step 0"):
        x[:: n - n]
    with pytest.raises(IndexingError, match="3 indices for an array of 2 dimensions"):
        x[0, 0, 0]


def test_masks_over_sizes() -> None:
    env = Sizes()
    n = env.size("n", 4)
    x, mask = weft.spec((n, 3), "float32"), weft.spec((n,), bool)
    with pytest.raises(UnknownShape, match="how many elements a mask selects"):
        x[mask]
    with pytest.raises(IndexingError, match="a mask of shape"):
        x[weft.spec((n + 1,), bool)]
    with unknown_sizes(env):
        part = x[mask]
        assert part.dtype == np.float32 and part.shape[1] == 3
        count = part.shape[0]
        assert count.hint is None and count.atom.source is None and env.proved(">=", count, 0)
        assert x[mask].shape[0].key != count.key
        assert weft.index_update(x, (mask,), weft.spec((count, 3), "float32")).shape == x.shape
        assert weft.index_update(x, (mask,), 0.0).shape == x.shape
    with pytest.raises(UnknownShape):
        x[mask]


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (lambda x: weft.nonzero(x), ["nonzero", "nonzero"]),
        (lambda x: weft.unique_values(x), ["unique"]),
        (lambda x: weft.unique_counts(x), ["unique", "unique"]),
        (lambda x: weft.unique_inverse(x), ["unique", "n, 3"]),
        (lambda x: weft.unique_all(x), ["unique", "unique", "n, 3", "unique"]),
        (lambda x: weft.bincount(x[:, 0]), ["bins"]),
        (lambda x: weft.one_hot(x), ["n, 3, classes"]),
        (lambda x: x[weft.sum(x) :], ["slice, 3"]),
    ],
)
def test_sizes_that_depend_on_values(call: Any, shapes: list[str]) -> None:
    env = Sizes()
    x = weft.spec((env.size("n", 4), 3), np.int64)
    with pytest.raises(UnknownShape):
        call(x)
    with unknown_sizes(env):
        found = call(x)
    parts = list(found) if isinstance(found, tuple) else [found]
    assert [", ".join(map(str, part.shape)) for part in parts] == shapes
    real = call(np.array([[0, 1, 2], [2, 0, 1]]))
    assert [part.dtype for part in parts] == [r.dtype for r in (real if isinstance(real, tuple) else [real])]
    assert env.guards == env.assumed == []


# --- broadcasting ---


def test_broadcasting_hinted_sizes() -> None:
    env = Sizes()
    n, m, one = env.size("n", 4), env.size("m", 4), env.size("one", 1)
    assert broadcast_dim("add", n, n + 0) is n and broadcast_dim("add", n, 1) is n and broadcast_dim("add", 1, n) is n
    assert env.guards == []
    assert broadcast_dim("add", n, m) is n and broadcast_dim("add", one, n) is n
    assert str(env.guards) == "[n == m, one == 1]"
    assert broadcast_dim("add", n, 5) is None and broadcast_dim("add", 4, n) == 4
    assert weft.add(weft.spec((n, 1)), weft.spec((m, n + 1))).shape == (n, n + 1)
    with pytest.raises(ShapeError, match=r"add: shapes \(n,\) and \(n \+ 1,\) do not broadcast: n != n \+ 1"):
        weft.add(weft.spec((n,)), weft.spec((n + 1,)))


def test_broadcasting_sizes_without_hint() -> None:
    env = Sizes()
    u, v, n = env.fresh("u"), env.fresh("v"), env.size("n", 4)
    assert broadcast_dim("add", u, 1) is u and broadcast_dim("add", u, u + 0) is u
    assert broadcast_dim("add", u, 5) == 5 and broadcast_dim("add", 0, u) == 0
    both = broadcast_dim("add", u, v)
    assert str(both) == "add" and both.hint is None and str(broadcast_dim("add", u, n)) == "add_1"
    assert n > 1 and broadcast_dim("add", u, n) is n
    env.assume("==", u, v)
    assert broadcast_dim("add", u, v) is u and env.assumed == []


@pytest.mark.parametrize(("size", "wanted"), list(itertools.product((0, 1, 2, 3), repeat=2)))
def test_fitting_sizes(size: int, wanted: int) -> None:
    expected = size in (1, wanted)
    assert fits_dim(size, wanted) is expected
    env = Sizes()
    a, b = env.size("a", size), env.size("b", wanted)
    assert fits_dim(a, b) is expected
    for left, right in itertools.product(range(5), repeat=2):
        if expected and all(g.holds({a.atom: left, b.atom: right}) for g in env.guards):
            assert left in (1, right)


def test_specs_of_sizes_print() -> None:
    env = Sizes()
    x = Spec((env.size("n", 4), 3), "float32")
    assert repr(x) == "Spec(shape=(n, 3), dtype='float32')" and repr(x[1:]) == "Spec(shape=(n - 1, 3), dtype='float32')"
    assert spec_text(x) == "float32[n, 3]"
    graph = weft.Graph()
    graph.output(graph.call_function(weft.sum, (graph.placeholder("x"),), {"axis": 1}))
    assert graph.infer(x).shape == (x.shape[0],) and str(env.guards) == "[n >= 1]"
