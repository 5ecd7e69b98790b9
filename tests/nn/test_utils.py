"""Clipping of gradients, and parameters as a vector, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm, parameters_to_vector, vector_to_parameters


def parameters(dtype: Any = np.float64) -> list[nn.Parameter]:
    random = np.random.default_rng(0)
    made = [nn.Parameter(random.standard_normal(shape).astype(dtype)) for shape in ((3, 4), (5,), ())]
    for p in made[:2]:
        p.grad = weft.tensor(random.standard_normal(p.shape).astype(dtype))
    return made


def vector(held: list[nn.Parameter]) -> Any:
    return np.concatenate([p.grad.numpy().reshape(-1) for p in held if p.grad is not None])


@pytest.mark.parametrize("norm_type", [1, 2.0, 3, math.inf, "inf"])
def test_clip_grad_norm(norm_type: Any) -> None:
    held = parameters()
    before = vector(held)
    expected = np.linalg.norm(before, float(norm_type))
    total = clip_grad_norm_(iter(held), 0.5, norm_type)
    assert total.shape == () and total.item() == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(vector(held), before * (0.5 / (expected + 1e-6)), rtol=1e-12)
    assert held[2].grad is None


def test_small_gradients_stay_as_they_are() -> None:
    held = parameters()
    arrays = [p.grad.numpy() for p in held[:2]]
    clip_grad_norm_(held, 1e3)
    assert all(p.grad.numpy() is array for p, array in zip(held, arrays, strict=False))


def test_dtype_stays() -> None:
    held = parameters(np.float32)
    assert clip_grad_norm_(held, 0.1).dtype == np.float32
    clip_grad_value_(held, 0.01)
    assert {p.grad.dtype for p in held[:2]} == {np.dtype(np.float32)}
    assert np.abs(vector(held)).max() == np.float32(0.01)


def test_gradients_that_share_memory_are_scaled_once() -> None:
    shared = np.array([3.0, 4.0])
    p, q = nn.Parameter([0.0, 0.0]), nn.Parameter([0.0])
    p.grad, q.grad = weft.Tensor(shared), weft.Tensor(shared[:1])
    clip_grad_norm_([p, q], 1.0)
    norm = math.sqrt(34)
    np.testing.assert_allclose(p.grad.numpy(), [3 / norm, 4 / norm], rtol=1e-6)
    np.testing.assert_allclose(q.grad.numpy(), [3 / norm], rtol=1e-6)
    assert shared.tolist() == [3.0, 4.0]


def test_after_backward() -> None:
    model = nn.Linear(3, 2)
    (model(weft.tensor(np.ones((4, 3), np.float32))) * 100).sum().backward()
    grad = model.weight.grad
    clip_grad_norm_(model.parameters(), 1.0)
    assert model.weight.grad is grad
    assert get_total_norm([p.grad for p in model.parameters()]).item() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_norms_that_are_not_finite(value: float) -> None:
    held = parameters()
    held[0].grad = weft.tensor(np.full((3, 4), value))
    with pytest.raises(RuntimeError, match="cannot be clipped; nothing was changed"):
        clip_grad_norm_(held, 1.0, error_if_nonfinite=True)
    assert np.isfinite(held[1].grad.numpy()).all() and held[1].grad.numpy().any()
    with np.errstate(invalid="ignore"):
        total = clip_grad_norm_(held, 1.0).item()
    assert math.isnan(total) if math.isnan(value) else total == math.inf
    assert not np.nan_to_num(held[1].grad.numpy()).any()


def test_no_gradients_and_bad_arguments() -> None:
    assert clip_grad_norm_([nn.Parameter([1.0])], 1.0).item() == 0.0
    clip_grad_value_(nn.Parameter([1.0]), 1.0)
    with pytest.raises(ValueError, match="order of a norm is more than 0, got 0"):
        clip_grad_norm_(parameters(), 1.0, 0)
    with pytest.raises(TypeError, match="got ndarray"):
        clip_grad_norm_([np.ones(3)], 1.0)
    p = nn.Parameter([1j])
    p.grad = weft.tensor([1j])
    with pytest.raises(TypeError, match="no order to clip by"):
        clip_grad_value_([p], 1.0)


def test_vectors() -> None:
    held = parameters()
    values = np.concatenate([p.numpy().reshape(-1) for p in held])
    flat = parameters_to_vector(held)
    assert np.array_equal(flat.numpy(), values)
    (flat * flat).sum().backward()
    np.testing.assert_allclose(held[2].grad.numpy(), 2 * held[2].numpy())
    vector_to_parameters(flat * 3, held)
    assert np.array_equal(np.concatenate([p.numpy().reshape(-1) for p in held]), values * 3)
    before = [p.numpy().copy() for p in held]
    with pytest.raises(ValueError, match="a vector of 18 numbers is needed, got shape"):
        vector_to_parameters(np.ones(17), held)
    with pytest.raises(TypeError, match="complex"):
        vector_to_parameters(np.ones(18, complex), held)
    with pytest.raises(ValueError, match="no parameters"):
        parameters_to_vector([])
    assert all(np.array_equal(p.numpy(), b) for p, b in zip(held, before, strict=True))
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    p = nn.Parameter(frozen)
    vector_to_parameters([5.0, 6.0], [p])
    assert p.tolist() == [5.0, 6.0] and p.dtype == np.float32 and frozen.tolist() == [1.0, 1.0]
