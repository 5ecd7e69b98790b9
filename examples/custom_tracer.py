"""A tracer with its own rule of what to keep whole: leaves stay one call_module node, the rest is opened."""

from __future__ import annotations

import numpy as np

import weft
from weft import nn


class Attention(nn.Module):
    """A gate, for brevity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x):
        return weft.sigmoid(self.query(x)) * self.value(x)


class Model(nn.Module):
    """A projection and two blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 8)
        self.blocks = nn.Sequential(Attention(8), Attention(8))

    def forward(self, x):
        return self.blocks(self.project(x))


class BlockTracer(weft.Tracer):
    """Keeps every Attention whole."""

    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, Attention) or super().is_leaf_module(m, module_qualified_name)


class OpenTracer(weft.Tracer):
    """Keeps nothing whole: library modules are opened too."""

    def is_leaf_module(self, m, module_qualified_name):
        return False


def main() -> None:
    model = Model()
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    expected = model(x)
    for tracer in (weft.Tracer(), BlockTracer(), OpenTracer()):
        graph = tracer.trace(model)
        traced = weft.GraphModule(model, graph)
        print(f"{type(tracer).__name__}: {len(graph.nodes)} nodes")
        for node in graph.nodes:
            if node.op in ("call_module", "call_function", "get_attr"):
                print(f"  {node.op:<14} {getattr(node.target, '__name__', node.target)}")
        assert np.allclose(traced(x), expected, atol=1e-6)
    print("All three compute the same")


if __name__ == "__main__":
    main()
