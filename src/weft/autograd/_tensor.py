"""`Tensor`: an array with methods, and with a place for its gradient.

A Tensor answers every op by evaluating it on the arrays inside and wrapping what comes out:

    >>> x = tensor([1.0, -2.0, 3.0])
    >>> x.relu().sum()
    tensor(4.)

NumPy functions that mean an op of the table accept Tensors too and give Tensors; others are refused with a hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.ops._methods import Methods
from weft.ops._op import TABLE, Op, op_of

Array = np.ndarray[Any, Any]
Flag = bool  # `bool` itself is a method's name in Methods

_UNSAID = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_)))  # dtypes that repr leaves out
# NumPy functions that ask about values rather than compute with them: no derivative is lost in the answer.
_ABOUT = frozenset(
    {np.allclose, np.array2string, np.array_equal, np.array_equiv, np.array_repr, np.array_str, np.can_cast}
    | {np.iscomplexobj, np.isrealobj, np.may_share_memory, np.ndim, np.result_type, np.save, np.savez, np.shape}
    | {np.shares_memory, np.size}
)


class Tensor(Methods):
    """An n-dimensional array; see the module's documentation."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_requires_grad", "grad")
    __weft_priority__ = 10
    _is_parameter = False

    def __init__(self, data: Any, dtype: npt.DTypeLike | None = None, requires_grad: Flag = False) -> None:
        self._array: Array = np.asarray(_array_in(data), dtype=dtype)
        if self._array.dtype.kind not in "biufc":
            raise TypeError(f"a Tensor holds booleans or numbers, got dtype {self._array.dtype}")
        self.grad: Tensor | None = None
        self._requires_grad = False
        self.requires_grad = requires_grad

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read-only here
        """The length of each dimension."""
        return self._array.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # read-only here
        """The type of the elements."""
        return self._array.dtype  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """Where the elements are: always "cpu"."""
        return "cpu"

    @property
    def requires_grad(self) -> Flag:
        """Whether a gradient is wanted for this value."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: Flag) -> None:
        if wanted and self.dtype.kind not in "fc":
            raise TypeError(f"only floating-point and complex tensors have gradients, this one is {self.dtype}")
        self._requires_grad = wanted

    def requires_grad_(self, requires_grad: Flag = True) -> Tensor:
        """Set `requires_grad` and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def data(self) -> Tensor:
        """The values alone, sharing memory; assigning replaces them and keeps the tensor's identity."""
        return Tensor(self._array)

    @data.setter
    def data(self, data: Any) -> None:
        self._array = np.asarray(_array_in(data))

    def detach(self) -> Tensor:
        """The same values, sharing memory, without a derivative."""
        return Tensor(self._array)

    def clone(self) -> Tensor:
        """A copy with memory of its own."""
        return Tensor(self._array.copy())

    # Taking part in ops, and in NumPy

    def __weft_op__(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Called again rather than evaluated, so that what is left (arrays, or Specs beside them) finds its answer.
        return _wrap(op(*_unwrap(args), **_unwrap(kwargs)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        op = op_of(ufunc)
        if op is None or method != "__call__" or kwargs:
            raise _no_op(f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"), kwargs)
        return op(*inputs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        op = op_of(func)
        if op is None and func in _ABOUT:
            return func(*_unwrap(args), **_unwrap(kwargs))
        if op is None:
            raise _no_op(f"{func.__module__}.{func.__name__}", {})
        return op(*args, **kwargs)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: Flag | None = None) -> Array:
        if copy:
            return np.array(self._array, dtype=dtype)
        converted = self._array if dtype is None else self._array.astype(dtype, copy=False)
        if copy is False and converted is not self._array:
            raise ValueError(f"cannot give {self.dtype} as {np.dtype(dtype)} without a copy")
        return converted

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import weft

        return weft

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    # Leaving for Python

    def numpy(self) -> Array:
        """The array inside, sharing memory."""
        return self._array

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._array.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._array.tolist()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of no dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("a tensor of no dimensions cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> Flag:
        return _array_in(value) in self._array

    def __bool__(self) -> Flag:
        return self._array.__bool__()

    def __float__(self) -> float:
        return float(self._array.item())

    def __int__(self) -> int:
        return int(self._array.item())

    def __complex__(self) -> complex:
        return complex(self._array.item())

    def __index__(self) -> int:
        return self._array.__index__()

    def __eq__(self, other: object) -> Any:
        return TABLE["equal"](self, other)

    def __ne__(self, other: object) -> Any:
        return TABLE["not_equal"](self, other)

    __hash__ = object.__hash__

    # Copying and showing

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._array, self._requires_grad, self.grad, self.__dict__))

    def __copy__(self) -> Tensor:
        return _rebuild(type(self), self._array, self._requires_grad, self.grad, self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        from copy import deepcopy

        copied = _rebuild(type(self), self._array.copy(), self._requires_grad, None, {})
        memo[id(self)] = copied
        copied.grad = deepcopy(self.grad, memo)
        copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied

    def __repr__(self) -> str:
        whole = self.dtype.kind != "f" or bool(np.all(np.trunc(self._array) == self._array))
        mode: Any = "maxprec_equal" if whole else "fixed"
        text = np.array2string(self._array, separator=", ", prefix="tensor(", precision=4, floatmode=mode)
        said = self.dtype not in (_UNSAID if self._array.size else [np.float64])
        dtype = f", dtype={self.dtype}" if said else ""
        size = "" if self._array.size or self._array.ndim == 1 else f", size={self.shape}"
        return f"tensor({text}{size}{dtype}{', requires_grad=True' if self._requires_grad else ''})"

    def __format__(self, spec: str) -> str:
        return (
            repr(self)
            if self.shape and not spec
            else format(self._array.item() if not self.shape else self._array, spec)
        )


class Parameter(Tensor):
    """A tensor that a module registers when it is assigned as an attribute, and that wants a gradient."""

    __slots__ = ()
    _is_parameter = True

    def __init__(self, data: Any = (), requires_grad: Flag = True) -> None:
        super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def tensor(data: Any, dtype: npt.DTypeLike | None = None, requires_grad: Flag = False) -> Tensor:
    """A Tensor of a copy of the data: a number, nested lists, an array or another Tensor.

    >>> tensor([[1, 2], [3, 4]]).T
    tensor([[1, 3],
            [2, 4]])
    """
    return Tensor(np.array(_unwrap(data), dtype=dtype), requires_grad=requires_grad)


def _array_in(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _unwrap(value: Any) -> Any:
    """Arrays in place of Tensors, in nested containers too."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, (list, tuple)):
        parts = [_unwrap(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _unwrap(part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(_unwrap(value.start), _unwrap(value.stop), _unwrap(value.step))
    return value


def _wrap(value: Any) -> Any:
    """Tensors in place of arrays, in tuples and lists too."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(value)
    if isinstance(value, (list, tuple)):
        parts = [_wrap(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _no_op(name: str, kwargs: dict[str, Any]) -> TypeError:
    given = f" with {', '.join(kwargs)}" if kwargs else ""
    return TypeError(
        f"{name}{given} has no weft op, so it does not take a Tensor; pass t.numpy(), or use weft's function"
    )


def _rebuild(cls: type[Tensor], array: Array, requires_grad: Flag, grad: Any, extra: dict[str, Any]) -> Tensor:
    built = cls.__new__(cls)
    built._array, built._requires_grad, built.grad = array, requires_grad, grad
    built.__dict__.update(extra)
    return built
