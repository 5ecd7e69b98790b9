"""Small things that whoever knows torch.fx counts on: numbers in names, order of users, what erased nodes still tell.

`tests/interop/test_fx_parity.py` compares these, and much more, with torch.fx itself.
"""

from __future__ import annotations

import operator

import pytest

import weft
from weft import nn


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a_5", "a"], ["a", "a_5", "a_6"]),
        (["a_5", "a_1", "a_5"], ["a_5", "a_1", "a_2"]),
        (["a_1_1", "a_1", "a_1"], ["a_1_1", "a_1", "a_2"]),
        (["b_2", "b", "b"], ["b_2", "b", "b_3"]),
        (["sum", "sum", "sum_1"], ["sum_1", "sum_2", "sum_3"]),
        (["", ""], ["_unnamed", "_unnamed_1"]),
        (["a_" + "9" * 5000] * 2, ["a_" + "9" * 5000, "a_" + "9" * 5000 + "_1"]),
    ],
    ids=lambda names: "-".join(names)[:20],
)
def test_the_next_number(asked: list[str], given: list[str]) -> None:
    graph = weft.Graph()
    assert [graph.create_node("call_function", operator.add, name=name).name for name in asked] == given


def test_an_erased_node_keeps_its_constants() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(operator.add, (x, [2, x]), {"k": 3, "j": x})
    graph.erase_node(node)
    assert node.args == (None, [2, None])
    assert node.kwargs == {"k": 3, "j": None}
    assert not x.users
    assert node.all_input_nodes == []


def test_inserting_an_argument_keeps_the_order_of_users() -> None:
    graph = weft.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    first = graph.call_function(operator.add, (x, 1))
    second = graph.call_function(operator.mul, (x, 2))
    first.insert_arg(1, [y, x])
    assert first.args == (x, [y, x], 1)
    assert list(x.users) == [first, second]
    assert list(y.users) == [first]
    graph.lint()
    with pytest.raises(weft.errors.GraphError, match="in place"):
        first.args[1].append(3)


def test_a_constant_may_replace_a_node() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(operator.add, (1, 2))
    result = graph.call_function(operator.mul, (x, node))
    graph.output(result)
    assert node.replace_all_uses_with(3) == [result]
    assert result.args == (x, 3)
    assert weft.GraphModule({}, graph)(5) == 15


def test_modules_stand_in_the_order_of_use() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(2, 2)
            self.features = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

        def forward(self, x):
            return self.head(self.features(x)) + self.features[0].bias

    gm = weft.symbolic_trace(Net())
    assert [name for name, _ in gm.named_modules() if name] == ["features", "features.0", "features.1", "head"]


def test_a_module_read_from_before_it_is_called_is_the_original() -> None:
    root = nn.Module()
    root.block = nn.Linear(2, 2)
    graph = weft.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("block.weight")
    called = graph.call_module("block", (x,))
    graph.output((weight, called, graph.get_attr("block.bias")))
    gm = weft.GraphModule(root, graph)
    assert gm.block is root.block
    assert list(gm.state_dict()) == ["block.weight", "block.bias"]


def test_a_proxy_is_not_an_argument() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    with pytest.raises(weft.errors.GraphError, match=r"Proxy\(x\) cannot be an argument(.|\n)*proxy\.node"):
        graph.call_function(operator.add, ([weft.Proxy(x)], 1))
    node = graph.call_function(operator.add, (weft.Proxy(x).node, 1))
    with pytest.raises(weft.errors.GraphError, match="cannot be an argument"):
        node.args = (weft.Proxy(x),)
    assert node.args == (x, 1)
    assert list(graph.nodes) == [x, node]


@pytest.mark.parametrize(
    ("function", "args", "written"),
    [
        (operator.mul, (-1, "x"), "-1 * x"),
        (operator.sub, ("x", -3), "x - -3"),
        (operator.pow, ("x", -2.5), "x ** -2.5"),
        (operator.pow, (-2, "x"), "(-2) ** x"),
        (operator.neg, (-2,), "-(-2)"),
    ],
)
def test_signs(function, args, written: str) -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(function, tuple(x if arg == "x" else arg for arg in args), name="y"))
    gm = weft.GraphModule({}, graph)
    assert f"    y = {written}" in gm.code
    assert gm(3) == function(*(3 if arg == "x" else arg for arg in args))
