"""Orders, copies, parts taken out and parts replaced: examples and errors. See test_random_graphs for properties."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import weft
from weft import pytree
from weft.errors import GraphError
from weft.graph import Inputs


def diamond() -> weft.Graph:
    """x → a → b, c → d → output; y unused by them."""
    graph = weft.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    a = graph.call_function(weft.sin, (x,), name="a")
    b = graph.call_function(operator.mul, (a, 2), name="b")
    c = graph.call_function(operator.add, (a, y), name="c")
    d = graph.call_function(operator.sub, (b, c), name="d")
    graph.output({"d": d})
    return graph


def named(graph: weft.Graph) -> dict[str, weft.Node]:
    return {node.name: node for node in graph.nodes}


def names(nodes: Any) -> str:
    return " ".join(node.name for node in nodes)


# Orders


def test_topological_order_keeps_a_good_order() -> None:
    graph = diamond()
    assert graph.topological_order() == list(graph.nodes)


def test_topological_order_moves_only_what_it_must() -> None:
    graph = diamond()
    n = named(graph)
    n["d"].append(n["a"])
    assert names(graph.nodes) == "x y b c d a output"
    assert names(graph.topological_order()) == "x y a b c d output"


def test_topological_order_names_the_cycle() -> None:
    graph = diamond()
    n = named(graph)
    n["a"].args = (n["d"],)
    with pytest.raises(GraphError, match=r"cycle: (a → b → d → a|a → c → d → a)"):
        graph.topological_order()


def test_levels() -> None:
    graph = diamond()
    assert {node.name: level for node, level in graph.levels().items()} == {
        "x": 0,
        "y": 0,
        "a": 1,
        "b": 2,
        "c": 2,
        "d": 3,
        "output": 4,
    }


# Copies


def test_clone_keeps_everything_and_shares_nothing_mutable() -> None:
    gm = weft.symbolic_trace(lambda x, y: weft.sin(x) + y)
    graph = gm.graph
    graph.signature = Inputs(("x", "y"), (pytree.LEAF, pytree.LEAF), {})
    graph.constants["c"] = np.ones(2)
    first = next(iter(graph.nodes))
    first.meta["tags"] = [{"a"}]
    copied = graph.clone()
    copied.lint()
    assert str(copied) == str(graph)
    assert copied.owning_module is gm
    assert copied.signature == graph.signature
    for old, new in zip(graph.nodes, copied.nodes, strict=True):
        assert new is not old
        assert new.graph is copied
        assert new.location == old.location
        assert new.location is not None
    copied_first = next(iter(copied.nodes))
    copied_first.meta["tags"][0].add("b")
    copied_first.meta["new"] = 1
    copied.constants["c"][0] = 5
    copied.signature.constants[0] = 1
    assert first.meta == {"tags": [{"a"}]}
    assert graph.constants["c"].tolist() == [1, 1]
    assert graph.signature.constants == {}
    name = copied.placeholder("x").name
    assert name not in named(graph)


def test_a_name_once_given_stays_given_in_the_clone() -> None:
    graph = diamond()
    graph.erase_node(graph.call_function(operator.neg, (named(graph)["x"],)))
    assert graph.clone().call_function(operator.neg, ()).name == "neg_1"


@pytest.mark.parametrize("through", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_deepcopy_and_pickle(through: Any) -> None:
    graph = diamond()
    again = through(graph)
    again.lint()
    assert str(again) == str(graph)
    assert again.python_code().src == graph.python_code().src


# Parts taken out


def test_extract() -> None:
    graph = diamond()
    n = named(graph)
    n["b"].meta["type"] = "kept"
    part = graph.extract([n["a"], n["y"]], [n["d"], n["b"]])
    part.lint()
    assert part.python_code().src == (
        "def forward(self, a, y):\n"
        "    b = a * 2\n"
        "    c = a + y;  a = y = None\n"
        "    d = b - c;  c = None\n"
        "    return [d, b]\n"
    )
    assert named(part)["b"].meta == {"type": "kept"}
    assert str(graph) == str(diamond())


def test_extract_keeps_unused_inputs_defaults_and_order() -> None:
    graph = weft.Graph()
    x, y = graph.placeholder("input"), graph.placeholder("y", int, 3)
    weight = graph.get_attr("w")
    zeros = graph.call_function(np.zeros, (2,))
    total = graph.call_function(operator.add, (weight, zeros))
    graph.output(total)
    part = graph.extract([y, x], graph.output_node())
    part.lint()
    assert part.python_code().src.splitlines()[0] == "def forward(self, y : int = 3, *, input):"
    assert " ".join(node.op for node in part.nodes) == (
        "placeholder placeholder get_attr call_function call_function output"
    )


def test_extract_keeps_constants_it_reads() -> None:
    constant = np.arange(3.0)
    gm = weft.symbolic_trace(lambda x, y: (x + constant) * y)
    n = named(gm.graph)
    part = gm.graph.extract([n["x"]], n["add"])
    runs = weft.GraphModule(gm, part)
    assert runs(np.ones(3)).tolist() == [1, 2, 3]
    unowned = weft.Tracer().trace(lambda x, y: ((x + constant) * y, x - np.ones(2)))
    taken = unowned.extract([named(unowned)["x"]], named(unowned)["add"])
    assert len(unowned.constants) == 2
    assert len(taken.constants) == 1
    assert next(iter(taken.constants.values())) is constant


def test_extract_names_what_is_missing() -> None:
    graph = diamond()
    n = named(graph)
    with pytest.raises(GraphError, match="extract: c depends on placeholder y, which is not an input"):
        graph.extract([n["x"]], n["d"])
    with pytest.raises(GraphError, match="extract: y depends on placeholder y"):
        graph.extract([], n["y"])


def test_extract_checks_what_it_is_given() -> None:
    graph = diamond()
    n = named(graph)
    with pytest.raises(GraphError, match="a is given twice"):
        graph.extract([n["a"], n["a"]], n["d"])
    with pytest.raises(GraphError, match="belongs to another graph"):
        graph.extract([named(diamond())["a"]], n["d"])
    with pytest.raises(GraphError, match="nodes are expected, got str 'a'"):
        graph.extract(["a"], n["d"])  # type: ignore[list-item]


# Parts replaced


def replacement(inputs: int, build: Any) -> weft.Graph:
    graph = weft.Graph()
    graph.output(build(graph, *(graph.placeholder(f"p{i}") for i in range(inputs))))
    return graph


def test_replace_subgraph() -> None:
    graph = diamond()
    n = named(graph)
    n["d"].stack_trace = "somewhere"
    new = graph.replace_subgraph(
        [n["a"], n["y"]], n["d"], replacement(2, lambda g, p, q: g.call_function(weft.maximum, (p, q)))
    )
    graph.lint()
    assert names(new) == "maximum"
    assert names(graph.nodes) == "x y a maximum output"
    assert [origin.name for origin in new[0].meta["from"]] == ["b", "c", "d"]
    assert graph.python_code().src.splitlines()[2].strip() == "maximum = weft.maximum(a, y);  a = y = None"


def test_replace_subgraph_keeps_what_is_used_outside() -> None:
    graph = diamond()
    n = named(graph)
    n["output"].args = ((n["d"], n["b"]),)
    graph.replace_subgraph([n["a"], n["y"]], [n["d"]], replacement(2, lambda g, p, q: p))
    graph.lint()
    assert names(graph.nodes) == "x y a b output"
    assert n["output"].args == ((n["a"], n["b"]),)


def test_what_survives_reads_the_replaced_outputs() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.neg, (x,), name="a")
    kept = graph.call_function(operator.abs, (a,), name="kept")
    b = graph.call_function(operator.pos, (kept,), name="b")
    graph.output((a, kept, b))
    graph.replace_subgraph([x], [a, b], replacement(1, lambda g, p: (g.call_function(weft.sin, (p,)), p)))
    graph.lint()
    assert names(graph.nodes) == "x sin kept output"
    assert names(kept.all_input_nodes) == "sin"
    assert graph.output_node().args[0][1:] == (kept, x)


def test_replace_subgraph_by_a_constant_and_several_outputs() -> None:
    graph = diamond()
    n = named(graph)
    graph.replace_subgraph([n["a"], n["y"]], [n["b"], n["c"]], replacement(2, lambda g, p, q: (3.0, [q])))
    graph.lint()
    assert n["d"].args == (3.0, n["y"])


def test_replace_subgraph_moves_inputs_up_where_it_must() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.neg, (x,), name="a")
    used = graph.call_function(operator.abs, (a,), name="used")
    late = graph.call_function(operator.pos, (x,), name="late")
    later = graph.call_function(operator.pos, (late,), name="later")
    b = graph.call_function(operator.invert, (later,), name="b")
    graph.output((used, b))
    graph.replace_subgraph(
        [x, later], [a, b], replacement(2, lambda g, p, q: (g.call_function(operator.add, (p, q)), p))
    )
    graph.lint()
    assert names(graph.nodes) == "x late later add used output"
    assert graph.output_node().args == ((used, x),)


@pytest.mark.parametrize(
    ("inputs", "outputs", "takes", "message"),
    [
        ("a y", "d", 1, "2 inputs are given, the replacement takes 1"),
        ("a y", "d b", 2, "2 outputs are to be replaced, the replacement returns 1"),
        ("a", "d", 1, "c depends on placeholder y, which is not an input"),
        ("a y b", "d b", 3, "b is both an input and an output"),
        ("x b y", "d", 3, "not convex: a path leaves it at a and comes back at b"),
    ],
)
def test_replace_subgraph_refuses_and_changes_nothing(inputs: str, outputs: str, takes: int, message: str) -> None:
    graph = diamond()
    n = named(graph)
    with pytest.raises(GraphError, match=message):
        graph.replace_subgraph(
            [n[name] for name in inputs.split()],
            [n[name] for name in outputs.split()],
            replacement(takes, lambda g, *p: g.call_function(operator.neg, (p[0],))),
        )
    graph.lint()
    assert str(graph) == str(diamond())


def test_replace_subgraph_needs_an_output_and_named_inputs() -> None:
    graph = diamond()
    n = named(graph)
    with pytest.raises(GraphError, match="has no output"):
        graph.replace_subgraph([n["a"], n["y"]], n["d"], weft.Graph())
    starred = weft.Graph()
    starred.output(starred.placeholder("*args"))
    with pytest.raises(GraphError, match=r"cannot take \*args"):
        graph.replace_subgraph([n["x"]], n["a"], starred)


# Size


def test_nothing_recurses_over_a_long_graph() -> None:
    graph = weft.Graph()
    first = node = graph.placeholder("x")
    for _ in range(20_000):
        node = graph.call_function(operator.neg, (node,))
    graph.output(node)
    graph.lint()
    assert len(str(graph).splitlines()) == 20_003
    assert len(graph.python_code().src.splitlines()) == 20_002
    assert graph.levels()[node] == 20_000
    assert len(graph.clone().nodes) == len(copy.deepcopy(graph).nodes) == 20_002
    assert len(pickle.loads(pickle.dumps(graph)).nodes) == 20_002
    assert len(graph.extract([first], node).nodes) == 20_002
    graph.replace_subgraph([first], node, replacement(1, lambda g, p: p))
    assert names(graph.nodes) == "x output"
    graph.lint()


def test_a_replacement_keeps_its_own_constants() -> None:
    """Two traces call their first constants the same; neither may be taken for the other."""

    def made(constant: Any, name: str) -> weft.Graph:
        graph = weft.Graph()
        graph.constants[name] = constant
        graph.output(graph.call_function(operator.mul, (graph.placeholder("x"), graph.get_attr(name))))
        return graph

    for name, other in (("_tensor_constant0", "_tensor_constant1"), ("scale", "scale_1")):
        for constant, names in ((np.arange(3), [name]), (np.full(3, 7), [name, other])):
            graph = made(np.arange(3), name)
            x, read, product, _ = graph.nodes
            first = graph.call_function(operator.neg, (read,))
            graph.output_node().append(first)
            graph.output_node().args = ((product, first),)
            graph.output_node().prepend(first)
            graph.replace_subgraph([x], product, made(constant, name))
            graph.lint()
            assert sorted(graph.constants) == names
            got = weft.Session(graph).run(graph.output_node(), {"x": 2})
            np.testing.assert_array_equal(got, (2 * constant, -np.arange(3)))


def test_a_replacement_keeps_its_own_modules() -> None:
    from weft import nn

    def made() -> weft.GraphModule:
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x: Any) -> Any:
                return self.layer(x)

        return weft.symbolic_trace(Net())

    one, other = made(), made()
    x, called, _ = one.graph.nodes
    one.graph.replace_subgraph([x], called, other.graph)
    one.recompile()
    assert one.layer_1 is other.layer
    value = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(one(value).numpy(), other(value).numpy())
