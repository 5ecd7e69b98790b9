"""Passes: the time a node takes in graphs of 1,000 to 100,000 nodes, which is to stay the same."""

from __future__ import annotations

from functools import partial
from typing import Any

import weft
from bench.measure import Row, seconds, show

SIZES = (1_000, 10_000, 100_000)
LARGER = 2.0  # at most this much dearer a node in a graph a hundred times larger
SECONDS = 20.0  # at most, for all passes over 100,000 nodes


def program(nodes: int) -> weft.Graph:
    """Typed chains in which every pass finds something to do: a fold, a rule, a pair and a dead node in every eight."""
    graph = weft.Graph()
    x = graph.placeholder("x")
    for i in range(nodes // 8):
        two = graph.call_function(weft.add, (1.0, 1.0))
        a = graph.call_function(weft.sin, (x,))
        b = graph.call_function(weft.sin, (x,))
        graph.call_function(weft.cos, (b,))
        once = graph.call_function(weft.multiply, (a, 1.0))
        both = graph.call_function(weft.subtract, (once, b))
        grown = graph.call_function(weft.multiply, (both, two))
        x = graph.call_function(weft.add, (grown, float(i)))
    graph.output(x)
    graph.infer(weft.spec((3,)))
    return graph


def growth() -> list[Row]:
    """Each pass, and all of them, a node; in the largest graph beside the smallest."""
    work: dict[str, Any] = {
        "fold_constants": weft.passes.fold_constants,
        "simplify": weft.passes.simplify,
        "eliminate_common": weft.passes.eliminate_common,
        "eliminate_dead": weft.passes.eliminate_dead,
        "optimize": weft.passes.optimize,
    }
    rows = []
    for name, function in work.items():
        taken = {size: _time(function, size) / size for size in SIZES}
        ratio = taken[SIZES[-1]] / taken[SIZES[0]]
        told = ", ".join(f"{taken[size] * 1e6:.1f}" for size in SIZES)
        rows.append(
            Row(
                f"{name}, µs a node of {SIZES[0]:,} to {SIZES[-1]:,}",
                told,
                "",
                f"{ratio:.2f}",
                f"<= {LARGER}",
                ratio <= LARGER,
            )
        )
        if name == "optimize":
            whole = taken[SIZES[-1]] * SIZES[-1]
            rows.append(
                Row(f"{name}, {SIZES[-1]:,} nodes", f"{whole:.2f} s", "", "", f"<= {SECONDS:.0f} s", whole <= SECONDS)
            )
    return rows


def _time(function: Any, size: int) -> float:
    """The best of some runs, each on a graph of its own; making the graph is not counted."""
    graph = program(size)
    best = float("inf")
    for _ in range(3 if size < SIZES[-1] else 2):
        copied = graph.clone()
        best = min(best, seconds(partial(function, copied), repeat=1))
    return best


if __name__ == "__main__":
    show("Passes", growth())
