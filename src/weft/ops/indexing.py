"""Reading and writing parts of arrays: `x[key]`, its functional writes, and gathering along an axis.

Writes give a new array and leave the old one alone. Reading and adding are each other's transpose, so the family is
closed under differentiation: the gradient of `getitem` is `place_at`, that of `place_at` and `index_add` is `getitem`.
"""

from __future__ import annotations

import operator
from typing import Any, Literal

import numpy as np

from weft.errors import DtypeError, IndexingError, ShapeError, UnknownShape
from weft.ops._cost import Cost, elements
from weft.ops._dim import fits_dim, unknown_size
from weft.ops._families import composite, op
from weft.ops._keys import in_order, indexed_shape, lone_mask, may_repeat
from weft.ops._op import ANY_ORDER, TABLE, alias, no_gradient
from weft.ops._raises import BAD_VALUES, OUT_OF_RANGE, out_of_range, when, when_given
from weft.ops._scatter import MANY, add_elements, add_slices, counted_from_front, long_slices
from weft.ops._spec import Shape, Spec, broadcast_shapes, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.manipulation import add_along, dims, reshape

__all__ = [
    "getitem",
    "index_add",
    "index_update",
    "isin",
    "nonzero",
    "place_at",
    "put_along_axis",
    "scatter_add",
    "searchsorted",
    "take",
    "take_along_axis",
]


def _zeros(shape: Shape, dtype: Any) -> Any:
    return TABLE["full"](shape, 0, dtype=dtype)


# --- keys ---


def _getitem_shape(x: Any, key: Any) -> Any:
    if isinstance(x, (tuple, list, dict)):
        return x[key]
    return Spec(indexed_shape("getitem", shape_of(x), key), dtype_of(x))


def _getitem_back(g: Any, y: Any, x: Any, key: Any) -> Any:
    if isinstance(x, (tuple, list)):
        zeros: list[Any] = [0] * len(x)
        zeros[key] = g
        return zeros
    return place_at(g, key, shape_of(x))


@op(arrays=("x",), infer=_getitem_shape, vjp=(_getitem_back,), linear=True, memory=None, raises=OUT_OF_RANGE)
def getitem(x: Any, key: Any) -> Any:
    """The part of the array that a key selects, `x[key]`, by NumPy's rules; also an item of a tuple, list or dict."""
    if isinstance(x, (tuple, list, dict)):
        return x[key]
    return np.asarray(x)[key]


alias(operator.getitem, getitem)


def _fitted(name: str, shape: Shape, key: Any, value: Shape) -> Shape | None:
    """The shape of what is written, None as long as it depends on values; an error where the value does not fit."""
    try:
        part = indexed_shape(name, shape, key)
    except UnknownShape:
        return None
    inner = tuple(value)
    while len(inner) > len(part) and inner[0] == 1:
        inner = inner[1:]
    if len(inner) > len(part) or not all(map(fits_dim, inner[::-1], part[::-1])):
        raise ShapeError(f"{name}: a value of shape {tuple(value)} does not fit the part of shape {part}")
    return part


def _trimmed(name: str, shape: Shape, key: Any, value: Any) -> Any:
    """The value without dimensions of size one in front that the part written does not have."""
    given = np.shape(value)
    if not given or given[0] != 1:
        return value
    extra = len(given) - len(indexed_shape(name, shape, key))
    return np.reshape(value, given[extra:]) if extra > 0 and size_of(given[:extra]) == 1 else value


def _update_shape(x: Any, key: Any, value: Any) -> Spec:
    _fitted("index_update", shape_of(x), key, shape_of(value))
    _check_assigned(x, value)
    return Spec(shape_of(x), dtype_of(x))


def _add_shape(x: Any, key: Any, value: Any) -> Spec:
    _fitted("index_add", shape_of(x), key, shape_of(value))
    _check_added("index_add", x, value)
    return Spec(shape_of(x), dtype_of(x))


def _check_assigned(x: Any, value: Any) -> None:
    """Assignment casts, as in NumPy, but does not drop an imaginary part."""
    if dtype_of(value).kind == "c" and dtype_of(x).kind != "c":
        raise DtypeError(f"index_update: a complex value does not fit an array of {dtype_of(x)}", help="take weft.real")


