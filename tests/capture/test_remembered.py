"""A program that remembers results in a dict of its module, by keys that only running tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

RESULTS: dict[int, Any] = {}


def key_of(x):
    return hash((float(x[1]), 3))


def stored(x):
    key = key_of(x)
    if key in RESULTS:
        return RESULTS[key].copy()
    RESULTS[key] = x * 2
    return x * 2


def only_read(x):
    key = key_of(x)
    return RESULTS[key] * 2 if key in RESULTS else x * 4


def read_or_raised(x):
    return RESULTS[key_of(x)] * 2


def got(x):
    found = RESULTS.get(key_of(x))
    return x if found is None else found + x


def got_with_default(x):
    return RESULTS.get(key_of(x), x) * 3


def written_to(x):
    key = key_of(x)
    if key in RESULTS:
        RESULTS[key][0] = x[2]
    return x + 1


def outcome(function: Callable[..., Any], x: Any) -> str:
    try:
        return repr((function(x), x, RESULTS))
    except KeyError as error:
        return repr((error, x, RESULTS))


@pytest.mark.parametrize("before", [(), (1.0,), (1.0, 2.0)])
@pytest.mark.parametrize("program", [stored, only_read, read_or_raised, got, got_with_default, written_to])
def test_what_is_remembered_is_read_when_the_graph_runs(program: Callable[..., Any], before: tuple[float, ...]) -> None:
    compiled = weft.compile(program)
    seen = []
    for function in (compiled, program):
        RESULTS.clear()
        RESULTS.update({key_of([0, value]): np.full(3, value) for value in before})
        seen.append([outcome(function, np.arange(3.0) * factor) for factor in (1, 1, 2, 3, 1)])
    assert seen[0] == seen[1]
    assert not compiled._ran_plainly
