"""`Session`: fetches and feeds."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
import pytest

from weft import nn
from weft.capture import symbolic_trace
from weft.errors import GraphError
from weft.graph import Graph, Session


@pytest.fixture
def parts() -> dict[str, Any]:
    """x and y into total = x + y, double = x * 2, both = total - double; every run of a function is counted."""
    graph = Graph()
    runs: list[str] = []

    def noted(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            runs.append(name)
            return function(*args)

        return call

    x, y = graph.placeholder("x"), graph.placeholder("y")
    total = graph.call_function(noted("total", operator.add), (x, y), name="total")
    double = graph.call_function(noted("double", operator.mul), (x, 2), name="double")
    both = graph.call_function(noted("both", operator.sub), (total, double), name="both")
    graph.output({"both": both})
    return {"graph": graph, "runs": runs, "x": x, "y": y, "total": total, "double": double, "both": both}


def test_runs_only_what_is_needed(parts: dict[str, Any]) -> None:
    session = Session(parts["graph"])
    assert session.run("double", {"x": 4}) == 8
    assert parts["runs"] == ["double"]
    parts["runs"].clear()
    assert session.run(["both", "total"], {"x": 1, "y": 2}) == [1, 3]
    assert parts["runs"] == ["total", "double", "both"]


class Pair(NamedTuple):
    a: Any
    b: Any


def test_fetches_of_any_structure(parts: dict[str, Any]) -> None:
    session = Session(parts["graph"])
    feed = {parts["x"]: 1, "y": 2}
    assert session.run(parts["total"], feed) == 3
    got = session.run({"n": Pair("x", parts["both"]), "l": ["total", ("total",)]}, feed)
    assert got == {"n": Pair(1, 1), "l": [3, (3,)]} and type(got["n"]) is Pair
    assert session.run("output", feed) == {"both": 1}
    assert session.run([], {}) == []


def test_any_node_may_be_fed(parts: dict[str, Any]) -> None:
    session = Session(parts["graph"])
    assert session.run("both", {"total": 10, "x": 3}) == 4
    assert "total" not in parts["runs"]
    assert session.run("both", {"total": 10, "double": 1}) == 9
    assert session.run("total", {"total": 7}) == 7
    # Feeding what is not needed does no harm.
    assert session.run("double", {"x": 1, "both": 0}) == 2


def test_errors(parts: dict[str, Any]) -> None:
    session = Session(parts["graph"])
    with pytest.raises(GraphError) as caught:
        session.run("totl", {"x": 1})
    assert str(caught.value) == "fetch: the graph has no node 'totl'\n  help: did you mean 'total'?"
    with pytest.raises(GraphError, match=r"feed: the graph has no node 'zzz'\n  help: its nodes are x, y, total"):
        session.run("total", {"zzz": 1})
    with pytest.raises(GraphError) as caught:
        session.run(["double", "both"], {"x": 1})
    assert str(caught.value) == (
        "run: the input 'y' is needed for 'both' and is not fed\n  help: feed it: session.run('both', {'y': ...})"
    )
    with pytest.raises(GraphError, match="expected a Node or the name of one, got int"):
        session.run([3])
    stranger = Graph().placeholder("x")
    with pytest.raises(GraphError, match="fetch: node x is not in this session's graph"):
        session.run(stranger)
    with pytest.raises(TypeError) as failed:
        session.run("double", {"x": None})
    assert failed.value.__notes__[0].startswith("while running %double : ")


def test_defaults_and_variadics() -> None:
    gm = symbolic_trace(lambda x, scale=3, *args, **kwargs: (x * scale, args, kwargs))
    session = Session(gm)
    assert session.run("output", {"x": 2}) == (6, (), {})
    assert session.run("output", {"x": 2, "scale": 1, "_args": (1,), "**kwargs": {"k": 0}}) == (2, (1,), {"k": 0})


def test_an_input_goes_by_its_parameter_too() -> None:
    graph = Graph()
    inputs = graph.placeholder("sum")  # a builtin's name: the node is sum_1
    graph.output(graph.call_function(operator.neg, (inputs,)))
    assert inputs.name == "sum_1"
    assert Session(graph).run("neg", {"sum": 1}) == Session(graph).run("neg", {"sum_1": 1}) == -1


def test_plans_are_kept_and_follow_edits(parts: dict[str, Any]) -> None:
    session = Session(parts["graph"])
    for _ in range(3):
        session.run("total", {"x": 1, "y": 2})
    assert len(session._plans) == 1
    parts["total"].replace_input_with(parts["y"], parts["x"])
    assert session.run("total", {"x": 1, "y": 2}) == 2
    assert session.run("total", {"x": 1}) == 2
    assert session.run("double", {"x": 1}) == 2
    parts["double"].update_arg(0, parts["total"])  # which the plan made before does not run
    assert session.run("double", {"x": 1}) == 4
    parts["total"].name = "renamed"
    assert session.run("renamed", {"x": 1}) == 2
    with pytest.raises(GraphError, match="no node 'total'"):
        session.run("total", {"x": 1})


def test_modules_attributes_and_methods() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.scale = nn.Parameter(np.ones(2, np.float32))

        def forward(self, x: Any) -> Any:
            return (self.layer(x) * self.scale).sum(dim=1, keepdim=True)

    net = Net()
    gm = symbolic_trace(net)
    x = np.ones((4, 3), np.float32)
    for session in (Session(gm), Session(gm.graph)):
        np.testing.assert_array_equal(session.run("sum_1", {"x": x}), net(x))
        assert session.run("scale") is gm.scale
        np.testing.assert_array_equal(session.run("layer", {"x": x}), net.layer(x))


def test_long_graphs_run_without_recursion() -> None:
    graph = Graph()
    node = graph.placeholder("x")
    for _ in range(20_000):
        node = graph.call_function(operator.add, (node, 1))
    assert Session(graph).run(node, {"x": 0}) == 20_000


def test_a_node_fed_twice_is_an_error() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    with pytest.raises(GraphError, match="x is fed twice"):
        Session(graph).run(x, {x: 1, "x": 2})
