"""Nested containers as trees: dicts, lists, tuples, deques, dataclasses and what is like them, with values at leaves.

A container comes back as it was: of its class, its keys in their order, with its `default_factory`, its `maxlen` and
the attributes that an object of a derived class has besides.

>>> leaves, tree = flatten({"a": 1, "b": [2, 3]})
>>> leaves
[1, 2, 3]
>>> tree.unflatten([10, 20, 30])
{'a': 10, 'b': [20, 30]}
"""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from types import GetSetDescriptorType, MappingProxyType, NoneType
from typing import Any, NamedTuple

from weft._listing import listing as _listing

Opener = Callable[[Any], tuple[list[Any], Any]]
Closer = Callable[[Any, list[Any]], Any]

_registered: dict[type, tuple[Opener, Closer]] = {}


def register(cls: type, open: Opener, close: Closer) -> None:
    """Make a class a container: `open(value)` gives (children, context), `close(context, children)` builds it again.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register(Pair, lambda p: ([p.a, p.b], None), lambda _, parts: Pair(*parts))
    >>> flatten(Pair(1, [2, 3]))[0]
    [1, 2, 3]
    """
    given: tuple[Any, ...] = (cls, open, close)
    if not isinstance(given[0], type) or not callable(given[1]) or not callable(given[2]):
        raise TypeError(
            f"register takes a class and two functions, got {cls!r}, {type(open).__name__} and {type(close).__name__}"
        )
    _registered[cls] = (open, close)


def is_registered(cls: type) -> bool:
    """Whether `register` was told of a class."""
    return cls in _registered


@dataclasses.dataclass(frozen=True)
class Tree:
    """The structure of a flattened value. `kind` is None for a leaf."""

    kind: type | None
    context: Any
    children: tuple[Tree, ...]

    @property
    def leaf_count(self) -> int:
        """How many leaves the value has."""
        return 1 if self.kind is None else sum(child.leaf_count for child in self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Build the value again from its leaves."""
        remaining = iter(leaves)
        value = self._build(remaining)
        if next(remaining, _END) is not _END:
            raise ValueError(f"unflatten: more than the {self.leaf_count} leaves this tree has")
        return value

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            leaf = next(leaves, _END)
            if leaf is _END:
                raise ValueError("unflatten: too few leaves for this tree")
            return leaf
        return from_parts(self.kind, self.context, [child._build(leaves) for child in self.children])


_END = object()
LEAF = Tree(None, None, ())


def flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Tree]:
    """The leaves of a nested value, left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves, is_leaf)


def leaves_of(value: Any) -> list[Any]:
    """The leaves alone."""
    return flatten(value)[0]


