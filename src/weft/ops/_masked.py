"""NumPy's reductions with `where=`, `initial=` and all their other parameters, beside the plain ops of those names.

`weft.ops._numpy` chooses one of these for a call that the plain op does not take. Elements that `where` leaves out
count as what changes nothing: 0 in a sum, `initial` in a maximum.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._families import composite, reduced_shape
from weft.ops._matrices import put_in, real_dtype
from weft.ops._op import Op
from weft.ops._spec import Spec, axis_tuple, broadcast_shapes, dtype_of, shape_of
from weft.ops.dtypes import astype
from weft.ops.elementwise import conj, divisor, maximum, minimum, real
from weft.ops.logic import equal, logical_and, logical_or
from weft.ops.logic import where as choose
from weft.ops.manipulation import broadcast_to
from weft.ops.reductions import all, any, max, min, prod, sum
from weft.ops.transcendental import sqrt


def _shape(name: str, a: Any, axis: Any, keepdims: builtins.bool, where: Any) -> tuple[int, ...]:
    shape = shape_of(a)
    if broadcast_shapes(name, shape, shape_of(where)) != shape:
        raise ShapeError(f"{name}: where of shape {shape_of(where)} does not fit the array of shape {shape}")
    return reduced_shape(name, shape, axis, keepdims)


def _given(**options: Any) -> dict[str, Any]:
    """The options that say something."""
    return {name: value for name, value in options.items() if value is not None}


def _infer(name: str, function: Callable[..., Any]) -> Callable[..., Spec]:
    def infer(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Spec:
        shape = _shape(name, a, axis, keepdims, where)
        # The number to start from does not promote the result.
        return Spec(shape, function(np.ones(1, dtype_of(a)), **_given(dtype=dtype), initial=1).dtype)

    return infer


def _eval(function: Callable[..., Any]) -> Callable[..., Any]:
    def eval(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        options = _given(dtype=dtype, initial=initial)
        return function(a, axis=axis_tuple(axis), keepdims=keepdims, where=where, **options)

    return eval


def _only(a: Any, where: Any, neutral: Any) -> Any:
    return a if where is True else choose(where, a, neutral)


@composite(arrays=("a", "initial", "where"), eval=_eval(np.sum), infer=_infer("sum", np.sum))
def sum_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum along the given axes of the elements chosen by `where`, starting from `initial`."""
    found = sum(_only(a, where, 0), axis, dtype, keepdims=keepdims)
    return found if initial is None else astype(found + initial, dtype_of(found))


@composite(arrays=("a", "initial", "where"), eval=_eval(np.prod), infer=_infer("prod", np.prod))
def prod_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Product along the given axes of the elements chosen by `where`, starting from `initial`."""
    found = prod(_only(a, where, 1), axis, dtype, keepdims=keepdims)
    return found if initial is None else astype(found * initial, dtype_of(found))


# ── Extremes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _extreme_spec(name: str) -> Callable[..., Spec]:
    def infer(a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Spec:
        _needs_start(name, initial, where)
        return Spec(_shape(name, a, axis, keepdims, where), dtype_of(a))

    return infer


def _needs_start(name: str, initial: Any, where: Any) -> None:
    if initial is None and where is not True:
        raise ValueError(f"{name}_where: where needs initial, for the case that it chooses nothing")


def _extreme(name: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any, both: Op, all_of: Op) -> Any:
    _needs_start(name, initial, where)
    if initial is None:
        return all_of(a, axis, keepdims=keepdims)
    start = astype(initial, dtype_of(a)) if hasattr(initial, "dtype") else initial
    kept = _only(a, where, start)
    if 0 in shape_of(kept):
        return broadcast_to(astype(start, dtype_of(a)), _shape(name, a, axis, keepdims, where))
    return both(all_of(kept, axis, keepdims=keepdims), start)


def _extreme_eval(function: Callable[..., Any]) -> Callable[..., Any]:
    def eval(
        a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        return function(a, axis=axis_tuple(axis), keepdims=keepdims, where=where, **_given(initial=initial))

    return eval


@composite(arrays=("a", "initial", "where"), eval=_extreme_eval(np.max), infer=_extreme_spec("max"))
def max_where(
    a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest along the given axes of `initial` and the elements chosen by `where`."""
    return _extreme("max", a, axis, keepdims, initial, where, maximum, max)


