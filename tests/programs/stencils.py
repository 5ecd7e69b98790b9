"""Stencils: each point of a grid is replaced by a combination of its neighbours, again and again."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _field(*shape, dtype=np.float64):
    return lambda rng: (3, rng.standard_normal(shape).astype(dtype), rng.standard_normal(shape).astype(dtype))


@program(
    arguments=_field(16),
    others=[_field(3), _field(40, dtype=np.float32), lambda rng: (0, rng.random(5), rng.random(5))],
    features=["trip count is an argument"],
)
def jacobi_1d(steps, a, b):
    """Averages of three, from one buffer into the other and back."""
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3


@program(
    arguments=_field(8, 9),
    others=[_field(3, 3), _field(6, 6, dtype=np.float32), lambda rng: (1, rng.random((2, 2)), rng.random((2, 2)))],
    features=["trip count is an argument"],
)
def jacobi_2d(steps, a, b):
    """Averages of a point and its four neighbours; even steps read a, odd ones read b."""
    for step in range(steps):
        old, new = (a, b) if step % 2 == 0 else (b, a)
        across = old[1:-1, :-2] + old[1:-1, 2:]
        along = old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = (old[1:-1, 1:-1] + across + along) / 5


@program(
    arguments=_field(6, 5, 7),
    others=[_field(3, 3, 3), lambda rng: (0, rng.random((4, 4, 4)), np.zeros((4, 4, 4)))],
    features=["trip count is an argument"],
)
def heat_3d(steps, a, b):
    """Explicit steps, a second difference along each axis in turn; every step goes there and back."""
    middle, ahead, behind = slice(1, -1), slice(2, None), slice(None, -2)
    for _ in range(steps):
        for source, target in ((a, b), (b, a)):
            centre = source[middle, middle, middle]
            change = np.zeros_like(centre)
            for axis in range(3):
                forward, backward = [middle] * 3, [middle] * 3
                forward[axis], backward[axis] = ahead, behind
                change += source[tuple(forward)] - 2 * centre + source[tuple(backward)]
            target[middle, middle, middle] = centre + change / 10


@program(
    arguments=lambda rng: (2, rng.standard_normal((6, 6))),
    others=[
        lambda rng: (1, rng.standard_normal((3, 3)).astype(np.float32)),
        lambda rng: (3, rng.standard_normal((2, 2))),
        lambda rng: (0, rng.standard_normal((4, 4))),
    ],
    features=["trip count is an argument"],
)
def seidel_2d(steps, a):
    """Averages of nine that already see the new values above and to the left."""
    rows, columns = a.shape
    for _ in range(steps):
        for r in range(1, rows - 1):
            for c in range(1, columns - 1):
                total = 0.0
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        total += a[r + dr, c + dc]
                a[r, c] = total / 9


@program(
    arguments=lambda rng: (rng.random((7, 8)), rng.random((7, 8)), rng.random((7, 8)), rng.random(4)),
    others=[
        lambda rng: (rng.random((2, 2)), rng.random((2, 2)), rng.random((2, 2)), rng.random(3)),
        lambda rng: (rng.random((5, 4)), rng.random((5, 4)), rng.random((5, 4)), np.zeros(0)),
    ],
)
def fdtd_2d(ex, ey, hz, pulse):
    """Yee's staggered fields, driven from one edge by a pulse."""
    courant = 0.6
    for amplitude in pulse:
        curl = np.diff(ex, axis=1)[:-1] - np.diff(ey, axis=0)[:, :-1]
        hz[:-1, :-1] += courant * curl
        ex[:, 1:] += courant * np.diff(hz, axis=1)
        ey[1:] -= courant * np.diff(hz, axis=0)
        ey[0] = amplitude


@program(
    arguments=lambda rng: (rng.random(20), 1.0, 0.1, 0.02, 5),
    others=[
        lambda rng: (rng.random(20), -1.0, 0.1, 0.02, 5),
        lambda rng: (rng.random(7).astype(np.float32), 0.0, 0.5, 0.1, 2),
        lambda rng: (rng.random(4), 2.0, 0.5, 0.1, 0),
    ],
    features=["trip count is an argument"],
)
def advection_upwind(u, speed, dx, dt, steps):
    """First-order upwind differences on a ring."""
    u = u.copy()
    c = speed * dt / dx
    for _ in range(steps):
        if speed > 0:
            u[1:], u[0] = u[1:] - c * (u[1:] - u[:-1]), u[0] - c * (u[0] - u[-1])
        elif speed < 0:
            last = u[-1] - c * (u[0] - u[-1])
            u[:-1] = u[:-1] - c * (u[1:] - u[:-1])
            u[-1] = last
    return u


def laplacian(u, h):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / h**2
    return out


@program(
    arguments=lambda rng: (rng.random((9, 9)), rng.random((9, 9)), 4),
    others=[
        lambda rng: (rng.random((4, 6)).astype(np.float32), rng.random((4, 6)).astype(np.float32), 2),
        lambda rng: (rng.random((3, 3)), rng.random((3, 3)), 0),
    ],
    features=["trip count is an argument"],
)
def gray_scott(u, v, steps):
    """Two chemicals that feed on each other; the fields are changed in place."""
    feed, kill, dt = 0.035, 0.065, 0.5
    for _ in range(steps):
        reaction = u * v * v
        u += dt * (0.16 * laplacian(u, 1.0) - reaction + feed * (1 - u))
        v += dt * (0.08 * laplacian(v, 1.0) + reaction - (feed + kill) * v)
    return u.sum(), v.sum()


@program(
    arguments=lambda rng: (np.pad(rng.random((6, 6)), 1), 1e-2, 200),
    others=[
        lambda rng: (np.zeros((5, 5)), 1e-3, 10),
        lambda rng: (rng.random((6, 4)), 0.0, 3),
        lambda rng: (rng.random((3, 3)), 1e-9, 0),
    ],
    features=["overlap"],
)
def laplace_until_still(grid, tolerance, limit):
    """Relaxation that stops when the largest change is small; counts its sweeps."""
    sweeps = 0
    change = np.inf
    while change > tolerance and sweeps < limit:
        old = grid.copy()
        grid[1:-1, 1:-1] = 0.25 * (grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2])
        change = np.max(np.abs(grid - old))
        sweeps += 1
    return sweeps, change


@program(
    arguments=lambda rng: (rng.random((6, 7)), 0.25),
    others=[lambda rng: (rng.random((1, 1)), 0.1), lambda rng: (rng.random((4, 3)).astype(np.float32), 0.5)],
    trace=True,
)
def wave_step_periodic(u, courant):
    """One step of the wave equation with np.roll for the edges."""
    around = np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, 1)
    velocity = courant**2 * (around - 4 * u)
    return u + velocity, velocity
