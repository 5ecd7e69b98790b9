"""Order labels: integers that grow along the list, so that "does a stand before b" is one comparison.

A node placed between two others takes a label between theirs. Where no integer is left, the smallest neighbourhood that
is sparse enough is spread out again (Bender et al., "Two simplified algorithms for maintaining order in a list", 2002):
O(log n) relabellings per insertion, amortised, wherever the insertions fall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.graph._node import Node

GAP = 1 << 32
_DENSITY = 1.5  # a range of size 2**i may hold (2 / _DENSITY)**i labels before it counts as crowded


def assign(node: Node, root: Node) -> None:
    """Label a node that was just linked in."""
    low = (
        node._prev._label if node._prev is not root else (node._next._label - 2 * GAP if node._next is not root else 0)
    )
    high = node._next._label if node._next is not root else low + 2 * GAP
    node._label = (low + high) // 2
    if node._label == low:
        _spread(node, root)


def _spread(node: Node, root: Node) -> None:
    """Give the labels around a node room again."""
    first = last = node
    count, size, limit = 1, 1, 1.0
    while True:
        size *= 2
        limit *= 2 / _DENSITY
        start = node._label // size * size
        while first._prev is not root and first._prev._label >= start:
            first = first._prev
            count += 1
        while last._next is not root and last._next._label < start + size:
            last = last._next
            count += 1
        if count <= limit and size >= 2 * count:
            break
    step = size // count
    label = start
    current = first
    for _ in range(count):
        current._label = label
        label += step
        current = current._next
