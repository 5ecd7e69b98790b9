"""Loops in pieces: of each piece only what it starts with is kept, and its turns run again on the way back.

A loop of n turns becomes one over about √n pieces with a loop of about √n turns in each, which is marked as a call of
`checkpoint` is. So no more than about 2·√n turns are on tapes at once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import fori_loop
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.transform._builder import Builder
from weft.transform._remat import is_repeatable

_FEW = 4  # turns that are not worth it


def cut_loops(builder: Builder, nodes: Iterable[Node]) -> bool:
    """Cut the loops among some nodes; whether there is one that can be."""
    found = [node for node in nodes if _can_be_cut(node)]
    for node in found:
        _cut(builder, node)
    return bool(found)


def _can_be_cut(node: Node) -> bool:
    if node.target is not fori_loop or node.kwargs.get("step", 1) != 1 or not is_repeatable(node):
        return False
    lower, upper, body = node.args[:3]
    if isinstance(lower, int) and isinstance(upper, int) and upper - lower < _FEW:
        return False
    types = [place.meta.get("type") for place in body.find_nodes(op="placeholder")]
    return not any(isinstance(type_, Spec) and any(isinstance(d, Dim) for d in type_.shape) for type_ in types)


def _cut(builder: Builder, node: Node) -> None:
    lower, upper, body, init, *operands = node.args
    with builder.at(node), builder.graph.inserting_before(node):
        length = _length(builder, lower, upper)
    places = body.find_nodes(op="placeholder")
    types = [int, *node.meta["type"], *(place.meta.get("type") for place in places[1 + len(init) :])]
    more = [each for each in (upper, length) if isinstance(each, Node)]
    graph = Graph()
    names = [place.name for place in places] + ["stop", "length"][2 - len(more) :]
    inputs = [graph.create_node("placeholder", name, (), {}, name) for name in names]
    for place, type_ in zip(inputs, [*types, *(int for _ in more)], strict=True):
        place.target = place.name
        place.meta["type"] = type_
    given = dict(zip(more, inputs[len(places) :], strict=True))
    start, carries = inputs[0], tuple(inputs[1 : 1 + len(init)])

    def call(target: Any, args: tuple[Any, ...], type_: Any) -> Node:
        made = graph.create_node("call_function", target, args, {})
        made._position = node._position
        made._meta = {"type": type_}
        return made

    stop = call(operator.add, (start, given.get(length, length)), int)
    end = call(min, (stop, given.get(upper, upper)), int)
    inner = call(fori_loop, (start, end, body, carries, *inputs[1 + len(init) : len(places)]), node.meta["type"])
    inner.meta["checkpoint"] = 0  # the only call of the body
    graph.output(tuple(call(operator.getitem, (inner, k), type_) for k, type_ in enumerate(node.meta["type"])))
    node.args = (lower, upper, graph, init, *operands, *more)
    node.kwargs = {"step": length}


def _length(builder: Builder, lower: Any, upper: Any) -> Any:
    """How many turns a piece has: the root of how many there are."""
    if isinstance(lower, int) and isinstance(upper, int):
        return math.isqrt(upper - lower)
    turns = builder.create(operator.sub, (upper, lower), {}, int)
    some = builder.create(max, (turns, 1), {}, int)
    return builder.create(math.isqrt, (some,), {}, int)
