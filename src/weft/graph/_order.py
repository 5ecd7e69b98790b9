"""Orders of a graph's nodes: one they can run in, and how far each is from the inputs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft.errors import GraphError
from weft.graph._node import Node
from weft.graph._print import described

if TYPE_CHECKING:
    from weft.graph._graph import Graph


def topological_order(graph: Graph) -> list[Node]:
    """All nodes so that each comes after its inputs, the present order kept wherever it allows that (Kahn, 1962)."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    if all(place.get(one, -1) < i for i, node in enumerate(nodes) for one in node._input_nodes):
        return nodes
    waiting = {node: sum(one in place for one in node._input_nodes) for node in nodes}
    ready = [place[node] for node, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if waiting[user] == 0:
                    heapq.heappush(ready, place[user])
    if len(order) < len(nodes):
        cycle = find_cycle(node for node, count in waiting.items() if count > 0)
        raise GraphError(
            f"the graph has a cycle: {' → '.join(described(node) for node in [*cycle, cycle[0]])}",
            help="one of these nodes must read something else",
        )
    return order


def levels(graph: Graph) -> dict[Node, int]:
    """The topological number of each node: 0 without inputs, else one more than the highest of its inputs."""
    numbers: dict[Node, int] = {}
    for node in topological_order(graph):
        numbers[node] = 1 + max((numbers.get(one, -1) for one in node._input_nodes), default=-1)
    return numbers


def find_cycle(stuck: Iterable[Node]) -> list[Node]:
    """A cycle among nodes each of which waits for another of them, in the direction values flow."""
    among = set(stuck)
    node = min(among)
    path: dict[Node, None] = {}
    while node not in path:
        path[node] = None
        node = next(one for one in node._input_nodes if one in among)
    walk = list(path)
    # The walk went from users to inputs; the cycle is told from its first node on.
    cycle = walk[walk.index(node) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]
