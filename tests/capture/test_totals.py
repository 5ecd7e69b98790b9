"""`sum` and `math.prod` of arrays: of the type that the first step gives, and of nothing at all."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call

ARRAYS = [
    *(np.array([2, 3]), np.array([100, 100], np.int8), np.array([True, True]), np.array([2.0, 3.0], np.float32)),
    *(np.ones(0), np.ones(0, np.int8), np.ones((2, 3)), np.full((3, 2), 100, np.int8), np.ones((0, 3))),
    *(np.ones((2, 3), bool), np.ones((2, 2, 2), np.int16)),
]


def plain(x: Any) -> Any:
    return sum(x), math.prod(x), type(sum(x)), type(math.prod(x)), isinstance(math.prod(x), float)


def started(x: Any) -> Any:
    return sum(x, 1.5), math.prod(x, start=1.5), sum(x, 2), math.prod(x, start=2)


def started_by_an_item(x: Any) -> Any:
    return (sum(x, x[0]), math.prod(x, start=x[0])) if len(x) else 0


def chosen(x: Any) -> Any:
    kept = x[x.reshape(len(x), -1).sum(axis=1) > 5]
    return sum(kept), math.prod(kept), type(sum(kept)), type(math.prod(kept))


@pytest.mark.parametrize("program", [plain, started, started_by_an_item, chosen])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_totals_are_those_of_the_plain_call(program: Any, array: Any) -> None:
    if program is chosen and array.size == 0:
        array = np.ones(3)
    compiled = weft.compile(program)
    for x in (array, array):
        assert_same(call(compiled, (x,)), call(program, (x,)))
    assert not compiled._ran_plainly


def test_a_product_of_whole_numbers_is_an_index() -> None:
    def program(x: Any) -> Any:
        return operator.index(math.prod(x) // 2), [0] * math.prod(x)

    compiled = weft.compile(program)
    assert_same(call(compiled, (np.array([3, 3]),)), call(program, (np.array([3, 3]),)))
