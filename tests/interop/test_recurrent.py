"""Recurrent layers and cells against torch's: values and gradients of outputs, states and every parameter."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from like_torch import compare, normal, pair

import weft
from weft import nn

SETTINGS = [
    {"num_layers": layers, "bias": bias, "batch_first": batch_first, "bidirectional": both}
    for layers, bias, batch_first, both in itertools.product((1, 2), (True, False), (True, False), (True, False))
]


def layers(how: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [
        pair("RNN", (3, 4), {"nonlinearity": "tanh", **how}),
        pair("RNN", (3, 4), {"nonlinearity": "relu", **how}),
        pair("LSTM", (3, 4), how),
        pair("LSTM", (3, 4), {"proj_size": 2, **how}),
        pair("GRU", (3, 4), how),
    ]


def states(layer: Any, *batch: int) -> Any:
    runs = layer.num_layers * (2 if layer.bidirectional else 1)
    shapes = [(runs, *batch, layer.proj_size or layer.hidden_size), (runs, *batch, layer.hidden_size)]
    found = tuple(normal(*shape) for shape in shapes)
    return found if isinstance(layer, nn.LSTM) else found[0]


@pytest.mark.filterwarnings(
    "ignore:LSTM with projections is not supported with oneDNN"
)  # torch speaks of its own speed
@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_layers(how: dict[str, Any]) -> None:
    x = normal(2, 5, 3) if how["batch_first"] else normal(5, 2, 3)
    for ours, theirs in layers(how):
        compare(ours, theirs, x)
        compare(ours, theirs, x, states(ours, 2))
        compare(ours, theirs, x[0])
        compare(ours, theirs, x[0], states(ours))
        assert repr(ours).split("  #")[0] == repr(theirs)
        assert [[tuple(w.shape) for w in ws] for ws in theirs.all_weights] == [
            [w.shape for w in ws] for ws in ours.all_weights
        ]


def test_one_step_and_long_sequences() -> None:
    for ours, theirs in layers({"num_layers": 1}):
        compare(ours, theirs, normal(1, 3, 3))
        compare(ours.eval(), theirs.eval(), 0.3 * normal(60, 1, 3))


def test_only_the_last_state_is_used() -> None:
    for ours, theirs in layers({"bidirectional": True, "num_layers": 2}):
        x = normal(4, 2, 3)
        mine, other = weft.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        got, expected = ours(mine)[1], theirs(other)[1]
        got, expected = (got[1], expected[1]) if isinstance(got, tuple) else (got, expected)
        (got[0] * got[0]).sum().backward()
        (expected[0] * expected[0]).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_second_derivatives() -> None:
    for ours, theirs in layers({"num_layers": 1, "bidirectional": True}):
        x = normal(3, 2, 3)
        mine, other = weft.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        (g,) = weft.autograd.grad((ours(mine)[0] ** 2).sum(), mine, create_graph=True)
        (e,) = torch.autograd.grad((theirs(other)[0] ** 2).sum(), other, create_graph=True)
        (g**2).sum().backward()
        (e**2).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-10, atol=1e-12)
        for got, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(got.grad.numpy(), expected.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_cells(bias: bool) -> None:
    how = {"bias": bias}
    for ours, theirs in (
        pair("RNNCell", (3, 4), how),
        pair("RNNCell", (3, 4), {"nonlinearity": "relu", **how}),
        pair("LSTMCell", (3, 4), how),
        pair("GRUCell", (3, 4), how),
    ):
        twice = isinstance(ours, nn.LSTMCell)
        compare(ours, theirs, normal(2, 3))
        compare(ours, theirs, normal(3))
        compare(ours, theirs, normal(2, 3), (normal(2, 4), normal(2, 4)) if twice else normal(2, 4))
        compare(ours, theirs, normal(3), (normal(4), normal(4)) if twice else normal(4))
        assert repr(ours).split("  #")[0] == repr(theirs)


@pytest.mark.parametrize(
    "name", ["RNN(50, 64)", "LSTM(50, 64, 2)", "GRU(50, 64, bidirectional=True)", "GRUCell(50, 64)"]
)
def test_first_values_have_torchs_spread(name: str) -> None:
    weft.random.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = eval(f"nn.{name}"), eval(f"torch.nn.{name}")
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        bound = 1 / math.sqrt(64)
        for values in (mine.numpy(), other.detach().numpy()):
            assert np.abs(values).max() <= bound
            # The spread of even numbers is bound / sqrt(3); of n of them it is found within about 1 / sqrt(n).
            assert values.std() == pytest.approx(bound / math.sqrt(3), rel=3 / math.sqrt(values.size))
