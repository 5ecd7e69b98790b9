"""Places of objects from outside: what one holds, what a person calls it, and which others change along with it."""

from __future__ import annotations

import array
import collections
import dis
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft import pytree
from weft._module import Module
from weft._objects import MISSING, delete_state, dict_of, own_value, set_back, set_for_now, set_state
from weft.autograd import Tensor
from weft.capture._arguments import Leaf
from weft.capture._notices import warn
from weft.capture._opaque import is_traceable
from weft.capture._whole import Whole
from weft.graph import Node
from weft.graph._control import CONTROL, check, fail
from weft.ops import Op
from weft.pytree import LEAF

CONTAINERS = (
    list,
    dict,
    set,
    collections.deque,
    bytearray,
    array.array,
    collections.UserList,
    collections.UserDict,
    collections.ChainMap,
)
_OFTEN = 6  # so many values of one place, each with a graph of its own, are enough
KEEPING = frozenset(
    {"append", "appendleft", "add", "insert", "extend", "extendleft", "update", "setdefault", "put", "push"}
)
"""Methods of containers that keep what they are given."""
_CHANGING = (set_state, set_for_now, set_back, delete_state)
_SEEING_NOTHING = frozenset({"weft", "builtins", "_operator", "math", "cmath"})
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})

Key = tuple[Any, str]
"""A place as captures remember it: a class and an attribute of its objects, or the id of a space and a name in it."""


class Learned(BaseException):  # no error: no handler of the program may catch it
    """The program changes what was taken for fixed, and has to be captured again with that in mind."""

    def __init__(
        self, keys: Any, opaque: bool = False, whole: bool = False, lists: bool = False, seen: bool = False
    ) -> None:
        self.keys = keys
        self.opaque = opaque
        self.whole = whole
        self.lists = lists
        self.seen = seen

    @property
    def told(self) -> str:
        """What a person calls one of the places."""
        if not self.keys:
            return "list" if self.lists else "object"
        owner, name = next(iter(self.keys))
        return f".{name} of a {owner.__name__}" if isinstance(owner, type) else str(name)


class Known:
    """What captures of one function have found out about the state it changes."""

    def __init__(self) -> None:
        self.live: dict[Key, Any] = {}  # places read anew by each call; the value keeps an id what it is
        self.opaque: dict[Key, Any] = {}  # places that hold containers which change
        self.counts: collections.Counter[Key] = collections.Counter()  # values that cost a graph of their own
        self.calls = Whole()  # those of libraries that stay as they are
        self.whole = False  # whether objects that are arguments are what they are, and not what they hold
        self.lists = False  # whether the program changes lists that comprehensions of traced length give
        self.fixed = False  # whether the numbers of the call are fixed in the present capture
        self.seen = False  # whether code that runs as it is may see what was written into arrays of the caller

    def learn(self, found: Learned) -> None:
        (self.opaque if found.opaque else self.live).update(found.keys)
        self.whole = self.whole or found.whole
        self.lists = self.lists or found.lists
        self.seen = self.seen or found.seen

    def changing(self, function: Any, given: dict[str, Any]) -> set[str]:
        """The parameters that hold containers which change, or hold themselves.

        Where one does, others may be it, or hold its parts.
        """
        found = {name for name, value in given.items() if (function, name) in self.opaque or _is_endless(value)}
        kinds = (*CONTAINERS, tuple)
        return {name for name, value in given.items() if isinstance(value, kinds)} if found else found

    def differs(self, key: Key, kept: Any) -> None:
        """A graph did not hold for a call because of the value of a place."""
        self.live.setdefault(key, kept)
        self.counts[key] += 1

    def often(self, key: Key) -> bool:
        """Whether the value of a place has cost too many graphs."""
        return self.counts[key] > _OFTEN


class Input:
    """What a place holds when a call begins, as an input of the graph."""

    def __init__(self, owner: Any, name: str, value: Any, key: Key) -> None:
        self.owner, self.name, self.value, self.key = owner, name, value, key
        self.tree: Any = LEAF
        self.leaves: list[Leaf] = []
        self.traced: Any = None

    @property
    def label(self) -> str:
        """What a person calls it."""
        return label(self.owner, self.name)


def _is_endless(value: Any) -> bool:
    return not isinstance(value, (np.ndarray, Tensor, Module)) and pytree.holding_itself(value) is not None


def is_setting(value: Any) -> bool:
    """Whether a value is a dict of what names or chooses something: a graph may be for it alone."""
    return type(value) is dict and all(
        one is None or isinstance(one, (str, bool, type, types.FunctionType)) for pair in value.items() for one in pair
    )


def label(owner: Any, name: str) -> str:
    """What a person calls a place."""
    if is_space(owner):
        return name
    return f".{name} of {owner.__name__}" if isinstance(owner, type) else f".{name} of a {type(owner).__name__}"


def place_label(owner: Any, name: str) -> str:
    return name if is_space(owner) else f".{name}"


def is_object(value: Any) -> bool:
    """Whether a value is an object of a class of the program's own, with attributes."""
    if isinstance(value, (type, Module, Tensor, BaseException, tuple, *CONTAINERS)):
        return False
    step = getattr(type(value), "__next__", None)
    if step is not None and not isinstance(step, types.FunctionType):  # an iterator of Python's
        return False
    if callable(value) and not isinstance(getattr(type(value), "__call__", None), types.FunctionType):  # noqa: B004  # what a call of it runs is wanted
        return False
    return is_own(type(value)) and (dict_of(value) is not None or hasattr(type(value), "__slots__"))


