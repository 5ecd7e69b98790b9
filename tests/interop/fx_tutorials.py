"""Scenarios: the programs that tutorials about FX teach, each written once for either library."""

from __future__ import annotations

import copy
import operator
import time
from typing import Any

import numpy as np
from sides import Library, Log, arrays, names, scenario


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

    gm = lib.fx.symbolic_trace(MyModule())
    log("graph", gm.graph)
    log("printed", str(gm.graph))
    log("code", gm.code)
    for node in gm.graph.nodes:
        log(node.name, (node.op, node.target, node.args, node.kwargs))


@scenario
def print_a_table(lib: Library, log: Log) -> None:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        lib.fx.symbolic_trace(mlp(lib)).graph.print_tabular()
    rows = [line.split() for line in out.getvalue().splitlines()]
    log("heading", rows[0][:5])
    log("columns", [row[:3] for row in rows[2:]])


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
    import contextlib
    import io

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
    gm = lib.fx.GraphModule(tracer.root if False else model, tracer.trace(model), "Kept")
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


@scenario
def invert_a_program(lib: Library, log: Log) -> None:
    inverses = {lib.sin: lib.asin, lib.exp: lib.log, operator.neg: operator.neg}

    def invert(model: Any) -> Any:
        gm = lib.fx.symbolic_trace(model)
        chain = []
        node = gm.graph.output_node().args[0]
        while node.op != "placeholder":
            chain.append(node)
            node = node.all_input_nodes[0]
        graph = lib.fx.Graph()
        value = graph.placeholder("y")
        for node in chain:
            if node.target in inverses:
                value = graph.call_function(inverses[node.target], (value,))
            elif node.target is operator.add:
                value = graph.call_function(operator.sub, (value, node.args[1]))
            elif node.target is operator.mul:
                value = graph.call_function(operator.truediv, (value, node.args[1]))
        graph.output(value)
        graph.lint()
        return lib.fx.GraphModule(lib.nn.Module(), graph)

    inverse = invert(lambda x: -(lib.exp(lib.sin(x) * 0.5 + 1)))
    log("module", inverse)
    x = np.array([0.1, 0.5], np.float32)
    log.close("back", inverse(lib.array(-np.exp(np.sin(x) * 0.5 + 1))))


