"""NumPy's further functions of each element: NaN-passing bounds, parts of floats, steps, powers of two, divisors."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from weft.ops._families import Reals, binary, composite, op, pointwise_dtype, unary
from weft.ops._op import ANY_ORDER, TABLE, Op, alias, no_gradient
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, is_complex, shape_of
from weft.ops.dtypes import astype
from weft.ops.elementwise import imag, multiply, real, sign
from weft.ops.logic import equal, greater, isnan, less, logical_and, logical_not, logical_or, not_equal, where
from weft.ops.transcendental import atan2, exp_share, pow

__all__ = [
    "angle",
    "bitwise_count",
    "copy",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "fmax",
    "fmin",
    "frexp",
    "gcd",
    "heaviside",
    "i0",
    "i1",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "lcm",
    "ldexp",
    "logaddexp2",
    "modf",
    "rint",
    "spacing",
]

_REAL = Reals(complex=False)
_INTEGERS = Reals(0, 40, kind="i")
_boolean = no_gradient("the result is boolean, so it has no derivative")
_whole = no_gradient("the result is a whole number, so it has no derivative")

# ── Bounds that pass over NaN ─────────────────────────────────────────────────────────────────────────────────────────


def _kept(g: Any, lost: Any, mine: Any, other: Any) -> Any:
    """The gradient of the side that was taken; a tie is shared."""
    lost = logical_or(lost, logical_and(isnan(mine), logical_not(isnan(other))))
    return where(lost, 0, where(equal(mine, other), g * 0.5, g))


fmax = binary(
    "fmax",
    eval=np.fmax,
    vjp=(lambda g, y, a, b: _kept(g, less(a, b), a, b), lambda g, y, a, b: _kept(g, less(b, a), b, a)),
    commutative=True,
    domain=_REAL,
    doc="The larger of two elements; the other one where one is NaN.",
)
fmin = binary(
    "fmin",
    eval=np.fmin,
    vjp=(lambda g, y, a, b: _kept(g, greater(a, b), a, b), lambda g, y, a, b: _kept(g, greater(b, a), b, a)),
    commutative=True,
    domain=_REAL,
    doc="The smaller of two elements; the other one where one is NaN.",
)

# ── Powers ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_LOG2 = math.log(2)

float_power = binary(
    "float_power",
    eval=np.float_power,
    vjp=(pow.vjp[0], pow.vjp[1]),
    domain=(Reals(0.3, 4), Reals(-2, 3)),
    doc="x1 raised to the power x2, worked out in float64 or wider.",
)
logaddexp2 = binary(
    "logaddexp2",
    eval=np.logaddexp2,
    derivative=(
        lambda y, a, b: exp_share(y * _LOG2, a * _LOG2),
        lambda y, a, b: exp_share(y * _LOG2, b * _LOG2),
    ),
    domain=_REAL,
    commutative=True,
    doc="log2(2**x1 + 2**x2) without overflow, element by element.",
)
ldexp: Op = binary(
    "ldexp",
    eval=np.ldexp,
    vjp=(lambda g, y, a, b: ldexp(g, b), no_gradient("the exponent is a whole number")),
    domain=(_REAL, Reals(-4, 5, kind="i")),
    doc="x1 times 2 to the power of the whole number x2, element by element.",
)
_NODES = np.cos((np.arange(64) + 0.5) * (np.pi / 128)).tolist()


def _i1(x: Any) -> Any:
    """The integral of cos(t) exp(x cos(t)) / pi from 0 to pi; the midpoint rule is as good as exact up to |x| = 700."""
    x = np.asarray(x)
    dtype = np.i0(np.empty(0, x.dtype)).dtype
    with np.errstate(over="ignore"):
        found: Any = builtins.sum(c * np.sinh(c * x.astype(np.float64)) for c in _NODES) / len(_NODES)
    return found.astype(dtype)[()]


i1: Op = unary(
    "i1",
    eval=_i1,
    derivative=lambda y, x: i0(x) - where(equal(x, 0), 0.5, y / where(equal(x, 0), 1, x)),
    domain=_REAL,
    doc="The modified Bessel function of order 1 of each element.",
)
i0: Op = unary(
    "i0",
    eval=np.i0,
    always_array=True,
    derivative=lambda y, x: i1(x),
    numpy=(np.i0,),
    domain=_REAL,
    doc="The modified Bessel function of order 0 of each element.",
)

# ── Steps and rounding ────────────────────────────────────────────────────────────────────────────────────────────────

fabs = unary(
    "fabs",
    eval=np.fabs,
    vjp=lambda g, y, x: g * sign(x),
    domain=_REAL,
    doc="Absolute value of each element as a float.",
)
rint = unary(
    "rint",
    eval=np.rint,
    derivative=lambda y, x: 0,
    doc="The nearest whole number to each element, as a float; the even one of two equally near.",
)
fix = unary(
    "fix",
    eval=np.trunc,
    derivative=lambda y, x: 0,
    numpy=(np.fix,),
    domain=_REAL,
    doc="The nearest whole number towards zero.",
)
heaviside = binary(
    "heaviside",
    eval=np.heaviside,
    derivative=(lambda y, a, b: 0, lambda y, a, b: astype(equal(a, 0), dtype_of(y))),
    domain=_REAL,
    doc="0 where x1 is negative, 1 where it is positive, x2 where it is 0.",
)
spacing = unary(
    "spacing",
    eval=np.spacing,
    derivative=no_gradient("the distance to the neighbouring number has no derivative"),
    domain=_REAL,
    doc="The distance from each element to the next number further from zero.",
)

# ── Whole numbers and bits ────────────────────────────────────────────────────────────────────────────────────────────

gcd = binary(
    "gcd",
    eval=np.gcd,
    derivative=_whole,
    commutative=True,
    domain=_INTEGERS,
    doc="The greatest number that divides both elements.",
)
lcm = binary(
    "lcm",
    eval=np.lcm,
    derivative=_whole,
    commutative=True,
    domain=_INTEGERS,
    doc="The least number that both elements divide.",
)
bitwise_count = unary(
    "bitwise_count",
    eval=np.bitwise_count,
    derivative=_whole,
    domain=_INTEGERS,
    doc="How many bits are set in the absolute value of each element.",
)

# ── Tests ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

isposinf = unary(
    "isposinf",
    eval=np.isposinf,
    derivative=_boolean,
    numpy=(np.isposinf,),
    domain=_REAL,
    doc="Whether each element is positive infinity.",
)
isneginf = unary(
    "isneginf",
    eval=np.isneginf,
    derivative=_boolean,
    numpy=(np.isneginf,),
    domain=_REAL,
    doc="Whether each element is negative infinity.",
)
isreal = unary(
    "isreal",
    eval=np.isreal,
    derivative=_boolean,
    numpy=(np.isreal,),
    doc="Whether the imaginary part of each element is 0.",
)


@composite(arrays=("x",), numpy=(np.iscomplex,), eval=np.iscomplex)
def iscomplex(x: Any, /) -> Any:
    """Whether the imaginary part of each element is not 0."""
    return not_equal(imag(x), 0) if is_complex(x) else TABLE["zeros_like"](x, dtype=np.bool_)


# ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("z",), numpy=(np.angle,), eval=np.angle)
def angle(z: Any, deg: builtins.bool = False) -> Any:
    """The angle of each element in the complex plane, in radians, or in degrees where `deg` is true."""
    part = imag(z) if is_complex(z) else 0
    found = atan2(part, real(z))
    return multiply(found, 180 / math.pi) if deg else found


def _halves(x: Any) -> Any:
    return np.modf(x)[0]


def _mantissa(x: Any) -> Any:
    return np.frexp(x)[0]


def _modf_spec(x: Any) -> tuple[Spec, Spec]:
    found = Spec(shape_of(x), pointwise_dtype(_halves, x))
    return found, found


@op(arrays=("x",), infer=_modf_spec, vjp=lambda g, y, x: g[0], numpy=(np.modf,))
def modf(x: Any, /) -> tuple[Any, Any]:
    """The fraction and the whole part of each element, both with its sign."""
    return np.modf(x)


@op(
    arrays=("x",),
    infer=lambda x: (Spec(shape_of(x), pointwise_dtype(_mantissa, x)), Spec(shape_of(x), np.int32)),
    vjp=lambda g, y, x: ldexp(g[0], -y[1]),
    numpy=(np.frexp,),
)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """A number between 0.5 and 1 and a power of two whose product is each element."""
    return np.frexp(x)


def _divmod_spec(x1: Any, x2: Any) -> tuple[Spec, Spec]:
    found = Spec(broadcast_shapes("divmod", shape_of(x1), shape_of(x2)), pointwise_dtype(np.remainder, x1, x2))
    return found, found


@op(
    arrays=("x1", "x2"),
    infer=_divmod_spec,
    vjp=(lambda g, y, x1, x2: g[1], lambda g, y, x1, x2: -g[1] * y[0]),
    numpy=(np.divmod,),
)
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """The quotient x1 // x2 and the remainder x1 % x2, element by element."""
    return np.divmod(x1, x2)


alias(builtins.divmod, divmod)


@op(
    arrays=("a",),
    infer=lambda a, order: Spec(shape_of(a), dtype_of(a)),
    vjp=lambda g, y, a, order: g,
    numpy=(np.copy,),
    linear=True,
    always_array=True,
    order=ANY_ORDER,
)
def copy(a: Any, order: str = "K") -> Any:
    """A copy of the array; the order in memory does not show."""
    return np.copy(a, order)
