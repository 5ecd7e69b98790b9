"""Trace a model: one call turns a module into a graph, and the graph into Python again."""

from __future__ import annotations

import numpy as np

import weft
from weft import nn


class Net(nn.Module):
    """Adds a parameter, applies a layer, clips."""

    def __init__(self) -> None:
        super().__init__()
        self.param = nn.Parameter(np.ones((3, 4), np.float32))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return weft.clip(self.linear(x + self.param), 0.0, 1.0)


def main() -> None:
    net = Net()
    traced = weft.symbolic_trace(net)

    print("The graph, one line a node:")
    print(traced.graph)

    print("\nThe same, as the code that runs:")
    print(traced.code.strip())

    print("\nThe same, as a table:")
    traced.graph.print_tabular()

    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    print("\nThe graph computes what the module computes:", np.array_equal(traced(x), net(x)))
    print("A GraphModule is a Module:", isinstance(traced, nn.Module))
    print("Its parameters are the module's own:", traced.param is net.param)


if __name__ == "__main__":
    main()
