"""Gradients of recurrent layers as graphs: one loop over the steps, as large for many steps as for few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn

LAYERS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True}),
    ("LSTM", {}),
    ("LSTM", {"proj_size": 2}),
    ("LSTM", {"bidirectional": True, "num_layers": 2}),
    ("GRU", {}),
    ("GRU", {"bias": False}),
]


def loss(layer: Any, x: Any) -> Any:
    output, last = layer(x)
    return (output**2).sum() + np.sin(last[1] if isinstance(last, tuple) else last).sum()


@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_recurrent_layers(kind: str, options: dict[str, Any]) -> None:
    weft.manual_seed(0)
    layer, rng = getattr(nn, kind)(3, 4, dtype=np.float64, **options), np.random.default_rng(0)
    by_layer = weft.grad(loss)
    nodes = set()
    for steps in (2, 3, 8):
        x = rng.normal(size=(steps, 2, 3))
        found = by_layer(layer, x)
        layer.zero_grad()
        loss(layer, x).backward()
        for name, parameter in layer.named_parameters():
            np.testing.assert_allclose(found[name], parameter.grad, rtol=1e-10, atol=1e-12)
        nodes.add(len(by_layer.graph.nodes))
    assert len(nodes) == 1, "as many nodes however long the sequence is"
    slope = weft.grad(lambda x: loss(layer, x))
    direction = rng.normal(size=x.shape)
    along = (slope(x + 1e-5 * direction) - slope(x - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(weft.hvp(lambda x: loss(layer, x), (x,), (direction,)), along, rtol=1e-5, atol=1e-7)
    change = weft.jvp(lambda x: loss(layer, x), (x,), (direction,))[1]
    np.testing.assert_allclose(change, (slope(x) * direction).sum(), rtol=1e-9)
    rows = np.stack([x, x + 0.1])
    np.testing.assert_allclose(weft.vmap(slope)(rows), [slope(row) for row in rows], rtol=1e-9, atol=1e-12)


def test_the_layer_runs_once() -> None:
    weft.manual_seed(0)
    layer = nn.LSTM(3, 4, dtype=np.float64)
    slope = weft.grad(loss)
    slope(layer, np.ones((5, 2, 3)))
    assert slope.code.count("lstm_sequence(") == 1
    assert "weft.lstm(" not in slope.code


def test_gradients_by_a_layer_and_an_array() -> None:
    weft.manual_seed(0)
    layer, x = nn.GRU(3, 4, dtype=np.float64), np.random.default_rng(0).normal(size=(4, 2, 3))
    by_layer, by_x = weft.grad(loss, (0, 1))(layer, x)
    assert isinstance(by_x, np.ndarray)
    given = weft.tensor(x, requires_grad=True)
    loss(layer, given).backward()
    assert given.grad is not None
    np.testing.assert_allclose(by_x, given.grad, rtol=1e-10, atol=1e-12)
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(by_layer[name], parameter.grad, rtol=1e-10, atol=1e-12)