@scenario
def split_a_graph(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(convnet(lib))
    cut = gm.graph.find_nodes(op="call_function", target=lib.relu)[0]

    def part(nodes: list[Any], inputs: list[Any], result: Any) -> Any:
        graph = lib.fx.Graph()
        env = {node: graph.placeholder(node.name) for node in inputs}
        for node in nodes:
            env[node] = graph.node_copy(node, lambda n: env[n])
        graph.output(env[result])
        graph.lint()
        return lib.fx.GraphModule(gm, graph)

    every = [n for n in gm.graph.nodes if n.op not in ("placeholder", "output")]
    at = every.index(cut) + 1
    first = part(every[:at], gm.graph.find_nodes(op="placeholder"), cut)
    second = part(every[at:], [cut], gm.graph.output_node().args[0])
    log("first", first)
    log("second", second)
    log.close("composed", second(first(image(lib))))
    log("modules of each", [[name for name, _ in p.named_modules() if name] for p in (first, second)])


@scenario
def split_into_submodules(lib: Library, log: Log) -> None:
    """Move part of a graph into a submodule of the module, and call that."""
    gm = lib.fx.symbolic_trace(lambda x, y: lib.cos(lib.sin(x) * y) + lib.sin(x))
    inner = [n for n in gm.graph.nodes if n.target is operator.mul or n.target is lib.cos]
    graph = lib.fx.Graph()
    env: dict[Any, Any] = {}
    for node in inner:
        for one in node.all_input_nodes:
            if one not in inner and one not in env:
                env[one] = graph.placeholder(one.name)
    outside = list(env)
    for node in inner:
        env[node] = graph.node_copy(node, env.__getitem__)
    graph.output(env[inner[-1]])
    gm.add_submodule("fused", lib.fx.GraphModule({}, graph))
    with gm.graph.inserting_after(inner[-1]):
        call = gm.graph.call_module("fused", tuple(outside))
    inner[-1].replace_all_uses_with(call)
    for node in reversed(inner):
        gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log("inner", gm.fused)
    log.close("runs", gm(lib.array([0.5]), lib.array([2.0])))


@scenario
def capture_activations(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(mlp(lib)).eval()
    wanted = [n for n in gm.graph.nodes if n.op == "call_module" and n.target in ("first", "act")]
    output = gm.graph.output_node()
    with gm.graph.inserting_before(output):
        gm.graph.output({"result": output.args[0], **{n.name: n for n in wanted}})
    gm.graph.erase_node(output)
    gm.graph.lint()
    gm.recompile()
    log("code", gm.code)
    log.close("runs", gm(lib.array([[1, 2, 3, 4]])))


@scenario
def extract_features(lib: Library, log: Log) -> None:
    """Cut a network off at a node: the new output reads it, and what is dead goes."""
    gm = lib.fx.symbolic_trace(convnet(lib))
    middle = gm.graph.find_nodes(op="call_function", target=lib.relu)[0]
    output = gm.graph.output_node()
    output.args = (middle,)
    log("something is dead", gm.graph.eliminate_dead_code())
    gm.delete_all_unused_submodules()
    gm.recompile()
    log("module", gm)
    log("modules", [name for name, _ in gm.named_modules() if name])
    log.close("runs", gm(image(lib)))


@scenario
def quantisation_by_module_swap(lib: Library, log: Log) -> None:
    class Observer(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.low, self.high = float("inf"), float("-inf")

        def forward(self, x):
            self.low, self.high = min(self.low, float(x.min())), max(self.high, float(x.max()))
            return x

    class Quantised(lib.nn.Module):
        def __init__(self, linear: Any, step: float) -> None:
            super().__init__()
            self.step = step
            self.linear = linear
            linear.weight = lib.parameter(np.round(arrays(linear.weight) / step) * step)

        def forward(self, x):
            return self.linear(lib.round(x / self.step) * self.step)

    gm = lib.fx.symbolic_trace(mlp(lib)).eval()
    for node in list(gm.graph.nodes):
        if node.op == "call_module" and isinstance(gm.get_submodule(node.target), lib.nn.Linear):
            name = f"{node.target}_observer"
            gm.add_submodule(name, Observer())
            with gm.graph.inserting_before(node):
                seen = gm.graph.call_module(name, (node.args[0],))
            node.replace_input_with(node.args[0], seen)
    gm.graph.lint()
    gm.recompile()
    log("observed", gm)
    gm(lib.array([[1, 2, 3, -4]]))
    observers = [(name, m) for name, m in gm.named_modules() if isinstance(m, Observer)]
    log.close("ranges", [(name, np.array([m.low, m.high])) for name, m in observers])
    for node in list(gm.graph.nodes):
        if node.op == "call_module" and node.target.endswith("_observer"):
            observer = gm.get_submodule(node.target)
            user = next(iter(node.users))
            step = (observer.high - observer.low) / 255
            setattr(gm, user.target, Quantised(gm.get_submodule(user.target), step))
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    gm.delete_all_unused_submodules()
    gm.recompile()
    log("quantised", gm)
    log("modules", [(name, type(m).__name__) for name, m in gm.named_modules() if name])
    log.close("runs", gm(lib.array([[1, 2, 3, -4]])))


@scenario
def rewrite_subgraphs(lib: Library, log: Log) -> None:
    class M(lib.nn.Module):
        def forward(self, x, w1, w2):
            val1 = lib.sin(x)
            m1 = lib.concat([val1, w1]).sum()
            val2 = lib.cos(x)
            m2 = lib.concat([val2, w2]).sum()
            return x + lib.maximum(m1, m2) + 1

    def pattern(a1, a2):
        return lib.concat([a1, a2]).sum()

    def replacement(w1, w2):
        return lib.stack([w1, w2]).sum()

    gm = lib.fx.symbolic_trace(M())
    matches = lib.fx.replace_pattern(gm, pattern, replacement)
    log("matches", len(matches))
    log("code", gm.code)
    a = lib.array([1.0, 2.0])
    log.close("runs", gm(a, a, a))


@scenario
def common_subexpressions(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: (lib.sin(x) + 1) * (lib.sin(x) + 1) - lib.cos(x))
    seen: dict[Any, Any] = {}
    for node in list(gm.graph.nodes):
        if node.op != "call_function":
            continue
        key = (node.target, node.args, tuple(node.kwargs.items()))
        if key in seen:
            node.replace_all_uses_with(seen[key])
            gm.graph.erase_node(node)
        else:
            seen[key] = node
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log.close("runs", gm(lib.array([1.0])))


@scenario
def constant_folding(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: x * 1 + 0)
    with gm.graph.inserting_before(gm.graph.output_node()):
        two = gm.graph.call_function(operator.add, (1, 1))
        scaled = gm.graph.call_function(operator.mul, (gm.graph.output_node().args[0], two))
    gm.graph.output_node().args = (scaled,)
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and not node.all_input_nodes:
            value = node.target(*node.args, **node.kwargs)
            for user in list(node.users):
                user.args = lib.fx.map_arg(user.args, lambda n, node=node, value=value: value if n is node else n)
            gm.graph.erase_node(node)
    gm.recompile()
    log("module", gm)
    log("runs", gm(3))


@scenario
def build_a_graph_by_hand(lib: Library, log: Log) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("linear.weight")
    added = graph.call_function(operator.add, (x, weight))
    applied = graph.call_module("linear", (added,))
    positive = graph.call_method("clip", (applied, 0, 1))
    total = graph.call_function(lib.sum, (positive,), {"axis": -1})
    graph.output(graph.call_function(lib.topk, (total, 2)))
    root = lib.nn.Module()
    root.linear = lib.seeded(lambda: lib.nn.Linear(3, 3))
    gm = lib.fx.GraphModule(root, graph)
    log("module", gm)
    log("printed", str(graph))
    log.close("runs", tuple(gm(lib.array(np.eye(3)))))


@scenario
def batch_norm_follows_every_linear(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(mlp(lib))
    for index, node in enumerate([n for n in gm.graph.nodes if n.target in ("first", "second")]):
        gm.add_submodule(f"norm{index}", lib.nn.BatchNorm1d(8 if node.target == "first" else 3))
        with gm.graph.inserting_after(node):
            new = gm.graph.call_module(f"norm{index}", (node,))
        node.replace_all_uses_with(new)
        new.args = (node,)
    gm.graph.lint()
    gm.recompile()
    log("module", gm)
    log("names", names(gm.graph.nodes))
    log.close("runs", gm.eval()(lib.array([[1, 2, 3, 4]])))


@scenario
def wrap_every_call(lib: Library, log: Log) -> None:
    """A tracer that notes the module each node was made in."""

    class Scoped(lib.fx.Tracer):
        def __init__(self) -> None:
            super().__init__()
            self.scope: list[str] = []
            self.where: dict[str, str] = {}

        def call_module(self, m, forward, args, kwargs):
            self.scope.append(self.path_of_module(m))
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                self.scope.pop()

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            node = super().create_node(kind, target, args, kwargs, name, type_expr)
            self.where[node.name] = ".".join(self.scope[-1:])
            return node

    tracer = Scoped()
    tracer.trace(convnet(lib))
    log("where", tracer.where)
