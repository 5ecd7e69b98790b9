"""Arrays put together and taken apart as NumPy's programs do it: stacks, blocks, insertions, deletions, sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.errors import IndexingError, ShapeError
from weft.ops._families import composite
from weft.ops._matrices import put_in
from weft.ops._op import ANY_ORDER, SHOWN, VIEW
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import dtype_of, normalize_axis, shape_of, size_of
from weft.ops.creation import arange, asarray, zeros
from weft.ops.cumulative import along
from weft.ops.dtypes import astype
from weft.ops.indexing import index_add, index_update, searchsorted, take
from weft.ops.joining import concat, split
from weft.ops.logic import greater_equal, where
from weft.ops.manipulation import atleast_1d, broadcast_to, flip, moveaxis, ravel, reshape
from weft.ops.sorting import argsort, sort

__all__ = [
    "append",
    "array_split",
    "atleast_3d",
    "block",
    "column_stack",
    "delete",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "insert",
    "resize",
    "rollaxis",
    "vsplit",
]

# ── Stacks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _raised(x: Any) -> Any:
    shape = shape_of(x)
    if len(shape) >= 3:
        return x
    return reshape(x, (1, 1, 1) if not shape else (1, *shape, 1) if len(shape) == 1 else (*shape, 1))


@composite(arrays=("x",), numpy=(np.atleast_3d,), eval=np.atleast_3d, memory=None)
def atleast_3d(x: Any, /) -> Any:
    """The array with dimensions of size one around its own until it has three."""
    return _raised(asarray(x))


@composite(arrays=("arrays",), numpy=(np.dstack,), eval=np.dstack)
def dstack(arrays: Any, /) -> Any:
    """The arrays behind each other: joined along the third axis, each of at least three dimensions."""
    return concat([_raised(each) for each in arrays], 2)


@composite(arrays=("arrays",), numpy=(np.column_stack,), eval=np.column_stack)
def column_stack(arrays: Any, /) -> Any:
    """Vectors as the columns of a matrix, beside the columns of matrices."""
    parts = [atleast_1d(each) for each in arrays]
    return concat([reshape(each, (-1, 1)) if len(shape_of(each)) == 1 else each for each in parts], 1)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ShapeError("block: a list of blocks is empty")
    depths = {_depth(each) for each in arrays}
    if len(depths) > 1:
        raise ShapeError("block: lists are nested equally deep everywhere")
    return depths.pop() + 1


def _dimensions(arrays: Any) -> int:
    return max(map(_dimensions, arrays)) if isinstance(arrays, list) else len(shape_of(arrays))


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        shape = shape_of(arrays)
        return reshape(arrays, (*(1,) * (ndim - len(shape)), *shape))
    return concat([_joined(each, depth - 1, ndim) for each in arrays], -depth)


@composite(arrays=("arrays",), numpy=(np.block,), eval=np.block, always_array=True)
def block(arrays: Any, /) -> Any:
    """An array from nested lists of blocks: the innermost lists are joined along the last axis, and so on outwards."""
    depth = _depth(arrays)
    return _joined(arrays, depth, max(depth, _dimensions(arrays)))


@composite(arrays=("arr", "values"), numpy=(np.append,), eval=np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """The array with values joined to its end along an axis; both flattened where there is none."""
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concat([arr, values], axis)


# ── Insertions and deletions ──────────────────────────────────────────────────────────────────────────────────────────


def _line(name: str, arr: Any, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return ravel(arr), 0
    return arr, normalize_axis(name, axis, len(shape_of(arr)))


def _listed(obj: Any, size: int) -> Any:
    """The positions that a slice, a mask or a list names; a single number and weft's values as they are."""
    if isinstance(obj, slice):
        return np.arange(int(size))[obj]
    if isinstance(obj, (list, tuple, np.ndarray)):
        given = np.asarray(obj) if len(shape_of(obj)) == 0 or size_of(shape_of(obj)) else np.asarray(obj, np.intp)
        return np.flatnonzero(given) if given.dtype == bool else given
    return obj


def _insert_one(arr: Any, index: Any, values: Any, axis: int) -> Any:
    size = shape_of(arr)[axis]
    at = where(index < 0, index + size, index) if hasattr(index, "shape") else index + size if index < 0 else index
    if isinstance(at, int) and not 0 <= at <= size:
        raise IndexingError(f"insert: index {index} is out of range for axis {axis} of size {size}")
    full = list(shape_of(arr))
    full[axis] = shape_of(values)[axis]
    parts = [arr[along(axis, slice(None, at))], broadcast_to(values, tuple(full)), arr[along(axis, slice(at, None))]]
    return concat(parts, axis)


def _insert_many(arr: Any, index: Any, values: Any, axis: int) -> Any:
    """Values go where their positions say, shifted by those before them; old elements fill the rest in order."""
    shape = shape_of(arr)
    size, count = shape[axis], shape_of(index)[0]
    at = where(index < 0, index + size, index)
    order = argsort(at)
    new = index_add(at, (order,), arange(count))
    old = arange(size) + searchsorted(sort(at), arange(size), side="right")
    result = zeros((*shape[:axis], size + count, *shape[axis + 1 :]), dtype=dtype_of(arr))
    result = index_update(result, (*along(axis, slice(None))[:axis], old), arr)
    return index_update(result, (*along(axis, slice(None))[:axis], new), values)


