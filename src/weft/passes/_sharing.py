"""Which values the caller may hold: what is returned, written to an argument or put into an object, and its views.

Values inside a graph may be one and the same array without anybody noticing. Two results may not, nor a result and an
argument, unless they were before: whoever called may write into one and would see the other change.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.graph._effects import HOLDS
from weft.ops._op import OWN, Op, op_of
from weft.ops._spec import Spec

_NUMBERS = (int, float, bool, complex)


def is_fresh(value: Any) -> bool:
    """Whether a value is a node whose result shares memory with nothing computed before it."""
    if not isinstance(value, Node) or value._op != "call_function":
        return False
    op = op_of(value._target)
    return op is not None and op.memory == OWN


def is_number(value: Any) -> bool:
    """Whether a value is for certain a number, of Python's or NumPy's, which nobody can write into."""
    if not isinstance(value, Node):
        return isinstance(value, (*_NUMBERS, np.generic))
    kind = (value._meta or {}).get("type")
    if isinstance(kind, type):
        return kind in _NUMBERS
    return isinstance(kind, Spec) and kind.shape == () and gives_scalars(value)


def gives_scalars(node: Node) -> bool:
    """Whether a node of shape () gives a NumPy scalar and not an array without dimensions: ufuncs do."""
    op: Op | None = op_of(node.target) if node.op == "call_function" else None
    return op is not None and isinstance(op.eval, np.ufunc)


class Held:
    """The nodes of a graph whose arrays the caller may hold after a run."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: set[Node] = set()
        pending: list[Node] = []  # what is in the hands of the caller after the run
        for node in graph.nodes:
            if node._op == "output" or (node._op == "call_function" and getattr(node._target, HOLDS, False)):
                pending += node._input_nodes
        self._given = set(pending)  # results, and what is written to arguments
        while pending:
            node = pending.pop()
            if node not in self._nodes and not is_number(node):
                self._nodes.add(node)
                if not is_fresh(node):
                    pending += node._input_nodes

    def __contains__(self, node: Node) -> bool:
        return node in self._nodes

    def allows(self, node: Node, instead: Any) -> bool:
        """Whether `instead`, a node or a constant, may be read where `node` is; takes it that it then is."""
        if node not in self._nodes or not isinstance(instead, Node) or is_number(node):
            return True
        if not is_fresh(instead) or instead in self._nodes or node in self._views:
            return False
        self._nodes.add(instead)
        return True

    @cached_property
    def _views(self) -> set[Node]:
        """The nodes that may be views of a result, or of an array that the graph writes to: they stay that."""
        found: set[Node] = set()
        for node in self._graph.nodes:
            if any(one in self._given or one in found for one in node._input_nodes) and not is_fresh(node):
                found.add(node)
        return found

    def merges(self, node: Node, twin: Node) -> bool:
        """Whether `twin`, which makes the same call, may be read where `node` is; takes it that it then is."""
        if node in self._nodes and not is_number(node):
            if twin in self._nodes:
                return False
            self._nodes.add(twin)
        return True
