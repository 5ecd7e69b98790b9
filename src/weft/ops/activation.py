"""Activation functions. Those with a shorter or safer closed form are ops of their own; the rest are functions of ops.

None of them overflows: large inputs of either sign give the limit, in every float dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._blocks import by_blocks, float_spec, floating, real_numbers
from weft.ops._cost import CHEAP, Cost
from weft.ops._families import Reals, composite, op, pointwise_dtype, unary
from weft.ops._spec import Spec, normalize_axis, shape_of
from weft.ops.elementwise import abs, clip
from weft.ops.joining import split
from weft.ops.logic import greater, less_equal, logical_and, where
from weft.ops.manipulation import reshape
from weft.ops.transcendental import expm1, tanh

__all__ = [
    "celu",
    "elu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "leaky_relu_slope",
    "log_sigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "silu_slope",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
]

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


_ROW = 256


def _relu(x: Any) -> Any:
    x = real_numbers("relu", x)
    if x.size < 64 * _ROW or x.size % _ROW or not x.flags.c_contiguous or x.dtype.kind != "f":
        return np.maximum(x, 0)
    # NumPy compares two rows several numbers at a time, but a row and a number one by one.
    y = np.empty(x.shape, x.dtype)
    np.maximum(x.reshape(-1, _ROW), np.zeros(_ROW, x.dtype), out=y.reshape(-1, _ROW))
    return y


def _sigmoid(x: Any) -> Any:
    x = np.asarray(x)
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x
    if x.dtype.kind == "f":
        if x.dtype == np.float16:
            return _sigmoid(x.astype(np.float32)).astype(np.float16)
        with np.errstate(over="ignore"):  # 1 / inf is the limit
            return by_blocks(_sigmoid_block, x)
    right = x.real >= 0
    e = np.exp(np.where(right, -x, x))
    return np.where(right, 1, e) / (1 + e)


def _sigmoid_block(x: Any) -> Any:
    y = np.asarray(np.negative(x))
    np.exp(y, out=y)
    y += 1
    return np.divide(1, y, out=y)[()]


def _log_sigmoid(x: Any) -> Any:
    x = floating("log_sigmoid", x)
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


relu = unary(
    "relu",
    eval=_relu,
    derivative=lambda y, x: y > 0,
    domain=Reals(complex=False),
    doc="The element where it is positive, zero elsewhere.",
)
sigmoid = unary(
    "sigmoid",
    eval=_sigmoid,
    derivative=lambda y, x: y * (1 - y),
    doc="1 / (1 + exp(-x)) of each element.",
    cost=Cost(scratch=0.4),
)
log_sigmoid = unary(
    "log_sigmoid",
    eval=_log_sigmoid,
    derivative=lambda y, x: sigmoid(-x),
    domain=Reals(complex=False),
    doc="log(1 / (1 + exp(-x))) of each element.",
)


def _silu_slope(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "f" and x.dtype != np.float16:
        with np.errstate(over="ignore"):
            return by_blocks(_silu_slope_block, x)
    s = _sigmoid(x)
    return s * (1 + x * (1 - s))


def _silu_slope_block(x: Any) -> Any:
    s = _sigmoid_block(x)
    y = 1 - s
    y *= x
    y += 1
    y *= s
    return y


def _silu_curvature(y: Any, x: Any) -> Any:
    s = sigmoid(x)
    return s * (1 - s) * (2 + x * (1 - 2 * s))


silu_slope = unary(
    "silu_slope",
    eval=_silu_slope,
    derivative=_silu_curvature,
    doc="The derivative of silu at each element.",
    cost=Cost(scratch=1.0),
)
silu = unary(
    "silu",
    eval=lambda x: x * _sigmoid(x),
    derivative=lambda y, x: silu_slope(x),
    doc="x * sigmoid(x) of each element.",
    cost=Cost(scratch=1.0),
)


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    x = floating("softplus", x)
    z = x * float(beta)
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / float(beta))


def _softplus_vjp(g: Any, y: Any, x: Any, beta: float, threshold: float) -> Any:
    z = x * beta
    return where(z > threshold, g, g * sigmoid(z))


@op(
    arrays=("input",),
    infer=float_spec("softplus"),
    vjp=_softplus_vjp,
    always_array=True,
    cost=Cost(scratch=3.1, cheap=True),
)
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta of each element; x itself where beta x is above the threshold."""
    return _softplus(input, beta, threshold)


def _check_bounds(min_val: float, max_val: float) -> None:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val, got {min_val} and {max_val}")


def _hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    _check_bounds(min_val, max_val)
    return np.clip(floating("hardtanh", x), float(min_val), float(max_val))


