"""Which values of a joint graph are kept for the backward, and which are computed again: the policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.graph import Node
from weft.ops import Spec
from weft.transform._mincut import cheapest_to_keep
from weft.transform._partition_cost import arithmetic, is_cheap, is_creation, repeated
from weft.transform._partition_joint import JointGraph
from weft.transform._partition_memory import Memory, Peak, Storage
from weft.transform._partition_order import backward_order, forward_order
from weft.transform._partition_turns import Turns
from weft.transform._remat import Regions, is_item, is_repeatable, is_unsteady
from weft.transform._split import bytes_of

POLICIES = ("default", "recompute", "keep", "checkpoint")
_PRICE = 1e-3  # bytes for an operation: of what costs the same to keep, what takes less to compute again


class Memo(dict[Node, Any]):
    """A function of nodes that is asked once for each."""

    def __init__(self, function: Callable[[Node], Any]) -> None:
        self.function = function

    def __missing__(self, node: Node) -> Any:
        found = self[node] = self.function(node)
        return found


@dataclass
class Plan:
    """What is kept, and what follows from it: the nodes of each half, the most memory they have, the arithmetic."""

    kept: list[Node]
    forward: list[Node]
    backward: list[tuple[Node, bool]]
    forward_peak: Peak
    backward_peak: Peak
    extra: float
    kept_bytes: float

    @property
    def peak(self) -> float:
        return max(self.forward_peak.most, self.backward_peak.most)


class Choice:
    """A joint graph, with what does not depend on the policy worked out once.

    `late` are the nodes of the backward, `needed` those of the forward that it reads, `early` all calls that do not
    depend on gradients, and `free` is what is there anyway.
    """

    def __init__(self, joint: JointGraph) -> None:
        self.joint = joint
        turns = Turns(joint.numbers)
        self.storage = Storage(turns)
        self.work = Memo(lambda node: arithmetic(node, turns))
        self.again = Memo(lambda node: repeated(node, turns))
        self.cheap, self.repeatable = Memo(is_cheap), Memo(is_repeatable)
        self.costs = Memo(self._cost)
        self.inputs = Memo(lambda node: node.all_input_nodes)
        self.late = joint.late_nodes()
        inside = {*self.late, *(seed for seed in joint.seeds if seed is not None)}
        read: dict[Node, None] = {}
        for node in self.late:
            read.update((each, None) for each in node.all_input_nodes if each not in inside)
        read.update((node, None) for node in joint.gradients if node not in inside)
        written = {target for target, _ in joint.writes}
        self.free = {node for node in joint.graph.nodes if node.op in ("placeholder", "get_attr")} - written - inside
        self.written = written
        self.needed = sorted(node for node in read if node not in self.free)
        calls = ("call_function", "call_method")
        self.early = [node for node in joint.graph.nodes if node.op in calls and node not in inside]
        self.effects = [node for node in self.early if node.is_impure()]

    # Costs

    def cost(self, node: Node) -> float:
        return float(self.costs[node])

    def _cost(self, node: Node) -> float:
        """What it takes to keep a node: the memory that it shows, though it be a part."""
        type_ = node.meta.get("type")
        if isinstance(type_, Spec):
            base = self.storage.base(node)
            if base in self.free:
                return 1.0
            # Of equals, what the function computes anyway: the rest is work of the backward.
            return self.storage.bytes(base) + (8 if node in self.forward_set else 64)
        kept = bytes_of(type_)
        return kept if kept == float("inf") else max(kept, self.storage.bytes(node))

    @cached_property
    def forward_set(self) -> set[Node]:
        """What the function itself runs, without what only its gradient reads."""
        wanted = [*self.joint.results, *(value for _, value in self.joint.writes)]
        return set(forward_order(self.early, wanted, self.effects))

    @cached_property
    def regions(self) -> Regions:
        """The calls of `checkpoint`; what only the gradient reads is no part of the forward."""
        beyond = {node for node in self.early if node not in self.forward_set}
        results = {node for node in self.joint.results if isinstance(node, Node)}
        return Regions(self.early, beyond.union(self.late), results)

    # Choices

    def everything(self) -> list[Node]:
        """Every value of the function that the backward reads, but what is made of nothing."""
        found: dict[Node, None] = {}
        seen: set[Node] = set()
        waiting = list(self.needed)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            # What is work of the backward alone is left to it.
            later = node not in self.forward_set and is_repeatable(node) and not is_item(node)
            unkept = self.cost(node) == float("inf") and not is_unsteady(node)
            if later or unkept or is_creation(node):
                waiting.extend(each for each in node.all_input_nodes if each not in self.free)
            else:
                found[node] = None
        return sorted(found)

    def cut(self, again: Callable[[Node], bool], pinned: Iterable[Node] = ()) -> list[Node]:
        """The cheapest to keep where `again` says what may be computed again. `pinned` values may not.

        Calls of `checkpoint` keep nothing but what they give, and what they draw.
        """
        fixed, regions = set(pinned), self.regions

        def repeatable(node: Node) -> bool:
            return node not in fixed and not regions.gives(node) and (again(node) or regions.inside(node))

        def cost(node: Node) -> float:
            return float("inf") if node not in fixed and regions.inside(node) else self.cost(node)

        return sorted(
            cheapest_to_keep(
                self.needed,
                inputs=self.inputs.__getitem__,
                free=self.free.__contains__,
                cost=cost,
                repeatable=repeatable,
                price=lambda node: _PRICE * self.work[node] if node in self.forward_set else 0.0,
            )
        )

    def by_policy(self, policy: str) -> list[Node]:
        """What a policy keeps."""
        if policy == "keep":
            return self.everything()
        if policy == "checkpoint":
            return self.cut(is_creation)
        return self.cut(self.cheap.__getitem__)

    # What follows

    def plan(self, kept: list[Node]) -> Plan:
        """The order in which both halves run if these are kept."""
        joint, storage = self.joint, self.storage
        wanted = [*joint.results, *kept, *(value for _, value in joint.writes)]
        forward = forward_order(self.early, wanted, self.effects)
        seeds = {seed for seed in joint.seeds if seed is not None}
        have = {*kept, *self.free, *seeds}
        backward = backward_order(self.late, joint.gradients, have)
        first = Memory(storage, forward, wanted).peak(joint.results, kept=kept)
        order = [node for node, _ in backward]
        mine = [node for node in kept if storage.base(node) not in self.free]
        second = Memory(storage, order, joint.gradients).peak(joint.gradients, given=mine, kept=mine)
        extra = sum(self.work[node] for node, again in backward if again and node in self.forward_set)
        extra += sum(self.again[node][1] for node in self.late)
        bases = {storage.base(node) for node in mine}
        return Plan(kept, forward, backward, first, second, extra, sum(map(storage.bytes, bases)))
