"""`to_dot`: a graph in the language of Graphviz, as plain text; nothing needs to be installed to make it."""

from __future__ import annotations

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
    lines = [
        f"digraph {_quoted(name)} {{",
        '    graph [fontname="monospace", fontsize=11];',
        '    node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        f'    edge [color="{GREY}"];',
        *_statements(scopes_of(graph), "    ", iter(range(len(graph.nodes)))),
    ]
    lines += [
        f"    {_quoted(source.name)} -> {_quoted(node.name)};"
        for node in graph.nodes
        for source in node.all_input_nodes
    ]
    return "\n".join([*lines, "}"])


def _statements(scope: Scope, indent: str, numbers: Iterator[int]) -> Iterator[str]:
    """Nodes in order, scopes as clusters around theirs."""
    for child in scope.children:
        if isinstance(child, Scope):
            yield f"{indent}subgraph cluster_{next(numbers)} {{"
            yield f'{indent}    label={_quoted(child.label)}; labeljust=l; style=rounded; color="{GREY}";'
            yield from _statements(child, indent + "    ", numbers)
            yield f"{indent}}}"
        else:
            yield indent + _node(child)


def _node(node: Node) -> str:
    card = card_of(node)
    fill, border = KIND_COLOURS[card.kind]
    label = "\n".join((card.name, *card.rows))
    return (
        f"{_quoted(card.name)} [label={_quoted(label)}, "
        f'fillcolor="{fill}", color="{border}", tooltip={_quoted(card.tooltip)}];'
    )


def _quoted(text: str) -> str:
    """A DOT string. A backslash means something in labels, and NUL ends a C string."""
    text = text.replace("\0", "").replace("\\", "\\\\").replace('"', '\\"').replace("\r", "")
    return '"' + text.replace("\n", "\\n") + '"'
