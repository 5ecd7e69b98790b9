"""Forward mode through control flow: tangents go round with the values, through the same branches and turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.errors import NotDifferentiable
from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.transform._activity import Active, any_active, loop_activity, merged, result_activity
from weft.transform._batch_calls import draws
from weft.transform._bodies import bodies_as, close, close_together, item_after, replace_call, type_carries, with_inputs
from weft.transform._builder import Builder, Value
from weft.transform._calls import where_of
from weft.transform._custom_nodes import custom_call
from weft.transform._forward import Pushforward
from weft.transform._split import copy_body, gradient_type
from weft.transform._tape import Tape, Tapes


def push_control(push: Pushforward, node: Node) -> None:
    """Let a control-flow node give the tangents of its results as well."""
    if push.apart and draws(node):
        raise NotDifferentiable(
            "a loop or branch that draws random numbers cannot be linearized: it would draw others for the derivative",
            where=where_of(node),
            help="use weft.jvp or weft.vjp, for Jacobians weft.jacrev, or draw before the loop",
        )
    if node.target is fori_loop:
        _push_for(push, node)
    elif node.target is while_loop:
        _push_while(push, node)
    elif node.target is cond:
        _push_branches(push, node, list(node.args[1:3]), node.args[3:])
    elif node.target is custom_call:
        from weft.transform._custom_call import push_custom

        push_custom(push, node)
    else:
        assert node.target is switch, node.target
        _push_branches(push, node, list(node.args[1]), node.args[2:])


class _Body:
    """A copy of a body in which tangents are pushed along."""

    def __init__(self, outer: Pushforward, body: Graph, own: int, operands: Sequence[Any], number: int = 0) -> None:
        self.graph = copy_body(body, outer.builder)
        self.builder = Builder(self.graph, outer.builder.sizes, outer.builder)
        self.places = self.graph.find_nodes(op="placeholder")
        self.own, self.operands = self.places[:own], operands
        self.push = Pushforward(self.builder)
        for place, operand in zip(self.places[own:], operands, strict=True):
            if isinstance(operand, Node):
                self.builder.region.inputs.setdefault(operand, place)
        for place, operand in zip(self.places[own:], operands, strict=True):
            tangent = outer.of(operand)
            if tangent is not None:
                inside = self.builder.region.lift(tangent.node)
                type_ = tangent.type.types[number] if isinstance(tangent.type, Tapes) else tangent.type
                inside.meta["type"] = type_  # of tapes, the one of this branch
                self.push.tangents[place] = Value(self.builder, inside, type_)
        output = self.graph.output_node()
        self.result = output.args[0]
        self.graph.erase_node(output)

    def input(self, place: Node, type_: Any) -> Value:
        """A new input: the tangent of another one."""
        made = self.builder.region.placeholder(f"t_{place.name}")
        made.meta["type"] = type_
        value = Value(self.builder, made, type_)
        self.push.tangents[place] = value
        return value

    def run(self) -> None:
        self.push.run([node for node in self.graph.nodes if node.op != "placeholder"])

    def tangent(self, result: Any, type_: Any) -> Any:
        """The tangent of one of the results; zeros where it does not vary."""
        found = self.push.of(result)
        if found is not None:
            return found
        return self.builder.zeros(result.meta["type"] if isinstance(result, Node) else type_)


class _Loop:
    def __init__(
        self, push: Pushforward, body: Graph, counters: int, init: Any, operands: Any, types: Sequence[Any]
    ) -> None:
        self.push = push
        active: dict[Node, Active] = dict.fromkeys(push.tangents, True)
        carries = loop_activity(body, counters, init, operands, active)
        self.carried = [k for k, each in enumerate(carries) if any_active(each)]
        self.body = made = _Body(push, body, counters + len(init), operands)
        places = made.own[counters:]
        type_carries(made.builder, places, types)
        starts = {k: push.of(init[k]) for k in self.carried}
        known = {k: getattr(starts[k], "type", places[k].meta["type"]) for k in self.carried}
        inputs = [
            made.input(place, known[k] if isinstance(place.meta["type"], Tape) else gradient_type(place.meta["type"]))
            for k, place in ((k, places[k]) for k in self.carried)
        ]
        made.run()
        after = [made.tangent(made.result[k], places[k].meta["type"]) for k in self.carried]
        for value, now in zip(inputs, after, strict=True):
            if isinstance(value.type, Tape):
                value.type = value.node.meta["type"] = now.type
        self.inputs = [value.node for value in inputs]
        own = [*made.own, *self.inputs]
        result = (*made.result, *(getattr(value, "node", value) for value in after))
        self.operands = close(made.builder, own, result, made.places[len(made.own) :], operands)
        self.starts = [self._start(starts[k], init[k], places[k].meta["type"]) for k in self.carried]
        self.types = [value.type if isinstance(value.type, Tape) else None for value in inputs]

    def _start(self, tangent: Any, value: Any, type_: Any) -> Any:
        if tangent is not None:
            return tangent
        return self.push.builder.zeros(value.meta["type"] if isinstance(value, Node) else type_)

    def finish(self, node: Node, head: tuple[Any, ...], init: Any) -> None:
        types = node.meta["type"]
        more = [known or gradient_type(types[k]) for known, k in zip(self.types, self.carried, strict=True)]
        args = (*head, (*init, *self.starts), *self.operands)
        places = {k: len(types) + at for at, k in enumerate(self.carried)}
        _finish(self.push, node, args, (*types, *more), places)


def _finish(push: Pushforward, node: Node, args: Any, types: tuple[Any, ...], places: dict[int, int]) -> None:
    """Replace a node by one that gives tangents, and note them."""
    count = len(node.meta["type"])
    if push.apart:
        made = push.builder.create(node.target, args, dict(node.kwargs), types, node.name)
    else:
        made = replace_call(push.builder, node, args, types)
    found: list[Any] = [None] * count
    for k, at in reversed(places.items()):
        item = item_after(made, at, types[at], f"t_{node.name}_{k}")
        found[k] = Value(push.builder, item, types[at])
    push.tangents[node if push.apart else made] = found


def _push_for(push: Pushforward, node: Node) -> None:
    lower, upper, body, init, *operands = node.args
    loop = _Loop(push, body, 1, init, operands, node.meta["type"])
    if loop.carried:
        loop.finish(node, (lower, upper, loop.body.graph), init)


def _push_while(push: Pushforward, node: Node) -> None:
    decide, body, init, *operands = node.args
    loop = _Loop(push, body, 0, init, operands, node.meta["type"])
    if not loop.carried:
        return
    inputs = [(each.name, each.meta["type"]) for each in loop.inputs]
    decide = with_inputs(decide, len(init), inputs, loop.operands[len(operands) :])
    loop.finish(node, (decide, loop.body.graph), init)


def _push_branches(push: Pushforward, node: Node, bodies: list[Graph], operands: Sequence[Any]) -> None:
    types = node.meta["type"]
    active = [push.of(operand) is not None for operand in operands]
    found = [each for each in (result_activity(body, active) for body in bodies) if each is not None]
    varies = merged(found)
    if not isinstance(varies, tuple):
        return
    wanted = [k for k, each in enumerate(varies) if any_active(each)]
    if not wanted:
        return
    sides = [_Body(push, body, 0, operands, number) for number, body in enumerate(bodies)]
    parts: list[tuple[Builder, Sequence[Node], Any, Sequence[Node]]] = []
    given: list[list[Any]] = []
    for side in sides:
        side.run()
        result = side.result
        if isinstance(result, (tuple, list)):
            tangents = [side.tangent(result[k], types[k]) for k in wanted]
            given.append([getattr(each, "type", Tape((), ())) for each in tangents])
            result = (*result, *(getattr(each, "node", each) for each in tangents))
        else:
            given.append([None] * len(wanted))
        parts.append((side.builder, [], result, side.places))
    outside = close_together(parts)
    more = [
        Tapes(tuple(each[at] or Tape((), ()) for each in given))
        if isinstance(types[k], Tapes)
        else gradient_type(types[k])
        for at, k in enumerate(wanted)
    ]
    args = (node.args[0], *bodies_as(node, [side.graph for side in sides]), *operands, *outside)
    places = {k: len(types) + at for at, k in enumerate(wanted)}
    _finish(push, node, args, (*types, *more), places)
