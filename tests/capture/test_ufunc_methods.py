"""Methods of ufuncs on proxies: recorded as the op that means them, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import TraceError

X = np.array([[3.0, -1.0, 2.5, 0.5], [1.5, 4.0, -2.0, 0.0], [0.25, 1.0, 2.0, 3.0]])
SOME = X > 0
PROGRAMS = {
    "add.reduce": lambda x: np.add.reduce(x),
    "add.reduce of all": lambda x: np.add.reduce(x, axis=None),
    "add.reduce by position": lambda x: np.add.reduce(x, 1, np.float32),
    "add.reduce where": lambda x: np.add.reduce(x, axis=1, where=SOME, initial=2.0, keepdims=True),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=(0, 1)),
    "maximum.reduce": lambda x: np.maximum.reduce(x),
    "maximum.reduce initial": lambda x: np.maximum.reduce(x, initial=2.0),
    "minimum.reduce where": lambda x: np.minimum.reduce(x, axis=1, where=SOME, initial=9.0),
    "logical_and.reduce": lambda x: np.logical_and.reduce(x, axis=1),
    "logical_or.reduce where": lambda x: np.logical_or.reduce(x, axis=1, where=SOME),
    "bitwise_xor.reduce": lambda x: np.bitwise_xor.reduce((x * 4).astype(int)),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, 1),
    "add.outer": lambda x: np.add.outer(x, np.arange(3.0)),
    "subtract.outer reversed": lambda x: np.subtract.outer(np.arange(2.0), x),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "maximum.reduceat": lambda x: np.maximum.reduceat(x, [0, 2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_method_means_the_same_when_traced(name: str) -> None:
    program: Any = PROGRAMS[name]
    expected, graph = program(X), weft.symbolic_trace(program)
    got = graph(X)
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype
    found = weft.ShapeProp(graph).propagate(weft.spec(X.shape)) if "bitwise" not in name else None
    assert found is None or (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda x: np.add.at(x, [0], 1.0), "np.add.at"),
        (lambda x: np.power.reduce(x), "np.power.reduce"),
        (lambda x: np.hypot.accumulate(x), "np.hypot.accumulate"),
        (lambda x: np.add.reduce(x, out=np.zeros(4)), "out="),
    ],
)
def test_what_has_no_op_is_refused(program: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        weft.symbolic_trace(program)
