"""Everyday mistakes: each message says what is wrong, on which line of the user's program, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.errors import AutogradError, IndexingError, ShapeError, StateError, WeftError

X = weft.tensor(np.ones((2, 3), np.float32))
IMAGE = weft.tensor(np.ones((1, 1, 8, 8), np.float32))
LEAF = weft.tensor([1.0, 2.0], requires_grad=True)

# What is called, the class of the error, and the words of its message; every one names this file and the line too.
ON_A_LINE: list[tuple[Callable[[], Any], type[WeftError], list[str]]] = [
    (lambda: nn.Linear(4, 2)(X), ShapeError, ["linear: input (2, 3) and weight (2, 4)", "help: ", "in_features"]),
    (lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 2))(X), ShapeError, ["(2, 4)", "(2, 5)"]),
    (lambda: nn.Conv2d(3, 4, 3)(IMAGE), ShapeError, ["conv2d: input (1, 1, 8, 8) has 1 channels", "takes 3"]),
    (lambda: nn.Conv2d(1, 4, 3)(X), ShapeError, ["conv2d: expected an input of 4 dimensions", "got (2, 3)"]),
    (lambda: nn.Conv2d(1, 4, 9)(IMAGE), ShapeError, ["conv2d: the kernel spans (9, 9)", "(8, 8)"]),
    (lambda: nn.MaxPool2d(2)(X), ShapeError, ["max_pool2d: expected an input of 4 dimensions"]),
    (lambda: nn.BatchNorm2d(3)(X), ShapeError, ["BatchNorm2d: expected 4 dimensions, got shape (2, 3)"]),
    (lambda: nn.BatchNorm1d(3)(X[:1]), ShapeError, ["training needs more than one value per channel"]),
    (lambda: nn.LayerNorm(4)(X), ShapeError, ["layer_norm: the input (2, 3) must end with normalized_shape (4,)"]),
    (lambda: nn.LSTM(4, 5)(X), ShapeError, ["lstm: input (2, 3) has 3 features, the layer takes 4"]),
    (lambda: nn.InstanceNorm2d(3)(IMAGE), ShapeError, ["InstanceNorm2d: expected 3 channels", "(1, 1, 8, 8)"]),
    (lambda: nn.PixelShuffle(2)(IMAGE), ShapeError, ["pixel_shuffle: 1 channels do not divide into 2 times 2"]),
    (lambda: nn.Embedding(4, 2)(weft.tensor([1, 4])), IndexingError, ["embedding: index 4 is not one of 4 rows"]),
    (lambda: F.cross_entropy(X, weft.tensor([0, 1, 2])), ShapeError, ["needs class indices of shape (2,), got (3,)"]),
    (lambda: F.cross_entropy(X, weft.tensor([0, 3])), IndexingError, ["class 3 is not one of 0 to 2"]),
    (lambda: F.cross_entropy(X, weft.tensor([0, 3])), IndexingError, ["help: ", "as many as the input has scores"]),
    (lambda: F.cross_entropy(X, weft.tensor([0.0, 2.0])), ShapeError, ["help: class indices are integers", "float64"]),
    (lambda: F.binary_cross_entropy_with_logits(X, X[0]), ShapeError, ["input and target of one shape"]),
    (lambda: X @ X, ShapeError, ["matmul: inner dimensions differ: (2, 3) @ (2, 3), 3 != 2"]),
    (lambda: X + weft.tensor(np.ones((2, 4))), ShapeError, ["add: shapes (2, 3) and (2, 4) do not broadcast"]),
    (lambda: X.view(4, 2), ShapeError, ["reshape: (2, 3) has 6 elements, (4, 2) has 8"]),
    (lambda: weft.cat([X, X[:, :2]], dim=0), ShapeError, ["concat: shapes (2, 3) and (2, 2)"]),
    (lambda: X.transpose(0, 2), ShapeError, ["axis 2 is out of range for an array of 2 dimensions"]),
    (lambda: X.permute(0, 2, 1), ShapeError, ["axis 2 is out of range"]),
    (lambda: X.flatten(3), ShapeError, ["flatten: axis 3 is out of range"]),
    (lambda: X.sum(dim=2), ShapeError, ["sum: axis 2 is out of range"]),
    (lambda: X[5], IndexingError, ["index 5 is out of range for axis 0 of size 2"]),
    (lambda: X[0, 0, 0], IndexingError, ["3 indices for an array of 2 dimensions, shape (2, 3)"]),
    (lambda: X.gather(1, weft.tensor([0])), ShapeError, ["gather: an index of shape (1,)", "as many dimensions"]),
    (lambda: X.narrow(1, 2, 2), ShapeError, ["narrow: 2 from 2 on are not in dimension 1 of (2, 3)"]),
    (lambda: X.unflatten(1, (2, 2)), ShapeError, ["unflatten: dimension 1 of (2, 3) does not divide into (2, 2)"]),
    (lambda: weft.masked_fill(X[0], X > 0, 0.0), ShapeError, ["masked_fill: a mask of shape (2, 3) is larger"]),
    (lambda: weft.cdist(X, X[:, :2]), ShapeError, ["cdist: expected rows of equal length, got (2, 3) and (2, 2)"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), ON_A_LINE, ids=[words[0][:40] for _, _, words in ON_A_LINE])
def test_names_the_line(call: Callable[[], Any], kind: type[WeftError], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    line = call.__code__.co_firstlineno
    places = [text for text in message.splitlines() if text.startswith("  at ")]
    assert len(places) == 1
    assert places[0].startswith(f"  at {__file__}:{line}: ")
    said = message.replace(places[0], "")  # it shows this file's line, which holds the words
    for word in words:
        assert word in said


def test_names_the_line_in_forward() -> None:
    """The innermost line of the user's: the one in forward, not the one that called the model."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.layer(x)  # this one

    for x in (X, X.numpy(), X.detach().clone().requires_grad_()):
        with pytest.raises(ShapeError, match=r"return self\.layer\(x\)  # this one"):
            Net()(x)


