"""Parts of graphs: a whole copied, a part taken out as a graph of its own, a part replaced by another graph.

A part is named by the nodes it reads (inputs) and the nodes it is wanted for (outputs); it is everything on the way
from the outputs back to the inputs. Replacing checks everything first: on an error the graph is as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from weft.errors import GraphError
from weft.graph._arguments import map_arg, map_copy, nodes_in
from weft.graph._attributes import Attributes
from weft.graph._graph import Graph
from weft.graph._node import Node
from weft.graph._print import described

# Facts about where a node stood, which a copy elsewhere must not repeat.
_OF_THE_PLACE = ("from", "stack_trace", "nn_module_stack")


def clone(graph: Graph) -> Graph:
    """The same graph again: names, facts, positions and signature kept, no mutable container shared."""
    from weft.graph._pickle import duplicate

    copied = duplicate(graph, {})
    copied.owning_module = graph.owning_module
    if graph.signature is not None:
        copied.signature = dataclasses.replace(graph.signature, constants=dict(graph.signature.constants))
    _own_facts(copied)
    return copied


def _own_facts(copied: Graph) -> None:
    for node in copied.nodes:
        if node._meta:
            node._meta = _own(node._meta)
        for body in node.bodies:
            _own_facts(body)


def _own(value: Any) -> Any:
    """A value with dicts, lists and sets of its own, at any depth."""
    if type(value) is dict:
        return {key: _own(part) for key, part in value.items()}
    if type(value) is list:
        return [_own(part) for part in value]
    if type(value) is tuple:
        return tuple(_own(part) for part in value)
    return set(value) if type(value) is set else value


def extract(graph: Graph, inputs: Sequence[Node], outputs: Any) -> Graph:
    """The part between some nodes as a graph of its own; see `Graph.extract`."""
    writes: tuple[Any, ...] = ()
    if isinstance(outputs, Node) and outputs.op == "output":
        outputs, writes = outputs.args[0], outputs.kwargs.get("writes", ())
    _check_members("extract", graph, [*inputs, *nodes_in(outputs)])
    _check_distinct("extract", inputs)
    part = region("extract", graph, inputs, nodes_in((outputs, writes)))
    taken = Graph(graph.owning_module, graph._tracer_cls, graph._tracer_extras)
    copies: dict[Node, Node] = {}
    parameters: set[str] = set()
    for node in inputs:
        keeps = node.op == "placeholder" and node.target.lstrip("*") not in parameters
        target, args = (node.target, node.args) if keeps else (node.name, ())
        parameters.add(target.lstrip("*"))
        copies[node] = taken.create_node("placeholder", target, args, {}, node.name, node.type)
    for node in part:
        args, kwargs = map_copy(node.args, copies.__getitem__), map_copy(node.kwargs, copies.__getitem__)
        copies[node] = taken.create_node(node.op, node.target, args, kwargs, node.name, node.type)
    for node, copied in copies.items():
        copied.name, copied._position = node.name, node._position
        copied._meta = None if node._meta is None else _own(node._meta)
    read = {node.target for node in part if node.op == "get_attr"}
    taken.constants = {name: value for name, value in graph.constants.items() if name in read}
    taken.output(map_arg(outputs, copies.__getitem__), writes=map_arg(writes, copies.__getitem__))
    return taken


def replace_subgraph(
    graph: Graph, inputs: Sequence[Node], outputs: Node | Sequence[Node], replacement: Graph
) -> list[Node]:
    """Put another graph where a part of this one is; see `Graph.replace_subgraph`."""
    verb = "replace_subgraph"
    wanted = [outputs] if isinstance(outputs, Node) else list(outputs)
    _check_members(verb, graph, [*inputs, *wanted])
    _check_distinct(verb, inputs)
    _check_distinct(verb, wanted)
    part = region(verb, graph, inputs, wanted)
    outside = [node for node in wanted if node not in set(part)]
    if outside:
        raise GraphError(f"{verb}: {outside[0].name} is both an input and an output: there is nothing to replace it by")
    placeholders, results = interface(verb, replacement)
    if len(placeholders) != len(inputs):
        raise GraphError(f"{verb}: {len(inputs)} inputs are given, the replacement takes {len(placeholders)}")
    if len(results) != len(wanted):
        raise GraphError(f"{verb}: {len(wanted)} outputs are to be replaced, the replacement returns {len(results)}")
    again = reentry(part, inputs, {})
    if again is not None:
        leaves, returns = (described(node) for node in again)
        raise GraphError(
            f"{verb}: the part is not convex: a path leaves it at {leaves} and comes back at {returns}",
            help="choose inputs that do not depend on the part",
        )
    attributes = Attributes(graph)
    names = {n: attributes.name_for(n) for n in replacement.nodes if n.op in ("get_attr", "call_module")}
    attributes.attach()
    retarget: Callable[[Node], tuple[str, Any]] = lambda node: (node.op, names.get(node, node.target))  # noqa: E731  # used on the next line but one
    swaps = Swaps()
    made = splice(graph, replacement, dict(zip(placeholders, inputs, strict=True)), part, wanted, retarget, swaps)[1]
    swaps.make_all()
    return made


# Pieces that pattern rewriting shares


def region(verb: str, graph: Graph, inputs: Iterable[Node], outputs: Iterable[Node]) -> list[Node]:
    """Everything that the outputs depend on, back to the inputs, in order; an error where an input is missing."""
    stop = set(inputs)
    found: dict[Node, Node | None] = {}
    pending: list[tuple[Node, Node | None]] = [(node, None) for node in outputs]
    while pending:
        node, user = pending.pop()
        if node in stop or node in found:
            continue
        if node.op in ("placeholder", "output"):
            raise GraphError(
                f"{verb}: {described(user or node)} depends on {node.op} {described(node)}, which is not an input",
                help=f"add {node.name} to the inputs",
            )
        found[node] = user
        pending += [(one, node) for one in node._input_nodes]
    return sorted(found)


def interface(verb: str, replacement: Graph) -> tuple[list[Node], list[Any]]:
    """The placeholders and the flat results of a graph that is to stand in for something."""
    placeholders = [node for node in replacement.nodes if node.op == "placeholder"]
    starred = next((node for node in placeholders if node.target.startswith("*")), None)
    if starred is not None:
        raise GraphError(f"{verb}: a replacement cannot take {starred.target}", help="name its inputs one by one")
    output = next((node for node in replacement.nodes if node.op == "output"), None)
    if output is None:
        raise GraphError(f"{verb}: the replacement has no output", help="add one with graph.output(value)")
    if output.kwargs.get("writes"):
        raise GraphError(
            f"{verb}: the replacement writes to its input {output.kwargs['writes'][0][0].name}",
            help="return the new content instead, and list the write on the output of the whole graph",
        )
    return placeholders, leaves_of(output.args[0])


def leaves_of(result: Any) -> list[Any]:
    """The values in the argument of an output node, left to right."""
    if isinstance(result, dict):
        result = list(result.values())
    return [leaf for part in result for leaf in leaves_of(part)] if isinstance(result, (tuple, list)) else [result]


def reentry(
    part: Collection[Node], inputs: Iterable[Node], merged: Mapping[Node, Iterable[Node]], first: int | None = None
) -> tuple[Node, Node] | None:
    """A node of the part and an input that depends on it, or None.

    `merged` says of some nodes outside what else they are going to depend on; nodes labelled below `first` are known
    to depend on nothing of the part.
    """
    inside = set(part)
    low = min(node._label for node in inside) if first is None else first
    seen: set[Node] = set()  # these lead back to nothing of the part
    for start in inputs:
        pending = [start]
        while pending:
            node = pending.pop()
            if node in inside:
                return node, start
            if node in seen or node._label < low:
                continue
            seen.add(node)
            pending += node._input_nodes
            pending += merged.get(node, ())
    return None


def splice(
    graph: Graph,
    replacement: Graph,
    values: Mapping[Node, Any],
    part: Sequence[Node],
    outputs: Sequence[Node],
    retarget: Callable[[Node], tuple[str, Any]],
    swaps: Swaps,
) -> tuple[list[Any], list[Node]]:
    """Copy a graph to where the part is, make the rest read its results, erase what is dead.

    `values` gives what stands for the replacement's placeholders, `retarget` the kind and target of each copied node.
    Nothing is checked here; `swaps` are to be made at the end. Returns the results and the new nodes.
    """
    gone = _doomed(part, outputs)
    readers = {node: [user for user in node.users if user not in gone] for node in outputs}
    point = _make_room(
        part, [user for users in readers.values() for user in users], nodes_in(tuple(values.values())), swaps
    )
    copies: dict[Node, Any] = dict(values)
    made: list[Node] = []
    results: list[Any] = []
    for node in replacement.nodes:
        if node.op == "output":
            results = [map_arg(leaf, copies.__getitem__) for leaf in leaves_of(node.args[0])]
        elif node.op != "placeholder":
            args, kwargs = map_copy(node.args, copies.__getitem__), map_copy(node.kwargs, copies.__getitem__)
            name = None if retarget(node)[1] != node.target else node.name
            with graph.inserting_before(point):
                copies[node] = copied = graph.create_node(*retarget(node), args, kwargs, name, node.type)
            if node._meta:
                copied._meta = {key: value for key, value in node._meta.items() if key not in _OF_THE_PLACE}
            if outputs[0]._meta and "nn_module_stack" in outputs[0]._meta:
                copied.meta["nn_module_stack"] = outputs[0]._meta["nn_module_stack"]
            copied.inherit_origin(*part)
            made.append(copied)
    for old, new in zip(outputs, results, strict=True):
        for user in readers[old]:
            swaps.add(user, old, new)
    for node in sorted(part, reverse=True):
        if not node.users:
            swaps.make(node)
            graph.erase_node(node)
    return results, made


def _doomed(part: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    """The nodes of the part that nothing reads once the outputs are computed otherwise."""
    replaced, gone = set(outputs), set(part)
    for node in sorted(part, reverse=True):
        if node not in replaced and any(user not in gone for user in node.users):
            gone.discard(node)
    return gone


class Swaps:
    """Values, nodes or constants, that nodes are to read in place of others: `users` know, arguments not yet.

    An output that reads thousands of results which all are replaced is so rewritten once and not thousands of times.
    """

    def __init__(self) -> None:
        self._of: dict[Node, dict[Node, Any]] = {}

    def add(self, user: Node, old: Node, new: Any) -> None:
        """Have a node read another value instead of one that it reads now."""
        self._of.setdefault(user, {})[old] = new
        old.users.pop(user, None)
        for node in nodes_in(new):
            node.users[user] = None

    def make(self, user: Node) -> None:
        """Bring the arguments of a node up to date."""
        swaps = self._of.pop(user, None)
        if swaps is None:
            return

        def current(value: Any) -> Any:
            while isinstance(value, Node):
                if value not in swaps:
                    return value
                value = swaps[value]
            return map_arg(value, current)

        user._set(map_arg(user._args, current), map_arg(user._kwargs, current))

    def make_all(self) -> None:
        """Bring the arguments of all nodes up to date."""
        for user in list(self._of):
            self.make(user)


def _make_room(part: Sequence[Node], readers: Sequence[Node], inputs: Sequence[Node], swaps: Swaps) -> Node:
    """The node to insert before: every input stands before it, every reader at or after it.

    Where an input stands after the first reader, what it depends on is moved up; that is possible because it does not
    depend on the part.
    """
    point = min([max(part), *readers])
    late: set[Node] = set()
    pending = list(inputs)
    while pending:
        node = pending.pop()
        if node._label >= point._label and node not in late:
            late.add(node)
            swaps.make(node)
            pending += node._input_nodes
    for node in sorted(late):
        point.prepend(node)
    return point


def _check_members(verb: str, graph: Graph, nodes: Iterable[Any]) -> None:
    for node in nodes:
        if not isinstance(node, Node):
            raise GraphError(f"{verb}: nodes are expected, got {type(node).__name__} {node!r}")
        if node.graph is not graph:
            raise GraphError(f"{verb}: {node.name} belongs to another graph")
        if node._erased:
            raise GraphError(f"{verb}: {node.name} has been erased")


def _check_distinct(verb: str, nodes: Sequence[Node]) -> None:
    if len(set(nodes)) != len(nodes):
        twice = next(node for i, node in enumerate(nodes) if node in nodes[:i])
        raise GraphError(f"{verb}: {twice.name} is given twice")
