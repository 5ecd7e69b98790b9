"""Loops that are written out step by step, where a `break` is decided by traced values and objects change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


class Walker:
    """Something that has a place."""

    def __init__(self, n):
        self.place = np.zeros(n)
        self.steps = 0

    def step(self, by):
        self.place += by
        self.steps += 1


def attribute_in_place(n, far):
    walker = Walker(n)
    for _ in range(4):
        walker.place += 1
        if (walker.place > far).all():
            break
    return walker.place


def several_attributes(n, far):
    walker = Walker(n)
    for by in (1.0, 2.0, 3.0, 4.0):
        walker.step(by)
        if (walker.place > far).any():
            break
    else:
        walker.steps = -walker.steps
    return walker.place, walker.steps


def item_of_a_dict(n, far):
    state = {"x": np.zeros(n), "k": 0}
    for k in range(5):
        state["x"] = state["x"] + k
        state["k"] += 1
        if state["x"].sum() > far:
            break
    return state


def two_at_once(n, far):
    one, other = Walker(n), Walker(n)
    for k in range(4):
        if one.place.sum() > far:
            break
        one.step(k)
        if k % 2:
            other.step(one.place)
    return one.place, other.place, one.steps, other.steps


def early_return(n, far):
    walker = Walker(n)
    for _ in range(3):
        walker.step(2)
        if walker.place.sum() > far:
            return walker.place * walker.steps
    return walker.place


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", [attribute_in_place, several_attributes, item_of_a_dict, two_at_once, early_return])
def test_every_step_is_taken(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for far in (0, 1, 2, 3, 5, 7, 100):
        assert_same(call(compiled, (3, far)), call(program, (3, far)))
