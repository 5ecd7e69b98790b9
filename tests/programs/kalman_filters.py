"""Filters of state: Kalman's, particles, hidden Markov models."""

from __future__ import annotations

import numpy as np

from programs._program import program


def predict(x, p, f, q):
    return f @ x, f @ p @ f.T + q


def update(x, p, z, h, r):
    innovation = z - h @ x
    s = h @ p @ h.T + r
    gain = p @ h.T @ np.linalg.inv(s)
    return x + gain @ innovation, (np.eye(len(x)) - gain @ h) @ p


@program(
    arguments=lambda rng: (rng.standard_normal((8, 1)), 0.1, 1e-3, 0.5),
    others=[
        lambda rng: (np.zeros((0, 1)), 0.1, 1e-3, 0.5),
        lambda rng: (np.full((4, 1), np.nan), 1.0, 1e-2, 1.0),
        lambda rng: (np.where(rng.random((6, 1)) < 0.4, np.nan, 1.0), 0.5, 0.1, 0.2),
    ],
)
def kalman_track(measurements, dt, process, noise):
    """Position and speed from positions; a NaN is a missed measurement."""
    f = np.array([[1.0, dt], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    q = process * np.eye(2)
    r = np.array([[noise]])
    x = np.zeros(2)
    p = np.eye(2)
    track = np.empty((measurements.shape[0], 2))
    for k, z in enumerate(measurements):
        x, p = predict(x, p, f, q)
        if not np.isnan(z).any():
            x, p = update(x, p, z, h, r)
        track[k] = x
    return track, p


class Kalman1D:
    """A filter of one number that keeps its state between calls."""

    def __init__(self, variance, noise):
        self.value = 0.0
        self.variance = variance
        self.noise = noise

    def step(self, z):
        gain = self.variance / (self.variance + self.noise)
        self.value = self.value + gain * (z - self.value)
        self.variance = (1 - gain) * self.variance + 1e-3
        return self.value


@program(
    arguments=lambda rng: (rng.standard_normal(9), 1.0, 0.25),
    others=[lambda rng: (np.zeros(1), 2.0, 0.5), lambda rng: (rng.standard_normal(5).astype(np.float32), 0.5, 0.1)],
)
def smooth_with_object(z, variance, noise):
    kalman = Kalman1D(variance, noise=noise)
    out = np.empty(len(z))
    for i in range(len(z)):
        out[i] = kalman.step(z[i])
    return out, kalman.variance


@program(
    arguments=lambda rng: (
        np.array([0.6, 0.4]),
        np.array([[0.7, 0.3], [0.4, 0.6]]),
        rng.dirichlet([1, 1, 1], 2),
        rng.integers(0, 3, 7),
    ),
    others=[
        lambda rng: (np.ones(1), np.ones((1, 1)), np.ones((1, 2)) / 2, np.array([0])),
        lambda rng: (np.ones(3) / 3, rng.dirichlet([1, 1, 1], 3), rng.dirichlet([1, 1], 3), rng.integers(0, 2, 4)),
    ],
)
def viterbi(start, transition, emission, observed):
    """The likeliest path of a hidden Markov model, in logarithms, with its score."""
    steps, states = len(observed), len(start)
    score = np.zeros((steps, states))
    back = np.zeros((steps, states), dtype=np.int64)
    score[0] = np.log(start) + np.log(emission[:, observed[0]])
    for t in range(1, steps):
        for s in range(states):
            candidates = score[t - 1] + np.log(transition[:, s])
            back[t, s] = np.argmax(candidates)
            score[t, s] = candidates[back[t, s]] + np.log(emission[s, observed[t]])
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


@program(
    arguments=lambda rng: (
        rng.dirichlet([1, 1]),
        rng.dirichlet([1, 1], 2),
        rng.dirichlet([1, 1, 1], 2),
        rng.integers(0, 3, 6),
    ),
    others=[
        lambda rng: (np.ones(1), np.ones((1, 1)), np.ones((1, 1)), np.zeros(3, np.int64)),
        lambda rng: (np.array([1.0, 0.0]), np.eye(2), np.eye(2), np.array([0, 1])),
    ],
)
def hmm_forward(start, transition, emission, observed):
    """The logarithm of the likelihood with scaled probabilities; minus infinity where it cannot be."""
    alpha = start * emission[:, observed[0]]
    total = 0.0
    for symbol in observed[1:]:
        scale = alpha.sum()
        if scale == 0:
            return -np.inf
        total += np.log(scale)
        alpha = (alpha / scale) @ transition * emission[:, symbol]
    last = alpha.sum()
    return float(total + np.log(last)) if last > 0 else -np.inf


@program(
    arguments=lambda rng: (rng.random(10), rng.random()),
    others=[
        lambda rng: (np.ones(1), 0.5),
        lambda rng: (np.array([0.0, 1.0, 0.0]), 0.99),
        lambda rng: (rng.random(6).astype(np.float32), 0.0),
    ],
)
def systematic_resampling(weights, offset):
    """Which particle each comb tooth falls on."""
    n = len(weights)
    positions = (np.arange(n) + offset) / n
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    chosen = np.zeros(n, dtype=int)
    i = j = 0
    while i < n:
        if positions[i] < cumulative[j]:
            chosen[i] = j
            i += 1
        else:
            j += 1
    return chosen


@program(
    arguments=lambda rng: (rng.standard_normal(12), rng.standard_normal(12), 3, 0.05),
    others=[
        lambda rng: (rng.standard_normal(2), rng.standard_normal(2), 4, 0.1),
        lambda rng: (rng.standard_normal(6).astype(np.float32), rng.standard_normal(6).astype(np.float32), 1, 0.5),
    ],
)
def least_mean_squares(x, desired, taps, rate):
    """An adaptive filter; the window of past inputs is turned round."""
    w = np.zeros(taps)
    errors = np.zeros(len(x))
    for n in range(taps - 1, len(x)):
        window = x[n - taps + 1 : n + 1][::-1]
        errors[n] = desired[n] - w @ window
        w += 2 * rate * errors[n] * window
    return w, errors
