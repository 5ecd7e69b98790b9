"""Layers of `weft.nn` against `torch.nn`: the same state_dict, values and gradients in float64, the same text.

Recurrent layers and attention have files of their own beside this one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from like_torch import RANDOM, TOLERANCE, Fixed, compare, normal, pair, spread_alike, unit
from test_more_layers import CASES as MORE

import weft
from weft import nn

SIGNS = np.where(normal(3, 4) > 0, 1, -1)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[np.ndarray, ...]]] = [
    ("Identity", (), {}, (normal(2, 3),)),
    ("Linear", (3, 4), {}, (normal(2, 5, 3),)),
    ("Linear", (3, 4), {"bias": False}, (normal(3),)),
    ("Bilinear", (3, 4, 5), {}, (normal(2, 3), normal(2, 4))),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}, (normal(2, 4, 12),)),
    ("Conv1d", (2, 3, 4), {"padding": "same"}, (normal(2, 2, 9),)),
    ("Conv1d", (2, 3, 4), {"padding": "valid"}, (normal(2, 9),)),
    ("Conv2d", (3, 4, (3, 2)), {"padding": (1, 0), "bias": False}, (normal(2, 3, 7, 8),)),
    *[
        ("Conv2d", (2, 3, (3, 4)), {"padding": pad, "padding_mode": mode}, (normal(2, 2, 7, 8),))
        for mode in ("reflect", "replicate", "circular")
        for pad in ((1, 2), "same")
    ],
    ("Conv3d", (2, 2, 2), {"stride": (1, 2, 1)}, (normal(1, 2, 4, 5, 6),)),
    ("ConvTranspose1d", (2, 3, 3), {"stride": 2, "padding": 1}, (normal(2, 2, 5),)),
    (
        "ConvTranspose2d",
        (4, 6, 3),
        {"stride": 2, "output_padding": 1, "groups": 2, "dilation": 2},
        (normal(2, 4, 5, 5),),
    ),
    ("ConvTranspose3d", (2, 1, 2), {"bias": False}, (normal(1, 2, 3, 3, 3),)),
    ("BatchNorm1d", (3,), {}, (normal(5, 3),)),
    ("BatchNorm1d", (3,), {"momentum": None}, (normal(5, 3, 2),)),
    ("BatchNorm2d", (3,), {"momentum": 0.3, "eps": 0.1}, (normal(4, 3, 2, 2),)),
    ("BatchNorm2d", (3,), {"affine": False}, (normal(4, 3, 2, 2),)),
    ("BatchNorm2d", (3,), {"bias": False}, (normal(4, 3, 2, 2),)),
    ("BatchNorm3d", (2,), {"track_running_stats": False}, (normal(3, 2, 2, 2, 2),)),
    ("LayerNorm", (4,), {}, (normal(2, 3, 4),)),
    ("LayerNorm", ((3, 4),), {"bias": False}, (normal(2, 3, 4),)),
    ("LayerNorm", (4,), {"elementwise_affine": False}, (normal(2, 4),)),
    ("RMSNorm", (4,), {}, (normal(2, 4),)),
    ("RMSNorm", (4,), {"eps": 0.1}, (normal(2, 4),)),
    ("GroupNorm", (2, 4), {}, (normal(2, 4, 3),)),
    ("GroupNorm", (2, 4), {"bias": False}, (normal(2, 4, 3),)),
    ("Embedding", (6, 3), {"padding_idx": 1}, (RANDOM.integers(0, 6, (2, 4)),)),
    ("EmbeddingBag", (6, 3), {"mode": "mean"}, (RANDOM.integers(0, 6, (2, 4)),)),
    *[
        (name, (), {}, (normal(3, 4) * 3,))
        for name in (
            "ReLU ReLU6 SiLU Mish SELU Hardswish Hardsigmoid Sigmoid LogSigmoid Tanh Tanhshrink Softsign GLU GELU ELU "
            "CELU LeakyReLU Hardtanh Softplus Hardshrink Softshrink PReLU"
        ).split()
    ],
    ("ReLU", (), {"inplace": True}, (normal(3),)),
    ("GELU", ("tanh",), {}, (normal(3, 4),)),
    ("ELU", (0.5,), {}, (normal(3, 4),)),
    ("LeakyReLU", (0.3,), {"inplace": True}, (normal(3, 4),)),
    ("Hardtanh", (-0.5, 0.25), {}, (normal(3, 4),)),
    ("Threshold", (0.1, 7.0), {}, (normal(3, 4),)),
    ("Softplus", (2.0, 1.0), {}, (normal(3, 4),)),
    ("PReLU", (4,), {"init": 0.1}, (normal(3, 4),)),
    *[(name, (1,), {}, (normal(3, 4),)) for name in ("Softmax", "LogSoftmax", "Softmin", "GLU")],
    *[(name, (0.4,), {}, (normal(3, 4, 5),)) for name in ("Dropout", "Dropout1d", "AlphaDropout")],
    *[(name, (0.0,), {}, (normal(3, 4, 5),)) for name in ("Dropout", "Dropout1d", "AlphaDropout")],
    ("Dropout2d", (0.4,), {}, (normal(2, 3, 4, 5),)),
    ("Dropout2d", (0.0,), {}, (normal(2, 3, 4, 5),)),
    ("Dropout3d", (0.4,), {}, (normal(2, 3, 2, 2, 2),)),
    ("Dropout3d", (0.0,), {}, (normal(2, 3, 2, 2, 2),)),
    ("MaxPool1d", (3,), {"stride": 1, "padding": 1}, (normal(2, 3, 8),)),
    ("MaxPool2d", (2,), {"ceil_mode": True}, (normal(2, 3, 7, 7),)),
    ("MaxPool2d", ((3, 2),), {"dilation": 2, "stride": 1}, (normal(2, 3, 7, 7),)),
    ("MaxPool3d", (2,), {}, (normal(1, 2, 4, 4, 4),)),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1}, (normal(2, 3, 8),)),
    ("AvgPool2d", (3,), {"padding": 1, "count_include_pad": False}, (normal(2, 3, 8, 8),)),
    ("AvgPool2d", (2,), {"divisor_override": 3}, (normal(2, 3, 8, 8),)),
    ("AvgPool3d", (2,), {"stride": 1}, (normal(1, 2, 4, 4, 4),)),
    ("AdaptiveAvgPool1d", (3,), {}, (normal(2, 3, 8),)),
    ("AdaptiveAvgPool2d", ((2, 3),), {}, (normal(2, 3, 7, 8),)),
    ("AdaptiveAvgPool3d", (2,), {}, (normal(1, 2, 5, 4, 3),)),
    ("AdaptiveMaxPool1d", (3,), {}, (normal(2, 3, 8),)),
    ("AdaptiveMaxPool2d", (2,), {}, (normal(2, 3, 7, 8),)),
    ("AdaptiveMaxPool3d", (1,), {}, (normal(1, 2, 5, 4, 3),)),
    ("Flatten", (), {}, (normal(2, 3, 4),)),
    ("Flatten", (0, 1), {}, (normal(2, 3, 4),)),
    *[
        (name, (), {"reduction": how}, (normal(3, 4), normal(3, 4)))
        for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
        for how in ("mean", "sum", "none")
    ],
    ("SmoothL1Loss", (), {"beta": 0.3}, (normal(3, 4), normal(3, 4))),
    ("HuberLoss", (), {"delta": 0.3}, (normal(3, 4), normal(3, 4))),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.2, "ignore_index": 2}, (normal(5, 4), RANDOM.integers(0, 4, 5))),
    ("CrossEntropyLoss", (unit(4),), {}, (normal(5, 4), RANDOM.integers(0, 4, 5))),
    ("CrossEntropyLoss", (), {"reduction": "none"}, (normal(5, 4, 3), RANDOM.integers(0, 4, (5, 3)))),
    ("CrossEntropyLoss", (), {"reduction": "sum"}, (normal(5, 4), unit(5, 4))),
    ("NLLLoss", (unit(4),), {"ignore_index": 1}, (normal(5, 4), RANDOM.integers(0, 4, 5))),
    ("BCELoss", (unit(5),), {"reduction": "sum"}, (unit(5), unit(5))),
    ("BCEWithLogitsLoss", (unit(5),), {"pos_weight": unit(5)}, (normal(5), unit(5))),
    ("NLLLoss", (), {"reduction": "sum"}, (normal(5, 4), RANDOM.integers(0, 4, 5))),
    ("BCELoss", (), {}, (unit(5), unit(5))),
    ("BCEWithLogitsLoss", (), {}, (normal(5), unit(5))),
    ("SoftMarginLoss", (), {}, (normal(3, 4), SIGNS)),
    ("HingeEmbeddingLoss", (), {"margin": 0.6}, (normal(3, 4), SIGNS)),
    ("MarginRankingLoss", (), {"margin": 0.2}, (normal(3, 4), normal(3, 4), SIGNS)),
    ("CosineEmbeddingLoss", (), {"margin": 0.1, "reduction": "sum"}, (normal(3, 4), normal(3, 4), SIGNS[:, 0])),
    ("TripletMarginLoss", (), {}, (normal(3, 4), normal(3, 4), normal(3, 4))),
    ("TripletMarginLoss", (0.3, 3.0), {"swap": True}, (normal(3, 4), normal(3, 4), normal(3, 4))),
    ("GaussianNLLLoss", (), {"full": True}, (normal(3, 4), normal(3, 4), unit(3, 4))),
    ("PoissonNLLLoss", (), {}, (normal(3, 4), RANDOM.integers(0, 5, (3, 4)))),
    ("PoissonNLLLoss", (False, True), {}, (unit(3, 4), RANDOM.integers(0, 5, (3, 4)).astype(float).view(Fixed))),
    ("KLDivLoss", (), {"reduction": "batchmean"}, (normal(3, 4), unit(3, 4))),
    ("KLDivLoss", (), {"reduction": "sum", "log_target": True}, (normal(3, 4), normal(3, 4))),
]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")  # torch speaks of its own speed
@pytest.mark.parametrize(("name", "args", "kwargs", "inputs"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_values_gradients_state_and_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Any) -> None:
    ours, theirs = pair(name, args, kwargs)
    random = "Dropout" in name and args[0] > 0
    for training in (False,) if random else (True, False):
        ours.train(training)
        theirs.train(training)
        # torch's derivative of hardsigmoid is 1 / 6 in single precision.
        compare(ours, theirs, *inputs, _slope=1e-7 if name == "Hardsigmoid" else 1e-10)
    if not any(isinstance(kwargs.get(key), str) for key in ("padding", "padding_mode")):  # torch leaves out the quotes
        assert bare(ours) == repr(theirs)


def bare(module: Any) -> str:
    """The text of a module without the numbers of parameters, which torch does not show."""
    return re.sub(r"  # [\d,]+ parameters?.*", "", repr(module))


def test_every_layer_is_compared() -> None:
    here = {name for name, *_ in [*CASES, *MORE]}
    for path in Path(__file__).parent.glob("test_*.py"):
        here |= set(re.findall(r'(?:pair|both)\("([A-Z]\w+)", ', path.read_text(encoding="utf-8")))
    layers = {name for name, value in vars(nn).items() if isinstance(value, type) and issubclass(value, nn.Module)}
    containers = {"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
    assert layers - here == containers, "containers are compared in a model"


def test_pooling_indices() -> None:
    x = normal(2, 3, 7, 7)
    for name, args in (("MaxPool2d", (2,)), ("AdaptiveMaxPool2d", (3,))):
        ours, theirs = (
            getattr(nn, name)(*args, return_indices=True),
            getattr(torch.nn, name)(*args, return_indices=True),
        )
        for got, expected in zip(ours(x), theirs(torch.from_numpy(x)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), expected.numpy())


def test_backward_hooks() -> None:
    ours, theirs = pair("Bilinear", (3, 4, 5), {})
    seen: list[Any] = []
    for module in (ours, theirs):
        module.register_full_backward_hook(lambda m, *ends: seen.append(ends) or (ends[0][0] * 2, ends[0][1]))
    compare(ours, theirs, normal(2, 3), normal(2, 4))
    assert len(seen) == 2
    for mine, other in zip(*seen, strict=True):
        for got, expected in zip(mine, other, strict=True):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), **TOLERANCE)


def test_a_model_built_twice() -> None:
    def build(nn: Any) -> Any:
        class Net(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
                self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
                self.heads = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 2)})
                self.register_buffer("steps", nn.Parameter(nn.Linear(1, 2).weight).detach())

            def forward(self, x: Any) -> Any:
                h = self.stem(x).mean((2, 3))
                for block in self.blocks:
                    h = h + block(h)
                return self.heads["a"](h), self.heads["b"](h)

        return Net()

    ours, theirs = build(nn).double(), build(torch.nn).double()
    assert bare(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert ours.num_parameters() == sum(p.numel() for p in theirs.parameters())
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    x = normal(2, 1, 5, 5)
    for got, expected in zip(ours(x), theirs(torch.from_numpy(x)), strict=True):
        np.testing.assert_allclose(np.asarray(got), expected.detach().numpy(), **TOLERANCE)


@pytest.mark.parametrize(
    "name",
    [
        "Linear(40, 30)",
        "Conv1d(8, 16, 5)",
        "Conv2d(8, 16, 5, groups=4)",
        "Conv3d(4, 8, 3)",
        "ConvTranspose1d(8, 16, 5)",
        "ConvTranspose2d(8, 16, 3, groups=2)",
        "ConvTranspose3d(4, 8, 3)",
        "Bilinear(30, 20, 10)",
        "BatchNorm1d(9)",
        "BatchNorm2d(9)",
        "BatchNorm3d(9)",
        "LayerNorm((4, 5))",
        "RMSNorm(7)",
        "GroupNorm(2, 8)",
        "PReLU(5)",
    ],
)
def test_first_values_have_torchs_spread(name: str) -> None:
    weft.random.manual_seed(0)
    torch.manual_seed(0)
    spread_alike(eval(f"nn.{name}"), eval(f"torch.nn.{name}"), bounded=True)


def test_first_values_of_embeddings() -> None:
    ours, theirs = nn.Embedding(300, 40, padding_idx=2), torch.nn.Embedding(300, 40, padding_idx=2)
    spread_alike(ours, theirs, bounded=False)
    assert not ours.weight[2].numpy().any() and not theirs.weight[2].any()
