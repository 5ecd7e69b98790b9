"""Scenarios: corners of tracing and of modules."""

from __future__ import annotations

import importlib
import linecache
import operator
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import TORCH, Library, Log, arrays, error_of, names, raised, scenario


@scenario
def hooks_of_traced_modules(lib: Library, log: Log) -> None:
    class Inner(lib.nn.Module):
        def forward(self, x):
            return x + 1

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(self.inner(x))

    net = Net()
    net.inner.register_forward_hook(lambda module, args, result: result * 2)
    net.linear.register_forward_hook(lambda module, args, result: result * 3)
    log("graph", lib.fx.symbolic_trace(net).graph)


@scenario
def subclasses_of_library_modules(lib: Library, log: Log) -> None:
    class Scaled(lib.nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaled = Scaled(2, 2)
            self.seq = type("Seq", (lib.nn.Sequential,), {})(lib.nn.ReLU())

        def forward(self, x):
            return self.seq(self.scaled(x))

    log("kinds", [(n.op, n.name) for n in lib.fx.symbolic_trace(Net()).graph.nodes if n.op != "call_function"])


@scenario
def modules_in_plain_lists(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain = [lib.nn.ReLU()]

        def forward(self, x):
            return self.plain[0](x)

    # weft traces into a module that the root does not hold.
    log.differs("outcome", error_of(lib.fx.symbolic_trace, Net()), torch="raises NameError", weft="returns")


@scenario
def roots_that_are_library_modules(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.ReLU(), lib.nn.Linear(3, 1)))
    log("module", gm)
    log("class", type(gm).__name__)
    log("modules", [name for name, _ in gm.named_modules()])
    leaf = lib.fx.symbolic_trace(lib.nn.Linear(2, 3))
    log("linear", [(n.op, n.name, n.target) for n in leaf.graph.nodes if n.op == "get_attr"])


@scenario
def concrete_values_are_checked(lib: Library, log: Log) -> None:
    def f(x, flag):
        return x + 1 if flag else x

    log("runs", lib.fx.symbolic_trace(f, concrete_args={"flag": True})(1, True))
    log("wrong value", raised(lib.fx.symbolic_trace(f, concrete_args={"flag": 3}), 1, 4))


@scenario
def wrapped_functions_and_containers(lib: Library, log: Log) -> None:
    scope = {"wrap": lib.fx.wrap, "__name__": "made"}
    text = "wrap('len')\ndef f(x, y):\n    return len([x, y]) + len((1, 2)) + len({'k': x})\n"
    linecache.cache["made.py"] = (len(text), None, text.splitlines(True), "made.py")  # lists written out need no check
    exec(compile(text, "made.py", "exec"), scope)
    log("graph", lib.fx.symbolic_trace(scope["f"]).graph)


@scenario
def shapes(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x)[:, 0].sum())
    if lib is TORCH:
        from torch.fx.passes.shape_prop import ShapeProp

        ShapeProp(gm).propagate(lib.array(np.ones((2, 3))))
        log("shapes", [tuple(n.meta["tensor_meta"].shape) for n in gm.graph.nodes])
    else:
        lib.fx.ShapeProp(gm).propagate(lib.array(np.ones((2, 3))))
        log("shapes", [tuple(n.meta["type"].shape) for n in gm.graph.nodes])


