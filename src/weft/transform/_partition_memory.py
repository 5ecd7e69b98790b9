"""How much memory nodes have at once when they run in some order: whose memory each value shows, and until when.

Views show memory of others. A write into an array that nothing reads after it goes in place, as it does in the code
that runs, and a loop hands its carries on from turn to turn.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import cond, switch
from weft.ops._op import TABLE
from weft.transform._partition_cost import base_of, memory_of, scratch_bytes
from weft.transform._partition_turns import Turns, loop_parts, recorded
from weft.transform._tape import Tape, Tapes

_OBJECT = 128  # bytes
_UPDATES = frozenset({TABLE["index_update"], TABLE["index_add"]})


@dataclass(frozen=True)
class Peak:
    """The most bytes there are at once, and the node that then runs."""

    most: float
    at: Node | None


@dataclass(frozen=True)
class Within:
    """What a control-flow node does with memory inside: the most that its bodies have at once, and what they leave.

    Inside of other bodies variables go on holding their last values, `left` bytes. `handed` has the results that are
    what the node was given, as (argument, whether it is written). `renewed` are the arguments that each turn of a loop
    replaces, while the value before is still there, with their bytes.
    """

    most: float
    left: float
    handed: dict[int, tuple[Any, bool]]
    renewed: list[tuple[Any, float]]


class Storage:
    """What does not depend on the order in which nodes run, worked out once."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.turns = Turns() if turns is None else turns
        self.bases: dict[Node, Node] = {}
        self.sizes: dict[Node, float] = {}
        self.scratch: dict[Node, float] = {}
        self.inside: dict[Node, Within] = {}

    def base(self, node: Node) -> Node:
        """The node whose memory a node shows."""
        found = self.bases.get(node)
        if found is None:
            found = self.bases[node] = base_of(node)
        return found

    def bytes(self, node: Node) -> float:
        """What a node allocates that shows no other's memory."""
        found = self.sizes.get(node)
        if found is None:
            found = self.sizes[node] = self._bytes(node)
        return found

    def _bytes(self, node: Node) -> float:
        type_ = node.meta.get("type")
        if not isinstance(type_, (Tape, Tapes)):
            return memory_of(type_)
        source = node.args[0] if node.op == "call_function" and node.target is operator.getitem else None
        return self.turns.tape(source) if isinstance(source, Node) and source.bodies else 0.0

    def whole(self, node: Node) -> float:
        """The same with the object that an array is of Python's."""
        size = self.bytes(node)
        return size + _OBJECT if size else 0.0

    def scratch_of(self, node: Node) -> float:
        """What a node needs besides while it runs."""
        found = self.scratch.get(node)
        if found is None:
            found = self.scratch[node] = scratch_bytes(node)
        return found

    def within(self, node: Node) -> Within:
        """What a control-flow node does inside."""
        found = self.inside.get(node)
        if found is None:
            found = self.inside[node] = _within_loop(node, self) or _within_branches(node, self)
        return found


def _within_loop(node: Node, storage: Storage) -> Within | None:
    parts = loop_parts(node)
    if parts is None:
        return None
    body, counters, init, _ = parts
    _enter_largest(node, body, storage.turns)
    places = body.find_nodes(op="placeholder")[counters : counters + len(init)]
    given = list(body.output_node().args[0])
    memory = Memory(storage, _calls(body), given, owned=places)
    noted = recorded(body)
    most, left = memory.all_at_once([*given, *noted])
    handed, renewed = {}, []
    on_tape = {memory.root(each) for each in noted}
    for k, place in enumerate(places):
        if memory.root(given[k]) is place:
            handed[k] = init[k], given[k] is not place
        elif place not in on_tape:
            renewed.append((init[k], storage.bytes(place)))
    for other in node.bodies:
        if other is not body:  # the condition of a `while`
            also = Memory(storage, _calls(other), []).all_at_once([])
            most, left = most + also[0], left + also[1]
    # A variable holds its value of the turn before until it gets the next.
    return Within(most + memory.largest, left, handed, renewed)


def _enter_largest(node: Node, body: Graph, turns: Turns) -> None:
    """Take the counter of a loop to be where the loops inside leave most: at its start or at its end."""
    sizes = []
    for share in (1.0, 0.0):
        turns.enter(node, share)
        sizes.append(sum(turns.tape(each) for each in body.nodes if each.bodies))
    if sizes[0] > sizes[1]:
        turns.enter(node, 1.0)


def _within_branches(node: Node, storage: Storage) -> Within:
    operands = node.args[3:] if node.target is cond else node.args[2:] if node.target is switch else ()
    sizes, sides = [(0.0, 0.0)], []
    for body in node.bodies:
        output = body.output_node().args[0]
        given = list(output) if isinstance(output, (tuple, list)) else [output]
        places = body.find_nodes(op="placeholder")
        memory = Memory(storage, _calls(body), given, owned=places)
        sizes.append(memory.all_at_once([*given, *recorded(body)]))
        at = {place: number for number, place in enumerate(places)}
        sides.append([(at.get(memory.root(each)), each in at) for each in given])
    handed = {}
    for k, found in enumerate(zip(*sides, strict=False)):
        place = found[0][0]
        if operands and place is not None and all(other == place for other, _ in found):
            handed[k] = operands[place], not all(same for _, same in found)
    return Within(max(most for most, _ in sizes), max(left for _, left in sizes), handed, [])


