"""Integers of a program: recorded as they were written, reasoned about as sizes, within bounds."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError


def doubled(a: int, b: int) -> int:
    total = a + b
    return total * 2 - b


def squares(x: int, b: int) -> int:
    x = x * x + b
    x = x * x + b
    x = x * x + b
    x = x * x + b
    x = x * x + b
    x = x * x + b
    x = x * x + b
    return x % 1000003


def halves(x: int, b: int) -> int:
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    x = x // 2 + x // 3 + b
    return x % 1000003


def decided(x: int, b: int) -> int:
    return 1 if halves(squares(x, b), b) % 7 > 3 else x


def met(a: np.ndarray[Any, Any], n: int) -> Any:
    if a.sum() > 0:
        k = n * 2 + n
        a[k % 3] = n
    else:
        k = n * 2 + n
    return k - n, a


def views(a: np.ndarray[Any, Any], n: int) -> Any:
    v = a[n + 1 :] if a.sum() > 0 else a[1 + n :]
    v += 1
    return v.sum()


def tried(a: np.ndarray[Any, Any], n: int) -> Any:
    try:
        k = n * 2 - 1
    except ValueError:
        k = 0
    return a * k


def targets(graph: weft.Graph) -> list[str]:
    return [node.target.__name__ for node in graph.nodes if node.op == "call_function"]


def test_the_graph_of_integers_is_the_program() -> None:
    traced = weft.trace(doubled, 10, 20)
    assert targets(traced.graph) == ["add", "mul", "sub"]
    assert (
        traced.code.split()
        == (
            "def forward(self, a, b): total = a + b; a = None mul = total * 2; total = None "
            "sub = mul - b; mul = b = None return sub"
        )
        .replace(";", ";")
        .split()
    )
    first = next(node for node in traced.graph.nodes if node.op == "call_function")
    assert (first.name, first.location.text) == ("total", "total = a + b")
    compiled = weft.compile(doubled)
    assert compiled(10, 20) == 40
    assert targets(compiled.graph) == ["add", "mul", "sub"]


@pytest.mark.parametrize("program", [squares, halves])
def test_integers_cost_a_node_for_each_operator(program: Callable[..., Any]) -> None:
    began = time.perf_counter()
    compiled, traced = weft.compile(program), weft.trace(program, 2, 3)
    for arguments in ((2, 3), (-3, 1)):
        assert compiled(*arguments) == traced(*arguments) == program(*arguments)
    assert time.perf_counter() - began < 10  # milliseconds, on a busy machine too; as polynomials it is minutes
    assert len(targets(traced.graph)) in (15, 29)
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("numbers", [(2, 3), (2, 5), (10**600, 7), (10**6000, 3)])
def test_decisions_on_long_integers(numbers: tuple[int, int]) -> None:
    compiled = weft.compile(decided)
    for arguments in (numbers, (3, 4), numbers):
        assert compiled(*arguments) == decided(*arguments)
    assert not compiled.explain().plain
    compiled = weft.compile(decided, dynamic=False)
    for arguments in (numbers, (10**6000 + 1, 4), numbers):
        assert compiled(*arguments) == decided(*arguments)
    assert compiled.cache_info().misses == 2


@pytest.mark.parametrize("program", [met, views, tried])
def test_integers_of_branches_that_have_ended(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for start in (-3.0, 3.0):
        for n in (1, 2):
            assert_same(call(compiled, (np.arange(6) + start, n)), call(program, (np.arange(6) + start, n)))
    assert compiled.cache_info().misses == 1


def test_shapes_of_long_sizes() -> None:
    def program(a: np.ndarray[Any, Any], n: int) -> Any:
        b, c, d = a.shape
        m = (b + c + d + n) * (b * c + c * d + n) * (b + 2 * c) * (b * b + c * c + d * d)
        return np.zeros((m, 2)).reshape(-1).sum() + m, a.reshape(-1, 2**n).shape

    compiled = weft.compile(program)
    for shape in ((2, 3, 4), (2, 2, 2)):
        arguments = (np.ones(shape), 2)
        assert_same(call(compiled, arguments), call(program, arguments))
    assert compiled.cache_info().misses == 1


def indices(x, n):
    whole = x.astype(int)
    found = operator.index(n), operator.index(whole[1]), operator.index(np.array(3)), operator.index(n > 1)
    return found, [type(one) for one in found], tuple(operator.index(k) for k in (n, whole[2], len(x)))


def no_indices(x, n):
    raised = []
    for one in (x[0], x.astype(int), n * 0.5, x[0] > 1):
        try:
            operator.index(one)
        except TypeError as error:
            raised.append(str(error))
    return raised


@pytest.mark.parametrize("program", [indices, no_indices])
def test_operator_index(program) -> None:
    compiled = weft.compile(program)
    for n in (2, 3, 1):
        assert repr(compiled(np.arange(3.0) * n, n)) == repr(program(np.arange(3.0) * n, n))
    assert not compiled._ran_plainly


def test_arrays_broadcast_to_sizes_that_running_tells_are_refused() -> None:
    def program(x, mask):
        try:
            return np.broadcast_arrays(x[~mask], 2 * x[~mask], False)
        except TypeError:
            return x

    with pytest.raises(CaptureError, match=r"np\.broadcast_arrays to a size that is known only when the graph runs"):
        weft.compile(program, dynamic=True)(np.ones(3), np.array([True, False, False]))