@composite(arrays=("arr", "obj", "values"), numpy=(np.insert,), eval=np.insert, raises=BAD_VALUES)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """The array with values put in before the given positions along an axis, or in the flattened array."""
    arr, at = _line("insert", arr, axis)
    index = _listed(obj, shape_of(arr)[at])
    values = astype(asarray(values), dtype_of(arr))
    missing = len(shape_of(arr)) - len(shape_of(values))
    if size_of(shape_of(index)) == 1:
        values = reshape(values, (*(1,) * max(missing, 0), *shape_of(values)))
        if not shape_of(index):
            values = moveaxis(values, 0, at)
        if isinstance(index, np.ndarray):
            index = int(index.reshape(()))
        return _insert_one(arr, index if isinstance(index, int) else reshape(asarray(index), ()), values, at)
    return _insert_many(arr, index, values, at)


@composite(arrays=("arr", "obj"), numpy=(np.delete,), eval=np.delete, raises=BAD_VALUES, order=ANY_ORDER)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """The array without the elements, or slices along an axis, at the given positions."""
    arr, at = _line("delete", arr, axis)
    size = shape_of(arr)[at]
    index = _listed(obj, size)
    if not shape_of(index):
        if isinstance(index, int) and not -size <= index < size:
            raise IndexingError(f"delete: index {index} is out of range for axis {at} of size {size}")
        gone = where(index < 0, index + size, index) if hasattr(index, "shape") else index % size
        kept = arange(size - 1)
        return take(arr, kept + astype(greater_equal(kept, gone), np.intp), at)
    if isinstance(index, np.ndarray):
        return take(arr, np.delete(np.arange(int(size)), index), at)
    gone = index if dtype_of(index).kind == "b" else index_update(zeros(size, dtype=bool), (index,), True)
    return arr[(*along(at, slice(None))[:at], ~gone)]


@composite(arrays=("a",), numpy=(np.resize,), eval=np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated in order, or left out, until they fill another shape."""
    shape = tuple(new_shape) if isinstance(new_shape, Iterable) else (new_shape,)
    count, size = size_of(shape), size_of(shape_of(a))
    if size == 0 or count == 0:
        return zeros(shape, dtype=dtype_of(a))
    return reshape(take(ravel(a), arange(count) % size), shape)


# ── Sections ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("ary",), numpy=(np.array_split,), eval=np.array_split, memory=SHOWN)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut at indices, or into a number of parts whose sizes differ by one at most, as a list."""
    at = normalize_axis("array_split", axis, len(shape_of(ary)))
    if isinstance(indices_or_sections, Iterable):
        return list(split(ary, indices_or_sections, at))
    sections = int(indices_or_sections) if isinstance(indices_or_sections, float) else indices_or_sections
    if sections <= 0:
        raise ValueError(f"array_split: expected a positive number of sections, got {sections}")
    size, larger = divmod(shape_of(ary)[at], sections)
    return list(split(ary, [i * size + min(i, larger) for i in range(1, sections)], at))


# NumPy's own `split`, which gives a list; the op of that name gives a tuple.
@composite(arrays=("ary",), eval=np.split, memory=SHOWN)
def split_to_list(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut along an axis, into equal sections or at the given indices, as a list."""
    return list(split(ary, indices_or_sections, axis))


def _sections(name: str, ary: Any, indices_or_sections: Any, axis: int, needed: int) -> list[Any]:
    if len(shape_of(ary)) < needed:
        raise ShapeError(f"{name}: expected {needed} dimensions or more, got shape {shape_of(ary)}")
    return list(split(ary, indices_or_sections, axis))


@composite(arrays=("ary",), numpy=(np.hsplit,), eval=np.hsplit, memory=SHOWN)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """The array cut along its second axis, or its only one, as a list."""
    return _sections("hsplit", ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1, 1)


@composite(arrays=("ary",), numpy=(np.vsplit,), eval=np.vsplit, memory=SHOWN)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """The array cut along its first axis, as a list."""
    return _sections("vsplit", ary, indices_or_sections, 0, 2)


@composite(arrays=("ary",), numpy=(np.dsplit,), eval=np.dsplit, memory=SHOWN)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """The array cut along its third axis, as a list."""
    return _sections("dsplit", ary, indices_or_sections, 2, 3)


# ── Order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("m",), numpy=(np.fliplr,), eval=np.fliplr, memory=VIEW)
def fliplr(m: Any) -> Any:
    """The elements in reverse order along the second axis."""
    if len(shape_of(m)) < 2:
        raise ShapeError(f"fliplr: expected two dimensions or more, got shape {shape_of(m)}")
    return flip(m, 1)


@composite(arrays=("m",), numpy=(np.flipud,), eval=np.flipud, memory=VIEW)
def flipud(m: Any) -> Any:
    """The elements in reverse order along the first axis."""
    return flip(m, 0)


@composite(arrays=("a",), numpy=(np.rollaxis,), eval=np.rollaxis, memory=VIEW)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """The array with one dimension moved to just before another."""
    ndim = len(shape_of(a))
    at = normalize_axis("rollaxis", axis, ndim)
    before = start + ndim if start < 0 else start
    if not 0 <= before <= ndim:
        raise ShapeError(f"rollaxis: start {start} is out of range for an array of {ndim} dimensions")
    return moveaxis(a, at, before - 1 if at < before else before)


put_in("weft.ops.assembling", split_to_list)