@op(
    arrays=("input",),
    infer=float_spec("hardtanh", _check_bounds),
    # Unlike clip's, the derivative is zero at the bounds themselves.
    vjp=lambda g, y, x, low, high: g * logical_and(x > low, x < high),
    cost=CHEAP,
)
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Each element, no smaller than min_val and no larger than max_val."""
    return _hardtanh(input, min_val, max_val)


@composite(arrays=("input",))
def relu6(input: Any) -> Any:
    """Each element, no smaller than 0 and no larger than 6."""
    return hardtanh(input, 0.0, 6.0)


# A function of two branches that meet in 0 is the sum of both, each held at 0 where the other one counts: much faster
# than choosing element by element. relu has slope 0 in 0 and clip slope 1, so the left branch counts there.


def _leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    x = real_numbers("leaky_relu", x)
    if negative_slope == 0:
        return np.maximum(x, 0.0)
    return (np.maximum if negative_slope <= 1 else np.minimum)(x, x * negative_slope)


def _leaky_slope(x: Any, negative_slope: float = 0.01) -> Any:
    x = floating("leaky_relu_slope", x)
    y = np.greater(x, 0).astype(x.dtype)
    y *= 1 - negative_slope
    y += negative_slope
    return y


def _leaky_spec(function: Callable[..., Any]) -> Callable[..., Spec]:
    def infer(x: Any, negative_slope: float = 0.01) -> Spec:
        return Spec(shape_of(x), pointwise_dtype(function, x, negative_slope))

    return infer


@op(
    arrays=("input",), infer=_leaky_spec(_leaky_slope), vjp=lambda g, y, x, slope: 0, cost=CHEAP
)  # constant on either side
def leaky_relu_slope(input: Any, negative_slope: float = 0.01) -> Any:
    """The derivative of leaky_relu at each element: 1 where it is positive, negative_slope elsewhere."""
    return _leaky_slope(input, negative_slope)


@op(
    arrays=("input",),
    infer=_leaky_spec(_leaky_relu),
    vjp=lambda g, y, x, slope: g * leaky_relu_slope(x, slope),
    cost=Cost(scratch=1.0, cheap=True),
)
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """The element where it is positive, a small multiple of it elsewhere."""
    return _leaky_relu(input, negative_slope)


def _exponential_tail(x: Any, scale: float, rate: float) -> Any:
    """X where positive, scale * (exp(x * rate) - 1) elsewhere."""
    return relu(x) + scale * expm1(clip(x, None, 0) * rate)


@composite(arrays=("input",))
def elu(input: Any, alpha: float = 1.0) -> Any:
    """The element where it is positive, alpha (exp(x) - 1) elsewhere."""
    return _exponential_tail(input, alpha, 1.0)


@composite(arrays=("input",))
def celu(input: Any, alpha: float = 1.0) -> Any:
    """The element where it is positive, alpha (exp(x / alpha) - 1) elsewhere."""
    return _exponential_tail(input, alpha, 1.0 / alpha)


@composite(arrays=("input",))
def selu(input: Any) -> Any:
    """Elu scaled so that repeated layers keep mean 0 and variance 1."""
    return _SELU_SCALE * _exponential_tail(input, _SELU_ALPHA, 1.0)


@composite(arrays=("input",))
def mish(input: Any) -> Any:
    """x * tanh(softplus(x)) of each element."""
    return input * tanh(softplus(input))


@composite(arrays=("input",))
def softsign(input: Any) -> Any:
    """x / (1 + |x|) of each element."""
    return input / (1 + abs(input))


@composite(arrays=("input",))
def tanhshrink(input: Any) -> Any:
    """x - tanh(x) of each element."""
    return input - tanh(input)


@composite(arrays=("input",))
def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """Zero where the element is within lambd of zero, the element elsewhere."""
    return input * greater(abs(input), lambd)


@composite(arrays=("input",))
def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """Each element moved towards zero by lambd, no further than zero."""
    return input - clip(input, -lambd, lambd)


@composite(arrays=("input",), always_array=True)
def threshold(input: Any, threshold: float, value: float) -> Any:
    """The element where it is above the threshold, a constant elsewhere."""
    return where(less_equal(input, threshold), value, input)


@composite(arrays=("input",))
def hardsigmoid(input: Any) -> Any:
    """A straight line from 0 at -3 to 1 at 3, constant outside."""
    return hardtanh(input, -3.0, 3.0) / 6 + 0.5


@composite(arrays=("input",))
def hardswish(input: Any) -> Any:
    """x * hardsigmoid(x) of each element."""
    return input * hardsigmoid(input)


@composite(arrays=("input", "weight"), always_array=True)
def prelu(input: Any, weight: Any) -> Any:
    """The element where it is positive, weight times it elsewhere; one weight for all, or one for each channel."""
    shape, channels = shape_of(weight), shape_of(input)[1] if len(shape_of(input)) > 1 else 1
    if len(shape) > 1 or (shape and shape[0] != 1 and shape[0] != channels):
        raise ShapeError(f"prelu: expected one weight or {channels}, one a channel, got shape {shape}")
    if shape and shape[0] != 1:
        weight = reshape(weight, (-1,) + (1,) * (len(shape_of(input)) - 2))
    elif shape:
        weight = reshape(weight, ())
    return where(greater(input, 0), input, input * weight)


@composite()
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of the array along the axis times the sigmoid of the second half."""
    size = shape_of(x)[normalize_axis("glu", axis, len(shape_of(x)))]
    if size % 2:
        raise ShapeError(f"glu: the size of axis {axis} must be even, got {size}")
    first, gate = split(x, 2, axis=axis)
    return first * sigmoid(gate)
