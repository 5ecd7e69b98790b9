"""Arrays that a branch or a loop leaves with another size: programs that grow them, compiled and differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def _until_large(x: Any) -> Any:
    i, y = 0, x * 1
    while y.sum() < 50:
        y = np.concatenate([y, x[:1] + i * x[1]])
        i += 1
    return np.sum(y * y)


def _chosen(x: Any) -> Any:
    out = np.array([])
    for e in x:
        if e > 0.8:
            out = np.append(out, e * x[0])
    return np.sum(out**2) + len(out)


def _cut(x: Any) -> Any:
    y = x[:2] if x[0] > 1 else x * 2
    return np.sum(np.sin(y)) * len(y)


def _stack(x: Any) -> Any:
    stack, total = x[:1], 0.0
    while stack.size:
        v = stack[-1]
        stack = stack[:-1]
        total = total + v * v
        if v > 0.5 and total < 30:
            stack = np.append(stack, [v * 0.7, v * 0.6])
    return total


def _folded(x: Any) -> Any:
    y = x
    while len(y) > 1:
        y = y[::2] + y[1::2] if len(y) % 2 == 0 else y[1:] * y[0]
    return y[0] ** 2


def _rows(x: Any) -> Any:
    y = np.zeros((0, 3))
    for i in range(4):
        if x[i % 3] > 0.5:
            y = np.vstack([y, x * i])
    return np.sum(y @ x)


def _reshaped(x: Any, n: int = 3) -> Any:
    y = np.tile(x, 4)[: 2**n]
    return np.sum(y.reshape(2**n, -1) ** 2) + np.sum(y.reshape([2] * n)[0]) + np.sum(x[x > 0].reshape(1, -1)[0] ** 3)


PROGRAMS = [_until_large, _chosen, _cut, _stack, _folded, _rows, _reshaped]
POINTS = [np.array([1.2, 2.1, 0.7]), np.array([0.6, 1.4, 0.9])]


def _differences(function: Any, x: Any) -> Any:
    return np.stack([(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))], axis=-1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program: Any) -> None:
    compiled, scripted = weft.compile(program), weft.script(program)
    for x in POINTS:
        assert compiled(x) == scripted(x) == program(x)


@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program: Any) -> None:
    gradient = weft.grad(program)
    for x in POINTS:
        wanted = _differences(program, x)
        np.testing.assert_allclose(gradient(x), wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(weft.jvp(program, (x,), (x,)), (program(x), wanted @ x), rtol=1e-6)
        np.testing.assert_allclose(weft.hessian(program)(x), _differences(gradient, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS)
def test_many_examples(program: Any) -> None:
    wanted = [program(x) for x in POINTS]
    np.testing.assert_allclose(weft.vmap(program)(np.stack(POINTS)), wanted, rtol=1e-12)
    wanted = [_differences(program, x) for x in POINTS]
    np.testing.assert_allclose(weft.vmap(weft.grad(program))(np.stack(POINTS)), wanted, rtol=1e-6, atol=1e-7)
