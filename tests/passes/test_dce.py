"""Dead code: what nobody needs goes, in bodies too; what has an effect stays, in order."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from typed_graphs import body, build, names, run, same_bits, targets

import weft
from weft.graph import Graph, Node
from weft.graph._control import check, fail
from weft.passes import eliminate_dead

f = Graph.call_function


def item(graph: Graph, node: Any, place: int) -> Node:
    return f(graph, operator.getitem, (node, place))


def cleaned(graph: Graph, *values: Any) -> dict[str, int]:
    """Clean a graph, check that its result stays, and tell which rules were used."""
    before = run(graph, *values)
    changes = eliminate_dead(graph)
    graph.lint()
    assert same_bits(run(graph, *values), before)
    assert not eliminate_dead(graph)
    return dict(changes.rules)


def the(graph: Graph, target: Any) -> Node:
    return next(node for node in graph.nodes if node.target is target)


def test_a_chain_goes_at_once() -> None:
    def make(g: Graph, x: Any) -> Any:
        f(g, weft.exp, (f(g, weft.sin, (f(g, weft.cos, (x,)),)),))
        return f(g, weft.tan, (x,))

    assert cleaned(build(make, 1.0), 1.0) == {"dead code": 3}


@pytest.mark.parametrize(
    ("target", "args"),
    [
        (print, ("text",)),
        (check, (True,)),
        (weft.random.normal, ((2,),)),
        (operator.setitem, ([1, 2], 0, 3)),
    ],
)
def test_effects_stay(target: Any, args: Any) -> None:
    def make(g: Graph, x: Any) -> Any:
        f(g, target, args)
        return x

    graph = build(make, 1.0)
    assert not eliminate_dead(graph)
    inner = body(make, 1)
    graph = build(lambda g, x: [f(g, weft.cond, (True, inner, inner, x)), x][1], 1.0)
    assert not eliminate_dead(graph)
    assert target in targets(inner)


def test_results_of_a_branch_that_nobody_reads() -> None:
    yes = body(lambda g, x, y: (f(g, weft.exp, (x,)), f(g, weft.sin, (y,)), x), 2)
    no = body(lambda g, x, y: (f(g, weft.cos, (x,)), f(g, weft.tan, (y,)), y), 2)

    def make(g: Graph, p: Any, x: Any, y: Any) -> Any:
        chosen = f(g, weft.cond, (p, yes, no, x, f(g, weft.log, (y,))))
        item(g, chosen, 1)
        return item(g, chosen, 0)

    graph = build(make, True, 1.0, 2.0)
    assert cleaned(graph, False, 1.0, 2.0) == {"dead code": 2, "unused result": 2, "unused operand": 1}
    node = the(graph, weft.cond)
    assert len(node.args) == 4
    assert len(node.meta["type"]) == 1
    assert [len(one.nodes) for one in node.args[1:3]] == [3, 3]
    assert len(yes.nodes) == 5  # others may hold it


def test_a_branch_that_fails_keeps_failing() -> None:
    bad = body(lambda g, x: f(g, fail, (ValueError, "bad")), 1)
    good = body(lambda g, x: (x, f(g, weft.exp, (x,))), 1)
    graph = build(lambda g, p, x: (item(g, f(g, weft.cond, (p, good, bad, x)), 1),), True, 1.0)
    assert cleaned(graph, True, 1.0) == {"unused result": 1}
    with pytest.raises(ValueError, match="bad"):
        run(graph, False, 1.0)


def test_switches_shrink() -> None:
    branches = [body(lambda g, x, y, k=k: (f(g, weft.add, (x, k)), y), 2) for k in (1.0, 2.0, 3.0)]
    graph = build(lambda g, i, x, y: item(g, f(g, weft.switch, (i, branches, x, y)), 0), 1, 1.0, 2.0)
    assert cleaned(graph, 2, 1.0, 2.0) == {"unused result": 1, "unused operand": 1}


def test_carries_that_only_feed_themselves() -> None:
    less = body(lambda g, i, a, b, c, n, y: f(g, operator.lt, (i, n)), 6)

    def step(g: Graph, i: Any, a: Any, b: Any, c: Any, n: Any, y: Any) -> Any:
        return f(g, operator.add, (i, 1)), f(g, weft.add, (a, b)), f(g, weft.multiply, (b, 1.5)), f(g, weft.add, (c, y))

    def make(g: Graph, n: Any, x: Any, y: Any) -> Any:
        loop = f(g, weft.while_loop, (less, body(step, 6), (0, x, x, x), n, y))
        return item(g, loop, 1), item(g, loop, 0)

    graph = build(make, 3, 1.0, 2.0)
    # c goes, and y with it; b stays because a reads it, i because the condition does.
    assert cleaned(graph, 4, 1.0, 2.0) == {"unused carry": 1, "unused operand": 1}
    node = the(graph, weft.while_loop)
    assert len(node.args[2]) == 3
    assert len(node.args) == 4
    assert names(graph) == ["x0", "x1", "x2", "while_loop", "getitem", "getitem_1", "output"]


def test_a_carry_that_an_effect_reads_stays(capsys: Any) -> None:
    def step(g: Graph, i: Any, a: Any, b: Any) -> Any:
        f(g, print, (b,))
        return f(g, weft.add, (a, 1.0)), f(g, weft.multiply, (b, 2.0))

    def make(g: Graph, n: Any, x: Any) -> Any:
        return item(g, f(g, weft.fori_loop, (0, n, body(step, 3), (x, x))), 0)

    graph = build(make, 3, 1.0)
    assert cleaned(graph, 3, 1.0) == {}
    capsys.readouterr()
    run(graph, 3, 1.0)
    assert capsys.readouterr().out == "1.0\n2.0\n4.0\n"


def test_a_loop_for_its_effects_alone(capsys: Any) -> None:
    def step(g: Graph, i: Any, a: Any) -> Any:
        f(g, print, (i,))
        return (f(g, weft.add, (a, 1.0)),)

    graph = build(lambda g, n, x: [f(g, weft.fori_loop, (0, n, body(step, 2), (x,))), x][1], 2, 1.0)
    assert cleaned(graph, 2, 1.0) == {"unused carry": 1}
    capsys.readouterr()
    run(graph, 2, 1.0)
    assert capsys.readouterr().out == "0\n1\n"


def test_scans_shrink() -> None:
    def step(g: Graph, c: Any, d: Any, x: Any, y: Any, o: Any) -> Any:
        total = f(g, weft.add, (c, x))
        return (total, f(g, weft.multiply, (d, y))), (total, f(g, weft.add, (d, o)), y)

    def make(g: Graph, x: Any, y: Any) -> Any:
        node = f(g, weft.scan, (body(step, 5), (0.0, 1.0), (x, y), 3.0))
        return item(g, item(g, node, 0), 0), item(g, item(g, node, 1), 0)

    graph = build(make, np.arange(4.0), np.ones(4))
    assert cleaned(graph, np.arange(4.0), np.ones(4)) == {"unused carry": 1, "unused result": 2, "unused operand": 2}
    node = the(graph, weft.scan)
    assert (len(node.args[1]), len(node.args[2]), len(node.args)) == (1, 1, 3)
    assert [len(kinds) for kinds in node.meta["type"]] == [1, 1]


@pytest.mark.parametrize("length", [None, 4])
def test_a_scan_knows_how_often_it_runs(length: int | None) -> None:
    step = body(lambda g, c, x, y: ((f(g, weft.add, (c, 1.0)),), ()), 3)

    def make(g: Graph, x: Any, y: Any) -> Any:
        return item(g, item(g, f(g, weft.scan, (step, (0.0,), (x, y)), {"length": length}), 0), 0)

    graph = build(make, np.arange(4.0), np.ones(4))
    assert cleaned(graph, np.arange(4.0), np.ones(4)) == {"unused operand": 1 if length is None else 2}


def test_nested_bodies() -> None:
    inner = body(lambda g, x, y: (f(g, weft.exp, (x,)), f(g, weft.sin, (y,))), 2)

    def step(g: Graph, i: Any, a: Any, p: Any, y: Any) -> Any:
        return (item(g, f(g, weft.cond, (p, inner, inner, a, f(g, weft.log, (y,)))), 0),)

    graph = build(
        lambda g, p, x, y: item(g, f(g, weft.fori_loop, (0, 2, body(step, 4), (x,), p, y)), 0), True, 1.0, 2.0
    )
    assert cleaned(graph, True, 1.0, 2.0) == {"unused result": 1, "unused operand": 2, "dead code": 1}
    assert len(the(graph, weft.fori_loop).args) == 5


def test_whole_results_that_are_read_stay() -> None:
    pair = body(lambda g, x: (x, f(g, weft.exp, (x,))), 1)
    graph = build(lambda g, p, x: f(g, weft.cond, (p, pair, pair, x)), True, 1.0)
    assert cleaned(graph, True, 1.0) == {}


def test_what_may_raise_stays_and_a_write_becomes_a_look() -> None:
    def make(g: Graph, x: Any, k: Any) -> Any:
        for node in (f(g, operator.getitem, (x, k)), f(g, weft.index_update, (x, k, 0.0)), f(g, weft.exp, (x,))):
            if node.target is not weft.exp:
                node.meta["raises"] = True
        return f(g, weft.sin, (x,))

    graph = build(make, np.ones(3), 1)
    assert cleaned(graph, np.ones(3), 1) == {"dead code": 1, "unread write": 1}
    assert targets(graph).count(operator.getitem) == 2
    assert weft.index_update not in targets(graph)
    with pytest.raises(IndexError):
        run(graph, np.ones(3), 4)
