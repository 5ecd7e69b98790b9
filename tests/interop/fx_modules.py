"""Scenarios: GraphModule, generated code."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import operator
import pickle
import re
from collections import namedtuple
from typing import Any

import numpy as np
from sides import Library, Log, arrays, error_of, names, outcome, raised, scenario, text

Pair = namedtuple("Pair", "first second")


def small(lib: Library) -> Any:
    class Small(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = lib.nn.Linear(3, 4)
            self.second = lib.nn.Sequential(lib.nn.Linear(4, 2), lib.nn.ReLU())
            self.unused = lib.nn.Linear(2, 2)
            self.scale = lib.parameter([1.0, 2.0])
            self.register_buffer("shift", lib.array([0.5, -0.5]))
            self.note = "kept?"

        def forward(self, x):
            return self.second(self.first(x)) * self.scale + self.shift

    return lib.seeded(Small)


def code(lib: Library, build: Any) -> str:
    graph = lib.fx.Graph()
    build(graph)
    return lib.fx.GraphModule(lib.nn.Module(), graph).code


@scenario
def code_of_operators(lib: Library, log: Log) -> None:
    binary = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le eq ne gt ge".split()
    unary = "neg pos invert".split()

    def build(graph: Any) -> None:
        x, y = graph.placeholder("x"), graph.placeholder("y")
        made = [graph.call_function(getattr(operator, name), (x, y)) for name in binary]
        made += [graph.call_function(getattr(operator, name), (x,)) for name in unary]
        made += [graph.call_function(operator.add, (2, x)), graph.call_function(operator.getitem, (x, 0))]
        made += [graph.call_function(getattr, (x, "shape")), graph.call_function(operator.getitem, (x, "key"))]
        graph.output(made)

    log("code", code(lib, build))


@scenario
def code_of_calls(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x = graph.placeholder("x")
        a = graph.call_function(lib.sin, (x,))
        b = graph.call_function(lib.cos, (x,), {"k": a, "j": [a, (1,)]})
        c = graph.call_method("sum", (b, 0), {"keepdims": True})
        d = graph.call_function(abs, (c,))
        e = graph.call_function(len, (d,))
        f = graph.call_function(divmod, (e, 2))
        graph.output({"a": f, "b": (e, [d])})

    log("code", code(lib, build))


@scenario
def code_of_functions_elsewhere(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        graph.output(graph.call_function(math.floor, (graph.placeholder("x"),)))

    # Functions by the name one would import them under.
    line = code(lib, build).strip().splitlines()[-2].strip()
    log.differs("call", line, torch="floor = math_floor(x);  x = None", weft="floor = math.floor(x);  x = None")


@scenario
def code_of_parameters(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x = graph.placeholder("x", type_expr=int)
        y = graph.placeholder("y", default_value=2)
        z = graph.placeholder("z", default_value=None)
        s = graph.placeholder("s", type_expr=str, default_value="text")
        args, kwargs = graph.placeholder("*args"), graph.placeholder("**kwargs")
        graph.output((x, y, z, s, args, kwargs), type_expr=tuple)

    log("code", code(lib, build))

    def reserved(graph: Any) -> None:
        graph.output([graph.placeholder("input"), graph.placeholder("type")])

    log("names of builtins", code(lib, reserved))


@scenario
def code_of_attributes_and_modules(lib: Library, log: Log) -> None:
    root = lib.nn.Module()
    root.block = lib.nn.Sequential(lib.nn.Linear(2, 2))
    root.block.own = lib.parameter([1.0])
    root.w = lib.parameter([1.0])
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_module("block.0", (x,))
    w = graph.get_attr("block.0.weight")
    v = graph.get_attr("w")
    graph.output((a, w, v))
    log("code", lib.fx.GraphModule(root, graph).code)


@scenario
def code_releases_values(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x = graph.placeholder("x")
        a = graph.call_function(lib.sin, (x,))
        graph.call_function(lib.cos, (a,))
        b = graph.call_function(operator.add, (a, a))
        c = graph.call_function(operator.add, (b, x))
        graph.output(c)

    log("code", code(lib, build))


@scenario
def code_of_writes(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x = graph.placeholder("x")
        graph.call_function(operator.setitem, (x, 0, 1))
        a = graph.call_function(operator.iadd, (x, 2))
        graph.output(a)

    # torch.fx changes x itself even where x is a number: the name x then means something else than the node x.
    log.differs(
        "statements",
        text(code(lib, build)).partition(":")[2].partition("return")[0].strip(),
        torch="x[0] = 1;  setitem = x;  setitem = None\n    x += 2;  iadd = x;  x = None",
        weft="x[0] = 1\n    iadd = x;  iadd += 2;  x = None",
    )


@scenario
def code_with_subscripts(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x, n = graph.placeholder("x"), graph.placeholder("n")
        keys = [(slice(1, None), None, ...), slice(None, None, 2), (0, n), [0, 1], slice(n, None)]
        graph.output([graph.call_function(operator.getitem, (x, key)) for key in keys])

    # Subscripts as a person writes them.
    lines = [line.split(" = ", 1)[1].partition(";")[0] for line in code(lib, build).splitlines() if " = x[" in line]
    log.differs(
        "subscripts",
        lines,
        torch=[
            "x[(slice(1, None, None), None, Ellipsis)]",
            "x[slice(None, None, 2)]",
            "x[(0, n)]",
            "x[[0, 1]]",
            "x[slice(n, None, None)]",
        ],
        weft=["x[1:, None, ...]", "x[::2]", "x[0, n]", "x[[0, 1]]", "x[n:]"],
    )


@scenario
def code_of_named_tuples(lib: Library, log: Log) -> None:
    def build(graph: Any) -> None:
        x = graph.placeholder("x")
        graph.output(Pair(x, [x]))

    log("code", code(lib, build))
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    graph.output(Pair(x, (x,)))
    log("runs", lib.fx.GraphModule({}, graph)(1))


@scenario
def python_code(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("a.b", (graph.call_function(lib.sin, (x,)), graph.get_attr("w"))))
    made = graph.python_code("self")
    log("source", made.src)
    # In torch.fx the first parameter is called self whatever the root is called.
    first = graph.python_code("module").src.strip().splitlines()[0]
    log.differs("root", first, torch="def forward(self, x):", weft="def forward(module, x):")
    log("globals name the library", lib.name in made.globals and made.globals[lib.name] is lib.package)
    scope = dict(made.globals)
    exec(made.src, scope)
    log("defines forward", callable(scope["forward"]))


@scenario
def from_a_module(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    log("class", type(gm).__name__)
    log("module", gm)
    log("printed", str(gm.graph))
    log("state", {name: tuple(value.shape) for name, value in gm.state_dict().items()})
    log("modules", [name for name, _ in gm.named_modules()])
    log("parameters", [name for name, _ in gm.named_parameters()])
    log("no other attributes", hasattr(gm, "note"))
    log("training", gm.training)
    log.close("runs", gm(lib.array([[1, 2, 3], [0, -1, 1]])))
    original = small(lib)
    gm = lib.fx.symbolic_trace(original)
    log("parameters are shared", gm.scale is original.scale)
    log("modules are shared", gm.first is original.first)
    log("owner", gm.graph.owning_module is gm)
    bare = re.sub(r"  # [\d,]+ parameters?.*", "", str(gm))  # torch does not count parameters
    log("str", bare.split("def forward")[0].split())
    log("is a Module", isinstance(gm, lib.nn.Module))
    log("each has its class", type(gm) is not lib.fx.GraphModule and isinstance(gm, lib.fx.GraphModule))


@scenario
def from_a_dict(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_module("deep.er.linear", (x,))
    w = graph.get_attr("deep.weight")
    f = graph.get_attr("number")
    graph.output((y, w, f))
    linear = lib.seeded(lambda: lib.nn.Linear(2, 2))
    root = {"deep.er.linear": linear, "deep.weight": lib.parameter([1.0, 2.0]), "number": 5, "spare": lib.nn.ReLU()}
    gm = lib.fx.GraphModule(root, graph)
    log("module", gm)
    log("modules", [name for name, _ in gm.named_modules()])
    log("state", list(gm.state_dict()))
    log.close("runs", gm(lib.array([1, 2])))
    log("class", type(gm).__name__)
    log("named", type(lib.fx.GraphModule(root, graph, "Mine")).__name__)
    del root["deep.weight"]
    log("missing", error_of(lib.fx.GraphModule, root, graph))
    # weft says which node it is, and where it was written, in a GraphError.
    outcome = error_of(lib.fx.GraphModule, lib.nn.Module(), graph)
    log.differs("missing of a module", outcome, torch="raises AttributeError", weft="raises RuntimeError")


@scenario
def recompiling(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x) + 1)
    x = lib.array([0.0, 1.0])
    before = gm.code
    log.close("before", gm(x))
    for node in gm.graph.nodes:
        if node.target is lib.sin:
            node.target = lib.cos
    log.differs("code is as it was", gm.code == before, torch=True, weft=False)  # weft's follows by itself
    follows = bool(np.allclose(np.asarray(gm(x)), [2.0, 1.5403023]))
    log.differs("runs anew by itself", follows, torch=False, weft=True)
    gm.recompile()
    log("code follows", gm.code)
    log.close("runs anew", gm(x))
    graph = lib.fx.Graph()
    graph.output(graph.placeholder("y"))
    gm.graph = graph
    log("another graph, no recompile", gm.code)
    log("runs", gm(3))
    outcome = error_of(setattr, gm, "graph", 3)
    log.differs("graph must be one", outcome, torch="raises AssertionError", weft="raises TypeError")
    log("owner", graph.owning_module is gm)


@scenario
def edited_before_the_first_call(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x) + 1)
    for node in gm.graph.nodes:
        if node.target is operator.add:
            node.target = operator.mul
            node.update_arg(1, 3)
    # torch.fx generates code for every graph it traces, weft for those that are called: here, after the edit.
    result = float(gm(lib.array([0.0]))[0])
    log.differs("without recompile", result, torch=1.0, weft=0.0)
    gm.recompile()
    log.close("with", gm(lib.array([1.0])))


@scenario
def submodules(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    log("add", gm.add_submodule("third", lib.nn.ReLU()))
    log("add deep", gm.add_submodule("new.path.relu", lib.nn.ReLU()))
    # torch.fx's documentation says False; it raises KeyError.
    log.differs("over a parameter", outcome(gm.add_submodule, "scale", lib.nn.ReLU()), torch="raises", weft=False)
    log("below a parameter", gm.add_submodule("scale.inner", lib.nn.ReLU()))
    log("replace one", gm.add_submodule("third", lib.nn.Sigmoid()))
    log("now", [(name, type(m).__name__) for name, m in gm.named_modules() if name])
    log("delete", gm.delete_submodule("new.path.relu"))
    log("delete again", gm.delete_submodule("new.path.relu"))
    log("delete nothing", gm.delete_submodule("no.such.thing"))
    log("delete a parameter", gm.delete_submodule("scale"))
    log("then", [name for name, _ in gm.named_modules()])
    gm.add_submodule("other.deep.relu", lib.nn.ReLU())
    gm.delete_all_unused_submodules()
    log("used only", [name for name, _ in gm.named_modules()])
    log.close("still runs", gm(lib.array([[1, 2, 3]])))


@scenario
def unused_submodules_and_attributes(lib: Library, log: Log) -> None:
    root = lib.nn.Module()
    root.a = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
    root.b = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("b.1.weight")
    graph.output((graph.call_module("a", (x,)), w))
    gm = lib.fx.GraphModule(root, graph)
    gm.add_submodule("c", lib.nn.Linear(2, 2))
    gm.add_submodule("b.0", lib.nn.Linear(2, 2))
    gm.delete_all_unused_submodules()
    log("left", [name for name, _ in gm.named_modules()])
    gm.graph.lint()


@scenario
def deep_copies(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    gm.meta["fact"] = 1
    x = lib.array([[1, 2, 3]])
    copied = copy.deepcopy(gm)
    log("the same", copied)
    log.differs("class", type(copied).__name__, torch="GraphModule", weft="Small")
    log.close("runs", copied(x))
    log("own parameters", copied.scale is not gm.scale)
    log("own modules", copied.first is not gm.first)
    log("own graph", copied.graph is not gm.graph)
    log("owner", copied.graph.owning_module is copied)
    log("meta", copied.meta.get("fact"))
    for node in copied.graph.nodes:
        if node.target is operator.add:
            node.target = operator.sub
    copied.recompile()
    log.close("edited copy", copied(x))
    log.close("original", gm(x))
    shallow = copy.copy(gm)
    log("shallow shares", (shallow.scale is gm.scale, shallow.graph is not gm.graph))
    log.close("shallow runs", shallow(x))


@scenario
def pickles(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(function_to_pickle(lib))
    loaded = pickle.loads(pickle.dumps(gm))
    log("module", loaded)
    log.differs("class", type(loaded).__name__, torch="GraphModule", weft="<lambda>")
    log.close("runs", loaded(lib.array([1.0, 2.0])))
    loaded.graph.lint()
    log("graph", pickle.loads(pickle.dumps(gm.graph)))


def function_to_pickle(lib: Library) -> Any:
    return lambda x: lib.sin(x) * 2 + lib.cos(x)


@scenario
def modules_are_called_with_hooks(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    seen = []
    handle = gm.register_forward_hook(lambda module, args, result: seen.append(tuple(result.shape)))
    gm.first.register_forward_pre_hook(lambda module, args: seen.append(tuple(args[0].shape)))
    gm(lib.array([[1, 2, 3]]))
    handle.remove()
    gm(lib.array([[1, 2, 3]]))
    log("seen", seen)


@scenario
def readable(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    printed = gm.print_readable(print_output=False)
    log("class", printed.splitlines()[0].split("(")[0])
    log("forward", "def forward(self, x):" in printed)
    log("body", "first = self.first(x)" in printed)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        gm.print_readable()
    log("printed too", "def forward(self, x):" in out.getvalue())


@scenario
def nested_graph_modules(lib: Library, log: Log) -> None:
    inner = lib.fx.symbolic_trace(lambda x: lib.sin(x) * 2)

    class Outer(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 1

    gm = lib.fx.symbolic_trace(Outer())
    log("traced through", gm)
    log.close("runs", gm(lib.array([1.0])))
    again = lib.fx.symbolic_trace(gm)
    log("traced again", again)
    log("class", type(again).__name__)


@scenario
def errors_at_run_time(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y: lib.matmul(x, y))
    log("raised", raised(gm, lib.array([[1.0, 2.0]]), lib.array([[1.0, 2.0]])))
    log.raises("too few", gm, lib.array([1.0]))
    log.raises("too many", gm, 1, 2, 3)
    log.raises("unknown keyword", gm, 1, z=2)


@scenario
def calling_by_keyword(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y=2, *, z=3: (x + y) * z)
    log("code", gm.code)
    log("positional", gm(1))
    log("named", gm(x=1, y=1))
    gm = lib.fx.symbolic_trace(lambda input, type=2: input + type)
    log("builtin names", gm.code)
    log("by name", gm(input=1, type=5))


@scenario
def training_mode(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = lib.nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(x)

    gm = lib.fx.symbolic_trace(Net())
    log("training", (gm.training, gm.drop.training))
    gm.eval()
    log("evaluating", (gm.training, gm.drop.training))
    log("as the original is", lib.fx.symbolic_trace(Net().eval()).training)
    log.close("runs", gm(lib.array([1.0, 2.0])))


@scenario
def shapes_of_state(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(small(lib))
    log.close("state", {key: arrays(value) for key, value in gm.state_dict().items()})
    gm.load_state_dict({key: value * 0 + 1 for key, value in gm.state_dict().items()})
    log.close("loaded", gm(lib.array([[1, 2, 3]])))
    log("names", names(gm.graph.nodes))
