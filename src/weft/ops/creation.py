"""Arrays made from nothing, from a shape, or from other arrays' shapes.

Arrays live on the CPU: `device` is None or "cpu".
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from weft.errors import ShapeError
from weft.ops._cost import CHEAP
from weft.ops._dim import Dim, fits_dim, range_length
from weft.ops._families import composite, op, pointwise_dtype
from weft.ops._op import ORDER_KEPT, TABLE, answers, independent
from weft.ops._spec import Shape, Spec, broadcast_shapes, dtype_of, shape_of, size_of
from weft.ops.dtypes import astype

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def _cpu(name: str, device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"{name}: expected device None or 'cpu', got {device!r}")


def _told(name: str, shape: Any, dtype: Any, device: Any) -> None:
    """Refuse another device, and sizes given one by one, as torch takes them."""
    _cpu(name, device)
    if isinstance(dtype, (int, np.integer)):
        raise TypeError(f"{name}: the shape is one argument, and {dtype} is no dtype; write {name}(({shape}, {dtype}))")


def _dims(shape: Any) -> Shape:
    return tuple(shape) if isinstance(shape, Iterable) else (shape,)


# ── One value everywhere ──────────────────────────────────────────────────────────────────────────────────────────────


def _shape_spec(shape: Any, dtype: Any, device: Any) -> Spec:
    return Spec(_dims(shape), np.float64 if dtype is None else dtype)


def _full_spec(shape: Any, fill_value: Any, dtype: Any, device: Any) -> Spec:
    new, given = _dims(shape), shape_of(fill_value)
    if given and (len(given) > len(new) or not builtins.all(map(fits_dim, given[::-1], new[::-1]))):
        raise ShapeError(f"full: a value of shape {given} does not fit the shape {new}")
    return Spec(new, dtype_of(fill_value) if dtype is None else dtype)


def _like_spec(x: Any, *rest: Any) -> Spec:
    dtype = rest[-2]
    return Spec(shape_of(x), dtype_of(x) if dtype is None else dtype)


@op(arrays=(), vjp=(), infer=_shape_spec, numpy=(np.zeros,), always_array=True)
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of zeros."""
    _told("zeros", shape, dtype, device)
    return np.zeros(shape, np.float64 if dtype is None else dtype)


@op(arrays=(), vjp=(), infer=_shape_spec, numpy=(np.ones,), always_array=True)
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of ones."""
    _told("ones", shape, dtype, device)
    return np.ones(shape, np.float64 if dtype is None else dtype)


@op(arrays=(), vjp=(), infer=_shape_spec, numpy=(np.empty,), always_array=True)
def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array whose elements are whatever was in memory."""
    _told("empty", shape, dtype, device)
    return np.empty(shape, np.float64 if dtype is None else dtype)


@op(
    arrays=("fill_value",),
    vjp=lambda g, y, shape, fill_value, dtype, device: g,
    infer=_full_spec,
    numpy=(np.full,),
    always_array=True,
)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of one repeated value."""
    _cpu("full", device)
    return np.full(shape, fill_value, dtype)


@op(arrays=("x",), vjp=independent, infer=_like_spec, numpy=(np.zeros_like,), always_array=True, order=ORDER_KEPT)
def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of zeros in the shape and dtype of another."""
    _cpu("zeros_like", device)
    return np.zeros_like(x, dtype)


@op(arrays=("x",), vjp=independent, infer=_like_spec, numpy=(np.ones_like,), always_array=True, order=ORDER_KEPT)
def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of ones in the shape and dtype of another."""
    _cpu("ones_like", device)
    return np.ones_like(x, dtype)


@op(arrays=("x",), vjp=independent, infer=_like_spec, numpy=(np.empty_like,), always_array=True, order=ORDER_KEPT)
def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """An array in the shape and dtype of another whose elements are whatever was in memory."""
    _cpu("empty_like", device)
    return np.empty_like(x, dtype)


@op(
    arrays=("x", "fill_value"),
    vjp=(independent, lambda g, y, x, fill_value, dtype, device: g),
    infer=_like_spec,
    numpy=(np.full_like,),
    always_array=True,
    order=ORDER_KEPT,
)
def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of one repeated value in the shape and dtype of another."""
    _cpu("full_like", device)
    return np.full_like(x, fill_value, dtype)


