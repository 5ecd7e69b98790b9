"""The edges of the functions that give derivatives: which arguments, which containers, which numbers, which errors."""

from __future__ import annotations

import cmath
import functools
import gc
import math
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError, DtypeError, NotDifferentiable, ShapeError

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
Pair = namedtuple("Pair", "x y")


@dataclass
class Both:
    x: Any
    y: Any


def product(x, y):
    return (x * y * y).sum()


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-12)


# Which arguments


def test_argnums() -> None:
    same(weft.grad(product, -1)(A, B), 2 * A * B)
    same(weft.grad(product, np.int64(1))(A, B), 2 * A * B)
    found = weft.grad(product, [1, -2])(A, B)
    assert isinstance(found, tuple)
    same(found[0], 2 * A * B)
    same(found[1], B * B)
    assert weft.grad(product, ())(A, B) == ()


@pytest.mark.parametrize("make", [weft.grad, weft.value_and_grad, weft.jacrev, weft.jacfwd, weft.hessian])
def test_argnums_that_are_wrong(make: Any) -> None:
    for number in (2, -3):
        with pytest.raises(ValueError, match=rf"argnums is {number}, and the call has 2 arguments"):
            make(product, number)(A, B)
    with pytest.raises(ValueError, match="names argument 0 twice"):
        make(product, (0, -2))(A, B)
    for other in ("x", 1.5, True):
        with pytest.raises(TypeError, match="argnums is an integer or a sequence of them"):
            make(product, other)


def test_functions_of_every_kind() -> None:
    class Power:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, x):
            return (x**self.by).sum()

        def times(self, x):
            return (x * self.by).sum()

    power = Power(3.0)
    same(weft.grad(power)(A), 3 * A**2)
    same(weft.grad(power.times)(A), [3, 3, 3])
    found = weft.grad(power)
    found(A)
    power.by = 2.0
    same(found(A), 2 * A)
    same(weft.grad(functools.partial(product, y=B))(A), B * B)
    same(weft.grad(np.sin)(1.0), math.cos(1.0))
    same(weft.grad(np.sum)(A), [1, 1, 1])
    same(weft.grad(np.linalg.norm)(A), A / np.linalg.norm(A))
    same(weft.grad(weft.sin)(1.0), math.cos(1.0))
    same(weft.grad(math.sin)(1.0), math.cos(1.0))
    same(weft.grad(float)(1.0), 1.0)


def test_a_function_that_gives_its_argument() -> None:
    for value in (2.0, np.float32(2), np.array(2.0)):
        same(weft.grad(lambda x: x)(value), 1.0)
    value, found = weft.value_and_grad(lambda x: x)(weft.tensor(2.0))
    assert float(value) == 2.0 and float(found) == 1.0


# Which containers


def test_containers() -> None:
    assert weft.grad(lambda p: p.x * p.y)(Pair(2.0, 3.0)) == Pair(3.0, 2.0)
    assert weft.grad(lambda p: p.x * p.y)(Both(2.0, 3.0)) == Both(3.0, 2.0)
    found = weft.grad(lambda p: p["x"] * p["y"][0])({"x": 2.0, "y": [3.0, None], "z": None})
    assert found == {"x": 3.0, "y": [2.0, None], "z": None}


@pytest.mark.parametrize("make", [weft.jacrev, weft.jacfwd])
def test_none_among_the_leaves(make: Any) -> None:
    found = make(lambda p: p["x"] ** 2)({"x": A, "y": None})
    assert found["y"] is None
    same(found["x"], np.diag(2 * A))


def test_results_that_are_no_numbers() -> None:
    assert weft.jvp(lambda x: (x * 2, None, "text"), (1.0,), (1.0,))[1] == (2.0, None, None)
    _, push = weft.linearize(lambda x: (x * 2, 3.0, None), 1.0)
    assert push(1.0) == (2.0, 0.0, None)
    _, found = weft.jacfwd(lambda x: (x * x, {"n": 3, "s": "text", "x": x}), has_aux=True)(2.0)
    assert found == {"n": 3, "s": "text", "x": 2.0}


