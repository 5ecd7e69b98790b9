"""Training steps run twice, as plain Python and compiled, from one seed, side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
import weft.nn.functional as F
from weft import nn, optim


class Run:
    """A training run: what `make` makes from a seed: a model, an optimiser, a step, and what else belongs to it."""

    def __init__(self, make: Callable[[], Any], compiled: bool) -> None:
        weft.manual_seed(0)
        self.model, self.optimizer, step, *self.rest = make()
        self.step = weft.compile(step) if compiled else step
        weft.manual_seed(7)


def compare(
    make: Callable[[], Any],
    batches: Callable[[int], tuple[Any, ...]] | None = None,
    steps: int = 12,
    *,
    captures: int | None = 1,
    exact: bool = True,
    between: Callable[[Run, int], object] = lambda run, k: None,
) -> Any:
    """Run both ways and compare results and all state after each step; the compiled step is returned.

    Results are the same to the last bit, unless `exact` is False: then sums may have been made in another order.
    `captures` is how many graphs there are in the end, None where that is not the point.
    """
    histories = []
    for compiled in (False, True):
        run = Run(make, compiled)
        history = []
        for k in range(steps):
            result = run.step(*(regression(k) if batches is None else batches(k)))
            history.append(copy.deepcopy((detached(result), state_of(run))))
            between(run, k)
        histories.append(history)
    for k, (plain, captured) in enumerate(zip(*histories, strict=True)):
        same(plain, captured, f"step {k}: ", exact)
    step = run.step
    assert not step._ran_plainly, step.explain()
    assert captures is None or step.cache_info().misses == captures, step.why_recompiled()
    return step


def state_of(run: Run) -> dict[str, Any]:
    """Everything that a step may change."""
    return {
        "model": dict(run.model.state_dict()),
        "grads": [p.grad for p in run.model.parameters()],
        "optimizer": run.optimizer.state_dict(),
        "random": weft.random.get_state(),
    }


def detached(value: Any) -> Any:
    return weft.pytree.map(lambda leaf: leaf.detach() if isinstance(leaf, weft.Tensor) else leaf, value)


def same(one: Any, other: Any, where: str, exact: bool) -> None:
    """Assert that two values are the same."""
    tensors = isinstance(one, weft.Tensor) and isinstance(other, weft.Tensor)
    assert tensors or type(one) is type(other), where
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            same(one[key], other[key], f"{where}[{key!r}]", exact)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{where}[{k}]", exact)
    elif tensors:
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        arrays_agree(one.numpy(), other.numpy(), where, exact)
    elif isinstance(one, (np.ndarray, float)):
        arrays_agree(np.asarray(one), np.asarray(other), where, exact)
    else:
        assert one == other, where


def arrays_agree(one: Any, other: Any, where: str, exact: bool) -> None:
    if exact:
        np.testing.assert_array_equal(one, other, err_msg=where)
    else:
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=where)


# Data, models, steps


def regression(k: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    return weft.tensor(rng.normal(size=(8, 6)).astype(dtype)), weft.tensor(rng.normal(size=(8, 2)).astype(dtype))


def images(k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    return weft.tensor(rng.normal(size=(4, 2, 8, 8))), weft.tensor(rng.integers(0, 3, size=4))


def mlp() -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(np.float64)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True)
        self.last = nn.Linear(6, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.layer(x[:, None, :]))[:, 0]


def usual(net: Any, opt: Any, x: Any, y: Any, loss: Any = F.mse_loss) -> Any:
    """The usual step."""
    opt.zero_grad()
    value = loss(net(x), y)
    value.backward()
    opt.step()
    return value


def stepping(body: Any, optimizer: Any = optim.Adam, model: Any = mlp, **options: Any) -> Any:
    """What makes a run whose step is `body(net, opt, *batch)`."""

    def make() -> Any:
        net = model()
        opt = optimizer(net.parameters(), **options)
        return net, opt, lambda *batch: body(net, opt, *batch)

    return make


def trained(
    model: Callable[[], Any] = mlp,
    optimizer: Any = optim.Adam,
    loss: Any = F.mse_loss,
    dtype: Any = np.float64,
    **options: Any,
) -> Callable[[], Any]:
    """What makes a run of the usual step."""
    return stepping(lambda *given: usual(*given, loss=loss), optimizer, lambda: model().to(dtype), **options)
