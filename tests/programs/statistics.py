"""Statistics: moments, ranks, tests, missing values."""

from __future__ import annotations

import math

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.standard_normal(10),),
    others=[lambda rng: (np.array([3.0]),), lambda rng: (np.zeros(0),), lambda rng: (rng.integers(0, 9, 6),)],
)
def welford(xs):
    """Mean and variance in one pass."""
    count, mean, m2 = 0, 0.0, 0.0
    for x in xs:
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
    if count < 2:
        return float(mean), math.nan
    return float(mean), float(m2 / (count - 1))


@program(
    arguments=lambda rng: (rng.standard_normal((20, 3)),),
    others=[lambda rng: (rng.standard_normal((3, 1)),), lambda rng: (rng.random((5, 2)).astype(np.float32),)],
    trace=True,
)
def describe(data):
    """A dict of columns' statistics."""
    quarter, middle, three_quarters = np.percentile(data, [25, 50, 75], axis=0)
    centred = data - data.mean(axis=0)
    spread = data.std(axis=0)
    return {
        "mean": data.mean(axis=0),
        "median": middle,
        "iqr": three_quarters - quarter,
        "skew": (centred**3).mean(axis=0) / spread**3,
        "range": data.max(axis=0) - data.min(axis=0),
        "cov": np.cov(data, rowvar=False),
    }


@program(
    arguments=lambda rng: (rng.standard_normal(12), 3.0 + 2 * rng.standard_normal(12)),
    others=[lambda rng: (np.arange(2.0), np.array([5.0, 1.0])), lambda rng: (np.ones(4), np.arange(4))],
)
def linear_fit(x, y):
    """Slope, intercept and correlation; a vertical line has no slope."""
    dx, dy = x - np.mean(x), y - np.mean(y)
    sxx = np.sum(dx * dx)
    if sxx == 0:
        return math.nan, math.nan, 0.0
    slope = np.sum(dx * dy) / sxx
    r = np.corrcoef(x, y)[0, 1]
    return float(slope), float(np.mean(y) - slope * np.mean(x)), float(r)


@program(
    arguments=lambda rng: (rng.integers(0, 6, 10),),
    others=[lambda rng: (np.zeros(4),), lambda rng: (rng.random(5),), lambda rng: (np.zeros(0),)],
)
def ranks_with_ties(x):
    """Equal values share the average of their ranks."""
    order = np.argsort(x, kind="stable")
    ranks = np.empty(len(x))
    i = 0
    while i < len(x):
        j = i
        while j + 1 < len(x) and x[order[j + 1]] == x[order[i]]:
            j += 1
        ranks[order[i : j + 1]] = (i + j) / 2 + 1
        i = j + 1
    return ranks


@program(
    arguments=lambda rng: (np.vstack([np.ones(4), np.where(rng.random((6, 4)) < 0.3, np.nan, 2.0)]),),
    others=[
        lambda rng: (rng.random((3, 2)),),
        lambda rng: (np.array([[np.nan, 1.0], [2.0, 3.0]], np.float32),),
    ],
    trace=True,
)
def fill_missing(table):
    """Each gap takes its column's mean; how many there were."""
    table = table.copy()
    rows, columns = np.nonzero(np.isnan(table))
    means = np.nanmean(table, axis=0)
    table[rows, columns] = means[columns]
    return table, len(rows), np.nansum(table), np.nanmax(table, axis=0)


@program(
    arguments=lambda rng: (rng.standard_normal(8), rng.standard_normal(6)),
    others=[lambda rng: (np.arange(3.0), np.arange(3.0)), lambda rng: (rng.random(4).astype(np.float32), np.arange(5))],
    trace=True,
)
def t_statistic(a, b):
    """Welch's statistic and its degrees of freedom, Python floats."""
    va, vb = np.var(a, ddof=1) / len(a), np.var(b, ddof=1) / len(b)
    t = (np.mean(a) - np.mean(b)) / np.sqrt(va + vb)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return float(t), float(freedom)


