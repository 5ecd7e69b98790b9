"""`Transformer`: a graph rewritten by running it on proxies."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import weft
from weft import nn
from weft.capture import PH, Transformer, symbolic_trace


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.twin = self.layer
        self.scale = nn.Parameter(np.full(3, 2.0, np.float32))
        self.register_buffer("shift", np.ones(3, np.float32))

    def forward(self, x: Any, k: Any = 2, *args: Any, **kwargs: Any) -> Any:
        gate = weft.sigmoid(self.layer(x)) * self.scale
        return {"out": [gate.relu() + self.shift, k], "in": x}


X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def test_without_overrides_nothing_changes() -> None:
    gm = symbolic_trace(Net()).eval()
    again = Transformer(gm).transform()
    assert again.code == gm.code and again is not gm and again.graph is not gm.graph
    assert type(again).__name__ == "Net" and not again.training
    assert [n.name for n in again.graph.nodes] == [n.name for n in gm.graph.nodes]
    np.testing.assert_array_equal(again(X)["out"][0], gm(X)["out"][0])
    again.graph.lint()
    # Where each value was written is not lost.
    assert [str(n.location) for n in again.graph.nodes] == [str(n.location) for n in gm.graph.nodes]


class Swapped(Transformer):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is weft.sigmoid:
            return -weft.tanh(*args, **kwargs) + 1
        return super().call_function(target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target == "relu":
            return args[0].abs()
        return super().call_method(target, args, kwargs)


def test_overrides_record_what_they_compute() -> None:
    net = Net()
    gm = symbolic_trace(net)
    swapped = Swapped(gm).transform()
    gate = (-weft.tanh(net.layer(X)) + 1) * net.scale
    np.testing.assert_array_equal(swapped(X)["out"][0], gate.abs() + net.shift)
    swapped.graph.lint()
    targets = [n.target for n in swapped.graph.nodes]
    assert weft.sigmoid not in targets and "relu" not in targets and "abs" in targets
    for name in ("tanh", "neg", "add"):
        node = next(n for n in swapped.graph.nodes if n.name == name)
        assert [origin.name for origin in node.meta["from"]] == ["sigmoid"]
        assert "gate = weft.sigmoid(self.layer(x))" in node.location.text
    # The original is untouched.
    assert weft.sigmoid in [n.target for n in gm.graph.nodes]


def test_modules_can_be_opened_or_replaced() -> None:
    net = Net()

    class Open(Transformer):
        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            return self.fetch_attr(target)(*args, **kwargs)

    opened = Open(symbolic_trace(net)).transform()
    assert not opened.graph.find_nodes(op="call_module")
    assert [n.target for n in opened.graph.find_nodes(op="get_attr")][:2] == ["layer.weight", "layer.bias"]
    np.testing.assert_array_equal(opened(X)["out"][0], net(X)["out"][0])
    assert list(opened.state_dict())[:2] == ["scale", "shift"]


def test_inputs_of_every_sort_are_kept() -> None:
    gm = symbolic_trace(Net())
    again = Transformer(gm).transform()
    assert [n.target for n in again.graph.find_nodes(op="placeholder")] == ["x", "k", "*args", "**kwargs"]
    assert again(X)["out"][1] == 2 and again(X, 7)["out"][1] == 7
    tree = symbolic_trace(lambda d: d["a"] - d["b"], concrete_args={"d": {"a": PH, "b": PH}})
    assert Transformer(tree).transform()({"a": 5, "b": 3}) == 2


def test_constants_and_metadata_are_kept() -> None:
    constant = np.array([1.0, 2.0])
    gm = symbolic_trace(lambda x: x * constant)
    gm.graph.infer(weft.spec(2))
    again = Transformer(gm).transform()
    assert again(np.ones(2)).tolist() == [1, 2]
    assert [n.meta["type"] for n in again.graph.nodes] == [weft.spec(2)] * 4

    class Other(Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(operator.add, args, kwargs)

    changed = Other(gm).transform()
    assert "type" not in next(n for n in changed.graph.nodes if n.name == "add").meta


def test_functions_of_every_kind_stay_arguments() -> None:
    def draws(x: Any) -> Any:
        return x + np.random.default_rng(3).normal(size=3)

    gm = weft.script(draws)
    np.testing.assert_array_equal(weft.Transformer(gm).transform()(np.zeros(3)), draws(np.zeros(3)))
