"""Derivatives of Python's own arithmetic: functions of `math`, operators, builtins on floats; ties as on the tape."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import NotDifferentiable

# Functions of two floats, and where they are differentiated.
FUNCTIONS: list[tuple[Callable[[Any, Any], Any], float, float]] = [
    (lambda x, y: math.sin(x) * math.cos(y) + math.tan(x), 0.7, 0.4),
    (lambda x, y: math.sinh(x) * math.cosh(y) + math.tanh(x), 0.7, 0.4),
    (lambda x, y: math.asin(x) * math.acos(y) + math.atan(x), 0.7, 0.4),
    (lambda x, y: math.asinh(x) * math.acosh(y) + math.atanh(x), 0.7, 1.4),
    (lambda x, y: math.exp(x) * math.log(y) + math.log1p(x), 0.7, 0.4),
    (lambda x, y: math.expm1(x) * math.log2(y) + math.log10(x), 0.7, 0.4),
    (lambda x, y: math.log(x, y), 0.7, 2.4),
    (lambda x, y: math.sqrt(x) * math.exp2(y) + math.cbrt(x), 0.7, 0.4),
    (lambda x, y: math.fabs(x) * abs(y), -0.7, 0.4),
    (lambda x, y: math.degrees(x) * math.radians(y), 0.7, 0.4),
    (lambda x, y: math.erf(x) * math.erfc(y), 0.7, 0.4),
    (lambda x, y: math.gamma(x) * math.lgamma(y) + np.i0(x), 1.7, -0.4),
    (lambda x, y: math.floor(x) * y + math.ceil(x) * y + math.trunc(x) * y + x, 1.7, 0.4),
    (lambda x, y: math.pow(x, y), 1.7, 0.4),
    (lambda x, y: math.atan2(x, y), 1.7, -0.4),
    (lambda x, y: math.hypot(x, y) + math.hypot(x, y, 1.0), 1.7, 0.4),
    (lambda x, y: math.hypot(x) * math.dist([y], [3.0]), -1.7, 0.4),
    (lambda x, y: math.dist((x, y), (0.0, 1.0)), 1.7, 0.4),
    (lambda x, y: math.copysign(x, y), 1.7, -0.4),
    (lambda x, y: math.fmod(x, y) + math.remainder(x, y), 5.3, 2.2),
    (lambda x, y: math.fmod(x, y), -5.3, 2.2),
    (lambda x, y: math.fsum([x, y, x]) * math.prod([x, y, x]), 1.7, 0.4),
    (lambda x, y: math.modf(x)[0] * y + math.modf(x)[1] * y, 1.7, 0.4),
    (lambda x, y: math.frexp(x)[0] * y + math.ldexp(x, 2), 1.7, 0.4),
    (lambda x, y: x * math.comb(5, 2) + y * math.factorial(4), 1.7, 0.4),
    (lambda x, y: -x + +y - 2 * x, 1.7, 0.4),
    (lambda x, y: x / y + 1 / x + y / 2, 1.7, 0.4),
    (lambda x, y: x**3 + y**-2 + x**y + 2.0**x + 2**y, 1.7, 0.4),
    (lambda x, y: pow(x, y) + pow(x, 2), 1.7, 0.4),
    (lambda x, y: x // y * y + x % y, 5.3, 2.2),
    (lambda x, y: x // y * y + x % y, -5.3, 2.2),
    (lambda x, y: x % 2 + 7 % y + 7.0 // y, 5.3, 2.2),
    (lambda x, y: divmod(x, y)[0] * y + divmod(x, y)[1], 5.3, 2.2),
    (lambda x, y: min(x, y) * 3 + max(x, y, 0.5) * 2, 5.3, 2.2),
    (lambda x, y: max([x, y, x * y]) + min((x, 3)), 5.3, 2.2),
    (lambda x, y: max(x, y, key=abs), -5.3, 2.2),
    (lambda x, y: sorted([x, y, 3.0])[1] * 2, 5.3, 2.2),
    (lambda x, y: round(x) * y + round(x, 1) * y, 5.33, 2.2),
    (lambda x, y: sum([x, y, x * y]) + sum((x, y), x), 5.3, 2.2),
    (lambda x, y: sum(v * i for i, v in enumerate([x, y, x])), 5.3, 2.2),
    (lambda x, y: float(x) * float(y) + int(x) * y, 5.3, 2.2),
    (lambda x, y: bool(x) * y + (x > y) * x, 5.3, 2.2),
    (lambda x, y: abs(complex(x, y)) + (complex(x, y) ** 2).imag, 5.3, 2.2),
    (lambda x, y: x.conjugate() * y.real + x.imag, 5.3, 2.2),
    (lambda x, y: x * y if x > y else x - y, 5.3, 2.2),
    (lambda x, y: x * 1.0 if x.is_integer() else y * x, 5.3, 2.2),
    (lambda x, y: (x > y and x * y) or x, 5.3, 2.2),
    (lambda x, y: operator.mul(x, y) + operator.pow(x, 2), 5.3, 2.2),
    (lambda x, y: np.where(x > y, x * y, x), 5.3, 2.2),
    (lambda x, y: np.clip(x, 0.0, y) + np.clip(y, 0.0, x), 5.3, 2.2),
    (lambda x, y: np.maximum(x, y) + np.minimum(x, 3), 5.3, 2.2),
    (lambda x, y: x + np.floor(x) * y + np.sign(x) * y + np.rint(x) + np.round(y), 5.3, 2.2),
    (lambda x, y: np.float64(x) * np.float64(y) + np.asarray(x) * np.asarray(y), 5.3, 2.2),
    (lambda x, y: np.array([x, y]) @ np.array([y, x]), 5.3, 2.2),
    (lambda x, y: np.hypot(x, y) + np.sum([x, y]), 5.3, 2.2),
    (lambda x, y: weft.sin(x) * weft.relu(y), 5.3, 2.2),
    (lambda x, y: weft.sum(x) * y + np.sum(y) * x, 5.3, 2.2),
    (lambda x, y: weft.prod(x) * weft.mean(y) + np.prod(y) * np.mean(x), 5.3, 2.2),
    (lambda x, y: weft.max(x) * weft.min(y) + np.amax(y) * np.min(x) + np.ptp(x) * weft.ptp(y), 5.3, 2.2),
    (lambda x, y: np.std(x) * y + weft.std(y) * x + np.var(x) * y + weft.var(y) + x, 5.3, 2.2),
    (lambda x, y: np.average(x) * weft.average(y) * np.median(x) + np.quantile(y, 0.3), 5.3, 2.2),
    (lambda x, y: np.linalg.norm(x) * weft.logsumexp(y) + weft.linalg.vector_norm(y), 5.3, 2.2),
    (lambda x, y: x * weft.count_nonzero(y) + y * weft.any(x) + x * weft.all(y) + np.argmax(x), 5.3, 2.2),
    (lambda x, y: np.cumsum(x)[0] * weft.cumprod(y)[0] + np.nansum(x) * np.nanmean(y), 5.3, 2.2),
]


def _source(entry: Any) -> str:
    return f"line{entry[0].__code__.co_firstlineno}"


@pytest.mark.parametrize("entry", FUNCTIONS, ids=_source)
def test_numbers(entry: tuple[Callable[[Any, Any], Any], float, float]) -> None:
    function, *point = entry
    h = 1e-6
    slopes = []
    for i in range(2):
        ahead, behind = ([p + s * h * (k == i) for k, p in enumerate(point)] for s in (1, -1))
        slopes.append((function(*ahead) - function(*behind)) / (2 * h))
        value, gradient = weft.value_and_grad(function, argnums=i)(*point)
        np.testing.assert_allclose(value, function(*point), rtol=1e-14)
        np.testing.assert_allclose(gradient, slopes[i], rtol=1e-7, atol=1e-7)  # the error of a central difference
        assert np.shape(gradient) == ()
    _, tangent = weft.jvp(function, tuple(point), (1.0, 0.5))
    np.testing.assert_allclose(tangent, slopes[0] + 0.5 * slopes[1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: math.ulp(x), "has no derivative"),
        (lambda x: math.nextafter(x, 1.0), "has no derivative"),
        (lambda x: np.spacing(x), "spacing has no derivative"),
    ],
)
def test_what_has_no_derivative_is_refused_with_its_line(function: Any, reason: str) -> None:
    for derivative in (weft.grad(function), lambda x: weft.jvp(function, (x,), (1.0,))):
        with pytest.raises(NotDifferentiable, match=reason) as info:
            derivative(1.7)
        assert f"{__file__.rpartition('/')[2]}:{function.__code__.co_firstlineno}" in str(info.value)


TIES = np.array([-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.5])
OTHER = np.array([-2.0, 1.0, 0.0, -0.0, 0.5, 1.0, 2.0, 2.5])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.maximum(x, y),
        lambda x, y: np.minimum(x, y),
        lambda x, y: np.fmax(x, y) * np.fmin(x, y),
        lambda x, y: np.clip(x, -1.0, 1.0) * y,
        lambda x, y: np.clip(x, y, 1.0),
        lambda x, y: np.where(x >= y, x * 2, y),
        lambda x, y: np.abs(x) + np.sign(y) * x + y,
        lambda x, y: x + np.floor(x) + np.ceil(x) * y + np.round(x) + np.trunc(y),
        lambda x, y: x // 2.0 * y + x % 2.0,
        lambda x, y: np.max(x) * y + np.min(y) * x,
        lambda x, y: np.sort(x) * y,
        lambda x, y: np.max(x) + np.argmax(x) * y,
        lambda x, y: np.hypot(x, y * 0),
        lambda x, y: np.copysign(x, y),
        lambda x, y: weft.relu(x) * y + weft.relu6(y),
    ],
    ids=lambda function: f"line{function.__code__.co_firstlineno}",
)
def test_ties_and_kinks_are_those_of_the_tape(function: Any) -> None:
    weights = np.arange(1.0, 9.0)

    def loss(x: Any, y: Any) -> Any:
        return (function(x, y) * weights).sum()

    x, y = weft.tensor(TIES, requires_grad=True), weft.tensor(OTHER, requires_grad=True)
    expected = weft.autograd.grad(loss(x, y), [x, y], allow_unused=True, materialize_grads=True)
    got = weft.grad(loss, argnums=(0, 1))(TIES, OTHER)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(g, e.numpy())


POWERS = [
    (lambda x: x**0, 0.0),
    (lambda x: x**1, 0.0),
    (lambda x: x**2, 0.0),
    (lambda x: x**2.0, -1.5),
    (lambda x: np.sqrt(x) * x, 0.0),
    (lambda x: 0.0**x, 1.0),
    (lambda x: np.prod(x) * x, 0.0),
]


@pytest.mark.parametrize("entry", POWERS, ids=lambda entry: f"line{entry[0].__code__.co_firstlineno}")
def test_edges_are_those_of_the_tape(entry: Any) -> None:
    function, at = entry

    def loss(x: Any) -> Any:
        return function(x).sum()

    x = weft.tensor(np.full(2, at), requires_grad=True)
    with np.errstate(all="ignore"):
        (expected,) = weft.autograd.grad(loss(x), [x])
        np.testing.assert_array_equal(weft.grad(loss)(np.full(2, at)), expected.numpy())


@pytest.mark.parametrize("spread", [np.nanvar, np.nanstd])
def test_what_is_not_a_number_has_no_part_in_a_spread(spread: Any) -> None:
    x = np.array([1.0, np.nan, 4.0, 2.5])
    kept = ~np.isnan(x)
    expected = np.zeros(4)
    expected[kept] = weft.grad(np.var if spread is np.nanvar else np.std)(x[kept])
    np.testing.assert_allclose(weft.grad(spread)(x), expected, rtol=1e-14)
