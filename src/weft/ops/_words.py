"""How 64-bit words become random numbers: the contract that every way of running a program keeps.

Each function takes words and gives numbers, with a number of words that depends on how many elements there are and on
nothing else. Floats are made with integer operations, +, -, *, / and square roots alone, each rounded once, in the
order written here: the bits are the same on every machine and in native code (which must not fuse multiply and add).
docs/random.md states the rules.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any

_BLOCK = 8192  # elements at a time, so that a block and its temporaries stay in the cache
_LN2 = 0.6931471805599453
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first times a small whole number is exact


def _in_blocks(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function of each element worked out block by block, which is several times faster for large arrays."""

    @functools.wraps(function)
    def blocks(x: Array, *rest: Any) -> Array:
        if len(x) <= _BLOCK:
            return function(x, *rest)
        first = function(x[:_BLOCK], *rest)
        y = np.empty(len(x), first.dtype)
        y[:_BLOCK] = first
        for start in range(_BLOCK, len(x), _BLOCK):
            y[start : start + _BLOCK] = function(x[start : start + _BLOCK], *rest)
        return y

    return blocks


def halves(words: Array, count: int) -> Array:
    """The first so many 32-bit halves of words, the low half of each first."""
    return words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)[:count]


def words_for(count: int, dtype: np.dtype[Any]) -> int:
    """Words that so many uniform or normal numbers of a dtype take: one each for float64, half of one for smaller."""
    return count if dtype.itemsize == 8 else (count + 1) // 2


# ── Uniform numbers ───────────────────────────────────────────────────────────────────────────────────────────────────


def uniform(words: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Multiples of 2^-p in [0, 1), from the p highest bits: 53 for float64, 24 for float32, 11 for float16."""
    if dtype.itemsize == 8:
        return _fractions(words, 11, np.int64, np.float64)
    y = _fractions(halves(words, count), 8 if dtype.itemsize == 4 else 21, np.int32, np.float32)
    return y.astype(dtype, copy=False)


@_in_blocks
def _fractions(bits: Array, dropped: int, whole: Any, dtype: Any) -> Array:
    """What is left of each number without its lowest bits, as a fraction."""
    y = (bits >> dropped).view(whole).astype(dtype)
    y *= 2.0 ** (dropped - 8 * bits.itemsize)
    return y


@_in_blocks
def interior(words: Array) -> Array:
    """Odd multiples of 2^-53 in (0, 1): neither end, as logarithms need it."""
    y = (words >> 11 | 1).view(np.int64).astype(np.float64)
    y *= 2.0**-53
    return y


def integers(words: Array, span: int) -> Array:
    """Whole numbers below `span`: the words of an element, read as a fraction, times the span, rounded down."""
    if span <= 1 << 32:
        return _high_product(words, span)
    first, second = words[0::2], words[1::2]
    if span == 1 << 64:
        return first.copy()
    low = first * np.uint64(span)  # of (first 2^64 + second) span / 2^128 the fraction is dropped
    carried = low + _high_product(second, span) < low
    return _high_product(first, span) + carried


def integer_words(count: int, span: int) -> int:
    """Words that so many whole numbers below `span` take."""
    return count if span <= 1 << 32 else 2 * count


@_in_blocks
def _high_product(words: Array, span: int) -> Array:
    """The upper 64 bits of the 128-bit product of each word and a number up to 2^64 - 1."""
    high, low = words >> 32, words & 0xFFFFFFFF
    if span <= 1 << 32:
        return (high * np.uint64(span) + (low * np.uint64(span) >> 32)) >> 32
    top, bottom = np.uint64(span >> 32), np.uint64(span & 0xFFFFFFFF)
    middle = high * bottom + (low * bottom >> 32)
    return high * top + (middle >> 32) + ((low * top + (middle & 0xFFFFFFFF)) >> 32)


# ── Logarithm, exponential ────────────────────────────────────────────────────────────────────────────────────────────


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, the highest power first."""
    total = x * coefficients[0]
    total += coefficients[1]
    for c in coefficients[2:]:
        total *= x
        total += c
    return total


# 2 atanh(s) = 2 s (1 + s²/3 + s⁴/5 + …): with s below 0.172, ten terms reach float64's precision, four float32's.
_ATANH = [1 / (2 * k + 1) for k in range(10, -1, -1)]
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(11, -1, -1)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(12, -1, -1)]
_EXP = [1 / math.factorial(k) for k in range(13, -1, -1)]


