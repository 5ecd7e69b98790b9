"""Lists that are changed while a graph runs: the backward comes after the last change, and must not read them anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

POINT = np.random.default_rng(0).random((5, 2))


def _pairs(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        for j in range(i):
            pairs.append(i * 10 + j)  # noqa: PERF401  # a loop that appends is what is tested
    total = 0.0
    for k in pairs:
        d = x[k // 10] - x[k % 10]
        total += d.dot(d) * k
    return total, pairs


def _only_read(x: Any) -> Any:
    return _pairs(x)[0]


def _with_a_branch(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        for j in range(i):
            pairs.append((i, j))  # noqa: PERF401  # as above
    total = 0.0
    for i, j in pairs:
        d = x[i] - x[j]
        r = d.dot(d)
        if r > 0.25:
            continue
        total += r
    return total


def _read_again(x: Any, pairs: Any, total: Any) -> Any:
    for k in pairs:
        d = x[k // 10] - 2 * x[k % 10]
        total += d.dot(d) * (k + 1)
    return total


def _appended(x: Any) -> Any:
    total, pairs = _pairs(x)
    pairs.append(0)
    return _read_again(x, pairs, total)


def _replaced(x: Any) -> Any:
    total, pairs = _pairs(x)
    pairs[0] = 0
    return _read_again(x, pairs, total)


def _popped(x: Any) -> Any:
    total, pairs = _pairs(x)
    pairs.pop()
    return _read_again(x, pairs, total)


def _inserted(x: Any) -> Any:
    total, pairs = _pairs(x)
    pairs.insert(0, 1)
    return total + x[pairs[0]].sum() ** 2


def _cleared(x: Any) -> Any:
    total, pairs = _pairs(x)
    first = pairs[0]
    pairs.clear()
    return total * (len(pairs) + 1) * x[first % 10, 0]


def _in_a_turn(x: Any) -> Any:
    stack, total = [1], 0.0
    for t in range(12):
        k = stack[-1]
        stack.append((k * 2 + t) % 5)
        after = stack[-1]
        total = total * 0.9 + x[k].dot(x[after]) * (t + 1)
    return total


def _in_each_turn_its_own(x: Any) -> Any:
    total = 0.0
    for i in range(12):
        near = []
        for j in range(i):
            near.append(j % 5)  # noqa: PERF401  # as above
        for k in near:
            total = total + np.sin(x[k].dot(x[i % 5])) * k
    return total


def _many_turns(x: Any) -> Any:
    order = []
    for i in range(12):
        order.append(i % 5)  # noqa: PERF401  # as above
    s = x[0]
    for i in range(40):
        s = np.sin(s * x[order[i % 12]])
        order[i % 12] = (order[i % 12] + 1) % 5
    return s.sum()


def _lists_in_a_list(x: Any) -> Any:
    near: Any = [[], [], []]
    for i in range(12):
        near[i % 3].append(i % 5)
    total = 0.0
    for i in range(12):
        for k in near[i % 3]:
            total = total + np.sin(x[k].dot(x[i % 5])) * k
    near[0][0] = 3
    return total * x[near[0][0]][0]


PROGRAMS = [
    *(_only_read, _with_a_branch, _appended, _replaced, _popped, _inserted, _cleared, _in_a_turn),
    *(_in_each_turn_its_own, _many_turns, _lists_in_a_list),
]


def _differences(function: Any) -> Any:
    steps = (np.eye(POINT.size) * 1e-6).reshape(-1, *POINT.shape)
    return np.array([(function(POINT + s) - function(POINT - s)) / 2e-6 for s in steps]).reshape(POINT.shape)


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradient(function: Any) -> None:
    np.testing.assert_allclose(weft.grad(function)(POINT), _differences(function), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "how",
    [{}, {"policy": "keep"}, {"policy": "recompute"}, {"policy": "checkpoint"}, {"memory_budget": "300B"}],
    ids=str,
)
@pytest.mark.parametrize("function", PROGRAMS)
def test_halves(function: Any, how: Any) -> None:
    value, pull = weft.partition(weft.joint_graph(function, POINT), **how)(POINT)
    assert np.allclose(value, function(POINT))
    np.testing.assert_allclose(pull(1.0)[0], _differences(function), rtol=1e-5, atol=1e-6)