# What a derivative is called with


@pytest.mark.parametrize("name", ["vjp", "linearize"])
def test_seeds_are_checked(name: str) -> None:
    _, found = getattr(weft, name)(lambda x: x**2, A)
    for wrong in (np.ones(4), 1.0):
        with pytest.raises(ShapeError, match=rf"{name}: a derivative of shape .* for a value of shape \(3,\)"):
            found(wrong)
    with pytest.raises(DtypeError, match="a complex derivative for a value of float64"):
        found(A * 1j)
    single = getattr(weft, name)(lambda x: x**2, A.astype(np.float32))[1](np.ones(3))
    assert np.asarray(single[0] if name == "vjp" else single).dtype == np.float32


def test_seeds_that_are_none() -> None:
    same(weft.vjp(lambda x: (x**2, x**3), A)[1]((A, None))[0], 2 * A * A)
    same(weft.linearize(lambda x, y: x * y, 2.0, 3.0)[1](1.0, None), 3.0)
    same(weft.compile(lambda x: weft.vjp(lambda y: (y**2, y**3), x)[1]((x, None))[0])(A), 2 * A * A)


def test_tangents_are_checked() -> None:
    with pytest.raises(CaptureError, match="a complex derivative for a value of float64"):
        weft.jvp(lambda x: x**2, (A,), (A * 1j,))
    with pytest.raises(CaptureError, match=r"jvp: a derivative of shape \(\)"):
        weft.jvp(lambda x: x**2, (A,), (1.0,))


# Derivatives inside of derivatives


def test_numbers_written_down_inside() -> None:
    assert weft.grad(lambda x: x * weft.grad(lambda y: x + y)(1.0))(3.0) == 1.0
    assert weft.jvp(lambda x: x * weft.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,)) == (9.0, 6.0)
    assert weft.grad(lambda x: x * weft.vjp(lambda y: x * y, 2.0)[1](1.0)[0])(3.0) == 6.0
    assert weft.grad(lambda x: x * weft.linearize(lambda y: x * y * y, 2.0)[1](1.0))(3.0) == 24.0
    same(weft.compile(lambda x: weft.grad(lambda y, z: (x * y * z).sum(), (0, 1))(2.0, np.float32(3)))(A), (18.0, 12.0))
    same(weft.vmap(lambda x: weft.grad(lambda y: x * y**2)(3.0))(A), 6 * A)


@pytest.mark.parametrize("number", [2, 2.0, 3j, True, np.int64(2), np.float32(2), np.bool_(True)], ids=repr)
def test_numbers_in_a_list_beside_what_varies(number: Any) -> None:
    """A number that is no array varies as little as one that is: NumPy's own are no numbers of Python's."""
    for collect in (
        lambda x: np.array([number, x[0], 0]),
        lambda x: np.array([[number, x[0]], [x[1], 1]]),
        lambda x: np.stack([number, x[1]]),
        lambda x: np.hstack([number, x, 7]),
    ):
        matrix = np.stack([weft.jvp(collect, (A,), (row,))[1].ravel() for row in np.eye(3)], axis=1)
        expected = [np.ravel(collect(A + row) - collect(A)) for row in np.eye(3)]
        np.testing.assert_allclose(matrix, np.stack(expected, axis=1), atol=1e-12)


def test_perturbations_are_kept_apart() -> None:
    def outer(x):
        def middle(y):
            return weft.grad(lambda z: x * y * z**3)(x)

        return weft.grad(middle)(2.0) * y_of(x)

    def y_of(x):
        return weft.jvp(lambda w: w * x, (x,), (1.0,))[1]

    # 3 x^3 * x
    assert weft.grad(outer)(2.0) == pytest.approx(12 * 2.0**3)


