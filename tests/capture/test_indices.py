"""Keys made of tuples and ranges, reshapes of what a mask selects, and lists beside arrays that are written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def diagonal_cleared(a):
    n = len(a)
    a[range(n), range(n)] = 0
    return a[range(n), range(n)], a[range(1, n)]


def by_tuples(a):
    a[(0, 1), (0, 2)] += 7
    return a[(0, 1), (0, 2)], a[:, (0, 2)]


def by_empty_tuples(a):
    a[:, ()] = 7
    return a[:, ()], a[(), 1], a[[(), ()]], a[((), ())], a[range(0)], a[(), range(0)]


def half_selected(a):
    v = a[a > 0].reshape(2, -1)
    v[0] = 7
    return v, v.sum(axis=0), a


def along_an_axis(a):
    return np.apply_along_axis(lambda row: row.sum() * 2, 1, a)


def edits(a):
    n, m = a.shape
    table, path = np.zeros((n + 1, m + 1)), []
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                table[i, j] = i + j
            else:
                table[i, j] = min(table[i - 1, j], table[i, j - 1]) + a[i - 1, j - 1]
    while n > 0 and m > 0:
        path.append(table[n, m])
        n, m = n - 1, m - 1
    path.reverse()
    path.insert(0, path.pop())
    return table, path


def rows_in_a_list(a):
    kept = []
    for k in range(len(a)):
        row = a[k] * 2
        kept.append(row)
        row[0] = -1
    last = kept.pop()
    last[1] = 100
    kept.insert(0, last)
    kept.reverse()
    a[0] = 5
    return kept, a


PROGRAMS = [diagonal_cleared, by_tuples, by_empty_tuples, half_selected, along_an_axis, edits, rows_in_a_list]


@pytest.mark.parametrize("program", PROGRAMS)
def test_is_captured(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for size in (3, 5, 3):
        got, expected = (call(f, (np.arange(float(size**2)).reshape(size, size),)) for f in (compiled, program))
        assert_same(got, expected)
    assert compiled.cache_info().currsize > 0


def test_nothing_to_apply_to() -> None:
    for shape in ((0, 3), (3, 2)):
        assert_same(call(weft.compile(along_an_axis), (np.ones(shape),)), call(along_an_axis, (np.ones(shape),)))


def test_a_list_that_is_reversed_makes_no_copies_of_arrays() -> None:
    compiled = weft.compile(edits)
    compiled(np.ones((3, 3)))
    assert "index_update" not in compiled.code


def least_squares(x, y):
    chosen = x > 0
    columns = np.column_stack([np.ones(chosen.sum()), x[chosen]])
    return np.linalg.lstsq(columns, y[chosen], rcond=None)[0].sum()


def test_derivatives_of_least_squares_of_a_selection() -> None:
    x, y = np.array([1.0, -2.0, 3.0, 4.0]), np.array([1.0, -2.0, 3.0, 5.0])
    steps = 1e-6 * np.eye(4)
    expected = [(least_squares(x + e, y) - least_squares(x - e, y)) / 2e-6 for e in steps]
    np.testing.assert_allclose(weft.grad(least_squares)(x, y), expected, rtol=1e-6, atol=1e-8)
    tangent = weft.jvp(lambda x: least_squares(x, y), (x,), (np.ones(4),))[1]
    np.testing.assert_allclose(tangent, np.sum(expected), rtol=1e-6)


def runs_of_neighbours(x):
    places = np.where(x > 0)[0]
    parts = np.split(places, np.where(np.diff(places) != 1)[0] + 1)
    return [part[0] + part[-1] for part in parts if len(part) > 1], len(parts)


def cut_where_told(x, places):
    first, *_, last = np.split(x, places)
    x[0] = 7
    return first, last, [part.sum() for part in np.array_split(x, places, axis=-1)]


def parts_that_are_written(x):
    places = np.where(x > 0)[0] * 1.5
    for part in np.split(places, np.where(np.diff(places) != 1.5)[0] + 1):
        part[:1] = 0
    return places


@pytest.mark.parametrize("program", [runs_of_neighbours, cut_where_told, parts_that_are_written])
def test_parts_at_computed_places(program: Any) -> None:
    compiled = weft.compile(program)
    for x in (np.array([1.0, 2, -1, 3, 4, -1, 2]), np.array([1.0, 2, 3]), -np.ones(4), np.empty(1)[:0] + 1):
        if program is cut_where_told and not len(x):
            continue
        arguments = (x, np.array([2, 3])) if program is cut_where_told else (x,)
        assert_same(call(compiled, copy.deepcopy(arguments)), call(program, copy.deepcopy(arguments)))


def test_a_write_to_reshaped_places() -> None:
    def spans(x, least):
        span = np.where(x > 0)[0].reshape(-1, 2)
        if least > 1:
            span = span[np.where(np.diff(span, axis=1) >= least)[0]]
        span[:, 1] = span[:, 1] - 1
        places = np.nonzero(x > 0)[0]
        pairs = places.reshape(-1, 2)
        pairs[0] = 7
        return span, places, pairs

    compiled = weft.compile(spans)
    for x, least in ((np.array([1.0, 2, -1, 3, 4]), 1), (np.array([1.0, -2, -1, 3]), 2), (np.ones(6), 1)):
        assert_same(call(compiled, (x, least)), call(spans, (x, least)))


def products_of_columns(x):
    return np.stack([np.prod(x[:, chosen], axis=1) for chosen in ((), (0,), (1, 0), (1, 1))])


def nothing_selected(x):
    x[:, ()] = 5.0
    return x[(), 0], x[((),)], x[((), [])], x[:, ((), ())], np.take(x, (), axis=1).sum() + x


@pytest.mark.parametrize("program", [products_of_columns, nothing_selected])
@pytest.mark.parametrize("how", [weft.compile, weft.script, lambda f: weft.trace(f, np.ones((2, 3)))])
def test_an_empty_tuple_in_a_key_selects_nothing(how: Any, program: Callable[..., Any]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    captured = how(program)
    assert_same(call(captured, (x.copy(),)), call(program, (x.copy(),)))
    assert how is not weft.compile or not captured._ran_plainly


def test_a_derivative_goes_through_an_empty_tuple_in_a_key() -> None:
    x = np.arange(6.0).reshape(2, 3)
    expected = [[1 + a[1], a[0] + 2 * a[1], 0] for a in x]
    np.testing.assert_allclose(weft.grad(lambda x: np.sum(products_of_columns(x)))(x), expected)
    np.testing.assert_array_equal(weft.grad(lambda x: np.take(x, (), axis=1).sum() + x.sum())(x), np.ones((2, 3)))
