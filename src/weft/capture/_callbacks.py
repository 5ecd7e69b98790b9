"""Functions of the program that are given to code which runs with the graph: `scipy.optimize.minimize(lambda p: …, x)`.

They run as plain Python then. A function of a module is given as it is. One that was defined inside the program is made
when the graph runs, of its code as it was written and of the values that its variables have by then:

    minimize(lambda p: ((p - x) ** 2).sum(), x0)    # lambda = function_of(lambda, None, None, x)
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft._objects import dict_of
from weft.capture._convert import is_converted
from weft.capture._numpy_calls import BoundMethod
from weft.capture._opaque import Opaque
from weft.capture._raising import QUIET
from weft.capture._state_places import assigned_with
from weft.capture._values import Traced, Undefined
from weft.capture._wrap import _is_changeable, as_given, still_as_given
from weft.errors import CaptureError
from weft.graph import Node
from weft.graph._effects import CHECKS, has_side_effect

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_STORES = frozenset({"STORE_DEREF", "DELETE_DEREF", "STORE_GLOBAL", "DELETE_GLOBAL"})


def function_of(template: Any, defaults: Any, keywords: Any, *values: Any) -> Any:
    """A function with the code of another, and these values of the variables it reads from around it.

    >>> def outer(a):
    ...     return lambda b: a + b
    >>> function_of(outer(1), None, None, 10)(2)
    12
    """
    cells = tuple(map(types.CellType, values))
    made = types.FunctionType(template.__code__, template.__globals__, template.__name__, defaults, cells)
    made.__kwdefaults__ = keywords
    made.__qualname__, made.__module__ = template.__qualname__, template.__module__
    return made


@has_side_effect
def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, or of the one that a function is a method of, as they are now."""
    return dict(vars(getattr(value, "__self__", value)))


@has_side_effect
def still_holds(value: Any, before: dict[str, Any], name: str) -> None:
    """Raise an error where a function has changed attributes of an object while the graph ran."""
    owner = getattr(value, "__self__", value)
    now = vars(owner)
    changed = [key for key in (*now, *before) if key not in now or key not in before or now[key] is not before[key]]
    if changed:
        raise CaptureError(
            f"{name} changes .{changed[0]} of a {type(owner).__name__} while a library calls it: the program around "
            "the call would not see that",
            help="compute it from what the library gives",
        )


setattr(still_holds, CHECKS, True)


QUIET += [as_given, still_as_given, still_holds]  # what they raise is none of what handlers of the program are for


