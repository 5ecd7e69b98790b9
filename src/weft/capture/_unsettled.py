"""Numbers that a loop carries before it is known whether they are Python's or NumPy's.

`s = 0.0` and `s += a[i]` in a loop: the loop starts with a number of Python's and carries one of NumPy's. As a rule a
body is captured again once that is found out. It need not be where all of it is the same for the one and the other.

So a float starts without a `kind`. Whoever reads it makes it a float of Python's, and then it is one for good. Uses
that may not depend on it are noted in `uses`, as functions from a type to what came of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.capture._kinds import REPRESENTATIVES, joined_kind
from weft.capture._values import Array, Scalar
from weft.graph import Node
from weft.ops import Spec
from weft.ops._op import op_of

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def unsettled(recorder: Recorder, node: Node, name: str) -> Scalar:
    """A float of Python's, unless it turns out to be one of NumPy's."""
    made = Scalar(recorder, float, node)
    del made.kind
    made.uses = []
    made.name = name
    return made


def settle(value: Any, kind: Any) -> bool:
    """Let an unsettled number be a float of NumPy's, if nothing that was captured would be different."""
    if not _is_unsettled(value) or isinstance(kind, type) or kind.kind != "f":
        return False
    if any(rule(kind) != rule(float) for rule in value.uses):
        return False
    value.kind, value.uses = kind, None
    return True


def operands(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operator; where one is unsettled and the other NumPy's, the use is noted."""
    if len(args) == 2 and function is not operator.matmul:
        one, other = args
        if _is_unsettled(one) and _is_of_numpy(other):
            one.uses.append(_result(function, other, lambda a, b: (a, b)))
            return _as_float(one), other
        if _is_unsettled(other) and _is_of_numpy(one):
            other.uses.append(_result(function, one, lambda a, b: (b, a)))
            return one, _as_float(other)
    return args


def meeting(a: Any, b: Any) -> tuple[Any, Any]:
    """Two values of a variable where paths meet; where one is unsettled and the other NumPy's, that is noted."""
    for one, other in ((a, b), (b, a)):
        if _is_unsettled(one) and isinstance(other, Scalar) and _is_of_numpy(other):
            one.uses.append(_joined(other.kind))
            return (_as_float(a), b) if one is a else (a, _as_float(b))
    return a, b


def _is_unsettled(value: Any) -> bool:
    return type(value) is Scalar and value.uses is not None


def _is_of_numpy(value: Any) -> bool:
    return type(value) is Array or (type(value) is Scalar and value.uses is None and not value.python)


def _as_float(value: Scalar) -> Scalar:
    """The same as an ordinary number, for a use that is noted."""
    return Scalar(value.recorder, float, value._node)


def _result(function: Callable[..., Any], other: Any, order: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    op, spec = op_of(function), Spec((), other.dtype)
    assert op is not None

    def rule(kind: Any) -> Any:
        one = REPRESENTATIVES[kind] if isinstance(kind, type) else Spec((), kind)
        return op.infer(*order(one, spec)).dtype

    return rule


def _joined(other: Any) -> Callable[[Any], Any]:
    return lambda kind: joined_kind([kind, other])
