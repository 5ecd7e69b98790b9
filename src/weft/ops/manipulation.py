"""Ops that move elements without changing them: reshape, permute, broadcast, repeat, reorder.

Every one is linear, so its gradient is its transpose: what was repeated is summed, what was moved is moved back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownRank, UnknownShape
from weft.ops._cost import CHEAP
from weft.ops._dim import Dim, agree, divides, fits_dim, unknown_size
from weft.ops._families import composite, movement, op
from weft.ops._op import OWN, SHOWN, TABLE, VIEW, like, no_gradient
from weft.ops._raises import SECOND_BELOW_ZERO
from weft.ops._spec import (
    Shape,
    Spec,
    broadcast_shapes,
    dtype_of,
    normalize_axes,
    normalize_axis,
    shape_of,
    size_of,
)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rot90",
    "squeeze",
    "swapaxes",
    "tile",
    "transpose",
]


def dims(name: str, shape: Any) -> Shape:
    """Dimensions given as a parameter, as a tuple; a single one may stand for it."""
    given = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, Spec) else (shape,)
    if any(isinstance(d, Spec) for d in given):
        unknown = UnknownShape(f"{name}: sizes computed from values are known only when it runs")
        given = tuple(unknown_size(name, unknown) if isinstance(d, Spec) else d for d in given)
    return tuple(int(d) if isinstance(d, np.integer) else d for d in given)


# --- shape and order of the dimensions ---


def _reshaped(old: Shape, shape: Any, copy: Any = None) -> Shape:
    new = dims("reshape", shape)
    unknown = [i for i, d in enumerate(new) if d == -1]
    if unknown:
        known = size_of([d for d in new if d != -1])
        if len(unknown) > 1 or not known or not divides(known, size_of(old)):
            raise ShapeError(f"reshape: {old} does not fit {new}")
        new = tuple(size_of(old) // known if d == -1 else d for d in new)
    if not agree(size_of(new), size_of(old)):
        raise ShapeError(f"reshape: {old} has {size_of(old)} elements, {new} has {size_of(new)}")
    return new


def _reshape_back(g: Any, y: Any, x: Any, *parameters: Any) -> Any:
    return reshape(g, shape_of(x))


@movement(shape=_reshaped, numpy=(np.reshape,), vjp=_reshape_back)
def reshape(x: Any, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in another shape; one dimension may be -1 and is worked out."""
    if copy:
        return np.array(x, order="C").reshape(shape)
    result = x.reshape(shape) if type(x) is np.ndarray else np.reshape(x, shape)
    if copy is False and result.size and not np.may_share_memory(x, result):
        raise ValueError("reshape: copy=False, but this shape cannot be had without copying")
    return result


def _permuted(old: Shape, axes: Any = None) -> Shape:
    return tuple(old[a] for a in _permutation(old, axes))


def _permutation(old: Shape, axes: Any) -> Shape:
    if axes is None:
        return tuple(range(len(old)))[::-1]
    found = normalize_axes("permute_dims", axes, len(old))
    if len(found) != len(old):
        raise ShapeError(f"permute_dims: axes {tuple(axes)} do not name all {len(old)} dimensions of {old}")
    return found


def _permute_back(g: Any, y: Any, x: Any, axes: Any) -> Any:
    order = _permutation(shape_of(x), axes)
    return permute_dims(g, tuple(sorted(range(len(order)), key=order.__getitem__)))


@movement(shape=_permuted, numpy=(np.permute_dims,), vjp=_permute_back)
def permute_dims(x: Any, axes: Any = None) -> Any:
    """The array with its dimensions in the given order; reversed by default."""
    return np.transpose(x, axes)


transpose = permute_dims


