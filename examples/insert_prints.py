"""Insert prints into a captured function: after every call, show the value's name, shape and mean."""

from __future__ import annotations

import numpy as np

import weft


def standardise(x):
    """Zero mean, unit deviation along the last axis."""
    centre = weft.mean(x, axis=-1, keepdims=True)
    spread = weft.std(x, axis=-1, keepdims=True)
    return (x - centre) / (spread + 1e-6)


def report(name: str, value: np.ndarray) -> None:
    print(f"  {name:<10} shape {np.shape(value)!s:<8} mean {np.mean(value):+.3f}")


def with_prints(traced: weft.GraphModule) -> weft.GraphModule:
    """The same graph with a call of `report` after each call; the report's own result is not used."""
    graph = traced.graph
    for node in graph.nodes:
        if node.op == "call_function" and node.target is not report:
            with graph.inserting_after(node):
                graph.call_function(report, (node.variable or node.name, node))
    graph.lint()
    traced.recompile()
    return traced


def main() -> None:
    x = np.arange(12, dtype=np.float64).reshape(3, 4)
    traced = weft.symbolic_trace(standardise)
    expected = traced(x)

    loud = with_prints(traced)
    print("Running:")
    result = loud(x)
    print("The result is unchanged:", np.array_equal(result, expected))

    print("\nThe code now:")
    print(loud.code.strip())

    for node in loud.graph.find_nodes(op="call_function", target=report):
        loud.graph.erase_node(node)
    loud.recompile()
    print("\nErased again, silent:", np.array_equal(loud(x), expected))


if __name__ == "__main__":
    main()
