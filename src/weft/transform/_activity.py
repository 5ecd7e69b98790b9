"""Which values of a graph vary with the inputs that are differentiated: only those have derivatives.

A value of integers, truth values or text has none; nor has one that is computed from such values alone.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.graph._arguments import map_aggregate
from weft.graph._control import cond, fori_loop, scan, switch, while_loop
from weft.graph._looping import together
from weft.ops import Spec
from weft.transform._calls import op_call, refuse_hidden, refuse_unknown, varies_with
from weft.transform._custom_nodes import custom_call
from weft.transform._tape import Tape, Tapes, touch

Active = bool | tuple[Any, ...]
"""Whether a value varies; of several values, one answer for each."""


def continuous(type_: Any) -> bool:
    """Whether values of a type can have derivatives."""
    if isinstance(type_, Spec):
        return type_.dtype.kind in "fc"
    if isinstance(type_, type):
        return type_ in (float, complex) or issubclass(type_, np.inexact)
    if isinstance(type_, (Tape, Tapes)):
        return any(map(continuous, type_.types))
    return isinstance(type_, (tuple, list)) and any(map(continuous, type_))


def any_active(active: Active) -> bool:
    """Whether a value, or one of several, varies."""
    return any(map(any_active, active)) if isinstance(active, tuple) else active


def spread(active: Active, type_: Any) -> Active:
    """The same answer for each of several values of which only one answer is known."""
    if isinstance(type_, (tuple, list)):
        parts = active if isinstance(active, tuple) else (active,) * len(type_)
        return tuple(spread(part, each) for part, each in zip(parts, type_, strict=True))
    return any_active(active) and continuous(type_)


def activity(nodes: Iterable[Node], inputs: dict[Node, Active]) -> dict[Node, Active]:
    """Which nodes vary with the given ones. Nodes that do not are left out."""
    found: dict[Node, Active] = {node: active for node, active in inputs.items() if any_active(active)}
    for node in nodes:
        if node.op not in ("call_function", "call_method") or node in found:
            continue
        if not any(argument in found for argument in node.all_input_nodes):
            continue
        refuse_hidden(node)
        active = _of_call(node, found)
        if any_active(active):
            found[node] = active
    return found


def of(found: dict[Node, Active], argument: Any) -> bool:
    """Whether an argument, or a part of it, varies."""
    hit = False

    def leaf(part: Any) -> Any:
        nonlocal hit
        hit = hit or (isinstance(part, Node) and any_active(found.get(part, False)))
        return part

    map_aggregate(argument, leaf)
    return hit


def _of_call(node: Node, found: dict[Node, Active]) -> Active:
    target, type_ = node.target, node.meta.get("type")
    if target is operator.getitem and isinstance(node.args[0], Node):
        whole = found.get(node.args[0], False)
        if isinstance(whole, tuple) and isinstance(node.args[1], int):
            found_there: Active = whole[node.args[1]]
            return found_there
    refuse_unknown(node)
    if target is touch:
        return spread(True, type_)
    if target is together:
        return spread(tuple(of(found, value) for value in node.args), type_)
    if node.bodies:
        return spread(_of_control(node, found), type_)
    called = op_call(node)
    if called is not None and not any(of(found, part) for part in varies_with(*called)):
        return False
    return spread(True, type_)


def _of_control(node: Node, found: dict[Node, Active]) -> Active:
    target, args = node.target, node.args
    if target is cond:
        return _branches(args[1:3], args[3:], found)
    if target is switch:
        return _branches(args[1], args[2:], found)
    if target is while_loop:
        return loop_activity(args[1], 0, args[2], args[3:], found)
    if target is fori_loop:
        return loop_activity(args[2], 1, args[3], args[4:], found)
    if target is custom_call:
        return any(of(found, operand) for operand in args[2])
    assert target is scan, target
    return True


def _branches(bodies: Sequence[Graph], operands: Sequence[Any], found: dict[Node, Active]) -> Active:
    active = [found.get(operand, False) if isinstance(operand, Node) else False for operand in operands]
    results = [result_activity(body, active) for body in bodies]
    return merged([result for result in results if result is not None])


def result_activity(body: Graph, active: Iterable[Active]) -> Active | None:
    """Which results of a body vary where these of its inputs do; None where it only raises."""
    output = body.output_node().args[0]
    inner = activity(body.nodes, dict(zip(body.find_nodes(op="placeholder"), active, strict=True)))
    if isinstance(output, Node):
        return None if output.meta.get("type") is None and output.is_impure() else inner.get(output, False)
    return tuple(of(inner, part) if not isinstance(part, Node) else inner.get(part, False) for part in output)


def merged(results: Sequence[Active]) -> Active:
    """What varies where it does in one of several cases."""
    if not results:
        return False
    first = results[0]
    if isinstance(first, tuple):
        return tuple(merged([result[k] for result in results]) for k in range(len(first)))  # type: ignore[index]
    return any(map(any_active, results))


def loop_activity(
    body: Graph, counters: int, init: Sequence[Any], operands: Sequence[Any], found: dict[Node, Active]
) -> tuple[Active, ...]:
    """Which carries of a loop vary: those that do before it, and those that a turn makes vary."""
    outside = [found.get(operand, False) if isinstance(operand, Node) else False for operand in operands]
    carries: list[Active] = [of(found, value) for value in init]
    places = body.find_nodes(op="placeholder")[counters : counters + len(carries)]
    carries = [spread(active, place.meta.get("type")) for active, place in zip(carries, places, strict=True)]
    while True:
        after = result_activity(body, [*(False,) * counters, *carries, *outside])
        if not isinstance(after, tuple):
            return tuple(carries)
        both = [merged([a, b]) for a, b in zip(carries, after, strict=True)]
        if both == carries:
            return tuple(carries)
        carries = both
