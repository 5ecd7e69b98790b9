"""`ShapeProp` and `Graph.infer`: shapes and dtypes of every node, from arrays or from Specs."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.capture import symbolic_trace
from weft.errors import ShapeError
from weft.graph import Graph, ShapeProp
from weft.ops import spec, spec_of


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5), nn.Flatten()
        )
        self.head = nn.Linear(36, 5)
        self.register_buffer("shift", np.ones(5))

    def forward(self, x: Any) -> Any:
        h = self.head(self.features(x)) + self.shift
        p = h.softmax(dim=1).view(h.shape[0], -1)
        return {"p": p, "top": np.max(p, axis=1), "n": h.shape[0], "parts": (p[:, 0], p.T)}


X = np.ones((2, 1, 6, 6), np.float32)


def types(gm: Any) -> dict[str, Any]:
    return {n.name: n.meta.get("type") for n in gm.graph.nodes}


def test_specs_and_arrays_agree_on_every_node() -> None:
    by_array, by_spec = symbolic_trace(Net()), symbolic_trace(Net())
    result = ShapeProp(by_array).propagate(X)
    inferred = by_spec.graph.infer(spec(X.shape, "float32"))
    assert types(by_array) == types(by_spec)
    assert inferred["p"] == spec_of(result["p"]) == spec((2, 5))
    assert inferred["n"] == result["n"] == 2
    assert types(by_spec)["features_0"] == spec((2, 4, 6, 6), "float32")
    assert types(by_spec)["features_5"] == spec((2, 36), "float32")
    assert types(by_spec)["output"] == {"p": spec((2, 5)), "top": spec(2), "n": int, "parts": (spec(2), spec((5, 2)))}


def test_modules_see_no_values_when_inferring() -> None:
    gm = symbolic_trace(Net())
    before = np.array(gm.features.get_submodule("1").running_mean)
    gm.graph.infer(spec(X.shape, "float32"))
    batch_norm = gm.features.get_submodule("1")
    assert batch_norm.num_batches_tracked.item() == 0 and np.array_equal(batch_norm.running_mean, before)


def test_arrays_given_to_infer_count_as_their_specs() -> None:
    graph = Graph()
    graph.output(graph.call_function(np.exp, (graph.placeholder("x"),)))
    assert graph.infer(np.ones(3, np.float32)) == spec(3, "float32")


def test_mismatch_names_the_users_line() -> None:
    gm = symbolic_trace(Net())
    with pytest.raises(ShapeError) as caught:
        gm.graph.infer(spec((2, 1, 8, 8), "float32"))
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("linear: ")
    assert "test_shapes.py:" in lines[1] and lines[1].endswith("h = self.head(self.features(x)) + self.shift")
    assert caught.value.__notes__[0].startswith("while running %head : ")


def test_values_without_shape_have_no_type() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    shape = graph.call_function(getattr, (x, "shape"))
    graph.output(shape)
    shape.meta["type"] = "stale"
    assert graph.infer(spec((2, 3))) == (2, 3)
    assert "type" not in shape.meta and x.meta["type"] == x.meta["tensor_meta"] == spec((2, 3))


def test_mixed_arrays_and_specs() -> None:
    weight = np.ones((3, 4))
    gm = symbolic_trace(lambda x: weight.T @ x.T + np.float32(1))
    assert gm.graph.infer(spec((5, 3))) == spec((4, 5))
    assert gm.graph.infer(spec((5, 3), "float32")).dtype == np.float64


def test_operators_of_the_graph_itself() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    pair = graph.call_function(weft.split, (x, 2))
    graph.output(graph.call_function(operator.getitem, (pair, 1)))
    assert graph.infer(spec((6, 2))) == spec((3, 2))
    assert tuple(pair.meta["type"]) == (spec((3, 2)),) * 2


def test_a_numpy_call_that_differs_from_its_op_has_no_rule() -> None:
    gm = weft.symbolic_trace(lambda x: np.concatenate([x, x], dtype=np.float64))
    with pytest.raises(weft.errors.UnknownShape, match=r"numpy\.concatenate has no shape rule") as caught:
        gm.graph.infer(weft.spec((3,), "float32"))
    assert "test_shapes.py" in str(caught.value)
    weft.ShapeProp(gm).propagate(np.ones(3, np.float32))
    assert gm.graph.output_node().meta["type"] == weft.spec((6,), np.float64)
