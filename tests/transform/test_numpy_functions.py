"""Functions of NumPy, Python and SciPy that are no ops of their own: gradients against differences, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import weft
from weft.errors import NotDifferentiable

X = np.random.default_rng(0).random(4) + 0.5
M = np.random.default_rng(1).random((4, 4)) + np.eye(4) * 3
WEIGHTS = np.random.default_rng(2).random(40)
MASK = np.array([True, False, True, True])
windows = np.lib.stride_tricks.sliding_window_view


def weighed(y: Any) -> Any:
    y = y.reshape(-1)
    return (y * WEIGHTS[: y.shape[0]]).sum()


def put(x: Any) -> Any:
    y = x**2
    np.put(y, [0, 3, 2], x[:2] * 3)
    return weighed(y)


def putmask(x: Any) -> Any:
    y = x**2
    np.putmask(y, x > 1, x[:3] * 3)
    return weighed(y)


def place(x: Any) -> Any:
    y = x**2
    np.place(y, MASK, x[:2])
    return weighed(y)


def fill_diagonal(x: Any) -> Any:
    y = x**2
    np.fill_diagonal(y, x[0, :3])
    return weighed(y)


def largest_at(x: Any) -> Any:
    y = np.full(3, -np.inf)
    y[1] = 0.7
    np.maximum.at(y, [0, 1, 0, 2], x**2)
    return weighed(y)


def smallest_at(x: Any) -> Any:
    y = x * 2
    np.minimum.at(y, np.array([0, 1, 0]), x[1:] * x[0])
    return weighed(y)


def powers_at(x: Any) -> Any:
    y = x * 2
    np.power.at(y, [0, 1, 0], x[1:])
    return y.sum()


def eigenvectors(x: Any) -> Any:
    values, vectors = np.linalg.eig(x + 0j)
    return np.abs(values).sum() + np.abs(vectors[0]).sum()


PROGRAMS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "put": (put, X),
    "putmask": (putmask, X),
    "place": (place, X),
    "maximum.at": (largest_at, X),
    "minimum.at": (smallest_at, X),
    "fill_diagonal": (fill_diagonal, M),
    "sliding_window_view": (lambda x: weighed(windows(x, 2) ** 2), X),
    "sliding_window_view of planes": (lambda x: weighed(windows(x, (2, 3)).sum((2, 3)) ** 2), M),
    "sliding_window_view along an axis": (lambda x: weighed(windows(x, 2, axis=-1)[0] ** 2), M),
    "math.gamma": (lambda x: math.gamma(x[0]) * x[1] + math.gamma(x[0] - 3), X),
    "math.lgamma": (lambda x: math.lgamma(x[0] * 3) + math.lgamma(-x[1]), X),
    "i0": (lambda x: weighed(np.i0(x - 1)), X),
    "kaiser": (lambda x: weighed(np.kaiser(5, x[0] * 3)), X),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x), X),
    "logaddexp.accumulate": (lambda x: weighed(np.logaddexp.accumulate(x)), X),
    "hypot.reduce": (lambda x: np.hypot.reduce(x), X),
    "eigvals": (lambda x: np.abs(np.linalg.eigvals(x + 0j)).max(), M),
    "eig": (eigenvectors, M),
    "softmax": (lambda x: weighed(special.softmax(x)), X),
    "logit": (lambda x: weighed(special.logit(x / 3)), X),
    "xlogy": (lambda x: weighed(special.xlogy(np.array([0.0, 1.0, 2.0, 3.0]) * x, x)), X),
    "xlog1py": (lambda x: weighed(special.xlog1py(x, x)), X),
}
for each in "erf erfc expit log_expit gamma gammaln psi i0 i1 exp2 exp10 expm1 log1p cbrt entr ndtr".split():
    PROGRAMS[f"special.{each}"] = ((lambda of: lambda x: weighed(of(x)))(getattr(special, each)), X)
if hasattr(np, "matvec"):
    PROGRAMS["matvec"] = (lambda x: weighed(np.matvec(x, x[0])), M)
    PROGRAMS["vecmat"] = (lambda x: weighed(np.vecmat(x[1], x)), M)


def differences(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    found = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        found[index] = (function(x + step) - function(x - step)) / 2e-6
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    function, x = PROGRAMS[name]
    expected = differences(function, x)
    # Of differences, about 1e-9 is left to see; the values are below 100.
    value, found = weft.value_and_grad(function)(x)
    np.testing.assert_allclose(value, function(x), rtol=1e-14)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(weft.jvp(function, (x,), (direction,))[1], (expected * direction).sum(), rtol=1e-6)
    rows = np.stack([x, x * 1.01])
    np.testing.assert_allclose(weft.vmap(function)(rows), [function(row) for row in rows], rtol=1e-12)


ON_TENSORS: list[Callable[[Any], Any]] = [
    lambda x: np.add.reduce(x**2),
    lambda x: weighed(np.multiply.accumulate(x)),
    lambda x: np.logaddexp.reduce(x),
    lambda x: weighed(np.add.reduceat(x**2, [0, 2, 1])),
    lambda x: weighed(np.subtract.outer(x, x**2)),
    lambda x: np.sum(x**2, where=MASK),
    lambda x: np.max(x**2, where=MASK, initial=0.1),
    lambda x: weighed(special.gammaln(x) * special.expit(x)),
]


@pytest.mark.parametrize("function", ON_TENSORS)
def test_on_the_tape(function: Callable[[Any], Any]) -> None:
    x = weft.tensor(X, requires_grad=True)
    function(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad, differences(function, X), rtol=1e-6, atol=1e-8)


def test_refusals_say_what_and_where() -> None:
    for function, name in (
        (lambda x: np.subtract.reduce(x), r"numpy\.subtract\.reduce"),
        (powers_at, r"numpy\.power\.at"),
        (lambda x: special.j0(x).sum(), r"scipy\.special\.j0"),
        (lambda x: np.pad(x, 2, mode="maximum").sum(), r"numpy\.pad"),
        (lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd").sum(), r"numpy\.pad"),
    ):
        with pytest.raises(NotDifferentiable, match=f"^{name} has no derivative rule") as caught:
            weft.grad(function)(X)
        assert "test_numpy_functions.py" in str(caught.value)
    with pytest.raises(NotDifferentiable, match="eigvals has no derivative: what it gives") as caught:
        weft.grad(lambda x: np.linalg.eigvals(x).real.reshape(-1).sum())(M)
    assert "np.linalg.eigvals(a + 0j)" in str(caught.value)
