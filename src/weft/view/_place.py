"""Horizontal positions in a layered drawing.

Each vertex wants to stand at the weighted mean of its neighbours in the layer above or below; vertices of one layer
keep their order and their distance. The least-squares answer for one layer is isotonic regression, computed by pooling
adjacent violators; sweeping down and up a few times settles the whole drawing. Then what can be straight is made so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.view._layout import Link, Vertex

NODE_GAP = 26.0  # between two boxes
BEND_GAP = 14.0  # beside an edge that passes
SWEEPS = 16
STRAIGHTENINGS = 4
Pull = tuple["Vertex", float, float]  # neighbour, offset, weight


def assign_x(layers: list[list[Vertex]], links: list[Link]) -> None:
    """Set `x` of every vertex, keeping the order within each layer."""
    above: dict[Vertex, list[Pull]] = {}
    below: dict[Vertex, list[Pull]] = {}
    for link in links:
        offset, weight = _offset(link), _weight(link)
        above.setdefault(link.lower, []).append((link.upper, offset, weight))
        below.setdefault(link.upper, []).append((link.lower, -offset, weight))
    for layer in layers:
        _pack(layer)
    both = {v: above.get(v, []) + below.get(v, []) for layer in layers for v in layer}
    for _ in range(SWEEPS):
        for layer in layers:
            _settle(layer, above)
        for layer in reversed(layers):
            _settle(layer, below)
    for _ in range(4):
        for layer in layers:
            _settle(layer, both)
        for layer in reversed(layers):
            _settle(layer, both)
    _straighten(layers, links)


def _weight(link: Link) -> float:
    """Long edges should be straight, and so should the way from box to box; where they meet, the boxes win."""
    return (4.0, 1.0, 8.0)[link.upper.is_bend + link.lower.is_bend]


def _offset(link: Link) -> float:
    """How far right of the upper vertex the lower one should stand for the link to be straight.

    Scopes that follow each other are centred instead: straight lines from port to port would make a staircase of them.
    """
    if link.upper.is_scope and link.lower.is_scope:
        return 0.0
    return link.upper.out_x(link.value) - link.lower.in_x(link.value)


def _pack(layer: list[Vertex]) -> None:
    """Side by side, centred around zero."""
    x = 0.0
    for i, vertex in enumerate(layer):
        x += _distance(layer[i - 1], vertex) if i else 0.0
        vertex.x = x
    for vertex in layer:
        vertex.x -= x / 2


def _distance(left: Vertex, right: Vertex) -> float:
    gap = NODE_GAP if left.box is not None and right.box is not None else BEND_GAP
    return (left.width + right.width) / 2 + gap


def _settle(layer: Sequence[Vertex], pulls: dict[Vertex, list[Pull]]) -> None:
    """Move the vertices of one layer as near as their order and size allow to where they are pulled."""
    blocks: list[tuple[float, float, int]] = []  # weighted mean, weight, how many vertices
    offsets = [0.0]
    for i in range(1, len(layer)):
        offsets.append(offsets[-1] + _distance(layer[i - 1], layer[i]))
    for vertex, offset in zip(layer, offsets, strict=True):
        found = pulls.get(vertex)
        if found:
            weight = sum(w for _, _, w in found)
            wanted = sum((other.x + shift) * w for other, shift, w in found) / weight
        else:
            weight, wanted = 0.01, vertex.x
        mean, count = wanted - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other_mean, other_weight, other_count = blocks.pop()
            mean = (mean * weight + other_mean * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        blocks.append((mean, weight, count))
    position = 0
    for mean, _, count in blocks:
        for i in range(position, position + count):
            layer[i].x = mean + offsets[i]
        position += count


def _straighten(layers: list[list[Vertex]], links: list[Link]) -> None:
    """Bring vertices that follow each other onto one vertical line where the space beside them allows it."""
    left: dict[Vertex, Vertex] = {}
    right: dict[Vertex, Vertex] = {}
    for layer in layers:
        for one, other in pairwise(layer):
            left[other], right[one] = one, other
    columns = _columns(links)
    for _ in range(STRAIGHTENINGS):
        for column in columns:
            for run in _runs(column, left, right):
                low, high, members = run
                wanted = sum(vertex.x - offset for vertex, offset in members) / len(members)
                x = min(max(wanted, low), high)
                for vertex, offset in members:
                    vertex.x = x + offset


def _columns(links: list[Link]) -> list[list[tuple[Vertex, float]]]:
    """Chains of vertices that should share a line, each with its offset from that line; no vertex is in two."""
    down: dict[Vertex, Link] = {}
    up: set[Vertex] = set()
    for link in sorted(links, key=lambda link: (-_weight(link), abs(link.upper.x - link.lower.x))):
        if link.upper not in down and link.lower not in up:
            down[link.upper] = link
            up.add(link.lower)
    columns = []
    for top in (vertex for vertex in down if vertex not in up):
        column, vertex, offset = [(top, 0.0)], top, 0.0
        while vertex in down:
            link = down[vertex]
            offset += _offset(link)
            vertex = link.lower
            column.append((vertex, offset))
        columns.append(column)
    return columns


def _runs(
    column: list[tuple[Vertex, float]], left: dict[Vertex, Vertex], right: dict[Vertex, Vertex]
) -> list[tuple[float, float, list[tuple[Vertex, float]]]]:
    """The column cut where no line has room for all of it: (leftmost line, rightmost line, members) of each part."""
    runs: list[tuple[float, float, list[tuple[Vertex, float]]]] = []
    for vertex, offset in column:
        low, high = -inf, inf
        if vertex in left:
            low = left[vertex].x + _distance(left[vertex], vertex) - offset
        if vertex in right:
            high = right[vertex].x - _distance(vertex, right[vertex]) - offset
        high = max(high, low)  # rounding may leave a hair less than nothing
        if runs and max(runs[-1][0], low) <= min(runs[-1][1], high):
            runs[-1][2].append((vertex, offset))
            runs[-1] = (max(runs[-1][0], low), min(runs[-1][1], high), runs[-1][2])
        else:
            runs.append((low, high, [(vertex, offset)]))
    return runs
