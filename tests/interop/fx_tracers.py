"""Scenarios: tracers of one's own, proxies, wrap."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from sides import Library, Log, raised, scenario, traced


@scenario
def leaf_modules(lib: Library, log: Log) -> None:
    class Block(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x, scale=1):
            return self.linear(x) * scale

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()
            self.seq = lib.nn.Sequential(Block(), lib.nn.Dropout(0.5))

        def forward(self, x):
            return self.seq(self.block(x, scale=2))

    asked = []

    class Own(lib.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            asked.append((type(m).__name__, module_qualified_name))
            return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)

    tracer = Own()
    log("graph", tracer.trace(Net()))
    log("asked", asked)
    log("tracer class", lib.fx.GraphModule(tracer.root, tracer.graph).graph._tracer_cls is Own)
    default = lib.fx.Tracer()
    log("default", default.trace(Net()))
    net = Net()
    tracer.trace(net)
    log("paths", [tracer.path_of_module(m) for m in (net.block, net.seq, net.seq[0].linear)])
    log.raises("no path", tracer.path_of_module, lib.nn.Linear(1, 1))
    log("root", tracer.root is net)


@scenario
def own_call_module(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = lib.nn.Linear(2, 2)
            self.b = lib.nn.Sequential(lib.nn.ReLU())

        def forward(self, x):
            return self.b(self.a(x))

    called = []

    class Own(lib.fx.Tracer):
        def call_module(self, m, forward, args, kwargs):
            called.append((type(m).__name__, len(args), sorted(kwargs)))
            if isinstance(m, lib.nn.ReLU):
                return forward(*args, **kwargs)
            return super().call_module(m, forward, args, kwargs)

    graph = Own().trace(Net())
    log("called", called)
    log("kinds", [(n.op, n.name) for n in graph.nodes])


@scenario
def own_create_arg(lib: Library, log: Log) -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

    class Own(lib.fx.Tracer):
        def create_arg(self, a):
            if isinstance(a, Box):
                return super().create_arg((a.value, "boxed"))
            return super().create_arg(a)

    log("graph", Own().trace(lambda x: x + Box(x)))
    log("not without", traced(lib, lambda x: x + Box(x)))


@scenario
def own_getattr(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = lib.parameter([1.0])
            self.register_buffer("b", lib.array([1.0]))
            self.number = 3

        def forward(self, x):
            return x * self.w + self.w + self.b + self.number

    seen: list[str] = []

    class Own(lib.fx.Tracer):
        def getattr(self, attr, attr_val, parameter_proxy_cache):
            seen.append(attr)
            return super().getattr(attr, attr_val, parameter_proxy_cache)

    log("graph", Own().trace(Net()))
    # torch.fx patches every read of a module's attribute while it traces; weft asks for what is registered.
    log("parameters asked for", [name for name in seen if name in ("w", "b")])


@scenario
def own_create_node_and_proxy(lib: Library, log: Log) -> None:
    class Own(lib.fx.Tracer):
        def __init__(self) -> None:
            super().__init__()
            self.made: list[Any] = []

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            node = super().create_node(kind, target, args, kwargs, name, type_expr)
            node.meta["made"] = len(self.made)
            self.made.append(node.name)
            return node

        def proxy(self, node):
            self.made.append(f"proxy of {node.name}")
            return super().proxy(node)

    tracer = Own()
    graph = tracer.trace(lambda x: lib.relu(x).sum() + x.shape[0])
    log("graph", graph)
    log("made", tracer.made)
    log("marks", [n.meta.get("made") for n in graph.nodes])


@scenario
def own_proxies(lib: Library, log: Log) -> None:
    class Named(lib.fx.Proxy):
        def renamed(self, name: str) -> Any:
            self.node.name = name
            return self

    class Own(lib.fx.Tracer):
        def proxy(self, node):
            return Named(node, self)

    graph = Own().trace(lambda x: (x + 1).renamed("plus") * lib.relu(x).renamed("positive"))
    log("graph", graph)


@scenario
def own_answers(lib: Library, log: Log) -> None:
    class Own(lib.fx.Tracer):
        def to_bool(self, obj):
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1], obj[2]])

        def keys(self, obj):
            return ["p", "q"]

    def f(x, y):
        if x > 1:
            x = x + 1
        total = x
        for item in y:
            total = total + item
        return keep_kwargs(**y) if not x else total

    log("graph", Own().trace(f))
    log("keys", Own().trace(lambda x: keep_kwargs(**x)))
    log("not without", traced(lib, f))


def keep_kwargs(**kwargs):
    return kwargs


@scenario
def own_entry_point(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def forward(self, x):
            return x

        def encode(self, x, y=1):
            return lib.sin(x) + y

    class Own(lib.fx.Tracer):
        traced_func_name = "encode"

    log("graph", Own().trace(Net()))


@scenario
def buffers_as_proxies(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", lib.array([1.0]))

        def forward(self, x):
            return x + self.b.sum()

    class Own(lib.fx.Tracer):
        proxy_buffer_attributes = True

    log("graph", Own().trace(Net()))


@scenario
def tracer_parts(lib: Library, log: Log) -> None:
    tracer = lib.fx.Tracer()
    graph = tracer.trace(lambda x: x + 1)
    log("graph", tracer.graph is graph)
    node = next(iter(graph.nodes))
    proxy = tracer.proxy(node)
    log("proxy", (proxy.node is node, proxy.tracer is tracer))
    made = tracer.create_proxy("call_function", lib.sin, (proxy,), {})
    log("create_proxy", (made.node.op, made.node.name, made.node.args))
    named = tracer.create_proxy("call_function", lib.sin, (proxy,), {}, name="mine", type_expr=int)
    log("named", (named.node.name, named.node.type))
    log(
        "create_arg",
        [tracer.create_arg(a) for a in (1, "s", None, (proxy, [1]), {"k": proxy}, slice(proxy, 1), 1.5, ...)],
    )
    log("fresh", tracer.get_fresh_qualname("thing"))
    log("tracer of graph", graph._tracer_cls is lib.fx.Tracer)


@scenario
def editing_by_proxy(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x: lib.relu(x) + 1)
    graph = gm.graph
    relu = next(n for n in graph.nodes if n.target is lib.relu)
    with graph.inserting_before(relu):
        proxy = lib.fx.Proxy(relu.args[0])
        made = (proxy > 0) * proxy + lib.sin(proxy).sum()
        log("its tracer appends", type(made.tracer).__name__)
        relu.replace_all_uses_with(made.node)
    graph.erase_node(relu)
    graph.lint()
    gm.recompile()
    log("graph", gm)
    tracer = lib.fx.GraphAppendingTracer(graph)
    other = lib.fx.Proxy(next(iter(graph.nodes)), tracer)
    log("own tracer", (other.tracer is tracer, (other + 1).node.name))


@scenario
def wrap_as_decorator(lib: Library, log: Log) -> None:
    scope = _module(
        lib,
        "@wrap\ndef twice(x, k=1):\n    return x + x if x > k else x\ndef f(x):\n    return twice(x, k=2) + twice(1)\n",
    )
    gm = lib.fx.symbolic_trace(scope["f"])
    log("graph", gm.graph)
    log("runs", gm(3))
    log("still a function", scope["twice"](3))
    log("name", scope["twice"].__name__)


@scenario
def wrap_by_name(lib: Library, log: Log) -> None:
    source = "from math import sqrt\nreturned = wrap('len')\nwrap('sqrt')\n"
    source += "def f(x):\n    return len(x) + sqrt(x[0]) + len([1])\n"
    scope = _module(lib, source)
    gm = lib.fx.symbolic_trace(scope["f"])
    log("graph", gm.graph)
    log("runs", gm([4, 5]))
    log("still works", scope["f"]([4, 5]))
    log("returned", scope["returned"])
    log("only at module level", raised(_wrap_inside, lib))
    log("not a function", raised(lib.fx.wrap, 3))


def _wrap_inside(lib: Library) -> None:
    lib.fx.wrap("len")


def _module(lib: Library, source: str) -> dict[str, Any]:
    scope = {"wrap": lib.fx.wrap, "__name__": "made", "lib": lib}
    exec(compile(source, "made.py", "exec"), scope)
    return scope


@scenario
def where_nodes_come_from(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = lib.nn.Sequential(lib.nn.Linear(2, 2))

        def forward(self, x):
            return lib.sin(self.inner(x))

    tracer = lib.fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Net())
    sine = next(n for n in graph.nodes if n.op == "call_function")
    log(
        "trace",
        (
            "fx_tracers.py" in sine.stack_trace,
            "lib.sin(self.inner(x))" in sine.stack_trace,
            "forward" in sine.stack_trace,
        ),
    )
    sine.stack_trace = "mine"
    log("set", (sine.stack_trace, sine.meta["stack_trace"]))
    hand = lib.fx.Graph()
    log("by hand", hand.placeholder("x").stack_trace)


@scenario
def module_stack(lib: Library, log: Log) -> None:
    class Inner(lib.nn.Module):
        def forward(self, x):
            return lib.sin(x)

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = Inner()
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(self.a(x)) + lib.cos(x)

    graph = lib.fx.symbolic_trace(Net()).graph
    log(
        "inside a module",
        [(n.name, list(n.meta.get("nn_module_stack", {}))) for n in graph.nodes if n.name != "linear"],
    )
    linear = graph.find_nodes(op="call_module")[0]
    log("a leaf", list(linear.meta.get("nn_module_stack", {})))


@scenario
def arguments_of_other_kinds(lib: Library, log: Log) -> None:
    log("range", traced(lib, lambda x: x.apply(range(3))))
    log("object", traced(lib, lambda x: x.apply(object())))
    log("set", traced(lib, lambda x: x.apply({1, 2})))
    log("ellipsis", traced(lib, lambda x: x.apply(...)))
    log("complex", traced(lib, lambda x: x.apply(1j)))
    log("none", traced(lib, lambda x: x.apply(None)))
    log("proxy in dict key", traced(lib, lambda x: x.apply({x: 1})))
    more = [b"1", int, operator.add, np.float32, np.dtype("int8")]
    accepted = [traced(lib, lambda x, a=a: x.apply(a)) != "raises" for a in more]
    log.differs("accepted besides", accepted, torch=[False] * 5, weft=[True] * 5)


@scenario
def nested_traces(lib: Library, log: Log) -> None:
    inner = []

    def f(x):
        inner.append(lib.fx.symbolic_trace(lambda y: lib.sin(y) + 1).graph)
        return x * 2

    log("outer", lib.fx.symbolic_trace(f).graph)
    log("inner", inner[0])


@scenario
def unusual_roots(lib: Library, log: Log) -> None:
    class Holder:
        def method(self, x):
            return x * 2

    log.differs("a bound method", raised(lib.fx.symbolic_trace, Holder().method), torch=True, weft=False)
    log("not callable", raised(lib.fx.symbolic_trace, 3))
