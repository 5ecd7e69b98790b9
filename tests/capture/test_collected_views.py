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
