"""Gelu, exact and by tanh, and its derivative."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops._blocks import by_blocks, float_spec, floating
from weft.ops._cost import Cost
from weft.ops._families import op
from weft.ops.special import erfc
from weft.ops.transcendental import exp, tanh

__all__ = ["gelu", "gelu_slope"]

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def _check_approximate(approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")


# The tail of the normal distribution beyond t >= 0 is exp(-t² / 2) v P(2 v - 1) with v = 1 / (1 + 0.475 t). P is the
# polynomial through 11 Chebyshev points, within 4e-8 of the true ratio, and 3e-7 when evaluated in float32.
_TAIL32 = (
    -6.21579803e-05,
    6.733281e-05,
    0.000284736986,
    -0.000622214593,
    -0.000345432337,
    0.00322430986,
    -0.00241358581,
    -0.016305094,
    0.0238321375,
    0.168886871,
    0.32345308,
)


def _normal(x: Any) -> tuple[Any, Any]:
    """The normal distribution function of each element, and exp(-x² / 2)."""
    gauss = np.square(x)
    gauss *= -0.5
    np.exp(gauss, out=gauss)
    if x.dtype != np.float32:
        return 0.5 * erfc.eval(x * -_SQRT_HALF), gauss
    v = np.abs(x)
    v *= 0.475
    v += 1
    np.divide(1, v, out=v)
    u = v * 2
    u -= 1
    tail = u * _TAIL32[0]
    for c in _TAIL32[1:-1]:
        tail += c
        tail *= u
    tail += _TAIL32[-1]
    tail *= v
    tail *= gauss
    right = (x > 0).astype(np.float32)  # there it is 1 - tail
    v = right * -2
    v += 1
    tail *= v
    tail += right
    return tail, gauss


def _gelu_block(x: Any, approximate: str) -> Any:
    if approximate == "none":
        y, _ = _normal(x)
    else:
        y = _gelu_tanh(x)
        y += 1
        y *= 0.5
    y *= x
    return y


def _gelu_tanh(x: Any) -> Any:
    y = np.square(x)
    y *= 0.044715
    y += 1
    y *= x
    y *= _SQRT_2_OVER_PI
    return np.tanh(y, out=y)


def _gelu_slope_block(x: Any, approximate: str) -> Any:
    if approximate == "none":
        y, density = _normal(x)
        density *= _SQRT_HALF / math.sqrt(math.pi)
        density *= x
        y += density
        return y
    t = _gelu_tanh(x)
    inner = np.square(x)
    inner *= 3 * 0.044715 * _SQRT_2_OVER_PI
    inner += _SQRT_2_OVER_PI
    inner *= x
    inner *= 1 - t * t
    inner += 1
    inner += t
    inner *= 0.5
    return inner


def _gelu(block: Callable[..., Any], x: Any, approximate: str) -> Any:
    _check_approximate(approximate)
    x = floating("gelu", x)
    z = np.atleast_1d(x.astype(np.float32) if x.dtype == np.float16 else x)
    # A huge number's square or cube is infinite: exp and tanh of it are still right; inf * 0 is not a slope.
    with np.errstate(over="ignore", invalid="ignore"):
        y = by_blocks(block, z, approximate)
    return y.reshape(x.shape).astype(x.dtype, copy=False)[()]


def _gelu_curvature(g: Any, y: Any, x: Any, approximate: str) -> Any:
    if approximate == "none":
        return g * (exp(-0.5 * x * x) * (_SQRT_HALF / math.sqrt(math.pi)) * (2 - x * x))
    t = tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))
    inner = _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)
    steeper = _SQRT_2_OVER_PI * 6 * 0.044715 * x
    return g * ((1 - t * t) * (inner + 0.5 * x * (steeper - 2 * t * inner * inner)))


@op(
    arrays=("input",),
    infer=float_spec("gelu_slope", _check_approximate),
    vjp=_gelu_curvature,
    cost=Cost(block=6.0, cheap=True),
)
def gelu_slope(input: Any, approximate: str = "none") -> Any:
    """The derivative of gelu at each element."""
    return _gelu(_gelu_slope_block, input, approximate)


@op(
    arrays=("input",),
    infer=float_spec("gelu", _check_approximate),
    vjp=lambda g, y, x, approximate: g * gelu_slope(x, approximate),
    cost=Cost(block=6.0, cheap=True),
)
def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x; approximate="tanh" is the older closed form."""
    return _gelu(_gelu_block, input, approximate)
