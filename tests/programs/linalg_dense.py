"""Dense linear algebra with whole-array operations."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (1.5, 1.2, rng.random((5, 4)), rng.random((4, 3)), rng.random((3, 6)), rng.random((5, 6))),
    others=[
        lambda rng: (2.0, 0.0, rng.random((2, 1)), rng.random((1, 2)), rng.random((2, 1)), rng.random((2, 1))),
        lambda rng: (
            0.5,
            1.0,
            rng.random((3, 2)).astype(np.float32),
            rng.random((2, 2)).astype(np.float32),
            rng.random((2, 4)).astype(np.float32),
            rng.random((3, 4)).astype(np.float32),
        ),
    ],
    trace=True,
)
def two_products(alpha, beta, a, b, c, d):
    d[:] = alpha * a @ b @ c + beta * d


@program(
    arguments=lambda rng: (1.5, 1.2, rng.random((6, 6)), *(rng.random(6) for _ in range(8))),
    others=[
        lambda rng: (0.0, 1.0, rng.random((1, 1)), *(rng.random(1) for _ in range(8))),
        lambda rng: (1.0, 2.0, rng.random((4, 4)).astype(np.float32), *(rng.random(4) for _ in range(8))),
    ],
    trace=True,
)
def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    """Two updates of rank one, then a vector from each side."""
    for u, v in ((u1, v1), (u2, v2)):
        a += np.outer(u, v)
    x += z + beta * (a.T @ y)
    w += alpha * np.dot(a, x)


@program(
    arguments=lambda rng: (rng.standard_normal((10, 4)),),
    others=[
        lambda rng: (rng.standard_normal((2, 1)),),
        lambda rng: (rng.integers(0, 9, (6, 3)),),
        lambda rng: (rng.standard_normal((5, 2)).astype(np.float32),),
    ],
)
def covariance(data):
    """The upper triangle row by row, mirrored as it is made."""
    samples, width = data.shape
    deviation = data - data.mean(axis=0)
    result = np.empty((width, width), deviation.dtype)
    for k in range(width):
        result[k, k:] = result[k:, k] = deviation[:, k].dot(deviation[:, k:]) / (samples - 1)
    return result


@program(
    arguments=lambda rng: (rng.standard_normal((8, 3)),),
    others=[
        lambda rng: (np.ones((5, 2)),),
        lambda rng: (rng.standard_normal((6, 4)).astype(np.float32),),
    ],
)
def correlation(data):
    """A column that hardly varies is divided by one."""
    deviation = data - data.mean(axis=0)
    spread = np.sqrt((deviation**2).sum(axis=0))
    spread[spread < 1e-3] = 1
    deviation /= spread
    width = data.shape[1]
    result = np.eye(width, dtype=data.dtype)
    for i in range(1, width):
        for j in range(i):
            result[i, j] = result[j, i] = deviation[:, i] @ deviation[:, j]
    return result


@program(
    arguments=lambda rng: (rng.random((6, 6)), 1e-10, 100),
    others=[
        lambda rng: (np.eye(3), 1e-10, 5),
        lambda rng: (rng.random((4, 4)).astype(np.float32), 1e-5, 50),
        lambda rng: (rng.random((3, 3)), 1e-10, 0),
    ],
    features=["trip count is an argument"],
)
def power_iteration(a, tolerance, limit):
    """The largest eigenvalue, and after how many steps it stood still."""
    v = np.ones(a.shape[0]) / np.sqrt(a.shape[0])
    value = 0.0
    for k in range(limit):  # noqa: B007 it is read after the loop
        w = a @ v
        v = w / np.linalg.norm(w)
        new = v @ a @ v
        if abs(new - value) < tolerance:
            break
        value = new
    else:
        return value, limit
    return new, k


@program(
    arguments=lambda rng: (rng.standard_normal((12, 4)), 2),
    others=[
        lambda rng: (rng.standard_normal((3, 3)), 1),
        lambda rng: (rng.standard_normal((6, 5)).astype(np.float32), 5),
    ],
    trace=True,
)
def pca(x, k):
    """Scores, components and share of the variance, with the sign fixed by the largest entry."""
    centred = x - x.mean(axis=0, keepdims=True)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(vt[np.arange(vt.shape[0]), np.argmax(np.abs(vt), axis=1)])
    vt = vt * signs[:, np.newaxis]
    scores = centred @ vt[:k].T
    share = s**2 / np.sum(s**2)
    return {"scores": scores, "components": vt[:k], "share": share[:k]}


@program(
    arguments=lambda rng: (rng.standard_normal((9, 3)), rng.standard_normal(9), 0.1),
    others=[
        lambda rng: (rng.standard_normal((1, 1)), rng.standard_normal(1), 1.0),
        lambda rng: (rng.standard_normal((5, 2)).astype(np.float32), rng.standard_normal(5), 0.0),
    ],
    trace=True,
)
def ridge_regression(x, y, penalty):
    design = np.hstack([np.ones((x.shape[0], 1)), x])
    gram = design.T @ design + penalty * np.eye(design.shape[1])
    weights = np.linalg.solve(gram, design.T @ y)
    residual = y - design @ weights
    return weights, float(residual @ residual) / len(y)


@program(
    arguments=lambda rng: (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)),),
    others=[
        lambda rng: (rng.standard_normal((1, 1)) + 0j,),
        lambda rng: ((rng.standard_normal((2, 5)) * 2j).astype(np.complex64),),
    ],
    trace=True,
)
def hermitian_gram(z):
    """The Gram matrix of complex rows, its trace two ways, and whether it is its own adjoint."""
    gram = z @ z.conj().T
    trace = np.vdot(z, z)
    return gram, trace.real, np.allclose(gram, np.conj(gram.T)), np.trace(gram).imag


@program(
    arguments=lambda rng: (rng.random((4, 4)), 10),
    others=[
        lambda rng: (rng.integers(0, 3, (3, 3)), 5),
        lambda rng: (rng.random((2, 2)), 0),
        lambda rng: (rng.random((2, 2)).astype(np.float32), 1),
    ],
    features=["trip count is an argument"],
)
def matrix_power(a, exponent):
    """Square and multiply."""
    result = np.eye(a.shape[0], dtype=a.dtype)
    base = a
    while exponent:
        if exponent & 1:
            result = result.dot(base)
        base = base.dot(base)
        exponent >>= 1
    return result


@program(
    arguments=lambda rng: (rng.standard_normal((5, 3)), rng.standard_normal((5, 3))),
    others=[
        lambda rng: (np.zeros((0, 3)), np.zeros((0, 3))),
        lambda rng: (rng.integers(-4, 5, (2, 3)), rng.integers(-4, 5, (2, 3))),
    ],
    trace=True,
)
def triangle_areas(p, q):
    """Areas and unit normals of the triangles spanned with the origin; a flat one has no normal."""
    normal = np.cross(p, q)
    area = 0.5 * np.sqrt(np.einsum("ij,ij->i", normal, normal))
    safe = np.where(area > 0, 2 * area, 1)
    return area, normal / safe[:, None]


@program(
    arguments=lambda rng: (rng.random((3, 4, 4)), rng.random((4, 4)), rng.random(4)),
    others=[
        lambda rng: (rng.random((1, 2, 3)), rng.random((3, 3)), rng.random(3)),
        lambda rng: (rng.random((2, 5, 2)).astype(np.float32), rng.random((2, 2)), rng.random(2)),
    ],
    trace=True,
)
def doitgen(a, c4, scale):
    """The last axis of a 3-d array is multiplied by a matrix, a plane at a time, in place."""
    for plane in a:
        plane[:] = (plane @ c4) * scale
    return np.triu(a[0]), np.tril(a[-1])