OTHERS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: weft.zeros(2, 3), TypeError, r"zeros: the shape is one argument.*write zeros\(\(2, 3\)\)"),
    (lambda: weft.ones(3, requires_grad=True), TypeError, r"an op gives an array: write weft\.tensor\("),
    (lambda: X.to("cuda"), ValueError, "'cuda' is not available: arrays live on the CPU"),
    (lambda: X.to("cuda:1"), ValueError, "'cuda:1' is not available"),
    (lambda: X.cuda(), ValueError, "'cuda' is not available"),
    (lambda: nn.Linear(2, 2).to("cuda"), ValueError, "'cuda' is not available"),
    (lambda: nn.Linear(2, 2).cuda(), ValueError, "'cuda' is not available"),
    (lambda: nn.Linear(2, 2, device="cuda"), ValueError, "'cuda' is not available"),
    (lambda: X.to("float33"), TypeError, "'float33' is neither a dtype nor a device"),
    (lambda: nn.Linear(2, 2).to(weft.int64), TypeError, "only floating-point and complex dtypes"),
    (lambda: X.squeeze(4), ShapeError, r"squeeze: dimension 4 is out of range for shape \(2, 3\)"),
    (lambda: X.split(0), ShapeError, "split: expected a positive size"),
    (lambda: X.split([1, 1], dim=1), ShapeError, r"split: the sizes \[1, 1\] do not add up to 3"),
    (lambda: X.div(2, rounding_mode="up"), ValueError, "rounding_mode must be None, 'trunc' or 'floor'"),
    (lambda: nn.Sequential(nn.Linear(2, 2), F.relu), TypeError, r"must be a Module.*such as nn\.ReLU\(\)"),
    (lambda: setattr(nn.Linear(2, 2), "weight", X), TypeError, r"a Parameter or None is expected; write nn\.Parameter"),
    (lambda: optim.SGD(nn.Linear(2, 2).parameters, lr=0.1), TypeError, r"got method; write model\.parameters\(\)"),
    (lambda: optim.Adam(nn.Linear(2, 2)), TypeError, r"got Linear; write model\.parameters\(\)"),
    (lambda: nn.BCELoss()(X * 2, X), ValueError, r"from 0 to 1, got 2\.0 to 2\.0; take a sigmoid first"),
    (lambda: F.binary_cross_entropy(X - 1.5, X), ValueError, "give scores to binary_cross_entropy_with_logits"),
    (lambda: nn.Upsample(), ValueError, "expected either size or scale_factor"),
    (lambda: nn.ZeroPad2d((1, 2)), ValueError, "ZeroPad2d: expected one width or 4 of them"),
    (lambda: (LEAF * LEAF).backward(), AutogradError, r"(?s)shape \(2,\) has to be given.*help: reduce it first"),
    (lambda: X.sum().backward(), AutogradError, "(?s)does not require a gradient.*help: compute it from tensors"),
    (
        lambda: LEAF.__iadd__(1),
        AutogradError,
        r"(?s)a leaf that requires its gradient.*help: write inside weft\.no_grad",
    ),
    (
        lambda: nn.Linear(3, 2).load_state_dict({"weight": np.zeros((2, 4))}),
        StateError,
        "(?s)nothing was changed.*bias",
    ),
    (
        lambda: nn.Linear(3, 2).load_state_dict("net.safetensors"),  # type: ignore[arg-type]  # the mistake
        TypeError,
        r"expected a dict of values by name, got str; read a file with nn\.load_state",
    ),
    (lambda: nn.Linear(3, 2).load_state_dict(None), TypeError, "got NoneType"),  # type: ignore[arg-type]  # the mistake
    (lambda: nn.Linear(3, 2).load_state_dict(nn.Linear(3, 2)), TypeError, "got Linear"),  # type: ignore[arg-type]  # so too
]


