"""What a key (`x[key]`) selects: its shape by NumPy's rules, from shapes and dtypes alone.

A key holds integers, slices, None, Ellipsis, integer arrays and boolean masks; arrays may be Specs. Integers and slices
are basic. One array or mask makes the key advanced: then its integers, arrays and masks broadcast together, and the
dimensions they give stand where they stood, or in front of all others when something separates them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.errors import IndexingError, UnknownShape
from weft.ops._dim import Dim, slice_length, unknown_size
from weft.ops._spec import Shape, Spec, broadcast_shapes, dtype_of, size_of

_PLAIN = frozenset({int, type(None)})
_ACCEPTED = "integers, slices, None, Ellipsis, integer arrays and boolean masks"


@dataclass(slots=True)
class Selector:
    """An integer, an integer array or a mask of a key: the shape of its indices and the dimensions it takes up.

    `count` of a mask is how many elements it selects, None as long as its values are unknown.
    """

    value: Any
    shape: Shape
    takes: int = 1
    mask: bool = False
    count: int | None = None

    @property
    def advanced(self) -> bool:
        return self.mask or self.shape != ()


def items(key: Any) -> tuple[Any, ...]:
    """The parts of a key."""
    return key if isinstance(key, tuple) else (key,)


def selectors(name: str, key: Any) -> list[Any]:
    """The parts of a key, each integer, array and mask as a Selector; `name` is the op named in errors."""
    parts = [p if p is None or p is Ellipsis or isinstance(p, slice) else _selector(name, p) for p in items(key)]
    if sum([p is Ellipsis for p in parts]) > 1:
        raise IndexingError(f"{name}: a key can hold one Ellipsis ('...'), got {len(parts)} parts with more")
    return parts


def may_repeat(name: str, key: Any) -> bool:
    """Whether a key may name the same element twice: only integer arrays can."""
    return any(isinstance(p, Selector) and not p.mask and p.shape != () for p in selectors(name, key))


def in_order(key: Any) -> Any:
    """The key with its arrays laid out in the order of their elements."""
    if isinstance(key, tuple):
        return tuple(map(in_order, key))
    return np.asarray(key, order="C") if isinstance(key, np.ndarray) else key


def lone_mask(key: Any) -> Any:
    """The mask of a key that is nothing but one mask, else None."""
    parts = selectors("getitem", key)
    lone = len(parts) == 1 and isinstance(parts[0], Selector) and parts[0].mask and parts[0].takes
    return parts[0].value if lone else None


def indexed_shape(name: str, shape: Sequence[int], key: Any) -> Shape:
    """The shape of `x[key]` for an `x` of the given shape."""
    parts = selectors(name, key)
    taken, advanced, open_ = 0, False, False
    for part in parts:
        if isinstance(part, Selector):
            taken += part.takes
            advanced = advanced or part.advanced
        elif part is Ellipsis:
            open_ = True
        elif part is not None:
            taken += 1
    if taken > len(shape):
        raise IndexingError(f"{name}: {taken} indices for an array of {len(shape)} dimensions, shape {tuple(shape)}")
    if not open_:
        parts.append(Ellipsis)
    basic: list[int] = []
    found: list[Selector] = []
    axes: list[int] = []  # for each Selector, the first axis it takes up
    places: list[tuple[int, int]] = []  # for each, its place in the key and the dimensions of the result before it
    at = 0
    for place, part in enumerate(parts):
        if isinstance(part, Selector):
            found.append(part)
            axes.append(at)
            places.append((place, len(basic)))
            at += part.takes
        elif part is None:
            basic.append(1)
        elif part is Ellipsis:
            rest = len(shape) - taken
            basic.extend(shape[at : at + rest])
            at += rest
        else:
            basic.append(_slice_length(name, part, shape[at]))
            at += 1
    for part, axis in zip(found, axes, strict=True):
        _check_mask(name, part, shape, axis)
    selected = _broadcast(name, found) if advanced else ()
    for part, axis in zip(found, axes, strict=True):
        # NumPy takes any array of indices where nothing is selected.
        if _has_range(part, shape, axis) and (part.shape == () or size_of(selected) != 0):
            _check_range(name, part, shape, axis)
    if not advanced:
        return tuple(basic)
    together = places[-1][0] - places[0][0] == len(places) - 1
    front = places[0][1] if together else 0
    return (*basic[:front], *selected, *basic[front:])


def _selector(name: str, part: Any) -> Selector:
    if isinstance(part, (bool, np.bool_)):
        return Selector(part, (), 0, True, int(part))
    if isinstance(part, (int, np.integer)):
        return Selector(part, ())
    if isinstance(part, (list, tuple)):
        part = _array_of(name, part)
    dtype, shape = getattr(part, "dtype", None), getattr(part, "shape", None)
    if dtype is None or shape is None:
        if hasattr(part, "__index__"):
            return Selector(part, ())
        raise IndexingError(f"{name}: a key holds {_ACCEPTED}; got {part!r}")
    if dtype.kind == "b":
        count = int(np.count_nonzero(part)) if isinstance(part, np.ndarray) else None
        return Selector(part, tuple(shape), len(shape), True, count)
    if dtype.kind not in "iu":
        raise IndexingError(f"{name}: arrays in a key are integer or boolean; got {dtype}")
    return Selector(part, tuple(shape))


def _array_of(name: str, part: Sequence[Any]) -> Any:
    """A list in a key as the array, or the Spec, that it stands for."""
    if _abstract(part):
        inner = [_array_of(name, p) if isinstance(p, (list, tuple)) else p for p in part]
        shapes = {tuple(getattr(p, "shape", ())) for p in inner}
        if len(shapes) > 1:
            raise IndexingError(f"{name}: a list in a key has parts of different shapes: {sorted(shapes)}")
        dtype = np.result_type(*map(dtype_of, inner))
        return Spec((len(part), *shapes.pop()), dtype)
    array = np.asarray(part)
    return array if array.size else array.astype(np.intp)


def _abstract(part: Any) -> bool:
    """Whether a nested list holds something other than plain numbers and arrays."""
    if isinstance(part, (list, tuple)):
        return any(map(_abstract, part))
    return not isinstance(part, (int, float, complex, np.ndarray, np.generic))


def _check_mask(name: str, part: Selector, shape: Sequence[int], axis: int) -> None:
    covered = tuple(shape[axis : axis + part.takes])
    if part.mask and any(d not in (c, 0) for d, c in zip(part.shape, covered, strict=True)):  # as in NumPy, 0 fits all
        raise IndexingError(f"{name}: a mask of shape {part.shape} over dimensions of shape {covered}")


def _has_range(part: Selector, shape: Sequence[int], axis: int) -> bool:
    """Whether an index and the size of its axis are known."""
    return not part.mask and isinstance(part.value, (int, np.integer, np.ndarray)) and isinstance(shape[axis], int)


def _check_range(name: str, part: Selector, shape: Sequence[int], axis: int) -> None:
    """Refuse an index out of range."""
    for extreme in {int(np.min(part.value)), int(np.max(part.value))}:
        if not -shape[axis] <= extreme < shape[axis]:
            raise IndexingError(f"{name}: index {extreme} is out of range for axis {axis} of size {shape[axis]}")


def _slice_length(name: str, part: slice, dim: int) -> int:
    """How many elements of a dimension a slice selects."""
    if part.start is None and part.stop is None and part.step is None:
        return dim
    start, stop, step = part.start, part.stop, part.step
    size: Any = dim
    if not (type(start) in _PLAIN and type(stop) in _PLAIN and type(step) in _PLAIN and type(dim) is int):
        if isinstance(start, Spec) or isinstance(stop, Spec) or isinstance(step, Spec):
            return unknown_size("slice", _computed_bound(name))
        start, stop, step = _bound(name, start), _bound(name, stop), _bound(name, step)
        if any(isinstance(each, Dim) for each in (size, start, stop, step)):
            return slice_length(start, stop, step, dim)
    step = 1 if step is None else step
    if step == 0:
        raise IndexingError(f"{name}: a slice with step 0")
    low, high = (0, dim) if step > 0 else (-1, dim - 1)
    first = (low if step > 0 else high) if start is None else min(max(start + dim if start < 0 else start, low), high)
    last = (high if step > 0 else low) if stop is None else min(max(stop + dim if stop < 0 else stop, low), high)
    count = (last - first + step - 1) // step if step > 0 else (first - last - step - 1) // -step
    return max(count, 0)


def _computed_bound(name: str) -> UnknownShape:
    return UnknownShape(
        f"{name}: the size of a slice with a computed bound is known only when it runs",
        help="index with an array of the size wanted: x[start + weft.arange(size)]",
    )


def _bound(name: str, bound: Any) -> Any:
    """A bound of a slice as an integer."""
    if bound is None or isinstance(bound, int):
        return bound
    if isinstance(bound, (float, np.floating)):
        raise IndexingError(f"{name}: the bounds of a slice are integers; got {bound!r}")
    return operator.index(bound) if isinstance(bound, (np.integer, np.ndarray)) else bound


def _broadcast(name: str, found: list[Selector]) -> Shape:
    """The shape that integers, arrays and masks give together."""
    shapes: list[Shape] = []
    for part in found:
        if part.mask and part.count is None:
            unknown = UnknownShape(
                f"{name}: how many elements a mask selects is known only when it runs",
                help="weft.where(mask, x, other) keeps the shape",
            )
            shapes.append((unknown_size("mask", unknown),))
        else:
            shapes.append((part.count,) if part.mask and part.count is not None else part.shape)
    try:
        return broadcast_shapes(name, *shapes)
    except ValueError:
        wanted = " and ".join(map(str, shapes))
        raise IndexingError(f"{name}: index arrays of shapes {wanted} do not broadcast") from None