# ── Sequences and grids ───────────────────────────────────────────────────────────────────────────────────────────────


def _plain(number: Any) -> Any:
    """A number of Python's for one of NumPy's, whose differences may overflow."""
    return number.item() if isinstance(number, np.generic) else number


def _arange_spec(start: Any, stop: Any, step: Any, dtype: Any, device: Any) -> Spec:
    start, stop, step = map(_plain, (start, stop, step))
    if stop is None:
        start, stop = 0, start
    fractional = builtins.any(isinstance(v, (float, np.floating)) for v in (start, stop, step))
    if fractional:  # how many there are, when a size takes part, is no formula of integers: its own number decides
        start, stop, step = (int(v) if isinstance(v, Dim) else v for v in (start, stop, step))
        length = builtins.max(math.ceil((stop - start) / step), 0)
    else:
        length = range_length(start, stop, step)
    return Spec((length,), dtype if dtype is not None else np.float64 if fractional else np.int64)


@op(arrays=(), vjp=(), infer=_arange_spec, numpy=(np.arange,))
def arange(start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Any:
    """Evenly spaced numbers from `start` (0 where only one bound is given) up to, not including, `stop`."""
    _cpu("arange", device)
    return np.arange(*map(_plain, (start, stop, step)), dtype=dtype)


def _linspace_spec(start: Any, stop: Any, num: int, endpoint: Any, dtype: Any, device: Any) -> Spec:
    shape = broadcast_shapes("linspace", shape_of(start), shape_of(stop))
    return Spec((num, *shape), pointwise_dtype(_between, start, stop) if dtype is None else dtype)


def _between(start: Any, stop: Any) -> Any:
    return np.linspace(start, stop, 2)


def _fractions(g: Any, num: int, endpoint: builtins.bool) -> Any:
    """How far along each point lies, from 0 at the start to 1 at the stop."""
    t = linspace(0, 1, num, endpoint, dtype=dtype_of(g))
    return TABLE["reshape"](t, (num, *(1,) * (len(shape_of(g)) - 1)))


def _linspace_start(g: Any, y: Any, start: Any, stop: Any, num: int, endpoint: Any, dtype: Any, device: Any) -> Any:
    return g * (1 - _fractions(g, num, endpoint))


def _linspace_stop(g: Any, y: Any, start: Any, stop: Any, num: int, endpoint: Any, dtype: Any, device: Any) -> Any:
    return g * _fractions(g, num, endpoint)


@op(
    arrays=("start", "stop"),
    infer=_linspace_spec,
    vjp=(_linspace_start, _linspace_stop),
    numpy=(np.linspace,),
)
def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    endpoint: builtins.bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, the latter left out unless `endpoint`."""
    _cpu("linspace", device)
    return np.linspace(start, stop, num, endpoint, dtype=dtype)


def _eye_spec(n_rows: int, n_cols: Any, k: int, dtype: Any, device: Any) -> Spec:
    return Spec((n_rows, n_rows if n_cols is None else n_cols), np.float64 if dtype is None else dtype)


@op(arrays=(), vjp=(), infer=_eye_spec, numpy=(np.eye,))
def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """A matrix of zeros with ones on its diagonal, or on the one `k` places above it."""
    _cpu("eye", device)
    return np.eye(n_rows, n_cols, k, np.float64 if dtype is None else dtype)


def _mesh_order(ndim: int, indexing: str) -> list[int]:
    """The dimension of the grid that each array runs along."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: expected indexing 'xy' or 'ij', got {indexing!r}")
    order = list(range(ndim))
    return [1, 0, *order[2:]] if indexing == "xy" and ndim > 1 else order


