"""Joint graphs of programs with integers among their arguments: those that decide sizes, loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import GraphError, NotDifferentiable


def _reshaped(x: Any, n: int) -> Any:
    return (x.reshape(n, len(x) // n).sum(0) ** 3).sum()


def _repeated(x: Any, n: int) -> Any:
    return (np.broadcast_to(x, (n, 6 // n, len(x))) * x[0]).sum()


def _shrinking(x: Any, n: int) -> Any:
    v, q = 1.0 - x[0] * np.arange(n + 1), x[0] * np.arange(n + 1)
    for _ in range(n):
        q = q[:-1] * 0.9
        v = np.maximum(v[:-1], q)
    return v[0] * x[1]


def _written(x: Any, n: int) -> Any:
    rows, total = np.zeros((n + 1, len(x))), 0.0
    rows[0] = x
    for j in range(n):
        w = np.sin(rows[j]) * x
        if j > 0:
            w = w - rows[j - 1]
        w -= 0.5 * rows[j]
        rows[j + 1] = w
        total = total + w.sum() ** 2
    return total


PROGRAMS = {
    "reshaped": (_reshaped, 2),
    "repeated": (_repeated, 3),
    "shrinking": (_shrinking, 3),
    "written": (_written, 12),
}
POINT = np.array([0.4, -0.3, 0.8, 0.5, -0.6, 0.7])


def _differences(function: Any, point: Any, *rest: Any) -> Any:
    steps = np.eye(point.size) * 1e-6
    return np.array([(function(point + s, *rest) - function(point - s, *rest)) / 2e-6 for s in steps])


@pytest.mark.parametrize("how", [{}, {"policy": "keep"}, {"memory_budget": "1KB"}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str, how: Any) -> None:
    function, count = PROGRAMS[name]
    value, pull = weft.partition(weft.joint_graph(function, POINT, count), **how)(POINT, count)
    assert np.allclose(value, function(POINT, count))
    np.testing.assert_allclose(pull(1.0)[0], _differences(function, POINT, count), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "other"), [("reshaped", 3), ("shrinking", 5), ("written", 3)])
def test_another_number(name: str, other: int) -> None:
    function, count = PROGRAMS[name]
    _, pull = weft.partition(weft.joint_graph(function, POINT, count))(POINT, other)
    np.testing.assert_allclose(pull(1.0)[0], _differences(function, POINT, other), rtol=1e-6, atol=1e-8)


def test_a_number_that_had_to_be_fixed() -> None:
    def as_many_axes(x: Any, n: int) -> Any:
        return (x.reshape((1,) * n + x.shape) ** 2).sum()

    halves = weft.partition(weft.joint_graph(as_many_axes, POINT, 2))
    np.testing.assert_allclose(halves(POINT, 2)[1](1.0)[0], 2 * POINT)
    with pytest.raises(GraphError, match="n: 2 was fixed while tracing, got 3"):
        halves(POINT, 3)


def test_the_first_error_is_told() -> None:
    with pytest.raises(NotDifferentiable, match="no result varies"):
        weft.joint_graph(lambda x, n: int(x.sum()) * n, POINT, 3)
