"""What derivatives make of `custom_call`, the node of a call whose function has a rule of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.graph._looping import together
from weft.transform._activity import activity
from weft.transform._builder import Builder
from weft.transform._custom_nodes import custom_call
from weft.transform._forward import Pushforward
from weft.transform._remat import is_repeatable
from weft.transform._reverse import Pullback
from weft.transform._split import Retyped, copy_body, copy_nodes


def _written(builder: Builder, graph: Graph, values: Sequence[Any]) -> list[Any]:
    """Write a copy of a graph, its inputs given; its results."""
    made = copy_body(graph, builder)
    known: dict[Node, Any] = dict(zip(made.find_nodes(op="placeholder"), values, strict=True))
    copy_nodes(Retyped(builder, known, builder), [n for n in made.nodes if n.op not in ("placeholder", "output")])
    return [known[leaf] if isinstance(leaf, Node) else leaf for leaf in made.output_node().args[0]]


def _value(builder: Builder, leaf: Any) -> Any:
    return builder.wrap(leaf, leaf.meta["type"]) if isinstance(leaf, Node) else leaf


def pull_custom(pull: Pullback, node: Node, gradient: list[Any]) -> None:
    """Take gradients back by the rule."""
    kind, _, operands, rules = node.args
    builder, types = pull.builder, node.meta["type"]
    parts = [part if part is not None else builder.zeros(type_) for part, type_ in zip(gradient, types, strict=True)]
    places = made_places(node)
    if kind == "vjp":
        (forward, given), (backward, outside) = rules
        kept = _kept(pull, node, forward, given)
        found = _written(builder, backward, [*kept, *(part.node for part in parts), *outside])
        for place, leaf in zip(places, found, strict=True):
            pull.add(given[place], _value(builder, leaf))
        return
    ((rule, outside),) = rules
    zeros, results = _linear(builder, node, rule, operands, outside)
    nodes, leaves = results
    inner = Pullback(builder, activity(nodes, {zero.node: True for zero in zeros}))
    tangents = [leaf for leaf in leaves[len(types) :] if isinstance(leaf, Node)]
    for leaf, part in zip(tangents, parts, strict=True):
        inner.add(leaf, part)
    inner.run(nodes)
    for place, zero in zip(places, zeros, strict=True):
        pull.add(operands[place], inner.take(zero.node))


def _kept(pull: Pullback, node: Node, forward: Graph, given: Any) -> list[Any]:
    """What the rule's forward keeps, written in front of the call.

    The call stays, so that another derivative of what it gives uses the rule again, as on the tape. Where the forward
    may not run a second time, or nothing is differentiated again, it takes the place of the call.
    """
    builder, types = pull.builder, node.meta["type"]
    count = len(types)
    with node.graph.inserting_before(node):
        mark = builder.mark()
        results = _written(builder, forward, given)
        once = node.meta.get("once") or not all(map(is_repeatable, builder.since(mark)))
    kept = [leaf for leaf in results[count:] if isinstance(leaf, Node)]
    if not once:
        same = {leaf: k for k, leaf in enumerate(results[:count]) if isinstance(leaf, Node) and leaf not in given}
        return [builder.item(node, same[leaf], types[same[leaf]]).node if leaf in same else leaf for leaf in kept]
    with node.graph.inserting_before(node):
        made = builder.create(together, tuple(results[:count]), {}, types, node.name)
    node.replace_all_uses_with(made)
    pull.active[made] = pull.active[node]
    node.graph.erase_node(node)
    return kept


def made_places(node: Node) -> tuple[int, ...]:
    """The numbers of the inputs that have derivatives."""
    found: tuple[int, ...] = node.meta["inputs"]
    return found


def _linear(builder: Builder, node: Node, rule: Graph, operands: Any, outside: Any) -> Any:
    """The rule of a forward derivative, written for tangents that are zeros: those, its nodes and its results."""
    inputs = operands[: node.meta["count"]]
    zeros = [builder.zeros(inputs[place].meta["type"]) for place in made_places(node)]
    mark = builder.mark()
    leaves = _written(builder, rule, [*inputs, *(zero.node for zero in zeros), *outside])
    return zeros, (builder.since(mark), leaves)


def push_custom(push: Pushforward, node: Node) -> None:
    """The tangents of the results, by the rule."""
    kind, _, operands, rules = node.args
    builder, types = push.builder, node.meta["type"]
    inputs = operands[: node.meta["count"]]
    places = made_places(node)
    along = [push.filled(inputs[place], _value(builder, inputs[place])) for place in places]
    if kind == "jvp":
        ((rule, outside),) = rules
        leaves = _written(builder, rule, [*inputs, *(each.node for each in along), *outside])
        push.tangents[node] = [_value(builder, leaf) for leaf in leaves[len(types) :]]
        return
    (forward, given), (backward, outside) = rules
    results = _written(builder, forward, given)
    kept = [leaf for leaf in results[len(types) :] if isinstance(leaf, Node)]
    seeds = [builder.zeros(type_) for type_ in types]
    mark = builder.mark()
    found = _written(builder, backward, [*kept, *(seed.node for seed in seeds), *outside])
    nodes = builder.since(mark)
    inner = Pullback(builder, activity(nodes, {seed.node: True for seed in seeds}))
    for leaf, tangent in zip(found, along, strict=True):
        if isinstance(leaf, Node):
            inner.add(leaf, tangent)
    inner.run(nodes)
    push.tangents[node] = [inner.take(seed.node) for seed in seeds]


def differentiated_once(graph: Graph) -> None:
    """Say of all calls of functions with rules, in bodies too, that their derivative is not differentiated again."""
    for node in graph.nodes:
        for body in node.bodies:
            differentiated_once(body)
        if node.target is custom_call:
            node.meta["once"] = True


def open_calls(graph: Graph) -> None:
    """Put the function's own graph in the place of each call of one that has a rule, in bodies too."""
    for node in list(graph.nodes):
        for body in node.bodies:
            open_calls(body)
        if node.op == "call_function" and node.target is custom_call:
            _, primal, operands, _ = node.args
            known: dict[Node, Any] = dict(zip(primal.find_nodes(op="placeholder"), operands, strict=True))
            with graph.inserting_before(node):
                for inner in primal.nodes:
                    if inner.op not in ("placeholder", "output"):
                        known[inner] = graph.node_copy(inner, known.__getitem__)
                leaves = [known[leaf] if isinstance(leaf, Node) else leaf for leaf in primal.output_node().args[0]]
                made = graph.call_function(together, tuple(leaves), name=node.name)
            made.meta["type"] = node.meta.get("type")
            made._position = node._position
            node.replace_all_uses_with(made)
            graph.erase_node(node)
