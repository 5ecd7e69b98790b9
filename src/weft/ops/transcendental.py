"""Powers, exponentials, logarithms, and the circular and hyperbolic functions of each element."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from weft.ops._families import Reals, binary, unary
from weft.ops._families import conj as conjugate_of
from weft.ops._op import Op, alias
from weft.ops._raises import NEGATIVE_POWER
from weft.ops._spec import is_complex
from weft.ops.elementwise import divisor, minimum, real
from weft.ops.logic import equal, greater_equal, isinf, logical_and, where

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "pow",
    "power",
    "radians",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

_REAL = Reals(complex=False)
_POSITIVE = Reals(0.3, 4)
_UNIT = Reals(-0.9, 0.9)

# ── Powers and logarithms ─────────────────────────────────────────────────────────────────────────────────────────────


def _pow_base(g: Any, y: Any, base: Any, exponent: Any) -> Any:
    """The slope x2 * x1**(x2 - 1), without 0 * inf where both are 0."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 0:
            return 0
        return g * conjugate_of(exponent * (base if exponent == 2 else pow(base, exponent - 1)))
    origin = logical_and(equal(base, 0), equal(exponent, 0))
    return g * conjugate_of(exponent * pow(base, where(origin, 1, exponent - 1)))


def _pow_exponent(g: Any, y: Any, base: Any, exponent: Any) -> Any:
    """The slope y * log(x1); 0 where the base is 0 and the power is 0 or 1, since it stays so."""
    steady = logical_and(equal(base, 0), greater_equal(real(exponent) if is_complex(exponent) else exponent, 0))
    return g * conjugate_of(y * log(where(steady, 1, base)))


def exp_share(y: Any, mine: Any) -> Any:
    """The share exp(mine) has in the sum of exponentials exp(y), without inf - inf."""
    infinite = isinf(mine)
    return exp(where(infinite, minimum(mine, 0), mine) - where(infinite, 0, y))


def _power(x1: Any, x2: Any) -> Any:
    """NumPy's power, and products for the exponents 3 and 4, for which it calls pow for each element."""
    if type(x2) is int and x2 in (3, 4) and type(x1) is np.ndarray and x1.dtype.kind in "fc":
        square = x1 * x1
        return square * x1 if x2 == 3 else square * square
    return np.power(x1, x2)


pow = binary(
    "pow",
    eval=_power,
    numpy=(np.power,),
    vjp=(_pow_base, _pow_exponent),
    domain=(_POSITIVE, Reals(-2, 3)),
    doc="x1 raised to the power x2, element by element.",
    raises=NEGATIVE_POWER,
)
sqrt = unary(
    "sqrt", eval=np.sqrt, derivative=lambda y, x: 0.5 / y, domain=_POSITIVE, doc="Square root of each element."
)
rsqrt = unary(
    "rsqrt",
    eval=lambda x: 1 / np.sqrt(x),
    derivative=lambda y, x: -0.5 * y * y * y,
    domain=_POSITIVE,
    doc="One over the square root of each element.",
)
cbrt = unary(
    "cbrt",
    eval=np.cbrt,
    vjp=lambda g, y, x: g / conjugate_of(3 * y * y),
    domain=Reals(0.3, 4, complex=False),
    doc="Cube root of each element, negative for a negative one.",
)
exp = unary("exp", eval=np.exp, derivative=lambda y, x: y, doc="e to the power of each element.")
exp2 = unary("exp2", eval=np.exp2, derivative=lambda y, x: y * math.log(2), doc="2 to the power of each element.")
expm1 = unary("expm1", eval=np.expm1, derivative=lambda y, x: y + 1, doc="exp(x) - 1, exact also for small elements.")
log = unary(
    "log",
    eval=np.log,
    vjp=lambda g, y, x: g / conjugate_of(x),
    domain=_POSITIVE,
    doc="Natural logarithm of each element.",
)
log2 = unary(
    "log2",
    eval=np.log2,
    vjp=lambda g, y, x: g / conjugate_of(x * math.log(2)),
    domain=_POSITIVE,
    doc="Logarithm to the base 2 of each element.",
)
log10 = unary(
    "log10",
    eval=np.log10,
    vjp=lambda g, y, x: g / conjugate_of(x * math.log(10)),
    domain=_POSITIVE,
    doc="Logarithm to the base 10 of each element.",
)
log1p = unary(
    "log1p",
    eval=np.log1p,
    vjp=lambda g, y, x: g / conjugate_of(1 + x),
    domain=Reals(-0.7, 4),
    doc="log(1 + x), exact also for small elements.",
)
logaddexp = binary(
    "logaddexp",
    eval=np.logaddexp,
    derivative=(lambda y, a, b: exp_share(y, a), lambda y, a, b: exp_share(y, b)),
    domain=_REAL,
    commutative=True,
    doc="log(exp(x1) + exp(x2)) without overflow, element by element.",
)
hypot = binary(
    "hypot",
    eval=np.hypot,
    derivative=(lambda y, a, b: a / divisor(y), lambda y, a, b: b / divisor(y)),
    domain=_REAL,
    commutative=True,
    doc="sqrt(x1**2 + x2**2) without overflow, element by element.",
)

