"""NumPy's functions as NumPy has them, where the op of the same name has other parameters or another result.

`weft.ops._numpy` chooses one of these for a call that the plain op does not take or does not mean.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.ops._dim import dim_min
from weft.ops._families import composite, op
from weft.ops._matrices import inexact, matrix_shape, put_in
from weft.ops._op import ANY_ORDER, no_gradient
from weft.ops._raises import SINGULAR
from weft.ops._spec import Spec, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.creation import asarray, full, ones, zeros
from weft.ops.cumulative import diff
from weft.ops.elementwise import clip, remainder
from weft.ops.indexing import take
from weft.ops.linalg import cross, dot, inner
from weft.ops.linalg_decompositions import qr
from weft.ops.linalg_solvers import pinv
from weft.ops.manipulation import atleast_1d, atleast_2d, moveaxis
from weft.ops.sorting import sort

_ORDERED = no_gradient("positions are integers")


@composite(arrays=("a", "a_min", "a_max"), eval=np.clip)
def clip_between(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Each element moved to the nearest end of [a_min, a_max] where it lies outside; None leaves that side open."""
    return clip(a, a_min, a_max)


# ── Order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sorted_spec(name: str, dtype: Any = None) -> Any:
    def infer(a: Any, axis: Any, kind: Any, stable: Any) -> Spec:
        shape = shape_of(a)
        if axis is None:
            return Spec((size_of(shape),), dtype or dtype_of(a))
        normalize_axis(name, axis, len(shape))
        return Spec(shape, dtype or dtype_of(a))

    return infer


@op(arrays=("a",), infer=_sorted_spec("argsort", np.dtype(np.intp)), vjp=_ORDERED)
def argsort_by(a: Any, axis: int | None = -1, kind: Any = None, *, stable: builtins.bool | None = None) -> Any:
    """The positions that sort the array along an axis, equal elements in the order that NumPy's method leaves them."""
    return np.argsort(a, axis, kind) if stable is None else np.argsort(a, axis, kind, stable=stable)


@composite(arrays=("a",), eval=np.sort, infer=_sorted_spec("sort"))
def sort_by(a: Any, axis: int | None = -1, kind: Any = None, *, stable: builtins.bool | None = None) -> Any:
    """The elements in ascending order along an axis, by one of NumPy's methods."""
    return sort(a, axis)


