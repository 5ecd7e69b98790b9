"""Graphs whose parameters are nested, or partly fixed: the signature users see, and what it refuses."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import pytree
from weft.errors import GraphError
from weft.graph import Inputs

Pair = namedtuple("Pair", "a b")


def compiled(graph: weft.Graph) -> Callable[..., Any]:
    code = graph.python_code()
    scope = dict(code.globals)
    exec(compile(code.src, "<test>", "exec", dont_inherit=True), scope)
    return scope["forward"]


def nested() -> weft.Graph:
    graph = weft.Graph()
    a, b, scale = (
        graph.placeholder("batch_1"),
        graph.placeholder("batch_2"),
        graph.placeholder("scale", default_value=2),
    )
    graph.output((a, b, scale))
    tree = pytree.flatten({"a": 0, "b": (0, 0)})[1]
    graph.signature = Inputs(("batch", "flag", "scale"), (tree, pytree.LEAF, pytree.LEAF), {2: "fixed", 3: True})
    return graph


def test_nested_inputs() -> None:
    graph = nested()
    assert graph.python_code().src == (
        "def forward(self, batch, flag = True, scale = 2):\n"
        "    batch_1, batch_2, scale = _inputs.flatten(batch, flag, scale);  batch = flag = None\n"
        "    return (batch_1, batch_2, scale)\n"
    )
    forward = compiled(graph)
    assert forward(None, {"b": (2, "fixed"), "a": 1}) == (1, 2, 2)
    assert graph.process_inputs({"a": [1], "b": (2, "fixed")}, True, 3) == ([1], 2, 3)
    assert graph.process_outputs((1, 2)) == (1, 2)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (({"a": 1},), r"batch: expected \{'a': \*, 'b': \(\*, \*\)\}, got \{'a': \*\}"),
        (([1, 2],), r"batch: expected .*, got \[\*, \*\]"),
        (({"a": 1, "b": (2,)},), r"got \{'a': \*, 'b': \(\*,\)\}"),
        (({"a": 1, "b": (2, "other")},), r"batch: 'fixed' was fixed while tracing, got 'other'"),
        (({"a": 1, "b": (2, "fixed")}, False), "flag: True was fixed while tracing, got False"),
    ],
)
def test_nested_inputs_are_checked(args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        compiled(nested())(None, *args)


def test_nested_inputs_need_their_number() -> None:
    with pytest.raises(GraphError, match="expected 3 inputs"):
        nested().process_inputs(1)
    graph = nested()
    graph.output_node().args = (None,)
    graph.erase_node(graph.find_nodes(op="placeholder")[0])
    with pytest.raises(GraphError, match="2 placeholders, but a signature of 3 leaves"):
        graph.python_code()


def test_inputs_check_themselves() -> None:
    with pytest.raises(GraphError, match="1 names but 0 structures"):
        Inputs(("x",), ())
    with pytest.raises(GraphError, match="no leaf 1"):
        Inputs(("x",), (pytree.LEAF,), {1: 0})


def test_traced_pytrees_run() -> None:
    def program(batch: Any, pair: Any, scale: Any = 2, flag: bool = False) -> Any:
        return {"sum": batch["x"] + batch["y"][0] * scale, "b": pair.b} if flag else None

    gm = weft.symbolic_trace(
        program,
        concrete_args={"batch": {"x": weft.PH, "y": [weft.PH, 7]}, "pair": Pair(None, weft.PH), "flag": True},
    )
    batch = {"x": np.ones(2), "y": [np.arange(2.0), 7]}
    got, expected = gm(batch, Pair(None, 5), 3), program(batch, Pair(None, 5), 3, True)
    assert got.keys() == expected.keys()
    assert got["sum"].tolist() == expected["sum"].tolist()
    assert got["b"] == 5
    with pytest.raises(GraphError, match="7 was fixed while tracing, got 8"):
        gm({"x": 1, "y": [1, 8]}, Pair(None, 5))


def test_only_constants() -> None:
    gm = weft.symbolic_trace(lambda n: n + 1, concrete_args={"n": 3})
    assert gm(3) == 4
    assert gm() == 4
