"""Lists of views that comprehensions make: what is written into one shows in the array, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def write_into_a_row(x):
    rows = [x[i] for i in range(x.shape[0])]
    rows[0][:] = 1


def write_into_an_item(x):
    rows = [r for r in x]  # noqa: C416  # a comprehension is what is meant
    rows[-1][0] = 7
    return rows


def add_to_a_row(x):
    rows = [x[i] for i in range(len(x))]
    rows[0] += 1
    return rows


def write_into_each(x):
    for k, row in enumerate([x[i] for i in range(len(x))]):
        row[0] = k


def write_into_the_array(x):
    rows = [x[i] for i in range(len(x))]
    x *= 2
    return np.array(rows)


def unpack(x):
    first, *rest = (x[i] for i in range(len(x)))
    first += rest[0]


def turned(x):
    for row in [r.T for r in x[:, None]]:
        row[0] = 5
    return x.sum()


def in_a_dict(x):
    columns = {j: x[:, j] for j in range(x.shape[1])}
    columns[1] += 5


def filtered(x):
    for row in [x[i] for i in range(len(x)) if i % 2 == 0]:
        row[:] = -1


def copies(x):
    rows = [x[i].copy() for i in range(len(x))]
    rows[0][:] = 1
    x[1] = 0
    return rows


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize(
    "program",
    [
        *(write_into_a_row, write_into_an_item, add_to_a_row, write_into_each, write_into_the_array, unpack, turned),
        *(in_a_dict, filtered, copies),
    ],
)
def test_rows_are_views(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for rows in (3, 5, 2):
        given, other = (np.arange(4.0 * rows).reshape(rows, 4) for _ in range(2))
        assert_same(call(compiled, (given,)), call(program, (other,)))


class Totals:
    """Adds up in place, and gives the same array each time."""

    def __init__(self):
        self.totals = np.zeros(2)

    def add(self, value):
        self.totals[0] += value
        self.totals[1] = value
        return self.totals


def the_array_that_is_written_meanwhile(values):
    totals = Totals()
    return [totals.add(value) for value in values]


def views_of_what_is_written_meanwhile(values):
    totals = Totals()
    return [totals.add(value)[:] for value in values]


def one_array_many_times(values):
    array = np.zeros(2)
    return [array for value in values if value > 1]


def one_array_or_another(values):
    low, high = np.zeros(2), np.ones(2)
    return [low if value < 2 else high for value in values]


@pytest.mark.parametrize(
    "program",
    [
        the_array_that_is_written_meanwhile,
        views_of_what_is_written_meanwhile,
        one_array_many_times,
        one_array_or_another,
    ],
)
def test_an_array_from_outside_is_that_array_in_each_place(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for values in (np.array([1.0, 2.0, 3.0]), np.array([4.0, 1.0]), np.zeros(0)):
        expected, got = program(values), compiled(values)
        assert [row.tolist() for row in got] == [row.tolist() for row in expected]
        same = [[np.shares_memory(a, b) for a in expected] for b in expected]
        assert [[np.shares_memory(a, b) for a in got] for b in got] == same


def test_one_array_many_times_has_derivatives() -> None:
    def total(weights, values):
        return np.array([weights for _ in values]).sum() + sum(w[0] for w in [weights for _ in values])

    assert weft.grad(total)(np.ones(2), np.arange(3.0)).tolist() == [6.0, 3.0]


def test_columns_at_traced_places() -> None:
    def filled(x):
        return np.array([x[:, k] for k in np.flatnonzero((x**2).sum(0))]).T

    def corners(x):
        return [np.asarray(x[k, 0]) for k in np.flatnonzero(x[:, 0])]

    compiled = [weft.compile(program) for program in (filled, corners)]
    for x in (np.eye(3, 4), np.ones((2, 3))):
        for function, program in zip(compiled, (filled, corners), strict=True):
            assert_same(call(function, (x,)), call(program, (x,)))
            assert not function._ran_plainly
