"""`lint`: every invariant of a graph, checked in time linear in its size.

The list is intact; names are unique and legal; targets fit their kind; each edge is known at both ends and points
backwards; inputs come first and the output last; what nodes read and call exists on the owning module; bodies of
control flow are sound and fit their nodes (`_lint_control`). The first violation is raised as a `GraphError` that names
the nodes and, where known, their source lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from weft._module import Module
from weft.errors import GraphError
from weft.graph._lint_control import check_bodies, check_writes
from weft.graph._literals import is_variable
from weft.graph._node import KINDS, Node
from weft.graph._order import topological_order
from weft.graph._print import described, format_value

if TYPE_CHECKING:
    from weft.graph._graph import Graph

Inputs = dict[Node, dict[Node, None]]
"""What each node of the list reads."""


def lint(graph: Graph) -> None:
    """Check a graph and the bodies in it; raises GraphError at the first thing that is wrong."""
    _lint(graph, [])


def _lint(graph: Graph, around: list[Graph]) -> None:
    nodes = _walk(graph)
    inputs = {node: node._input_nodes for node in nodes}
    _check_names(nodes)
    for node in nodes:
        _check_target(node)
        _check_edges(graph, node, inputs)
    _check_order(graph, inputs)
    _check_inputs_and_output(nodes)
    if graph.signature is not None:
        _check_signature(graph, nodes)
    if graph._table is not None:
        _check_table(graph, nodes)
    if graph.owning_module is not None:
        _check_owner(graph, nodes)
    for node in nodes:
        if node._op == "output":
            check_writes(graph, node, _fail)
        else:
            _check_bodies(node, [*around, graph])


def _check_bodies(node: Node, around: list[Graph]) -> None:
    for body in node.bodies:
        if any(body is outer for outer in around):
            _fail(f"{node.name} has a body that contains it", node, "give it a copy: graph.clone()")
        try:
            _lint(body, around)
        except GraphError as error:
            raise GraphError(
                f"{error.message} (in a body of {node.name})", where=error.where, help=error.help
            ) from None
    check_bodies(node, _fail)


def _fail(message: str, node: Node | None = None, help: str | None = None) -> NoReturn:
    place = None if node is None else node.location
    raise GraphError(f"lint: {message}", where=None if place is None else str(place), help=help)


def _walk(graph: Graph) -> list[Node]:
    """The nodes as the links give them; the links are what is checked here."""
    root = graph._root
    nodes: list[Node] = []
    node = root._next
    while node is not root:
        if len(nodes) >= graph._len:
            _fail(f"the list of nodes does not end after its {graph._len} nodes: at {node.name}", node)
        if node._next._prev is not node or node._prev._next is not node:
            _fail(
                f"the list is broken at {node.name}, which follows {node._prev.name or 'the start'}",
                node,
                "move nodes with append and prepend only",
            )
        if node.graph is not graph:
            _fail(f"{node.name} is in the list but belongs to another graph", node)
        if node._erased:
            _fail(f"{node.name} is in the list but has been erased", node)
        if nodes and node._label <= nodes[-1]._label:
            _fail(f"{nodes[-1].name} and {node.name} are labelled in the wrong order", node)
        if node._op not in KINDS:
            _fail(
                f"{node.name} is of kind {node._op!r}, which does not exist",
                node,
                f"use one of {', '.join(sorted(KINDS))}",
            )
        nodes.append(node)
        node = node._next
    if len(nodes) != graph._len:
        _fail(f"the list has {len(nodes)} nodes where {graph._len} are counted")
    return nodes


def _check_names(nodes: list[Node]) -> None:
    seen: dict[str, Node] = {}
    for node in nodes:
        name: Any = node._name
        if not is_variable(name):
            _fail(f"{name!r} is not a legal name for a node", node, "use letters, digits and underscores")
        other = seen.setdefault(name, node)
        if other is not node:
            _fail(f"two nodes are named {name!r}: {other.op} and {node.op}", node, "rename one of them")


def _check_target(node: Node) -> None:
    target: Any = node._target
    args: Any = node._args
    kwargs: Any = node._kwargs
    if type(args) is not tuple or not isinstance(kwargs, dict) or not all(type(key) is str for key in kwargs):
        what = f"args {format_value(args)} and kwargs {format_value(kwargs)}"
        _fail(f"{node.name} has {what}; a tuple and names are needed", node, "assign to node.args and node.kwargs")
    if node._op == "call_function":
        if not callable(target):
            _fail(
                f"call_function {node.name}: the target must be a function, got {type(target).__name__} {target!r}",
                node,
            )
        return
    if not isinstance(target, str):
        _fail(f"{node._op} {node.name}: the target must be a string, got {type(target).__name__} {target!r}", node)
    if node._op == "placeholder":
        bare = target.removeprefix("**") if target.startswith("**") else target.removeprefix("*")
        if not is_variable(bare):
            _fail(f"placeholder {node.name}: {target!r} cannot name a parameter", node)
        if len(node._args) > 1 or node._kwargs:
            _fail(
                f"placeholder {node.name} takes a default value and nothing else, got {format_value(node._args)}", node
            )
        if node._input_nodes:
            help = "give a constant, or compute the value in the graph"
            _fail(f"placeholder {node.name}: the default value reads {next(iter(node._input_nodes)).name}", node, help)
    elif node._op == "get_attr" and (node._args or node._kwargs):
        _fail(f"get_attr {node.name} takes no arguments, got {format_value(node._args)}", node)
    elif node._op == "call_method" and not target:
        _fail(f"call_method {node.name}: the target is empty", node)
    elif node._op == "call_method" and not node._args:
        _fail(f"call_method {node.name}: there is no object to call {target!r} of", node, "it is the first argument")
    elif node._op == "output" and len(node._args) != 1:
        _fail(f"output {node.name} takes one value, got {format_value(node._args)}", node)


def _check_edges(graph: Graph, node: Node, inputs: Inputs) -> None:
    for one in inputs[node]:
        if one.graph is not graph:
            help = "map inputs with arg_transform when copying nodes from another graph"
            _fail(f"{node.name} reads {one.name}, which belongs to another graph", node, help)
        if one._erased or one not in inputs:
            what = "has been erased" if one._erased else "is not in the list"
            _fail(f"{node.name} reads {one.name}, which {what}", node, "replace its uses before erasing a node")
        if node not in one.users:
            _fail(f"{node.name} reads {one.name} but is not among its users", node)
    for user in node.users:
        if user.graph is not graph or user not in inputs:
            _fail(f"{node.name} has the user {user.name}, which is not in the graph", node)
        if node not in inputs[user]:
            _fail(f"{node.name} has the user {user.name}, which does not read it", node)


def _check_order(graph: Graph, inputs: Inputs) -> None:
    for node, read in inputs.items():
        for one in read:
            if one._label >= node._label:
                topological_order(graph)  # a cycle is the clearer error
                help = f"move it: {node.name}.append(…), {one.name}.prepend(…), or rebuild in graph.topological_order()"
                _fail(f"{node.name} reads {one.name}, which is defined after it: {described(one)}", node, help)


def _check_inputs_and_output(nodes: list[Node]) -> None:
    other: Node | None = None
    output: Node | None = None
    parameters: dict[str, Node] = {}
    starred: Node | None = None
    for node in nodes:
        if output is not None:
            what = "a second output" if node.op == "output" else node.op
            help = f"erase it, or move it: {output.name}.prepend({node.name})"
            _fail(f"{node.name} ({what}) stands after {output.name}, where nothing runs", node, help)
        if node.op == "placeholder":
            if other is not None:
                _fail(f"placeholder {node.name} stands after {other.name} ({other.op})", node, "inputs come first")
            stars = len(node.target) - len(node.target.lstrip("*"))
            if starred is not None and (starred.target.startswith("**") or stars == 1):
                _fail(f"placeholder {node.target} cannot follow {starred.target}", node, "*args first, **kwargs last")
            if stars and node.args:
                _fail(f"placeholder {node.target} cannot have a default value", node)
            starred = node if stars else starred
            twin = parameters.setdefault(node.target.lstrip("*"), node)
            if twin is not node:
                _fail(f"placeholders {twin.name} and {node.name} are both the parameter {node.target!r}", node)
            continue
        other = other or node
        if node.op == "output":
            output = node
            if node.users:
                _fail(
                    f"output {node.name} is read by {next(iter(node.users)).name}",
                    node,
                    "read the value it returns instead",
                )


def _check_signature(graph: Graph, nodes: list[Node]) -> None:
    count = sum(node._op == "placeholder" for node in nodes)
    if graph.signature is not None and graph.signature.leaf_count != count:
        _fail(
            f"there are {count} placeholders where the signature has {graph.signature.leaf_count} leaves",
            None,
            "set graph.signature to None to make every placeholder a parameter",
        )


def _check_table(graph: Graph, nodes: list[Node]) -> None:
    table = graph._table or {}
    if sum(len(found) for found in table.values()) != len(nodes):
        _fail(
            "find_nodes would miss nodes: its table is out of date",
            None,
            "set kinds and targets through node.op and node.target",
        )
    for node in nodes:
        if node not in table.get((node._op, node._target), ()):
            _fail(f"find_nodes would miss {node.name}", node, "set kinds and targets through node.op and node.target")


def _check_owner(graph: Graph, nodes: list[Node]) -> None:
    checked: set[tuple[str, str]] = set()
    for node in nodes:
        target = str(node._target)
        if node._op not in ("get_attr", "call_module") or (node._op, target) in checked:
            continue
        checked.add((node._op, target))
        if node._op == "get_attr" and target in graph.constants:
            continue
        value, path = graph.owning_module, "the owning module"
        for part in target.split("."):
            owner, value = f"{path} ({type(value).__name__})", getattr(value, part, _MISSING)
            if value is _MISSING:
                help = "add it to the module, or erase the node"
                _fail(f"{node._op} {node.name}: {target!r} does not exist: {owner} has no {part!r}", node, help)
            path = part
        if node._op == "call_module" and not isinstance(value, Module):
            _fail(f"call_module {node.name}: {target!r} is a {type(value).__name__}, not a Module", node)


_MISSING: Any = object()
