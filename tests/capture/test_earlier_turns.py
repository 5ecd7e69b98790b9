"""Variables, items and attributes that may be missing: assigned by an earlier turn of a loop, or deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import PLAINLY, REFUSED, SAME, fates

import weft
from weft.errors import CaptureError

X = np.array([0.5, 2.0, 1.5, 3.0, -1.0])


class Box:
    """An object to which programs add attributes."""


def first_turn_sets(n, x):
    for i in range(n):
        if i == 0:
            level, slope = x[0], 1.0
            continue
        level, slope = 0.5 * level + slope * x[i], 0.9 * slope
    return level, slope


def chosen_start(n, x, kind="sum"):
    out = []
    for i in range(n):
        if i == 0:
            if kind == "sum":
                state = x[0]
            elif kind == "product":
                state = 1.0
        before, state = state, state + x[i]
        out.append(before + state)
    return out


def last_seen(n, x):
    total = 0.0
    for i in range(n):
        if x[i] > 1.7:
            seen = x[i]
        elif i > 2:
            total += seen
    return total


def across_inner_loops(n, x):
    total = 0.0
    for i in range(n):
        for j in range(3 - i):
            last = x[j] * (i + 1)
        total += last
    return total


def inner_reads(n, x):
    total = 0.0
    for i in range(n):
        for j in range(2):
            if i + j == 0:
                last = x[0]
            else:
                last = last + x[j]
            total += last
    return total


def written_array(n, x):
    total = 0.0
    for i in range(n):
        if i % 2 == 0:
            held = np.zeros(2)
        else:
            held[1] += x[i]
            total += held.sum()
    return total


PROGRAMS: list[Callable[..., Any]] = [
    first_turn_sets,
    chosen_start,
    last_seen,
    across_inner_loops,
    inner_reads,
    written_array,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_turn_reads_what_one_before_has_assigned(program: Callable[..., Any]) -> None:
    assert fates(program, *((n, X) for n in (3, 5, 1, 0, 4))) == [SAME, SAME]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_derivative_goes_through_earlier_turns(program: Callable[..., Any]) -> None:
    def loss(x):
        result = program(4, x)
        return np.sum(result[0] if isinstance(result, (tuple, list)) else result)

    steps = 1e-6 * np.eye(len(X))
    expected = [(loss(X + step) - loss(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(weft.grad(loss)(X), expected, rtol=1e-5, atol=1e-6)


def never_assigned(n, x):
    total = 0.0
    for i in range(n):
        if x[i] > 1.0:
            total += value  # noqa: F821  # no turn leaves it with a value
        else:
            value = 0.0
            del value
    return total


def test_a_variable_that_no_turn_leaves_is_refused_where_it_is_read() -> None:
    with pytest.raises(CaptureError, match="value is read in the loop") as found:
        weft.script(never_assigned)
    assert "total += value" in str(found.value)
    assert fates(never_assigned, (3, X), (1, X)) == [SAME, REFUSED]


def counted(n, x):
    sums, found = {}, 0
    for i in range(n):
        if n not in sums:
            sums[n] = 0.0
            found += 1
        sums[n] += x[i]
    return sums, found


def gathered(n, x):
    lists = {}
    for i in range(n):
        lists.setdefault(n, []).append(x[i])
    return lists


def asked(n, x):
    sums = {}
    for i in range(n):
        sums[n] = sums.get(n, 0.0) + x[i]
        sums[n] = sums.pop(n, 0.0) * 2
    return sums


def taken_out(n, x):
    held = {}
    for i in range(n):
        held[n] = x[i]
    del held[n]
    return held


@pytest.mark.parametrize("program", [counted, gathered, asked, taken_out])
def test_a_dict_is_asked_by_an_argument_for_a_key_that_a_loop_adds(program: Callable[..., Any]) -> None:
    assert fates(program, (2, X), (3, X), (0, X), (2, X)) == [SAME, SAME]


def item_deleted(n, x):
    held = {"a": 1}
    for i in range(n):
        held["b"] = x[i]
    del held["b"]
    return held


def item_of_one_side_deleted(n, x):
    held = {"a": 1}
    if x[0] > n:
        held["b"] = x[0]
    del held["b"]
    return held


def attribute_deleted(n, x):
    box = Box()
    for i in range(n):
        box.value = x[i]
    del box.value
    return hasattr(box, "value")


def attribute_of_one_side_deleted(n, x):
    box = Box()
    if x[0] > n:
        box.value = x[0]
    delattr(box, "value")
    return n


def entry_deleted(n, x):
    box = Box()
    if x[0] > n:
        box.value = x[0]
    del box.__dict__["value"]
    return n


@pytest.mark.parametrize(
    "program",
    [item_deleted, item_of_one_side_deleted, attribute_deleted, attribute_of_one_side_deleted, entry_deleted],
)
def test_what_may_be_missing_is_not_deleted_in_silence(program: Callable[..., Any]) -> None:
    assert set(fates(program, (2, X), (0, X))) <= {SAME, REFUSED}


def item_caught(n, x):
    held = {"a": 1.0}
    for i in range(n):
        if x[i] > 1.7:
            held["b"] = x[i]
    try:
        return held["b"]
    except KeyError:
        return -1.0


def variable_caught(n, x):
    for i in range(n):
        if x[i] > 1.7:
            value = x[i]
    try:
        return value
    except NameError:
        return -1.0


def attribute_caught(n, x):
    box = Box()
    for i in range(n):
        if x[i] > 1.7:
            box.value = x[i]
    try:
        found = box.value
    except AttributeError:
        found = -1.0
    return found


def deletion_caught(n, x):
    held = {"a": 1.0}
    for i in range(n):
        held["b"] = x[i]
    try:
        del held["b"]
    except KeyError:
        return None
    return held


@pytest.mark.parametrize("program", [item_caught, variable_caught, attribute_caught, deletion_caught])
def test_a_program_catches_that_something_is_missing(program: Callable[..., Any]) -> None:
    assert fates(program, (4, X), (0, X), (3, -X), (4, X)) == [PLAINLY, REFUSED]


def variable_deleted(n, x):
    if x[0] > n:
        value = x[0]
    del value
    return n


def variable_of_a_loop_deleted(n, x):
    for i in range(n):
        value = x[i]
    del value
    return n


def entry_of_a_loop_deleted(n, x):
    box = Box()
    for i in range(n):
        box.value = x[i]
    del box.__dict__["value"]
    return n


@pytest.mark.parametrize("program", [variable_deleted, variable_of_a_loop_deleted, entry_of_a_loop_deleted])
def test_a_variable_without_a_value_is_not_deleted_in_silence(program: Callable[..., Any]) -> None:
    assert set(fates(program, (2, X), (0, X))) <= {SAME, REFUSED}