@_in_blocks
def log(x: Array) -> Array:
    """Natural logarithm of positive normal numbers, float64 or float32: e ln 2 + log m, m from sqrt(1/2) to sqrt(2)."""
    double = x.dtype == np.float64
    whole, mantissa, half = (np.int64, 52, 0x3FE6A09E667F3BCD) if double else (np.int32, 23, 0x3F3504F3)
    one = 0x3FF << 52 if double else 0x7F << 23
    bits = x.view(whole) + (one - half)
    exponent = (bits >> mantissa) - (one >> mantissa)
    bits &= (1 << mantissa) - 1
    bits += half
    m = bits.view(x.dtype)
    m -= 1
    s = m / (m + 2)
    y = _horner(s * s, _ATANH if double else _ATANH[-5:])
    y *= s
    y *= 2
    y += exponent.astype(x.dtype) * x.dtype.type(_LN2)
    return y


@_in_blocks
def exp(x: Array) -> Array:
    """e to the x for float64: 2^k times the series of the rest, which is at most ln 2 / 2 in size."""
    x = np.clip(x, -800.0, 800.0)
    k = np.rint(x * (1 / _LN2))
    rest = (x - k * _LN2_HIGH) - k * _LN2_LOW
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(_horner(rest, _EXP), k.astype(np.int32))


@_in_blocks
def exponential(words: Array) -> Array:
    """-log u: exponentially distributed numbers, one word each."""
    y = log(interior(words))
    return np.negative(y, out=y)


@_in_blocks
def gumbel(words: Array) -> Array:
    """-log(-log u): numbers of the Gumbel distribution, one word each."""
    y = log(exponential(words))
    return np.negative(y, out=y)


# ── Normal numbers ────────────────────────────────────────────────────────────────────────────────────────────────────


def normal(words: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Standard normal numbers in pairs (r cos a, r sin a), two words a pair; below float64, two halves of one."""
    double = dtype.itemsize == 8
    parts = words if double else halves(words, 2 * len(words))
    pairs = len(parts) // 2
    y = np.empty((pairs, 2), np.float64 if double else np.float32)
    polar = _polar64 if double else _polar32
    block = _BLOCK if double else 2 * _BLOCK
    for start in range(0, pairs, block):
        stop = min(start + block, pairs)
        radius, angle = polar(parts[2 * start : 2 * stop : 2], parts[2 * start + 1 : 2 * stop : 2])
        square = angle * angle
        cosine = _horner(square, _COSINE if double else _COSINE[-8:])
        np.multiply(cosine, radius, out=y[start:stop, 0])
        sine = _horner(square, _SINE if double else _SINE[-7:])
        sine *= angle
        np.multiply(sine, radius, out=y[start:stop, 1])
    return y.reshape(-1)[:count].astype(dtype, copy=False)


def normal_words(count: int, dtype: np.dtype[Any]) -> int:
    """Words that so many normal numbers take."""
    return 2 * ((count + 1) // 2) if dtype.itemsize == 8 else (count + 1) // 2


def _polar64(first: Array, second: Array) -> tuple[Array, Array]:
    """Radius sqrt(-2 log u) with the sign of the lowest bit, and an angle within half a turn."""
    radius = log(interior(first))
    radius *= -2
    np.sqrt(radius, out=radius)
    radius.view(np.uint64)[...] |= first << 63
    angle = second.view(np.int64).astype(np.float64)
    angle *= math.pi * 2.0**-64
    return radius, angle


def _polar32(first: Array, second: Array) -> tuple[Array, Array]:
    """The same in float32; of the half word for the radius all 31 higher bits count, so that the tails are long."""
    u = (first >> 1 | 1).view(np.int32).astype(np.float32)
    u *= 2.0**-31
    radius = log(u)
    radius *= -2
    np.sqrt(radius, out=radius)
    radius.view(np.uint32)[...] |= first << 31
    angle = second.view(np.int32).astype(np.float32)
    angle *= math.pi * 2.0**-32
    return radius, angle
