"""`Methods`: ops as methods, for every class that takes part in ops (Spec, Tensor).

Every op of the table whose first parameter is an array is a method of that name. On top come the everyday names of
torch's tensors, and torch's `dim=` and `keepdim=` where an op says `axis` and `keepdims`. Where the array API and torch
use one name for two things, the array API's meaning holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft._casting import wanted_dtype
from weft.ops._dim import Dim as SymbolicDim
from weft.ops._op import TABLE
from weft.ops._torch_methods import TorchMethods, axis_of, spread

Dim = int  # `int` and `bool` themselves are methods' names below
Flag = bool

OTHER_NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "bitwise_not": "bitwise_invert",
    "bmm": "matmul",
    "deg2rad": "radians",
    "div": "divide",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "inverse": "inv",
    "le": "less_equal",
    "lt": "less",
    "mm": "matmul",
    "movedim": "moveaxis",
    "mul": "multiply",
    "mv": "matmul",
    "ne": "not_equal",
    "neg": "negative",
    "pinverse": "pinv",
    "rad2deg": "degrees",
    "sgn": "sign",
    "sub": "subtract",
    "swapdims": "swapaxes",
    "take_along_dim": "take_along_axis",
    "true_divide": "divide",
    "unbind": "unstack",
    "unsqueeze": "expand_dims",
}


class Size(int):
    """A number of elements that can also be called, as torch's `size()` and `size(dim)` are."""

    _shape: tuple[Any, ...]

    def __new__(cls, count: int, shape: tuple[Any, ...]) -> Size:
        size = super().__new__(cls, count)
        size._shape = shape
        return size

    def __call__(self, dim: int | None = None) -> Any:
        return self._shape if dim is None else self._shape[dim]


class SymbolicSize(SymbolicDim):
    """A number of elements not known yet that can also be called, as `Size` can."""

    __slots__ = ("_shape",)

    def __init__(self, count: SymbolicDim, shape: tuple[Any, ...]) -> None:
        super().__init__(count.poly, count.env)
        self._shape = shape

    def __call__(self, dim: int | None = None) -> Any:
        return self._shape if dim is None else self._shape[dim]


