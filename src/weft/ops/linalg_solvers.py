"""Determinants, inverses, linear systems and norms; users find them in `weft.linalg`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from weft import ops
from weft.errors import ShapeError
from weft.ops._cost import CUBIC, Cost
from weft.ops._families import composite, conj, op, reduced_shape, reduction
from weft.ops._matrices import (
    adjoint,
    inexact,
    inner_shapes,
    matrix_shape,
    put_in,
    real_dtype,
    square_shape,
    stack_shapes,
)
from weft.ops._op import ANY_ORDER, TABLE, no_gradient
from weft.ops._raises import SINGULAR, Raises
from weft.ops._spec import Spec, axis_tuple, broadcast_shapes, dtype_of, is_complex, normalize_axes, shape_of
from weft.ops.linalg import linalg_trace, matmul, matrix_transpose

__all__ = [
    "det",
    "inv",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "norm",
    "pinv",
    "slogdet",
    "solve",
    "vector_norm",
]


def _stretch(x: Any) -> Any:
    """Numbers, one for each matrix of a stack, ready to multiply the matrices."""
    return ops.expand_dims(ops.expand_dims(x, -1), -1)


def _det_rule(g: Any, y: Any, x: Any) -> Any:
    return _stretch(g) * conj(cofactor(x))


@op(
    arrays=("x",),
    infer=lambda x: Spec(square_shape("det", x)[:-2], inexact("det", x)),
    vjp=_det_rule,
    numpy=(np.linalg.det,),
    cost=CUBIC,
)
def det(x: Any, /) -> Any:
    """Determinant of each square matrix."""
    return np.linalg.det(x)


# The derivatives of det are ops, because the usual formula det(x) x^-T needs an inverse that a singular matrix lacks
# although the derivative exists: the determinant is a polynomial. `cofactor` is its gradient, `cofactor_along` its
# second derivative applied to a direction; both are evaluated by singular values where the inverse is of no use. Only
# the third derivative is left to need an inverse.


def _invertible(x: Any) -> bool:
    """Whether inverses of these matrices keep at least half of the digits."""
    try:
        condition = np.linalg.norm(x, 1, (-2, -1)) * np.linalg.norm(np.linalg.inv(x), 1, (-2, -1))
    except np.linalg.LinAlgError:
        return False
    return bool(np.all(condition < 1 / math.sqrt(np.finfo(x.dtype).eps)))


def _rotations(x: Any) -> tuple[Any, Any, Any, Any]:
    """conj(u), s and v^T of the singular value decomposition of x, and the determinant of u v^H."""
    u, s, vh = np.linalg.svd(x)
    return u.conj(), s, vh.conj(), np.linalg.det(u) * np.linalg.det(vh)


def _products_without(s: Any) -> Any:
    """For each element along the last axis, the product of all the others."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def _cofactor_rule(g: Any, y: Any, x: Any, direction: Any = None) -> Any:
    """Of `cofactor`, and of `cofactor_along` in its direction, which it is linear in and symmetric."""
    return conj(cofactor_along(x, conj(g)))


@op(
    arrays=("x",),
    infer=lambda x: Spec(square_shape("cofactor", x), inexact("cofactor", x)),
    vjp=_cofactor_rule,
    raises=SINGULAR,
    cost=Cost(scratch=1.0),
    order=ANY_ORDER,
)
def cofactor(x: Any, /) -> Any:
    """Matrix of cofactors: the derivative of det with respect to each element."""
    x = np.asarray(x, inexact("cofactor", np.asarray(x)))
    if x.size == 0 or _invertible(x):
        return np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2)
    u, s, v, factor = _rotations(x)
    return np.matmul(u * (factor[..., None] * _products_without(s))[..., None, :], v)


