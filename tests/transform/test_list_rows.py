"""Lists that a loop appends to once a turn, read as arrays after it: the record of a simulation has derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

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


def _last(x: Any) -> Any:
    states = [x]
    for _ in range(12):
        states.append(states[-1] * 0.9 + 0.1 * np.sin(states[0]))
    return (np.array(states)[1:] ** 2).sum()


def _numbered(x: Any) -> Any:
    p, gaps = [x[0] * 1.5], [0.0, 0.0]
    for i in range(12):
        p.append(np.cos(p[i]) * x[1])
        gaps.append(p[i + 1] - p[i] + 0.1 * gaps[len(gaps) - 2])
    return sum(p) + sum(gaps) * gaps[-1] + p[3]


def _two_before(x: Any) -> Any:
    rows = [x, 2.0 * x]
    for i in range(2, 14):
        rows.append(rows[i - 1] * 0.5 + rows[i - 2] * x[0] + len(rows) * rows[-2] * 0.01)
    return (sum(rows) * rows[1]).sum()


def _by_steps(x: Any) -> Any:
    p = [x[0], x[1]]
    for i in range(0, 24, 2):
        p.append(p[-1] * x[2] + p[-2] * i * 0.01)
    return p[-1] * p[-2]


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


PROGRAMS = [
    *(_array, _two_lists, _joined, _numbers, _written_in_place, _written_after),
    *(_last, _numbered, _two_before, _by_steps),
]


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


def test_an_element_that_is_not_there() -> None:
    def function(x: Any) -> Any:
        p = [x[0]]
        for i in range(3, 15):
            p.append(p[i] * 0.5)
        return p[-1]

    with pytest.raises(NotDifferentiable, match="a list that a loop or a branch changes has no derivative"):
        weft.grad(function)(POINT)


def test_what_has_no_derivative_is_named_where_a_loop_hands_it_on() -> None:
    def ends_early(x: Any) -> Any:
        p = [x[0]]
        for _ in range(12):
            p.append(p[-1] * 0.5)
            if p[-1] < 0.1:
                break
        return p[0] * 2

    def of_a_library(x: Any) -> Any:
        root, rows = scipy.linalg.sqrtm(np.eye(12) * x[0]), x[0]
        for i in range(12):
            rows = rows + root[i] * 2
        return rows.sum()

    with pytest.raises(NotDifferentiable, match=r"a list that a loop or a branch changes has no derivative"):
        weft.grad(ends_early)(POINT)
    with pytest.raises(NotDifferentiable, match=r"^sqrtm has no derivative"):
        weft.grad(of_a_library)(POINT)


def test_numbers_of_python_stay_numbers_of_python() -> None:
    def function(x: float) -> float:
        p = [x, 2.0]
        for i in range(12):
            p.append(p[i] * p[-1])
        return sum(p) + p[5]

    value, slope = weft.value_and_grad(function)(0.5)
    assert type(value) is float
    assert value == function(0.5)
    assert np.allclose(slope, (function(0.5 + 1e-6) - function(0.5 - 1e-6)) / 2e-6)
