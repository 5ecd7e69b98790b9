"""Sets and counts of values that are known only when the graph runs are made when it runs, as wrapped calls are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import SAME, fates

import weft
from weft.errors import CaptureError


def all_the_same(y):
    return len(set(y)) == 1


def most_common(y):
    return Counter(y).most_common(1)[0][0]


def most_common_of_a_list(y):
    nearest = [y[i] for i in np.argsort(y)[:2]]
    return Counter(nearest).most_common(1)[0][0], max(set(nearest), key=nearest.count)


def in_order(y):
    return sorted(set(y)), np.array(list(frozenset(y)))


def per_value(y):
    return {value: (y == value).sum() for value in set(y)}


def summed(y):
    total = 0
    for value in set(y):
        total += value
    return total


def decides(y):
    if len(set(y)) == 1:
        return y[0] * 1.0
    return y.sum() / 2


def changed_after(y):
    counts, found = Counter(y), set(y)
    found.add(7)
    for value in y:
        counts[value] += 1
    return counts, found, len(found), 7 in found, counts[3]


def of_sets(y):
    found = set(y)
    return found | {1, 9}, found & {1}, found - {1}, found == {1, 2}, bool(found), list(Counter(y).items())


def of_plain_lists(y):
    return Counter(y.tolist()), set(y.tolist()), set(y[:0])


def of_sizes(y):
    return {len(y), 3}, Counter([len(y), 3]), Counter(a=len(y)), Counter({"x": y.sum()}), Counter("abca")


def by_another_list(y):
    values = list(y)
    chosen = max(set(values), key=values.count), sorted(set(values), key=values.index)
    values.append(3)
    return chosen, values


@pytest.mark.parametrize(
    "program",
    [
        *(all_the_same, most_common, most_common_of_a_list, in_order, per_value, summed, decides, changed_after),
        *(of_sets, of_plain_lists, of_sizes, by_another_list),
    ],
)
def test_as_in_the_plain_call(program: Callable[..., Any]) -> None:
    calls = [(np.array(y),) for y in ([1, 2, 2], [5, 5, 5], [1.0, 1.0], [True, False, True])]
    assert fates(program, *calls[:2])[0] == SAME
    assert fates(program, *calls)[0] == SAME


def test_arrays_have_no_hash() -> None:
    def rows(y):
        return set(y)

    with pytest.raises(TypeError, match=r"unhashable type: 'numpy.ndarray'"):
        weft.compile(rows)(np.ones((2, 2)))


def test_one_graph_holds_for_other_values() -> None:
    compiled = weft.compile(most_common)
    assert [compiled(np.array(y)) for y in ([1, 2, 2], [3, 3, 1], [0, 7, 7])] == [2, 3, 7]
    assert compiled.cache_info().misses == 1


def divides_a_part(x):
    values = [0.0, 1.0, 2.0]
    values[1:] /= x[0]
    values[0] = x[1]
    return values


def divides_all(x):
    values = [3.0, x[1]]
    values /= x[0]
    values -= x
    return values


@pytest.mark.parametrize("program", [divides_a_part, divides_all])
def test_lists_that_an_array_makes_arrays_of(program: Callable[..., Any]) -> None:
    assert fates(program, (np.array([2.0, 4.0]),), (np.array([4, 2]),))[0] == SAME


def most_common_of_one_side(y, n):
    chosen = y[:2] if n > 1 else list(y)
    return Counter(chosen).most_common(1), sorted(Counter(y[y > 0]).items())


def test_a_count_of_values_of_unknown_type() -> None:
    given = [(np.array([1, 2, 2]), 3), (np.array([0, 5, 5, 1]), 1), (np.array([7]), 2)]
    assert fates(most_common_of_one_side, *given) == [SAME, SAME]


def counted_later(y, n):
    count = Counter()
    count.update(y[:2] if n > 1 else list(y))
    return count


def test_a_refusal_in_the_standard_library_names_the_line_of_the_program() -> None:
    with pytest.raises(CaptureError, match=r"^collections\.Counter\.update cannot be captured: ") as found:
        weft.compile(counted_later)(np.array([1, 2, 2]), 3)
    assert "count.update(y[:2] if n > 1 else list(y))" in str(found.value)
    assert "collections/__init__.py" not in str(found.value)
