"""Dicts, sets and lists of which only running tells how much is in them: comprehensions with an `if`, and `zip`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import PLAINLY, REFUSED, SAME, fates

import weft
from weft.errors import CaptureError

CALLS = [
    (np.array([3.0, 0.5, 2.0]),),
    (np.array([3.0, 3.0, 3.0, 7.0]),),
    (np.array([0.5, 0.0]),),
    (np.zeros(0),),
    (np.array([3, 0, 2, 3, 0]),),
    ([3.0, 0.5, 2.0],),
    ([3, 0, 3],),
    ([],),
]


def by_place(x):
    return {i: v for i, v in enumerate(x) if v > 1}


def by_value(x):
    return {v: i for i, v in enumerate(x) if v > 1}


def by_text_and_tuple(x):
    return {f"k{i}": v for i, v in enumerate(x) if v > 1}, {("a", i): (v, [i]) for i, v in enumerate(x) if v > 1}


def of_names(x):
    return {name: v for name, v in zip(["a", "b", "c", "d"], x, strict=False) if v > 1}


def of_a_dict(x):
    sums = {"plus": sum(x), "minus": -sum(x)}
    return {name: v for name, v in sums.items() if v > 0}


def sets(x):
    return {v for v in x if v > 1}, {i for i, v in enumerate(x) if v > 1}, {int(v) for v in x}


def of_pairs(x):
    return dict((i, v) for i, v in enumerate(x) if v > 1), {(int(v), 1) for v in x if v > 0}  # noqa: C402  # as meant


def of_lists_of_unknown_length(x):
    some = [v for v in x if v > 1]
    return {i: v for i, v in enumerate(some) if v > 2}, {v for v in some}, {v: 1 for v in some if v < 9}  # noqa: C416


def used(x):
    chosen = {i: v for i, v in enumerate(x) if v > 1}
    total = 0
    for i, v in chosen.items():
        total = total + i * v
    chosen[100] = total
    return total, len(chosen), chosen.get(1, 7), 0 in chosen, sorted(chosen.values()), chosen


def in_a_loop(x):
    counts = []
    for v in x:
        larger = {i: w for i, w in enumerate(x) if w > v}
        counts.append((len(larger), len({w for w in x if w < v})))
    return counts


def in_a_branch(x):
    count = 0
    if sum(x) > 2:
        count = len({i: v for i, v in enumerate(x) if v > 1})
    return count


def known_keys(x):
    chosen = {i: x[i] for i in range(len(x)) if i % 2 == 0}
    return chosen, chosen.get(0, -1), 1 in chosen


def known_first_then_not(x):
    return {i: x[i] for i in range(len(x)) if i > 0 and x[i] > 1}


def zipped(x):
    some, more = [v for v in x if v > 1], [2 * v for v in x if v > 0]
    return list(zip(some, more, strict=False)), dict(zip(some, more, strict=False)), [*zip(more, some, strict=False)]


def zipped_with_others(x):
    some = [v for v in x if v > 1]
    return tuple(zip(some, range(3), strict=False)), set(zip(some, x, strict=False)), list(zip(some, x, strict=False))


def counted_and_reversed(x):
    some = [v for v in x if v > 1]
    return list(enumerate(some, 1)), list(reversed(some)), sorted(zip(some, range(9), strict=False))


def strictly(x):
    some, places = [v for v in x if v > 1], [i for i, v in enumerate(x) if v > 1]
    return list(zip(some, places, strict=True))


def strictly_of_others(x):
    return list(zip([v for v in x if v > 1], [v for v in x if v > 0], strict=True))


@pytest.mark.parametrize(
    "program",
    [
        *(by_place, by_value, by_text_and_tuple, of_names, of_a_dict, sets, of_pairs, used, in_a_loop, in_a_branch),
        of_lists_of_unknown_length,
        *(known_keys, known_first_then_not, zipped, zipped_with_others, counted_and_reversed, strictly),
    ],
)
def test_as_in_the_plain_call(program: Callable[..., Any]) -> None:
    compiled, scripted = fates(program, *CALLS)
    assert compiled == SAME
    assert scripted in (SAME, REFUSED)


def test_zip_of_lists_of_other_lengths_raises() -> None:
    assert fates(strictly_of_others, *CALLS)[0] != REFUSED


def views_in_a_dict(m):
    return {i: row for i, row in enumerate(m * 2) if row.sum() > 1}


def write_into_a_view(m):
    m = m * 2
    chosen = {i: row for i, row in enumerate(m) if row.sum() > 1}
    if 0 in chosen:
        chosen[0][:] = 3
    return m


def write_into_the_array(m):
    m = m * 2
    chosen = {i: row for i, row in enumerate(m) if row.sum() > 1}
    m[:] = 7
    return chosen


def write_into_the_array_of_a_list(m):
    m = m * 2
    chosen = [row for i, row in enumerate(m) if row.sum() > i]
    m[:] = 7
    return chosen


@pytest.mark.parametrize(
    "program", [views_in_a_dict, write_into_a_view, write_into_the_array, write_into_the_array_of_a_list]
)
def test_rows_stay_views(program: Callable[..., Any]) -> None:
    calls = [(np.array([[1.0, 2.0], [0.0, 0.1], [3.0, 4.0]]),), (np.zeros((2, 2)),)]
    assert set(fates(program, *calls)) <= {SAME, PLAINLY, REFUSED}  # anything else raises


def products(x):
    return [a * b for a in x for b in x if a > b]


def with_two_conditions(x):
    return [(i, a - b) for i, a in enumerate(x) if a > 1 for b in x if a > b]


def by_size(x):
    return [x[i] * x[j] for i in range(len(x)) for j in range(len(x)) if i < j], [
        i + j for i in range(len(x)) if i % 2 for j in range(i)
    ]


def by_size_then_value(x):
    return [x[j] for i in range(len(x)) if i > 0 for j in range(i) if j > 0 and x[j] > x[i]]


def of_three(x):
    return [a + b + c for a in x if a > 1 for b in (0, 1) for c in x if c < a + b]


def of_the_same_name(x):
    return [a for a in (x, x[:1]) for a in a if a > 1]


def in_rows(x):
    return [v for row in (x, x[1:]) for v in row if v > 1]


def set_and_dict(x):
    pairs = {(i, j): a - b for i, a in enumerate(x) for j, b in enumerate(x) if a > b}
    return {a * b for a in x for b in x if a > b}, pairs


def over_lists_of_unknown_length(x):
    some = [v for v in x if v > 1]
    return [a * b for a in some for b in some if a >= b], [a * b for a in some if a > 2 for b in x]


def among_other_things(x):
    found, total = [], 0
    for k in range(3):
        pairs = [(a, b) for a in x for b in x if a > b + k]
        total = total + sum(a - b for a, b in pairs)
        found.append(len(pairs))
        if total > 2:
            found.append(len([a for a in x if a > k for b in x if b > a]))
    return found, total


@pytest.mark.parametrize(
    "program",
    [
        *(products, with_two_conditions, by_size, by_size_then_value, of_three, of_the_same_name, in_rows),
        *(set_and_dict, over_lists_of_unknown_length, among_other_things),
    ],
)
def test_comprehensions_of_several_loops(program: Callable[..., Any]) -> None:
    compiled, scripted = fates(program, *CALLS)
    assert compiled == SAME
    assert scripted in (SAME, REFUSED)


def test_what_a_generator_expression_of_several_loops_is_refused_with() -> None:
    def program(x):
        return sum(a * b for a in x for b in x if a > b)

    with pytest.raises(CaptureError, match=r"(?s)in a generator expression .*write a list comprehension"):
        weft.compile(program)(np.ones(3))
