"""What linear algebra, einsum and the Fourier transforms say when they refuse, for arrays and for shapes alone."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np
import pytest

import weft
from weft import fft, linalg
from weft.errors import DtypeError, ShapeError
from weft.ops import Spec, op_of

ARRAY, SPEC = (lambda *shape, dtype=float: np.zeros(shape, dtype)), (lambda *shape, dtype=float: Spec(shape, dtype))
made = pytest.mark.parametrize("x", [ARRAY, SPEC], ids=["array", "spec"])

MESSAGES: list[tuple[Any, type[Exception], str]] = [
    (lambda x: weft.matmul(x(3, 4), x(5, 6)), ShapeError, "matmul: inner dimensions differ: (3, 4) @ (5, 6), 4 != 5"),
    (lambda x: weft.matmul(x(3), x(4)), ShapeError, "matmul: inner dimensions differ: (3,) @ (4,), 3 != 4"),
    (
        lambda x: weft.matmul(x(), x(4)),
        ShapeError,
        "matmul: expected at least one dimension on each side, got () @ (4,)",
    ),
    (
        lambda x: weft.matmul(x(2, 3, 4), x(5, 4, 6)),
        ShapeError,
        "matmul: stacks of matrices do not broadcast: (2, 3, 4) and (5, 4, 6)",
    ),
    (
        lambda x: weft.matrix_transpose(x(3)),
        ShapeError,
        "matrix_transpose: expected a matrix or a stack of matrices, got shape (3,)",
    ),
    (
        lambda x: weft.tensordot(x(3, 4), x(5, 6), axes=1),
        ShapeError,
        "tensordot: dimensions differ: axis 1 of (3, 4) and axis 0 of (5, 6), 4 != 5",
    ),
    (
        lambda x: weft.tensordot(x(3, 4), x(5), axes=2),
        ShapeError,
        "tensordot: cannot contract 2 axes of (3, 4) and (5,)",
    ),
    (
        lambda x: weft.tensordot(x(3, 4), x(4), axes=([0, 1], [0])),
        ShapeError,
        "tensordot: 2 axes of the first array and 1 of the second are to be contracted",
    ),
    (lambda x: weft.vecdot(x(3), x(4)), ShapeError, "vecdot: lengths differ along axis -1: (3,) and (4,), 3 != 4"),
    (lambda x: weft.dot(x(3, 2), x(3)), ShapeError, "dot: inner dimensions differ: (3, 2) @ (3,), 2 != 3"),
    (lambda x: weft.inner(x(3, 2), x(3)), ShapeError, "inner: last dimensions differ: (3, 2) and (3,), 2 != 3"),
    (lambda x: weft.vdot(x(3, 2), x(3)), ShapeError, "vdot: sizes differ: (3, 2) and (3,), 6 != 3"),
    (lambda x: weft.diagonal(x(3)), ShapeError, "diagonal: expected at least two dimensions, got shape (3,)"),
    (lambda x: weft.diagonal(x(3, 3), 0, 1, -1), ShapeError, "diagonal: axis1 and axis2 are the same dimension"),
    (lambda x: weft.diag(x(3, 3, 3)), ShapeError, "diag: expected a vector or a matrix, got shape (3, 3, 3)"),
    (lambda x: linalg.diagonal(x(3)), ShapeError, "diagonal: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.trace(x(3)), ShapeError, "trace: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.cross(x(3), x(2)), ShapeError, "cross: expected 3 elements along axis -1, got shape (2,)"),
    (lambda x: linalg.inv(x(2, 3)), ShapeError, "inv: expected square matrices, got shape (2, 3), 2 != 3"),
    (lambda x: linalg.det(x(3)), ShapeError, "det: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.slogdet(x(2, 3)), ShapeError, "slogdet: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.cholesky(x(2, 3)), ShapeError, "cholesky: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.eigh(x(2, 3)), ShapeError, "eigh: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.eigh(x(2, 2), "X"), ValueError, "eigh: UPLO is 'X', expected 'L' or 'U'"),
    (lambda x: linalg.eigvalsh(x(2)), ShapeError, "eigvalsh: expected a matrix or a stack of matrices, got shape (2,)"),
    (lambda x: linalg.eig(x(2, 3)), ShapeError, "eig: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.eigvals(x(2, 3)), ShapeError, "eigvals: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.svd(x(3)), ShapeError, "svd: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.svdvals(x(3)), ShapeError, "svdvals: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.qr(x(3)), ShapeError, "qr: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.qr(x(3, 3), mode="raw"), ValueError, "qr: mode is 'raw', expected 'reduced' or 'complete'"),
    (lambda x: linalg.solve(x(3, 3), x(2, 1)), ShapeError, "solve: inner dimensions differ: (3, 3) @ (2, 1), 3 != 2"),
    (
        lambda x: linalg.solve(x(3, 3), x()),
        ShapeError,
        "solve: the right side is a number, expected a vector or matrices",
    ),
    (lambda x: linalg.pinv(x(3)), ShapeError, "pinv: expected a matrix or a stack of matrices, got shape (3,)"),
    (lambda x: linalg.matrix_rank(x(3)), ShapeError, "matrix_rank: expected a matrix or a stack of matrices"),
    (lambda x: linalg.matrix_power(x(2, 3), 2), ShapeError, "matrix_power: expected square matrices, got shape (2, 3)"),
    (lambda x: linalg.matrix_norm(x(3)), ShapeError, "matrix_norm: expected a matrix or a stack of matrices"),
    (lambda x: linalg.matrix_norm(x(3, 3), ord=3), ValueError, "matrix_norm: ord is 3, expected 'fro', 'nuc', 1, -1"),
    (
        lambda x: linalg.vector_norm(x(3, 3), axis=2),
        ShapeError,
        "vector_norm: axis 2 is out of range for an array of 2",
    ),
    (
        lambda x: linalg.norm(x(3, 3, 3), ord=2),
        ShapeError,
        "norm: ord=2 needs one axis or two, got 3 of shape (3, 3, 3)",
    ),
    (lambda x: linalg.norm(x(3), ord="nuc"), ValueError, "norm: 'nuc' is a norm of matrices, got one axis"),
    (
        lambda x: linalg.inv(x(2, 2, dtype=np.float16)),
        DtypeError,
        "inv: expected integers, float32, float64, complex64 or complex128, got float16",
    ),
    (lambda x: weft.einsum("ij,jk", x(2, 3)), ShapeError, "einsum: 'ij,jk' names 2 operands, got 1"),
    (lambda x: weft.einsum("ij", x(2)), ShapeError, "einsum: 'ij' has 2 labels, operand 0 has shape (2,)"),
    (
        lambda x: weft.einsum("ij,jk->ik", x(2, 3), x(4, 5)),
        ShapeError,
        "einsum: 'j' in 'ij,jk->ik' stands for 3 and for 4 (operand 1, (4, 5))",
    ),
    (
        lambda x: weft.einsum("ii", x(2, 1)),
        ShapeError,
        "einsum: 'i' is repeated in 'ii' over different dimensions of (2, 1)",
    ),
    (
        lambda x: weft.einsum("ij->ik", x(2, 3)),
        ShapeError,
        "einsum: 'k' in the output of 'ij->ik' is repeated or in no operand",
    ),
    (
        lambda x: weft.einsum("ij->ii", x(2, 3)),
        ShapeError,
        "einsum: 'i' in the output of 'ij->ii' is repeated or in no operand",
    ),
    (
        lambda x: weft.einsum("i1", x(2, 3)),
        ShapeError,
        "einsum: 'i1' in 'i1' is not made of letters and at most one '...'",
    ),
    (
        lambda x: weft.einsum("...ij", x(2)),
        ShapeError,
        "einsum: '...ij' has too many labels for operand 0 of 1 dimensions",
    ),
    (
        lambda x: weft.einsum("...i->i", x(2, 3)),
        ShapeError,
        "einsum: the output of '...i->i' leaves out the dimensions of '...'",
    ),
    (lambda x: fft.fft(x()), ShapeError, "fft: axis -1 is out of range for an array of 0 dimensions"),
    (
        lambda x: fft.fft(x(3), n=0),
        ShapeError,
        "fft: the transform has 0 points, expected at least 1, for axis 0 of (3,)",
    ),
    (lambda x: fft.ifft(x(3), norm="no"), ValueError, "ifft: norm is 'no', expected 'backward', 'ortho' or 'forward'"),
    (lambda x: fft.hfft(x(3), norm="no"), ValueError, "hfft: norm is 'no', expected 'backward', 'ortho' or 'forward'"),
    (lambda x: fft.irfft(x(1)), ShapeError, "irfft: the transform has 0 points, expected at least 1"),
    (lambda x: fft.rfft(x(3, dtype=complex)), DtypeError, "rfft: expected a real array, got complex128"),
    (lambda x: fft.fftn(x(3, 3), s=(2,), axes=(0, 1)), ShapeError, "fftn: s has 1 lengths for 2 axes"),
    (lambda x: fft.rfftn(x(3, 3), axes=()), ShapeError, "rfftn: at least one axis must be transformed"),
    (lambda x: fft.fftn(x(3, 3), axes=(0, -2)), ShapeError, "fftn: axis (0, -2) names a dimension twice"),
]


@made
@pytest.mark.parametrize(
    ("call", "kind", "message"), MESSAGES, ids=[m.split(":")[0] + f"-{i}" for i, (_, _, m) in enumerate(MESSAGES)]
)
def test_message(x: Any, call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        call(x)
    assert str(caught.value).startswith(message)


def test_frequencies_are_real() -> None:
    with pytest.raises(DtypeError, match="fftfreq: dtype must be a real floating dtype, got complex128"):
        fft.fftfreq(4, dtype=complex)


def test_a_singular_matrix_has_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        linalg.inv(np.zeros((2, 2)))


STANDARD_LINALG = {
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
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
}
STANDARD_FFT = {
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
}


def test_namespaces() -> None:
    assert weft.fft is sys.modules["weft.fft"]
    assert weft.linalg is sys.modules["weft.linalg"]
    further = {"cond", "eig", "eigvals", "lstsq", "multi_dot", "norm", "tensorinv", "tensorsolve"}
    assert set(linalg.__all__) == STANDARD_LINALG | further
    assert set(fft.__all__) == STANDARD_FFT | {"fft2", "ifft2", "rfft2", "irfft2"}
    for module in (linalg, fft):
        for name in module.__all__:
            op = getattr(module, name)
            assert op.__name__ == name
            # The printed name of an op leads back to it.
            assert getattr(sys.modules[op.__module__], op.__name__) is op


def test_named_results() -> None:
    x = np.eye(2)
    assert linalg.eigh(x)._fields == linalg.eig(x)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.qr(x)._fields == ("Q", "R")
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    assert linalg.svd(Spec((2, 2)))._fields == ("U", "S", "Vh")


def test_numpy_functions_mean_these_ops() -> None:
    assert op_of(operator.matmul) is op_of(np.matmul) is weft.matmul
    assert op_of(np.linalg.svd) is linalg.svd
    assert op_of(np.fft.fft) is fft.fft
    assert op_of(np.trace) is not op_of(np.linalg.trace) is linalg.trace
