"""Arithmetic, sign, parts, rounding and bounds of each element.

A derivative below is the plain dy/dx; the family turns it into a gradient. Where dy/dx has a singular point at which
torch and JAX agree on a number (the slope of abs at 0, of maximum at a tie), the rule gives that number and not NaN.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops._cost import CHEAP
from weft.ops._families import Reals, binary, composite, op, pointwise_dtype, unary
from weft.ops._families import conj as conjugate_of
from weft.ops._op import VIEW, Op, alias, independent, no_gradient
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, is_complex, shape_of
from weft.ops.dtypes import astype
from weft.ops.logic import (
    equal,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)

__all__ = [
    "abs",
    "absolute",
    "add",
    "around",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "divide",
    "floor",
    "floor_divide",
    "fmod",
    "imag",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "positive",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "square",
    "stop_gradient",
    "subtract",
    "trunc",
]

_REAL = Reals(complex=False)
_NONZERO = Reals(0.4, 3)


def divisor(x: Any) -> Any:
    """A divisor: 1 where `x` is 0, so that 0 / 0 gives 0."""
    return where(equal(x, 0), 1, x)


@op(
    arrays=("x",),
    infer=lambda x: Spec(shape_of(x), dtype_of(x)),
    vjp=independent,
    memory=VIEW,
    always_array=True,
    cost=CHEAP,
)
def stop_gradient(x: Any) -> Any:
    """The value as a constant: no gradient flows back through it."""
    return np.asarray(x)


# ── Arithmetic ────────────────────────────────────────────────────────────────────────────────────────────────────────

add = binary(
    "add",
    eval=np.add,
    derivative=(lambda y, a, b: 1, lambda y, a, b: 1),
    commutative=True,
    doc="Sum, element by element.",
)
subtract = binary(
    "subtract",
    eval=np.subtract,
    derivative=(lambda y, a, b: 1, lambda y, a, b: -1),
    doc="Difference x1 - x2, element by element.",
)
multiply = binary(
    "multiply",
    eval=np.multiply,
    derivative=(lambda y, a, b: b, lambda y, a, b: a),
    commutative=True,
    doc="Product, element by element.",
)
divide = binary(
    "divide",
    eval=np.divide,
    vjp=(lambda g, y, a, b: g / conjugate_of(b), lambda g, y, a, b: -(g / conjugate_of(b)) * conjugate_of(a / b)),
    domain=(Reals(), _NONZERO),
    doc="Quotient x1 / x2, element by element; integers give floats.",
)
floor_divide = binary(
    "floor_divide",
    eval=np.floor_divide,
    derivative=(lambda y, a, b: 0, lambda y, a, b: 0),
    domain=(_REAL, Reals(0.4, 3, complex=False)),
    doc="The greatest whole number not above x1 / x2, element by element.",
)
remainder = binary(
    "remainder",
    eval=np.remainder,
    derivative=(lambda y, a, b: 1, lambda y, a, b: -floor_divide(a, b)),
    domain=(_REAL, Reals(0.4, 3, complex=False)),
    doc="What floor_divide leaves, with the sign of x2, element by element.",
)
fmod = binary(
    "fmod",
    eval=np.fmod,
    derivative=(lambda y, a, b: 1, lambda y, a, b: (y - a) / b),
    domain=(_REAL, Reals(0.4, 3, complex=False)),
    doc="What division rounded towards zero leaves, with the sign of x1, element by element.",
)
negative = unary(
    "negative",
    eval=np.negative,
    derivative=lambda y, x: -1,
    linear=True,
    doc="Each element with its sign changed.",
)
positive = unary("positive", eval=np.positive, derivative=lambda y, x: 1, linear=True, doc="Each element as it is.")
square = unary("square", eval=np.square, derivative=lambda y, x: 2 * x, doc="Each element times itself.")
reciprocal = unary(
    "reciprocal", eval=np.reciprocal, derivative=lambda y, x: -y * y, domain=_NONZERO, doc="One over each element."
)


# ── Size, sign and parts ──────────────────────────────────────────────────────────────────────────────────────────────


def _sign(g: Any, y: Any, x: Any) -> Any:
    """0 for a real x. For complex x, x / |x| moves along the circle only: the part of g across y counts."""
    if not is_complex(x):
        return 0
    return where(equal(x, 0), 0, (g - y * real(conj(g) * y)) / divisor(abs(x)))


abs = unary(
    "abs",
    eval=np.absolute,
    vjp=lambda g, y, x: g * sign(x),
    doc="Absolute value of each element, real also for complex.",
)
sign: Op = unary(
    "sign",
    eval=np.sign,
    vjp=_sign,
    doc="-1, 0 or 1 by the sign of each element; for a complex one x / |x|.",
)
copysign: Op = binary(
    "copysign",
    eval=np.copysign,
    derivative=(lambda y, a, b: sign(a) * copysign(1, b), lambda y, a, b: 0),
    domain=_REAL,
    doc="The size of x1 with the sign of x2, element by element.",
)
# These three are not holomorphic: the pullback is stated. `like` drops the imaginary part where x is real.
real = unary(
    "real",
    eval=np.real,
    numpy=(np.real,),
    vjp=lambda g, y, x: g,
    linear=True,
    memory=None,
    doc="Real part of each element.",
)
imag = unary(
    "imag",
    eval=np.imag,
    numpy=(np.imag,),
    vjp=lambda g, y, x: g * 1j,
    linear=True,
    memory=None,
    doc="Imaginary part of each element.",
)
conj: Op = unary(
    "conj", eval=np.conj, vjp=lambda g, y, x: conj(g), linear=True, doc="Complex conjugate of each element."
)

# ── Rounding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _integers_kept(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """The ufunc itself where integers stay integers; NumPy 2.0 turned them into floats, the standard keeps them."""
    if ufunc(np.int8(1)).dtype == np.int8:
        return ufunc
    return lambda x: (
        np.positive(x) if dtype_of(x).kind in "iu" else np.array(x) if dtype_of(x).kind == "b" else ufunc(x)
    )


floor = unary(
    "floor",
    eval=_integers_kept(np.floor),
    derivative=lambda y, x: 0,
    numpy=(np.floor,),
    domain=_REAL,
    doc="The greatest whole number not above each element.",
)
ceil = unary(
    "ceil",
    eval=_integers_kept(np.ceil),
    derivative=lambda y, x: 0,
    numpy=(np.ceil,),
    domain=_REAL,
    doc="The least whole number not below each element.",
)
trunc = unary(
    "trunc",
    eval=_integers_kept(np.trunc),
    derivative=lambda y, x: 0,
    numpy=(np.trunc,),
    domain=_REAL,
    doc="Each element without its fraction.",
)
round = unary(
    "round",
    eval=np.round,
    derivative=lambda y, x: 0,
    numpy=(),
    doc="The nearest whole number to each element, the even one of two equally near.",
)


def _around(x: Any, decimals: int = 0) -> Any:
    return np.round(x, decimals)


@composite(numpy=(np.round, np.around), eval=_around)
def around(x: Any, decimals: int = 0) -> Any:
    """Each element rounded to a number of decimals, which may be negative."""
    if decimals == 0:
        return round(x)
    if dtype_of(x).kind in "iu":
        return positive(x) if decimals > 0 else astype(round(x / 10**-decimals) * 10**-decimals, dtype_of(x))
    return round(x * 10.0**decimals) / 10.0**decimals if decimals > 0 else round(x / 10.0**-decimals) * 10.0**-decimals


# ── Bounds ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _winner(g: Any, lost: Any, tie: Any) -> Any:
    """The gradient for the winning side of two; a tie is shared."""
    return where(lost, 0, where(tie, g * 0.5, g))


maximum = binary(
    "maximum",
    eval=np.maximum,
    vjp=(
        lambda g, y, a, b: _winner(g, less(a, b), equal(a, b)),
        lambda g, y, a, b: _winner(g, less(b, a), equal(a, b)),
    ),
    commutative=True,
    doc="The larger of two elements, NaN if either is.",
)
minimum = binary(
    "minimum",
    eval=np.minimum,
    vjp=(
        lambda g, y, a, b: _winner(g, greater(a, b), equal(a, b)),
        lambda g, y, a, b: _winner(g, greater(b, a), equal(a, b)),
    ),
    commutative=True,
    doc="The smaller of two elements, NaN if either is.",
)
nextafter = binary(
    "nextafter",
    eval=np.nextafter,
    derivative=no_gradient("nextafter steps to the neighbouring number, which has no derivative"),
    domain=_REAL,
    doc="The next number after x1 in the direction of x2, element by element.",
)


def _clip(x: Any, min: Any, max: Any) -> Any:
    return np.array(x) if min is None and max is None else np.clip(x, min, max)


def _clip_x(g: Any, y: Any, x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        g = where(greater_equal(x, min), g, 0)
    return g if max is None else where(less_equal(x, max), g, 0)


def _clip_min(g: Any, y: Any, x: Any, min: Any, max: Any) -> Any:
    below = less(x, min)
    return where(below if max is None else logical_and(below, less(min, max)), g, 0)


def _clip_max(g: Any, y: Any, x: Any, min: Any, max: Any) -> Any:
    above = greater(x, max)
    return where(above if min is None else logical_or(above, less(max, min)), g, 0)


def _clip_spec(x: Any, min: Any, max: Any) -> Spec:
    shape = broadcast_shapes("clip", *(shape_of(v) for v in (x, min, max) if v is not None))
    return Spec(shape, pointwise_dtype(_clip, x, min, max))


@op(arrays=("x", "min", "max"), infer=_clip_spec, vjp=(_clip_x, _clip_min, _clip_max), numpy=(np.clip,), cost=CHEAP)
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element moved to the nearest end of [min, max] where it lies outside; None leaves that side open."""
    return _clip(x, min, max)