@composite(arrays=("a", "initial", "where"), eval=_extreme_eval(np.min), infer=_extreme_spec("min"))
def min_where(
    a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest along the given axes of `initial` and the elements chosen by `where`."""
    return _extreme("min", a, axis, keepdims, initial, where, minimum, min)


# ── Statistics ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _count(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    return sum(broadcast_to(np.True_ if where is True else where, shape_of(a)), axis, keepdims=keepdims)


def _wide(a: Any, dtype: Any) -> Any:
    """Sums of integers are worked out in float64, of float16 in float32."""
    if dtype is not None:
        return astype(a, dtype)
    half = dtype_of(a) == np.float16
    return astype(a, np.float32 if half else np.float64) if half or dtype_of(a).kind in "iub" else a


def _mean(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    count = divisor(_count(a, axis, keepdims, where))
    return sum(_only(a, where, 0), axis, keepdims=keepdims) / astype(count, real_dtype(dtype_of(a)))


@composite(arrays=("a", "where"), eval=np.mean)
def mean_where(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = True
) -> Any:
    """Mean along the given axes of the elements chosen by `where`."""
    _shape("mean", a, axis, keepdims, where)
    found = _mean(_wide(a, dtype), axis, keepdims, where)
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


def _squares(
    a: Any, axis: Any, dtype: Any, ddof: float, keepdims: Any, where: Any, mean: Any, correction: float | None
) -> tuple[Any, Any]:
    """The sum of the squared distances from the mean, and what it is divided by."""
    _shape("var", a, axis, keepdims, where)
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    ddof = ddof if correction is None else correction
    x = _wide(a, dtype)
    away = x - (_mean(x, axis, True, where) if mean is None else mean)
    square = _only(real(away * conj(away)) if dtype_of(x).kind == "c" else away * away, where, 0)
    freedom = astype(_count(a, axis, keepdims, where), dtype_of(square)) - ddof
    return sum(square, axis, keepdims=keepdims), freedom


def _spread(a: Any, *how: Any) -> Any:
    total, freedom = _squares(a, *how)
    return total / maximum(freedom, 0)


def _spread_eval(function: Callable[..., Any]) -> Callable[..., Any]:
    def eval(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        return function(a, axis, dtype, **_given(**options))

    return eval


@composite(arrays=("a", "where", "mean"), eval=_spread_eval(np.var))
def var_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Variance along the given axes, from `mean` where that is given, of the elements chosen by `where`."""
    found = _spread(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


@composite(arrays=("a", "where", "mean"), eval=_spread_eval(np.std))
def std_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation along the given axes of the elements chosen by `where`; its slope is 0 where it is 0."""
    square = _spread(a, axis, dtype, ddof, keepdims, where, mean, correction)
    found = choose(equal(square, 0), 0, sqrt(divisor(square)))
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


# ── Logic ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("a", "where"), eval=np.all)
def all_where(a: Any, axis: Any = None, *, keepdims: builtins.bool = False, where: Any = True) -> Any:
    """Whether every element along the given axes that `where` chooses is true."""
    return all(a if where is True else logical_or(a, ~where), axis, keepdims=keepdims)


@composite(arrays=("a", "where"), eval=np.any)
def any_where(a: Any, axis: Any = None, *, keepdims: builtins.bool = False, where: Any = True) -> Any:
    """Whether at least one element along the given axes that `where` chooses is true."""
    return any(a if where is True else logical_and(a, where), axis, keepdims=keepdims)


_OPS = (sum_where, prod_where, max_where, min_where, mean_where, var_where, std_where, all_where, any_where)
put_in("weft.ops._masked", *_OPS)
