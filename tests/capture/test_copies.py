"""A copy that copy.deepcopy makes in a captured program is the program's own in all its parts."""

from __future__ import annotations

import copy
import functools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError


class Held:
    def __init__(self, x):
        self.x, self.parts, self.more = x, None, None

    def twice(self):
        return self.x * 2


def by_key(made, value):
    return made(first=[value])


def in_order(made, value):
    return made([[value]], 4)


KINDS = {
    "dict": functools.partial(by_key, dict),
    "defaultdict": lambda value: defaultdict(list, first=[value]),
    "OrderedDict": functools.partial(by_key, OrderedDict),
    "Counter": functools.partial(by_key, Counter),
    "deque": functools.partial(in_order, deque),
    "list": lambda value: [[value]],
    "tuple": lambda value: ([value],),
}


def first(parts):
    for part in parts.values() if isinstance(parts, dict) else parts:
        return part
    return None


def itself(held):
    made = copy.deepcopy(held)
    first(made.parts)[0].x = made.x + 1
    return made.x, held.x, first(made.parts)[0] is made, first(held.parts)[0] is held


def another(held):
    made = copy.deepcopy(held)
    first(made.parts)[0].x += 1
    return made.x + first(made.parts)[0].x, first(held.parts)[0].x


def grown(held):
    made = copy.deepcopy(held)
    first(made.parts).append(made.x)
    return len(first(made.parts)), len(first(held.parts)), made.more is first(made.parts), len(made.more)


def written(held):
    made = copy.deepcopy(held)
    first(made.parts)[0][0] = 7.0
    return made.x * first(made.parts)[0], first(held.parts)[0]


def in_what_holds(program, x):
    """What the program gets of an object that holds what it is about."""
    held = Held(x)
    return held, {"itself": held, "another": Held(x * 3)}.get(program.__name__, x + 1)


@pytest.mark.parametrize("program", [itself, another, grown, written])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_copied_in_every_container(kind: str, program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for turn in range(3):
        results, after = [], []
        for function in (compiled, program):
            held, value = in_what_holds(program, np.arange(3.0) + turn)
            held.parts = KINDS[kind](value)
            held.more = first(held.parts)
            results.append(repr(function(held)))
            after.append(repr((held.x, len(first(held.parts)), held.more is first(held.parts))))
        assert results[0] == results[1]
        assert after[0] == after[1]
    assert not compiled._ran_plainly


def test_a_deque_keeps_its_length_and_a_defaultdict_what_it_makes() -> None:
    def program(held):
        made, more = copy.deepcopy(held.parts), copy.deepcopy(held.more)
        made.extend([held.x, 1, 2])
        more["new"].append(held.x)
        return len(made), made[0], len(more["new"]), len(held.more), held.x + 1

    compiled = weft.compile(program)
    for turn in range(3):
        held = Held(np.arange(3.0) + turn)
        held.parts, held.more = deque([[1], [2]], 3), defaultdict(list, old=[1])
        assert repr(compiled(held)) == repr(program(held))


def test_a_method_is_copied_with_its_object() -> None:
    def program(held):
        made = copy.deepcopy(held)
        made.x = made.x + 1
        return made.parts(), held.parts(), made.parts.__self__ is made

    compiled = weft.compile(program)
    for turn in range(3):
        held = Held(np.arange(3.0) + turn)
        held.parts = held.twice
        assert repr(compiled(held)) == repr(program(held))


def test_a_tuple_of_what_never_changes_is_its_own_copy() -> None:
    def program(held):
        made = copy.deepcopy(held)
        return made.parts is held.parts, made.more is held.more, made.x + 1

    held = Held(np.arange(3.0))
    held.parts, held.more = (1, ("a", None)), ([1],)
    assert repr(weft.compile(program)(held)) == repr(program(held))


@pytest.mark.parametrize(
    "make",
    [
        lambda held: functools.partial(held.twice),
        lambda held: {held},
        lambda held: frozenset([held]),
        lambda held: defaultdict(held.twice),
    ],
)
def test_what_python_copies_at_once_holds_no_objects(make: Callable[..., Any]) -> None:
    held = Held(np.arange(3.0))
    held.parts = make(held)
    with pytest.raises(CaptureError, match=r"copy\.deepcopy of a (partial|set|frozenset|defaultdict)"):
        weft.compile(lambda one: copy.deepcopy(one).x + 1)(held)
