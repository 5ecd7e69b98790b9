"""The cheapest set of values to keep, so that all that is needed later can be computed again from it.

Values are split in two vertices, with an edge of what keeping the value costs. What cannot be computed again hangs on
the source, what is needed on the sink; a minimum cut then runs through the values to keep. An edge from the source to
a value that can be computed again is what that costs. Of several cuts that cost the same the one closest to the needed
values is taken, which computes least again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_SOURCE, _SINK = 0, 1
_ENDLESS = 1 << 80
_PARTS = 64  # of a byte: capacities are whole numbers, so that nothing is lost in rounding


class Flow:
    """A network of vertices 0, 1, … with capacities, and the greatest flow through it (Dinic's way)."""

    def __init__(self) -> None:
        self.heads: list[int] = []  # of each edge; its reverse is the edge with the last bit flipped
        self.room: list[int] = []
        self.edges: list[list[int]] = [[], []]

    def vertex(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def connect(self, tail: int, head: int, capacity: int) -> int:
        edge = len(self.heads)
        self.edges[tail].append(edge)
        self.edges[head].append(edge + 1)
        self.heads += [head, tail]
        self.room += [capacity, 0]
        return edge

    def push(self, edge: int, amount: int) -> None:
        self.room[edge] -= amount
        self.room[edge ^ 1] += amount

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
                    self.push(edge, amount)
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


class _Network(Generic[Key]):
    """The values that matter, each after its inputs, as a flow; with a first flow that is found in one sweep.

    On graphs of values that first flow is nearly the greatest one, so that few of Dinic's rounds remain.
    """

    def __init__(self, order: list[Key], inputs: dict[Key, list[Key]], needed: set[Key]) -> None:
        self.flow = Flow()
        self.order, self.inputs, self.needed = order, inputs, needed
        self.through: dict[Key, int] = {}  # edge of keeping the value
        self.source: dict[Key, int] = {}  # edge of computing it again
        self.into: dict[Key, list[tuple[Key, int]]] = {}  # edges from its inputs
        self.out: dict[Key, list[tuple[Key, int]]] = {value: [] for value in order}

    def build(self, cost: Callable[[Key], float], price: Callable[[Key], float]) -> None:
        flow = self.flow
        enter = {value: flow.vertex() for value in self.order}
        leave = {value: _SINK if value in self.needed else flow.vertex() for value in self.order}
        for value in self.order:
            self.through[value] = flow.connect(enter[value], leave[value], _capacity(cost(value)))
            again = _capacity(price(value))
            if again:
                self.source[value] = flow.connect(_SOURCE, enter[value], again)
            self.into[value] = []
            for each in self.inputs[value]:
                if each not in self.needed:  # a needed value is kept, or computed again anyway
                    edge = flow.connect(leave[each], enter[value], _ENDLESS)
                    self.into[value].append((each, edge))
                    self.out[each].append((value, edge))
        self.enter = enter

    def start(self) -> None:
        """A first flow: what each value can pass on is known from the last to the first, and is sent the other way."""
        flow, room = self.flow, self.flow.room
        wanted: dict[Key, int] = {}
        for value in reversed(self.order):
            beyond = _ENDLESS if value in self.needed else sum(wanted[user] for user, _ in self.out[value])
            wanted[value] = min(room[self.through[value]], beyond)
        got = dict.fromkeys(self.order, 0)
        sent = dict.fromkeys(self.order, 0)
        for value in self.order:
            if value in self.source:
                more = min(room[self.source[value]], wanted[value] - got[value])
                flow.push(self.source[value], more)
                got[value] += more
            left = got[value]
            if value in self.needed:
                sent[value] = left
                continue
            for user, edge in self.out[value]:
                part = min(left, wanted[user] - got[user])
                if part > 0:
                    flow.push(edge, part)
                    got[user] += part
                    sent[value] += part
                    left -= part
        for value in reversed(self.order):
            self._give_back(value, got[value] - sent[value], sent)
            flow.push(self.through[value], sent[value])

    def _give_back(self, value: Key, surplus: int, sent: dict[Key, int]) -> None:
        """Undo what came to a value that it could not pass on."""
        flow = self.flow
        ways = [(each, edge) for each, edge in self.into[value]]
        if surplus > 0 and value in self.source:
            part = min(surplus, flow.room[self.source[value] ^ 1])
            flow.push(self.source[value], -part)
            surplus -= part
        for each, edge in ways:
            if surplus <= 0:
                break
            part = min(surplus, flow.room[edge ^ 1])
            flow.push(edge, -part)
            sent[each] -= part
            surplus -= part

    def cut(self) -> list[Key]:
        self.start()
        self.flow.saturate()
        late = self.flow.reaching_sink()
        found = []
        for value in self.order:
            leave = self.flow.heads[self.through[value]]
            if leave in late and self.enter[value] not in late:
                found.append(value)
        return found


def _capacity(amount: float) -> int:
    return _ENDLESS if amount >= _ENDLESS / _PARTS else int(amount * _PARTS)


def cheapest_to_keep(
    needed: Iterable[Key],
    inputs: Callable[[Key], Iterable[Key]],
    free: Callable[[Key], bool],
    cost: Callable[[Key], float],
    repeatable: Callable[[Key], bool],
    price: Callable[[Key], float] | None = None,
) -> list[Key]:
    """The values to keep. `inputs` are what a value is computed from; `free` ones are there anyway.

    A cost of infinity says that a value cannot be kept; then it must be `repeatable`, or be read in parts. `price` is
    what computing a repeatable value again costs, in the unit of `cost`; nothing, where it is not given.
    """
    ends = [value for value in dict.fromkeys(needed) if not free(value)]
    again: dict[Key, bool] = {}

    def before(value: Key) -> list[Key]:
        again[value] = repeatable(value)
        return [each for each in dict.fromkeys(inputs(value)) if not free(each)] if again[value] else []

    order, known = _in_order(ends, before)
    network = _Network(order, known, set(ends))
    network.build(cost, lambda value: (price(value) if price else 0.0) if again[value] else float("inf"))
    return network.cut()


def _in_order(ends: list[Key], before: Callable[[Key], list[Key]]) -> tuple[list[Key], dict[Key, list[Key]]]:
    """All values that some are computed from, each after its inputs; and the inputs of each."""
    order: list[Key] = []
    known: dict[Key, list[Key]] = {}
    done: set[Key] = set()
    waiting = list(reversed(ends))
    while waiting:
        value = waiting[-1]
        if value in done:
            waiting.pop()
        elif value in known:
            waiting.pop()
            done.add(value)
            order.append(value)
        else:
            known[value] = before(value)
            waiting += [each for each in reversed(known[value]) if each not in done]
    return order, known
