"""Quantiles, percentiles and medians, by NumPy's thirteen methods, with NaN spoiling the result or passed over.

A method says where in the sorted elements a share `q` of them ends: at a position that may lie between two elements.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from weft.errors import DtypeError, NotDifferentiable, ShapeError
from weft.ops._families import composite, reduced_shape
from weft.ops._op import ANY_ORDER
from weft.ops._raises import second_outside
from weft.ops._spec import Spec, axis_tuple, dtype_of, normalize_axes, shape_of, size_of
from weft.ops.creation import asarray
from weft.ops.dtypes import astype
from weft.ops.elementwise import ceil, clip, floor, maximum, minimum, remainder, round
from weft.ops.indexing import take_along_axis
from weft.ops.logic import equal, greater_equal, isnan, less, logical_and, logical_not, where
from weft.ops.manipulation import moveaxis, reshape
from weft.ops.reductions import any, sum
from weft.ops.sorting import sort

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


# ── Methods ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _between(alpha: float, beta: float) -> Callable[..., Any]:
    """The continuous methods of Hyndman and Fan (The American Statistician 50, 1996), by their two parameters."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _last(n: Any, q: Any) -> Any:
    return (n - 1) * q


def _inverted(n: Any, q: Any) -> Any:
    return maximum(ceil(n * q - 1), 0.0)


@cache
def _even() -> int:
    """Of two elements equally near NumPy takes the even one, counted from 1; NumPy 2.0 counted from 0."""
    return int(np.quantile(np.arange(7.0), 0.5, method="closest_observation")) % 2


def _closest(n: Any, q: Any) -> Any:
    """The nearest element."""
    position = n * q - 1.5
    low = floor(position)
    stays = logical_and(equal(position, low), equal(remainder(low, 2), _even()))
    return maximum(where(stays, low, low + 1), 0.0)


_POSITIONS: dict[str, Callable[..., Any]] = {
    "inverted_cdf": _inverted,
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": _last,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "lower": lambda n, q: floor(_last(n, q)),
    "higher": lambda n, q: ceil(_last(n, q)),
    "midpoint": lambda n, q: 0.5 * (floor(_last(n, q)) + ceil(_last(n, q))),
    "nearest": lambda n, q: round(_last(n, q)),
}


def _share(position: Any, low: Any, method: str) -> Any:
    """How much of the second neighbour of a position goes into the result."""
    if method == "averaged_inverted_cdf":
        return where(equal(position, low), 0.5, 1.0)
    if method == "midpoint":
        return where(equal(position, low), 0.0, 0.5)
    return position - low


# ── The shape rule and the body they share ────────────────────────────────────────────────────────────────────────────


def _check(name: str, x: Any, q: Any, method: str, top: int) -> None:
    if method not in _POSITIONS:
        raise ValueError(f"{name}: method {method!r} is not one of {', '.join(_POSITIONS)}")
    if dtype_of(x).kind == "c":
        raise DtypeError(f"{name}: complex numbers have no order")
    if isinstance(q, (int, float, list, tuple, np.ndarray)):
        shares = np.asarray(q)
        if shares.dtype.kind in "biuf" and not ((shares >= 0) & (shares <= top)).all():
            raise ValueError(f"{name}: q lies between 0 and {top}, got {q!r}")


def _infer(function: Callable[..., Any], top: int) -> Callable[..., Any]:
    name = function.__name__

    def infer(x: Any, q: Any, axis: Any, keepdims: Any, method: str, weights: Any = None) -> Spec:
        _check(name, x, q, method, top)
        share = q if isinstance(q, (int, float)) else np.zeros((), dtype_of(q))
        dtype = np.asarray(function(np.ones(2, dtype_of(x)), share, method=method)).dtype
        if weights is not None:
            normalize_axes(name, axis, len(shape_of(x)))
        return Spec((*shape_of(q), *reduced_shape(name, shape_of(x), axis, keepdims)), dtype)

    return infer


