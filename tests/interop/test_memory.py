"""What weft keeps between forward and backward against what torch keeps, for a deep multilayer perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft import nn

DEPTH, WIDTH, BATCH = 48, 32, 256
X = np.random.default_rng(0).standard_normal((BATCH, WIDTH)).astype(np.float32)


def perceptron(library: Any) -> Any:
    layers = [part for _ in range(DEPTH) for part in (library.Linear(WIDTH, WIDTH), library.ReLU())]
    return library.Sequential(*layers)


@pytest.fixture(scope="module")
def models() -> tuple[Any, Any]:
    theirs, ours = perceptron(torch.nn), perceptron(nn)
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    return theirs, ours


@pytest.fixture(scope="module")
def torch_keeps(models: tuple[Any, Any]) -> int:
    """Bytes of the storages that torch's tape holds, without those of the input and the parameters."""
    model = models[0]
    storages: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        held.append(tensor)
        return tensor

    held: list[Any] = []
    x = torch.from_numpy(X)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = model(x)
    for theirs in (x, *model.parameters()):
        storages.pop(theirs.untyped_storage().data_ptr(), None)
    assert result.shape == (BATCH, WIDTH)
    return sum(storages.values())


def halves_of(model: Any, **how: Any) -> Any:
    halves = weft.partition(weft.joint_graph(model, X), **how)
    halves.measure(X)
    return halves


def check_gradients(models: tuple[Any, Any], halves: Any) -> None:
    theirs = models[0]
    x = torch.from_numpy(X.copy()).requires_grad_()
    theirs.zero_grad()
    value = theirs(x)
    value.backward(torch.ones_like(value))
    ours, pull = halves(X)
    np.testing.assert_allclose(np.asarray(ours.detach()), value.detach().numpy(), rtol=1e-3, atol=1e-6)
    expected = [x.grad, *(parameter.grad for parameter in theirs.parameters())]
    found = pull(np.ones((BATCH, WIDTH), np.float32))
    for got, want in zip(found, expected, strict=True):
        # Sums of 256 products of single precision, 48 of them one after the other.
        np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=5e-3, atol=1e-5)


def test_the_default_keeps_no_more_than_torch(models: tuple[Any, Any], torch_keeps: int) -> None:
    halves = halves_of(models[1])
    assert halves.measured.kept == halves.report.kept_bytes <= torch_keeps
    assert halves.report.overhead < 0.01
    check_gradients(models, halves)


def test_a_quarter_of_it_is_met_for_two_fifths_more_arithmetic(models: tuple[Any, Any], torch_keeps: int) -> None:
    """The budget is for all that is there at once in forward or backward, not for what is kept alone."""
    halves = halves_of(models[1], memory_budget=torch_keeps / 4)
    assert halves.report.met
    assert halves.measured.peak <= torch_keeps / 4
    assert halves.report.overhead <= 0.4
    check_gradients(models, halves)
