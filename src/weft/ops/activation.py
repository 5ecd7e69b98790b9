"""Activation functions. Those with a shorter or safer closed form are ops of their own; the rest are functions of ops.

None of them overflows: large inputs of either sign give the limit, in every float dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import Reals, composite, op, pointwise_dtype, unary
from weft.ops._spec import Spec, normalize_axis, shape_of
from weft.ops.elementwise import abs, clip, negative
from weft.ops.joining import split
from weft.ops.logic import greater, less_equal, logical_and, where
from weft.ops.manipulation import reshape
from weft.ops.reductions import sum
from weft.ops.special import erfc
from weft.ops.transcendental import exp, expm1, tanh

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
]

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def _real(name: str, x: Any) -> Any:
    """The argument as an array; complex numbers have no order, so an op that needs one refuses them."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name}: expected real numbers, got {x.dtype}")
    return x


def _floating(name: str, x: Any) -> Any:
    """The argument as a real floating array; integers become float64."""
    x = _real(name, x)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _float_spec(name: str, check: Callable[..., None] = lambda *parameters: None) -> Callable[..., Spec]:
    """The shape rule of a pointwise op with further, plain parameters and a floating result."""

    def infer(x: Any, *parameters: Any) -> Spec:
        check(*parameters)
        return Spec(shape_of(x), pointwise_dtype(_converter(name), x))

    return infer


@cache
def _converter(name: str) -> Callable[[Any], Any]:
    return partial(_floating, name)


def _relu(x: Any) -> Any:
    return np.maximum(_real("relu", x), 0)


def _sigmoid(x: Any) -> Any:
    x = np.asarray(x)
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x
    if x.dtype.kind == "f":
        return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
    right = x.real >= 0
    e = np.exp(np.where(right, -x, x))
    return np.where(right, 1, e) / (1 + e)


def _log_sigmoid(x: Any) -> Any:
    x = _floating("log_sigmoid", x)
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


relu = unary(
    "relu",
    eval=_relu,
    derivative=lambda y, x: y > 0,
    domain=Reals(complex=False),
    doc="The element where it is positive, zero elsewhere.",
)
sigmoid = unary("sigmoid", eval=_sigmoid, derivative=lambda y, x: y * (1 - y), doc="1 / (1 + exp(-x)) of each element.")
log_sigmoid = unary(
    "log_sigmoid",
    eval=_log_sigmoid,
    derivative=lambda y, x: sigmoid(-x),
    domain=Reals(complex=False),
    doc="log(1 / (1 + exp(-x))) of each element.",
)


def _silu_slope(y: Any, x: Any) -> Any:
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


silu = unary("silu", eval=lambda x: x * _sigmoid(x), derivative=_silu_slope, doc="x * sigmoid(x) of each element.")


def _check_approximate(approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")


def _gelu(x: Any, approximate: str = "none") -> Any:
    _check_approximate(approximate)
    x = _floating("gelu", x)
    z = x.astype(np.float32) if x.dtype == np.float16 else x
    if approximate == "none":
        return (0.5 * z * erfc.eval(z * -_SQRT_HALF)).astype(x.dtype, copy=False)
    with np.errstate(over="ignore"):  # the cube of a huge number: tanh(inf) is still right
        return (0.5 * z * (1 + np.tanh(_SQRT_2_OVER_PI * (z + 0.044715 * z * z * z)))).astype(x.dtype, copy=False)


def _gelu_vjp(g: Any, y: Any, x: Any, approximate: str) -> Any:
    if approximate == "none":
        density = exp(-0.5 * x * x) * (_SQRT_HALF / math.sqrt(math.pi))
        return g * (0.5 * erfc(x * -_SQRT_HALF) + x * density)
    t = tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))
    inner = _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


@op(arrays=("input",), infer=_float_spec("gelu", _check_approximate), vjp=_gelu_vjp)
def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x; approximate="tanh" is the older closed form."""
    return _gelu(input, approximate)


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    x = _floating("softplus", x)
    z = x * float(beta)
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / float(beta))


def _softplus_vjp(g: Any, y: Any, x: Any, beta: float, threshold: float) -> Any:
    z = x * beta
    return where(z > threshold, g, g * sigmoid(z))


@op(arrays=("input",), infer=_float_spec("softplus"), vjp=_softplus_vjp)
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta of each element; x itself where beta x is above the threshold."""
    return _softplus(input, beta, threshold)


def _check_bounds(min_val: float, max_val: float) -> None:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val, got {min_val} and {max_val}")


def _hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    _check_bounds(min_val, max_val)
    return np.clip(_floating("hardtanh", x), float(min_val), float(max_val))


@op(
    arrays=("input",),
    infer=_float_spec("hardtanh", _check_bounds),
    # Unlike clip's, the derivative is zero at the bounds themselves.
    vjp=lambda g, y, x, low, high: g * logical_and(x > low, x < high),
)
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Each element, no smaller than min_val and no larger than max_val."""
    return _hardtanh(input, min_val, max_val)


def _axis_spec(name: str) -> Callable[..., Spec]:
    def infer(x: Any, axis: int = -1) -> Spec:
        normalize_axis(name, axis, len(shape_of(x)))
        return Spec(shape_of(x), pointwise_dtype(_converter(name), x))

    return infer


def _shifted(name: str, x: Any, axis: int) -> Any:
    """X minus its maximum along the axis, so that exp neither overflows nor vanishes for all; half floats as single."""
    normalize_axis(name, axis, x.ndim)
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    with np.errstate(invalid="ignore"):  # a slice of -inf only has no softmax: nan, as the limit does not exist
        return x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)


@op(
    arrays=("x",),
    infer=_axis_spec("softmax"),
    vjp=lambda g, y, x, axis: y * (g - sum(g * y, axis=axis, keepdims=True)),
)
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) divided by its sum along the axis."""
    x = _floating("softmax", x)
    e = np.exp(_shifted("softmax", x, axis))
    e /= np.sum(e, axis=axis, keepdims=True)
    return e.astype(x.dtype, copy=False)


@op(
    arrays=("x",),
    infer=_axis_spec("log_softmax"),
    vjp=lambda g, y, x, axis: g - exp(y) * sum(g, axis=axis, keepdims=True),
)
def log_softmax(x: Any, axis: int = -1) -> Any:
    """Logarithm of softmax(x) along the axis, without the rounding of taking it afterwards."""
    x = _floating("log_softmax", x)
    y = _shifted("log_softmax", x, axis)
    if y.size:
        y -= np.log(np.sum(np.exp(y), axis=axis, keepdims=True))
    return y.astype(x.dtype, copy=False)


@composite()
def softmin(x: Any, axis: int = -1) -> Any:
    """exp(-x) divided by its sum along the axis."""
    return softmax(negative(x), axis)


@composite(arrays=("input",))
def relu6(input: Any) -> Any:
    """Each element, no smaller than 0 and no larger than 6."""
    return hardtanh(input, 0.0, 6.0)


# A function of two branches that meet in 0 is the sum of both, each held at 0 where the other one counts: much faster
# than choosing element by element. relu has slope 0 in 0 and clip slope 1, so the left branch counts there.


@composite(arrays=("input",))
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """The element where it is positive, a small multiple of it elsewhere."""
    return relu(input) + clip(input, None, 0) * negative_slope


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


@composite(arrays=("input",))
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


@composite(arrays=("input", "weight"))
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
