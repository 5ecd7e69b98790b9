"""Resizing the trailing dimensions to a given size: adaptive pooling, and interpolation.

Averages and interpolations are linear along each dimension, so each is a small matrix applied to one dimension after
another.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, op
from weft.ops._op import ANY_ORDER, no_gradient
from weft.ops._spec import Shape, Spec, dtype_of, shape_of, size_of
from weft.ops.linalg import matmul
from weft.ops.manipulation import reshape, swapaxes
from weft.ops.pooling import gather_positions, largest_tap, max_pool_indices, space_of
from weft.ops.reductions import mean

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_indices",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "interpolate",
]


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Where each of `out` windows that cover `size` elements evenly begins and ends."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _output_size(name: str, space: Shape, output_size: Any) -> Shape:
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * len(space)
    if len(given) != len(space):
        raise ShapeError(f"{name}: output_size needs one number or {len(space)}, got {output_size}")
    result = tuple(n if o is None else o for n, o in zip(space, given, strict=True))
    if any(o < 1 for o in result):
        raise ShapeError(f"{name}: output_size must be at least 1, got {output_size}")
    return result


def _along(x: Any, matrix: Any, axis: int) -> Any:
    """Apply a matrix (new size, old size) to one dimension."""
    dtype = dtype_of(x) if dtype_of(x).kind in "fc" else np.float64
    return swapaxes(matmul(swapaxes(x, axis, -1), matrix.T.astype(dtype)), axis, -1)


def _adaptive_avg(name: str, rank: int, input: Any, output_size: Any) -> Any:
    space = space_of(name, input, rank)
    size = _output_size(name, space, output_size)
    if all(o == 1 for o in size):
        shape = shape_of(input)[: len(shape_of(input)) - rank]
        return reshape(mean(reshape(input, (*shape, size_of(space))), axis=-1), (*shape, *size))
    for axis, (n, o) in enumerate(zip(space, size, strict=True), input.ndim - rank):
        if n % o == 0:
            shape = shape_of(input)
            input = mean(reshape(input, (*shape[:axis], o, n // o, *shape[axis + 1 :])), axis=axis + 1)
            continue
        n, o = int(n), int(o)  # the matrix has its numbers by the sizes
        matrix = np.zeros((o, n))
        for row, (begin, end) in enumerate(_bounds(n, o)):
            matrix[row, begin:end] = 1 / (end - begin)
        input = _along(input, matrix, axis)
    return input


def _indices_spec(x: Any, output_size: Any) -> Spec:
    if dtype_of(x).kind == "c":
        raise DtypeError(f"adaptive_max_pool: expected real numbers, got {dtype_of(x)}")
    return Spec((*shape_of(x)[: len(shape_of(x)) - len(output_size)], *output_size), np.int64)


@op(
    arrays=("x",),
    infer=_indices_spec,
    vjp=no_gradient("adaptive_max_indices gives positions, which are integers"),
)
def adaptive_max_indices(x: Any, output_size: Any) -> Any:
    """Where the largest element of each of output_size windows lies in the flattened trailing dimensions."""
    result, rank = _indices_spec(x, output_size), len(output_size)
    space = x.shape[x.ndim - rank :]
    bounds = [_bounds(n, o) for n, o in zip(space, output_size, strict=True)]
    # Windows differ in length; the shorter ones look at their last element again, which is never better than itself.
    longest = [max(end - begin for begin, end in each) for each in bounds]
    tables = [
        np.array([[min(begin + k, end - 1) for k in range(n)] for begin, end in each])
        for each, n in zip(bounds, longest, strict=True)
    ]
    values = (
        x[(..., *np.ix_(*(table[:, k] for table, k in zip(tables, tap, strict=True))))]
        for tap in product(*map(range, longest))
    )
    winner = largest_tap(x, values, 0, result.shape, size_of(longest))
    windows = np.ix_(*map(np.arange, output_size))
    at = [table[w, k] for table, w, k in zip(tables, windows, np.unravel_index(winner, longest), strict=True)]
    return np.ravel_multi_index(tuple(at), space)


def _adaptive_max(name: str, rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    space = space_of(name, input, rank)
    if 0 in space:
        raise ShapeError(f"{name}: an input of shape {shape_of(input)} has nothing to take a maximum of")
    size = _output_size(name, space, output_size)
    if any(n % o for n, o in zip(space, size, strict=True)):
        indices = adaptive_max_indices(input, size)
    else:
        kernel = tuple(n // o for n, o in zip(space, size, strict=True))
        indices = max_pool_indices(input, kernel, kernel, ((0, 0),) * rank, (1,) * rank)
    values = gather_positions(input, indices, rank)
    return (values, indices) if return_indices else values


@composite(arrays=("input",))
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Means over output_size windows that cover the length evenly."""
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


