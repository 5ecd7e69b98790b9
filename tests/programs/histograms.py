"""Counting: bins, weights, groups, two dimensions."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.random(40), rng.random(40)),
    others=[lambda rng: (np.zeros(1), np.ones(1)), lambda rng: (rng.random(7).astype(np.float32), np.arange(7))],
    trace=True,
)
def azimuthal(data, radius):
    """The mean of the data in each ring, from two histograms; an empty ring has none."""
    edges = np.linspace(0, radius.max(), 6)
    inside = np.histogram(radius, bins=edges)[0]
    total = np.histogram(radius, bins=edges, weights=data)[0]
    return np.where(inside > 0, total / np.maximum(inside, 1), 0), edges[:-1] + np.diff(edges) / 2


@program(
    arguments=lambda rng: (rng.random(25), 6),
    others=[
        lambda rng: (np.array([2.0, 2.0]), 3),
        lambda rng: (rng.integers(0, 10, 12), 4),
        lambda rng: (np.arange(3.0), 1),
    ],
)
def histogram_by_hand(x, bins):
    """The last bin holds its right edge too."""
    low, high = x.min(), x.max()
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts = np.zeros(bins, np.int64)
    for value in x:
        k = int((value - low) / (high - low) * bins)
        if k == bins:
            k -= 1
        counts[k] += 1
    return counts


@program(
    arguments=lambda rng: (rng.integers(0, 4, 12), rng.random(12), 4),
    others=[
        lambda rng: (np.array([2]), np.array([1.5]), 5),
        lambda rng: (np.zeros(0, np.int64), np.zeros(0), 2),
        lambda rng: (rng.integers(0, 2, 6), rng.random(6).astype(np.float32), 2),
    ],
    trace=True,
)
def group_means(groups, values, n):
    """NaN where a group is empty."""
    sums = np.bincount(groups, weights=values, minlength=n)
    counts = np.bincount(groups, minlength=n)
    means = np.full(n, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, groups, values)
    largest[counts == 0] = 0
    return means, largest


@program(
    arguments=lambda rng: (rng.random(30), rng.random(30), 4, 3),
    others=[lambda rng: (np.zeros(2), np.ones(2), 2, 2), lambda rng: (np.zeros(0), np.zeros(0), 1, 3)],
    trace=True,
)
def histogram_2d(x, y, nx, ny):
    """Cells numbered through, counted, and folded into a table."""
    i = np.minimum((x * nx).astype(int), nx - 1)
    j = np.minimum((y * ny).astype(int), ny - 1)
    table = np.bincount(i * ny + j, minlength=nx * ny).reshape(nx, ny)
    return table, table.sum(axis=0), table.sum(axis=1)


@program(
    arguments=lambda rng: (rng.integers(0, 50, 30),),
    others=[lambda rng: (np.array([7]),), lambda rng: (np.array([3, 1, 3, 1]),), lambda rng: (np.zeros(5, np.int8),)],
)
def mode(x):
    """The most frequent value, the smallest of them on a tie, by one walk over the sorted array."""
    x = np.sort(x)
    best, best_count = x[0], 1
    count = 1
    for i in range(1, len(x)):
        count = count + 1 if x[i] == x[i - 1] else 1
        if count > best_count:
            best, best_count = x[i], count
    return best, best_count


@program(
    arguments=lambda rng: (rng.random(20), np.array([0.0, 0.2, 0.5, 1.0])),
    others=[lambda rng: (np.array([0.2, 0.5]), np.array([0.2, 0.5])), lambda rng: (np.zeros(0), np.arange(3.0))],
    trace=True,
)
def binned_statistic(x, edges):
    """Bins of unequal width: densities, and which bin each value fell into."""
    where = np.searchsorted(edges, x, side="right") - 1
    counts, _ = np.histogram(x, bins=edges)
    return counts / np.diff(edges), where, np.digitize(x, edges) - 1


@program(
    arguments=lambda rng: (rng.integers(0, 3, 10), rng.integers(0, 3, 10), 3),
    others=[lambda rng: (np.array([0]), np.array([1]), 2), lambda rng: (np.arange(4), np.arange(4), 4)],
    script=False,  # a comprehension that assigns a variable of the function must know its length
)
def confusion(truth, guess, n):
    """The table, accuracy, and each class's recall; a class that never occurs has none."""
    table = np.zeros((n, n), dtype=int)
    for t, g in zip(truth, guess, strict=True):
        table[t, g] += 1
    recall = [table[c, c] / total if (total := table[c].sum()) else 0.0 for c in range(n)]
    return table, np.trace(table) / table.sum(), np.array(recall)