@pytest.mark.parametrize(("call", "kind", "words"), OTHERS, ids=[words[:40] for _, _, words in OTHERS])
def test_says_what_to_do(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_column_against_a_row_warns(loss: Callable[..., Any]) -> None:
    """Predictions (n, 1) and targets (n,) would be compared each with each."""
    column, row = weft.tensor(np.ones((4, 1)), requires_grad=True), np.zeros(4)
    words = rf"{loss.__name__}: input \(4, 1\) and target \(4,\) broadcast to \(4, 4\)"
    with pytest.warns(UserWarning, match=words) as caught:
        loss(column, row)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"input \(4,\) and target \(4, 1\)"):
        loss(row, column)
    loss(column, np.zeros((4, 1))), loss(column, 0.5), loss(np.ones((4, 3)), np.zeros(3))  # nothing to warn of


def test_a_loss_layer_warns_on_the_users_line() -> None:
    with pytest.warns(UserWarning, match="mse_loss") as caught:
        nn.MSELoss()(np.ones((4, 1)), np.zeros(4))
    assert caught[0].filename == __file__


def test_backward_twice() -> None:
    loss = (LEAF * LEAF).sum()
    loss.backward()
    with pytest.raises(AutogradError, match=r"(?s)freed by an earlier backward.*at .*help: pass retain_graph=True"):
        loss.backward()


class _Forgetful(nn.Module):
    def __init__(self, make: Callable[[Any], Any] = lambda module: None) -> None:
        make(self)

    def forward(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(
    "use",
    [
        lambda: _Forgetful(lambda module: setattr(module, "layer", nn.Linear(2, 2))),
        lambda: _Forgetful(lambda module: module.register_buffer("b", X)),
        lambda: _Forgetful()(X),
        lambda: list(_Forgetful().parameters()),
        lambda: _Forgetful().state_dict(),
        lambda: _Forgetful().train(),
    ],
)
def test_without_super_init(use: Callable[[], Any]) -> None:
    words = "_Forgetful has not called super().__init__() yet; call it first in __init__"
    with pytest.raises(AttributeError, match=re.escape(words)):
        use()


def test_dtypes_mix_by_promotion() -> None:
    """No error, as in NumPy: the result is float64, and gradients have the dtype of their parameters."""
    layer = nn.Linear(3, 2)
    result = layer(X.double())
    assert result.dtype == np.float64
    result.sum().backward()
    assert layer.weight.grad.dtype == np.float32
    assert layer(X.double().float()).dtype == np.float32


def test_gradients_add_up_until_cleared() -> None:
    layer = nn.Linear(3, 2)
    for _ in range(2):
        layer(X).sum().backward()
    np.testing.assert_array_equal(layer.bias.grad.numpy(), [4, 4])
    layer.zero_grad()
    assert layer.bias.grad is None