class Methods(TorchMethods):
    """Methods of a value with `shape` and `dtype`, each one a call of ops."""

    __slots__ = ()

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]

    def __getattr__(self, name: str) -> Any:
        # Reached for names not found otherwise: an op of the table becomes a method at its first use.
        if not name.startswith("_"):
            made = _method(name)
            if made is not None:
                setattr(Methods, name, made)
                return made.__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def ndim(self) -> Dim:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """How many elements there are; `size()` is the shape and `size(dim)` one dimension, as in torch."""
        count: Any = 1
        for dim in self.shape:
            count = count * dim
        return (SymbolicSize if isinstance(count, SymbolicDim) else Size)(count, self.shape)

    def dim(self) -> Dim:
        """How many dimensions there are."""
        return len(self.shape)

    def numel(self) -> Any:
        """How many elements there are."""
        size = self.size
        return size if isinstance(size, SymbolicDim) else int(size)

    @property
    def device(self) -> str:
        """Where the elements are: always "cpu"."""
        return "cpu"

    # Shapes

    @property
    def T(self) -> Any:
        """Dimensions in reverse order."""
        return TABLE["permute_dims"](self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Any:
        """Each matrix of the last two dimensions transposed."""
        return self.transpose(-2, -1)

    def t(self) -> Any:
        """A matrix transposed; anything of fewer dimensions as it is."""
        if self.ndim > 2:
            raise ValueError(f"t: expected at most two dimensions, got shape {self.shape}; use .mT or .permute(...)")
        return self.T

    def transpose(self, dim0: Dim, dim1: Dim) -> Any:
        """Two dimensions exchanged."""
        return TABLE["swapaxes"](self, dim0, dim1)

    def permute(self, *args: Any, dims: Any = ()) -> Any:
        """Dimensions in another order."""
        return TABLE["permute_dims"](self, spread(args) or dims)

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape; one dimension may be -1."""
        return TABLE["reshape"](self, spread(shape))

    def view(self, *shape: Any) -> Any:
        """The same elements in another shape; one dimension may be -1."""
        return TABLE["reshape"](self, spread(shape))

    def flatten(self, start_dim: Dim = 0, end_dim: Dim = -1) -> Any:
        """Dimensions `start_dim` to `end_dim` joined into one."""
        return TABLE["flatten"](self, start_dim, end_dim)

    def squeeze(self, dim: Any = None, *, axis: Any = None) -> Any:
        """Dimensions of length one taken out: all of them, or those named where they have length one."""
        chosen = axis if dim is None else dim
        named = range(self.ndim) if chosen is None else chosen if isinstance(chosen, tuple) else (chosen,)
        gone = {at for at in (axis_of("squeeze", self, d) for d in named) if self.shape[at] == 1}
        return TABLE["reshape"](self, tuple(size for d, size in enumerate(self.shape) if d not in gone))

    def expand(self, *sizes: Any) -> Any:
        """Dimensions of length one repeated to other lengths; -1 leaves a dimension as it is."""
        wanted = spread(sizes)
        extra = len(wanted) - self.ndim
        shape = tuple(self.shape[i - extra] if size == -1 and i >= extra else size for i, size in enumerate(wanted))
        return TABLE["broadcast_to"](self, shape)

    # Values

    @property
    def real(self) -> Any:
        """The real part of each element."""
        return TABLE["real"](self)

    @property
    def imag(self) -> Any:
        """The imaginary part of each element."""
        return TABLE["imag"](self)

    def clamp(self, min: Any = None, max: Any = None) -> Any:
        """Each element held between `min` and `max`."""
        return TABLE["clip"](self, min, max)

    def where(self, condition: Any, other: Any) -> Any:
        """Each element where the condition is true, that of `other` where it is not."""
        return TABLE["where"](condition, self, other)

    def contiguous(self) -> Any:
        """The value itself: how it lies in memory does not show."""
        return self

    def clone(self) -> Any:
        """A copy."""
        return TABLE["astype"](self, self.dtype)

    def detach(self) -> Any:
        """The same values without a derivative."""
        return self

    # Dtypes

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, copy: Flag = False, non_blocking: Flag = False
    ) -> Any:
        """The values in another dtype, or in that of another tensor; "cpu" is where they are."""
        wanted = wanted_dtype("to", args, dtype, device)
        if wanted is None and not copy:
            return self
        return TABLE["astype"](self, self.dtype if wanted is None else wanted, copy=copy)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself: "cpu" is where it is, and no other device exists."""
        if device != "cpu" or stream is not None:
            raise ValueError(f"to_device: expected device 'cpu' and no stream, got {device!r}, stream={stream!r}")
        return self

    def type_as(self, other: Any) -> Any:
        """The values in the dtype of another."""
        return self.to(other.dtype)

    def half(self) -> Any:
        """The values as float16."""
        return self.to(np.float16)

    def float(self) -> Any:
        """The values as float32."""
        return self.to(np.float32)

    def double(self) -> Any:
        """The values as float64."""
        return self.to(np.float64)

    def int(self) -> Any:
        """The values as int32."""
        return self.to(np.int32)

    def long(self) -> Any:
        """The values as int64."""
        return self.to(np.int64)

    def bool(self) -> Any:
        """The values as booleans."""
        return self.to(np.bool_)


def _method(name: str) -> Callable[..., Any] | None:
    """The method of a name, where an op of the table provides it."""
    op = TABLE.get(OTHER_NAMES.get(name, name))
    if op is None or not op.arrays:
        return None
    parameters = list(op.__signature__.parameters)
    # A list of arrays has no method: which of them would be asked?
    if parameters[0] != op.arrays[0] or parameters[0] in ("arrays", "operands"):
        return None
    reduces = "axis" in parameters and "keepdims" in parameters

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if reduces and len(args) == 2 and isinstance(args[1], Flag):
            return op(self, args[0], keepdims=args[1], **kwargs)
        return op(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = op.__doc__
    return method
