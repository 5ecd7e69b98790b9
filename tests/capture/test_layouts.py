"""Whether NumPy gives a view or a copy depends on how arrays lie in memory; a captured program does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def columns_flattened(a, n):
    for i in range(n):
        v = a[:, :i].ravel()
        v[:] = -1
    return a


def first_columns(a, n):
    v = a[:, :n].reshape(-1)
    v[:] = -1


def one_row(a, n):
    v = a[n - 1 : n].ravel()
    v[:] = -1


def one_column(a, n):
    v = a[:, n - 1 : n].ravel()
    v[:] = -1


def turned(a, n):
    v = a.T.ravel()
    v[:] = n


def every_other_row(a, n):
    v = a[::n].ravel()
    v[:] = -1


def every_other_column(a, n):
    v = a[:, ::2].reshape(-1)
    v[:] = n


def last_rows_turned(a, n):
    v = a[a.shape[0] - n :, :].T.reshape(-1)
    v *= 2


def in_order(a, n):
    t = np.ascontiguousarray(a.T)
    t += n
    return t


def in_other_order(a, n):
    t = np.asfortranarray(a)
    t += n
    return t


def columns_in_order(a, n):
    for i in range(min(n, a.shape[1])):
        column = np.ascontiguousarray(a[:, i])
        column += 1
    return a


def rows_in_order(a, n):
    for i in range(min(n, a.shape[0])):
        row = np.ascontiguousarray(a[i])
        row += 1
    return a


def by_columns(a, n):
    v = a.reshape(-1, order="F")
    v[0] = n


def raveled_or_reshaped(a, n):
    r = a.ravel()
    r[0] += n
    q = a.reshape(-1)
    q[0] += 2 * n
    return r, q


def raveled_vector(a, n):
    row = a[0]
    v = row.ravel()
    v[:] = n
    w = a[:, 0][::-1].ravel()
    w[:] = n


def grids() -> Iterator[Any]:
    def grid(rows: int, columns: int) -> Any:
        return np.arange(float(rows * columns)).reshape(rows, columns)

    yield from (grid(3, 4), grid(1, 4), grid(4, 1), grid(4, 4), grid(1, 1), grid(2, 3))
    yield from (np.asfortranarray(grid(3, 4)), np.asfortranarray(grid(4, 2)), grid(8, 4)[::2], grid(3, 8)[:, ::2])
    yield from (grid(3, 4)[::-1], grid(4, 1)[::2])


PROGRAMS = (
    *(columns_flattened, first_columns, one_row, one_column, turned, every_other_row, every_other_column),
    *(last_rows_turned, in_order, in_other_order, columns_in_order, rows_in_order, by_columns),
    *(raveled_or_reshaped, raveled_vector),
)


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_view_where_numpy_gives_one(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for n in (1, 2, 4, 3):
        for given, other in zip(grids(), grids(), strict=True):
            assert_same(call(compiled, (given, n)), call(program, (other, n)), identity=True)


def raveled(x):
    v = x.ravel()
    v[0] = 5
    w = np.ascontiguousarray(x)
    w[-1] = 7


@pytest.mark.parametrize("makers", [(0, 1), (1, 0)])
def test_a_vector_with_gaps_is_copied(makers: tuple[int, ...]) -> None:
    compiled = weft.compile(raveled)
    for which in makers:
        given, other = ((np.arange(4.0), np.arange(8.0)[::2])[which] for _ in range(2))
        assert_same(call(compiled, (given,)), call(raveled, (other,)))
