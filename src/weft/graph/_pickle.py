"""Graphs for `pickle` and `copy.deepcopy`, without walking the links between nodes: a long graph is a deep structure.

Saving to a file that others may read is not this: see `Graph.save`, whose files hold data only.
"""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

from weft.graph._arguments import map_aggregate, map_arg, map_copy
from weft.graph._graph import Graph
from weft.graph._node import Node, Origin

_Row = tuple[str, str, Any, Any, Any, Any, dict[str, Any]]


class Ref:
    """Stands for a node by its place in the list."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def reduce(graph: Graph) -> tuple[Any, ...]:
    """What `Graph.__reduce__` returns: a function and the rows it builds the graph from again."""
    to = {node: Ref(i) for i, node in enumerate(graph.nodes)}.__getitem__
    rows = []
    for n in graph.nodes:
        kwargs = map_arg(n.kwargs, to) if n.kwargs else None
        rows.append((n.name, n.op, n.target, map_arg(n.args, to), kwargs, n.type, _meta(n)))
    tracer = graph._tracer_cls if _importable(graph._tracer_cls) else None
    return (build, (rows, graph._names, graph.signature, graph.constants, tracer))


def build(rows: list[_Row], names: Any, signature: Any, constants: dict[str, Any], tracer_cls: Any) -> Graph:
    """The graph of some rows."""
    graph = Graph(tracer_cls=tracer_cls)
    nodes: list[Node] = []

    def resolve(leaf: Any) -> Any:
        return nodes[leaf.index] if isinstance(leaf, Ref) else leaf

    for name, op, target, args, kwargs, kind, meta in rows:
        arguments = map_aggregate(args, resolve), map_aggregate(kwargs, resolve) if kwargs else None
        node = graph.create_node(op, target, *arguments, name, kind)
        node.name = name
        if meta:
            node.meta = meta
        nodes.append(node)
    graph._names, graph.signature, graph.constants = names, signature, constants
    return graph


def duplicate(graph: Graph, memo: dict[int, Any]) -> Graph:
    """What `Graph.__deepcopy__` returns: the same nodes under the same names, and the places they came from."""
    copied = Graph(tracer_cls=graph._tracer_cls, tracer_extras=graph._tracer_extras)
    memo[id(graph)] = copied
    to: dict[Node, Node] = {}

    def body(inner: Graph) -> Graph:
        return memo[id(inner)] if id(inner) in memo else duplicate(inner, memo)

    for n in graph.nodes:
        kwargs = map_copy(n.kwargs, to.__getitem__, body) if n.kwargs else None
        args = map_copy(n.args, to.__getitem__, body)
        to[n] = node = copied.create_node(n.op, n.target, args, kwargs, n.name, n.type)
        node.name, node._position = n.name, n._position
        node._meta = None if n._meta is None else dict(n._meta)
        memo[id(n)] = node
    copied._names, copied.signature = graph._names.copy(), graph.signature
    copied.constants = deepcopy(graph.constants, memo)
    return copied


def _meta(node: Node) -> dict[str, Any]:
    """A node's facts, without code objects and classes that have no name to be found by; where it came from as text."""
    meta = dict(node._meta or {})
    if "from" in meta:
        meta["from"] = tuple(Origin(origin.name, None) for origin in meta["from"])
    if "nn_module_stack" in meta:
        meta["nn_module_stack"] = {
            k: v if isinstance(v, str) or _importable(v) else v.__qualname__ for k, v in meta["nn_module_stack"].items()
        }
    if node._position is not None:
        meta["stack_trace"] = node.stack_trace
    return meta


def _importable(cls: Any) -> bool:
    found: Any = sys.modules.get(getattr(cls, "__module__", ""))
    for part in getattr(cls, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is not None and found is cls
