"""Sequences of integers: texts as arrays of bytes, digits, permutations, ciphers, matching."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _text(text):
    return np.frombuffer(text.encode(), dtype=np.uint8).copy()


@program(
    arguments=lambda rng: (_text("Hello, World"), 3),
    others=[lambda rng: (_text(""), 5), lambda rng: (_text("xyz XYZ"), -1), lambda rng: (_text("123"), 30)],
    features=["narrowing write"],
)
def caesar(text, shift):
    """Letters move along the alphabet, in place; the rest stays."""
    for first in (65, 97):
        letters = (text >= first) & (text < first + 26)
        text[letters] = (text[letters].astype(np.int64) - first + shift) % 26 + first


@program(
    arguments=lambda rng: (_text("abracadabra"), _text("abra")),
    others=[
        lambda rng: (_text("aaaa"), _text("aa")),
        lambda rng: (_text("abc"), _text("x")),
        lambda rng: (np.array([1, 2, 1, 2, 1]), np.array([1, 2, 1])),
    ],
)
def knuth_morris_pratt(text, pattern):
    """Where the pattern begins, marked in an array as long as the text."""
    failure = np.zeros(len(pattern), dtype=np.int64)
    k = 0
    for i in range(1, len(pattern)):
        while k > 0 and pattern[k] != pattern[i]:
            k = failure[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        failure[i] = k
    found = np.zeros(len(text), dtype=bool)
    k = 0
    for i, symbol in enumerate(text):
        while k > 0 and pattern[k] != symbol:
            k = failure[k - 1]
        if pattern[k] == symbol:
            k += 1
        if k == len(pattern):
            found[i - k + 1] = True
            k = failure[k - 1]
    return found


@program(
    arguments=lambda rng: (_text("was it a car"),),
    others=[lambda rng: (_text("abba"),), lambda rng: (_text(""),), lambda rng: (np.array([1, 2, 1]),)],
)
def is_palindrome(text):
    i, j = 0, len(text) - 1
    while i < j:
        if text[i] != text[j]:
            return False
        i, j = i + 1, j - 1
    return True


@program(
    arguments=lambda rng: (27,),
    others=[lambda rng: (1,), lambda rng: (8,), lambda rng: (7,)],
)
def collatz(n):
    """Steps to one and the highest point on the way."""
    steps, top = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        top = max(top, n)
        steps += 1
    return steps, top


@program(
    arguments=lambda rng: (1071, 462),
    others=[lambda rng: (7, 0), lambda rng: (0, 0), lambda rng: (np.int64(36), np.int64(60))],
)
def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b:
        q = a // b
        a, b = b, a % b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@program(
    arguments=lambda rng: (rng.permutation(8),),
    others=[
        lambda rng: (np.arange(4),),
        lambda rng: (np.arange(5)[::-1].copy(),),
        lambda rng: (np.zeros(0, np.int64),),
    ],
)
def permutation_cycles(p):
    """Number of cycles, the sign, and the inverse."""
    seen = np.zeros(len(p), dtype=bool)
    cycles = 0
    for start in range(len(p)):
        if seen[start]:
            continue
        k = start
        while not seen[k]:
            seen[k] = True
            k = p[k]
        cycles += 1
    inverse = np.empty_like(p)
    inverse[p] = np.arange(len(p))
    return cycles, -1 if (len(p) - cycles) % 2 else 1, inverse


@program(
    arguments=lambda rng: (np.array([1, 2, 3, 5, 4]),),
    others=[
        lambda rng: (np.array([3, 2, 1]),),
        lambda rng: (np.array([0]),),
        lambda rng: (np.array([1, 1, 2], np.int8),),
    ],
    features=["overlap", "traced slice bounds"],
)
def next_permutation(a):
    """In place; False, and sorted again, after the last one."""
    i = len(a) - 2
    while i >= 0 and a[i] >= a[i + 1]:
        i -= 1
    if i < 0:
        a[:] = a[::-1]
        return False
    j = len(a) - 1
    while a[j] <= a[i]:
        j -= 1
    a[i], a[j] = a[j], a[i]
    a[i + 1 :] = a[i + 1 :][::-1]
    return True


@program(
    arguments=lambda rng: (np.array([9, 9, 9]), np.array([1])),
    others=[lambda rng: (np.array([1, 2, 3]), np.array([4, 5, 6])), lambda rng: (np.array([0]), np.array([5, 0]))],
)
def add_digits(a, b):
    """Long addition, most significant digit first, without leading zeros."""
    n = max(len(a), len(b)) + 1
    out = np.zeros(n, dtype=np.int64)
    carry = 0
    for k in range(1, n + 1):
        digit = carry
        if k <= len(a):
            digit += a[-k]
        if k <= len(b):
            digit += b[-k]
        carry, out[-k] = divmod(digit, 10)
    first = 0
    while first < n - 1 and out[first] == 0:
        first += 1
    return out[first:]


@program(
    arguments=lambda rng: (np.array([3.0, -2.0, 0.5, 1.0]), np.linspace(-1, 1, 5)),
    others=[lambda rng: (np.array([7]), np.arange(3)), lambda rng: (np.array([1 + 1j, 2.0]), np.array([1j, 0.5]))],
)
def horner(coefficients, x):
    """Value and slope, and the same by NumPy."""
    value = np.zeros_like(x, dtype=np.result_type(coefficients, x))
    slope = np.zeros_like(value)
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value, slope, np.polyval(coefficients, x)


@program(
    arguments=lambda rng: (rng.integers(-5, 6, 12),),
    others=[lambda rng: (np.array([-3, -1, -2]),), lambda rng: (np.array([5]),), lambda rng: (rng.standard_normal(6),)],
)
def maximum_subarray(a):
    """Kadane: the best sum, where it begins and where it ends."""
    best, best_start, best_end = a[0], 0, 1
    current, start = a[0], 0
    for i in range(1, len(a)):
        if current < 0:
            current, start = a[i], i
        else:
            current += a[i]
        if current > best:
            best, best_start, best_end = current, start, i + 1
    return best, best_start, best_end


@program(
    arguments=lambda rng: (np.array([10, 9, 2, 5, 3, 7, 101, 18]),),
    others=[lambda rng: (np.arange(5)[::-1],), lambda rng: (np.zeros(0),), lambda rng: (rng.random(7),)],
)
def longest_increasing(a):
    """Patience: the smallest tail of each length."""
    tails = np.empty(len(a), a.dtype)
    size = 0
    for x in a:
        k = np.searchsorted(tails[:size], x)
        tails[k] = x
        if k == size:
            size += 1
    return size
