"""Graphs as text, to the letter."""

from __future__ import annotations

import operator
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft
from weft.graph._print import format_value, readable, target_name

Pair = namedtuple("Pair", "a b")


@dataclass
class Box:
    inside: Any


def example() -> weft.Graph:
    graph = weft.Graph()
    x = graph.placeholder("x", type_expr=np.ndarray)
    y = graph.placeholder("y", default_value=2)
    rest = graph.placeholder("*rest")
    weight = graph.get_attr("layer.weight")
    add = graph.call_function(operator.add, (x, weight))
    item = graph.call_function(operator.getitem, (rest, (slice(1, None), None, ...)))
    total = graph.call_method("sum", (add,), {"axis": 0})
    called = graph.call_module("layer.0", (total,))
    joined = graph.call_function(weft.concat, ([called, item],), {"axis": -1})
    graph.output({"a": [joined, (y,)], "b": "text"})
    return graph


def test_graph() -> None:
    assert str(example()) == (
        "graph():\n"
        "    %x : numpy.ndarray [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y](default=2)\n"
        "    %_rest : [num_users=1] = placeholder[target=*rest]\n"
        "    %layer_weight : [num_users=1] = get_attr[target=layer.weight]\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %layer_weight), kwargs = {})\n"
        "    %getitem : [num_users=1] = call_function[target=operator.getitem]"
        "(args = (%_rest, (slice(1, None, None), None, Ellipsis)), kwargs = {})\n"
        "    %sum_1 : [num_users=1] = call_method[target=sum](args = (%add,), kwargs = {axis: 0})\n"
        "    %layer_0 : [num_users=1] = call_module[target=layer.0](args = (%sum_1,), kwargs = {})\n"
        "    %concat : [num_users=1] = call_function[target=weft.concat]"
        "(args = ([%layer_0, %getitem],), kwargs = {axis: -1})\n"
        "    return {'a': [concat, (y,)], 'b': 'text'}"
    )


def test_empty_graph() -> None:
    assert str(weft.Graph()) == "graph():"


def test_table_shows_what_is_known() -> None:
    from weft.graph._print import format_table

    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.neg, (x,)))
    assert format_table(graph) == (
        "opcode         name    target        args    kwargs\n"
        "-------------  ------  ------------  ------  ------\n"
        "placeholder    x       x             ()      {}\n"
        "call_function  neg     operator.neg  (x,)    {}\n"
        "output         output  output        (neg,)  {}"
    )
    x.meta["type"] = weft.spec((2, 3), "float32")
    first = format_table(graph).splitlines()
    assert first[0].split() == ["opcode", "name", "target", "args", "kwargs", "shape"]
    assert first[2].endswith("float32[2, 3]")


def test_table_shows_source_lines() -> None:
    from weft.graph._print import format_table

    gm = weft.symbolic_trace(lambda x: -x)
    row = format_table(gm.graph).splitlines()[3]
    assert row.rstrip().endswith("gm = weft.symbolic_trace(lambda x: -x)")
    assert "test_print.py:" in row


def test_print_tabular(capsys: pytest.CaptureFixture[str]) -> None:
    example().print_tabular()
    assert capsys.readouterr().out.startswith("opcode ")


def test_format_node_collects_placeholders_and_type() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x", type_expr=int)
    out = graph.output(x, type_expr=float)
    names, returned = ["self"], [""]
    assert x.format_node(names, returned) is None
    assert out.format_node(names, returned) == "return x"
    assert names == ["self", "x: int"]
    assert returned == [" -> float"]
    assert x.format_node([], []) == "%x : int [num_users=1] = placeholder[target=x]"


def test_format_node_with_shapes() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    x.meta["type"] = (weft.spec((4,), "int32"), {"k": weft.spec((), "float64")})
    assert x.format_node(include_tensor_metadata=True) == (
        "%x : (int32[4], {k: float64[]}) [num_users=0] = placeholder[target=x]"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        (Pair(1, "x"), "Pair(1, 'x')"),
        ((1,), "(1,)"),
        ((), "()"),
        (slice(None, 2), "slice(None, 2, None)"),
        (np.arange(3), "array([0, 1, 2])"),
        (np.sin, "numpy.sin"),
        (weft.sin, "weft.sin"),
        (float("nan"), "nan"),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert format_value(value) == text


def test_nodes_in_dataclasses_show_by_name() -> None:
    graph = weft.Graph()
    assert format_value(Box(graph.placeholder("x"))) == "Box(inside=%x)"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (operator.add, "operator.add"),
        (getattr, "builtins.getattr"),
        (np.add, "numpy.add"),
        (np.linalg.inv, "numpy.linalg.inv"),
        (weft.sin, "weft.sin"),
        (weft.linalg.inv, "weft.linalg.inv"),
        (lambda x: x, "<lambda>"),
        ("layer.0", "layer.0"),
        ("odd\nname", r"odd\nname"),
    ],
)
def test_targets(target: Any, text: str) -> None:
    assert target_name(target) == text


def test_no_value_breaks_the_line() -> None:
    class Hostile:
        def __repr__(self) -> str:
            return "one\ntwo\r\x1b[31m\u2028"

    graph = weft.Graph()
    graph.output(graph.call_function(print, (graph.placeholder("x"), Hostile(), "a\nb"), {"end\n": 1}))
    assert len(str(graph).splitlines()) == 4
    assert "\x1b" not in str(graph)


def test_readable() -> None:
    assert readable("Net", "def forward(self):\n    return 1\n", {"sub": "class Sub:\n    pass\n"}) == (
        "class Net(weft.nn.Module):\n"
        "    def forward(self):\n"
        "        return 1\n"
        "\n"
        "    # sub\n"
        "    class Sub:\n"
        "        pass\n"
    )
    assert readable("not a name", "pass").startswith("class GraphModule(weft.nn.Module):")
