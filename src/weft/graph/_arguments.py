"""Arguments of nodes: nested tuples, lists, dicts and slices with nodes at some of their leaves.

They are kept immutable, so that an edge can only change through its node, which keeps `users` right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from weft.errors import GraphError

if TYPE_CHECKING:
    from weft.graph._node import Node


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
    if isinstance(a, tuple):
        parts = [map_aggregate(part, fn) for part in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return ImmutableList([map_aggregate(part, fn) for part in a])
    if isinstance(a, dict):
        return ImmutableDict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return dataclasses.replace(
            a, **{f.name: map_aggregate(getattr(a, f.name), fn) for f in dataclasses.fields(a) if f.init}
        )
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply `fn` to every node in the arguments, leaving everything else as it is."""
    from weft.graph._node import Node

    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def freeze(a: Any) -> Any:
    """The same arguments with immutable containers."""
    return map_aggregate(a, _constant)


def _constant(leaf: Any) -> Any:
    # Without its node the proxy would be a constant, and what it stands for would not be read.
    if getattr(type(leaf), "_is_proxy", False):
        raise GraphError(f"{leaf!r} cannot be an argument of a node", help="pass its node: proxy.node")
    return leaf


def nodes_in(a: Any) -> Iterator[Node]:
    """Every node in the arguments, in order, as often as it appears."""
    from weft.graph._node import Node

    if isinstance(a, Node):
        yield a
    elif isinstance(a, (tuple, list)):
        for part in a:
            yield from nodes_in(part)
    elif isinstance(a, dict):
        for part in a.values():
            yield from nodes_in(part)
    elif isinstance(a, slice):
        yield from nodes_in((a.start, a.stop, a.step))
    elif dataclasses.is_dataclass(a) and not isinstance(a, type):
        for f in dataclasses.fields(a):
            yield from nodes_in(getattr(a, f.name))
