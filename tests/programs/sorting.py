"""Sorting, searching and selecting, one comparison at a time."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _numbers(n, dtype=np.float64):
    return lambda rng: ((rng.random(n) * 100).astype(dtype),)


@program(
    arguments=_numbers(8),
    others=[_numbers(8, np.int64), lambda rng: (np.array([3.0, 1.0, 2.0, 1.0, 0.0, -1.0, 5.0, 4.0], np.float32),)],
)
def sorting_network(a):
    """Batcher's network for eight: the comparisons do not depend on the data."""
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (1, 2), (5, 6)]
    pairs += [(0, 4), (1, 5), (2, 6), (3, 7), (2, 4), (3, 5), (1, 2), (3, 4), (5, 6)]
    for i, j in pairs:
        if a[i] > a[j]:
            a[i], a[j] = a[j], a[i]
    return a


@program(
    arguments=_numbers(16),
    others=[_numbers(1), _numbers(4, np.int32), lambda rng: (np.arange(8.0)[::-1].copy(),)],
)
def bitonic_sort(a):
    """A network with whole-array steps; the length is a power of two."""
    n = len(a)
    index = np.arange(n)
    k = 2
    while k <= n:
        j = k // 2
        while j > 0:
            partner = index ^ j
            low = np.minimum(a, a[partner])
            high = np.maximum(a, a[partner])
            keep_low = ((index & k) == 0) == (index < partner)
            a = np.where(keep_low, low, high)
            j //= 2
        k *= 2
    return a


@program(
    arguments=_numbers(9),
    others=[_numbers(0), _numbers(5, np.int64), lambda rng: (np.arange(6),)],
)
def bubble_sort(a):
    """Ends after a pass without an exchange; counts the passes."""
    n = len(a)
    passes = 0
    for i in range(n - 1):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        passes += 1
        if not swapped:
            break
    return passes


@program(
    arguments=_numbers(8),
    others=[_numbers(1), _numbers(6, np.int16), lambda rng: (np.zeros(4),)],
)
def insertion_sort(values):
    a = values.copy()
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program(
    arguments=_numbers(12),
    others=[_numbers(1), _numbers(0), _numbers(7, np.int64), lambda rng: (np.full(6, 2.0),)],
)
def quick_sort(a):
    """Hoare's partition, with the open ranges on a stack kept in an array."""
    stack = np.zeros((2 * len(a) + 2, 2), dtype=np.int64)
    stack[0] = 0, len(a) - 1
    top = 1
    while top > 0:
        top -= 1
        low, high = stack[top]
        if low >= high:
            continue
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        stack[top] = low, j
        stack[top + 1] = i, high
        top += 2


@program(
    arguments=lambda rng: (np.sort(rng.random(5)), np.sort(rng.random(7))),
    others=[
        lambda rng: (np.zeros(0), np.sort(rng.random(3))),
        lambda rng: (np.array([1, 2, 3]), np.array([2, 2])),
        lambda rng: (np.array([9.0]), np.zeros(0)),
    ],
    features=["traced slice bounds"],
)
def merge(a, b):
    out = np.empty(a.size + b.size, dtype=np.result_type(a, b))
    i = j = k = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    if i < len(a):
        out[k:] = a[i:]
    else:
        out[k:] = b[j:]
    return out


@program(
    arguments=lambda rng: (np.arange(0, 30, 3), 12),
    others=[
        lambda rng: (np.arange(0, 30, 3), 13),
        lambda rng: (np.zeros(0), 1.0),
        lambda rng: (np.sort(rng.random(9)), -1.0),
    ],
)
def binary_search(a, wanted):
    low, high = 0, len(a) - 1
    while low <= high:
        middle = (low + high) // 2
        if a[middle] == wanted:
            return middle
        elif a[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@program(
    arguments=lambda rng: (rng.integers(0, 10, 20), 10),
    others=[lambda rng: (np.zeros(0, np.int64), 3), lambda rng: (np.zeros(4, np.uint8), 1)],
)
def counting_sort(keys, size):
    """Stable: counts, running sums, and places filled from the back."""
    counts = np.zeros(size, dtype=np.intp)
    for key in keys:
        counts[key] += 1
    ends = np.add.accumulate(counts)
    out = np.empty_like(keys)
    for i in range(len(keys) - 1, -1, -1):
        ends[keys[i]] -= 1
        out[ends[keys[i]]] = keys[i]
    return out


@program(
    arguments=lambda rng: (rng.integers(0, 2**32, 10, dtype=np.uint32),),
    others=[lambda rng: (np.zeros(0, np.uint32),), lambda rng: (np.array([2**32 - 1, 0, 1], np.uint32),)],
)
def radix_sort(keys):
    """One bit at a time, zeros before ones."""
    for bit in range(32):
        ones = (keys >> np.uint32(bit)) & np.uint32(1) == 1
        keys = np.concatenate([keys[~ones], keys[ones]])
    return keys


@program(
    arguments=lambda rng: (rng.random((10, 2)),),
    others=[
        lambda rng: (np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]]),),
        lambda rng: (rng.random((3, 2)).astype(np.float32),),
    ],
)
def convex_hull(points):
    """Andrew's monotone chain on a stack of row numbers; how many points the hull has, and which."""

    def turn(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    order = np.lexsort((points[:, 1], points[:, 0]))
    n = len(order)
    hull = np.zeros(2 * n, dtype=np.int64)
    k = 0
    for i in range(n):
        p = order[i]
        while k >= 2 and turn(points[hull[k - 2]], points[hull[k - 1]], points[p]) <= 0:
            k -= 1
        hull[k] = p
        k += 1
    lower = k + 1
    for i in range(n - 2, -1, -1):
        p = order[i]
        while k >= lower and turn(points[hull[k - 2]], points[hull[k - 1]], points[p]) <= 0:
            k -= 1
        hull[k] = p
        k += 1
    return hull[: k - 1]


@program(
    arguments=lambda rng: (rng.random(9), 4),
    others=[lambda rng: (rng.random(1), 0), lambda rng: (rng.integers(0, 5, 8), 7)],
    features=["shrinking array"],
)
def quickselect(a, k):
    """The k-th smallest: each round keeps only the side that holds it."""
    while True:
        pivot = a[len(a) // 2]
        below, above = a[a < pivot], a[a > pivot]
        equal = len(a) - len(below) - len(above)
        if k < len(below):
            a = below
        elif k < len(below) + equal:
            return pivot
        else:
            k -= len(below) + equal
            a = above