# ── Angles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _atan2(a: Any, b: Any, part: Any) -> Any:
    """The slope part / (a**2 + b**2), without overflow and 0 at the origin."""
    radius = divisor(hypot(a, b))
    return part / radius / radius


sin = unary("sin", eval=np.sin, derivative=lambda y, x: cos(x), doc="Sine of each element.")
cos: Op = unary("cos", eval=np.cos, derivative=lambda y, x: -sin(x), doc="Cosine of each element.")
tan = unary(
    "tan", eval=np.tan, derivative=lambda y, x: 1 + y * y, domain=Reals(-1.2, 1.2), doc="Tangent of each element."
)
asin = unary(
    "asin",
    eval=np.arcsin,
    vjp=lambda g, y, x: g / conjugate_of(sqrt((1 - x) * (1 + x))),
    domain=_UNIT,
    doc="The angle whose sine is each element.",
)
acos = unary(
    "acos",
    eval=np.arccos,
    derivative=lambda y, x: -1 / sqrt((1 - x) * (1 + x)),
    domain=_UNIT,
    doc="The angle whose cosine is each element.",
)
atan = unary(
    "atan",
    eval=np.arctan,
    vjp=lambda g, y, x: g / conjugate_of(1 + x * x),
    doc="The angle whose tangent is each element.",
)
atan2 = binary(
    "atan2",
    eval=np.arctan2,
    derivative=(lambda y, a, b: _atan2(a, b, b), lambda y, a, b: -_atan2(a, b, a)),
    domain=(_REAL, Reals(0.4, 3, complex=False)),
    doc="The angle of the point (x2, x1), in all four quadrants, element by element.",
)
degrees = unary(
    "degrees",
    eval=np.degrees,
    derivative=lambda y, x: 180 / math.pi,
    numpy=(np.degrees, np.rad2deg),
    domain=_REAL,
    linear=True,
    doc="Angles in degrees from angles in radians.",
)
radians = unary(
    "radians",
    eval=np.radians,
    derivative=lambda y, x: math.pi / 180,
    numpy=(np.radians, np.deg2rad),
    domain=_REAL,
    linear=True,
    doc="Angles in radians from angles in degrees.",
)
sinh = unary("sinh", eval=np.sinh, derivative=lambda y, x: cosh(x), doc="Hyperbolic sine of each element.")
cosh: Op = unary("cosh", eval=np.cosh, derivative=lambda y, x: sinh(x), doc="Hyperbolic cosine of each element.")
tanh = unary("tanh", eval=np.tanh, derivative=lambda y, x: 1 - y * y, doc="Hyperbolic tangent of each element.")
asinh = unary(
    "asinh",
    eval=np.arcsinh,
    vjp=lambda g, y, x: g / conjugate_of(sqrt(1 + x * x)),
    doc="Inverse hyperbolic sine of each element.",
)
acosh = unary(
    "acosh",
    eval=np.arccosh,
    # Not sqrt(x * x - 1), whose branch is another one left of the imaginary axis.
    vjp=lambda g, y, x: g / conjugate_of(sqrt(x - 1) * sqrt(x + 1)),
    domain=Reals(1.2, 4),
    doc="Inverse hyperbolic cosine of each element.",
)
atanh = unary(
    "atanh",
    eval=np.arctanh,
    vjp=lambda g, y, x: g / conjugate_of((1 - x) * (1 + x)),
    domain=_UNIT,
    doc="Inverse hyperbolic tangent of each element.",
)

# ── NumPy's other names ───────────────────────────────────────────────────────────────────────────────────────────────

arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
power = pow

alias(operator.pow, pow)
