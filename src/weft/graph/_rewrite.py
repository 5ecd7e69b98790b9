"""Replacing matches of a pattern by another graph.

Everything that can fail is checked, and every function of the user's is called, before the first node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft._module import Module, is_parameter
from weft.errors import GraphError
from weft.graph._arguments import map_arg
from weft.graph._graph import Graph
from weft.graph._match import InternalMatch
from weft.graph._node import Node
from weft.graph._same import _UNKNOWN, attribute, same_constant
from weft.graph._subgraph import interface, splice
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
    graph: Graph, pattern: Graph, matches: Sequence[InternalMatch], replacement_for: Callable[[InternalMatch], Graph]
) -> list[ReplacedPatterns]:
    """Replace each match by its replacement."""
    attributes: dict[str, Any] = {}
    renamed: dict[tuple[int, str], str] = {}
    plans = [_plan(graph, pattern, match, replacement_for(match), attributes, renamed) for match in matches]
    for name, value in attributes.items():
        _attach(graph, name, value)
    replaced: dict[Node, Any] = {}
    done = []
    for match, replacement, values, names in plans:
        current = {node: _current(value, replaced) for node, value in values.items()}
        part = [value for node, value in match.nodes_map.items() if node.op not in ("placeholder", "output")]
        retarget = _Retarget(match.ops, names)
        results, made = splice(graph, replacement, current, part, match.returning_nodes, retarget)
        replaced.update(zip(match.returning_nodes, results, strict=True))
        for node in match.nodes_map:
            if node.op == "placeholder":
                match.nodes_map[node] = _current(match.nodes_map[node], replaced)
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    return done


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


def _plan(
    graph: Graph,
    pattern: Graph,
    match: InternalMatch,
    replacement: Graph,
    attributes: dict[str, Any],
    renamed: dict[tuple[int, str], str],
) -> Plan:
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
            names[node.target] = _place_attribute(graph, node, attributes, renamed)
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


# Attributes that a replacement brings along


def _place_attribute(graph: Graph, node: Node, attributes: dict[str, Any], renamed: dict[tuple[int, str], str]) -> str:
    """The name under which the graph will find what a node of the replacement reads or calls."""
    value = attribute(node)
    if value is _UNKNOWN:
        return str(node.target)
    key = (id(value), node.target)
    if key in renamed:
        return renamed[key]
    name, number = node.target, 0
    # Constants that tracing named itself differ between traces; attributes the user named are the graph's own.
    while node.target.startswith("_tensor_constant"):
        there = attributes.get(name, _existing(graph, name))
        if there is _UNKNOWN or there is value or same_constant(there, value):
            break
        name = f"_tensor_constant{number}"
        number += 1
    if name not in attributes and _existing(graph, name) is _UNKNOWN:
        attributes[name] = value
    renamed[key] = name
    return str(name)


def _existing(graph: Graph, name: str) -> Any:
    value = graph.owning_module
    if value is None:
        return graph.constants.get(name, _UNKNOWN)
    for part in name.split("."):
        value = getattr(value, part, _UNKNOWN)
    return graph.constants.get(name, _UNKNOWN) if value is _UNKNOWN else value


def _attach(graph: Graph, name: str, value: Any) -> None:
    owner = graph.owning_module
    if owner is None:
        graph.constants[name] = value
        return
    *path, last = name.split(".")
    for part in path:
        if not hasattr(owner, part):
            owner.add_module(part, Module())
        owner = getattr(owner, part)
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and not is_parameter(value) and hasattr(owner, "register_buffer"):
        owner.register_buffer(last, value)
    else:
        setattr(owner, last, value)