def is_container(value: Any) -> bool:
    """Whether an argument of this kind is taken apart."""
    return pytree.flatten(value)[1].kind is not None


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and is_traceable(value)


def attributes(value: Any) -> list[str]:
    """The names of what an object holds itself."""
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    return [*(name for name in slots if own_value(value, name) is not MISSING), *(dict_of(value) or ())]


def _slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def parts(value: Any) -> Iterator[Any]:
    """What a container holds, and what is in that, each container opened once; nothing of any other value."""
    waiting, opened = [value], {id(value)}
    while waiting:
        container = waiting.pop()
        if not isinstance(container, (*CONTAINERS, tuple, frozenset)) or isinstance(
            container, (bytearray, array.array)
        ):
            continue
        for part in container.values() if hasattr(container, "values") else container:
            yield part
            if isinstance(part, (*CONTAINERS, tuple)) and id(part) not in opened:
                opened.add(id(part))
                waiting.append(part)


def is_space(owner: Any) -> bool:
    """Whether names are looked up in it: the dict of a module, or the cell of a variable."""
    return type(owner) is dict or isinstance(owner, types.CellType)


def present_value(owner: Any, name: str) -> Any:
    """What is read there."""
    if is_space(owner):
        return own_value(owner, name)
    return getattr(owner, name, MISSING)


def assigned_with(owner: Any, *given: str) -> list[Key]:
    """Places that are likely assigned where others are: what methods of the class assign, save those that make it."""
    if is_space(owner):
        return [(id(owner), name) for name in given]
    cls = owner if isinstance(owner, type) else type(owner)
    names = set(given)
    for part in cls.__mro__[:-1]:
        for method in vars(part).values():
            function = getattr(method, "__func__", getattr(method, "fget", method))
            if isinstance(function, types.FunctionType) and function.__name__ not in _MAKING:
                stored = (i for i in dis.get_instructions(function.__code__) if i.opname == "STORE_ATTR")
                names |= {str(instruction.argval) for instruction in stored}
    return [(cls, one) for one in names]


def is_own(value: Any) -> bool:
    """Whether a function or a module is the program's, and no part of weft, NumPy or the standard library."""
    return is_own_module(
        getattr(value, "__name__" if isinstance(value, types.ModuleType) else "__module__", None) or ""
    )


def is_own_module(name: str) -> bool:
    """The same of a module, by its name."""
    root = name.partition(".")[0]
    return root not in ("numpy", "weft") and (root == "__main__" or root not in sys.stdlib_module_names)


def check_value(recorder: Any, owner: Any, name: str, value: Any) -> None:
    """Refuse values that an object is not to hold when the graph runs."""
    if isinstance(owner, Module) and (isinstance(value, (Module, Tensor)) or name in vars(owner).get("_buffers", ())):
        recorder.refuse(f"{label(owner, name)}, a part of a module, is assigned", help="do it outside")
    if getattr(type(value), "_is_tensor", False) or isinstance(value, Tensor):
        recorder.refuse(
            f"a Tensor is kept in {label(owner, name)}", help="keep its numbers: .item(), or .detach().numpy()"
        )


def same_value(one: Any, other: Any) -> bool:
    """Whether a place is as it was: with the same object, or a number or text equal to it."""
    if one is other:
        return True
    return (
        type(one) in (bool, int, float, complex, str, bytes) and type(one) is type(other) and repr(one) == repr(other)
    )


def nodes_between(first: Node, last: Node) -> Iterator[Node]:
    """The nodes behind one and before another."""
    node = first._next
    while node is not last:
        yield node
        node = node._next


def sees_nothing(node: Node, name: str) -> bool:
    """Whether a call runs no code of the program's, and can come by no place of a name but one that it is given."""
    target: Any = node.target
    if node.op != "call_function" or target in (*_CHANGING, fail, check, warn):
        return node.op != "call_method"
    if target in CONTROL:
        inside = [part for body in node.bodies for part in body.nodes]
        changes = (part.args[1] for part in inside if part.target in _CHANGING)
        return name not in changes and all(sees_nothing(part, name) for part in inside)
    module = str(getattr(target, "__module__", None) or "").partition(".")[0]
    if isinstance(target, (Op, np.ufunc)) or module == "numpy":
        return _is_typed(node)
    known = module in _SEEING_NOTHING or isinstance(target, types.MethodDescriptorType)
    return known and (target is print or _is_typed(node)) and all(map(_is_typed, node.all_input_nodes))


def _is_typed(node: Node) -> bool:
    return (node._meta or {}).get("type") is not None


def let_go(recorder: Any, value: Any) -> None:
    """The program's own container is the running graph's: changed by another name, it is refused."""
    for part in (value, *parts(value)):
        home = recorder._home(part) if isinstance(part, CONTAINERS) else None
        if home is not None:
            home.made.discard(id(part))


def share_parts(changing: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether containers that change are, or hold, some that others are or hold."""
    known: set[int] = set()
    for value in changing:
        known |= {id(part) for part in (value, *parts(value)) if isinstance(part, CONTAINERS)}
    return any(id(part) in known for value in others for part in (value, *parts(value)) if isinstance(part, CONTAINERS))


def names_before(owner: Any, changed: list[tuple[str, Any]]) -> tuple[str, ...]:
    """The attributes that an object had, given what the changed ones held at first."""
    first = dict(reversed(changed))
    kept = [name for name in owner.__dict__ if first.get(name, owner) is not MISSING]
    return (*kept, *(name for name, was in first.items() if was is not MISSING and name not in owner.__dict__))
