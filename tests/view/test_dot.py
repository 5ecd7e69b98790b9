"""Graphviz text: valid, complete, and safe whatever the names are."""

from __future__ import annotations

import operator
import re

import weft
from weft import nn
from weft.graph import Graph
from weft.view import to_dot

TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|->|[\[\]{};=,]|[A-Za-z_][A-Za-z_0-9]*|-?[0-9]+')


def tokens(text: str) -> list[str]:
    """The tokens of the DOT language; fails on anything else."""
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, text[at : at + 40]
        if match.group().strip():
            found.append(match.group())
        at = match.end()
    return found


def test_a_small_graph() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.mul, (x, 2))
    y.meta["type"] = weft.spec((3, 4), "float32")
    graph.output((y, x))
    assert graph.to_dot() == to_dot(graph)
    assert graph.to_dot().splitlines()[4:] == [
        r'    "x" [label="x\ninput", fillcolor="#d7f0dc", color="#3f9a5b", tooltip="x (placeholder)\ninput"];',
        r'    "mul" [label="mul\nx * 2\nfloat32[3, 4]", fillcolor="#d9e8fb", color="#4a82c9", '
        r'tooltip="mul (call_function)\nx * 2\nfloat32[3, 4]"];',
        r'    "output" [label="output\nreturn (mul, x)", fillcolor="#fadbd9", color="#cc5d57", '
        r'tooltip="output (output)\nreturn (mul, x)"];',
        '    "x" -> "mul";',
        '    "mul" -> "output";',
        '    "x" -> "output";',
        "}",
    ]


def test_modules_become_clusters() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x: object) -> object:
            return self.inner(x) + x  # type: ignore[operator]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: object) -> object:
            return self.block(x)

    lines = to_dot(weft.symbolic_trace(Net()).graph).splitlines()
    labels = [line.strip() for line in lines if "label=" in line and "labeljust" in line]
    assert [re.search(r'label="(.*?)"', line).group(1) for line in labels] == ["block · Block", "inner · Sequential"]  # type: ignore[union-attr]
    inside = [line for line in lines if line.startswith("            ") and "fillcolor" in line]
    assert len(inside) == 2, "the two layers stand in the inner cluster"


def test_nothing_escapes_its_quotes() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    for nasty in ('"', "\\", "\\N", '"];x [', "a\nb", "\0", "<b>", "é\u2028"):
        x = graph.call_function(operator.add, (x, nasty))
    x.meta["nn_module_stack"] = {'we"ird\\path': 'Cl"ass'}
    graph.output(x)
    found = tokens(to_dot(graph))
    assert found.count("{") == found.count("}") == 2
    assert found.count("[") == found.count("]") == len(graph.nodes) + 3
    assert found.count("->") == sum(len(node.all_input_nodes) for node in graph.nodes)
    labels = [found[i + 2] for i, token in enumerate(found) if token == "label" and found[i + 1] == "="]
    assert r'''"add\nx + '\"'"''' in labels
    assert r'''"add_2\nadd_1 + '\\\\N'"''' in labels
    assert r'"we\"ird\\path · Cl\"ass"' in labels


def test_bodies_are_clusters() -> None:
    gm = weft.symbolic_trace(lambda x, p: weft.cond(p, lambda v: v + x, lambda v: weft.sin(v), x))
    text = gm.graph.to_dot()
    tokens(text)
    assert re.findall(r'label="(\w+)"; labeljust', text) == ["cond", "true", "false"]
    names = re.findall(r'^\s+"([^"]+)" \[', text, re.MULTILINE)
    assert len(names) == len(set(names)) == len(gm.graph.nodes) + 8 and "x" in names and "x 1" in names
    assert '"v" -> "add";' in text and '"x" -> "cond";' in text
