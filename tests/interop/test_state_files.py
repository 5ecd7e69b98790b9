"""Files of parameters written by torch load into the same model of weft by name, and the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from like_torch import normal
from safetensors.torch import load_file, save_file

from weft import nn
from weft.errors import FileError, StateError


def cnn(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * 16, 10),
    )


def transformer(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))


def lstm(nn: Any) -> Any:
    class Model(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(11, 6)
            self.lstm = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(16, 11)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.embedding(x))[0])

    return Model()


MODELS = [
    (cnn, normal(3, 1, 8, 8).astype(np.float32)),
    (transformer, normal(2, 5, 8).astype(np.float32)),
    (lstm, np.arange(12).reshape(2, 6) % 11),
]


@pytest.mark.parametrize(("build", "x"), MODELS, ids=["cnn", "transformer", "lstm"])
def test_a_model_goes_there_and_back(build: Any, x: np.ndarray, tmp_path: Path) -> None:
    theirs, ours = build(torch.nn), build(nn)
    theirs(torch.from_numpy(x))  # running statistics that are not the first ones
    save_file(theirs.state_dict(), tmp_path / "torch.safetensors")
    state = nn.load_state(tmp_path / "torch.safetensors")
    report = ours.load_state_dict(state)
    assert report.missing_keys == report.unexpected_keys == []
    expected = theirs.eval()(torch.from_numpy(x)).detach().numpy()
    # Single precision: sums in another order.
    np.testing.assert_allclose(ours.eval()(x).numpy(), expected, rtol=1e-4, atol=1e-5)

    twin = build(torch.nn)
    nn.save_state(tmp_path / "weft.safetensors", ours.state_dict())
    twin.load_state_dict(load_file(tmp_path / "weft.safetensors"))
    for name, value in theirs.state_dict().items():
        np.testing.assert_array_equal(twin.state_dict()[name].numpy(), value.numpy())
    assert torch.equal(twin.eval()(torch.from_numpy(x)), torch.from_numpy(expected))


def test_bfloat16_of_torch_loads_exactly(tmp_path: Path) -> None:
    state = {name: value.bfloat16() for name, value in transformer(torch.nn).state_dict().items()}
    save_file(state, tmp_path / "torch.safetensors")
    model = transformer(nn)
    model.load_state_dict(nn.load_state(tmp_path / "torch.safetensors"))
    for name, value in model.state_dict().items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value.numpy(), state[name].float().numpy())


def test_what_torch_save_wrote_is_refused(tmp_path: Path) -> None:
    torch.save(cnn(torch.nn).state_dict(), tmp_path / "model.pt")
    with pytest.raises(FileError, match=r"torch\.save.*\n  help: .*safetensors\.torch\.save_file"):
        nn.load_state(tmp_path / "model.pt")


def test_the_wrong_model_says_what_does_not_fit(tmp_path: Path) -> None:
    save_file(cnn(torch.nn).state_dict(), tmp_path / "cnn.safetensors")
    model = transformer(nn)
    with pytest.raises(StateError, match=r"missing:\n    layers.0.self_attn.in_proj_weight") as caught:
        model.load_state_dict(nn.load_state(tmp_path / "cnn.safetensors"))
    assert "    5.weight" in str(caught.value).partition("unexpected:\n")[2]
