"""Gradients through draws: exact for what is shifted and stretched, refused in words for what jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import random
from weft.errors import NotDifferentiable

a, b = np.array([[0.5], [2.0]]), np.array([1.5, 3.0, 4.0])

SMOOTH: dict[str, Callable[..., Any]] = {
    "uniform": lambda p, q: random.uniform(None, p, q + 2),
    "normal": lambda p, q: random.normal((4, 2, 3), p, q),
    "normal of one": lambda p, q: random.normal((2, 3), p, 2.0) + q * 0,
    "gumbel": lambda p, q: random.gumbel(None, p, q),
    "exponential": lambda p, q: random.exponential(None, p * q),
    "gamma by scale": lambda p, q: random.gamma(2.0, p * q),
    "dropout": lambda p, q: weft.dropout(p * q, 0.5),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_against_finite_differences(name: str) -> None:
    draw = SMOOTH[name]

    def loss(p: Any, q: Any) -> Any:
        with random.isolated(3):
            return weft.sum(weft.sin(draw(p, q)))

    p, q = weft.tensor(a, requires_grad=True), weft.tensor(b, requires_grad=True)
    loss(p, q).backward()
    for leaf, other in ((p, q), (q, p)):
        numeric = np.zeros(leaf.shape)
        for index in np.ndindex(leaf.shape):
            step = np.zeros(leaf.shape)
            step[index] = 1e-6
            ends = [leaf.numpy() + step, leaf.numpy() - step]
            values = [loss(*(e, other.numpy()) if leaf is p else (other.numpy(), e)) for e in ends]
            numeric[index] = (float(values[0]) - float(values[1])) / 2e-6
        assert leaf.grad is not None and leaf.grad.shape == leaf.shape
        # Central differences with a step of 1e-6 are good to about 1e-9.
        np.testing.assert_allclose(leaf.grad.numpy(), numeric, rtol=1e-6, atol=1e-8)


def test_noise_is_the_derivative_by_the_deviation() -> None:
    mean, std = (weft.tensor(np.full(5, v), requires_grad=True) for v in (1.0, 2.0))
    with random.isolated(1):
        drawn = random.normal(mean=mean, std=std)
    with random.isolated(1):
        noise = random.normal((5,))
    drawn.sum().backward()
    assert mean.grad is not None and std.grad is not None
    np.testing.assert_array_equal(mean.grad.numpy(), np.ones(5))
    np.testing.assert_array_equal(std.grad.numpy(), noise)
    np.testing.assert_array_equal(drawn.detach().numpy(), noise * 2 + 1)


def test_a_deviation_of_zero_has_a_gradient() -> None:
    std = weft.tensor([0.0], requires_grad=True)
    random.normal((1,), 0.0, std).sum().backward()
    assert std.grad is not None and np.isfinite(std.grad.numpy()).all() and std.grad.numpy()[0] != 0


def test_float32_parameters_have_float32_gradients() -> None:
    mean = weft.tensor(np.zeros(3, np.float32), requires_grad=True)
    drawn = random.normal(mean=mean)
    drawn.sum().backward()
    assert drawn.dtype == np.float32 and mean.grad is not None and mean.grad.dtype == np.float32


@pytest.mark.parametrize(
    "draw",
    [
        random.bernoulli,
        random.poisson,
        random.standard_gamma,
        random.gamma,
        lambda p: random.beta(p, 1.0),
        lambda p: random.beta(1.0, p),
    ],
)
def test_what_jumps_has_no_derivative_and_says_so(draw: Any) -> None:
    p = weft.tensor([0.5, 0.25], requires_grad=True)
    drawn = draw(p)
    with pytest.raises(NotDifferentiable, match=r"a draw jumps|proposed and refused"):
        drawn.sum().backward()
    assert p.grad is None


@pytest.mark.parametrize(
    "draw", [lambda p: weft.multinomial(p, 1), lambda p: random.categorical(p), lambda p: random.choice(2, (3,), p=p)]
)
def test_positions_are_integers_without_gradients(draw: Any) -> None:
    drawn = draw(weft.tensor([0.5, 0.25], requires_grad=True))
    assert drawn.dtype == np.int64 and not getattr(drawn, "requires_grad", False)


def test_no_gradient_without_recording() -> None:
    mean = weft.tensor([0.0], requires_grad=True)
    with weft.no_grad():
        assert not random.normal(mean=mean).requires_grad
