"""Each way to break a graph is found, and the message names the nodes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft._module import Module
from weft.errors import GraphError
from weft.graph import Graph, Inputs, Node
from weft.pytree import LEAF


class Owner(Module):
    def __init__(self) -> None:
        super().__init__()
        self.child = Module()
        self.child.number = 3


def chain(owner: Any = None) -> tuple[weft.Graph, weft.Node, weft.Node, weft.Node, weft.Node]:
    """The graph; x, neg(x), abs(neg) and the output, so that g[1] to g[4] are its nodes."""
    graph = weft.Graph(owner)
    x = graph.placeholder("x")
    neg = graph.call_function(operator.neg, (x,))
    absolute = graph.call_function(operator.abs, (neg,))
    return graph, x, neg, absolute, graph.output(absolute)


def test_good_graphs_pass() -> None:
    weft.Graph().lint()
    graph = chain()[0]
    graph.lint()
    graph.find_nodes(op="placeholder")
    graph.lint()
    owned = weft.Graph(Owner())
    owned.get_attr("child.number")
    owned.call_module("child")
    owned.constants["_tensor_constant0"] = 1
    owned.get_attr("_tensor_constant0")
    owned.lint()


def cycle(g: Any) -> None:
    g[2].args = (g[3],)


def long_cycle(g: Any) -> None:
    with g[0].inserting_after(g[3]):
        more = g[0].call_function(operator.add, (g[3], g[2]), name="more")
    g[2].args = (more,)


def itself(g: Any) -> None:
    g[2].args = (g[2],)


def before_definition(g: Any) -> None:
    g[3].append(g[2])


def erased_input(g: Any) -> None:
    g[0].erase_node(g[4])
    g[0].erase_node(g[3])
    g[2].args = (g[3],)


def never_in_the_list(g: Any) -> None:
    g[2].args = (weft.Node(g[0], "stray", "call_function", operator.neg, (), {}),)


def foreign_input(g: Any) -> None:
    g[2].args = (weft.Graph().placeholder("y"),)


def foreign_user(g: Any) -> None:
    other = weft.Graph()
    other.call_function(operator.neg, (g[1],), name="outside")


def duplicate_name(g: Any) -> None:
    g[3].name = "neg"


def illegal_name(g: Any) -> None:
    g[3].name = "not a name"


def keyword_name(g: Any) -> None:
    g[3].name = "lambda"


def lost_user(g: Any) -> None:
    del g[2].users[g[3]]


def invented_user(g: Any) -> None:
    g[1].users[g[3]] = None


def function_by_name(g: Any) -> None:
    g[2].target = "neg"


def method_by_function(g: Any) -> None:
    g[2].op = "call_method"


def method_of_nothing(g: Any) -> None:
    g[0].inserting_before(g[4])
    g[0].call_method("sum")


def placeholder_late(g: Any) -> None:
    g[0].inserting_before(g[4])
    g[0].placeholder("late")


def placeholder_odd(g: Any) -> None:
    g[1].target = "x = 1"


def placeholder_twice(g: Any) -> None:
    with g[0].inserting_before(g[2]):
        g[0].placeholder("x")


def placeholder_reads(g: Any) -> None:
    g[1].args = (1, 2)


def two_outputs(g: Any) -> None:
    g[0].output(g[1])


def after_output(g: Any) -> None:
    g[0].call_function(operator.pos, (g[1],))


def output_read(g: Any) -> None:
    g[3].args = (g[4],)
    g[4].args = (g[2],)
    g[4].append(g[3])


def output_of_two(g: Any) -> None:
    g[4].args = (g[2], g[3])


def unknown_kind(g: Any) -> None:
    g[2]._op = "call_nothing"


def broken_link(g: Any) -> None:
    g[3]._prev = g[1]


def dropped_link(g: Any) -> None:
    g[1]._next = g[3]
    g[3]._prev = g[1]


def looped_list(g: Any) -> None:
    g[0]._len = 2


def wrong_label(g: Any) -> None:
    g[2]._label = g[3]._label


def erased_in_list(g: Any) -> None:
    g[2]._erased = True


def another_graphs_node(g: Any) -> None:
    g[2].graph = weft.Graph()


def stale_table(g: Any) -> None:
    g[0].find_nodes(op="output")
    g[2]._target = operator.pos


def missing_attribute(g: Any) -> None:
    g[0].owning_module = Owner()
    with g[0].inserting_before(g[4]):
        g[0].get_attr("child.weight")


def missing_module(g: Any) -> None:
    g[0].owning_module = Owner()
    with g[0].inserting_before(g[4]):
        g[0].call_module("other.layer", (g[1],))


def not_a_module(g: Any) -> None:
    g[0].owning_module = Owner()
    with g[0].inserting_before(g[4]):
        g[0].call_module("child.number", (g[1],))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cycle, "the graph has a cycle: neg → abs_1 → neg"),
        (long_cycle, "the graph has a cycle: neg → "),
        (itself, "the graph has a cycle: neg → neg"),
        (before_definition, "abs_1 reads neg, which is defined after it"),
        (erased_input, "neg reads abs_1, which has been erased"),
        (never_in_the_list, "neg reads stray, which is not in the list"),
        (foreign_input, "neg reads y, which belongs to another graph"),
        (foreign_user, "x has the user outside, which is not in the graph"),
        (duplicate_name, "two nodes are named 'neg'"),
        (illegal_name, "'not a name' is not a legal name"),
        (keyword_name, "'lambda' is not a legal name"),
        (lost_user, "abs_1 reads neg but is not among its users"),
        (invented_user, "x has the user abs_1, which does not read it"),
        (function_by_name, "call_function neg: the target must be a function, got str 'neg'"),
        (method_by_function, "call_method neg: the target must be a string"),
        (method_of_nothing, "call_method sum_1: there is no object to call 'sum' of"),
        (placeholder_late, "placeholder late stands after neg (call_function)"),
        (placeholder_odd, "placeholder x: 'x = 1' cannot name a parameter"),
        (placeholder_twice, "placeholders x and x_1 are both the parameter 'x'"),
        (placeholder_reads, "placeholder x takes a default value and nothing else, got (1, 2)"),
        (two_outputs, "output_1 (a second output) stands after output, where nothing runs"),
        (after_output, "pos (call_function) stands after output, where nothing runs"),
        (output_read, "output output is read by abs_1"),
        (output_of_two, "output output takes one value, got (%neg, %abs_1)"),
        (unknown_kind, "neg is of kind 'call_nothing', which does not exist"),
        (broken_link, "the list is broken at neg"),
        (dropped_link, "the list has 3 nodes where 4 are counted"),
        (looped_list, "the list of nodes does not end after its 2 nodes: at abs_1"),
        (wrong_label, "neg and abs_1 are labelled in the wrong order"),
        (erased_in_list, "neg is in the list but has been erased"),
        (another_graphs_node, "neg is in the list but belongs to another graph"),
        (stale_table, "find_nodes would miss neg"),
        (missing_attribute, "get_attr child_weight: 'child.weight' does not exist: child (Module) has no 'weight'"),
        (missing_module, "'other.layer' does not exist: the owning module (Owner) has no 'other'"),
        (not_a_module, "call_module child_number: 'child.number' is a int, not a Module"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_found(damage: Callable[[Any], None], message: str) -> None:
    broken = chain()
    broken[0].lint()
    damage(broken)
    with pytest.raises(GraphError, match=re.escape(message)):
        broken[0].lint()


def test_the_message_shows_the_users_line() -> None:
    gm = weft.symbolic_trace(lambda x: weft.sin(x) + 1)
    sin, add = gm.graph.find_nodes(op="call_function")
    add.append(sin)
    with pytest.raises(GraphError) as caught:
        gm.graph.lint()
    assert "test_lint.py" in str(caught.value)
    assert "lambda x: weft.sin(x) + 1" in str(caught.value)


def _small() -> tuple[Graph, list[Node]]:
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.output((graph.call_method("sum", (graph.call_function(operator.add, (x, y)),)), graph.get_attr("w")))
    return graph, list(graph.nodes)


SURGERY: list[tuple[str, Any]] = [
    ("a tuple and names are needed", lambda g, n: setattr(n[2], "_args", [n[0], n[1]])),
    ("a tuple and names are needed", lambda g, n: setattr(n[2], "_kwargs", None)),
    ("a tuple and names are needed", lambda g, n: setattr(n[2], "kwargs", {3: 1})),
    ("get_attr w takes no arguments", lambda g, n: setattr(n[4], "args", (n[0],))),
    ("the target is empty", lambda g, n: setattr(n[3], "target", "")),
    ("the default value reads x", lambda g, n: setattr(n[1], "args", (n[0],))),
    ("placeholder y cannot follow [*][*]x", lambda g, n: setattr(n[0], "target", "**x")),
    ("placeholder [*]y cannot follow [*]x", lambda g, n: [setattr(n[i], "target", f"*{n[i].name}") for i in (0, 1)]),
    ("[*]y cannot have a default", lambda g, n: [setattr(n[1], "target", "*y"), setattr(n[1], "args", (1,))]),
    ("2 placeholders where the signature has 1", lambda g, n: setattr(g, "signature", Inputs(("a",), (LEAF,)))),
]


@pytest.mark.parametrize(("message", "cut"), SURGERY, ids=[message for message, _ in SURGERY])
def test_surgery_is_noticed(message: str, cut: Any) -> None:
    graph, nodes = _small()
    graph.lint()
    cut(graph, nodes)
    with pytest.raises(GraphError, match=message):
        graph.lint()
