"""Numbers that decide the size of a result, in parameters that may be arrays too: bins and repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call

PROGRAMS: dict[str, Callable[..., Any]] = {
    "histogram": lambda x, n: [part[1:].shape for part in np.histogram(x, bins=n)],
    "histogram of a range": lambda x, n: len(np.histogram(x, n, range=(0, n))[1]),
    "histogram_bin_edges": lambda x, n: np.histogram_bin_edges(x, n).shape,
    "histogram2d": lambda x, n: [part.shape for part in np.histogram2d(x, x, n)],
    "histogram2d of two": lambda x, n: [part.shape for part in np.histogram2d(x, x, [n, n + 1])],
    "bins of the size": lambda x, n: np.histogram(x, len(x) + n)[0].shape,
    "repeat": lambda x, n: np.repeat(x, n).shape,
    "repeat rows": lambda x, n: np.repeat(x[:, None], n, axis=1).shape,
    "repeat differently": lambda x, n: np.repeat(x[:3], [n, 1, 2 * n]).shape,
    "repeat by an element": lambda x, n: np.repeat(x, np.arange(10)[n]).shape,
    "a number of NumPy's": lambda x, n: (np.zeros(np.arange(10)[n]).shape, len(np.ones(x.astype(int)[n])) + 1),
    "of an element": lambda x, n: (np.eye(x.astype(int)[n]).shape, np.tile(x, np.arange(10)[n]).size),
    ".repeat": lambda x, n: x.repeat(n + 1).reshape(len(x), -1).shape,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_size_of_the_result(name: str) -> None:
    program = PROGRAMS[name]
    compiled = weft.compile(program)
    for n in (3, 1, 5, 2):
        for size in (8, 5):
            arguments = (np.arange(float(size)), n)
            assert_same(call(compiled, arguments), call(program, arguments))


def bars(x, n):
    counts, edges = np.histogram(x, bins=n)
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        print(f"{low:.2f} to {high:.2f}: {count}")


def test_a_loop_over_bins() -> None:
    compiled = weft.compile(bars)
    for n in (3, 1, 7):
        assert_same(call(compiled, (np.arange(10.0), n)), call(bars, (np.arange(10.0), n)))
