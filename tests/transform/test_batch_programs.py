"""Random programs, batched: each is a list of steps on an array, a number and a counter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batching import batch_graph, by_rows, captured, gradient_of_sum, run_batched

from weft.transform._gradient import grad

SIDE = np.random.default_rng(1).normal(size=(4, 4)) / 2
STEPS = 20


def step(kind: int, x: Any, y: float, k: int) -> Any:
    """One of the steps."""
    if kind == 0:
        x = np.sin(x) * y
    elif kind == 1:
        y = float(y + x[k % 4])
    elif kind == 2:
        x = x.copy()
        x[k % 4] = y
    elif kind == 3:
        if y > 0.3:
            x = x * 2
        else:
            y = y - 1.0
    elif kind == 4:
        for i in range(k):
            x = x * 0.5 + i
    elif kind == 5:
        while y < 2.0:
            y = y + 0.7
            k = k + 1
    elif kind == 6:
        k = k + int(x.sum() > 0.37)
    elif kind == 7:
        x = x @ SIDE
    elif kind == 8:
        x = np.sort(x) - np.cumsum(x) / 3
    elif kind == 9:
        x = np.where(x > y, x, y)
    else:
        return other_step(kind, x, y, k)
    return x, y, k


def other_step(kind: int, x: Any, y: float, k: int) -> Any:
    if kind == 10:
        x = x.copy()
        x[x < 0] = 0.5
    elif kind == 11:
        for i in range(4):
            if x[i] > 1.0 and i < k:
                break
            y = float(y * 0.5 + x[i])
    elif kind == 12:
        y = float(np.max(x)) + k
    elif kind == 13:
        x = x[::-1] - x.mean()
    elif kind == 14:
        x = np.concatenate([x[1:], x[:1]]) + np.argmax(x)
    elif kind == 15:
        k = k % 3 + 1
    elif kind == 16:
        m = np.outer(x, x) + 4 * np.eye(4)
        x = np.linalg.solve(m, x)
    elif kind == 17:
        for i in range(k % 4):
            for j in range(i, 4):
                if x[j] < y:
                    x = x * 0.9
                else:
                    y = y + 0.1
    elif kind == 18:
        x = x[np.argsort(x)[np.array([0, 2, 1, 3])]]
    elif kind == 19:
        if k % 2 == 0:
            while k < 7:
                k = k + 2
                x = x / 2
        else:
            x = x + 1
    return x, y, k


def program(kinds: list[int]) -> Any:
    def run(x: Any, y: float, k: int) -> Any:
        for kind in kinds:
            x, y, k = step(kind, x, y, k)
        return x, y, k

    return run


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [int(kind) for kind in rng.permutation(STEPS)[:6]]
    function = program(kinds)
    x, y, k = rng.normal(size=(3, 4)), rng.normal(size=3), rng.integers(0, 6, 3)
    along = [bool(each) for each in rng.integers(0, 2, 3)]
    if not any(along):
        along = [True, True, True]
    like = [x[0], float(y[0]), int(k[0])]
    given = [each if has else one for each, one, has in zip((x, y, k), like, along, strict=True)]
    with np.errstate(all="ignore"):
        graph = captured(function, like)
        found = run_batched(graph, given, along, 3)
        wanted = by_rows(function, given, along, 3, like)
        for got, want in zip(found, wanted, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype), kinds
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=str(kinds))
        inner, _, rows = batch_graph(graph, given, along, 3)
        both = [np.stack([each, each[::-1]]) if has else each for each, has in zip(given, along, strict=True)]
        found = run_batched(inner, both, along, 2)
    for got, want, has in zip(found, wanted, rows, strict=True):
        if has:
            np.testing.assert_allclose(got, np.stack([want, want[::-1]]), rtol=1e-9, atol=1e-9, err_msg=str(kinds))


@pytest.mark.parametrize("seed", range(100, 116))
def test_gradient_of_random_program(seed: int) -> None:
    """Batched after it is differentiated, and before."""
    rng = np.random.default_rng(seed)
    kinds = [int(kind) for kind in rng.permutation(STEPS)[:5]]
    run = program(kinds)

    def loss(x: Any, y: float, k: int) -> Any:
        x, y, k = run(x, y, k)
        return np.sin(x).sum() + y * 0.1

    def slope(x: Any, y: float, k: int) -> Any:
        return grad(loss)(x, y, k)

    given = [rng.normal(size=(3, 4)), rng.normal(size=3), rng.integers(0, 6, 3)]
    along = [True, True, True]
    like = [given[0][0], float(given[1][0]), int(given[2][0])]
    with np.errstate(all="ignore"):
        (wanted,) = by_rows(slope, given, along, 3, like)
        (found,) = run_batched(captured(slope, like), given, along, 3)
        together = gradient_of_sum(captured(loss, like), given, along, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8, err_msg=str(kinds))
    np.testing.assert_allclose(together, wanted, rtol=1e-8, atol=1e-8, err_msg=str(kinds))