# Random numbers: drawn once, for the value and all derivatives of it


def dropped(x):
    return weft.nn.functional.dropout(x, 0.5)


@pytest.mark.parametrize("make", [weft.jacfwd, weft.jacrev])
def test_a_jacobian_is_that_of_one_draw(make: Any) -> None:
    def function(x):
        y = dropped(x)
        return y, y

    found, value = make(function, has_aux=True)(np.ones(50))
    same(np.asarray(found), np.diag(np.asarray(value)))


def test_draws_in_a_branch_cannot_be_linearized() -> None:
    def function(x):
        return dropped(x) if x.sum() > 0 else x * 1.0

    with pytest.raises(NotDifferentiable, match="draws random numbers cannot be linearized") as caught:
        weft.linearize(function, np.ones(3))
    assert "test_edges.py" in str(caught.value)
    value, tangent = weft.jvp(function, (np.ones(99),), (np.ones(99),))
    same(value, tangent)


# Python's own functions


def difference(function: Any, args: tuple[float, ...], at: int) -> float:
    ahead, behind = list(args), list(args)
    ahead[at] += 1e-6
    behind[at] -= 1e-6
    return (function(*ahead) - function(*behind)) / 2e-6


PLAIN = {
    "max": lambda x, y: max(x, y) * x,
    "min of three": lambda x, y: min(x * x, y, 0.5 * x) * x,
    "max of a list": lambda x, y: max([x, y, 1]) * x,
    "max of an array": lambda x, y: max(np.array([x, y])) * x,
    "clipped": lambda x, y: min(max(x * y, 0.0), 1.0) * x,
    "complex": lambda x, y: abs(complex(x, y) ** 2 + complex(y)),
    "conjugate": lambda x, y: ((x + 1j * y) * (x + 2j * y).conjugate()).imag,
    "cmath": lambda x, y: abs(cmath.exp(x + 1j * y) + cmath.sqrt(-x) * y) + cmath.phase(complex(x, y)),
    "hypot": lambda x, y: math.hypot(x, y, x * y),
    "dist": lambda x, y: math.dist([x, y], [1.0, x * x]),
    "prod": lambda x, y: math.prod([x, y, x]),
    "fsum": lambda x, y: math.fsum([x, y, x * y]),
    "remainder": lambda x, y: math.remainder(x * 5, y) * x,
    "ldexp": lambda x, y: math.ldexp(x * y, 3),
    "round": lambda x, y: round(x, 1) * x * y,
}


@pytest.mark.parametrize("name", PLAIN)
def test_functions_of_python(name: str) -> None:
    function, args = PLAIN[name], (1.22, 0.37)
    for at in (0, 1):
        wanted = difference(function, args, at)
        assert weft.grad(function, at)(*args) == pytest.approx(wanted, rel=1e-6, abs=1e-8)
        tangents = tuple(1.0 if k == at else None for k in (0, 1))
        assert weft.jvp(function, args, tangents)[1] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


def test_equal_values_of_max_give_the_first() -> None:
    assert weft.grad(lambda x, y: max(x, y), (0, 1))(1.0, 1.0) == (1.0, 0.0)
    assert weft.grad(lambda x, y: min(x, y), (0, 1))(1.0, 1.0) == (1.0, 0.0)


# Control flow


def test_a_result_that_no_turn_reads() -> None:
    def function(a, b):
        for _ in range(len(b)):
            for _ in range(3):
                return a.sum() * b[0], b * 2
        return b.sum(), b

    def loss(a, b):
        x, y = function(a, b)
        return x * y.sum()

    found = weft.grad(loss, (0, 1))(A, B)
    same(found[0], [B[0] * 2 * B.sum()] * 3)
    same(weft.jvp(loss, (A, B), (A, None))[1], (A * found[0]).sum())


