"""Programs written for torch.fx's tracing: attributes of nodes, fixed arguments, objects, parameters of known shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import PH, nn, passes
from weft.errors import GraphError, TraceError
from weft.graph import immutable_dict, immutable_list

X = np.arange(6.0).reshape(2, 3)


class Model(nn.Module):
    def __init__(self, function: Any = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.ones((3, 2)))
        self.layers = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.layers(x) if self.function is None else self.function(self, x)


def test_attributes_of_nodes() -> None:
    node: Any = next(iter(weft.symbolic_trace(lambda x: x + 1).graph.nodes))
    node.shape = (2, 3)
    node.quantized = True
    assert node.shape == (2, 3) and node.quantized
    with pytest.raises(AttributeError):
        _ = node.unknown


SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    "shape": lambda m, x: x if m.weight.shape == (3, 2) else x + 1,
    "len": lambda m, x: x if len(m.weight) == 3 else x + 1,
    "dim()": lambda m, x: x if m.weight.dim() == m.weight.ndim == 2 else x + 1,
    "numel()": lambda m, x: x if m.weight.numel() == m.weight.size == m.weight.nelement() == 6 else x + 1,
    "dtype": lambda m, x: x if m.weight.dtype == np.float64 else x + 1,
    "unpacked": lambda m, x: (lambda a, b: x if a > b else x + 1)(*m.weight.shape),
    "of a submodule": lambda m, x: x if m.layers[0].weight.shape[0] == 2 else x + 1,
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_parameters_are_constants(name: str) -> None:
    model = Model(SHAPES[name])
    graph = weft.Tracer(param_shapes_constant=True).trace(model)
    assert weft.GraphModule(model, graph)(3) == 3


def of_args(x: Any, *args: Any, k: float = 2.0, **kwargs: Any) -> Any:
    return x + args[0] * args[1] + kwargs["scale"] * k


def test_concrete_args_for_args_and_kwargs() -> None:
    gm = weft.symbolic_trace(of_args, concrete_args={"args": (PH, 3), "kwargs": {"scale": PH}})
    assert [node.name for node in gm.graph.find_nodes(op="placeholder")] == ["x", "args_1", "k", "kwargs_1"]
    assert gm(1, 2, 3, scale=4, k=5) == of_args(1, 2, 3, scale=4, k=5)
    with pytest.raises(GraphError, match=r"\*args: 3 was fixed while tracing, got 4"):
        gm(1, 2, 4, scale=4)
    with pytest.raises(GraphError, match=r"\*args: expected"):
        gm(1, 2, scale=4)
    whole = weft.symbolic_trace(of_args, concrete_args={"args": PH, "kwargs": {"scale": PH}})
    assert whole(1, 2, 7, scale=4) == of_args(1, 2, 7, scale=4)
    with pytest.raises(TraceError, match=r"concrete_args fixes \*args to 3\n  help: give a tuple with PH"):
        weft.symbolic_trace(of_args, concrete_args={"args": 3})


def flagged(x: Any, flag: bool, parts: Any = None) -> Any:
    return x + parts["a"] * parts["b"] if flag else x - 1


def test_tracing_again_what_was_made_with_concrete_args() -> None:
    gm = weft.symbolic_trace(flagged, concrete_args={"flag": True, "parts": {"a": PH, "b": 3}})
    again = weft.symbolic_trace(weft.symbolic_trace(gm))
    assert again.code == gm.code
    assert again(1, True, {"a": 2, "b": 3}) == 7
    with pytest.raises(GraphError, match="flag: True was fixed while tracing, got False"):
        again(1, False, {"a": 2, "b": 3})
    fixed = weft.symbolic_trace(gm, concrete_args={"parts": {"a": 5, "b": 3}})
    assert fixed(1, True, {"a": 5, "b": 3}) == 16
    variadic = weft.symbolic_trace(of_args, concrete_args={"args": (PH, 3), "kwargs": {"scale": PH}})
    assert weft.symbolic_trace(variadic)(1, 2, 3, scale=4) == of_args(1, 2, 3, scale=4)


def test_weights_of_replaced_submodules_are_gone() -> None:
    class Replacement(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.other = nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.other(x)

    model = Model()
    gm = weft.symbolic_trace(model)
    assert list(gm.state_dict()) == ["layers.0.weight", "layers.0.bias"]
    weft.replace_pattern(gm, model, Replacement())
    assert list(gm.state_dict()) == ["other.weight", "other.bias"]


def test_the_stack_of_modules_ends_with_the_one_that_is_called() -> None:
    gm = weft.symbolic_trace(Model())
    linear, relu = gm.graph.find_nodes(op="call_module")
    assert linear.meta["nn_module_stack"] == {"layers": nn.Sequential, "layers.0": nn.Linear}
    assert relu.meta["nn_module_stack"] == {"layers": nn.Sequential, "layers.1": nn.ReLU}
    gm = weft.symbolic_trace(lambda x: x + 1)
    assert all("nn_module_stack" not in node.meta for node in gm.graph.nodes)


class Pair:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def __fx_create_arg__(self, tracer: Any) -> Any:
        return tracer.create_node(
            "call_function", Pair, (tracer.create_arg(self.left), tracer.create_arg(self.right)), {}
        )


class Point(metaclass=weft.ProxyableClassMeta):
    def __init__(self, x: Any, y: Any = 0) -> None:
        self.x, self.y = x, y

    def add(self, other: Any) -> Any:
        return Point(self.x + other.x, self.y + other.y)


def test_objects_that_say_how_they_become_arguments() -> None:
    gm = weft.symbolic_trace(lambda x: Pair(x, x + 1))
    assert gm.graph.find_nodes(op="call_function", target=Pair)
    made = gm(1)
    assert (made.left, made.right) == (1, 2)


def test_classes_whose_objects_are_nodes() -> None:
    gm = weft.symbolic_trace(lambda p, y: p.add(Point(y, y=y)))
    assert [node.op for node in gm.graph.nodes] == [
        "placeholder",
        "placeholder",
        "call_function",
        "call_method",
        "output",
    ]
    made = gm(Point(1, 2), 3)
    assert (type(made), made.x, made.y) == (Point, 4, 5)
    assert Point(1).y == 0


def test_assertions_are_recorded() -> None:
    def checked(x: Any) -> Any:
        weft._assert((x > 0).all(), "positive")
        return x + 1

    gm = weft.symbolic_trace(checked)
    assert "assert" in gm.code
    np.testing.assert_array_equal(gm(X + 1), X + 2)
    for f in (gm, checked, weft.compile(checked)):
        with pytest.raises(AssertionError, match="positive"):
            f(-X)


def test_shape_prop_of_mixed_results() -> None:
    gm = weft.symbolic_trace(lambda x: (x + 1, 3, x.shape, [x * 2], {"a": x}, None))
    for example in (X, weft.spec((2, 3))):
        weft.ShapeProp(gm).propagate(example)
        spec = weft.spec((2, 3))
        assert gm.graph.output_node().meta["type"] == (spec, int, (int, int), [spec], {"a": spec}, None)
    assert "(float64[2, 3], int, (int, int)" in gm.print_readable(print_output=False) or gm.graph.text()


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.sum(x, axis=1) + x.sum(axis=1, keepdims=False) + weft.sum(x, 1),
        lambda x: weft.softmax(x, axis=-1)[:, 0] + weft.softmax(x, -1)[:, 0],
    ],
)
def test_calls_that_differ_in_what_is_left_to_the_default_are_one(program: Any) -> None:
    gm = weft.trace(program, X)
    merged = passes.eliminate_common(gm.graph)
    assert len(merged) >= 1
    calls = [node for node in gm.graph.nodes if node.target in (weft.sum, weft.softmax)]
    assert len(calls) == 1
    np.testing.assert_allclose(gm(X), program(X))


def test_methods_of_known_arrays_are_merged_too() -> None:
    gm = weft.symbolic_trace(lambda x: (x.sum(axis=1) + x.sum(axis=1, keepdims=False), x.sum(axis=1, keepdims=True)))
    assert not passes.eliminate_common(gm.graph)
    weft.ShapeProp(gm).propagate(X)
    assert len(passes.eliminate_common(gm.graph)) == 1
    one, other = gm(X)
    np.testing.assert_array_equal(one, 2 * X.sum(axis=1))
    np.testing.assert_array_equal(other, X.sum(axis=1, keepdims=True))


def test_containers_of_arguments_have_names() -> None:
    gm = weft.symbolic_trace(lambda x: weft.concat([x, x], axis=0))
    (node,) = gm.graph.find_nodes(op="call_function")
    assert type(node.args[0]) is immutable_list and type(node.kwargs) is immutable_dict
    with pytest.raises(GraphError, match="cannot be changed in place"):
        node.args[0].append(1)


# Names that programs import


class Folding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(np.array([1.0, 2.0, 3.0]))
        self.b = nn.Parameter(np.ones(3))
        self.layer = nn.Linear(3, 2, dtype=np.float64)

    def forward(self, x: Any) -> Any:
        scale = weft.exp(self.w) + self.b
        return self.layer(x * scale) + self.b.sum(), scale


def test_const_subgraphs() -> None:
    model = Folding()
    folded = passes.split_const_subgraphs(model)
    folded.graph.lint()
    for got, wanted in zip(folded(X), model(X), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted))
    assert not folded.graph.find_nodes(op="call_function", target=weft.exp)
    assert len(folded.const_subgraph_module.graph.find_nodes(op="call_function", target=weft.exp)) == 1
    assert sum(node.op.startswith("call") for node in folded.graph.nodes) == 3
    with weft.no_grad():
        model.w.copy_(np.zeros(3))
    folded.run_folding()
    np.testing.assert_allclose(np.asarray(folded(X)[0]), np.asarray(model(X)[0]))
    kept = passes.split_const_subgraphs(model, lambda node: node.target is weft.exp)
    assert kept.graph.find_nodes(op="call_function", target=weft.exp)
    np.testing.assert_allclose(np.asarray(kept(X)[0]), np.asarray(model(X)[0]))


def test_const_subgraphs_keep_what_draws() -> None:
    folded = passes.split_const_subgraphs(weft.symbolic_trace(lambda x: x + weft.randn(3)))
    assert not np.array_equal(folded(X), folded(X))


class Announced(weft.graph.CodeGen):
    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        return super().gen_fn_def(free_vars, maybe_return_annotation) + f"\n    seen.append({len(free_vars)})\n"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("seen", seen)]

    def process_outputs(self, outputs: Any) -> Any:
        return ("out", outputs)


seen: list[int] = []


def test_set_codegen() -> None:
    gm = weft.symbolic_trace(lambda x, y=(1, 2): x + y[0])
    assert gm(1) == 2
    gm.graph.set_codegen(Announced())
    seen.clear()
    assert gm(1) == 2 and gm(1, (5, 6)) == 6 and seen == [2, 2]
    assert gm.code.splitlines()[1] == "    seen.append(2)"
    assert weft.Interpreter(gm).run(1) == ("out", 2)
    assert "seen" not in weft.GraphModule({}, gm.graph.clone()).code
    gm.graph.set_codegen(None)
    assert gm(1) == 2 and seen == [2, 2]


@pytest.mark.parametrize("make", [weft.symbolic_trace, weft.script])
def test_on_generate_code(make: Any) -> None:
    def program(x: Any) -> Any:
        return weft.cond(x > 0, lambda v: v + 1, lambda v: v - 1, x)

    gm = make(program)
    lines: list[str] = []

    def first(current: Any) -> Any:
        assert current is None
        return lambda body: ["count.append(1)", *body]

    def second(current: Any) -> Any:
        def change(body: list[str]) -> list[str]:
            lines[:] = current(body)
            return ["count = []\n", *lines[:-1], "return len(count)\n"]

        return change

    plain = gm.code
    with gm.graph.on_generate_code(first), gm.graph.on_generate_code(second):
        gm.recompile()
        assert gm(3) == 1
    assert lines[0] == "count.append(1)" and any(line.startswith("    ") for line in lines)
    assert gm(3) == 1, "what was generated runs until the graph is edited"
    gm.recompile()
    assert gm.code == plain and gm(3) == 4


def test_on_generate_code_without_a_block() -> None:
    gm = weft.symbolic_trace(lambda x: x + 1)
    gm.graph.on_generate_code(lambda current: lambda lines: ["x = x * 10\n", *lines])
    assert gm(2) == 21
    gm.graph.on_generate_code(lambda current: lambda lines: ["x = -x\n", *(current(lines) if current else lines)])
    gm.recompile()
    assert gm(2) == -19 and gm.code.splitlines()[1:3] == ["    x = -x", "    x = x * 10"]


def test_functional_call() -> None:
    from weft.nn.utils import functional_call

    model = nn.Sequential(nn.Linear(3, 2, dtype=np.float64), nn.Tanh(), nn.Linear(2, 1, dtype=np.float64))
    own = {name: value.numpy().copy() for name, value in model.named_parameters()}
    other = {name: value * 2 for name, value in own.items()}

    def loss(parameters: Any, x: Any) -> Any:
        return (functional_call(model, parameters, x) ** 2).sum()

    wanted = loss(other, X)
    compiled = weft.compile(loss)
    assert compiled(other, X) == wanted and compiled(own, X) == loss(own, X) and compiled.cache_info().misses == 1
    gradient = weft.grad(loss)(other, X)
    for name in own:
        moved = {key: value.copy() for key, value in other.items()}
        moved[name].flat[0] += 1e-6
        np.testing.assert_allclose(gradient[name].flat[0], (loss(moved, X) - wanted) / 1e-6, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(
        weft.vmap(lambda row: functional_call(model, other, row))(X), functional_call(model, other, X)
    )
    for name, value in model.named_parameters():
        np.testing.assert_array_equal(value.numpy(), own[name])
    t = weft.tensor(other["0.weight"], requires_grad=True)
    loss([other, {"0.weight": t}], X).backward()
    np.testing.assert_allclose(t.grad.numpy(), gradient["0.weight"])
    with pytest.raises(KeyError, match="no parameter or buffer 'weight'"):
        functional_call(model, {"weight": own["0.weight"]}, X)
    with pytest.raises(KeyError, match=r"no value is given for '0\.bias'"):
        functional_call(model, {"0.weight": own["0.weight"]}, X, strict=True)


def test_functional_call_of_a_module_that_fails_restores_it() -> None:
    from weft.nn.utils import functional_call

    layer = nn.Linear(3, 2)
    held = layer.weight
    with pytest.raises(Exception, match="linear"):
        functional_call(layer, {"weight": np.ones((2, 7))}, X)
    assert layer.weight is held
