"""Reductions over axes: totals, statistics, extremes and logic.

`axis` is None (all axes), an int or a tuple; `keepdims` leaves reduced axes in place with size one.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._cost import Cost
from weft.ops._dim import Dim, dim_max, fits_dim
from weft.ops._families import composite, conj, op, reduced_shape, reduction
from weft.ops._op import no_gradient
from weft.ops._raises import EMPTY
from weft.ops._spec import Spec, axis_tuple, dtype_of, normalize_axes, shape_of, size_of
from weft.ops.cumulative import cumulative_prod
from weft.ops.dtypes import astype
from weft.ops.elementwise import divisor, real
from weft.ops.logic import equal, greater, less, where
from weft.ops.manipulation import broadcast_to, dims, flip, permute_dims, reshape
from weft.ops.transcendental import exp_share, sqrt

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "sum_to",
    "var",
]

_boolean = no_gradient("the result is boolean, so it has no derivative")
_counted = no_gradient("the result is a whole number, so it has no derivative")


def spread(g: Any, x: Any, axis: Any) -> Any:
    """A gradient of reduced values, laid out again over the elements they came from."""
    shape = shape_of(x)
    return broadcast_to(reshape(g, reduced_shape("spread", shape, axis, True)), shape)


def count(x: Any, axis: Any) -> int:
    """How many elements each reduced value stands for."""
    shape = shape_of(x)
    return size_of([shape[a] for a in normalize_axes("count", axis, len(shape))])


# ── Totals ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@reduction(numpy=(np.sum,), linear=True, vjp=lambda g, y, x, axis, dtype, keepdims: spread(g, x, axis))
def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Any:
    """Sum of the elements along the given axes."""
    total = np.add.reduce if type(x) is np.ndarray else np.sum  # what NumPy's function calls, after a detour
    return total(x, axis=axis_tuple(axis), dtype=dtype, keepdims=keepdims)


def _summed_to(x: Any, shape: Any) -> Spec:
    wanted = dims("sum_to", shape)
    shape = shape_of(x)
    if len(wanted) > len(shape) or not builtins.all(map(fits_dim, wanted[::-1], shape[::-1])):
        raise ShapeError(f"sum_to: {wanted} does not broadcast to {shape}")
    return Spec(wanted, dtype_of(x))


@op(arrays=("x",), infer=_summed_to, vjp=lambda g, y, x, shape: broadcast_to(g, shape_of(x)), linear=True, memory=None)
def sum_to(x: Any, shape: Any) -> Any:
    """The array summed down to a shape that broadcasts to its own: what broadcasting repeated is added up."""
    x, wanted = np.asarray(x), dims("sum_to", shape)
    if x.shape == wanted:
        return x if wanted else x[()]
    if np.broadcast_shapes(x.shape, wanted) != x.shape:
        raise ShapeError(f"sum_to: {wanted} does not broadcast to {x.shape}")
    extra = x.ndim - len(wanted)
    axes = (*range(extra), *(i + extra for i, d in enumerate(wanted) if d == 1 and x.shape[i + extra] != 1))
    return np.sum(x, axis=axes).reshape(wanted)[()]


def _prod(g: Any, y: Any, x: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    """Each element's slope is the product of all others, from the left and from the right: right also at zeros."""
    shape = shape_of(x)
    axes = normalize_axes("prod", axis, len(shape))
    kept = tuple(a for a in range(len(shape)) if a not in axes)
    order = (*kept, *axes)
    moved = permute_dims(x, order)
    flat = reshape(moved, (*(shape[a] for a in kept), count(x, axis)))
    before = cumulative_prod(flat, axis=-1, include_initial=True)[..., :-1]
    after = flip(cumulative_prod(flip(flat, axis=-1), axis=-1, include_initial=True)[..., :-1], axis=-1)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    others = permute_dims(reshape(before * after, shape_of(moved)), back)
    return spread(g, x, axis) * conj(others)


@reduction(numpy=(np.prod,), vjp=_prod)
def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Any:
    """Product of the elements along the given axes."""
    return np.prod(x, axis=axis_tuple(axis), dtype=dtype, keepdims=keepdims)


@reduction(
    numpy=(np.mean,), linear=True, vjp=lambda g, y, x, axis, dtype, keepdims: spread(g, x, axis) / count(x, axis)
)
def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Any:
    """Arithmetic mean of the elements along the given axes."""
    return np.mean(x, axis=axis_tuple(axis), dtype=dtype, keepdims=keepdims)


def _variance(x: Any, axis: Any, dtype: Any, correction: float, keepdims: builtins.bool, ddof: float | None) -> Any:
    """The variance and the dtype it shall have; float16 is left in float32, since squares leave its range early."""
    number: Any = count(x, axis)
    less = correction if ddof is None else ddof
    if isinstance(number, Dim) and isinstance(less, float):
        number, less = (number, int(less)) if less.is_integer() else (int(number), less)
    freedom = number - less
    if isinstance(freedom, (int, float, Dim)):
        freedom = dim_max(freedom, 0)
    half = np.dtype(np.float16) == (dtype_of(x) if dtype is None else dtype)
    if half or dtype is not None:
        x = astype(x, np.float32 if half else dtype)
    away = x - mean(x, axis, keepdims=True)
    found = sum(real(away * conj(away)), axis, keepdims=keepdims) / freedom
    return found, np.float16 if half else dtype_of(found)


