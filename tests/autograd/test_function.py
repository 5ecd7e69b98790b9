"""Functions with derivatives of one's own, and the numerical checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import Function, grad, gradcheck, gradgradcheck, numerical_diff
from weft.errors import AutogradError


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = weft.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class Both(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, k: float) -> Any:
        ctx.k = k
        assert ctx.needs_input_grad == (True, False, False)
        return x * k, x + y

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        return a * ctx.k + b, None, None


def t(*values: float) -> weft.Tensor:
    return weft.tensor(np.array(values), requires_grad=True)


def test_first_and_second_order() -> None:
    for function in (Cube, Exp):
        assert gradcheck(function.apply, t(0.5, 1.5))
        assert gradgradcheck(function.apply, t(0.5, 1.5))
    x = t(2.0)
    (first,) = grad(Exp.apply(x), x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    np.testing.assert_allclose([first.item(), second.item(), third.item()], np.exp(2.0))


def test_several_arguments_and_results() -> None:
    x = t(1.0, 2.0)
    a, b = Both.apply(x, weft.tensor([3.0, 4.0]), 5.0)
    (a.sum() + (b * b).sum()).backward()
    np.testing.assert_array_equal(x.grad, 5.0 + 2 * np.array([4.0, 6.0]))


def test_without_recording() -> None:
    assert Cube.apply(weft.tensor([2.0])).grad_fn is None
    with weft.no_grad():
        assert Cube.apply(t(2.0)).grad_fn is None


def test_saved_values_are_freed() -> None:
    x = t(2.0)
    y = Cube.apply(x)
    y.backward()
    with pytest.raises(AutogradError, match="freed"):
        y.backward()


def test_misuse_is_explained() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    with pytest.raises(AutogradError, match="returned 1 gradients for 2 arguments"):
        Wrong.apply(t(1.0), t(2.0)).backward()

    class Shape(Cube):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return weft.concat([g, g])

    with pytest.raises(AutogradError, match=r"got shape \(2,\), not \(1,\)"):
        Shape.apply(t(1.0)).backward()


def test_numerical_diff_of_complex_points_along_ascent() -> None:
    z = weft.tensor(np.array([1.0 + 2.0j]), requires_grad=True)
    (g,) = numerical_diff(lambda v: weft.real(v * weft.conj(v)), z)
    np.testing.assert_allclose(g, [2.0 + 4.0j], rtol=1e-8)
    assert gradcheck(lambda v: v * v, z)


def test_gradcheck_finds_a_wrong_rule() -> None:
    class Off(Cube):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.99 * ctx.saved_tensors[0] ** 2

    with pytest.raises(AutogradError, match="differs from differences"):
        gradcheck(Off.apply, t(1.0))
    assert not gradcheck(Off.apply, t(1.0), raise_exception=False)
    with pytest.raises(AutogradError, match="float32"):
        gradcheck(weft.sin, weft.tensor(np.ones(2, np.float32), requires_grad=True))
