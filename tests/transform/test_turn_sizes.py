"""Loops whose turns compute with arrays of other sizes each: every derivative, and many examples.

What each gives is checked against differences of the plain program, or of its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

POINT = np.array([0.9, 0.3, 1.2, 0.5, 0.7, 1.1, 0.4, 0.8, 1.3, 0.6, 1.0])  # no two are the same, for medians and sorts


def _medians(x: Any) -> Any:
    t = 0.0
    for i in range(1, len(x)):
        t = t + np.median(x[:i]) * i
    return t


def _products(x: Any) -> Any:
    t = 0.0
    for i in range(1, len(x)):
        t = t + np.sum(np.exp(-((x[:i, None] * x[None, :i]) ** 2)))
    return t


def _windows(x: Any) -> Any:
    t = 0.0
    for i in range(1, len(x)):
        low, high = max(0, i - 3), min(len(x), i + 2)
        t = t + x[low:high].std() * x[i]
    return t


def _solved(x: Any) -> Any:
    t = 0.0
    for i in range(1, len(x)):
        k = np.eye(i) + np.outer(x[:i], x[:i])
        t = t + np.linalg.solve(k, x[:i]) @ x[:i]
    return t


def _largest(x: Any) -> Any:
    t = 0.0
    for i in range(1, len(x)):
        s = x[:i]
        t = t + (s.max() ** 2 if i > 2 else s.sum() ** 3)
    return t


def _written(x: Any) -> Any:
    y = x * x
    for i in range(1, len(x)):
        y[i:] = y[i:] + np.cumsum(y[: len(x) - i]) * 0.1
    return y @ y


def _last(x: Any) -> Any:
    """A variable that the loop assigns first, read after it."""
    s = 0.0
    for i in range(12):
        y = np.outer(x, x) * (i + 1)
        s += y.sum()
    return s + y[0, 1] ** 2


def _columns(x: Any) -> Any:
    """Slices of two arrays that nothing says are as wide as each other."""
    a, b, t = x[:6].reshape(2, 3), x[2:].reshape(3, 3), np.zeros((2, 3))
    for i in range(a.shape[1]):
        t += a[:, i : i + 1] @ np.sin(b[:, i : i + 1]).T * np.squeeze(b[:1, i : i + 1], axis=1)
    return np.sum(t**2)


def _blocks(x: Any) -> Any:
    k, t = 3, np.zeros(3)
    for i in range(len(x) // k):
        t = t + np.sin(x[k * i : k * (i + 1)]) * x[i : i + k]
    return t @ t


WIDTHS = np.array([4, 3, 2])


def _folded(x: Any) -> Any:
    """Rows as wide as an array tells, and parts of them, in a loop over as many as there are."""
    t = 0.0
    for width in WIDTHS:
        rows = np.reshape(x[: len(x) - len(x) % width], (len(x) // width, width))
        for i in range(len(rows)):
            t = t + rows[i][0] * np.sin(rows[i][1]) * (i + 1)
    return t


def _largest_of_rows(x: Any) -> Any:
    t, rows = 0.0, np.outer(x, x[:3])
    for i in range(1, len(x)):
        t = t + np.sum(np.max(rows[:i], axis=1) ** 2) + np.prod(rows[i:], axis=1, keepdims=True).sum()
    return t


def _rows_of_columns(x: Any) -> Any:
    t = 0.0
    for n in np.array([2, 3, 5]):
        block = np.reshape(x[: len(x) - len(x) % n], (len(x) // n, n))
        shown = np.empty((len(block), n))
        for i in range(len(block)):
            shown[i] = block[i] * i
        column = np.reshape(x[:n], (n, 1))
        for i in range(len(column)):
            t = t + np.sum((column[i] * shown[0]) ** 2)
        t = t + np.sum(shown**2)
    return t


PROGRAMS = [_medians, _products, _windows, _solved, _largest, _written, _last, _columns, _blocks]
PROGRAMS += [_folded, _largest_of_rows, _rows_of_columns]


def _differences(function: Any, x: Any, step: float) -> Any:
    """The derivatives of a function at a point, those of a direction in the last axis."""
    moved = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(moved, axis=-1)


@pytest.mark.parametrize("derivative", [weft.grad, weft.jacrev, weft.jacfwd])
@pytest.mark.parametrize("program", PROGRAMS)
def test_first(program: Any, derivative: Any) -> None:
    np.testing.assert_allclose(derivative(program)(POINT), _differences(program, POINT, 1e-6), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second(program: Any) -> None:
    wanted = _differences(weft.grad(program), POINT, 1e-6)
    np.testing.assert_allclose(weft.hessian(program)(POINT), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS)
def test_many_examples(program: Any) -> None:
    points = np.stack([POINT, POINT[::-1] * 0.9])
    np.testing.assert_allclose(weft.vmap(program)(points), [program(x) for x in points], rtol=1e-12)
    wanted = [_differences(program, x, 1e-6) for x in points]
    np.testing.assert_allclose(weft.vmap(weft.grad(program))(points), wanted, rtol=1e-6, atol=1e-7)


def test_examples_of_different_turns() -> None:
    def program(x: Any, n: Any) -> Any:
        s = 0.0
        for i in range(n):
            y = np.outer(x, x) * (i + 1)
            s += y.sum()
        return s + y[0, 1]

    points, turns = np.stack([POINT[:3], POINT[3:6], POINT[6:9]]), np.array([2, 12, 9])
    wanted = [program(x, n) for x, n in zip(points, turns, strict=True)]
    np.testing.assert_allclose(weft.vmap(program)(points, turns), wanted, rtol=1e-12)
    slopes = [_differences(lambda x, n=n: program(x, n), x, 1e-6) for x, n in zip(points, turns, strict=True)]
    np.testing.assert_allclose(weft.vmap(weft.grad(program))(points, turns), slopes, rtol=1e-6)
    with pytest.raises(UnboundLocalError, match="'y'"):
        weft.vmap(program)(points, np.array([2, 0, 9]))
