"""Grids, spacings and positions: coordinates of points, steps by factors, the indices of diagonals and triangles."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._dim import hint_of, unknown_size
from weft.ops._families import composite, op, pointwise_dtype
from weft.ops._matrices import put_in
from weft.ops._op import ANY_ORDER, no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Shape, Spec, broadcast_shapes, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.creation import linspace
from weft.ops.dtypes import astype
from weft.ops.indexing import nonzero
from weft.ops.linalg import diag
from weft.ops.manipulation import broadcast_to, moveaxis, ravel, reshape
from weft.ops.transcendental import pow

__all__ = ["diagflat", "geomspace", "identity", "indices", "ix_", "logspace", "tri"]

# ── Spacings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _spaced(name: str, num: Any, axis: int, *ends: Any) -> Shape:
    shape = broadcast_shapes(name, *map(shape_of, ends))
    at = normalize_axis(name, axis, len(shape) + 1)
    return (*shape[:at], num, *shape[at:])


def _placed(x: Any, axis: int) -> Any:
    return moveaxis(x, 0, axis) if axis else x


def _linspace_spec(
    start: Any, stop: Any, num: Any, endpoint: Any, retstep: Any, dtype: Any, axis: int
) -> Spec | tuple[Spec, Spec]:
    found = pointwise_dtype(lambda a, b: np.linspace(a, b, 2), start, stop)
    values = Spec(_spaced("linspace", num, axis, start, stop), found if dtype is None else dtype)
    return (values, Spec(broadcast_shapes("linspace", shape_of(start), shape_of(stop)), found)) if retstep else values


# NumPy's own `linspace`, which can tell the step and lay the numbers along another axis.
@composite(arrays=("start", "stop"), eval=np.linspace, infer=_linspace_spec, order=ANY_ORDER)
def linspace_along(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    retstep: builtins.bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers along an axis; `retstep` adds the distance between them."""
    values = _placed(linspace(start, stop, num, endpoint, dtype=dtype), axis)
    parts = num - 1 if endpoint else num
    return (values, (stop - start) / (parts or math.nan)) if retstep else values


def _logspace_spec(start: Any, stop: Any, num: Any, endpoint: Any, base: Any, dtype: Any, axis: int) -> Spec:
    found = pointwise_dtype(lambda a, b, c: np.logspace(a, b, 2, base=c), start, stop, base)
    return Spec(_spaced("logspace", num, axis, start, stop, base), found if dtype is None else dtype)


@composite(
    arrays=("start", "stop", "base"), numpy=(np.logspace,), eval=np.logspace, infer=_logspace_spec, order=ANY_ORDER
)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Powers of a base whose exponents are evenly spaced from `start` to `stop`."""
    shape = broadcast_shapes("logspace", *map(shape_of, (start, stop, base)))
    start, stop = (broadcast_to(each, shape) if shape else each for each in (start, stop))
    values = _placed(pow(base, linspace(start, stop, num, endpoint)), axis)
    return values if dtype is None else astype(values, dtype)


def _geomspace_spec(start: Any, stop: Any, num: Any, endpoint: Any, dtype: Any, axis: int) -> Spec:
    found = pointwise_dtype(_two_by_factor, start, stop)
    return Spec(_spaced("geomspace", num, axis, start, stop), found if dtype is None else dtype)


def _two_by_factor(start: Any, stop: Any) -> Any:
    ones = [np.ones_like(each) if hasattr(each, "shape") else each for each in (start, stop)]
    return np.geomspace(*ones, 2)


@composite(
    arrays=("start", "stop"),
    numpy=(np.geomspace,),
    eval=np.geomspace,
    infer=_geomspace_spec,
    raises=BAD_VALUES,
    order=ANY_ORDER,
)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: builtins.bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Numbers from `start` to `stop`, each the one before times the same factor."""
    ndim = len(broadcast_shapes("geomspace", shape_of(start), shape_of(stop)))
    steps = reshape(linspace(0, 1, num, endpoint), (num, *(1,) * ndim))
    values = _placed(start * pow(stop / start, steps), axis)
    wanted = _geomspace_spec(start, stop, num, endpoint, dtype, axis).dtype
    return values if dtype_of(values) == wanted else astype(values, wanted)


