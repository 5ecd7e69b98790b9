"""Factorisations and solvers written as loops over rows and columns."""

from __future__ import annotations

import math

import numpy as np

from programs._program import program


def _dominant(n, dtype=np.float64):
    return lambda rng: ((rng.standard_normal((n, n)) + n * np.eye(n)).astype(dtype),)


def _positive(n, dtype=np.float64):
    def make(rng):
        a = rng.standard_normal((n, n))
        return ((a @ a.T + n * np.eye(n)).astype(dtype),)

    return make


@program(
    arguments=_dominant(6),
    others=[_dominant(1), _dominant(4, np.float32), lambda rng: (np.zeros((0, 0)),)],
)
def lu(a):
    """A row at a time, in place: the unit lower factor below the diagonal, the upper one on and above it."""
    n = len(a)
    for i in range(n):
        for j in range(n):
            k = min(i, j)
            a[i, j] -= a[i, :k] @ a[:k, j]
            if j < i:
                a[i, j] /= a[j, j]


@program(
    arguments=lambda rng: (rng.standard_normal((5, 5)), rng.standard_normal(5)),
    others=[
        lambda rng: (np.array([[0.0, 1.0], [1.0, 0.0]]), rng.standard_normal(2)),
        lambda rng: (np.zeros((3, 3)), np.ones(3)),
        lambda rng: (rng.standard_normal((1, 1)), rng.standard_normal(1)),
    ],
    features=["overlap"],
)
def solve_with_pivoting(a, b):
    """Gaussian elimination on copies; a singular matrix is refused."""
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if a[p, k] == 0:
            raise ZeroDivisionError("the matrix is singular")
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[k], b[p] = b[p], b[k]
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= np.outer(factors, a[k, k:])
        b[k + 1 :] -= factors * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@program(
    arguments=_positive(6),
    others=[_positive(1), _positive(3, np.float32), lambda rng: (-np.eye(2),)],
)
def cholesky(a):
    """The lower factor in place, a column at a time; a matrix that is not positive is refused."""
    n = len(a)
    for j in range(n):
        pivot = a[j, j] - a[j, :j] @ a[j, :j]
        if pivot <= 0:
            raise ValueError("the matrix is not positive definite")
        a[j, j] = np.sqrt(pivot)
        for i in range(j + 1, n):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]


@program(
    arguments=lambda rng: (rng.standard_normal((6, 4)),),
    others=[
        lambda rng: (rng.standard_normal((3, 1)),),
        lambda rng: (rng.standard_normal((5, 5)).astype(np.float32),),
        lambda rng: (rng.standard_normal((4, 3)) + 1j * rng.standard_normal((4, 3)),),
    ],
)
def gram_schmidt(a):
    """Modified Gram-Schmidt; the argument is used up."""
    width = a.shape[1]
    r = np.zeros((width, width), a.dtype)
    for k in range(width):
        column = a[:, k]
        r[k, k] = np.sqrt(np.vdot(column, column))
        column /= r[k, k]
        for j in range(k + 1, width):
            r[k, j] = np.vdot(column, a[:, j])
            a[:, j] -= r[k, j] * column
    return a.copy(), r


@program(
    arguments=lambda rng: (0.1 * rng.random(8),),
    others=[lambda rng: (0.1 * rng.random(1),), lambda rng: ((0.1 * rng.random(5)).astype(np.float32),)],
    features=["overlap"],
)
def durbin(r):
    """The Yule-Walker equations; the solution grows by one entry each round."""
    y = np.zeros(len(r), r.dtype)
    y[0] = reflection = -r[0]
    power = 1.0
    for k in range(1, len(r)):
        power *= 1 - reflection**2
        reflection = -(r[k] + r[:k][::-1] @ y[:k]) / power
        y[:k] += reflection * y[:k][::-1]
        y[k] = reflection
    return y


@program(
    arguments=lambda rng: (np.tril(rng.random((6, 6))) + np.eye(6), rng.random(6)),
    others=[
        lambda rng: (np.ones((1, 1)), rng.random(1)),
        lambda rng: ((np.tril(rng.random((4, 4))) + np.eye(4)).astype(np.float32), rng.random(4).astype(np.float32)),
    ],
)
def trisolv(lower, b):
    """Forward substitution on a copy of the right-hand side."""
    x = b.copy()
    for i in range(len(x)):
        x[i] -= lower[i, :i] @ x[:i]
        x[i] /= lower[i, i]
    return x


