"""Nested containers as trees: dicts, lists, tuples, named tuples and dataclasses with values at their leaves.

>>> leaves, tree = flatten({"a": 1, "b": [2, 3]})
>>> leaves
[1, 2, 3]
>>> tree.unflatten([10, 20, 30])
{'a': 10, 'b': [20, 30]}
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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
    _registered[cls] = (open, close)


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
        return _close(self.kind, self.context, [child._build(leaves) for child in self.children])


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
        opened = _open(value)
        if opened is not None:
            children, context = opened
            return Tree(type(value), context, tuple(_flatten(child, leaves, is_leaf) for child in children))
    leaves.append(value)
    return LEAF


def _open(value: Any) -> tuple[list[Any], Any] | None:
    cls = type(value)
    if cls in _registered:
        return _registered[cls][0](value)
    if isinstance(value, dict):
        keys = tuple(value)
        return list(value.values()), (value.default_factory, keys) if isinstance(value, defaultdict) else keys
    if cls in (list, tuple) or is_namedtuple(value):
        return list(value), None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # A field without default that no constructor sets need not be there yet.
        fields = tuple(f.name for f in dataclasses.fields(value) if hasattr(value, f.name))
        return [getattr(value, name) for name in fields], fields
    return None


def _close(kind: type, context: Any, children: list[Any]) -> Any:
    if kind in _registered:
        return _registered[kind][1](context, children)
    if kind in (dict, list, tuple):
        return kind(zip(context, children, strict=True) if kind is dict else children)
    if issubclass(kind, dict):
        return _close_dict(kind, context, children)
    # Classes are filled without their constructors, which may take other arguments or change what they are given.
    if issubclass(kind, tuple):
        return tuple.__new__(kind, children)
    return build(kind, **dict(zip(context, children, strict=True)))


def build(cls: type, /, **attributes: Any) -> Any:
    """An object of a class with these attributes, made without calling anything of its class."""
    built: Any = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(built, name, value)
    return built


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
