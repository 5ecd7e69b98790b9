"""Fold batch normalisation into the convolution before it, by hand.

At inference a normalisation multiplies each channel by a constant and adds another; both fit into the weights and the
bias of the convolution it follows.
"""

from __future__ import annotations

import copy

import numpy as np

import weft
from weft import nn


class Model(nn.Module):
    """Two convolutions with their normalisations; the second convolution's result is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(8)

    def forward(self, x):
        x = weft.relu(self.bn1(self.conv1(x)))
        y = self.conv2(x)
        return self.bn2(y) + y


def folded(conv: nn.Conv2d, bn: nn.BatchNorm2d) -> nn.Conv2d:
    """One convolution that computes bn(conv(x)) as inference does."""
    scale = bn.weight.numpy() / np.sqrt(bn.running_var.numpy() + bn.eps)
    bias = np.zeros_like(scale) if conv.bias is None else conv.bias.numpy()
    fused = copy.deepcopy(conv)
    fused.weight = nn.Parameter(conv.weight.numpy() * scale[:, None, None, None])
    fused.bias = nn.Parameter((bias - bn.running_mean.numpy()) * scale + bn.bias.numpy())
    return fused


def fold_conv_bn(model: nn.Module) -> weft.GraphModule:
    """Trace the model and fold each normalisation whose convolution nobody else reads."""
    traced = weft.symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.find_nodes(op="call_module"):
        before = node.args[0]
        if not isinstance(modules[node.target], nn.BatchNorm2d) or before.op != "call_module":
            continue
        if not isinstance(modules[before.target], nn.Conv2d) or len(before.users) > 1:
            continue
        traced.add_submodule(before.target, folded(modules[before.target], modules[node.target]))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.graph.lint()
    traced.recompile()
    return traced


def main() -> None:
    random = np.random.default_rng(0)
    model = Model().eval()
    for bn in (model.bn1, model.bn2):
        bn.running_mean = weft.tensor(random.standard_normal(8), dtype=np.float32)
        bn.running_var = weft.tensor(random.uniform(0.5, 2.0, 8), dtype=np.float32)

    traced = fold_conv_bn(model)
    print(traced.code.strip())
    kept = [type(module).__name__ for _, module in traced.named_children()]
    print("\nModules left:", ", ".join(kept))
    print("bn2 stays: what it normalises is also added to its result")

    x = random.standard_normal((2, 3, 8, 8)).astype(np.float32)
    difference = np.abs(traced(x) - model(x)).max().item()
    print("Same results to float32 rounding:", bool(difference < 1e-4))


if __name__ == "__main__":
    main()
