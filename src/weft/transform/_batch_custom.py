"""Batching of calls whose derivative has a rule of its own: the function's graph and those of its rule are batched.

Every operand gets a row for each example, so that its gradient has them as well: what all examples share is spread
before the call, and its gradient summed by the derivative of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.transform._batch import NUMBERS, Batch, Rows, Unbatchable, is_plain
from weft.transform._batch_bodies import close_all
from weft.transform._batch_control import Body
from weft.transform._batch_layouts import as_rows, layout_of, type_in
from weft.transform._custom_nodes import custom_call


def batch_custom(batch: Batch, node: Node) -> Any:
    """What stands for a call with a rule of its own."""
    kind, primal, operands, rules = node.args
    types = batch.type_of(node)
    spread = {each: _spread(batch, each) for each in operands if isinstance(each, Node)}
    graph, given = _closed(batch, primal, [spread.get(each, each) for each in operands], types)
    if kind == "vjp":
        (forward, inputs), (backward, outside) = rules
        known = [spread.get(each) or _spread(batch, each) for each in inputs]
        made = _Rule(batch, forward, known)
        results, kept = made.results[: len(types)], made.results[len(types) :]
        rows = [_in_rows(made.body.batch, each, type_) for each, type_ in zip(results, types, strict=True)]
        held = [each for each in kept if isinstance(each, (Rows, Node))]
        first = made.close([*rows, *(each.value if isinstance(each, Rows) else each for each in held)])
        second = _backward(batch, backward, kept, types, outside, [known[place] for place in node.meta["inputs"]])
        done: tuple[Any, ...] = (first, second)
    else:
        ((rule, outside),) = rules
        inputs = operands[: node.meta["count"]]
        done = (_forward_rule(batch, rule, [spread[each] for each in inputs], node.meta["inputs"], outside, types),)
    made_types = tuple(type_in(batch, True, each) for each in types)
    call = batch.builder.create(custom_call, (kind, graph, given, done), {}, made_types)
    call.meta["inputs"], call.meta["count"] = node.meta["inputs"], node.meta["count"]
    return tuple(
        Rows(batch.builder.item(call, k, each), type_)
        for k, (each, type_) in enumerate(zip(made_types, types, strict=True))
    )


def _spread(batch: Batch, operand: Any) -> Rows:
    """An operand with a row for each example."""
    entry = batch.held(operand)
    type_ = batch.type_of(operand) if isinstance(operand, Node) else type(operand)
    if not isinstance(type_, Spec) and type_ not in NUMBERS:
        raise Unbatchable("an operand that is no array", operand if isinstance(operand, Node) else None)
    return as_rows(batch, entry, type_)  # type: ignore[no-any-return]  # Rows


def _in_rows(batch: Batch, entry: Any, type_: Any) -> Any:
    """A result with a row for each example, of just the shape that it should have."""
    made = as_rows(batch, entry, type_)
    if not same_shape(made.shape, type_.shape if isinstance(type_, Spec) else ()):
        raise Unbatchable("a rule that gives another shape")
    return made.value


class _Rule:
    """A graph, batched for entries: `own` inputs first, in their order."""

    def __init__(self, batch: Batch, graph: Graph, entries: Sequence[Any]) -> None:
        self.body = body = Body(batch, graph, batch.mask)
        for place, entry in zip(body.places, entries, strict=True):
            if isinstance(entry, (Rows, Node)) or not is_plain(entry):
                type_ = entry.type if isinstance(entry, Rows) else batch.type_of(place)
                body.own_input(place.name, layout_of(entry), type_, place)
            else:
                body.batch.known[place] = entry
        found = body.run()
        self.results = list(found) if isinstance(found, tuple) else [found]
        self.entries = [entry for entry in entries if isinstance(entry, (Rows, Node))]

    def close(self, results: Sequence[Any]) -> tuple[Graph, tuple[Any, ...]]:
        """The graph and its operands."""
        outside = close_all([self.body.builder], [self.body.own], [tuple(results)])
        given = [entry.value if isinstance(entry, Rows) else entry for entry in self.entries]
        return self.body.builder.graph, (*given, *outside)


def _closed(batch: Batch, graph: Graph, entries: Sequence[Any], types: Sequence[Any]) -> tuple[Graph, tuple[Any, ...]]:
    made = _Rule(batch, graph, entries)
    rows = [_in_rows(made.body.batch, each, type_) for each, type_ in zip(made.results, types, strict=True)]
    return made.close(rows)


def _backward(
    batch: Batch,
    graph: Graph,
    kept: Sequence[Any],
    types: Sequence[Any],
    outside: Sequence[Any],
    inputs: Sequence[Rows],
) -> tuple[Graph, tuple[Any, ...]]:
    """The backward: what the forward kept, gradients, then operands from outside."""
    body = Body(batch, graph, batch.mask)
    places = iter(body.places)
    for entry in kept:
        if isinstance(entry, Rows):
            body.own_input("kept", True, entry.type, next(places))
        elif isinstance(entry, Node):
            place = next(places)
            body.own_input("kept", False, batch.retyped(place.meta.get("type")), place)
    for type_ in types:
        spec = type_ if isinstance(type_, Spec) else Spec((), type_)
        body.own_input("gradient", True, spec, next(places))
    rest = list(places)
    body.from_outside(rest, [batch.held(each) for each in outside])
    found = body.run()
    results = []
    for entry, like in zip(found, inputs, strict=True):
        spec = like.type if isinstance(like.type, Spec) else Spec((), like.type)
        plain = not isinstance(entry, (Rows, Node))
        results.append(entry if plain else _in_rows(body.batch, entry, Spec(spec.shape, _dtype(body, entry, spec))))
    operands = close_all([body.builder], [body.own], [tuple(results)])
    return body.builder.graph, tuple(operands)


def _dtype(body: Body, entry: Any, spec: Spec) -> Any:
    """A gradient keeps the dtype that the rule gave it."""
    if isinstance(entry, Rows):
        return entry.dtype
    type_ = entry.meta.get("type")
    return type_.dtype if isinstance(type_, Spec) else spec.dtype


def _forward_rule(
    batch: Batch, graph: Graph, inputs: Sequence[Rows], places: Sequence[int], outside: Sequence[Any], types: Any
) -> tuple[Graph, tuple[Any, ...]]:
    """The rule of a forward derivative: inputs, their tangents, then operands from outside."""
    body = Body(batch, graph, batch.mask)
    slots = iter(body.places)
    for each in inputs:
        body.own_input("x", True, each.type, next(slots))
    for place in places:
        spec = inputs[place].type if isinstance(inputs[place].type, Spec) else Spec((), inputs[place].type)
        body.own_input("tangent", True, spec, next(slots))
    body.from_outside(list(slots), [batch.held(each) for each in outside])
    found = list(body.run())
    results = [_in_rows(body.batch, each, type_) for each, type_ in zip(found, types, strict=False)]
    for entry, type_ in zip(found[len(types) :], types, strict=True):
        spec = type_ if isinstance(type_, Spec) else Spec((), type_)
        plain = not isinstance(entry, (Rows, Node))
        results.append(entry if plain else _in_rows(body.batch, entry, Spec(spec.shape, _dtype(body, entry, spec))))
    operands = close_all([body.builder], [body.own], [tuple(results)])
    return body.builder.graph, tuple(operands)
