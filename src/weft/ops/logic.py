"""Comparisons, logic and bits of each element, and `where`, the choice between two arrays by a third."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.ops._cost import CHEAP
from weft.ops._families import Reals, binary, pointwise, unary
from weft.ops._op import ORDER_KEPT, Op, alias, no_gradient

__all__ = [
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "signbit",
    "where",
]

_boolean = no_gradient("the result is boolean, so it has no derivative")
_bits = no_gradient("the result is made of bits, so it has no derivative")
_NO_COMPLEX = Reals(complex=False)
_INTEGERS = Reals(0, 8, kind="i")

# ── Comparisons ───────────────────────────────────────────────────────────────────────────────────────────────────────

equal = binary(
    "equal", eval=np.equal, derivative=_boolean, commutative=True, doc="Whether x1 == x2, element by element."
)
not_equal = binary(
    "not_equal", eval=np.not_equal, derivative=_boolean, commutative=True, doc="Whether x1 != x2, element by element."
)
less = binary("less", eval=np.less, derivative=_boolean, doc="Whether x1 < x2, element by element.")
less_equal = binary("less_equal", eval=np.less_equal, derivative=_boolean, doc="Whether x1 <= x2, element by element.")
greater = binary("greater", eval=np.greater, derivative=_boolean, doc="Whether x1 > x2, element by element.")
greater_equal = binary(
    "greater_equal", eval=np.greater_equal, derivative=_boolean, doc="Whether x1 >= x2, element by element."
)

# ── Tests of one number ───────────────────────────────────────────────────────────────────────────────────────────────

isfinite = unary(
    "isfinite", eval=np.isfinite, derivative=_boolean, doc="Whether each element is neither infinite nor NaN."
)
isinf = unary("isinf", eval=np.isinf, derivative=_boolean, doc="Whether each element is infinite.")
isnan = unary("isnan", eval=np.isnan, derivative=_boolean, doc="Whether each element is NaN.")
signbit = unary(
    "signbit",
    eval=np.signbit,
    derivative=_boolean,
    domain=_NO_COMPLEX,
    doc="Whether the sign of each element is minus, -0.0 included.",
)

# ── Logic ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

logical_and = binary(
    "logical_and",
    eval=np.logical_and,
    derivative=_boolean,
    commutative=True,
    doc="Whether both elements are true (not zero).",
)
logical_or = binary(
    "logical_or", eval=np.logical_or, derivative=_boolean, commutative=True, doc="Whether one element or both are true."
)
logical_xor = binary(
    "logical_xor",
    eval=np.logical_xor,
    derivative=_boolean,
    commutative=True,
    doc="Whether exactly one element is true.",
)
logical_not = unary(
    "logical_not", eval=np.logical_not, derivative=_boolean, doc="Whether each element is false (zero)."
)

# ── Bits ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

bitwise_and = binary(
    "bitwise_and",
    eval=np.bitwise_and,
    derivative=_bits,
    commutative=True,
    domain=_INTEGERS,
    doc="Bits set in both elements.",
)
bitwise_or = binary(
    "bitwise_or",
    eval=np.bitwise_or,
    derivative=_bits,
    commutative=True,
    domain=_INTEGERS,
    doc="Bits set in either element.",
)
bitwise_xor = binary(
    "bitwise_xor",
    eval=np.bitwise_xor,
    derivative=_bits,
    commutative=True,
    domain=_INTEGERS,
    doc="Bits set in exactly one element.",
)
bitwise_invert = unary(
    "bitwise_invert",
    eval=np.bitwise_invert,
    derivative=_bits,
    domain=_INTEGERS,
    doc="Each element with every bit flipped.",
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    eval=np.bitwise_left_shift,
    derivative=_bits,
    domain=_INTEGERS,
    doc="Bits of x1 moved x2 places to the left.",
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    eval=np.bitwise_right_shift,
    derivative=_bits,
    domain=_INTEGERS,
    doc="Bits of x1 moved x2 places to the right.",
)

# ── Choice ────────────────────────────────────────────────────────────────────────────────────────────────────────────

where: Op = pointwise(
    "where",
    ("condition", "x1", "x2"),
    eval=np.where,
    always_array=True,
    vjp=(
        lambda g, y, condition, x1, x2: 0,  # a step, where the condition is a float
        lambda g, y, condition, x1, x2: where(condition, g, 0),
        lambda g, y, condition, x1, x2: where(condition, 0, g),
    ),
    numpy=(np.where,),
    domain=(Reals(0, 2, kind="b"), Reals(), Reals()),
    doc="The element of x1 where the condition is true, of x2 where it is not.",
    cost=CHEAP,
    order=ORDER_KEPT,
)


def choose(condition: Any, x1: Any, x2: Any) -> Any:
    """`where` of single numbers: one of the two, as it is."""
    return x1 if condition else x2


alias(choose, where)

for _function, _op in [
    (operator.eq, equal),
    (operator.ne, not_equal),
    (operator.lt, less),
    (operator.le, less_equal),
    (operator.gt, greater),
    (operator.ge, greater_equal),
    (operator.and_, bitwise_and),
    (operator.or_, bitwise_or),
    (operator.xor, bitwise_xor),
    (operator.invert, bitwise_invert),
    (operator.inv, bitwise_invert),
    (operator.lshift, bitwise_left_shift),
    (operator.rshift, bitwise_right_shift),
]:
    alias(_function, _op)
