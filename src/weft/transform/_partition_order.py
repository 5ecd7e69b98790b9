"""The order in which the two halves of a joint graph run.

What is computed again is computed right before it is read first, so that it lives no longer than it must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from weft.graph import Node


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
