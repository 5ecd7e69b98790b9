"""Softmax, its logarithm, and their derivatives.

None of them overflows, and the sum of float32 elements is taken in a way that keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops._blocks import converter, floating
from weft.ops._cost import Cost
from weft.ops._families import composite, op, pointwise_dtype
from weft.ops._spec import Spec, dtype_of, normalize_axis, shape_of
from weft.ops.elementwise import negative
from weft.ops.reductions import sum
from weft.ops.transcendental import exp

__all__ = ["log_softmax", "log_softmax_input", "softmax", "softmax_input", "softmin"]


def _axis_spec(name: str) -> Callable[..., Spec]:
    def infer(x: Any, axis: int = -1) -> Spec:
        normalize_axis(name, axis, len(shape_of(x)))
        return Spec(shape_of(x), pointwise_dtype(converter(name), x))

    return infer


def _row_sums(x: Any, axis: int) -> Any:
    """Sums along the axis, kept; long rows in parts, as np.sum does, or float32 would lose digits."""
    if axis == x.ndim - 1 and 0 < x.shape[axis] <= 4096:
        return np.einsum("...i->...", x)[..., None]
    return np.sum(x, axis=axis, keepdims=True)


def _along_axis(kernel: Callable[..., Any], axis: int, *arrays: Any) -> Any:
    """A function of slices along the axis; half floats are worked on as single."""
    x = arrays[0]
    if x.dtype == np.float16:
        return _along_axis(kernel, axis, *(a.astype(np.float32) for a in arrays)).astype(np.float16)
    return kernel(axis, *arrays) if x.size else np.empty_like(x)


def _softmax_rows(axis: int, x: Any) -> Any:
    if np.min(x) > -30 and np.max(x) < 30:  # nothing can overflow, or vanish: no need to look for each row's maximum
        e = np.exp(x)
    else:
        with np.errstate(invalid="ignore"):  # a slice of -inf only has no softmax: nan, as the limit does not exist
            e = x - np.max(x, axis=axis, keepdims=True)
        np.exp(e, out=e)
    e /= _row_sums(e, axis)
    return e


def _log_softmax_rows(axis: int, x: Any) -> Any:
    with np.errstate(invalid="ignore"):  # as above
        y = x - np.max(x, axis=axis, keepdims=True)
    y -= np.log(_row_sums(np.exp(y), axis))
    return y


def _softmax_back_rows(axis: int, g: Any, y: Any) -> Any:
    x = g * y
    share = _row_sums(x, axis)
    np.subtract(g, share, out=x)
    x *= y
    return x


def _log_softmax_back_rows(axis: int, g: Any, y: Any) -> Any:
    x = np.exp(y)
    x *= -_row_sums(g, axis)
    x += g
    return x


def _back_spec(g: Any, y: Any, axis: int) -> Spec:
    return Spec(shape_of(y), np.result_type(dtype_of(g), dtype_of(y)))


def _common(g: Any, y: Any) -> tuple[Any, Any]:
    dtype = np.result_type(g, y)
    return np.asarray(g).astype(dtype, copy=False), np.asarray(y).astype(dtype, copy=False)


def _softmax_back_to_y(h: Any, x: Any, g: Any, y: Any, axis: int) -> Any:
    products = (sum(a * y, axis=axis, keepdims=True) for a in (g, h))
    share_g, share_h = products
    return h * (g - share_g) - g * share_h


def _softmax_back_to_g(h: Any, x: Any, g: Any, y: Any, axis: int) -> Any:
    """The same once more: as a matrix from g to x it is symmetric."""
    return softmax_input(h, y, axis)


@op(arrays=("g", "y"), infer=_back_spec, vjp=(_softmax_back_to_g, _softmax_back_to_y))
def softmax_input(g: Any, y: Any, axis: int) -> Any:
    """The gradient of the argument of softmax, from that of its result y."""
    return _along_axis(_softmax_back_rows, normalize_axis("softmax_input", axis, y.ndim), *_common(g, y))


@op(
    arrays=("g", "y"),
    infer=_back_spec,
    vjp=(
        lambda h, x, g, y, axis: h - sum(h * exp(y), axis=axis, keepdims=True),
        lambda h, x, g, y, axis: -h * exp(y) * sum(g, axis=axis, keepdims=True),
    ),
)
def log_softmax_input(g: Any, y: Any, axis: int) -> Any:
    """The gradient of the argument of log_softmax, from that of its result y."""
    return _along_axis(_log_softmax_back_rows, normalize_axis("log_softmax_input", axis, y.ndim), *_common(g, y))


@op(arrays=("x",), infer=_axis_spec("softmax"), vjp=lambda g, y, x, axis: softmax_input(g, y, axis))
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) divided by its sum along the axis."""
    x = floating("softmax", x)
    return _along_axis(_softmax_rows, normalize_axis("softmax", axis, x.ndim), x)


@op(
    arrays=("x",),
    infer=_axis_spec("log_softmax"),
    vjp=lambda g, y, x, axis: log_softmax_input(g, y, axis),
    cost=Cost(scratch=1.0),
)
def log_softmax(x: Any, axis: int = -1) -> Any:
    """Logarithm of softmax(x) along the axis, without the rounding of taking it afterwards."""
    x = floating("log_softmax", x)
    return _along_axis(_log_softmax_rows, normalize_axis("log_softmax", axis, x.ndim), x)


@composite()
def softmin(x: Any, axis: int = -1) -> Any:
    """exp(-x) divided by its sum along the axis."""
    return softmax(negative(x), axis)
