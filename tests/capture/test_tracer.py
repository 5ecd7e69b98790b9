"""Modules under tracing: leaves, paths, parameters, buffers, and tracers of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(np.ones(4, np.float32))
        self.register_buffer("offset", np.arange(4, dtype=np.float32))
        self.table = np.full(4, 0.5, np.float32)

    def forward(self, x: Any) -> Any:
        return weft.relu(self.linear(x) * self.scale + self.offset) * self.table


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.again = self.first
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Block())

    def forward(self, x: Any) -> Any:
        return self.body(self.again(self.first(x)) + self.first.scale)


x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


def test_modules_parameters_and_buffers() -> None:
    model = Model()
    gm = weft.symbolic_trace(model)
    gm.graph.lint()
    calls = [n.target for n in gm.graph.find_nodes(op="call_module")]
    assert calls == ["first.linear", "first.linear", "body.0", "body.1", "body.2.linear"]
    reads = [n.target for n in gm.graph.find_nodes(op="get_attr")]
    assert {"first.scale", "first.offset", "first.table", "body.2.scale"} <= set(reads)
    np.testing.assert_allclose(gm(x), model(x), rtol=1e-6)
    assert gm.get_parameter("first.scale") is model.first.scale
    assert not any(name.startswith("_tensor_constant") for name in vars(model))


def test_tracing_leaves_the_model_as_it_was() -> None:
    model = Model()
    before = {name: id(value) for name, value in model.named_parameters()}
    constant = np.ones(4, np.float32)
    weft.symbolic_trace(model)

    class WithConstant(nn.Module):
        def forward(self, v: Any) -> Any:
            return v + constant

    root = WithConstant()
    gm = weft.symbolic_trace(root)
    assert "_tensor_constant0" not in vars(root)
    np.testing.assert_array_equal(gm(x), x + 1)
    assert {name: id(value) for name, value in model.named_parameters()} == before


def test_own_leaf_rule() -> None:
    class BlocksAreLeaves(weft.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)

    model = Model()
    tracer = BlocksAreLeaves()
    graph = tracer.trace(model)
    gm = weft.GraphModule(tracer.root, graph)
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["first", "first", "body.0", "body.1", "body.2"]
    np.testing.assert_allclose(gm(x), model(x), rtol=1e-6)


def test_everything_opened() -> None:
    class NoLeaves(weft.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return False

    model = Model()
    graph = NoLeaves().trace(model)
    assert not graph.find_nodes(op="call_module")
    gm = weft.GraphModule(model, graph)
    np.testing.assert_allclose(gm(x), model(x), rtol=1e-6)


def test_own_answers() -> None:
    class Positive(weft.Tracer):
        def to_bool(self, obj: Any) -> bool:
            return True

        def create_arg(self, a: Any) -> Any:
            return 7 if isinstance(a, int) and a == 3 else super().create_arg(a)

    graph = Positive().trace(lambda v: v + 3 if v > 0 else v)
    gm = weft.GraphModule(weft.nn.Module(), graph)
    assert gm(1.0) == 8.0


def test_a_module_outside_the_root_is_traced_into() -> None:
    stranger = nn.Linear(4, 4)

    gm = weft.symbolic_trace(lambda v: stranger(v) * 2)
    assert not gm.graph.find_nodes(op="call_module")
    np.testing.assert_allclose(gm(x), stranger(x) * 2, rtol=1e-6)
    tracer = weft.Tracer()
    tracer.trace(lambda v: v)
    with pytest.raises(NameError, match="Linear is called but is not a submodule"):
        tracer.path_of_module(stranger)


def test_retracing_a_graph_module() -> None:
    model = Model()
    once = weft.symbolic_trace(model)
    twice = weft.symbolic_trace(once)
    assert once.code == twice.code
    np.testing.assert_allclose(twice(x), model(x), rtol=1e-6)


def test_traced_func_name() -> None:
    class Two(nn.Module):
        def encode(self, v: Any) -> Any:
            return v * 2

    class Encode(weft.Tracer):
        traced_func_name = "encode"

    graph = Encode().trace(Two())
    assert [n.name for n in graph.nodes] == ["v", "mul", "output"]
