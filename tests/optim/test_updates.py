"""Every update against a plain NumPy write-out of its published formula, whatever the layout of the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn, optim
from weft.errors import AutogradError
from weft.optim import _blocks

STEPS = 12
Array = np.ndarray[Any, Any]


def sgd(x: Array, gradients: list[Array], lr: float, momentum: float, decay: float, nesterov: bool) -> Array:
    b = None
    for g in gradients:
        g = g + decay * x
        b = g if b is None else momentum * b + g
        x = x - lr * (g + momentum * b if nesterov else b)
    return x


def adam(x: Array, gradients: list[Array], lr: float, betas: tuple[float, float], decay: float, amsgrad: bool) -> Array:
    m, v, top = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for n, g in enumerate(gradients, 1):
        x = x - lr * decay * x
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        top = np.maximum(top, v)
        square = (top if amsgrad else v) / (1 - betas[1] ** n)
        x = x - lr * (m / (1 - betas[0] ** n)) / (np.sqrt(square) + 1e-8)
    return x


def rmsprop(x: Array, gradients: list[Array], lr: float, alpha: float, momentum: float, centered: bool) -> Array:
    square, mean, b = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for g in gradients:
        square = alpha * square + (1 - alpha) * g**2
        mean = alpha * mean + (1 - alpha) * g
        b = momentum * b + g / (np.sqrt(square - mean**2 if centered else square) + 1e-8)
        x = x - lr * b
    return x


def adagrad(x: Array, gradients: list[Array], lr: float, lr_decay: float, first: float) -> Array:
    total = np.full_like(x, first)
    for n, g in enumerate(gradients):
        total = total + g**2
        x = x - lr / (1 + n * lr_decay) * g / (np.sqrt(total) + 1e-10)
    return x


def lion(x: Array, gradients: list[Array], lr: float, betas: tuple[float, float], decay: float) -> Array:
    """Chen et al. 2023, Program 1, with the decay multiplied by the learning rate as there."""
    m = np.zeros_like(x)
    for g in gradients:
        update = np.sign(betas[0] * m + (1 - betas[0]) * g)
        x = x - lr * (update + decay * x)
        m = betas[1] * m + (1 - betas[1]) * g
    return x


CASES: list[tuple[str, dict[str, Any], Callable[[Array, list[Array]], Array]]] = [
    ("SGD", {"lr": 0.1}, lambda x, g: sgd(x, g, 0.1, 0, 0, False)),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3}, lambda x, g: sgd(x, g, 0.1, 0.9, 0.3, False)),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, lambda x, g: sgd(x, g, 0.1, 0.9, 0, True)),
    ("Adam", {"lr": 0.1}, lambda x, g: adam(x, g, 0.1, (0.9, 0.999), 0, False)),
    ("Adam", {"amsgrad": True, "betas": (0.5, 0.6)}, lambda x, g: adam(x, g, 0.001, (0.5, 0.6), 0, True)),
    ("AdamW", {"lr": 0.1}, lambda x, g: adam(x, g, 0.1, (0.9, 0.999), 0.01, False)),
    ("RMSprop", {"lr": 0.1}, lambda x, g: rmsprop(x, g, 0.1, 0.99, 0, False)),
    ("RMSprop", {"momentum": 0.9, "centered": True}, lambda x, g: rmsprop(x, g, 0.01, 0.99, 0.9, True)),
    ("Adagrad", {"lr": 0.1}, lambda x, g: adagrad(x, g, 0.1, 0, 0)),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 2}, lambda x, g: adagrad(x, g, 0.01, 0.1, 2)),
    ("Lion", {}, lambda x, g: lion(x, g, 1e-4, (0.9, 0.99), 0)),
    ("Lion", {"lr": 0.1, "betas": (0.3, 0.8), "weight_decay": 0.2}, lambda x, g: lion(x, g, 0.1, (0.3, 0.8), 0.2)),
    ("Lion", {"lr": 0.1, "betas": (0.0, 0.5)}, lambda x, g: lion(x, g, 0.1, (0.0, 0.5), 0)),
]

# How the parameter's memory lies: in order, transposed, strided, read-only, and too large for one block.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "in order": np.array,
    "transposed": lambda x: np.array(x.T).T,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "read-only": lambda x: _read_only(np.array(x)),
}


def _read_only(x: Array) -> Array:
    x.flags.writeable = False
    return x


def gradients(shape: tuple[int, ...], count: int = STEPS) -> list[Array]:
    random = np.random.default_rng(1)
    return [random.standard_normal(shape) for _ in range(count)]


@pytest.mark.parametrize("block", [64, _blocks.BLOCK])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "options", "expected"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_update(
    name: str, options: dict[str, Any], expected: Any, layout: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_blocks, "BLOCK", block)
    x = np.random.default_rng(0).standard_normal((5, 7))
    p = nn.Parameter(LAYOUTS[layout](x))
    memory = p.numpy()
    optimizer = getattr(optim, name)([p], **options)
    steps = gradients(x.shape)
    for i, g in enumerate(steps):
        p.grad = weft.tensor(g if i % 2 else np.asfortranarray(g))
        optimizer.step()
        assert np.array_equal(p.grad.numpy(), g)
    np.testing.assert_allclose(p.numpy(), expected(x, steps), rtol=1e-12, atol=1e-14)
    if layout == "read-only":
        assert np.array_equal(memory, x)
    else:
        assert p.numpy() is memory, "the update is made in place"


@pytest.mark.parametrize(("name", "options", "expected"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_complex_numbers_are_pairs_of_real_ones(name: str, options: dict[str, Any], expected: Any) -> None:
    x, steps = np.random.default_rng(0).standard_normal((3, 2, 2)), gradients((3, 2, 2))
    p = nn.Parameter(x.copy().view(np.complex128)[..., 0])
    optimizer = getattr(optim, name)([p], **options)
    for g in steps:
        p.grad = weft.tensor(g.view(np.complex128)[..., 0])
        optimizer.step()
    np.testing.assert_allclose(p.numpy()[..., None].view(np.float64), expected(x, steps), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64])
def test_dtypes_stay(name: str, dtype: Any) -> None:
    more = {"momentum": np.float64(0.9)} if name in ("SGD", "RMSprop") else {}
    p = nn.Parameter(np.ones(3, dtype))
    # A NumPy scalar promotes where a Python number does not; schedules and users may leave one in a group.
    optimizer = getattr(optim, name)([p], lr=np.float64(0.5), weight_decay=np.float64(0.5), **more)
    for _ in range(2):
        p.grad = weft.tensor(np.ones(3, dtype))
        optimizer.step()
    assert p.dtype == dtype
    assert {v.dtype for v in optimizer.state[p].values() if isinstance(v, weft.Tensor)} <= {np.dtype(dtype)}
    assert (p.numpy() != 1).all()


@pytest.mark.parametrize("decay", [0, 0.1])
def test_maximize_climbs(decay: float) -> None:
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion"):
        p, q = nn.Parameter([1.0, -2.0]), nn.Parameter([1.0, -2.0])
        up, down = (
            getattr(optim, name)([t], lr=0.1, weight_decay=decay, maximize=m) for t, m in ((p, True), (q, False))
        )
        for g in gradients((2,)):
            p.grad, q.grad = weft.tensor(-g), weft.tensor(g)
            up.step()
            down.step()
        np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_parameters_without_gradients_stay() -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    optimizer = optim.Adam([p, q], weight_decay=0.5)
    p.grad = weft.tensor([1.0])
    optimizer.step()
    assert q.tolist() == [1.0] and q not in optimizer.state
    assert p.tolist() != [1.0]
    assert list(optimizer.state_dict()["state"]) == [0]


def test_a_module_cast_in_between() -> None:
    p = nn.Parameter(np.ones(3, np.float32))
    optimizer = optim.Adam([p])
    for dtype in (np.float32, np.float64):
        p.data = p.numpy().astype(dtype)
        p.grad = weft.tensor(np.ones(3, dtype))
        optimizer.step()
    assert p.dtype == optimizer.state[p]["exp_avg"].dtype == np.float64


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion", "LBFGS"])
@pytest.mark.parametrize("layout", ["in order", "transposed"])
def test_backward_sees_that_values_were_written(name: str, layout: str) -> None:
    """The tape must not use a parameter's new values for a result computed with the old ones."""
    p = nn.Parameter(LAYOUTS[layout](np.ones((2, 3))))
    loss = (p * p).sum()
    p.grad = weft.tensor(np.ones((2, 3)))
    getattr(optim, name)([p]).step(lambda: 1.0)
    with pytest.raises(AutogradError, match="written in place since"):
        loss.backward()


