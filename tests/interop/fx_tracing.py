"""Scenarios: programs traced symbolically."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import OrderedDict, namedtuple
from typing import Any

from sides import Library, Log, error_of, names, raised, scenario, traced

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
        compared = [x < y, x <= y, x == y, x != y, x > y, x >= y, x > 1, x == 1]
        unary = [-x, +x, ~x, abs(x)]
        items = [x[0], x[1:], x[:, None, ...], x[y], x["k"], x[[0, 1]], x[y, 1]]
        return [forward, reflected, compared, unary, items]

    log("graph", lib.fx.symbolic_trace(f).graph)
    log("printed", str(lib.fx.symbolic_trace(lambda x, y: [1 - x, x @ y, -x, x < y]).graph))


@scenario
def more_operators(lib: Library, log: Log) -> None:
    log.differs("round", traced(lib, lambda x: round(x)) != "raises", torch=False, weft=True)
    log("floor", traced(lib, lambda x: math.floor(x)))
    log.differs("divmod", traced(lib, lambda x: divmod(x, 2)) != "raises", torch=False, weft=True)
    log("contains", traced(lib, lambda x: 1 in x))
    log("len", traced(lib, lambda x: len(x)))
    log("int", traced(lib, lambda x: int(x)))
    log("float", traced(lib, lambda x: float(x)))
    log("bool", traced(lib, lambda x: 1 if x else 2))
    log("not", traced(lib, lambda x: not x))
    log("and", traced(lib, lambda x: x and 1))
    log("iteration", traced(lib, lambda x: [i + 1 for i in x]))
    log("range", traced(lib, lambda x: list(range(x))))
    log("unpacking in a call", traced(lib, lambda x: lib.sin(*x)))
    log("keywords in a call", traced(lib, lambda x: dict(**x)))
    # torch.fx looks a traced value up by identity, where its value might be found.
    log.differs("hash", traced(lib, lambda x: {x: 1}[x]) == "raises", torch=False, weft=True)
    log("augmented", traced(lib, _augmented))
    log("item assignment", traced(lib, _item_assignment))
    log("is", traced(lib, lambda x: 1 if x is None else 2))
    log("str", traced(lib, lambda x: str(x)))
    log("format", traced(lib, lambda x: f"{x}"))
    log("isinstance", traced(lib, lambda x: 1 if isinstance(x, int) else 2))
    log("call", traced(lib, lambda x: x(1)))
    log("chained comparison", traced(lib, lambda x: 1 < x < 2))
    log("min", traced(lib, lambda x, y: min(x, y)))
    log("sum", traced(lib, lambda x, y: sum([x, y])))
    # torch.fx replaces the functions of math while it traces. weft patches nothing: they refuse, as float(x) does.
    log.differs("math", traced(lib, lambda x: math.sqrt(x)) == "raises", torch=False, weft=True)
    log("index", traced(lib, lambda x: [1, 2, 3][x]))


def _augmented(x):
    x += 1
    x *= 2
    return x


def _item_assignment(x):
    x[0] = 1
    return x


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
        seen.append((repr(x), hasattr(x, "anything")))
        seen.append(a.node.name)
        # NumPy, copy and pickle ask for special names; a node for each would be nonsense.
        log.differs("special names", hasattr(x, "__nothing__"), torch=True, weft=False)
        return a

    lib.fx.symbolic_trace(f)
    log("seen", seen)


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
    starred = traced(lib, _starred)
    log("starred raises", starred == "raises")


def _starred(x):
    a, *b = x
    return a, b


@scenario
def containers(lib: Library, log: Log) -> None:
    def f(x, y):
        return {"a": [x, (y, {"k": x})], "b": (x, [y]), "c": None, "d": 1.5, 3: "s"}

    log("graph", lib.fx.symbolic_trace(f).graph)
    log("values", lib.fx.symbolic_trace(f)(1, 2))
    gm = lib.fx.symbolic_trace(lambda x, y: [Point(x, (y, 1))])
    # In weft a named tuple is a container like the others; in torch.fx a node makes it.
    log.differs("named tuples", names(gm.graph.nodes), torch=["x", "y", "point", "output"], weft=["x", "y", "output"])
    log("are made", gm(1, 2))


@scenario
def dataclasses_as_arguments(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(lambda x, y: x.apply(Settings(y, [x, 1])))
    log("graph", gm.graph)


@scenario
def signatures(lib: Library, log: Log) -> None:
    def plain(x, y):
        return x + y

    def defaults(x, y=2, z=None, s="a", t=(1, 2), f=1.5):
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

    for function in (plain, defaults, only, positional, nothing, returns_none, returns_input):
        gm = lib.fx.symbolic_trace(function)
        log(function.__name__, (gm.graph, gm.code, type(gm).__name__))


def annotated(x: int, y: complex, z: float = 1.0) -> str:
    return x + y + z


@scenario
def annotations(lib: Library, log: Log) -> None:
    gm = lib.fx.symbolic_trace(annotated)
    # This file postpones annotations: they are strings, of which weft makes the types they name.
    log("types", [n.type if isinstance(n.type, str | None) else getattr(n.type, "__name__", 0) for n in gm.graph.nodes])
    log.differs(
        "code",
        gm.code.strip().splitlines()[0],
        torch="def forward(self, x : _int_, y : _complex_, z : _float_ = 1.0) -> _str_:",
        weft="def forward(self, x : int, y : complex, z : float = 1.0) -> str:",
    )


@scenario
def annotations_that_say_nothing(lib: Library, log: Log) -> None:
    def f(x: Any) -> Any:
        return x

    types = [n.type is None for n in lib.fx.symbolic_trace(f).graph.nodes]
    log.differs("no type", types, torch=[False, False], weft=[True, True])


@scenario
def variadic(lib: Library, log: Log) -> None:
    def f(x, *args, **kwargs):
        return x + args[0] + kwargs["scale"]

    gm = lib.fx.symbolic_trace(f)
    log("graph", gm)
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
    log("inputs", sorted(n.target for n in gm.graph.nodes if n.op == "placeholder"))
    # torch.fx lets k be given by position, in front of *args: a call that is right for f is then wrong.
    log.differs(
        "parameters",
        gm.code.strip().splitlines()[0],
        torch="def forward(self, x, k = 3, *args, **kwargs):",
        weft="def forward(self, x, *args, k = 3, **kwargs):",
    )
    log.differs("called as f is", gm(1, 2, 4) == f(1, 2, 4), torch=False, weft=True)


@scenario
def concrete(lib: Library, log: Log) -> None:
    def f(x, flag, n=2):
        return x + 1 if flag else x * n

    gm = lib.fx.symbolic_trace(f, concrete_args={"flag": True})
    log("taken", [n.target for n in gm.graph.nodes if n.target in (operator.add, operator.mul)])
    log("runs", gm(1, True, 2))
    other = lib.fx.symbolic_trace(f, concrete_args={"flag": False})
    log("other", [n.target for n in other.graph.nodes if n.target in (operator.add, operator.mul)])
    log("other runs", lib.fx.symbolic_trace(f, concrete_args={"flag": False})(2, False, 4))
    none = lib.fx.symbolic_trace(lambda x, y=None: x if y is None else x + y, concrete_args={"y": None})
    log("None runs", none(1, None))
    log("another value is refused", [raised(gm, 1, False), raised(none, 1, 2)])


@scenario
def concrete_code(lib: Library, log: Log) -> None:
    def f(x, flag):
        return x + 1 if flag else x * 2

    gm = lib.fx.symbolic_trace(f, concrete_args={"flag": True})
    # torch.fx keeps the input and asserts its value in the graph. In weft the signature of the graph does: the
    # nodes are those of the program, and the argument may be left out.
    log.differs(
        "nodes",
        names(gm.graph.nodes),
        torch=["x", "flag_1", "eq", "_assert", "add", "output"],
        weft=["x", "add", "output"],
    )
    log.differs("left out", error_of(gm, 1), torch="raises TypeError", weft="returns")


@scenario
def structured_inputs(lib: Library, log: Log) -> None:
    ph = lib.fx.PH

    def f(x):
        return x["a"][0] + x["a"][1] * x["b"]

    gm = lib.fx.symbolic_trace(f, concrete_args={"x": {"a": [ph, ph], "b": ph}})
    log("nodes", [(n.op, n.name, n.all_input_nodes) for n in gm.graph.nodes])
    log("runs", gm({"a": [1, 2], "b": 3}))
    # torch.fx flattens the result too; in weft the output keeps its structure.
    log.differs("output", gm.graph.output_node().args, torch=(["add"],), weft=("add",))

    def g(x, y):
        return x[0] + x[1] + y

    gm = lib.fx.symbolic_trace(g, concrete_args={"x": (ph, 5)})
    log("partly fixed", gm((1, 5), 2))
    log.differs("wrong structure", error_of(gm, [1, 5, 6], 2), torch="returns", weft="raises RuntimeError")


@scenario
def structured_code(lib: Library, log: Log) -> None:
    ph = lib.fx.PH
    gm = lib.fx.symbolic_trace(lambda x: x["a"] + x["b"], concrete_args={"x": {"a": ph, "b": ph}})
    lines = [line.strip() for line in gm.code.strip().splitlines() if line.strip()]
    log("parameters and body", lines[0:3:2])
    log.differs(
        "flattening",
        lines[1],
        torch="x_1, x_2, = fx_pytree.tree_flatten_spec([x], self._in_spec)",
        weft="x_1, x_2 = _inputs.flatten(x);  x = None",
    )


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
    # What is not part of the state of the original does not become part of it by tracing.
    state = ["w", "_tensor_constant0", "_tensor_constant1", "inner.b"]
    log.differs("state", list(gm.state_dict()), torch=[*state, "inner.hidden"], weft=state)
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
