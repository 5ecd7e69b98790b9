"""Counting values into bins: histograms of one and more dimensions, their edges, and the bin of each value."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._families import composite, op
from weft.ops._op import ANY_ORDER, TABLE, no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, dtype_of, shape_of, size_of
from weft.ops.creation import asarray, linspace, ones_like, zeros
from weft.ops.cumulative import diff
from weft.ops.dtypes import astype, result_type
from weft.ops.elementwise import clip
from weft.ops.indexing import index_add, searchsorted
from weft.ops.logic import equal, greater_equal, less_equal, logical_and, where
from weft.ops.manipulation import ravel, reshape
from weft.ops.reductions import max, min, sum

__all__ = ["digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def _count_of(name: str, bins: Any) -> int:
    """How many bins a number stands for."""
    if isinstance(bins, str):
        raise UnknownShape(f"{name}: how many bins {bins!r} makes depends on the values, known only when it runs")
    if isinstance(bins, Spec):
        raise UnknownShape(f"{name}: a number of bins computed from values is known only when it runs")
    if isinstance(bins, (float, np.floating)):
        raise TypeError(f"{name}: bins is a whole number or the edges, got {bins!r}")
    if bins < 1:
        raise ValueError(f"{name}: expected one bin or more, got {bins}")
    return int(bins) if isinstance(bins, np.integer) else bins


def _outer(name: str, a: Any, range: Any, dtype: Any) -> tuple[Any, Any]:
    """The lowest and the highest edge: those given, or the extremes; half a unit further where they are one number."""
    if range is not None:
        low, high = range
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            if low > high:
                raise ValueError(f"{name}: the range goes from its lower to its upper end, got {range}")
            return (low - 0.5, high + 0.5) if low == high else (low, high)
    elif size_of(shape_of(a)) == 0:
        return 0, 1
    else:
        low, high = astype(min(a), dtype), astype(max(a), dtype)
    same = equal(low, high)
    return where(same, low - 0.5, low), where(same, high + 0.5, high)


def _edges(name: str, a: Any, bins: Any, range: Any) -> Any:
    if shape_of(bins):
        if len(shape_of(bins)) != 1:
            raise ShapeError(f"{name}: the edges of bins have one dimension, got shape {shape_of(bins)}")
        return asarray(bins)
    count = _count_of(name, bins)
    known = () if range is None else tuple(range)
    dtype = np.dtype(result_type(*known, dtype_of(a)))
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    low, high = _outer(name, a, range, dtype)
    return linspace(low, high, count + 1, dtype=dtype)


def _places(a: Any, edges: Any) -> tuple[Any, Any]:
    """The bin of each value, and whether it lies in one; the last bin holds its upper edge."""
    inside = logical_and(greater_equal(a, edges[0]), less_equal(a, edges[-1]))
    bins = shape_of(edges)[0] - 1
    return clip(searchsorted(edges, a, side="right") - 1, 0, bins - 1), inside


@composite(
    arrays=("a", "bins", "weights"),
    numpy=(np.histogram_bin_edges,),
    eval=np.histogram_bin_edges,
    memory=None,
    raises=BAD_VALUES,
)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges that `histogram` uses: `bins` equal parts of the range of the values, or of the one given."""
    return _edges("histogram_bin_edges", ravel(a), bins, range)


@composite(arrays=("a", "bins", "weights"), numpy=(np.histogram,), eval=np.histogram, memory=None, raises=BAD_VALUES)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: builtins.bool | None = None, weights: Any = None
) -> tuple[Any, Any]:
    """How many values lie in each bin, or the sum of their weights, and the edges of the bins.

    `bins` is a number or the edges. `density` divides by the total and by the width of each bin.
    """
    if weights is not None and shape_of(weights) != shape_of(a):
        raise ShapeError(f"histogram: weights of shape {shape_of(weights)} for values of shape {shape_of(a)}")
    a = ravel(a)
    edges = _edges("histogram", a, bins, range)
    at, inside = _places(a, edges)
    dtype = np.intp if weights is None else dtype_of(weights)
    each = inside if weights is None else where(inside, ravel(weights), 0)
    count = index_add(zeros(shape_of(edges)[0] - 1, dtype=dtype), (at,), astype(each, dtype))
    if density:
        count = count / astype(diff(edges), np.float64) / sum(count)
    return count, edges


