"""The pass manager: rounds to a fixed point, lint in between, a record, and errors that change nothing."""

from __future__ import annotations

import operator
import re
import sys
from typing import Any

import numpy as np
import pytest
from typed_graphs import body, build, run, same_bits

import weft
from weft.errors import GraphError
from weft.graph import Graph
from weft.passes import DEFAULT, Changes, PassManager, eliminate_dead, fold_constants, optimize

f = Graph.call_function


def program(x: Any) -> Any:
    scale = weft.exp(x) * 1
    again = weft.exp(x) - 0
    unused = weft.sin(x)
    return weft.sum(scale + again) + (unused[0] - unused[0]) * 0 if x is None else weft.sum(scale + again)


def traced() -> weft.GraphModule:
    module = weft.symbolic_trace(program)
    module.graph.infer(weft.spec((3,)))
    return module


def test_everything_together() -> None:
    module = traced()
    before = module(np.arange(3.0))
    report = optimize(module)
    assert module.code.strip() == (
        "def forward(self, x):\n"
        "    exp = weft.exp(x);  x = None\n"
        "    add = exp + exp;  exp = None\n"
        "    sum_1 = weft.sum(add);  add = None\n"
        "    return sum_1"
    )
    assert same_bits(module(np.arange(3.0)), before)
    assert report.rules == {"times one": 1, "minus zero": 1, "same call": 1, "dead code": 1}
    assert (report.before, report.after, report.settled) == (9, 5, True)


def test_the_report_is_a_table() -> None:
    report = optimize(traced())
    lines = re.sub(r"\d+\.\d\d ", "0.00 ", str(report)).splitlines()
    assert lines[0].split() == ["round", "pass", "nodes", "ms", "changes"]
    assert lines[2].split(maxsplit=6) == ["1", "simplify", "9", "→", "7", "0.00", "times one 1, minus zero 1"]
    assert {len(line[: line.index("→")]) for line in lines[1:]} == {lines[1].index("→")}
    said = report.explain().splitlines()
    assert re.match(r"rewrote mul \(times one\) → exp  at .*test_manager.py:\d+: scale = weft.exp\(x\) \* 1", said[0])
    assert said[3].startswith("removed sin (dead code)  at ")


def test_it_ends_when_nothing_changes() -> None:
    report = optimize(traced())
    assert [run.name for run in report.runs[-4:]] != []
    assert all(not run.changes for run in report.runs[-len(DEFAULT) :])
    module = traced()
    optimize(module)
    again = optimize(module)
    assert [run.name for run in again.runs] == [one.__name__ for one in DEFAULT]
    assert not again.changes


def test_a_pass_looks_again_only_at_bodies_that_were_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x + 1
        for _ in range(n):
            x = x**2
        return x

    def visits() -> list[int]:
        compiled = weft.compile(steps)
        compiled(np.ones(3), 2)
        return [seen.count(body) for body in dict.fromkeys(seen)]

    seen: list[Any] = []
    simplify_one = sys.modules["weft.passes.simplify"]._simplify
    monkeypatch.setattr(
        sys.modules["weft.passes.simplify"],
        "_simplify",
        lambda graph, *rest: (seen.append(graph), simplify_one(graph, *rest)),
    )
    assert sorted(visits()) == [1, 2, 2]


def test_rounds_are_limited() -> None:
    report = PassManager(max_rounds=1).run(traced())
    assert not report.settled
    assert {run.round for run in report.runs} == {1}
    with pytest.raises(ValueError, match="at least one round"):
        PassManager(max_rounds=0)


def test_a_pass_that_breaks_the_graph_is_named() -> None:
    def careless(graph: Graph) -> Changes:
        exp = next(node for node in graph.nodes if node.target is weft.exp)
        exp._args = (next(reversed(graph.nodes)),)
        return Changes()

    module = traced()
    copied = module.graph.clone()
    fold_constants(copied), eliminate_dead(copied)
    expected = str(copied)
    with pytest.raises(GraphError, match=r"pass careless: lint: .*exp") as caught:
        PassManager([fold_constants, eliminate_dead, careless]).run(module)
    assert "the graph is as it was before this pass" in str(caught.value)
    assert isinstance(caught.value.__cause__, GraphError)
    assert str(module.graph) == expected
    module.graph.lint()
    assert same_bits(run(module.graph, np.ones(3)), run(copied, np.ones(3)))


def test_a_pass_that_fails_is_named() -> None:
    def clumsy(graph: Graph) -> Changes:
        graph.erase_node(graph.output_node())
        raise KeyError("missing")

    module = traced()
    before = str(module.graph)
    with pytest.raises(GraphError, match=r"pass clumsy: KeyError: 'missing'"):
        PassManager([clumsy]).run(module.graph)
    assert str(module.graph) == before
    assert all(node.graph is module.graph for node in module.graph.nodes)
    module.graph.create_node("call_function", weft.sin, (next(iter(module.graph.nodes)),))
    with pytest.raises(GraphError, match="pass <lambda>: TypeError: it returned NoneType; a pass returns Changes"):
        PassManager([lambda graph: None]).run(traced())  # type: ignore[list-item,arg-type,return-value]


def test_a_body_is_restored_too() -> None:
    inner = body(lambda g, x: (f(g, weft.exp, (x,)), x), 1)

    def clumsy(graph: Graph) -> Changes:
        node = next(node for node in graph.nodes if node.target is weft.cond)
        node.args[1].erase_node(node.args[1].output_node())
        raise KeyError("missing")

    graph = build(lambda g, p, x: f(g, operator.getitem, (f(g, weft.cond, (p, inner, inner, x)), 0)), True, 1.0)
    with pytest.raises(GraphError, match="clumsy"):
        PassManager([clumsy]).run(graph)
    graph.lint()
    assert same_bits(run(graph, True, 0.0), np.float64(1.0))


def test_a_broken_graph_is_refused_first() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(x)
    x.name = "not a name"
    with pytest.raises(GraphError, match="lint"):
        optimize(graph)


def test_only_graphs() -> None:
    with pytest.raises(TypeError, match="a Graph or a GraphModule is expected, got function"):
        optimize(program)  # type: ignore[arg-type]


def test_nodes_of_the_graph_stay_the_same_objects() -> None:
    module = traced()
    kept = [node for node in module.graph.nodes if node.op == "placeholder"]
    optimize(module)
    assert [node for node in module.graph.nodes if node.op == "placeholder"] == kept
