"""Arrays that are not plain arrays of numbers: texts, objects, dates, records, np.matrix and other subclasses."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

TEXTS = np.array(["b", "a", "c"])
OBJECTS = np.array(["b", "a", "c"], dtype=object)
DATES = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
RECORDS = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", float), ("b", int)])
MASKED = np.ma.array([3.0, -1.0, 2.0], mask=[False, True, False])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.asmatrix(np.array([[1.0, 2.0], [3.0, 4.0]]))


class Metres(np.ndarray):
    """Says what it is, and multiplies in its own way."""

    unit = "m"

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 100


def shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.shape, repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), [shown(part) for part in value]
    return type(value), repr(value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    given = copy.deepcopy(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        return shown(function(*given)), shown(given)


def compared(x):
    flags = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] == "a":
            flags[i] = 1
    return flags, (x == "a").sum(), x[0] + "z", f"{x[0]}!"


def copied_and_written(x):
    y, z = np.array(x), np.asarray(x)
    y[0] = "y"
    z[1] = "z"
    x[2:][0] = "x"
    return y, z


def sorted_in_place(x):
    x.sort()
    return np.unique(x), x.shape, len(x), x.dtype


def of_objects(x):
    return x[0] + x[1], x * 2, x[2] == "c"


def of_dates(x):
    return np.diff(x), x[0], (x > np.datetime64("2020-06-01")).sum()


def of_records(x):
    x["a"] += 1
    total = 0.0
    for record in x:
        if record["b"] > 2:
            total += record["a"]
    return x["a"] * x["b"], total


def of_a_matrix(x):
    total = 0.0
    for row in x:
        total = total + row.sum() * row.shape[0]
    return x[0].shape, len(x[0]), x * x, x.ravel().shape, x.T * x, total, x.A1


def written_matrix(x):
    row = x[0]
    row[0, 0] = 9
    return x


def of_masked(x):
    y = np.zeros(3)
    y[:] = x
    y += x
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i]
    x[0] = np.ma.masked
    return y, total, x.copy(), np.asarray(x), x.mask, x.sum(), np.sort(x)


def of_metres(x):
    return x * 2, x.unit, x + 1


CASES = [
    (compared, TEXTS),
    (copied_and_written, TEXTS),
    (sorted_in_place, TEXTS),
    (of_objects, OBJECTS),
    (of_dates, DATES),
    (of_records, RECORDS),
    (of_a_matrix, MATRIX),
    (written_matrix, MATRIX),
    (of_masked, MASKED),
    (of_metres, np.arange(3.0).view(Metres)),
]


@pytest.mark.filterwarnings("error:.*ran as plain Python")
@pytest.mark.parametrize(("program", "x"), CASES, ids=[case[0].__name__ for case in CASES])
def test_as_the_plain_call(program: Callable[..., Any], x: Any) -> None:
    compiled = weft.compile(program)
    for given in (x, x[::-1].copy(), x):
        assert outcome(compiled, given) == outcome(program, given)
    assert compiled.cache_info() == (2, 1, 1), "each array has a graph of its own"


def test_what_they_hold_is_read_at_each_call() -> None:
    compiled = weft.compile(lambda x: (x == "a").sum())
    texts = TEXTS.copy()
    assert compiled(texts) == 1
    texts[:] = "a"
    assert compiled(texts) == 3


def from_outside(x):
    names = np.array(["a", "b"])
    if names[0] == "a" and TEXTS[1] == "a":
        x = x + 1
    return x * (names == "a"), MATRIX[0].shape, MASKED.sum(), "c" in TEXTS, RECORDS["a"]


def test_from_outside() -> None:
    compiled = weft.compile(from_outside)
    for x in (np.ones(2), np.zeros(2)):
        assert outcome(compiled, x) == outcome(from_outside, x)


@weft.wrap
def grown(x: Any) -> Any:
    return np.asarray(x) * 1.5


def added(x):
    before = x + 1
    x += grown(x)
    return before, x + 1


def through_a_view(x):
    tail = x[1:]
    tail *= grown(x)[1:]
    x.reshape(-1, 1).T[...] -= grown(x)
    return x.sum()


def in_a_loop(x):
    for i in range(len(x)):
        if x[i] > 1:
            x /= grown(x)
    return x


def too_large(x):
    x += grown(np.ones((2, 3)))


@pytest.mark.parametrize("program", [added, through_a_view, in_a_loop, too_large])
def test_an_array_is_updated_by_what_a_wrapped_function_gives(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0], np.float32), np.array([1, 2, 3])):
        results = []
        for function in (program, compiled, compiled):
            given = x.copy()
            try:
                results.append((shown(function(given)), shown(given)))
            except (TypeError, ValueError) as error:  # whole numbers += fractions; shapes
                results.append((repr(error), shown(given)))
        assert results[1] == results[2] == results[0]


def matrices_made_of_numbers(a, b, n):
    x, p = np.matrix([a, b]).T, np.matrix(np.eye(2))
    record = x
    for k in range(n):
        turn = np.matrix([[np.cos(x[1, 0]), 0.0], [0.0, 0.1]])
        x = turn * x + np.matrix([[a], [b]])
        p = turn * p * turn.T + np.matrix([[a, 0], [0, b]])
        if x[0, 0] > 1.0:
            x[0, 0] = 0.5
        p[k % 2, :] = p[k % 2, :] * 2
        record = np.hstack((record, x))
    return record, p, p.I, np.asarray(x).ravel(), (x.T * x)[0, 0]


def a_matrix_of_an_array(x, n):
    m = np.matrix(x)
    x[0, 0] = 8.0
    m[1, 1] = n
    return m, m[0], x


@pytest.mark.parametrize("make", [weft.compile, weft.script])
def test_matrices_are_made_of_what_is_traced(make: Any) -> None:
    numbers, array = make(matrices_made_of_numbers), make(a_matrix_of_an_array)
    for args in ((0.5, 0.2, 3), (0.5, 0.2, 12), (2.0, 1.0, 2)):
        assert outcome(numbers, *args) == outcome(matrices_made_of_numbers, *args)
    for n in (3, 7):
        assert outcome(array, np.ones((2, 2)), n) == outcome(a_matrix_of_an_array, np.ones((2, 2)), n)
