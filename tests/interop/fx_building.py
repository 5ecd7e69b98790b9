"""Scenarios: building graphs by hand: kinds, names, places."""
# ruff: noqa: RUF059  # every scenario names the whole chain

from __future__ import annotations

import copy
import operator
import random
from typing import Any

from sides import Library, Log, names, raised, scenario


def chain(lib: Library) -> tuple[Any, ...]:
    """x → relu → sin → output."""
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(lib.relu, (x,))
    b = graph.call_function(lib.sin, (a,))
    return graph, x, a, b, graph.output(b)


@scenario
def every_kind_of_node(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x", type_expr=int)
    y = graph.placeholder("y", default_value=3)
    z = graph.placeholder("z", default_value=None)
    weight = graph.get_attr("layer.weight")
    total = graph.call_function(operator.add, (x, y), type_expr=float)
    kw = graph.call_function(lib.sum, args=(total,), kwargs={"axis": 0})
    method = graph.call_method("reshape", (kw, (2, -1)), {"copy": z})
    module = graph.call_module("layer.inner", (method,), {"scale": weight})
    made = graph.create_node("call_function", operator.mul, (module, [x, (y, (2, None))]), name="mine")
    out = graph.output((made, {"a": x, "b": [y, None]}))
    log("graph", graph)
    log("printed", str(graph))
    log("repr of nodes", [repr(n) for n in graph.nodes])
    log("lines", [n.format_node() for n in graph.nodes])
    log("returned", [x, y, z, weight, total, kw, method, module, made, out])
    log("count", len(graph.nodes))
    log("output node", graph.output_node())
    log("reversed", list(reversed(graph.nodes)))
    log("links", [(n.next.name, n.prev.name) for n in list(graph.nodes)[1:-1]])
    log("ends are the root", (out.next.op, x.prev.op, out.next is x.prev))


@scenario
def kinds_refused(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    log("no such kind raises", raised(graph.create_node, "call_tensor", operator.add))
    log.differs(
        "nor by assignment", raised(setattr, graph.placeholder("x"), "op", "call_tensor"), torch=False, weft=True
    )


@scenario
def names_are_made(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    candidates = [
        "a",
        "a",
        "a_1",
        "a_1",
        "a_5",
        "a",
        "a_6",
        "sum",
        "len",
        "if",
        "a.b",
        "a b",
        "1a",
        "1",
        "",
        "class",
        "X",
    ]
    candidates += ["aB", "a-", "a__b", "_", "__x", "a_01", "a_1_1", "a_1_1", "a_1", "inf", "nan", "int", "a_9", "a_1"]
    candidates += ["a_0", "a_0", "b_2", "b", "b", "b_1", "b_3", "c_", "c_", "add", "Add", "print", "print", "lib.f"]
    log("given", [(c, graph.create_node("call_function", operator.add, (x, 1), name=c).name) for c in candidates])
    targets = [operator.add, operator.and_, operator.getitem, len, lib.relu, lib.abs, lib.sum, getattr]
    log("functions", [graph.call_function(t, (x,)).name for t in targets])
    methods = ["sum", "__add__", "relu_", "_x", "t", "someThing", "T", "__len__", "ABC", "relu"]
    log("methods", [graph.call_method(m, (x,)).name for m in methods])
    modules = [
        "layer.0.conv",
        "Layer",
        "myLayer",
        "0",
        "a.b_c.D",
        "layer1.0",
        "layer1.0",
        "net.BatchNorm2d",
        "conv_1",
        "conv",
    ]
    log("modules", [graph.call_module(m, (x,)).name for m in modules])
    attributes = ["weight", "layer.weight", "layer._w", "_param", "W", "Wx", "layer.0.weight"]
    log("attributes", [graph.get_attr(a).name for a in attributes])
    inputs = ["x", "input", "type", "Y", "*args", "**kwargs", "_y", "lambda_", "args", "yY", "y_1"]
    log("inputs", [graph.placeholder(p).name for p in inputs])
    log("output", graph.output(x).name)


@scenario
def names_that_code_needs(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    given = [graph.create_node("call_function", operator.add, name=name).name for name in ("self", "None", "device")]
    # Generated code could not be run with variables named self or None; weft's has no global named device.
    log.differs("given", given, torch=["self", "None", "device_1"], weft=["self_1", "None_1", "device"])


@scenario
def random_names(lib: Library, log: Log) -> None:
    bases = ["a", "a_1", "a_5", "a_3", "a_1_1", "a_1_2", "sum", "sum_1", "a_0", "b", "b_2", "b_1", "a_01"]
    draw = random.Random(0)
    for _ in range(200):
        graph = lib.fx.Graph()
        asked = [draw.choice(bases) for _ in range(draw.randrange(2, 14))]
        log(str(asked), [graph.create_node("call_function", operator.add, name=name).name for name in asked])


@scenario
def names_after_erasing(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    c = graph.call_function(lib.relu, (x,))
    log("second", c)
    graph.erase_node(c)
    log("third", graph.call_function(lib.relu, (x,)))
    copied = copy.deepcopy(graph)
    new = copied.call_function(lib.relu, (next(iter(copied.nodes)),))
    # In weft a name once given is not given again, in copies of the graph neither.
    log.differs("in a deep copy", new, torch="relu_1", weft="relu_3")


@scenario
def names_assigned(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    a.name = "renamed"
    log("graph", graph)
    log("new one may have the old name", graph.call_function(lib.relu, (x,)).name)


@scenario
def inserting_before(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    with graph.inserting_before(b):
        graph.call_function(lib.cos, (a,))
        graph.call_function(lib.tanh, (a,))
    log("two, in order", names(graph.nodes))
    graph.call_function(lib.exp, (a,))
    log("then at the end again", names(graph.nodes))
    with graph.inserting_before():
        graph.placeholder("first")
    log("before everything", names(graph.nodes))
    with graph.inserting_before():
        graph.placeholder("second")
        graph.placeholder("third")
    log("two of them, each at the very beginning", names(graph.nodes))


@scenario
def inserting_after(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    for function in (lib.cos, lib.tanh, lib.exp):
        with graph.inserting_after(a):
            graph.call_function(function, (a,))
    log("three after the same node", names(graph.nodes))
    with graph.inserting_after():
        graph.call_function(lib.log, (a,))
        graph.call_function(lib.sqrt, (a,))
    log("after None", names(graph.nodes))


@scenario
def inserting_several_after(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    with graph.inserting_after(a):
        cos = graph.call_function(lib.cos, (a,))
        graph.call_function(lib.tanh, (cos,))
        graph.call_function(lib.exp, (cos,))
    log("each right after the node, so in reverse", names(graph.nodes))
    log("a graph that can run", not raised(graph.lint))


@scenario
def inserting_nested(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    with graph.inserting_after(a):
        outer = graph.call_function(lib.cos, (a,))
        with graph.inserting_before(a):
            graph.call_function(lib.tanh, (x,))
            with graph.inserting_after(b):
                graph.call_function(lib.log, (b,))
            graph.call_function(lib.exp, (x,))
        with graph.inserting_after(outer):
            graph.call_function(lib.sqrt, (outer,))
    graph.call_function(lib.square, (b,))
    log("order", names(graph.nodes))


@scenario
def inserting_as_statement(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    graph.inserting_before(out)
    graph.call_function(lib.cos, (a,))
    graph.call_function(lib.exp, (a,))
    log("before, from now on", names(graph.nodes))
    with graph.inserting_after(a):
        graph.call_function(lib.sqrt, (a,))
    graph.call_function(lib.square, (x,))
    log("a with block gives it back", names(graph.nodes))
    graph.inserting_after(x)
    graph.call_function(lib.tanh, (x,))
    log("after", names(graph.nodes))


@scenario
def inserting_in_a_loop(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    seen = []
    for node in graph.nodes:
        seen.append(node.name)
        if node.op == "call_function" and len(graph.nodes) < 12:
            with graph.inserting_after(node):
                new = graph.call_function(lib.neg if lib.name == "torch" else lib.negative, (node,), name="neg")
            node.replace_all_uses_with(new, delete_user_cb=lambda user, new=new: user is not new)
    log("visited", seen)
    log("edges", [(n.name, names(n.all_input_nodes)) for n in graph.nodes])


@scenario
def inserting_errors(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    other = chain(lib)[0]
    log("foreign, before", raised(graph.inserting_before, next(iter(other.nodes))))
    log("foreign, after", raised(graph.inserting_after, next(iter(other.nodes))))
    log("foreign append", raised(a.append, next(iter(other.nodes))))
    log("foreign prepend", raised(a.prepend, next(iter(other.nodes))))
    log("unchanged", (names(graph.nodes), names(other.nodes)))


@scenario
def inserting_at_an_erased_node(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    with graph.inserting_before(b):
        spare = graph.call_function(lib.cos, (a,))
    with graph.inserting_after(spare):
        graph.erase_node(spare)
        new = graph.call_function(lib.exp, (a,))
    log("the one inserted", new.name)
    log("order", names(graph.nodes))


@scenario
def appending_and_prepending(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    y = graph.placeholder("y")
    x.append(y)
    log("append moves", names(graph.nodes))
    x.prepend(y)
    log("prepend moves", names(graph.nodes))
    a.append(a.next)
    log("append what is there", names(graph.nodes))
    b.prepend(a)
    log("prepend what is there", names(graph.nodes))
    log("prepend itself", (b.prepend(b) if lib.name == "weft" else None, names(graph.nodes)))
    out.append(a)
    log("to the end", names(graph.nodes))
    log("count", len(graph.nodes))
    log("links", [(n.prev.name, n.next.name) for n in list(graph.nodes)[1:-1]])
    log("use before definition is found", raised(graph.lint))


@scenario
def order_of_nodes(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    for _ in range(40):
        with graph.inserting_before(b):
            graph.call_function(lib.cos, (a,))
    every = list(graph.nodes)
    log("lt", all((p < q) == (i < j) for i, p in enumerate(every) for j, q in enumerate(every)))
    log("le", all((p <= q) == (i <= j) for i, p in enumerate(every) for j, q in enumerate(every)))
    log("gt", all((p > q) == (i > j) for i, p in enumerate(every) for j, q in enumerate(every)))
    log("ge", all((p >= q) == (i >= j) for i, p in enumerate(every) for j, q in enumerate(every)))
    log("sorted", sorted([out, b, x, a]))
    x.append(out)
    log("sorted after a move", sorted([b, x, a, out]))
