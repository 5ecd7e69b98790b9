"""What works on a graph goes into the bodies of its loops and branches, and stays outside when told to."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import GraphError

X = np.array([1.0, -2.0, 3.0])


def program(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + np.exp(x[i])
        else:
            total = total * 2
    while total > 10:
        total = total / 2
    return total + np.exp(total)


def with_sin(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + np.sin(x[i]) if x[i] > 0 else total * 2
    while total > 10:
        total = total / 2
    return total + np.sin(total)


def scanned(x: Any) -> Any:
    last, rows = weft.scan(lambda s, v: (s + np.exp(v), s * v), 0.0, x)
    return last, rows


def switched(x: Any) -> Any:
    return weft.switch(x.argmax(), [lambda v: np.exp(v), lambda v: v * 2 + np.exp(v), lambda v: v], x)


def captured(function: Any = program) -> weft.GraphModule:
    made: weft.GraphModule = weft.script(function)
    return made


def exps(graph: weft.Graph, **how: Any) -> list[weft.Node]:
    return graph.find_nodes(op="call_function", target=np.exp, **how)


# find_nodes


def test_find_nodes() -> None:
    graph = captured().graph
    assert len(exps(graph)) == 2 and len(exps(graph, bodies=False)) == 1
    assert exps(graph)[0].graph is not graph and exps(graph)[1].graph is graph
    assert set(exps(graph, sort=False)) == set(exps(graph))
    names = [node.target for node in graph.find_nodes(op="call_function")]
    assert names.index(weft.fori_loop) < names.index(weft.cond) < names.index(np.exp) < names.index(weft.while_loop)
    assert [node.name for node in graph.find_nodes(op="placeholder")] == ["x"]
    assert len(graph.find_nodes(op="output")) == 1


# Text


def test_print() -> None:
    graph = captured().graph
    lines = str(graph).splitlines()
    assert graph.text(bodies=False).splitlines() == [line for line in lines if not line.startswith("        ")]
    heads = [line for line in lines if line.endswith(": graph():")]
    assert heads == [
        "        body_fn: graph():",
        "                true_fn: graph():",
        "                false_fn: graph():",
        "        cond_fn: graph():",
        "        body_fn: graph():",
    ]
    (exp,) = [line for line in lines if "target=numpy.exp](args = (%getitem" in line]
    assert exp.startswith(" " * 20 + "%exp")
    chosen = weft.symbolic_trace(lambda i, x: weft.switch(i, [np.exp, np.sin, np.cos], x))
    assert "branches[2]: graph():" in str(chosen.graph)


def test_print_tabular(capsys: Any) -> None:
    graph = captured().graph
    graph.print_tabular()
    inside = capsys.readouterr().out
    graph.print_tabular(bodies=False)
    outside = capsys.readouterr().out
    assert inside.count("numpy.exp") == 2 and outside.count("numpy.exp") == 1
    assert "\n      true_fn" in inside and "\n        call_function" in inside


# Running


class Counting(weft.Interpreter):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.seen: list[str] = []

    def run_node(self, n: weft.Node) -> Any:
        value = super().run_node(n)
        self.seen.append(n.name)
        return value


class Sines(weft.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return np.sin(*args) if target is np.exp else super().call_function(target, args, kwargs)

    def placeholder(self, target: str, args: Any, kwargs: Any) -> Any:
        return super().placeholder(target, args, kwargs) * 1.0

    def output(self, target: str, args: Any, kwargs: Any) -> Any:
        return ("result", super().output(target, args, kwargs))


class SinesOutside(Sines):
    bodies = False


def test_interpreter() -> None:
    counting = Counting(captured())
    assert counting.run(X) == program(X)
    assert counting.seen.count("exp") == 3 and counting.seen.count("getitem") == 3 + 2
    assert Sines(captured()).run(X) == ("result", with_sin(X))
    assert SinesOutside(captured()).run(X)[1] != with_sin(X)
    for function in (scanned, switched):
        np.testing.assert_equal(weft.Interpreter(captured(function)).run(X), function(X))


def test_an_interpreter_s_env_is_that_of_the_body_that_runs() -> None:
    found = []

    class Looking(weft.Interpreter):
        def run_node(self, n: weft.Node) -> Any:
            assert all(node.graph is n.graph for node in self.env)
            if n.target is np.exp:
                found.append(self.map_nodes_to_values(n.args, n)[0])
            return super().run_node(n)

    runner = Looking(captured(), garbage_collect_values=False)
    result = runner.run(X)
    assert found[:2] == [1.0, 3.0] and result == program(X)
    assert all(node.graph is runner.graph for node in runner.env)


def test_errors_name_the_node_of_the_body() -> None:
    def fails(x: Any) -> Any:
        while x.sum() < 10:
            x = x @ np.ones(5)
        return x

    with pytest.raises(ValueError) as found:
        weft.Interpreter(captured(fails)).run(X)
    assert any("matmul" in note for note in found.value.__notes__)


def test_bodies_that_an_interpreter_runs_are_edited() -> None:
    gm = captured()
    runner = weft.Interpreter(gm)
    assert runner.run(X) == program(X)
    for node in exps(gm.graph):
        node.target = np.sin
    assert runner.run(X) == with_sin(X) == gm(X)


@pytest.mark.parametrize("example", [X, weft.spec((3,))], ids=["array", "spec"])
def test_shape_prop_runs_bodies_through_run_node(example: Any) -> None:
    compiled = weft.compile(program)
    compiled(X)
    graph = compiled.graph.clone()
    for node in graph.find_nodes(op="call_function"):
        node.meta.clear()
    seen = []

    class Noting(weft.ShapeProp):
        def run_node(self, n: weft.Node) -> Any:
            seen.append(n.graph)
            return super().run_node(n)

    Noting(weft.GraphModule({}, graph)).propagate(example)
    assert all(str(node.meta["type"].dtype) == "float64" for node in exps(graph))
    assert len(set(map(id, seen))) == 6


# Rewriting


class ToSines(weft.Transformer):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return np.sin(*args) if target is np.exp else super().call_function(target, args, kwargs)


class ToSinesOutside(ToSines):
    bodies = False


def test_transformer() -> None:
    gm = captured()
    changed = ToSines(gm).transform()
    changed.graph.lint()
    assert changed(X) == with_sin(X) and gm(X) == program(X)
    assert len(exps(ToSinesOutside(gm).transform().graph)) == 1
    same = weft.Transformer(gm).transform()
    assert same(X) == program(X)
    locations = [node.location.line for node in same.graph.find_nodes(op="call_function") if node.location]
    assert locations == [node.location.line for node in gm.graph.find_nodes(op="call_function") if node.location]
    for function in (scanned, switched):
        np.testing.assert_equal(weft.Transformer(captured(function)).transform()(X), function(X))


def test_a_body_that_would_read_the_module_is_refused() -> None:
    class ToModule(weft.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is np.exp:
                return self.call_module("layer", args, kwargs)
            return super().call_function(target, args, kwargs)

    gm = captured()
    gm.add_submodule("layer", nn.ReLU())
    with pytest.raises(GraphError, match="the body of a loop or branch reads 'layer' of the module"):
        ToModule(gm).transform()


@pytest.mark.parametrize("make", [captured, weft.compile], ids=["script", "compile"])
def test_replace_pattern(make: Any) -> None:
    f = make(program)
    assert f(X) == program(X)
    matches = weft.replace_pattern(f.graph, lambda x: np.exp(x), lambda x: np.sin(x))
    assert len(matches) == 2 and len({match.nodes_map[match.anchor].graph for match in matches}) == 2
    f.graph.lint()
    assert f(X) == with_sin(X)
    assert weft.replace_pattern(f.graph, lambda x: np.sin(x), lambda x: np.exp(x), bodies=False)[0].bindings
    assert len(f.graph.find_nodes(op="call_function", target=weft.exp)) == 1


def test_filters_are_told_the_body() -> None:
    gm = captured()
    given: list[Any] = []

    def outside(match: Any, graph: weft.Graph, pattern: weft.Graph) -> bool:
        given.append(graph)
        return graph is gm.graph

    replaced = weft.replace_pattern_with_filters(gm, lambda x: np.exp(x), lambda x: np.sin(x), [outside])
    assert len(replaced) == 1 and len(given) == 2


def test_replacements_with_modules_stay_outside() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.act(x)

    gm = captured()
    assert len(weft.replace_pattern(gm, lambda x: np.exp(x), Layer())) == 1
    gm.graph.lint()


def test_nothing_changes_where_a_replacement_of_a_body_does_not_fit() -> None:
    gm = captured()
    before = str(gm.graph)

    def replacement(match: Any, graph: weft.Graph, pattern: weft.Graph) -> Any:
        return (lambda x: np.sin(x)) if graph is gm.graph else (lambda x: (x, np.sin(x)))

    with pytest.raises(GraphError, match="returns"):
        weft.replace_pattern_with_filters(gm, lambda x: np.exp(x), replacement_callback=replacement)
    assert str(gm.graph) == before
    assert operator.add in {node.target for node in gm.graph.nodes}
