"""Drop every dropout from a model: what reads it reads its input instead."""

from __future__ import annotations

import numpy as np

import weft
from weft import nn


class Model(nn.Module):
    """Dropout as a module and as a function."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.5), nn.Linear(12, 3))

    def forward(self, x):
        return self.layers(nn.functional.dropout(x, p=0.1))


def drop_dropout(traced: weft.GraphModule) -> list[str]:
    """Take the dropouts out; returns the names of the nodes that went."""
    modules = dict(traced.named_modules())
    dropped = []
    for node in traced.graph.nodes:
        as_module = node.op == "call_module" and isinstance(modules[node.target], nn.Dropout)
        as_function = node.op == "call_function" and node.target is nn.functional.dropout
        if as_module or as_function:
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
            dropped.append(node.name)
    traced.delete_all_unused_submodules()
    traced.graph.lint()
    traced.recompile()
    return dropped


def main() -> None:
    traced = weft.symbolic_trace(Model())
    print("Before:")
    print(traced.code.strip())

    print("\nDropped:", ", ".join(drop_dropout(traced)))
    print("\nAfter:")
    print(traced.code.strip())

    x = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)
    print("\nTwo runs agree:", np.array_equal(traced(x), traced(x)))


if __name__ == "__main__":
    main()
