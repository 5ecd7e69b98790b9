"""`GraphModule`: what it copies, its code, its errors, its submodules, its copies."""

from __future__ import annotations

import copy
import gc
import inspect
import linecache
import operator
import pickle
import traceback
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.capture import symbolic_trace
from weft.errors import GraphError
from weft.graph import Graph, GraphModule


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.layer = nn.Linear(3, 3)
        self.inner.unused = nn.Linear(50, 50)
        self.scale = nn.Parameter(np.full(3, 2.0, np.float32))
        self.register_buffer("shift", np.ones(3, np.float32))
        self.register_buffer("hidden", np.zeros(3, np.float32), persistent=False)
        self.plain = np.full(3, 3.0, np.float32)

    def forward(self, x: Any, factor: Any = 1) -> Any:
        h = self.inner.layer(x) * self.scale
        return (h + self.shift + self.hidden) * factor * self.plain


X = np.ones((2, 3), np.float32)


def doubled() -> Graph:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.mul, (x, 2)))
    return graph


def test_copies_what_the_graph_uses_and_nothing_else() -> None:
    net = Net().eval()
    gm = symbolic_trace(net)
    assert [name for name, _ in gm.named_modules()] == ["", "inner", "inner.layer"]
    assert gm.inner.layer is net.inner.layer and gm.scale is net.scale
    assert list(gm.state_dict()) == ["scale", "shift", "plain", "inner.layer.weight", "inner.layer.bias"]
    assert [name for name, _ in gm.named_buffers()] == ["shift", "hidden", "plain"]
    assert not gm.training and not gm.inner.training
    np.testing.assert_array_equal(gm(X), net(X))
    np.testing.assert_array_equal(gm(X, factor=2), net(X, 2))
    assert gm.graph.owning_module is gm


def test_root_may_be_a_dict() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    weight, layer = graph.get_attr("a.weight"), graph.call_module("a.b", (x,))
    graph.output(graph.call_function(operator.add, (layer, weight)))
    gm = GraphModule({"a.weight": np.ones(1), "a.b": nn.ReLU(), "other": 1}, graph, "Made")
    assert gm(np.array([-1.0])).tolist() == [1.0] and type(gm).__name__ == "Made"
    assert [n for n, _ in gm.named_buffers()] == ["a.weight"]
    with pytest.raises(GraphError, match=r"node a_b \(call_module\) refers to 'a.b', which the dict given as root"):
        GraphModule({"a.weight": np.ones(1)}, graph)
    with pytest.raises(GraphError, match=r"refers to 'a\.weight', which Module does not have"):
        GraphModule(nn.Module(), graph)


def test_a_module_called_and_read_inside_is_shared() -> None:
    root = nn.Module()
    root.layer = nn.Linear(2, 2)
    graph = Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("layer.weight")
    graph.output(graph.call_function(operator.matmul, (graph.call_module("layer", (x,)), weight)))
    gm = GraphModule(root, graph)
    assert gm.layer is root.layer and list(gm.state_dict()) == ["layer.weight", "layer.bias"]


def test_constants_become_buffers() -> None:
    constant = np.array([1.0, 2.0])
    gm = symbolic_trace(lambda x: x + constant)
    (name,) = gm.state_dict()
    assert gm(np.zeros(2)).tolist() == [1, 2]
    setattr(gm, name, np.array([5.0, 5.0]))
    assert gm(np.zeros(2)).tolist() == [5, 5]


def test_code_is_generated_when_needed() -> None:
    calls = []

    class Counting(Graph):
        def python_code(self, *args: Any, **kwargs: Any) -> Any:
            calls.append(1)
            return super().python_code(*args, **kwargs)

    graph = Counting()
    node = graph.call_function(operator.mul, (graph.placeholder("x"), 2))
    graph.output(node)
    gm = GraphModule({}, graph)
    assert calls == []
    assert gm(3) == 6 and gm(4) == 8 and "x * 2" in gm.code
    assert calls == [1]
    node.update_arg(1, 10)
    assert gm(3) == 30 and calls == [1, 1]
    node.update_arg(1, 10)
    code = gm.recompile()
    assert calls == [1, 1, 1]
    assert gm(3) == 30 and code.src == gm.code and "x * 10" in code.src
    gm.graph = doubled()
    assert gm(3) == 6 and gm.graph.owning_module is gm
    with pytest.raises(TypeError, match="must be a Graph, got int"):
        gm.graph = 3  # type: ignore[assignment]


def test_every_instance_has_its_own_forward() -> None:
    one, two = GraphModule({}, doubled(), "One"), GraphModule({}, Graph(), "Two")
    assert type(one) is not type(two) and isinstance(one, GraphModule)
    assert type(one).__name__ == "One" and type(one).__mro__[1] is GraphModule
    assert list(inspect.signature(one.forward).parameters) == ["x"]
    assert list(inspect.signature(type(symbolic_trace(Net())).forward).parameters) == ["self", "x", "factor"]
    again = type(one)({}, doubled(), "Again")
    assert type(again).__mro__[1] is GraphModule
    assert symbolic_trace(one).code == one.code

    class Mine(GraphModule):
        extra = 5

    mine = Mine({}, doubled())
    assert mine.extra == 5 and mine(2) == 4


