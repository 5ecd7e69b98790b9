"""Adding values at places that may be named more than once, faster than `np.add.at`, which looks at each element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import IndexingError

FEW = 16
"""Times a place may be named for one round of additions each to be quicker than summing runs."""

MANY = 4096
"""Elements from which on preparing a quicker way costs less than it saves."""


def long_slices(x: Any, key: Any) -> tuple[int, Any] | None:
    """The axis and the integer array of a key `x[:, :, index]` that names slices worth adding as a whole, else None."""
    *front, index = key if isinstance(key, tuple) and key else (key,)
    if not isinstance(index, np.ndarray) or index.dtype.kind not in "iu" or len(front) >= x.ndim:
        return None
    length = math.prod(x.shape[len(front) + 1 :])
    wanted = length >= 16 and index.size * length >= MANY and x.dtype.kind != "b"
    return (len(front), index) if wanted and all(part == slice(None) for part in front) else None


def counted_from_front(name: str, index: Any, axis: int, size: int) -> Any:
    """Positions along an axis without negative ones; an error names the op and the first that is out of range."""
    index = index.astype(np.intp, copy=False)
    if index.size and not (index.min() >= -size and index.max() < size):
        bad = index[(index < -size) | (index >= size)].flat[0]
        raise IndexingError(f"{name}: index {bad} is out of range for axis {axis} of size {size}")
    return np.where(index < 0, index + size, index)


def add_slices(name: str, result: Any, axis: int, index: Any, value: Any) -> None:
    """Add slices of a value into an array, in place, at positions along one axis: sorted, then summed run by run."""
    lead, rest = result.shape[:axis], result.shape[axis + 1 :]
    index = counted_from_front(name, index, axis, result.shape[axis])
    value = np.broadcast_to(value, (*lead, *index.shape, *rest)).reshape(*lead, index.size, *rest)
    if not value.size:
        return
    order = np.argsort(index, axis=None, kind="stable")
    place = index.reshape(-1)[order]
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    counts = np.diff(first, append=len(place))
    if axis == 0 and counts.max() <= FEW:
        turn = np.arange(len(place)) - np.repeat(first, counts)
        for i in range(counts.max()):
            now = turn == i
            result[place[now]] += value[order[now]]
        return
    sums = np.take(value, order, axis)
    if len(first) < len(place):
        sums = np.add.reduceat(sums, first, axis, dtype=result.dtype)
    key = (*(slice(None),) * axis, place[first])
    result[key] = np.add(result[key], sums, dtype=result.dtype, casting="same_kind")


def add_elements(result: Any, shape: Sequence[int], axis: int, index: Any, values: Any) -> None:
    """Add values into a contiguous array seen in some shape, in place, where `index` names elements along the axis."""
    flat = result.reshape(-1)
    places, stride = np.zeros((), np.intp), 1
    for i in reversed(range(len(shape))):
        line = np.arange(shape[i]).reshape((-1,) + (1,) * (len(shape) - i - 1))
        places = places + (index if i == axis else line) * stride
        stride *= shape[i]
    values = np.broadcast_to(np.asarray(values).astype(result.dtype, copy=False), places.shape)
    np.add.at(flat, places.reshape(-1), values.reshape(-1))  # of one dimension and one dtype: its quick way
