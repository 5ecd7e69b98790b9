"""Weighted averages, covariances, correlations, and the distance between extremes."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._families import composite, conj
from weft.ops._raises import EMPTY, when_given
from weft.ops._spec import dtype_of, normalize_axes, shape_of, size_of
from weft.ops.creation import full
from weft.ops.dtypes import astype, result_type
from weft.ops.elementwise import clip, imag, real
from weft.ops.joining import concat
from weft.ops.linalg import diagonal, matmul
from weft.ops.manipulation import broadcast_to, expand_dims, permute_dims, reshape, squeeze
from weft.ops.reductions import max, mean, min, sum
from weft.ops.transcendental import sqrt

__all__ = ["average", "corrcoef", "cov", "ptp"]


@composite(arrays=("a",), numpy=(np.ptp,), eval=np.ptp, raises=EMPTY)
def ptp(a: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The distance from the smallest to the largest element along the given axes."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def _laid(a: Any, weights: Any, axis: Any) -> Any:
    """Weights in the shape of the array, or along the axes they are given for."""
    shape, own = shape_of(a), shape_of(weights)
    if own == shape:
        return weights
    if axis is None:
        raise ShapeError(f"average: weights of shape {own} for an array of shape {shape} need axis")
    axes = normalize_axes("average", axis, len(shape))
    if own != tuple(shape[i] for i in axes):
        raise ShapeError(f"average: weights of shape {own} do not fit axis {axis} of {shape}")
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return reshape(permute_dims(weights, order), tuple(d if i in axes else 1 for i, d in enumerate(shape)))


@composite(arrays=("a", "weights"), numpy=(np.average,), eval=np.average, raises=when_given(2))
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: builtins.bool = False,
    *,
    keepdims: builtins.bool = False,
) -> Any:
    """The mean along the given axes, each element counted by its weight; `returned` adds the sum of the weights."""
    if weights is None:
        found = mean(a, axis, keepdims=keepdims)
        axes = normalize_axes("average", axis, len(shape_of(a)))
        count = size_of([shape_of(a)[i] for i in axes])
        return (found, full(shape_of(found), count, dtype=dtype_of(found))) if returned else found
    wide = np.float64 if dtype_of(a).kind in "iub" else dtype_of(a)
    dtype = np.dtype(result_type(dtype_of(a), dtype_of(weights), wide))
    weights = astype(_laid(a, weights, axis), dtype)
    total = sum(broadcast_to(weights, shape_of(a)), axis, keepdims=keepdims)
    found = sum(astype(a, dtype) * weights, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


def _rows(x: Any, rowvar: builtins.bool, dtype: Any) -> Any:
    """One row for each variable, one column for each observation."""
    shape = shape_of(x)
    if len(shape) > 2:
        raise ShapeError(f"cov: expected at most two dimensions, got shape {shape}")
    rows = astype(reshape(x, (*(1,) * (2 - len(shape)), *shape)), dtype)
    return permute_dims(rows) if not rowvar and len(shape) == 2 and shape_of(rows)[0] != 1 else rows


def _weights(fweights: Any, aweights: Any) -> Any:
    if aweights is None or fweights is None:
        return fweights if aweights is None else astype(aweights, np.float64)
    return fweights * astype(aweights, np.float64)


@composite(
    arrays=("m", "y", "fweights", "aweights"), numpy=(np.cov,), eval=np.cov, raises=when_given(5, 6), always_array=True
)
def cov(
    m: Any,
    y: Any = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables: the rows of a matrix, or its columns where `rowvar` is false.

    Sums are divided by the number of observations less `ddof`: 1, or 0 where `bias` is true. `fweights` says how often
    each was made, `aweights` how much it counts.
    """
    given = [dtype_of(each) for each in (m, y) if each is not None]
    dtype = np.result_type(*given, np.float64) if dtype is None else np.dtype(dtype)
    x = _rows(m, rowvar, dtype)
    if y is not None:
        x = concat([x, _rows(y, rowvar, dtype)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = _weights(fweights, aweights)
    if w is None:
        center, freedom = mean(x, axis=1, keepdims=True), shape_of(x)[1] - ddof
    else:
        total = sum(astype(w, dtype_of(x)))
        center = expand_dims(matmul(x, astype(w, dtype)) / total, -1)
        spread = 0 if ddof == 0 else ddof if aweights is None else ddof * sum(w * aweights) / total
        freedom = real(total) - real(spread) if not isinstance(spread, int) else real(total) - spread
    away = x - center
    turned = permute_dims(away if w is None else away * w)
    return squeeze(matmul(away, conj(turned)) / freedom)


@composite(arrays=("x", "y"), numpy=(np.corrcoef,), eval=np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None) -> Any:
    """The correlations of variables: their covariances over the product of their standard deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    deviation = sqrt(real(diagonal(c)))
    c = c / expand_dims(deviation, 1) / expand_dims(deviation, 0)
    if dtype_of(c).kind != "c":
        return clip(c, -1, 1)
    return clip(real(c), -1, 1) + 1j * clip(imag(c), -1, 1)
