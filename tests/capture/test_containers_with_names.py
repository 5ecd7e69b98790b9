"""A list or dict of the program is one object under all its names: in lists, after branches, in loops, outside.

What cannot be one object in the graph is not changed any more: a change is refused, never lost.
"""

# ruff: noqa: PERF401, PERF402  # these are the ways of writing that are to be captured

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError, TraceError

X = np.array([1.0, -1.0, 2.0, -3.0])
CALLS = [X, -X, np.ones(40), X.tolist()]


@dataclasses.dataclass
class Point:
    x: float


def a_row_that_a_list_has(x):
    rows = []
    for v in x:
        row = []
        rows.append(row)
        row.append(v)
    return rows


def a_row_chosen_and_added(x):
    rows, row = [], []
    for k in range(len(x)):
        if x[k] > 0:
            row = [x[k]]
            rows.append(row)
        row.append(k)
    return rows, row


def a_row_within(x):
    inner = [1]
    outer = [inner, 2]
    for k in range(len(x)):
        if x[k] > 0:
            outer.append(k)
        inner.append(k)
    return outer, inner


def a_row_of_a_comprehension(x):
    row = [0]
    rows = [row for v in x if v > 0]
    row.append(1)
    return rows, row


def a_row_given_away(x, given):
    row = [0.0]
    given.append(row)
    for v in x:
        row.append(v)
    return row


def a_row_of_a_dict(x):
    rows = {}
    for k in range(len(x)):
        row = [x[k]]
        rows[k] = row
        row.append(1)
    return rows


def one_of_two(x):
    row = [0.0]
    other = row if x[0] > 0 else [1.0]
    other.append(5)
    return row, other


def one_of_two_rows(x):
    rows = [[0.0], [1.0]]
    row = rows[0] if x[0] > 0 else rows[1]
    row[0] = 2.0
    return rows


def one_of_two_dicts(x):
    row = {"a": 0.0}
    other = row if x[0] > 0 else {"a": 1.0}
    other["a"] = 5.0
    return row, other


def two_names(x):
    if x[0] > 0:
        row = [1.0]
        keep = row
    else:
        row = [2.0]
        keep = row
    row.append(3.0)
    return row, keep


def exchanged(x):
    a, b = [1.0], [2.0]
    c, d = a, b
    if x[0] > 0:
        a, b = b, a
    a[0] = 9.0
    return a, b, c, d


def after_a_loop(x):
    a = [1.0]
    b = a
    for v in x:
        if v > 1:
            b = [v]
    c = b
    c.append(2.0)
    return a, b


def a_dict_that_a_list_has(x):
    rows, row = [], {"k": 0}
    for k in range(len(x)):
        if x[k] > 0:
            rows.append(row)
        row["k"] = k
    return rows, row


def a_set_that_a_list_has(x):
    rows, row = [], set()
    for k in range(len(x)):
        if x[k] > 0:
            rows.append(row)
        row.add(k)
    return rows, row


def a_deque_that_a_list_has(x):
    rows, row = [], deque([1])
    for v in x:
        if v > 0:
            rows.append(row)
    row.append(2)
    return rows, row


def an_ordered_dict_that_a_list_has(x):
    rows, row = [], OrderedDict(a=1.0)
    for v in x:
        if v > 0:
            rows.append(row)
    row["b"] = 2.0
    return rows, row


def an_object_that_a_list_has(x):
    rows, point = [], Point(0.0)
    for v in x:
        if v > 0:
            rows.append(point)
    point.x = 5.0
    return rows, point


def an_element_under_a_name(x):
    rows = [[v, 1] for v in x if v != 0]
    row = rows[0]
    row.append(7)
    return rows, row


CAPTURED: list[Callable[..., Any]] = [
    a_row_that_a_list_has,
    a_row_within,
    a_row_given_away,
    a_row_of_a_dict,
    one_of_two,
    one_of_two_rows,
    two_names,
    exchanged,
]
OTHERS: list[Callable[..., Any]] = [
    a_row_chosen_and_added,
    a_row_of_a_comprehension,
    after_a_loop,
    one_of_two_dicts,
    a_dict_that_a_list_has,
    a_set_that_a_list_has,
    a_deque_that_a_list_has,
    an_ordered_dict_that_a_list_has,
    an_object_that_a_list_has,
    an_element_under_a_name,
]


def calls(program: Callable[..., Any]) -> list[tuple[Any, ...]]:
    return [(x, []) if program is a_row_given_away else (x,) for x in CALLS]


@pytest.mark.parametrize("program", CAPTURED + OTHERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", [weft.compile, weft.script])
def test_as_in_the_plain_call_or_refused(how: Any, program: Callable[..., Any]) -> None:
    try:
        captured = how(program)
    except CaptureError:
        assert program in OTHERS
        return
    for given in calls(program):
        got = call(captured, copy.deepcopy(given))
        if isinstance(got.exception, CaptureError):
            assert program in OTHERS
        else:
            assert_same(got, call(program, copy.deepcopy(given)))


@pytest.mark.parametrize("program", CAPTURED + OTHERS, ids=lambda f: f.__name__)
def test_derivatives_are_of_what_the_program_gives(program: Callable[..., Any]) -> None:
    if program is a_row_given_away:
        return
    try:
        value, _ = weft.vjp(program, X)
    except TraceError:
        return
    assert_same(call(lambda x: value, (X,)), call(program, (X,)))


def test_a_named_tuple_made_by_the_program_is_of_its_module() -> None:
    def program(x: Any) -> Any:
        kind = namedtuple("Found", ["total", "count"])
        return kind(x.sum(), len(x))

    x = np.arange(3.0)
    for captured in (weft.compile(program), weft.script(program), weft.trace(program, x)):
        found = captured(x)
        assert found == (3.0, 3)
        assert type(found).__module__ == type(program(x)).__module__ == __name__
