"""Points that escape, one by one or all at once; Newton's basins."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (-2.0, 0.5, -1.2, 1.2, 9, 7, 12),
    others=[
        lambda rng: (3.0, 4.0, 3.0, 4.0, 4, 4, 10),
        lambda rng: (-0.1, 0.1, -0.1, 0.1, 3, 2, 5),
        lambda rng: (-2.0, 0.5, -1.2, 1.2, 3, 3, 0),
    ],
    features=["shrinking array", "trip count is an argument"],
)
def mandelbrot_shrinking(xmin, xmax, ymin, ymax, xn, yn, limit):
    """Points that have escaped leave the arrays; the loop ends when none is left."""
    columns, rows = np.mgrid[:xn, :yn]
    c = np.linspace(xmin, xmax, xn)[columns] + 1j * np.linspace(ymin, ymax, yn)[rows]
    counts = np.zeros((xn, yn), dtype=int)
    z = np.zeros(xn * yn, dtype=complex)
    c.shape = columns.shape = rows.shape = z.shape
    for step in range(1, limit + 1):
        if z.size == 0:
            break
        np.square(z, out=z)
        z += c
        gone = np.abs(z) > 2
        counts[columns[gone], rows[gone]] = step
        keep = np.logical_not(gone)
        z = z[keep]
        c = c[keep]
        columns, rows = columns[keep], rows[keep]
    return counts


@program(
    arguments=lambda rng: (np.linspace(-2, 0.5, 8), np.linspace(-1, 1, 6), 15),
    others=[
        lambda rng: (np.linspace(-2, 0.5, 3).astype(np.float32), np.zeros(1, np.float32), 5),
        lambda rng: (np.zeros(0), np.zeros(4), 5),
        lambda rng: (np.zeros(2), np.zeros(2), 0),
    ],
    features=["trip count is an argument"],
)
def mandelbrot_masked(x, y, limit):
    """The arrays keep their size; a mask says who is still inside, and how long everyone stayed is counted."""
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = c.copy()
    stayed = np.zeros(c.shape, np.int32)
    inside = np.ones(c.shape, bool)
    for _ in range(limit):
        inside &= z.real**2 + z.imag**2 <= 4
        stayed[inside] += 1
        z[inside] = z[inside] * z[inside] + c[inside]
    return z, stayed


def escape_time(cr, ci, limit):
    zr = zi = 0.0
    for n in range(limit):
        if zr * zr + zi * zi > 4.0:
            return n
        zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
    return limit


@program(
    arguments=lambda rng: (6, 5, 20),
    others=[lambda rng: (1, 1, 3), lambda rng: (0, 4, 5), lambda rng: (3, 3, 0)],
    features=["trip count is an argument"],
)
def mandelbrot_scalar(width, height, limit):
    image = np.zeros((height, width), dtype=np.uint16)
    for row in range(height):
        for column in range(width):
            image[row, column] = escape_time(-2.0 + 2.5 * column / width, -1.25 + 2.5 * row / height, limit)
    return image


@program(
    arguments=lambda rng: (-0.8 + 0.156j, 7, 30),
    others=[lambda rng: (0.285 + 0.01j, 4, 10), lambda rng: (0j, 2, 1), lambda rng: (-1.0 + 0j, 3, 0)],
    features=["trip count is an argument"],
)
def julia(c, n, limit):
    """Complex Python numbers, one pixel at a time, with a while that two things can end."""
    axis = np.linspace(-1.5, 1.5, n)
    counts = np.empty((n, n), int)
    for i, y in enumerate(axis):
        for j, x in enumerate(axis):
            z = complex(x, y)
            k = 0
            while k < limit and abs(z) <= 2:
                z = z * z + c
                k += 1
            counts[i, j] = k
    return counts


@program(
    arguments=lambda rng: (rng.standard_normal(12) + 1j * rng.standard_normal(12), 20),
    others=[
        lambda rng: (np.array([1.0 + 0j, 0.9 + 0.1j]), 3),
        lambda rng: (np.zeros(0, complex), 5),
        lambda rng: ((rng.standard_normal(5) + 1j).astype(np.complex64), 8),
    ],
    features=["trip count is an argument"],
)
def newton_basins(z, limit):
    """Which cube root of one each point runs to; -1 where it has not arrived."""
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    for _ in range(limit):
        z = z - (z**3 - 1) / (3 * z**2)
    distance = np.abs(z[:, None] - roots[None, :])
    nearest = np.argmin(distance, axis=1)
    return np.where(np.min(distance, axis=1) < 1e-3, nearest, -1)


@program(
    arguments=lambda rng: (rng.integers(0, 3, 40), np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]])),
    others=[
        lambda rng: (np.zeros(0, np.int64), rng.random((3, 2))),
        lambda rng: (rng.integers(0, 4, 10).astype(np.int8), rng.random((4, 2)).astype(np.float32)),
    ],
)
def chaos_game(choices, corners):
    """Half the way to a corner, again and again."""
    points = np.empty((len(choices), 2))
    at = corners.mean(axis=0)
    for k, choice in enumerate(choices):
        at = (at + corners[choice]) / 2
        points[k] = at
    return points
