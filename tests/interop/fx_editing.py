"""Scenarios: changing, copying, checking and printing graphs."""
# ruff: noqa: RUF059  # every scenario names the whole chain

from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

from fx_building import chain
from sides import Library, Log, error_of, names, outcome, raised, scenario


@scenario
def erasing(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    log.raises("has users", graph.erase_node, a)
    log("unchanged", graph)
    graph.erase_node(out)
    graph.erase_node(b)
    log("after", graph)
    log("users of what it read", a.users)
    log("the erased one still tells", (b.name, b.op, b.graph is graph))
    other = chain(lib)[1]
    log.raises("of another graph", graph.erase_node, other)
    log("erased node's arguments", b.args)
    log("count", len(graph.nodes))


@scenario
def erasing_twice(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    graph.erase_node(out)
    # torch.fx warns and goes on; in weft it is an error.
    if lib.name == "torch":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            graph.erase_node(out)
        log("told", len(caught) == 1)
    else:
        log("told", raised(graph.erase_node, out))
    log("count", len(graph.nodes))


@scenario
def erasing_while_iterating(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    seen = []
    for node in graph.nodes:
        seen.append(node.name)
        if node is a:
            a.replace_all_uses_with(x)
            graph.erase_node(a)
    log("forwards", seen)
    graph, x, a, b, out = chain(lib)
    seen = []
    for node in reversed(graph.nodes):
        seen.append(node.name)
        if not node.users and node.op != "placeholder":
            graph.erase_node(node)
    log("backwards", seen)
    log("left", graph)


@scenario
def replacing_all_uses(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    c = graph.call_function(operator.add, (a, (a, [a, {"k": a}, slice(a, None, 2)])), {"other": a})
    with graph.inserting_before(a):
        new = graph.call_function(lib.cos, (x,))
    log("returned", a.replace_all_uses_with(new))
    log("graph", graph)
    log("users of old", a.users)
    log("users of new, in order", new.users)
    log("of one without users", a.replace_all_uses_with(new))
    log("args", c.args)


@scenario
def replacing_some_uses(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    c = graph.call_function(lib.cos, (a,))
    asked = []

    def keep(user: Any) -> bool:
        asked.append(user.name)
        return user is not b

    log("returned", a.replace_all_uses_with(x, delete_user_cb=keep))
    log("asked", asked)
    log("graph", graph)
    log("the other", c.args)


@scenario
def replacing_and_meta(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    a.meta["fact"] = 1
    a.meta["more"] = [2]
    with graph.inserting_after(a):
        new = graph.call_function(lib.cos, (x,))
    a.replace_all_uses_with(new, propagate_meta=True)
    log("copied", (new.meta["fact"], new.meta["more"]))
    log("the same objects", new.meta["more"] is a.meta["more"])
    with graph.inserting_after(a):
        other = graph.call_function(lib.cos, (x,))
    other.meta["own"] = True
    log("refused where there is some", raised(new.replace_all_uses_with, other, propagate_meta=True))
    log("not copied unless asked", "fact" in other.meta)


@scenario
def replacing_by_its_own_user(lib: Library, log: Log) -> None:
    """The classic mistake: the new node reads the old one, and is made to read itself."""
    graph, x, a, b, out = chain(lib)
    with graph.inserting_after(a):
        new = graph.call_function(lib.cos, (a,))
    a.replace_all_uses_with(new)
    log("reads itself", new.args)
    log("lint tells", raised(graph.lint))
    new.args = (a,)
    log("the usual remedy", graph)
    graph.lint()


@scenario
def replacing_one_input(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    c = graph.call_function(operator.add, (a, [a, x]), {"k": (a,)})
    c.replace_input_with(a, x)
    log("everywhere in the node", (c.args, c.kwargs))
    log("users", (a.users, x.users))
    c.replace_input_with(b, x)
    log("no such input", (c.args, c.kwargs))
    out.replace_input_with(b, a)
    log("in the output", out.args)
    log("b is dead", b.users)


@scenario
def changing_arguments(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    y = graph.placeholder("y")
    c = graph.call_function(operator.add, (x, 1), {"alpha": a})
    c.update_arg(1, y)
    log("update_arg", (c.args, c.kwargs, x.users, y.users))
    c.update_kwarg("alpha", y)
    log("update_kwarg", (c.args, c.kwargs, a.users, y.users))
    c.update_kwarg("beta", [a, a])
    log("new kwarg", (c.args, c.kwargs, a.users))
    c.insert_arg(0, a)
    log("insert at the front", c.args)
    c.insert_arg(3, 7)
    log("insert at the end", c.args)
    c.insert_arg(1, (x, None))
    log("insert in between", (c.args, x.users))
    c.args = (b,)
    log("args", (c.args, c.kwargs, x.users, b.users, a.users))
    c.kwargs = {"k": {"deep": [b, (x,)]}}
    log("kwargs", (c.args, c.kwargs, x.users, b.users, y.users, a.users))
    c.args = ()
    c.kwargs = {}
    log("nothing", (c.args, c.kwargs, x.users, b.users, c.all_input_nodes))
    c.args = [x, [x]]
    log("a list is taken", list(c.args))
    log.differs("and stays one", type(c.args).__name__, torch="immutable_list", weft="tuple")


@scenario
def argument_errors(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    log("update_arg out of range", raised(a.update_arg, 5, x))
    log("insert_arg out of range", raised(a.insert_arg, 5, x))
    log("insert_arg negative", raised(a.insert_arg, -1, x))
    c = graph.call_function(operator.add, (x, [x, 1]), {"k": {"d": x}})
    for change in (
        lambda: c.args[1].append(2),
        lambda: c.args[1].__setitem__(0, 2),
        lambda: c.args[1].pop(),
        lambda: c.args[1].extend([1]),
        lambda: c.args[1].insert(0, 1),
        lambda: c.args[1].clear(),
        lambda: c.args[1].sort(),
        lambda: c.args[1].reverse(),
        lambda: c.args[1].remove(1),
        lambda: c.args[1].__delitem__(0),
        lambda: c.args[1].__iadd__([1]),
        lambda: c.kwargs.__setitem__("j", 2),
        lambda: c.kwargs.update(j=2),
        lambda: c.kwargs.pop("k"),
        lambda: c.kwargs.popitem(),
        lambda: c.kwargs.clear(),
        lambda: c.kwargs.__delitem__("k"),
        lambda: c.kwargs["k"].__setitem__("d", 1),
    ):
        log("in place", raised(change))
    log("unchanged", (c.args, c.kwargs))
    log("containers", (isinstance(c.args[1], list), isinstance(c.kwargs, dict), hash(c.args[1]) == hash(c.args[1])))


@scenario
def users_in_nested_arguments(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x, y, z = graph.placeholder("x"), graph.placeholder("y"), graph.placeholder("z")
    node = graph.call_function(operator.getitem, (x, (slice(y, None, z), None, ..., [z])), {"k": {"a": (x, y)}})
    log("inputs, each once, in order", node.all_input_nodes)
    log("users", (x.users, y.users, z.users))
    second = graph.call_function(operator.add, (y, x))
    log("order of users", (x.users, y.users))
    node.args = (x, 0)
    node.kwargs = {"k": y}
    log("order after reassignment", (x.users, y.users, z.users))
    log("second", second.all_input_nodes)


@scenario
def changing_kind_and_target(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    log("found", graph.find_nodes(op="call_function", target=lib.relu))
    a.target = lib.cos
    log("not there", graph.find_nodes(op="call_function", target=lib.relu))
    log("there", graph.find_nodes(op="call_function", target=lib.cos))
    a.op, a.target = "call_method", "relu"
    log("as a method", (graph.find_nodes(op="call_method"), graph.find_nodes(op="call_function", target=lib.cos)))
    log("graph", graph)


@scenario
def finding(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    made = [graph.call_function(f, (x,)) for f in (lib.sin, lib.cos, lib.sin, lib.exp)]
    m1, m2 = graph.call_module("a", (x,)), graph.call_module("b", (y,))
    m3 = graph.call_module("a", (y,))
    g = graph.get_attr("w")
    c = graph.call_method("sin", (x,))
    graph.output((*made, m1, m2, m3, g, c))
    log("placeholders", graph.find_nodes(op="placeholder"))
    log("one placeholder", graph.find_nodes(op="placeholder", target="y"))
    log("function", graph.find_nodes(op="call_function", target=lib.sin))
    log("all modules", graph.find_nodes(op="call_module"))
    log("one module", graph.find_nodes(op="call_module", target="a"))
    log("attributes", graph.find_nodes(op="get_attr"))
    log("methods", graph.find_nodes(op="call_method", target="sin"))
    log("output", graph.find_nodes(op="output"))
    log("none", graph.find_nodes(op="call_function", target=lib.tanh))
    unknown = error_of(graph.find_nodes, op="nothing")
    log.differs("a kind that is not there", unknown, torch="returns", weft="raises RuntimeError")
    m1.prepend(m3)
    log("sorted", graph.find_nodes(op="call_module", target="a"))
    log("not sorted, as a set", set(names(graph.find_nodes(op="call_module", sort=False))) == {"a", "b", "a_1"})
    made[0].replace_all_uses_with(x)
    graph.erase_node(made[0])
    log("after erasing", graph.find_nodes(op="call_function", target=lib.sin))
    # torch.fx asserts that a target is given; without one weft finds every call.
    every = outcome(graph.find_nodes, op="call_function")
    log.differs("without a target", every, torch="raises", weft=["cos", "sin_1", "exp"])


@scenario
def dead_code(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    graph.placeholder("unused")
    a = graph.call_function(lib.sin, (x,))
    b = graph.call_function(lib.cos, (a,))
    graph.call_function(lib.exp, (b,))
    graph.get_attr("w")
    graph.call_method("sum", (a,))
    graph.call_function(print, (a,))
    graph.output(a)
    log("something went", graph.eliminate_dead_code())
    # A print that somebody put in is there for its effect.
    left = ["x", "unused", "sin", "output"]
    log.differs("left", names(graph.nodes), torch=left, weft=["x", "unused", "sin", "print_1", "output"])
    log("again", graph.eliminate_dead_code())


@scenario
def dead_code_by_own_rule(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    with graph.inserting_before(out):
        graph.call_function(lib.cos, (a,))
        graph.call_function(lib.tanh, (a,))
    keeps = lambda node: node.op in ("placeholder", "output") or node.target is lib.cos  # noqa: E731
    log("something went", graph.eliminate_dead_code(is_impure_node=keeps))
    log("graph", graph)


@scenario
def dead_modules_and_marked_functions(lib: Library, log: Log) -> None:
    def save(x: Any) -> Any:
        return x

    lib.fx.has_side_effect(save)
    root = lib.nn.Module()
    root.linear = lib.nn.Linear(2, 2)
    root.drop = lib.nn.Dropout(0.5)
    root.norm = lib.nn.BatchNorm1d(2)
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    for name in ("linear", "drop", "norm"):
        graph.call_module(name, (x,))
    graph.call_function(save, (x,))
    graph.call_function(operator.setitem, (x, 0, 1))
    graph.output(x)
    gm = lib.fx.GraphModule(root, graph)
    gm.graph.eliminate_dead_code()
    # A dropout that is training draws random numbers: without it the next draw would be another one.
    expected = ["x", "save", "setitem", "output"]
    log.differs("left", names(gm.graph.nodes), torch=expected, weft=["x", "drop", *expected[1:]])
    gm.eval()
    gm.graph.eliminate_dead_code()
    log("left when evaluating", names(gm.graph.nodes))


@scenario
def impurity(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    pure = [graph.call_function(f, (x,)) for f in (lib.sin, operator.add, len, getattr)]
    pure += [graph.call_method("sum", (x,)), graph.get_attr("w")]
    impure = [graph.call_function(f, (x,)) for f in (operator.setitem,)]
    log("pure", [node.is_impure() for node in pure])
    log("impure", [node.is_impure() for node in impure])
    log("ends", [x.is_impure(), graph.output(x).is_impure()])
    drawn = graph.call_function(lib.nn.functional.dropout, (x,))
    # torch.fx knows of its own C++ ops only that they draw random numbers.
    outcome = [drawn.is_impure(), drawn.is_impure(impure_random=False)]
    log.differs("dropout", outcome, torch=[False, False], weft=[True, False])


@scenario
def copying_nodes(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    a.meta["fact"] = [1]
    a.type = int
    other = lib.fx.Graph()
    y = other.placeholder("relu")
    copied = other.node_copy(a, lambda n: y)
    log("copied", other)
    log("meta", (copied.meta["fact"], copied.meta["fact"] is a.meta["fact"], copied.meta is a.meta))
    log("type", copied.type)
    again = other.node_copy(a, lambda n: copied)
    log("again", again)
    log("constants may stand in", other.node_copy(b, lambda n: 3).args)
    log("the output", other.node_copy(out, lambda n: again))
    log("original", graph)


@scenario
def copying_graphs(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    other = lib.fx.Graph()
    values: dict[Any, Any] = {}
    result = other.graph_copy(graph, values)
    log("result", result)
    log("output is not copied", other)
    log("the map", [(k.name, v.name) for k, v in values.items()])
    second = other.graph_copy(graph, {x: result})
    log("onto what is there", (second, other))
    both = lib.fx.Graph().graph_copy(graph, {}, return_output_node=True)
    log("with the output node", (both[0].name, both[1].name, both[1] is out))
    empty = lib.fx.Graph()
    empty.placeholder("x")
    log("without output", lib.fx.Graph().graph_copy(empty, {}))


@scenario
def deep_copy(lib: Library, log: Log) -> None:
    graph, x, a, b, out = chain(lib)
    a.meta["fact"] = 1
    b.type = float
    copied = copy.deepcopy(graph)
    log("the same", copied)
    log("printed", str(copied))
    log("facts", [n.meta.get("fact") for n in copied.nodes])
    log("apart", all(n.graph is copied for n in copied.nodes))
    copied.erase_node(copied.output_node())
    log("original", graph)


@scenario
def lint_finds(lib: Library, log: Log) -> None:
    def broken(breaks: Any) -> str:
        graph, x, a, b, out = chain(lib)
        graph.lint()
        breaks(graph, x, a, b, out)
        return raised(graph.lint)

    foreign = chain(lib)[1]
    log("use before definition", broken(lambda g, x, a, b, out: b.append(a)))
    log("foreign input", broken(lambda g, x, a, b, out: a.update_arg(0, foreign)))
    log("two names", broken(lambda g, x, a, b, out: setattr(a, "name", "sin")))
    log("itself", broken(lambda g, x, a, b, out: a.update_arg(0, a)))
    # What torch.fx finds only when the code is run.
    wrong = [
        broken(lambda g, x, a, b, out: setattr(a, "target", "relu")),
        broken(lambda g, x, a, b, out: setattr(a, "op", "call_method")),
    ]
    log.differs("targets of another kind", wrong, torch=[False, False], weft=[True, True])


@scenario
def lint_with_owner(lib: Library, log: Log) -> None:
    def broken(kind: str, target: str) -> str:
        root = lib.nn.Module()
        root.inner = lib.nn.Module()
        root.inner.linear = lib.nn.Linear(2, 2)
        graph = lib.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_module("inner.linear", (x,)))
        gm = lib.fx.GraphModule(root, graph)
        with gm.graph.inserting_before(gm.graph.output_node()):
            gm.graph.create_node(kind, target, (x,) if kind == "call_module" else ())
        return raised(gm.graph.lint)

    log("fine", [broken("call_module", "inner.linear"), broken("get_attr", "inner.linear.weight")])
    log("no module", [broken("call_module", "inner.other"), broken("call_module", "nothing")])
    log("not a module", broken("call_module", "inner.linear.weight"))
    log("no path", broken("get_attr", "inner.nothing.weight"))


@scenario
def output_of_a_graph(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    log("none yet", raised(graph.output_node))
    out = graph.output({"a": (x, [1, x])}, type_expr=dict)
    log("found", graph.output_node() is out)
    log("args", out.args)
    log("line", out.format_node())


@scenario
def lines_of_nodes(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x", type_expr=int)
    d = graph.placeholder("d", default_value=(1, None))
    n = graph.call_function(operator.getitem, (x, (slice(1, None, 2), None, ...)), {"k": [d, (x, 1)]})
    b = graph.call_function(len, (n, True, 1.5, 1j))
    m = graph.call_method("to", (b,), {"copy": False})
    out = graph.output([m, (d, {"a": m})], type_expr=list)
    for node in (x, d, n, b, m, out):
        log(node.name, node.format_node())
    log("printed", str(graph))
    collected, returned = ["first"], [""]
    log("collected", ([d.format_node(collected, returned), out.format_node(collected, returned)], collected, returned))


@scenario
def lines_that_read_better(lib: Library, log: Log) -> None:
    """In weft text is quoted, so that it is not taken for a name, and nodes have their % wherever they stand."""
    graph = lib.fx.Graph()
    s = graph.placeholder("s", default_value="text")
    n = graph.call_function(operator.getitem, (s, slice(s, None)), {"k": {"a": "b"}, "t": float})
    head = "%getitem : [num_users=0] = call_function[target=operator.getitem]"
    log.differs(
        "default",
        s.format_node(),
        torch="%s : [num_users=1] = placeholder[target=s](default=text)",
        weft="%s : [num_users=1] = placeholder[target=s](default='text')",
    )
    log.differs(
        "arguments",
        n.format_node(),
        torch=head + "(args = (%s, slice(s, None, None)), kwargs = {k: {a: b}, t: <class 'float'>})",
        weft=head + "(args = (%s, slice(%s, None, None)), kwargs = {k: {'a': 'b'}, t: builtins.float})",
    )
