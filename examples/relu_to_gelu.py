"""Swap relu for gelu, wherever the model uses it: as an op, as a function of nn.functional and as a module."""

from __future__ import annotations

import numpy as np

import weft
from weft import nn


class Model(nn.Module):
    """One relu of each form."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.act = nn.ReLU()
        self.second = nn.Linear(8, 4)

    def forward(self, x):
        hidden = self.act(self.first(x))
        return weft.relu(self.second(hidden)) + nn.functional.relu(x)


def swap(traced: weft.GraphModule) -> int:
    """Replace each relu by gelu; returns how many there were."""
    modules = dict(traced.named_modules())
    swapped = 0
    for node in traced.graph.nodes:
        is_function = node.op == "call_function" and node.target in (weft.relu, nn.functional.relu)
        is_module = node.op == "call_module" and isinstance(modules[node.target], nn.ReLU)
        if not (is_function or is_module):
            continue
        with traced.graph.inserting_after(node):
            new = traced.graph.call_function(weft.gelu, (node.args[0],))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        swapped += 1
    traced.delete_all_unused_submodules()
    traced.graph.lint()
    traced.recompile()
    return swapped


def main() -> None:
    model = Model()
    traced = weft.symbolic_trace(model)
    print("Before:")
    print(traced.code.strip())

    print(f"\nSwapped {swap(traced)} relus. After:")
    print(traced.code.strip())

    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    expected = weft.gelu(model.second(weft.gelu(model.first(x)))) + weft.gelu(x)
    print("\nSame as written by hand with gelu:", np.allclose(traced(x), expected, atol=1e-6))
    print("Unused module dropped:", not hasattr(traced, "act"))
    origin = traced.graph.find_nodes(op="call_function", target=weft.gelu)[0].meta["from"][0]
    print("The first gelu stands where", origin.name, "was")


if __name__ == "__main__":
    main()
