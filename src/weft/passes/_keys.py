"""Keys that are equal only where two arguments are interchangeable: the same value of the same type, to the bit.

1, 1.0 and True have other keys, and so have 0.0 and -0.0; NaNs with the same bits have one. Arrays and objects that
nothing is known of are told apart by identity.
"""

from __future__ import annotations

import dataclasses
import struct
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.graph import Graph, Node
from weft.graph._arguments import ImmutableDict, ImmutableList
from weft.ops._op import TABLE, Op

_BY_VALUE = frozenset({bool, int, str, bytes, type(None), type(...)})


def key_of(value: Any, nodes: dict[Node, int] | None = None) -> Any:
    """A hashable key of an argument; nodes count by identity, or by the number that `nodes` has for them."""
    kind = type(value)
    if kind is Node:
        return value if nodes is None else ("node", nodes[value])
    if kind in _BY_VALUE:
        return (kind, value)
    if kind is float:
        return (float, struct.pack("d", value))
    if kind is complex:
        return (complex, struct.pack("dd", value.real, value.imag))
    if kind in (tuple, list, ImmutableList):
        return (tuple if kind is tuple else list, *[key_of(part, nodes) for part in value])
    return _other_key(value, nodes)


def _other_key(value: Any, nodes: dict[Node, int] | None) -> Any:
    kind = type(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufcmMSU":
        return (kind, value.dtype, value.tobytes())
    if isinstance(value, (np.dtype, type)):
        return (kind, value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (kind, *[key_of(part, nodes) for part in value])
    if kind in (dict, ImmutableDict):
        return (dict, *[(key_of(name), key_of(part, nodes)) for name, part in value.items()])
    if kind is slice:
        return (slice, *[key_of(part, nodes) for part in (value.start, value.stop, value.step)])
    if kind is Graph:
        return BodyKey(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (kind, *[key_of(getattr(value, f.name, None), nodes) for f in dataclasses.fields(value)])
    return (kind, id(value))


def key_of_call(node: Node, nodes: dict[Node, int] | None = None) -> Any:
    """A key of what a node calls, and with what."""
    target, args, kwargs = node._target, node._args, node._kwargs
    op = target if isinstance(target, Op) else TABLE.get(str(target)) if node._op == "call_method" else None
    if op is not None and (kwargs or len(args) > 1):  # as the op takes them: by position, defaults filled in
        with suppress(TypeError, WeftError):
            args, kwargs = tuple(op.bind(args, kwargs)), {}
    named = tuple([(name, key_of(kwargs[name], nodes)) for name in sorted(kwargs)]) if kwargs else ()
    return (node._op, target if isinstance(target, str) else id(target), tuple([key_of(a, nodes) for a in args]), named)


class BodyKey:
    """A key of all that a body computes. It is worked out only where another body has as many nodes."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._length = len(graph.nodes)

    @cached_property
    def _rows(self) -> tuple[Any, ...]:
        return key_of_graph(self._graph)

    def __hash__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BodyKey) and self._length == other._length and self._rows == other._rows


def key_of_graph(graph: Graph) -> tuple[Any, ...]:
    """A key of all that a body computes, whatever its nodes are called."""
    nodes: dict[Node, int] = {}
    rows = []
    for node in graph.nodes:
        rows.append(("placeholder",) if node._op == "placeholder" else key_of_call(node, nodes))
        nodes[node] = len(nodes)
    return tuple(rows)


def same(a: Any, b: Any) -> bool:
    """Whether two arguments are interchangeable."""
    return a is b or bool(key_of(a) == key_of(b))
