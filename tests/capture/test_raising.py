"""What raises in the plain call raises in the compiled one, though nothing reads what it gives."""

# ruff: noqa: F841  # values that nothing reads are what is tested

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.capture._report import all_nodes

A = np.arange(5.0)


def index(a, i):
    a[i]
    return 1


def constant_index(a):
    a[10]
    return 1


def in_an_array_of_indices(a, i):
    a[np.array([0, i])]
    return 1


def taken(a, i):
    np.take(a, i)
    return 1


def written(a, i):
    b = a.copy()
    b[i] = 3
    return 1


def in_a_loop(a, n):
    last = 0.0
    for k in range(n):
        last = a[k]
    return 1


def in_a_branch(a, i):
    if a[0] > 0:
        a[i]
    return 1


def in_a_condition(a, n):
    k = 0
    while a[k] < n:
        k += 1
    return k


def inverse(a):
    x = np.linalg.inv(a)
    return a + 1


def part_of_inverse(a):
    np.linalg.inv(a)[0]
    return 1


def averaged(a, w):
    np.average(a, weights=w)
    return 1


def covariance(a, w):
    np.cov(a, aweights=w)
    return 1


def added_from(a, i):
    np.add.reduceat(a, i)
    return 1


def edges(a):
    np.histogram_bin_edges(a)
    return 1


def cholesky(a):
    np.linalg.cholesky(a)
    return 1


def largest(a):
    a.max()
    return 1


def added(a, b):
    a + b
    return 1


def masked(a, m):
    a[m] + a
    return 1


def integer(x):
    int(x)
    return 1


def integer_of_sum(a):
    int(a.sum())
    return 1


def item(a):
    a.item()
    return 1


def the_item(a):
    return a.item()


def item_of_masked(a, m):
    return a[m].item()


def floor_division(a, b):
    a // b
    return 1


def division(a, b):
    a / b
    return 1


def remainder(a, b):
    a % b
    return 1


def power(a, b):
    a**b
    return 1


def shift(a, b):
    a << b
    return 1


def root(x):
    math.sqrt(x)
    return 1


MASK, ALL = np.array([True, False, True, False, False]), np.ones(5, bool)
NAN = float("nan")
# program, arguments for which it goes well, arguments for which it raises
RAISING: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = [
    (index, (A, 4), (A, 5)),
    (index, (A, np.int64(-5)), (A, np.int64(-6))),
    (index, (np.ones((3, 2)), 2), (np.ones((3, 2)), 3)),
    (constant_index, (np.ones(11),), (A,)),
    (in_an_array_of_indices, (A, 1), (A, 9)),
    (taken, (A, 1), (A, 9)),
    (written, (A, 1), (A, 9)),
    (in_a_loop, (A, 5), (A, 9)),
    (in_a_branch, (A + 1, 1), (A + 1, 9)),
    (in_a_condition, (A, 3.0), (A, 9.0)),
    (inverse, (np.eye(2),), (np.zeros((2, 2)),)),
    (part_of_inverse, (np.eye(2),), (np.zeros((2, 2)),)),
    (cholesky, (np.eye(2),), (-np.eye(2),)),
    (averaged, (A, A), (A, np.zeros(5))),
    (covariance, (A, A), (A, np.zeros(5))),
    (added_from, (A, np.array([0, 2])), (A, np.array([0, 9]))),
    (edges, (A,), (A + np.inf,)),
    (largest, (A,), (np.zeros(0),)),
    (added, (A, A), (A, np.ones(4))),
    (masked, (A, ALL), (A, MASK)),
    (integer, (1.5,), (NAN,)),
    (integer, (np.float64(1.5),), (np.float64("inf"),)),
    (integer_of_sum, (A,), (A * NAN,)),
    (item, (np.ones(1),), (A,)),
    (the_item, (np.ones((1, 1)),), (np.ones((2, 1)),)),
    (item_of_masked, (A, A == 2), (A, ALL)),
    (floor_division, (5, 2), (5, 0)),
    (floor_division, (5.0, 2.0), (5.0, 0.0)),
    (division, (5, 2), (5, 0)),
    (division, (5.0, 2.0), (5.0, 0.0)),
    (remainder, (5, 2), (5, 0)),
    (remainder, (5.0, 2.0), (5.0, 0.0)),
    (power, (0, 2), (0, -1)),
    (power, (2.0, 2.0), (2.0, 1e9)),
    (shift, (1, 2), (1, -2)),
    (root, (4.0,), (-4.0,)),
]


@pytest.mark.parametrize(("function", "good", "bad"), RAISING)
def test_as_the_plain_call(function: Callable[..., Any], good: Any, bad: Any) -> None:
    with pytest.raises(Exception) as expected:  # whatever it is
        function(*copy.deepcopy(bad))
    known = weft.compile(function)
    assert known(*copy.deepcopy(good)) == pytest.approx(function(*copy.deepcopy(good)))
    for compiled in (known, weft.compile(function)):  # a graph that was captured for good values, and none yet
        with pytest.raises(type(expected.value)):
            compiled(*copy.deepcopy(bad))
    assert known(*copy.deepcopy(good)) == pytest.approx(function(*copy.deepcopy(good)))


def safe(a, x, n):
    a[1:3]
    a + 1
    a[a > 2]
    x * 2.0
    x + n
    n // 3
    n << 2
    int(n)
    math.tanh(x)
    np.exp(a)
    return a


def short_circuit(a, n):
    k = 0
    while k < n and a[k] > 0:
        k += 1
    return k


def written_twice(a):
    b = a.copy()
    for i in range(len(b)):
        b[i] -= 1
        b[i] *= 2
    return b


def test_what_cannot_raise_is_not_kept() -> None:
    compiled = weft.compile(safe)
    compiled(A, 1.5, 7)
    assert [node.op for node in compiled.graph.nodes] == ["placeholder", "placeholder", "placeholder", "output"]


def test_what_the_program_does_not_reach_does_not_raise() -> None:
    compiled = weft.compile(short_circuit)
    assert compiled(A + 1, 5) == 5


@pytest.mark.parametrize(("function", "arguments"), [(short_circuit, (A + 1, 5)), (written_twice, (A,))])
def test_nothing_is_done_twice(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    compiled = weft.compile(function)
    np.testing.assert_array_equal(compiled(*arguments), function(*arguments))
    assert all(node.users or node.op in ("placeholder", "output") or node.bodies for node in all_nodes(compiled.graph))
    assert "weft.index_update" not in compiled.code


def test_other_graphs_drop_it() -> None:
    graph = weft.trace(inverse, np.eye(2)).graph
    assert weft.linalg.inv not in [node.target for node in graph.nodes]
