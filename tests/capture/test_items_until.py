"""`any` and `all` of generator expressions, lists that a comprehension makes, arrays chosen from a list, and errors of
paths that may not be taken.
"""

# programs as people write them

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest
from alike import SAME, fates

import weft

ROWS = ((np.array([-3.0, 1.0, 2.0, 5.0]),), (np.array([4.0, 7.0, 1.0, 2.0]),), (np.zeros(4),))


def over_a_known_range(x):
    return all(x[i] > 0 for i in range(4)), any(x[i] > 6 for i in range(4)), any(x[i] for i in range(2))


def over_an_array(x):
    return all(v > 0 for v in x), any(v > 6 for v in x if v != 7), all(True for _ in x), any(False for _ in range(3))


def stops_before_what_would_raise(x):
    return any(x[k] > 0.5 for k in range(40)) if x.max() > 0.5 else all(x[k] < -9 for k in range(40))


def in_a_condition(x):
    rounds = 0
    while not all(v > 10 for v in x):
        x = x + 1
        rounds += 1
    return rounds, x


def within_one_another(x):
    rows = [[x[0], x[1]], [x[1], x[0]]]
    return any(all(value > 0 for value in row) for row in rows)


def counts_what_was_asked(x):
    asked = []

    def large(value):
        asked.append(1)
        return value > 2

    return any(large(v) for v in x), len(asked)


@pytest.mark.parametrize(
    "program",
    [
        over_a_known_range,
        over_an_array,
        stops_before_what_would_raise,
        in_a_condition,
        within_one_another,
        counts_what_was_asked,
    ],
)
def test_any_and_all_take_items_until_one_decides(program):
    assert fates(program, *ROWS) == [SAME, SAME]


def logarithm(x):
    k = 0
    if x[0] > 3:
        return math.log(k)
    return x.sum()


def a_missing_key(x):
    known = {"a": 1.0}
    return known["b"] if x[0] > 3 else x.sum()


def past_the_end(x):
    items = [1.0]
    if x[0] > 3:
        scale = items[2]
    else:
        scale = items[0]
    return x * scale


def in_a_loop(x):
    total = 0.0
    for value in x:
        if value > 6:
            total += math.sqrt(-4)
        total += value
    return total


@pytest.mark.parametrize("program", [logarithm, a_missing_key, past_the_end, in_a_loop])
def test_an_error_on_a_path_is_raised_where_the_path_is_taken(program):
    assert fates(program, *ROWS) == [SAME, SAME]


def a_heap(x):
    heap = [[v, 0] for v in x]
    heapq.heapify(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        a[1] += 1
        heapq.heappush(heap, [a[0] + b[0], a[1] + b[1]])
    return heap


def rows_of_a_comprehension(x):
    rows = [[v, 0.0] for v in x]
    for row in rows:
        row[1] = 4.0
    return rows


def pushed_then_changed(x):
    heap = []
    for k in range(len(x)):
        entry = [x[k], k]
        heapq.heappush(heap, entry)
        entry[1] = 9
    return heap


@pytest.mark.parametrize(
    ("program", "fate"), [(a_heap, SAME), (rows_of_a_comprehension, SAME), (pushed_then_changed, SAME)]
)
def test_a_list_that_a_comprehension_makes_may_change(program, fate):
    assert fates(program, *ROWS) == [fate, SAME]


def removed_from_a_comprehension(x):
    doubled = [v * 2 for v in x]
    doubled.remove(doubled[1])
    return doubled


def test_an_element_of_a_list_of_unknown_length_is_removed():
    for x in (np.arange(3.0), np.array([1.0, 1.0, 2.0])):
        assert weft.compile(removed_from_a_comprehension)(x) == removed_from_a_comprehension(x)


def one_of_several_shapes(x, k):
    return [x, x[:2], np.ones((2, 2))][k].sum() * 2


def layers(x, k):
    weights = [np.ones((3, 2)), np.ones((2, 3))]
    hidden = x[:2]
    for i in range(k + 1):
        hidden = np.tanh(weights[i] @ hidden)
    return hidden


def several_dtypes(x, k):
    return [x, x.astype(int)][k] + 1


def written_through_the_list(x, k):
    items = [x.copy(), x[:2].copy()]
    items[k] *= 2.0
    return items


@pytest.mark.parametrize("program", [one_of_several_shapes, layers, several_dtypes, written_through_the_list])
def test_arrays_of_several_shapes_are_chosen_by_a_traced_place(program):
    assert fates(program, *((x, k) for (x,) in ROWS for k in (0, 1))) == [SAME, SAME]


@pytest.mark.parametrize("count", [2.0, 2.7, np.float64(3)])
def test_array_split_takes_a_float_for_a_number(count):
    for got in (
        weft.compile(lambda x: np.array_split(x, count))(np.arange(6.0)),
        weft.array_split(np.arange(6.0), count),
    ):
        assert [part.tolist() for part in got] == [part.tolist() for part in np.array_split(np.arange(6.0), count)]
