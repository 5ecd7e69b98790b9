"""A layered drawing of nested boxes: where every node, every scope and every bend of an edge goes.

Scopes are laid out from the inside out. Inside one, every child is a box on a layer (Sugiyama's method); a value that
crosses several layers runs through one invisible vertex per layer, shared by all its readers; a value that enters or
leaves goes through a port on the border. igraph orders each layer so that few edges cross. Positions then follow from
one rule: stand as close to your neighbours as the boxes beside you allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weft.graph import Node
from weft.view._place import assign_x
from weft.view._scopes import Scope

PAD = 14.0  # between a scope's border and what is inside
HEADER = 20.0  # a scope's label
LAYER_GAP = 26.0
Size = tuple[float, float]
Point = tuple[float, float]


class Line(NamedTuple):
    """One stretch of an edge, from layer to layer, within one scope."""

    value: Node
    points: tuple[Point, ...]
    arrow: bool


@dataclass(eq=False)
class Box:
    """A laid-out child: its size, where values enter (top) and leave (bottom), and what it holds."""

    child: Scope | Node
    width: float
    height: float
    entry: dict[Node, float] = field(default_factory=dict)
    exit: dict[Node, float] = field(default_factory=dict)
    inside: list[tuple[Box, float, float]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    first: int = 0  # numbers of the first and last node inside, in the order of the graph
    last: int = 0
    needs: list[Node] = field(default_factory=list)
    gives: list[Node] = field(default_factory=list)


@dataclass(eq=False)
class Vertex:
    """Something with a place in a layer: a child's box, a bend, or a port. `x` and `y` are its centre and its top."""

    layer: int
    width: float
    height: float
    box: Box | None = None
    port: bool = False
    x: float = 0.0
    y: float = 0.0

    @property
    def is_bend(self) -> bool:
        """Whether an edge merely passes here."""
        return self.box is None and not self.port

    @property
    def is_scope(self) -> bool:
        """Whether it is a box of other boxes."""
        return self.box is not None and isinstance(self.box.child, Scope)

    def out_x(self, value: Node) -> float:
        """How far from its centre the value leaves."""
        return self.box.exit[value] - self.width / 2 if self.box is not None and value in self.box.exit else 0.0

    def in_x(self, value: Node) -> float:
        """How far from its centre the value enters."""
        return self.box.entry[value] - self.width / 2 if self.box is not None and value in self.box.entry else 0.0


@dataclass(eq=False)
class Link:
    """A value going from one layer to the next."""

    value: Node
    upper: Vertex
    lower: Vertex
    spread: float = 0.0  # keeps the arrows into one node apart


def lay_out(scope: Scope, size: Callable[[Node], Size], label_width: Callable[[str], float]) -> Box:
    """Place everything inside a scope, relative to its own top left corner."""
    numbers = {node: i for i, node in enumerate(scope.nodes())}
    return _scope_box(scope, numbers, size, label_width)


def _scope_box(
    scope: Scope, numbers: dict[Node, int], size: Callable[[Node], Size], label_width: Callable[[str], float]
) -> Box:
    boxes = [
        _scope_box(child, numbers, size, label_width) if isinstance(child, Scope) else _node_box(child, numbers, size)
        for child in scope.children
    ]
    first, last = (boxes[0].first, boxes[-1].last) if boxes else (0, -1)
    produced = {value for box in boxes for value in box.gives}
    needs = list(dict.fromkeys(v for box in boxes for v in box.needs if v not in produced))
    gives = [v for box in boxes for v in box.gives if any(not first <= numbers[u] <= last for u in v.users)]
    whole = Box(scope, 0.0, 0.0, first=first, last=last, needs=needs, gives=gives)
    layers, links = _vertices(boxes, needs, gives)
    _order(layers, links)
    assign_x(layers, links)
    _fit(whole, layers, label_width(scope.label) if scope.label else 0.0)
    _assign_y(whole, layers, links, HEADER if scope.label else 0.0)
    _collect(whole, layers, links)
    return whole


