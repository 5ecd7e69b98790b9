"""Signals: transforms, filters, peaks, runs."""

from __future__ import annotations

import numpy as np

from programs._program import program


def fft(x):
    n = len(x)
    if n == 1:
        return x
    even, odd = fft(x[::2]), fft(x[1::2])
    twiddled = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + twiddled, even - twiddled])


@program(
    arguments=lambda rng: (rng.standard_normal(16),),
    others=[
        lambda rng: (rng.standard_normal(1),),
        lambda rng: (rng.standard_normal(8) + 1j * rng.standard_normal(8),),
        lambda rng: (np.arange(4),),
    ],
    trace=True,
    script=False,
)
def fft_recursive(x):
    """Cooley and Tukey; the recursion depends on the length only."""
    return fft(np.asarray(x, dtype=complex))


@program(
    arguments=lambda rng: (rng.standard_normal(16) + 0j,),
    others=[lambda rng: (np.ones(1, complex),), lambda rng: ((rng.standard_normal(4) * 1j).astype(np.complex64),)],
)
def fft_in_place(a):
    """Bit reversal, then butterflies, all in the argument."""
    n = len(a)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        w_length = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(start, start + length // 2):
                u, v = a[k], a[k + length // 2] * w
                a[k] = u + v
                a[k + length // 2] = u - v
                w *= w_length
        length <<= 1


@program(
    arguments=lambda rng: (rng.standard_normal(9),),
    others=[lambda rng: (np.ones(1),), lambda rng: (rng.standard_normal(5).astype(np.float32),)],
    trace=True,
)
def dft_matrix(x):
    """The transform as a matrix, its inverse, and the power at each frequency."""
    n = x.shape[0]
    k = np.arange(n)
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / n)
    spectrum = matrix @ x
    back = (np.conj(matrix) @ spectrum).real / n
    return spectrum, back, np.abs(spectrum[: n // 2 + 1]) ** 2


@program(
    arguments=lambda rng: (rng.standard_normal(32), 5.0, 100.0),
    others=[lambda rng: (rng.standard_normal(7), 100.0, 10.0), lambda rng: (np.zeros(4), 0.0, 1.0)],
    trace=True,
)
def low_pass(x, cutoff, rate):
    """What is too fast is taken out of the spectrum."""
    spectrum = np.fft.rfft(x)
    frequency = np.fft.rfftfreq(len(x), d=1 / rate)
    spectrum[frequency > cutoff] = 0
    return np.fft.irfft(spectrum, n=len(x))


@program(
    arguments=lambda rng: (rng.standard_normal(12), 4),
    others=[lambda rng: (rng.standard_normal(3), 3), lambda rng: (np.arange(5), 1), lambda rng: (np.arange(4.0), 2)],
)
def moving_averages(x, window):
    """By running sums, by convolution, and by weights that fall away."""
    total = np.cumsum(np.concatenate(([0.0], x)))
    simple = (total[window:] - total[:-window]) / window
    convolved = np.convolve(x, np.ones(window) / window, mode="valid")
    weights = np.arange(window, 0, -1)
    weighted = np.convolve(x, weights / weights.sum(), "same")
    return simple, convolved, weighted


@program(
    arguments=lambda rng: (rng.standard_normal(10), 0.3, 0.1),
    others=[
        lambda rng: (np.array([1.0, 2.0]), 1.0, 0.0),
        lambda rng: (rng.standard_normal(5).astype(np.float32), 0.5, 0.5),
    ],
)
def exponential_smoothing(x, alpha, beta):
    """Holt's level and trend."""
    smoothed = np.zeros_like(x)
    level, trend = x[0], x[1] - x[0]
    smoothed[0] = level
    for t in range(1, len(x)):
        last = level
        level = alpha * x[t] + (1 - alpha) * (level + trend)
        trend = beta * (level - last) + (1 - beta) * trend
        smoothed[t] = level
    return smoothed, level + trend


@program(
    arguments=lambda rng: (rng.standard_normal(15), 5),
    others=[lambda rng: (np.ones(4), 2), lambda rng: (rng.standard_normal(6), 0)],
    features=["trip count is an argument"],
)
def autocorrelation(x, lags):
    """Zero where the series does not vary."""
    centred = x - x.mean()
    variance = np.dot(centred, centred)
    result = np.zeros(lags + 1)
    if variance == 0:
        return result
    for lag in range(lags + 1):
        result[lag] = np.dot(centred[lag:], centred[: len(x) - lag]) / variance
    return result


@program(
    arguments=lambda rng: (rng.standard_normal(20), 0.2),
    others=[lambda rng: (np.arange(5.0), 0.0), lambda rng: (np.array([0.0, 1.0, 1.0, 0.0, 2.0, 0.0]), 0.5)],
)
def peaks(x, height):
    """Places higher than both neighbours and than `height`; a plateau is no peak."""
    found = []
    for i in range(1, len(x) - 1):
        if x[i] <= height:
            continue
        if x[i - 1] < x[i] > x[i + 1]:
            found.append(i)
    return np.array(found, dtype=np.int64)


@program(
    arguments=lambda rng: (rng.integers(0, 2, 15),),
    others=[
        lambda rng: (np.array([5]),),
        lambda rng: (np.array([1, 1, 1, 2, 2, 3]),),
        lambda rng: (np.zeros(4, np.uint8),),
    ],
    trace=True,
)
def run_lengths(x):
    """Values and lengths of runs, and the series built again from them."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(x) != 0) + 1))
    lengths = np.diff(np.append(starts, len(x)))
    values = x[starts]
    return values, lengths, np.repeat(values, lengths)


@program(
    arguments=lambda rng: (rng.standard_normal(8), rng.standard_normal(3)),
    others=[
        lambda rng: (np.ones(1), np.ones(1)),
        lambda rng: (np.arange(4), np.array([1, -1])),
        lambda rng: (rng.standard_normal(3) + 1j, rng.standard_normal(5)),
    ],
)
def convolve_by_hand(a, b):
    out = np.zeros(len(a) + len(b) - 1, dtype=np.result_type(a, b))
    for i, value in enumerate(a):
        out[i : i + len(b)] += value * b
    return out


@program(
    arguments=lambda rng: (np.array([0.2, 0.5, 0.3]), np.array([1.0, -0.4]), rng.standard_normal(9)),
    others=[
        lambda rng: (np.ones(1), np.ones(1), rng.standard_normal(3)),
        lambda rng: (np.array([0.5]), np.array([2.0, 0.1, 0.2]), rng.standard_normal(2)),
    ],
)
def iir_filter(b, a, x):
    """A recursive filter in direct form; samples before the first are nothing."""
    y = np.zeros(len(x))
    for n in range(len(x)):
        total = 0.0
        for k in range(len(b)):
            if n - k >= 0:
                total += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                total -= a[k] * y[n - k]
        y[n] = total / a[0]
    return y


@program(
    arguments=lambda rng: (np.cumsum(rng.random(6)), rng.random(6), rng.random(5) * 4),
    others=[
        lambda rng: (np.array([0.0, 1.0]), np.array([2.0, 3.0]), np.array([-1.0, 0.5, 9.0])),
        lambda rng: (np.arange(4), np.arange(4) ** 2, np.zeros(0)),
    ],
    trace=True,
)
def interpolations(xp, fp, x):
    """By NumPy, by hand with searchsorted, and the nearest."""
    k = np.clip(np.searchsorted(xp, x) - 1, 0, len(xp) - 2)
    t = (x - xp[k]) / (xp[k + 1] - xp[k])
    nearest = np.abs(x[:, None] - xp[None, :]).argmin(axis=1)
    return np.interp(x, xp, fp), fp[k] + t * (fp[k + 1] - fp[k]), fp[nearest]


@program(
    arguments=lambda rng: (np.cumsum(0.5 + rng.random(6)), rng.standard_normal(6), 2.0 + rng.random(4)),
    others=[
        lambda rng: (np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0.25])),
        lambda rng: (np.arange(5.0), np.arange(5.0) ** 2, np.array([-1.0, 0.0, 4.0, 7.5])),
    ],
)
def natural_spline(x, y, at):
    """Second derivatives from a tridiagonal system, then a cubic piece for each point asked for."""
    n = len(x)
    h = np.diff(x)
    slope = np.diff(y) / h
    second = np.zeros(n)
    u = np.zeros(n)
    for i in range(1, n - 1):
        pivot = 2 * (h[i - 1] + h[i]) - (h[i - 1] * u[i - 1])
        u[i] = h[i] / pivot
        second[i] = (6 * (slope[i] - slope[i - 1]) - h[i - 1] * second[i - 1]) / pivot
    for i in reversed(range(1, n - 1)):
        second[i] -= u[i] * second[i + 1]
    result = np.empty_like(at)
    for k, t in enumerate(at):
        i = min(max(np.searchsorted(x, t) - 1, 0), n - 2)
        a, b = (x[i + 1] - t) / h[i], (t - x[i]) / h[i]
        result[k] = a * y[i] + b * y[i + 1]
        result[k] += ((a**3 - a) * second[i] + (b**3 - b) * second[i + 1]) * h[i] ** 2 / 6
    return result


@program(
    arguments=lambda rng: (rng.standard_normal(24), 8, 4),
    others=[lambda rng: (np.ones(4), 4, 2), lambda rng: (rng.standard_normal(9).astype(np.float32), 4, 5)],
    trace=True,
)
def spectrogram(x, width, hop):
    """Windows, their spectra, and the loudest frequency of each, as a list of Python ints."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    frames = [x[s : s + width] * window for s in range(0, len(x) - width + 1, hop)]
    power = np.abs(np.fft.fft(np.array(frames), axis=1)[:, : width // 2 + 1]) ** 2
    return power, [int(k) for k in power.argmax(axis=1)]


@program(
    arguments=lambda rng: (rng.standard_normal(10), 3),
    others=[lambda rng: (np.arange(5.0), 0), lambda rng: (np.arange(6), -2)],
    trace=True,
)
def delay_by_spectrum(x, shift):
    """A delay found again as the peak of a circular correlation."""
    y = np.roll(x, shift)
    correlation = np.fft.ifft(np.fft.fft(y) * np.conj(np.fft.fft(x))).real
    return round(float(correlation.max()), 6), int(np.argmax(np.round(correlation, 9)))
