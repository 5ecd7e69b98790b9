"""Functions that a program keeps in lists and dicts read variables when they are called, as Python's do."""

from __future__ import annotations

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