def test_a_branch_that_gives_a_tangent_as_it_is() -> None:
    def function(x, s):
        y = x * 1.0
        if x[0] > 0:
            y[0] = s
        return (y**2).sum()

    assert weft.jvp(function, (A, 2.0), (None, 1.0))[1] == 4.0


def test_third_derivatives_through_branches() -> None:
    def function(x):
        for i in range(3):
            if x > 1:
                for _ in range(i):
                    x = np.sin(x) * x
            else:
                x = x**3
        return x

    def third(f):
        return weft.grad(weft.grad(weft.grad(f)))

    def along(f):
        return lambda x: weft.jvp(f, (x,), (1.0,))[1]

    for at in (1.3, 0.7):
        second = along(weft.grad(function))
        wanted = (second(at + 1e-5) - second(at - 1e-5)) / 2e-5
        assert third(function)(at) == pytest.approx(wanted, rel=1e-6)
        assert along(second)(at) == pytest.approx(wanted, rel=1e-6)
        assert along(along(along(function)))(at) == pytest.approx(wanted, rel=1e-6)


def test_a_written_diagonal() -> None:
    def function(m):
        m = m.copy()
        diagonal = np.diag(m)
        m[0] *= 0.5
        return np.sin(diagonal).sum()

    m = np.arange(9.0).reshape(3, 3) / 7
    same(weft.compile(function)(m), function(m))
    same(np.diag(weft.grad(function)(m)), [0.5 * np.cos(0.0), *np.cos(np.diag(m)[1:])])


# What is not seen outside


def test_arguments_stay_as_they_are() -> None:
    def function(x):
        x *= 2
        x[0] = 5.0
        return (x**2).sum()

    given = A.copy()
    wanted = [0.0, 16.0, 24.0]
    same(weft.grad(function)(given), wanted)
    same(weft.vjp(function, given)[1](1.0)[0], wanted)
    same(weft.jacfwd(function)(given), wanted)
    same(weft.jvp(function, (given,), (np.ones(3),))[1], sum(wanted))
    assert np.array_equal(given, A)
    outside = np.zeros(3)

    def writes(x):
        outside[0] = x[0]
        return (outside * x).sum()

    with pytest.raises(CaptureError, match="writes into outside, an array from outside"):
        weft.grad(writes)(A)
    assert not outside.any()


def test_defaults_are_not_examples() -> None:
    same(weft.vmap(lambda x, by=2.0: x * by)(A), 2 * A)
    same(weft.vmap(lambda x, by=2.0: x * by, in_axes=(0,))(A), 2 * A)
    same(weft.vmap(lambda x, by=2.0: x * by)(A, by=B), A * B)


def test_hessians_where_an_argument_does_not_vary() -> None:
    first, second = weft.hvp(lambda x, n: (x**n).sum(), (A, 3), (B, None))
    same(first, 6 * A * B)
    assert second is None
    same(weft.compile(lambda x: weft.hvp(lambda x, n: (x**n).sum(), (x, 3), (x, None))[0])(A), 6 * A * A)


def test_lists_that_grow() -> None:
    def last_two(x):
        kept = []
        for i in range(len(x)):
            kept.append(x[i] * x[i])
            if len(kept) > 2:
                kept.pop(0)
        return kept[0] * kept[1]

    wanted = [0.0, 2 * A[1] * A[2] ** 2, 2 * A[2] * A[1] ** 2]
    same(weft.grad(last_two)(A), wanted)
    same(weft.jvp(last_two, (A,), (np.ones(3),))[1], sum(wanted))
    same(weft.linearize(last_two, A)[1](np.ones(3)), sum(wanted))

    def while_small(x):
        kept = []
        while x < 10:
            kept.append(x)
            x = x * x
        return kept[-1] * 2

    with pytest.raises(NotDifferentiable, match=r"given to .append\(\) under a condition or in a loop"):
        weft.grad(while_small)(2.0)
    with pytest.raises(NotDifferentiable, match=r"given to .append\(\)"):
        weft.jvp(while_small, (2.0,), (1.0,))