def map(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """Apply a function to each leaf (and to the leaves of others of the same structure), keeping the structure.

    >>> map(lambda x: x + 1, {"a": 1, "b": (2, 3)})
    {'a': 2, 'b': (3, 4)}
    """
    leaves, tree = flatten(value)
    columns = [leaves]
    for other in others:
        more, shape = flatten(other)
        if shape != tree:
            raise ValueError(f"map: structures differ: {tree} and {shape}")
        columns.append(more)
    return tree.unflatten(function(*row) for row in zip(*columns, strict=True))


def is_namedtuple(value: Any) -> bool:
    """Whether the value is an instance of a named tuple class."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def _flatten(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> Tree:
    if is_leaf is None or not is_leaf(value):
        opened = parts_of(value)
        if opened is not None:
            children, context = opened
            return Tree(type(value), context, tuple(_flatten(child, leaves, is_leaf) for child in children))
    leaves.append(value)
    return LEAF


def holding_itself(value: Any) -> Any:
    """A container among a value and its parts that holds itself, so that none of them is a tree; None where none does.

    >>> endless = [1]
    >>> endless.append(endless)
    >>> holding_itself((2, endless)) is endless
    True
    """
    around: dict[int, Any] = {}
    done: dict[int, Any] = {}
    waiting = [(value, False)]
    while waiting:
        one, left = waiting.pop()
        if left:
            done[id(one)] = around.pop(id(one))
        elif id(one) in around:
            return one
        elif id(one) not in done and (opened := parts_of(one)) is not None:
            around[id(one)] = one
            waiting += [(one, True), *((part, False) for part in opened[0] if type(part) not in _PLAIN)]
    return None


class Extended(NamedTuple):
    """The context of a container of a derived class that has attributes besides: their values follow its parts.

    `names` is None for a dict whose attributes are its items, as `self.__dict__ = self` makes it.
    """

    context: Any
    names: tuple[str, ...] | None


def parts_of(value: Any) -> tuple[list[Any], Any] | None:
    """The parts of a container and its context, from which `from_parts` makes it again; None of any other value.

    >>> parts_of(deque([1, 2], 3))
    ([1, 2], 3)
    """
    cls = type(value)
    if cls in _PLAIN:
        return None
    if cls in _registered:
        return _registered[cls][0](value)
    if isinstance(value, enum.Enum):  # there is one of each, whatever it is besides
        return None
    for kind, opener in _OPENERS:
        if isinstance(value, kind):
            return opener(value) if cls is kind or kind in _OBJECTS else _derived(value, opener)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return None
    # A field without default that no constructor sets need not be there yet.
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
    return _attributes(value, fields)


def _derived(value: Any, opener: Opener) -> tuple[list[Any], Any] | None:
    """A container of a derived class, with its attributes."""
    if isinstance(value, tuple) and not _is_filled(type(value)):
        return None
    parts, context = opener(value)
    more = _hidden(value) if _hides_attributes(type(value)) else getattr(value, "__dict__", None)
    if more is value:
        return parts, Extended(context, None)
    return ([*parts, *more.values()], Extended(context, tuple(more))) if more else (parts, context)


def _hides_attributes(cls: type) -> bool:
    """Whether a class says itself what the `__dict__` of its objects is."""
    found = (vars(part)["__dict__"] for part in cls.__mro__ if "__dict__" in vars(part))
    return not isinstance(next(found, None), (GetSetDescriptorType, NoneType))


def _hidden(value: Any) -> dict[str, Any] | None:
    """The attributes of an object whose class hides them."""
    state: Any = object.__getstate__(value)
    return state[0] if isinstance(state, tuple) else state  # type: ignore[no-any-return]  # with those of its slots


def has_items_as_attributes(value: Any) -> bool:
    """Whether an object is a dict whose attributes are its items: `self.__dict__ = self`."""
    return isinstance(value, dict) and getattr(value, "__dict__", None) is value


def from_parts(kind: Any, context: Any, parts: list[Any]) -> Any:
    """A container of a class, given its context and its parts: what `parts_of` takes apart.

    Classes are filled without their constructors, which may take other arguments or change what they are given.

    >>> from_parts(deque, 3, [1, 2])
    deque([1, 2], maxlen=3)
    """
    if kind in _registered:
        return _registered[kind][1](context, parts)
    if kind in (list, tuple):
        return kind(parts)
    if kind is dict:
        return dict(zip(context, parts, strict=True))
    if not isinstance(kind, type):
        raise TypeError(f"from_parts: {kind!r} is no class")
    if type(context) is not Extended:
        return _close(kind, context, parts)
    if context.names is None:
        built = _close(kind, context.context, parts)
        built.__dict__ = built
        return built
    count = len(parts) - len(context.names)
    built = _close(kind, context.context, parts[:count])
    for name, part in _named(context.names, parts[count:]).items():
        object.__setattr__(built, name, part)
    return built


def _close(kind: Any, context: Any, parts: list[Any]) -> Any:
    if issubclass(kind, dict):
        return _close_dict(kind, context, parts)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    if issubclass(kind, (list, deque)):
        built: Any = kind.__new__(kind)
        if issubclass(kind, deque):
            deque.__init__(built, parts, context)
        else:
            list.extend(built, parts)
        return built
    if issubclass(kind, MappingProxyType):
        return MappingProxyType(*parts)
    if not issubclass(kind, _OBJECTS) and not dataclasses.is_dataclass(kind):
        raise TypeError(f"from_parts: {kind.__name__} is no container; see weft.pytree.register")
    return build(kind, **_named(context, parts))


def _named(names: tuple[str, ...], values: list[Any]) -> dict[str, Any]:
    """Attributes by name; names of Python's own reach into objects, and a saved graph could give any."""
    if any(name.startswith("__") and name.endswith("__") for name in names):
        raise ValueError(f"from_parts: {names!r} are no names of attributes")
    return dict(zip(names, values, strict=True))


def readers(tree: Tree) -> list[tuple[Callable[..., Any], Any]]:
    """How to read each part of a container: `getattr` or `operator.getitem`, and the name or the key.

    >>> readers(flatten({"a": 1})[1])
    [(<built-in function getitem>, 'a')]
    """
    kind, context = tree.kind, tree.context
    more: list[tuple[Callable[..., Any], Any]] = []
    if type(context) is Extended:
        more = [(getattr, name) for name in context.names or ()]
        context = context.context
    count = len(tree.children) - len(more)
    if kind is None or kind in _registered:
        return [(operator.getitem, k) for k in range(count)]
    if issubclass(kind, dict):
        return [*((operator.getitem, key) for key in dict_keys(kind, context)), *more]
    if issubclass(kind, _OBJECTS) or dataclasses.is_dataclass(kind):
        return [(getattr, name) for name in context]
    if hasattr(kind, "_fields"):
        return [*((getattr, name) for name in kind._fields), *more]
    return [*((operator.getitem, k) for k in range(count)), *more]


def steps(tree: Tree) -> list[str]:
    """How a person writes the way to each part of a container: `['a']`, `.x`, `[0]`."""
    return [f".{key}" if read is getattr else f"[{key!r}]" for read, key in readers(tree)]


def _open_dict(value: dict[Any, Any]) -> tuple[list[Any], Any]:
    keys = tuple((OrderedDict if isinstance(value, OrderedDict) else dict).__iter__(value))
    parts = [dict.__getitem__(value, key) for key in keys]
    return parts, (value.default_factory, keys) if isinstance(value, defaultdict) else keys


def _attributes(value: Any, fields: dict[str, Any] | None = None) -> tuple[list[Any], tuple[str, ...]]:
    """The attributes of an object, those of its class's fields first."""
    held = {**(fields or {}), **getattr(value, "__dict__", {})}
    return list(held.values()), tuple(held)


_OBJECTS = (UserDict, UserList, ChainMap)  # written in Python: what they hold is in their attributes
_OPENERS: tuple[tuple[Any, Opener], ...] = (
    (dict, _open_dict),
    (list, lambda value: (list(list.__iter__(value)), None)),
    (tuple, lambda value: (list(tuple.__iter__(value)), None)),
    (deque, lambda value: (list(value), value.maxlen)),
    (MappingProxyType, lambda value: ([value.copy()], None)),
    *((kind, _attributes) for kind in _OBJECTS),
)
_PLAIN = frozenset({int, float, bool, str, type(None), complex})


def _is_filled(cls: type) -> bool:
    """Whether a class of tuples can be filled; those that C code makes, such as `time.struct_time`, cannot."""
    try:
        tuple.__new__(cls, ())
    except TypeError:
        return False
    return True


def build(cls: type, /, **attributes: Any) -> Any:
    """An object of a class with these attributes, made without calling anything of its class."""
    built: Any = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(built, name, value)
    return built


def made_of_parts(cls: Any) -> bool:
    """Whether calling a class of named tuples with its parts gives just them: none has another constructor."""
    return str(cls.__new__.__module__).startswith("namedtuple_") and cls.__init__ is object.__init__


def made_of_fields(value: Any) -> bool:
    """Whether calling the class of a dataclass instance with its fields gives the same again."""
    cls: Any = type(value)
    own = "__dataclass_params__" in cls.__dict__ and cls.__dataclass_params__.init
    names = {f.name for f in dataclasses.fields(value) if f.init}
    rest = len(dataclasses.fields(value)) - len(names)
    only = names.issuperset(getattr(value, "__dict__", ())) and cls.__new__ is object.__new__
    return own and only and not rest and not hasattr(cls, "__post_init__") and not _has_init_only(cls)


def _has_init_only(cls: type) -> bool:
    return any(f._field_type is dataclasses._FIELD_INITVAR for f in cls.__dataclass_fields__.values())  # type: ignore[attr-defined]


def dict_keys(kind: type[dict[Any, Any]], context: Any) -> Any:
    """The keys of a dict, from the context of its tree."""
    return context[1] if issubclass(kind, defaultdict) else context


def _close_dict(kind: type[dict[Any, Any]], context: Any, children: list[Any]) -> Any:
    """A dict of a class of its own, filled without its constructor: that of Counter counts what it is given."""
    built: Any = kind.__new__(kind)
    if issubclass(kind, defaultdict):
        defaultdict.__init__(built, context[0])
    base: Any = OrderedDict if issubclass(kind, OrderedDict) else dict
    for key, child in zip(dict_keys(kind, context), children, strict=True):
        base.__setitem__(built, key, child)
    return built


__all__ = ["Tree", "flatten", "map", "register"]
__dir__ = _listing(__name__)
