"""`Spec`: what is known of an array before it exists, its shape and dtype.

A Spec takes part in ops like an array does; the op's shape rule answers instead of its kernel:

    >>> import weft
    >>> weft.matmul(weft.spec((8, 3), "float32"), weft.spec((3, 5), "float32"))
    Spec(shape=(8, 5), dtype='float32')
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from weft.errors import ShapeError
from weft.ops._dim import NAMED, Dim, broadcast_dim
from weft.ops._methods import Methods

Shape = tuple[Any, ...]  # ints, or symbolic sizes


class Spec(Methods):
    """Shape and dtype of an array, standing in for it where nothing is computed."""

    __slots__ = ("dtype", "shape")
    __weft_priority__ = 5

    def __init__(self, shape: Iterable[Any], dtype: npt.DTypeLike = np.float64) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return op.infer(*op.bind(args, kwargs))
        except Exception as error:
            clearer = op.named(error)
            if clearer is error:
                raise
            raise clearer from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(operator.index(self.shape[0]))])

    def __bool__(self) -> bool:
        raise TypeError(f"{self} describes an array and has no value to decide by")

    def __repr__(self) -> str:
        return f"Spec(shape={self.shape}, dtype='{self.dtype}')"


def spec(shape: int | str | Iterable[int | str], dtype: npt.DTypeLike = np.float64) -> Spec:
    """Describe an array by shape and dtype. A string names a size that may be any; the same name is the same size.

    >>> spec((2, 3), "float32")
    Spec(shape=(2, 3), dtype='float32')
    >>> spec(("n", 3)) @ spec((3, "m"))
    Spec(shape=(n, m), dtype='float64')
    """
    given: tuple[Any, ...] = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    for size in given:
        if not isinstance(size, (int, np.integer, str, Dim)) or (not isinstance(size, (str, Dim)) and size < 0):
            raise ShapeError(f"spec: a size is a whole number that is not negative, or a name; got {size!r}")
    return Spec(tuple(_named(d) if isinstance(d, str) else d for d in given), dtype)


def _named(name: str) -> Any:
    if not name.isidentifier():
        raise ValueError(f"spec: a size is named as a variable is, got {name!r}")
    return NAMED.named(name)


def spec_of(value: Any) -> Any:
    """The Spec of an array (or of each array in a tuple or list); Python scalars and other values stay as they are."""
    if isinstance(value, Spec):
        return value
    if isinstance(value, (tuple, list)):
        parts = [spec_of(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return Spec(value.shape, value.dtype)
    return value


def shape_of(value: Any) -> Shape:
    """Shape of an array, a Spec or a Python scalar."""
    if type(value) is Spec:
        return value.shape
    shape = getattr(value, "shape", None)
    return () if shape is None and np.isscalar(value) else tuple(np.shape(value) if shape is None else shape)


def dtype_of(value: Any) -> np.dtype[Any]:
    """Dtype of an array, a Spec or a Python scalar."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return dtype
    return np.dtype(np.int64) if isinstance(value, Dim) else np.asarray(value).dtype


def size_of(shape: Sequence[int]) -> int:
    """Product of the dimensions."""
    size = 1
    for dim in shape:
        size = size * dim
    return size


def is_complex(value: Any) -> bool:
    """Whether the array, Spec or scalar is complex."""
    return dtype_of(value).kind == "c"


def broadcast_shapes(name: str, *shapes: Sequence[int]) -> Shape:
    """The common shape of `shapes`; `name` is the op named in the error."""
    sized = [shape for shape in shapes if len(shape)]  # those of numbers fit all others
    if len(sized) < 2:
        return tuple(sized[0]) if sized else ()
    ndim = max(map(len, sized))
    result: list[int] = []
    for position in range(-ndim, 0):
        dim = 1
        for shape in sized:
            d = shape[position] if len(shape) >= -position else 1
            if type(d) is not int or type(dim) is not int:
                joined = broadcast_dim(name, dim, d)
                dim = _refused(name, shapes, dim, d, position) if joined is None else joined
            elif dim == 1:
                dim = d
            elif d != 1 and d != dim:
                _refused(name, shapes, dim, d, position)
        result.append(dim)
    return tuple(result)


def _refused(name: str, shapes: Sequence[Sequence[int]], dim: int, other: int, position: int) -> NoReturn:
    wanted = " and ".join(str(tuple(s)) for s in shapes)
    raise ShapeError(f"{name}: shapes {wanted} do not broadcast: {dim} != {other} in dimension {position}")


def normalize_axis(name: str, axis: int, ndim: int) -> int:
    """`axis` counted from the front; an error names the op when it is out of range."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: an axis is an integer, got {axis!r}") from None
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{name}: axis {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim if ndim else 0


def normalize_axes(name: str, axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if not isinstance(axis, Iterable) else tuple(axis)
    result = tuple(normalize_axis(name, a, ndim) for a in axes)
    if len(set(result)) != len(result):
        raise ShapeError(f"{name}: axis {axis} names a dimension twice")
    return result


def axis_tuple(axis: Any) -> Any:
    """Axes as NumPy takes them: a list as a tuple, all else as it is."""
    return tuple(axis) if isinstance(axis, list) else axis
