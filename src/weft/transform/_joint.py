"""The forward and the backward of a function in one graph, and its two halves.

A joint graph takes the inputs of the function, then the gradients of its results; it gives the results, then the
gradients of the inputs. Everything before the first gradient among its nodes is the forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.graph import Graph, Node, map_arg
from weft.graph._arguments import map_copy
from weft.transform._activity import continuous
from weft.transform._builder import Builder, Value
from weft.transform._partition_order import backward_order
from weft.transform._remat import Regions, mark_unsteady
from weft.transform._reverse import Pullback
from weft.transform._section import Section
from weft.transform._split import Retyped, choose_saved, copy_nodes, gradient_type, read_by


@dataclass
class Joint:
    """A joint graph, without an output yet."""

    builder: Builder
    results: list[Any]  # nodes, or plain values
    seeds: list[Node | None]  # the input for the gradient of each result; None where it has none
    gradients: list[Any]  # a Value for each input that was asked for
    fence: Node | None  # the first node of the backward, where everything after it belongs to it
    missing: list[Node] = field(default_factory=list)  # inputs on which no result depends

    @property
    def graph(self) -> Graph:
        return self.builder.graph

    def later_nodes(self) -> list[Node]:
        """The nodes of the second half, its inputs not among them: from the fence on, or what depends on the seeds."""
        if self.fence is not None:
            found: list[Node] = []
            node = self.graph._root._prev
            while node is not self.fence:
                if node.op not in ("placeholder", "output"):
                    found.append(node)
                node = node._prev
            return found[::-1]
        reached = {seed for seed in self.seeds if seed is not None}
        for node in self.graph.nodes:
            if any(each in reached for each in node.all_input_nodes):
                reached.add(node)
        return [node for node in self.graph.nodes if node in reached and node.op not in ("placeholder", "output")]


def joint_of(section: Section, results: Sequence[Any], active: dict[Node, Any], wanted: Sequence[Node]) -> Joint:
    """Add the backward to the graph of a call: from gradients of `results` to those of the inputs `wanted`."""
    builder = section.builder
    pull = Pullback(builder, active)
    ends = set(wanted)
    mark_unsteady(section.graph.nodes)
    nodes = [node for node in section.graph.nodes if node not in ends]
    seeds: list[Node | None] = []
    for result in results:
        if not isinstance(result, Node) or not continuous(result.meta.get("type")):
            seeds.append(None)
            continue
        seed = builder.region.placeholder(f"d_{result.name}")
        seed.meta["type"] = gradient_type(result.meta["type"])
        seeds.append(seed)
        pull.add(result, Value(builder, seed, seed.meta["type"]))
    fence = next((seed for seed in seeds if seed is not None), None)
    pull.run(nodes)
    found = {place: pull.take(place) for place in wanted}
    gradients = [builder.zeros(place.meta["type"]) if found[place] is None else found[place] for place in wanted]
    missing = [place for place in wanted if found[place] is None]
    return Joint(builder, list(results), seeds, gradients, fence, missing)


@dataclass
class Halves:
    """A joint graph cut in two: what the forward keeps, and the graph of the backward."""

    kept: list[Node]
    backward: Graph


def cut(joint: Joint) -> Halves:
    """Make the backward a graph of its own, which takes what is kept of the forward, then the gradients.

    What it computes again it computes right before it is read, and the nodes that do say so.
    """
    nodes = joint.later_nodes()
    outputs = [value.node if isinstance(value, Value) else value for value in joint.gradients]
    seeds = [seed for seed in joint.seeds if seed is not None]
    needed = [node for node in read_by(nodes, outputs) if node not in joint.seeds]
    free = {node for node in needed if node.op in ("placeholder", "get_attr")}
    kept = sorted({*choose_saved(needed, dict.fromkeys(free, 0.0), set(nodes), joint.results), *free})
    order = backward_order(nodes, outputs, {*kept, *seeds})
    back = Builder(Graph(), joint.builder.sizes)
    known: dict[Node, Any] = {}
    types = Retyped(back, known, back)
    for node in [*kept, *seeds]:
        place = back.graph.create_node("placeholder", node.name, (), {}, node.name)
        place.target = place.name
        place._position = node._position
        known[node] = place
        place.meta["type"] = types.of(node.meta.get("type"), place)
    copy_nodes(types, [node for node, _ in order])
    for node, again in order:
        if again:
            known[node].meta["recomputed"] = True
    back.graph.output(tuple(known[node] if isinstance(node, Node) else node for node in outputs))
    back.graph._sweep(lambda node: node.is_impure())
    return Halves(kept, back.graph)


def repeat_marked(joint: Joint) -> None:
    """Let the backward compute again what is inside of calls of `checkpoint`, where both stay in one graph.

    The values of the forward then live no longer than the forward needs them.
    """
    graph, late = joint.graph, joint.later_nodes()
    regions = Regions(graph.nodes, set(late), [node for node in joint.results if isinstance(node, Node)])
    if not regions.number:
        return
    copies: dict[Node, Node] = {}
    for node in late:
        if not any(regions.inside(each) for each in node.all_input_nodes):
            continue
        for each in _inside(node, regions, copies):
            with graph.inserting_before(node):
                args, kwargs = (map_copy(part, lambda one: copies.get(one, one)) for part in (each.args, each.kwargs))
                made = graph.create_node(each.op, each.target, args, kwargs, each.name)
            made._position = each._position
            made._meta = {**(each._meta or {}), "recomputed": True}
            copies[each] = made
        node.args = map_arg(node.args, lambda one: copies.get(one, one))
        node.kwargs = map_arg(node.kwargs, lambda one: copies.get(one, one))


def _inside(node: Node, regions: Regions, copies: dict[Node, Node]) -> list[Node]:
    """What a node reads of calls of `checkpoint`, and what that is computed from there, unless it is there again."""
    found: set[Node] = set()
    waiting = list(node.all_input_nodes)
    while waiting:
        each = waiting.pop()
        if each not in found and each not in copies and regions.inside(each):
            found.add(each)
            waiting.extend(each.all_input_nodes)
    return sorted(found)
