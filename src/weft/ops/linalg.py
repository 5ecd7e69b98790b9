"""Products of vectors, matrices and tensors, and what moves or picks elements of matrices."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft import ops
from weft.errors import DtypeError, ShapeError
from weft.ops._cost import CHEAP, Cost, elements
from weft.ops._dim import agree, shapes_agree
from weft.ops._families import composite, conj, movement, op
from weft.ops._matrices import adjoint, inner_shapes, matrix_shape, put_in, stack_shapes
from weft.ops._op import OWN, SHOWN, Op, alias
from weft.ops._spec import Shape, Spec, dtype_of, normalize_axes, normalize_axis, shape_of

__all__ = [
    "diag",
    "diagonal",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
]


def _matmul_spec(a: Any, b: Any) -> Spec:
    s, t = shape_of(a), shape_of(b)
    if not s or not t:
        raise ShapeError(f"matmul: expected at least one dimension on each side, got {s} @ {t}", help="multiply with *")
    inner_shapes("matmul", s, t, s[-1], t[-1] if len(t) == 1 else t[-2])
    dtype = np.result_type(dtype_of(a), dtype_of(b))
    rows, columns = s[-2:-1], t[-1:] if len(t) > 1 else ()
    return Spec((*stack_shapes("matmul", s, t), *rows, *columns), dtype)


def _matmul_x1(g: Any, y: Any, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1:
        return (ops.expand_dims(g, -1) if len(shape_of(a)) > 1 else g) * conj(b)
    if len(shape_of(a)) == 1:
        return _matvec(conj(b), g)
    return matmul(g, adjoint(b))


def _matmul_x2(g: Any, y: Any, a: Any, b: Any) -> Any:
    s, t = shape_of(a), shape_of(b)
    if len(s) == 1:
        return g * conj(a) if len(t) == 1 else ops.expand_dims(conj(a), -1) * ops.expand_dims(g, -2)
    if len(t) == 1:
        return _matvec(adjoint(a), g)
    if len(t) == 2 and len(s) > 2:
        # One product over the whole stack, instead of a stack of products that is summed afterwards.
        rows = math.prod(s[:-1])
        return matmul(adjoint(ops.reshape(a, (rows, s[-1]))), ops.reshape(g, (rows, t[-1])))
    return matmul(adjoint(a), g)


def _matvec(matrices: Any, vectors: Any) -> Any:
    """The product of each matrix of a stack with the vector that belongs to it."""
    if len(shape_of(matrices)) == 2 and len(shape_of(vectors)) == 1:
        return matmul(matrices, vectors)
    return ops.squeeze(matmul(matrices, ops.expand_dims(vectors, -1)), -1)


@op(
    arrays=("x1", "x2"),
    infer=_matmul_spec,
    vjp=(_matmul_x1, _matmul_x2),
    numpy=(np.matmul, np.linalg.matmul),
    cost=Cost(lambda y, x1, x2: 2 * elements(y) * x1.shape[-1]),
)
def matmul(x1: Any, x2: Any, /) -> Any:
    """Matrix product of vectors, matrices or stacks of matrices, which broadcast."""
    return np.matmul(x1, x2)


def _matrix_transpose_rule(g: Any, y: Any, x: Any) -> Any:
    return matrix_transpose(g)


@movement(
    shape=lambda shape: (*matrix_shape("matrix_transpose", Spec(shape))[:-2], shape[-1], shape[-2]),
    vjp=_matrix_transpose_rule,
    numpy=(np.matrix_transpose, np.linalg.matrix_transpose),
)
def matrix_transpose(x: Any, /) -> Any:
    """The array with its last two dimensions exchanged."""
    return np.matrix_transpose(x)


def _contracted(x1: Any, x2: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of x1 and of x2 that `tensordot` sums over, counted from the front."""
    s, t = shape_of(x1), shape_of(x2)
    if isinstance(axes, Iterable):
        left, right = axes
    else:
        count = operator.index(axes)
        if not 0 <= count <= min(len(s), len(t)):
            raise ShapeError(f"tensordot: cannot contract {count} axes of {s} and {t}")
        left, right = range(len(s) - count, len(s)), range(count)
    i, j = normalize_axes("tensordot", left, len(s)), normalize_axes("tensordot", right, len(t))
    if len(i) != len(j):
        raise ShapeError(f"tensordot: {len(i)} axes of the first array and {len(j)} of the second are to be contracted")
    for p, q in zip(i, j, strict=True):
        if not agree(s[p], t[q]):
            raise ShapeError(f"tensordot: dimensions differ: axis {p} of {s} and axis {q} of {t}, {s[p]} != {t[q]}")
    return i, j


