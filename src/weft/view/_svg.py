"""`to_svg`: a graph as a picture.

Boxes are coloured by kind of node and carry their own background, edges and frames are mid-grey: the picture reads on
white and on black. There are no styles and no ids in it, so several pictures on one page cannot disturb each other.
"""

from __future__ import annotations

import math
import re
import unicodedata
from html import escape as _escape

from weft.graph import Graph, Node
from weft.view._cards import Card, card_of
from weft.view._layout import Box, Line, igraph_or_explain, lay_out
from weft.view._scopes import Scope, scopes_of

KIND_COLOURS = {  # fill, border
    "placeholder": ("#d7f0dc", "#3f9a5b"),
    "get_attr": ("#fbeec9", "#c29321"),
    "call_function": ("#d9e8fb", "#4a82c9"),
    "call_method": ("#cfeef0", "#3394a0"),
    "call_module": ("#e7defa", "#8460c9"),
    "output": ("#fadbd9", "#cc5d57"),
}
_FALLBACK = ("#e8e8e8", "#808080")
GREY = "#878d96"  # reads on white and on black

FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_NAME_SIZE, _ROW_SIZE = 13.0, 11.0
_ADVANCE = 0.605  # width of a character of a monospace font, in ems
_ROW = 15.0
_SIDE = 10.0
_MARGIN = 10.0
_LEGEND = 26.0
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_svg(graph: Graph) -> str:
    """Draw a graph as SVG text; needs igraph (`pip install igraph`).

    >>> from weft import Graph
    >>> graph = Graph()
    >>> _ = graph.output(graph.placeholder("x"))
    >>> to_svg(graph).startswith("<svg ")
    True
    """
    igraph_or_explain()
    scope = scopes_of(graph)
    cards = {node: card_of(node) for node in scope.nodes()}
    whole = lay_out(scope, lambda node: _size(cards[node]), lambda text: _text_width(text, _ROW_SIZE))
    kinds = [kind for kind in KIND_COLOURS if any(card.kind == kind for card in cards.values())]
    legend, legend_width = _legend(kinds)
    width = max(whole.width, legend_width) + 2 * _MARGIN
    height = whole.height + _LEGEND + 2 * _MARGIN
    frames: list[str] = []
    edges: list[str] = []
    nodes: list[str] = []
    _draw(whole, (width - whole.width) / 2, _MARGIN + _LEGEND, 0, cards, (frames, edges, nodes))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{math.ceil(width)}" height="{math.ceil(height)}" '
            f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{FONT}">',
            *legend,
            *frames,
            f'<g fill="none" stroke="{GREY}" stroke-width="1.3" stroke-linecap="round">',
            *edges,
            "</g>",
            *nodes,
            "</svg>",
        ]
    )


def _draw(
    box: Box, x: float, y: float, depth: int, cards: dict[Node, Card], layers: tuple[list[str], list[str], list[str]]
) -> None:
    """Append a box and all inside it, the outermost frame first."""
    frames, edges, nodes = layers
    if isinstance(box.child, Node):
        nodes.append(_node(cards[box.child], x, y, box.width, box.height))
        return
    if depth:
        frames.append(_frame(box.child, x, y, box))
    by_value: dict[Node, list[Line]] = {}
    for line in box.lines:
        by_value.setdefault(line.value, []).append(line)
    edges += [_edge(cards[value], lines, x, y) for value, lines in by_value.items()]
    for child, dx, dy in box.inside:
        _draw(child, x + dx, y + dy, depth + 1, cards, layers)


def _frame(scope: Scope, x: float, y: float, box: Box) -> str:
    faint = f'rx="8" fill="#808080" fill-opacity="0.08" stroke="{GREY}" stroke-opacity="0.6"'
    label = _text(scope.label, x + 10, y + 15, _ROW_SIZE, GREY, bold=True)
    return f"<g><title>{escape(scope.path)}</title>{_rect(x, y, box.width, box.height, faint)}{label}</g>"


def _edge(card: Card, lines: list[Line], x: float, y: float) -> str:
    """All stretches of one value in one scope: one path, and an arrowhead at each reader."""
    path: list[str] = []
    heads: list[str] = []
    for line in lines:
        (x0, y0), (_, leave), (_, arrive), (x1, y1) = ((px + x, py + y) for px, py in line.points)
        end = y1 - 6 if line.arrow else y1
        arrive = min(arrive, end)
        middle = (leave + arrive) / 2
        path.append(f"M{_n(x0)} {_n(y0)}V{_n(leave)}")
        if abs(x1 - x0) < 0.5:
            path.append(f"V{_n(end)}")
        else:
            path.append(f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(arrive)}V{_n(end)}")
        if line.arrow:
            heads.append(f"M{_n(x1)} {_n(y1 - 0.5)}l-4 -7.5h8z")
    arrows = f'<path d="{"".join(heads)}" fill="{GREY}" stroke="none"/>' if heads else ""
    return f'<g><title>{escape(card.name)}</title><path d="{"".join(path)}"/>{arrows}</g>'


def _node(card: Card, x: float, y: float, width: float, height: float) -> str:
    fill, border = KIND_COLOURS.get(card.kind, _FALLBACK)
    look = f'rx="6" fill="{fill}" stroke="{border}"'
    centre = x + width / 2
    rows = "".join(
        _text(row, centre, y + 17 + _ROW * (i + 1), _ROW_SIZE, "#5c636d" if i else "#3a4048")
        for i, row in enumerate(card.rows)
    )
    return (
        f'<g text-anchor="middle"><title>{escape(card.tooltip)}</title>'
        f"{_rect(x, y, width, height, look)}"
        f"{_text(card.name, centre, y + 17, _NAME_SIZE, '#16191d', bold=True)}{rows}</g>"
    )


def _legend(kinds: list[str]) -> tuple[list[str], float]:
    """Small chips that name the colours in use, and how wide they are together."""
    chips, x = [], _MARGIN
    for kind in kinds:
        fill, border = KIND_COLOURS[kind]
        chip = _rect(x, _MARGIN + 1, 11, 11, f'rx="3" fill="{fill}" stroke="{border}"')
        chips.append(f"<g>{chip}{_text(kind, x + 16, _MARGIN + 10.5, _ROW_SIZE, GREY)}</g>")
        x += 16 + _text_width(kind, _ROW_SIZE) + 16
    return chips, x - _MARGIN


def _rect(x: float, y: float, width: float, height: float, look: str) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" {look}/>'


def _text(text: str, x: float, y: float, size: float, colour: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{colour}"{weight}>{escape(text)}</text>'


def _size(card: Card) -> tuple[float, float]:
    widths = [_text_width(card.name, _NAME_SIZE), *(_text_width(row, _ROW_SIZE) for row in card.rows)]
    return max(56.0, *widths) + 2 * _SIDE, 26.0 + _ROW * len(card.rows)


def _text_width(text: str, size: float) -> float:
    columns = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
    return columns * size * _ADVANCE


def escape(text: str) -> str:
    """Text for XML, which has no place for most control characters even when escaped."""
    return _escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))


def _n(number: float) -> str:
    """A number as short as SVG allows at a tenth of a pixel."""
    text = f"{number:.1f}"
    return text.removesuffix(".0")