def _node_box(node: Node, numbers: dict[Node, int], size: Callable[[Node], Size]) -> Box:
    width, height = size(node)
    number = numbers[node]
    return Box(
        node, width, height, first=number, last=number, needs=node.all_input_nodes, gives=[node] if node.users else []
    )


def _vertices(boxes: list[Box], needs: list[Node], gives: list[Node]) -> tuple[list[list[Vertex]], list[Link]]:
    """Every vertex on its layer, and the links between neighbouring layers."""
    sources: dict[Node, Vertex] = {value: Vertex(0, 4, 0, port=True) for value in needs}
    vertices = []
    readers: dict[Node, list[Vertex]] = {}
    lowest = 1 if needs else 0
    for box in boxes:
        layer = max((sources[value].layer + 1 for value in box.needs), default=lowest)
        vertex = Vertex(layer, box.width, box.height, box)
        vertices.append(vertex)
        for value in box.gives:
            sources[value] = vertex
        for value in box.needs:
            readers.setdefault(value, []).append(vertex)
    # What needs nothing itself stands right above its first reader, not at the top of the picture.
    for vertex, box in zip(vertices, boxes, strict=True):
        if not box.needs and box.gives:
            below = [reader.layer for value in box.gives for reader in readers.get(value, ())]
            vertex.layer = max(min(below) - 1, lowest) if below else vertex.layer
    bottom = max((vertex.layer for vertex in vertices), default=0) + 1
    for value in gives:
        port = Vertex(bottom, 4, 0, port=True)
        vertices.append(port)
        readers.setdefault(value, []).append(port)
    ports = [sources[value] for value in needs]
    links, bends = _links(sources, readers)
    layers: list[list[Vertex]] = [[] for _ in range(bottom + 1)]
    for vertex in (*ports, *vertices, *bends):
        layers[vertex.layer].append(vertex)
    return [layer for layer in layers if layer], links


def _links(sources: dict[Node, Vertex], readers: dict[Node, list[Vertex]]) -> tuple[list[Link], list[Vertex]]:
    """Links between neighbouring layers; a value that goes further runs through one chain of bends."""
    links, bends = [], []
    for value, found in readers.items():
        chain = {sources[value].layer: sources[value]}
        last = max(vertex.layer for vertex in found)
        for layer in range(sources[value].layer + 1, last):
            bend = Vertex(layer, 4, 0)
            links.append(Link(value, chain[layer - 1], bend))
            chain[layer] = bend
            bends.append(bend)
        links += [Link(value, chain[vertex.layer - 1], vertex) for vertex in found]
    return links, bends


def _order(layers: list[list[Vertex]], links: list[Link]) -> None:
    """Order the vertices of each layer so that few links cross."""
    if all(len(layer) == 1 for layer in layers):
        return
    number = {vertex: i for i, vertex in enumerate(v for layer in layers for v in layer)}
    graph = igraph_or_explain().Graph(
        len(number), [(number[link.upper], number[link.lower]) for link in links], directed=True
    )
    levels = [i for i, layer in enumerate(layers) for _ in layer]
    layout = graph.layout_sugiyama(layers=levels, maxiter=100)
    layout = layout[0] if isinstance(layout, tuple) else layout
    for layer in layers:
        layer.sort(key=lambda vertex: layout[number[vertex]][0])


def igraph_or_explain() -> Any:
    """The igraph package, or an error that says how to get it."""
    try:
        import igraph
    except ImportError:
        raise ImportError(
            "drawing a graph as SVG needs igraph, which is not installed\n"
            "  help: pip install igraph, or use graph.to_dot() with Graphviz"
        ) from None
    return igraph


