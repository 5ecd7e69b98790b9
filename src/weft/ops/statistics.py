"""Sums that pass over NaN, counts, and distances between points. Quantiles are in `quantiles`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._dim import unknown_size
from weft.ops._families import composite, op
from weft.ops._op import TABLE, no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, shape_of
from weft.ops.dtypes import astype
from weft.ops.elementwise import divide, subtract
from weft.ops.indexing import take
from weft.ops.linalg_solvers import vector_norm
from weft.ops.logic import isnan, logical_not, where
from weft.ops.manipulation import expand_dims
from weft.ops.reductions import sum as sum_of

__all__ = ["allclose", "bincount", "cdist", "dist", "histc", "isclose", "nanmean", "nansum"]

# ── NaN passed over ───────────────────────────────────────────────────────────────────────────────────────────────────


@composite(numpy=(np.nansum,))
def nansum(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The sum along the given axes of the elements that are not NaN."""
    return sum_of(where(isnan(x), 0, x), axis, dtype, keepdims=keepdims)


@composite(numpy=(np.nanmean,), scalar=True)
def nanmean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean along the given axes of the elements that are not NaN; NaN where there is none."""
    count = sum_of(logical_not(isnan(x)), axis, keepdims=keepdims)
    total = nansum(x, axis, keepdims=keepdims)
    mean = divide(total, where(count == 0, 1, count))
    mean = where(count == 0, math.nan, mean)
    return astype(mean, dtype_of(total)) if dtype_of(total).kind in "fc" else mean


# ── Counts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_counted(x: Any, weights: Any) -> None:
    if len(shape_of(x)) != 1 or dtype_of(x).kind not in "iub":
        raise ShapeError(f"bincount: expected integers in one dimension, got {dtype_of(x)} of shape {shape_of(x)}")
    if weights is not None and shape_of(weights) != shape_of(x):
        raise ShapeError(f"bincount: weights of shape {shape_of(weights)} for integers of shape {shape_of(x)}")


def _bincount_spec(x: Any, weights: Any, minlength: int) -> Spec:
    _check_counted(x, weights)
    unknown = UnknownShape("bincount: how many bins there are is the largest value and one, known only when it runs")
    return Spec((unknown_size("bins", unknown),), np.intp if weights is None else np.float64)


@op(
    arrays=("x", "weights"),
    infer=_bincount_spec,
    vjp=(no_gradient("indices are integers"), lambda g, y, x, weights, minlength: take(g, x, 0)),
    numpy=(np.bincount,),
    raises=BAD_VALUES,
)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number from 0 on occurs, or the sum of the weights at its places."""
    _check_counted(x, weights)
    return np.bincount(x, weights, minlength)


def _histc_spec(x: Any, bins: int, min: float, max: float) -> Spec:
    return Spec((bins,), dtype_of(x))


@op(arrays=("x",), infer=_histc_spec, vjp=no_gradient("counts are integers"), raises=BAD_VALUES)
def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of `bins` equal parts of [min, max]; of the range of the elements where both are 0.

    Elements outside do not count. The counts have the dtype of x.
    """
    if min > max or bins <= 0:
        raise ValueError(f"histc: expected min <= max and a positive number of bins, got {min}, {max} and {bins}")
    x = np.asarray(x)
    bounds = (min, max) if min != max or not x.size else (x.min(), x.max())
    return np.histogram(x, bins, bounds)[0].astype(x.dtype)


# ── Distances ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("x1", "x2"))
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The p-norm distance of every row of x1 from every row of x2, matrix by matrix."""
    first, second = shape_of(x1), shape_of(x2)
    if len(first) < 2 or len(second) < 2 or first[-1] != second[-1]:
        raise ShapeError(f"cdist: expected rows of equal length, got {first} and {second}")
    return vector_norm(subtract(expand_dims(x1, -2), expand_dims(x2, -3)), axis=-1, ord=p)


@composite(arrays=("x", "other"))
def dist(x: Any, other: Any, p: float = 2.0) -> Any:
    """The p-norm of the difference of two arrays, over all elements."""
    return vector_norm(subtract(x, other), ord=p)


def _close_spec(x1: Any, x2: Any, *options: Any) -> Spec:
    return Spec(broadcast_shapes("isclose", shape_of(x1), shape_of(x2)), np.bool_)


@op(
    arrays=("x1", "x2"),
    infer=_close_spec,
    vjp=no_gradient("the result is boolean, so it has no derivative"),
    numpy=(np.isclose,),
)
def isclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements differ by no more than atol + rtol * abs(x2)."""
    return np.isclose(x1, x2, rtol, atol, equal_nan)


def allclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements differ by no more than atol + rtol * abs(x2).

    >>> allclose(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]))
    True
    """
    if any(getattr(type(value), "_is_proxy", False) for value in (x1, x2)):
        close: bool = TABLE["all_close"](x1, x2, rtol, atol, equal_nan)  # it stands for one
        return close
    return bool(TABLE["all"](isclose(x1, x2, rtol, atol, equal_nan)))
