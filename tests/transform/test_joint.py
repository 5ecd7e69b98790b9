"""Joint graphs: their inputs and results, how they print and run, what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from halves import as_array

import weft
from weft import nn
from weft.errors import NotDifferentiable


def placeholders(graph: weft.Graph) -> list[str]:
    return [node.target for node in graph.find_nodes(op="placeholder")]


def test_inputs_are_arguments_then_gradients_and_results_come_before_gradients() -> None:
    def function(x, pair, n):
        return x * pair["a"] * n, weft.sin(pair["b"])

    joint = weft.joint_graph(function, weft.spec((3,)), {"a": 2.0, "b": weft.spec((2,))}, 4)
    joint.graph.lint()
    inputs = placeholders(joint.graph)
    assert len(inputs) == 6 and [node.name for node in joint.inputs] == inputs[:4]
    assert inputs[4:] == [seed.name for seed in joint.seeds]
    x, b = np.arange(3.0), np.array([0.5, 1.0])
    product, sine, by_x, by_a, by_b = joint.module(x, 2.0, b, 4, np.ones(3), np.ones(2))
    np.testing.assert_array_equal(product, x * 8)
    np.testing.assert_array_equal(sine, np.sin(b))
    np.testing.assert_array_equal(by_x, np.full(3, 8.0))
    np.testing.assert_allclose(by_a, 12.0)
    np.testing.assert_allclose(by_b, np.cos(b))


def test_parameters_that_require_gradients_have_them() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)).double()
    model[0].bias.requires_grad_(False)
    joint = weft.joint_graph(model, weft.spec((4, 2)))
    assert joint.names == ["input", "0.weight", "1.weight", "1.bias"]
    assert repr(joint).startswith("<JointGraph of Sequential: ")
    assert str(joint) == str(joint.graph)


def test_parameters_of_a_module_closed_over() -> None:
    layer = nn.Linear(2, 2).double()
    joint = weft.joint_graph(lambda x: weft.tanh(layer(x)), weft.spec((3, 2)))
    assert len(joint.names) == 3
    _, pull = weft.partition(joint)(np.ones((3, 2)))
    x = weft.tensor(np.ones((3, 2)), requires_grad=True)
    weft.tanh(layer(x)).backward(weft.tensor(np.ones((3, 2))))
    expected = {"x": x.grad, (2, 2): layer.weight.grad, (2,): layer.bias.grad}
    for name, found in zip(joint.names, pull(np.ones((3, 2))), strict=True):
        want = expected["x" if name == "x" else as_array(found).shape]
        np.testing.assert_allclose(as_array(found), as_array(want))


def test_draws_are_drawn_once() -> None:
    joint = weft.joint_graph(lambda x: weft.dropout(x, 0.5, True), weft.spec((100,)))
    assert sum(node.op == "call_function" and node.is_impure() for node in joint.graph.nodes) == 1
    value, gradient = joint.module(np.ones(100), np.ones(100))
    np.testing.assert_array_equal(value, gradient)
    assert 0 < np.count_nonzero(value) < 100


@pytest.mark.parametrize("make", [weft.value_and_grad, lambda f: weft.compile(weft.value_and_grad(f))])
def test_derivatives_read_the_draws_of_their_forward(make: Any) -> None:
    def half(x):
        y = weft.dropout(x, 0.5, True)
        return weft.sum(y * y)

    value, gradient = make(half)(np.ones(64))
    assert value == gradient.sum() / 2 and 0 < np.count_nonzero(gradient) < 64


def test_draws_in_a_loop() -> None:
    def turns(x, n):
        total = 0.0
        for _ in range(n):
            y = weft.dropout(x, 0.5, True)
            total = total + weft.sum(y * y)
        return total

    joint = weft.joint_graph(turns, np.ones(50), 3)
    value, pull = weft.partition(joint)(np.ones(50), 3)
    (gradient,) = pull(1.0)
    # Each element is counted once for each turn that lets it through: 2 squared in the value, twice 2 times 2 in it.
    assert gradient.sum() == 2 * value and len(set(gradient.tolist())) > 1


def test_keywords_and_defaults() -> None:
    def function(x, scale=2.0, *rest, shift=1.0):
        return x * scale + shift

    joint = weft.joint_graph(function, weft.spec((2,)), shift=3.0)
    value, pull = weft.partition(joint)(np.ones(2), shift=5.0)
    np.testing.assert_array_equal(value, [7.0, 7.0])
    by_x, by_shift = pull(np.ones(2))
    np.testing.assert_array_equal(by_x, [2.0, 2.0])
    assert by_shift == 2.0


def test_symbolic_sizes() -> None:
    joint = weft.joint_graph(lambda x: weft.sum(weft.sin(x) * x, axis=0), weft.spec(("n", 3)))
    joint.graph.lint()
    halves = weft.partition(joint)
    for count in (1, 4):
        x = np.random.default_rng(count).standard_normal((count, 3))
        value, pull = halves(x)
        np.testing.assert_allclose(value, (np.sin(x) * x).sum(axis=0))
        np.testing.assert_allclose(pull(np.ones(3))[0], np.cos(x) * x + np.sin(x))


def test_no_gradient_is_an_error() -> None:
    with pytest.raises(NotDifferentiable, match="no result varies"):
        weft.joint_graph(lambda x: x + 1, np.array([1, 2]))


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    joint = weft.joint_graph(lambda x: weft.exp(weft.sin(x) * x), weft.spec((3,)))
    joint.module.save(tmp_path / "joint.weft")
    again = weft.load(tmp_path / "joint.weft")
    x = np.arange(3.0)
    for got, want in zip(again(x, np.ones(3)), joint.module(x, np.ones(3)), strict=True):
        np.testing.assert_array_equal(got, want)
