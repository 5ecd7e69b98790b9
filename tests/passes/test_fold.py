"""Constant folding: what becomes a constant, and what must be left to the run."""

from __future__ import annotations

import math
import operator
import time
from typing import Any

import numpy as np
import pytest
from typed_graphs import body, build, names, run, same_bits, targets

import weft
from weft.graph import Graph
from weft.graph._control import check, fail
from weft.passes import fold_constants

f = Graph.call_function


def folded(target: Any, *args: Any, **kwargs: Any) -> tuple[Graph, Any]:
    graph = Graph()
    graph.output((graph.call_function(target, args, kwargs),))
    fold_constants(graph)
    graph.lint()
    return graph, graph.output_node().args[0][0]


@pytest.mark.parametrize(
    ("target", "args", "expected"),
    [
        (operator.add, (1, 2), 3),
        (operator.add, (1, 2.5), 3.5),
        (operator.add, (True, True), 2),
        (operator.add, ((1, 2), (3,)), (1, 2, 3)),
        (operator.getitem, ((4, 5), 1), 5),
        (operator.pow, (2, 10), 1024),
        (operator.pow, (2, -1), 0.5),
        (operator.lshift, (1, 70), 1 << 70),
        (operator.not_, (0,), True),
        (operator.neg, (0.0,), -0.0),
        (math.sqrt, (2.0,), math.sqrt(2.0)),
        (math.factorial, (5,), 120),
        (abs, (-3,), 3),
        (max, (1, 2.0), 2.0),
        (len, ((1, 2, 3),), 3),
        (round, (2.675, 2), round(2.675, 2)),
        (str, (3,), "3"),
        (weft.add, (1, 2), np.int64(3)),
        (weft.sin, (2.0,), np.sin(2.0)),
        (np.add, (1, 2), np.int64(3)),
        (weft.multiply, (np.float32(3), 2), np.float32(6)),
        (operator.mul, (np.int8(3), 2), np.int8(6)),
        (weft.less, (1, 2), np.True_),
    ],
)
def test_numbers_are_computed(target: Any, args: Any, expected: Any) -> None:
    graph, result = folded(target, *args)
    assert same_bits(result, expected)
    assert not targets(graph)


@pytest.mark.parametrize(
    ("target", "args"),
    [
        (weft.zeros, ((3,),)),
        (weft.zeros, ((10**12,),)),
        (np.ones, ((10**12,),)),
        (weft.arange, (10**12,)),
        (operator.truediv, (1, 0)),
        (weft.divide, (1.0, 0.0)),
        (weft.log, (-1.0,)),
        (operator.mul, (np.int8(100), np.int8(2))),
        (weft.exp, (1e9,)),
        (math.sqrt, (-1.0,)),
        (operator.pow, (10, 10**9)),
        (pow, (10, 10**9)),
        (operator.lshift, (1, 10**9)),
        (operator.mul, ("x", 10**9)),
        (operator.mul, (10**9, (1,))),
        (operator.mod, ("%1000000000d", 1)),
        (math.factorial, (10**6,)),
        (round, (5, -(10**9))),
        (operator.invert, (True,)),
        (weft.random.normal, ((),)),
        (print, (1,)),
        (check, (True,)),
        (fail, (ValueError, "no")),
        (weft.add, (np.zeros(()), 1)),
        (weft.sum, ([1, 2],)),
        (lambda x: x, (1,)),
        (getattr, ("text", "upper")),
    ],
)
def test_left_to_the_run(target: Any, args: Any) -> None:
    start = time.process_time()
    graph, _ = folded(target, *args)
    assert targets(graph) == [target]
    assert time.process_time() - start < 1


def test_a_chain_folds_at_once() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    a = f(graph, operator.add, (1, 2))
    b = f(graph, operator.mul, (a, a))
    c = f(graph, weft.multiply, (x, b))
    graph.output(f(graph, operator.getitem, (c, slice(0, a))))
    changes = fold_constants(graph)
    assert [(change.verb, change.node, change.became) for change in changes] == [
        ("folded", "add", "3"),
        ("folded", "mul", "9"),
    ]
    assert graph.output_node().args[0].args == (c, slice(0, 3))
    assert same_bits(run(graph, np.arange(5.0)), np.arange(5.0)[:3] * 9)


