"""Recurrent layers, attention and transformers: what torch has no answer for, and what only weft does.

Values and gradients are compared with torch's in tests/interop, and each op with NumPy in tests/ops.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import DtypeError, ShapeError

zeros = np.zeros


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


LAYERS = [
    lambda **how: nn.RNN(3, 4, **how),
    lambda **how: nn.RNN(3, 4, nonlinearity="relu", **how),
    lambda **how: nn.LSTM(3, 4, **how),
    lambda **how: nn.LSTM(3, 4, proj_size=2, **how),
    lambda **how: nn.GRU(3, 4, **how),
]


@pytest.mark.parametrize("make", LAYERS)
def test_gradients_are_those_of_the_steps_taken_one_by_one(make: Any) -> None:
    """A sequence at once, and in two halves that hand the state on, are the same function."""
    weft.random.manual_seed(3)
    layer = make(dtype=np.float64)
    x = weft.tensor(normal(6, 2, 3), requires_grad=True)
    weight = normal(6, 2, 4)[..., : layer.proj_size or 4]
    (layer(x)[0] * weight).sum().backward()
    whole = [x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters())]
    x.grad = None
    layer.zero_grad()
    first, state = layer(x[:2])
    second, _ = layer(x[2:], state)
    (weft.concat([first, second]) * weight).sum().backward()
    for got, expected in zip([x.grad, *(p.grad for p in layer.parameters())], whole, strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("make", LAYERS)
def test_gradients_pass_gradcheck(make: Any) -> None:
    weft.random.manual_seed(4)
    layer = make(dtype=np.float64, bidirectional=True)
    x = weft.tensor(normal(3, 2, 3), requires_grad=True)
    weights = list(layer.parameters())
    assert weft.autograd.gradcheck(lambda *_: layer(x)[0], (x, *weights))


def test_a_layer_repeats_its_cell() -> None:
    for kind in ("RNN", "LSTM", "GRU"):
        layer, cell = getattr(nn, kind)(3, 4), getattr(nn, f"{kind}Cell")(3, 4)
        cell.load_state_dict({name: layer.state_dict()[f"{name}_l0"] for name in cell.state_dict()})
        x, state = normal(5, 2, 3).astype(np.float32), None
        for step, expected in zip(x, layer(x)[0], strict=True):
            state = cell(step, state)
            got = state[0] if kind == "LSTM" else state
            # Single precision: the layer adds its biases first, the cell as it goes.
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_dropout_works_between_layers_in_training_only() -> None:
    weft.random.manual_seed(0)
    layer, x = nn.GRU(3, 50, 2, dropout=0.5), normal(4, 2, 3).astype(np.float32)
    assert not np.array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())
    one = nn.GRU(3, 5)
    np.testing.assert_array_equal(one(x)[0].numpy(), one(x)[0].numpy())
    with pytest.warns(UserWarning, match="LSTM: dropout works between layers, and there is only one") as caught:
        nn.LSTM(3, 5, dropout=0.5)
    with pytest.warns(UserWarning, match="GRU: dropout works between layers") as again:
        nn.GRU(3, 5, dropout=0.5)
    assert caught[0].filename == again[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.LSTM(3, 4)(zeros((5, 2, 7))), r"input \(5, 2, 7\) has 7 features, the layer takes 3"),
        (lambda: nn.GRU(3, 4)(zeros(3)), r"expected \(steps, batch, features\).* got \(3,\)"),
        (lambda: nn.RNN(3, 4)(zeros((0, 2, 3))), "the sequence is empty"),
        (
            lambda: nn.GRU(3, 4, 2)(zeros((5, 2, 3)), zeros((1, 2, 4))),
            r"expected a first state of shape \(2, 2, 4\), got \(1, 2, 4\)",
        ),
        (lambda: nn.LSTM(3, 4)(zeros((5, 3)), (zeros((1, 1, 4)),) * 2), r"expected a first state of shape \(1, 4\)"),
        (lambda: nn.LSTMCell(3, 4)(zeros((1, 2, 3))), r"lstm_cell: expected \(batch, features\)"),
        (lambda: weft.lstm_sequence(list(map(zeros, [(2, 1, 8), (8, 2), (1, 2), (1, 3)]))), "first cell"),
        (lambda: weft.lstm_sequence(list(map(zeros, [(2, 1, 8), (8, 1), (1, 1), (1, 2)]))), "projection is missing"),
        (lambda: weft.gru_sequence(list(map(zeros, [(2, 1, 6), (6, 2), (1, 2), 5]))), "expected a bias"),
        (lambda: weft.gru_sequence([zeros((2, 1, 7)), zeros((7, 2)), zeros((1, 2))]), r"gates \(2, 1, 7\) and weight"),
        (lambda: attend(key=zeros((5, 2, 4)), value=zeros((4, 2, 4))), "do not fit"),
        (
            lambda: attend(attn_mask=zeros((5, 4))),
            r"expected an attn_mask of shape \(3, 5\) or \(4, 3, 5\), got \(5, 4\)",
        ),
        (
            lambda: attend(key_padding_mask=zeros((5, 2), bool)),
            r"expected a key_padding_mask of shape \(2, 5\), got \(5, 2\)",
        ),
    ],
)
def test_shapes_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call()


def attend(**changed: Any) -> Any:
    given = {"query": np.zeros((3, 2, 4)), "key": np.zeros((5, 2, 4)), "value": np.zeros((5, 2, 4)), **changed}
    return nn.MultiheadAttention(4, 2)(**given)


def test_other_refusals() -> None:
    with pytest.raises(TypeError, match=r"expected two first states \(h_0, c_0\), got 3"):
        nn.LSTM(3, 4)(np.zeros((5, 2, 3)), [np.zeros((1, 2, 4))] * 3)
    with pytest.raises(DtypeError, match="expected real floating-point numbers, got complex128"):
        weft.rnn_sequence([np.zeros((1, 1, 1), complex), np.zeros((1, 1)), np.zeros((1, 1))])
    with pytest.raises(DtypeError, match="a mask holds booleans or floats, got int64"):
        attend(attn_mask=np.zeros((3, 5), np.int64))
    with pytest.raises(ValueError, match="nonlinearity must be 'tanh' or 'relu', got 'sin'"):
        weft.rnn_sequence([np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1))], "sin")


def test_a_query_that_may_see_nothing_gets_zeros_and_no_nan() -> None:
    layer = nn.MultiheadAttention(4, 2, bias=False, dtype=np.float64)
    x = weft.tensor(normal(3, 1, 4), requires_grad=True)
    mask = np.array([[True] * 3, [False] * 3, [False] * 3])
    y, weights = layer(x, x, x, attn_mask=mask)
    assert not y.numpy()[0].any() and not weights.numpy()[0, 0].any() and y.numpy()[1].any()
    y.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_attention_drops_weights_in_training_only() -> None:
    weft.random.manual_seed(0)
    layer, x = nn.MultiheadAttention(8, 1, dropout=0.5), normal(40, 1, 8).astype(np.float32)
    kept = layer(x, x, x)[1].numpy() != 0
    assert kept.mean() == pytest.approx(0.5, abs=0.07)  # five standard deviations of the mean of 1600 draws
    assert (layer.eval()(x, x, x)[1].numpy() != 0).all()


def test_traced_as_one_call_each() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(3, 4)
            self.encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)

        def forward(self, x: Any) -> Any:
            return self.encoder(self.lstm(x)[0])

    model = Model()
    traced = weft.symbolic_trace(model)
    assert [n.target for n in traced.graph.find_nodes(op="call_module")] == ["lstm", "encoder"]
    x = normal(5, 2, 3).astype(np.float32)
    np.testing.assert_array_equal(traced(x).numpy(), model(x).numpy())


def test_copies_and_pickles() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"), 2).eval()
    x = normal(5, 2, 4).astype(np.float32)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin(x).numpy(), model(x).numpy())
    model.layers[0].linear1.weight.numpy()[...] = 0
    assert model.layers[1].linear1.weight.numpy().any(), "layers are copies of each other"
    lstm = nn.LSTM(3, 4, 2)
    assert [w.shape for w in copy.deepcopy(lstm).all_weights[1]] == [(16, 4), (16, 4), (16,), (16,)]
    assert (
        lstm.half().all_weights[0][0].dtype == np.float16 and lstm(normal(2, 1, 3).astype("f2"))[0].dtype == np.float16
    )
