"""`EmbeddingBag` against bags that are summed up one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn
from weft.errors import ShapeError

WEIGHT = np.random.default_rng(0).normal(size=(6, 3))
FLAT = np.array([0, 2, 1, 5, 3, 3])
ROWS = np.array([[0, 1], [2, 2], [5, 4]])
FACTORS = np.random.default_rng(1).normal(size=6)

CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "offsets": (FLAT, {"offsets": np.array([0, 2, 2, 5])}),
    "last offset": (FLAT, {"offsets": np.array([0, 2, 2, 5, 6]), "include_last_offset": True}),
    "rows": (ROWS, {}),
    "weighted": (FLAT, {"offsets": np.array([0, 2, 2, 5]), "per_sample_weights": FACTORS}),
    "weighted rows": (ROWS, {"per_sample_weights": FACTORS.reshape(3, 2)}),
}


def one_by_one(input: Any, mode: str, padding: int | None, how: dict[str, Any]) -> Any:
    factors = how.get("per_sample_weights", np.ones(input.shape))
    if input.ndim == 1:
        begins = how["offsets"][:-1] if "include_last_offset" in how else how["offsets"]
        input, factors = np.split(input, begins[1:]), np.split(factors, begins[1:])
    bags = []
    for numbers, scales in zip(input, factors, strict=True):
        rows = [WEIGHT[n] * s for n, s in zip(numbers, scales, strict=True) if n != padding]
        reduce: Any = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
        bags.append(reduce(rows, axis=0) if rows else np.zeros(3))
    return np.array(bags)


@pytest.mark.parametrize("padding", [None, 2, 3])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str, mode: str, padding: int | None) -> None:
    input, how = CALLS[name]
    if "per_sample_weights" in how and mode != "sum":
        with pytest.raises(ValueError, match="per_sample_weights are for mode 'sum'"):
            F.embedding_bag(input, WEIGHT, mode=mode, **how)
        return

    def bags(weight: Any) -> Any:
        return F.embedding_bag(input, weight, mode=mode, padding_idx=padding, **how)

    wanted = one_by_one(input, mode, padding, how)
    np.testing.assert_allclose(bags(WEIGHT), wanted)
    np.testing.assert_allclose(weft.compile(bags)(WEIGHT), wanted)
    factors = np.arange(wanted.size).reshape(wanted.shape) + 1.0
    tensor = weft.tensor(WEIGHT, requires_grad=True)
    (bags(tensor) * factors).sum().backward()
    gradient = weft.grad(lambda weight: (bags(weight) * factors).sum())(WEIGHT)
    np.testing.assert_allclose(tensor.grad.numpy(), gradient)
    move = np.random.default_rng(2).normal(size=WEIGHT.shape)
    if padding is not None:
        move[padding] = 0
    steps = (bags(WEIGHT + 1e-6 * move) - bags(WEIGHT - 1e-6 * move)) / 2e-6
    np.testing.assert_allclose((gradient * move).sum(), (steps * factors).sum(), rtol=1e-6)


def test_module() -> None:
    bag = nn.EmbeddingBag(6, 3, mode="sum", padding_idx=2)
    assert repr(bag).startswith("EmbeddingBag(6, 3, padding_idx=2, mode='sum')")
    assert not bag.weight.numpy()[2].any()
    made = nn.EmbeddingBag.from_pretrained(WEIGHT, mode="max")
    np.testing.assert_allclose(
        made(FLAT, np.array([0, 2])).numpy(), [WEIGHT[[0, 2]].max(0), WEIGHT[[1, 5, 3, 3]].max(0)]
    )
    assert not made.weight.requires_grad
    traced = weft.symbolic_trace(nn.Sequential(made))
    np.testing.assert_allclose(traced(ROWS).numpy(), made(ROWS).numpy())


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="mode is 'sum', 'mean' or 'max', got 'min'"):
        nn.EmbeddingBag(3, 2, mode="min")
    with pytest.raises(ValueError, match="max_norm, scale_grad_by_freq and sparse"):
        nn.EmbeddingBag(3, 2, max_norm=1.0)
    with pytest.raises(ShapeError, match="offsets are given for an input of one dimension"):
        F.embedding_bag(FLAT, WEIGHT)
