"""Editing and whole-graph work: what one edit costs in a small and in a large graph, and 100,000 nodes start to end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import weft
from bench.measure import Row, seconds, show
from bench.programs import chain

EDITS = 500
LARGER = 2.0  # at most this much dearer in a graph a hundred times larger
SECONDS = 10.0  # at most, for each pass over 100,000 nodes


def edits() -> list[Row]:
    """Insert, erase and replace in graphs of 1,000 and 100,000 nodes."""
    small, large = _edit_times(1_000), _edit_times(100_000)
    rows = []
    for name in small:
        ratio = large[name] / small[name]
        cost = f"{large[name] * 1e6:.2f} µs"
        rows.append(
            Row(
                f"{name}, 100,000 nodes (peer: 1,000)",
                cost,
                f"{small[name] * 1e6:.2f} µs",
                f"{ratio:.2f}",
                f"<= {LARGER}",
                ratio <= LARGER,
            )
        )
    return rows


def whole_graph(nodes: int = 100_000) -> list[Row]:
    """Lint, print, generate code, save and load a large graph."""
    traced = weft.symbolic_trace(chain(nodes, weft.relu))
    graph = traced.graph
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.weft"
        work: dict[str, Callable[[], Any]] = {
            "lint": graph.lint,
            "print": lambda: str(graph),
            "generate code": lambda: graph.python_code("self"),
            "save": lambda: graph.save(path),
            "load": lambda: weft.load(path),
            "topological order": graph.topological_order,
            "clone": graph.clone,
        }
        rows = []
        for name, function in work.items():
            taken = seconds(function, repeat=1, clock=time.perf_counter)
            rows.append(
                Row(f"{name}, {nodes:,} nodes", f"{taken:.2f} s", "", "", f"<= {SECONDS:.0f} s", taken <= SECONDS)
            )
    return rows


def _edit_times(nodes: int) -> dict[str, float]:
    """Seconds an edit, each kind done in the middle of the graph."""
    graph = weft.symbolic_trace(chain(nodes, weft.relu)).graph
    middle = list(graph.nodes)[nodes // 2]
    best: dict[str, float] = {}
    for _ in range(5):
        for name, taken in _one_round(graph, middle).items():
            best[name] = min(taken, best.get(name, float("inf")))
    return best


def _one_round(graph: Any, middle: Any) -> dict[str, float]:
    start = time.thread_time()
    added = []
    for _ in range(EDITS):
        with graph.inserting_after(middle):
            added.append(graph.call_function(weft.sigmoid, (middle,)))
    inserted = time.thread_time()
    user = added[0]
    with graph.inserting_after(user):
        last = graph.call_function(weft.tanh, (user,))
    replacing = time.thread_time()
    for node in added[1:]:
        user.replace_all_uses_with(node)
        user = node
    replaced = time.thread_time()
    graph.erase_node(last)
    erasing = time.thread_time()
    for node in added:
        graph.erase_node(node)
    erased = time.thread_time()
    spans = {"insert": inserted - start, "replace": replaced - replacing, "erase": erased - erasing}
    return {name: span / EDITS for name, span in spans.items()}


if __name__ == "__main__":
    show("Editing", edits())
    show("A whole graph", whole_graph())
