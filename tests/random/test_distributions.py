"""Distributions: their words and bits against rules written out here, their statistics against SciPy, their errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import weft
from weft import random
from weft.errors import DtypeError, ShapeError
from weft.ops import _samplers, _words
from weft.random import Generator

N = 40_000
GOLDEN = {
    "uniform": ["0x1.119efbd6bc0c8p-4", "0x1.43a31df2c79c8p-4"],
    "normal": ["0x1.20a651fcd7370p+1", "0x1.24a32bf363efep-1", "-0x1.515f26879df64p+1", "0x1.d54dfe38f3a18p+0"],
    "normal32": ["0x1.49642c0000000p+0", "0x1.18a4880000000p-2", "0x1.d048900000000p+0", "0x1.d6b2920000000p-2"],
    "exponential": ["0x1.5a5eeecb961c6p+1", "0x1.44e1df914caaap+1"],
    "gumbel": ["-0x1.fdaf8406ef81ep-1", "-0x1.dce4c0fae4e45p-1"],
    "gamma": ["0x1.1bc2d39c185c4p-15", "0x1.ca1066d53f796p-6"],
    "integers": [66, 79, 5, 806],
    "randperm": [2, 0, 1, 4, 5, 3],
    "poisson": [36.0, 57.0, 44.0, 47.0],
}


def close_enough(sample: Any, distribution: Any) -> None:
    """Seeds are fixed, so a good generator passes every time; a wrong formula misses by many orders of magnitude."""
    assert stats.kstest(np.asarray(sample, np.float64).reshape(-1), distribution.cdf).pvalue > 1e-4


def counts_fit(sample: Any, probabilities: Any) -> None:
    observed = np.bincount(np.asarray(sample).reshape(-1).astype(int), minlength=len(probabilities))
    expected = np.asarray(probabilities) * np.size(sample)
    assert len(observed) == len(expected) and not observed[expected == 0].any()
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4


CONTINUOUS: list[tuple[Callable[..., Any], Any]] = [
    (lambda **o: random.uniform((N,), **o), stats.uniform()),
    (lambda **o: random.uniform((N,), -2.0, 3.0, **o), stats.uniform(-2, 5)),
    (lambda **o: random.normal((N,), **o), stats.norm()),
    (lambda **o: random.normal((N,), 1, 0.5, **o), stats.norm(1, 0.5)),
    (lambda **o: random.exponential((N,), 2.0, **o), stats.expon(scale=2)),
    (lambda **o: random.gumbel((N,), 1.0, 2.0, **o), stats.gumbel_r(1, 2)),
    (lambda **o: random.truncated_normal((N,), **o), stats.truncnorm(-2, 2)),
    (lambda **o: random.truncated_normal((N,), 1.0, 2.0, 0.0, 9.0, **o), stats.truncnorm(-0.5, 4, 1, 2)),
    (lambda **o: random.truncated_normal((N,), 0.0, 1.0, 6.0, 9.0, **o), stats.truncnorm(6, 9)),
    (lambda **o: random.truncated_normal((N,), 0.0, 1.0, 10.0, 12.0, **o), stats.truncnorm(10, 12)),
    (lambda **o: random.truncated_normal((N,), 0.0, 1.0, -9.0, -6.0, **o), stats.truncnorm(-9, -6)),
    (lambda **o: random.truncated_normal((N,), 0.0, 1.0, -math.inf, math.inf, **o), stats.norm()),
    (lambda **o: random.gamma(0.3, 2.0, (N,), **o), stats.gamma(0.3, scale=2)),
    (lambda **o: random.gamma(1.0, shape=(N,), **o), stats.gamma(1.0)),
    (lambda **o: random.gamma(40.0, 0.1, (N,), **o), stats.gamma(40.0, scale=0.1)),
    (lambda **o: random.beta(2.0, 0.5, (N,), **o), stats.beta(2.0, 0.5)),
    (lambda **o: random.beta(0.2, 0.3, (N,), **o), stats.beta(0.2, 0.3)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", range(len(CONTINUOUS)))
def test_continuous_distributions(case: int, dtype: Any) -> None:
    draw, distribution = CONTINUOUS[case]
    sample = draw(dtype=dtype, generator=Generator(case))
    assert sample.dtype == dtype and sample.shape == (N,) and sample.flags.writeable
    close_enough(sample, distribution)
    with np.errstate(all="ignore"):
        mean, deviation = distribution.mean(), distribution.std()
    assert abs(sample.mean(dtype=float) - mean) < 5 * deviation / math.sqrt(N)


def test_neighbours_are_independent() -> None:
    for dtype in (np.float64, np.float32):
        x = random.normal((N,), dtype=dtype, generator=Generator(5)).astype(float)
        for lag in (1, 2, 3, 4):
            for power in (1, 2):
                assert abs(np.corrcoef(x[lag:] ** power, x[:-lag] ** power)[0, 1]) < 5 / math.sqrt(N)
        a, b = x[0::2], x[1::2]
        close_enough(np.arctan2(b, a), stats.uniform(-math.pi, 2 * math.pi))
        close_enough(np.hypot(a, b), stats.rayleigh())
        assert np.abs(x).max() > 3.5


@pytest.mark.parametrize("rate", [0.0, 0.2, 4.0, 9.9, 10.0, 30.0, 1000.0])
def test_poisson(rate: float) -> None:
    sample = random.poisson(rate, (N,), generator=Generator(int(rate)))
    if rate == 0:
        assert not sample.any()
        return
    d = stats.poisson(rate)
    edges = np.unique(d.ppf([0.01, *np.linspace(0.05, 0.95, 12), 0.99]))
    probabilities = np.diff([0.0, *d.cdf(edges), 1.0])
    counts_fit(np.searchsorted(edges, sample), np.where(probabilities < 1e-9, 0, probabilities))
    assert abs(sample.mean() - rate) <= 5 * math.sqrt(rate / N)


def test_bernoulli_and_integers() -> None:
    counts_fit(random.bernoulli(0.3, (N,), generator=Generator(1)), [0.7, 0.3])
    counts_fit(random.integers(7, shape=(N,), generator=Generator(2)), np.full(7, 1 / 7))
    assert random.bernoulli(np.array([0.0, 1.0]), (100, 2)).sum(0).tolist() == [0, 100]
    assert random.bernoulli(np.float32([0.5])).dtype == np.float32
    wide = random.integers(-(2**63), 2**63, (N,), generator=Generator(3))
    close_enough(wide / 2.0**64 + 0.5, stats.uniform())
    third = 2**64 // 3 * 2  # two words: with one, some numbers would come twice as often as others
    sample = random.integers(0, third, (N,), dtype=np.uint64, generator=Generator(4))
    counts_fit(sample % 2, [0.5, 0.5])
    assert set(random.integers(-3, 1, (200,)).tolist()) == {-3, -2, -1, 0}


@pytest.mark.parametrize("span", [1, 2, 3, 1000, 2**31 + 11, 2**32, 2**32 + 1, 2**40 + 7, 2**63 + 1, 2**64 - 1, 2**64])
def test_integers_are_the_product_rounded_down(span: int) -> None:
    words = [int(w) for w in Generator(span % 1000).words(40)]
    words[:4] = [2**64 - 1, 2**64 - 1, 0, 1]
    exact = (
        [w * span >> 64 for w in words]
        if span <= 2**32
        else [((a << 64) + b) * span >> 128 for a, b in zip(words[0::2], words[1::2], strict=True)]
    )
    assert _words.integers(np.array(words, np.uint64), span).tolist() == exact


def test_uniform_bits() -> None:
    words = Generator(6).words(8)
    exact = [(int(w) >> 11) / 2**53 for w in words]
    assert random.uniform((8,), generator=Generator(6)).tolist() == exact
    halves = [half for w in words for half in (int(w) & 0xFFFFFFFF, int(w) >> 32)]
    assert random.uniform((15,), dtype=np.float32, generator=Generator(6)).tolist() == [
        (half >> 8) / 2**24 for half in halves[:15]
    ]
    assert random.uniform((15,), dtype=np.float16, generator=Generator(6)).tolist() == [
        (half >> 21) / 2**11 for half in halves[:15]
    ]


def test_normal_bits() -> None:
    """The rule in exact functions: the same numbers up to the rounding of a handful of operations."""
    words = [int(w) for w in Generator(6).words(100)]
    expected = []
    for first, second in zip(words[0::2], words[1::2], strict=True):
        radius = math.sqrt(-2 * math.log((first >> 11 | 1) / 2**53)) * (-1 if first & 1 else 1)
        angle = math.pi * (second - (second >> 63 << 64)) / 2**64
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    found = random.normal((99,), generator=Generator(6))
    np.testing.assert_allclose(found, expected[:99], rtol=0, atol=4e-15)
    expected = []
    for word in words:
        first, second = word & 0xFFFFFFFF, word >> 32
        radius = math.sqrt(-2 * math.log((first >> 1 | 1) / 2**31)) * (-1 if first & 1 else 1)
        angle = math.pi * (second - (second >> 31 << 32)) / 2**32
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    small = random.normal((199,), dtype=np.float32, generator=Generator(6))
    np.testing.assert_allclose(small, expected[:199], rtol=0, atol=2e-6)
    half = random.normal((199,), dtype=np.float16, generator=Generator(6))
    np.testing.assert_array_equal(half, small.astype(np.float16))


def test_golden_bits() -> None:
    """Exact on every machine: nothing here is rounded by a library's own rule."""
    hexes = lambda x: [float(v).hex() for v in x]  # noqa: E731  # short for what follows
    assert {
        "uniform": hexes(random.uniform((2,), generator=Generator(1))),
        "normal": hexes(random.normal((4,), generator=Generator(1))),
        "normal32": hexes(random.normal((4,), dtype=np.float32, generator=Generator(1))),
        "exponential": hexes(random.exponential((2,), generator=Generator(1))),
        "gumbel": hexes(random.gumbel((2,), generator=Generator(1))),
        "gamma": hexes(random.gamma(0.5, shape=(2,), generator=Generator(1))),
        "integers": random.integers(0, 1000, (4,), generator=Generator(1)).tolist(),
        "randperm": random.randperm(6, generator=Generator(1)).tolist(),
        "poisson": random.poisson(50.0, (4,), generator=Generator(1)).tolist(),
    } == GOLDEN


