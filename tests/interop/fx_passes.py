"""Scenarios: longer programs of tutorials about FX: passes that split, fold, observe and rewrite."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from fx_tutorials import convnet, image, mlp
from sides import Library, Log, arrays, names, scenario


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
            values = arrays(x)
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
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
    # The replacement stands where the match was; in torch.fx before the first reader of its result.
    log(
        "calls",
        sorted(line.strip().partition(";")[0] for line in gm.code.splitlines() if " = " in line),
    )
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
            self.inside: list[str] = []
            self.where: dict[str, str] = {}

        def call_module(self, m, forward, args, kwargs):
            self.inside.append(self.path_of_module(m))
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                self.inside.pop()

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            node = super().create_node(kind, target, args, kwargs, name, type_expr)
            self.where[node.name] = ".".join(self.inside[-1:])
            return node

    tracer = Scoped()
    tracer.trace(convnet(lib))
    log("where", tracer.where)
