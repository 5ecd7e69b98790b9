"""Compiled functions of Tensors and Modules: results and gradients are those of the plain call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn

X = np.linspace(0.1, 1.0, 6)


def gradients(function: Callable[..., Any], *arrays: Any) -> tuple[Any, list[Any]]:
    tensors = [weft.tensor(array, requires_grad=True) for array in arrays]
    result = function(*tensors)
    assert isinstance(result, weft.Tensor)
    result.sum().backward()
    return result.numpy(), [None if one.grad is None else one.grad.numpy() for one in tensors]


def looped(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = y * x + 0.1
    return y


def looped_until(x: Any) -> Any:
    y = x
    while y.sum() < 100:
        y = y * 1.5
    return y.sum()


def branched(x: Any) -> Any:
    return (x * 2).sum() if x.sum() > 3 else (x * x).sum()


def written(x: Any) -> Any:
    y = x * 1
    for i in range(1, 6):
        y[i] = y[i - 1] * x[i]
    return y.sum()


def written_in_a_long_loop(x: Any, n: int = 30) -> Any:
    y = weft.tensor(np.zeros(6))
    for i in range(n):
        y[i % 6] = y[i % 6] + x[i % 6] * x[0]
    return y.sum()


def updated(x: Any) -> Any:
    y = x * 2
    y += x
    y[1:] = x[:-1] * x[1:]
    return (y + x).sum()


def elements(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[-1 - i]
    return total


def partly_recorded(x: Any) -> Any:
    with weft.no_grad():
        y = x * 2
        with weft.enable_grad():
            z = x * 3
    return (x + y * x + z).sum()


@weft.no_grad()
def unrecorded(x: Any) -> Any:
    return x * x


PROGRAMS: dict[str, Callable[..., Any]] = {
    "operators": lambda x: (x * x + 1 / x).sum(),
    "numpy functions": lambda x: np.tanh(x) * np.sum(np.exp(x)),
    "weft functions": lambda x: weft.relu(x - 0.5) + weft.softmax(x),
    "loop": looped,
    "while": looped_until,
    "branch": branched,
    "item assignment": written,
    "item assignment in a loop": written_in_a_long_loop,
    "in place": updated,
    "elements": elements,
    "no_grad": partly_recorded,
    "no_grad as a decorator": lambda x: x * unrecorded(x),
    "detach": lambda x: (x + x.detach() * x).sum(),
    "made of parts": lambda x: weft.stack([x[0] * x[1], x[2] ** 2]),
    "sum of a comprehension": lambda x: sum([v * v for v in x]),
    "sum of chosen elements": lambda x: sum([v * v for v in x if v > 0.3]),
    "part of a comprehension": lambda x: weft.stack([v * x[0] for v in x][1:]),
    "tensor made inside": lambda x: x * weft.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    program = PROGRAMS[name]
    compiled = weft.compile(program)
    for x in (X, X, X[::-1] * 2):
        (value, (gradient,)), (got, (found,)) = gradients(program, x), gradients(compiled, x)
        np.testing.assert_allclose(got, value, rtol=1e-12)  # sums in another order
        np.testing.assert_allclose(found, gradient, rtol=1e-12)
    assert compiled.cache_info().misses == 1


def test_gradients_by_differences() -> None:
    step = 1e-6
    _, (gradient,) = gradients(weft.compile(written), X)
    for i in range(6):
        moved = [X + step * (np.arange(6) == i), X - step * (np.arange(6) == i)]
        high, low = (written(x) for x in moved)
        assert gradient[i] == pytest.approx((high - low) / (2 * step), rel=1e-6)


def test_arrays_and_tensors_have_graphs_of_their_own() -> None:
    compiled = weft.compile(lambda x: x * 2)
    assert isinstance(compiled(X), np.ndarray)
    assert isinstance(compiled(weft.tensor(X)), weft.Tensor)
    assert compiled.cache_info().misses == 2
    assert not compiled(weft.tensor(X)).requires_grad
    assert compiled(weft.tensor(X, requires_grad=True)).requires_grad


def test_tensors_from_outside_get_gradients() -> None:
    w = weft.tensor(np.ones(6), requires_grad=True)
    compiled = weft.compile(lambda x: (x * w).sum())
    for _ in range(2):
        w.grad = None
        compiled(X).backward()
        np.testing.assert_array_equal(w.grad.numpy(), X)


def test_written_arguments() -> None:
    def program(x: Any, y: Any) -> Any:
        y[1] = x[0] * 2
        return y

    for function in (program, weft.compile(program)):
        x, y = weft.tensor(X, requires_grad=True), weft.tensor(X)
        result = function(x, y)
        assert result is y
        result.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2, 0, 0, 0, 0, 0])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.last = nn.Linear(4, 1)

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        h = self.first(x)
        if h.sum() > 0:
            h = h * 2
        return (self.last(weft.relu(h)) * scale).sum()


INPUT = np.random.default_rng(0).random((5, 3)).astype("float32")


def test_modules() -> None:
    weft.manual_seed(0)
    net = Net()
    compiled = weft.compile(net)
    x = weft.tensor(INPUT)
    optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        plain = net(x, scale=2.0)
        plain.backward()
        expected = [p.grad.numpy().copy() for p in net.parameters()]
        optimizer.zero_grad()
        loss = compiled(x, scale=2.0)
        loss.backward()
        assert loss.item() == pytest.approx(plain.item(), rel=1e-6)  # float32
        for p, gradient in zip(net.parameters(), expected, strict=True):
            np.testing.assert_allclose(p.grad.numpy(), gradient, rtol=1e-5, atol=1e-7)
        optimizer.step()
    assert compiled.cache_info().misses == 1


def test_modules_that_change_with_the_mode() -> None:
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.5))
    compiled = weft.compile(net)
    x = weft.tensor(INPUT)
    assert not np.array_equal(compiled(x).numpy(), compiled(x).numpy())
    net.eval()
    np.testing.assert_array_equal(compiled(x).numpy(), net(x).numpy())
    net.train()
    assert not np.array_equal(compiled(x).numpy(), compiled(x).numpy())


def test_modules_with_buffers() -> None:
    plain, net = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    compiled = weft.compile(net)
    x = weft.tensor(INPUT)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x).numpy(), plain(x).numpy(), rtol=1e-5)
    for name, value in plain.state_dict().items():
        np.testing.assert_allclose(np.asarray(net.state_dict()[name]), np.asarray(value), rtol=1e-5, err_msg=name)


def halve_until_small(x, w):
    n = 0
    while (x * x).sum() > 1e-1 and n < 5:
        x = x * 0.5 @ w
        n += 1
    return x.sum() * n


def test_a_test_that_is_a_tensor_or_a_number_of_pythons() -> None:
    compiled = weft.compile(halve_until_small)
    for scale in (1.0, 0.01, 100.0):
        x, other = (weft.tensor(scale * np.arange(6.0).reshape(2, 3), requires_grad=True) for _ in range(2))
        w = weft.tensor(np.eye(3))
        found, expected = compiled(x, w), halve_until_small(other, w)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy())
        for loss in (found, expected):
            loss.backward()
        np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy())
