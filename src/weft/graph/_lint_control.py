"""What `lint` checks of control flow: bodies that fit their node, and writes listed on an output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.graph._control import cond, fail, fori_loop, scan, switch, while_loop
from weft.graph._effects import HOLDS
from weft.graph._node import Node
from weft.graph._print import format_value

if TYPE_CHECKING:
    from weft.graph._graph import Graph

Report = Callable[..., Any]


def check_bodies(node: Node, report: Report) -> None:
    """Check how the bodies of a node fit its arguments; `report(message, node, help)` raises."""
    rule = _RULES.get(node._target) if node._op == "call_function" and _hashable(node._target) else None
    if rule is not None:
        rule(node, _Call(node, report))
    for body in node.bodies:
        _check_closed(node, body, report)


def check_writes(graph: Graph, output: Node, report: Report) -> None:
    """Check the writes on an output: pairs of an input of this graph and a node, each input once."""
    if not output._kwargs:
        return
    writes: Any = output._kwargs.get("writes")
    if set(output._kwargs) != {"writes"} or not isinstance(writes, tuple):
        report(f"output {output.name} takes one value and writes, got {format_value(output._kwargs)}", output)
    written: set[Any] = set()
    for pair in writes:
        fits = isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, Node) for part in pair)
        if not fits:
            help = "give pairs of nodes: graph.output(result, writes=[(target, value)])"
            report(
                f"a write on {output.name} is a pair (target node, value node), got {format_value(pair)}", output, help
            )
        target = pair[0]
        if not _is_the_callers(target) or str(target._target).startswith("*"):
            help = (
                "only inputs can be written to: placeholders and get_attr nodes, and what an object was given to hold"
            )
            report(f"{output.name} writes to {target.name}, which is a {target._op}", output, help)
        memory = target if target._op == "call_function" else (target._op, target._target)
        if memory in written:
            report(f"{output.name} writes twice to {target.name}", output, "list its final content only")
        written.add(memory)


def _is_the_callers(target: Node) -> bool:
    """Whether the caller has the array that a node gives."""
    if target._op == "call_function":
        return getattr(target._target, HOLDS, False)
    return target._op in ("placeholder", "get_attr")


def _hashable(target: Any) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def _check_closed(node: Node, body: Graph, report: Report) -> None:
    """A body reads nothing but what it is given, and returns all it does."""
    outputs = 0
    for one in body.nodes:
        if one._op == "output":
            outputs += 1
        wrong = _in_body(node, one)
        if wrong is not None:
            report(f"the body of {node.name}: {one.name} {wrong[0]}", one, wrong[1])
    if not outputs:
        report(f"a body of {node.name} has no output", node, "add one with graph.output(value)")
    if body.signature is not None:
        report(
            f"a body of {node.name} has a signature of nested inputs", node, "give it one placeholder for each value"
        )


def _in_body(node: Node, one: Node) -> tuple[str, str] | None:
    """What is wrong with a node in a body, and what helps; None where nothing is."""
    if one._op in ("get_attr", "call_module"):
        help = f"read it outside the body and pass it to {node.name} as an operand"
        return f"({one._op}) reads {one._target!r} of the module, but bodies are closed", help
    if one._op == "placeholder" and (one._args or str(one._target).startswith("*")):
        return (
            f"(placeholder) has {'a default value' if one._args else 'a star'}",
            "each input of a body gets one value",
        )
    if one._op == "output" and one._kwargs:
        help = "return the new content, and list the write on the output of the outermost graph"
        return "lists writes, which a body cannot do", help
    return None


class _Call:
    """The arguments of a node of control flow."""

    def __init__(self, node: Node, report: Report) -> None:
        self.node, self.report = node, report
        self.name = node.target.__name__

    def args(self, *roles: str, kwargs: tuple[str, ...] = ()) -> tuple[Any, ...]:
        """The arguments that have roles; the operands follow."""
        node = self.node
        if len(node._args) < len(roles):
            self.report(f"{node.name}: {self.name} takes {', '.join(roles)} and operands, got {len(node._args)}", node)
        if wrong := [key for key in node._kwargs if key not in kwargs]:
            self.report(f"{node.name}: {self.name} has no argument {wrong[0]!r} in a graph", node)
        return node._args

    def values(self, role: str, given: Any) -> int:
        """How many values a tuple of carries or rows has."""
        if not isinstance(given, tuple):
            self.report(f"{self.node.name}: {role} must be a tuple of values, got {format_value(given)}", self.node)
        return len(given)

    def body(self, role: str, given: Any, inputs: int, why: str) -> Any:
        """What a body returns: None where it never does."""
        from weft.graph._graph import Graph

        if not isinstance(given, Graph):
            help = "trace the function: bodies in a graph are Graphs"
            self.report(f"{self.node.name}: {role} must be a Graph, got {format_value(given)}", self.node, help)
        found = sum(node._op == "placeholder" for node in given.nodes)
        if found != inputs:
            self.report(f"{self.node.name}: {role} has {found} placeholders where {why} are {inputs}", self.node)
        results = [node for node in given.nodes if node._op == "output"]
        if len(results) != 1 or len(results[0]._args) != 1:
            return None  # an error of the body itself
        result = results[0]._args[0]
        never = isinstance(result, Node) and result._op == "call_function" and result._target is fail
        return None if never else result

    def carries(self, role: str, result: Any, count: int) -> None:
        """Check what a loop's body gives."""
        if result is None or (isinstance(result, Node)):
            return  # a node may stand for a tuple
        if not isinstance(result, tuple) or len(result) != count:
            got = f"{len(result)} values" if isinstance(result, tuple) else format_value(result)
            self.report(f"{self.node.name}: {role} gives {got} where there are {count} carries", self.node)