def _check_added(name: str, x: Any, value: Any) -> None:
    """Addition casts within a kind of number only."""
    weak = value if isinstance(value, (bool, int, float, complex)) else dtype_of(value)
    if not np.can_cast(np.result_type(dtype_of(x), weak), dtype_of(x), "same_kind"):
        raise DtypeError(f"{name}: {dtype_of(value)} cannot be added into an array of {dtype_of(x)}")


def _written(g: Any, key: Any, value: Any) -> Any:
    """The gradient of what was written by a key: what stands there."""
    mask = lone_mask(key)
    covered = shape_of(mask) if mask is not None else ()
    rest = len(shape_of(g)) - len(covered)
    if covered and shape_of(g)[: len(covered)] == covered and len(shape_of(value)) <= rest:
        # One value for every element selected: its gradient has a known shape even where their number is unknown.
        over = reshape(mask, (*covered, *(1,) * rest))
        return TABLE["where"](over, g, _zeros((), dtype_of(g)))
    return getitem(g, key)


def _update_value_back(g: Any, y: Any, x: Any, key: Any, value: Any) -> Any:
    """Where a key names an element twice the last value stands; the others were overwritten and have no gradient."""
    written = _written(g, key, value)
    if not may_repeat("index_update", key):
        return written
    shape = shape_of(written)
    order = reshape(TABLE["arange"](size_of(shape)), shape)
    winner = getitem(index_update(_zeros(shape_of(x), dtype_of(order)), key, order), key)
    return TABLE["where"](TABLE["equal"](winner, order), written, _zeros((), dtype_of(written)))


def _update_back(g: Any, y: Any, x: Any, key: Any, value: Any) -> Any:
    return index_update(g, key, 0)


def _elements_written(y: Any, x: Any, key: Any, value: Any) -> float:
    return elements(value) if isinstance(value, Spec) else 1.0


@op(
    arrays=("x", "value"),
    infer=_update_shape,
    vjp=(_update_back, _update_value_back),
    raises=when(out_of_range),
    always_array=True,
    cost=Cost(_elements_written),
)
def index_update(x: Any, key: Any, value: Any) -> Any:
    """The array with the part that a key selects replaced by a value, as after `x[key] = value`."""
    result = np.array(x)
    assign(result, key, value)
    return result


def assign(array: np.ndarray[Any, Any], key: Any, value: Any) -> None:
    """`array[key] = value` on NumPy's arrays, as index_update means it."""
    _check_assigned(array, value)
    if may_repeat("index_update", key):
        # NumPy assigns in the order in which arrays lie in memory; the last in the order of their elements is to stay.
        key, value = in_order(key), np.asarray(value, order="C")
    array[key] = value


@op(
    arrays=("x", "value"),
    infer=_add_shape,
    vjp=(lambda g, y, x, key, value: g, lambda g, y, x, key, value: _written(g, key, value)),
    linear=True,
    raises=BAD_VALUES,
    always_array=True,
    cost=Cost(_elements_written),
)
def index_add(x: Any, key: Any, value: Any) -> Any:
    """The array with a value added to the part that a key selects; an element named twice receives both."""
    result = np.array(x)
    add_into(result, key, value)
    return result


def add_into(array: np.ndarray[Any, Any], key: Any, value: Any) -> None:
    """`array[key] += value` on NumPy's arrays, as index_add means it."""
    _check_added("index_add", array, value)
    value = _trimmed("index_add", array.shape, key, value)
    if may_repeat("index_add", key):
        _add_at("index_add", array, key, value)
    else:
        array[key] = np.add(array[key], value, dtype=array.dtype, casting="same_kind")


def _add_at(name: str, result: Any, key: Any, value: Any) -> None:
    """Add to elements that a key may name more than once, in place."""
    slices = long_slices(result, key)
    if slices is not None:
        add_slices(name, result, *slices, value)
    else:
        np.add.at(result, key, value)


def _place_shape(value: Any, key: Any, shape: Any) -> Spec:
    shape = dims("place_at", shape)
    _fitted("getitem", shape, key, shape_of(value))  # whose derivative it is, in programs
    return Spec(shape, dtype_of(value))


