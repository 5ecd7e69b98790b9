"""Functions that a program keeps in lists and dicts read variables when they are called, as Python's do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def in_a_list(x):
    functions = [lambda v: v * k for k in range(1, 4)]  # noqa: B023  # that it is the last one is what is tested
    for function in functions:
        x = function(x)
    return x


def in_a_dict(x):
    functions = {k: (lambda v: v + k) for k in range(3)}  # noqa: B023  # as above
    return functions[0](x), [function(x) for function in functions.values()]


def by_default(x):
    functions = [(k, lambda v, k=k: v + k) for k in range(3)]
    return [function(x) + k for k, function in functions]


def in_a_loop(x):
    functions = []
    for k in range(3):
        functions.append(lambda v: v + k)  # noqa: B023, PERF401  # as above
    return [function(x) for function in functions]


def in_a_long_loop(x):
    functions = []
    for k in range(12):

        def inner(v):
            return v * k  # noqa: B023  # as above

        functions.append(inner)
    return functions[0](x) + functions[3](x)


def of_elements(x):
    functions = [lambda: v for v in x]  # noqa: B023  # as above
    return [function() for function in functions]


PROGRAMS = (in_a_list, in_a_dict, by_default, in_a_loop, in_a_long_loop, of_elements)


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_last_value_counts(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for size in (2, 3):
        x = np.arange(size) + 1.0
        assert_same(call(compiled, (x,)), call(program, (x,)))


@pytest.mark.parametrize("program", [in_a_list, in_a_dict, by_default])
def test_scripted(program: Callable[..., Any]) -> None:
    x = np.arange(3.0)
    assert_same(call(weft.script(program), (x,)), call(program, (x,)))


class _Counted:
    def __init__(self) -> None:
        self.calls, self.last = 0, None

    def total(self, x: Any) -> Any:
        self.calls += 1
        self.last = x * 2
        return x.sum() + self.calls


class _Keeps:
    def __init__(self, function: Any) -> None:
        self.function, self.used = function, 0

    def use(self, x: Any) -> Any:
        self.used += 1
        return self.function(x)


def _total_of(counted, x):
    return counted.total(x)


KEPT = {
    "a method": lambda counted: counted.total,
    "a partial of a method": lambda counted: functools.partial(counted.total),
    "a partial that holds the object": lambda counted: functools.partial(_total_of, counted),
    "a method of one that keeps it": lambda counted: _Keeps(counted.total).use,
    "a function around a method": lambda counted: lambda x, total=counted.total: total(x),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_methods_and_partials_that_are_kept_change_their_objects(kept: Any) -> None:
    programs = {
        lambda keeps, x: keeps.use(x) + keeps.use(x): _Keeps,
        lambda function, x: [one(x) for one in (function, function)]: lambda function: function,
    }
    for program, given in programs.items():
        compiled, one, other = weft.compile(program), _Counted(), _Counted()
        first, second = given(kept(one)), given(kept(other))
        for k in range(3):
            assert repr(compiled(first, np.arange(2.0) + k)) == repr(program(second, np.arange(2.0) + k))
            assert repr(vars(one)) == repr(vars(other))
        assert not compiled._ran_plainly