def test_attributes_are_not_constants() -> None:
    class Holder(weft.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.number = np.float64(3.0)

        def forward(self, x: Any) -> Any:
            return x + self.number

    graph = Graph(Holder())
    number = graph.get_attr("number")
    graph.output(f(graph, weft.add, (number, 1.0)))
    assert not fold_constants(graph)


def test_shapes_become_constants_where_they_are_known() -> None:
    def make(g: Graph, x: Any) -> Any:
        shape = f(g, getattr, (x, "shape"))
        rows = f(g, operator.getitem, (shape, 0))
        more = f(g, operator.add, (f(g, operator.mul, (rows, 2)), f(g, getattr, (x, "ndim"))))
        return (more, f(g, len, (x,)), f(g, getattr, (x, "size")), f(g, getattr, (x, "dtype")))

    graph = build(make, np.zeros((3, 4), "f4"))
    assert fold_constants(graph).rules == {"shape": 5, "constant": 2}
    assert run(graph, np.zeros((3, 4), "f4")) == (8, 3, 12, np.dtype("f4"))
    assert not targets(graph)


def test_a_size_that_is_not_known_stays() -> None:
    from weft.ops._dim import Sizes

    graph = build(lambda g, x: (f(g, getattr, (x, "shape")), f(g, getattr, (x, "ndim"))), np.zeros(3))
    x = next(iter(graph.nodes))
    x.meta["type"] = weft.Spec((Sizes().size("n", 3),), "f8")
    assert fold_constants(graph).rules == {"shape": 1}
    assert run(graph, np.zeros(3)) == ((3,), 1)


@pytest.mark.parametrize(("pred", "expected"), [(True, 6.0), (False, 50.0), (np.False_, 50.0), (1, 6.0)])
def test_a_decided_cond_is_its_branch(pred: Any, expected: float) -> None:
    more = body(lambda g, x: (f(g, weft.add, (x, 1.0)),), 1)
    times = body(lambda g, x: (f(g, weft.multiply, (x, 10.0)),), 1)
    graph = Graph()
    x = graph.placeholder("x")
    chosen = f(graph, weft.cond, (pred, more, times, x))
    graph.output(f(graph, operator.getitem, (chosen, 0)))
    assert same_bits(run(graph, 5.0), np.float64(expected))
    assert fold_constants(graph).rules == {"branch taken": 1}
    graph.lint()
    assert len(targets(graph)) == 1
    assert same_bits(run(graph, 5.0), np.float64(expected))


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_a_decided_switch_is_its_branch(index: int) -> None:
    branches = [body(lambda g, x, k=k: (f(g, weft.add, (x, float(k))),), 1) for k in range(3)]
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(f(graph, operator.getitem, (f(graph, weft.switch, (index, branches, x)), 0)))
    before = run(graph, 1.0)
    assert fold_constants(graph).rules == {"branch taken": 1}
    assert same_bits(run(graph, 1.0), before)


def test_a_branch_that_fails_still_fails() -> None:
    bad = body(lambda g, x: f(g, fail, (ValueError, "bad")), 1)
    good = body(lambda g, x: (x,), 1)
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(f(graph, operator.getitem, (f(graph, weft.cond, (True, bad, good, x)), 0)))
    fold_constants(graph)
    graph.lint()
    with pytest.raises(ValueError, match="bad"):
        run(graph, 1.0)


def test_loops_that_never_run_are_their_carries() -> None:
    less = body(lambda g, i, x, n: f(g, operator.lt, (i, n)), 3)
    step = body(lambda g, i, x, n: (f(g, operator.add, (i, 1)), f(g, weft.multiply, (x, 2.0))), 3)
    loop = body(lambda g, i, x: (f(g, weft.multiply, (x, 2.0)),), 2)

    def make(g: Graph, x: Any) -> Any:
        first = f(g, weft.while_loop, (less, step, (5, x), 3))
        second = f(g, weft.fori_loop, (4, 4, loop, (f(g, operator.getitem, (first, 1)),)))
        third = f(g, weft.fori_loop, (0, 3, loop, (x,)), {"step": -1})
        return tuple(f(g, operator.getitem, (n, k)) for n, k in [(first, 0), (second, 0), (third, 0)])

    graph = build(make, np.ones(2))
    before = run(graph, np.ones(2))
    assert fold_constants(graph).rules == {"never entered": 1, "empty range": 2}
    assert not targets(graph)
    graph.lint()
    assert same_bits(run(graph, np.ones(2)), before)


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 3, 1), (3, 0, -1), (0, 1, 5)])
def test_loops_that_run_stay(start: int, stop: int, step: int) -> None:
    loop = body(lambda g, i, x: (f(g, weft.multiply, (x, 2.0)),), 2)
    make = lambda g, x: (f(g, weft.fori_loop, (start, stop, loop, (x,)), {"step": step}),)  # noqa: E731  # short
    assert not fold_constants(build(make, np.ones(2)))
    less = body(lambda g, i: f(g, operator.lt, (i, 3)), 1)
    count = body(lambda g, i: (f(g, operator.add, (i, 1)),), 1)
    assert not fold_constants(build(lambda g, x: (f(g, weft.while_loop, (less, count, (0,))), x), 1.0))


def test_a_condition_with_effects_stays() -> None:
    def make(g: Graph, i: Any) -> Any:
        f(g, print, ("asked",))
        return f(g, operator.lt, (i, 3))

    count = body(lambda g, i: (f(g, operator.add, (i, 1)),), 1)
    graph = build(lambda g, x: (f(g, weft.while_loop, (body(make, 1), count, (5,))), x), 1.0)
    assert not fold_constants(graph)


def test_bodies_are_folded_too() -> None:
    inner = body(lambda g, x: (f(g, weft.multiply, (x, f(g, operator.add, (1, 1)))),), 1)
    graph = build(lambda g, p, x: f(g, weft.cond, (p, inner, inner, x)), True, 3.0)
    assert fold_constants(graph).rules == {"constant": 1}
    assert names(inner) == ["p0", "multiply", "output"]


def test_what_is_written_stays_a_node() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    value = f(graph, weft.add, (1.0, 2.0))
    graph.output(None, writes=[(x, value)])
    assert not fold_constants(graph)
    graph.lint()
