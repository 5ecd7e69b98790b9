"""Bodies of control-flow nodes that are written anew: closed together, since all of a node take the same operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.transform._builder import Builder


def body_of(builder: Builder) -> Builder:
    """A builder for a body of a node of the builder's graph."""
    return Builder(Graph(), builder.sizes, builder)


def take_back(builder: Builder, mark: Node) -> None:
    """Erase the nodes written after a mark; inputs and constants stay."""
    for node in reversed(builder.since(mark)):
        if node.op not in ("get_attr", "placeholder"):
            builder.graph.erase_node(node)
    known = builder.region.sizes
    builder.region.sizes = {key: node for key, node in known.items() if not getattr(node, "_erased", False)}


def close_all(bodies: Sequence[Builder], own: Sequence[Sequence[Node]], results: Sequence[Any]) -> list[Any]:
    """End the bodies of one node: its own inputs first, then what any of them reads from outside; the operands."""
    for body, result in zip(bodies, results, strict=True):
        body.graph.output(body.argument(result))
        body.graph._sweep(lambda node: node.is_impure())
    operands: dict[Node, None] = {}
    for body in bodies:
        for outer, place in body.region.inputs.items():
            if place.users:
                operands[outer] = None
    for body, inputs in zip(bodies, own, strict=True):
        order = list(inputs)
        order.extend(body.region.lift(outer) for outer in operands)
        for outer, place in list(body.region.inputs.items()):
            if outer not in operands:
                body.graph.erase_node(place)
                del body.region.inputs[outer]
        for place in reversed(order):
            first = next(iter(body.graph.nodes))
            if first is not place:
                first.prepend(place)
    return list(operands)
