"""Functions with derivatives of one's own, and the numerical checks."""

from __future__ import annotations

import warnings
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


def bowl(x: Any) -> Any:
    return np.sum(np.sin(x) * x**3)


def filled(x: Any) -> Any:
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[0] * i + x[1] ** 2
    return y


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (np.sin, np.array([0.3, 0.7])),
        (np.linalg.inv, np.array([[2.0, 1.0], [0.5, 3.0]])),
        (np.multiply, (np.array([0.3, 0.7]), 2.0)),
        (lambda x: x * x, 3.0),
        (lambda x, n: x**n, (np.array([0.3, 0.7]), 3)),
        (lambda x: {"a": x * x, "b": [np.cos(x), 1.0, "text", None]}, np.array([0.3, 0.7])),
        (lambda x: x * x, np.array(1.0 + 2.0j)),
        (bowl, np.array([0.3, 0.7])),
        (weft.compile(bowl), np.array([0.3, 0.7])),
        (weft.grad(bowl), np.array([0.3, 0.7])),
        (weft.grad(lambda x: filled(x).sum() ** 2), np.array([0.3, 0.7])),
        (weft.value_and_grad(bowl), np.array([0.3, 0.7])),
        (weft.grad(lambda x, y: np.sum(x * y * y * x), argnums=(0, 1)), (np.array([0.3]), np.array([0.7]))),
    ],
)
def test_gradcheck_takes_numpy_functions_derivatives_and_arrays(check: Any, function: Any, inputs: Any) -> None:
    assert check(function, inputs)


def test_gradcheck_of_what_leaves_the_tape() -> None:
    for function in (
        filled,
        lambda x: float(x.detach().sum()) * 2.0,
        lambda x: x.detach() * 2,
        lambda x: (x, filled(x)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not gradcheck(function, np.array([0.3, 0.7]), raise_exception=False)
            for check in (gradcheck, gradgradcheck)[: 1 + (function is filled)]:
                with pytest.raises(AutogradError, match=r"compare weft.grad\(f\)\(x\)"):
                    check(function, np.array([0.3, 0.7]))
    value, expected = np.array([0.3, 0.7]), numerical_diff(lambda x: filled(x).sum(), np.array([0.3, 0.7]))[0]
    np.testing.assert_allclose(weft.grad(lambda x: filled(x).sum())(value), expected, rtol=1e-8)
    assert gradcheck(lambda x: np.ones(2), np.array([0.3, 0.7]))
    with pytest.raises(AutogradError, match="no floats"):
        gradcheck(lambda x: x > 0, np.array([0.3]))
    with pytest.raises(AutogradError, match="input 0 is float32"):
        gradcheck(np.sin, np.ones(2, np.float32))
    with pytest.raises(AutogradError, match="no input requires"):
        gradcheck(np.sin, weft.tensor([1.0]))


def test_gradcheck_shows_where_gradients_differ_most() -> None:
    class Off(Function):
        """x³, with a gradient that is wrong for numbers above 2."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * weft.where(x > 2, 6 * x, 3 * x * x)

    with pytest.raises(AutogradError) as caught:
        gradcheck(lambda y, x: Off.apply(x), (t(1.0), t([1.0, 3.0, 0.5], [2.5, 1.0, 9.0])))
    lines = str(caught.value).splitlines()
    assert lines[0] == "gradcheck: input 1: the gradient differs from differences in 3 of 6 elements"
    assert lines[1].split() == ["gradient", "differences", "apart"]
    assert [line.split("]")[0].strip() for line in lines[2:5]] == ["[1, 2", "[0, 1", "[1, 0"]
    wrong, right, apart = map(float, lines[2].split("]")[1].split())
    assert wrong / right == pytest.approx(54 / 243, rel=1e-4) and apart == pytest.approx(right - wrong, rel=0.05)
    with pytest.raises(AutogradError, match=r"in 50 of 50 elements(.|\n)*and 45 more"):
        gradcheck(Off.apply, np.linspace(3, 4, 50))
    with pytest.raises(AutogradError, match="nan"):
        gradcheck(lambda x: weft.sqrt(x - x) * x, np.array([1.0]))


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