def _third_derivative(x: Any, e: Any, h: Any) -> Any:
    """Gradient in x of the second derivative of det along e and h; x must be invertible."""
    k = inv(x)
    a, b = matmul(k, e), matmul(k, h)
    ab, ba = matmul(a, b), matmul(b, a)
    trace_a, trace_b, trace_ab = (_stretch(linalg_trace(m)) for m in (a, b, ab))
    inner = (trace_a * trace_b - trace_ab) * k + matmul(ab + ba - trace_b * a - trace_a * b, k)
    return matrix_transpose(_stretch(det(x)) * inner)


@op(
    arrays=("x", "direction"),
    infer=lambda x, direction: Spec(square_shape("cofactor_along", x), inexact("cofactor_along", x, direction)),
    vjp=(
        lambda g, y, x, direction: conj(_third_derivative(x, direction, conj(g))),
        _cofactor_rule,
    ),
    raises=SINGULAR,
    order=ANY_ORDER,
)
def cofactor_along(x: Any, direction: Any, /) -> Any:
    """Change of `cofactor(x)` along a direction."""
    dtype = inexact("cofactor_along", np.asarray(x), np.asarray(direction))
    x, e = np.asarray(x, dtype), np.asarray(direction, dtype)
    if x.size == 0 or _invertible(x):
        k = np.linalg.inv(x)
        traces = np.trace(k @ e, axis1=-2, axis2=-1)[..., None, None]
        return np.linalg.det(x)[..., None, None] * (traces * k - k @ e @ k).swapaxes(-1, -2)
    u, s, v, factor = _rotations(x)
    f = u.swapaxes(-1, -2) @ e @ v.swapaxes(-1, -2)
    n = s.shape[-1]
    one_for = np.where(np.eye(n, dtype=bool), 1.0, s[..., None, :]).astype(s.dtype)
    others = np.where(np.eye(n, dtype=bool), 0, _products_without(one_for))
    moved = -others * f.swapaxes(-1, -2)
    moved[..., range(n), range(n)] = (others @ np.diagonal(f, axis1=-2, axis2=-1)[..., None])[..., 0]
    return factor[..., None, None] * (u @ moved @ v)


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


def _slogdet_spec(x: Any) -> SlogdetResult:
    shape, dtype = square_shape("slogdet", x)[:-2], inexact("slogdet", x)
    return SlogdetResult(Spec(shape, dtype), Spec(shape, real_dtype(dtype)))


def _slogdet_rule(g: Any, y: Any, x: Any) -> Any:
    (g_sign, g_log), (sign, _) = g, y
    # A real sign is constant; a complex one turns with the imaginary part of trace(x^-1 dx).
    slope = g_log - 1j * ops.imag(conj(g_sign) * sign) if is_complex(x) else g_log
    return _stretch(slope) * adjoint(inv(x))


