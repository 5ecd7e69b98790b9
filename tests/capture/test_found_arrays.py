"""Arrays that a program finds in containers are read when the graph runs, as those it closes over are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

ARRAYS = [np.ones(3), np.ones(3)]
TENSORS = [weft.tensor(np.ones(3)), weft.tensor(np.ones(3))]


def by_loop(x: Any) -> Any:
    total = 0.0
    for w in ARRAYS:
        total = total + (w * w).sum() * x
    return total


def by_generator(x: Any) -> Any:
    return sum((w * w).sum() * x for w in ARRAYS)


def by_list(x: Any) -> Any:
    return sum([(w * w).sum() * x for w in TENSORS])


def by_pairs(x: Any) -> Any:
    total = 0.0
    for a, b in zip(TENSORS, ARRAYS, strict=True):
        total = total + (a * a).sum() * x + (b * b).sum()
    return total


def by_items(x: Any) -> Any:
    named = {"a": TENSORS[0], "b": TENSORS[1]}
    return sum((w * w).sum() for _, w in named.items()) * x


def by_index(x: Any) -> Any:
    return (ARRAYS[0] * ARRAYS[0]).sum() * x


@pytest.mark.parametrize("function", [by_loop, by_generator, by_list, by_pairs, by_items, by_index])
def test_arrays_are_read_when_the_graph_runs(function: Any) -> None:
    compiled = weft.compile(function)
    for value in (1.0, 5.0):
        ARRAYS[0][:] = value
        TENSORS[0].numpy()[:] = value
        got, expected = compiled(2.0), function(2.0)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
    assert not compiled._ran_plainly
