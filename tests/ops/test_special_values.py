"""Values and slopes at special points: zeros, ties, infinities, NaN, large and tiny numbers.

The slopes are torch 2.13's, except where torch gives NaN and a number is right (hypot at the origin, logsumexp of
infinities) or loses all digits (sinc near 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from tape import Traced, gradients

import weft

inf, nan = math.inf, math.nan


def slopes(function: Callable[..., Any], *args: list[float]) -> list[list[float]]:
    xs = [Traced(np.array(a)) for a in args]
    with np.errstate(all="ignore"):
        return [g.data.tolist() for g in gradients(weft.sum(function(*xs)), xs)]


SLOPES: dict[str, tuple[Callable[..., Any], list[list[float]], list[list[float]]]] = {
    "abs at 0": (weft.abs, [[0.0, -0.0]], [[0.0, 0.0]]),
    "hypot at the origin": (weft.hypot, [[0.0], [0.0]], [[0.0], [0.0]]),
    "hypot of large numbers": (weft.hypot, [[3e200], [4e200]], [[0.6], [0.8]]),
    "atan2 at the origin": (weft.atan2, [[0.0], [0.0]], [[0.0], [0.0]]),
    "atan2 of large numbers": (weft.atan2, [[3e200], [4e200]], [[1.6e-201], [-1.2e-201]]),
    "maximum at a tie, with NaN": (
        weft.maximum,
        [[1.0, nan, 2.0], [1.0, 0.0, nan]],
        [[0.5, 1.0, 1.0], [0.5, 1.0, 1.0]],
    ),
    "minimum at a tie": (weft.minimum, [[1.0, 2.0], [1.0, 3.0]], [[0.5, 1.0], [0.5, 0.0]]),
    "clip at and beyond its bounds": (
        weft.clip,
        [[-1.0, 0.0, 0.5, 1.0, 2.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]],
        [[0.0, 1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]],
    ),
    "pow at base 0": (
        weft.pow,
        [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.5, -1.0]],
        [[0.0, 1.0, 0.0, inf, -inf], [0.0, 0.0, 0.0, 0.0, -inf]],
    ),
    "pow of a negative base": (weft.pow, [[-2.0, -2.0], [3.0, -1.0]], [[12.0, -0.25], [nan, nan]]),
    "x ** 0 at 0": (lambda x: weft.pow(x, 0), [[0.0, 2.0]], [[0.0, 0.0]]),
    "x ** 1 at 0": (lambda x: weft.pow(x, 1), [[0.0, 2.0]], [[1.0, 1.0]]),
    "logaddexp of infinities": (
        weft.logaddexp,
        [[-inf, inf, -inf, 1.0, inf], [-inf, inf, 1.0, inf, -inf]],
        [[0.0, 1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0, 0.0]],
    ),
    "logsumexp of -inf": (weft.logsumexp, [[-inf, -inf]], [[0.0, 0.0]]),
    "logsumexp with -inf": (weft.logsumexp, [[-inf, 1.0]], [[0.0, 1.0]]),
    "logsumexp with inf": (weft.logsumexp, [[inf, 1.0]], [[1.0, 0.0]]),
    "max at a tie": (weft.max, [[1.0, 3.0, 3.0]], [[0.0, 0.5, 0.5]]),
    "min at a tie": (weft.min, [[1.0, 1.0, 3.0]], [[0.5, 0.5, 0.0]]),
    "max with NaN is no silent zero": (weft.max, [[1.0, nan]], [[0.5, 0.5]]),
    "std of equal numbers": (weft.std, [[2.0, 2.0, 2.0]], [[0.0, 0.0, 0.0]]),
    "sqrt at 0": (weft.sqrt, [[0.0]], [[inf]]),
    "sinc at and near 0": (weft.sinc, [[0.0, 1e-9]], [[0.0, -(math.pi**2) / 3 * 1e-9]]),
    "copysign": (weft.copysign, [[0.0, -1.0, 1.0, 2.0], [1.0, 1.0, -1.0, 0.0]], [[0.0, -1.0, -1.0, 1.0], [0.0] * 4]),
    "nan_to_num": (weft.nan_to_num, [[nan, inf, 1.0]], [[0.0, 0.0, 1.0]]),
    "remainder": (weft.remainder, [[5.5, -5.5], [2.0, 2.0]], [[1.0, 1.0], [-2.0, 3.0]]),
    "fmod": (weft.fmod, [[5.5, -5.5], [2.0, 2.0]], [[1.0, 1.0], [-2.0, 2.0]]),
    "prod with one zero": (weft.prod, [[0.0, 2.0, 3.0]], [[6.0, 0.0, 0.0]]),
    "prod with two zeros": (weft.prod, [[0.0, 2.0, 0.0]], [[0.0, 0.0, 0.0]]),
    "a float as condition": (lambda x: weft.where(x, 3 * x, 1.0), [[0.0, 2.0]], [[0.0, 3.0]]),
    "floor": (weft.floor, [[1.0, 1.5]], [[0.0, 0.0]]),
    "where keeps the other side out": (
        lambda x: weft.where(x > 0, weft.sqrt(weft.where(x > 0, x, 1)), 0),
        [[0.0]],
        [[0.0]],
    ),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    function, args, expected = SLOPES[name]
    for got, wanted in zip(slopes(function, *args), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=0)


def test_sign_of_complex_zero_has_slope_zero() -> None:
    x = Traced(np.array([0j]))
    assert gradients(weft.sum(weft.real(weft.sign(x))), [x])[0].data.tolist() == [0]


def test_imaginary_part_of_a_real_number_has_slope_zero() -> None:
    x = Traced(np.array([1.5]))
    assert gradients(weft.sum(weft.imag(x)), [x])[0].data.tolist() == [0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_erf_to_a_few_roundings(name: str, dtype: Any) -> None:
    """Against the C library, over all numbers where the result is normal, one by one and in blocks."""
    last = {np.float16: 2.7, np.float32: 9.0, np.float64: 26.4}[dtype]
    x = np.concatenate([np.linspace(-last, last, 9001), np.geomspace(1e-4, 1, 999)]).astype(dtype)
    expected = np.array([getattr(math, name)(v) for v in x.tolist()])
    for got, wanted in ((getattr(weft, name)(x), expected), (getattr(weft, name)(x[:50]), expected[:50])):
        assert got.dtype == dtype
        assert np.max(np.abs(got - wanted) / np.spacing(np.abs(wanted).astype(dtype))) < 8


def test_erf_at_the_ends() -> None:
    x = np.array([inf, -inf, nan, 0.0, -0.0, 40.0, -40.0])
    for copies in (1, 50):
        erf, erfc = weft.erf(np.tile(x, copies)), weft.erfc(np.tile(x, copies))
        np.testing.assert_array_equal(erf, np.tile([1, -1, nan, 0, 0, 1, -1], copies))
        np.testing.assert_array_equal(np.signbit(erf), np.tile([0, 1, np.signbit(nan), 0, 1, 0, 1], copies))
        np.testing.assert_array_equal(erfc, np.tile([0, 2, nan, 1, 1, 0, 2], copies))


def test_logsumexp_does_not_overflow() -> None:
    np.testing.assert_allclose(weft.logsumexp(np.array([1000.0, 1000.0])), 1000 + math.log(2))
    np.testing.assert_allclose(weft.logsumexp(np.array([-1000.0, -1001.0])), -1000 + math.log1p(math.exp(-1)))
    assert weft.logsumexp(np.array([-inf, -inf])) == -inf
    assert weft.logsumexp(np.array([inf, 1.0])) == inf
    assert np.isnan(weft.logsumexp(np.array([nan, 1.0])))
    assert weft.logsumexp(np.zeros((2, 0)), axis=1).tolist() == [-inf, -inf]
    many = weft.logsumexp(np.zeros(100_000, np.float16))
    assert many.dtype == np.float16 and many == np.float16(math.log(100_000))


def test_float16_statistics_do_not_overflow() -> None:
    x = np.array([-300.0, 300.0] * 500, np.float16)
    assert weft.std(x).dtype == np.float16 and weft.std(x) == 300
    assert weft.mean(np.full(1000, 100, np.float16)) == 100


def test_slope_of_sinc_is_a_bessel_function() -> None:
    x = np.concatenate([np.geomspace(1e-9, 3, 200), [0.0299999, 0.0300001]])
    (got,) = slopes(weft.sinc, x.tolist())
    expected = -np.pi * scipy.special.spherical_jn(1, np.pi * x)
    # Where the series ends, cos(pi x) - sinc(x) has lost three of sixteen digits.
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def test_sinc_of_half_precision_at_zero() -> None:
    assert weft.sinc(np.float16(0)) == 1 and weft.sinc(np.zeros(2, np.float16)).dtype == np.float16


def test_var_without_freedom_is_not_negative() -> None:
    with np.errstate(all="ignore"):
        assert weft.var(np.array([1.0, 3.0]), correction=5) == inf
        assert np.isnan(weft.var(np.array([1.0]), correction=1))


def test_arguments_stay_as_they_were() -> None:
    x = np.array([nan, 1.0, inf])
    weft.nan_to_num(x, copy=False)
    assert np.isnan(x[0])
