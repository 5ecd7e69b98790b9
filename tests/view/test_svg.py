"""Pictures: well-formed, complete, nothing on top of anything else, and safe whatever the names are."""

from __future__ import annotations

import operator
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import nn
from weft.graph import Graph, Node
from weft.view import to_svg
from weft.view._layout import Box, Line, lay_out
from weft.view._scopes import Scope, scopes_of

SVG = "{http://www.w3.org/2000/svg}"
Rect = tuple[float, float, float, float]


def size(node: Node) -> tuple[float, float]:
    return 40.0 + 7 * (sum(map(ord, node.name)) % 20), 30.0


def flat(box: Box, x: float = 0, y: float = 0) -> Iterator[tuple[Scope | Node, Rect, list[Line]]]:
    """Every box with its place on the page, and the lines it draws."""
    lines = [line._replace(points=tuple((px + x, py + y) for px, py in line.points)) for line in box.lines]
    yield box.child, (x, y, x + box.width, y + box.height), lines
    for child, dx, dy in box.inside:
        yield from flat(child, x + dx, y + dy)


def overlap(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def contains(a: Rect, b: Rect) -> bool:
    return a[0] <= b[0] + 0.01 and a[1] <= b[1] + 0.01 and b[2] <= a[2] + 0.01 and b[3] <= a[3] + 0.01


@st.composite
def nested_graphs(draw: st.DrawFn) -> Graph:
    graph = Graph()
    nodes = [graph.placeholder(f"x{i}") for i in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(1, 18))):
        reads = draw(st.lists(st.sampled_from(nodes), max_size=3))
        node = graph.call_function(operator.add, tuple(reads))
        path = draw(st.sampled_from([(), ("a",), ("a", "a.b"), ("a", "a.c"), ("d",)]))
        if path:
            node.meta["nn_module_stack"] = dict.fromkeys(path, "Block")
        nodes.append(node)
    graph.output(draw(st.sampled_from(nodes)))
    return graph


@given(nested_graphs())
@settings(max_examples=80, deadline=None)
def test_nothing_lies_on_anything_else(graph: Graph) -> None:
    placed = list(flat(lay_out(scopes_of(graph), size, lambda text: 6.0 * len(text))))
    rects = {child: rect for child, rect, _ in placed}
    nodes = {child: rect for child, rect in rects.items() if isinstance(child, Node)}
    assert set(nodes) == set(graph.nodes)
    for a, b in combinations(nodes, 2):
        assert not overlap(nodes[a], nodes[b]), (a, b)
    for scope, rect in rects.items():
        if isinstance(scope, Scope):
            inside = set(scope.nodes())
            for node in graph.nodes:
                assert contains(rect, nodes[node]) if node in inside else not overlap(rect, nodes[node])


@given(nested_graphs())
@settings(max_examples=80, deadline=None)
def test_every_edge_leads_from_its_value_to_its_readers(graph: Graph) -> None:
    placed = list(flat(lay_out(scopes_of(graph), size, lambda text: 6.0 * len(text))))
    rects = {child: rect for child, rect, _ in placed if isinstance(child, Node)}
    lines = [line for _, _, some in placed for line in some]
    for value in graph.nodes:
        own = [line for line in lines if line.value is value]
        starts = [line.points[-1] for line in own] + [bottom(rects[value])]
        for line in own:
            assert any(near(line.points[0], start) for start in starts), f"a piece of {value} hangs in the air"
        reached = {reader for line in own if line.arrow for reader in rects if touches(rects[reader], line.points[-1])}
        assert reached == set(value.users), value


@given(nested_graphs())
@settings(max_examples=80, deadline=None)
def test_no_edge_runs_through_a_node(graph: Graph) -> None:
    placed = list(flat(lay_out(scopes_of(graph), size, lambda text: 6.0 * len(text))))
    rects = {child: rect for child, rect, _ in placed if isinstance(child, Node)}
    for line in (line for _, _, some in placed for line in some):
        (x0, y0), (_, leave), (_, arrive), (x1, y1) = line.points
        assert y0 <= leave + 0.01 and leave <= arrive + 0.01 and arrive <= y1 + 0.01, "edges go down"
        left, right = min(x0, x1), max(x0, x1)
        pieces = [(x0, y0, x0, leave), (left, leave, right, arrive), (x1, arrive, x1, y1)]
        for node, rect in rects.items():
            inner = (rect[0] + 0.1, rect[1] + 0.1, rect[2] - 0.1, rect[3] - 0.1)
            for piece in pieces:
                thick = (piece[0] - 0.05, piece[1], piece[2] + 0.05, piece[3])
                assert not overlap(thick, inner), (line.value, node)


