"""The functions that stand in graphs for calls whose derivative has a rule of its own."""

from __future__ import annotations

from typing import Any

from weft.graph import Graph
from weft.graph._control_checks import Runner


def custom_call(kind: str, primal: Graph, operands: Any, rules: Any) -> Any:
    """What a call of a function with a rule of its own gives: the results of the function's graph.

    `rules` are pairs of a graph and its operands: for "vjp" the forward's, which gives the results and then what the
    backward needs, and the backward's, whose first inputs are those and the gradients; for "jvp" the rule's.
    """
    return Runner("custom_call", "primal", primal, len(operands))(list(operands))


custom_call.__module__ = "weft"
