"""Scenarios: Interpreter, Transformer, normalized arguments, replace_pattern."""

from __future__ import annotations

import operator
from typing import Any

from sides import Library, Log, error_of, names, scenario


def net(lib: Library) -> Any:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.inner = lib.nn.Sequential(lib.nn.ReLU())
            self.scale = lib.parameter([2.0, 3.0])

        def forward(self, x, y=1.0):
            a = self.inner(self.linear(x))
            b = (a * self.scale).reshape(-1)
            return {"sum": lib.sin(b) + y, "all": [a, (b, None)]}

    return lib.seeded(Net)


@scenario
def interpreting(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(net(lib))
    x = lib.array([[1.0, -1.0]])
    interpreter = lib.fx.Interpreter(gm)
    log.close("as called", interpreter.run(x, 2.0))
    log.close("default", interpreter.run(x))
    log("values are dropped", len(interpreter.env) < len(gm.graph.nodes))
    keeps = lib.fx.Interpreter(gm, garbage_collect_values=False)
    keeps.run(x)
    log("values are kept", sorted(n.name for n in keeps.env))
    log("parts", (interpreter.module is gm, interpreter.graph is gm.graph, interpreter.garbage_collect_values))
    log("submodules", sorted(interpreter.submodules))
    log("no argument", error_of(interpreter.run))


@scenario
def interpreting_hooks(lib: Library, log: Log) -> None:
    calls: list[Any] = []

    class Own(lib.fx.Interpreter):
        def run_node(self, n):
            calls.append(("run_node", n.name))
            return super().run_node(n)

        def placeholder(self, target, args, kwargs):
            calls.append(("placeholder", target, args, kwargs))
            return super().placeholder(target, args, kwargs)

        def get_attr(self, target, args, kwargs):
            calls.append(("get_attr", target, args, kwargs))
            return super().get_attr(target, args, kwargs)

        def call_function(self, target, args, kwargs):
            calls.append(("call_function", target, len(args), list(kwargs)))
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            calls.append(("call_method", target, len(args), list(kwargs)))
            return super().call_method(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            calls.append(("call_module", target, len(args), list(kwargs)))
            return super().call_module(target, args, kwargs)

        def output(self, target, args, kwargs):
            calls.append(("output", target, len(args)))
            return super().output(target, args, kwargs)

    gm = lib.fx.symbolic_trace(net(lib))
    log.close("result", Own(gm).run(lib.array([[1.0, -1.0]]), 2.0))
    log("calls", calls)


@scenario
def interpreting_by_hand(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y: lib.sin(x) * y + [x, y][0])
    interpreter = lib.fx.Interpreter(gm)
    nodes = {n.name: n for n in gm.graph.nodes}
    interpreter.env = {nodes["x"]: 1.0, nodes["y"]: 2.0}
    interpreter.env[nodes["sin"]] = 5.0
    args, kwargs = interpreter.fetch_args_kwargs_from_env(nodes["mul"])
    log("fetched", (args, kwargs))
    log("mapped", interpreter.map_nodes_to_values(((nodes["x"], [nodes["y"], 3]), {"k": nodes["x"]}), nodes["mul"]))
    other = lib.fx.Interpreter(gm)
    log("initial values", other.run(lib.array(0.0), 2.0, initial_env={nodes["sin"]: lib.array(10.0)}))
    arguments = [lib.array(0.0), 5.0]
    log("boxed", lib.fx.Interpreter(gm).boxed_run(arguments))
    log("box is empty", arguments)


@scenario
def interpreting_attributes(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(net(lib))
    interpreter = lib.fx.Interpreter(gm)
    log("fetch", interpreter.fetch_attr("linear.weight") is gm.linear.weight)
    log("fetch module", interpreter.fetch_attr("inner.0") is gm.inner.get_submodule("0"))
    log.raises("nothing there", interpreter.fetch_attr, "linear.nothing")


@scenario
def interpreting_another_graph(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: x + 1)
    graph = lib.fx.Graph()
    graph.output(graph.call_function(operator.mul, (graph.placeholder("x"), 3)))
    log("graph given", lib.fx.Interpreter(gm, graph=graph).run(2))
    log("module", lib.fx.Interpreter(gm).run(2))


@scenario
def interpreting_variadics(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, *args: x + args[0] + args[1])
    log("args", lib.fx.Interpreter(gm).run(1, 2, 3))


@scenario
def interpreting_structured_inputs(lib: Library, log: Log) -> None:
    ph = lib.fx.PH
    gm = lib.fx.symbolic_trace(lambda x: x["a"] + x["b"][0], concrete_args={"x": {"a": ph, "b": [ph]}})
    log("processed", lib.fx.Interpreter(gm).run({"a": 1, "b": [2]}))
    # torch.fx leaves the result flat then; in weft it is never flattened.
    flat = lib.fx.Interpreter(gm).run(1, 2, enable_io_processing=False)
    log.differs("flat", flat, torch=[3], weft=3)


@scenario
def lists_reach_functions_as_lists(lib: Library, log: Log) -> None:
    seen = []

    def look(values: Any, **kwargs: Any) -> Any:
        seen.append((isinstance(values, list), isinstance(kwargs, dict)))
        return values[0]

    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(look, ([x, 1],), {"k": {"a": x}}))
    gm = lib.fx.GraphModule({}, graph)
    gm(1)
    lib.fx.Interpreter(gm).run(1)
    log("seen", seen)


@scenario
def transforming(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(net(lib))
    gm.graph.find_nodes(op="call_function", target=lib.sin)[0].meta["fact"] = 1
    new = lib.fx.Transformer(gm).transform()
    log("the same", new)
    log.differs("class", type(new).__name__, torch="GraphModule", weft="Net")
    log("another graph", new.graph is not gm.graph)
    log.close("runs", new(lib.array([[1.0, -1.0]])))
    # What is known of a node is known of the one written in its place, if it does the same.
    facts = [n.meta.get("fact") for n in new.graph.nodes if n.op == "call_function"]
    log.differs("facts", facts, torch=[None, None, None], weft=[None, 1, None])


@scenario
def transforming_each_kind(lib: Library, log: Log) -> None:
    class Own(lib.fx.Transformer):
        def placeholder(self, target, args, kwargs):
            return super().placeholder(f"in_{target}", args, kwargs)

        def get_attr(self, target, args, kwargs):
            return super().get_attr(target, args, kwargs) * 2

        def call_function(self, target, args, kwargs):
            if target is lib.sin:
                return lib.cos(*args, **kwargs)
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            if target == "reshape":
                return super().call_method("view", args, kwargs)
            return super().call_method(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            if target == "inner.0":
                return lib.relu(*args)
            return super().call_module(target, args, kwargs)

    gm = Own(lib.fx.symbolic_trace(net(lib))).transform()
    log("module", gm)
    log("submodules", [name for name, _ in gm.named_modules()])


@scenario
def transforming_constants_in(lib: Library, log: Log) -> None:
    class Fold(lib.fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is operator.mul and args[1] == 1:
                return args[0]
            return super().call_function(target, args, kwargs)

    gm = Fold(lib.fx.symbolic_trace(lambda x: (x * 1 + 2) * 1)).transform()
    log("folded", gm)
    log("runs", gm(3))


@scenario
def normalized(lib: Library, log: Log) -> None:
    def known(a, b, c=3, *, d=4):
        return a

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x, y):
            return self.linear(x), x.sum(0)

    graph = lib.fx.symbolic_trace(Net()).graph
    root = lib.fx.symbolic_trace(Net())
    with graph.inserting_before(graph.output_node()):
        x, y = list(graph.nodes)[:2]
        call = graph.call_function(known, (x, y))
        named = graph.call_function(known, (x,), {"b": y, "d": 1})
        wrong = graph.call_function(known, (x,), {"e": y})
    linear = next(n for n in graph.nodes if n.op == "call_module")
    method = next(n for n in graph.nodes if n.op == "call_method")

    def shown(node: Any, **options: Any) -> Any:
        found = node.normalized_arguments(root, **options)
        return None if found is None else (found.args, found.kwargs)

    log("module, names", shown(linear, normalize_to_only_use_kwargs=True))
    log("method", shown(method))
    log("placeholder", shown(x))
    outcome = error_of(shown, wrong, normalize_to_only_use_kwargs=True)
    # Both say None where the signature is not known; in weft also where the arguments do not fit it.
    log.differs("does not fit", outcome, torch="raises TypeError", weft="returns")
    log("function, names", [shown(n, normalize_to_only_use_kwargs=True) for n in (call, named)])
    log("function", [shown(n) for n in (call, named)])


# replace_pattern


@scenario
def replacing_patterns(lib: Library, log: Log) -> None:
    def f(x, w1, w2):
        m1 = lib.matmul(x, w1).sum()
        m2 = lib.matmul(x, w2).sum()
        return m1 + lib.maximum(m1, m2)

    gm = lib.fx.symbolic_trace(f)
    matches = lib.fx.replace_pattern(gm, lambda a, b: lib.matmul(a, b).sum(), lambda a, b: lib.sin(a) * lib.cos(b))
    log("how many", len(matches))
    # The order of a value's users is what an edit happens to leave, and no part of the graph's meaning.
    log("nodes", [(node.op, node.name, node.target, node.args, node.kwargs) for node in gm.graph.nodes])
    log("nodes maps", [sorted((k.name, v.name) for k, v in m.nodes_map.items() if k.op != "output") for m in matches])
    gm.graph.lint()


@scenario
def replacing_chained_patterns(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.relu(lib.relu(lib.relu(x))))
    matches = lib.fx.replace_pattern(gm, lambda x: lib.relu(x), lambda x: lib.sin(x))
    log("each", (len(matches), gm))
    gm = lib.fx.symbolic_trace(lambda x: lib.relu(lib.relu(lib.relu(lib.relu(x)))))
    matches = lib.fx.replace_pattern(gm, lambda x: lib.relu(lib.relu(x)), lambda x: lib.sin(x))
    log("pairs", (len(matches), [n.target for n in gm.graph.nodes]))
    gm = lib.fx.symbolic_trace(lambda x: lib.relu(lib.relu(lib.relu(x))))
    matches = lib.fx.replace_pattern(gm, lambda x: lib.relu(lib.relu(x)), lambda x: lib.sin(x))
    log("overlapping", (len(matches), [n.target for n in gm.graph.nodes]))


@scenario
def patterns_that_do_not_match(lib: Library, log: Log) -> None:
    def count(program: Any, pattern: Any, replacement: Any) -> Any:
        gm = lib.fx.symbolic_trace(program)
        before = names(gm.graph.nodes)
        found = len(lib.fx.replace_pattern(gm, pattern, replacement))
        return found, before == names(gm.graph.nodes)

    pattern = lambda x: lib.sin(lib.cos(x))  # noqa: E731
    other = lambda x: lib.tanh(x)  # noqa: E731
    log("not there", count(lambda x: lib.sin(x), pattern, other))
    log("used outside", count(lambda x: (lambda c: lib.sin(c) + c)(lib.cos(x)), pattern, other))
    log("another constant", count(lambda x: x + 2, lambda x: x + 1, other))
    log("the same constant", count(lambda x: x + 1, lambda x: x + 1, other)[0])
    log("another order", count(lambda x, y: y - x, lambda x, y: x - y, lambda x, y: x + y)[0])
    log("one parameter twice", count(lambda x, y: x * y, lambda x: x * x, other))
    log("indeed twice", count(lambda x, y: x * x, lambda x: x * x, other)[0])
    log("keywords", count(lambda x: x.sum(axis=0), lambda x: x.sum(axis=1), other))
    # x * x is an instance of x * y; torch.fx's matcher uses every node of the graph once.
    twice = count(lambda x, y: x * x, lambda x, y: x * y, lambda x, y: x + y)[0]
    log.differs("two parameters, one value", twice, torch=0, weft=1)


@scenario
def patterns_with_several_results(lib: Library, log: Log) -> None:
    def f(x):
        a, b = lib.sin(x), lib.cos(x)
        return a * 2 + b * 3

    gm = lib.fx.symbolic_trace(f)
    pattern = lambda x: (lib.sin(x), lib.cos(x))  # noqa: E731
    matches = lib.fx.replace_pattern(gm, pattern, lambda x: (lib.tanh(x), lib.exp(x)))
    log("matches", len(matches))
    log("targets", sorted(str(getattr(n.target, "__name__", n.target)) for n in gm.graph.nodes))
    gm.graph.lint()
    log.close("runs", gm(lib.array([1.0])))


@scenario
def patterns_with_modules(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.relu = lib.nn.ReLU()
            self.new = lib.nn.Tanh()

        def forward(self, x):
            return self.relu(self.linear(x)) + self.new(x)

    class Pattern(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.relu = lib.nn.ReLU()

        def forward(self, x):
            return self.relu(self.linear(x))

    class Replacement(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.extra = lib.nn.Sigmoid()

        def forward(self, x):
            return self.extra(x)

    gm = lib.fx.symbolic_trace(lib.seeded(Net))
    matches = lib.fx.replace_pattern(gm, Pattern(), Replacement())
    log("matches", len(matches))
    log("nodes", sorted((n.op, n.name, tuple(names(n.all_input_nodes))) for n in gm.graph.nodes))
    log.close("runs", gm(lib.array([1.0, 2.0])))
    log("modules", sorted(name for name, _ in gm.named_modules()))
    gm.delete_all_unused_submodules()
    log("modules used", sorted(name for name, _ in gm.named_modules()))


@scenario
def patterns_with_filters(lib: Library, log: Log) -> None:
    def f(x):
        return lib.sin(x + 1) * lib.sin(x + 2)

    asked = []

    def second(match: Any, original: Any, pattern: Any) -> bool:
        asked.append((type(match).__name__, original is gm.graph, len(match.nodes_map) > 0))
        asked.append([node.name for node in match.returning_nodes])
        return any(getattr(n, "name", None) == "add_1" for n in match.nodes_map.values())

    gm = lib.fx.symbolic_trace(f)
    done = lib.fx.replace_pattern_with_filters(gm, lambda x: lib.sin(x), lambda x: lib.cos(x), match_filters=[second])
    log("asked", asked)
    log("module", gm)
    log("replacements", [[n.name for n in each.replacements] for each in done])
    log("anchor", [each.anchor.name for each in done])
    gm = lib.fx.symbolic_trace(f)
    done = lib.fx.replace_pattern_with_filters(gm, lambda x: x + 1, lambda x: x - 1, ignore_literals=True)
    log("literals ignored", (len(done), gm))


@scenario
def patterns_with_callback(lib: Library, log: Log) -> None:
    def callback(match: Any, original: Any, pattern: Any) -> Any:
        number = len(match.returning_nodes[0].name)
        return lib.fx.symbolic_trace(lambda x: x * number).graph

    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x) + lib.sin(lib.cos(x)))
    done = lib.fx.replace_pattern_with_filters(gm, lambda x: lib.sin(x), replacement_callback=callback)
    log("done", (len(done), sorted((n.name, tuple(map(str, n.args))) for n in gm.graph.nodes)))


@scenario
def patterns_given_as_graph_modules(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x) + 1)
    pattern, replacement = (lib.fx.symbolic_trace(f) for f in (lambda x: lib.sin(x), lambda x: lib.cos(x)))
    log("matches", (len(lib.fx.replace_pattern(gm, pattern, replacement)), gm))


@scenario
def replacement_by_its_input(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.sin(x + 0) * 2)
    lib.fx.replace_pattern(gm, lambda x: x + 0, lambda x: x)
    log("identity removed", gm)


@scenario
def matching_only(lib: Library, log: Log) -> None:
    pattern = lib.fx.symbolic_trace(lambda x: lib.sin(x) + 1).graph
    graph = lib.fx.symbolic_trace(lambda a, b: (lib.sin(a) + 1) * (lib.sin(b) + 1)).graph
    matches = lib.fx.SubgraphMatcher(pattern).match(graph)
    log("found", sorted(m.returning_nodes[0].name for m in matches))
    log("placeholders", sorted(m.placeholder_nodes[0].name for m in matches))
