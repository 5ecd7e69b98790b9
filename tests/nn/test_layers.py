"""Layers of `weft.nn`: results on arrays, Specs and proxies agree; first values; running statistics; containers.

Values are compared with torch's in tests/interop/test_layers.py, and each function with NumPy in tests/ops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.autograd import Tensor
from weft.capture import Tracer
from weft.errors import ShapeError, TraceError
from weft.graph import GraphModule
from weft.ops import spec_of


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, a: Any, b: Any) -> Any:
        return self.attention(a, b, b, is_causal=True), self.attention(a, a, a, need_weights=False)[0]


LAYERS: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda: nn.Linear(3, 4), (normal(2, 3),)),
    (lambda: nn.Linear(3, 4, bias=False), (normal(3),)),
    (lambda: nn.Bilinear(3, 2, 4), (normal(5, 3), normal(5, 2))),
    (lambda: nn.Identity(1, a=2), (normal(2),)),
    (lambda: nn.Conv1d(2, 4, 3, padding=1), (normal(2, 2, 8),)),
    (lambda: nn.Conv2d(2, 4, 3, stride=2, groups=2), (normal(2, 2, 8, 8),)),
    (lambda: nn.Conv2d(2, 4, (3, 2), padding="same"), (normal(2, 2, 8, 8),)),
    (lambda: nn.Conv3d(1, 2, 2), (normal(1, 1, 3, 4, 5),)),
    (lambda: nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode="circular"), (normal(2, 1, 5, 5),)),
    (lambda: nn.Conv1d(1, 2, 4, padding="same", padding_mode="reflect"), (normal(2, 1, 6),)),
    (lambda: nn.ConvTranspose1d(2, 3, 2), (normal(1, 2, 4),)),
    (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), (normal(1, 2, 4, 4),)),
    (lambda: nn.ConvTranspose3d(1, 1, 2), (normal(1, 1, 2, 2, 2),)),
    (lambda: nn.BatchNorm1d(3).eval(), (normal(4, 3),)),
    (lambda: nn.BatchNorm2d(3).eval(), (normal(2, 3, 4, 4),)),
    (lambda: nn.BatchNorm3d(2, track_running_stats=False), (normal(2, 2, 2, 2, 2),)),
    (lambda: nn.LayerNorm((3, 4)), (normal(2, 3, 4),)),
    (lambda: nn.RMSNorm(4), (normal(2, 4),)),
    (lambda: nn.GroupNorm(2, 4), (normal(2, 4, 5),)),
    (lambda: nn.Embedding(6, 3), (np.array([[0, 5], [2, 2]]),)),
    *[(cls, (normal(2, 4),)) for cls in (nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.Mish, nn.SELU, nn.Sigmoid, nn.Tanh)],
    *[(cls, (normal(2, 4),)) for cls in (nn.Hardswish, nn.Hardsigmoid, nn.LogSigmoid, nn.Tanhshrink, nn.Softsign)],
    *[(cls, (normal(2, 4),)) for cls in (nn.ELU, nn.CELU, nn.LeakyReLU, nn.Hardtanh, nn.Softplus, nn.Hardshrink)],
    *[(cls, (normal(2, 4),)) for cls in (nn.Softshrink, nn.PReLU, nn.GLU)],
    (lambda: nn.Threshold(0.1, 9.0), (normal(2, 4),)),
    *[(lambda cls=cls: cls(dim=1), (normal(2, 4),)) for cls in (nn.Softmax, nn.LogSoftmax, nn.Softmin)],
    *[(lambda cls=cls: cls(0.5).eval(), (normal(2, 3, 4),)) for cls in (nn.Dropout, nn.Dropout1d, nn.AlphaDropout)],
    (lambda: nn.MaxPool1d(2), (normal(1, 2, 6),)),
    (lambda: nn.MaxPool2d(2, return_indices=True), (normal(1, 2, 6, 6),)),
    (lambda: nn.MaxPool3d(2), (normal(1, 1, 4, 4, 4),)),
    (lambda: nn.AvgPool1d(3, 1, 1), (normal(1, 2, 6),)),
    (lambda: nn.AvgPool2d(2, divisor_override=3), (normal(1, 2, 6, 6),)),
    (lambda: nn.AvgPool3d(2), (normal(1, 1, 4, 4, 4),)),
    (lambda: nn.AdaptiveAvgPool1d(3), (normal(1, 2, 7),)),
    (lambda: nn.AdaptiveAvgPool2d((1, 2)), (normal(1, 2, 6, 6),)),
    (lambda: nn.AdaptiveAvgPool3d(1), (normal(1, 1, 4, 4, 4),)),
    (lambda: nn.AdaptiveMaxPool1d(3), (normal(1, 2, 7),)),
    (lambda: nn.AdaptiveMaxPool2d(2), (normal(1, 2, 6, 6),)),
    (lambda: nn.AdaptiveMaxPool3d(1), (normal(1, 1, 4, 4, 4),)),
    (lambda: nn.Flatten(), (normal(2, 3, 4),)),
    (lambda: nn.CrossEntropyLoss(), (normal(3, 4), np.array([0, 1, 3]))),
    (lambda: nn.NLLLoss(reduction="sum"), (normal(3, 4), np.array([0, 1, 3]))),
    *[(cls, (normal(3, 4), normal(3, 4) + 1)) for cls in (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss)],
    (nn.BCEWithLogitsLoss, (normal(3), np.array([0.0, 1.0, 1.0], np.float32))),
    (nn.BCELoss, (np.array([0.2, 0.7], np.float32), np.array([0.0, 1.0], np.float32))),
    (lambda: nn.KLDivLoss(log_target=True), (normal(3), normal(3))),
    (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)), (normal(2, 4),)),
    (nn.SoftMarginLoss, (normal(3), np.array([1, -1, 1]))),
    (nn.HingeEmbeddingLoss, (normal(3), np.array([1, -1, 1]))),
    (nn.PoissonNLLLoss, (normal(3), normal(3) ** 2)),
    (lambda: nn.RNN(3, 4, 2, "relu", bidirectional=True), (normal(5, 2, 3), normal(4, 2, 4))),
    (lambda: nn.LSTM(3, 4, bias=False, batch_first=True), (normal(2, 5, 3),)),
    (lambda: nn.LSTM(3, 4, proj_size=2), (normal(5, 3),)),
    (lambda: nn.GRU(3, 4, 2), (normal(5, 2, 3),)),
    (lambda: nn.RNNCell(3, 4), (normal(2, 3), normal(2, 4))),
    (lambda: nn.LSTMCell(3, 4), (normal(2, 3),)),
    (lambda: nn.GRUCell(3, 4), (normal(3),)),
    (lambda: Attending(), (normal(2, 5, 4), normal(2, 3, 4))),
    (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (normal(2, 5, 4),)),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4)), (normal(5, 2, 4),)),
    (lambda: nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True), (normal(5, 2, 4), normal(3, 2, 4))),
    (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 1), (normal(5, 2, 4), normal(3, 2, 4))),
    (lambda: nn.Transformer(4, 2, 1, 1, 8, 0.0), (normal(5, 2, 4), normal(3, 2, 4))),
]


class OpenEverything(Tracer):
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return False


class Call(nn.Module):
    def __init__(self, layer: nn.Module, count: int) -> None:
        super().__init__()
        self.layer = layer
        self.count = count

    def forward(self, a: Any, b: Any = None) -> Any:
        return self.layer(a, b) if self.count == 2 else self.layer(a)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


@pytest.mark.parametrize(("make", "args"), LAYERS, ids=lambda v: None if isinstance(v, tuple) else type(v()).__name__)
def test_values_specs_and_opened_graphs_agree(make: Any, args: tuple[Any, ...]) -> None:
    weft.random.manual_seed(0)
    layer = make()
    traced = GraphModule(layer_root := Call(layer, len(args)), OpenEverything().trace(layer_root))
    assert not traced.graph.find_nodes(op="call_module")
    results = layer(*args), traced(*args), traced(*map(Tensor, args))
    shapes = layer(*map(spec_of, args))
    flat = [list(leaves(r)) for r in (*results, shapes)]
    for direct, opened, tensors, spec in zip(*flat, strict=True):
        np.testing.assert_array_equal(opened, direct)
        np.testing.assert_array_equal(tensors, direct)
        assert spec == spec_of(direct)
        assert not any(p.requires_grad for p in layer.parameters()) or isinstance(direct, Tensor)
    floats = [r for r in flat[0] if r.dtype.kind == "f"]
    assert all(r.dtype == np.float32 for r in floats), "a float32 layer keeps float32"


def test_parameters_are_float32_unless_told_otherwise() -> None:
    for layer in (
        nn.Linear(2, 2),
        nn.Conv2d(1, 1, 1),
        nn.BatchNorm1d(2),
        nn.Embedding(2, 2),
        nn.LayerNorm(2),
        nn.PReLU(),
    ):
        assert {p.dtype for p in layer.parameters()} == {np.dtype(np.float32)}
    assert nn.Linear(2, 2, dtype="float64").weight.dtype == np.float64
    assert nn.BatchNorm1d(2, dtype=np.float64).running_mean.dtype == np.float64
    with pytest.raises(ValueError, match="device 'cuda' is not available"):
        nn.Linear(2, 2, device="cuda")
    assert nn.Linear(2, 2, device="cpu").weight.shape == (2, 2)


@pytest.mark.parametrize(
    ("make", "fan_in"),
    [
        (lambda: nn.Linear(100, 50), 100),
        (lambda: nn.Conv2d(8, 16, (3, 5), groups=2), 4 * 15),
        (lambda: nn.ConvTranspose2d(8, 16, 3, groups=2), 8 * 9),
        (lambda: nn.Bilinear(30, 20, 10), 30),
    ],
)
def test_first_values_fill_the_interval_of_their_fan_in(make: Any, fan_in: int) -> None:
    weft.random.manual_seed(1)
    layer = make()
    bound = 1 / math.sqrt(fan_in)
    weight = layer.weight.numpy()
    assert np.abs(weight).max() <= bound and np.abs(layer.bias.numpy()).max() <= bound
    # The spread of an even distribution is bound / sqrt(3); with over a thousand samples five percent is ample.
    assert weight.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    weft.random.manual_seed(1)
    np.testing.assert_array_equal(make().weight, weight)


def test_initialisers() -> None:
    weft.random.manual_seed(2)
    big = nn.Parameter(np.zeros((200, 100)))
    assert nn.init.xavier_uniform_(big).numpy().std() == pytest.approx(math.sqrt(2 / 300), rel=0.02)
    assert nn.init.xavier_normal_(big).numpy().std() == pytest.approx(math.sqrt(2 / 300), rel=0.02)
    assert nn.init.kaiming_uniform_(big).numpy().std() == pytest.approx(math.sqrt(2 / 100), rel=0.02)
    assert nn.init.kaiming_normal_(big, mode="fan_out").numpy().std() == pytest.approx(math.sqrt(2 / 200), rel=0.02)
    q = nn.init.orthogonal_(big).numpy()
    np.testing.assert_allclose(q.T @ q, np.eye(100), atol=1e-12)
    assert np.abs(nn.init.trunc_normal_(big, std=3.0).numpy()).max() <= 2
    assert nn.init.eye_(nn.Parameter(np.zeros((2, 3)))).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.constant_(nn.Parameter(np.zeros(2)), 5).tolist() == [5, 5]
    with pytest.raises(ValueError, match="at least two dimensions"):
        nn.init.xavier_uniform_(nn.Parameter(np.zeros(2)))
    with pytest.raises(ValueError, match="unknown nonlinearity 'nope'"):
        nn.init.calculate_gain("nope")
    with pytest.raises(ValueError, match="'fan_in' or 'fan_out'"):
        nn.init.kaiming_normal_(big, mode="both")


def test_batch_norm_tracks_statistics_in_training_only() -> None:
    layer = nn.BatchNorm2d(3, momentum=0.25, dtype=np.float64)
    x = np.random.default_rng(0).standard_normal((4, 3, 5, 5)) * 2 + 1
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), ddof=1)
    y = layer(x)
    np.testing.assert_allclose(y.numpy().mean((0, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(layer.running_mean, 0.25 * mean, rtol=1e-14)
    np.testing.assert_allclose(layer.running_var, 0.75 + 0.25 * var, rtol=1e-14)
    assert layer.num_batches_tracked.item() == 1 and layer.num_batches_tracked.dtype == np.int64
    layer.eval()
    before = layer.state_dict()
    expected = (x - np.reshape(0.25 * mean, (3, 1, 1))) / np.sqrt(np.reshape(0.75 + 0.25 * var, (3, 1, 1)) + 1e-5)
    np.testing.assert_allclose(layer(x), expected, rtol=1e-12)
    assert all(np.array_equal(before[k], v) for k, v in layer.state_dict().items())
    average = nn.BatchNorm1d(1, momentum=None, dtype=np.float64)
    for shift in (0.0, 3.0, 6.0):
        average(np.array([[-1.0], [1.0]]) + shift)
    assert average.running_mean.item() == pytest.approx(3.0)
    average.reset_running_stats()
    assert average.running_mean.item() == 0 and average.num_batches_tracked.item() == 0
    with pytest.raises(ShapeError, match="more than one value per channel"):
        average(np.ones((1, 1)))
    with pytest.raises(ShapeError, match=r"BatchNorm2d: expected 4 dimensions, got shape \(2, 3\)"):
        layer(np.ones((2, 3)))


def test_a_traced_batch_norm_still_tracks_as_a_leaf() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2))
    gm = weft.capture.symbolic_trace(net)
    gm(np.array([[0.0, 2.0], [2.0, 4.0]], np.float32))
    np.testing.assert_allclose(net[0].running_mean, [0.1, 0.3], rtol=1e-6)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True)])
def test_a_norm_that_is_opened_in_training_is_refused(layer: Any) -> None:
    with pytest.raises(TraceError, match=r"record how training moves the running statistics\n  help: trace it after"):
        weft.symbolic_trace(layer)
    x = normal(3, 2, 4)
    np.testing.assert_allclose(weft.symbolic_trace(layer.eval())(x), layer(x), rtol=1e-6)


def test_traced_norms_move_what_they_track() -> None:
    x = normal(3, 2, 4)
    for momentum in (0.1, None):
        plain, traced = nn.BatchNorm1d(2, momentum=momentum), nn.BatchNorm1d(2, momentum=momentum)
        graph = weft.trace(traced, x)
        for _ in range(2):
            np.testing.assert_allclose(graph(x).detach(), plain(x).detach(), rtol=1e-6)
        for name, value in plain.state_dict().items():
            np.testing.assert_allclose(traced.state_dict()[name], value, rtol=1e-6)


def test_norms_are_scripted() -> None:
    layer = nn.BatchNorm1d(2).eval()
    scripted = weft.script(layer)
    x = normal(3, 2, 4)
    np.testing.assert_allclose(scripted(x).detach(), layer(x).detach(), rtol=1e-6)
    with pytest.raises(ShapeError, match=r"BatchNorm1d: expected 2 or 3 dimensions, got shape \(2,\)"):
        scripted(np.ones(2, np.float32))


@pytest.mark.parametrize("layer", [nn.GRU(3, 2), nn.RNN(3, 2, 2), nn.LSTM(3, 2)])
def test_a_recurrent_layer_is_traced_without_a_first_state(layer: Any) -> None:
    traced = weft.symbolic_trace(layer)
    x = normal(4, 2, 3)
    np.testing.assert_allclose(traced(x)[0].detach(), layer(x)[0].detach(), rtol=1e-6)


def test_dropout_scales_and_stops() -> None:
    weft.random.manual_seed(0)
    layer, x = nn.Dropout(0.25), np.ones(10_000, np.float32)
    y = np.asarray(layer(x))
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert (y == 0).mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(layer.eval()(x), x)
    with pytest.raises(ValueError, match="between 0 and 1, got 2"):
        nn.Dropout(2)


def test_embedding_padding_and_pretrained() -> None:
    layer = nn.Embedding(4, 3, padding_idx=-2)
    assert layer.padding_idx == 2 and not layer.weight.numpy()[2].any() and layer.weight.numpy()[1].any()
    given = np.arange(6.0).reshape(3, 2)
    made = nn.Embedding.from_pretrained(given)
    assert made(np.array([2, 0])).tolist() == [[4, 5], [0, 1]] and not made.weight.requires_grad
    with pytest.raises(ValueError, match="padding_idx 9 is out of range"):
        nn.Embedding(4, 3, padding_idx=9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "3 channels cannot be split into 2 groups"),
        (lambda: nn.Conv2d(2, 4, (3, 3, 3)), "expected one number or 2 of them"),
        (lambda: nn.Conv2d(2, 4, 3, padding="odd"), "'same' or 'valid', got 'odd'"),
        (lambda: nn.Conv2d(2, 4, 3, stride=2, padding="same"), "needs stride 1"),
        (lambda: nn.Conv2d(2, 4, 3, padding_mode="odd"), "padding_mode must be one of"),
        (lambda: nn.ConvTranspose2d(2, 4, 3, padding_mode="reflect"), "pads with zeros only"),
        (lambda: nn.GroupNorm(3, 4), "4 channels cannot be split into 3 groups"),
        (lambda: nn.Softmax(), r"Softmax needs the dimension to work along: Softmax\(dim=-1\)"),
        (lambda: nn.GELU("fast"), "'none' or 'tanh', got 'fast'"),
        (lambda: nn.Hardtanh(1, -1), "min_val must be below max_val"),
        (lambda: nn.MSELoss("avg"), "reduction must be"),
        (lambda: nn.RNN(2, 3, nonlinearity="sin"), "RNN: nonlinearity must be 'tanh' or 'relu', got 'sin'"),
        (lambda: nn.RNNCell(2, 3, nonlinearity="sin"), "RNNCell: nonlinearity must be 'tanh' or 'relu'"),
        (lambda: nn.LSTM(2, 0), "LSTM: hidden_size is a whole number of 1 or more, got 0"),
        (lambda: nn.Linear(-1, 2), "Linear: in_features is a whole number of 0 or more, got -1"),
        (lambda: nn.Linear(2, "a"), "Linear: out_features is a whole number of 0 or more, got 'a'"),
        (lambda: nn.Bilinear(2, 2.5, 2), "Bilinear: in2_features is a whole number of 0 or more, got 2.5"),
        (lambda: nn.Conv2d(1, 2, 0), "Conv2d: kernel_size is a whole number of 1 or more, got 0"),
        (lambda: nn.Conv1d("a", 2, 1), "Conv1d: in_channels is a whole number of 0 or more, got 'a'"),
        (lambda: nn.Conv2d(1, 2, (3, None)), "Conv2d: kernel_size is a whole number of 1 or more, got None"),
        (lambda: nn.Conv2d(1, 2, 1, stride=0), "Conv2d: stride is a whole number of 1 or more, got 0"),
        (lambda: nn.Embedding(2.5, 2), "Embedding: num_embeddings is a whole number of 0 or more, got 2.5"),
        (lambda: nn.BatchNorm1d("a"), "BatchNorm1d: num_features is a whole number of 0 or more, got 'a'"),
        (lambda: nn.LayerNorm((2, "a")), "LayerNorm: normalized_shape is a whole number of 0 or more, got 'a'"),
        (lambda: nn.GroupNorm(0, 4), "GroupNorm: num_groups is a whole number of 1 or more, got 0"),
        (lambda: nn.RNNCell(2, -1), "RNNCell: hidden_size is a whole number of 0 or more, got -1"),
        (
            lambda: nn.MultiheadAttention("a", 2),
            "MultiheadAttention: embed_dim is a whole number of 1 or more, got 'a'",
        ),
        (lambda: nn.LSTM(2, 3, proj_size=3), "proj_size must be at least 0 and below hidden_size 3, got 3"),
        (lambda: nn.GRU(2, 3, dropout=1.5), "GRU: dropout must be a number between 0 and 1, got 1.5"),
        (lambda: nn.MultiheadAttention(5, 2), "5 features cannot be split into 2 heads"),
        (lambda: nn.MultiheadAttention(4, 2, dropout=-1), "dropout must be between 0 and 1, got -1"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="sin"), "'relu', 'gelu' or a function, got 'sin'"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_sequential() -> None:
    a, b, c = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    net = nn.Sequential(a, b)
    assert net.append(c) is net and len(net) == 3 and net[-1] is c and list(net) == [a, b, c] and b in net
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(net(x), c(b(a(x))))
    assert list(net[:2]) == [a, b] and isinstance(net[:2], nn.Sequential)
    net[1] = nn.Tanh()
    assert isinstance(net[1], nn.Tanh)
    net.insert(1, b)
    assert list(net.state_dict()) == ["0.weight", "0.bias", "3.weight", "3.bias"]
    del net[1]
    assert net.pop() is c and [name for name, _ in net.named_children()] == ["0", "1"]
    named = nn.Sequential({"in": a, "act": b})
    assert named.act is b and [n for n, _ in named[:1].named_children()] == ["in"]
    assert list(nn.Sequential(a) + nn.Sequential(b)) == [a, b]
    with pytest.raises(IndexError, match="index 5 is out of range for 2 modules"):
        _ = net[5]


def test_module_list_and_dict() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
    assert repr(layers) == (
        "ModuleList(  # 4 parameters\n"
        "  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)  # 2 parameters each\n"
        "  (2): ReLU()\n)"
    )
    layers += [nn.Tanh()]
    assert len(layers) == 4 and len(layers[1:]) == 3 and len(layers + layers[:1]) == 5
    assert isinstance(layers.pop(0), nn.Linear) and list(layers.state_dict()) == ["0.weight", "0.bias"]
    del layers[1:]
    assert len(layers) == 1
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    table.update([("c", nn.Tanh())])
    assert list(table) == list(table.keys()) == ["a", "b", "c"] and "b" in table and len(table) == 3
    assert table["a"] is table.a and [k for k, _ in table.items()] == ["a", "b", "c"] and len(list(table.values())) == 3
    assert isinstance(table.pop("b"), nn.ReLU)
    del table["c"]
    assert list(table.state_dict()) == ["a.weight", "a.bias"]
    table.clear()
    assert len(table) == 0


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Dropout", (60, 50)),
        ("Dropout1d", (60, 50, 3)),
        ("Dropout2d", (60, 50, 2, 2)),
        ("Dropout3d", (60, 50, 1, 2, 2)),
    ],
)
def test_the_gradient_of_dropout_is_its_mask(name: str, shape: tuple[int, ...]) -> None:
    weft.random.manual_seed(5)
    x = weft.tensor(np.ones(shape), requires_grad=True)
    y = getattr(nn, name)(0.4)(x)
    g = np.random.default_rng(0).standard_normal(shape)
    y.backward(g)
    mask = y.numpy() / (1 / 0.6)
    assert set(np.unique(np.round(mask, 12))) == {0.0, 1.0}
    # Five standard deviations of the mean of as many draws; a channel is dropped whole.
    assert mask.reshape(60, 50, -1)[..., 0].mean() == pytest.approx(0.6, abs=5 * math.sqrt(0.24 / 3000))
    assert name == "Dropout" or (mask.reshape(60, 50, -1) == mask.reshape(60, 50, -1)[..., :1]).all()
    np.testing.assert_allclose(x.grad.numpy(), g * np.round(mask) / 0.6, rtol=1e-12)


def test_the_gradient_of_alpha_dropout() -> None:
    weft.random.manual_seed(5)
    x = weft.tensor(np.random.default_rng(1).standard_normal(5000), requires_grad=True)
    y = nn.AlphaDropout(0.3)(x)
    y.sum().backward()
    floor = -1.0507009873554805 * 1.6732632423543772
    scale = 1 / math.sqrt(0.7 * (1 + 0.3 * floor**2))
    kept = x.grad.numpy() != 0
    np.testing.assert_allclose(x.grad.numpy()[kept], scale, rtol=1e-12)
    assert kept.mean() == pytest.approx(0.7, abs=5 * math.sqrt(0.21 / 5000))
    np.testing.assert_allclose(y.numpy()[~kept], scale * floor * 0.7, rtol=1e-12)
