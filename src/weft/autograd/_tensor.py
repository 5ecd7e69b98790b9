"""`Tensor`: an array with methods, and with a place for its gradient.

A Tensor answers every op by evaluating it on the arrays inside and wrapping what comes out:

    >>> x = tensor([1.0, -2.0, 3.0])
    >>> x.relu().sum()
    tensor(4.)

NumPy functions that mean an op of the table accept Tensors too and give Tensors; others are refused with a hint.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weft._casting import check_device
from weft._frames import without_frames
from weft._hooks import HookHandle, add_hook
from weft._where import user_position, warn_user
from weft.autograd import _versions
from weft.autograd._leaving import as_array, as_number
from weft.autograd._mode import enable_grad, recording
from weft.autograd._tape import AccumulateGrad, Source, Step, record
from weft.errors import AutogradError
from weft.ops._methods import Methods
from weft.ops._op import TABLE, Op

Array = np.ndarray[Any, Any]
_new = object.__new__
Flag = bool  # `bool` and `int` themselves are methods' names in Methods
Whole = int

_UNSAID = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_)))  # dtypes that repr leaves out


class Tensor(Methods):
    """A NumPy array that can remember what was computed from it, so that `backward` gives gradients.

    `Tensor(array)` shares the array's memory, `weft.tensor(data)` copies.

    >>> import weft
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> (x**2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __weft_priority__ = 10
    _is_parameter = False

    # Defaults on the class: making a tensor sets only what differs, which is what makes it cheap.
    _array: Array
    _requires_grad: Flag = False
    _step: Step | None = None  # what made it; None for a leaf
    _slot: Whole = 0  # which of the step's results it is
    _leaf: weakref.ref[AccumulateGrad] | None = None
    _hooks: dict[Whole, Callable[[Tensor], Any]] | None = None
    _rewritten: Whole = 0  # the number of the last recorded write to this memory's owner; see _view
    grad: Tensor | None = None

    def __init__(self, data: Any, dtype: npt.DTypeLike | None = None, requires_grad: Flag = False) -> None:
        self._array = np.asarray(_array_in(data), dtype=dtype)
        if self._array.dtype.kind not in "biufc":
            raise TypeError(f"a Tensor holds booleans or numbers, got dtype {self._array.dtype}")
        if requires_grad:
            self.requires_grad = True

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read-only here
        """The length of each dimension."""
        return self._array.shape  # type: ignore[no-any-return]  # Array leaves the shape's type open

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # read-only here
        """The type of the elements."""
        return self._array.dtype  # type: ignore[no-any-return]  # as above

    @property
    def requires_grad(self) -> Flag:
        """Whether a gradient is wanted for this value."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: Flag) -> None:
        if wanted and self.dtype.kind not in "fc":
            raise TypeError(f"only floating-point and complex tensors have gradients, this one is {self.dtype}")
        if not wanted and self._step is not None:
            raise AutogradError(
                "a computed tensor cannot stop requiring its gradient",
                help="use t.detach(), or compute it in no_grad()",
            )
        self._requires_grad = bool(wanted)

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

    def detach_(self) -> Tensor:
        """Forget where the values came from; the tensor becomes a leaf."""
        if self._kind() is not type(self):
            raise AutogradError("a view cannot forget what it is a view of", help="use t.detach()")
        self._step, self._slot, self._requires_grad = None, 0, False
        return self

    def _mark_written(self) -> None:
        """Say that the values in memory were changed behind the tape's back."""
        _versions.mark(self._array, user_position(sys._getframe(1)))

    def clone(self) -> Any:
        """A copy with memory of its own, recorded like any other op."""
        array = self._array
        if 0 in array.strides and not array.flags.c_contiguous:
            return self.contiguous()  # NumPy would lay out the copy of what was broadcast by strides that say nothing
        return TABLE["astype"](self, self.dtype, copy=True)

    def contiguous(self) -> Any:
        """The tensor itself where its elements lie in order in memory, else a copy in which they do."""
        array = self._array
        if array.flags.c_contiguous:
            return self
        records, laid = self._requires_grad and recording.get(), np.ascontiguousarray(array)
        return wrapped(TABLE["astype"], (self, self.dtype), {"copy": True}, laid, records, sys._getframe(1))

    # Gradients

    @property
    def is_leaf(self) -> Flag:
        """Whether the tensor was made by the user rather than computed from ones that require gradients."""
        return self._step is None

    @property
    def grad_fn(self) -> Step | None:
        """The recorded call that made the tensor; None for a leaf. `next_functions` lead on from it."""
        return None if self._step is None else self._step.shown()

    @without_frames
    def backward(
        self,
        gradient: Any = None,
        retain_graph: Flag | None = None,
        create_graph: Flag = False,
        inputs: Sequence[Tensor] | Tensor | None = None,
    ) -> None:
        """Add the gradient of this value to `.grad` of every leaf it depends on, or of `inputs` alone.

        >>> x = tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        from weft.autograd._backward import backward

        backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Callable[[Tensor], Any]) -> HookHandle:
        """Call `hook(gradient)` when this tensor's gradient is computed; what it returns, if not None, replaces it."""
        if not self._requires_grad:
            raise AutogradError("register_hook: this tensor does not require a gradient")
        if not callable(hook):
            raise TypeError(f"register_hook: a hook is a function of the gradient, not {type(hook).__name__}")
        if self._step is None:
            self._hooks = {} if self._hooks is None else self._hooks
            return add_hook(self._hooks, hook)
        self._step.hooks = {} if self._step.hooks is None else self._step.hooks
        return add_hook(self._step.hooks.setdefault(self._slot, {}), hook)

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor in `.grad`, as leaves do."""
        if not self._requires_grad:
            raise AutogradError("retain_grad: this tensor does not require a gradient")
        if self._step is not None:
            self._step.retained = {} if self._step.retained is None else self._step.retained
            self._step.retained[self._slot] = weakref.ref(self)

    @property
    def retains_grad(self) -> Flag:
        """Whether `.grad` of this computed tensor will be kept."""
        retained = None if self._step is None else (self._step.retained or {}).get(self._slot)
        return retained is not None and retained() is self

    def _source(self) -> Source:
        """Where the tape says this value came from."""
        if self._step is not None:
            return (self._step, self._slot) if self._slot else self._step
        leaf = None if self._leaf is None else self._leaf()
        if leaf is None:
            with _shared:  # threads that use one tensor must agree on its leaf
                leaf = None if self._leaf is None else self._leaf()
                if leaf is None:
                    # The tape holds the leaf and the leaf the tensor; a strong link back would be a cycle for the
                    # collector.
                    leaf = AccumulateGrad(self)
                    self._leaf = weakref.ref(leaf)
        return leaf

    def _accumulate(self, g: Any) -> None:
        """Add to `.grad`; an array's memory becomes the gradient's."""
        with _shared:
            held = self.grad
            if held is not None and not isinstance(held, Tensor):
                raise TypeError(f".grad holds a tensor or None, not {type(held).__name__}")
            if held is not None and held.shape != self.shape:
                raise AutogradError(f".grad has shape {held.shape}, the tensor {self.shape}", help="set it to None")
            if isinstance(g, Tensor) or (held is not None and held._requires_grad):
                with enable_grad():
                    self.grad = g.clone() if held is None else held + g
            elif held is None:
                self.grad = Tensor(g)
            else:
                held._array = np.asarray(held._array + g)

    # Taking part in ops, and in NumPy

    def __weft_op__(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        record_it = recording.get() and (wants(args) or (kwargs and wants(kwargs.values())))
        if record_it and op.composite:
            return op.body(*args, **kwargs)  # type: ignore[misc]  # a composite has a body
        # Called again rather than evaluated, so that what is left (arrays, or Specs beside them) finds its answer.
        result = op(*unwrap(args), **unwrap(kwargs))
        return wrapped(op, args, kwargs, result, bool(record_it), sys._getframe(1))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_function(func, args, kwargs)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: Flag | None = None) -> Array:
        if self._requires_grad:
            as_array(sys._getframe(1))
        if copy:
            return np.array(self._array, dtype=dtype)
        converted = self._array if dtype is None else self._array.astype(dtype, copy=False)
        if copy is False and converted is not self._array:
            raise ValueError(f"cannot give {self.dtype} as {np.dtype(dtype)} without a copy")
        return converted

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import weft

        return weft

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[Whole, Whole] | None = None,
        dl_device: tuple[Any, Whole] | None = None,
        copy: Flag | None = None,
    ) -> Any:
        array = self._array
        if stream is not None:
            raise BufferError(f"__dlpack__: a tensor on the CPU has no stream, got stream={stream!r}")
        if dl_device is not None and tuple(dl_device) != array.__dlpack_device__():
            raise BufferError(f"__dlpack__: a tensor is on the CPU, device (1, 0), got dl_device={dl_device!r}")
        if copy is None and any(stride < 0 for stride in array.strides):
            copy = True  # not everyone can take negative strides: torch ends the process
        if copy is False and any(stride < 0 for stride in array.strides):
            raise BufferError("a tensor in reverse order cannot be given away without a copy")
        return array.__dlpack__(max_version=max_version, copy=copy)

    def __dlpack_device__(self) -> tuple[Whole, Whole]:
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
        if self._requires_grad:
            as_number(sys._getframe(1))
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
        return (_rebuild, (self._kind(), self._array, self._requires_grad, self.grad, self._extra()))

    def __copy__(self) -> Tensor:
        return _rebuild(self._kind(), self._array, self._requires_grad, self.grad, self._extra())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        from copy import deepcopy

        if self._step is not None:
            raise AutogradError("only leaf tensors can be copied deeply", help="copy t.detach()")
        copied = _rebuild(self._kind(), self._array.copy(), self._requires_grad, None, {})
        memo[id(self)] = copied
        copied.grad = deepcopy(self.grad, memo)
        copied.__dict__.update(deepcopy(self._extra(), memo))
        return copied

    def _is_view(self) -> Flag:
        """Whether the tensor is a view of `_base`, in torch's words."""
        return self._base is not None

    @property
    def _base(self) -> Tensor | None:
        return None

    def _kind(self) -> type[Tensor]:
        """The class of a copy, which has memory of its own."""
        return type(self)

    def _extra(self) -> dict[str, Any]:
        """Attributes the user set."""
        return {name: value for name, value in self.__dict__.items() if name not in _ON_TAPE}

    def __repr__(self) -> str:
        whole = self.dtype.kind != "f" or bool(np.all(np.trunc(self._array) == self._array))
        mode: Any = "maxprec_equal" if whole else "fixed"
        text = np.array2string(self._array, separator=", ", prefix="tensor(", precision=4, floatmode=mode)
        said = self.dtype not in (_UNSAID if self._array.size else [np.float64])
        dtype = f", dtype={self.dtype}" if said else ""
        size = "" if self._array.size or self._array.ndim == 1 else f", size={self.shape}"
        made = f", grad_fn=<{self._step.name()}>" if self._step is not None else ", requires_grad=True"
        return f"tensor({text}{size}{dtype}{made if self._requires_grad else ''})"

    def __format__(self, spec: str) -> str:
        return (
            repr(self)
            if self.shape and not spec
            else format(self._array.item() if not self.shape else self._array, spec)
        )


class Parameter(Tensor):
    """A tensor that a module registers when it is assigned as an attribute, and that wants a gradient."""

    _is_parameter = True

    def __init__(self, data: Any = (), requires_grad: Flag = True) -> None:
        super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def tensor(data: Any, dtype: npt.DTypeLike | None = None, requires_grad: Flag = False, *, device: Any = None) -> Tensor:
    """A Tensor of a copy of the data: a number, nested lists, an array or another Tensor.

    >>> tensor([[1, 2], [3, 4]]).T
    tensor([[1, 3],
            [2, 4]])
    """
    check_device("tensor", device)
    if isinstance(data, (list, tuple)) and recording.get() and any(part.requires_grad for part in tensors_in(data)):
        warn_user("tensor: what the parts were computed from is forgotten; weft.stack keeps it, detach() is quiet")
    return Tensor(np.array(unwrap(data), dtype=dtype), requires_grad=requires_grad)


def _array_in(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def unwrap(value: Any) -> Any:
    """Arrays in place of Tensors, in nested containers too."""
    kind = type(value)
    if kind is Tensor:
        return value._array
    if kind is np.ndarray or kind is float or kind is int:
        return value
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, (list, tuple)):
        parts = [unwrap(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: unwrap(part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(_bound(value.start), _bound(value.stop), _bound(value.step))
    return value


def _bound(value: Any) -> Any:
    """A bound of a slice, as it is now: the tensor it came from may be written later."""
    array = unwrap(value)
    whole = isinstance(array, np.ndarray) and array.ndim == 0 and array.dtype.kind in "iu"
    return int(array) if whole else array


def from_step(array: Any, step: Step, slot: Whole) -> Tensor:
    """The tensor of a step's result."""
    made = _new(Tensor)
    made._array = array if type(array) is np.ndarray else np.asarray(array)
    if made._array.dtype.kind in "fc":
        made._requires_grad, made._step = True, step
        if slot:
            made._slot = slot
    return made


def wrapped(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, records: Flag, frame: Any) -> Any:
    """The result of an op on the arrays in its arguments, as tensors; `records` says whether a step is to be left."""
    step = None
    if records and _differentiable(result):
        step = record(op, op.bind(args, kwargs), result, user_position(frame))
    if isinstance(result, (list, tuple)):
        parts = [_made(part, step, slot, slot, op, args, kwargs) for slot, part in enumerate(result)]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return _made(result, step, 0, None, op, args, kwargs)


def _made(value: Any, step: Step | None, slot: Whole, part: Whole | None, op: Op, args: Any, kwargs: Any) -> Any:
    """One result of an op as a tensor, which knows whose memory it shares; `part` is which of several it is."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    made = Tensor(value) if step is None else from_step(value, step, slot)
    if value.base is None and not any(given._array is value for given in tensors_in((args, *kwargs.values()))):
        return made
    return viewed(made, part, op, args, kwargs)


def wants(values: Iterable[Any]) -> Flag:
    """Whether a tensor among the values requires a gradient."""
    for value in values:
        if isinstance(value, Tensor):
            if value._requires_grad:
                return True
        elif type(value) in (list, tuple) and wants(value):
            return True
    return False


def _differentiable(result: Any) -> Flag:
    if isinstance(result, (list, tuple)):
        return any(map(_differentiable, result))
    return isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "fc"


def _rebuild(cls: type[Tensor], array: Array, requires_grad: Flag, grad: Any, extra: dict[str, Any]) -> Tensor:
    built = cls.__new__(cls)
    built._array, built._requires_grad, built.grad = array, requires_grad, grad
    built.__dict__.update(extra)
    return built


_shared = threading.RLock()  # held where threads that share a tensor might undo each other's work
_ON_TAPE = frozenset({"_array", "_requires_grad", "_step", "_slot", "_leaf", "_hooks", "_rewritten", "grad"})

# These know Tensor; it needs them only when it runs.
from weft.autograd._as_numpy import call_function, call_ufunc  # noqa: E402  # as below
from weft.autograd._view import tensors_in, viewed  # noqa: E402  # they need each other, this one only when it runs
