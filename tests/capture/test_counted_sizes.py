"""Numbers that decide the size of a result, in parameters that may be arrays too: bins and repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

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


SHAPES: dict[str, Callable[..., Any]] = {
    "zeros": lambda s: (np.zeros(s).shape, len(np.zeros(s)), np.zeros(s) + np.ones((2, 3))),
    "ones": lambda s: np.ones(shape=s).ravel()[1:].shape,
    "empty": lambda s: np.empty(s, int).size,
    "full": lambda s: np.full(s * 2, 3.0)[1:, :-1].shape,
    "one size": lambda s: (np.zeros(s[:1]).shape, np.zeros(s[:1].squeeze()).shape),
    "reshape": lambda s: (np.arange(6).reshape(s), np.reshape(s[0] * np.arange(6), s), np.ones(6).reshape(s[::-1]).T),
    "broadcast_to": lambda s: np.broadcast_to(np.ones(3), s).shape,
    "unravel_index": lambda s: np.unravel_index(np.array([1, 5]), s),
    "ravel_multi_index": lambda s: np.ravel_multi_index((np.array([1, 0]), np.array([1, 2])), s),
    "written": lambda s: padded(np.ones((2, 2)), s),
}


def padded(x, s):
    out = np.zeros(s)
    out[tuple(slice(0, n) for n in x.shape)] = x
    return out


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_of_sizes_is_a_shape(name: str) -> None:
    compiled = weft.compile(SHAPES[name])
    for shape in ([2, 3], [3, 2]):
        if name not in ("zeros", "broadcast_to") or shape == [2, 3]:
            assert_same(call(compiled, (np.array(shape),)), call(SHAPES[name], (np.array(shape),)))
    assert not compiled._ran_plainly


def test_floats_are_no_shape() -> None:
    compiled = weft.compile(lambda s: np.zeros(s / 2))
    for shape in ([2, 3], [3, 2]):
        assert_same(call(compiled, (np.array(shape),)), call(compiled._plain, (np.array(shape),)))
    with pytest.raises(TypeError, match=r"'numpy\.float64' object cannot be interpreted as an integer"):
        weft.trace(compiled._plain, np.array([2, 3]))


class _Column:
    place: int | None = None
    count = 0


def first_over(found, x):
    places = np.where(x > 3)[0].squeeze()
    found.count, found.place = places.size, None
    if found.count == 1:
        found.place = int(places)


def test_a_squeeze_beside_changes_of_objects() -> None:
    compiled = weft.compile(first_over)
    for values in ([1.0, 5.0, 2.0], [5.0, 1.0, 5.0], [1.0, 1.0]):
        found, same = _Column(), _Column()
        compiled(found, np.array(values))
        first_over(same, np.array(values))
        assert vars(found) == vars(same)
    assert not compiled._ran_plainly


def test_what_a_squeeze_leaves_is_read_only() -> None:
    def written(found, x):
        places = x[x > 3]
        left = places.squeeze()
        found.count = left.size
        places[0] = 7.0
        return left

    with pytest.raises(CaptureError, match="known only when it runs"):
        weft.compile(written)(_Column(), np.array([1.0, 5.0]))