@op(
    arrays=("value",),
    infer=_place_shape,
    vjp=lambda g, y, value, key, shape: _written(g, key, value),
    linear=True,
    always_array=True,
)
def place_at(value: Any, key: Any, shape: Any) -> Any:
    """Zeros of a shape with a value added to the part that a key selects; an element named twice receives both."""
    value = np.asarray(value)
    result = np.zeros(shape, value.dtype)
    value = _trimmed("place_at", result.shape, key, value)
    if may_repeat("place_at", key):
        _add_at("place_at", result, key, value)
    else:
        result[key] = value
    return result


# --- along an axis ---


def _take_shape(x: Any, indices: Any, axis: Any = None) -> Spec:
    shape = shape_of(x)
    _integers("take", indices)
    if axis is None:
        return Spec(shape_of(indices), dtype_of(x))
    axis = normalize_axis("take", axis, len(shape))
    return Spec((*shape[:axis], *shape_of(indices), *shape[axis + 1 :]), dtype_of(x))


def _integers(name: str, indices: Any) -> None:
    if size_of(shape_of(indices)) and dtype_of(indices).kind not in "iu":
        raise IndexingError(f"{name}: indices are integers; got {dtype_of(indices)}")


def _take_back(g: Any, y: Any, x: Any, indices: Any, axis: Any) -> Any:
    shape = shape_of(x)
    if axis is None:
        return reshape(add_along((size_of(shape),), 0, indices, g), shape)
    return add_along(shape, normalize_axis("take", axis, len(shape)), indices, g)


_INTEGER = no_gradient("indices are integers")