@scenario
def folders(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.w = lib.parameter([1.0, 2.0])

        def forward(self, x):
            return lib.sin(self.linear(x)) * self.w

    gm = lib.fx.symbolic_trace(lib.seeded(Net))
    with tempfile.TemporaryDirectory() as folder:
        package = f"made_by_{lib.name}"
        gm.to_folder(Path(folder) / package, "Made")
        sys.path.insert(0, folder)
        try:
            made = importlib.import_module(package).Made()
        finally:
            sys.path.remove(folder)
        log("class", type(made).__name__)
        log.close("runs", made(lib.array([[1.0, 2.0]])))


@scenario
def replacing_by_something_else(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(lib.sin, (x,))
    graph.output(a)
    log("by a constant", a.replace_all_uses_with(3))
    log("graph", graph)


@scenario
def nodes_as_keys(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    log("identity", (x == x, x == y, x != y, len({x, y, x}), {x: 1, y: 2}[y]))
    log("members", (x in graph.nodes, y in list(graph.nodes)))
    log("text", (str(x), f"{x}", repr(x)))
    other = lib.fx.Graph().placeholder("x")
    log("of another graph", other in graph.nodes)
    log.raises("not iterable", iter, x)


@scenario
def no_arguments(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    a = graph.call_function(lib.sin)
    b = graph.call_function(lib.sin, None, None)
    c = graph.call_module("m")
    log("args", [(n.args, n.kwargs) for n in (a, b, c)])


@scenario
def arguments_are_kept(lib: Library, log: Log) -> None:
    given = [1, 2]
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(lib.sin, (given, {"a": given}), {"k": given})
    given.append(3)
    log("a later change does not reach them", (node.args, node.kwargs))
    node.args = (x, range(3), frozenset({1}), 1 + 2j, b"b", None, ...)
    log("other constants", [type(a).__name__ for a in node.args])
    log("equal", node.args[1] == range(3))
    node.update_arg(-1, 5)
    log("from the end", node.args[-1])


@scenario
def graphs_in_two_modules(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    graph.output(graph.call_function(operator.add, (graph.placeholder("x"), 1)))
    first, second = lib.fx.GraphModule({}, graph), lib.fx.GraphModule({}, graph)
    log("shared", (first.graph is graph, second.graph is graph))
    log("run", (first(1), second(2)))


@scenario
def unfinished_graphs(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    log("empty", str(graph))
    log("no nodes", len(graph.nodes))
    graph.lint()
    x = graph.placeholder("x")
    graph.call_function(lib.sin, (x,))
    gm = lib.fx.GraphModule({}, graph)
    log("no output", gm.code)
    log("runs", gm(lib.array([1.0])))


@scenario
def interpreter_of_a_changed_graph(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x) + 1)
    for node in gm.graph.nodes:
        if node.target is operator.add:
            node.target = operator.mul
            node.args = (node.args[0], 10)
    log.close("runs what the graph says", lib.fx.Interpreter(gm).run(lib.array([1.0])))


@scenario
def subclasses_of_graph_module(lib: Library, log: Log) -> None:
    class Own(lib.fx.GraphModule):
        def extra(self) -> str:
            return "extra"

    graph = lib.fx.symbolic_trace(lambda x: x + 1).graph
    gm = Own({}, graph, "Named")
    log("parts", (gm.extra(), gm(1), isinstance(gm, Own), type(gm).__name__))


@scenario
def own_interpreter_state(lib: Library, log: Log) -> None:
    class Counts(lib.fx.Interpreter):
        def __init__(self, module: Any) -> None:
            super().__init__(module, garbage_collect_values=False)
            self.counts: dict[str, int] = {}

        def run_node(self, n):
            self.counts[n.op] = self.counts.get(n.op, 0) + 1
            return super().run_node(n)

    gm = lib.fx.symbolic_trace(lambda x: x.sum() + lib.sin(x))
    counts = Counts(gm)
    counts.run(lib.array([1.0]))
    counts.run(lib.array([2.0]))
    log("counts", counts.counts)
    log.close("last values", {n.name: counts.env[n] for n in gm.graph.nodes if n.op != "output"})


@scenario
def types_of_parameters(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = lib.parameter([[1.0, 2.0]])

        def forward(self, x):
            return x * self.w.shape[0] + self.w.ndim + self.w.sum()

    tracer = lib.fx.Tracer(param_shapes_constant=True)
    graph = tracer.trace(Net())
    log("graph", graph)
    log.close("runs", lib.fx.GraphModule(tracer.root, graph)(lib.array([1.0, 1.0])))


@scenario
def branches_on_shapes_of_parameters(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = lib.parameter([[1.0, 2.0]])

        def forward(self, x):
            return x * self.w if self.w.shape[-1] == 2 else x

    log("names", names(lib.fx.Tracer(param_shapes_constant=True).trace(Net()).nodes))
    log("not without", raised(lib.fx.Tracer().trace, Net()))


@scenario
def functions_wrapped_by_the_tracer(lib: Library, log: Log) -> None:
    def outcome() -> Any:
        tracer = lib.fx.Tracer(autowrap_functions=(helper,))
        return [(n.op, n.name) for n in tracer.trace(lambda x: helper(x) + 1).nodes]

    # torch.fx patches the function wherever it is found; weft patches nothing, and says so.
    log.differs("outcome", error_of(outcome), torch="returns", weft="raises TypeError")


def helper(x):
    return x * 2


@scenario
def state_after_edits(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lib.seeded(lambda: lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))))
    gm.register_buffer("extra", lib.array([1.0]))
    gm.own = lib.parameter([2.0])
    with gm.graph.inserting_before(gm.graph.output_node()):
        extra, own = gm.graph.get_attr("extra"), gm.graph.get_attr("own")
        total = gm.graph.call_function(operator.add, (extra, own))
    gm.graph.output_node().args = (total,)
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log("state", list(gm.state_dict()))
    log.close("runs", arrays(gm(lib.array([1.0, 2.0]))))


@scenario
def signs_in_code(lib: Library, log: Log) -> None:
    log("code", lib.fx.symbolic_trace(lambda x: -1 * x**2 - (-3) + (x * -2.5) ** -1 + float("inf")).code)
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.pow, (-2, x)))
    # torch.fx's code computes -(2 ** x).
    log.differs("a negative base", lib.fx.GraphModule({}, graph)(2), torch=-4, weft=4)


@scenario
def proxies_are_not_arguments(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    # torch.fx takes the proxy for a constant: nothing reads x, and the code cannot run.
    log.differs("in a call", raised(graph.call_function, lib.sin, ([lib.fx.Proxy(x)],)), torch=False, weft=True)
    log.differs("in the output", raised(graph.output, (lib.fx.Proxy(x), 1)), torch=False, weft=True)
    log("their nodes are", graph.output(lib.fx.Proxy(x).node).args)


@scenario
def inputs_added_and_removed(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y: x + y)
    first, second, *_ = gm.graph.nodes
    with gm.graph.inserting_before(first):
        new = gm.graph.placeholder("z")
    second.replace_all_uses_with(new)
    gm.graph.erase_node(second)
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log("runs", gm(1, 2))
    with gm.graph.inserting_after(first):
        gm.graph.placeholder("w", default_value=3)
    gm.recompile()
    log("with a default", gm.code)
    with gm.graph.inserting_before(gm.graph.output_node().args[0]):
        gm.graph.placeholder("v")
    # Python has no parameters without default after those with: torch.fx's code does not compile.
    log.differs("and one without", raised(gm.recompile), torch=True, weft=False)


@scenario
def arguments_too_many(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: x + 1)
    log.raises("called", gm, 1, 2)
    log.differs("interpreted", raised(lib.fx.Interpreter(gm).run, 1, 2), torch=False, weft=True)


@scenario
def statements_with_types(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: x.foo(*[1, 2], k=x[x > 0]))
    for node in gm.graph.nodes:
        node.type = int if node.op == "call_method" else None
    gm.recompile()
    log("code", gm.code)
    log("printed", str(gm.graph))