def _calls(body: Graph) -> list[Node]:
    return [node for node in body.nodes if node.op == "call_function"]


class Memory:
    """Whose memory each value shows where nodes run in an order; `owned` are inputs that may be written.

    `results` live to the end.
    """

    def __init__(
        self, storage: Storage, nodes: Sequence[Node], results: Iterable[Any], owned: Iterable[Node] = ()
    ) -> None:
        self.storage, self.nodes = storage, nodes
        self._inside = set(nodes)
        self._ours = set(owned)  # roots that may be written: those, and what is made here
        self._roots: dict[Node, Node] = {}
        self._until: dict[Node, int] = {}  # where each root is read last
        self._starts: list[list[Node]] = [[] for _ in nodes]
        self._more = [0.0] * len(nodes)  # what each node has besides while it runs
        self._left = [0.0] * len(nodes)  # and what stays of that
        self.largest = 0.0  # of what nodes allocate
        last: dict[Node, int] = {}
        for at, node in enumerate(nodes):
            last.update(dict.fromkeys(node.all_input_nodes, at))
        last.update((node, len(nodes)) for node in results if isinstance(node, Node))
        self._last = last
        for node, at in last.items():
            if node not in self._inside:
                self._hold(storage.base(node), at)
        for at, node in enumerate(nodes):
            if node not in self._roots:
                self._give(node, self._root(node, at), at)
            if node.bodies:
                self._enter(node, at)
            else:
                self._more[at] = storage.scratch_of(node)

    def root(self, node: Any) -> Any:
        """The node whose memory a node shows."""
        return self._roots.get(node) or self.storage.base(node) if isinstance(node, Node) else None

    def _hold(self, root: Node, at: int) -> None:
        self._until[root] = max(at, self._until.get(root, at))

    def _give(self, node: Node, root: Node, at: int) -> None:
        self._roots[node] = root
        if root is node:
            self._ours.add(node)
            self._starts[at].append(node)
        self._hold(root, self._last.get(node, at))

    def _root(self, node: Node, at: int) -> Any:
        base = self.storage.base(node)
        if base is not node:
            return self._roots.get(base, base)
        source = node.args[0] if node.args else None
        if isinstance(source, Node):
            taken = node.target is operator.getitem and isinstance(source.meta.get("type"), (Tape, Tapes))
            if taken or (node.target in _UPDATES and self._ends(source, at)):
                return self.root(source)
        return node

    def _ends(self, node: Any, at: int) -> bool:
        """Whether the memory of a value is ours, and nothing reads it after a place."""
        root = self.root(node)
        return root in self._ours and self._until.get(root, at) <= at

    def _enter(self, node: Node, at: int) -> None:
        """Let the results of a control-flow node be there, and note what its bodies have besides."""
        inside = self.storage.within(node)
        items = {user.args[1]: user for user in node.users if user.target is operator.getitem and user in self._inside}
        copied = {k for k, (given, written) in inside.handed.items() if written and not self._ends(given, at)}
        again = sum(size for given, size in inside.renewed if not self._ends(given, at))
        for k in copied - items.keys():
            again += memory_of(node.meta["type"][k])
        types = node.meta.get("type")
        if isinstance(types, tuple) and types and isinstance(types[-1], (Tape, Tapes)) and len(types) - 1 not in items:
            again += self.storage.turns.tape(node)  # which nothing reads
        for k, item in items.items():
            given = None if k in copied else inside.handed.get(k, (None, True))[0]
            self._give(item, self.root(given) if isinstance(given, Node) else item, at)
        self._more[at], self._left[at] = inside.most + again, inside.left

    def all_at_once(self, shown: Iterable[Any]) -> tuple[float, float]:
        """The most bytes where nothing is let go, and what there is at the end; without the memory of some values."""
        uncounted = {self.root(node) for node in shown}
        total, most = 0.0, 0.0
        for at in range(len(self.nodes)):
            sizes = [self.storage.whole(root) for root in self._starts[at] if root not in uncounted]
            if not self.nodes[at].bodies:  # a tape starts anew
                self.largest = max(self.largest, *sizes, 0.0)
            total += sum(sizes)
            most = max(most, total + self._more[at])
            total += self._left[at]
        return most, total

    def peak(self, shown: Iterable[Any] = (), given: Iterable[Node] = (), kept: Iterable[Node] = ()) -> Peak:
        """The most bytes at once: of `given`, which are there at the start, and of what nodes allocate.

        Memory of what is `shown` does not count, but where it is `kept`, too.
        """
        storage = self.storage
        uncounted = {self.root(node) for node in shown} - {self.root(node) for node in kept}
        ends: dict[int, list[Node]] = {}
        for root, at in self._until.items():
            ends.setdefault(at, []).append(root)
        alive = {self.root(node) for node in given} - uncounted
        total = sum(map(storage.whole, alive))
        best = Peak(total, None)
        for at, node in enumerate(self.nodes):
            for root in self._starts[at]:
                if root not in uncounted:
                    alive.add(root)
                    total += storage.whole(root)
            if total + self._more[at] > best.most:
                best = Peak(total + self._more[at], node)
            for gone in ends.get(at, ()):
                if gone in alive:
                    alive.discard(gone)
                    total -= storage.whole(gone)
        return best
