"""Analyse a model: count what it calls, find its parameters, its depth, and what each value is needed for."""

from __future__ import annotations

from collections import Counter

import numpy as np

import weft
from weft import nn


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(weft.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    """Three blocks and a head."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(3)))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.blocks(x))


def main() -> None:
    traced = weft.symbolic_trace(Model())
    graph = traced.graph

    print("Calls by kind:")
    for kind, count in sorted(Counter(node.op for node in graph.nodes).items()):
        print(f"  {kind:<14} {count}")

    print("Modules by type:")
    modules = dict(traced.named_modules())
    types = Counter(type(modules[node.target]).__name__ for node in graph.find_nodes(op="call_module"))
    for name, count in sorted(types.items()):
        print(f"  {name:<14} {count}")

    print("Parameters of each layer called:")
    for node in graph.find_nodes(op="call_module"):
        size = sum(int(np.prod(p.shape)) for p in modules[node.target].parameters())
        print(f"  {node.target:<16} {size:>5}")

    print("Values read more than once:")
    for node in graph.nodes:
        if len(node.users) > 1:
            print(f"  {node.name} by {', '.join(user.name for user in node.users)}")

    levels = graph.levels()
    print(f"The longest way from input to output has {max(levels.values())} steps")


if __name__ == "__main__":
    main()
