"""`to_dot`: a graph in the language of Graphviz, as plain text; nothing needs to be installed to make it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from weft.graph import Graph, Node
from weft.view._cards import card_of
from weft.view._scopes import Scope, scopes_of
from weft.view._svg import GREY, KIND_COLOURS


def to_dot(graph: Graph, name: str = "graph") -> str:
    r"""Describe a graph for Graphviz: `dot -Tsvg`.

    >>> from weft import Graph
    >>> graph = Graph()
    >>> _ = graph.output(graph.placeholder("x"))
    >>> print(to_dot(graph))
    digraph "graph" {
        graph [fontname="monospace", fontsize=11];
        node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];
        edge [color="#878d96"];
        "x" [label="x\ninput", fillcolor="#d7f0dc", color="#3f9a5b", tooltip="x (placeholder)\ninput"];
        "output" [label="output\nreturn x", fillcolor="#fadbd9", color="#cc5d57", tooltip="output (output)\nreturn x"];
        "x" -> "output";
    }
    """
    scope = scopes_of(graph)
    ids = _ids([*graph.nodes, *scope.nodes()])
    lines = [
        f"digraph {_quoted(name)} {{",
        '    graph [fontname="monospace", fontsize=11];',
        '    node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        f'    edge [color="{GREY}"];',
        *_statements(scope, "    ", itertools.count(), ids),
    ]
    lines += [f"    {ids[source]} -> {ids[node]};" for node in ids for source in node.all_input_nodes]
    return "\n".join([*lines, "}"])


def _ids(nodes: list[Node]) -> dict[Node, str]:
    """What each node is called: its name, with a number where a node of another body has it already."""
    ids: dict[Node, str] = {}
    taken: set[str] = set()
    for node in dict.fromkeys(nodes):
        name, number = node.name, 0
        while name in taken:
            number += 1
            name = f"{node.name} {number}"  # no name of a node has a space
        taken.add(name)
        ids[node] = _quoted(name)
    return ids


def _statements(scope: Scope, indent: str, numbers: Iterator[int], ids: dict[Node, str]) -> Iterator[str]:
    """Nodes in order, scopes as clusters around theirs."""
    for child in scope.children:
        if isinstance(child, Scope):
            yield f"{indent}subgraph cluster_{next(numbers)} {{"
            yield f'{indent}    label={_quoted(child.label)}; labeljust=l; style=rounded; color="{GREY}";'
            yield from _statements(child, indent + "    ", numbers, ids)
            yield f"{indent}}}"
        else:
            yield indent + _node(child, ids[child])


def _node(node: Node, name: str) -> str:
    card = card_of(node)
    fill, border = KIND_COLOURS[card.kind]
    label = "\n".join((card.name, *card.rows))
    return f'{name} [label={_quoted(label)}, fillcolor="{fill}", color="{border}", tooltip={_quoted(card.tooltip)}];'


def _quoted(text: str) -> str:
    """A DOT string. A backslash means something in labels, and NUL ends a C string."""
    text = text.replace("\0", "").replace("\\", "\\\\").replace('"', '\\"').replace("\r", "")
    return '"' + text.replace("\n", "\\n") + '"'
