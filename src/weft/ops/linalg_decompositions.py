"""Decompositions of matrices: Cholesky, QR, eigenvalues, singular values; users find them in `weft.linalg`.

Vectors that belong to equal eigenvalues or singular values are not determined, only the space they span, so a gradient
that reaches them is NaN, as with other libraries. Functions of the values alone, or of vectors whose own value is
simple, have their gradient at such matrices too. The gradient of a Hermitian argument is Hermitian.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from weft import ops
from weft.errors import NotDifferentiable
from weft.ops._cost import CUBIC
from weft.ops._families import conj, op
from weft.ops._matrices import adjoint, inexact, matrix_shape, put_in, real_dtype, square_shape
from weft.ops._op import TABLE
from weft.ops._raises import SINGULAR, Raises, always
from weft.ops._spec import Spec, is_complex, shape_of
from weft.ops.linalg import diagonal, matmul
from weft.ops.linalg_solvers import solve

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


def _row(x: Any) -> Any:
    """Vectors as rows: multiplied into a matrix, each scales one column."""
    return ops.expand_dims(x, -2)


def _column(x: Any) -> Any:
    """Vectors as columns: multiplied into a matrix, each scales one row."""
    return ops.expand_dims(x, -1)


def _eye(x: Any) -> Any:
    return ops.eye(shape_of(x)[-1], dtype=np.dtype(bool))


def _sandwich(u: Any, values: Any, vh: Any) -> Any:
    """The product u diag(values) vh."""
    return matmul(u * _row(values), vh)


def _over(x: Any, y: Any) -> Any:
    """The quotient x / y, with 0 / 0 = 0 and NaN for any other x / 0, without a warning."""
    zero = ops.equal(y, 0)
    quotient = ops.where(zero, math.nan, x / ops.where(zero, 1.0, y))
    return ops.where(ops.logical_and(zero, ops.equal(x, 0)), 0.0, quotient)


def _over_gaps(x: Any, gaps: Any) -> Any:
    """The quotient x / gaps off the diagonal, 0 on it."""
    return _over(ops.where(_eye(x), 0.0, x), gaps)


@op(
    arrays=("x",),
    infer=lambda x, reason: Spec((), x.dtype),
    vjp=lambda g, y, x, reason: 0,
    raises=Raises((NotDifferentiable,), always),
    always_array=True,
)
def refuse_nonzero(x: Any, /, reason: str) -> Any:
    """Zero; where x is not all zero, an error: some gradient arrived at a result that has no derivative."""
    if np.any(x):
        raise NotDifferentiable(reason)
    return np.zeros((), np.asarray(x).dtype)


def _in_triangle(g: Any, upper: bool) -> Any:
    """The gradient of a matrix of which one triangle is read, from a Hermitian one that takes both to move together."""
    both = g + adjoint(g)
    return ops.where(_eye(g), ops.real(g), ops.triu(both, k=1) if upper else ops.tril(both, k=-1))


def _cholesky_rule(g: Any, y: Any, x: Any, upper: bool) -> Any:
    if upper:
        g, y = adjoint(g), adjoint(y)
    yh = adjoint(y)
    inner = matmul(yh, g)
    half = ops.where(_eye(x), 0.5 * ops.real(inner), ops.tril(inner, k=-1))
    once = solve(yh, half + adjoint(half))
    return _in_triangle(0.5 * adjoint(solve(yh, adjoint(once))), upper)


@op(
    arrays=("x",),
    infer=lambda x, upper: Spec(square_shape("cholesky", x), inexact("cholesky", x)),
    vjp=_cholesky_rule,
    numpy=(np.linalg.cholesky,),
    raises=SINGULAR,
    cost=CUBIC,
)
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangular L with x = L L^H of positive definite matrices, or U with x = U^H U; reads one triangle of x."""
    return np.linalg.cholesky(x, upper=upper)


def _eigh_spec(x: Any, UPLO: str) -> EighResult:
    shape, dtype = square_shape("eigh", x), inexact("eigh", x)
    _triangle("eigh", UPLO)
    return EighResult(Spec(shape[:-1], real_dtype(dtype)), Spec(shape, dtype))


def _triangle(name: str, UPLO: str) -> None:
    if UPLO not in ("L", "U"):
        raise ValueError(f"{name}: UPLO is {UPLO!r}, expected 'L' or 'U'")


def _eigh_rule(g: Any, y: Any, x: Any, UPLO: str) -> Any:
    (gw, gv), (w, v) = g, y
    vh = adjoint(v)
    inner = _over_gaps(matmul(vh, gv), _row(w) - _column(w))
    inner = 0.5 * (inner + adjoint(inner))
    return _in_triangle(matmul(matmul(v, ops.where(_eye(x), _row(gw), inner)), vh), UPLO == "U")


