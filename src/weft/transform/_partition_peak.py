"""The order in which the two halves of a joint graph run, and the most memory they have at once.

What is computed again is computed right before it is read first, so that it lives no longer than it must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.graph import Node
from weft.transform._partition_cost import base_of, bytes_of_node, inner_bytes


@dataclass(frozen=True)
class Peak:
    """The most bytes there are at once, and the node that then runs."""

    most: float
    at: Node | None


def backward_order(late: Sequence[Node], outputs: Iterable[Any], have: set[Node]) -> list[tuple[Node, bool]]:
    """The nodes that the backward runs, and whether each is computed again; `have` is what it is given."""
    order: list[tuple[Node, bool]] = []
    done = set(have)
    for node in late:
        _compute(node.all_input_nodes, done, order)
        done.add(node)
        order.append((node, False))
    _compute([node for node in outputs if isinstance(node, Node)], done, order)
    return order


def _compute(wanted: Iterable[Node], done: set[Node], order: list[tuple[Node, bool]]) -> None:
    """Add what has to run to have some nodes, in the order of the graph."""
    found: set[Node] = set()
    waiting = [node for node in wanted if node not in done]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(each for each in node.all_input_nodes if each not in done)
    for node in sorted(found):
        done.add(node)
        order.append((node, True))


def forward_order(nodes: Iterable[Node], wanted: Iterable[Any], always: Iterable[Node]) -> list[Node]:
    """The nodes that have to run for some values, and those that run anyway."""
    found: set[Node] = set()
    waiting = [node for node in (*wanted, *always) if isinstance(node, Node)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return [node for node in nodes if node in found]


class Storage:
    """Remembers what each node allocates; asked once for each of many orders."""

    def __init__(self) -> None:
        self.bases: dict[Node, Node] = {}
        self.sizes: dict[Node, float] = {}
        self.inner: dict[Node, float] = {}

    def base(self, node: Node) -> Node:
        found = self.bases.get(node)
        if found is None:
            found = self.bases[node] = base_of(node)
        return found

    def bytes(self, node: Node) -> float:
        found = self.sizes.get(node)
        if found is None:
            found = self.sizes[node] = bytes_of_node(node)
        return found

    def within(self, node: Node) -> float:
        if not node.bodies:
            return 0.0
        found = self.inner.get(node)
        if found is None:
            found = self.inner[node] = inner_bytes(node)
        return found


def peak_of(
    nodes: Sequence[Node],
    results: Iterable[Any],
    uncounted: set[Node],
    given: Iterable[Node] = (),
    storage: Storage | None = None,
) -> Peak:
    """The most bytes at once while nodes run in this order.

    `results` live to the end; `given` are there at the start, and go after their last use. Memory of `uncounted` nodes
    is somebody else's, as that of arguments is; so is that of inputs which are not given.
    """
    storage = Storage() if storage is None else storage
    counted = {*nodes, *given}
    last: dict[Node, int] = {}
    for at, node in enumerate(nodes):
        last[storage.base(node)] = max(at, last.get(storage.base(node), at))
        for each in node.all_input_nodes:
            last[storage.base(each)] = at
    for node in results:
        if isinstance(node, Node):
            last[storage.base(node)] = len(nodes)
    ends: dict[int, list[Node]] = {}
    for node, at in last.items():
        ends.setdefault(at, []).append(node)
    alive: set[Node] = set()
    total = 0.0
    for node in given:
        base = storage.base(node)
        if base not in alive and base not in uncounted:
            alive.add(base)
            total += storage.bytes(base)
    counted |= alive
    best = Peak(total, None)
    for at, node in enumerate(nodes):
        base = storage.base(node)
        if base not in alive and base in counted and base not in uncounted:
            alive.add(base)
            total += storage.bytes(base)
        now = total + storage.within(node)
        if now > best.most:
            best = Peak(now, node)
        for gone in ends.get(at, ()):
            if gone in alive:
                alive.discard(gone)
                total -= storage.bytes(gone)
    return best
