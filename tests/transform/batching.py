"""What tests of batching share: a graph of one example, batched and run, against a Python loop over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.capture._captured import capture
from weft.graph import Graph, GraphModule, Node
from weft.ops import Spec
from weft.ops._dim import Sizes
from weft.ops._op import TABLE
from weft.transform._activity import activity
from weft.transform._batch import Rows, batch_nodes
from weft.transform._builder import Builder, Value
from weft.transform._reverse import Pullback

NUMBERS = (bool, int, float, complex)
SIZES: dict[Graph, Sizes] = {}
"""The sizes that the types of captured graphs are made of."""


def type_of(value: Any) -> Any:
    """The type of a value as graphs note it."""
    return type(value) if type(value) in NUMBERS else Spec(np.shape(value), np.asarray(value).dtype)


def graph_of(function: Callable[..., Any], leaves: Sequence[Any]) -> Graph:
    """The graph of a function of Values."""
    graph = Graph()
    builder = Builder(graph, Sizes())
    values = []
    for leaf in leaves:
        node = builder.region.placeholder("x")
        node.meta["type"] = type_of(leaf)
        values.append(Value(builder, node, node.meta["type"]))
    graph.output(builder.argument(function(*values)))
    return graph


def captured(function: Callable[..., Any], leaves: Sequence[Any]) -> Graph:
    """The graph of a function, captured from its source."""
    found = capture(function, tuple(leaves), {}, branches=True, dynamic=False, numbers=True)
    SIZES[found.graph] = found.recorder.sizes
    return found.graph


def batch_graph(
    graph: Graph, arguments: Sequence[Any], along: Sequence[bool], size: int
) -> tuple[Graph, Any, list[bool]]:
    """The batched graph, the tree of its result, and which leaves have rows."""
    target = Graph()
    builder = Builder(target, SIZES.get(graph) or Sizes())
    known: dict[Node, Any] = {}
    for place, value, rows in zip(graph.find_nodes(op="placeholder"), arguments, along, strict=True):
        node = builder.region.placeholder("x")
        node.meta["type"] = type_of(value)
        known[place] = Rows(builder.value(node), place.meta.get("type")) if rows else node
    leaves, tree = pytree.flatten(graph.output_node().args[0])
    found = batch_nodes(builder, graph.nodes, known, leaves, size)
    target.output(builder.argument(tuple(each.value if isinstance(each, Rows) else each for each in found)))
    target._sweep(lambda node: node.is_impure())
    target.lint()
    return target, tree, [isinstance(each, Rows) for each in found]


def run_graph(graph: Graph, arguments: Sequence[Any]) -> Any:
    module = GraphModule(dict(graph.constants), graph)
    return module(*[x.copy() if isinstance(x, np.ndarray) else x for x in arguments])


def run_batched(graph: Graph, arguments: Sequence[Any], along: Sequence[bool], size: int) -> list[np.ndarray]:
    """The leaves of the result, each with a row for each example."""
    target, _, rows = batch_graph(graph, arguments, along, size)
    found = run_graph(target, arguments)
    return [
        np.asarray(leaf) if has else np.broadcast_to(np.asarray(leaf), (size, *np.shape(leaf)))
        for leaf, has in zip(found, rows, strict=True)
    ]


def gradient_of_sum(graph: Graph, arguments: Sequence[Any], along: Sequence[bool], size: int) -> Any:
    """The gradient of the sum of a batched graph's only result with respect to its first argument."""
    target, _, (rows,) = batch_graph(graph, arguments, along, size)
    assert rows
    output = target.output_node()
    result = output.args[0][0]
    target.erase_node(output)
    builder = Builder(target, SIZES.get(graph) or Sizes())
    first = target.find_nodes(op="placeholder")[0]
    pull = Pullback(builder, activity(target.nodes, {first: True}))
    nodes = list(target.nodes)
    spec = result.meta["type"]
    pull.add(result, builder.call(TABLE["ones"], spec.shape, spec.dtype))
    pull.run(nodes)
    target.output(pull.take(first).node)
    target.lint()
    return run_graph(target, arguments)


def row(value: Any, k: int, like: Any) -> Any:
    """One example of an argument, of the type that examples have."""
    return type(like)(value[k]) if type(like) in NUMBERS else value[k] if np.ndim(value) > 1 else value[k][()]


def by_rows(
    run: Callable[..., Any], arguments: Sequence[Any], along: Sequence[bool], size: int, like: Any
) -> list[Any]:
    """The same by a loop over the examples: for each leaf of the result one array, and their dtypes."""
    results = []
    for k in range(size):
        own = [row(x, k, each) if has else x for x, has, each in zip(arguments, along, like, strict=True)]
        leaves, _ = pytree.flatten(run(*own))
        results.append([np.asarray(leaf) for leaf in leaves])
    return [np.stack(parts) for parts in zip(*results, strict=True)]