@op(arrays=("x",), infer=_eigh_spec, vjp=_eigh_rule, numpy=(np.linalg.eigh,), raises=SINGULAR, cost=CUBIC)
def eigh(x: Any, /, UPLO: Any = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices; reads one triangle of x."""
    return EighResult(*np.linalg.eigh(x, UPLO))


def _eigvalsh_spec(x: Any, UPLO: str) -> Spec:
    _triangle("eigvalsh", UPLO)
    return Spec(square_shape("eigvalsh", x)[:-1], real_dtype(inexact("eigvalsh", x)))


def _eigvalsh_rule(g: Any, y: Any, x: Any, UPLO: str) -> Any:
    v = eigh(x, UPLO)[1]
    return _in_triangle(_sandwich(v, g, adjoint(v)), UPLO == "U")


@op(arrays=("x",), infer=_eigvalsh_spec, vjp=_eigvalsh_rule, numpy=(np.linalg.eigvalsh,), raises=SINGULAR, cost=CUBIC)
def eigvalsh(x: Any, /, UPLO: Any = "L") -> Any:
    """Eigenvalues of Hermitian matrices, ascending."""
    return np.linalg.eigvalsh(x, UPLO)


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _eig_spec(x: Any) -> EigResult:
    shape, dtype = square_shape("eig", x), _complex(inexact("eig", x))
    return EigResult(Spec(shape[:-1], dtype), Spec(shape, dtype))


def _eig_rule(g: Any, y: Any, x: Any) -> Any:
    (gw, gv), (w, v) = g, y
    vh = adjoint(v)
    inner = matmul(vh, gv)
    # Eigenvectors have length one: what would change their length is taken off.
    lengths = ops.real(diagonal(inner, 0, -2, -1))
    inner = _over_gaps(inner - matmul(vh, v) * _row(lengths), conj(_row(w) - _column(w)))
    return solve(vh, matmul(ops.where(_eye(x), _row(gw), inner), vh))


@op(arrays=("x",), infer=_eig_spec, vjp=_eig_rule, numpy=(np.linalg.eig,), raises=SINGULAR, cost=CUBIC)
def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors, of length one, of square matrices, always complex."""
    w, v = np.linalg.eig(x)
    return EigResult(w.astype(_complex(w.dtype)), v.astype(_complex(v.dtype)))


def _eigvals_rule(g: Any, y: Any, x: Any) -> Any:
    v = eig(x)[1]
    vh = adjoint(v)
    return solve(vh, _column(g) * vh)


@op(
    arrays=("x",),
    infer=lambda x: Spec(square_shape("eigvals", x)[:-1], _complex(inexact("eigvals", x))),
    vjp=_eigvals_rule,
    numpy=(np.linalg.eigvals,),
    raises=SINGULAR,
    cost=CUBIC,
)
def eigvals(x: Any, /) -> Any:
    """Eigenvalues of square matrices, always complex."""
    w = np.linalg.eigvals(x)
    return w.astype(_complex(w.dtype))


def _qr_spec(x: Any, mode: str) -> QRResult:
    (*stack, m, n), dtype = matrix_shape("qr", x), inexact("qr", x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}, expected 'reduced' or 'complete'")
    k = min(m, n) if mode == "reduced" else m
    return QRResult(Spec((*stack, m, k), dtype), Spec((*stack, k, n), dtype))


def _qr_rule(g: Any, y: Any, x: Any, mode: str) -> Any:
    (gq, gr), (q, r) = g, y
    m, n = shape_of(x)[-2:]
    if m <= n:
        return _qr_wide(gq, gr, q, r, x)
    if mode == "reduced":
        return _qr_tall(gq, gr, q, r)
    reason = f"qr: the last {m - n} columns of a complete Q are any basis of what is left; use mode='reduced'"
    tall = _qr_tall(gq[..., :n], gr[..., :n, :], q[..., :n], r[..., :n, :])
    return tall + refuse_nonzero(gq[..., n:], reason)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """At least as many rows as columns: Q^H dQ is skew-Hermitian and dR R^-1 upper triangular, with a real diagonal."""
    inner = matmul(r, adjoint(gr)) - matmul(adjoint(gq), q)
    lower = ops.tril(inner, k=-1)
    symmetric = ops.where(_eye(inner), ops.real(inner), lower + adjoint(lower))
    return adjoint(solve(r, adjoint(gq + matmul(q, symmetric))))


def _qr_wide(gq: Any, gr: Any, q: Any, r: Any, x: Any) -> Any:
    """The first m columns are factored; the others are only multiplied by Q^H."""
    m, n = shape_of(x)[-2:]
    gr_rest, rest = gr[..., m:], x[..., m:]
    left = _qr_tall(gq + matmul(rest, adjoint(gr_rest)), gr[..., :m], q, r[..., :m])
    return ops.concat([left, matmul(q, gr_rest)], axis=-1) if m < n else left


@op(arrays=("x",), infer=_qr_spec, vjp=_qr_rule, numpy=(np.linalg.qr,), cost=CUBIC)
def qr(x: Any, /, mode: Any = "reduced") -> QRResult:
    """Orthonormal Q and upper triangular R with x = Q R; mode is 'reduced' or 'complete'."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}, expected 'reduced' or 'complete'")
    return QRResult(*np.linalg.qr(x, mode))


def _svd_spec(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    (*stack, m, n), dtype = matrix_shape("svd", x), inexact("svd", x)
    k = min(m, n)
    if not compute_uv:
        return Spec((*stack, k), real_dtype(dtype))
    u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    return SVDResult(Spec((*stack, *u), dtype), Spec((*stack, k), real_dtype(dtype)), Spec((*stack, *vh), dtype))


def _svd_rule(g: Any, y: Any, x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return _svdvals_rule(g, y, x)
    (gu, gs, gvh), (u, s, vh) = g, y
    m, n = shape_of(x)[-2:]
    if not full_matrices or m == n:
        return _svd_thin(gu, gs, gvh, u, s, vh)
    k = min(m, n)
    reason = "svd: the extra columns of U and rows of Vh are any basis of what is left; use full_matrices=False"
    extra = gu[..., k:] if m > n else gvh[..., k:, :]
    thin = _svd_thin(gu[..., :k], gs, gvh[..., :k, :], u[..., :k], s, vh[..., :k, :])
    return thin + refuse_nonzero(extra, reason)


def _svd_thin(gu: Any, gs: Any, gvh: Any, u: Any, s: Any, vh: Any) -> Any:
    """The gradient of the thin decomposition.

    With P = U^H dx V and the gaps s_j^2 - s_i^2: dS is the real diagonal of P, and off the diagonal U^H dU is
    (P S + S P^H) / gaps and V^H dV is (S P + P^H S) / gaps.
    """
    uh, gv, v = adjoint(u), adjoint(gvh), adjoint(vh)
    turn_u, turn_v = matmul(uh, gu), matmul(vh, gv)
    gaps = (_row(s) - _column(s)) * (_row(s) + _column(s))
    left, right = _over_gaps(turn_u, gaps), _over_gaps(turn_v, gaps)
    inner = (left + adjoint(left)) * _row(s) + _column(s) * (right + adjoint(right))
    values = gs
    if is_complex(u):
        # One phase of each pair of vectors is free; the other follows the imaginary part of P.
        values = gs + 1j * _over(ops.imag(diagonal(turn_u, 0, -2, -1)), s)
    result = matmul(matmul(u, ops.where(_eye(inner), _row(values), inner)), vh)
    m, n = shape_of(u)[-2], shape_of(vh)[-1]
    if m > n:
        scaled = _over(gu, _row(s))
        result = result + matmul(scaled - matmul(u, matmul(uh, scaled)), vh)
    if n > m:
        scaled = _over(gvh, _column(s))
        result = result + matmul(u, scaled - matmul(matmul(scaled, v), vh))
    return result


@op(arrays=("x",), infer=_svd_spec, vjp=_svd_rule, numpy=(np.linalg.svd,), raises=SINGULAR, cost=CUBIC)
def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition x = U diag(S) Vh, singular values descending; S alone without compute_uv."""
    if not compute_uv:
        return np.linalg.svd(x, compute_uv=False)
    return SVDResult(*np.linalg.svd(x, full_matrices))


def _svdvals_spec(x: Any) -> Spec:
    shape = matrix_shape("svdvals", x)
    return Spec((*shape[:-2], min(shape[-2:])), real_dtype(inexact("svdvals", x)))


def _svdvals_rule(g: Any, y: Any, x: Any) -> Any:
    u, _, vh = svd(x, False)
    return _sandwich(u, g, vh)


@op(arrays=("x",), infer=_svdvals_spec, vjp=_svdvals_rule, numpy=(np.linalg.svdvals,), raises=SINGULAR, cost=CUBIC)
def svdvals(x: Any, /) -> Any:
    """Singular values of each matrix, descending."""
    return np.linalg.svd(x, compute_uv=False)


put_in("weft.linalg", *(TABLE[name] for name in __all__))
put_in("weft.ops.linalg_decompositions", refuse_nonzero)
