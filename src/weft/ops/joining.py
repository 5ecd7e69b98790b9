"""Ops that join arrays and cut them apart: concat, stack, split and their kin. Each is the other's gradient."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weft.errors import ShapeError, UnknownShape
from weft.ops._cost import CHEAP
from weft.ops._dim import Dim, shapes_agree
from weft.ops._families import composite, op
from weft.ops._op import SHOWN, TABLE
from weft.ops._spec import Spec, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.manipulation import atleast_1d, atleast_2d, dims, reshape

__all__ = ["chunk", "concat", "concatenate", "hstack", "split", "stack", "unstack", "vstack"]


def _parts(name: str, arrays: Any) -> Sequence[Any]:
    if not isinstance(arrays, (list, tuple)):
        got = "one array" if hasattr(arrays, "shape") else type(arrays).__name__
        raise TypeError(f"{name}: expected a list or tuple of arrays, got {got}")
    if not arrays:
        raise ShapeError(f"{name}: expected at least one array, got none")
    return arrays


def _several(name: str, arrays: Any) -> Sequence[Any]:
    """The same, where one array stands for the several along its first dimension, as in NumPy."""
    return _parts(name, list(arrays) if getattr(arrays, "shape", ()) else arrays)


def _promoted(arrays: Sequence[Any]) -> np.dtype[Any]:
    return np.result_type(*map(dtype_of, arrays))


def _concatenated(arrays: Any, axis: Any = 0) -> Spec:
    shapes = [shape_of(a) for a in _parts("concat", arrays)]
    if axis is None:
        shapes, axis = [(size_of(s),) for s in shapes], 0
    if shapes[0] == ():
        raise ShapeError("concat: expected arrays of one or more dimensions, got a scalar", help="use weft.stack")
    axis = normalize_axis("concat", axis, len(shapes[0]))
    rest = (shapes[0][:axis], shapes[0][axis + 1 :])
    for i, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or not shapes_agree((*shape[:axis], *shape[axis + 1 :]), (*rest[0], *rest[1])):
            raise ShapeError(f"concat: shapes {shapes[0]} and {shape} (array {i}) differ outside axis {axis}")
    total = shapes[0][axis]
    for shape in shapes[1:]:
        total = total + shape[axis]
    return Spec((*rest[0], total, *rest[1]), _promoted(arrays))


def _concat_back(g: Any, y: Any, arrays: Any, axis: Any) -> list[Any]:
    sizes = [size_of(shape_of(a)) if axis is None else shape_of(a)[axis] for a in arrays]
    bounds = [0]
    for size in sizes:
        bounds.append(bounds[-1] + size)
    parts = split(g, bounds[1:-1], axis or 0) if len(sizes) > 1 else (g,)
    return [reshape(part, shape_of(a)) for part, a in zip(parts, arrays, strict=True)]


@op(arrays=("arrays",), infer=_concatenated, vjp=(_concat_back,), numpy=(np.concatenate,), linear=True, cost=CHEAP)
def concat(arrays: Any, axis: int | None = 0) -> Any:
    """The arrays joined along an existing axis; flattened first where axis is None."""
    return np.concatenate(_parts("concat", arrays), axis)


concatenate = concat


def _stacked(arrays: Any, axis: int = 0) -> Spec:
    shapes = [shape_of(a) for a in _parts("stack", arrays)]
    for i, shape in enumerate(shapes):
        if not shapes_agree(shape, shapes[0]):
            raise ShapeError(f"stack: all shapes must be equal; {shapes[0]} and {shape} (array {i}) differ")
    at = normalize_axis("stack", axis, len(shapes[0]) + 1)
    return Spec((*shapes[0][:at], len(shapes), *shapes[0][at:]), _promoted(arrays))


def _stack_back(g: Any, y: Any, arrays: Any, axis: int) -> list[Any]:
    return list(unstack(g, axis))


@op(arrays=("arrays",), infer=_stacked, vjp=(_stack_back,), numpy=(np.stack,), linear=True, cost=CHEAP)
def stack(arrays: Any, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    return np.stack(_parts("stack", arrays), axis)


def _unstacked(x: Any, axis: int = 0) -> tuple[Spec, ...]:
    shape = shape_of(x)
    axis = normalize_axis("unstack", axis, len(shape))
    try:
        count = operator.index(shape[axis])
    except UnknownShape:
        why = f"unstack: the number of parts is the size of axis {axis}, known only when it runs"
        raise UnknownShape(why) from None
    return (Spec((*shape[:axis], *shape[axis + 1 :]), dtype_of(x)),) * count


@op(
    arrays=("x",),
    infer=_unstacked,
    vjp=(lambda g, y, x, axis: stack(list(g), axis) if g else 0,),
    numpy=(np.unstack,) if hasattr(np, "unstack") else (),
    linear=True,
    memory=SHOWN,
    cost=CHEAP,
)
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of the array along an axis, as a tuple."""
    return tuple(np.moveaxis(x, axis, 0))


