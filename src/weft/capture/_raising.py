"""Which calls may raise though their arguments are of the right types: by the values they are given.

A compiled program keeps those nodes even where nothing reads what they give, so that it raises what the plain call
raises. That shapes and dtypes fit was settled when the program was captured, and is guarded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft._objects import delete_state, new_container, new_object, one_of, set_back, set_for_now, set_state
from weft.graph import Graph, Node
from weft.graph._control import CONTROL, check, fail
from weft.ops import Op, Spec
from weft.ops._raises import NEGATIVE_POWER, OF_VALUES, out_of_range

# Functions of `math` that take every number.
_TOTAL = frozenset(
    {
        *(math.atan, math.atan2, math.asinh, math.copysign, math.degrees, math.erf, math.erfc, math.fabs, math.hypot),
        *(math.isclose, math.isfinite, math.isinf, math.isnan, math.radians, math.tanh, math.dist),
    }
)


def may_raise(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], type_: Any) -> bool:
    """Whether a call of arguments that fit may raise; `type_` is that of its result."""
    if isinstance(target, Op):
        return target.raises is not None and target.raises.when(*map(_seen, target.bind(args, kwargs)))
    rule = RULES.get(id(target))
    return rule is not None and rule(args, type_)


def _seen(value: Any) -> Any:
    """What a rule of an op is asked about: see `weft.ops._raises`."""
    if isinstance(value, Node):
        kind = _type(value)
        return object if kind is None else kind
    return type(value)(map(_seen, value)) if type(value) in (list, tuple) else value


def asks_unknown(target: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call asks an object of which only running tells what it is: it may raise, or change the object."""
    return not is_quiet(target) and any(isinstance(arg, Node) and _is_unknown(arg) for arg in args)


def _is_unknown(node: Node) -> bool:
    return (node._meta or {}).get("type") is None and not any(node.target is kind for kind in (list, dict, set, tuple))


Classes = tuple[type[BaseException], ...]
Caught = tuple[Classes, ...]
"""The classes of exceptions that each of several statements, one inside the other, may catch."""
ANYTHING: Classes = (BaseException,)


def raised_by(target: Any, type_: Any) -> Classes:
    """The classes of the exceptions that a call may raise, if it raises any."""
    if target is check:
        return (AssertionError,)
    if type_ is None or (isinstance(type_, Spec) and type_.dtype == object):
        return ANYTHING
    found: Classes = OF_VALUES
    if isinstance(target, Op):
        found = target.raises.classes if target.raises is not None else ()
    elif RULES.get(id(target)) is _division:
        found = ()
    return (*found, ArithmeticError)  # as `np.errstate(all="raise")` makes of any


def caught_classes(swallows: bool, caught: Callable[[], Any] | None) -> Classes:
    """The classes that the handlers of a `try` catch; anything where only running tells."""
    try:
        found = ANYTHING if swallows or caught is None else _flat(caught())
    except Exception:
        return ANYTHING
    return found if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found) else ANYTHING


def _flat(kinds: Any) -> tuple[Any, ...]:
    return tuple(one for kind in kinds for one in (_flat(kind) if isinstance(kind, tuple) else (kind,)))


def may_raise_unseen(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], type_: Any) -> bool:
    """Whether a call may raise when the graph runs, where a handler of the program would have to catch it."""
    if type_ is None:
        return not is_quiet(target)
    if isinstance(type_, Spec) and (type_.dtype == object or "raise" in np.geterr().values()):
        return True  # what the objects do is unknown; the floating point may raise
    return target in (fail, check) or may_raise(target, args, kwargs, type_)


QUIET: list[Any] = [
    *(print, set_state, set_for_now, set_back, delete_state, new_object, new_container, one_of),
    *(operator.is_, operator.is_not),
]
"""Functions of which no type is known that raise nothing, or nothing that the program's own statement does not."""


def is_quiet(target: Any) -> bool:
    """Whether a function is one of those."""
    return any(target is one for one in QUIET)  # not every target can be hashed


