"""Least squares, tensor equations, chains of products, condition numbers; users find them in `weft.linalg`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._dim import agree, dim_min, unknown_size
from weft.ops._families import composite, conj
from weft.ops._matrices import inexact, matrix_shape, put_in, real_dtype, square_shape
from weft.ops._op import TABLE
from weft.ops._raises import SINGULAR
from weft.ops._spec import Shape, Spec, normalize_axes, shape_of, size_of
from weft.ops.dtypes import astype
from weft.ops.elementwise import real
from weft.ops.linalg import matmul
from weft.ops.linalg_decompositions import svdvals
from weft.ops.linalg_solvers import inv, norm, pinv, solve
from weft.ops.logic import isnan, logical_and, where
from weft.ops.manipulation import moveaxis, reshape
from weft.ops.reductions import any, sum

__all__ = ["cond", "lstsq", "multi_dot", "tensorinv", "tensorsolve"]


def _lstsq_spec(a: Any, b: Any, rcond: Any) -> tuple[Spec, Spec, Spec, Spec]:
    (m, n), right = matrix_shape("lstsq", a), shape_of(b)
    if len(right) not in (1, 2) or not agree(right[0], m):
        raise ShapeError(f"lstsq: expected {m} rows on the right, one for each of the matrix, got shape {right}")
    dtype = inexact("lstsq", a, b)
    many = right[1] if len(right) == 2 else 1
    if m <= n:
        left_over: Any = 0
    else:
        error = UnknownShape("lstsq: whether there are residuals depends on the rank, known only when it runs")
        left_over = unknown_size("lstsq", error)
    narrow = real_dtype(dtype)
    rank = np.asarray(np.linalg.lstsq(np.ones((1, 1)), np.ones(1), rcond=None)[2]).dtype
    found = Spec((n, many) if len(right) == 2 else (n,), dtype)
    return found, Spec((left_over,), narrow), Spec((), rank), Spec((dim_min(m, n),), narrow)


@composite(arrays=("a", "b"), numpy=(np.linalg.lstsq,), eval=np.linalg.lstsq, infer=_lstsq_spec, raises=SINGULAR)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """The x for which a @ x comes nearest to b, squared distances left over, the rank of a, and its singular values.

    The derivative takes the matrix to have full rank.
    """
    m, n = matrix_shape("lstsq", a)
    right = reshape(b, (m, -1))
    x = matmul(pinv(a), right)
    away = right - matmul(a, x)
    left_over = sum(real(away * conj(away)), axis=0)
    rank = astype(
        TABLE["matrix_rank"](a), np.asarray(np.linalg.lstsq(np.ones((1, 1)), np.ones(1), rcond=None)[2]).dtype
    )
    found = reshape(x, (n, *shape_of(b)[1:]))
    return found, left_over if m > n else left_over[:0], rank, svdvals(a)


@composite(arrays=("arrays",), numpy=(np.linalg.multi_dot,), eval=np.linalg.multi_dot, raises=SINGULAR)
def multi_dot(arrays: Any, /) -> Any:
    """The product of a chain of matrices; the first and the last may be vectors."""
    if len(arrays) < 2:
        raise ShapeError(f"multi_dot: expected two arrays or more, got {len(arrays)}")
    for i, each in enumerate(arrays):
        if len(shape_of(each)) != 2 and not (len(shape_of(each)) == 1 and i in (0, len(arrays) - 1)):
            raise ShapeError(f"multi_dot: array {i} has shape {shape_of(each)}, expected a matrix")
    found = arrays[0]
    for each in arrays[1:]:
        found = matmul(found, each)
    return found


def _cond_of(x: Any, p: Any) -> Any:
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    square_shape("cond", x)
    return norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))


@composite(arrays=("x",), numpy=(np.linalg.cond,), eval=np.linalg.cond, raises=SINGULAR)
def cond(x: Any, p: Any = None) -> Any:
    """How much a relative change can grow in solving with each matrix: its norm times that of its inverse."""
    matrix_shape("cond", x)
    inexact("cond", x)
    found = _cond_of(x, p)
    # What is NaN although the matrix has none divides by zero: infinity.
    lost = logical_and(isnan(found), ~any(isnan(x), axis=(-2, -1)))
    return where(lost, math.inf, found)


def _halves(name: str, shape: Shape, ind: int) -> tuple[Shape, Shape]:
    first, second = shape[:ind], shape[ind:]
    if not agree(size_of(first), size_of(second)):
        raise ShapeError(f"{name}: {first} and {second} of shape {shape} have different numbers of elements")
    return first, second


@composite(arrays=("a",), numpy=(np.linalg.tensorinv,), eval=np.linalg.tensorinv, raises=SINGULAR)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a map from its last dimensions to its first `ind`."""
    if ind <= 0:
        raise ValueError(f"tensorinv: expected a positive ind, got {ind}")
    first, second = _halves("tensorinv", shape_of(a), ind)
    return reshape(inv(reshape(a, (size_of(first), size_of(second)))), (*second, *first))


@composite(
    arrays=("a", "b"), numpy=(np.linalg.tensorsolve,), eval=np.linalg.tensorsolve, raises=SINGULAR, always_array=True
)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x for which tensordot(a, x) over all dimensions of x is b; `axes` are moved to the end of a first."""
    ndim = len(shape_of(a))
    if axes is not None:
        moved = normalize_axes("tensorsolve", axes, ndim)
        a = moveaxis(a, moved, tuple(range(ndim - len(moved), ndim)))
    rest = shape_of(a)[len(shape_of(b)) :]
    count = size_of(rest)
    if not agree(size_of(shape_of(b)), count):
        raise ShapeError(f"tensorsolve: {shape_of(b)} and {rest} have different numbers of elements")
    return reshape(solve(reshape(a, (count, count)), reshape(b, (count,))), rest)


put_in("weft.linalg", cond, lstsq, multi_dot, tensorinv, tensorsolve)