@program(
    arguments=lambda rng: (rng.random((4, 3)) * 20,),
    others=[lambda rng: (np.ones((2, 2)),), lambda rng: (rng.integers(1, 9, (3, 5)),)],
    trace=True,
)
def chi_square(observed):
    total = observed.sum()
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / total
    return np.sum((observed - expected) ** 2 / expected), (observed.shape[0] - 1) * (observed.shape[1] - 1)


@program(
    arguments=lambda rng: (rng.random(15), 0.4, 3),
    others=[lambda rng: (np.zeros(3), 0.5, 1), lambda rng: (np.ones(6), 0.5, 2), lambda rng: (rng.random(0), 0.1, 1)],
)
def cusum_alarm(xs, target, limit):
    """The first place where the drift is beyond the limit; -1 if there is none."""
    high = low = 0.0
    for i, x in enumerate(xs):
        high = max(0.0, high + x - target)
        low = min(0.0, low + x - target)
        if high > limit / 4 or low < -limit / 4:
            return i
    return -1


@program(
    arguments=lambda rng: (rng.standard_normal(20), 3),
    others=[lambda rng: (np.array([1.0, 1.0, 50.0]), 5), lambda rng: (np.zeros(4), 2), lambda rng: (np.arange(7.0), 0)],
    features=["shrinking array", "trip count is an argument"],
)
def sigma_clip(x, rounds):
    """Outliers are thrown away until nobody leaves."""
    for _ in range(rounds):
        centre, spread = np.median(x), x.std()
        keep = np.abs(x - centre) <= 1.5 * spread
        if keep.all():
            break
        x = x[keep]
    return x.mean(), x.size


@program(
    arguments=lambda rng: (rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))),
    others=[
        lambda rng: (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
        lambda rng: (np.array([1.0]), np.array([1.0])),
    ],
    trace=True,
)
def divergences(p, q):
    """Entropy and Kullback-Leibler, in bits; nothing times the logarithm of nothing is nothing."""
    inside = p > 0
    entropy = -np.sum(p[inside] * np.log2(p[inside]))
    kl = np.add.reduce(p[inside] * np.log2(p[inside] / q[inside]))
    return entropy, kl, 0.5 * np.abs(p - q).sum()


@program(
    arguments=lambda rng: (rng.standard_normal(30), np.linspace(-2, 2, 5), 0.4),
    others=[
        lambda rng: (np.zeros(1), np.zeros(1), 1.0),
        lambda rng: (rng.random(4).astype(np.float32), np.zeros(0), 0.1),
    ],
    trace=True,
)
def kernel_density(sample, points, width):
    z = np.subtract.outer(points, sample) / width
    return np.exp(-0.5 * z**2).sum(axis=1) / (len(sample) * width * math.sqrt(2 * math.pi))


@program(
    arguments=lambda rng: (rng.standard_normal(25), rng.random(25), np.array([0.1, 0.5, 0.9])),
    others=[
        lambda rng: (np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.zeros(0)),
        lambda rng: (rng.random(6).astype(np.float32), np.ones(6), np.array([0.0, 1.0])),
    ],
    trace=True,
)
def weighted_quantiles(x, weights, wanted):
    """From a weighted histogram: the running share, read backwards by interpolation."""
    counts, edges = np.histogram(x, bins=8, weights=weights)
    share = np.add.accumulate(np.append(0.0, counts)) / counts.sum()
    return np.interp(wanted, share, edges)


@program(
    arguments=lambda rng: (np.where(rng.random((4, 6)) < 0.3, np.nan, 1.5), np.arange(6.0)),
    others=[
        lambda rng: (np.full((2, 3), 2.0), np.arange(3.0)),
        lambda rng: (np.array([[np.nan, np.nan, 1.0]], np.float32), np.ones(3)),
    ],
)
def gaps(table, positions):
    """Each row's gaps filled on a line between its neighbours; rows with fewer than two values stay as they are."""
    filled = 0
    for row in table:
        missing = np.isnan(row)
        if missing.sum() > len(row) - 2 or not missing.any():
            continue
        row[missing] = np.interp(positions[missing], positions[~missing], row[~missing])
        filled += np.count_nonzero(missing)
    return filled, np.nanstd(table), np.nanmedian(table)
