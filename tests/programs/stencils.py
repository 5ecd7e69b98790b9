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
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@program(
    arguments=_field(8, 9),
    others=[_field(3, 3), _field(6, 6, dtype=np.float32), lambda rng: (1, rng.random((2, 2)), rng.random((2, 2)))],
    features=["trip count is an argument"],
)
def jacobi_2d(steps, a, b):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@program(
    arguments=_field(6, 5, 7),
    others=[_field(3, 3, 3), lambda rng: (0, rng.random((4, 4, 4)), np.zeros((4, 4, 4)))],
    features=["trip count is an argument"],
)
def heat_3d(steps, a, b):
    inner = slice(1, -1)
    for _ in range(steps):
        for source, target in ((a, b), (b, a)):
            c = source[inner, inner, inner]
            target[inner, inner, inner] = (
                0.125 * (source[2:, 1:-1, 1:-1] - 2.0 * c + source[:-2, 1:-1, 1:-1])
                + 0.125 * (source[1:-1, 2:, 1:-1] - 2.0 * c + source[1:-1, :-2, 1:-1])
                + 0.125 * (source[1:-1, 1:-1, 2:] - 2.0 * c + source[1:-1, 1:-1, :-2])
                + c
            )


@program(
    arguments=lambda rng: (2, rng.standard_normal((6, 6))),
    others=[
        lambda rng: (1, rng.standard_normal((3, 3)).astype(np.float32)),
        lambda rng: (3, rng.standard_normal((2, 2))),
        lambda rng: (0, rng.standard_normal((4, 4))),
    ],
    features=["trip count is an argument", "a[i] = v"],
)
def seidel_2d(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j - 1]
                    + a[i - 1, j]
                    + a[i - 1, j + 1]
                    + a[i, j - 1]
                    + a[i, j]
                    + a[i, j + 1]
                    + a[i + 1, j - 1]
                    + a[i + 1, j]
                    + a[i + 1, j + 1]
                ) / 9.0


@program(
    arguments=lambda rng: (rng.random((7, 8)), rng.random((7, 8)), rng.random((7, 8)), rng.random(4)),
    others=[
        lambda rng: (rng.random((2, 2)), rng.random((2, 2)), rng.random((2, 2)), rng.random(3)),
        lambda rng: (rng.random((5, 4)), rng.random((5, 4)), rng.random((5, 4)), np.zeros(0)),
    ],
    features=["for over an array"],
)
def fdtd_2d(ex, ey, hz, pulse):
    for amplitude in pulse:
        ey[0, :] = amplitude
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


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
    features=["trip count is an argument", "x += 1 on an array"],
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
