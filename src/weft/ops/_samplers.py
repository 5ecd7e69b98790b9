"""Random numbers that take more than one formula: the truncated normal, gamma, beta and Poisson distributions, choices.

Where numbers are proposed and some refused, words are set aside for a fixed number of rounds, so many that all rounds
fail once in 10^20 draws; those of rounds nobody needs are never computed. See `_words` for what the words become.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft._generator import Generator
from weft.ops import _words

Array = Any

_DOUBLE = np.dtype(np.float64)
GAMMA_ROUNDS = 16  # each refuses at most 5 in 100
POISSON_ROUNDS = 32  # each refuses at most 1 in 4

# Wichura's rational approximations of the normal quantile (Applied Statistics 37, 1988, algorithm AS 241), by how far
# out the probability lies; coefficients of numerator and denominator, the highest power first.
_CENTRE = (
    (
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.387132872796366608,
    ),
    (
        5226.495278852854561,
        28729.085735721942674,
        39307.89580009271061,
        21213.794301586595867,
        5394.1960214247511077,
        687.1870074920579083,
        42.313330701600911252,
        1.0,
    ),
)
_OUTER = (
    (
        7.7454501427834140764e-4,
        0.0227238449892691845833,
        0.24178072517745061177,
        1.27045825245236838258,
        3.64784832476320460504,
        5.7694972214606914055,
        4.6303378461565452959,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.475938084995344946e-4,
        0.0151986665636164571966,
        0.14810397642748007459,
        0.68976733498510000455,
        1.6763848301838038494,
        2.05319162663775882187,
        1.0,
    ),
)
_FAR = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        0.0012426609473880784386,
        0.026532189526576123093,
        0.29656057182850489123,
        1.7848265399172913358,
        5.4637849111641143699,
        6.6579046435011037772,
    ),
    (
        2.04426310338993978564e-15,
        1.4215117583164458887e-7,
        1.8463183175100546818e-5,
        7.868691311456132591e-4,
        0.0148753612908506148525,
        0.13692988092273580531,
        0.59983220655588793769,
        1.0,
    ),
)


def _ratio(x: Array, coefficients: Any) -> Array:
    return _words._horner(x, coefficients[0]) / _words._horner(x, coefficients[1])


def normal_quantile(p: Array) -> Array:
    """The number that a standard normal one stays below with probability p, for 0 < p < 1 in float64."""
    q = p - 0.5
    central = np.abs(q) <= 0.425
    inner = np.where(central, q, 0.0)
    y = inner * _ratio(0.180625 - inner * inner, _CENTRE)
    outside = ~central
    if outside.any():
        tail = np.minimum(p[outside], 1 - p[outside])
        r = np.sqrt(-_words.log(tail))
        size = np.where(r <= 5, _ratio(np.minimum(r, 5.0) - 1.6, _OUTER), _ratio(r - 5, _FAR))
        y[outside] = np.copysign(size, q[outside])
    return y


def truncated_normal(words: Array, low: float, high: float) -> Array:
    """Standard normal numbers between two bounds, by the quantile of one uniform number each."""
    mirrored = low > 0  # small probabilities are exact, those next to 1 are not
    a, b = (-high, -low) if mirrored else (low, high)
    below, above = (0.5 * math.erfc(-bound / math.sqrt(2)) for bound in (a, b))
    p = _words.interior(words)
    p *= above - below
    p += below
    y = normal_quantile(np.clip(p, 2.0**-1000, 1 - 2.0**-53))
    return np.clip(-y if mirrored else y, low, high)


# ── Proposals and refusals ────────────────────────────────────────────────────────────────────────────────────────────


def log_gamma(generator: Generator, concentration: Array) -> Array:
    """Logarithms of numbers of the gamma distribution (Marsaglia and Tsang, ACM TOMS 26, 2000), one for each element.

    Each round takes a normal and a uniform number for every element; one more uniform number serves concentrations
    below 1, which are drawn one higher and scaled back.
    """
    count = concentration.size
    small = concentration < 1
    d = np.where(small, concentration + 1, concentration) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    source = generator.reserve(count + GAMMA_ROUNDS * (_words.normal_words(count, _DOUBLE) + count))
    boost = _words.log(_words.interior(source.random_raw(count)))
    y = np.zeros(count)
    waiting = np.arange(count)
    for _ in range(GAMMA_ROUNDS):
        if not waiting.size:
            break
        x = _words.normal(source.random_raw(_words.normal_words(count, _DOUBLE)), count, _DOUBLE)[waiting]
        u = _words.interior(source.random_raw(count))[waiting]
        root = 1 + c[waiting] * x
        v = np.where(root > 0, root * root * root, 1.0)
        log_v = _words.log(v)
        taken = (root > 0) & (_words.log(u) < 0.5 * x * x + d[waiting] * (1 - v + log_v))
        y[waiting[taken]] = log_v[taken]
        waiting = waiting[~taken]
    return _words.log(d) + y + np.where(small, boost / np.where(small, concentration, 1.0), 0.0)


def poisson(generator: Generator, rate: Array) -> Array:
    """Numbers of the Poisson distribution as float64, two words a round for each element."""
    count = rate.size
    source = generator.reserve(2 * POISSON_ROUNDS * count)
    y = np.zeros(count)
    few = rate < 10
    waiting = np.flatnonzero(~few)
    for number in range(POISSON_ROUNDS):
        if number and not waiting.size:
            break
        first, second = source.random_raw(2 * count).reshape(count, 2).T
        if not number and few.any():
            y[few] = _counted(_words.interior(first[few]), rate[few])
        k, taken = _proposed(_words.interior(first[waiting]), _words.interior(second[waiting]), rate[waiting])
        y[waiting[taken]] = k[taken]
        waiting = waiting[~taken]
    return y


def _counted(u: Array, rate: Array) -> Array:
    """The smallest k that a Poisson number reaches at most with probability u or more, for small rates."""
    probability = _words.exp(-rate)
    total, k, y = probability.copy(), 0, np.zeros(len(u))
    while (below := u > total).any() and k < 100:
        k += 1
        y[below] = k
        probability *= rate / k
        total += probability
    return y


def _proposed(u: Array, v: Array, rate: Array) -> tuple[Array, Array]:
    """Hörmann's transformed rejection (Insurance: Mathematics and Economics 12, 1993): proposals, and which count."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)
    u = u - 0.5
    edge = 0.5 - np.abs(u)
    k = np.floor((2 * a / edge + b) * u + rate + 0.43)
    possible = (k >= 0) & ((edge >= 0.013) | (v <= edge))
    taken = possible & (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    unsure = np.flatnonzero(possible & ~taken)
    k1, rate1, edge1 = k[unsure], rate[unsure], edge[unsure]
    left = _words.log(v[unsure] * scale[unsure] / (a[unsure] / (edge1 * edge1) + b[unsure]))
    taken[unsure] = left <= k1 * _words.log(rate1) - rate1 - _log_factorial(k1)
    return k, taken


def _log_factorial(k: Array) -> Array:
    """log k! by Stirling's series at k + 10, less the logarithm of (k + 1) … (k + 10)."""
    x = k + 10
    square = x * x
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / x
    y = (x + 0.5) * _words.log(x) - x + 0.9189385332046728 + series
    product = k + 1
    for i in range(2, 11):
        product *= k + i
    return y - _words.log(product)


# ── Choices ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def order(words: Array, keep: int) -> Array:
    """The positions of the smallest words along the last axis, in ascending order: a random order of all positions."""
    return np.argsort(words, axis=-1, kind="stable")[..., :keep].astype(np.int64, copy=False)


def race(words: Array, weights: Array, keep: int) -> Array:
    """Positions drawn without putting back, by weight: those whose exponential clocks ring first."""
    with np.errstate(divide="ignore"):
        times = _words.exponential(words.reshape(-1)).reshape(words.shape) / weights
    return np.argsort(times, axis=-1, kind="stable")[..., :keep].astype(np.int64, copy=False)


def weighted(words: Array, weights: Array) -> Array:
    """Positions drawn by weight from each row, one for each word of the row."""
    totals = np.cumsum(weights, axis=-1)
    points = _words.uniform(words.reshape(-1), words.size, _DOUBLE).reshape(words.shape) * totals[:, -1:]
    found = np.empty(words.shape, np.int64)
    for row in range(len(words)):
        last = np.flatnonzero(weights[row])[-1]  # rounding may carry a point to the very end
        found[row] = np.minimum(np.searchsorted(totals[row], points[row], side="right"), last)
    return found
