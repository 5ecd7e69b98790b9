"""Loops whose turns give arrays of sizes that only running can tell: reverse mode, in every way it is to be had.

What each gives is checked against differences of the plain program, or of its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

VECTOR = np.array([0.34, 0.82, 0.33, -1.27, 0.91, 0.45])
MATRIX = np.random.default_rng(1).standard_normal((6, 4))
RIGHT = np.random.default_rng(2).standard_normal(6)
STEP = 1e-6


def _chosen(b: Any) -> Any:
    for it in range(12):
        z = b[b > it * 0.05]
    return (z**2).sum()


def _until_positive(a: Any) -> Any:
    p = np.ones(a.shape[1], bool)
    for _ in range(12):
        z = a[:, p].T @ RIGHT
        if (z > 0).all():
            break
        p[0] = False
    return np.sum(z**2)


def _least_squares(a: Any) -> Any:
    x, p, k = np.zeros(a.shape[1]), np.ones(a.shape[1], bool), 0
    while k < 3:
        x[p] = np.linalg.lstsq(a[:, p], RIGHT, rcond=None)[0]
        p = p & (x > 0)
        k += 1
    return np.sum(x**2)


def _solved(a: Any) -> Any:
    x, p = np.zeros(a.shape[1]), np.ones(a.shape[1], bool)
    for _ in range(12):
        z = np.linalg.solve(a[:, p].T @ a[:, p], a[:, p].T @ RIGHT)
        x = np.zeros(a.shape[1])
        x[p] = z
        if not (x < 0).any():
            break
        p = p & ~(x < 0)
    return np.sum(x**2)


def _two_in_turns(b: Any) -> Any:
    t = 0.0
    for it in range(12):
        k = 0
        while k < 3:
            z = b[b > it * 0.1 - k]
            y = z * 2
            k += 1
        t = t + (y**2).sum()
    return t + (z**2).sum()


PROGRAMS = {
    "chosen": (_chosen, VECTOR),
    "until positive": (_until_positive, MATRIX),
    "least squares": (_least_squares, MATRIX),
    "solved": (_solved, MATRIX),
    "two, in turns": (_two_in_turns, VECTOR),
}


def _differences(function: Any, point: Any) -> Any:
    found = []
    for k in range(point.size):
        step = np.zeros(point.size)
        step[k] = STEP
        step = step.reshape(point.shape)
        found.append((function(point + step) - function(point - step)) / 2 / STEP)
    return np.array(found).reshape(point.shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str) -> None:
    function, point = PROGRAMS[name]
    wanted = _differences(function, point)
    assert np.any(wanted != 0)
    np.testing.assert_allclose(weft.grad(function)(point), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("how", [{}, {"policy": "keep"}, {"memory_budget": "1KB"}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_halves(name: str, how: Any) -> None:
    function, point = PROGRAMS[name]
    value, pull = weft.partition(weft.joint_graph(function, point), **how)(point)
    assert np.allclose(value, function(point))
    np.testing.assert_allclose(pull(1.0)[0], _differences(function, point), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_order(name: str) -> None:
    function, point = PROGRAMS[name]
    slope = weft.grad(function)
    found = weft.grad(lambda a: slope(a).sum())(point)
    wanted = (slope(point + STEP) - slope(point - STEP)) / 2 / STEP  # of a symmetric matrix, rows are columns
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_sizes_that_a_body_is_given() -> None:
    def function(m: Any, s: float) -> Any:
        a = np.diag(m) * 1.0
        for _ in range(0, len(a), 2):
            if a[0] > a.sum() * 0.2:
                if s > 0.1:
                    a[0] *= s
                else:
                    a = np.tanh(a)
        return s + np.sin(a).sum() + (m * m).sum() * 0.1

    slope, along = weft.grad(function), np.ones_like(MATRIX)
    for s in (0.05, 0.5):
        found = weft.jvp(slope, (MATRIX, s), (along, 1.0))[1]
        wanted = (slope(MATRIX + STEP, s + STEP) - slope(MATRIX - STEP, s - STEP)) / 2 / STEP
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
