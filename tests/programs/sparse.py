"""Sparse matrices kept as arrays of values, columns and row pointers, and the iterations built on them."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _csr(rows, columns, density, dtype=np.float64):
    def make(rng):
        dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < density)
        values = dense[dense != 0].astype(dtype)
        pointers = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int64)
        return values, np.nonzero(dense)[1].astype(np.int64), pointers, rng.standard_normal(columns).astype(dtype)

    return make


@program(
    arguments=_csr(7, 6, 0.4),
    others=[_csr(3, 3, 0.0), _csr(5, 8, 1.0, np.float32), _csr(1, 1, 1.0)],
)
def spmv_csr(values, columns, pointers, x):
    y = np.empty(pointers.size - 1, values.dtype)
    for i in range(pointers.size - 1):
        cols = columns[pointers[i] : pointers[i + 1]]
        vals = values[pointers[i] : pointers[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(
    arguments=_csr(6, 6, 0.5),
    others=[_csr(4, 4, 0.1), _csr(3, 5, 0.9, np.float32)],
)
def spmv_scalar(values, columns, pointers, x):
    """The same product with nothing but numbers."""
    n = len(pointers) - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(pointers[i], pointers[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


@program(
    arguments=lambda rng: (np.array([0, 2, 1, 2]), np.array([1, 1, 0, 2]), rng.random(4), 3),
    others=[
        lambda rng: (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 2),
        lambda rng: (np.zeros(5, np.int32), np.zeros(5, np.int32), np.ones(5, np.float32), 1),
    ],
)
def coo_to_dense_and_csr(rows, columns, values, n):
    """Sums repeated entries; also the row pointers, by counting."""
    dense = np.zeros((n, n))
    np.add.at(dense, (rows, columns), values)
    pointers = np.zeros(n + 1, dtype=int)
    for r in rows:
        pointers[r + 1] += 1
    for i in range(n):
        pointers[i + 1] += pointers[i]
    order = np.lexsort((columns, rows))
    return dense, pointers, columns[order], values[order]


def _system(n, dtype=np.float64):
    def make(rng):
        a = rng.standard_normal((n, n))
        return (a @ a.T + n * np.eye(n)).astype(dtype), rng.standard_normal(n).astype(dtype), 1e-10, 4 * n

    return make


@program(
    arguments=_system(6),
    others=[_system(1), _system(4, np.float32), lambda rng: (np.eye(3), np.zeros(3), 1e-8, 5)],
    features=["trip count is an argument"],
)
def conjugate_gradient(a, b, tolerance, limit):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    steps = 0
    while np.sqrt(rr) > tolerance and steps < limit:
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
        steps += 1
    return x, steps


@program(
    arguments=lambda rng: ((rng.random((5, 5)) < 0.4).astype(float), 0.85, 1e-8),
    others=[
        lambda rng: (np.zeros((3, 3)), 0.85, 1e-8),
        lambda rng: (np.eye(2), 0.5, 1e-3),
        lambda rng: ((rng.random((4, 4)) < 0.5).astype(np.int64), 0.9, 1e-6),
    ],
)
def pagerank(links, damping, tolerance):
    """Ranks of pages; a page without links points everywhere. links[i, j]: page j links to page i."""
    n = links.shape[0]
    out = links.sum(axis=0).astype(float)
    matrix = np.where(out > 0, links / np.where(out > 0, out, 1), 1 / n)
    rank = np.full(n, 1 / n)
    while True:
        new = damping * (matrix @ rank) + (1 - damping) / n
        if np.abs(new - rank).sum() < tolerance:
            return new
        rank = new


@program(
    arguments=_system(5),
    others=[_system(2), _system(3, np.float32)],
    features=["trip count is an argument"],
)
def gauss_seidel(a, b, tolerance, limit):
    """Sweeps over the unknowns; the diagonal must dominate for it to settle."""
    n = len(b)
    x = np.zeros(n)
    for sweep in range(limit):
        change = 0.0
        for i in range(n):
            others = a[i, :i] @ x[:i] + a[i, i + 1 :] @ x[i + 1 :]
            new = (b[i] - others) / a[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < tolerance:
            print(f"settled after {sweep + 1} sweeps")
            return x
    print("not settled")
    return x