# ── Matrices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@op(
    arrays=(),
    vjp=(),
    infer=lambda N, M, k, dtype: Spec((N, N if M is None else M), dtype),
    numpy=(np.tri,),
)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """A matrix with ones at and below the diagonal `k` places above the main one, zeros elsewhere."""
    return np.tri(N, M, k, dtype)


@op(
    arrays=(),
    vjp=(),
    infer=lambda n, dtype: Spec((n, n), np.float64 if dtype is None else dtype),
    numpy=(np.identity,),
)
def identity(n: int, dtype: Any = None) -> Any:
    """The square matrix with ones on its diagonal and zeros elsewhere."""
    return np.identity(n, dtype)


@composite(arrays=("v",), numpy=(np.diagflat,), eval=np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix that has the flattened array as its k-th diagonal."""
    return diag(ravel(v), k)


# ── Coordinates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _indices_spec(dimensions: Any, dtype: Any, sparse: Any) -> Any:
    shape = tuple(dimensions)
    if not sparse:
        return Spec((len(shape), *shape), dtype)
    return tuple(Spec([d if i == j else 1 for j, d in enumerate(shape)], dtype) for i in range(len(shape)))


@op(arrays=(), vjp=(), infer=_indices_spec, numpy=(np.indices,))
def indices(dimensions: Any, dtype: Any = int, sparse: builtins.bool = False) -> Any:
    """The position along each axis of every element of an array; along one axis only where `sparse`."""
    return np.indices(dimensions, dtype, sparse)


def _mesh_axes(count: int, indexing: str) -> list[int]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: expected indexing 'xy' or 'ij', got {indexing!r}")
    order = list(range(count))
    return [1, 0, *order[2:]] if indexing == "xy" and count > 1 else order


# NumPy's own `meshgrid`, which flattens its arguments and can leave the grid sparse.
@composite(arrays=("xi",), eval=np.meshgrid, memory=None)
def mesh(*xi: Any, copy: builtins.bool = True, sparse: builtins.bool = False, indexing: str = "xy") -> Any:
    """The coordinates of every point of a grid, of arrays of any shape; along one axis only where `sparse`."""
    lines = [ravel(each) for each in xi]
    order = _mesh_axes(len(lines), indexing)
    shape = [1] * len(lines)
    for line, axis in zip(lines, order, strict=True):
        shape[axis] = shape_of(line)[0]
    found = []
    for line, axis in zip(lines, order, strict=True):
        laid = reshape(line, [d if i == axis else 1 for i, d in enumerate(shape)])
        found.append(laid if sparse else broadcast_to(laid, tuple(shape)))
    return tuple(found) if copy or not sparse else found


def _ix_spec(args: Any) -> tuple[Spec, ...]:
    found = []
    for i, each in enumerate(args):
        if len(shape_of(each)) != 1:
            raise ShapeError(f"ix_: expected arrays of one dimension, got shape {shape_of(each)}")
        masked = dtype_of(each).kind == "b"
        unknown = UnknownShape("ix_: how many elements of a mask are true is known only when it runs")
        count = unknown_size("ix_", unknown) if masked else shape_of(each)[0]
        dtype = np.intp if masked or size_of(shape_of(each)) == 0 else dtype_of(each)
        found.append(Spec([count if j == i else 1 for j in range(len(args))], dtype))
    return tuple(found)


@composite(arrays=("args",), numpy=(np.ix_,), eval=np.ix_, infer=_ix_spec, memory=None)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Sequences of positions laid along an axis each, so that as a key they select a grid of elements."""
    found = []
    for i, each in enumerate(args):
        line = nonzero(each)[0] if dtype_of(each).kind == "b" else each
        found.append(reshape(line, [shape_of(line)[0] if j == i else 1 for j in range(len(args))]))
    return tuple(found)


# ── Positions in matrices ─────────────────────────────────────────────────────────────────────────────────────────────

_positions = no_gradient("positions are integers")


def _triangle_size(name: str, n: Any, k: Any, m: Any, upper: builtins.bool) -> Any:
    """How many elements of an n by m matrix lie in a triangle."""
    columns = n if m is None else m
    if not isinstance(k, (int, np.integer)):
        return unknown_size(name, _unknown(name))
    if n is columns and (k == 0 or k == (1 if upper else -1)):  # a formula serves symbolic sizes too
        return n * (n + 1) // 2 if k == 0 else n * (n - 1) // 2
    if hint_of(n) is None or hint_of(columns) is None:
        return unknown_size(name, _unknown(name))
    rows, columns = operator.index(n), operator.index(columns)
    below = builtins.sum(min(max(i + k + (0 if upper else 1), 0), columns) for i in range(rows))
    return rows * columns - below if upper else below


def _unknown(name: str) -> UnknownShape:
    return UnknownShape(f"{name}: how many elements the triangle has is known only when it runs")


def _pair(count: Any) -> tuple[Spec, Spec]:
    return Spec((count,), np.intp), Spec((count,), np.intp)


def _matrix(name: str, arr: Any) -> Shape:
    if len(shape_of(arr)) != 2:
        raise ShapeError(f"{name}: expected a matrix, got shape {shape_of(arr)}")
    return shape_of(arr)


@op(
    arrays=(),
    vjp=(),
    infer=lambda n, k, m: _pair(_triangle_size("tril_indices", n, k, m, False)),
    numpy=(np.tril_indices,),
)
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns of the elements at and below a diagonal."""
    return np.tril_indices(n, k, m)


@op(
    arrays=(),
    vjp=(),
    infer=lambda n, k, m: _pair(_triangle_size("triu_indices", n, k, m, True)),
    numpy=(np.triu_indices,),
)
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns of the elements at and above a diagonal."""
    return np.triu_indices(n, k, m)


@op(
    arrays=("arr",),
    infer=lambda arr, k: _pair(
        _triangle_size("tril_indices_from", (s := _matrix("tril_indices_from", arr))[0], k, s[1], False)
    ),
    vjp=_positions,
    numpy=(np.tril_indices_from,),
)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The rows and columns of the elements of a matrix at and below a diagonal."""
    return np.tril_indices_from(arr, k)


@op(
    arrays=("arr",),
    infer=lambda arr, k: _pair(
        _triangle_size("triu_indices_from", (s := _matrix("triu_indices_from", arr))[0], k, s[1], True)
    ),
    vjp=_positions,
    numpy=(np.triu_indices_from,),
)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The rows and columns of the elements of a matrix at and above a diagonal."""
    return np.triu_indices_from(arr, k)


@op(arrays=(), vjp=(), infer=lambda n, ndim: (Spec((n,), np.intp),) * ndim, numpy=(np.diag_indices,))
def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The positions of the diagonal of an array whose dimensions are all `n`."""
    return np.diag_indices(n, ndim)


def _diag_from_spec(arr: Any) -> tuple[Spec, ...]:
    shape = shape_of(arr)
    if len(shape) < 2 or any(d != shape[0] for d in shape):
        raise ShapeError(f"diag_indices_from: expected two or more dimensions of one size, got shape {shape}")
    return (Spec((shape[0],), np.intp),) * len(shape)


@op(arrays=("arr",), infer=_diag_from_spec, vjp=_positions, numpy=(np.diag_indices_from,))
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The positions of the diagonal of an array whose dimensions are all equal."""
    return np.diag_indices_from(arr)


put_in(
    "weft.ops.grids",
    linspace_along,
    mesh,
    tril_indices,
    triu_indices,
    tril_indices_from,
    triu_indices_from,
    diag_indices,
    diag_indices_from,
)
