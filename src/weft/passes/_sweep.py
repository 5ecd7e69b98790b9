"""One walk over a graph from inputs to output that replaces values as it goes.

What a node reads is brought up to date when the walk reaches it, once, however many of its inputs were replaced; so a
pass takes time linear in the graph. Replaced nodes are erased at the end.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from weft.graph import Graph, Node, map_arg
from weft.graph._looping import together
from weft.ops._op import TABLE

MISSING: Any = object()
_GETITEM = TABLE["getitem"]


class Sweep:
    """A walk over the nodes of a graph, during which some are replaced by other values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.written = written_values(graph)
        self._swaps: dict[Node, Any] = {}

    def __iter__(self) -> Iterator[Node]:
        for node in self.graph.nodes:
            if self._swaps and not self._swaps.keys().isdisjoint(node._input_nodes):
                current = lambda one: self._swaps.get(one, one)  # noqa: E731  # one expression, used twice below
                node._set(map_arg(node._args, current), map_arg(node._kwargs, current))
            if self._swaps or (node._target is operator.getitem and isinstance(node._args[0], Node)):
                item = item_of_container(node)
                if item is not MISSING and self.allows(node, item):
                    self.replace(node, item)
                    continue
            yield node
        for node in reversed(list(self._swaps)):
            self.graph.erase_node(node)

    def allows(self, node: Node, value: Any) -> bool:
        """Whether a value may be read in place of a node: what is written to an argument is always a node."""
        return isinstance(value, Node) or node not in self.written

    def replace(self, node: Node, value: Any) -> None:
        """Have everything read a value, made of earlier nodes and constants, in place of the node being visited."""
        if isinstance(value, Node):
            value.inherit_origin(node)
        self._swaps[node] = value


def is_getitem(node: Node) -> bool:
    """Whether the node reads an item: `x[key]`."""
    return (node._target is operator.getitem or node._target is _GETITEM) and len(node._args) == 2


def item_of_container(node: Node) -> Any:
    """The item that a node reads from a tuple, list or dict which stands in its arguments; MISSING where it is none."""
    if not is_getitem(node):
        return MISSING
    held, key = node._args
    if isinstance(held, Node) and held.op == "call_function" and held.target is together:
        held = held.args
    if not isinstance(held, (tuple, list, dict)):
        return MISSING
    if type(key) is int and isinstance(held, (tuple, list)):
        return held[key] if -len(held) <= key < len(held) else MISSING
    return held.get(key, MISSING) if isinstance(held, dict) and type(key) in (int, str) else MISSING


def written_values(graph: Graph) -> set[Node]:
    """The nodes whose values are written to arguments at the end of a run; they stay nodes."""
    last = next(reversed(graph.nodes), None)
    writes = last.kwargs.get("writes", ()) if last is not None and last.op == "output" else ()
    return {value for _, value in writes if isinstance(value, Node)}