@program(
    arguments=lambda rng: (rng.random(7), 4 + rng.random(7), rng.random(7), rng.random(7)),
    others=[
        lambda rng: (rng.random(1), 4 + rng.random(1), rng.random(1), rng.random(1)),
        lambda rng: tuple(
            v.astype(np.float32) for v in (rng.random(4), 4 + rng.random(4), rng.random(4), rng.random(4))
        ),
    ],
)
def thomas(lower, diagonal, upper, rhs):
    """A tridiagonal system by forward elimination and back substitution."""
    n = len(rhs)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = rhs[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / m
    x = d.copy()
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@program(
    arguments=lambda rng: (rng.standard_normal((6, 4)),),
    others=[
        lambda rng: (np.triu(rng.standard_normal((3, 3))),),
        lambda rng: (rng.standard_normal((4, 1)).astype(np.float32),),
        lambda rng: (np.zeros((3, 2)),),
    ],
)
def householder_qr(a):
    m, n = a.shape
    r = a.astype(float)
    q = np.identity(m)
    for k in range(min(m, n)):
        x = r[k:, k]
        norm = np.linalg.norm(x)
        if norm == 0.0:
            continue
        v = x.copy()
        v[0] += norm if x[0] >= 0 else -norm
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2.0 * np.outer(v, v @ r[k:, k:])
        q[:, k:] -= 2.0 * np.outer(q[:, k:] @ v, v)
    return q, np.triu(r)


@program(
    arguments=lambda rng: (np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]]), 1e-12, 50),
    others=[
        lambda rng: (np.diag([3.0, 1.0]), 1e-12, 50),
        lambda rng: (np.ones((4, 4)) + np.diag(np.arange(4.0)), 1e-10, 3),
        lambda rng: (np.array([[2.0]]), 1e-12, 10),
    ],
    features=["trip count is an argument"],
)
def jacobi_eigenvalues(a, tolerance, limit):
    """Rotations that remove the largest entry off the diagonal, until it is small."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(limit):
        off = np.abs(np.triu(a, 1))
        if np.max(off) < tolerance:
            break
        p, q = np.unravel_index(np.argmax(off), off.shape)
        if a[p, p] == a[q, q]:
            angle = math.pi / 4
        else:
            angle = 0.5 * math.atan2(2 * a[p, q], a[p, p] - a[q, q])
        c, s = math.cos(angle), math.sin(angle)
        rotation = np.eye(n)
        rotation[p, p] = rotation[q, q] = c
        rotation[p, q], rotation[q, p] = -s, s
        a = rotation.T @ a @ rotation
    values = np.diag(a).copy()
    values.sort()
    return values


@program(
    arguments=lambda rng: (2.0, 0.5, rng.random((5, 5)), rng.random((5, 3))),
    others=[
        lambda rng: (1.0, 0.0, rng.random((1, 1)), rng.random((1, 2))),
        lambda rng: (1.5, 2.0, rng.random((4, 4)).astype(np.float32), rng.random((4, 2)).astype(np.float32)),
    ],
)
def syrk(alpha, beta, c, a):
    """A symmetric update that touches only the lower triangle, a row at a time."""
    for i, row in enumerate(a):
        c[i, : i + 1] = beta * c[i, : i + 1] + alpha * (a[: i + 1] @ row)


@program(
    arguments=lambda rng: (rng.random((4, 4)), rng.random((4, 5)), 1.5),
    others=[
        lambda rng: (rng.random((1, 1)), rng.random((1, 1)), 2.0),
        lambda rng: (rng.integers(0, 5, (3, 3)), rng.integers(0, 5, (3, 4)), 2),
    ],
)
def trmm(a, b, alpha):
    """The transpose of a unit lower triangle times b, in place: rows below are still the old ones."""
    for i in range(len(b)):
        b[i] += a[i + 1 :, i] @ b[i + 1 :]
        b[i] *= alpha


@program(
    arguments=_dominant(4),
    others=[
        lambda rng: (np.zeros((2, 2)),),
        lambda rng: (np.array([[5.0]]),),
        lambda rng: (rng.integers(1, 9, (3, 3)),),
    ],
)
def determinant(a):
    """Elimination with row exchanges; a zero pivot ends it early."""
    a = a.astype(np.float64)
    n = a.shape[0]
    det = 1.0
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if a[pivot, k] == 0.0:
            return 0.0
        if pivot != k:
            a[[k, pivot], :] = a[[pivot, k], :]
            det = -det
        det *= a[k, k]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return float(det)
