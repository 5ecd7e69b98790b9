"""Rules of `simplify`: what one is, how it is declared, and what it may ask about values.

A rule looks at one call of an op and answers what may stand for it: a value it reads, a constant, or another call in
its place (`Instead`). It states in its docstring when it holds: for every input, bit for bit, NaN counted as NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.graph import Node
from weft.ops._dim import same_shape
from weft.ops._op import TABLE, Op, op_of
from weft.ops._spec import Spec
from weft.passes._sharing import is_number
from weft.passes._sweep import MISSING

_KINDS: dict[Any, str] = {bool: "b", int: "i", float: "f", complex: "c"}


class Call(NamedTuple):
    """A call of an op in the graph: its node, the op, and a value for each of the op's parameters."""

    node: Node
    op: Op
    args: tuple[Any, ...]


class Instead(NamedTuple):
    """Another call that a node makes from now on; `shares` is the value its result may be a view of, if any."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shares: Any = None


class Rule(NamedTuple):
    """A named rewrite of calls of some ops; `apply` gives MISSING where it does not hold."""

    name: str
    apply: Callable[[Call], Any]


RULES: dict[str, list[Rule]] = {}
"""The rules for each op, by the op's name, in the order they are tried."""


def rule(name: str, *ops: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Declare a rule for calls of some ops."""

    def declare(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for op in ops:
            if op not in TABLE:
                raise ValueError(f"rule {name!r}: there is no op {op!r}")
            RULES.setdefault(op, []).append(Rule(name, function))
        return function

    return declare


# What rules ask


def type_of(value: Any) -> Any:
    """The type noted for a node, or of a constant: a Spec, or Python's type of a number; None where unknown."""
    if isinstance(value, Node):
        return (value._meta or {}).get("type")
    if isinstance(value, np.generic):
        return Spec((), value.dtype)
    return type(value) if type(value) in _KINDS else None


def kind_of_number(value: Any) -> str:
    """The kind of a value's numbers as NumPy names it (b, i, u, f, c); empty where it is not known to hold numbers."""
    found = type_of(value)
    letter = found.dtype.kind if isinstance(found, Spec) else _KINDS.get(found, "") if isinstance(found, type) else ""
    return letter if letter in "biufc" else ""


def interchangeable(node: Node, value: Any) -> bool:
    """Whether a value has the type of a node's result: shape, dtype, and number or array alike."""
    mine, other = type_of(node), type_of(value)
    if not kind_of_number(node) or type(mine) is not type(other):
        return False
    if not isinstance(mine, Spec):
        return bool(mine is other)
    if mine.dtype != other.dtype or not same_shape(mine.shape, other.shape):
        return False
    return bool(mine.shape) or (is_number(node) and is_number(value))


def kept(call: Call, value: Any, kinds: str = "biufc") -> Any:
    """The value where it may stand for the result of the call and its numbers are of these kinds, else MISSING."""
    return value if kind_of_number(value) in kinds and interchangeable(call.node, value) else MISSING


def is_constant(value: Any, number: int) -> bool:
    """Whether a value is a real constant equal to a number; a zero is one without a sign."""
    if type(value) not in (bool, int, float) and not (isinstance(value, np.generic) and value.dtype.kind in "biuf"):
        return False
    return bool(value == number) and not (number == 0 and bool(np.signbit(value)))


def is_negative_zero(value: Any) -> bool:
    """Whether a value is the constant -0.0."""
    real = type(value) is float or (isinstance(value, np.generic) and value.dtype.kind == "f")
    return real and bool(value == 0) and bool(np.signbit(value))


def call_of(value: Any, *names: str) -> Call | None:
    """The call of one of these ops that a node makes, with the value of every parameter; None where it is none."""
    if not isinstance(value, Node) or value.op != "call_function":
        return None
    op = op_of(value.target)
    if op is None or (names and op.name not in names):
        return None
    try:
        return Call(value, op, op.bind(value.args, value.kwargs))
    except TypeError:  # arguments of NumPy's function that the op does not have
        return None


def filled(call: Call, number: int) -> Any:
    """A constant of the type of a call's result, every element a number; MISSING where its shape is not known."""
    found = type_of(call.node)
    if isinstance(found, type):
        return found(number)
    if found.shape == ():
        return found.dtype.type(number) if is_number(call.node) else MISSING
    if not all(type(dim) is int for dim in found.shape):
        return MISSING
    return Instead(TABLE["full"], (found.shape, found.dtype.type(number).item()), {"dtype": found.dtype})
