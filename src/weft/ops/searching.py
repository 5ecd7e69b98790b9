"""Which elements: by condition, by order, as sets, whether two arrays agree; and positions as one number or several."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError, UnknownShape
from weft.ops._dim import unknown_size
from weft.ops._families import composite, op
from weft.ops._matrices import put_in
from weft.ops._op import ANY_ORDER, no_gradient
from weft.ops._raises import BAD_VALUES, second_outside
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.creation import full
from weft.ops.dtypes import astype, result_type
from weft.ops.elementwise import clip, remainder
from weft.ops.indexing import nonzero, put_along_axis, take, take_along_axis
from weft.ops.logic import equal, where
from weft.ops.manipulation import broadcast_to, ravel, reshape
from weft.ops.sorting import argsort, sort

__all__ = [
    "argpartition",
    "argwhere",
    "array_equal",
    "array_equiv",
    "choose",
    "compress",
    "extract",
    "flatnonzero",
    "intersect1d",
    "lexsort",
    "packbits",
    "partition",
    "ravel_multi_index",
    "select",
    "setdiff1d",
    "setxor1d",
    "sort_complex",
    "trim_zeros",
    "union1d",
    "unique",
    "unpackbits",
    "unravel_index",
]

_positions = no_gradient("positions are integers")
_boolean = no_gradient("the result is boolean, so it has no derivative")
_COUNTED = no_gradient("how many distinct values there are changes with the values")


def _unknown(name: str, what: str) -> Any:
    return unknown_size(name, UnknownShape(f"{name}: how many {what} there are is known only when it runs"))


# ── Where something holds ─────────────────────────────────────────────────────────────────────────────────────────────


@op(
    arrays=("a",),
    infer=lambda a: Spec((_unknown("argwhere", "elements that are not zero"), len(shape_of(a))), np.intp),
    vjp=_positions,
    numpy=(np.argwhere,),
    order=ANY_ORDER,
)
def argwhere(a: Any) -> Any:
    """The positions of the elements that are not zero, as the rows of a matrix."""
    return np.argwhere(a)


@op(
    arrays=("a",),
    infer=lambda a: Spec((_unknown("flatnonzero", "elements that are not zero"),), np.intp),
    vjp=_positions,
    numpy=(np.flatnonzero,),
)
def flatnonzero(a: Any) -> Any:
    """The positions of the elements that are not zero in the flattened array."""
    return np.flatnonzero(a)


def _compress_spec(condition: Any, a: Any, axis: Any) -> Spec:
    if len(shape_of(condition)) != 1:
        raise ShapeError(f"compress: the condition has one dimension, got shape {shape_of(condition)}")
    count = _unknown("compress", "true elements")
    if axis is None:
        return Spec((count,), dtype_of(a))
    shape = shape_of(a)
    at = normalize_axis("compress", axis, len(shape))
    return Spec((*shape[:at], count, *shape[at + 1 :]), dtype_of(a))


@composite(arrays=("condition", "a"), numpy=(np.compress,), eval=np.compress, infer=_compress_spec)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The elements, or slices along an axis, at which a condition of one dimension is true."""
    return take(a, nonzero(condition)[0], axis)


def _extract_spec(condition: Any, arr: Any) -> Spec:
    return Spec((_unknown("extract", "true elements"),), dtype_of(arr))


@composite(arrays=("condition", "arr"), numpy=(np.extract,), eval=np.extract, infer=_extract_spec)
def extract(condition: Any, arr: Any) -> Any:
    """The elements at which a condition is true, in one dimension."""
    return take(ravel(arr), nonzero(ravel(condition))[0])


@op(
    arrays=("filt",),
    infer=lambda filt, trim, axis: Spec([_unknown("trim_zeros", "zeros")] * len(shape_of(filt)), dtype_of(filt)),
    vjp=no_gradient("how many elements are left changes with the values"),
    numpy=(np.trim_zeros,),
    memory=None,
)
def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    """The array without the zeros at its front ("f"), its back ("b"), or both."""
    return np.trim_zeros(filt, trim) if axis is None else np.trim_zeros(filt, trim, axis)