def test_errors_name_the_node_and_the_line() -> None:
    gm = symbolic_trace(Net())
    with pytest.raises(ValueError) as caught:
        gm(np.ones((2, 4), np.float32))
    (note,) = caught.value.__notes__
    assert note.startswith("while running %inner_layer : [num_users=1] = call_module[target=inner.layer]")
    assert "test_graph_module.py:" in note and note.endswith("h = self.inner.layer(x) * self.scale")
    shown = "".join(traceback.format_exception(caught.value))
    assert "inner_layer = self.inner.layer(x)" in shown, "the generated line is in the traceback"
    with pytest.raises(TypeError, match=r"Net.forward\(\) missing 1 required positional argument: 'x'"):
        gm()


def test_nested_graph_modules_note_each_level() -> None:
    inner = symbolic_trace(lambda x: weft.matmul(x, x))
    graph = Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    outer = GraphModule({"inner": inner}, graph)
    with pytest.raises(ValueError) as caught:
        outer(np.ones((2, 3)))
    assert [note.split(" :")[0] for note in caught.value.__notes__] == ["while running %matmul", "while running %inner"]


def test_generated_source_leaves_with_its_module() -> None:
    gm = GraphModule({}, doubled(), "Gone")
    gm(1)
    (name,) = [file for file in linecache.cache if "Gone" in file]
    linecache.checkcache()
    assert linecache.getline(name, 2).strip() == "mul = x * 2;  x = None"
    del gm
    gc.collect()
    # Not at once: the collector may run while linecache goes through its files.
    assert name in linecache.cache
    GraphModule({}, doubled())(1)
    assert not any("Gone" in file for file in linecache.cache)


def test_submodules_added_and_deleted() -> None:
    gm = symbolic_trace(Net())
    assert gm.add_submodule("inner.deep.act", nn.ReLU()) and gm.add_submodule("top", nn.Tanh())
    assert isinstance(gm.inner.deep.act, nn.ReLU)
    assert not gm.add_submodule("scale", nn.ReLU()) and not gm.add_submodule("scale.x", nn.ReLU())
    assert gm.delete_submodule("top") and not gm.delete_submodule("top")
    assert not gm.delete_submodule("no.such") and not gm.delete_submodule("scale")
    gm.add_submodule("inner.layer.part", nn.ReLU())
    gm.delete_all_unused_submodules()
    # What lies inside a called module is used.
    assert [n for n, _ in gm.named_modules()] == ["", "inner", "inner.layer", "inner.layer.part"]
    assert gm(X) is not None


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"]
)
def test_deep_copies(duplicate: Any) -> None:
    gm = symbolic_trace(Net()).eval()
    gm.meta["note"] = ["kept"]
    expected = gm(X)
    twin = duplicate(gm)
    assert type(twin) is not type(gm) and type(twin).__name__ == "Net" and not twin.training
    assert twin.code == gm.code and twin.meta == gm.meta and twin.meta["note"] is not gm.meta["note"]
    assert [n.name for n in twin.graph.nodes] == [n.name for n in gm.graph.nodes]
    assert twin.graph.owning_module is twin and gm.graph.owning_module is gm
    np.testing.assert_array_equal(twin(X), expected)
    twin.scale.numpy()[...] = 0
    np.testing.assert_array_equal(gm(X), expected)
    twin.graph.lint()
    node = next(iter(twin.graph.find_nodes(op="call_module")))
    assert "h = self.inner.layer(x)" in node.stack_trace
    if duplicate is copy.deepcopy:
        assert node.location is not None and "h = self.inner.layer(x)" in node.location.text
    twin.graph.call_function(operator.add, (1, 2))
    assert gm.graph._len == twin.graph._len - 1


def test_shallow_copy_shares_graph_and_parameters() -> None:
    gm = symbolic_trace(Net())
    twin = copy.copy(gm)
    assert twin.graph is gm.graph and twin.scale is gm.scale and type(twin) is not type(gm)
    twin.add_submodule("new", nn.ReLU())
    assert not hasattr(gm, "new")
    np.testing.assert_array_equal(twin(X), gm(X))


def test_a_long_graph_copies_and_pickles() -> None:
    graph = Graph()
    node = graph.placeholder("x")
    for _ in range(5000):
        node = graph.call_function(operator.add, (node, 1))
    graph.output(node)
    gm = GraphModule({}, graph)
    assert copy.deepcopy(gm)(0) == pickle.loads(pickle.dumps(gm))(0) == gm(0) == 5000


def test_names_survive_copies() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    first = graph.call_function(operator.add, (x, 1))
    second = graph.call_function(operator.add, (first, 1))
    first.replace_all_uses_with(x)
    graph.erase_node(first)
    graph.output(second)
    for twin in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert [n.name for n in twin.nodes] == ["x", "add_1", "output"]
        # A name once given is not given again.
        assert twin.call_function(operator.add, (1, 1)).name == "add_2"


def test_text() -> None:
    gm = symbolic_trace(Net())
    count = f"{gm.num_parameters()} parameters"
    assert str(gm).startswith(f"Net(  # {count}\n  (inner): Module(  # ") and str(gm).endswith(gm.code)
    text = gm.print_readable(print_output=False)
    assert text.startswith("class Net(weft.nn.Module):\n    def forward(self, x")
    assert "h = self.inner.layer(x) * self.scale" in text


def test_print_readable_prints(capsys: pytest.CaptureFixture[str]) -> None:
    gm = GraphModule({}, doubled())
    assert gm.print_readable() in capsys.readouterr().out


def test_an_attribute_that_is_none_is_read() -> None:
    root = nn.Module()
    root.register_buffer("absent", None)
    graph = Graph()
    graph.output((graph.placeholder("x"), graph.get_attr("absent")))
    assert GraphModule(root, graph)(1) == (1, None)