def test_own_functions_against_scipy() -> None:
    x = np.concatenate([np.geomspace(1e-300, 1e300, 20001), np.linspace(0.5, 2, 10001)])
    np.testing.assert_allclose(_words.log(x), np.log(x), rtol=1e-15, atol=3e-16)
    small = np.geomspace(1e-37, 1e37, 10001).astype(np.float32)
    np.testing.assert_allclose(_words.log(small), np.log(small.astype(float)), rtol=3e-7, atol=3e-7)
    y = np.linspace(-745, 709, 20001)
    np.testing.assert_allclose(_words.exp(y), np.exp(y), rtol=3e-15, atol=1e-323)
    assert _words.exp(np.array([-900.0, 900.0])).tolist() == [0.0, math.inf]
    p = np.concatenate([np.geomspace(1e-300, 0.5, 5001), 1 - np.geomspace(1e-16, 0.5, 5001)])
    np.testing.assert_allclose(_samplers.normal_quantile(p), special.ndtri(p), rtol=2e-15, atol=2e-16)
    k = np.arange(5000.0)
    np.testing.assert_allclose(_samplers._log_factorial(k), special.gammaln(k + 1), rtol=1e-12, atol=1e-12)


# ── Shapes, words, errors ─────────────────────────────────────────────────────────────────────────────────────────────

