"""Functions called in one side of `x if c else y`, `and`, `or` that change objects, variables and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


class Box:
    """Holds a number."""

    def __init__(self, value=0.0):
        self.value = value

    def add(self, by=1.0):
        self.value = self.value + by
        return self.value


def attribute_in_if(x):
    box = Box()
    result = box.add(x[0]) if x[0] > 0 else 0.0
    return box.value, result


def attribute_in_and(x):
    box = Box()
    high = x[0] > 0 and box.add(10.0) > 5
    return box.value, high


def attribute_in_a_test(x):
    box = Box()
    if x[0] > 0 and box.add(10.0) > 5:
        box.value = box.value + 1
    return box.value


def attributes_in_a_loop(x):
    one, other = Box(), Box()
    for v in x:
        one.add(v) if v > 0 else other.add()
        _ = v > 1 and one.add(10.0) > 5
        _ = v < 0 or other.add(2.0) > 100
    return one.value, other.value


def item_in_if(x):
    held = {"n": 0.0}

    def put(v):
        held["n"] = held["n"] + v
        return held["n"]

    result = put(x[0]) if x[0] > 0 else put(2.0)
    return held, result


def variable_in_if(x):
    n = 0.0

    def add(v):
        nonlocal n
        n = n + v
        return n

    result = add(x[0]) if x[0] > 0 else 5.0
    return n, result


def count_in_or(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        return True

    first = x[0] > 0 or count()
    second = x[1] > 0 and count() and x[0] > 0 and count()
    return n, bool(first), bool(second)


def counts_in_a_loop(x):
    n = 0

    def many():
        nonlocal n
        n += 1
        return n > 3

    for v in x:
        if v > 0 and many():
            n = 0
    return n


def array_in_and(x):
    y = x.copy()

    def put(v):
        y[0] = v
        return v

    _ = x[1] > 0 and put(9.0) > 2
    return y


INPUTS = [[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 2.0, -1.0, 5.0, 1.0, 4.0]]
IN_LOOPS = (attributes_in_a_loop, counts_in_a_loop)
ALONE = (attribute_in_if, attribute_in_and, attribute_in_a_test, item_in_if, variable_in_if, count_in_or, array_in_and)


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", [*ALONE, *IN_LOOPS])
def test_only_the_side_that_is_taken_counts(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for values in INPUTS:
        assert_same(call(compiled, (np.array(values),)), call(program, (np.array(values),)))


@pytest.mark.parametrize("program", ALONE)
def test_scripted(program: Callable[..., Any]) -> None:
    module = weft.script(program)
    for values in INPUTS:
        assert_same(call(module, (np.array(values),)), call(program, (np.array(values),)))
