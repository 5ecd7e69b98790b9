"""A loaded function, or one whose graph was edited, in a captured program: its graph is captured with the rest.

Which of its graphs is the right one is told by what is known of the traced arguments. Where a size or a number decides,
the program that is captured gets a guard, as for a decision of its own.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.capture._captured import bound_keywords
from weft.capture._checks import MISS, Assigned, Checks, Condition, Expr
from weft.capture._guards import CHECKED
from weft.capture._memory import is_tensor
from weft.capture._reads import unchanged
from weft.capture._values import Array, Scalar, Traced
from weft.errors import CaptureError

if TYPE_CHECKING:
    from weft.capture._loaded import LoadedEntry, LoadedFunction
    from weft.capture._recorder import Recorder

_OPERATORS: dict[str, Any] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "neg": operator.neg,
    "min": min,
    "max": max,
}
_HELP = "call it outside of the captured function"


def call_inside(loaded: LoadedFunction, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call in a captured program."""
    try:
        bound = inspect.signature(loaded).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{loaded.__name__}() {error}") from None
    bound.apply_defaults()
    values = [*loaded._held, *bound.arguments.values()]
    failing: list[tuple[LoadedEntry, str]] = []
    entries: list[Any] = loaded._entries
    for entry in entries:
        if entry.step:
            recorder.refuse(f"{loaded.__name__}, a loaded training step, in a captured program", help=_HELP)
        seen = _Seen(recorder, values)
        failed = seen.failing(entry.checks)
        if failed is None:
            inputs = [seen.value(one) for one in entry.checks.inputs]
            module = entry.over_ops()
            return recorder.run(type(module).forward, (module, *inputs), {})
        failing.append((entry, failed.says.join(("not captured while ", "")) if failed.told else failed.says))
    return recorder.refuse(loaded.not_covered(failing).message, help=_HELP)


def refuse_edited(function: Any) -> None:
    """Raise: this way of capturing reads the source of a function, and would not see that its graph was edited."""
    raise CaptureError(
        f"the graph of {function.__name__} was edited, and this way of capturing does not know which calls it is for",
        help="use weft.compile or weft.trace; or make a GraphModule of its graph and call that",
    )


def edited_inside(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result, in a tuple, of a call of a compiled function whose graph for it was edited; None of any other."""
    if function is recorder.itself or not hasattr(type(function), "_edits"):
        return None
    recorder.reads.note(function, "_edits", function._edits)
    if not function._edits:
        return None
    if recorder.untyped:
        refuse_edited(function)
    function._follow_edits()
    keywords = {**bound_keywords(function.__weft_original__), **kwargs}
    try:
        bound = inspect.Signature(function._takes).bind(*function._held, *args, **keywords)
    except TypeError as error:
        raise TypeError(f"{function.__name__}() {error}") from None
    bound.apply_defaults()
    for entry in function._entries:
        if not entry.edited_ever:
            continue
        seen = _Seen(recorder, list(bound.arguments.values()))
        failed = seen.failing(entry.checks)
        if failed is not None and failed.basic:
            continue  # it is for other types
        if failed is not None or entry.step or entry.captured.recorder.state.used:
            why = "it changes objects" if failed is None else f"it is for calls where {failed.says}"
            recorder.refuse(
                f"the graph of {function.__name__} was edited, and cannot be captured here: {why}",
                help="call it outside of the captured function, or make a GraphModule of its graph and call that",
            )
        module = entry.over_ops()
        return (recorder.run(type(module).forward, (module, *map(seen.value, entry.checks.inputs)), {}),)
    return None


class _Seen:
    """The arguments of a call as the conditions see them."""

    def __init__(self, recorder: Any, values: list[Any]) -> None:
        self.recorder, self.values = recorder, values
        self.variables: dict[int, Any] = {}

    def failing(self, checks: Checks) -> Condition | None:
        """The first condition that does not hold."""
        for step in checks.steps:
            if isinstance(step, Assigned):
                value = self.value(step.value)
                parts = [value] if step.many is None else list(value)
                self.variables.update(enumerate(parts, step.first))
            elif not self.value(step.test):
                return step
        return None

    def value(self, given: Expr) -> Any:
        """What an expression gives, of traced values too."""
        name, parts = given
        if name == "held":
            return parts[0]
        if name == "argument":
            return self.values[parts[0]]
        if name == "variable":
            return self.variables[parts[0]]
        if name == "and":
            return all(self.value(one) for one in parts)
        if name == "or":
            return any(self.value(one) for one in parts)
        found = [self.value(one) if type(one) is Expr else one for one in parts]
        if name in _OPERATORS:
            return self._decided(_OPERATORS[name], found)
        return _READING[name](self, *found)

    def _decided(self, function: Any, operands: list[Any]) -> Any:
        if not any(isinstance(one, Scalar) for one in operands):
            result = function(*operands)
            return result if not isinstance(result, (np.bool_, np.ndarray)) else bool(result)
        result = self.recorder.run(function, tuple(operands), {})
        is_test = function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
        return self.recorder.decide(result) if is_test and isinstance(result, Scalar) else result

    def kind(self, value: Any) -> type:
        """The class that a value has when the graph runs."""
        if isinstance(value, Array):
            return Tensor if is_tensor(value) else np.ndarray
        if isinstance(value, Scalar):
            return value.kind if isinstance(value.kind, type) else np.dtype(value.kind).type
        return type(value)

    def call(self, function: Any, *args: Any) -> Any:
        """The result of a function that a condition calls."""
        plain = function in CHECKED or not any(isinstance(one, Traced) for one in args)
        return function(*args) if plain else self.recorder.run(function, args, {})

    def unchanged(self, value: Any, was: Any) -> bool:
        """Whether a value is as a snapshot says."""
        if not isinstance(value, Scalar):
            return not isinstance(value, Array) and unchanged(value, was)
        return was[0] == "data" and self.kind(value) is was[1] and bool(self._decided(operator.eq, [value, was[2]]))

    def same(self, one: Any, other: Any) -> bool:
        """Whether two are one object."""
        if isinstance(one, Array) and isinstance(other, Array):
            return one.buffer is other.buffer and one.path == other.path
        return one is other

    def share(self, one: Any, other: Any) -> bool:
        """Whether two may share memory."""
        if isinstance(one, Array) and isinstance(other, Array):
            return one.buffer is other.buffer
        return one is other


_READING: dict[str, Any] = {
    "type": _Seen.kind,
    "name": lambda seen, kind: kind.__name__,
    "length": lambda seen, value: len(value),
    "keys": lambda seen, value: (*value,),
    "values": lambda seen, value: value.values(),
    "dtype": lambda seen, value: value.dtype,
    "ndim": lambda seen, value: value.ndim,
    "size": lambda seen, value, axis: value.spec.shape[axis] if isinstance(value, Array) else value.shape[axis],
    "part": lambda seen, value, number: value[number],
    "strides": lambda seen, value: None,  # known when the graph runs
    "contiguous": lambda seen, value: False,
    "owns": lambda seen, value: False,
    "array": lambda seen, value: value,
    "is": _Seen.same,
    "is not": lambda seen, one, other: not seen.same(one, other),
    "not": lambda seen, value: not value,
    "may_share": _Seen.share,
    "unchanged": _Seen.unchanged,
    "attribute": lambda seen, owner, name: getattr(owner, name, MISS),
    "get": lambda seen, space, name: space.get(name, MISS),
    "cell": lambda seen, cell: cell.cell_contents,
    "code": lambda seen, function: function.__code__,
    "call": _Seen.call,
}
