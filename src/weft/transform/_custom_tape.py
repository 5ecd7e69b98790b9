"""Calls of functions with rules of their own in graphs that run on Tensors: each is a step, with that rule.

So the gradient of a captured function, differentiated again on the tape, uses the rules again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.autograd import Function, Tensor, enable_grad, grad
from weft.autograd._mode import recording
from weft.graph import Graph, Node
from weft.graph._control_checks import Runner
from weft.transform._custom_nodes import custom_call


def rule_calls(graph: Graph) -> None:
    """Let each call of a function with a rule, in bodies too, be a step on the tape."""
    for node in graph.nodes:
        for body in node.bodies:
            rule_calls(body)
        if node.op == "call_function" and node.target is custom_call:
            node.target, node.args = ruled_call, (*node.args, node.meta["inputs"], node.meta["count"])


def ruled_call(kind: str, primal: Graph, operands: Any, rules: Any, places: Sequence[int], count: int) -> Any:
    """What `custom_call` gives, on the tape; `places` are the operands that have derivatives, of the first `count`."""
    if not recording.get() or not any(isinstance(value, Tensor) and value.requires_grad for value in operands):
        return custom_call(kind, primal, operands, rules)
    graphs = [graph for graph, _ in rules]
    return _Ruled.apply((kind, primal, graphs, places, count, [given for _, given in rules]), *operands)


ruled_call.__module__ = "weft"


class _Ruled(Function):
    @staticmethod
    def forward(ctx: Any, how: Any, *operands: Any) -> Any:
        ctx.how, ctx.operands = how, operands
        made = _run(how[1], operands)
        results = tuple(value if isinstance(value, Tensor) else Tensor(np.asarray(value)) for value in made)
        ctx.mark_non_differentiable(*(result for result in results if result.dtype.kind not in "fc"))
        ctx.save_for_backward(*results)
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        kind, _, graphs, places, count, given = ctx.how
        if kind == "vjp":
            leaves = graphs[0].output_node().args[0]
            results = ctx.saved_tensors
            same = {leaf: value for leaf, value in zip(leaves, results, strict=False) if isinstance(leaf, Node)}
            same = {leaf: value for leaf, value in same.items() if leaf.op != "placeholder"}
            pairs = list(zip(leaves, _run(graphs[0], given[0]), strict=True))[len(results) :]
            kept = [same.get(leaf, value) for leaf, value in pairs if isinstance(leaf, Node)]
            found = _run(graphs[1], [*kept, *gradients, *given[1]])
        else:
            found = _transposed(graphs[0], ctx.operands[:count], places, given[0], gradients)
        parts = dict(zip(places, found, strict=True))
        return None, *(parts.get(place) for place in range(len(ctx.operands)))


def _run(graph: Graph, values: Sequence[Any]) -> Any:
    return Runner("custom_call", "rule", graph, len(values))(list(values))


def _transposed(rule: Graph, inputs: Any, places: Sequence[int], outside: Any, gradients: Any) -> Any:
    """Gradients by a rule for tangents: it is linear in them, so its own gradient is the same for all."""
    with enable_grad():
        arrays = [np.asarray(getattr(inputs[k], "_array", inputs[k])) for k in places]
        zeros = [Tensor(np.zeros_like(array)).requires_grad_() for array in arrays]
        made = _run(rule, [*inputs, *zeros, *outside])
        leaves = rule.output_node().args[0][-len(gradients) :]
        pairs = zip(leaves, made[-len(gradients) :], gradients, strict=True)
        varied = [(value, g) for leaf, value, g in pairs if isinstance(leaf, Node) and _varies(value)]
        if not varied:
            return [None] * len(zeros)
        return grad([v for v, _ in varied], zeros, [g for _, g in varied], create_graph=True, allow_unused=True)


def _varies(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.requires_grad)