# ── Picking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("a", "indices"), eval=np.take)
def take_by(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """The elements, or slices along an axis, at the given positions; those out of range wrap around or are clipped."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take_by: expected mode 'raise', 'wrap' or 'clip', got {mode!r}")
    size = size_of(shape_of(a)) if axis is None else shape_of(a)[normalize_axis("take", axis, len(shape_of(a)))]
    at = asarray(indices)
    at = at if mode == "raise" else remainder(at, size) if mode == "wrap" else clip(at, 0, size - 1)
    return take(a, at, axis)


# ── Numbers that count as arrays ──────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("a", "b"), eval=np.dot)
def dot_of(a: Any, b: Any) -> Any:
    """`dot` of arrays or numbers, which NumPy makes arrays of: they promote the result."""
    return dot(asarray(a), asarray(b))


@composite(arrays=("a", "b"), eval=np.inner)
def inner_of(a: Any, b: Any) -> Any:
    """`inner` of arrays or numbers, which NumPy makes arrays of: they promote the result."""
    return inner(asarray(a), asarray(b))


def _numpy_diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    ends = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return np.diff(a, n, axis, **ends)


@composite(arrays=("a", "prepend", "append"), eval=_numpy_diff, memory=None)
def diff_of(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """`diff` with numbers joined to the ends, which NumPy makes arrays of: they promote the result."""
    ends = [None if end is None else asarray(end) for end in (prepend, append)]
    return diff(a, n, axis, *ends)


# ── Linear algebra ────────────────────────────────────────────────────────────────────────────────────────────────────


def _cross_axes(axisa: int, axisb: int, axisc: int, axis: int | None) -> tuple[int, int, int]:
    return (axisa, axisb, axisc) if axis is None else (axis, axis, axis)


@composite(arrays=("a", "b"), eval=np.cross, order=ANY_ORDER)
def cross_along(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Cross product of vectors of three elements that lie along an axis of their own in each array."""
    first, second, last = _cross_axes(axisa, axisb, axisc, axis)
    found = cross(
        moveaxis(a, normalize_axis("cross", first, len(shape_of(a))), -1),
        moveaxis(b, normalize_axis("cross", second, len(shape_of(b))), -1),
    )
    return moveaxis(found, -1, last)


def _triangle_spec(a: Any, mode: str) -> Spec:
    if mode != "r":
        raise ValueError(f"qr: expected mode 'reduced', 'complete' or 'r', got {mode!r}")
    *stack, m, n = matrix_shape("qr", a)
    return Spec((*stack, dim_min(m, n), n), inexact("qr", a))


@composite(arrays=("a",), eval=np.linalg.qr, infer=_triangle_spec)
def qr_triangle(a: Any, mode: str) -> Any:
    """The triangular factor of each matrix alone."""
    return qr(a)[1]


def _numpy_pinv(a: Any, rcond: Any = None, hermitian: builtins.bool = False, *, rtol: Any = None) -> Any:
    return np.linalg.pinv(a, rcond, hermitian, **({} if rtol is None else {"rtol": rtol}))


@composite(arrays=("a",), eval=_numpy_pinv, raises=SINGULAR)
def pinv_by(a: Any, rcond: Any = None, hermitian: builtins.bool = False, *, rtol: Any = None) -> Any:
    """Pseudo-inverse of each matrix; singular values below `rcond` (1e-15) times the largest count as zero."""
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: rtol and rcond are two names for one thing; give one of them")
    given = rtol if rcond is None else rcond
    return pinv(a, 1e-15 if given is None else given)


@op(
    arrays=("A",),
    infer=lambda A, tol, hermitian, rtol: Spec(shape_of(A)[:-2], np.intp),
    vjp=no_gradient("the rank is a whole number"),
    raises=SINGULAR,
)
def matrix_rank_by(A: Any, tol: Any = None, hermitian: builtins.bool = False, *, rtol: Any = None) -> Any:
    """How many singular values of each matrix are larger than `tol`."""
    relative = {} if rtol is None else {"rtol": rtol}
    return np.linalg.matrix_rank(A, tol, hermitian, **relative)


# ── Of another shape ──────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("a",), eval=np.zeros_like, always_array=True)
def zeros_shaped(a: Any, dtype: Any = None, *, shape: Any) -> Any:
    """Zeros in the dtype of an array and a shape of their own."""
    return zeros(shape, dtype=dtype_of(a) if dtype is None else dtype)


@composite(arrays=("a",), eval=np.ones_like, always_array=True)
def ones_shaped(a: Any, dtype: Any = None, *, shape: Any) -> Any:
    """Ones in the dtype of an array and a shape of their own."""
    return ones(shape, dtype=dtype_of(a) if dtype is None else dtype)


@composite(arrays=("a", "fill_value"), eval=np.full_like, always_array=True)
def full_shaped(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any) -> Any:
    """One repeated value in the dtype of an array and a shape of its own."""
    return full(shape, fill_value, dtype=dtype_of(a) if dtype is None else dtype)


# ── Several at once ───────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("arys",), eval=np.atleast_1d, memory=None)
def all_atleast_1d(*arys: Any) -> tuple[Any, ...]:
    """Each array, or one of a single element for a scalar."""
    return tuple(atleast_1d(each) for each in arys)


@composite(arrays=("arys",), eval=np.atleast_2d, memory=None)
def all_atleast_2d(*arys: Any) -> tuple[Any, ...]:
    """Each array with dimensions of size one in front until it has two."""
    return tuple(atleast_2d(each) for each in arys)


put_in(
    "weft.ops._numpy_forms",
    clip_between,
    argsort_by,
    sort_by,
    take_by,
    dot_of,
    inner_of,
    diff_of,
    cross_along,
    qr_triangle,
    pinv_by,
    matrix_rank_by,
    all_atleast_1d,
    all_atleast_2d,
    zeros_shaped,
    ones_shaped,
    full_shaped,
)
