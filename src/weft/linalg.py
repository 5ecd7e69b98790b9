"""Linear algebra: the array API standard's `linalg` extension, and NumPy's `norm`.

>>> import numpy as np
>>> import weft
>>> print(weft.linalg.det(np.array([[2.0, 0.0], [1.0, 3.0]])))
6.0
"""

from __future__ import annotations

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

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
