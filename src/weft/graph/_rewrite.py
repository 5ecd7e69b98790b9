"""Replacing matches of a pattern by another graph.

Everything that can fail is checked, and every function of the user's is called, before the first node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.errors import GraphError
from weft.graph._arguments import map_arg
from weft.graph._attributes import Attributes
from weft.graph._graph import Graph
from weft.graph._match import InternalMatch
from weft.graph._node import Node
from weft.graph._subgraph import Swaps, interface, splice
from weft.graph._wildcards import OneOf


class Match(NamedTuple):
    """A match that was replaced: the pattern's last node, and what each node of the pattern stood for."""

    anchor: Node
    nodes_map: dict[Node, Any]

    @property
    def bindings(self) -> dict[str, Any]:
        """What each parameter of the pattern matched, by name."""
        return {node.target: value for node, value in self.nodes_map.items() if node.op == "placeholder"}


@dataclass
class ReplacedPatterns:
    """A match that was replaced, and the nodes that replaced it."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


class Plan(NamedTuple):
    """What will be done to one match."""

    match: InternalMatch
    replacement: Graph
    values: dict[Node, Any]  # what stands for the replacement's placeholders
    names: dict[str, str]  # attributes of the replacement that get another name


def rewrite(
    pattern: Graph, found: Sequence[tuple[Graph, InternalMatch]], replacement_for: Callable[[InternalMatch], Graph]
) -> list[ReplacedPatterns]:
    """Replace each match, in the graph that it was found in, by its replacement."""
    # What tracing named itself differs between traces; attributes the user named are the graph's own.
    attributes = {graph: Attributes(graph, lambda name: name.startswith("_tensor_constant")) for graph, _ in found}
    plans = [(graph, _plan(pattern, match, replacement_for(match), attributes[graph])) for graph, match in found]
    for each in attributes.values():
        each.attach()
    replaced: dict[Node, Any] = {}
    swaps = Swaps()
    done = []
    for graph, (match, replacement, values, names) in plans:
        current = {node: _current(value, replaced) for node, value in values.items()}
        part = [value for node, value in match.nodes_map.items() if node.op not in ("placeholder", "output")]
        retarget = _Retarget(match.ops, names)
        results, made = splice(graph, replacement, current, part, match.returning_nodes, retarget, swaps)
        replaced.update(zip(match.returning_nodes, results, strict=True))
        for node in match.nodes_map:
            if node.op == "placeholder":
                match.nodes_map[node] = _current(match.nodes_map[node], replaced)
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    swaps.make_all()
    return done


def places(graph: Graph) -> list[Graph]:
    """The graph and the bodies of its loops and branches, each once."""
    found = [graph]
    for one in found:  # which grows meanwhile
        found += [body for node in one.nodes for body in node.bodies if body not in found]
    return found


class _Retarget:
    """What a copied node calls or reads: a choice of ops becomes the op found, an attribute its name here."""

    def __init__(self, ops: Mapping[OneOf, tuple[str, Any]], names: Mapping[str, str]) -> None:
        self._ops = ops
        self._names = names

    def __call__(self, node: Node) -> tuple[str, Any]:
        if isinstance(node.target, OneOf):
            return self._ops[node.target]
        if node.op in ("get_attr", "call_module"):
            return node.op, self._names.get(node.target, node.target)
        return node.op, node.target


def _plan(pattern: Graph, match: InternalMatch, replacement: Graph, attributes: Attributes) -> Plan:
    verb = "replace_pattern"
    placeholders, results = interface(verb, replacement)
    if len(results) != len(match.returning_nodes):
        raise GraphError(
            f"{verb}: the pattern returns {len(match.returning_nodes)} values, the replacement {len(results)}"
        )
    values = _values(verb, pattern, match, placeholders)
    names: dict[str, str] = {}
    for node in replacement.nodes:
        if isinstance(node.target, OneOf) and node.target not in match.ops:
            raise GraphError(f"{verb}: the replacement calls {node.target!r}, which is not in the pattern")
        if node.op in ("get_attr", "call_module") and node.target not in names:
            names[node.target] = attributes.name_for(node)
    return Plan(match, replacement, values, names)


def _values(verb: str, pattern: Graph, match: InternalMatch, placeholders: Sequence[Node]) -> dict[Node, Any]:
    """What stands for each placeholder of a replacement: by position, or by name where it takes fewer."""
    parameters = [node for node in pattern.nodes if node.op == "placeholder"]
    by_name = {node.target: node for node in parameters}
    if len(placeholders) == len(parameters):
        pairs = list(zip(placeholders, parameters, strict=True))
    elif all(node.target in by_name for node in placeholders):
        pairs = [(node, by_name[node.target]) for node in placeholders]
    else:
        raise GraphError(
            f"{verb}: the pattern takes {len(parameters)} parameters, the replacement {len(placeholders)}",
            help="give both the same parameters; a replacement may leave some out if the others keep their names",
        )
    values = {}
    for node, parameter in pairs:
        if parameter in match.nodes_map:
            values[node] = match.nodes_map[parameter]
        elif node.users:
            raise GraphError(f"{verb}: the replacement uses {node.target!r}, which the pattern takes but does not use")
    return values


def _current(value: Any, replaced: Mapping[Node, Any]) -> Any:
    """A matched value after the replacements made so far: the result of one match may be an input of another."""
    if isinstance(value, Node):
        while isinstance(value, Node) and value in replaced:
            value = replaced[value]
        return value
    return map_arg(value, lambda node: _current(node, replaced))