WORDS: list[tuple[Callable[..., Any], Callable[[int], int]]] = [
    (lambda s, **o: random.uniform(s, **o), lambda n: n),
    (lambda s, **o: random.uniform(s, dtype=np.float32, **o), lambda n: (n + 1) // 2),
    (lambda s, **o: random.normal(s, **o), lambda n: n + n % 2),
    (lambda s, **o: random.normal(s, dtype=np.float32, **o), lambda n: (n + 1) // 2),
    (lambda s, **o: random.exponential(s, dtype=np.float32, **o), lambda n: n),
    (lambda s, **o: random.gumbel(s, **o), lambda n: n),
    (lambda s, **o: random.truncated_normal(s, **o), lambda n: n),
    (lambda s, **o: random.bernoulli(0.5, s, **o), lambda n: n),
    (lambda s, **o: random.integers(0, 2**32, s, **o), lambda n: n),
    (lambda s, **o: random.integers(0, 2**32 + 1, s, **o), lambda n: 2 * n),
    (lambda s, **o: random.gamma(0.5, 1.0, s, **o), lambda n: n + 16 * (n + n % 2 + n)),
    (lambda s, **o: random.beta(0.5, 1.0, s, **o), lambda n: 2 * (n + 16 * (n + n % 2 + n))),
    (lambda s, **o: random.poisson(20.0, s, **o), lambda n: 64 * n),
    (lambda s, **o: random.choice(5, s, **o), lambda n: n),
    (lambda s, **o: random.choice(3, s, p=[0.1, 0.2, 0.7], **o), lambda n: n),
    (lambda s, **o: random.choice(100, s, replace=False, **o), lambda n: 100),
    (lambda s, **o: random.categorical(np.zeros(3), s, **o), lambda n: 3 * n),
]


@pytest.mark.parametrize("case", range(len(WORDS)))
def test_words_taken_and_shapes(case: int) -> None:
    draw, taken = WORDS[case]
    for shape in ((), (0,), (1,), (2, 3), (7,), 5):
        count = int(np.prod(shape))
        g = Generator(case)
        drawn = draw(shape, generator=g)
        assert np.shape(drawn) == (shape if isinstance(shape, tuple) else (shape,)) and isinstance(drawn, np.ndarray)
        assert g.position == taken(count)
        flat = draw((count,), generator=Generator(case))
        np.testing.assert_array_equal(np.reshape(drawn, -1), flat)


def test_blocks_do_not_show() -> None:
    for dtype in (np.float64, np.float32):
        large = random.normal((40_000,), dtype=dtype, generator=Generator(0))
        part = random.normal((30_000,), dtype=dtype, generator=Generator(0))
        np.testing.assert_array_equal(large[:30_000], part)
        even = random.uniform((40_000,), dtype=dtype, generator=Generator(0))
        np.testing.assert_array_equal(even[:30_000], random.uniform((30_000,), dtype=dtype, generator=Generator(0)))


def test_parameters_give_shape_and_dtype() -> None:
    assert random.normal(mean=np.zeros((2, 1)), std=np.ones(3)).shape == (2, 3)
    assert random.normal((4, 2, 3), np.zeros((2, 1))).shape == (4, 2, 3)
    assert random.normal(mean=np.zeros(2, np.float32)).dtype == np.float32
    assert random.normal(mean=np.arange(3)).dtype == np.float64
    assert random.normal((3,), np.float64(2), dtype=np.float32).dtype == np.float32
    assert random.normal((3,), np.zeros(3), dtype="float16").dtype == np.float16
    assert isinstance(random.normal(mean=weft.tensor([1.0, 2.0])), weft.Tensor)
    np.testing.assert_array_equal(
        random.normal((3,), np.array([1.0, 2, 3]), 0.5, generator=Generator(1)),
        random.normal((3,), generator=Generator(1)) * 0.5 + [1, 2, 3],
    )
    rates = random.poisson(np.array([1.0, 1000.0]), (5000, 2), generator=Generator(1)).mean(0)
    np.testing.assert_allclose(rates, [1, 1000], rtol=0.1)


def test_under_torch_names() -> None:
    assert weft.rand(2, 3).shape == weft.rand((2, 3)).shape == weft.rand([2, 3]).shape == (2, 3)
    assert weft.rand().shape == () and weft.randn(2, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(weft.rand(4, generator=Generator(1)), random.uniform((4,), generator=Generator(1)))
    np.testing.assert_array_equal(weft.randn(4, generator=Generator(1)), random.normal((4,), generator=Generator(1)))
    same = random.integers(3, 9, (4,), generator=Generator(1))
    np.testing.assert_array_equal(weft.randint(3, 9, (4,), generator=Generator(1)), same)
    np.testing.assert_array_equal(weft.randint(9, (4,), generator=Generator(1)) < 9, True)
    x = weft.tensor(np.zeros((2, 3), np.float32))
    for like in (weft.rand_like, weft.randn_like):
        assert isinstance(like(x), weft.Tensor) and like(x).shape == (2, 3) and like(x).dtype == np.float32
        assert like(np.zeros(3), dtype=np.float16).dtype == np.float16
    with pytest.raises(DtypeError, match="float16, float32 or float64, got int64"):
        weft.rand_like(np.arange(3))


BAD: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: random.uniform((2,), 1.0, 0.0), ValueError, "uniform: low must not exceed high, got 1.0 and 0.0"),
    (lambda: random.uniform((2,), float("nan")), ValueError, "uniform: low must not exceed"),
    (lambda: random.normal((2,), 0.0, -1.0), ValueError, "normal: std must not be negative, got -1.0"),
    (lambda: random.normal(std=weft.tensor([1.0, -1.0])), ValueError, "normal: std must not be negative"),
    (lambda: random.normal((2, -1)), ShapeError, "dimensions are not negative"),
    (lambda: random.normal((2.0,)), TypeError, "a shape holds whole numbers"),
    (lambda: random.normal((2,), np.zeros(3)), ShapeError, "do not broadcast"),
    (lambda: random.normal((1,), np.zeros(3)), ShapeError, r"parameters of shape \(3,\) do not fit the shape \(1,\)"),
    (lambda: random.normal((2,), dtype=np.int64), DtypeError, "dtype must be float16, float32 or float64, got int64"),
    (lambda: random.normal((2,), np.zeros(2, complex)), DtypeError, "parameters are real numbers"),
    (lambda: random.normal((2,), generator=7), TypeError, "generator is a weft.random.Generator or None, got int"),
    (lambda: random.exponential((2,), -1), ValueError, "exponential: scale must not be negative"),
    (lambda: random.gumbel((2,), 0, -1), ValueError, "gumbel: scale must not be negative"),
    (lambda: random.truncated_normal((2,), low=1, high=1), ValueError, "low < high"),
    (lambda: random.truncated_normal((2,), weft.tensor(1.0)), TypeError, "mean is a number, got ndarray"),
    (lambda: random.bernoulli(1.5), ValueError, "bernoulli: p must be between 0 and 1"),
    (lambda: random.bernoulli(np.array([np.nan])), ValueError, "p must be between 0 and 1"),
    (lambda: random.poisson(-1.0), ValueError, "poisson: rate must be at least 0"),
    (lambda: random.gamma(0.0), ValueError, "concentration must be above 0"),
    (lambda: random.beta(1.0, -1.0), ValueError, "beta: b must be above 0"),
    (lambda: random.integers(3, 3), ValueError, "low < high"),
    (lambda: random.integers(0, 300, dtype=np.uint8), ValueError, "within uint8"),
    (lambda: random.integers(0.5), TypeError, "high is a whole number"),
    (lambda: random.integers(5, dtype=np.float32), DtypeError, "dtype of whole numbers"),
    (lambda: random.normal((2,), 0.0, spread=1), TypeError, "spread"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_errors_are_clear_and_draw_nothing(case: int) -> None:
    call, kind, words = BAD[case]
    with random.isolated(1):
        with pytest.raises(kind, match=words):
            call()
        assert random.current().position == 0


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_by_float32_uniform_numbers(p: float) -> None:
    with random.isolated(4):
        dropped = weft.dropout(np.ones((50, 41)), p)
        assert random.current().position == 50 * 41 // 2
    kept = random.uniform((50, 41), dtype=np.float32, generator=Generator(4)) < np.float32(1 - p)
    np.testing.assert_array_equal(dropped, kept * (1 / (1 - p)))
    assert abs(kept.mean() - (1 - p)) < 5 * math.sqrt(p * (1 - p) / kept.size)
    with random.isolated(4):
        whole = weft.dropout2d(np.ones((2, 3, 4, 5)), p)
        assert random.current().position == 3 and np.ptp(whole, axis=(2, 3)).max() == 0


def test_first_values_come_from_the_current_generator() -> None:
    from weft import nn

    with random.isolated(4):
        weight = nn.init.uniform_(nn.Parameter(np.zeros((3, 4), np.float32)), -2, 2)
        assert random.current().position == 6
    expected = random.uniform((3, 4), -2, 2, dtype=np.float32, generator=Generator(4))
    np.testing.assert_array_equal(weight.numpy(), expected)
    wide = nn.init.trunc_normal_(nn.Parameter(np.zeros((200, 100))), 1.0, 2.0, -1.0, 4.0)
    close_enough(wide.numpy(), stats.truncnorm(-1, 1.5, 1, 2))