def near(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return abs(a[0] - b[0]) < 0.01 and abs(a[1] - b[1]) < 0.01


def bottom(rect: Rect) -> tuple[float, float]:
    return (rect[0] + rect[2]) / 2, rect[3]


def touches(rect: Rect, point: tuple[float, float]) -> bool:
    return rect[0] <= point[0] <= rect[2] and abs(rect[1] - point[1]) < 0.01


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        hidden = weft.relu(self.one(x))
        return weft.relu(self.two(hidden) + x)


class Net(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.blocks = nn.Sequential(*(Block() for _ in range(depth)))

    def forward(self, x: Any) -> Any:
        return self.blocks(self.stem(x))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_picture_shows_names_calls_shapes_lines_and_modules() -> None:
    module = weft.symbolic_trace(Net(2))
    module.graph.infer(weft.spec((3, 4), "float32"))
    shown = texts(module.graph.to_svg())
    for node in module.graph.nodes:
        assert node.name in shown
    assert "Linear(in_features=4, out_features=…" in shown
    assert "weft.relu(blocks_0_one)" in shown
    assert "float32[3, 4]" in shown
    assert any(text.startswith("hidden · test_svg.py:") for text in shown)
    assert {"blocks · Sequential", "0 · Block", "1 · Block"} <= set(shown)
    assert {"placeholder", "call_module", "call_function", "output"} <= set(shown), "the legend"


def test_two_hundred_nodes_take_no_time() -> None:
    module = weft.symbolic_trace(Net(40))
    assert len(module.graph.nodes) > 200
    svg = module.graph.to_svg()
    root = ET.fromstring(svg)
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert sum("(call_module)" in (title or "") for title in titles) == 81
    assert float(root.get("width", 0)) < 800, "a chain of blocks is a column, not a staircase"


@pytest.mark.parametrize(
    "nasty", ["<script>alert(1)</script>", "]]>", "&amp;", "\0\x1b\ud800", "'\"", "<!--", "漢字" * 3]
)
def test_nothing_escapes_into_the_page(nasty: str) -> None:
    graph = Graph()
    x = graph.placeholder("x", default_value=nasty)
    y = graph.call_method(nasty, (x, nasty), {nasty: nasty})
    y.meta["nn_module_stack"] = {nasty: nasty}
    y.stack_trace = nasty
    graph.output({nasty: y})
    svg = to_svg(graph)
    root = ET.fromstring(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {"svg", "g", "title", "rect", "text", "path"}
    assert "id=" not in svg and "style" not in svg, "several pictures on a page do not disturb each other"


def test_html_escapes_everything() -> None:
    class Odd(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + "<script>alert('x')</script>"

    module = weft.symbolic_trace(Odd())
    type(module).__name__ = "<img src=x>"
    html = module._repr_html_()
    assert "<script" not in html and "<img" not in html
    assert "&lt;img src=x&gt;" in html
    assert html.count("<svg ") == 1
    ET.fromstring(html)


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    module = weft.symbolic_trace(Net(1))
    with pytest.raises(ImportError, match=r"pip install igraph"):
        module.graph.to_svg()
    assert module.graph._repr_svg_() is None
    html = module._repr_html_()
    assert "<svg" not in html
    assert "<details open>" in html
    assert module.graph.to_dot().startswith("digraph")


def test_a_graph_too_large_to_draw_shows_as_text() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    for _ in range(2100):
        x = graph.call_function(operator.neg, (x,))
    graph.output(x)
    assert graph._repr_svg_() is None


def test_an_empty_graph() -> None:
    assert ET.fromstring(to_svg(Graph())).tag == f"{SVG}svg"
    assert Graph().to_dot().endswith("}")


def test_bodies_are_frames() -> None:
    gm = weft.symbolic_trace(lambda x, p: weft.cond(p, lambda v: v + x, lambda v: weft.sin(v), x))
    text = to_svg(gm.graph)
    for title in ("cond.true", "cond.false"):
        assert f"<title>{title}</title>" in text
    assert "v + x" in text and "weft.sin(v)" in text


def test_loops_and_branches_are_shown_as_statements() -> None:
    def counted(x: Any, limit: Any) -> Any:
        total = 0.0
        for i in range(1, len(x)):
            total = total + x[i]
        while total < limit:
            total = total * 2 if x[0] > 0 else total + 1
        return total

    compiled = weft.compile(counted)
    compiled(np.ones(3), 9.0)
    picture = compiled.graph.to_svg()
    for text in (">for i in range(1, x_0)<", ">while lt<", ">if gt<"):
        assert text in picture, text
