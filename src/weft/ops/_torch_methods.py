"""`TorchMethods`: methods whose arguments are torch's rather than the op's, and small questions about a value.

Everything here calls ops, so it works for Tensors and Specs alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft._casting import check_device
from weft.errors import ShapeError
from weft.ops._op import TABLE
from weft.ops._operators import Operators

Flag = bool  # `bool`, `float` and `int` are methods' names in Methods


class TorchMethods(Operators):
    """Methods of a value with `shape` and `dtype`; see the module's documentation."""

    __slots__ = ()

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]

    # Questions

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """How many bytes all elements take."""
        return self.nelement() * self.dtype.itemsize

    @property
    def is_cuda(self) -> Flag:
        """Always false: values live on the CPU."""
        return False

    def element_size(self) -> int:
        """How many bytes an element takes."""
        return self.dtype.itemsize

    def nelement(self) -> int:
        """How many elements there are."""
        count = 1
        for dim in self.shape:
            count = count * dim
        return count

    def is_floating_point(self) -> Flag:
        """Whether the elements are floats."""
        return self.dtype.kind == "f"

    def is_complex(self) -> Flag:
        """Whether the elements are complex."""
        return self.dtype.kind == "c"

    def is_signed(self) -> Flag:
        """Whether the dtype has negative numbers."""
        return self.dtype.kind in "ifc"

    def is_contiguous(self) -> Flag:
        """Always true: how values lie in memory does not show."""
        return True

    def allclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: Flag = False) -> Flag:
        """Whether all elements differ from another's by no more than atol + rtol * abs(other)."""
        close = TABLE["isclose"](self, other, rtol, atol, equal_nan)
        return Flag(TABLE["all"](close))

    # Arithmetic with torch's extra arguments

    def add(self, other: Any, *, alpha: Any = 1) -> Any:
        """The sum with `alpha` times another."""
        return TABLE["add"](self, _times(other, alpha))

    def sub(self, other: Any, *, alpha: Any = 1) -> Any:
        """The difference from `alpha` times another."""
        return TABLE["subtract"](self, _times(other, alpha))

    subtract = sub

    def div(self, other: Any, *, rounding_mode: str | None = None) -> Any:
        """The quotient; rounded down with `rounding_mode="floor"`, towards zero with "trunc"."""
        if rounding_mode == "floor":
            return TABLE["floor_divide"](self, other)
        if rounding_mode not in (None, "trunc"):
            raise ValueError(f"div: rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
        quotient = TABLE["divide"](self, other)
        return quotient if rounding_mode is None else TABLE["trunc"](quotient)

    divide = div

    def pow(self, exponent: Any) -> Any:
        """Each element to a power."""
        return TABLE["pow"](self, exponent)

    def round(self, *, decimals: int = 0) -> Any:
        """Each element rounded to a number of decimals, halves to even."""
        return TABLE["around"](self, decimals) if decimals else TABLE["round"](self)

    def clamp_min(self, min: Any) -> Any:
        """Each element, but at least `min`."""
        return TABLE["clip"](self, min, None)

    def clamp_max(self, max: Any) -> Any:
        """Each element, but at most `max`."""
        return TABLE["clip"](self, None, max)

    def norm(self, p: Any = "fro", dim: Any = None, keepdim: Flag = False) -> Any:
        """The p-norm of all elements, or of vectors along `dim`; "fro" is 2."""
        if p == "nuc":
            return TABLE["norm"](self, "nuc", dim, keepdim)
        return TABLE["vector_norm"](self, axis=dim, keepdims=keepdim, ord=2 if p in ("fro", None) else p)

    # Shapes and order

    @property
    def H(self) -> Any:
        """A matrix transposed and conjugated."""
        if len(self.shape) != 2:
            raise ShapeError(f"H: expected a matrix, got shape {self.shape}", help="use .mT.conj()")
        return TABLE["conj"](TABLE["matrix_transpose"](self))

    def expand_as(self, other: Any) -> Any:
        """The value repeated to the shape of another."""
        return TABLE["broadcast_to"](self, other.shape)

    def view_as(self, other: Any) -> Any:
        """The same elements in the shape of another."""
        return TABLE["reshape"](self, other.shape)

    reshape_as = view_as

    def flip(self, *args: Any, dims: Any = None, axis: Any = None) -> Any:
        """The elements in reverse order along some dimensions, all by default."""
        chosen = spread(args) or (axis if dims is None else dims)
        return TABLE["flip"](self, None if chosen == (None,) else chosen)

    def fliplr(self) -> Any:
        """The columns in reverse order."""
        return TABLE["flip"](self, 1)

    def flipud(self) -> Any:
        """The rows in reverse order."""
        return TABLE["flip"](self, 0)

    def tile(self, *args: Any, dims: Any = ()) -> Any:
        """The value laid side by side, so many times along each dimension."""
        return TABLE["tile"](self, spread(args) or dims)

    def split(self, split_size_or_sections: Any, dim: int = 0) -> Any:
        """Parts of a size along a dimension, the last one possibly smaller; or parts of the sizes given.

        `weft.split`, like NumPy's, takes the number of parts, or where to cut.
        """
        length = self.shape[axis_of("split", self, dim)]
        if isinstance(split_size_or_sections, (tuple, list)):
            sizes = list(split_size_or_sections)
            if sum(sizes) != length:
                raise ShapeError(f"split: the sizes {sizes} do not add up to {length}, dimension {dim} of {self.shape}")
            return TABLE["split"](self, [sum(sizes[:i]) for i in range(1, len(sizes))], dim)
        size = split_size_or_sections
        if size <= 0:
            raise ShapeError(f"split: expected a positive size of the parts, got {size}")
        return TABLE["split"](self, list(range(size, length, size)), dim)

    def unfold(self, dimension: int, size: int, step: int) -> Any:
        """Windows of a size along a dimension, `step` apart; the elements of each are in a new last dimension."""
        at = axis_of("unfold", self, dimension)
        if not 0 < size <= self.shape[at] or step <= 0:
            raise ShapeError(
                f"unfold: windows of {size}, {step} apart, do not fit dimension {dimension} of {self.shape}"
            )
        starts = np.arange(0, self.shape[at] - size + 1, step)
        windows = TABLE["take"](self, starts[:, None] + np.arange(size), at)
        return TABLE["moveaxis"](windows, at + 1, -1)

    # Parts

    def select(self, dim: int, index: int) -> Any:
        """The slice at one position of a dimension, which goes."""
        return TABLE["take"](self, index, dim)

    def scatter(self, dim: int, index: Any, src: Any = None, *, value: Any = None) -> Any:
        """The elements of `src`, or one `value`, written where `index` says along `dim`."""
        if (src is None) == (value is None):
            raise TypeError("scatter: expected either src or value")
        return TABLE["scatter"](self, dim, index, value if src is None else src)

    def scatter_add(self, dim: int, index: Any, src: Any) -> Any:
        """The elements of `src` added where `index` says along `dim`."""
        from weft.ops.selecting import beginning, source

        at, key = beginning("scatter_add", self, dim, index)
        part = self if key is None else TABLE["getitem"](self, key)
        added = TABLE["scatter_add"](part, index, source("scatter_add", src, index), at)
        return added if key is None else TABLE["index_update"](self, key, added)

    def index_add(self, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """`alpha` times the slices of `source` added to those at some positions along a dimension."""
        at = axis_of("index_add", self, dim)
        return TABLE["index_add"](self, (*(slice(None),) * at, index), _times(source, alpha))

    def index_put(self, indices: Any, values: Any, accumulate: Flag = False) -> Any:
        """`values` written, or added, at the elements that index tensors name, one for each dimension."""
        return TABLE["index_add" if accumulate else "index_update"](self, tuple(indices), values)

    def unique(self, sorted: Flag = True, return_inverse: Flag = False, return_counts: Flag = False) -> Any:
        """The distinct values in ascending order; where asked, which one each element is, and how often each occurs."""
        found = TABLE["unique_all"](self)
        wanted = (True, return_inverse, return_counts)
        chosen = [part for part, asked in zip((found[0], found[2], found[3]), wanted, strict=True) if asked]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    # Dtypes and places

    def type(self, dtype: Any = None) -> Any:
        """The name of the dtype; with an argument, the values in that dtype."""
        return str(self.dtype) if dtype is None else TABLE["astype"](self, dtype, copy=False)

    def short(self) -> Any:
        """The values as int16."""
        return TABLE["astype"](self, np.int16, copy=False)

    def char(self) -> Any:
        """The values as int8."""
        return TABLE["astype"](self, np.int8, copy=False)

    def byte(self) -> Any:
        """The values as uint8."""
        return TABLE["astype"](self, np.uint8, copy=False)

    def cpu(self) -> Any:
        """The value itself: the CPU is where it is."""
        return self

    def cuda(self, device: Any = None) -> None:
        """Refused: there is no such device."""
        check_device("cuda", "cuda")


def spread(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` alike."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def axis_of(name: str, x: Any, dim: int) -> int:
    """A dimension counted from the front; one that is not there is refused. A number has one dimension, 0 or -1."""
    ndim = len(x.shape)
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise ShapeError(f"{name}: dimension {dim} is out of range for shape {x.shape}")
    return dim % max(ndim, 1)


def _times(value: Any, factor: Any) -> Any:
    return value if isinstance(factor, (int, float)) and factor == 1 else TABLE["multiply"](value, factor)