# ── Choices ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _weak(value: Any) -> Any:
    """A number of Python's as it is, anything else as its dtype."""
    return value if type(value) in (int, float, complex) else dtype_of(value)


@composite(arrays=("condlist", "choicelist", "default"), numpy=(np.select,), eval=np.select, always_array=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element, the value that goes with the first condition that is true, or the default."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions and {len(choicelist)} values; expected as many, and one")
    for condition in condlist:
        if dtype_of(condition).kind != "b":
            raise DtypeError(f"select: conditions are boolean, got {dtype_of(condition)}")
    dtype = np.dtype(result_type(*map(_weak, (*choicelist, default))))
    conditions = broadcast_shapes("select", *map(shape_of, condlist))
    shape = broadcast_shapes("select", conditions, *map(shape_of, (*choicelist, default)))
    found = default
    for condition, value in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = where(condition, value, found)
    return broadcast_to(astype(found, dtype), shape)


_MODES: dict[str, Callable[..., Any]] = {
    "wrap": remainder,
    "clip": lambda index, count: clip(index, 0, count - 1),
    "raise": lambda index, count: index,
}


@composite(arrays=("a", "choices"), numpy=(np.choose,), eval=np.choose, raises=BAD_VALUES)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """For each element of a, the value of the choice that it numbers; beyond the last it wraps, clips or raises."""
    if dtype_of(a).kind not in "iub":
        raise DtypeError(f"choose: the numbers of choices are integers, got {dtype_of(a)}")
    if mode not in _MODES:
        raise ValueError(f"choose: expected mode 'raise', 'wrap' or 'clip', got {mode!r}")
    values = list(choices) if isinstance(choices, (list, tuple)) else [choices[i] for i in range(shape_of(choices)[0])]
    dtype = np.result_type(*map(dtype_of, values))
    index = _MODES[mode](astype(a, np.intp), len(values))
    shape = broadcast_shapes("choose", shape_of(a), *map(shape_of, values))
    found = values[-1]
    for i, value in enumerate(values[:-1]):
        found = where(equal(index, i), value, found)
    return broadcast_to(astype(found, dtype), shape)


# ── Order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _along_spec(name: str, x: Any, axis: Any, dtype: Any = None) -> Spec:
    shape = shape_of(x)
    if axis is None:
        return Spec((size_of(shape),), dtype or dtype_of(x))
    normalize_axis(name, axis, len(shape))
    return Spec(shape, dtype or dtype_of(x))


@op(
    arrays=("a",),
    infer=lambda a, kth, axis, kind: _along_spec("argpartition", a, axis, np.dtype(np.intp)),
    vjp=_positions,
    numpy=(np.argpartition,),
    raises=second_outside(-1.0),
)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect") -> Any:
    """Positions that put the kth smallest element in its place, with none larger before and none smaller after it."""
    return np.argpartition(a, kth, axis, kind)


def _partition_back(g: Any, y: Any, a: Any, kth: Any, axis: Any, kind: Any) -> Any:
    """The result holds the elements in some order: both orders sorted tell which went where."""
    flat, at = (ravel(a), 0) if axis is None else (a, axis)
    zeros = full(shape_of(flat), 0, dtype=dtype_of(g))
    back = put_along_axis(zeros, argsort(flat, at), take_along_axis(g, argsort(y, at), at), at)
    return reshape(back, shape_of(a))


@op(
    arrays=("a",),
    infer=lambda a, kth, axis, kind: _along_spec("partition", a, axis),
    vjp=_partition_back,
    numpy=(np.partition,),
    raises=second_outside(-1.0),
)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect") -> Any:
    """The elements with the kth smallest in its place, none larger before and none smaller after it."""
    return np.partition(a, kth, axis, kind)


def _lexsort_spec(keys: Any, axis: int) -> Spec:
    if not isinstance(keys, (list, tuple)):
        return Spec(shape_of(keys)[1:], np.intp)
    if not keys:
        raise ShapeError("lexsort: expected one key or more")
    return Spec(shape_of(keys[0]), np.intp)


