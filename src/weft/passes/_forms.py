"""Nodes of control flow taken apart, changed, and put together again.

A `Form` lists what a node's arguments mean: what decides, the bodies, the carries, the rows, the operands. Bodies take
one placeholder for each carry, row and operand, in this order; a `fori_loop`'s takes the counter first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.graph import Graph, Node, map_arg
from weft.graph._control import cond, fail, fori_loop, scan, switch, while_loop
from weft.passes._kinds import is_control, must_run
from weft.passes._sweep import is_getitem


@dataclass
class Form:
    """A control node's arguments by what they mean; `lead` is the predicate, the index, or the two bounds."""

    target: Any
    lead: list[Any]
    bodies: list[Graph]
    carries: list[Any]
    rows: list[Any]
    operands: list[Any]
    kwargs: dict[str, Any]

    @property
    def first_carry(self) -> int:
        """The place of the first carry among a body's placeholders."""
        return 1 if self.target is fori_loop else 0

    @property
    def first_operand(self) -> int:
        """The place of the first operand among a body's placeholders."""
        return self.first_carry + len(self.carries) + len(self.rows)

    @property
    def is_branch(self) -> bool:
        """Whether one of the bodies runs, once."""
        return self.target is cond or self.target is switch

    @property
    def step_body(self) -> Graph:
        """The body of a loop which gives the next carries."""
        return self.bodies[-1]

    def write_to(self, node: Node) -> None:
        """Make these the arguments of a node."""
        carries = [] if self.is_branch else [tuple(self.carries)]
        rows = [tuple(self.rows)] if self.target is scan else []
        bodies: list[Any] = [list(self.bodies)] if self.target is switch else list(self.bodies)
        node._set((*self.lead, *bodies, *carries, *rows, *self.operands), self.kwargs)


def form_of(node: Node) -> Form | None:
    """The form of a control node; None for any other node, and where its arguments are not flat."""
    if not is_control(node):
        return None
    target, args, kwargs = node.target, list(node.args), dict(node.kwargs)
    form: Form | None = None
    if target is cond and len(args) >= 3:
        form = Form(target, args[:1], args[1:3], [], [], args[3:], kwargs)
    elif target is switch and len(args) >= 2 and isinstance(args[1], (list, tuple)):
        form = Form(target, args[:1], list(args[1]), [], [], args[2:], kwargs)
    elif target is while_loop and len(args) >= 3 and isinstance(args[2], (list, tuple)):
        form = Form(target, [], args[:2], list(args[2]), [], args[3:], kwargs)
    elif target is fori_loop and len(args) >= 4 and isinstance(args[3], (list, tuple)):
        form = Form(target, args[:2], args[2:3], list(args[3]), [], args[4:], kwargs)
    elif target is scan and len(args) >= 3 and all(isinstance(arg, (list, tuple)) for arg in args[1:3]):
        form = Form(target, [], args[:1], list(args[1]), list(args[2]), args[3:], kwargs)
    if form is None or not form.bodies or not all(isinstance(body, Graph) for body in form.bodies):
        return None
    wanted = form.first_operand + len(form.operands)
    return form if all(len(placeholders(body)) == wanted for body in form.bodies) else None


def placeholders(graph: Graph) -> list[Node]:
    """The inputs of a graph, which come first."""
    found = []
    for node in graph.nodes:
        if node.op != "placeholder":
            break
        found.append(node)
    return found


def result_of(graph: Graph) -> Any:
    """What a body returns: nodes and constants in tuples."""
    return graph.output_node().args[0]


def fails(graph: Graph) -> bool:
    """Whether a body never returns: its result is a `fail` node."""
    result = result_of(graph)
    return isinstance(result, Node) and result.op == "call_function" and result.target is fail


def inline(body: Graph, values: Sequence[Any], before: Node) -> Any:
    """Copy the nodes of a body before a node of another graph; `values` stand for its inputs. Returns its result."""
    graph = before.graph
    copies: dict[Node, Any] = dict(zip(placeholders(body), values, strict=True))
    with graph.inserting_before(before):
        for node in body.nodes:
            if node.op == "output":
                return map_arg(node.args[0], copies.__getitem__)
            if node not in copies:
                copies[node] = graph.node_copy(node, copies.__getitem__)
    return None


def without(body: Graph, dropped: Sequence[int], result: Any, instead: Mapping[Node, Any] | None = None) -> Graph:
    """A copy of a body that takes no input at the places dropped and returns `result`, told in nodes of the body.

    `instead` says what stands for a dropped input that is still read: an input that stays, or a constant.
    """
    copied = body.clone()
    twins = dict(zip(body.nodes, copied.nodes, strict=True))
    copied.output_node().args = (map_arg(result, twins.__getitem__),)
    inputs = placeholders(copied)
    for old, new in (instead or {}).items():
        twins[old].replace_all_uses_with(twins[new] if isinstance(new, Node) else new)
    remove_dead(copied, keep=set(inputs))
    for place in dropped:
        copied.erase_node(inputs[place])
    return copied


def remove_dead(graph: Graph, keep: set[Node] | None = None) -> list[Node]:
    """Erase what nothing reads and nobody would miss; the nodes that went, last first."""
    known: dict[Graph, str] = {}
    gone = []
    for node in reversed(graph.nodes):
        if not (node.users or (keep and node in keep) or must_run(node, known)):
            graph.erase_node(node)
            gone.append(node)
    return gone


def projections(node: Node) -> dict[int, list[Node]] | None:
    """The nodes that read each item of a node's result; None where something else reads it."""
    found: dict[int, list[Node]] = {}
    for user in node.users:
        if not is_getitem(user) or type(user.args[1]) is not int or user.args[1] < 0 or user.args[0] is not node:
            return None
        found.setdefault(user.args[1], []).append(user)
    return found


def renumber(node: Node, kept: Sequence[int]) -> None:
    """Have the readers of a node's items, and its type, follow when only some items are left."""
    places = {old: new for new, old in enumerate(kept)}
    for user in list(node.users):
        user.args = (node, places[user.args[1]])
    for fact in ("type", "tensor_meta"):
        if node._meta and isinstance(node._meta.get(fact), (tuple, list)):
            node._meta[fact] = tuple(node._meta[fact][place] for place in kept)
