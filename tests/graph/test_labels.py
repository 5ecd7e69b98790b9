"""Which of two nodes stands first stays one comparison, wherever nodes are inserted."""

from __future__ import annotations

import operator
import random
from itertools import pairwise

import pytest

from weft import Graph


def build(count: int) -> Graph:
    graph = Graph()
    value = graph.placeholder("x")
    for _ in range(count):
        value = graph.call_function(operator.add, (value, 1))
    graph.output(value)
    return graph


@pytest.mark.parametrize(
    "where", ["after one node", "each after the last", "before one node", "at the front", "anywhere"]
)
def test_order_survives_insertions(where: str) -> None:
    graph = build(50)
    x, *_ = nodes = list(graph.nodes)
    anchor, chosen = nodes[20], random.Random(0)
    for _ in range(3000):
        before = {"before one node": anchor, "at the front": next(iter(graph.nodes))}.get(where)
        if where == "anywhere":
            anchor = chosen.choice(nodes)
        with graph.inserting_before(before) if before is not None else graph.inserting_after(anchor):
            made = graph.call_function(operator.neg, (x,))
        if where == "each after the last":
            anchor = made
    assert len(graph.nodes) == 3052
    assert all(first < second and second > first for first, second in pairwise(graph.nodes))


def test_moved_nodes_compare_at_their_new_place() -> None:
    graph = build(5)
    nodes = list(graph.nodes)
    nodes[1].append(nodes[4])
    assert nodes[1] < nodes[4] < nodes[2]
