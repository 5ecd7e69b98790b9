"""`weft.trace`: calls captured on shapes and dtypes alone."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError, GraphError

X = np.arange(6.0)


def everything(
    x: Any, k: float = 2.0, *rest: Any, flag: bool = True, opts: tuple[int, int] = (1, 2), **more: Any
) -> Any:
    y = x * k * opts[0]
    for one in rest:
        y = y + one
    for name in more:
        y = y * more[name]
    return y if flag else -y


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X,), {}),
    ((X, 3.0), {}),
    ((X, 3.0, X.copy(), 1.0), {}),
    ((X,), {"flag": False, "scale": 2.0}),
    ((X, 3.0, X.copy()), {"opts": (3, 4)}),
]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_called_as_the_function_is(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module = weft.trace(everything, *args, **kwargs)
    module.graph.lint()
    np.testing.assert_array_equal(module(*args, **kwargs), everything(*args, **kwargs))
    decorated = weft.trace(everything)
    np.testing.assert_array_equal(decorated(*args, **kwargs), everything(*args, **kwargs))
    assert str(decorated.graph) == str(module.graph)


def test_nothing_is_computed() -> None:
    # 8 TB: whoever made such an array would not come back.
    module = weft.trace(lambda x: np.tanh(x @ x).sum(axis=0), weft.spec((10**6, 10**6)))
    assert module.graph.output_node().args[0].meta["type"] == weft.spec((10**6,))


def test_types_of_all_nodes() -> None:
    graph = weft.trace(lambda x, w: np.exp(x @ w), weft.spec((8, 3), "float32"), weft.spec((3, 2), "float32")).graph
    types = [node.meta["type"] for node in graph.nodes if node.op == "call_function"]
    assert types == [weft.spec((8, 2), "float32")] * 2


def test_named_sizes() -> None:
    module = weft.trace(lambda x, y: (x + y).reshape(-1) * x.shape[0], weft.spec(("n", 3)), weft.spec(("n", 3)))
    for n in (2, 5):
        x = np.arange(3.0 * n).reshape(n, 3)
        np.testing.assert_array_equal(module(x, x), (x + x).reshape(-1) * n)


def test_nested_arguments() -> None:
    @dataclass
    class Layer:
        w: Any
        b: Any

    def network(layers: Any, inputs: Any) -> Any:
        x = inputs["x"]
        for layer in layers:
            x = np.tanh(x @ layer.w + layer.b)
        return {"y": x, "mean": x.mean()}

    rng = np.random.default_rng(0)
    layers = [Layer(rng.random((3, 4)), rng.random(4)), Layer(rng.random((4, 2)), rng.random(2))]
    inputs = {"x": rng.random((5, 3))}
    module = weft.trace(network, layers, inputs)
    others = [Layer(layer.w * 2, layer.b + 1) for layer in layers]
    got, expected = module(others, inputs), network(others, inputs)
    np.testing.assert_array_equal(got["y"], expected["y"])
    assert got["mean"] == expected["mean"]
    with pytest.raises(GraphError, match="expected"):
        module(layers[:1], inputs)


def test_a_fixed_value_is_checked() -> None:
    module = weft.trace(lambda x, how: x.sum() if how == "sum" else x.max(), X, "sum")
    assert module(X, "sum") == 15
    with pytest.raises(GraphError, match="'sum' was fixed while tracing, got 'max'"):
        module(X, "max")


def test_integers_are_inputs_unless_their_values_are_needed() -> None:
    def scaled(x: Any, n: int) -> Any:
        return x * n

    def windows(x: Any, width: int) -> Any:
        return np.stack([x[i : i + width] for i in range(len(x) - width + 1)])

    np.testing.assert_array_equal(weft.trace(scaled, X, 2)(X, 7), X * 7)
    module = weft.trace(windows, X, 3)
    np.testing.assert_array_equal(module(X, 3), windows(X, 3))
    with pytest.raises(GraphError, match="3 was fixed while tracing, got 2"):
        module(X, 2)


def test_methods_and_partials() -> None:
    class Scale:
        def __init__(self) -> None:
            self.w = np.full(6, 3.0)

        def apply(self, x: Any) -> Any:
            return x * self.w

        def __call__(self, x: Any) -> Any:
            return x + self.w

    scale = Scale()
    for function in (scale.apply, scale, functools.partial(everything, k=3.0), functools.partial(np.where, X > 2, X)):
        if isinstance(function, functools.partial) and function.func is np.where:
            with pytest.raises(CaptureError, match="no source to capture"):
                weft.trace(function, X)
            continue
        module = weft.trace(function, X)
        np.testing.assert_array_equal(module(X), function(X))


def test_modules() -> None:
    net = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.ReLU(), weft.nn.Linear(4, 1))
    x = weft.tensor(np.random.default_rng(0).random((5, 3)).astype("float32"))
    module = weft.trace(net, weft.spec((5, 3), "float32"))
    assert [node.op for node in module.graph.nodes].count("get_attr") == 4
    assert dict(module.named_parameters()).keys() == dict(net.named_parameters()).keys()
    np.testing.assert_array_equal(module(x).numpy(), net(x).numpy())


def test_writes_reach_the_caller() -> None:
    def shift(a: Any) -> None:
        a[1:] = a[:-1]

    given = X.copy()
    module = weft.trace(shift, given)
    np.testing.assert_array_equal(given, X)
    assert module(given) is None
    np.testing.assert_array_equal(given, [0, 0, 1, 2, 3, 4])


def test_decorated() -> None:
    @weft.trace
    def fused(a: Any, b: Any) -> Any:
        """A product and a sum."""
        return a * b + 2

    with pytest.raises(CaptureError, match="nothing was traced yet"):
        _ = fused.graph
    assert fused(3, 4) == 14
    assert type(fused(3, 4)) is int
    assert [node.name for node in fused.graph.nodes] == ["a", "b", "mul", "add", "output"]
    np.testing.assert_array_equal(fused(X, 2.0), X * 2 + 2)
    assert fused.graph.output_node().args[0].meta["type"] == weft.spec((6,))
    assert fused.__name__ == "fused"
    assert fused.__doc__ == "A product and a sum."
    assert "return add" in fused.code


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return x
    return -x


def looping(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + 1
    return x


def while_looping(x: Any) -> Any:
    while x < 10:
        x = x * 2
    return x


def choosing(n: Any) -> Any:
    return 1 if n > 3 else 2


@pytest.mark.parametrize(
    ("function", "args", "what", "line"),
    [
        (branching, (X,), "a branch on a traced value", "if x.sum() > 0:"),
        (branching, (weft.spec((3,)),), "a branch on a traced value", "if x.sum() > 0:"),
        (looping, (X, 3), "a loop whose number of steps is traced", "for _ in range(n):"),
        (while_looping, (1.0,), "a branch on a traced value", "while x < 10:"),
        (choosing, (5,), "a branch on a traced value", "return 1 if n > 3 else 2"),
    ],
)
def test_a_path_that_a_traced_value_decides(function: Any, args: tuple[Any, ...], what: str, line: str) -> None:
    with pytest.raises(CaptureError) as caught:
        weft.trace(function, *args)
    text = str(caught.value)
    assert what in text
    assert line in text
    assert "^^^" in text
    assert "weft.compile" in text
    assert "test_trace_calls.py" in text


def test_control_by_name_is_captured() -> None:
    def program(x: Any, which: Any) -> Any:
        y = weft.cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)
        z = weft.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, y)
        return weft.switch(which, [lambda v: v, lambda v: v + 1, lambda v: v + 2], z)

    module = weft.trace(program, X, 1)
    assert {weft.cond, weft.while_loop} <= {node.target for node in module.graph.nodes}
    for which in (-1, 0, 1, 2, 7):
        np.testing.assert_array_equal(module(X, which), program(X, which))
    with pytest.raises(CaptureError, match="a branch on a traced value"):
        weft.trace(lambda x: weft.fori_loop(0, 3, lambda i, v: v if v.sum() > 0 else -v, x), X)


def test_one_example_for_two_arguments_keeps_both_inputs() -> None:
    x = np.arange(3.0)
    traced = weft.trace(lambda a, b: a * 2 + b, x, x)
    np.testing.assert_array_equal(traced(x, x + 7), x * 3 + 7)
    t = weft.tensor(x)
    np.testing.assert_array_equal(weft.trace(lambda a, b: a * 2 + b, t, t)(t, t + 7).numpy(), x * 3 + 7)

    @weft.trace
    def writes(a: Any, b: Any) -> Any:
        a[0] = 5.0
        return b.sum()

    assert writes(x, x) == 8.0


def test_defaults_of_other_types_leave_all_inputs_positional() -> None:
    def bell(x: Any, height: float = 1, centre: float = 0.0, width: float = 1, power: float = 2.0) -> Any:
        return height / (1 + np.abs((x - centre) / width) ** power)

    x = np.linspace(-1.0, 1.0, 5)
    traced = weft.trace(bell, x, 2.0, 0.1, 0.7, 1.5)
    np.testing.assert_array_equal(traced(x, 3.0, 0.2, 0.5, 1.25), bell(x, 3.0, 0.2, 0.5, 1.25))
    np.testing.assert_array_equal(traced(x, 3.0, 0.2, 0.5), bell(x, 3.0, 0.2, 0.5))


def test_a_class_that_takes_no_stand_ins_is_named() -> None:
    def first(x: Any, count: float) -> Any:
        return x[: int(Decimal(count).to_integral_value())]

    np.testing.assert_array_equal(weft.trace(first, X, 3)(X, 3), X[:3])  # an integer is fixed instead
    for capture in (lambda: weft.trace(first, X, 2.6), lambda: weft.script(first)):
        with pytest.raises(CaptureError, match=r"Decimal\(\) of traced values, which it does not take"):
            capture()
