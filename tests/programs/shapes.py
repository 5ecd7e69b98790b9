"""Sizes that decide: shapes in arithmetic, slices with computed bounds, results of unknown size."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.random((5, 4)), rng.random((5, 4))),
    others=[
        lambda rng: (rng.random((1, 1)), rng.random((1, 1))),
        lambda rng: (rng.integers(0, 5, (3, 3)), np.ones((3, 3), int)),
    ],
)
def prefix_products(a, b):
    """a[i, :j] @ b[:j] for every i and j."""
    m, n = a.shape
    out = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            out[i, j] = a[i, :j] @ b[:j, j]
    return out


@program(
    arguments=lambda rng: (rng.random((6, 7)),),
    others=[
        lambda rng: (rng.random((1, 1)),),
        lambda rng: (rng.random((3, 8)).astype(np.float32),),
        lambda rng: (np.zeros((4, 0)),),
    ],
    trace=True,
)
def quarters(x):
    """Halves by shape arithmetic; odd sizes leave the middle to the second half."""
    h, w = x.shape[0] // 2, x.shape[-1] // 2
    parts = [x[:h, :w], x[:h, w:], x[h:, :w], x[h:, w:]]
    return [p.sum() for p in parts], x.size - h * w, x.ndim + len(x)


@program(
    arguments=lambda rng: (rng.integers(-5, 6, 15),),
    others=[lambda rng: (np.zeros(3, np.int64),), lambda rng: (np.zeros(0),), lambda rng: (-np.ones(4),)],
    trace=True,
)
def positives(x):
    """A selection, its size in arithmetic, and work on what was selected."""
    chosen = x[x > 0]
    scaled = chosen * 2 + np.arange(len(chosen))
    return scaled, len(chosen) / max(len(x), 1), np.sort(chosen)[::-1]


@program(
    arguments=lambda rng: (np.arange(2, 30),),
    others=[lambda rng: (np.zeros(0, np.int64),), lambda rng: (np.array([5]),), lambda rng: (np.arange(4, 9),)],
    features=["shrinking array"],
)
def sieve_by_shrinking(numbers):
    """Takes the first, drops its multiples, until none is left."""
    count, total = 0, 0
    while len(numbers):
        p = numbers[0]
        numbers = numbers[numbers % p != 0]
        count += 1
        total += p
    return count, total


@program(
    arguments=lambda rng: (rng.random(12), np.array([0, 3, 3, 8, 12])),
    others=[
        lambda rng: (np.ones(2), np.array([0, 2])),
        lambda rng: (np.zeros(0), np.array([0, 0, 0])),
        lambda rng: (np.arange(6), np.array([0, 1, 6])),
    ],
)
def segment_sums(values, pointers):
    """Rows of different length in one array; an empty one sums to nothing."""
    n = len(pointers) - 1
    sums = np.zeros(n)
    longest = 0
    for i in range(n):
        segment = values[pointers[i] : pointers[i + 1]]
        sums[i] = segment.sum()
        longest = max(longest, len(segment))
    return sums, longest


@program(
    arguments=lambda rng: (rng.random(10), 3, 7),
    others=[lambda rng: (rng.random(10), -4, 20), lambda rng: (rng.random(4), 3, 1), lambda rng: (np.arange(5), 0, -1)],
    trace=True,
    features=["traced slice bounds"],
)
def cut(x, start, stop):
    """Bounds as Python has them: negative ones, and ones beyond the end."""
    middle = x[start:stop]
    return middle, x[:start].sum() + x[stop:].sum(), len(middle), x[start::2]


@program(
    arguments=lambda rng: (rng.random((4, 3)), 5),
    others=[lambda rng: (rng.random((1, 1)), 1), lambda rng: (rng.random((2, 2)).astype(np.float32), 3)],
    features=["trip count is an argument"],
)
def grow(x, times):
    """An array that becomes longer each round."""
    result = x[:0]
    for k in range(times):
        result = np.vstack([result, x[:1] * k])
    return result, result.shape[0] - times


@program(
    arguments=lambda rng: (rng.random((2, 3, 4)),),
    others=[lambda rng: (rng.random((1, 1, 1)),), lambda rng: (np.arange(12).reshape(3, 2, 2),)],
    trace=True,
)
def axes(x):
    """Moving, joining and splitting axes."""
    b, h, w = x.shape
    merged = x.reshape(b, h * w)
    moved = np.moveaxis(x, 0, -1)
    turned = x.transpose(2, 0, 1)
    spread = np.broadcast_to(merged.mean(axis=1)[:, None, None], x.shape)
    return merged.T, moved.shape, turned[-1], np.squeeze(x[:1]), x - spread, np.expand_dims(x, 1).shape


@program(
    arguments=lambda rng: (rng.integers(0, 4, 12), rng.integers(0, 4, 7)),
    others=[lambda rng: (np.zeros(0, np.int64), np.arange(3)), lambda rng: (np.arange(3), np.arange(10, 12))],
    trace=True,
)
def sets(a, b):
    """Distinct values, what two arrays share, and where."""
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
    both = np.intersect1d(a, b)
    return values, inverse, counts, both, np.isin(a, b), np.setdiff1d(a, b)


@program(
    arguments=lambda rng: (rng.random((5, 2)), 3),
    others=[lambda rng: (rng.random((2, 1)), 2), lambda rng: (np.arange(8.0).reshape(4, 2), 1)],
    trace=True,
)
def sliding_windows(x, width):
    """Windows stacked by a comprehension over starts that depend on the shape."""
    n = x.shape[0] - width + 1
    windows = np.stack([x[i : i + width] for i in range(n)])
    return windows.mean(axis=1), windows.shape[0] * width


@program(
    arguments=lambda rng: (rng.random(11),),
    others=[lambda rng: (rng.random(1),), lambda rng: (np.arange(6.0),), lambda rng: (np.zeros(0),)],
    features=["shrinking array"],
)
def pairwise_sum(x):
    """Halves are added until one number is left; an odd one is carried along."""
    while len(x) > 1:
        half = len(x) // 2
        rest = x[2 * half :]
        x = np.concatenate([x[:half] + x[half : 2 * half], rest])
    return x.sum()
