"""The cheapest set of values to keep, so that all that is needed later can be computed again from it.

Values are split in two vertices, with an edge of what keeping the value costs. What cannot be computed again hangs on
the source, what is needed on the sink; a minimum cut then runs through the values to keep. Of several cuts that cost
the same the one closest to the needed values is taken, which computes least again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

_SOURCE, _SINK = 0, 1
_ENDLESS = float("inf")


class Flow:
    """A network of vertices 0, 1, … with capacities, and the greatest flow through it (Dinic's way)."""

    def __init__(self) -> None:
        self.heads: list[int] = []  # of each edge; its reverse is the edge with the last bit flipped
        self.room: list[float] = []
        self.edges: list[list[int]] = [[], []]

    def vertex(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def connect(self, tail: int, head: int, capacity: float) -> None:
        self.edges[tail].append(len(self.heads))
        self.edges[head].append(len(self.heads) + 1)
        self.heads += [head, tail]
        self.room += [capacity, 0.0]

    def saturate(self) -> None:
        """Push as much as goes from the source to the sink."""
        while (levels := self._levels())[_SINK] >= 0:
            self._block(levels)

    def _levels(self) -> list[int]:
        levels = [-1] * len(self.edges)
        levels[_SOURCE] = 0
        waiting = deque([_SOURCE])
        while waiting:
            vertex = waiting.popleft()
            for edge in self.edges[vertex]:
                head = self.heads[edge]
                if levels[head] < 0 and self.room[edge] > 0:
                    levels[head] = levels[vertex] + 1
                    waiting.append(head)
        return levels

    def _block(self, levels: list[int]) -> None:
        """Fill every shortest way; each edge that leads nowhere is looked at once."""
        at = [0] * len(self.edges)
        path: list[int] = []
        vertex = _SOURCE
        while True:
            if vertex == _SINK:
                amount = min(self.room[edge] for edge in path)
                for k in reversed(range(len(path))):
                    edge = path[k]
                    self.room[edge] -= amount
                    self.room[edge ^ 1] += amount
                    if self.room[edge] <= 0:
                        del path[k:]
                        vertex = self.heads[edge ^ 1]
                continue
            while at[vertex] < len(self.edges[vertex]):
                edge = self.edges[vertex][at[vertex]]
                head = self.heads[edge]
                if self.room[edge] > 0 and levels[head] == levels[vertex] + 1:
                    path.append(edge)
                    vertex = head
                    break
                at[vertex] += 1
            else:
                if not path:
                    return
                edge = path.pop()
                vertex = self.heads[edge ^ 1]
                at[vertex] += 1

    def reaching_sink(self) -> set[int]:
        """The vertices from which more could flow to the sink."""
        found = {_SINK}
        waiting = [_SINK]
        while waiting:
            for edge in self.edges[waiting.pop()]:
                tail = self.heads[edge]
                if tail not in found and self.room[edge ^ 1] > 0:
                    found.add(tail)
                    waiting.append(tail)
        return found


def cheapest_to_keep(
    needed: Iterable[Key],
    inputs: Callable[[Key], Iterable[Key]],
    free: Callable[[Key], bool],
    cost: Callable[[Key], float],
    repeatable: Callable[[Key], bool],
) -> list[Key]:
    """The values to keep. `inputs` are what a value is computed from; `free` ones are there anyway.

    A cost of infinity says that a value cannot be kept; then it must be `repeatable`, or be read in parts.
    """
    flow = Flow()
    vertices: dict[Key, int] = {}
    waiting = [value for value in needed if not free(value)]
    ends = dict.fromkeys(waiting)
    while waiting:
        value = waiting.pop()
        if value in vertices:
            continue
        vertices[value] = enter = flow.vertex()
        leave = flow.vertex()
        flow.connect(enter, leave, cost(value))
        if repeatable(value):
            waiting += [each for each in inputs(value) if not free(each)]
        else:
            flow.connect(_SOURCE, enter, _ENDLESS)
    for value, enter in vertices.items():
        if value in ends:
            flow.connect(enter + 1, _SINK, _ENDLESS)
        if repeatable(value):
            for each in inputs(value):
                if not free(each):
                    flow.connect(vertices[each] + 1, enter, _ENDLESS)
    flow.saturate()
    late = flow.reaching_sink()
    return [value for value, enter in vertices.items() if enter + 1 in late and enter not in late]
