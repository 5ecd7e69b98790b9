"""`checkpoint`: the same numbers with less kept, with random draws, closures, nesting and second derivatives."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import weft
from weft import tensor
from weft.autograd import Function, checkpoint, grad, gradgradcheck
from weft.errors import AutogradError

F = weft.nn.functional
X, W = np.random.default_rng(0).uniform(0.2, 1.2, (2, 4, 4))


class Model:
    def __init__(self) -> None:
        self.x, self.w = tensor(X, requires_grad=True), weft.Parameter(W)

    def block(self, x: Any) -> Any:
        hidden = F.dropout((x @ self.w).tanh(), 0.5, True)
        return F.dropout(hidden @ self.w, 0.25, True).exp()

    def gradients(self, run: Any) -> tuple[Any, ...]:
        weft.random.manual_seed(3)
        out = run(self.block, self.x)
        draw = weft.random.generator().random()
        out.sum().backward()
        return out.numpy(), self.x.grad.numpy(), self.w.grad.numpy(), draw, weft.random.generator().random()


def plainly(function: Any, *args: Any) -> Any:
    return function(*args)


def test_the_same_numbers_with_dropout_and_parameters_closed_over() -> None:
    for got, expected in zip(Model().gradients(checkpoint), Model().gradients(plainly), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_it_runs_again_only_in_backward_and_only_once() -> None:
    runs = []

    def block(x: Any) -> Any:
        runs.append(1)
        return (x.exp() * x).sin()

    x = tensor(X, requires_grad=True)
    out = checkpoint(block, x)
    assert len(runs) == 1
    out.sum().backward(retain_graph=True)
    assert len(runs) == 2
    out.sum().backward()
    assert len(runs) == 2
    with weft.no_grad():
        assert not checkpoint(block, x).requires_grad
    assert len(runs) == 3


def test_nested_and_several_results() -> None:
    def inner(x: Any) -> Any:
        return {"a": x.exp(), "b": [x.sin() * 2]}

    def outer(x: Any, scale: float = 1.0) -> Any:
        parts = checkpoint(inner, x * scale)
        return parts["a"] * parts["b"][0], parts["a"]

    def run(call: Any) -> Any:
        x = tensor(X, requires_grad=True)
        first, second = call(outer, x, scale=1.5)
        (first + second * second).sum().backward()
        return x.grad.numpy()

    np.testing.assert_array_equal(run(checkpoint), run(lambda f, *args, **kwargs: f(*args, **kwargs)))


def test_second_derivatives() -> None:
    w = tensor(W, requires_grad=True)
    assert gradgradcheck(lambda x: checkpoint(lambda x: (x @ w).tanh() * x, x), tensor(X, requires_grad=True))


def test_only_the_inputs_asked_for() -> None:
    x, w = tensor(X, requires_grad=True), tensor(W, requires_grad=True)
    (g,) = grad(checkpoint(lambda x: (x * w).exp(), x).sum(), w)
    np.testing.assert_allclose(g.numpy(), X * np.exp(X * W))


def test_functions_of_the_users_own_inside() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = tensor(X, requires_grad=True)
    checkpoint(lambda x: Cube.apply(x * 2) + 1, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 24 * X**2)


def test_writes_in_place_inside() -> None:
    def block(x: Any) -> Any:
        y = x * 2
        y[0] *= y[1]
        return y * y

    def run(call: Any) -> Any:
        x = tensor(X, requires_grad=True)
        call(block, x).sum().backward()
        return x.grad.numpy()

    np.testing.assert_array_equal(run(checkpoint), run(plainly))


def test_values_changed_in_between_are_noticed() -> None:
    x, w = tensor(X, requires_grad=True), weft.Parameter(W)
    out = checkpoint(lambda x: (x + w).exp(), x)
    with weft.no_grad():
        w += 1
    with pytest.raises(AutogradError, match="checkpoint computes with this tensor again"):
        out.sum().backward()
    y = x * 1
    out = checkpoint(lambda y: y.exp(), y)
    y += 1
    with pytest.raises(AutogradError, match="checkpoint computes with this tensor again"):
        out.sum().backward()


def test_a_function_that_does_something_else_the_second_time_is_refused() -> None:
    calls = []

    def fickle(x: Any) -> Any:
        calls.append(1)
        return x.exp() if len(calls) == 1 else x.exp().sin()

    with pytest.raises(AutogradError, match="did not compute the same"):
        checkpoint(fickle, tensor(X, requires_grad=True)).sum().backward()


def test_memory() -> None:
    """Ten blocks of ten values each: kept all at once, or one block at a time."""
    x = tensor(np.ones(10_000), requires_grad=True)

    def block(x: Any) -> Any:
        for _ in range(10):
            x = x.sin()
        return x

    def peak(call: Any) -> int:
        gc.collect()
        tracemalloc.start()
        y = x
        for _ in range(10):
            y = call(block, y)
        y.sum().backward()
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(checkpoint) < peak(plainly) * 0.4
