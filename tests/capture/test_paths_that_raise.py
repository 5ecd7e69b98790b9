"""What Python itself refuses on a path is raised where that path is taken, and nowhere else.

PYTEST_DONT_REWRITE: the asserts of the programs here are theirs.
"""

# ruff: noqa: B015, B018, C416, PLE1307, PT015, UP031  # statements that raise are what is tested

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


class Empty:
    pass


EMPTY, PAIR, TABLE = Empty(), [1.0, 2.0], {"a": 1.0}


class TooLarge(ValueError):
    def __init__(self, value, limit=0):
        super().__init__(f"{value:.2f} is too large; the limit is " + str(limit))
        self.value = value


class Joined(Exception):
    def __init__(self, *parts):
        super().__init__("-".join(parts))


class Counted(Exception):
    def __new__(cls, value):
        made = super().__new__(cls, value)
        made.more = value + 1
        return made


def an_exception_that_makes_its_text(x):
    if x > 0:
        raise TooLarge(x * 2, limit=x)
    return x * 2


def an_exception_of_a_text_made_when_it_runs(x):
    if x > 0:
        raise TooLarge(x) from ValueError(f"x is {x}")
    if x < -5:
        raise Joined(f"x is {x}", "too small")
    return x * 2


def an_exception_that_is_made_by_new(x):
    if x > 0:
        raise Counted(x)
    return x * 2


def an_assertion_that_is_false(x):
    if x > 0:
        assert False, "too large"  # noqa: B011
    return x * 2


def an_assertion_without_a_text(x):
    while x > 0:
        assert not PAIR
        x = x - 1
    return x * 2


def an_index(x):
    if x > 0:
        return PAIR[7]
    return x * 2


def a_key(x):
    return TABLE["b"] if x > 0 else x * 2


def an_attribute(x):
    if x > 0:
        return EMPTY.speed
    return x * 2


def an_attribute_of_none(x):
    if x > 0:
        return TABLE.get("b").speed
    return x * 2


def an_iterator_at_its_end(x):
    if x > 0:
        return next(iter(PAIR[2:]))
    return x * 2


def a_number_that_is_none(x):
    if x > 0:
        return int("x")
    return x * 2


def a_builtin(x):
    return max(PAIR[2:]) if x > 0 else x * 2


def a_method(x):
    return PAIR.index(3) if x > 0 else x * 2


def a_constructor(x):
    return Empty(1) if x > 0 else x * 2


def a_format(x):
    if x > 0:
        "%d" % "a"
    return x * 2


def a_loop_over_a_number(x):
    if x > 0:
        for _ in len(PAIR):
            x = x + 1
    return x * 2


def a_comprehension_over_a_number(x):
    if x > 0:
        return [v for v in len(PAIR)]
    return x * 2


def membership_in_a_number(x):
    if x > 0:
        1 in len(PAIR)
    return x * 2


def a_division(x):
    none = len(PAIR) - 2
    if x > 0:
        return 1.0 / none
    return x * 2


PROGRAMS: list[Callable[..., Any]] = [
    an_exception_that_makes_its_text,
    an_exception_of_a_text_made_when_it_runs,
    an_exception_that_is_made_by_new,
    an_assertion_that_is_false,
    an_assertion_without_a_text,
    an_index,
    a_key,
    an_attribute,
    an_attribute_of_none,
    an_iterator_at_its_end,
    a_number_that_is_none,
    a_builtin,
    a_method,
    a_constructor,
    a_format,
    a_loop_over_a_number,
    a_comprehension_over_a_number,
    membership_in_a_number,
    a_division,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", [weft.compile, weft.script])
def test_only_the_path_that_is_taken_raises(how: Any, program: Callable[..., Any]) -> None:
    captured = how(program)
    for x in (-1.0, 2.0, -9.0):
        assert_same(call(captured, (x,)), call(program, (x,)))
    if how is weft.compile:
        assert not captured._ran_plainly


def test_a_step_that_a_break_leaves_out_may_raise() -> None:
    def weighted(x, weights):
        total = 0.0
        for k in range(len(weights)):
            total += weights[k] / (len(weights) - 1 - k)
            if x > 0:
                break
        return total

    compiled = weft.compile(weighted)
    for x in (1.0, -1.0):
        assert_same(call(compiled, (x, (3, 1))), call(weighted, (x, (3, 1))))
    assert not compiled._ran_plainly


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_other_path_is_differentiated(program: Callable[..., Any]) -> None:
    assert weft.grad(program)(-1.0) == 2.0
    expected = call(program, (2.0,)).exception
    with pytest.raises(type(expected)) as found:
        weft.grad(program)(2.0)
    assert str(found.value) == str(expected)


def test_a_path_on_which_an_array_is_no_number() -> None:
    def one_or_none(x):
        return int(x) if x.sum() > 10 else -1

    compiled = weft.compile(one_or_none)
    for x in (np.ones(3), np.full(3, 5.0)):
        assert_same(call(compiled, (x,)), call(one_or_none, (x,)))
    assert not compiled._ran_plainly


def sums_rows_that_are_none(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[i], 1)
    return total


def joins_what_does_not_fit(x: Any) -> Any:
    if x[0] > 0:
        return np.concatenate([x, np.ones((2, 2))])
    return x


def turns_axes_that_are_none(x: Any) -> Any:
    total = x
    while total.sum() < 10:
        total = total + np.transpose(x, (1, 0))
    return total


def multiplies_what_does_not_fit(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + np.ones((2, 3))[i] @ np.ones(4)
    return total


@pytest.mark.parametrize(
    "program",
    [sums_rows_that_are_none, joins_what_does_not_fit, turns_axes_that_are_none, multiplies_what_does_not_fit],
)
@pytest.mark.parametrize("dynamic", [None, False])
def test_shapes_that_do_not_fit_on_a_path_raise_what_numpy_raises(program: Any, dynamic: Any) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for x in (np.ones(2), -np.ones(2), np.ones(2)):
        assert_same(call(compiled, (x,)), call(program, (x,)))
