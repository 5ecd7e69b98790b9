"""What a wrapped function changes besides its arguments, going by its code: globals, variables around it, attributes.

The function runs when the graph runs. What the program reads of these after the call has been taken down before it, so
such a read is refused.

    @weft.wrap
    def count(x):
        global CALLS
        CALLS += 1          # `return x * CALLS` after a call of count is refused
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from weft._objects import dict_of, own_value
from weft.capture._special import unrouted
from weft.capture._state_places import CONTAINERS, attributes, is_object, is_own, parts
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_STORING = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"}
_ITEMS = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_READING = {"get", "keys", "values", "items", "copy", "count", "index", "find", "decode", "hex", "tolist", "tobytes"}
_METHODS = {name for kind in CONTAINERS for name in dir(kind) if not name.startswith("_")} - _READING
"""Methods of containers that may change them."""


class Touched:
    """What the wrapped functions that one capture has met so far change."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names: dict[tuple[int, str], str] = {}  # a space of names and a name in it → what is told of the function
        self.attributes: dict[str, str] = {}
        self.given: dict[str, str] = {}  # the same of libraries and of classes, which reach only what they are given
        self.reached: dict[int, tuple[Any, str]] = {}  # these objects, by id, and what is told of the function

    def meet(self, function: Any, given: Any) -> None:
        """A wrapped function is called; in a loop, what was read before it may be read after it as well."""
        plain: Any = inspect.unwrap(function)
        name = getattr(plain, "__name__", type(plain).__name__)  # an object that is called has none
        stored, told = self.attributes, f"{name} may change: that is marked with weft.wrap and"
        if isinstance(plain, type) or self.recorder.libraries.is_other(plain):
            stored, told = self.given, f"{name} may change: that cannot be captured and"
            self._reach(given, told)
        for found in _own_functions(plain.__init__ if isinstance(plain, type) else plain, set()):  # type: ignore[misc]
            self._take(found, told, stored)
        self._check_loop()

    def meet_computed(self, owner: Any, name: str) -> None:
        """An attribute is read that compiled code computes, by functions of the program's perhaps."""
        told = f".{name} may change: that cannot be captured and"
        self._reach(owner, told)
        for found in _methods(type(owner), name, set()):
            self._take(found, told, self.given)
        self._check_loop()

    def _check_loop(self) -> None:
        recorder = self.recorder
        if recorder.region is not recorder.root:
            reads = recorder.reads
            for space, name, _ in list(reads.names.values()):
                self.check(space, name)
            for owner, name, _ in list(reads.attributes.values()):
                self.check_attribute(owner, name)
            for one in list(recorder.state.inputs.values()):
                self.check_attribute(one.owner, one.name)

    def _take(self, function: FunctionType, told: str, stored: dict[str, str]) -> None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for code in codes(function.__code__):
            steps = list(dis.get_instructions(code))
            changing = any(step.opname in _ITEMS for step in steps) or not _METHODS.isdisjoint(code.co_names)
            for step in steps:
                name = step.argval
                stores = step.opname in _STORING
                if "ATTR" in step.opname and (stores or (changing and name not in _METHODS)):
                    stored[name] = told
                elif "GLOBAL" in step.opname and (stores or (changing and _may_change(function.__globals__.get(name)))):
                    self.names[id(function.__globals__), name] = told
                elif "DEREF" in step.opname and name in cells and (stores or changing):
                    self.names[id(cells[name]), name] = told

    def _reach(self, value: Any, told: str) -> None:
        """Note the objects in what is given to a library or a class, and those that they hold."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value is self.recorder:  # what stands for a range or a zip has it
                continue
            if id(value) not in self.reached and not isinstance(value, (Traced, type, ModuleType, FunctionType)):
                self.reached[id(value)] = value, told
                waiting += [*parts(value), *(own_value(value, name) for name in attributes(value))]

    def check(self, space: Any, name: str) -> None:
        """Refuse to read a global, or a variable of a function around, after such a call."""
        if (id(space), name) in self.names:
            self._refuse(self.names[id(space), name], name)

    def reaches(self, owner: Any, name: str) -> bool:
        """Whether such a call may have changed an attribute of an object that it was given."""
        return id(owner) in self.reached and not _is_method(owner, name)

    def check_attribute(self, owner: Any, name: str) -> None:
        """The same of an attribute."""
        told = self.attributes.get(name) or (self.given.get(name) if id(owner) in self.reached else None)
        if told is not None and is_object(owner) and not _is_method(owner, name):
            self._refuse(told, f".{name} of a {type(owner).__name__}")
        if self.names:
            self.check(dict_of(owner), name)

    def check_missing(self, owner: Any, what: str) -> None:
        """Refuse to take for known what an object has not, or all that it has, after such a call."""
        if id(owner) in self.reached and is_object(owner):
            self._refuse(self.reached[id(owner)][1], f"{what} of a {type(owner).__name__}")

    def _refuse(self, told: str, what: str) -> None:
        self.recorder.refuse(
            f"{what} is read, which {told} runs when the graph runs, and what is read was taken down before",
            help="return the new value from that function, or read it in a function marked with weft.wrap too",
        )


def changes(recorder: Recorder, cls: type, name: str) -> bool:
    """Whether a method, or what it calls, changes something besides variables of its own, going by its code."""
    touched = Touched(recorder)
    for found in _methods(cls, name, set()):
        touched._take(found, "", touched.attributes)
        if "print" in found.__code__.co_names:
            return True
    return bool(touched.names or touched.attributes)


def _is_method(owner: Any, name: str) -> bool:
    """Whether an attribute is a method of the class, which no object has of its own."""
    return name not in (dict_of(owner) or ()) and isinstance(getattr(type(owner), name, None), FunctionType)


def _own_functions(function: Any, seen: set[Any]) -> Iterator[FunctionType]:
    """A function of the program's and those that it calls by their names."""
    if not isinstance(function, FunctionType) or function in seen or not is_own(function):
        return
    seen.add(function)
    yield function
    names = {name for code in codes(function.__code__) for name in code.co_names}
    for name in names:
        yield from _own_functions(function.__globals__.get(name), seen)


def _methods(cls: type, name: str, seen: set[Any]) -> Iterator[FunctionType]:
    """The functions of the program's that an attribute of a class is or holds, and those that they may call."""
    found = unrouted(inspect.getattr_static(cls, name, None))
    for held in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, held, found)
    for function in _own_functions(found, seen):
        yield function
        for called in {name for code in codes(function.__code__) for name in code.co_names}:
            yield from _methods(cls, called, seen)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _may_change(value: Any) -> bool:
    return isinstance(value, CONTAINERS) or is_object(value)
