"""Tracing: time a node, beside torch.fx and jax."""

from __future__ import annotations

import importlib.util
from typing import Any

import torch
import torch.fx

import weft
from bench.measure import Row, show, side_by_side
from bench.programs import chain, resnet50

SHARE = 1 / 6  # of torch.fx's time a node, at most


def against_peers() -> list[Row]:
    """One function of 10,000 operations, and ResNet-50, traced by each library."""
    return [*_function(10_000), *_module()]


def _function(ops: int) -> list[Row]:
    ours, theirs = chain(ops, weft.relu), chain(ops, torch.relu)
    runs: dict[str, Any] = {
        "weft": lambda: weft.symbolic_trace(ours),
        "weft, code": lambda: weft.symbolic_trace(ours).code,
        "torch.fx": lambda: torch.fx.symbolic_trace(theirs),
        "torch.fx, lines": lambda: _torch_with_lines(theirs),
    }
    nodes = {
        "weft": len(weft.symbolic_trace(ours).graph.nodes),
        "torch.fx": len(torch.fx.symbolic_trace(theirs).graph.nodes),
    }
    assert nodes["weft"] == nodes["torch.fx"] == ops + 2, nodes
    if importlib.util.find_spec("jax"):
        runs["jax"] = _jax(ops)
    times = {name: time / ops for name, time in side_by_side(runs).items()}
    what = f"function of {ops:,} operations"
    rows = [
        _row(f"{what}: torch.fx.symbolic_trace", times["weft"], times["torch.fx"], SHARE),
        _row(f"{what}: the same, weft's code generated too", times["weft, code"], times["torch.fx"], None),
        _row(f"{what}: torch.fx with stack traces recorded", times["weft"], times["torch.fx, lines"], None),
    ]
    if "jax" in times:
        rows.append(_row(f"{what}: jax.make_jaxpr", times["weft"], times["jax"], None))
    return rows


def _module() -> list[Row]:
    ours, theirs = resnet50(weft.nn, weft.flatten), resnet50(torch.nn, torch.flatten)
    nodes = len(weft.symbolic_trace(ours).graph.nodes)
    assert nodes == len(torch.fx.symbolic_trace(theirs).graph.nodes)
    times = side_by_side(
        {"weft": lambda: weft.symbolic_trace(ours), "torch.fx": lambda: torch.fx.symbolic_trace(theirs)},
        rounds=11,
        calls=10,
    )
    what = f"ResNet-50, {nodes} nodes: torch.fx.symbolic_trace"
    return [_row(what, times["weft"] / nodes, times["torch.fx"] / nodes, SHARE)]


def _torch_with_lines(program: Any) -> Any:
    tracer = torch.fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(program)
    return torch.fx.GraphModule(tracer.root, graph)


def _jax(ops: int) -> Any:
    import jax

    program = chain(ops, jax.nn.relu)
    example = jax.ShapeDtypeStruct((4,), "float32")
    # A new function each time: jax keeps what it traced of one it has seen.
    return lambda: jax.make_jaxpr(lambda x: program(x))(example)


def _row(what: str, ours: float, theirs: float, share: float | None) -> Row:
    ratio = ours / theirs
    target = "" if share is None else f"<= {share:.3f}"
    met = None if share is None else ratio <= share
    return Row(what, f"{ours * 1e6:.2f} µs", f"{theirs * 1e6:.2f} µs", f"{ratio:.3f}", target, met)


if __name__ == "__main__":
    show("Tracing, time a node", against_peers())
