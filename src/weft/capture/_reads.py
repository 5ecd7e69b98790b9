"""What a captured program reads from outside: globals, variables of functions around it, attributes of objects.

Arrays become constants of the graph, which reads them as they are when it runs. Everything else counts as it was at
capture; what was read is noted, so that a compiled function can tell whether it still holds.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._module import Module
from weft._objects import MISSING, dict_of, of_class
from weft.autograd import Tensor
from weft.capture._outside import refuse_iterator
from weft.capture._parts import Tree, refuse_changes
from weft.capture._special import Special, unrouted
from weft.capture._state_places import CONTAINERS, is_own, is_space
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_DATA = (bool, int, float, complex, str, bytes, type(None), np.generic)
_COMMON = frozenset(
    {bool, int, float, complex, str, bytes, type(None), np.ndarray, types.FunctionType, types.ModuleType}
)
_SEQUENCES = (list, tuple, collections.deque, bytearray, array.array, collections.UserList)
_MAPPINGS = (dict, collections.UserDict, collections.ChainMap, types.MappingProxyType)
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
# What reading an attribute makes anew each time.
_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)
_MADE_ANEW = (types.FunctionType, functools.partial)  # by `__getattr__` or a descriptor, it may be
# Called where an object is made, and nowhere else.
_MAKING = ("__init__", "__new__", "__post_init__")


class OuterReads:
    """The reads of one capture."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names: dict[tuple[int, str], tuple[Any, str, Any]] = {}  # (where, name, what was read)
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.called: dict[int, str] = {}  # by id, the name under which the program read an array first
        self.outside: dict[int, Any] = {}  # by id, lists, dicts and sets that the program did not make
        self.origins: dict[int, Any] = {}  # by the id of such a container, the place it was found at
        self.classes: set[type] = set()  # of objects that the program met
        self.modules = Tree()
        self.special = Special(recorder)
        self.supers: dict[Any, Any] = {}  # what `super()` stands for in methods of the program

    def name(self, space: Any, name: str, value: Any) -> Any:
        """A variable from outside; `space` is the dict or the cell it lives in."""
        if self.recorder.touched.names:
            self.recorder.touched.check(space, name)
        found = self.recorder.state.read(space, name, value)
        if found is not MISSING:
            return found
        key = (id(space), name)
        if key not in self.names:
            self.names[key] = (space, name, snapshot(value))
        self.from_outside(value, (id(space), name), space)
        return self._value(value, name)

    def item(self, owner: Any, key: Any) -> Any:
        """`owner[key]`, which is a variable where the owner is what `globals()` gives."""
        value = owner[key]
        if type(owner) is dict and type(key) is str and "__builtins__" in owner:
            return self.name(owner, key, value)
        return value

    def noted(self, value: Any) -> Any:
        """What a function of the program gives, noted as made."""
        self.made(value)
        return value

    def attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`."""
        touched = self.recorder.touched
        if self.recorder.libraries.reads_later(owner, name):
            return self.recorder.opaque(getattr, (owner, name), {})
        if touched.names or touched.attributes or touched.given:
            touched.check_attribute(owner, name)
        if name == "training" and id(owner) in self.recorder.training.modes:
            return self.recorder.training.modes[id(owner)][1]
        if isinstance(owner, Tensor) and name in ("grad", "data", "requires_grad"):
            return getattr(self.recorder.constant(owner), name)
        self.recorder.training.check_read(owner, name)
        if name == "param_groups" and hasattr(type(owner), "__weft_outside__"):
            groups = self.recorder.training.param_groups(owner)
            if groups is not None:
                return groups
        cls, computed = type(owner), of_class(type(owner), name)
        asks = computed is None and hasattr(cls, "__getattr__") and is_own(cls.__getattr__) and _lacks(owner, name)
        if asks and not self.recorder.libraries.is_other(cls.__getattr__):
            self._of_class(owner, "__getattr__")
            if not self._made(owner):
                self.attributes.setdefault((id(owner), name), (owner, name, ("not its own",)))
            return self.recorder.call(cls.__getattr__, (owner, name), {})
        descriptor = self.computing(owner, name)
        if descriptor is not None:
            return self._computed(owner, name, descriptor)
        if isinstance(computed, functools.cached_property) and name not in owner.__dict__ and is_own(computed.func):
            self._note(type(owner), name, computed)
            if not self._made(owner):
                self.attributes.setdefault((id(owner), name), (owner, name, ("not its own",)))
            value = self.recorder.run(computed.func, (owner,), {})
            self.recorder.set_attribute(owner, name, value)
            return value
        try:
            value = getattr(owner, name)
        except AttributeError:
            if (id(owner), name) not in self.recorder.state.written:
                self.missing(owner, name)
            raise
        if isinstance(owner, Module):
            self.module(owner)
        found = self.recorder.state.read(owner, name, value)
        if found is not MISSING:
            return found
        refuse_changes(self.recorder, value)
        if isinstance(owner, super) or self._made(owner):
            if isinstance(value, CONTAINERS) and value is computed and is_own(cls):
                return self.attribute(cls, name)  # all objects of the class have that one
            self._of_class(owner, name)
        elif not isinstance(owner, types.ModuleType) or is_own(owner):
            self._note(owner, name, value)
        return self._value(value, name)

    def computing(self, owner: Any, name: str) -> Any:
        """The property or other descriptor of a class of the program's that computes an attribute, else None."""
        cls = type(owner)
        holder = None if isinstance(owner, (type, Traced)) else next((c for c in cls.__mro__ if name in vars(c)), None)
        if holder is None or not is_own(holder):
            return None
        found: Any = vars(holder)[name]
        kind = type(found)
        get = getattr(kind, "__get__", None)
        if get is None or kind in _COMMON or (name in (dict_of(owner) or ()) and not hasattr(kind, "__set__")):
            return None
        if isinstance(found, property):
            return found if is_own(found.fget) else None
        own = isinstance(get, types.FunctionType) and is_own(get)
        return found if own or self.recorder.libraries.computes(holder, found) else None

    def _computed(self, owner: Any, name: str, found: Any) -> Any:
        """What such a descriptor gives."""
        cls = type(owner)
        if hasattr(cls, name):
            self._note(cls, name, getattr(cls, name))
        if isinstance(found, property):
            return self.recorder.run(found.fget, (owner,), {})
        get: Any = type(found).__get__
        if isinstance(get, types.FunctionType) and is_own(get):
            return self.recorder.run(get, (found, owner, cls), {})
        return self.recorder.libraries.computed(owner, name)

    def function(self, function: types.FunctionType) -> None:
        """A function that is captured: it does what its code and its defaults say."""
        if not is_own(function):
            return
        self._note(function, "__code__", function.__code__)
        if function.__defaults__ is not None:
            was = snapshot(function.__defaults__)
            fixed = all(part[0] in ("data", "same") for part in was[2])  # told by identity, which is quicker
            was = ("same", function.__defaults__) if fixed else was
            self.attributes.setdefault((id(function), "__defaults__"), (function, "__defaults__", was))
            for value in function.__defaults__:
                if isinstance(value, (types.MethodType, functools.partial, tuple, *CONTAINERS)):
                    self.from_outside(value, (id(function), "__defaults__"), function)
        keywords = function.__kwdefaults__
        if keywords is not None:
            self.attributes[id(function), "__kwdefaults__"] = (function, "__kwdefaults__", ("same", keywords))
            for name, value in keywords.items():
                self.names.setdefault((id(keywords), name), (keywords, name, snapshot(value)))
                if isinstance(value, (tuple, *CONTAINERS)):
                    self.from_outside(value, (id(function), "__kwdefaults__"), function)

    def partial(self, function: functools.partial[Any]) -> None:
        """A partial that is called: its keyword arguments may be others by the next call."""
        if not self._made(function):
            self._note(function, "keywords", function.keywords)

    def making(self, cls: type) -> None:
        """An object of a class is made: what makes it, and what Python calls of it by itself, is the class's."""
        if is_own(cls):
            for name in _MAKING:
                if hasattr(cls, name):
                    self._note(cls, name, getattr(cls, name))
            self._special(cls)

    def note(self, owner: Any, name: str, value: Any) -> None:
        """An attribute, or a variable, counts as it was when the call began."""
        if is_space(owner):
            self.names.setdefault((id(owner), name), (owner, name, snapshot(value)))
        else:
            self._note(owner, name, value)

    def missing(self, owner: Any, name: str) -> None:
        """An object had no such attribute when the call began."""
        if not is_space(owner) and not self._made(owner):
            self.attributes.setdefault((id(owner), name), (owner, name, ("missing",)))

    def unbound(self, error: BaseException | None) -> None:
        """What the program meets may say that a global had no value when the call began."""
        if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or error.name is None:
            return
        step = error.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        space = {error.name: None} if step is None else step.tb_frame.f_globals
        if error.name not in space:
            self.names.setdefault((id(space), error.name), (space, error.name, ("missing",)))

    def present(self, owner: Any, name: str) -> None:
        """An object had such an attribute when the call began."""
        if not self._made(owner):
            self.attributes.setdefault((id(owner), name), (owner, name, ("present",)))

    def keys(self, owner: Any) -> None:
        """The attributes that an object had of its own count as they were when the call began."""
        if not self._made(owner):
            names = self.recorder.state.names_before(owner)
            self.attributes.setdefault((id(owner), "__dict__"), (owner, "__dict__", ("keys", names)))

    def _note(self, owner: Any, name: str, value: Any) -> None:
        value = unrouted(value)
        known = self.attributes.get((id(owner), name))
        if known is not None and known[2][0] == "present":
            del self.attributes[id(owner), name]
        if (id(owner), name) in self.attributes or _holds_traced(value):
            return  # what holds a traced value was made by this capture
        if isinstance(value, _MADE_ANEW) and getattr(owner, name, None) is not value:
            self.attributes[id(owner), name] = (owner, name, _snapshot_of_made(value))
        elif not isinstance(value, _BOUND) or getattr(owner, name, None) is value:
            self.attributes[id(owner), name] = (owner, name, snapshot(value))
            self.from_outside(value, self.recorder.state.key(owner, name), owner)
        elif isinstance(value, types.MethodType) and is_own(value.__func__):
            self.attributes[id(owner), name] = (owner, name, ("method", value.__func__))

    def _of_class(self, owner: Any, name: str) -> None:
        """An attribute of an object that the program made: where it is the class's, that is from outside."""
        if isinstance(owner, super):
            bound: Any = owner
            classes = (bound.__thisclass__, bound.__self_class__)
            holder: Any = self.supers.setdefault(classes, super(*classes))
        elif is_own(type(owner)) and name not in (dict_of(owner) or ()):
            holder = type(owner)
        else:
            return
        if hasattr(holder, name):
            self._note(holder, name, getattr(holder, name))

    def meet(self, cls: type) -> None:
        """An object of a class is met."""
        if cls not in self.classes and is_own(cls):
            self._special(cls)

    def _special(self, cls: type) -> None:
        """Note the methods of a class that Python calls by itself: operators, `len`, a call of the object."""
        if cls in self.classes:
            return
        self.classes.add(cls)
        for name in {name: None for part in cls.__mro__ if is_own(part) for name in vars(part)}:
            if not (name.startswith("__") and name.endswith("__")) or name in _MAKING:
                continue
            method = getattr(cls, name, None)
            if isinstance(method, types.FunctionType) and is_own(method):
                self._note(cls, name, method)
        self.special.meet(cls)

    def from_outside(self, value: Any, place: Any = None, kept: Any = None) -> None:
        """Note the containers in a value: to have them in a variable is not to have made them.

        `place` is where the program found it, `kept` what keeps the id in that.
        """
        self.recorder.training.check_outside(value)
        kind = type(value)
        if kind in _COMMON:
            return
        self.meet(kind)
        if not self._made(value):
            self.recorder.state.met.setdefault(id(value), value)
        if isinstance(value, Module):
            self.module(value)
        if kind is types.MethodType:
            self.from_outside(value.__self__, place, kept)
        if kind is functools.partial:
            self.from_outside((value.func, *value.args, *value.keywords.values()), place, kept)
        if not isinstance(value, (tuple, *CONTAINERS)) or id(value) in self.outside or self._made(value):
            return
        self.outside[id(value)] = value
        if place is not None:
            self.origins[id(value)] = (place, kept)
        for part in value.values() if isinstance(value, (dict, collections.UserDict)) else value:
            self.from_outside(part, place, kept)

    def made(self, value: Any) -> None:
        """Note the containers in a value as made where the program is now, but those from outside or made before."""
        kind = type(value)
        if kind in (list, dict, set):
            if id(value) in self.outside or id(value) in self.recorder.lists.held or self._made(value):
                return
            self.recorder.made(value)
        elif kind is not tuple:
            if isinstance(value, Iterator) and id(value) not in self.recorder.state.met and not self._made(value):
                self.recorder.made(value)
            return
        for part in value.values() if kind is dict else value:
            self.made(part)

    def made_object(self, value: Any) -> None:
        """Note an object as made by the program, and of a dataclass what its fields hold: lists made for it."""
        self.recorder.made(value)
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                self.made(getattr(value, field.name, None))

    def _made(self, owner: Any) -> bool:
        region: Any = self.recorder.region
        while region is not None:
            if id(owner) in region.made:
                return True
            region = region.parent
        return False

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, (np.ndarray, Tensor)):
            self.called.setdefault(id(value), name)
            return self.recorder.constant(value)
        refuse_iterator(self.recorder, value)
        return value

    def module(self, module: Module) -> None:
        """A module that the program reads or calls."""
        if not self._made(module):
            self.modules.meet(module)


def _lacks(owner: Any, name: str) -> bool:
    """Whether an object has no such attribute, so that its `__getattr__` is asked."""
    try:
        get: Any = type(owner).__getattribute__
        get(owner, name)
    except AttributeError:
        return True
    return False


def snapshot(value: Any) -> Any:
    """What a later read is compared with: data by value and type, all else by identity."""
    if isinstance(value, _DATA):
        return ("data", type(value), _content(value))
    if isinstance(value, _SEQUENCES):
        parts = tuple(snapshot(part) for part in value)
        fixed = type(value) is tuple and all(map(_is_fixed, parts))
        return ("items", type(value), parts, value) if fixed else ("items", type(value), parts)
    if isinstance(value, _MAPPINGS):
        return ("dict", tuple((key, snapshot(part)) for key, part in value.items()))
    if isinstance(value, (set, frozenset)):
        held = tuple(value)
        plain = all(type(one) in _PLAIN for one in held)
        return ("set", frozenset(held)) if plain else ("members", frozenset(map(id, held)), held)
    if type(value) in (slice, range):
        return ("bounds", type(value), *map(snapshot, (value.start, value.stop, value.step)))
    if isinstance(value, np.dtype):
        return ("dtype", value)
    return ("same", value)


def _is_fixed(part: Any) -> bool:
    """Whether a snapshot is of data that nothing can change: a number or a text, or a tuple of such."""
    return (part[0] == "data" and part[1] in _PLAIN) or (part[0] == "items" and len(part) > 3)


def _holds_traced(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(part, Traced) for part in parts)


def _snapshot_of_made(value: Any) -> Any:
    """What a function or partial that is made anew by each read is compared with: what it does."""
    if isinstance(value, types.MethodType):
        return ("bound", value.__func__, snapshot(value.__self__))
    if isinstance(value, functools.partial):
        return ("partial", _snapshot_of_made(value.func), snapshot(value.args), snapshot(value.keywords))
    if isinstance(value, types.FunctionType):
        return ("function", value.__code__, snapshot(value.__defaults__), tuple(map(snapshot, _cells(value))))
    return snapshot(value)


def _alike(now: Any, was: Any) -> bool:
    """Whether two snapshots say the same; what is told by identity is not asked whether it is equal."""
    if now is was:
        return True
    if isinstance(now, tuple) and isinstance(was, tuple):
        return len(now) == len(was) and all(map(_alike, now, was))
    return isinstance(now, (*_DATA, frozenset)) and type(now) is type(was) and bool(now == was)


def _cells(function: types.FunctionType) -> list[Any]:
    """What a function finds in the variables around it; those that are not assigned yet it does not find."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return found


def _content(value: Any) -> Any:
    """What data of Python's or NumPy's is, a text for numbers that are no integers; no code of its class is run."""
    kind = type(value)
    if kind in (bool, int, str, bytes, type(None)):
        return value
    base = next(one for one in kind.__mro__ if one in _PLAIN or one.__module__ == "numpy")
    if base is int:
        return int.__add__(value, 0)
    show: Any = base.__str__ if base is str else base.__repr__
    return bytes(memoryview(value)) if base is bytes else show(value)


class Shown(str):
    """A text that is shown as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def snapshot_value(was: Any) -> Any:
    """What a snapshot was taken of, to be shown in a message."""
    kind = was[0]
    if kind in ("missing", "present", "not its own"):
        return Shown(kind)
    if kind == "keys":
        return was[1]
    if kind == "data":
        return Shown(was[2]) if isinstance(was[2], str) and was[1] is not str else was[2]
    if kind == "items":
        return was[1](map(snapshot_value, was[2])) if was[1] in (list, tuple) else Shown(f"a {was[1].__name__}")
    if kind == "dict":
        return {key: snapshot_value(held) for key, held in was[1]}
    if kind == "bounds":
        return was[1](*map(snapshot_value, was[2:]))
    if kind == "members":
        return Shown("a set")
    return set(was[1]) if kind == "set" else was[1]


def unchanged(value: Any, was: Any) -> bool:
    """Whether a value still is what a snapshot says."""
    kind = was[0]
    if kind == "same":
        return value is was[1]
    if kind == "method":
        return getattr(value, "__func__", None) is was[1]
    if kind == "keys":
        return bool(tuple(value) == was[1])
    if kind == "data":
        return type(value) is was[1] and _content(value) == was[2]
    if kind in ("bound", "partial", "function"):
        return _alike(_snapshot_of_made(value), was)
    if kind == "items":
        if len(was) > 3 and value is was[3]:  # which nothing can change
            return True
        same = type(value) is was[1] and len(value) == len(was[2])
        return same and all(map(unchanged, value, was[2]))
    if kind == "dict":
        same = isinstance(value, _MAPPINGS) and len(value) == len(was[1])
        return same and all(
            _same_key(key, before) and unchanged(part, held)
            for (key, part), (before, held) in zip(value.items(), was[1], strict=True)
        )
    if kind == "dtype":
        return isinstance(value, np.dtype) and value == was[1]
    now = snapshot(value)
    return bool(now[:2] == was[:2] if kind == now[0] == "members" else now == was)


def _same_key(key: Any, before: Any) -> bool:
    """Whether a key of a dict is the one that was there: data by value, objects by identity."""
    if key is before:
        return True
    if isinstance(before, tuple):
        return type(key) is type(before) and len(key) == len(before) and all(map(_same_key, key, before))
    return isinstance(before, _DATA) and type(key) is type(before) and bool(_content(key) == _content(before))
