"""What a recorder does where a value is needed that is not there: decide by a guard, or refuse with a reason."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from weft import _where
from weft.capture._convert import is_converted
from weft.capture._opaque import Member, Opaque
from weft.capture._raising import Classes
from weft.capture._special import unrouted
from weft.capture._values import Array, Scalar, Traced, Undefined
from weft.errors import CaptureError, DtypeError, IndexingError, ShapeError, WeftError
from weft.ops import Spec
from weft.ops._dim import Dim, hint_of
from weft.ops._dim_sizes import Imagined

WRAP = "call it in a function of yours that is marked with weft.wrap, which then runs as Python"
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def refuse_class_of_arrays(recorder: Any, cls: type) -> None:
    """Refuse to make an object of a class that is derived from NumPy's arrays."""
    recorder.refuse(
        f"{cls.__name__} is a class of arrays, derived from np.ndarray: a graph holds plain arrays",
        help="compute with plain arrays, or make and use it in a function of your own, marked with weft.wrap",
    )


class Refusals:
    """The part of a recorder that decides and refuses."""

    refused: Any
    giving_back: Any = None
    """The function whose result is looked at, when it has ended."""

    def refuse(
        self: Any, message: str, *, help: str | None = None, decides_path: bool = False, result_of: Any = None
    ) -> NoReturn:
        """Raise the error that says what cannot be captured, where, and what to write instead.

        Where that is what a function gives, `result_of` is the function: its `return` is the line.
        """
        library = _where.library_call(self.package)
        if library is not None:
            message = f"{library} cannot be captured: {message}"
            help = WRAP
        where = _where.return_line(result_of or self.giving_back) or _where.user_line(self.package)
        made = CaptureError(message, where=where, help=help)
        made.decides_path = decides_path
        if self.refused is None:
            self.refused = made
        raise made

    def doubt(self: Any, message: str, *, help: str | None = None) -> None:
        """Go on as nearly all calls do, though the graph is not right for every one: another is the function's to run.

        It is refused where the graph is not for the function itself. That the graph leaves nothing behind where it
        turns out to be wrong is seen in the end.
        """
        if self.doubts:
            return  # the first is told
        before = self.refused
        try:
            self.refuse(message, help=help)
        except CaptureError as error:
            if self.itself is None or self.deriving or self.tensors or self.untyped:
                raise
            self.refused = before
            self.doubts.append(error)

    def in_numbers(self: Any, error: WeftError, op: Any, rules: Any) -> WeftError:
        """An error of a shape rule in the sizes of this call, with the user's line and what its variables hold."""
        try:
            op.infer(*known_sizes(rules))
        except (ShapeError, DtypeError, IndexingError) as clearer:
            error = clearer
        except Exception:  # sizes that this call does not know
            pass
        frame = _where.user_frame(self.package)
        held = {} if frame is None else {id(v.spec): k for k, v in frame.f_locals.items() if isinstance(v, Array)}
        told = [f"{held[id(s)]}: {s.dtype}{tuple(known_sizes(list(s.shape)))}" for s in rules if id(s) in held]
        where = _where.user_line(self.package)
        if where is not None and told:
            where += f"\n    {', '.join(dict.fromkeys(told))}"
        return type(error)(error.message, where=where, help=error.help)

    def catches(self: Any, kind: Any) -> bool:
        """Whether the program may catch an exception of a class where it is now."""
        return bool(self.may_catch((kind if issubclass(kind, BaseException) else BaseException,)))

    def may_catch(self: Any, raised: Classes) -> bool:
        """Whether the program may catch an exception of one of these classes, or of one derived from them."""
        pairs = ((one, other) for caught in self.trying for one in caught for other in raised)
        return any(issubclass(one, other) or issubclass(other, one) for one, other in pairs)

    def try_anyway(self: Any, what: str) -> None:
        """Something may raise when the graph runs, where the program would catch it."""
        self.doubt(
            f"{what} inside a `try` or `with` that may catch what it raises: whether it does is known only when the "
            "graph runs",
            help="move it out of the try, or test for the case before: if ...:",
        )

    @property
    def package(self: Any) -> str | None:
        """The installed package that the captured program itself is part of, if it is of one."""
        return None if self.start is None else _where.package_of(self.start[0].co_filename)

    def refuse_value(self: Any, value: Traced, what: str) -> Any:
        return self.refuse(
            f"{what} needs the value of {_told(value)}, which is known only when the graph runs",
            help="compute with it as it is, or mark the function that needs the value with weft.wrap",
        )

    def goes_by(self: Any, test: Any) -> bool:
        """Whether the program branches on a number known in this call, under a guard: sizes and integers do."""
        by_hints = self.training.by_hints
        return self.can_decide(test) and (by_hints or test.relation is not None or test.dim is not None)

    def truth(self: Any, value: Any) -> Any:
        """A traced value as a truth value."""
        from weft.capture._one_of import OneOf

        while type(value) is OneOf:  # asked of each of the two
            value = value.given_to(bool, 0, (value,), {})
        if not isinstance(value, Traced):
            return bool(value)
        if isinstance(value, Opaque) and self.may_catch((ValueError,)):
            self.try_anyway("the truth of a value of unknown type")
        known = isinstance(value, Scalar) and (value.kind is bool or value.kind == np.bool_)
        # A branch takes the truth of whatever it is given.
        return value if known or isinstance(value, Opaque) else self.python.call(bool, (value,), {})

    def negation(self: Any, value: Any) -> Any:
        """`not value`."""
        if isinstance(value, Scalar) and value.relation is not None:
            relation = (_OPPOSITE[value.relation[0]], *value.relation[1:])
            node = self.create(operator.not_, (value,), {}, bool)
            return Scalar(self, bool, node, hint=not value.hint, relation=relation)
        truth = self.truth(value)
        hint = None if not isinstance(value, Scalar) or value.hint is None else not value.hint
        return Scalar(self, bool, self.create(operator.not_, (truth,), {}, bool), hint=hint)

    def function_arg(self: Any, value: Any) -> Any:
        """A function, say, as an argument of a node; one of the program's own only where it stands alone."""
        value = unrouted(value)
        owner = getattr(value, "__self__", None)
        if owner is not None and self._home(owner) is not None:
            self.refuse(
                f".{value.__name__} of a {type(owner).__name__} that the program made is given to a function that runs "
                "with the graph",
                help="write a loop that calls it",
            )
        if is_converted(value):
            written = self.libraries.callbacks.template(value)
            if not (written.__code__.co_freevars or value.__defaults__ or value.__kwdefaults__):
                return written
            self.refuse(
                f"{value.__name__} is given to a function that runs with the graph, and reads variables from outside",
                help="write a loop that calls it, or let it read its arguments only",
            )
        return value

    def refuse_branch(self: Any, value: Any) -> Any:
        if self.branches:
            return self.refuse(
                "a branch on a traced value where both sides cannot be kept: in a generator expression or a "
                "comprehension that Python itself runs, or in code that is not captured",
                help="write a list comprehension without `:=`, or a loop with an `if`, or choose with "
                "np.where(condition, a, b)",
                decides_path=True,
            )
        return self.refuse(
            "a branch on a traced value: its value is known only when the graph runs",
            help="weft.script and weft.compile capture both sides; or choose with np.where(condition, a, b)",
            decides_path=True,
        )

    def refuse_loop(self: Any) -> Any:
        return self.refuse(
            "a loop whose number of steps is traced",
            help="weft.script and weft.compile capture it as a loop; or fix the number",
            decides_path=True,
        )

    def outer_value(self: Any, space: Any, name: str, value: Any) -> Any:
        """A global or a variable of a function around: arrays become constants of the graph, the rest is noted."""
        return self.reads.name(space, name, value)

    def attribute(self: Any, owner: Any, name: str) -> Any:
        """An attribute of an object of Python's."""
        return self.reads.attribute(owner, name)

    def opaque_member(self: Any, value: Opaque, name: str) -> Any:
        """An attribute of a value of unknown type."""
        return Member(self, value, name)

    def control(self: Any, primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of weft.cond, weft.while_loop and their kin on traced values."""
        from weft.capture._primitives import record

        return record(self, primitive, args, kwargs)

    def undefined(self: Any, value: Undefined) -> Any:
        """Raise the error of reading a variable that has no value."""
        if value.why is None and value.name.startswith("["):
            self.refuse(
                f"whether a {value.name} is there is known only when the graph runs: a branch or a loop adds it",
                help="give it a value before the branch or the loop, such as None or 0",
            )
        if value.why is None:
            raise UnboundLocalError(
                f"cannot access local variable '{value.name}' where it is not associated with a value"
            )
        what = {"[": "it before, such as None", ".": "it before, such as None"}.get(
            value.name[0], f"{value.name} before"
        )
        return self.refuse(value.why, help=f"assign {what}, or on every path")


def _told(value: Traced) -> str:
    """A value as a message calls it: by the name that the program has given it, or by its type."""
    if isinstance(value, Opaque):
        node = value._node
        return (node.variable if node is not None else None) or "a traced value"
    return f"a {repr(value)[1:-1]}"


def known_sizes(value: Any) -> Any:
    """What a shape rule is given, with the sizes of the call in place of open ones, as far as it knows them."""
    if isinstance(value, Spec):
        return Spec([known_sizes(size) for size in value.shape], value.dtype)
    if isinstance(value, Dim):
        known = hint_of(value)
        named = known is None or any(isinstance(atom.hint, Imagined) for atom in value.atoms())
        return value if named else known
    if isinstance(value, slice):
        return slice(*(known_sizes(part) for part in (value.start, value.stop, value.step)))
    if type(value) in (tuple, list):
        return type(value)([known_sizes(part) for part in value])
    return value