def _finite_only(g: Any, y: Any, x: Any, *_: Any) -> Any:
    if not is_complex(x):
        return where(isfinite(x), g, 0)
    return where(isfinite(real(x)), real(g), 0) + 1j * where(isfinite(imag(x)), imag(g), 0)


@op(
    arrays=("x",),
    infer=lambda x, copy, nan, posinf, neginf: Spec(shape_of(x), dtype_of(x)),
    vjp=_finite_only,
    numpy=(np.nan_to_num,),
    memory=None,  # NumPy's own writes into its argument where copy=False asks for that
    cost=CHEAP,
)
def nan_to_num(
    x: Any, copy: builtins.bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Each element, with NaN and the infinities replaced; by default by 0 and the largest finite numbers.

    The argument is never changed, whatever `copy` says.
    """
    return np.nan_to_num(x, copy=True, nan=nan, posinf=posinf, neginf=neginf)


# ── NumPy's other names ───────────────────────────────────────────────────────────────────────────────────────────────

absolute = abs
mod = remainder

for _function, _op in [
    (operator.add, add),
    (operator.sub, subtract),
    (operator.mul, multiply),
    (operator.truediv, divide),
    (operator.floordiv, floor_divide),
    (operator.mod, remainder),
    (operator.neg, negative),
    (operator.pos, positive),
    (operator.abs, abs),
    (builtins.abs, abs),
]:
    alias(_function, _op)
