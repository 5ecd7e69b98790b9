"""Windows sliding over the trailing dimensions of an array: their geometry and NumPy kernels.

Convolution and pooling share them. A window has `kernel` taps, `dilation` apart; consecutive windows start `stride`
apart. Padding is a (before, after) pair for each dimension; a negative number crops.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from weft.errors import ShapeError

Pairs = Sequence[tuple[int, int]]

BLOCK_BYTES = 1 << 20
"""How large the windows of one block of a batch may grow; larger ones leave the caches and only cost memory."""


class _Scratch(threading.local):
    memory = np.empty(0, np.uint8)


_scratch = _Scratch()


def scratch(shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """Memory for a kernel's own use until the next call in this thread: fresh memory takes longer to get than to fill.

    Contents are arbitrary. A block too large to hold on to is fresh after all.
    """
    size = dtype.itemsize
    for n in shape:
        size *= n
    if size > 2 * BLOCK_BYTES:
        return np.empty(shape, dtype)
    if _scratch.memory.nbytes < size:
        _scratch.memory = np.empty(size, np.uint8)
    return _scratch.memory[:size].view(dtype).reshape(shape)


def blocks(batch: int, bytes_each: int) -> list[slice]:
    """Parts of a batch whose windows are of a size to work on at once."""
    step = max(1, BLOCK_BYTES // max(bytes_each, 1))
    return [slice(i, min(i + step, batch)) for i in range(0, batch, step)]


def sizes(name: str, parameter: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """One integer for each of `rank` dimensions, from an integer, a sequence of one, or a sequence of `rank`."""
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(items) == 1:
        items = items * rank
    if len(items) != rank:
        raise ShapeError(f"{name}: {parameter} needs one number or {rank}, got {value}")
    try:
        items = tuple(map(operator.index, items))
    except TypeError:
        raise TypeError(f"{name}: {parameter} is made of integers, got {value!r}") from None
    if any(i < least for i in items):
        raise ShapeError(f"{name}: {parameter} must be at least {least}, got {value}")
    return items


def window_count(size: int, kernel: int, stride: int, dilation: int) -> int:
    """How many windows fit in `size` elements."""
    return (size - dilation * (kernel - 1) - 1) // stride + 1


def pad_edges(x: Any, padding: Pairs, value: Any = 0) -> Any:
    """The array with `value` added, or elements cropped, around its trailing dimensions."""
    lead = (slice(None),) * (x.ndim - len(padding))
    if any(lo < 0 or hi < 0 for lo, hi in padding):
        crop = (slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi) in zip(x.shape[len(lead) :], padding, strict=True))
        x = x[(*lead, *crop)]
    grow = [(max(lo, 0), max(hi, 0)) for lo, hi in padding]
    if not any(map(any, grow)):
        return x
    trailing = x.shape[len(lead) :]
    shape = (*x.shape[: len(lead)], *(n + lo + hi for n, (lo, hi) in zip(trailing, grow, strict=True)))
    result = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    result[(*lead, *(slice(lo, lo + n) for n, (lo, _) in zip(trailing, grow, strict=True)))] = x
    return result


def window_view(
    x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], taps_first: bool = False
) -> Any:
    """A read-only view (..., windows, taps) of the trailing dimensions, or (..., taps, windows)."""
    rank = len(kernel)
    lead, step = x.ndim - rank, x.strides[x.ndim - rank :]
    counts = tuple(map(window_count, x.shape[lead:], kernel, stride, dilation))
    windows = counts, tuple(s * t for s, t in zip(step, stride, strict=True))
    taps = tuple(kernel), tuple(s * d for s, d in zip(step, dilation, strict=True))
    first, second = (taps, windows) if taps_first else (windows, taps)
    return np.lib.stride_tricks.as_strided(
        x, (*x.shape[:lead], *first[0], *second[0]), (*x.strides[:lead], *first[1], *second[1]), writeable=False
    )


def taps_of(
    kernel: Sequence[int], counts: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each tap of the kernel and the trailing slice that it reads, one element for each window."""
    for tap in product(*map(range, kernel)):
        yield (
            tap,
            tuple(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, n, s, d in zip(tap, counts, stride, dilation, strict=True)
            ),
        )


def add_windows(
    x: Any, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], taps_first: bool = False
) -> Any:
    """The transpose of `window_view`: each element of each window added where it was read from."""
    rank = len(size)
    lead = x.shape[: x.ndim - 2 * rank]
    first, second = x.shape[len(lead) : len(lead) + rank], x.shape[len(lead) + rank :]
    kernel, counts = (first, second) if taps_first else (second, first)
    result: Any = np.zeros((*lead, *size), x.dtype)
    if 0 in counts:
        return result
    apart = all(d == 1 and s >= k for k, s, d in zip(kernel, stride, dilation, strict=True))
    for tap, place in taps_of(kernel, counts, stride, dilation):
        part = x[(slice(None),) * len(lead) + tap] if taps_first else x[(..., *tap)]
        if apart:  # each element belongs to one window
            result[(..., *place)] = part
        else:
            result[(..., *place)] += part
    return result
