"""Names of torch's for what has another name here, and what torch's tensors have on top of ops.

Where the array API and torch use one name for two things, the array API's meaning holds and torch's is not here; see
docs/torch.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft import ops
from weft._casting import check_device
from weft.autograd import Tensor, is_grad_enabled, tensor
from weft.autograd._inplace import _method as writing
from weft.ops._parallel import get_num_threads, set_num_threads
from weft.ops._torch_methods import spread

# fmt: off
__all__ = [
    "amax", "amin", "as_tensor", "bmm", "broadcast_tensors", "cat", "clamp", "cuda", "deg2rad", "device", "div",
    "double", "eq", "float", "from_numpy", "ge", "get_num_threads", "gt", "half", "int", "is_complex",
    "is_floating_point", "is_grad_enabled", "is_tensor", "le", "long", "lt", "mm", "movedim", "mul", "mv", "ne",
    "neg", "numel", "permute", "rad2deg", "set_num_threads", "short", "sub", "swapdims", "t", "take_along_dim",
    "tril_indices", "triu_indices", "true_divide", "unbind", "unsqueeze",
]
# fmt: on

half, float, double = np.float16, np.float32, np.float64
short, int, long = np.int16, np.int32, np.int64

cat = ops.concat
mm = bmm = mv = ops.matmul
clamp = ops.clip
amax, amin = ops.max, ops.min
eq, ne, lt, le, gt, ge = ops.equal, ops.not_equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal
mul, sub, div, true_divide, neg = ops.multiply, ops.subtract, ops.divide, ops.divide, ops.negative
deg2rad, rad2deg = ops.radians, ops.degrees
unsqueeze, unbind = ops.expand_dims, ops.unstack
movedim, swapdims, permute = ops.moveaxis, ops.swapaxes, ops.permute_dims
broadcast_tensors = ops.broadcast_arrays
take_along_dim = ops.take_along_axis


class cuda:
    """There is none: `cuda.is_available()` says so."""

    @staticmethod
    def is_available() -> bool:
        """Always false."""
        return False


def device(type: Any = "cpu") -> str:
    """The name of the one device there is; another is refused.

    >>> device("cuda" if cuda.is_available() else "cpu")
    'cpu'
    """
    check_device("device", type)
    return "cpu"


def t(x: Any) -> Any:
    """A matrix transposed; anything of fewer dimensions as it is.

    >>> t(np.ones((2, 3))).shape
    (3, 2)
    """
    if len(x.shape) > 2:
        raise ValueError(f"t: expected at most two dimensions, got shape {tuple(x.shape)}; use matrix_transpose")
    return ops.permute_dims(x)


def numel(x: Any) -> Any:
    """How many elements there are.

    >>> numel(np.ones((2, 3)))
    6
    """
    return ops._spec.size_of(x.shape)


def is_tensor(value: Any) -> bool:
    """Whether a value is a Tensor."""
    return isinstance(value, Tensor)


def is_floating_point(x: Any) -> bool:
    """Whether the elements are floats."""
    return bool(x.dtype.kind == "f")


def is_complex(x: Any) -> bool:
    """Whether the elements are complex."""
    return bool(x.dtype.kind == "c")


def as_tensor(data: Any, dtype: npt.DTypeLike | None = None, device: Any = None) -> Tensor:
    """A Tensor of the data, without a copy where that can be.

    >>> as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    check_device("as_tensor", device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return Tensor(data, dtype) if isinstance(data, np.ndarray) else tensor(data, dtype)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor that shares an array's memory.

    >>> from_numpy(np.ones(2))
    tensor([1., 1.])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: expected a NumPy array, got {type(array).__name__}; use tensor(...)")
    return Tensor(array)


def tril_indices(row: Any, col: Any, offset: Any = 0) -> Any:
    """The indices of a matrix's lower triangle: an array of two rows, those of the rows and of the columns.

    >>> tril_indices(2, 2)
    array([[0, 1, 1],
           [0, 0, 1]])
    """
    return np.stack(np.tril_indices(row, offset, col))


def triu_indices(row: Any, col: Any, offset: Any = 0) -> Any:
    """The indices of a matrix's upper triangle: an array of two rows, those of the rows and of the columns.

    >>> triu_indices(2, 2, 1)
    array([[0],
           [1]])
    """
    return np.stack(np.triu_indices(row, offset, col))


# New tensors in the dtype of one


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of a copy of the data, in the dtype of this one."""
    return tensor(data, self.dtype if dtype is None else dtype, requires_grad=requires_grad)


def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of one repeated number, in the dtype of this one."""
    return Tensor(np.full(size, fill_value, self.dtype if dtype is None else dtype), requires_grad=requires_grad)


def new_zeros(self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros, in the dtype of this one."""
    return new_full(self, spread(size), 0, dtype=dtype, requires_grad=requires_grad)


def new_ones(self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones, in the dtype of this one."""
    return new_full(self, spread(size), 1, dtype=dtype, requires_grad=requires_grad)


def new_empty(self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor whose elements are whatever was in memory, in the dtype of this one."""
    return Tensor(np.empty(spread(size), self.dtype if dtype is None else dtype), requires_grad=requires_grad)


def stride(self: Tensor, dim: Any = None) -> Any:
    """How many elements lie between neighbours along each dimension."""
    steps = tuple(step // self.dtype.itemsize for step in self.numpy().strides)
    return steps if dim is None else steps[dim]


def fill_diagonal_(self: Tensor, fill_value: Any) -> Tensor:
    """One number written on the main diagonal of the tensor itself."""
    if len(self.shape) != 2:
        raise ValueError(f"fill_diagonal_: expected a matrix, got shape {self.shape}")
    steps = np.arange(min(self.shape))
    self[steps, steps] = fill_value
    return self


_WRITING = (
    "addmm addmv addr atan2 baddbmm clamp_max clamp_min copysign fmod index_add index_copy index_fill index_put lerp "
    "logit scatter scatter_add"
).split()

for _name in _WRITING:
    if not hasattr(Tensor, f"{_name}_"):
        setattr(Tensor, f"{_name}_", writing(_name))
for _function in (new_tensor, new_full, new_zeros, new_ones, new_empty, stride, fill_diagonal_):
    setattr(Tensor, _function.__name__, _function)
