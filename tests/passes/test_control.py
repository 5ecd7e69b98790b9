"""The rules of simplify for control flow."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from typed_graphs import body, build, run, same_bits, targets

import weft
from weft.graph import Graph, Node
from weft.passes import optimize, simplify

f = Graph.call_function


def item(graph: Graph, node: Any, place: int) -> Node:
    return f(graph, operator.getitem, (node, place))


def the(graph: Graph, target: Any) -> Node:
    return next(node for node in graph.nodes if node.target is target)


def test_branches_alike(capsys: Any) -> None:
    def branch(g: Graph, x: Any) -> Any:
        f(g, print, ("here",))
        return (f(g, weft.exp, (x,)),)

    graph = build(lambda g, p, x: item(g, f(g, weft.cond, (p, body(branch, 1), body(branch, 1), x)), 0), True, 1.0)
    assert simplify(graph).rules == {"branches alike": 1}
    assert targets(graph) == [print, weft.exp]
    capsys.readouterr()
    assert run(graph, False, 0.0) == 1.0
    assert capsys.readouterr().out == "here\n"


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (0.0, -0.0), (1, True)])
def test_branches_that_only_look_alike(first: Any, second: Any) -> None:
    bodies = [body(lambda g, x, k=k: (f(g, weft.add, (x, k)),), 1) for k in (first, second)]
    graph = build(lambda g, p, x: item(g, f(g, weft.cond, (p, *bodies, x)), 0), True, 1.0)
    assert not simplify(graph)


def test_invariant_carries_of_a_while_loop() -> None:
    less = body(lambda g, i, n, x, w: f(g, operator.lt, (i, n)), 4)
    step = body(lambda g, i, n, x, w: (f(g, operator.add, (i, 1)), n, f(g, weft.multiply, (x, w)), w), 4)

    def make(g: Graph, n: Any, x: Any, w: Any) -> Any:
        loop = f(g, weft.while_loop, (less, step, (0, n, x, w)))
        return tuple(item(g, loop, k) for k in (0, 1, 2, 3))

    graph = build(make, 3, np.ones(2), np.full(2, 2.0))
    values = 3, np.ones(2), np.full(2, 2.0)
    before = run(graph, *values)
    assert simplify(graph).rules == {"invariant carry": 2}
    graph.lint()
    assert same_bits(run(graph, *values), before)
    assert run(graph, *values)[3] is values[2]
    node = the(graph, weft.while_loop)
    assert [len(node.args[2]), len(node.args), len(node.meta["type"])] == [2, 5, 2]
    assert not simplify(graph)


def test_invariant_carries_of_for_and_scan() -> None:
    step = body(lambda g, i, w, x: (w, f(g, weft.multiply, (x, w))), 3)
    along = body(lambda g, w, c, x, o: ((w, f(g, weft.add, (c, x))), (f(g, weft.multiply, (w, o)),)), 4)

    def make(g: Graph, x: Any, w: Any, xs: Any) -> Any:
        loop = f(g, weft.fori_loop, (0, 3, step, (w, x)))
        rows = f(g, weft.scan, (along, (w, x), (xs,), 2.0))
        ends = item(g, rows, 0)
        return item(g, loop, 0), item(g, loop, 1), item(g, ends, 0), item(g, ends, 1), item(g, item(g, rows, 1), 0)

    values = 1.5, 2.0, np.arange(3.0)
    graph = build(make, *values)
    before = run(graph, *values)
    assert simplify(graph).rules == {"invariant carry": 2, "known operand": 1}
    graph.lint()
    assert same_bits(run(graph, *values), before)


def test_a_carry_that_moves_is_not_invariant() -> None:
    swap = body(lambda g, i, a, b: (b, a), 3)

    def make(g: Graph, n: Any, x: Any, y: Any) -> Any:
        loop = f(g, weft.fori_loop, (0, n, swap, (x, y)))
        return item(g, loop, 0), item(g, loop, 1)

    graph = build(make, 3, 1.0, 2.0)
    assert not simplify(graph)
    assert run(graph, 3, 1.0, 2.0) == (2.0, 1.0)


def test_constants_and_twins_among_operands() -> None:
    yes = body(lambda g, a, b, c, d: (f(g, weft.add, (a, b)), f(g, weft.multiply, (c, d))), 4)
    no = body(lambda g, a, b, c, d: (b, d), 4)
    graph = build(
        lambda g, p, x: tuple(item(g, f(g, weft.cond, (p, yes, no, x, 3.0, x, 2.0)), k) for k in range(2)), True, 1.0
    )
    before = run(graph, True, 1.0), run(graph, False, 1.0)
    assert simplify(graph).rules == {"known operand": 3 * 2}
    graph.lint()
    assert (run(graph, True, 1.0), run(graph, False, 1.0)) == before
    assert all(len(node.args) == 4 for node in graph.nodes if node.target is weft.cond)


def test_what_is_written_may_settle_too() -> None:
    """A carry that never changes and is a constant cannot be what is written: that is always a node."""
    graph = Graph()
    x = graph.placeholder("x")
    step = body(lambda g, i, a, b: (a, f(g, weft.add, (b, 1.0))), 3)
    loop = f(graph, weft.fori_loop, (0, 2, step, (7.0, x)))
    graph.output(item(graph, loop, 1), writes=[(x, item(graph, loop, 0))])
    optimize(graph)
    graph.lint()
    given = np.zeros(())
    assert same_bits(run(graph, given), np.float64(2.0))
    assert same_bits(given, np.array(7.0))


def test_values_to_be_written_stay_apart() -> None:
    """Two arguments that exchange their contents: neither value may become the other argument itself."""
    graph = Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    values = [f(graph, weft.positive, (one,)) for one in (b, a)]
    for node in (a, b, *values):
        node.meta["type"] = weft.Spec((2,), "f8")
    graph.output(None, writes=[(a, values[0]), (b, values[1])])
    optimize(graph)
    x, y = np.zeros(2), np.ones(2)
    run(graph, x, y)
    assert same_bits((x, y), (np.ones(2), np.zeros(2)))
