"""Derivatives through loops, branches and writes: against differences, in both modes, to the second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.transform.control_programs import CASES, elimination, recurrence, shrinking

import weft
from weft.graph import Graph
from weft.graph._control import fori_loop, while_loop
from weft.ops import Spec
from weft.transform._tape import Tape, Tapes

PROGRAMS = pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)


def differences(function: Any, x: Any, direction: Any, step: float) -> Any:
    """The derivative of a function along a direction, by central differences."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def direction_for(x: Any) -> Any:
    made = np.random.default_rng(1).normal(size=np.shape(x))
    return made if made.shape else float(made)


@PROGRAMS
def test_gradients(program: Any) -> None:
    x, *rest = CASES[program]
    value, found = weft.value_and_grad(program)(x, *rest)
    assert value == pytest.approx(program(x, *rest), rel=1e-14)
    along = direction_for(x)
    expected = differences(lambda x: program(x, *rest), x, along, 1e-6)
    assert np.sum(found * along) == pytest.approx(expected, rel=2e-7, abs=1e-7)
    # Each element by itself, so that errors cannot cancel.
    for at in list(np.ndindex(np.shape(x)))[:40]:
        one = np.zeros(np.shape(x))
        one[at] = 1.0
        expected = differences(lambda x: program(x, *rest), x, one if one.shape else 1.0, 1e-6)
        assert np.asarray(found)[at] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@PROGRAMS
def test_both_modes_agree(program: Any) -> None:
    x, *rest = CASES[program]
    along = direction_for(x)
    value, tangent = weft.jvp(lambda x: program(x, *rest), (x,), (along,))
    assert value == pytest.approx(program(x, *rest), rel=1e-14)
    assert tangent == pytest.approx(np.sum(weft.grad(program)(x, *rest) * along), rel=1e-11, abs=1e-12)


@PROGRAMS
def test_second_order(program: Any) -> None:
    x, *rest = CASES[program]
    along = direction_for(x)
    gradient = weft.grad(lambda x: program(x, *rest))
    expected = differences(gradient, x, along, 1e-5)
    scale = max(1.0, float(np.abs(expected).max()))
    forward = weft.hvp(lambda x: program(x, *rest), (x,), (along,))
    reverse = weft.grad(lambda x: (gradient(x) * along).sum() if np.ndim(along) else gradient(x) * along)(x)
    np.testing.assert_allclose(np.asarray(forward) / scale, np.asarray(expected) / scale, atol=1e-6)
    np.testing.assert_allclose(np.asarray(reverse) / scale, np.asarray(forward) / scale, atol=1e-10)


@PROGRAMS
@pytest.mark.filterwarnings("ignore:grad. the result")  # a third derivative that is zero
def test_third_order(program: Any) -> None:
    x, *rest = CASES[program]
    along = direction_for(x)

    def inner(function: Any) -> Any:
        """The derivative along the direction, in reverse mode."""
        gradient = weft.grad(function)
        return lambda x: (gradient(x) * along).sum() if np.ndim(along) else gradient(x) * along

    second = inner(inner(lambda x: program(x, *rest)))
    found = np.sum(weft.grad(second)(x) * along)
    expected = differences(second, x, along, 1e-5)
    assert found == pytest.approx(expected, rel=2e-7, abs=2e-7 * max(1.0, abs(second(x))))


@PROGRAMS
def test_for_many_examples(program: Any) -> None:
    x, *rest = CASES[program]
    batch = np.stack([np.asarray(x) * factor for factor in (1.0, 0.9, 1.05)])
    many = weft.vmap(lambda x: weft.value_and_grad(program)(x, *rest))
    values, gradients = many(batch)
    for row, value, gradient in zip(batch, values, gradients, strict=True):
        one = weft.value_and_grad(program)(row if row.shape else float(row), *rest)
        assert value == pytest.approx(one[0], rel=1e-11)
        np.testing.assert_allclose(gradient, one[1], rtol=1e-9, atol=1e-11)


@PROGRAMS
def test_the_caller_sees_no_writes(program: Any) -> None:
    x, *rest = CASES[program]
    before = np.copy(x)
    weft.grad(program)(x, *rest)
    np.testing.assert_array_equal(x, before)


def graphs_of(graph: Graph) -> list[Graph]:
    found = [graph]
    for node in graph.nodes:
        for body in node.bodies:
            found += graphs_of(body)
    return found


def tapes_of(graph: Graph) -> list[Tape]:
    types = [node.meta.get("type") for each in graphs_of(graph) for node in each.nodes]
    return [t for t in types if isinstance(t, Tape)]


def loops_in(graph: Graph) -> int:
    return sum(node.target in (fori_loop, while_loop) for each in graphs_of(graph) for node in each.nodes)


def test_the_gradient_of_a_loop_is_a_loop() -> None:
    gradient = weft.grad(recurrence)
    gradient(np.ones(20))
    assert loops_in(gradient.graph) == 2, "one forward, one backward"
    nodes = sum(len(each.nodes) for each in graphs_of(gradient.graph))
    gradient = weft.grad(recurrence)
    gradient(np.ones(2000))
    assert sum(len(each.nodes) for each in graphs_of(gradient.graph)) == nodes, "a longer loop has the same graph"


def test_a_loop_keeps_what_a_turn_touches() -> None:
    gradient = weft.grad(elimination)
    gradient(np.eye(12) * 3)
    tapes = tapes_of(gradient.graph)
    assert tapes
    kept = [type_ for tape in tapes for type_ in tape.types if not isinstance(type_, (Tape, Tapes))]
    assert all(isinstance(type_, type) or (isinstance(type_, Spec) and type_.shape == ()) for type_ in kept), kept


def test_one_graph_for_all_sizes() -> None:
    gradient = weft.grad(shrinking)
    for size in (5, 8, 13):
        x = np.linspace(0.1, 1.9, size)
        expected = [differences(shrinking, x, np.eye(size)[k], 1e-6) for k in range(size)]
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-6)
    assert gradient.cache_info().misses == 1


def scanned(x: Any) -> Any:
    carry, rows = weft.scan(lambda c, v: (c + v["a"], {"row": c * v["a"]}), np.zeros(3), {"a": x}, reverse=True)
    return carry.sum() + (rows["row"] ** 2).sum()


def largest_of_a_list(x: Any) -> Any:
    return np.max([x[0, 0], x[1, 0] * 2]) + np.sum([x[0], x[1]])


@pytest.mark.parametrize("function", [scanned, largest_of_a_list])
def test_gradients_of_tensors_are_those_of_arrays(function: Any) -> None:
    x = np.arange(1.0, 10.0).reshape(3, 3)
    wanted, leaf = weft.grad(function)(x), weft.tensor(x, requires_grad=True)
    weft.compile(function)(leaf).backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), wanted)
    np.testing.assert_array_equal(weft.grad(function)(weft.tensor(x)).numpy(), wanted)
    value, tangent = weft.jvp(function, (weft.tensor(x),), (weft.tensor(x),))
    assert tangent.item() == (wanted * x).sum() and value.item() == function(x)