@op(arrays=("keys",), infer=_lexsort_spec, vjp=_positions, numpy=(np.lexsort,))
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by several keys, the last of them first."""
    return np.lexsort(keys, axis)


def _sort_complex_spec(a: Any) -> Spec:
    return Spec(shape_of(a), np.sort_complex(np.ones(1, dtype_of(a))).dtype)


@composite(arrays=("a",), numpy=(np.sort_complex,), eval=np.sort_complex, infer=_sort_complex_spec)
def sort_complex(a: Any) -> Any:
    """The elements as complex numbers, sorted along the last axis by their real and then their imaginary parts."""
    return astype(sort(a), _sort_complex_spec(a).dtype)


# ── Equality of arrays ────────────────────────────────────────────────────────────────────────────────────────────────


@op(arrays=("a1", "a2"), infer=lambda *_: Spec((), np.bool_), vjp=_boolean, numpy=(np.array_equal,))
def array_equal(a1: Any, a2: Any, equal_nan: builtins.bool = False) -> Any:
    """Whether two arrays have one shape and equal elements."""
    return np.array_equal(a1, a2, equal_nan)


@op(arrays=("a1", "a2"), infer=lambda *_: Spec((), np.bool_), vjp=_boolean, numpy=(np.array_equiv,))
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays have equal elements once one of them is broadcast to the shape of the other."""
    return np.array_equiv(a1, a2)


def _close_spec(a: Any, b: Any, *_: Any) -> Spec:
    broadcast_shapes("allclose", shape_of(a), shape_of(b))
    return Spec((), np.bool_)


@op(arrays=("a", "b"), infer=_close_spec, vjp=_boolean, numpy=(np.allclose,))
def all_close(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: builtins.bool = False) -> Any:
    """Whether all elements differ by no more than atol + rtol * abs(b); `allclose` decides it at once."""
    return np.allclose(a, b, rtol, atol, equal_nan)


# ── Sets ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unique_spec(ar: Any, index: Any, inverse: Any, counts: Any, axis: Any, equal_nan: Any) -> Any:
    shape, count = shape_of(ar), _unknown("unique", "distinct values")
    if axis is None:
        values, back = Spec((count,), dtype_of(ar)), Spec(shape, np.intp)
    else:
        at = normalize_axis("unique", axis, len(shape))
        values, back = Spec((*shape[:at], count, *shape[at + 1 :]), dtype_of(ar)), Spec((shape[at],), np.intp)
    line = Spec((count,), np.intp)
    found = (values, *(s for s, wanted in ((line, index), (back, inverse), (line, counts)) if wanted))
    return found if len(found) > 1 else values


@op(arrays=("ar",), infer=_unique_spec, vjp=_COUNTED, numpy=(np.unique,), always_array=True, order=ANY_ORDER)
def unique(
    ar: Any,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: int | None = None,
    *,
    equal_nan: builtins.bool = True,
) -> Any:
    """The distinct values, or slices along an axis, ascending; where each first stands, the way back, and counts."""
    return np.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)


def _set_spec(name: str) -> Any:
    def infer(ar1: Any, ar2: Any, assume_unique: Any = False) -> Spec:
        dtype = dtype_of(ar1) if name == "setdiff1d" else np.result_type(dtype_of(ar1), dtype_of(ar2))
        return Spec((_unknown(name, "distinct values"),), dtype)

    return infer


@op(arrays=("ar1", "ar2"), infer=_set_spec("union1d"), vjp=_COUNTED, numpy=(np.union1d,))
def union1d(ar1: Any, ar2: Any) -> Any:
    """The distinct values of two arrays together, ascending."""
    return np.union1d(ar1, ar2)


@op(arrays=("ar1", "ar2"), infer=_set_spec("setdiff1d"), vjp=_COUNTED, numpy=(np.setdiff1d,))
def setdiff1d(ar1: Any, ar2: Any, assume_unique: builtins.bool = False) -> Any:
    """The distinct values of the first array that are not in the second, ascending."""
    return np.setdiff1d(ar1, ar2, assume_unique)


