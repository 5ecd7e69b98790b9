"""`loss.backward()` in a captured program: the gradients of the leaves, as nodes of the program's own graph."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from weft.capture._recorder import Recorder
from weft.graph import Graph, Node
from weft.ops._op import TABLE
from weft.transform._activity import activity, any_active
from weft.transform._builder import Builder, Value
from weft.transform._presence import Tokens
from weft.transform._reverse import Pullback


def leaf_gradients(
    recorder: Recorder,
    results: dict[Node, Node | None],
    leaves: Collection[Node],
    detached: Collection[Node],
    wanted: Collection[Node] = (),
) -> tuple[dict[Node, Value], dict[Node, Value], set[Node]] | None:
    """The gradient of results with respect to each leaf they depend on; None where one depends on none.

    `results` have gradients of their own, 1 where there is none. Nothing flows through `detached`. `wanted` are
    computed values whose gradients are asked for, too. With the gradients come, of leaves to which a gradient may or
    may not come, what tells whether one did, and the nodes that the walk went through.
    """
    region = recorder.region
    builder = Builder(region.graph, recorder.sizes, region=region)
    nodes = [node for node in region.graph.nodes if node not in detached]
    active = activity(nodes, dict.fromkeys((*leaves, *wanted), True))
    if not all(any_active(active.get(result, False)) for result in results):
        return None
    tokens = Tokens(builder, nodes, active, results, leaves)
    active.update(dict.fromkeys(tokens.of.values(), True))
    pull = Walk(builder, active)
    for result, seed in results.items():
        with builder.at(result):
            spec = result.meta["type"]
            start = builder.call(TABLE["ones"], spec.shape, spec.dtype) if seed is None else builder.value(seed)
        pull.add(result, start)
    pull.run([node for node in nodes if node not in leaves])
    found = {node: pull.take(node) if node in leaves else pull.taken.get(node) for node in (*leaves, *wanted)}
    counts = {leaf: pull.take(token) for leaf, token in tokens.of.items()}
    tokens.remove()
    never = {leaf for leaf, count in counts.items() if count is None}
    gradients = {node: value for node, value in found.items() if value is not None and node not in never}
    came = {leaf: count > 0 for leaf, count in counts.items() if count is not None}
    return gradients, came, {*pull.taken}


def varies(graph: Graph, results: Collection[Any], leaves: Collection[Node], detached: Collection[Node] = ()) -> bool:
    """Whether one of the results depends on a leaf, and not through what is detached."""
    nodes = [node for node in graph.nodes if node not in detached]
    active = activity(nodes, dict.fromkeys(leaves, True))
    return any(any_active(active.get(result, False)) for result in results)


class Walk(Pullback):
    """A pullback that notes where it has been."""

    def __init__(self, builder: Builder, active: dict[Node, Any]) -> None:
        super().__init__(builder, active)
        self.taken: dict[Node, Any] = {}

    def take(self, node: Node) -> Any:
        found = super().take(node)
        if found is not None:
            self.taken[node] = found
        return found
