"""Which values of a joint graph are kept for the backward, and which are computed again: the policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.graph import Node
from weft.ops import Spec
from weft.transform._mincut import cheapest_to_keep
from weft.transform._partition_cost import arithmetic, bytes_of_node, is_cheap, is_creation
from weft.transform._partition_joint import JointGraph
from weft.transform._partition_peak import Peak, Storage, backward_order, forward_order, peak_of
from weft.transform._remat import Regions, is_item, is_repeatable
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


@dataclass
class Choice:
    """A joint graph, with what does not depend on the policy worked out once."""

    joint: JointGraph
    late: list[Node] = field(default_factory=list)
    needed: list[Node] = field(default_factory=list)  # of the forward, by the backward
    early: list[Node] = field(default_factory=list)  # calls that do not depend on gradients

    def __post_init__(self) -> None:
        joint = self.joint
        self.storage = Storage()
        self.work, self.cheap, self.repeatable = Memo(arithmetic), Memo(is_cheap), Memo(is_repeatable)
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
        self.early = [node for node in joint.graph.nodes if node.op == "call_function" and node not in inside]
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
            return self.storage.bytes(base) + (8 if node in self._forward_set else 64)
        kept = bytes_of(type_)
        return kept if kept == float("inf") else max(kept, bytes_of_node(node))

    @property
    def _late_set(self) -> set[Node]:
        found = self.__dict__.get("_late")
        if found is None:
            found = self.__dict__["_late"] = set(self.late)
        return found

    @property
    def _result_set(self) -> set[Node]:
        found = self.__dict__.get("_results")
        if found is None:
            found = self.__dict__["_results"] = {node for node in self.joint.results if isinstance(node, Node)}
        return found

    @property
    def _forward_set(self) -> set[Node]:
        """What the function itself runs, without what only its gradient reads."""
        found = self.__dict__.get("_forward")
        if found is None:
            wanted = [*self.joint.results, *(value for _, value in self.joint.writes)]
            found = self.__dict__["_forward"] = set(forward_order(self.early, wanted, self.effects))
        return found

    @property
    def regions(self) -> Regions:
        """The calls of `checkpoint`."""
        found = self.__dict__.get("_regions")
        if found is None:
            beyond = {node for node in self.early if node not in self._forward_set}
            late = self._late_set | beyond  # what only the gradient reads is no part of the forward
            found = self.__dict__["_regions"] = Regions(self.early, late, self._result_set)
        return found

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
            later = node not in self._forward_set and is_repeatable(node) and not is_item(node)
            if later or self.cost(node) == float("inf") or is_creation(node):
                waiting.extend(each for each in node.all_input_nodes if each not in self.free)
            else:
                found[node] = None
        return sorted(found)

    def cut(self, again: Callable[[Node], bool], pinned: Iterable[Node] = (), marked: bool = True) -> list[Node]:
        """The cheapest to keep where `again` says what may be computed again. `pinned` values may not.

        With `marked`, calls of `checkpoint` keep nothing but what they give, and what they draw.
        """
        fixed = set(pinned)
        regions = self.regions if marked and self.regions.number else None

        def repeatable(node: Node) -> bool:
            if node in fixed or (regions is not None and regions.gives(node)):
                return False
            return again(node) or (regions is not None and regions.inside(node))

        def cost(node: Node) -> float:
            if regions is not None and node not in fixed and regions.inside(node):
                return float("inf")
            return float(self.costs[node])

        return sorted(
            cheapest_to_keep(
                self.needed,
                inputs=self.inputs.__getitem__,
                free=self.free.__contains__,
                cost=cost,
                repeatable=repeatable,
                price=lambda node: _PRICE * self.work[node] if node in self._forward_set else 0.0,
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
        theirs = {storage.base(node) for node in (*self.free, *seeds, *self.written)}
        shown = {storage.base(node) for node in self._result_set} - {storage.base(node) for node in kept}
        first = peak_of(forward, wanted, theirs | shown, storage=storage)
        order = [node for node, _ in backward]
        gradients = {storage.base(node) for node in joint.gradients if node in self._late_set}
        second = peak_of(order, joint.gradients, theirs | gradients, given=kept, storage=storage)
        extra = sum(self.work[node] for node, again in backward if again and node in self._forward_set)
        bases = {storage.base(node) for node in kept} - theirs
        return Plan(kept, forward, backward, first, second, extra, sum(map(storage.bytes, bases)))