@composite(numpy=(np.var,), scalar=True)
def var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
    ddof: float | None = None,
) -> Any:
    """Variance along the given axes: squared distances from the mean, over their number less `correction`.

    `ddof` is NumPy's name for `correction`.
    """
    found, dtype = _variance(x, axis, dtype, correction, keepdims, ddof)
    return found if dtype_of(found) == dtype else astype(found, dtype)


@composite(numpy=(np.std,), scalar=True)
def std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
    ddof: float | None = None,
) -> Any:
    """Standard deviation along the given axes, the root of `var`; its slope is 0 where it is 0 itself."""
    square, dtype = _variance(x, axis, dtype, correction, keepdims, ddof)
    found = where(equal(square, 0), 0, sqrt(divisor(square)))
    return found if dtype_of(found) == dtype else astype(found, dtype)


@reduction(
    vjp=lambda g, y, x, axis, keepdims: spread(g, x, axis) * conj(exp_share(spread(y, x, axis), x)),
    cost=Cost(scratch=2.0),
)
def logsumexp(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """Logarithm of the sum of exponentials along the given axes, without overflow."""
    x, axis = np.asarray(x), axis_tuple(axis)
    kind = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    wide = x.astype(np.float32 if kind == np.float16 else kind, copy=False)
    top = np.max(wide.real, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0).astype(wide.real.dtype, copy=False)
    with np.errstate(divide="ignore", over="ignore"):  # of an empty sum it is -inf, beside infinity inf: no mistake
        total = np.log(np.sum(np.exp(wide - top), axis=axis, keepdims=keepdims))
    return (total + np.reshape(top, total.shape)).astype(kind, copy=False)


# ── Extremes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _extreme(lost: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Elements that attain the extreme share its gradient evenly; all of them do where it is NaN."""
    winners = count(x, axis) - sum(lost, axis, keepdims=keepdims)  # in integers: a float16 counts no further than 2048
    return where(lost, 0, spread(astype(g / winners, dtype_of(g)), x, axis))


def _position(name: str) -> Any:
    def infer(x: Any, axis: Any, keepdims: Any) -> Spec:
        if isinstance(axis, (tuple, list)):
            raise ShapeError(f"{name}: expected one axis or None, got {axis}")
        return Spec(reduced_shape(name, shape_of(x), axis, keepdims), np.intp)

    return infer


@reduction(
    numpy=(np.max, np.amax),
    vjp=lambda g, y, x, *how: _extreme(less(x, spread(y, x, how[0])), g, y, x, *how),
    raises=EMPTY,
)
def max(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """The largest element along the given axes, NaN if one is NaN."""
    return np.max(x, axis=axis_tuple(axis), keepdims=keepdims)


@reduction(
    numpy=(np.min, np.amin),
    vjp=lambda g, y, x, *how: _extreme(greater(x, spread(y, x, how[0])), g, y, x, *how),
    raises=EMPTY,
)
def min(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """The smallest element along the given axes, NaN if one is NaN."""
    return np.min(x, axis=axis_tuple(axis), keepdims=keepdims)


@op(arrays=("x",), infer=_position("argmax"), vjp=_counted, numpy=(np.argmax,), raises=EMPTY)
def argmax(x: Any, axis: int | None = None, *, keepdims: builtins.bool = False) -> Any:
    """Position of the first largest element along an axis, or in the flattened array."""
    return np.argmax(x, axis=axis, keepdims=keepdims)


@op(arrays=("x",), infer=_position("argmin"), vjp=_counted, numpy=(np.argmin,), raises=EMPTY)
def argmin(x: Any, axis: int | None = None, *, keepdims: builtins.bool = False) -> Any:
    """Position of the first smallest element along an axis, or in the flattened array."""
    return np.argmin(x, axis=axis, keepdims=keepdims)


# ── Logic ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@reduction(numpy=(np.all,), vjp=_boolean)
def all(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """Whether every element along the given axes is true (not zero)."""
    return np.all(x, axis=axis_tuple(axis), keepdims=keepdims)


@reduction(numpy=(np.any,), vjp=_boolean)
def any(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    """Whether at least one element along the given axes is true (not zero)."""
    return np.any(x, axis=axis_tuple(axis), keepdims=keepdims)


@reduction(numpy=(np.count_nonzero,), vjp=_counted)
def count_nonzero(x: Any, axis: Any = None, *, keepdims: builtins.bool = False) -> Any:
    """How many elements along the given axes are not zero."""
    found = np.count_nonzero(x, axis=axis_tuple(axis), keepdims=keepdims)
    return found.astype(np.intp, copy=False) if isinstance(found, np.ndarray) else np.intp(found)
