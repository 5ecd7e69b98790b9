"""Running totals along one axis, the recurrence behind their derivatives, and differences, which undo them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._cost import Cost
from weft.ops._families import composite, conj, op
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, normalize_axis, shape_of
from weft.ops.creation import asarray, zeros
from weft.ops.dtypes import result_type
from weft.ops.joining import concat
from weft.ops.logic import not_equal
from weft.ops.manipulation import broadcast_to, flip, reshape, roll

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "linear_recurrence"]


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The key that takes a part of one axis and all of those before it."""
    return (*(slice(None),) * axis, part)


def _axis(name: str, x: Any, axis: int | None) -> int:
    ndim = len(shape_of(x))
    if axis is None and ndim != 1:
        raise ShapeError(f"{name}: an array of {ndim} dimensions needs axis")
    return normalize_axis(name, 0 if axis is None else axis, ndim)


def _running_spec(name: str) -> Any:
    def infer(x: Any, axis: Any, dtype: Any, include_initial: Any) -> Spec:
        shape = list(shape_of(x))
        at = _axis(name, x, axis)
        shape[at] = shape[at] + 1 if include_initial else shape[at]
        return Spec(shape, np.cumsum(np.empty(0, dtype_of(x)), dtype=dtype).dtype)

    return infer


def _with_initial(total: Any, axis: int, value: int, wanted: builtins.bool) -> Any:
    if not wanted:
        return total
    first = np.full((*total.shape[:axis], 1, *total.shape[axis + 1 :]), value, total.dtype)
    return np.concatenate([first, total], axis)


def _cumulative_sum(g: Any, y: Any, x: Any, axis: Any, dtype: Any, include_initial: Any) -> Any:
    axis = _axis("cumulative_sum", x, axis)
    g = g[along(axis, slice(1, None))] if include_initial else g
    return flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis)


@op(
    arrays=("x",),
    infer=_running_spec("cumulative_sum"),
    vjp=_cumulative_sum,
    linear=True,
    numpy=(np.cumulative_sum,) if hasattr(np, "cumulative_sum") else (),
)
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False
) -> Any:
    """Sum of each element and all before it along an axis; `include_initial` puts the empty one, 0, in front."""
    axis = _axis("cumulative_sum", x, axis)
    return _with_initial(np.cumsum(x, axis, dtype), axis, 0, include_initial)


def _cumulative_prod(g: Any, y: Any, x: Any, axis: Any, dtype: Any, include_initial: Any) -> Any:
    """Element i reaches every later product: sum over k >= i of g_k y_k / x_i, without the division.

    With p_i the product before element i it is p_i s_i, where s_i = g_i + x_(i+1) s_(i+1).
    """
    axis = _axis("cumulative_prod", x, axis)
    g = g[along(axis, slice(1, None))] if include_initial else g
    before = cumulative_prod(x, axis=axis, include_initial=True)[along(axis, slice(None, -1))]
    return conj(before) * linear_recurrence(roll(conj(x), -1, axis=axis), g, axis=axis, reverse=True)


@op(
    arrays=("x",),
    infer=_running_spec("cumulative_prod"),
    vjp=_cumulative_prod,
    numpy=(np.cumulative_prod,) if hasattr(np, "cumulative_prod") else (),
    cost=Cost(scratch=1.0),
)
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False
) -> Any:
    """Product of each element and all before it along an axis; `include_initial` puts the empty one, 1, in front."""
    axis = _axis("cumulative_prod", x, axis)
    return _with_initial(np.cumprod(x, axis, dtype), axis, 1, include_initial)


@composite(numpy=(np.cumsum,))
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Sum of each element and all before it along an axis, or of the flattened array."""
    return cumulative_sum(reshape(x, (-1,)) if axis is None else x, axis=axis, dtype=dtype)


@composite(numpy=(np.cumprod,))
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Product of each element and all before it along an axis, or of the flattened array."""
    return cumulative_prod(reshape(x, (-1,)) if axis is None else x, axis=axis, dtype=dtype)


def _shifted(y: Any, axis: int, reverse: builtins.bool) -> Any:
    """Each place holds what its predecessor held; the first holds 0."""
    shape = shape_of(y)
    gap = zeros((*shape[:axis], 1, *shape[axis + 1 :]), dtype=dtype_of(y))
    if reverse:
        return concat([y[along(axis, slice(1, None))], gap], axis=axis)
    return concat([gap, y[along(axis, slice(None, -1))]], axis=axis)


def _recurrence_spec(a: Any, b: Any, axis: int, reverse: Any) -> Spec:
    shape = broadcast_shapes("linear_recurrence", shape_of(a), shape_of(b))
    normalize_axis("linear_recurrence", axis, len(shape))
    return Spec(shape, np.result_type(dtype_of(a), dtype_of(b)))


def _recurrence_b(g: Any, y: Any, a: Any, b: Any, axis: int, reverse: builtins.bool) -> Any:
    """The same recurrence, run the other way."""
    a = roll(broadcast_to(conj(a), shape_of(y)), 1 if reverse else -1, axis=axis)
    return linear_recurrence(a, g, axis=axis, reverse=not reverse)


def _recurrence_a(g: Any, y: Any, a: Any, b: Any, axis: int, reverse: builtins.bool) -> Any:
    before = _shifted(y, normalize_axis("linear_recurrence", axis, len(shape_of(y))), reverse)
    return _recurrence_b(g, y, a, b, axis, reverse) * conj(before)


@op(arrays=("a", "b"), infer=_recurrence_spec, vjp=(_recurrence_a, _recurrence_b))
def linear_recurrence(a: Any, b: Any, axis: int = -1, reverse: builtins.bool = False) -> Any:
    """The sequence y[i] = a[i] * y[i - 1] + b[i] along an axis, from y[0] = b[0]; `reverse` starts at its end."""
    a, b = np.broadcast_arrays(a, b)
    normalize_axis("linear_recurrence", axis, b.ndim)
    y = np.moveaxis(np.array(b, np.result_type(a, b)), axis, 0)
    a = np.moveaxis(a, axis, 0)
    steps = range(len(y) - 2, -1, -1) if reverse else range(1, len(y))
    for i in steps:
        y[i] += a[i] * y[i + 1 if reverse else i - 1]
    return np.ascontiguousarray(np.moveaxis(y, 0, axis))


def _end(end: Any, x: Any, axis: int) -> Any:
    """What is joined to x along an axis: a number stands for a slice full of it, a Python number in the dtype of x."""
    if shape_of(end):
        return end
    shape = shape_of(x)
    weak = end if hasattr(end, "dtype") else asarray(end, result_type(x, end))
    return broadcast_to(weak, (*shape[:axis], 1, *shape[axis + 1 :]))


@composite(arrays=("x", "prepend", "append"), numpy=(np.diff,), memory=None)
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, `n` times over; `prepend` and `append` are joined to the ends first."""
    if n < 0:
        raise ShapeError(f"diff: expected n of 0 or more, got {n}")
    x = asarray(x)
    shape = shape_of(x)
    axis = normalize_axis("diff", axis, len(shape))
    ends = [None if end is None else _end(end, x, axis) for end in (prepend, append)]
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    joined = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        after, before = joined[along(axis, slice(1, None))], joined[along(axis, slice(None, -1))]
        joined = not_equal(after, before) if dtype_of(joined).kind == "b" else after - before
    return joined
