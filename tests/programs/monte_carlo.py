"""Chance: generators written by hand, NumPy's own with a seed, and numbers given from outside."""

from __future__ import annotations

import math

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (42, 200),
    others=[lambda rng: (0, 1), lambda rng: (7, 0)],
    trace=True,
)
def pi_from_darts(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.random(n), rng.random(n)
    return 4.0 * np.count_nonzero(x * x + y * y <= 1.0) / max(n, 1)


@program(
    arguments=lambda rng: (12345, 50),
    others=[lambda rng: (1, 1), lambda rng: (99, 0)],
    features=["trip count is an argument"],
)
def pi_from_lcg(state, n):
    """A linear congruential generator on Python numbers, reduced by hand."""
    inside = 0
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        x = state / 2147483648
        state = (1103515245 * state + 12345) % 2147483648
        y = state / 2147483648
        if x * x + y * y < 1.0:
            inside += 1
    return inside, state


@program(
    arguments=lambda rng: (100.0, 105.0, 0.03, 0.2, 1.0, rng.standard_normal((50, 8))),
    others=[
        lambda rng: (100.0, 90.0, 0.0, 0.3, 0.5, rng.standard_normal((2, 1))),
        lambda rng: (50.0, 500.0, 0.1, 0.1, 2.0, rng.standard_normal((5, 4)).astype(np.float32)),
    ],
    trace=True,
)
def asian_option(spot, strike, rate, volatility, years, normals):
    """Price and standard error of an option on the average, from given normal numbers."""
    paths, steps = normals.shape
    dt = years / steps
    s = np.empty((paths, steps + 1))
    s[:, 0] = spot
    drift = (rate - 0.5 * volatility**2) * dt
    for t in range(steps):
        s[:, t + 1] = s[:, t] * np.exp(drift + volatility * np.sqrt(dt) * normals[:, t])
    payoff = np.maximum(s[:, 1:].mean(axis=1) - strike, 0.0)
    price = np.exp(-rate * years) * payoff
    return price.mean(), price.std() / math.sqrt(paths)


@program(
    arguments=lambda rng: (100.0, 110.0, 0.05, 0.25, 1.0, 16),
    others=[lambda rng: (100.0, 50.0, 0.01, 0.1, 0.5, 1), lambda rng: (10.0, 10.0, 0.0, 0.5, 2.0, 5)],
    features=["trip count is an argument"],
)
def american_put(spot, strike, rate, volatility, years, steps):
    """A binomial tree folded from its leaves; each level is one shorter."""
    dt = years / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    values = np.maximum(strike - spot * up ** np.arange(steps, -steps - 1, -2.0), 0)
    for level in range(steps - 1, -1, -1):
        continued = math.exp(-rate * dt) * (p * values[: level + 1] + (1 - p) * values[1 : level + 2])
        exercised = strike - spot * up ** np.arange(level, -level - 1, -2.0)
        values = np.maximum(continued, exercised)
    return values[0]


@program(
    arguments=lambda rng: (3, 20, 6),
    others=[lambda rng: (0, 1, 1), lambda rng: (11, 5, 0)],
    trace=True,
)
def random_walks(seed, steps, walkers):
    rng = np.random.default_rng(seed)
    moves = rng.choice(np.array([-1, 1]), size=(walkers, steps))
    positions = np.cumsum(moves, axis=1)
    return {"last": positions[:, -1], "farthest": np.abs(positions).max(axis=1), "moves": moves.sum()}


@program(
    arguments=lambda rng: (rng.random(30), 4, 10),
    others=[lambda rng: (np.zeros(5), 1, 3), lambda rng: (np.zeros(0), 2, 5), lambda rng: (np.full(12, 0.9), 5, 6)],
)
def gambler(draws, money, goal):
    """Plays until broke (-1), rich (1), or out of draws (0)."""
    played = 0
    for u in draws:
        if money == 0 or money >= goal:
            break
        money += 1 if u < 0.5 else -1
        played += 1
    else:
        return 0, money, played
    return (-1 if money == 0 else 1), money, played


@program(
    arguments=lambda rng: (rng.standard_normal(2), rng.standard_normal((40, 2)), rng.random(40), 2.0),
    others=[
        lambda rng: (np.zeros(2), np.zeros((3, 2)), rng.random(3), 1.0),
        lambda rng: (rng.standard_normal(3), rng.standard_normal((0, 3)), rng.random(0), 1.0),
    ],
)
def simulated_annealing(x, jumps, chances, temperature):
    """Given random numbers; a worse point is taken with a chance that falls as it cools."""

    def energy(x):
        return np.sum(x**2 - 3 * np.cos(2 * np.pi * x))

    current = energy(x)
    best, best_energy = x, current
    for jump, chance in zip(jumps, chances, strict=True):
        candidate = x + 0.3 * jump
        new = energy(candidate)
        if new < current or chance < np.exp(-(new - current) / temperature):
            x, current = candidate, new
            if current < best_energy:
                best, best_energy = x.copy(), current
        temperature *= 0.95
    return best, best_energy


@program(
    arguments=lambda rng: (
        np.where(rng.random((6, 6)) < 0.5, 1, -1),
        rng.integers(0, 6, (60, 2)),
        rng.random(60),
        0.44,
    ),
    others=[
        lambda rng: (np.ones((2, 2), np.int64), rng.integers(0, 2, (5, 2)), np.zeros(5), 0.1),
        lambda rng: (np.ones((3, 3), np.int8), np.zeros((0, 2), np.int64), np.zeros(0), 1.0),
    ],
)
def ising(spins, sites, chances, beta):
    """Metropolis on a torus; the spins are changed in place."""
    n, m = spins.shape
    accepted = 0
    for (i, j), u in zip(sites, chances, strict=True):
        around = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % m] + spins[i, (j - 1) % m]
        cost = 2 * spins[i, j] * around
        if cost <= 0 or u < math.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
            accepted += 1
    return accepted, spins.mean()


@program(
    arguments=lambda rng: (rng.standard_normal(15), rng.integers(0, 15, (20, 15))),
    others=[
        lambda rng: (np.ones(3), np.zeros((2, 3), np.int64)),
        lambda rng: (rng.standard_normal(4).astype(np.float32), rng.integers(0, 4, (5, 4))),
    ],
    trace=True,
)
def bootstrap_interval(sample, draws):
    means = sample[draws].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return low, np.median(means), high