@composite(arrays=("x1", "x2"), numpy=(np.tensordot, np.linalg.tensordot), always_array=True)
def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Any:
    """Sum of products over the last `axes` dimensions of x1 and the first of x2, or over two lists of axes."""
    left, right = _contracted(x1, x2, axes)
    s, t = shape_of(x1), shape_of(x2)
    rows = tuple(i for i in range(len(s)) if i not in left)
    columns = tuple(i for i in range(len(t)) if i not in right)
    m, k = math.prod(s[i] for i in rows), math.prod(s[i] for i in left)
    n = math.prod(t[i] for i in columns)
    a = ops.reshape(ops.permute_dims(x1, (*rows, *left)), (m, k))
    b = ops.reshape(ops.permute_dims(x2, (*right, *columns)), (k, n))
    return ops.reshape(matmul(a, b), (*(s[i] for i in rows), *(t[i] for i in columns)))


@composite(arrays=("x1", "x2"), numpy=(np.vecdot, np.linalg.vecdot), scalar=True)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Inner product of vectors along `axis`, the first conjugated."""
    s, t = shape_of(x1), shape_of(x2)
    i, j = normalize_axis("vecdot", axis, len(s)), normalize_axis("vecdot", axis, len(t))
    if not agree(s[i], t[j]):
        raise ShapeError(f"vecdot: lengths differ along axis {axis}: {s} and {t}, {s[i]} != {t[j]}")
    a, b = ops.moveaxis(x1, i, -1), ops.moveaxis(x2, j, -1)
    product = matmul(ops.expand_dims(conj(a), -2), ops.expand_dims(b, -1))
    return ops.squeeze(product, (-2, -1))


@composite(arrays=("x1", "x2"), numpy=(np.dot,))
def dot(x1: Any, x2: Any, /) -> Any:
    """Sum of products over the last axis of x1 and the last but one of x2; the product where either is a scalar."""
    s, t = shape_of(x1), shape_of(x2)
    if not s or not t:
        return ops.multiply(x1, x2)
    inner_shapes("dot", s, t, s[-1], t[-1] if len(t) == 1 else t[-2])
    return matmul(x1, x2) if len(t) <= 2 else tensordot(x1, x2, axes=((-1,), (-2,)))


@composite(arrays=("x1", "x2"), numpy=(np.inner,), scalar=True)
def inner(x1: Any, x2: Any, /) -> Any:
    """Sum of products over the last axis of both arrays; the product where either is a scalar."""
    s, t = shape_of(x1), shape_of(x2)
    if not s or not t:
        return ops.multiply(x1, x2)
    if not agree(s[-1], t[-1]):
        raise ShapeError(f"inner: last dimensions differ: {s} and {t}, {s[-1]} != {t[-1]}")
    return tensordot(x1, x2, axes=((-1,), (-1,)))


@composite(arrays=("x1", "x2"), numpy=(np.vdot,))
def vdot(x1: Any, x2: Any, /) -> Any:
    """Inner product of all elements of two arrays, the first conjugated."""
    m, n = math.prod(shape_of(x1)), math.prod(shape_of(x2))
    if not agree(m, n):
        raise ShapeError(f"vdot: sizes differ: {shape_of(x1)} and {shape_of(x2)}, {m} != {n}")
    return matmul(ops.reshape(conj(x1), (m,)), ops.reshape(x2, (n,)))


@composite(arrays=("x1", "x2"), numpy=(np.outer, np.linalg.outer))
def outer(x1: Any, x2: Any, /) -> Any:
    """Every product of an element of x1 with an element of x2, as a matrix."""
    return ops.multiply(ops.reshape(x1, (math.prod(shape_of(x1)), 1)), ops.reshape(x2, (1, math.prod(shape_of(x2)))))


@composite(arrays=("x1", "x2"), numpy=(np.kron,))
def kron(x1: Any, x2: Any, /) -> Any:
    """Kronecker product: x2 scaled by each element of x1, laid out as blocks."""
    ndim = max(len(shape_of(x1)), len(shape_of(x2)))
    s = (1,) * (ndim - len(shape_of(x1))) + shape_of(x1)
    t = (1,) * (ndim - len(shape_of(x2))) + shape_of(x2)
    a = ops.reshape(x1, [d for pair in zip(s, (1,) * ndim, strict=True) for d in pair])
    b = ops.reshape(x2, [d for pair in zip((1,) * ndim, t, strict=True) for d in pair])
    return ops.reshape(ops.multiply(a, b), tuple(p * q for p, q in zip(s, t, strict=True)))


def _diagonal_axes(name: str, shape: Shape, axis1: int, axis2: int) -> tuple[int, int]:
    if len(shape) < 2:
        raise ShapeError(f"{name}: expected at least two dimensions, got shape {shape}")
    i, j = normalize_axis(name, axis1, len(shape)), normalize_axis(name, axis2, len(shape))
    if i == j:
        raise ShapeError(f"{name}: axis1 and axis2 are the same dimension, {axis1} and {axis2} of {shape}")
    return i, j


def _diagonal_shape(shape: Shape, offset: int, axis1: int, axis2: int) -> Shape:
    i, j = _diagonal_axes("diagonal", shape, axis1, axis2)
    length = max(0, min(shape[i] + min(offset, 0), shape[j] - max(offset, 0)))
    return (*(d for k, d in enumerate(shape) if k not in (i, j)), length)


def _diagonal_rule(g: Any, y: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return from_diagonal(g, shape_of(x), offset, axis1, axis2)


@movement(shape=_diagonal_shape, vjp=_diagonal_rule, numpy=(np.diagonal,), memory=SHOWN, cost=CHEAP)
def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of the matrices that two axes span, as the last axis of the result."""
    return np.diagonal(x, offset, axis1, axis2)