@composite(arrays=("input",))
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means over output_size windows that cover the image evenly; None keeps a dimension."""
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


@composite(arrays=("input",))
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Means over output_size windows that cover the volume evenly; None keeps a dimension."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


@composite(arrays=("input",), order=ANY_ORDER)
def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over output_size windows that cover the length evenly; with return_indices, also where they lie."""
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


@composite(arrays=("input",))
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over output_size windows that cover the image evenly; with return_indices, also where they lie."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


@composite(arrays=("input",))
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over output_size windows that cover the volume evenly; with return_indices, also where they lie."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _nearest(size: int, out: int, scale: float, align: bool) -> Any:
    at = np.minimum(np.floor(np.arange(out) * scale).astype(int), size - 1)
    return np.eye(size)[at]


def _nearest_exact(size: int, out: int, scale: float, align: bool) -> Any:
    at = np.minimum(np.floor((np.arange(out) + 0.5) * scale).astype(int), size - 1)
    return np.eye(size)[at]


def _linear(size: int, out: int, scale: float, align: bool) -> Any:
    place = np.arange(out) * scale if align else np.maximum((np.arange(out) + 0.5) * scale - 0.5, 0)
    low = np.minimum(np.floor(place).astype(int), size - 1)
    part = np.minimum(place - low, 1.0)[:, None]
    return np.eye(size)[low] * (1 - part) + np.eye(size)[np.minimum(low + 1, size - 1)] * part


def _cubic(size: int, out: int, scale: float, align: bool) -> Any:
    """Keys' cubic convolution with a = -0.75, its edges repeated."""
    place = np.arange(out) * scale if align else (np.arange(out) + 0.5) * scale - 0.5
    low = np.floor(place).astype(int)
    a, matrix = -0.75, np.zeros((out, size))
    for offset in range(-1, 3):
        d = np.abs(place - low - offset)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = a * (((d - 5) * d + 8) * d - 4)
        matrix += np.eye(size)[np.clip(low + offset, 0, size - 1)] * np.where(d <= 1, near, far)[:, None]
    return matrix


_RULES: dict[str, tuple[Callable[[int, int, float, bool], Any], int | None]] = {
    "nearest": (_nearest, None),
    "nearest-exact": (_nearest_exact, None),
    "linear": (_linear, 1),
    "bilinear": (_linear, 2),
    "trilinear": (_linear, 3),
    "bicubic": (_cubic, 2),
}


@composite(arrays=("input",), memory=None)
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool = False
) -> Any:
    """Resize (batch, channels, *space) to `size`, or by scale_factor.

    Modes: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area".
    """
    rank = len(shape_of(input)) - 2
    space = tuple(map(int, shape_of(input)[2:]))  # the matrices below have their numbers by the sizes
    if (size is None) == (scale_factor is None) or rank < 1:
        raise ShapeError(f"interpolate: expected size or scale_factor and an input (batch, channels, ...), got {space}")
    factors: list[Any] = [None] * rank
    if size is None:
        factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        if len(factors) != rank:
            raise ShapeError(f"interpolate: scale_factor needs one number or {rank}, got {scale_factor}")
        size = tuple(int(n * f) for n, f in zip(space, factors, strict=True))
    size = _output_size("interpolate", space, size)
    if mode == "area":
        return _adaptive_avg("interpolate", rank, input, size)
    rule, wanted = _RULES.get(mode, (None, None))
    if rule is None or wanted not in (None, rank):
        raise ValueError(f"interpolate: mode {mode!r} is not one for {rank} dimensions of space")
    for axis, (n, o, f) in enumerate(zip(space, size, factors, strict=True), 2):
        scale = (n - 1) / max(o - 1, 1) if align_corners and not mode.startswith("nearest") else 1 / f if f else n / o
        if n != o or scale != 1:
            input = _along(input, rule(n, o, scale, align_corners), axis)
    return input