def _in_one(name: str, x: Any, axis: Any) -> Any:
    """The reduced dimensions as one, at the end."""
    shape = shape_of(x)
    axes = normalize_axes(name, axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    count = size_of([shape[i] for i in axes])
    if count == 0:
        raise ShapeError(f"{name}: there are no elements along axis {axis} of {shape}")
    last = moveaxis(x, axes, tuple(range(len(kept), len(shape)))) if axes else x
    return reshape(last, (*(shape[i] for i in kept), count))


def _found(name: str, x: Any, q: Any, axis: Any, keepdims: builtins.bool, method: str, skip: builtins.bool) -> Any:
    """The elements around the position of each share, blended; NaN where one is NaN, unless they are skipped."""
    shape, wanted = shape_of(x), shape_of(q)
    x = x if dtype_of(x).kind in "fc" else astype(x, np.float64)
    real = np.finfo(dtype_of(x)).dtype
    line = _in_one(name, x, axis)
    lead, count = shape_of(line)[:-1], shape_of(line)[-1]
    shares = reshape(asarray(q, real) if isinstance(q, (int, float)) else asarray(q), (size_of(wanted),))
    nan, ordered = isnan(line), sort(line, -1)
    if skip:  # they sort behind all others
        count = astype(sum(logical_not(nan), -1, keepdims=True), dtype_of(shares))
    else:
        shares = reshape(shares, (*(1,) * len(lead), *shape_of(shares)))
    position = _POSITIONS[method](count, shares)
    top = maximum(count - 1, 0)
    low = clip(floor(position), 0, top)
    high = minimum(low + 1, top)
    part = where(less(position, 0), 0.0, where(greater_equal(position, top), 0.0, _share(position, low, method)))
    first = take_along_axis(ordered, astype(low, np.intp), -1)
    value = first + astype(part, dtype_of(x)) * (take_along_axis(ordered, astype(high, np.intp), -1) - first)
    if not skip:
        value = where(any(nan, axis=-1, keepdims=True), math.nan, value)
    return reshape(moveaxis(value, -1, 0), (*wanted, *reduced_shape(name, shape, axis, keepdims)))


def _unweighted(name: str, weights: Any) -> None:
    if weights is not None:
        raise NotDifferentiable(f"{name} has no derivative where weights are given: they move it from value to value")


def _by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function with the parameters of the op; `weights` only where they are given."""

    def eval(
        x: Any,
        q: Any,
        axis: Any = None,
        *,
        keepdims: builtins.bool = False,
        method: str = "linear",
        weights: Any = None,
    ) -> Any:
        _check(function.__name__, np.asarray(x), q, method, 100 if "percentile" in function.__name__ else 1)
        return function(x, q, axis=axis_tuple(axis), keepdims=keepdims, method=method, weights=weights)

    return eval


@composite(
    arrays=("x", "q", "weights"),
    numpy=(np.quantile,),
    eval=_by_numpy(np.quantile),
    infer=_infer(np.quantile, 1),
    raises=second_outside(1.0, weights=5),
)
def quantile(
    x: Any, q: Any, axis: Any = None, *, keepdims: builtins.bool = False, method: str = "linear", weights: Any = None
) -> Any:
    """The value below which the share `q` of the elements along the given axes lies; NaN where one of them is NaN.

    Several shares give a result with their dimensions in front. Between two elements `method` decides: "linear",
    "lower", "higher", "midpoint", "nearest", or one of NumPy's others. Weights go with "inverted_cdf" only.
    """
    _check("quantile", x, q, method, 1)
    _unweighted("quantile", weights)
    return _found("quantile", x, q, axis, keepdims, method, False)


@composite(
    arrays=("x", "q", "weights"),
    numpy=(np.nanquantile,),
    eval=_by_numpy(np.nanquantile),
    infer=_infer(np.nanquantile, 1),
    raises=second_outside(1.0, weights=5),
    order=ANY_ORDER,
)
def nanquantile(
    x: Any, q: Any, axis: Any = None, *, keepdims: builtins.bool = False, method: str = "linear", weights: Any = None
) -> Any:
    """`quantile` of the elements that are not NaN; NaN where there is none."""
    _check("nanquantile", x, q, method, 1)
    _unweighted("nanquantile", weights)
    return _found("nanquantile", x, q, axis, keepdims, method, True)


@composite(
    arrays=("x", "q", "weights"),
    numpy=(np.percentile,),
    eval=_by_numpy(np.percentile),
    infer=_infer(np.percentile, 100),
    raises=second_outside(100.0, weights=5),
)
def percentile(
    x: Any, q: Any, axis: Any = None, *, keepdims: builtins.bool = False, method: str = "linear", weights: Any = None
) -> Any:
    """The value below which `q` percent of the elements along the given axes lie; see `quantile`."""
    _check("percentile", x, q, method, 100)
    _unweighted("percentile", weights)
    return _found("percentile", x, _of_hundred(q), axis, keepdims, method, False)


@composite(
    arrays=("x", "q", "weights"),
    numpy=(np.nanpercentile,),
    eval=_by_numpy(np.nanpercentile),
    infer=_infer(np.nanpercentile, 100),
    raises=second_outside(100.0, weights=5),
    order=ANY_ORDER,
)
def nanpercentile(
    x: Any, q: Any, axis: Any = None, *, keepdims: builtins.bool = False, method: str = "linear", weights: Any = None
) -> Any:
    """`percentile` of the elements that are not NaN; NaN where there is none."""
    _check("nanpercentile", x, q, method, 100)
    _unweighted("nanpercentile", weights)
    return _found("nanpercentile", x, _of_hundred(q), axis, keepdims, method, True)


def _of_hundred(q: Any) -> Any:
    return q / 100 if isinstance(q, (int, float)) else asarray(q) / 100


# ── Medians ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _median_spec(function: Callable[..., Any]) -> Callable[..., Any]:
    def infer(x: Any, axis: Any, keepdims: Any) -> Spec:
        shape = reduced_shape(function.__name__, shape_of(x), axis, keepdims)
        return Spec(shape, np.asarray(function(np.ones(2, dtype_of(x)))).dtype)

    return infer


def _numpy_median(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    return np.median(x, axis_tuple(axis), keepdims=keepdims)


def _numpy_nanmedian(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    return np.nanmedian(x, axis_tuple(axis), keepdims=keepdims)


@composite(numpy=(np.median,), eval=_numpy_median, infer=_median_spec(np.median))
def median(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The middle of the elements along the given axes, or the mean of the two in the middle; NaN where one is NaN."""
    return _found("median", x, 0.5, axis, keepdims, "midpoint", False)


@composite(numpy=(np.nanmedian,), eval=_numpy_nanmedian, infer=_median_spec(np.nanmedian))
def nanmedian(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """The median along the given axes of the elements that are not NaN; NaN where there is none."""
    return _found("nanmedian", x, 0.5, axis, keepdims, "midpoint", True)