def _check_branches(call: _Call, roles: list[str], branches: list[Any], operands: int) -> None:
    lengths: dict[str, int] = {}
    for role, branch in zip(roles, branches, strict=True):
        result = call.body(role, branch, operands, "the operands")
        if isinstance(result, (tuple, list)):
            lengths[role] = len(result)
    if len(set(lengths.values())) > 1:
        told = " and ".join(f"{role} gives {count} values" for role, count in lengths.items())
        call.report(f"{call.node.name}: branches disagree: {told}", call.node)


def _cond(node: Node, call: _Call) -> None:
    args = call.args("pred", "true_fn", "false_fn")
    _check_branches(call, ["true_fn", "false_fn"], list(args[1:3]), len(args) - 3)


def _switch(node: Node, call: _Call) -> None:
    args = call.args("index", "branches")
    if not isinstance(args[1], (list, tuple)) or not args[1]:
        call.report(f"{node.name}: branches must be a list of Graphs, got {format_value(args[1])}", node)
    roles = [f"branches[{i}]" for i in range(len(args[1]))]
    _check_branches(call, roles, list(args[1]), len(args) - 2)


def _while(node: Node, call: _Call) -> None:
    args = call.args("cond_fn", "body_fn", "init")
    count = call.values("init", args[2])
    inputs, why = count + len(args) - 3, "carries and operands"
    decision = call.body("cond_fn", args[0], inputs, why)
    if isinstance(decision, (tuple, list, dict)):
        call.report(f"{node.name}: cond_fn gives {format_value(decision)} where one truth value is needed", node)
    call.carries("body_fn", call.body("body_fn", args[1], inputs, why), count)


def _fori(node: Node, call: _Call) -> None:
    args = call.args("lower", "upper", "body_fn", "init", kwargs=("step",))
    count = call.values("init", args[3])
    result = call.body("body_fn", args[2], 1 + count + len(args) - 4, "the number, carries and operands")
    call.carries("body_fn", result, count)


def _scan(node: Node, call: _Call) -> None:
    args = call.args("f", "init", "xs", kwargs=("length", "reverse"))
    count, rows = call.values("init", args[1]), call.values("xs", args[2])
    if not rows and node._kwargs.get("length") is None:
        call.report(f"{node.name}: scan has no rows and no length", node, "give length=")
    result = call.body("f", args[0], count + rows + len(args) - 3, "carries, rows and operands")
    if result is None or isinstance(result, Node):
        return
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], (tuple, Node)):
        call.report(f"{node.name}: f gives {format_value(result)} where ((carries), (rows)) is needed", node)
    call.carries("f", result[0], count)


_RULES: dict[Any, Callable[[Node, _Call], None]] = {
    cond: _cond,
    switch: _switch,
    while_loop: _while,
    fori_loop: _fori,
    scan: _scan,
}
