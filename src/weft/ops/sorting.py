"""Sorting, the largest elements, and distinct values. Ties keep their order; NaN sorts as the largest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._dim import unknown_size
from weft.ops._families import op
from weft.ops._op import TABLE, no_gradient
from weft.ops._spec import Spec, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.indexing import scatter_add
from weft.ops.manipulation import dims, reshape

__all__ = [
    "argsort",
    "sort",
    "topk",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def _sorted_shape(name: str, dtype: Any = None) -> Any:
    def infer(x: Any, axis: Any = -1, descending: bool = False, stable: bool = True) -> Spec:
        shape = shape_of(x)
        if axis is None:
            return Spec((size_of(shape),), dtype or dtype_of(x))
        normalize_axis(name, axis, len(shape))
        return Spec(shape, dtype or dtype_of(x))

    return infer


@op(
    arrays=("x",),
    infer=_sorted_shape("argsort", np.dtype(np.intp)),
    vjp=no_gradient("positions are integers"),
    numpy=(np.argsort,),
)
def argsort(x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The positions that sort the array along an axis; always stable."""
    x = np.asarray(x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    normalize_axis("argsort", axis, x.ndim)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # Sorting backwards and reading backwards keeps equal elements in their order.
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def _sort_back(g: Any, y: Any, x: Any, axis: Any, descending: bool, stable: bool) -> Any:
    flat = reshape(x, (size_of(shape_of(x)),)) if axis is None else x
    order = argsort(flat, 0 if axis is None else axis, descending=descending)
    zeros = TABLE["full"](shape_of(flat), 0, dtype=dtype_of(g))
    return reshape(scatter_add(zeros, order, g, 0 if axis is None else axis), shape_of(x))


@op(arrays=("x",), infer=_sorted_shape("sort"), vjp=(_sort_back,), numpy=(np.sort,))
def sort(x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The elements in ascending or descending order along an axis."""
    result = np.sort(x, axis)
    return np.flip(result, 0 if axis is None else axis).copy() if descending else result


class TopK(NamedTuple):
    """The largest (or smallest) elements along an axis and where they stood."""

    values: Any
    indices: Any


def _topk_shape(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    shape = shape_of(x)
    axis = normalize_axis("topk", axis, len(shape))
    (k,) = dims("topk", k)
    if k < 0 or k > shape[axis]:
        raise ShapeError(f"topk: k is {k}, expected 0 to {shape[axis]}, the size of axis {axis} of {shape}")
    part = (*shape[:axis], k, *shape[axis + 1 :])
    return TopK(Spec(part, dtype_of(x)), Spec(part, np.intp))


def _topk_back(g: Any, y: Any, x: Any, k: int, axis: int, largest: bool, sorted: bool) -> Any:
    return scatter_add(TABLE["full"](shape_of(x), 0, dtype=dtype_of(g[0])), y[1], g[0], axis)


def _few_best(x: Any, k: int, largest: bool) -> Any:
    """The positions of the `k` best elements of the last axis, found without sorting all of it."""
    at = x.shape[-1] - k if largest else k - 1
    limit = np.partition(x, at)[..., at : at + 1]
    better, tied = (x > limit if largest else x < limit), x == limit
    # Of those equal to the last of the best, the first ones count.
    spare = k - np.count_nonzero(better, axis=-1, keepdims=True)
    chosen = np.nonzero(better | (tied & (np.cumsum(tied, axis=-1) <= spare)))[-1].reshape(*x.shape[:-1], k)
    order = argsort.eval(np.take_along_axis(x, chosen, -1), -1, descending=largest)
    return np.take_along_axis(chosen, order, -1)


@op(arrays=("x",), infer=_topk_shape, vjp=(_topk_back,))
def topk(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """The `k` largest (or smallest) elements along an axis, best first, and their positions."""
    x = np.asarray(x)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError("k is out of range")
    few = x.shape[axis] >= 64 and 0 < k <= x.shape[axis] // 4 and x.dtype.kind in "iuf"
    if few and not (x.dtype.kind == "f" and np.isnan(x).any()):
        indices = np.moveaxis(_few_best(np.moveaxis(x, axis, -1), k, largest), -1, axis)
    else:
        indices = np.take(argsort.eval(x, axis, descending=largest), range(k), axis)
    return TopK(np.take_along_axis(x, indices, axis), indices)


class UniqueAll(NamedTuple):
    """Distinct values, where each first stands, which one each element is, and how often each occurs."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Distinct values and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Distinct values and which one each element is."""

    values: Any
    inverse_indices: Any


def _distinct(name: str, x: Any) -> Spec:
    """The distinct values of an array, whose number depends on them."""
    unknown = UnknownShape(f"{name}: how many distinct values there are is known only when it runs")
    return Spec((unknown_size("unique", unknown),), dtype_of(x))


def _unique_all_spec(x: Any) -> UniqueAll:
    values = _distinct("unique_all", x)
    places = Spec(values.shape, np.intp)
    return UniqueAll(values, places, Spec(shape_of(x), np.intp), places)


def _unique_counts_spec(x: Any) -> UniqueCounts:
    values = _distinct("unique_counts", x)
    return UniqueCounts(values, Spec(values.shape, np.intp))


def _unique_inverse_spec(x: Any) -> UniqueInverse:
    return UniqueInverse(_distinct("unique_inverse", x), Spec(shape_of(x), np.intp))


_COUNTED = no_gradient("how many distinct values there are changes with the values")


@op(arrays=("x",), infer=_unique_all_spec, vjp=_COUNTED, numpy=(np.unique_all,), always_array=True)
def unique_all(x: Any) -> UniqueAll:
    """The distinct values, ascending, where each first stands, the way back, and counts; each NaN is distinct."""
    values, indices, inverse, counts = np.unique(x, True, True, True, equal_nan=False)
    return UniqueAll(values, indices, inverse.reshape(np.shape(x)), counts)


@op(arrays=("x",), infer=_unique_counts_spec, vjp=_COUNTED, numpy=(np.unique_counts,))
def unique_counts(x: Any) -> UniqueCounts:
    """The distinct values in ascending order and how often each occurs; each NaN is distinct."""
    return UniqueCounts(*np.unique(x, return_counts=True, equal_nan=False))


@op(arrays=("x",), infer=_unique_inverse_spec, vjp=_COUNTED, numpy=(np.unique_inverse,), always_array=True)
def unique_inverse(x: Any) -> UniqueInverse:
    """The distinct values in ascending order and, for each element, which of them it is; each NaN is distinct."""
    values, inverse = np.unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverse(values, inverse.reshape(np.shape(x)))


@op(arrays=("x",), infer=lambda x: _distinct("unique_values", x), vjp=_COUNTED, numpy=(np.unique_values,))
def unique_values(x: Any) -> Any:
    """The distinct values in ascending order; each NaN is distinct."""
    return np.unique(x, equal_nan=False)
