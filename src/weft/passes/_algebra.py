"""Rules of arithmetic, sign, logic and choice. `x` has the type of the result wherever it takes the result's place."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.ops._op import TABLE
from weft.ops._spec import Spec
from weft.passes._keys import same
from weft.passes._rules import (
    Call,
    Instead,
    call_of,
    filled,
    interchangeable,
    is_constant,
    is_negative_zero,
    kept,
    kind_of_number,
    rule,
    type_of,
)
from weft.passes._sweep import MISSING


@rule("times one", "multiply")
def _times_one(call: Call) -> Any:
    """x * 1 and 1 * x are x: exact for integers and floats. Complex products mix the parts: inf * 1 gives inf+nanj."""
    x, y = call.args
    if is_constant(y, 1):
        return kept(call, x, "iuf")
    return kept(call, y, "iuf") if is_constant(x, 1) else MISSING


@rule("divided by one", "divide")
def _divided_by_one(call: Call) -> Any:
    """x / 1 is x: exact for floats. Integers become floats, and complex quotients mix the parts."""
    x, y = call.args
    return kept(call, x, "f") if is_constant(y, 1) else MISSING


@rule("whole division by one", "floor_divide")
def _floor_divided_by_one(call: Call) -> Any:
    """x // 1 is x for integers; floats lose their fraction."""
    x, y = call.args
    return kept(call, x, "iu") if is_constant(y, 1) else MISSING


@rule("plus zero", "add")
def _plus_zero(call: Call) -> Any:
    """x + 0 is x for integers. For floats -0.0 + 0 is 0.0, but x + -0.0 is x. Both hold with the sides exchanged."""
    for x, zero in (call.args, call.args[::-1]):
        if is_constant(zero, 0):
            return kept(call, x, "iu")
        if is_negative_zero(zero):
            return kept(call, x, "f")
    return MISSING


@rule("minus zero", "subtract")
def _minus_zero(call: Call) -> Any:
    """x - 0 is x for every number, -0.0 included; x - -0.0 is not."""
    x, y = call.args
    return kept(call, x, "iufc") if is_constant(y, 0) else MISSING


@rule("power of one", "pow")
def _power_of_one(call: Call) -> Any:
    """x ** 1 is x for integers and floats: pow returns an exact result exactly."""
    x, y = call.args
    return kept(call, x, "iuf") if is_constant(y, 1) else MISSING


@rule("square", "pow")
def _square(call: Call) -> Any:
    """x ** 2 is x * x for integers, and for arrays of float32 and float64, where NumPy itself multiplies.

    Python's floats raise OverflowError, and NumPy's scalars call pow, whose last bit may differ.
    """
    x, y = call.args
    found = type_of(x)
    if not is_constant(y, 2) or not interchangeable(call.node, x):
        return MISSING
    if found is int:
        return Instead(operator.mul, (x, x), {})
    if not isinstance(found, Spec) or found.shape == ():
        return MISSING
    multiplies = found.dtype.kind in "iu" or found.dtype in (np.dtype("float32"), np.dtype("float64"))
    return Instead(TABLE["multiply"], (x, x), {}) if multiplies else MISSING


@rule("as it is", "positive")
def _positive(call: Call) -> Any:
    """+x is x for every number."""
    return kept(call, call.args[0], "iufc")


@rule("twice negated", "negative")
def _twice_negated(call: Call) -> Any:
    """-(-x) is x: floats change a bit and change it back, integers wrap around and back."""
    inner = call_of(call.args[0], "negative")
    return kept(call, inner.args[0], "iufc") if inner else MISSING


@rule("plus a negative", "add", "subtract")
def _plus_a_negative(call: Call) -> Any:
    """x + -y and -y + x are x - y, and x - -y is x + y: a sign is exact, and integers wrap around alike."""
    x, y = call.args
    adds = call.op.name == "add"
    inner = call_of(y, "negative")
    if inner is None and adds:
        x, inner = y, call_of(x, "negative")
    if inner is None or not all(isinstance(type_of(each), Spec) for each in (call.node, x, inner.args[0])):
        return MISSING
    return Instead(TABLE["subtract" if adds else "add"], (x, inner.args[0]), {})


@rule("twice inverted", "bitwise_invert")
def _twice_inverted(call: Call) -> Any:
    """~~x is x for integers and booleans."""
    inner = call_of(call.args[0], "bitwise_invert")
    return kept(call, inner.args[0], "biu") if inner else MISSING


@rule("not not", "logical_not")
def _twice_not(call: Call) -> Any:
    """logical_not(logical_not(x)) is x for booleans; other numbers become booleans."""
    inner = call_of(call.args[0], "logical_not")
    return kept(call, inner.args[0], "b") if inner else MISSING


@rule("absolute twice", "abs")
def _absolute_twice(call: Call) -> Any:
    """abs(abs(x)) is abs(x); for the least integer, too, which stays negative."""
    return kept(call, call.args[0], "biuf") if call_of(call.args[0], "abs") else MISSING


@rule("conjugate of real", "conj")
def _conjugate_of_real(call: Call) -> Any:
    """conj(x) is x for real numbers."""
    return kept(call, call.args[0], "iuf")


@rule("real of real", "real")
def _real_of_real(call: Call) -> Any:
    """real(x) is x for real numbers."""
    return kept(call, call.args[0], "biuf")


@rule("either is the same", "where")
def _same_choices(call: Call) -> Any:
    """where(c, x, x) is x, whatever the condition, unless that makes the result larger."""
    _, x, y = call.args
    return kept(call, x) if same(x, y) else MISSING


@rule("both are the same", "maximum", "minimum", "bitwise_and", "bitwise_or")
def _same_operands(call: Call) -> Any:
    """maximum(x, x), minimum(x, x), x & x and x | x are x; NaN stays NaN and -0.0 stays -0.0."""
    x, y = call.args
    return kept(call, x) if same(x, y) else MISSING


@rule("difference from itself", "bitwise_xor", "subtract")
def _nothing_left(call: Call) -> Any:
    """x ^ x and x - x are 0 for integers, x ^ x is False for booleans; for floats inf - inf is NaN."""
    x, y = call.args
    kinds = "iu" if call.op.name == "subtract" else "biu"
    exact = same(x, y) and kind_of_number(x) and kind_of_number(x) in kinds and interchangeable(call.node, x)
    return filled(call, 0) if exact else MISSING


@rule("comparison with itself", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
def _compared_with_itself(call: Call) -> Any:
    """x == x, x <= x and x >= x are true, x != x, x < x and x > x false, for integers and booleans; NaN differs."""
    x, y = call.args
    if not same(x, y) or not kind_of_number(x) or kind_of_number(x) not in "biu" or kind_of_number(call.node) != "b":
        return MISSING
    mine, other = type_of(call.node), type_of(x)
    if isinstance(mine, Spec) != isinstance(other, Spec):
        return MISSING
    return filled(call, int(call.op.name in ("equal", "less_equal", "greater_equal")))