def _division(args: tuple[Any, ...], type_: Any) -> bool:
    # NumPy's numbers are divided by zero with a warning.
    return isinstance(type_, type) and not (isinstance(args[1], (int, float, complex)) and args[1])


def _power(args: tuple[Any, ...], type_: Any) -> bool:
    if isinstance(type_, Spec):
        return NEGATIVE_POWER.when(*map(_seen, args))
    return isinstance(type_, type) and not (type_ is int and type(args[1]) is int and args[1] >= 0)


def _shift(args: tuple[Any, ...], type_: Any) -> bool:
    return isinstance(type_, type) and not (type(args[1]) is int and args[1] >= 0)


def _to_integer(args: tuple[Any, ...], type_: Any) -> bool:
    return not _is_whole(args[0])


def _is_whole(value: Any) -> bool:
    kind = _type(value)
    return kind in (int, bool) or (isinstance(kind, Spec) and kind.dtype.kind in "biu")


# By id: not every target can be hashed.
RULES: dict[int, Callable[[tuple[Any, ...], Any], bool]] = {
    **{id(f): lambda args, type_: True for f in vars(math).values() if callable(f) and f not in _TOTAL},
    **dict.fromkeys(map(id, (operator.truediv, operator.floordiv, operator.mod, divmod)), _division),
    **dict.fromkeys(map(id, (operator.pow, pow)), _power),
    **dict.fromkeys(map(id, (operator.lshift, operator.rshift)), _shift),
    **dict.fromkeys(map(id, (int, round, math.floor, math.ceil, math.trunc)), _to_integer),
    id(operator.getitem): lambda args, type_: _may_miss(args[0], args[1]),
    **dict.fromkeys(map(id, (float, complex)), lambda args, type_: _type(args[0]) in (str, None)),
    **dict.fromkeys(map(id, (math.gcd, math.lcm)), lambda args, type_: not all(map(_is_whole, args))),
    id(bool): lambda args, type_: any(map(_holds_many, args)),
    id(chr): lambda args, type_: True,
    id(format): lambda args, type_: bool(args[1:]) and _may_have_sizes(args[0]),
}


def _holds_many(value: Any) -> bool:
    """Whether a value may be an array of another number of elements than one."""
    kind = _type(value)
    return kind is None or (isinstance(kind, Spec) and any(not isinstance(dim, int) or dim != 1 for dim in kind.shape))


def _may_have_sizes(value: Any) -> bool:
    kind = _type(value)
    return kind is None or (isinstance(kind, Spec) and bool(kind.shape))


def raises(node: Node) -> bool:
    """Whether a node, or one in its bodies, was found to raise for some values."""
    if node._meta is not None and "raises" in node._meta:
        return True
    return any(raises(part) for body in node.bodies for part in body.nodes)


@contextmanager
def sure(recorder: Any) -> Iterator[None]:
    """Within, nothing that is recorded may raise, whatever it looks like."""
    before, recorder.keeps_raising = recorder.keeps_raising, False
    try:
        yield
    finally:
        recorder.keeps_raising = before


def forget(graph: Graph, last: Any = None) -> None:
    """Let the nodes after one, or all, not be kept for what they may raise: others do the same again."""
    for node in reversed(graph.nodes):
        if node is last:
            return
        if node._meta is not None:
            node._meta.pop("raises", None)
        for body in node.bodies:
            forget(body)


def _type(value: Any) -> Any:
    return (value._meta or {}).get("type") if isinstance(value, Node) else type(value)


def _may_miss(value: Any, key: Any) -> bool:
    """Whether an index into an array, or into what the running graph makes, may be out of range."""
    kind = _type(value)
    if isinstance(kind, (tuple, list, dict)) or (isinstance(value, Node) and value.target in CONTROL):
        return False
    if not isinstance(kind, Spec):
        return isinstance(value, Node) and value.target is list  # a list of the running graph
    return out_of_range(kind, _seen(key))
