"""Lists that a loop appends to once a turn, read as arrays after it: the record of a simulation has derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import NotDifferentiable

POINT = np.array([0.3, 0.8, -0.4])


def _array(x: Any) -> Any:
    hist = []
    for _ in range(12):
        x = np.sin(x) * 1.1
        hist.append(x)
    return (np.array(hist) ** 2).sum()


def _two_lists(x: Any) -> Any:
    hist, sums, t = [x], [0.0], 0.0
    for _ in range(2, 40, 3):
        x = np.sin(x) * 1.1 + x[0] * 0.1
        hist.append(x)
        t = t + x.sum()
        sums.append(t)
    return (np.stack(hist) ** 2).sum() + hist[-1].sum() * len(hist) + np.array(sums)[-3] ** 2


def _joined(x: Any) -> Any:
    hist = []
    for _ in range(11, -1, -1):
        x = np.sin(x) * 1.1
        hist.append(x)
    rows = np.vstack(hist) * np.arange(12)[:, None]
    return (np.concatenate(hist) ** 3)[4:20].sum() + rows.sum() + np.hstack(hist)[5] ** 2


def _numbers(x: Any) -> Any:
    hist = []
    for k in range(len(x) * 4):
        x = np.sin(x) * 1.1
        hist.append(x[0] * k)
    return np.mean(hist) + np.max(hist)


def _written_in_place(x: Any) -> Any:
    x, v, hist = x.copy(), np.zeros(3), []
    for _ in range(20):
        x += 0.1 * v
        v = v - 0.1 * x
        hist.append(x.copy())
    return (np.array(hist) ** 2).sum()


def _written_after(x: Any) -> Any:
    hist = []
    for _ in range(12):
        x = np.sin(x)
        hist.append(x)
    a, c = np.array(hist), np.concatenate(hist)
    a[0] = 0.0
    a *= 2
    c[3:] *= 3
    return (a**2).sum() + (hist[0] ** 3).sum() + (c**2).sum() + (np.stack(hist) ** 2).sum()


PROGRAMS = [_array, _two_lists, _joined, _numbers, _written_in_place, _written_after]


def _differences(function: Any, *rest: Any) -> Any:
    return np.array([(function(POINT + s, *rest) - function(POINT - s, *rest)) / 2e-6 for s in np.eye(3) * 1e-6])


@pytest.mark.parametrize("function", PROGRAMS)
def test_first_order(function: Any) -> None:
    wanted = _differences(function)
    np.testing.assert_allclose(weft.grad(function)(POINT), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weft.jacfwd(function)(POINT), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", PROGRAMS)
def test_second_order(function: Any) -> None:
    slope = weft.grad(function)
    wanted = (slope(POINT + 1e-6) - slope(POINT - 1e-6)) / 2e-6
    np.testing.assert_allclose(weft.hessian(function)(POINT).sum(0), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", [{}, {"policy": "keep"}, {"memory_budget": "1KB"}], ids=str)
@pytest.mark.parametrize("function", PROGRAMS)
def test_halves(function: Any, how: Any) -> None:
    value, pull = weft.partition(weft.joint_graph(function, POINT), **how)(POINT)
    assert np.allclose(value, function(POINT))
    np.testing.assert_allclose(pull(1.0)[0], _differences(function), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", PROGRAMS)
def test_many_examples(function: Any) -> None:
    points = np.stack([POINT, POINT * 0.5])
    np.testing.assert_allclose(weft.vmap(function)(points), [function(point) for point in points], rtol=1e-12)
    wanted = [weft.grad(function)(point) for point in points]
    np.testing.assert_allclose(weft.vmap(weft.grad(function))(points), wanted, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 8, 9, 30])
def test_a_number_of_turns_that_is_an_argument(count: int) -> None:
    def function(x: Any, n: int) -> Any:
        hist = []
        for _ in range(n):
            x = np.sin(x) * 1.01
            hist.append(x)
        return (np.array(hist) ** 2).sum() + x.sum()

    np.testing.assert_allclose(weft.grad(function)(POINT, count), _differences(function, count), rtol=1e-6)


def test_a_list_that_not_every_turn_appends_to() -> None:
    def function(x: Any) -> Any:
        hist = []
        for _ in range(20):
            x = np.sin(x)
            if x[0] > 0.2:
                hist.append(x)
        return (np.array(hist) ** 2).sum()

    with pytest.raises(NotDifferentiable, match=r"a value that varies is given to \.append\(\)"):
        weft.grad(function)(POINT)