@op(
    arrays=("x", "indices"),
    infer=_take_shape,
    vjp=(_take_back, _INTEGER),
    numpy=(np.take,),
    linear=True,
    raises=BAD_VALUES,
)
def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements, or slices along an axis, at the given positions; of the flattened array where axis is None."""
    return np.take(x, indices, axis)


def _along(name: str, x: Any, indices: Any, axis: Any) -> tuple[Shape, int]:
    """The common shape of an array and indices outside an axis, with the size of the indices in it, and that axis."""
    _integers(name, indices)
    shape = (size_of(shape_of(x)),) if axis is None else shape_of(x)
    where, axis = shape_of(indices), normalize_axis(name, 0 if axis is None else axis, len(shape))
    if len(where) != len(shape):
        raise ShapeError(f"{name}: indices of shape {where} and array of shape {shape} differ in dimensions")
    outside = broadcast_shapes(name, (*shape[:axis], 1, *shape[axis + 1 :]), (*where[:axis], 1, *where[axis + 1 :]))
    return (*outside[:axis], where[axis], *outside[axis + 1 :]), axis


def _along_key(shape: Shape, indices: Any, axis: int) -> tuple[Any, ...]:
    """A key that names, for each of the indices, its element along the axis."""
    key: list[Any] = []
    for i, dim in enumerate(shape):
        line = (*(1,) * i, dim, *(1,) * (len(shape) - i - 1))
        key.append(indices if i == axis else reshape(TABLE["arange"](dim), line))
    return tuple(key)


def _take_along_shape(x: Any, indices: Any, axis: Any = -1) -> Spec:
    return Spec(_along("take_along_axis", x, indices, axis)[0], dtype_of(x))


def _take_along_back(g: Any, y: Any, x: Any, indices: Any, axis: Any) -> Any:
    return scatter_add(_zeros(shape_of(x), dtype_of(g)), indices, g, axis)


@op(
    arrays=("x", "indices"),
    infer=_take_along_shape,
    vjp=(_take_along_back, _INTEGER),
    numpy=(np.take_along_axis,),
    linear=True,
    raises=BAD_VALUES,
)
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """The elements that indices of the same number of dimensions name along an axis, as argsort gives them."""
    return np.take_along_axis(np.asarray(x), np.asarray(indices), axis)


def _scatter_shape(x: Any, indices: Any, values: Any, axis: Any = -1) -> Spec:
    part, _ = _along("scatter_add", x, indices, axis)
    if broadcast_shapes("scatter_add", part, shape_of(values)) != part:
        raise ShapeError(f"scatter_add: values of shape {shape_of(values)} do not fit indices of shape {part}")
    _check_added("scatter_add", x, values)
    return Spec(shape_of(x), dtype_of(x))


@op(
    arrays=("x", "indices", "values"),
    infer=_scatter_shape,
    vjp=(
        lambda g, y, x, indices, values, axis: g,
        _INTEGER,
        lambda g, y, x, indices, values, axis: take_along_axis(g, indices, axis),
    ),
    linear=True,
    raises=BAD_VALUES,
    cost=Cost(scratch=3.0),
)
def scatter_add(x: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    """The array with values added at the elements that indices name along an axis; one named twice receives both."""
    _check_added("scatter_add", x, values)
    result = np.array(x, order="C")
    shape = (result.size,) if axis is None else result.shape
    part, at = _along("scatter_add", result, indices, axis)
    if size_of(part) < MANY:
        np.add.at(result.reshape(shape), _along_key(shape, np.asarray(indices), at), values)
    else:
        index = counted_from_front("scatter_add", np.asarray(indices), at, shape[at])
        add_elements(result, shape, at, np.broadcast_to(index, part), values)
    return result


@composite(arrays=("x", "indices", "values"), raises=BAD_VALUES)
def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    """The array with the elements that indices name along an axis replaced by values."""
    shape = shape_of(x)
    _, at = _along("put_along_axis", x, indices, axis)
    if axis is None:
        return reshape(index_update(reshape(x, (size_of(shape),)), (indices,), values), shape)
    return index_update(x, _along_key(shape, indices, at), values)


# --- searching ---


def _nonzero_shape(x: Any) -> Any:
    if not shape_of(x):
        raise ShapeError("nonzero: expected one or more dimensions, got a scalar")
    count = unknown_size("nonzero", UnknownShape("nonzero: how many elements are not zero is known only when it runs"))
    return (Spec((count,), np.intp),) * len(shape_of(x))


@op(
    arrays=("x",), infer=_nonzero_shape, vjp=no_gradient("positions are integers"), numpy=(np.nonzero,), order=ANY_ORDER
)
def nonzero(x: Any) -> tuple[Any, ...]:
    """The positions of the elements that are not zero, one array of indices for each dimension."""
    if np.ndim(x) == 0:
        raise ValueError("a scalar has no positions")
    return np.nonzero(x)


def _search_shape(x1: Any, x2: Any, side: str = "left", sorter: Any = None) -> Spec:
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', got {side!r}")
    if len(shape_of(x1)) != 1:
        raise ShapeError(f"searchsorted: x1 has one dimension, got shape {shape_of(x1)}")
    if sorter is not None and shape_of(sorter) != shape_of(x1):
        raise ShapeError(f"searchsorted: sorter of shape {shape_of(sorter)} for x1 of shape {shape_of(x1)}")
    return Spec(shape_of(x2), np.intp)


@op(
    arrays=("x1", "x2", "sorter"),
    infer=_search_shape,
    vjp=no_gradient("positions are integers"),
    numpy=(np.searchsorted,),
    raises=when_given(3),
)
def searchsorted(x1: Any, x2: Any, side: Literal["left", "right"] = "left", sorter: Any = None) -> Any:
    """Where each element of x2 would go in the sorted x1 to keep it sorted."""
    return np.searchsorted(x1, x2, side, sorter)


@op(
    arrays=("x1", "x2"),
    infer=lambda x1, x2, invert, assume_unique, kind: Spec(shape_of(x1), np.bool_),
    vjp=no_gradient("the result is boolean"),
    numpy=(np.isin,),
    always_array=True,
)
def isin(x1: Any, x2: Any, *, invert: bool = False, assume_unique: bool = False, kind: Any = None) -> Any:
    """Whether each element of x1 is among the elements of x2, or is not where `invert` is true.

    That neither array holds an element twice, and by which of NumPy's ways to look, only make it faster.
    """
    return np.isin(x1, x2, invert=invert, assume_unique=assume_unique, kind=kind)
