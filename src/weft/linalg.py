"""Linear algebra: the array API standard's `linalg` extension, and what else `numpy.linalg` has.

>>> import numpy as np
>>> import weft
>>> print(weft.linalg.det(np.array([[2.0, 0.0], [1.0, 3.0]])))
6.0
"""

from __future__ import annotations

from weft._listing import listing as _listing
from weft.ops.linalg import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from weft.ops.linalg import linalg_diagonal as diagonal
from weft.ops.linalg import linalg_trace as trace
from weft.ops.linalg_decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from weft.ops.linalg_solvers import (
    det,
    inv,
    matrix_norm,
    matrix_power,
    matrix_rank,
    norm,
    pinv,
    slogdet,
    solve,
    vector_norm,
)
from weft.ops.linalg_systems import cond, lstsq, multi_dot, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

__dir__ = _listing(__name__)