def test_what_has_no_rule_is_named() -> None:
    def function(x):
        y = x.copy()
        np.put(y, [0, 9], x[1:], mode="wrap")
        return y.sum()

    with pytest.raises(NotDifferentiable, match=r"numpy.put has no derivative rule") as caught:
        weft.grad(function)(A)
    assert "np.put(y, [0, 9], x[1:], mode" in str(caught.value)


def test_a_write_through_a_view_of_a_view() -> None:
    def function(a, m):
        m = m.copy()
        row = m.T[1]
        if a[0] > 0:
            np.multiply(a, 2.0, out=row)
        return np.sin(row).sum() + (m * m).sum()

    m = np.arange(9.0).reshape(3, 3)
    same(weft.grad(function)(A, m), 2 * np.cos(2 * A) + 8 * A)
    same(weft.jvp(function, (A, m), (np.ones(3), None))[1], (2 * np.cos(2 * A) + 8 * A).sum())


def test_no_grad_means_the_same_for_arrays_and_tensors() -> None:
    def program(x: Any) -> Any:
        with weft.no_grad():
            y = x * x
        return (y * x).sum()

    np.testing.assert_array_equal(weft.grad(program)(np.array([1.0, 2.0])), [1.0, 4.0])
    np.testing.assert_array_equal(weft.grad(program)(weft.tensor([1.0, 2.0])).numpy(), [1.0, 4.0])


def test_a_default_is_no_argument() -> None:
    def program(a: Any, b: Any, c: Any = 2.0) -> Any:
        return a * b * c

    assert weft.grad(program, argnums=-1)(3.0, 4.0) == 6.0
    assert weft.compile(lambda a, b: weft.grad(program, argnums=-1)(a, b))(3.0, 4.0) == 6.0
    assert weft.grad(program, argnums=2)(3.0, 4.0, 5.0) == 12.0
    assert weft.vjp(program, 3.0, 4.0)[1](1.0) == (8.0, 6.0)
    with pytest.raises(ValueError, match="argnums is 2, and the call has 2 arguments"):
        weft.grad(program, argnums=2)(3.0, 4.0)


def test_what_was_captured_of_a_function_goes_with_it() -> None:
    program = lambda x: x * x  # noqa: E731  # something to be forgotten
    weft.vjp(program, 2.0)
    gone = weakref.ref(program)
    del program
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("flat", [np.round, np.floor, np.sign, lambda x: x // 1], ids=["round", "floor", "sign", "//"])
def test_a_gradient_that_is_zero_everywhere_says_why(flat: Any) -> None:
    with pytest.warns(UserWarning, match=r"depends on x only through \w+, which is flat"):
        np.testing.assert_array_equal(weft.grad(lambda x: flat(x).sum())(np.array([1.2, -0.7])), [0.0, 0.0])
    with pytest.raises(NotDifferentiable, match="which is flat"):
        weft.grad(lambda x: flat(x).sum(), strict=True)(np.array([1.2, -0.7]))
    np.testing.assert_array_equal(weft.grad(lambda x: (x + flat(x)).sum())(np.array([1.2, -0.7])), [1.0, 1.0])


def test_numbers_of_numpy_in_another_dtype() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2).astype(np.float64) * x[0].astype("f8")

    x = np.array([0.5, 1.5, 2.5], np.float32)
    slope = weft.grad(f)(x)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, [9.25, 1.5, 2.5])
    value, along = weft.jvp(f, (x,), (x,))
    assert (value, along) == (4.375, 3 * 4.375) and along.dtype == np.float64
    np.testing.assert_allclose(weft.hessian(f)(x), [[3.0, 3, 5], [3, 1, 0], [5, 0, 1]])
    np.testing.assert_allclose(weft.vmap(weft.grad(f))(np.stack([x, x]))[1], slope)
