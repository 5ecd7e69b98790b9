"""Parts of arrays by dimension and index, under torch's names: gather, scatter, narrow, masked_select and their kin.

Each is a few calls of `indexing`, `manipulation` and `joining`. Along the other dimensions an index of `gather` and
`scatter` may be shorter than the array, and then means its beginning; nothing is broadcast.
"""

from __future__ import annotations

from typing import Any

from weft.errors import ShapeError
from weft.ops._families import composite
from weft.ops._op import ANY_ORDER, SHOWN, VIEW
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Shape, broadcast_shapes, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.creation import eye
from weft.ops.dtypes import astype
from weft.ops.indexing import getitem, index_update, put_along_axis, take, take_along_axis
from weft.ops.joining import split
from weft.ops.logic import where
from weft.ops.manipulation import broadcast_arrays, dims, expand_dims, moveaxis, repeat, reshape
from weft.ops.padding import pad

__all__ = [
    "diag_embed",
    "gather",
    "index_copy",
    "index_fill",
    "index_select",
    "masked_fill",
    "masked_select",
    "narrow",
    "repeat_interleave",
    "scatter",
    "tensor_split",
    "unflatten",
]


def beginning(name: str, x: Any, dim: int, index: Any) -> tuple[int, tuple[slice, ...] | None]:
    """The dimension counted from the front, and a key for the part an index speaks of; None where it is all of it."""
    shape, wanted = shape_of(x), shape_of(index)
    at = normalize_axis(name, dim, len(shape))
    others = [i for i in range(len(shape)) if i != at]
    if len(wanted) != len(shape) or any(wanted[i] > shape[i] for i in others):
        raise ShapeError(
            f"{name}: an index of shape {wanted} does not fit an array of shape {shape} along dimension {dim}",
            help="it has as many dimensions as the array, none but that one longer than the array's",
        )
    if all(wanted[i] == shape[i] for i in others):
        return at, None
    return at, tuple(slice(None) if i == at else slice(0, wanted[i]) for i in range(len(shape)))


def source(name: str, src: Any, index: Any) -> Any:
    """The part of what is written that an index has places for; a single number serves all of them."""
    shape, wanted = shape_of(src), shape_of(index)
    if shape in ((), wanted):
        return src
    if len(shape) != len(wanted) or any(n < w for n, w in zip(shape, wanted, strict=True)):
        raise ShapeError(f"{name}: values of shape {shape} are fewer than the index of shape {wanted} has places for")
    return getitem(src, tuple(slice(0, w) for w in wanted))


@composite(arrays=("x", "index"), raises=BAD_VALUES)
def gather(x: Any, dim: int, index: Any) -> Any:
    """For each place of `index`, the element found at that index along `dim`."""
    at, key = beginning("gather", x, dim, index)
    return take_along_axis(x if key is None else getitem(x, key), index, at)


@composite(arrays=("x", "index", "src"), raises=BAD_VALUES)
def scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    """The array with the elements of `src`, or one number, written where `index` says along `dim`."""
    at, key = beginning("scatter", x, dim, index)
    part = x if key is None else getitem(x, key)
    written = put_along_axis(part, index, source("scatter", src, index), at)
    return written if key is None else index_update(x, key, written)


@composite(arrays=("x", "index"), raises=BAD_VALUES)
def index_select(x: Any, dim: int, index: Any) -> Any:
    """The slices at some positions along one dimension."""
    if len(shape_of(index)) > 1:
        raise ShapeError(f"index_select: the index has one dimension, got shape {shape_of(index)}")
    return take(x, reshape(index, (size_of(shape_of(index)),)), dim)


@composite(arrays=("x", "index", "value"), raises=BAD_VALUES)
def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    """The array with one number in all slices at some positions along a dimension."""
    at = normalize_axis("index_fill", dim, len(shape_of(x)))
    return index_update(x, (*(slice(None),) * at, index), value)


@composite(arrays=("x", "index", "source"), raises=BAD_VALUES)
def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    """The array with the slices of `source` in place of those at some positions along a dimension."""
    at = normalize_axis("index_copy", dim, len(shape_of(x)))
    return index_update(x, (*(slice(None),) * at, index), source)


@composite(arrays=("x", "mask", "value"), always_array=True)
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is true, the element where it is not."""
    if broadcast_shapes("masked_fill", shape_of(x), shape_of(mask)) != shape_of(x):
        raise ShapeError(f"masked_fill: a mask of shape {shape_of(mask)} is larger than the array, {shape_of(x)}")
    return where(mask, astype(value, dtype_of(x)) if hasattr(value, "dtype") else value, x)


@composite(arrays=("x", "mask"))
def masked_select(x: Any, mask: Any) -> Any:
    """The elements where the mask is true, in one dimension."""
    return getitem(*broadcast_arrays(x, mask))


@composite(memory=VIEW)
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """The `length` slices from `start` on along a dimension."""
    shape = shape_of(x)
    at = normalize_axis("narrow", dim, len(shape))
    begin = start + shape[at] if start < 0 else start
    if not 0 <= begin <= begin + length <= shape[at]:
        raise ShapeError(f"narrow: {length} from {start} on are not in dimension {dim} of {shape}")
    return getitem(x, (*(slice(None),) * at, slice(begin, begin + length)))


@composite(arrays=("x", "repeats"))
def repeat_interleave(x: Any, repeats: Any, dim: int | None = None) -> Any:
    """Each element repeated along a dimension, all equally often or each its own number of times."""
    return repeat(x, repeats, dim)


@composite(memory=SHOWN)
def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """The array cut at indices, or into a number of parts whose sizes differ by one at most."""
    at = normalize_axis("tensor_split", dim, len(shape_of(x)))
    given = dims("tensor_split", indices_or_sections)
    if isinstance(indices_or_sections, (tuple, list)) or len(given) != 1:
        return split(x, given, at)
    (sections,) = given
    if sections <= 0:
        raise ShapeError(f"tensor_split: expected a positive number of sections, got {sections}")
    size, larger = divmod(shape_of(x)[at], sections)
    cuts = [i * size + min(i, larger) for i in range(1, sections)]
    return split(x, cuts, at)


@composite(memory=VIEW)
def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """One dimension laid out as several; one of the sizes may be -1."""
    shape: Shape = shape_of(x)
    at = normalize_axis("unflatten", dim, len(shape))
    new = list(dims("unflatten", sizes))
    if new.count(-1) == 1:
        known = size_of([n for n in new if n != -1])
        new[new.index(-1)] = shape[at] // known if known else -1
    if size_of(new) != shape[at]:
        raise ShapeError(f"unflatten: dimension {dim} of {shape} does not divide into {tuple(sizes)}")
    return reshape(x, (*shape[:at], *new, *shape[at + 1 :]))


@composite(order=ANY_ORDER)
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last dimension on a diagonal of otherwise zero matrices, which lie in the dimensions dim1 and dim2."""
    count = shape_of(x)[-1]
    matrices = where(eye(count, dtype=bool), expand_dims(x, -2), 0)
    before, after = max(-offset, 0), max(offset, 0)
    widths = ((0, 0),) * (len(shape_of(x)) - 1) + ((before, after), (after, before))
    return moveaxis(pad(matrices, widths), (-2, -1), (dim1, dim2))