class Callbacks:
    """The functions that one capture gives to code that runs with the graph."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.kept: dict[Node, list[tuple[Any, Any, str]]] = {}  # call → variables that a function given to it reads
        self._read: list[tuple[Any, Any, str]] = []
        self._after: list[Any] = []  # what is checked after the call: the function that does it, and its arguments
        self._templates: dict[int, tuple[Any, Any]] = {}  # by id, converted code, and a function of the code as written
        self._making: list[Any] = []

    def of(self, value: Any) -> Any:
        """A value with the functions in it as the running graph is to give them."""
        kind = type(value)
        if kind in (tuple, list):
            parts = [self.of(part) for part in value]
            return value if all(map(_is, parts, value)) else kind(parts)
        if kind is dict:
            made = {key: self.of(part) for key, part in value.items()}
            return value if all(made[key] is part for key, part in value.items()) else made
        if kind is types.FunctionType:
            return self._closure(value) if is_converted(value) else self._checked(value, value.__code__)
        recorder = self.recorder
        if kind is functools.partial:
            args = tuple(map(self.of, (value.func, *value.args)))
            return recorder.opaque(functools.partial, args, self.of(value.keywords))
        if kind is BoundMethod:
            return recorder.opaque(getattr, (value.array, value.name), {})
        if kind is types.MethodType and isinstance(value.__func__, types.FunctionType):
            self._checked(value, value.__func__.__code__)
            owner = value.__self__
            made_here = recorder._home(owner) is not None
            given = recorder.opaque(getattr, (owner, value.__name__), {}) if made_here else value
            self._watch(owner, given, value.__name__)
            return given
        return value

    def _watch(self, owner: Any, given: Any, name: str) -> None:
        """Find out when the graph runs whether a function changes the object that it is a method of."""
        if not isinstance(owner, Traced) and _changes_itself(owner):
            self._after.append((still_holds, given, self.recorder.opaque(attributes_of, (given,), {}), name))

    def _checked(self, function: Any, code: types.CodeType) -> Any:
        """The function, unless it assigns variables of the program, which would not see that."""
        for name in _assigned(code):
            self.recorder.refuse(
                f"{function.__name__} is given to a function that runs with the graph, and assigns {name}, a variable "
                "from outside",
                help="let it return what it computes; or put the call into a function marked with weft.wrap",
            )
        return function

    def _closure(self, function: Any) -> Any:
        recorder = self.recorder
        if any(one is function for one in self._making):
            recorder.refuse(
                f"{function.__name__} calls itself, and is given to a function that runs with the graph",
                help="define it outside of the function that is captured",
            )
        template = self.template(function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self._making.append(function)
        try:
            values = [self._value(name, cells.get(name), function) for name in template.__code__.co_freevars]
            defaults = self.of(function.__defaults__), self.of(function.__kwdefaults__)
        finally:
            self._making.pop()
        if not values and not any(defaults):
            return template
        return recorder.opaque(function_of, (template, *defaults, *values), {})

    def _value(self, name: str, cell: Any, function: Any) -> Any:
        try:
            held = cell.cell_contents
        except (AttributeError, ValueError):
            held = Undefined(name)
        if isinstance(held, Undefined):
            self.recorder.refuse(
                f"{function.__name__} is given to a function that runs with the graph, and reads {name}, which has no "
                "value yet",
                help=f"assign {name} before the call",
            )
        self._read.append((cell, held, name))
        value = self.of(held)
        self.recorder.hand_out(held)
        lists = self.recorder.lists
        if type(value) is list and lists.get(value) is None and lists.may_own([value]):
            self.recorder.python_effects += 1
            lists.own(value)
        grown = lists.get(value)
        if grown is not None:
            grown.anything()  # the function may change it
        elif value is held and _is_changeable(held):
            value = self.recorder.opaque(as_given, (held,), {})
            self._after.append((still_as_given, value, held, function.__name__))
        elif isinstance(dict_of(held), dict) and not callable(held):
            self._watch(held, held, function.__name__)
        return value

    def template(self, function: Any) -> Any:
        """A function with the code of a converted one as it was written."""
        known = self._templates.get(id(function.__code__))
        if known is not None:
            return known[1]
        code = function.__code__
        found = [one for outer, _ in self.recorder.bound for one in _inside(outer.__code__) if _alike(one, code)]
        found = list({id(one): one for one in found}.values())
        if len(found) > 1:
            found = [one for one in found if _begin(one) == _begin(code)]
        if not found or any(one != found[0] for one in found):
            self.recorder.refuse(
                f"{function.__name__} is given to a function that runs with the graph, and its code is not found",
                help="define it on a line of its own",
            )
        cells = tuple(types.CellType(None) for _ in found[0].co_freevars)
        made = types.FunctionType(found[0], function.__globals__, function.__name__, None, cells)
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        self._checked(made, found[0])
        self._templates[id(code)] = code, made
        return made

    def begin(self) -> None:
        """A call is about to be recorded."""
        self._read, self._after = [], []

    def end(self, result: Any) -> None:
        """A call was recorded: what it gives may keep the functions it was given."""
        if self._read and isinstance(result, Opaque) and result._node is not None:
            self.kept[result._node] = self._read
        for check, *given in self._after:
            self.recorder.create(check, tuple(given), {}, None)

    def check(self, value: Any) -> None:
        """Refuse to use an object that keeps a function of the program, of which a variable was assigned since."""
        for cell, held, name in (
            self.kept.get(value._node, ()) if isinstance(value, Opaque) and value._node is not None else ()
        ):
            if cell.cell_contents is not held:
                self.recorder.refuse(
                    f"an object of a library keeps a function that reads {name}, which was assigned since",
                    help="give another name to the new value",
                )


def _changes_itself(owner: Any) -> bool:
    """Whether methods of an object assign attributes, other than those that make it."""
    return isinstance(dict_of(owner), dict) and len(assigned_with(owner, "")) > 1


def _is(a: Any, b: Any) -> bool:
    return a is b


def _assigned(code: types.CodeType) -> Iterator[str]:
    """The variables from outside that code assigns, in functions inside of it as well."""
    for instruction in dis.get_instructions(code):
        outside = instruction.opname.endswith("GLOBAL") or instruction.argval in code.co_freevars
        if instruction.opname in _STORES and outside:
            yield str(instruction.argval)
    for one in _inside(code):
        yield from (name for name in _assigned(one) if name not in code.co_cellvars)


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """All code that stands inside of other code."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inside(constant)


def _alike(one: types.CodeType, converted: types.CodeType) -> bool:
    places = (one.co_name, one.co_firstlineno, one.co_filename) == (
        converted.co_name,
        converted.co_firstlineno,
        converted.co_filename,
    )
    count = one.co_argcount + one.co_kwonlyargcount
    return places and one.co_varnames[:count] == converted.co_varnames[:count]


def _begin(code: types.CodeType) -> Any:
    """Where the text of a function's body begins."""
    return min((line, column) for line, _, column, _ in code.co_positions() if line is not None and column)
