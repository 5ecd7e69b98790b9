"""Functions with derivative rules of their own: on arrays, on Tensors, in captured programs, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import Function

# The rules are wrong on purpose, so that a result tells whether the rule or the function itself was differentiated:
# the square has the derivative x here, not 2x.


@weft.custom_vjp
def reversed_square(x: Any) -> Any:
    return x * x


reversed_square.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))


@weft.custom_jvp
def forward_square(x: Any) -> Any:
    return x * x


forward_square.defjvp(lambda primals, tangents: (primals[0] ** 2, primals[0] * tangents[0]))

SQUARES = [reversed_square, forward_square]


@pytest.mark.parametrize("square", SQUARES, ids=["vjp", "jvp"])
def test_every_mode_uses_the_rule(square: Any) -> None:
    assert square(3.0) == 9.0
    assert weft.grad(square)(3.0) == 3.0
    assert weft.jvp(square, (3.0,), (2.0,)) == (9.0, 6.0)
    value, pull = weft.vjp(square, 3.0)
    assert value == 9.0 and pull(10.0) == (30.0,)
    value, push = weft.linearize(square, 3.0)
    assert value == 9.0 and push(10.0) == 30.0
    np.testing.assert_array_equal(weft.jacfwd(square)(np.array([1.0, 2.0])), np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(weft.jacrev(square)(np.array([1.0, 2.0])), np.diag([1.0, 2.0]))


@pytest.mark.parametrize("square", SQUARES, ids=["vjp", "jvp"])
def test_the_rule_itself_is_differentiated(square: Any) -> None:
    assert weft.grad(weft.grad(square))(3.0) == 1.0
    assert weft.hessian(square)(3.0) == 1.0
    assert weft.hvp(square, (3.0,), (5.0,)) == 5.0


def total(square: Any, x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s = s + square(x[i]) * 2
        else:
            s = s - square(x[i])
    return s


@pytest.mark.parametrize("square", SQUARES, ids=["vjp", "jvp"])
def test_in_loops_and_branches(square: Any) -> None:
    x = np.linspace(-2.0, 3.0, 14)
    found = weft.grad(lambda x: total(square, x))(x)
    np.testing.assert_allclose(found, np.where(x > 0, 2 * x, -x), rtol=1e-15)
    found = weft.jvp(lambda x: total(square, x), (x,), (np.ones(14),))[1]
    np.testing.assert_allclose(found, np.where(x > 0, 2 * x, -x).sum(), rtol=1e-14)


@pytest.mark.parametrize("square", SQUARES, ids=["vjp", "jvp"])
def test_for_many_examples(square: Any) -> None:
    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(weft.vmap(square)(x), x * x)
    np.testing.assert_array_equal(weft.vmap(weft.grad(square))(x), x)
    np.testing.assert_array_equal(weft.grad(lambda x: weft.vmap(square)(x).sum())(x), x)


@pytest.mark.parametrize("square", SQUARES, ids=["vjp", "jvp"])
def test_tensors(square: Any) -> None:
    for call in (square, weft.compile(lambda x: square(x)), weft.compile(square)):
        x = weft.tensor([3.0, 4.0], requires_grad=True)
        y = call(x)
        np.testing.assert_array_equal(y.numpy(), [9.0, 16.0])
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])  # type: ignore[union-attr]  # just computed


def test_several_arguments_and_structures() -> None:
    @weft.custom_vjp
    def mixed(p: Any, x: Any, n: int) -> Any:
        return {"y": p["w"] * x * n, "z": x.sum()}

    def backward(kept: Any, g: Any) -> Any:
        p, x, _ = kept
        return {"w": g["y"] * x, "b": None}, g["y"] * p["w"] + 100 * g["z"], None

    mixed.defvjp(lambda p, x, n: (mixed(p, x, n), (p, x, n)), backward)
    p, x = {"w": np.array([1.0, 2.0]), "b": np.array([7.0])}, np.array([3.0, 5.0])
    value, pull = weft.vjp(lambda p, x: mixed(p, x, 2), p, x)
    np.testing.assert_array_equal(value["y"], [6.0, 20.0])
    d_p, d_x = pull({"y": np.array([1.0, 10.0]), "z": 1.0})
    np.testing.assert_array_equal(d_p["w"], [3.0, 50.0])
    np.testing.assert_array_equal(d_p["b"], [0.0])
    np.testing.assert_array_equal(d_x, [101.0, 120.0])


def test_arguments_without_a_derivative() -> None:
    @weft.custom_vjp
    def unused(x: Any) -> Any:
        return x

    apply = weft.custom_vjp(lambda function, x: function(x), nondiff_argnums=(0,))
    apply.defvjp(lambda function, x: (function(x), x), lambda function, x, g: (g * 7,))
    assert weft.grad(lambda x: apply(np.sin, x))(1.0) == 7.0
    with pytest.raises(weft.errors.NotDifferentiable, match="has no rule yet"):
        weft.grad(unused)(1.0)


def test_rules_read_from_outside() -> None:
    weights = np.array([1.0, 10.0])

    @weft.custom_vjp
    def scaled(x: Any) -> Any:
        return x * weights

    scaled.defvjp(lambda x: (scaled(x), None), lambda _, g: (g * weights * 2,))
    np.testing.assert_array_equal(weft.grad(lambda x: scaled(x).sum())(np.ones(2)), [2.0, 20.0])

    def outer(x: Any, w: Any) -> Any:
        inner = weft.custom_vjp(lambda x: x * w)
        inner.defvjp(lambda x: (x * w, None), lambda _, g: (g * w * 3,))
        return inner(x).sum()

    np.testing.assert_array_equal(weft.grad(outer)(np.ones(2), weights), [3.0, 30.0])


class Cubed(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3 * factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.factor * x**2, None


def cubes(x: Any) -> Any:
    return (Cubed.apply(x, 2.0) * 3).sum()


def test_a_function_is_captured_with_its_backward() -> None:
    for call in (cubes, weft.compile(cubes)):
        x = weft.tensor([2.0, 1.0], requires_grad=True)
        y = call(x)
        y.backward()
        assert y.item() == 54.0
        np.testing.assert_array_equal(x.grad.numpy(), [24.0, 6.0])  # type: ignore[union-attr]  # just computed
    np.testing.assert_array_equal(weft.grad(cubes)(weft.tensor([2.0, 1.0])).numpy(), [24.0, 6.0])


class Rounded(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return np.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


@weft.custom_vjp
def straight(x: Any) -> Any:
    return np.round(x)


straight.defvjp(lambda x: (np.round(x), None), lambda kept, g: (g,))


@weft.custom_vjp
def kept_square(x: Any) -> Any:
    return x * x


def _square_and_itself(x: Any) -> Any:
    y = x * x
    return y, y


kept_square.defvjp(_square_and_itself, lambda y, g: (g * y,))


def twice_on_tape(function: Any, x: np.ndarray) -> np.ndarray:
    """The derivative of the sum of the squares of the gradient, on the tape."""
    t = weft.tensor(x.copy(), requires_grad=True)
    (g,) = weft.autograd.grad(function(t), [t], create_graph=True)
    (second,) = weft.autograd.grad((g**2).sum(), [t])
    return second.numpy()


def _repeated(call: Any) -> Any:
    def function(x: Any) -> Any:
        y = x
        for i in range(len(x)):
            y = call(y) * 1.5 if x[i] > 0 else call(y) * 2.5
        return (y**2).sum()

    return function


@pytest.mark.parametrize(
    "call",
    [reversed_square, forward_square, kept_square, straight, Rounded.apply],
    ids=["vjp", "jvp", "kept", "straight", "Function"],
)
def test_derivatives_of_derivatives_use_the_rule_again(call: Any) -> None:
    x = np.array([1.3, -0.7, 2.2])
    for function in (lambda x: (call(call(x) * 1.5) ** 2).sum(), _repeated(call)):
        wanted = twice_on_tape(function, x)
        assert np.abs(wanted).max() > 0.01
        np.testing.assert_allclose(twice_on_tape(weft.compile(function), x), wanted, rtol=1e-12)
        given = weft.tensor(x)
        slope = weft.grad(function)
        found = weft.grad(lambda x, slope=slope: (slope(x) ** 2).sum())(given)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
        along = weft.jvp(lambda x, slope=slope: (slope(x) ** 2).sum(), (given,), (np.ones(3),))[1]
        np.testing.assert_allclose(along.item(), wanted.sum(), rtol=1e-12)


def test_a_rule_whose_forward_draws_runs_once() -> None:
    @weft.custom_vjp
    def noisy(x: Any) -> Any:
        return x * weft.rand(3)

    def forward(x: Any) -> Any:
        noise = weft.rand(3)
        return x * noise, noise

    noisy.defvjp(forward, lambda noise, g: (g * noise,))
    weft.manual_seed(3)
    noise, then = weft.rand(3), weft.rand(3)
    weft.manual_seed(3)
    np.testing.assert_array_equal(weft.grad(lambda x: noisy(x).sum())(np.ones(3)), noise)
    np.testing.assert_array_equal(weft.rand(3), then)


@pytest.mark.parametrize("effect", ["print", "assert", "other"])
def test_compiled_functions_that_run_op_by_op_use_the_rule(effect: str, capsys: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        if effect == "print":
            print("here")
        if effect == "assert":
            assert x.sum() > 0
        return (straight(x) * w + forward_square(w) + Rounded.apply(x) + reversed_square(x)).sum()

    compiled = weft.compile(function)
    for needs in ((True, True), (True, False), (False, True)):
        grads = []
        for call in (function, compiled):
            given = [weft.tensor([1.3, 2.7], requires_grad=need) for need in needs]
            call(*given).backward()
            grads.append([t.grad.numpy() for t in given if t.grad is not None])
        assert len(grads[0]) == sum(needs)
        for one, other in zip(*grads, strict=True):
            np.testing.assert_array_equal(one, other)
