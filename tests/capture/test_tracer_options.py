"""What a Tracer is given: constant shapes of parameters, functions to wrap; annotations of what it traces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import TraceError


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(np.ones((1, 3), np.float32))

    def forward(self, x):
        if self.w.shape[-1] == 3 and self.w.ndim == 2 and self.w.size == 3:
            x = x * self.w.shape[0]
        return x * self.w + self.w.sum()


def test_shapes_of_parameters_may_be_constant() -> None:
    model = Scaled()
    graph = weft.Tracer(param_shapes_constant=True).trace(model)
    assert [node.name for node in graph.nodes] == ["x", "w", "mul", "mul_1", "sum_1", "add", "output"]
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(weft.GraphModule(model, graph)(x), model(x))


def test_otherwise_they_are_traced() -> None:
    with pytest.raises(TraceError, match="a branch on a traced value"):
        weft.Tracer().trace(Scaled())


def half(x):
    return x / 2


def test_nothing_is_wrapped_by_patching() -> None:
    with pytest.raises(TraceError, match=r"half cannot be wrapped by a tracer(.|\n)*weft\.wrap"):
        weft.Tracer(autowrap_functions=(half,))
    with pytest.raises(TraceError, match="numpy cannot be wrapped"):
        weft.Tracer(autowrap_modules=(np,))
    # What torch.fx has by default is let pass: its functions refuse traced values themselves.
    tracer = weft.Tracer((math,))
    with pytest.raises(TraceError, match=r"float\(\) of a traced value"):
        tracer.trace(lambda x: math.sqrt(x))


def test_any_is_no_type() -> None:
    def f(x: Any, y: int) -> Any:
        return x + y

    assert [node.type for node in weft.symbolic_trace(f).graph.nodes] == [None, int, None, None]
