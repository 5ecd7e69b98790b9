"""Arguments of nodes: nested tuples, lists, dicts and slices with nodes at some of their leaves.

They are kept immutable, so that an edge can only change through its node, which keeps `users` right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from weft import pytree
from weft.errors import GraphError

if TYPE_CHECKING:
    from weft.graph._graph import Graph
    from weft.graph._node import Node


# Classes of leaves; those that stand in the arguments of most nodes are told first.
LEAVES: set[type] = {int, float, bool, str, complex, type(None), type(...)}
NODES: set[type] = set()  # the class of nodes, which is a leaf too
LEAVES |= {type(np.dtype(code)) for code in f"?{np.typecodes['AllInteger']}{np.typecodes['AllFloat']}"}


class Value:
    """The base of `Node`: what is told apart in arguments, in a file that comes before that of `Node`."""

    __slots__ = ()


class Body:
    """The base of `Graph`, likewise."""

    clone: Any


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise GraphError(
        "arguments of a node cannot be changed in place",
        help="assign to node.args or node.kwargs, or use node.update_arg / node.update_kwarg",
    )


class ImmutableList(list[Any]):
    """A list inside a node's arguments."""

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # list turns hashing off because it can change; this one cannot
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ImmutableList, (list(self),))


class ImmutableDict(dict[Any, Any]):
    """A dict inside a node's arguments."""

    clear = pop = popitem = update = setdefault = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # as ImmutableList
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ImmutableDict, (dict(self),))


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply `fn` to every leaf of nested containers, slices and dataclasses; containers come back immutable."""
    if type(a) in LEAVES:
        return fn(a)
    if isinstance(a, tuple):
        parts = [map_aggregate(part, fn) for part in a]
        if hasattr(a, "_fields"):
            return pytree.from_parts(type(a), None, parts)
        return tuple(parts) if type(a) is tuple or not _unchanged(a, parts) else a
    if isinstance(a, list):
        parts = [map_aggregate(part, fn) for part in a]
        return ImmutableList(parts) if type(a) in (list, ImmutableList) or not _unchanged(a, parts) else a
    if isinstance(a, dict):
        parts = [map_aggregate(value, fn) for value in a.values()]
        plain = type(a) in (dict, ImmutableDict) or not _unchanged(a.values(), parts)
        return ImmutableDict(zip(a, parts, strict=True)) if plain else a
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return _map_dataclass(a, fn)
    return fn(a)


def _unchanged(old: Iterable[Any], new: Iterable[Any]) -> bool:
    """Whether a container of a class of its own, such as the default of a parameter, may stay what it is."""
    return all(a is b for a, b in zip(old, new, strict=True))


def _map_dataclass(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same object where no field changes, else another: without its constructor, which may change what it gets."""
    held = {f.name: getattr(a, f.name) for f in dataclasses.fields(a) if hasattr(a, f.name)}
    fields = {name: map_aggregate(value, fn) for name, value in held.items()}
    if all(fields[name] is value for name, value in held.items()):
        return a
    return pytree.build(type(a), **{**getattr(a, "__dict__", {}), **fields})


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply `fn` to every node in the arguments, leaving everything else as it is."""
    apply: Callable[[Any], Any] = fn
    return map_aggregate(a, lambda leaf: apply(leaf) if isinstance(leaf, Value) else leaf)


def map_copy(a: Any, fn: Callable[[Node], Any], copy: Callable[[Any], Graph] | None = None) -> Any:
    """As `map_arg`, for a node that is copied: graphs in the arguments, its bodies, become copies of their own."""
    apply: Callable[[Any], Any] = fn

    def leaf(value: Any) -> Any:
        if isinstance(value, Value):
            return apply(value)
        return value if not isinstance(value, Body) else value.clone() if copy is None else copy(value)

    return map_aggregate(a, leaf)


def in_structure(tree: pytree.Tree, leaves: Iterable[Any], create: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """A value with nodes at its leaves, as an argument of a node: containers that none can hold are calls themselves.

    `create(target, args)` records such a call. Lists, dicts, tuples, named tuples and dataclasses stay as they are.
    """
    if tree.kind is None:
        return next(iter(leaves))
    remaining = iter(leaves)
    parts = [in_structure(child, remaining, create) for child in tree.children]
    return container(tree.kind, tree.context, parts, create)


def container(kind: Any, context: Any, parts: list[Any], create: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """One container of `in_structure`, given its parts."""
    if kind in (list, tuple, dict) or _is_record(kind, context):
        return pytree.from_parts(kind, context, parts)
    return create(pytree.from_parts, (kind, context, parts))


def _is_record(kind: Any, context: Any) -> bool:
    """Whether arguments of a node may hold a container: a named tuple or a dataclass with nothing but its fields."""
    if pytree.is_registered(kind):
        return False
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return context is None
    return dataclasses.is_dataclass(kind) and {f.name for f in dataclasses.fields(kind)}.issuperset(context)


def freeze(a: Any) -> Any:
    """The same arguments with immutable containers."""
    kind = type(a)
    if kind in LEAVES:
        return a
    if kind is tuple:
        return tuple([part if type(part) in LEAVES else freeze(part) for part in a])
    if kind is slice and type(a.start) in LEAVES and type(a.stop) in LEAVES and type(a.step) in LEAVES:
        return a
    return map_aggregate(a, _constant)


def _constant(leaf: Any) -> Any:
    # Without its node the proxy would be a constant, and what it stands for would not be read.
    if getattr(type(leaf), "_is_proxy", False):
        raise GraphError(f"{leaf!r} cannot be an argument of a node", help="pass its node: proxy.node")
    return leaf


def nodes_in(a: Any) -> list[Node]:
    """Every node in the arguments, in order, as often as it appears."""
    found: list[Any] = []
    _collect((a,), found, NODES, Value)
    return found


def graphs_in(a: Any) -> list[Graph]:
    """Every graph in the arguments, in order, as often as it appears: the bodies of control flow."""
    found: list[Any] = []
    _collect((a,), found, (), Body)
    return found


def _collect(parts: Iterable[Any], found: list[Any], usual: Container[type], wanted: type) -> None:
    for part in parts:
        kind = type(part)
        if kind in usual:  # the usual ones are told by their class, which is quicker
            found.append(part)
        elif kind in LEAVES:
            continue
        elif kind is tuple or kind is ImmutableList:
            _collect(part, found, usual, wanted)
        elif isinstance(part, wanted):
            found.append(part)
        else:
            _collect(_parts_of(part), found, usual, wanted)


def _parts_of(a: Any) -> Iterable[Any]:
    """What a container in arguments holds; nothing for any other value."""
    if isinstance(a, (tuple, list)):
        return a
    if isinstance(a, dict):
        return a.values()
    if isinstance(a, slice):
        return (a.start, a.stop, a.step)
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return [getattr(a, f.name, None) for f in dataclasses.fields(a)]
    return ()
