"""Control flow under `symbolic_trace`: functions become bodies, what they close over becomes operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import ControlError, TraceError
from weft.graph import Graph, Interpreter


def run(f: Any, *args: Any) -> tuple[Any, Graph]:
    gm = weft.symbolic_trace(f)
    gm.graph.lint()
    return Interpreter(gm).run(*args), gm.graph


def same(found: Any, expected: Any) -> None:
    for a, b in zip(weft.pytree.leaves_of(found), weft.pytree.leaves_of(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("x", [2.0, -2.0])
def test_cond_closes_over_values(x: float) -> None:
    def f(x: Any, y: Any) -> Any:
        z = y * 3
        return weft.cond(x > 0, lambda v: {"a": v + z, "b": (x,)}, lambda v: {"a": v - y, "b": (z,)}, y)

    found, graph = run(f, x, 5.0)
    assert found == ({"a": 20.0, "b": (2.0,)} if x > 0 else {"a": 0.0, "b": (15.0,)})
    node = graph.find_nodes(op="call_function", target=weft.cond)[0]
    assert [arg.name for arg in node.args[3:]] == ["y", "mul", "x", "y"]
    assert [n.name for n in node.bodies[0].find_nodes(op="placeholder")] == ["v", "mul", "x", "y"]
    assert [n.name for n in node.bodies[1].find_nodes(op="placeholder")] == ["v", "mul", "x", "y"]


def test_switch() -> None:
    f = lambda k, x: weft.switch(k, [weft.sin, lambda v: v * x, abs], x)  # noqa: E731  # one expression
    for k in range(-1, 4):
        assert run(f, k, 0.5)[0] == f(k, 0.5)


def test_loops_in_loops_with_branches_and_constants() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(n: Any, x: Any) -> Any:
        def turn(i: Any, s: Any) -> Any:
            def inner(t: Any) -> Any:
                return {"v": t["v"] + x * weights + i, "n": t["n"] + 1}

            return weft.cond(i % 2 == 0, inner, lambda t: {"v": weft.sin(t["v"]), "n": t["n"]}, s)

        first = weft.fori_loop(0, n, turn, {"v": x, "n": 0})
        return weft.while_loop(lambda s: s["n"] < n, lambda s: {"v": s["v"] / 2, "n": s["n"] + 1}, first)

    def plain(n: int, x: Any) -> Any:
        v, count = x, 0
        for i in range(n):
            v, count = (v + x * weights + i, count + 1) if i % 2 == 0 else (np.sin(v), count)
        while count < n:
            v, count = v / 2, count + 1
        return {"v": v, "n": count}

    x = np.array([0.1, 0.2, 0.3])
    for n in (0, 1, 5):
        same(run(f, n, x)[0], plain(n, x))
    graph = run(f, 1, x)[1]
    constants = [node for node in graph.nodes if node.op == "get_attr"]
    assert len(constants) == 1  # read once, outside the loop


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse: bool) -> None:
    def f(x: Any, w: Any) -> Any:
        return weft.scan(lambda s, r: (s * w + r["a"], (s, None)), x[0] * 0, {"a": x}, reverse=reverse)

    x = np.arange(6.0).reshape(3, 2)
    found, (rows, none) = run(f, x, 0.5)[0]
    assert none is None
    same((found, rows), (f(x, 0.5)[0], f(x, 0.5)[1][0]))
    same(run(lambda n, s: weft.scan(lambda c, x: (c * 2, c), s, length=n), 4, 1)[0], (16, np.array([1, 2, 4, 8])))


def test_modules_are_opened_in_bodies() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.scale = np.full(2, 0.5, np.float32)

        def forward(self, x: Any) -> Any:
            return weft.fori_loop(0, 3, lambda i, s: weft.tanh(self.layer(s)) * self.scale, self.layer(x))

    net, x = Net(), np.ones((1, 2), np.float32)
    found, graph = run(net, x)
    np.testing.assert_array_equal(found.numpy(), net(x).numpy())
    assert [node.target for node in graph.nodes if node.op == "call_module"] == ["layer"]  # outside the loop
    assert {node.target for node in graph.nodes if node.op == "get_attr"} == {"layer.weight", "layer.bias", "scale"}


def test_a_loop_begun_as_python_is_recorded_once() -> None:
    @weft.has_side_effect
    @weft.wrap
    def log(x: Any) -> Any:
        return x

    def f(x: Any) -> Any:
        def turn(i: Any, s: Any) -> Any:
            log(x)
            return s + x

        return weft.fori_loop(0, 3, turn, 0.0), weft.while_loop(lambda s: s < x, lambda s: s + log(1.0), 0.0)

    found, graph = run(f, 2.5)
    assert found == (7.5, 3.0)
    assert not [node for node in graph.nodes if "log" in node.name]
    inside = [node.name for node in graph.nodes for body in node.bodies for node in body.nodes]
    assert "log" in inside


def test_what_is_read_outside_may_be_used_inside_and_after() -> None:
    def f(x: Any, p: Any) -> Any:
        shape = x.shape
        inside = weft.cond(p, lambda: shape[0], lambda: shape[1] + 1)
        return inside, shape[0]

    assert run(f, np.ones((2, 5)), True)[0] == (2, 2)
    assert run(f, np.ones((2, 5)), False)[0] == (6, 2)


def test_nodes_of_bodies_know_their_lines() -> None:
    gm = weft.symbolic_trace(lambda x: weft.fori_loop(0, 2, lambda i, s: weft.sin(s), x))  # this line
    body = gm.graph.find_nodes(op="call_function", target=weft.fori_loop)[0].bodies[0]
    node = body.find_nodes(op="call_function")[0]
    assert node.location is not None and "this line" in node.location.text


def test_graphs_given_as_bodies_are_copied() -> None:
    body = Graph()
    body.output((body.call_function(weft.sin, (body.placeholder("x"),)),))
    graph = run(lambda p, x: weft.cond(p, body, body, x)[0], True, 0.5)[1]
    made = graph.find_nodes(op="call_function", target=weft.cond)[0].bodies
    assert all(one is not body for one in made)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: weft.cond(x, lambda: x, lambda: (x, x)), r"cond: true_fn returns \*, false_fn returns \(\*, \*\)"),
        (lambda x: weft.cond(x, lambda: x, lambda: None), "false_fn returns . with None at some leaves"),
        (lambda x: weft.cond(x, 1, 2), "true_fn is a function"),
        (lambda x: weft.switch(x, []), "branches is a list of functions"),
        (lambda x: weft.fori_loop(0, x, lambda i, s: (s, s), x), r"init is \*, but the body gives \(\*, \*\)"),
        (lambda x: weft.fori_loop(0, x, lambda i, s: s, None), "init holds something else than arrays and numbers"),
        (
            lambda x: weft.while_loop(lambda s: (s, s), lambda s: s, x),
            "cond_fn gives .* where one truth value is needed",
        ),
        (lambda x: weft.scan(lambda s, r: s, x, x), "f returns a pair"),
    ],
)
def test_refusals(f: Any, message: str) -> None:
    with pytest.raises(ControlError, match=message):
        weft.symbolic_trace(f)


def test_values_of_a_body_stay_in_it() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        weft.cond(x, lambda: kept.append(x * 2), lambda: None)
        return kept[0] + 1

    with pytest.raises(TraceError, match="a value from a body of control flow is used outside of it"):
        weft.symbolic_trace(f)


def test_a_refusal_in_a_body_is_not_swallowed() -> None:
    def branch(x: Any) -> Any:
        try:
            return x + 1 if x > 0 else x
        except TraceError:
            return x

    with pytest.raises(TraceError, match="caught this error and went on"):
        weft.symbolic_trace(lambda x: weft.cond(x, branch, lambda v: v, x))


def test_a_scan_without_results_of_each_turn_inside_a_program() -> None:
    program = lambda x: (  # noqa: E731  # captured as it stands
        weft.scan(lambda c, v: (c + v, None), 0.0, x),
        weft.scan(lambda c, v: (c * v, {"a": v, "b": None}), 1.0, x, reverse=True),
    )
    x = np.array([1.0, 2.0, 3.0])
    for run in (weft.compile(program), weft.script(program)):
        (total, nothing), (product, rows) = run(x)
        assert (total, nothing, product, rows["b"]) == (6.0, None, 6.0, None)
        np.testing.assert_array_equal(rows["a"], x)
