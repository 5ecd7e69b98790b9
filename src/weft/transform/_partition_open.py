"""Opening composite calls where they stand: the calls of their bodies take their place.

The node itself stays, as the last of those calls, so that whoever holds it still has its value. What a composite draws
is then drawn once, and read by forward and backward alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.graph import Node
from weft.ops._families import spread_call
from weft.ops._op import TABLE
from weft.transform._builder import Builder, Value
from weft.transform._calls import op_call


def is_composite(node: Node) -> bool:
    """Whether a node calls a function over other ops."""
    if node.op != "call_function" or node.bodies:
        return False
    called = op_call(node)
    return called is not None and called[0].composite


def open_composite(builder: Builder, node: Node) -> tuple[list[Node], Any]:
    """Write the body of a composite in front of its node; the new nodes, and what the body gives."""
    called = op_call(node)
    assert called is not None
    op, arguments = called
    with builder.at(node), builder.graph.inserting_before(node), builder.recording():
        mark = builder.mark()
        result = spread_call(op.body)(*builder.value(arguments))  # type: ignore[arg-type]  # a composite has a body
        made = builder.since(mark)
    region = node.meta.get("checkpoint")
    if region is not None:
        for each in made:
            each.meta["checkpoint"] = region
    _become(node, made, result)
    return [each for each in made if not each._erased], result


def _become(node: Node, made: list[Node], result: Any) -> None:
    """Let a node give what the body of its composite gives."""
    if isinstance(result, (tuple, list)):
        node.target, node.args, node.kwargs = tuple, ([_node(part) for part in result],), {}
        return
    last = result.node if isinstance(result, Value) else None
    if last is not None and made and made[-1] is last and not last.users:
        node.target, node.args, node.kwargs = last.target, last.args, last.kwargs
        node.graph.erase_node(last)
        return
    node.target, node.args, node.kwargs = TABLE["astype"], (_node(result), node.meta["type"].dtype), {"copy": False}


def _node(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_node(part) for part in value])
    return value.node if isinstance(value, Value) else value


def open_all(builder: Builder, nodes: Iterable[Node]) -> None:
    """Open every composite among some nodes, and those that their bodies call."""
    waiting = [node for node in nodes if is_composite(node)]
    while waiting:
        node = waiting.pop()
        made, _ = open_composite(builder, node)
        waiting.extend(each for each in (*made, node) if is_composite(each))
