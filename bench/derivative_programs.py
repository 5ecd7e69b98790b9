"""Programs with item assignment in loops, as NumPy code for weft, and as JAX wants them written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SIZE = 300


def sparse_product(values: Any, x: Any, starts: Any, columns: Any) -> Any:
    """A matrix in compressed rows times a vector."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s
    return (y**2).sum()


def gauss_seidel(a: Any, b: Any) -> Any:
    """Ten sweeps."""
    x = np.zeros_like(b)
    for _ in range(10):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return (x**2).sum()


def triangular_solve(lower: Any, b: Any) -> Any:
    """Forward substitution."""
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return (x**2).sum()


def rank_updates(a: Any, u: Any) -> Any:
    """A matrix plus u @ u.T, a row at a time."""
    c = np.zeros_like(a)
    for k in range(u.shape[1]):
        for i in range(a.shape[0]):
            c[i, :] += u[i, k] * u[:, k]
    return ((a + c) ** 2).sum()


def recursive_filter(x: Any, a: Any, b: Any) -> Any:
    """Each value from the one before."""
    y = np.zeros_like(x)
    y[0] = b * x[0]
    for i in range(1, len(x)):
        y[i] = b * x[i] + a * y[i - 1]
    return (y**2).sum()


def elimination(a: Any) -> Any:
    """LU decomposition, element by element."""
    n = a.shape[0]
    a = a.copy()
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return (a**2).sum()


def relaxation(u: Any, f: Any) -> Any:
    """Three sweeps of successive over-relaxation on a grid."""
    u = u.copy()
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = 0.375 * (around - f[i, j]) - 0.5 * u[i, j]
    return (u**2).sum()


def filtered_states(measured: Any, drift: Any, noise: Any) -> Any:
    """The likelihood of measurements by a Kalman filter of one state."""
    x, p, total = 0.0, 1.0, 0.0
    for i in range(len(measured)):
        p = p + drift
        s = p + noise
        gain = p / s
        error = measured[i] - x
        x = x + gain * error
        p = (1 - gain) * p
        total -= 0.5 * (math.log(s) + error * error / s)
    return total


def alignment(a: Any, b: Any) -> Any:
    """The distance of two series by dynamic programming."""
    cost = np.zeros((len(a) + 1, len(b) + 1))
    cost[1:, 0] = 0.5 * np.arange(1, len(a) + 1)
    cost[0, 1:] = 0.5 * np.arange(1, len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            matched = cost[i - 1, j - 1] + abs(a[i - 1] - b[j - 1])
            cost[i, j] = min(cost[i - 1, j] + 0.5, cost[i, j - 1] + 0.5, matched)
    return cost[len(a), len(b)]


def bodies(x: Any, v: Any, mass: Any) -> Any:
    """Ten steps of bodies that attract each other."""
    x, v = x.copy(), v.copy()
    for _ in range(10):
        for i in range(len(x)):
            for j in range(len(x)):
                if i != j:
                    r = x[j] - x[i]
                    v[i] += 0.01 * mass[j] * r / (r @ r + 0.1) ** 1.5
        x += 0.01 * v
    return (x**2).sum()


def hidden_states(moves: Any, emits: Any, first: Any, seen: Any) -> Any:
    """The likelihood of observations by a hidden Markov model."""
    share, total = first * emits[:, seen[0]], 0.0
    for t in range(1, len(seen)):
        share = (share @ moves) * emits[:, seen[t]]
        scale = share.sum()
        total += np.log(scale)
        share = share / scale
    return total


def arguments() -> dict[Any, tuple[tuple[Any, ...], tuple[int, ...]]]:
    """For each program its arguments, and which of them to differentiate by."""
    rng = np.random.default_rng(0)
    square = rng.normal(size=(SIZE, SIZE))
    regular = square + SIZE * np.eye(SIZE)
    starts = np.arange(0, 10 * SIZE + 1, 10)
    columns = rng.integers(0, SIZE, 10 * SIZE)
    small = rng.normal(size=(40, 40)) + 40 * np.eye(40)
    return {
        sparse_product: ((rng.normal(size=10 * SIZE), rng.normal(size=SIZE), starts, columns), (0, 1)),
        gauss_seidel: ((regular, rng.normal(size=SIZE)), (0, 1)),
        triangular_solve: ((np.tril(regular), rng.normal(size=SIZE)), (0, 1)),
        rank_updates: ((square, rng.normal(size=(SIZE, 5))), (0, 1)),
        recursive_filter: ((rng.normal(size=3000), 0.9, 0.1), (0, 1, 2)),
        elimination: ((small,), (0,)),
        relaxation: ((square[:30, :30], square[30:60, :30]), (0, 1)),
        filtered_states: ((rng.normal(size=3000), 0.1, 0.5), (0, 1, 2)),
        alignment: ((rng.normal(size=50), rng.normal(size=50)), (0, 1)),
        bodies: ((rng.normal(size=(8, 3)), rng.normal(size=(8, 3)), rng.random(8)), (0, 1, 2)),
        hidden_states: ((rng.random((6, 6)), rng.random((6, 4)), rng.random(6), rng.integers(0, 4, 1000)), (0, 1, 2)),
    }


def in_jax() -> dict[str, Any]:
    """The same programs by JAX's loops and `.at[…]`: sizes of slices are fixed there, so masks select instead."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    def product(values: Any, x: Any, starts: Any, columns: Any) -> Any:
        def row(i: Any, y: Any) -> Any:
            start = starts[i]
            s = lax.fori_loop(0, 10, lambda k, s: s + values[start + k] * x[columns[start + k]], 0.0)
            return y.at[i].set(s)

        return (lax.fori_loop(0, SIZE, row, jnp.zeros(SIZE)) ** 2).sum()

    def seidel(a: Any, b: Any) -> Any:
        places = jnp.arange(SIZE)

        def one(i: Any, x: Any) -> Any:
            rest = jnp.where(places == i, 0.0, a[i]) @ x
            return x.at[i].set((b[i] - rest) / a[i, i])

        sweep = lambda _, x: lax.fori_loop(0, SIZE, one, x)  # noqa: E731  # as short as what it stands for
        return (lax.fori_loop(0, 10, sweep, jnp.zeros_like(b)) ** 2).sum()

    def solve(lower: Any, b: Any) -> Any:
        places = jnp.arange(SIZE)

        def one(i: Any, x: Any) -> Any:
            return x.at[i].set((b[i] - jnp.where(places < i, lower[i], 0.0) @ x) / lower[i, i])

        return (lax.fori_loop(0, SIZE, one, jnp.zeros_like(b)) ** 2).sum()

    def updates(a: Any, u: Any) -> Any:
        def one(k: Any, c: Any) -> Any:
            return lax.fori_loop(0, SIZE, lambda i, c: c.at[i].add(u[i, k] * u[:, k]), c)

        return ((a + lax.fori_loop(0, 5, one, jnp.zeros_like(a))) ** 2).sum()

    def filtered(x: Any, a: Any, b: Any) -> Any:
        y = jnp.zeros_like(x).at[0].set(b * x[0])
        return (lax.fori_loop(1, 3000, lambda i, y: y.at[i].set(b * x[i] + a * y[i - 1]), y) ** 2).sum()

    found = {
        "sparse_product": product,
        "gauss_seidel": seidel,
        "triangular_solve": solve,
        "rank_updates": updates,
        "recursive_filter": filtered,
    }
    return {name: (jax.jit(function), function) for name, function in found.items()}
