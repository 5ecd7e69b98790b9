"""`Interpreter`: runs a graph node by node, and can be changed kind by kind."""

from __future__ import annotations

import operator
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.capture import PH, symbolic_trace
from weft.errors import GraphError
from weft.graph import Graph, GraphModule, Interpreter, Node


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = nn.Parameter(np.full(3, 2.0, np.float32))

    def forward(self, x: Any, shift: Any = 1.0) -> Any:
        h = weft.relu(self.layer(x)) * self.scale
        return {"out": [h.sum(dim=0), shift], "in": x}


X = np.ones((2, 3), np.float32)


def test_agrees_with_the_module() -> None:
    net = Net()
    gm = symbolic_trace(net)
    for args in [(X,), (X, 5.0)]:
        got, expected = Interpreter(gm).run(*args), net(*args)
        np.testing.assert_array_equal(got["out"][0], expected["out"][0])
        assert got["out"][1] == expected["out"][1] and got["in"] is X
    # Containers are ordinary ones, which the caller may change.
    assert type(got) is dict and type(got["out"]) is list


def test_every_kind_has_a_method_to_override() -> None:
    calls: list[tuple[str, Any]] = []

    class Noting(Interpreter):
        def run_node(self, n: Node) -> Any:
            calls.append(("run", n.name))
            return super().run_node(n)

    for kind in ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output"):

        def method(self: Any, target: Any, args: Any, kwargs: Any, kind: str = kind) -> Any:
            calls.append((kind, target))
            return getattr(Interpreter, kind)(self, target, args, kwargs)

        setattr(Noting, kind, method)
    gm = symbolic_trace(Net())
    Noting(gm).run(X)
    assert [c for c in calls if c[0] != "run"] == [
        ("placeholder", "x"),
        ("placeholder", "shift"),
        ("call_module", "layer"),
        ("call_function", weft.relu),
        ("get_attr", "scale"),
        ("call_function", operator.mul),
        ("call_method", "sum"),
        ("output", "output"),
    ]
    assert [c[1] for c in calls if c[0] == "run"] == [n.name for n in gm.graph.nodes]


def test_an_override_changes_the_result() -> None:
    class Swapped(Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(operator.sub if target is operator.add else target, args, kwargs)

    assert Swapped(symbolic_trace(lambda x: (x + 1) * 2)).run(5) == 8


def test_missing_and_extra_arguments() -> None:
    interpreter = Interpreter(symbolic_trace(lambda x, y: x + y))
    with pytest.raises(GraphError, match="no argument is given for the input 'y', which has no default"):
        interpreter.run(1)
    with pytest.raises(TypeError, match="1 argument more than the graph has inputs"):
        interpreter.run(1, 2, 3)
    with pytest.raises(TypeError, match="2 arguments more than the graph has inputs"):
        interpreter.run(1, 2, 3, 4)
    assert Interpreter(symbolic_trace(lambda x, *args: (x, args[1]))).run(1, 2, 3) == (1, 3)
    assert Interpreter(symbolic_trace(lambda x, **kwargs: (x, kwargs["a"]))).run(1, {"a": 2}) == (1, 2)


def test_initial_env_skips_nodes() -> None:
    gm = symbolic_trace(lambda x, y: (x + y) * 3)
    add = next(n for n in gm.graph.nodes if n.name == "add")
    assert Interpreter(gm).run(1, 1, initial_env={add: 100}) == 300


def test_structured_inputs() -> None:
    gm = symbolic_trace(lambda d, k: d["a"] * k + d["b"][0], concrete_args={"d": {"a": PH, "b": [PH]}, "k": 2})
    assert Interpreter(gm).run({"a": 5, "b": [1]}, 2) == gm({"a": 5, "b": [1]}, 2) == 11
    assert Interpreter(gm).run(5, 1, enable_io_processing=False) == 11


class Big:
    """Something whose lifetime can be watched."""


def test_values_are_dropped_after_their_last_use() -> None:
    made: list[Any] = []

    def make(_: Any) -> Big:
        big = Big()
        made.append(weakref.ref(big))
        return big

    def alive(_: Any) -> int:
        return sum(ref() is not None for ref in made)

    graph = Graph()
    x = graph.placeholder("x")
    first = graph.call_function(make, (x,))
    before = graph.call_function(alive, (first,))
    after = graph.call_function(alive, (x,))
    graph.output((before, after))
    gm = GraphModule({}, graph)
    assert Interpreter(gm).run(0) == (1, 0)
    made.clear()
    kept = Interpreter(gm, garbage_collect_values=False)
    assert kept.run(0) == (1, 1) and first in kept.env


def test_boxed_run_empties_the_list() -> None:
    box: list[Any] = [3, 4]
    assert Interpreter(symbolic_trace(lambda x, y: x - y)).boxed_run(box) == -1
    assert box == []


def test_errors_name_node_and_line() -> None:
    gm = symbolic_trace(Net())
    with pytest.raises(ValueError) as caught:
        Interpreter(gm).run(np.ones((2, 5), np.float32))
    (note,) = caught.value.__notes__
    assert note.startswith("while running %layer : ") and "test_interpreter.py:" in note
    assert note.endswith("h = weft.relu(self.layer(x)) * self.scale")


def test_other_graph_and_broken_graphs() -> None:
    gm = symbolic_trace(Net())
    other = Graph()
    other.output(other.get_attr("scale"))
    assert Interpreter(gm, graph=other).run() is gm.scale
    other = Graph()
    other.output(other.get_attr("no.such"))
    with pytest.raises(GraphError, match=r"'no\.such' cannot be read: Net has no attribute 'no'"):
        Interpreter(gm, graph=other).run()
    with pytest.raises(GraphError, match=r"'no\.such' cannot be read: the graph has no module"):
        Interpreter(None, graph=other).run()
    swapped = Graph()
    x = swapped.placeholder("x")
    late = swapped.call_function(operator.neg, (x,))
    early = swapped.call_function(operator.neg, (late,))
    late.prepend(early)
    swapped.output(late)
    with pytest.raises(GraphError, match="neg_1 reads neg, which has no value"):
        Interpreter(None, graph=swapped).run(1)


def test_a_graph_without_output_gives_none() -> None:
    graph = Graph()
    graph.call_function(operator.neg, (graph.placeholder("x"),))
    assert Interpreter(None, graph=graph).run(1) is None


def test_slices_and_containers_in_arguments() -> None:
    gm = symbolic_trace(lambda x, n: (x[n:, None], weft.concat([x, x]), {"k": (n,)}))
    got = Interpreter(gm).run(np.arange(3.0), 1)
    assert got[0].tolist() == [[1], [2]] and got[1].shape == (6,) and got[2] == {"k": (1,)}


def test_what_is_set_for_a_while_is_put_back() -> None:
    def quiet(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = np.log(x)
        with np.errstate(divide="raise"):
            return y, 1 / (x + 1)

    module, x = weft.script(quiet), np.array([0.0, 2.0])
    before = np.geterr(), list(warnings.filters)
    np.testing.assert_array_equal(Interpreter(module).run(x), [[-np.inf, np.log(2.0)], [1.0, 1 / 3]])
    with pytest.raises(FloatingPointError):
        Interpreter(module).run(x - 1)
    assert (np.geterr(), list(warnings.filters)) == before