def test_lbfgs_finds_what_scipy_finds() -> None:
    from scipy.optimize import minimize, rosen, rosen_der

    x = weft.tensor(np.linspace(-1, 1.5, 6), requires_grad=True)
    optimizer = optim.LBFGS([x], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-9)
    seen = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        np.testing.assert_allclose(loss.item(), rosen(x.numpy()))
        np.testing.assert_allclose(x.grad.numpy(), rosen_der(x.numpy()), atol=1e-9)
        seen.append(loss.item())
        return loss

    first = optimizer.step(closure)
    assert first.item() == seen[0]
    best = minimize(
        rosen, np.linspace(-1, 1.5, 6), jac=rosen_der, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    )
    np.testing.assert_allclose(x.numpy(), best.x, atol=1e-6)
    assert min(seen) < 1e-12


def test_lbfgs_remembers_no_more_than_it_is_told_to() -> None:
    x = weft.tensor([3.0, -2.0, 1.0], requires_grad=True)
    optimizer = optim.LBFGS([x], lr=0.1, max_iter=8, history_size=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert [len(optimizer.state[x][name]) for name in ("old_dirs", "old_stps", "ro")] == [3, 3, 3]


def test_lbfgs_of_a_line_that_falls_for_ever_or_is_no_number() -> None:
    for slope in (-1.0, float("nan")):
        x = weft.tensor([0.0, 0.0], requires_grad=True)
        optimizer = optim.LBFGS([x], max_iter=2, line_search_fn="strong_wolfe")

        def closure(x: Any = x, slope: float = slope) -> Any:
            x.grad = weft.tensor([slope, slope])
            return weft.tensor(slope * (x.numpy()[0] + x.numpy()[1]))

        optimizer.step(closure)
        assert optimizer.state[x]["func_evals"] < 60


def test_lbfgs_of_complex_and_mixed_parameters() -> None:
    z, x = nn.Parameter([1 + 2j, -1j]), nn.Parameter(np.array([3.0], np.float32))
    target = np.array([2 - 1j, 4j])
    optimizer = optim.LBFGS([z, x], lr=0.5, max_iter=60)

    def closure() -> float:
        z.grad = weft.tensor(2 * (z.numpy() - target))
        x.grad = weft.tensor(2 * (x.numpy() - 1))
        return float((np.abs(z.numpy() - target) ** 2).sum() + ((x.numpy() - 1) ** 2).sum())

    optimizer.step(closure)
    np.testing.assert_allclose(z.numpy(), target, atol=1e-4)
    np.testing.assert_allclose(x.numpy(), [1.0], atol=1e-4)
    assert x.dtype == np.float32


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_closure_that_fails_leaves_the_parameters_where_they_were(search: str | None) -> None:
    x = weft.tensor([1.0, -3.0], requires_grad=True)
    optimizer = optim.LBFGS([x], line_search_fn=search)
    calls = []

    def closure() -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("out of data")
        optimizer.zero_grad()
        loss = (x**4).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="out of data"):
        optimizer.step(closure)
    assert x.tolist() == [1.0, -3.0]
    optimizer.step(closure)
    assert np.abs(x.numpy()).max() < 3