def _mesh_spec(arrays: Any, indexing: str) -> tuple[Spec, ...]:
    if builtins.any(len(shape_of(a)) > 1 for a in arrays):
        raise ShapeError(f"meshgrid: expected arrays of one dimension, got shapes {[shape_of(a) for a in arrays]}")
    sizes = [size_of(shape_of(arrays[i])) for i in _mesh_order(len(arrays), indexing)]
    return tuple(Spec(sizes, dtype_of(a)) for a in arrays)


def _mesh_back(g: Any, y: Any, arrays: Any, indexing: str) -> list[Any]:
    order = _mesh_order(len(arrays), indexing)
    ndim = range(len(arrays))
    return [TABLE["sum"](each, axis=tuple(d for d in ndim if d != order[i])) for i, each in enumerate(g)]


@op(arrays=("arrays",), infer=_mesh_spec, vjp=_mesh_back, numpy=(np.meshgrid,), linear=True, memory=None)
def meshgrid(*arrays: Any, indexing: Literal["xy", "ij"] = "xy") -> Any:
    """The coordinates of every point of a grid: one array per axis, each as large as the grid."""
    _mesh_spec(arrays, indexing)
    return tuple(np.meshgrid(*arrays, indexing=indexing))


# ── Triangles ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _matrix_spec(name: str, x: Any) -> Spec:
    if len(shape_of(x)) < 2:
        raise ShapeError(f"{name}: expected a matrix or a stack of them, got shape {shape_of(x)}")
    return Spec(shape_of(x), dtype_of(x))


def _tril_back(g: Any, y: Any, x: Any, k: int) -> Any:
    return tril(g, k=k)


def _triu_back(g: Any, y: Any, x: Any, k: int) -> Any:
    return triu(g, k=k)


@op(
    arrays=("x",), infer=lambda x, k: _matrix_spec("tril", x), vjp=_tril_back, numpy=(np.tril,), linear=True, cost=CHEAP
)
def tril(x: Any, /, k: int = 0) -> Any:
    """The lower triangle of each matrix, with zeros above the diagonal `k` places above the main one."""
    _matrix_spec("tril", x)
    return np.tril(x, k)


@op(
    arrays=("x",), infer=lambda x, k: _matrix_spec("triu", x), vjp=_triu_back, numpy=(np.triu,), linear=True, cost=CHEAP
)
def triu(x: Any, /, k: int = 0) -> Any:
    """The upper triangle of each matrix, with zeros below the diagonal `k` places above the main one."""
    _matrix_spec("triu", x)
    return np.triu(x, k)


# ── From other objects ────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("obj",), memory=None, always_array=True)
def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: builtins.bool | None = None) -> Any:
    """An array from a number, nested lists, a buffer or another array; a list may hold weft values."""
    _cpu("asarray", device)
    if not answers(obj):
        return np.asarray(obj, dtype, copy=copy)
    if isinstance(obj, (list, tuple)):
        obj = TABLE["stack"]([asarray(part) for part in obj])
    return obj if dtype is None or dtype_of(obj) == np.dtype(dtype) else astype(obj, dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Any:
    """An array from any object that speaks DLPack, sharing its memory unless `copy`; `copy=False` refuses to copy.

    >>> from_dlpack(np.arange(3))
    array([0, 1, 2])
    """
    _cpu("from_dlpack", device)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, got {type(x).__name__}; use weft.asarray(x)")
    options: dict[str, Any] = {}  # only what is needed: many objects know no options
    if copy is False:
        options["copy"] = False
    if device is not None and x.__dlpack_device__() != (1, 0):
        options["device"] = device
    shared = np.from_dlpack(x, **options)
    return np.array(shared) if copy else shared