@composite(numpy=(np.moveaxis,), memory=VIEW)
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """The array with the source dimensions moved to the destinations; the others keep their order."""
    ndim = len(shape_of(x))
    sources = normalize_axes("moveaxis", source, ndim)
    destinations = normalize_axes("moveaxis", destination, ndim)
    if len(sources) != len(destinations):
        raise ShapeError(f"moveaxis: {len(sources)} sources but {len(destinations)} destinations")
    order = [a for a in range(ndim) if a not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return permute_dims(x, tuple(order))


@composite(numpy=(np.swapaxes,), memory=VIEW)
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """The array with two of its dimensions exchanged."""
    ndim = len(shape_of(x))
    first, second = normalize_axis("swapaxes", axis1, ndim), normalize_axis("swapaxes", axis2, ndim)
    order = list(range(ndim))
    order[first], order[second] = second, first
    return permute_dims(x, tuple(order))


def _expanded(old: Shape, axis: Any = 0) -> Shape:
    count = len(tuple(axis)) if isinstance(axis, Iterable) else 1
    axes = normalize_axes("expand_dims", axis, len(old) + count)
    rest = iter(old)
    return tuple(1 if i in axes else next(rest) for i in range(len(old) + count))


@movement(shape=_expanded, numpy=(np.expand_dims,), vjp=_reshape_back)
def expand_dims(x: Any, axis: Any = 0) -> Any:
    """The array with dimensions of size one inserted, so that they stand at the given axes of the result."""
    if type(axis) is int and type(x) is np.ndarray and -x.ndim - 1 <= axis <= x.ndim:
        at = axis % (x.ndim + 1)
        return x.reshape((*x.shape[:at], 1, *x.shape[at:]))  # a tenth of the time that NumPy's function takes
    return np.expand_dims(x, axis)


def _squeezed(old: Shape, axis: Any = None) -> Shape:
    if axis is None:
        return tuple(d for d in old if not _is_one(old, d))
    axes = normalize_axes("squeeze", axis, len(old))
    for a in axes:
        if not agree(old[a], 1):
            raise ShapeError(f"squeeze: axis {a} of {old} has size {old[a]}, expected 1")
    return tuple(d for i, d in enumerate(old) if i not in axes)


def _is_one(shape: Shape, size: Any) -> bool:
    """Whether a size is 1, which decides how many dimensions the result has."""
    known = size.env.known("==", size, 1) if isinstance(size, Dim) else size == 1
    if known is None:
        raise UnknownRank(
            f"squeeze: whether {size}, a size of {shape}, is 1 is known only when it runs",
            help="name the dimensions to leave out, axis=...",
        )
    return known


@movement(shape=_squeezed, numpy=(np.squeeze,), vjp=_reshape_back)
def squeeze(x: Any, axis: Any = None) -> Any:
    """The array without the given dimensions, each of size one; without all such dimensions by default."""
    return np.squeeze(x, axis)


@composite(numpy=(np.ravel,), memory=VIEW)
def ravel(x: Any) -> Any:
    """The elements in one dimension; a copy where they do not lie one after the other."""
    return np.ravel(x) if type(x) is np.ndarray else reshape(x, (size_of(shape_of(x)),))


@composite(memory=VIEW)
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The array with the dimensions from `start_dim` to `end_dim`, both included, joined into one."""
    shape = shape_of(x) or (1,)
    start, end = normalize_axis("flatten", start_dim, len(shape)), normalize_axis("flatten", end_dim, len(shape))
    if start > end:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim} in {shape}")
    return reshape(x, (*shape[:start], size_of(shape[start : end + 1]), *shape[end + 1 :]))


@composite(numpy=(np.atleast_1d,), memory=None)
def atleast_1d(x: Any) -> Any:
    """The array, or one of a single element for a scalar."""
    return x if len(shape_of(x)) >= 1 and hasattr(x, "shape") else reshape(x, shape_of(x) or (1,))


@composite(numpy=(np.atleast_2d,), memory=None)
def atleast_2d(x: Any) -> Any:
    """The array with dimensions of size one in front until it has two."""
    shape = shape_of(x)
    return x if len(shape) >= 2 and hasattr(x, "shape") else reshape(x, (1,) * (2 - len(shape)) + shape)


# --- broadcasting and repetition ---


def _broadcasted(old: Shape, shape: Any) -> Shape:
    new = dims("broadcast_to", shape)
    if any(isinstance(d, Dim) for d in (*old, *new)) and len(old) <= len(new):
        if all(map(fits_dim, old[::-1], new[::-1])):
            return new
        raise ShapeError(f"broadcast_to: {old} does not broadcast to {new}")
    if broadcast_shapes("broadcast_to", old, new) != new:
        raise ShapeError(f"broadcast_to: {old} does not broadcast to {new}")
    return new


@movement(
    shape=_broadcasted, numpy=(np.broadcast_to,), vjp=lambda g, y, x, shape: like(g, x), memory=SHOWN, always_array=True
)
def broadcast_to(x: Any, shape: Any) -> Any:
    """The array repeated along new or size-one dimensions until it has the given shape, without copying."""
    return np.broadcast_to(x, shape)


def _broadcast_all(arrays: tuple[Any, ...]) -> tuple[Spec, ...]:
    shape = broadcast_shapes("broadcast_arrays", *map(shape_of, arrays))
    return tuple(Spec(shape, dtype_of(a)) for a in arrays)


@op(
    arrays=("arrays",),
    infer=_broadcast_all,
    vjp=(lambda g, y, arrays: list(g),),
    numpy=(np.broadcast_arrays,),
    linear=True,
    memory=SHOWN,
    always_array=True,
    cost=CHEAP,
)
def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """All arrays broadcast to their common shape."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(a, shape) for a in arrays)


def _tiling(old: Shape, repetitions: Any) -> tuple[Shape, Shape]:
    """Dimensions and repetitions, both with ones in front to the same length."""
    times = dims("tile", repetitions)
    ndim = max(len(old), len(times))
    return (1,) * (ndim - len(old)) + old, (1,) * (ndim - len(times)) + times


def _tiled(old: Shape, repetitions: Any) -> Shape:
    return tuple(d * r for d, r in zip(*_tiling(old, repetitions), strict=True))


def _tile_back(g: Any, y: Any, x: Any, repetitions: Any) -> Any:
    sizes, times = _tiling(shape_of(x), repetitions)
    apart = reshape(g, tuple(n for pair in zip(times, sizes, strict=True) for n in pair))
    return reshape(TABLE["sum"](apart, axis=tuple(range(0, 2 * len(sizes), 2))), shape_of(x))


@movement(shape=_tiled, numpy=(np.tile,), vjp=_tile_back, memory=OWN, always_array=True, cost=CHEAP)
def tile(x: Any, repetitions: Any) -> Any:
    """The array laid side by side, `repetitions` times along each dimension."""
    return np.tile(x, repetitions)


def _repeated(x: Any, repeats: Any, axis: Any = None) -> Spec:
    shape = (size_of(shape_of(x)),) if axis is None else shape_of(x)
    axis = normalize_axis("repeat", axis or 0, len(shape))
    counts = dims("repeat", repeats.tolist() if isinstance(repeats, np.ndarray) else repeats)
    if len(counts) == 1:
        total = shape[axis] * counts[0]
    elif len(counts) == shape[axis]:
        total = sum(counts)
    else:
        raise ShapeError(f"repeat: {len(counts)} repeats for axis {axis} of {shape}, expected 1 or {shape[axis]}")
    return Spec((*shape[:axis], total, *shape[axis + 1 :]), dtype_of(x))


def _repeat_back(g: Any, y: Any, x: Any, repeats: Any, axis: Any) -> Any:
    shape = (size_of(shape_of(x)),) if axis is None else shape_of(x)
    axis = normalize_axis("repeat", axis or 0, len(shape))
    if not isinstance(repeats, (list, tuple)) and not hasattr(repeats, "dtype"):
        apart = reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        return reshape(TABLE["sum"](apart, axis=axis + 1), shape_of(x))
    source = repeat(TABLE["arange"](shape[axis]), repeats)
    return reshape(add_along(shape, axis, source, g), shape_of(x))


def add_along(shape: Shape, axis: int, index: Any, g: Any) -> Any:
    """The slices of `g` along an axis added into zeros at the given positions."""
    zeros = TABLE["full"](shape, 0, dtype=dtype_of(g))
    return TABLE["index_add"](zeros, (*(slice(None),) * axis, index), g)


@op(
    arrays=("x", "repeats"),
    infer=_repeated,
    vjp=(_repeat_back, no_gradient("the number of repeats is an integer")),
    numpy=(np.repeat,),
    linear=True,
    raises=SECOND_BELOW_ZERO,
    cost=CHEAP,
)
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated along an axis, all equally often or each its own number of times."""
    return np.repeat(x, repeats, axis)


# --- reordering along axes ---


def _flipped(old: Shape, axis: Any = None) -> Shape:
    normalize_axes("flip", axis, len(old))
    return old


def _flip_back(g: Any, y: Any, x: Any, axis: Any) -> Any:
    return flip(g, axis)


@movement(shape=_flipped, numpy=(np.flip,), vjp=_flip_back)
def flip(x: Any, axis: Any = None) -> Any:
    """The elements in reverse order along the given axes, all by default."""
    return np.flip(x, axis)


def _roll_back(g: Any, y: Any, x: Any, shift: Any, axis: Any) -> Any:
    return roll(g, tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift, axis)


def _rolled(old: Shape, shift: Any, axis: Any = None) -> Shape:
    if axis is not None:
        axes = (axis,) if not isinstance(axis, Iterable) else tuple(axis)
        for a in axes:
            normalize_axis("roll", a, len(old))
        if isinstance(shift, (tuple, list)) and 1 not in (len(shift), len(axes)) and len(shift) != len(axes):
            raise ShapeError(f"roll: {len(shift)} shifts for {len(axes)} axes")
    return old


@movement(shape=_rolled, numpy=(np.roll,), vjp=_roll_back, memory=OWN, always_array=True, cost=CHEAP)
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along the given axes; what leaves at one end enters at the other."""
    return np.roll(x, shift, axis)


@composite(numpy=(np.rot90,), memory=VIEW)
def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """The array turned by `k` quarter turns in the plane of two axes, from the first towards the second."""
    first, second = normalize_axes("rot90", axes, len(shape_of(x)))
    k = k % 4
    if k == 0:
        return flip(x, ())
    if k == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if k == 1 else flip(swapaxes(x, first, second), second)