def _from_diagonal_shape(old: Shape, shape: Shape, offset: int, axis1: int, axis2: int) -> Shape:
    wanted = _diagonal_shape(shape, offset, axis1, axis2)
    if not shapes_agree(old, wanted):
        raise ShapeError(f"from_diagonal: the diagonal of {shape} with offset {offset} has shape {wanted}, got {old}")
    return shape


@movement(
    shape=_from_diagonal_shape,
    vjp=lambda g, y, x, shape, offset, axis1, axis2: diagonal(g, offset, axis1, axis2),
    memory=OWN,
)
def from_diagonal(x: Any, /, shape: Shape, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Zeros of the given shape with x along the diagonal of two axes."""
    result = np.zeros(shape, np.asarray(x).dtype)
    steps = np.arange(np.shape(x)[-1])
    matrices = np.moveaxis(result, (axis1, axis2), (-2, -1))
    matrices[..., steps + max(-offset, 0), steps + max(offset, 0)] = x
    return result


@composite(numpy=(np.diag,), memory=None)
def diag(x: Any, /, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix that has a vector as its k-th diagonal."""
    shape = shape_of(x)
    if len(shape) == 1:
        size = shape[0] + abs(k)
        return from_diagonal(x, (size, size), k)
    if len(shape) != 2:
        raise ShapeError(f"diag: expected a vector or a matrix, got shape {shape}")
    return diagonal(x, k)


@composite(numpy=(np.trace,))
def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Sum along the diagonal of the matrices that two axes span."""
    _diagonal_axes("trace", shape_of(x), axis1, axis2)
    return ops.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


@composite(numpy=(np.linalg.diagonal,), memory=SHOWN)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of a stack of matrices."""
    matrix_shape("diagonal", x)
    return diagonal(x, offset, -2, -1)


@composite(numpy=(np.linalg.trace,))
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sum along the diagonals of a stack of matrices."""
    matrix_shape("trace", x)
    return trace(x, offset, -2, -1, dtype)


@composite(arrays=("x1", "x2"), numpy=(np.cross, np.linalg.cross))
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of three elements along `axis`."""
    a, b = (ops.moveaxis(x, normalize_axis("cross", axis, len(shape_of(x))), -1) for x in (x1, x2))
    for x, moved in ((x1, a), (x2, b)):
        if shape_of(moved)[-1] != 3:
            raise ShapeError(f"cross: expected 3 elements along axis {axis}, got shape {shape_of(x)}")
        if dtype_of(x).kind == "b":
            raise DtypeError("cross: expected numbers, got bool")
    # Component i is a[i+1] b[i+2] - a[i+2] b[i+1], counted modulo 3: rolled copies line these up.
    product = ops.roll(a, -1, axis=-1) * ops.roll(b, -2, axis=-1) - ops.roll(a, -2, axis=-1) * ops.roll(b, -1, axis=-1)
    return ops.moveaxis(product, -1, axis)


alias(operator.matmul, matmul)


def _named(name: str, each: Op) -> None:
    each.__name__ = each.__qualname__ = name


# The standard has these two in `linalg` with fewer parameters than NumPy's functions of the same name have.
_named("diagonal", linalg_diagonal)
_named("trace", linalg_trace)
put_in("weft.linalg", linalg_diagonal, linalg_trace, cross)
put_in("weft.ops.linalg", from_diagonal, trace)