@composite(arrays=("arrays",), numpy=(np.hstack,))
def hstack(arrays: Any) -> Any:
    """The arrays side by side: joined along the second axis, or the first for arrays of one dimension."""
    parts = [atleast_1d(a) for a in _several("hstack", arrays)]
    return concat(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


_ROW_STACK = [getattr(np, name) for name in ("row_stack",) if name in dir(np)]  # an old name, gone in newer versions


@composite(arrays=("arrays",), numpy=(np.vstack, *_ROW_STACK))
def vstack(arrays: Any) -> Any:
    """The arrays on top of each other: joined along the first axis, each of at least two dimensions."""
    return concat([atleast_2d(a) for a in _several("vstack", arrays)], 0)


def _bounds(dim: int, indices_or_sections: Any) -> list[tuple[int, int]]:
    """Start and stop of each part."""
    if isinstance(indices_or_sections, Spec) and len(indices_or_sections.shape) == 1:
        indices_or_sections = [Spec((), indices_or_sections.dtype)] * int(indices_or_sections.shape[0])
    if isinstance(indices_or_sections, Iterable):
        cuts = [min(max(i + dim if i < 0 else i, 0), dim) for i in dims("split", indices_or_sections)]
        starts, stops = [0, *cuts], [*cuts, dim]
        return [(a, max(a, b)) for a, b in zip(starts, stops, strict=True)]
    (sections,) = dims("split", indices_or_sections)
    if sections <= 0 or dim % sections:
        raise ShapeError(
            f"split: {dim} elements do not divide into {sections} equal parts", help="give indices to cut at"
        )
    size = dim // sections
    return [(i * size, (i + 1) * size) for i in range(sections)]


def _split_shapes(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Spec, ...]:
    shape = shape_of(x)
    axis = normalize_axis("split", axis, len(shape))
    bounds = _bounds(shape[axis], indices_or_sections)
    return tuple(Spec((*shape[:axis], stop - start, *shape[axis + 1 :]), dtype_of(x)) for start, stop in bounds)


def _traced(indices: Any) -> bool:
    """Whether indices are known only when a graph runs."""
    if isinstance(indices, (list, tuple)):
        return any(map(_traced, indices))
    return not isinstance(indices, (int, Dim, Spec, np.ndarray, np.generic))


def _split_back(g: Any, y: Any, x: Any, indices_or_sections: Any, axis: int) -> Any:
    shape = shape_of(x)
    axis = normalize_axis("split", axis, len(shape))
    if _traced(indices_or_sections):
        cuts = list(indices_or_sections)
        bounds = list(zip([0, *cuts], [*cuts, shape[axis]], strict=True))  # a slice takes them as NumPy's function does
    else:
        bounds = _bounds(shape[axis], indices_or_sections)
        if all(stop == start for (_, stop), (start, _) in pairwise(bounds)):
            return concat(list(g), axis)
    total = TABLE["full"](shape, 0, dtype=dtype_of(g[0]))  # the parts overlap
    for part, (start, stop) in zip(g, bounds, strict=True):
        total = TABLE["index_add"](total, (*(slice(None),) * axis, slice(start, stop)), part)
    return total


@op(arrays=("x",), infer=_split_shapes, vjp=(_split_back,), numpy=(np.split,), linear=True, memory=SHOWN, cost=CHEAP)
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """The array cut along an axis, into equal sections or at the given indices, as a tuple."""
    x = np.asarray(x)
    axis = normalize_axis("split", axis, x.ndim)
    front = (slice(None),) * axis
    return tuple(x[*front, start:stop] for start, stop in _bounds(x.shape[axis], indices_or_sections))


@composite(memory=SHOWN)
def chunk(x: Any, chunks: int, axis: int = 0) -> Any:
    """The array cut along an axis into at most `chunks` parts of equal size, the last one possibly smaller."""
    if chunks <= 0:
        raise ShapeError(f"chunk: expected a positive number of chunks, got {chunks}")
    dim = shape_of(x)[normalize_axis("chunk", axis, len(shape_of(x)))]
    size = -(-dim // chunks)
    return split(x, [i * size for i in range(1, -(-dim // size))] if size else [0] * (chunks - 1), axis)
