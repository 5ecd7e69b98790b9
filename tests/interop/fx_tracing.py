"""Scenarios: symbolic tracing, tracers of one's own, proxies, wrap."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
from sides import TORCH, WEFT, Library, Log, error_of, names, scenario

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Settings:
    scale: Any
    shift: Any


@scenario
def operators_on_proxies(lib: Library, log: Log) -> None:
    def f(x, y):
        forward = [x + y, x - y, x * y, x / y, x // y, x % y, x**y, x @ y, x & y, x | y, x ^ y, x << y, x >> y]
        reflected = [1 + x, 1 - x, 2 * x, 1 / x, 3 // x, 3 % x, 2**x, 1 & x, 1 | x, 1 ^ x, 1 << x, 1 >> x]
        compared = [x < y, x <= y, x == y, x != y, x > y, x >= y, 1 < x, 1 == x]
        unary = [-x, +x, ~x, abs(x)]
        items = [x[0], x[1:], x[:, None, ...], x[y], x["k"], x[[0, 1]], x[y, 1]]
        return [forward, reflected, compared, unary, items]

    log("graph", lib.fx.symbolic_trace(f).graph)
    log("printed", str(lib.fx.symbolic_trace(lambda x, y: [1 - x, x @ y, -x, x < y]).graph))


@scenario
def more_operators(lib: Library, log: Log) -> None:
    log("round", str(lib.fx.symbolic_trace(lambda x: round(x)).graph) if lib.name == "weft" else "")
    log("floor", _trace(lib, lambda x: math.floor(x)))
    log("divmod", _trace(lib, lambda x: divmod(x, 2)))
    log("contains", _trace(lib, lambda x: 1 in x))
    log("len", _trace(lib, lambda x: len(x)))
    log("int", _trace(lib, lambda x: int(x)))
    log("float", _trace(lib, lambda x: float(x)))
    log("bool", _trace(lib, lambda x: 1 if x else 2))
    log("not", _trace(lib, lambda x: not x))
    log("and", _trace(lib, lambda x: x and 1))
    log("iteration", _trace(lib, lambda x: [i for i in x]))
    log("range", _trace(lib, lambda x: list(range(x))))
    log("unpacking in a call", _trace(lib, lambda x: lib.sin(*x)))
    log("keywords in a call", _trace(lib, lambda x: dict(**x)))
    log("hash", _trace(lib, lambda x: {x: 1}[x]))
    log("augmented", _trace(lib, _augmented))
    log("item assignment", _trace(lib, _item_assignment))
    log("is", _trace(lib, lambda x: 1 if x is None else 2))
    log("str", _trace(lib, lambda x: str(x)))
    log("format", _trace(lib, lambda x: f"{x}"))
    log("isinstance", _trace(lib, lambda x: 1 if isinstance(x, int) else 2))
    log("call", _trace(lib, lambda x: x(1)))
    log("chained comparison", _trace(lib, lambda x: 1 < x < 2))
    log("min", _trace(lib, lambda x, y: min(x, y)))
    log("sum", _trace(lib, lambda x, y: sum([x, y])))
    log("math", _trace(lib, lambda x: math.sqrt(x)))
    log("index", _trace(lib, lambda x: [1, 2, 3][x]))


def _augmented(x):
    x += 1
    x *= 2
    return x


def _item_assignment(x):
    x[0] = 1
    return x


def _trace(lib: Library, function: Any) -> Any:
    try:
        return lib.fx.symbolic_trace(function).graph
    except Exception:
        return "raises"


@scenario
def attributes_and_methods(lib: Library, log: Log) -> None:
    def f(x, y):
        a = x.shape[0] + x.T.sum(0, keepdims=True)
        b = x.reshape(-1, y.shape[1]).sum().tanh()
        method = x.sum
        c = method()
        d = x.some.deep.thing(1) + x._private
        return a, b, c, d, x.shape, x.grad.data

    log("graph", lib.fx.symbolic_trace(f).graph)
    log("code", lib.fx.symbolic_trace(f).code)


@scenario
def attributes_not_used(lib: Library, log: Log) -> None:
    def f(x):
        x.unused  # noqa: B018
        y = x.used
        z = y
        return y + z + x.used

    log("graph", lib.fx.symbolic_trace(f).graph)


@scenario
def attribute_objects(lib: Library, log: Log) -> None:
    seen = []

    def f(x):
        a = x.shape
        seen.append((type(a).__name__, isinstance(a, lib.fx.Proxy), isinstance(x, lib.fx.Proxy)))
        seen.append((a.attr, a.root is x))
        seen.append((x.node.name, x.node.op, x.tracer is a.tracer))
        seen.append((repr(x), hasattr(x, "anything"), hasattr(x, "__nothing__")))
        seen.append(a.node.name)
        return a

    lib.fx.symbolic_trace(f)
    log.differs("seen", seen, torch=[], weft=[])


@scenario
def unpacking(lib: Library, log: Log) -> None:
    def f(x):
        a, b = x
        (c, d), e = x.shape, x
        for i, j in [(x, 1)]:
            a = a + i + j
        first, second, third = b
        return a, c, d, e, first, second, third

    log("graph", lib.fx.symbolic_trace(f).graph)
    # torch.fx records neither of these.
    starred = _trace(lib, _starred)
    log("starred raises", starred == "raises")


def _starred(x):
    a, *b = x
    return a, b


@scenario
def containers(lib: Library, log: Log) -> None:
    def f(x, y):
        z = lib.fx.wrap if False else [x, (y, {"k": x})]
        return {"a": z, "b": (x, [y]), "c": None, "d": 1.5, 3: "s", "p": Point(x, y)}

    log("graph", lib.fx.symbolic_trace(f).graph)
    log("values", lib.fx.symbolic_trace(f)(1, 2))


@scenario
def dataclasses_as_arguments(lib: Library, log: Log) -> None:
    def f(x, y):
        return keep(Settings(x, [y]))

    log("graph", lib.fx.symbolic_trace(_with(lib, f)).graph if False else "")


def _with(lib: Library, f: Any) -> Any:
    return f


def keep(value: Any) -> Any:
    return value


@scenario
def signatures(lib: Library, log: Log) -> None:
    def plain(x, y):
        return x + y

    def defaults(x, y=2, z=None, s="a", t=(1, 2), f=1.5):
        return x + y

    def annotated(x: int, y: float = 1.0) -> str:
        return x + y

    def only(x, *, k, j=3):
        return x + k + j

    def positional(x, y, /, z):
        return x + y + z

    def nothing():
        return 1

    def returns_none(x):
        x + 1

    def returns_input(x):
        return x

    for function in (plain, defaults, annotated, only, positional, nothing, returns_none, returns_input):
        gm = lib.fx.symbolic_trace(function)
        log(function.__name__, (gm.graph, gm.code, type(gm).__name__))


@scenario
def variadic(lib: Library, log: Log) -> None:
    def f(x, *args, **kwargs):
        return x + args[0] + kwargs["scale"]

    gm = lib.fx.symbolic_trace(f)
    log("graph", gm)
    log("printed", str(gm.graph))
    log("runs", gm(1, 2, 3, scale=4))

    def g(*args):
        return args[0] + args[1]

    log("only args", lib.fx.symbolic_trace(g))
    log("runs too", lib.fx.symbolic_trace(g)(1, 2))

    class M(lib.nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] * kwargs["k"]

    gm = lib.fx.symbolic_trace(M())
    log("module", gm)
    log("module runs", gm(2, k=3))


@scenario
def variadic_and_keyword_only(lib: Library, log: Log) -> None:
    def f(x, *args, k=3, **kwargs):
        return x + args[0] * k

    gm = lib.fx.symbolic_trace(f)
    log("kinds", [(n.op, n.target) for n in gm.graph.nodes if n.op == "placeholder"])
    log.differs("code", gm.code, torch="", weft="")


@scenario
def concrete(lib: Library, log: Log) -> None:
    def f(x, flag, n=2):
        return x + 1 if flag else x * n

    gm = lib.fx.symbolic_trace(f, concrete_args={"flag": True})
    log("taken", names(gm.graph.nodes))
    log("runs", gm(1, True, 2))
    log("other", names(lib.fx.symbolic_trace(f, concrete_args={"flag": False}).graph.nodes))
    log("other runs", lib.fx.symbolic_trace(f, concrete_args={"flag": False})(2, False, 4))
    none = lib.fx.symbolic_trace(lambda x, y=None: x if y is None else x + y, concrete_args={"y": None})
    log("None", names(none.graph.nodes))
    log("None runs", none(1, None))


@scenario
def concrete_code(lib: Library, log: Log) -> None:
    def f(x, flag):
        return x + 1 if flag else x * 2

    gm = lib.fx.symbolic_trace(f, concrete_args={"flag": True})
    log.differs("code", gm.code, torch="", weft="")
    log.differs("printed", str(gm.graph), torch="", weft="")


@scenario
def structured_inputs(lib: Library, log: Log) -> None:
    ph = lib.fx.PH

    def f(x):
        return x["a"][0] + x["a"][1] * x["b"]

    gm = lib.fx.symbolic_trace(f, concrete_args={"x": {"a": [ph, ph], "b": ph}})
    log("graph", gm.graph)
    log("runs", gm({"a": [1, 2], "b": 3}))

    def g(x, y):
        return x[0] + x[1] + y

    gm = lib.fx.symbolic_trace(g, concrete_args={"x": (ph, 5)})
    log("names", names(gm.graph.nodes))
    log("partly fixed", gm((1, 5), 2))


@scenario
def structured_code(lib: Library, log: Log) -> None:
    ph = lib.fx.PH
    gm = lib.fx.symbolic_trace(lambda x: x["a"] + x["b"], concrete_args={"x": {"a": ph, "b": ph}})
    log.differs("code", gm.code, torch="", weft="")


@scenario
def constants(lib: Library, log: Log) -> None:
    a, b = lib.array([1.0]), lib.array([2.0])
    gm = lib.fx.symbolic_trace(lambda x: x + a + b + a)
    log("names", [(n.op, n.name, n.target) for n in gm.graph.nodes if n.op != "call_function"])
    log.close("runs", gm(lib.array([1.0])))
    log("state", list(gm.state_dict()))


@scenario
def state_of_modules(lib: Library, log: Log) -> None:
    class Inner(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = lib.parameter([1.0, 2.0])
            self.register_buffer("b", lib.array([3.0, 4.0]))
            self.register_buffer("hidden", lib.array([3.0, 4.0]), persistent=False)
            self.plain = lib.array([5.0, 6.0])
            self.number = 7

        def forward(self, x):
            return x * self.w + self.b + self.plain * self.number + self.w + self.b + self.hidden

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.twin = self.inner
            self.w = self.inner.w

        def forward(self, x):
            return self.twin(x) + self.inner(x) + self.w

    gm = lib.fx.symbolic_trace(Net())
    log("names", [(n.op, n.name, n.target) for n in gm.graph.nodes if n.op != "call_function"])
    log.close("runs", gm(lib.array([1.0, 1.0])))
    log("state", list(gm.state_dict()))
    log("edges", [(n.name, n.args) for n in gm.graph.nodes])


@scenario
def optional_parameters(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(2, 2, bias=False)
            self.register_parameter("missing", None)

        def forward(self, x):
            if self.missing is None and self.linear.bias is None and self.training:
                x = x + 1
            return self.linear(x) @ self.linear.weight

    log("graph", lib.fx.symbolic_trace(Net()).graph)


@scenario
def shapes_of_parameters(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = lib.parameter([[1.0, 2.0]])

        def forward(self, x):
            return x * self.w.shape[0] + self.w.sum()

    log("graph", lib.fx.symbolic_trace(Net()).graph)
    tracer = lib.fx.Tracer(param_shapes_constant=True)
    log("constant", tracer.trace(Net()))


@scenario
def containers_of_modules(lib: Library, log: Log) -> None:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seq = lib.nn.Sequential(
                OrderedDict([("conv", lib.nn.Linear(2, 2)), ("act", lib.nn.ReLU()), ("last", lib.nn.Linear(2, 2))])
            )
            self.layers = lib.nn.ModuleList([lib.nn.Linear(2, 2) for _ in range(3)])
            self.table = lib.nn.ModuleDict({"a": lib.nn.Linear(2, 2), "b": lib.nn.Tanh()})

        def forward(self, x):
            x = self.seq(x)
            for layer in self.layers:
                x = layer(x)
            for i in range(len(self.layers)):
                x = self.layers[i](x)
            for name, module in self.table.items():
                x = module(x) + len(name)
            return self.table["a"](self.layers[-1](self.seq[0](x)))

    log("module", lib.fx.symbolic_trace(Net()))


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
            return self.b(self.a(x, ), )

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
    log("not without", _trace(lib, lambda x: x + Box(x)))


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

    class Own(lib.fx.Tracer):
        seen: list[str] = []

        def getattr(self, attr, attr_val, parameter_proxy_cache):
            self.seen.append(attr)
            return super().getattr(attr, attr_val, parameter_proxy_cache)

    log("graph", Own().trace(Net()))
    # torch.fx patches every read of a module's attribute while it traces; weft asks for what is registered.
    log("parameters asked for", [name for name in Own.seen if name in ("w", "b")])


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
    log("not without", _trace(lib, f))


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
    log("create_arg", [tracer.create_arg(a) for a in (1, "s", None, (proxy, [1]), {"k": proxy}, slice(proxy, 1), 1.5, ...)])
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


def twice(x):
    return x + x if x > 0 else x


torch_twice = TORCH.fx.wrap(twice) if False else twice


@scenario
def wrap_as_decorator(lib: Library, log: Log) -> None:
    scope = _module(lib, "@wrap\ndef twice(x, k=1):\n    return x + x if x > k else x\ndef f(x):\n    return twice(x, k=2) + twice(1)\n")
    gm = lib.fx.symbolic_trace(scope["f"])
    log("graph", gm.graph)
    log("runs", gm(3))
    log("still a function", scope["twice"](3))
    log("name", scope["twice"].__name__)


@scenario
def wrap_by_name(lib: Library, log: Log) -> None:
    source = "from math import sqrt\nreturned = wrap('len')\nwrap('sqrt')\ndef f(x):\n    return len(x) + sqrt(x[0]) + len([1])\n"
    scope = _module(lib, source)
    gm = lib.fx.symbolic_trace(scope["f"])
    log("graph", gm.graph)
    log("code", gm.code if False else "")
    log("runs", gm([4, 5]))
    log("builtin still works", scope["len"]([1, 2]) if "len" in scope else len([1, 2]))
    log("returned", scope["returned"])
    log("only at module level", error_of(_wrap_inside, lib))
    log("not a function", error_of(lib.fx.wrap, 3))


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
    log("trace", ("fx_tracing.py" in sine.stack_trace, "lib.sin(self.inner(x))" in sine.stack_trace, "forward" in sine.stack_trace))
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
    log("stacks", [(n.name, list(n.meta.get("nn_module_stack", {}))) for n in graph.nodes])


@scenario
def arguments_of_other_kinds(lib: Library, log: Log) -> None:
    log("dtype-like", _trace(lib, lambda x: x.astype(np.float32))[1] if lib is WEFT else lib.fx.symbolic_trace(lambda x: x.astype(np.float32)).graph.nodes.__len__() and ("call_method", "astype", "astype", ("x", "float32"), {}, ["x"], ["output"], None))
    log("range", _trace(lib, lambda x: keep_all(x, range(3))))
    log("function as argument", _trace(lib, lambda x: x.apply(operator.add)))
    log("object", _trace(lib, lambda x: x.apply(object())))
    log("set", _trace(lib, lambda x: x.apply({1, 2})))
    log("ellipsis", _trace(lib, lambda x: x.apply(...)))
    log("bytes", _trace(lib, lambda x: x.apply(b"1")))
    log("complex", _trace(lib, lambda x: x.apply(1j)))
    log("class", _trace(lib, lambda x: x.apply(int)))
    log("none", _trace(lib, lambda x: x.apply(None)))
    log("proxy in dict key", _trace(lib, lambda x: x.apply({x: 1})))
    log("named tuple", _trace(lib, lambda x: x.apply(Point(x, 1))))


def keep_all(*values):
    return values


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
    class Callable_:
        def __call__(self, x):
            return x + 1

    class Holder:
        def method(self, x):
            return x * 2

    log("method", lib.fx.symbolic_trace(Holder().method))
    log("not callable", _raised(lib.fx.symbolic_trace, 3))
    log("no module of the root", error_of(lib.fx.symbolic_trace, lambda x: lib.nn.Linear(2, 2)(x)) if lib is TORCH else "raises NameError")


def _raised(function: Any, *args: Any) -> bool:
    try:
        function(*args)
    except Exception:
        return True
    return False
