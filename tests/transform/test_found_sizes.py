"""Sizes that the run brings, as those of `x[mask]`, and Python's own sums over arrays: derivatives and batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft

X = np.array([1.0, 2.0, 3.0, 0.5, -1.0])
MASK = np.array([True, False, True, True, False])


def _picked(x: Any, mask: Any) -> Any:
    return np.sum(np.sin(x[mask]) ** 2)


def _joined(x: Any, mask: Any) -> Any:
    both = np.concatenate([x[mask], x[~mask]])
    return np.sum(both**2 * np.arange(len(both)))


def _written(x: Any, mask: Any) -> Any:
    x = x.copy()
    found = x[mask]
    where = np.nonzero(mask)[0]
    x[where] += np.cumsum(found) * found
    return np.sum(x**2)


def _in_a_loop(x: Any, mask: Any) -> Any:
    total = 0.0
    for k in range(3):
        found = x[mask] * (k + 1)
        between = np.zeros(len(found))
        between[1:] = found[:-1] * found[1:]
        total += np.sum(np.sin(between)) + found.mean()
        x = x.copy()
        x[mask] = found * 0.5
    return total


def _in_a_branch(x: Any, mask: Any) -> Any:
    if x[0] > 0:
        found = x[mask]
        return np.sum(found**2 * np.arange(len(found)))
    return x[0] * x[mask].sum()


MASKED = (_picked, _joined, _written, _in_a_loop, _in_a_branch)


def _differences(f: Any, x: Any, *rest: Any) -> Any:
    rows = np.eye(len(x)) * 1e-6
    return np.array([(f(x + row, *rest) - f(x - row, *rest)) / 2e-6 for row in rows])


@pytest.mark.parametrize("f", MASKED, ids=lambda f: f.__name__)
def test_masked(f: Any) -> None:
    slope = weft.grad(f)
    wanted = _differences(f, X, MASK)
    np.testing.assert_allclose(slope(X, MASK), wanted, rtol=1e-6, atol=1e-8)
    along = np.arange(1.0, 6.0)
    value, found = weft.jvp(f, (X, MASK), (along, None))
    np.testing.assert_allclose([value, found], [f(X, MASK), wanted @ along], rtol=1e-6)
    second = weft.hvp(f, (X, MASK), (along, None))
    step = 1e-6 * along
    apart = (slope(X + step, MASK) - slope(X - step, MASK)) / 2e-6
    np.testing.assert_allclose(second[0] if isinstance(second, tuple) else second, apart, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", MASKED, ids=lambda f: f.__name__)
def test_batches_of_masked(f: Any) -> None:
    rows = np.stack([X, -X, X * 1.5])
    wanted = np.stack([weft.grad(f)(row, MASK) for row in rows])
    np.testing.assert_allclose(weft.vmap(weft.grad(f), in_axes=(0, None))(rows, MASK), wanted)
    inside = weft.grad(lambda rows: weft.vmap(lambda row: f(row, MASK))(rows).sum())
    np.testing.assert_allclose(inside(rows), wanted)


SUMS = {
    "sum": lambda x: sum(x) + sum(x * x, 1.0),
    "a start that varies": lambda x: sum(x**2, x[0]),
    "a generator": lambda x: sum(v**2 for v in x),
    "a list": lambda x: sum([math.exp(v) for v in x]),
    "some": lambda x: sum(np.log(v) for v in x if v > 0.7),
    "fsum": lambda x: math.fsum(x * x),
    "prod": lambda x: math.prod(x),
    "dist": lambda x: math.dist(x, x[::-1] * 2),
    "extremes": lambda x: max(v * v for v in x) - min(v for v in x),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_python(name: str) -> None:
    f = SUMS[name]
    slope = weft.grad(f)
    wanted = _differences(f, X)
    np.testing.assert_allclose(slope(X), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weft.jvp(f, (X,), (np.ones(5),))[1], wanted.sum(), rtol=1e-6)
    rows = np.stack([X, X * 1.1])
    np.testing.assert_allclose(weft.vmap(slope)(rows), [slope(row) for row in rows])
    slope(np.append(X, 4.0))
    assert slope.cache_info().misses == 1, "a loop, not one graph for each length"


_BINS = np.array([0, 1, 1, 3, 0])


def _counted(x: Any) -> Any:
    return np.bincount(_BINS, weights=x)


def _counted_and_divided(x: Any) -> Any:
    counts = np.bincount(_BINS, weights=x)
    return counts / len(counts)


def _running(x: Any) -> Any:
    return np.maximum.accumulate(x[x > 0.2])


def _twice(x: Any) -> Any:
    some = x[x > 0.2]
    both = np.maximum.accumulate(np.concatenate([some, some]))
    return both * np.ones(2 * len(some))  # the size is computed behind what has it


def _products(x: Any) -> Any:
    return np.einsum("i,j->ij", x[x > 0.2], x)


def _between(x: Any) -> Any:
    return np.interp(x[x > 0.2], [0.0, 9.0], [1.0, 3.0])


def _on_the_diagonal(x: Any) -> Any:
    return np.diag(x[x > 0.2])


@pytest.mark.parametrize(
    "f",
    [_counted, _counted_and_divided, _running, _twice, _products, _between, _on_the_diagonal],
    ids=lambda f: f.__name__,
)
def test_tangents_of_results_whose_size_is_found(f: Any) -> None:
    along = np.linspace(-1.0, 2.0, 5)
    wanted = (f(X + 1e-6 * along) - f(X - 1e-6 * along)) / 2e-6
    value, found = weft.jvp(f, (X,), (along,))
    np.testing.assert_array_equal(value, f(X))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weft.linearize(f, X)[1](along), wanted, rtol=1e-6, atol=1e-8)
