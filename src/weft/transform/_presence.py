"""Whether a gradient comes to a leaf at all: to one that only the other side of a branch reads comes none, not zeros.

A leaf that is certain to be read needs nothing. Any other gets a token, which goes into all bodies that it goes into.
They read `touch(leaf, token)`: the leaf itself, with a derivative of 1 by the token whatever the gradient. So the
gradient of the token is positive where one has come to the leaf, through any branches and loops.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from weft.capture._sizes import rename
from weft.graph import Graph, Node, map_arg
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.ops import Spec
from weft.ops.elementwise import stop_gradient
from weft.transform._activity import continuous
from weft.transform._builder import Builder
from weft.transform._tape import touch

_OPERANDS: dict[Any, int] = {cond: 3, switch: 2, while_loop: 3, fori_loop: 4}  # where they begin
_LOOPS = (while_loop, fori_loop)


class Tokens:
    """The tokens of leaves of a graph, by leaf: nodes whose gradients are asked for, too."""

    def __init__(
        self, builder: Builder, nodes: Sequence[Node], active: Collection[Node], results: Iterable[Node], leaves: Any
    ) -> None:
        self.builder = builder
        self.of: dict[Node, Node] = {}
        if not any(node.target in _OPERANDS for node in nodes):
            return
        used = reached(results, active)
        first = next(node for node in nodes if node.op not in ("placeholder", "get_attr"))
        for leaf in leaves:
            users = [user for user in leaf.users if user in used]
            if users and not any(self._certain(user, leaf, used) for user in users):
                with builder.graph.inserting_before(first):
                    token = builder.zeros(Spec((), np.float64)).node
                rename(token, f"{leaf.name}_token")
                self.of[leaf] = token
                for user in users:
                    _give(user, leaf, token)

    def _certain(self, user: Node, value: Node, used: Collection[Node]) -> bool:
        """Whether a gradient comes to a value wherever one comes to the `used` results of a node that reads it."""
        if user.target not in _OPERANDS:
            return True
        wanted = {one.args[1] for one in user.users if one in used}
        inside = list(_inside(user, wanted))
        if any(value is user.args[_OPERANDS[user.target] - 1][k] for k in wanted if user.target in _LOOPS):
            return True
        if user.target is while_loop or (user.target is fori_loop and not self._runs(*user.args[:2], **user.kwargs)):
            return False
        return all(
            any(self._certain_in(body, place, used) for place in _places(user, body, value)) for body, used in inside
        )

    def _certain_in(self, body: Graph, place: Node, used: Collection[Node]) -> bool:
        output = body.output_node()
        return place in used and any(
            user is output or (user in used and self._certain(user, place, used)) for user in place.users
        )

    def _runs(self, lower: Any, upper: Any, step: Any = 1) -> bool:
        """Whether a loop makes a turn in this call; it is guarded then."""
        if not isinstance(step, int):
            return False
        begin, end = (self.builder.integer_of(one) if isinstance(one, Node) else one for one in (lower, upper))
        distance = end - begin if step > 0 else begin - end
        return getattr(distance, "hint", 0) is not None and bool(distance > 0)

    def remove(self) -> None:
        """Let the graph, with its gradients in it, read the leaves themselves again."""
        if self.of:
            _untouched(self.builder.graph)


def _nodes(arg: Any) -> Sequence[Any]:
    return arg if isinstance(arg, (tuple, list)) else (arg,)


def reached(results: Iterable[Any], among: Collection[Node] | None = None) -> set[Node]:
    """The nodes that results are computed from, and vary with: of a branch or loop, through the results in use."""
    found: set[Node] = set()
    waiting = [node for node in results if isinstance(node, Node)]
    while waiting:
        node = waiting.pop()
        if node in found or not (_varies(node) if among is None else node in among):
            continue
        found.add(node)
        source = node.args[0] if node.target is operator.getitem else None
        if isinstance(source, Node) and source.target in _OPERANDS:
            found.add(source)
            waiting += _behind(source, node.args[1])
        else:
            waiting += node.all_input_nodes
    return found


def _varies(node: Node) -> bool:
    return node.target is not stop_gradient and continuous(node.meta.get("type"))


def _behind(node: Node, k: int) -> list[Node]:
    """The nodes that one result of a branch or loop is computed from."""
    begin, wanted = _OPERANDS[node.target], {k}
    found = [node.args[begin + j] for j in operands_behind(node, wanted)]
    if node.target in _LOOPS:
        found += [one for k, one in enumerate(node.args[begin - 1]) if k in wanted]
    return [one for one in found if isinstance(one, Node)]


def operands_behind(node: Node, wanted: set[int]) -> set[int]:
    """The numbers of the operands of a branch or loop that its wanted results vary with; more may become wanted."""
    count = len(node.args) - _OPERANDS[node.target]
    found: set[int] = set()
    for body, used in _inside(node, wanted):
        places = body.find_nodes(op="placeholder")
        found.update(j for j, place in enumerate(places[len(places) - count :]) if place in used)
    return found


def _inside(node: Node, wanted: set[int]) -> Iterator[tuple[Graph, set[Node]]]:
    """The bodies of a node, each with the nodes that the wanted results depend on; of a loop, more become wanted."""
    for body in node.bodies[1:] if node.target is while_loop else node.bodies:
        if _fails(body):
            continue
        output = body.output_node().args[0]
        if node.target in _LOOPS:
            wanted |= _useful(body, 1 if node.target is fori_loop else 0, len(output), wanted)
        yield body, reached(output[k] for k in wanted)


def _useful(body: Graph, own: int, count: int, wanted: set[int]) -> set[int]:
    """The carries that the results wanted of a loop vary with, after any number of turns."""
    places = body.find_nodes(op="placeholder")[own : own + count]
    output = body.output_node().args[0]
    while True:
        used = reached(output[k] for k in wanted)
        found = wanted | {k for k, place in enumerate(places) if place in used}
        if found == wanted:
            return found
        wanted = found


def _fails(body: Graph) -> bool:
    result = body.output_node().args[0]
    return isinstance(result, Node) and result.meta.get("type") is None and result.is_impure()


def _places(node: Node, body: Graph, value: Node) -> list[Node]:
    """The inputs of a body that stand for an operand."""
    operands = node.args[_OPERANDS[node.target] :]
    places = body.find_nodes(op="placeholder")
    places = places[len(places) - len(operands) :]
    return [place for place, operand in zip(places, operands, strict=True) if operand is value]


def _give(node: Node, value: Node, token: Node) -> None:
    """Let the bodies of a node have a token, and touch it where they read a value."""
    for body in node.bodies:
        inside = _places(node, body, value)
        last = body.find_nodes(op="placeholder")[-1]
        with body.inserting_before(last.next):
            own = body.create_node("placeholder", "token", (), {}, "token")
        own.target = own.name
        own.meta["type"] = token.meta["type"]
        for place in inside:
            _touch(body, place, own)
    node.args = (*node.args, token)


def _touch(body: Graph, place: Node, token: Node) -> None:
    users = list(place.users)
    deeper = [user for user in users if user.target in _OPERANDS and place in user.args[_OPERANDS[user.target] :]]
    for user in deeper:
        _give(user, place, token)
    direct = [user for user in users if user not in deeper or _starts_with(user, place)]
    if not direct:
        return
    with body.inserting_before(token.next):
        made = body.create_node("call_function", touch, (place, token), {}, place.name)
    made._position = place._position
    made.meta["type"] = place.meta["type"]
    for user in direct:
        if user in deeper:
            begin = _OPERANDS[user.target]
            user.args = (*map_arg(user.args[:begin], lambda one: made if one is place else one), *user.args[begin:])
        else:
            user.replace_input_with(place, made)


def _starts_with(user: Node, value: Node) -> bool:
    """Whether a branch or loop has a value as a condition, or to begin with."""
    return any(value in _nodes(arg) for arg in user.args[: _OPERANDS[user.target]])


def _untouched(graph: Graph) -> None:
    for node in list(graph.nodes):
        for body in node.bodies:
            _untouched(body)
        if node.target is touch:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