@op(arrays=("x",), infer=_slogdet_spec, vjp=_slogdet_rule, numpy=(np.linalg.slogdet,), cost=CUBIC)
def slogdet(x: Any, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of each determinant."""
    return SlogdetResult(*np.linalg.slogdet(x))


def _inv_rule(g: Any, y: Any, x: Any) -> Any:
    yh = adjoint(y)
    return -matmul(matmul(yh, g), yh)


@op(
    arrays=("x",),
    infer=lambda x: Spec(square_shape("inv", x), inexact("inv", x)),
    vjp=_inv_rule,
    numpy=(np.linalg.inv,),
    raises=SINGULAR,
    cost=CUBIC,
)
def inv(x: Any, /) -> Any:
    """Inverse of each square matrix."""
    return np.linalg.inv(x)


def _solve_spec(a: Any, b: Any) -> Spec:
    s, t = square_shape("solve", a), shape_of(b)
    if not t:
        raise ShapeError("solve: the right side is a number, expected a vector or matrices")
    inner_shapes("solve", s, t, s[-1], t[-1] if len(t) == 1 else t[-2])
    dtype = inexact("solve", a, b)
    if len(t) == 1:
        return Spec((*s[:-2], t[0]), dtype)
    return Spec((*stack_shapes("solve", s, t), *t[-2:]), dtype)


def _solve_x2(g: Any, y: Any, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1:
        return ops.squeeze(solve(adjoint(a), ops.expand_dims(g, -1)), -1)
    return solve(adjoint(a), g)


def _solve_x1(g: Any, y: Any, a: Any, b: Any) -> Any:
    if len(shape_of(b)) == 1:
        g, y = ops.expand_dims(g, -1), ops.expand_dims(y, -1)
    return -matmul(solve(adjoint(a), g), adjoint(y))


@op(
    arrays=("x1", "x2"),
    infer=_solve_spec,
    vjp=(_solve_x1, _solve_x2),
    numpy=(np.linalg.solve,),
    raises=SINGULAR,
    cost=CUBIC,
)
def solve(x1: Any, x2: Any, /) -> Any:
    """The x with x1 @ x = x2, for one vector x2 or matrices."""
    return np.linalg.solve(x1, x2)


def _pinv_spec(x: Any, rtol: Any) -> Spec:
    shape = matrix_shape("pinv", x)
    return Spec((*shape[:-2], shape[-1], shape[-2]), inexact("pinv", x))


def _pinv_rule(g: Any, y: Any, x: Any, rtol: Any) -> Any:
    # Golub and Pereyra 1973: the derivative where the rank is locally constant.
    yh, gh = adjoint(y), adjoint(g)
    left, right = matmul(matmul(gh, y), yh), matmul(matmul(yh, y), gh)
    return left - matmul(x, matmul(y, left)) + right - matmul(matmul(right, y), x) - matmul(matmul(yh, g), yh)


@op(arrays=("x",), infer=_pinv_spec, vjp=_pinv_rule, numpy=(np.linalg.pinv,), raises=SINGULAR, cost=CUBIC)
def pinv(x: Any, /, rtol: Any = None) -> Any:
    """Moore-Penrose pseudo-inverse of each matrix; singular values below rtol times the largest count as zero."""
    x = np.asarray(x)
    x = x.astype(inexact("pinv", x), copy=False)
    if rtol is None:
        rtol = max(x.shape[-2:], default=1) * np.finfo(x.dtype).eps
    return np.linalg.pinv(x, rtol)


def _rank_spec(x: Any, rtol: Any) -> Spec:
    inexact("matrix_rank", x)
    stack = broadcast_shapes("matrix_rank", matrix_shape("matrix_rank", x)[:-2], () if rtol is None else shape_of(rtol))
    return Spec(stack, np.dtype(np.intp))


@op(
    arrays=("x",),
    infer=_rank_spec,
    vjp=no_gradient("matrix_rank: the rank is an integer"),
    numpy=(np.linalg.matrix_rank,),
    raises=SINGULAR,
    cost=CUBIC,
)
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """Number of singular values of each matrix above rtol times the largest."""
    s = np.linalg.svd(x, compute_uv=False)
    if rtol is None:
        rtol = max(np.shape(x)[-2:]) * np.finfo(s.dtype).eps
    limit = np.max(s, axis=-1, keepdims=True, initial=0) * np.asarray(rtol)[..., None]
    return np.count_nonzero(s > limit, axis=-1)


@composite(numpy=(np.linalg.matrix_power,), memory=None, raises=SINGULAR)
def matrix_power(x: Any, n: int, /) -> Any:
    """Product of n copies of each square matrix; of its inverse where n is negative."""
    shape = square_shape("matrix_power", x)
    if n == 0:
        return ops.zeros_like(x) + ops.eye(shape[-1], dtype=dtype_of(x))
    x = inv(x) if n < 0 else x
    result, n = None, abs(n)
    while n:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return result


def _norm_rule(g: Any, y: Any, x: Any, axis: Any, keepdims: bool, ord: Any) -> Any:
    """The gradient of a vector norm; at kinks the subgradient that shares evenly among ties and is 0 at 0."""
    if ord == 0:
        return 0
    kept = reduced_shape("vector_norm", shape_of(x), axis, True)
    g, y = ops.reshape(g, kept), ops.reshape(y, kept)
    flat = ops.equal(y, 0)
    size = ops.abs(x)
    if ord == 2:
        return x * ops.where(flat, 0.0, g / ops.where(flat, 1.0, y))
    if ord == 1:
        return g * ops.sign(x)
    if abs(ord) == math.inf:
        hit = ops.equal(size, y)
        count = ops.sum(ops.astype(hit, y.dtype), axis=axis, keepdims=True)
        return ops.where(hit, g / count, 0.0) * ops.sign(x)
    # x / |x| (|x| / y)^(p - 1): a ratio of sizes, so that neither power overflows.
    zero = ops.equal(size, 0)
    ratio = ops.where(zero, 1.0, size) / ops.where(flat, 1.0, y)
    return ops.where(ops.logical_or(zero, flat), 0.0, g * ratio ** (ord - 1)) * ops.sign(x)


@reduction(vjp=_norm_rule, numpy=(np.linalg.vector_norm,), cost=Cost(scratch=1.0))
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """Norm of vectors along the given axes: 2, 1, inf, -inf, 0 (how many are not zero) or any p."""
    half = dtype_of(x) == np.float16  # whose squares leave its range early
    with np.errstate(divide="ignore"):  # a negative p of a zero is meant to give infinity, and the norm 0
        found = np.linalg.vector_norm(
            np.asarray(x, np.float32) if half else x, axis=axis_tuple(axis), keepdims=keepdims, ord=ord
        )
    return found.astype(np.float16) if half else found


_SPECTRAL = (2, -2, "nuc")  # the norms that take singular values


@composite(
    numpy=(np.linalg.matrix_norm,),
    raises=Raises(SINGULAR.classes, lambda x, keepdims, ord: ord in _SPECTRAL),
)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norm of each matrix: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    shape = matrix_shape("matrix_norm", x)
    if dtype_of(x).kind not in "fc":
        x = ops.astype(x, np.dtype(np.float64))
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in _SPECTRAL:
        s = TABLE["svdvals"](x)
        pick = {2: ops.max, -2: ops.min, "nuc": ops.sum}[ord]
        result = pick(s, axis=-1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = ops.sum(ops.abs(x), axis=-2 if abs(ord) == 1 else -1)
        result = (ops.max if ord > 0 else ops.min)(sums, axis=-1)
    else:
        raise ValueError(f"matrix_norm: ord is {ord!r}, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    return ops.reshape(result, (*shape[:-2], 1, 1)) if keepdims else result


def _of_vectors(x: Any, axis: Any) -> bool:
    """Whether a norm is one of vectors, along one axis."""
    return len(normalize_axes("norm", axis, len(shape_of(x)))) == 1


@composite(
    numpy=(np.linalg.norm,),
    raises=Raises(SINGULAR.classes, lambda x, ord, axis, keepdims: ord in _SPECTRAL and not _of_vectors(x, axis)),
)
def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of all elements, of vectors along one axis, or of matrices along two."""
    ndim = len(shape_of(x))
    axes = normalize_axes("norm", axis, ndim)
    if ord is None or _of_vectors(x, axis):
        if isinstance(ord, str):
            raise ValueError(f"norm: {ord!r} is a norm of matrices, got one axis, {axis} of shape {shape_of(x)}")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm: ord={ord!r} needs one axis or two, got {len(axes)} of shape {shape_of(x)}")
    result = matrix_norm(ops.moveaxis(x, axes, (-2, -1)), ord=ord)
    return ops.reshape(result, reduced_shape("norm", shape_of(x), axes, True)) if keepdims else result


put_in("weft.linalg", *(TABLE[name] for name in __all__))
put_in("weft.ops.linalg_solvers", cofactor, cofactor_along)