def _fit(whole: Box, layers: list[list[Vertex]], label: float) -> None:
    """Shift everything into the box and give the box its width and its ports."""
    every = [vertex for layer in layers for vertex in layer]
    left = min((v.x - v.width / 2 for v in every), default=0.0)
    right = max((v.x + v.width / 2 for v in every), default=0.0)
    whole.width = max(right - left + 2 * PAD, label + 2 * PAD)
    shift = (whole.width - (right - left)) / 2 - left
    for vertex in every:
        vertex.x += shift


def _assign_y(whole: Box, layers: list[list[Vertex]], links: list[Link], header: float) -> None:
    gaps = [LAYER_GAP] * len(layers)
    index = {vertex: i for i, layer in enumerate(layers) for vertex in layer}
    for link in links:
        run = abs(link.upper.x + link.upper.out_x(link.value) - link.lower.x - link.lower.in_x(link.value))
        at = index[link.upper]
        gaps[at] = max(gaps[at], LAYER_GAP + min(90.0, 0.06 * run))
    opens = bool(layers) and any(vertex.port for vertex in layers[0])
    closes = bool(layers) and any(vertex.port for vertex in layers[-1])
    y = 0.0 if opens else PAD + header
    for i, layer in enumerate(layers):
        height = max(vertex.height for vertex in layer)
        for vertex in layer:
            vertex.y = y + (height - vertex.height) / 2 if vertex.box is not None else y
            vertex.height = vertex.height if vertex.box is not None else height
        y += height + (0.0 if i + 1 == len(layers) else gaps[i] + (header if opens and i == 0 else 0.0))
    whole.height = y if closes else y + PAD


def _collect(whole: Box, layers: list[list[Vertex]], links: list[Link]) -> None:
    """Turn vertices and links into boxes, ports and lines."""
    bounds = {}
    for layer in layers:
        top = min(vertex.y for vertex in layer)
        bottom = max(vertex.y + vertex.height for vertex in layer)
        bounds.update(dict.fromkeys(layer, (top, bottom)))
        for vertex in layer:
            if vertex.box is not None:
                whole.inside.append((vertex.box, vertex.x - vertex.width / 2, vertex.y))
    _spread_arrows(links)
    for link in links:
        whole.lines.append(_line(link, bounds[link.upper][1], bounds[link.lower][0]))
        if link.upper.port:
            whole.entry[link.value] = link.upper.x
        if link.lower.port:
            whole.exit[link.value] = link.lower.x


def _spread_arrows(links: Iterable[Link]) -> None:
    """Arrows into one node arrive side by side, ordered by where they come from; one from straight above stays so."""
    arriving: dict[Vertex, list[tuple[float, int, Link]]] = {}
    for number, link in enumerate(links):
        if link.lower.box is not None and isinstance(link.lower.box.child, Node):
            origin = link.upper.x + link.upper.out_x(link.value) - link.lower.x
            arriving.setdefault(link.lower, []).append((origin, number, link))
    for vertex, group in arriving.items():
        group.sort(key=lambda entry: entry[:2])
        straight = [i for i, (origin, _, _) in enumerate(group) if abs(origin) < 0.5]
        centre = straight[0] if straight else (len(group) - 1) / 2
        step = min(18.0, (vertex.width / 2 - 12.0) / max(1.0, centre, len(group) - 1 - centre))
        for i, (_, _, link) in enumerate(group):
            link.spread = (i - centre) * step


def _line(link: Link, leave: float, arrive: float) -> Line:
    """From the bottom of one vertex to the top of another; sideways only between the layers, where nothing stands."""
    upper, lower = link.upper, link.lower
    x0 = upper.x + upper.out_x(link.value)
    x1 = lower.x + lower.in_x(link.value) + link.spread
    bottom = upper.y if upper.box is None else upper.y + upper.height
    return Line(
        link.value,
        ((x0, bottom), (x0, leave), (x1, arrive), (x1, lower.y)),
        lower.box is not None and isinstance(lower.box.child, Node),
    )
