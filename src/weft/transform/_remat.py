"""What a backward may compute again, and calls of `checkpoint`: regions of a graph of which nothing inside is kept."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from typing import Any

from weft.graph import Node
from weft.graph._control import check, fail
from weft.graph._looping import trip_count
from weft.ops import Spec
from weft.transform._calls import op_call


def is_repeatable(node: Node) -> bool:
    """Whether a node may run a second time: it draws nothing, has no effect, and all is known of what it calls."""
    if node.op != "call_function" or node.is_impure():
        return False
    if node.bodies:
        return all(_is_known(each) for body in node.bodies for each in body.nodes)
    return _is_known(node)


_PLAIN = frozenset({"builtins", "_operator", "operator", "math"})


def _is_known(node: Node) -> bool:
    if node.op != "call_function":
        return node.op in ("placeholder", "output", "get_attr")
    if node.bodies:
        return is_repeatable(node)
    if is_unsteady(node):
        return False
    module = getattr(node.target, "__module__", None) or ""
    return node.target is trip_count or module in _PLAIN or module.split(".")[0] == "weft" or op_call(node) is not None


def is_unsteady(node: Node) -> bool:
    """Whether a call would give something else later: see `mark_unsteady`."""
    return node._meta is not None and bool(node._meta.get("unsteady"))


def mark_unsteady(nodes: Iterable[Node]) -> None:
    """Mark what makes or reads lists and the like before the last change of one: the backward comes after it."""
    nodes = list(nodes)
    last = next((k for k in range(len(nodes) - 1, -1, -1) if _changes(nodes[k])), -1)
    for node in nodes[: last + 1]:
        _mark(node)


def _changes(node: Node) -> bool:
    if node.bodies:
        return any(_changes(each) for body in node.bodies for each in body.nodes)
    called = node.op in ("call_function", "call_method")
    return called and node.target not in (print, check, fail) and node.is_impure(impure_random=False)


def _mark(node: Node) -> None:
    for body in node.bodies:
        for each in body.nodes:
            _mark(each)
    if node.op == "call_function" and not node.bodies and any(map(_is_untyped, (node, *node.all_input_nodes))):
        node.meta["unsteady"] = True


def _is_untyped(node: Node) -> bool:
    return node.meta.get("type") is None and node.target is not getattr


def is_item(node: Node) -> bool:
    """Whether a node is one of the several values that another gives."""
    source = node.args[0] if node.op == "call_function" and node.target is operator.getitem else None
    return isinstance(source, Node) and not isinstance(source.meta.get("type"), Spec)


class Regions:
    """The calls of `checkpoint` among the nodes of a forward; `late` nodes are those of the backward.

    What a call gives to the rest of the forward, or as one of the `results`, is kept where it is needed, as the result
    of any other dear call is. What is inside is not: it is computed again, but for random draws and effects.
    """

    def __init__(self, nodes: Iterable[Node], late: Collection[Node], results: Collection[Any]) -> None:
        self.number: dict[Node, int] = {}
        for node in nodes:
            found = node.meta.get("checkpoint") if node._meta else None
            if found is None and is_item(node):
                found = self.number.get(node.args[0])
            if found is not None and node not in late:
                self.number[node] = found
        self.edge = {
            node
            for node, mine in self.number.items()
            if node in results or any(user not in late and self.number.get(user) != mine for user in node.users)
        }

    def inside(self, node: Node) -> bool:
        """Whether a node is one that is always computed again."""
        return node in self.number and node not in self.edge and is_repeatable(node)

    def gives(self, node: Node) -> bool:
        """Whether a node is what a call gives."""
        return node in self.edge
