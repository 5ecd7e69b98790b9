"""Reductions and running totals that pass over NaN. `nansum` and `nanmean` are in `statistics`."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, op, reduced_shape
from weft.ops._matrices import real_dtype
from weft.ops._op import no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, dtype_of, shape_of
from weft.ops.cumulative import cumprod, cumsum
from weft.ops.dtypes import astype
from weft.ops.elementwise import conj, divisor, real
from weft.ops.logic import equal, isnan, less_equal, logical_not, where
from weft.ops.reductions import all, max, min, prod, sum
from weft.ops.transcendental import sqrt

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmin",
    "nanprod",
    "nanstd",
    "nanvar",
]


def _filled(x: Any, value: Any) -> Any:
    """The array with a number in place of NaN; what has no NaN as it is."""
    return where(isnan(x), value, x) if dtype_of(x).kind in "fc" else x


@composite(arrays=("a",), numpy=(np.nanprod,), eval=np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The product along the given axes of the elements that are not NaN."""
    return prod(_filled(a, 1), axis, dtype, keepdims=keepdims)


@composite(arrays=("a",), numpy=(np.nancumsum,), eval=np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Sum of each element and all before it along an axis, or of the flattened array; NaN counts as 0."""
    return cumsum(_filled(a, 0), axis, dtype)


@composite(arrays=("a",), numpy=(np.nancumprod,), eval=np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Product of each element and all before it along an axis, or of the flattened array; NaN counts as 1."""
    return cumprod(_filled(a, 1), axis, dtype)


# ── Extremes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _extreme(x: Any, axis: Any, keepdims: builtins.bool, found: Any, last: float) -> Any:
    """The extreme of what is not NaN: NaN counts as the number that loses, and comes back where there is no other."""
    if dtype_of(x).kind not in "fc":
        return found(x, axis, keepdims=keepdims)
    nan = isnan(x)
    none = all(nan, axis, keepdims=keepdims)
    return where(none, math.nan, found(where(nan, last, x), axis, keepdims=keepdims))


@composite(arrays=("a",), numpy=(np.nanmax,), eval=np.nanmax)
def nanmax(a: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The largest element along the given axes that is not NaN; NaN, and a warning, where there is none."""
    return _extreme(a, axis, keepdims, max, -math.inf)


@composite(arrays=("a",), numpy=(np.nanmin,), eval=np.nanmin)
def nanmin(a: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The smallest element along the given axes that is not NaN; NaN, and a warning, where there is none."""
    return _extreme(a, axis, keepdims, min, math.inf)


def _position(name: str) -> Any:
    def infer(a: Any, axis: Any, keepdims: Any) -> Spec:
        if isinstance(axis, (tuple, list)):
            raise ShapeError(f"{name}: expected one axis or None, got {axis}")
        return Spec(reduced_shape(name, shape_of(a), axis, keepdims), np.intp)

    return infer


_counted = no_gradient("the result is a whole number, so it has no derivative")


@op(arrays=("a",), infer=_position("nanargmax"), vjp=_counted, numpy=(np.nanargmax,), raises=BAD_VALUES)
def nanargmax(a: Any, axis: int | None = None, *, keepdims: builtins.bool = False) -> Any:
    """Position of the first largest element that is not NaN along an axis; an error where all are NaN."""
    return np.nanargmax(a, axis, keepdims=keepdims)


@op(arrays=("a",), infer=_position("nanargmin"), vjp=_counted, numpy=(np.nanargmin,), raises=BAD_VALUES)
def nanargmin(a: Any, axis: int | None = None, *, keepdims: builtins.bool = False) -> Any:
    """Position of the first smallest element that is not NaN along an axis; an error where all are NaN."""
    return np.nanargmin(a, axis, keepdims=keepdims)


# ── Spread ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _variance(name: str, x: Any, axis: Any, dtype: Any, ddof: float, keepdims: builtins.bool) -> Any:
    """Squared distances from the mean of what is not NaN, over their number less `ddof`; NaN where that is not left."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise DtypeError(f"{name}: dtype must be a floating dtype, got {np.dtype(dtype)}")
    x = astype(x, dtype) if dtype is not None else x if dtype_of(x).kind in "fc" else astype(x, np.float64)
    nan = isnan(x)
    count = sum(logical_not(nan), axis, keepdims=True)
    middle = sum(where(nan, 0, x), axis, keepdims=True) / astype(divisor(count), real_dtype(dtype_of(x)))
    away = where(nan, 0, x - middle)  # before it is squared: the slope of the square of a NaN would be NaN
    square = away * away if dtype_of(x).kind == "f" else real(away * conj(away))
    freedom = sum(logical_not(nan), axis, keepdims=keepdims) - ddof
    short = less_equal(freedom, 0)
    total = sum(square, axis, keepdims=keepdims) / astype(where(short, 1, freedom), dtype_of(square))
    return where(short, math.nan, total)


@composite(arrays=("a",), numpy=(np.nanvar,), eval=np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
) -> Any:
    """Variance along the given axes of the elements that are not NaN."""
    return _variance("nanvar", a, axis, dtype, ddof, keepdims)


@composite(arrays=("a",), numpy=(np.nanstd,), eval=np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
) -> Any:
    """Standard deviation along the given axes of the elements that are not NaN; its slope is 0 where it is 0."""
    square = _variance("nanstd", a, axis, dtype, ddof, keepdims)
    return where(equal(square, 0), 0, sqrt(divisor(square)))
