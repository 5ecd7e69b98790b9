"""Splitting off what depends on parameters and constants alone, so that it is computed once and not in every call.

    >>> import numpy as np, weft
    >>> from weft import nn, passes
    >>> class Scaled(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = nn.Parameter(np.ones(2))
    ...     def forward(self, x):
    ...         return x * (self.w + 1)
    >>> folded = passes.split_const_subgraphs(Scaled())
    >>> print(folded.code)
    def forward(self, x):
        _folded0 = self._folded0
        mul = x * _folded0;  x = _folded0 = None
        return mul
    <BLANKLINE>

`fold_constants` is another thing: it computes what depends on numbers of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

from weft._module import Module
from weft.autograd import Tensor, no_grad
from weft.errors import GraphError
from weft.graph import Graph, GraphModule, Node
from weft.graph._interpreter import fetch_attr


class FoldedGraphModule(GraphModule):
    """A module that reads what `const_subgraph_module` computes, as it was when `run_folding` was called last."""

    const_subgraph_module: GraphModule
    folded_names: tuple[str, ...]

    def run_folding(self) -> None:
        """Compute the constants again, after parameters have changed."""
        for name, value in zip(self.folded_names, _values(self.const_subgraph_module), strict=True):
            setattr(self, name, value)


def split_const_subgraphs(
    module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None
) -> FoldedGraphModule:
    """Split a module in two: what depends on its parameters and constants alone, computed now, and the rest.

    A module that is no GraphModule is traced first. `skip_folding_node_fn(node)` keeps a node out of it. No gradient
    reaches the parameters behind what was folded.
    """
    gm = module if isinstance(module, GraphModule) else _traced(module)
    graph = gm.graph.clone()
    graph.owning_module = None
    if graph.output_node().kwargs.get("writes"):
        raise GraphError("split_const_subgraphs: the graph writes into arrays of the module or its inputs")
    constant = _constant_nodes(graph, skip_folding_node_fn)
    edge = [n for n in constant if n.op != "get_attr" and any(user not in constant for user in n.users)]
    inner = Graph()
    copies: dict[Node, Any] = {}
    for node in constant:
        copies[node] = inner.node_copy(node, copies.__getitem__)
    inner.output(tuple(copies[node] for node in edge))
    inner.constants = dict(graph.constants)
    inner.eliminate_dead_code()
    folding = GraphModule(gm, inner, "ConstSubgraph")
    taken = {node.target for node in graph.nodes if isinstance(node.target, str)}
    free = (name for k in count() if (name := f"_folded{k}") not in taken)
    names = tuple(name for name, _ in zip(free, edge, strict=False))
    for name, node in zip(names, edge, strict=True):
        with graph.inserting_before(node):
            read = graph.get_attr(name)
        node.replace_all_uses_with(read, lambda user: user not in constant)
    graph.eliminate_dead_code()
    used = {node.target: node for node in graph.nodes if node.op in ("get_attr", "call_module")}
    root: dict[str, Any] = {name: fetch_attr(gm, gm.graph, name) for name in used if name not in names}
    root.update(zip(names, _values(folding), strict=True))
    made = FoldedGraphModule(root, graph, type(gm).__name__)
    made.train(gm.training)
    made.const_subgraph_module, made.folded_names = folding, names
    return made


def _traced(module: Module) -> GraphModule:
    # By name: the room of tracing stands above this one.
    made: GraphModule = import_module("weft.capture").symbolic_trace(module)
    return made


def _values(folding: GraphModule) -> list[Any]:
    with no_grad():
        return [value.detach() if isinstance(value, Tensor) else value for value in folding()]


def _constant_nodes(graph: Graph, skip: Callable[[Node], bool] | None) -> dict[Node, None]:
    found: dict[Node, None] = {}
    for node in graph.nodes:
        if node.op == "get_attr":
            found[node] = None
        elif node.op in ("call_function", "call_method") and node.all_input_nodes:
            known = all(read in found for read in node.all_input_nodes)
            if known and not node.is_impure() and not (skip is not None and skip(node)):
                found[node] = None
    return found
