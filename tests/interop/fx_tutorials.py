"""Scenarios: the programs that tutorials about FX teach, each written once for either library."""

from __future__ import annotations

import contextlib
import copy
import io
import operator
import time
from typing import Any

import numpy as np
from sides import Library, Log, arrays, scenario


def mlp(lib: Library) -> Any:
    class MLP(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = lib.nn.Linear(4, 8)
            self.act = lib.nn.ReLU()
            self.drop = lib.nn.Dropout(0.5)
            self.second = lib.nn.Linear(8, 3)

        def forward(self, x):
            return self.second(self.drop(self.act(self.first(x))))

    return lib.seeded(MLP)


def convnet(lib: Library) -> Any:
    class Block(lib.nn.Module):
        def __init__(self, a: int, b: int) -> None:
            super().__init__()
            self.conv = lib.nn.Conv2d(a, b, 3, padding=1)
            self.bn = lib.nn.BatchNorm2d(b)

        def forward(self, x):
            return lib.relu(self.bn(self.conv(x)))

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = lib.nn.Sequential(Block(1, 2), Block(2, 2))
            self.head = lib.nn.Linear(2, 3)

        def forward(self, x):
            return self.head(self.blocks(x).mean((2, 3)))

    return lib.seeded(Net).eval()


def image(lib: Library) -> Any:
    return lib.array(np.linspace(-1, 1, 32).reshape(2, 1, 4, 4))


@scenario
def trace_a_model(lib: Library, log: Log) -> None:
    class MyModule(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.param = lib.parameter(np.ones((3, 4)))
            self.linear = lib.nn.Linear(4, 5)

        def forward(self, x):
            return lib.topk(lib.sum(self.linear(x + self.linear.weight).relu(), axis=-1), 3)

    gm = lib.fx.symbolic_trace(lib.seeded(MyModule))
    log("graph", gm.graph)
    log("printed", str(gm.graph))
    log("code", gm.code)
    log.close("runs", tuple(gm(lib.array(np.eye(5, 4)))))
    for node in gm.graph.nodes:
        log(node.name, (node.op, node.target, node.args, node.kwargs))


@scenario
def print_a_table(lib: Library, log: Log) -> None:
    graph = lib.fx.symbolic_trace(mlp(lib)).graph
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            graph.print_tabular()
    except ImportError:  # torch.fx needs tabulate for this
        written = [["opcode", "name", "target", "args", "kwargs"], []]
        written += [[n.op, n.name, n.target] for n in graph.nodes]
    else:
        written = [line.split() for line in out.getvalue().splitlines()]
    log("heading", written[0][:5])
    log("columns", [line[:3] for line in written[2:]])


@scenario
def analyse_a_model(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(convnet(lib))
    kinds: dict[str, int] = {}
    for node in gm.graph.nodes:
        kinds[node.op] = kinds.get(node.op, 0) + 1
    log("kinds", kinds)
    modules = dict(gm.named_modules())
    used = [(n.target, type(modules[n.target]).__name__) for n in gm.graph.nodes if n.op == "call_module"]
    log("modules", used)
    log("parameters", sum(int(np.prod(tuple(p.shape))) for p in gm.parameters()))
    log("fan-out", [(n.name, len(n.users)) for n in gm.graph.nodes])


@scenario
def add_becomes_mul(lib: Library, log: Log) -> None:
    def transform(m: Any, tracer_class: type = lib.fx.Tracer) -> Any:
        graph = tracer_class().trace(m)
        for node in graph.nodes:
            if node.op == "call_function" and node.target == operator.add:
                node.target = operator.mul
        graph.lint()
        return lib.fx.GraphModule(m, graph)

    class M(lib.nn.Module):
        def forward(self, x, y):
            return x + y + 1

    gm = transform(M())
    log("module", gm)
    log("runs", gm(3, 4))


@scenario
def add_becomes_and_by_insertion(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y: x + y)
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.target in {operator.add, lib.add}:
            with gm.graph.inserting_after(n):
                new = gm.graph.call_function(operator.and_, n.args, n.kwargs)
                n.replace_all_uses_with(new)
            gm.graph.erase_node(n)
    gm.recompile()
    log("module", gm)
    log("runs", gm(6, 3))


@scenario
def relu_becomes_gelu(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(convnet(lib))
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is lib.relu:
            with gm.graph.inserting_after(node):
                new = gm.graph.call_function(lib.nn.functional.gelu, node.args, node.kwargs)
            node.replace_all_uses_with(new)
            gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    log("graph", [(n.op, n.name, n.args) for n in gm.graph.nodes])
    log.close("runs", gm(image(lib)))


@scenario
def modules_swapped(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(mlp(lib)).eval()
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], lib.nn.ReLU):
            parent, _, name = node.target.rpartition(".")
            setattr(modules[parent], name, lib.nn.Tanh())
    gm.recompile()
    log("module", gm)
    log("type", type(gm.act).__name__)
    log.close("runs", gm(lib.array([[1, 2, 3, 4]])))


@scenario
def decompose_relu_by_retracing(lib: Library, log: Log) -> None:
    rules = {lib.relu: lambda x: (x > 0) * x}

    def decompose(model: Any, tracer_class: type = lib.fx.Tracer) -> Any:
        graph = tracer_class().trace(model)
        new_graph = lib.fx.Graph()
        env: dict[str, Any] = {}
        tracer = lib.fx.GraphAppendingTracer(new_graph)
        for node in graph.nodes:
            if node.op == "call_function" and node.target in rules:
                args = [lib.fx.Proxy(env[x.name], tracer) if isinstance(x, lib.fx.Node) else x for x in node.args]
                env[node.name] = rules[node.target](*args).node
            else:
                env[node.name] = new_graph.node_copy(node, lambda x: env[x.name])
        return lib.fx.GraphModule(model, new_graph)

    gm = decompose(convnet(lib))
    gm.graph.lint()
    log("graph", gm.graph)
    log("code", gm.code)
    log.close("runs", gm(image(lib)))


@scenario
def insert_logging(lib: Library, log: Log) -> None:
    seen: list[Any] = []

    def look(name: str, value: Any) -> Any:
        seen.append((name, tuple(value.shape)))
        return value

    gm = lib.fx.symbolic_trace(mlp(lib)).eval()
    for node in list(gm.graph.nodes):
        if node.op == "call_module":
            with gm.graph.inserting_after(node):
                new = gm.graph.call_function(look, (node.name, node))
            node.replace_all_uses_with(new)
            new.args = (node.name, node)
    gm.graph.lint()
    gm.recompile()
    gm(lib.array([[1, 2, 3, 4]]))
    log("seen", seen)
    log("graph", gm.graph)


@scenario
def insert_prints(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: (x + 1) * 2)
    for node in list(gm.graph.nodes):
        if node.op == "call_function":
            with gm.graph.inserting_after(node):
                gm.graph.call_function(print, (node.name, node))
    gm.recompile()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = gm(3)
    log("printed", out.getvalue())
    log("result", result)
    log("module", gm)


@scenario
def drop_dropout(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(mlp(lib))
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], lib.nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    gm.delete_all_unused_submodules()
    gm.recompile()
    log("module", gm)
    log("modules", [name for name, _ in gm.named_modules()])
    log.close("runs", gm(lib.array([[1, 2, 3, 4]])))


@scenario
def fold_conv_and_bn(lib: Library, log: Log) -> None:
    def fused(conv: Any, bn: Any) -> Any:
        new = copy.deepcopy(conv)
        weight, bias = arrays(conv.weight), arrays(conv.bias)
        factor = arrays(bn.weight) / np.sqrt(arrays(bn.running_var) + bn.eps)
        new.weight = lib.parameter(weight * factor[:, None, None, None])
        new.bias = lib.parameter((bias - arrays(bn.running_mean)) * factor + arrays(bn.bias))
        return new

    model = convnet(lib)
    gm = lib.fx.symbolic_trace(copy.deepcopy(model))
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op != "call_module" or not isinstance(modules[node.target], lib.nn.BatchNorm2d):
            continue
        before = node.args[0]
        if before.op == "call_module" and isinstance(modules[before.target], lib.nn.Conv2d) and len(before.users) == 1:
            parent, _, name = before.target.rpartition(".")
            setattr(modules[parent], name, fused(modules[before.target], modules[node.target]))
            node.replace_all_uses_with(before)
            gm.graph.erase_node(node)
    gm.delete_all_unused_submodules()
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log("modules", [name for name, _ in gm.named_modules()])
    log.close("folded", gm(image(lib)))
    log("as before", bool(np.allclose(arrays(gm(image(lib))), arrays(model(image(lib))), atol=1e-5)))


@scenario
def tracer_with_a_leaf_rule(lib: Library, log: Log) -> None:
    class Special(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x):
            return lib.neg(self.linear(x)) if lib.name == "torch" else lib.negative(self.linear(x))

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.special = Special()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x):
            return self.special(self.linear(x))

    class Keeps(lib.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Special) or super().is_leaf_module(m, module_qualified_name)

    class OpensAll(lib.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    model = lib.seeded(Net)
    tracer = Keeps()
    gm = lib.fx.GraphModule(model, tracer.trace(model), "Kept")
    log("kept", gm)
    log("class", type(gm).__name__)
    log.close("runs", gm(lib.array([[1.0, 2.0]])))
    opened = OpensAll().trace(model)
    log("no module is left", [n.name for n in opened.nodes if n.op == "call_module"])
    log("its parameters are read", [n.target for n in opened.nodes if n.op == "get_attr"])
    log.close("opened runs", lib.fx.GraphModule(model, opened)(lib.array([[1.0, 2.0]])))


@scenario
def shape_propagation(lib: Library, log: Log) -> None:
    class ShapeProp:
        """The loop of the tutorial, without Interpreter."""

        def __init__(self, mod: Any) -> None:
            self.mod, self.graph, self.modules = mod, mod.graph, dict(mod.named_modules())

        def propagate(self, *args: Any) -> Any:
            args_iter = iter(args)
            env: dict[str, Any] = {}

            def load_arg(a: Any) -> Any:
                return lib.fx.map_arg(a, lambda n: env[n.name])

            def fetch_attr(target: str) -> Any:
                found = self.mod
                for atom in target.split("."):
                    found = getattr(found, atom)
                return found

            for node in self.graph.nodes:
                if node.op == "placeholder":
                    result = next(args_iter)
                elif node.op == "get_attr":
                    result = fetch_attr(node.target)
                elif node.op == "call_function":
                    result = node.target(*load_arg(node.args), **load_arg(node.kwargs))
                elif node.op == "call_method":
                    self_obj, *rest = load_arg(node.args)
                    result = getattr(self_obj, node.target)(*rest, **load_arg(node.kwargs))
                elif node.op == "call_module":
                    result = self.modules[node.target](*load_arg(node.args), **load_arg(node.kwargs))
                elif node.op == "output":
                    return load_arg(node.args[0])
                node.meta["shape"] = tuple(result.shape)
                env[node.name] = result
            return None

    gm = lib.fx.symbolic_trace(convnet(lib))
    log.close("result", ShapeProp(gm).propagate(image(lib)))
    log("shapes", [(n.name, n.meta.get("shape")) for n in gm.graph.nodes])


@scenario
def shapes_by_interpreter(lib: Library, log: Log) -> None:
    class Shapes(lib.fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            n.meta["shape"] = tuple(result.shape)
            return result

    gm = lib.fx.symbolic_trace(convnet(lib))
    Shapes(gm).run(image(lib))
    log("shapes", [(n.name, n.meta["shape"]) for n in gm.graph.nodes])


@scenario
def profiling(lib: Library, log: Log) -> None:
    class Profiler(lib.fx.Interpreter):
        def __init__(self, mod):
            gm = lib.fx.symbolic_trace(mod)
            super().__init__(gm)
            self.total: list[float] = []
            self.times: dict[Any, list[float]] = {}

        def run(self, *args):
            start = time.time()
            result = super().run(*args)
            self.total.append(time.time() - start)
            return result

        def run_node(self, n):
            start = time.time()
            result = super().run_node(n)
            self.times.setdefault(n, []).append(time.time() - start)
            return result

        def summary(self):
            return [(n.op, str(n), len(times)) for n, times in self.times.items()]

    profiler = Profiler(convnet(lib))
    for _ in range(3):
        profiler.run(image(lib))
    log("summary", profiler.summary())
    log("runs", len(profiler.total))
    log("times", all(t >= 0 for ts in profiler.times.values() for t in ts))


@scenario
def sigmoid_becomes_tanh(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.act = lib.nn.Sigmoid()

        def forward(self, x):
            return lib.sigmoid(self.act(self.linear(x)))

    class Swap(lib.fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is lib.sigmoid:
                return lib.tanh(*args, **kwargs)
            return super().call_function(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], lib.nn.Sigmoid):
                return lib.tanh(*args, **kwargs)
            return super().call_module(target, args, kwargs)

    gm = Swap(lib.fx.symbolic_trace(lib.seeded(Net))).transform()
    log("module", gm)
    log.close("runs", gm(lib.array([[1.0, -2.0]])))


@scenario
def negate_by_interpreter(lib: Library, log: Log) -> None:
    """Fn and method swapped while running: the example of Interpreter's documentation."""

    class NegSigmSwap(lib.fx.Interpreter):
        def call_function(self, target, args, kwargs):
            if target is lib.sigmoid:
                return -args[0]
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            if target == "sum":
                call_self, *_ = args
                return call_self.max()
            return super().call_method(target, args, kwargs)

    gm = lib.fx.symbolic_trace(lambda x: lib.sigmoid(x).sum())
    log.close("runs", NegSigmSwap(gm).run(lib.array([1.0, 2.0])))
