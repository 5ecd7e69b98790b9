"""Arrays made inside the program."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (4, 2.5),
    others=[lambda rng: (1, 0.0), lambda rng: (0, 1.0), lambda rng: (3, 7)],
    trace=True,
)
def every_maker(n, value):
    """All from a size and a number."""
    empty = np.empty((n, 2))
    empty[...] = value
    raw = np.ndarray((2, n), dtype=np.int64)
    raw.fill(n)
    return [
        np.zeros(n),
        np.ones((n, 2), dtype=np.int32),
        np.full(n, value),
        np.arange(n),
        np.arange(1, n, 0.5),
        np.linspace(0, value, n + 1),
        np.eye(n),
        np.identity(n, dtype=np.float32),
        empty,
        raw,
    ]


@program(
    arguments=lambda rng: (rng.random((2, 3)),),
    others=[lambda rng: (np.zeros((0, 2), np.int8),), lambda rng: (np.ones(4, np.complex64),)],
    trace=True,
)
def all_likes(a):
    return {
        "zeros": np.zeros_like(a),
        "ones": np.ones_like(a, dtype=np.float32),
        "full": np.full_like(a, 3),
        "empty": np.empty_like(a).shape,
        "same": np.array(a) is not a,
    }


@program(
    arguments=lambda rng: (3, 4),
    others=[lambda rng: (1, 1), lambda rng: (2, 5)],
    trace=True,
)
def grids(rows, columns):
    """The same plane four ways."""
    y, x = np.mgrid[0:rows, 0:columns]
    oy, ox = np.ogrid[:rows, :columns]
    mx, my = np.meshgrid(np.arange(columns), np.linspace(0, 1, rows))
    f = np.fromfunction(lambda i, j: i * 10 + j, (rows, columns))
    i, j = np.indices((rows, columns))
    return x - y, oy * ox, mx + my, f, i + j


@program(
    arguments=lambda rng: (rng.random(), rng.random(3)),
    others=[lambda rng: (0.0, np.zeros(3)), lambda rng: (1, np.arange(3))],
    trace=True,
)
def rotation_matrix(angle, axis_point):
    """Arrays of computed numbers, nested, with constants between."""
    c, s = np.cos(angle), np.sin(angle)
    r = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    p = np.array([axis_point[0] * 2, axis_point.sum(), 1.0])
    return r @ p, np.array([len(p), axis_point.shape[0] + 1])


@program(
    arguments=lambda rng: (rng.random(5), 3),
    others=[lambda rng: (rng.random(1), 1), lambda rng: (np.arange(4), 2)],
    trace=True,
)
def vandermonde_and_friends(x, degree):
    """Matrices built column by column, stacked, and along the diagonal."""
    v = np.column_stack([x**k for k in range(degree)])
    d = np.diag(x) + np.diag(x[:-1], k=1)
    h = np.vstack([x, x[::-1]])
    b = np.block([[d, d], [np.zeros_like(d), d]])
    return v, h, b.sum(axis=0)


@program(
    arguments=lambda rng: (6,),
    others=[lambda rng: (1,), lambda rng: (2,)],
)
def pascal_triangle(n):
    rows = np.zeros((n, n), dtype=np.int64)
    rows[:, 0] = 1
    for i in range(1, n):
        for j in range(1, i + 1):
            rows[i, j] = rows[i - 1, j - 1] + rows[i - 1, j]
    return rows


@program(
    arguments=lambda rng: (4, np.float32),
    others=[lambda rng: (2, np.int64), lambda rng: (3, np.complex128)],
    trace=True,
)
def finite_difference_matrix(n, dtype):
    """A dtype is an argument like any other."""
    d = np.zeros((n, n), dtype=dtype)
    i = np.arange(n)
    d[i, i] = -2
    d[i[:-1], i[1:]] = 1
    d[i[1:], i[:-1]] = 1
    return d, np.kron(d, np.eye(2, dtype=dtype)).shape


@program(
    arguments=lambda rng: (4,),
    others=[lambda rng: (3,), lambda rng: (6,)],
)
def magic_square(n):
    """Odd orders by the siamese walk, others not magic at all."""
    square = np.zeros((n, n), dtype=np.int64)
    i, j = 0, n // 2
    for k in range(1, n * n + 1):
        square[i, j] = k
        up, right = (i - 1) % n, (j + 1) % n
        if square[up, right]:
            i = (i + 1) % n
        else:
            i, j = up, right
    return square, square.sum(axis=0)


@program(
    arguments=lambda rng: (4, rng.random(4)),
    others=[lambda rng: (1, np.ones(1)), lambda rng: (3, np.arange(3))],
    trace=True,
)
def hilbert_system(n, b):
    """A matrix from a formula of its indices, and what it does to errors."""
    h = np.fromfunction(lambda i, j: 1 / (i + j + 1), (n, n))
    x = np.linalg.solve(h, b)
    xx, yy = np.meshgrid(x, b, indexing="ij")
    return np.round(h @ x - b, 6) + 0.0, (xx * yy).shape
