"""Bodies of control-flow nodes: ending one, and putting another call in the place of its node."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import cond
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.transform._builder import Builder


def close(
    builder: Builder,
    own: Sequence[Node],
    result: Any,
    places: Sequence[Node] = (),
    given: Sequence[Any] = (),
) -> list[Any]:
    """End a body: its inputs in front, its own ones first, then what it reads from outside; returns the operands.

    `places` are inputs that stand for operands given already.
    """
    graph = builder.graph
    graph.output(result)
    operands = list(given)
    order = [*own, *places]
    for outer, place in builder.region.inputs.items():
        if place in places:
            continue
        if place.users:
            operands.append(outer)
            order.append(place)
        else:
            graph.erase_node(place)
    in_front(graph, order)
    graph._sweep(lambda node: node.is_impure())
    return operands


def close_together(parts: Sequence[tuple[Builder, Sequence[Node], Any, Sequence[Node]]]) -> list[Node]:
    """End bodies that get the same operands; returns those that are read from outside."""
    outside: dict[Node, None] = {}
    for builder, _, result, places in parts:
        builder.graph.output(result)
        outside.update((o, None) for o, place in builder.region.inputs.items() if place.users and place not in places)
    for builder, own, _, places in parts:
        graph = builder.graph
        known = builder.region.inputs
        order = [*own, *places]
        for node in outside:
            place = known.get(node)
            if place is None or place in places:
                place = builder.region.placeholder(node.name, node)
            order.append(place)
        for node, place in known.items():
            if node not in outside and place not in places:
                graph.erase_node(place)
        in_front(graph, order)
        graph._sweep(lambda node: node.is_impure())
    return list(outside)


def in_front(graph: Graph, places: Sequence[Node]) -> None:
    """Put inputs in front of a graph, in this order."""
    for place in reversed(places):
        first = next(iter(graph.nodes))
        if first is not place:
            first.prepend(place)


def type_carries(builder: Builder, places: Sequence[Node], types: Sequence[Any]) -> None:
    """Type carries that no turn of a loop reads, such as a result before there is one, as what the loop gives.

    A size that only a turn tells is the carry's own: the turn before had another.
    """
    around = builder.around()
    for place, type_ in zip(places, types, strict=True):
        if place.meta.get("type") is not None:
            continue
        place.meta["type"] = type_
        if isinstance(type_, Spec) and any(is_inside(size, around) for size in type_.shape):
            shape = [
                builder.sizes.size(place.name, size.hint, ("size", place, axis)) if is_inside(size, around) else size
                for axis, size in enumerate(type_.shape)
            ]
            place.meta["type"] = Spec(shape, type_.dtype)


def is_inside(size: Any, around: set[Graph]) -> bool:
    """Whether a size depends on a node of none of these graphs."""
    return isinstance(size, Dim) and any(
        atom.source is not None and atom.source[1].graph not in around for atom in size.atoms()
    )


def bodies_as(node: Node, bodies: list[Graph]) -> tuple[Any, ...]:
    """Bodies as the arguments of a choice like this one."""
    return tuple(bodies) if node.target is cond else (bodies,)


def replace_call(builder: Builder, node: Node, args: tuple[Any, ...], types: tuple[Any, ...]) -> Node:
    """Another call in the place of a control-flow node: the same, with more results."""
    graph = node.graph
    with graph.inserting_before(node):
        made = graph.create_node("call_function", node.target, builder.argument(args), dict(node.kwargs), node.name)
    made._position = node._position
    made._meta = {**(node._meta or {}), "type": types}
    node.replace_all_uses_with(made)
    graph.erase_node(node)
    return made


def item_after(node: Node, index: int, type_: Any, name: str) -> Node:
    """A result of a node, read right after it."""
    graph = node.graph
    with graph.inserting_before(node.next):
        made = graph.create_node("call_function", operator.getitem, (node, index), {}, name)
    made._position = node._position
    made._meta = {"type": type_}
    return made


def with_inputs(graph: Graph, at: int, inputs: Sequence[tuple[str, Any]], last: Sequence[Node]) -> Graph:
    """A copy of a graph with more inputs, which nothing reads: some at a position, others, like nodes, at the end."""
    made = graph.clone()
    places = made.find_nodes(op="placeholder")
    new = [made.create_node("placeholder", name, (), {}, name) for name, _ in inputs]
    for place, (_, type_) in zip(new, inputs, strict=True):
        place.target = place.name
        place.meta["type"] = type_
    more = [made.create_node("placeholder", node.name, (), {}, node.name) for node in last]
    for place, node in zip(more, last, strict=True):
        place.target = place.name
        place.meta["type"] = node.meta.get("type")
    in_front(made, [*places[:at], *new, *places[at:], *more])
    return made