def _columns(sample: Any) -> list[Any]:
    """The coordinates of points: the columns of a matrix, or arrays in a list."""
    if isinstance(sample, (list, tuple)):
        return [asarray(each) for each in sample]
    shape = shape_of(sample)
    if len(shape) != 2:
        return [ravel(sample)]
    return [sample[:, i] for i in builtins.range(shape[1])]


def _axis_edges(x: Any, bins: Any, range: Any) -> Any:
    if shape_of(bins):
        return _edges("histogramdd", x, bins, None)
    low, high = _outer("histogramdd", x, range, dtype_of(x) if dtype_of(x).kind == "f" else np.float64)
    return linspace(low, high, _count_of("histogramdd", bins) + 1)


@composite(
    arrays=("sample", "bins", "weights"),
    numpy=(np.histogramdd,),
    eval=np.histogramdd,
    memory=None,
    raises=BAD_VALUES,
)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: builtins.bool | None = None, weights: Any = None
) -> tuple[Any, Any]:
    """How many points lie in each cell of a grid, or the sum of their weights, and the edges along each axis.

    The points are the rows of a matrix, or one array of coordinates for each axis.
    """
    columns = _columns(sample)
    axes = len(columns)
    many = list(bins) if isinstance(bins, (list, tuple)) else [bins] * axes
    ranges = [None] * axes if range is None else list(range)
    if len(many) != axes or len(ranges) != axes:
        raise ValueError(f"histogramdd: bins and range are given for each of the {axes} axes")
    edges = [_axis_edges(x, b, r) for x, b, r in zip(columns, many, ranges, strict=True)]
    sizes = [shape_of(e)[0] - 1 for e in edges]
    at, inside = _places(columns[0], edges[0])
    for x, e, size in zip(columns[1:], edges[1:], sizes[1:], strict=True):
        place, within = _places(x, e)
        at, inside = at * size + place, logical_and(inside, within)
    each = where(inside, astype(ones_like(at) if weights is None else weights, np.float64), 0.0)
    count = reshape(index_add(zeros(size_of(sizes)), (at,), each), tuple(sizes))
    if density:
        count = _per_volume(count, edges)
    return count, tuple(edges)


def _per_volume(count: Any, edges: list[Any]) -> Any:
    total = sum(count)
    for axis, e in enumerate(edges):
        count = count / reshape(diff(e), (shape_of(e)[0] - 1, *(1,) * (len(edges) - axis - 1)))
    return count / total


@composite(
    arrays=("x", "y", "bins", "weights"),
    numpy=(np.histogram2d,),
    eval=np.histogram2d,
    memory=None,
    raises=BAD_VALUES,
    order=ANY_ORDER,
)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: builtins.bool | None = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """How many points (x, y) lie in each cell of a grid, or the sum of their weights, and the edges along x and y."""
    if shape_of(x) != shape_of(y):
        raise ShapeError(f"histogram2d: x and y have one length, got shapes {shape_of(x)} and {shape_of(y)}")
    pair = isinstance(bins, (list, tuple)) and len(bins) in (1, 2)
    each = bins if pair or not shape_of(bins) else [asarray(bins)] * 2
    if pair and len(bins) == 1:
        each = [bins[0]] * 2
    count, edges = TABLE["histogramdd"].body([x, y], each, range, density, weights)  # type: ignore[misc]  # it has one
    return count, edges[0], edges[1]


def _digitize_spec(x: Any, bins: Any, right: Any) -> Spec:
    if len(shape_of(bins)) != 1:
        raise ShapeError(f"digitize: the edges of bins have one dimension, got shape {shape_of(bins)}")
    return Spec(shape_of(x), np.intp)


@op(
    arrays=("x", "bins"),
    infer=_digitize_spec,
    vjp=no_gradient("positions are integers"),
    numpy=(np.digitize,),
    raises=BAD_VALUES,
)
def digitize(x: Any, bins: Any, right: builtins.bool = False) -> Any:
    """The number of the bin that each value belongs to, by edges in ascending or descending order.

    A value on an edge belongs to the bin above it, or to the one below where `right` is true.
    """
    return np.digitize(x, bins, right)