@op(arrays=("ar1", "ar2"), infer=_set_spec("setxor1d"), vjp=_COUNTED, numpy=(np.setxor1d,))
def setxor1d(ar1: Any, ar2: Any, assume_unique: builtins.bool = False) -> Any:
    """The distinct values that are in exactly one of two arrays, ascending."""
    return np.setxor1d(ar1, ar2, assume_unique)


def _intersect_spec(ar1: Any, ar2: Any, assume_unique: Any, return_indices: Any) -> Any:
    values = _set_spec("intersect1d")(ar1, ar2)
    places = Spec(values.shape, np.intp)
    return (values, places, places) if return_indices else values


@op(arrays=("ar1", "ar2"), infer=_intersect_spec, vjp=_COUNTED, numpy=(np.intersect1d,))
def intersect1d(ar1: Any, ar2: Any, assume_unique: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """The distinct values that are in both arrays, ascending; `return_indices` adds where they stand in each."""
    return np.intersect1d(ar1, ar2, assume_unique, return_indices)


# ── Positions and bits ────────────────────────────────────────────────────────────────────────────────────────────────


def _multi_spec(multi_index: Any, dims: Any, mode: Any, order: str) -> Spec:
    parts = multi_index if isinstance(multi_index, (list, tuple)) else None
    axes = shape_of(multi_index)[0] if parts is None else len(parts)
    if axes != len(dims):
        raise ShapeError(f"ravel_multi_index: positions along {axes} axes for {len(dims)} dimensions {tuple(dims)}")
    shape = shape_of(multi_index)[1:] if parts is None else broadcast_shapes("ravel_multi_index", *map(shape_of, parts))
    return Spec(shape, np.intp)


@op(arrays=("multi_index",), infer=_multi_spec, vjp=_positions, numpy=(np.ravel_multi_index,), raises=BAD_VALUES)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Positions in the flattened array of a shape, from an array of positions along each axis."""
    return np.ravel_multi_index(multi_index, dims, mode, order)


def _unravel_spec(indices: Any, shape: Any, order: str) -> tuple[Spec, ...]:
    count = len(shape) if isinstance(shape, (list, tuple)) else 1
    return (Spec(shape_of(indices), np.intp),) * count


@op(
    arrays=("indices",),
    infer=_unravel_spec,
    vjp=_positions,
    numpy=(np.unravel_index,),
    raises=BAD_VALUES,
    order=ANY_ORDER,
)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Positions along each axis of a shape, from positions in the flattened array."""
    return np.unravel_index(indices, shape, order)


def _bits_spec(name: str, a: Any, axis: Any, sized: Any) -> Spec:
    shape = (size_of(shape_of(a)),) if axis is None else shape_of(a)
    at = normalize_axis(name, 0 if axis is None else axis, len(shape))
    return Spec((*shape[:at], sized(shape[at]), *shape[at + 1 :]), np.uint8)


_bits = no_gradient("the result is made of bits, so it has no derivative")


@op(
    arrays=("a",),
    infer=lambda a, axis, bitorder: _bits_spec("packbits", a, axis, lambda n: (n + 7) // 8),
    vjp=_bits,
    numpy=(np.packbits,),
)
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Eight elements in the bits of one, along an axis or of the flattened array; zeros fill the last."""
    return np.packbits(a, axis, bitorder)


def _unpacked(count: Any) -> Any:
    return lambda n: n * 8 if count is None else count if count >= 0 else n * 8 + count


@op(
    arrays=("a",),
    infer=lambda a, axis, count, bitorder: _bits_spec("unpackbits", a, axis, _unpacked(count)),
    vjp=_bits,
    numpy=(np.unpackbits,),
)
def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """The bits of each element as elements, along an axis or of the flattened array."""
    return np.unpackbits(a, axis, count, bitorder)


put_in("weft.ops.searching", all_close)
