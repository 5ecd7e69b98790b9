"""What a trace takes from the root it is given: hooks, its own forward, parameters, decorators; and what it leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import Graph, GraphModule, Tracer, Transformer, nn
from weft.errors import GraphError, TraceError

X = np.arange(8.0).reshape(2, 4)


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.full(4, 2.0))

    def forward(self, x: Any) -> Any:
        return x * self.weight


def test_hooks_of_the_root_are_part_of_its_call() -> None:
    module = Scale()
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    module.register_forward_hook(lambda m, args, result: result * 10)
    traced = weft.symbolic_trace(module)
    np.testing.assert_array_equal(traced(X).numpy(), (X + 1) * 20)
    np.testing.assert_array_equal(traced(X).numpy(), module(X).numpy())


MASK = np.triu(np.ones((3, 3), bool), 1)
STEPS = np.random.default_rng(0).random((3, 2, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("module", "args", "kwargs"),
    [
        (nn.MultiheadAttention(4, 2), (STEPS,) * 3, {}),
        (nn.MultiheadAttention(4, 2, batch_first=True), (STEPS[:, :1],) * 3, {"attn_mask": None}),
        (nn.MultiheadAttention(4, 2), (STEPS,) * 3, {"attn_mask": MASK, "need_weights": True}),
        (nn.EmbeddingBag(5, 3), (np.array([[1, 2], [3, 4]]),), {}),
        (nn.EmbeddingBag(5, 3, mode="sum"), (np.array([[1, 2], [3, 4]]),), {}),
        (nn.TransformerEncoderLayer(4, 2, 8).eval(), (STEPS,), {"src_mask": MASK}),
        (nn.LSTM(4, 2), (STEPS,), {}),
        (nn.GRUCell(4, 2), (STEPS[0],), {}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_layers_are_roots(module: Any, args: Any, kwargs: Any) -> None:
    results = [weft.pytree.leaves_of(each(*args, **kwargs)) for each in (module, weft.symbolic_trace(module))]
    for plain, traced in zip(*results, strict=True):
        np.testing.assert_allclose(traced.detach().numpy(), plain.detach().numpy(), rtol=1e-6)


def test_flags_of_a_layer_that_is_the_root_are_fixed() -> None:
    attention = nn.MultiheadAttention(4, 2)
    with pytest.raises(GraphError, match="need_weights: True was fixed while tracing, got False"):
        weft.symbolic_trace(attention)(STEPS, STEPS, STEPS, need_weights=False)
    traced = weft.symbolic_trace(attention, concrete_args={"need_weights": False})
    assert traced(STEPS, STEPS, STEPS)[1] is None
    bag = nn.EmbeddingBag(5, 3)
    traced = weft.symbolic_trace(bag, concrete_args={"offsets": weft.PH})
    offsets = (np.array([1, 2, 3]), np.array([0, 2]))
    np.testing.assert_array_equal(traced(*offsets).detach().numpy(), bag(*offsets).detach().numpy())


def test_hooks_and_star_arguments() -> None:
    class Sum(nn.Module):
        def forward(self, *args: Any) -> Any:
            return args[0]

    module = Sum()
    module.register_forward_hook(lambda m, args, result: None)
    with pytest.raises(TraceError, match="Sum has hooks"):
        weft.symbolic_trace(module)


def test_a_forward_of_the_module_s_own() -> None:
    module = Scale()
    module.forward = lambda x, k=3: x - k  # type: ignore[method-assign]
    traced = weft.symbolic_trace(module)
    np.testing.assert_array_equal(traced(X), X - 3)
    np.testing.assert_array_equal(traced(X, 1), X - 1)


def test_parameters_met_in_a_loop_are_read_not_copied() -> None:
    class Penalty(Scale):
        def forward(self, x: Any) -> Any:
            return x + sum((p * p).sum() for p in self.parameters())

    module = Penalty()
    traced = weft.symbolic_trace(module)
    module.weight.data = np.ones(4)
    np.testing.assert_array_equal(traced(X).numpy(), X + 4)


def first_doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(args[0] * 2, *())

    return inner


def test_a_decorated_function_of_star_arguments() -> None:
    @first_doubled
    def program(x: Any, *rest: Any) -> Any:
        return x + 1

    np.testing.assert_array_equal(weft.symbolic_trace(program)(X), program(X))


def test_a_signature_that_is_not_the_function_s() -> None:
    def program(*args: Any) -> Any:
        return args[0]

    program.__signature__ = __import__("inspect").signature(lambda x, *rest: x)  # type: ignore[attr-defined]
    with pytest.raises(TraceError, match="declares other parameters than it has"):
        weft.symbolic_trace(program)


def test_a_proxy_does_not_become_a_buffer() -> None:
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", np.zeros(4))

        def forward(self, x: Any) -> Any:
            self.mean = self.mean * 0.9 + x
            return self.mean

    module = Running()
    with pytest.raises(TypeError, match="cannot assign Proxy to 'mean'"):
        weft.symbolic_trace(module)
    assert isinstance(module.mean, np.ndarray)


def test_a_trace_in_a_trace_holds_no_proxy_of_the_outer() -> None:
    inner = []

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Scale()

        def forward(self, x: Any) -> Any:
            inner.append(weft.symbolic_trace(self.scale))
            return inner[-1](x) + 1

    module = Outer()
    traced = weft.symbolic_trace(module)
    np.testing.assert_array_equal(traced(X).numpy(), X * 2 + 1)
    assert inner[0].weight is module.scale.weight
    np.testing.assert_array_equal(inner[0](X).numpy(), X * 2)


def test_a_value_of_an_earlier_trace_by_the_same_tracer() -> None:
    kept: list[Any] = []
    tracer = Tracer()
    tracer.trace(lambda x: kept.append(x) or x)
    with pytest.raises(TraceError, match="belongs to another trace"):
        tracer.trace(lambda x: x + kept[0])


@pytest.mark.parametrize("name", ["code", "graph", "save", "meta"])
def test_attributes_that_have_a_name_of_graph_module_s(name: str) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            setattr(self, name, nn.Parameter(np.ones(4)))

        def forward(self, x: Any) -> Any:
            return x * getattr(self, name)

    with pytest.raises(GraphError, match=f"'{name}' is a name of GraphModule's own"):
        weft.symbolic_trace(Named())


def test_a_root_whose_meta_is_no_dict() -> None:
    module = Scale()
    module.meta = np.ones(3)
    assert weft.symbolic_trace(module).meta == {}


def test_transformer_writes_methods_of_constants_and_of_python_itself() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    text = graph.call_method("format", ("<{}>", x))
    length = graph.call_method("__len__", (x,))
    keys = graph.call_method("keys", (x,))
    graph.output((text, length, keys))
    module = GraphModule(nn.Module(), graph)
    value = {"a": 1}
    assert Transformer(module).transform()(value) == module(value) == ("<{'a': 1}>", 1, value.keys())


@pytest.mark.parametrize(
    ("fixed", "given", "same"),
    [
        *((1, 1, True), (1, 1.0, False), (1, True, False), (1, np.int64(1), False), (0.0, -0.0, False)),
        *((float("nan"), float("nan"), True), (1j, 1j, True), ("a", "a", True), (np.float32(1), np.float32(1), True)),
    ],
)
def test_a_fixed_argument_is_the_same_in_type_too(fixed: Any, given: Any, same: bool) -> None:
    module = weft.symbolic_trace(lambda x, n: x, concrete_args={"n": fixed})
    if same:
        np.testing.assert_array_equal(module(X, given), X)
    else:
        with pytest.raises(GraphError, match="was fixed while tracing"):
            module(X, given)


@pytest.mark.parametrize(
    "function",
    [
        lambda w: weft.index_update(weft.zeros(w.shape[0]), 0, w.sum() * 2),
        lambda w: weft.index_add(weft.zeros(w.shape[0]), np.array([0, 1, 1, 0]), w * 2),
        lambda w: weft.index_update(w * 1.0, 0, w[1] * 3),
    ],
)
def test_tensors_written_into_new_arrays_keep_their_gradients(function: Any) -> None:
    found = []
    for each in (function, weft.symbolic_trace(function)):
        leaf = weft.tensor(np.ones(4), requires_grad=True)
        each(leaf).sum().backward()
        found.append(leaf.grad.tolist())
    assert found[0] == found[1]
