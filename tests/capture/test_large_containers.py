"""Large lists and dicts as arguments: one input each, at the price of the plain call."""

from __future__ import annotations

import collections.abc
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.capture import _changes, _python_calls


def looped(v):
    total = 0.0
    for a in v:
        total = total + a * 2
    return total


def as_array(v):
    return np.array(v).sum() * 0.5


def of_a_few(v):
    return v[3] + v[-1], v[:2], len(v), 3.0 in v


def comprehension(v):
    return [a * 2 for a in v if a > 10.0][:5]


def branches(v):
    if v[0] > 0:
        return v[1] * 2
    return v[2]


def changed(v):
    v[0] = v[1] * 2
    v.append(len(v))
    return v


def by_key(d):
    total = 0.0
    for key in d:
        total += d[key]
    return total, d["k3"], d.get("none", 1.0), sorted(d)[:2]


def table(rows):
    best = rows[0][1]
    for i, row in enumerate(rows):
        if row[1] > best:
            best = row[1]
        rows[i][0] = i
    return best, rows[2]


FLOATS = [float(k) for k in range(500)]
DICT = {f"k{k}": float(k) for k in range(400)}
ROWS = [[float(k), float((k * 7) % 50)] for k in range(150)]
PROGRAMS: list[tuple[Callable[..., Any], Any]] = [
    (looped, FLOATS),
    (as_array, FLOATS),
    (of_a_few, FLOATS),
    (comprehension, FLOATS),
    (branches, FLOATS),
    (changed, FLOATS),
    (by_key, DICT),
    (table, ROWS),
    (looped, tuple(FLOATS)),
    (as_array, list(range(300))),
    (lambda v: "-".join(v[:3]), [str(k) for k in range(300)]),
    (lambda v: v, FLOATS),
]


@pytest.mark.parametrize(("program", "given"), PROGRAMS)
def test_one_graph_that_asks_for_the_class_alone(program: Callable[..., Any], given: Any) -> None:
    compiled = weft.compile(program)
    longer = {**given, "more": 1.0} if isinstance(given, dict) else given + given[:3]
    for arg in (given, longer, given):
        assert_same(call(compiled, (copy.deepcopy(arg),)), call(program, (copy.deepcopy(arg),)))
    assert compiled.cache_info()[1:] == (1, 1)
    assert len(compiled._entries[0].guards.steps) == 2  # the class, and that the function has its code


def test_it_stays_the_list_that_was_given() -> None:
    given = list(FLOATS)
    assert weft.compile(lambda v: v)(given) is given


def test_lists_that_share_parts_are_taken_apart() -> None:
    def twice(v, w):
        w[0][0] = 5.0
        return v[0][0]

    rows = copy.deepcopy(ROWS)
    assert weft.compile(twice)(rows, [rows[0]]) == 5.0


def test_what_needs_the_parts_takes_them() -> None:
    slope = weft.compile(lambda v: weft.grad(lambda v: sum(a * a for a in v))(v))(FLOATS)
    assert slope == [2 * a for a in FLOATS]
    assert np.array_equal(weft.grad(lambda v, x: (np.array(v) * x).sum(), 1)(FLOATS, np.ones(500)), FLOATS)


def test_a_run_that_changed_a_list_is_not_repeated() -> None:
    def grows(v, x):
        v.append(1.0)
        return np.array([1 for a in x if a > 0])

    compiled = weft.compile(grows)
    given = list(FLOATS)
    compiled(given, np.ones(2))
    with pytest.raises(weft.errors.CaptureError, match="of an empty list"):
        compiled(given, -np.ones(2))
    assert len(given) == len(FLOATS) + 2


def test_the_limit() -> None:
    small, large = [1.0] * 50, [1.0] * 500
    compiled = weft.compile(lambda v, *rest: sum(v) + len(rest))
    assert [compiled(small), compiled(large), compiled(small, *large)] == [50.0, 500.0, 550.0]


def filled(x: Any, turns: int) -> Any:
    """Fills a list, a deque and a set, asking the list how long it is."""
    numbers, last, found = [1.0], collections.deque([0]), set()
    while len(numbers) < turns:
        numbers.append(numbers[-1] * 1.01)
        last.append(len(numbers))
        found.add(len(numbers) % 7 + len(numbers))
    return x * numbers[-1] + len(found) + last[0]


def test_a_container_that_a_loop_fills_is_not_looked_through_at_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []

    def counting(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            parts = value if isinstance(value, tuple) else (value,)
            looked_at.append(sum(len(part) for part in parts if isinstance(part, collections.abc.Sized)))
            return function(value)

        return run

    monkeypatch.setattr(_changes, "_state", counting(_changes._state))
    monkeypatch.setattr(_python_calls, "is_opaque", counting(_python_calls.is_opaque))
    compiled = weft.compile(lambda x: filled(x, 300))
    np.testing.assert_array_equal(compiled(np.ones(2)), filled(np.ones(2), 300))
    assert sum(looked_at) < 30 * 300
