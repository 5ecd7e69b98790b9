"""Writing to tensors in place: `t[key] = value`, `t += other`, `t.add_(other)`, `t.zero_()`.

The values go into the tensor's own memory, where its views and whoever else shares it see them. Where a derivative is
at stake, the write is recorded like any op, and the tensor's history goes on from there; see `_view`. A leaf that
requires its gradient can be written only inside `no_grad()`, as an optimiser does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft._where import located, user_position
from weft.autograd import _versions
from weft.autograd._mode import no_grad, recording
from weft.errors import AutogradError, DtypeError, ShapeError
from weft.ops._methods import OTHER_NAMES
from weft.ops._op import TABLE, Op, answers
from weft.ops.indexing import assign

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

_METHODS = (
    "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atan2 atanh bitwise_and "
    "bitwise_not bitwise_or bitwise_xor ceil clamp clip cos cosh cumprod cumsum div divide elu erf exp exp2 expm1 "
    "floor floor_divide hypot leaky_relu log log10 log1p log2 logical_and logical_not logical_or logical_xor "
    "masked_fill mul multiply nan_to_num neg negative pow reciprocal relu remainder round rsqrt sigmoid sign sin sinh "
    "sqrt square subtract tan tanh tril triu true_divide trunc"
).split()


def install(cls: type[Tensor]) -> None:
    """Put the methods and operators that write on Tensor."""
    for symbol, name in _OPERATORS.items():
        setattr(cls, f"__i{symbol}__", _operator(TABLE[name]))
    for name in _METHODS:
        setattr(cls, f"{name}_", _method(name))
    writing: tuple[Any, ...] = (add_, sub_, addcmul_, addcdiv_, zero_, fill_, copy_)
    for function in (*writing, normal_, uniform_, exponential_, bernoulli_):
        setattr(cls, function.__name__, function)
    setattr(cls, "__setitem__", set_item)  # noqa: B010  # assigning to a method is an error to the type checker


def _operator(op: Op) -> Callable[[Tensor, Any], Any]:
    def operator(self: Tensor, other: Any) -> Any:
        if answers(other) and not isinstance(other, Tensor):
            return NotImplemented
        return _change(self, op, op, (other,), {})

    return operator


def _method(name: str) -> Callable[..., Tensor]:
    op = TABLE.get(OTHER_NAMES.get(name, name))

    def compute(values: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(values, name)(*args, **kwargs)

    compute.__name__ = f"{name}_"

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return _change(self, compute, op, args, kwargs)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, written into the tensor itself."
    return method


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Add `alpha * other` to the tensor itself."""
    return _change(self, TABLE["add"], TABLE["add"], (_times(other, alpha),), {})


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract `alpha * other` from the tensor itself."""
    return _change(self, TABLE["subtract"], TABLE["subtract"], (_times(other, alpha),), {})


def addcmul_(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """Add `value * tensor1 * tensor2` to the tensor itself."""
    return add_(self, TABLE["multiply"](tensor1, tensor2), alpha=value)


def addcdiv_(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """Add `value * tensor1 / tensor2` to the tensor itself."""
    return add_(self, TABLE["divide"](tensor1, tensor2), alpha=value)


def zero_(self: Tensor) -> Tensor:
    """Set every element to zero."""
    return fill_(self, 0)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one value."""
    if np.ndim(value):
        raise ShapeError(f"fill_: expected a single number, got shape {np.shape(value)}", help="use copy_")
    set_item(self, ..., value)
    return self


def copy_(self: Tensor, src: Any) -> Tensor:
    """Set the elements to those of another tensor or array, repeated where it broadcasts."""
    set_item(self, ..., src)
    return self


def normal_(self: Tensor, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Set the elements to normally distributed numbers."""
    return copy_(self, TABLE["normal"](self.shape, mean, std, self.dtype, generator=generator))


def uniform_(self: Tensor, low: Any = 0.0, high: Any = 1.0, *, generator: Any = None) -> Tensor:
    """Set the elements to numbers drawn evenly from [low, high)."""
    return copy_(self, TABLE["uniform"](self.shape, low, high, self.dtype, generator=generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Set the elements to exponentially distributed numbers of rate `lambd`."""
    return copy_(self, TABLE["exponential"](self.shape, 1 / lambd, self.dtype, generator=generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Set the elements to ones with probability p, zeros otherwise."""
    return copy_(self, TABLE["bernoulli"](p, self.shape, np.float64, generator=generator))


def set_item(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`."""
    position = user_position(sys._getframe(1))
    op = TABLE["index_update"]
    if answers((key, value)) and not _only_tensors((key, value)):
        raise TypeError("a value that is being captured cannot be written into a Tensor")
    if isinstance(value, (list, tuple)) and wants(value):
        value = _stacked(value)
    if isinstance(value, View) and _is_part(self, key, value):
        return  # `t[key] += other` has written it already, through the view t[key]
    records = _writable(self, (value,))
    try:
        assign(self._array, unwrap(key), unwrap(value))
    except Exception as error:
        raise located(op.explain(error, unwrap((self, key, value)), {})) from error
    if records:
        step = record(op, (_shadow(self, False), key, value), self._array, position)
        assert step is not None, "a write is recorded where an argument requires its gradient"
        adopt(self, step, 0, position)
    _versions.mark(self._array, position, unwrap(key))


def write_out(outs: Sequence[Any], op: Op, inputs: Sequence[Any]) -> Any:
    """What a NumPy function called with `out=` does."""
    (out,) = outs
    if isinstance(out, Tensor):
        memory = _versions.owner(out._array)
        result = op(*(_apart(value, memory) for value in inputs))
        _fits(out, result, op.name)
        set_item(out, ..., result)
        return out
    result = op(*inputs)
    if result.requires_grad:
        raise AutogradError(
            "a NumPy array cannot take the values of a tensor that requires its gradient: the derivative would be lost",
            help="use t.detach(), or make the array a tensor",
        )
    np.copyto(out, result.numpy(), casting="same_kind")
    return out


def _change(self: Tensor, compute: Callable[..., Any], op: Op | None, args: Any, kwargs: Any) -> Tensor:
    """Replace the tensor's values by `compute(self, …)`."""
    position = user_position(sys._getframe(2))
    name = getattr(compute, "__name__", "")
    records = _writable(self, (*args, *kwargs.values()))
    if not records:
        with no_grad():
            result = compute(_shadow(self, False), *args, **kwargs)
        _fits(self, result, name)
        np.copyto(self._array, result._array, casting="same_kind")
        _versions.mark(self._array, position)
        return self
    # What the derivative will read must not be what is overwritten here.
    copied = op is None or op.composite or any(op.arrays[0] in read for read in op.reads)
    shadow = _shadow(self, copied)
    memory = _versions.owner(self._array)
    args = tuple(_apart(arg, memory) for arg in args)
    result = compute(shadow, *args, **kwargs)
    _fits(self, result, name)
    if result.dtype != self.dtype:
        result = TABLE["astype"](result, self.dtype)
    if result._step is None:
        raise AutogradError(f"{name} has no derivative, and this tensor requires its gradient")
    np.copyto(self._array, result._array)
    adopt(self, result._step, result._slot, position)
    _versions.mark(self._array, position)
    return self


def _writable(self: Tensor, values: Any) -> bool:
    """Refuse what cannot be written; whether the write is to be recorded."""
    if not self._array.flags.writeable:
        raise ValueError(
            "these values cannot be written in place: several elements share one place in memory, or it is read-only; "
            "write to t.clone()"
        )
    if not recording.get() or not (wants(values) or any(one._requires_grad for one in lineage(self))):
        return False
    if self.dtype.kind not in "fc":
        message = f"a tensor of {self.dtype} cannot hold a value that requires its gradient"
        raise located(DtypeError(message, help="make the tensor of a floating-point dtype, or write value.detach()"))
    check_lineage(self)
    return True


def _fits(self: Tensor, result: Any, name: str) -> None:
    if result.shape != self.shape:
        message = f"{name}: the result of shape {result.shape} does not fit into a tensor of shape {self.shape}"
        raise located(ShapeError(message))
    if not np.can_cast(result.dtype, self.dtype, "same_kind"):
        message = f"{name}: the result of {result.dtype} does not fit into a tensor of {self.dtype}"
        raise located(DtypeError(message, help="convert the tensor first, for example with .double()"))


def _shadow(self: Tensor, copied: bool) -> Tensor:
    """The tensor as it is now, for the tape: its history, and its values or a copy of them."""
    made = Tensor(self._array.copy() if copied else self._array)
    if self._requires_grad:
        made._requires_grad, made._step, made._slot = True, self._step, self._slot
    return made


def _apart(value: Any, memory: Any) -> Any:
    """An argument with values of its own, if they lie in the memory that is about to be written."""
    if not isinstance(value, Tensor) or _versions.owner(value._array) is not memory:
        return value
    # A leaf's shadow would be another leaf, and take the gradient that belongs to this one.
    return value.clone() if value._requires_grad and value._step is None else _shadow(value, True)


def _stacked(value: Any) -> Any:
    """Nested lists of tensors and numbers as one tensor."""
    if isinstance(value, Tensor):
        return value
    return TABLE["stack"](list(map(_stacked, value))) if isinstance(value, (list, tuple)) else tensor(value)


def _is_part(self: Tensor, key: Any, value: View) -> bool:
    """Whether the value is the very part of this tensor that the key selects, with the derivative it has there."""
    root = self._root if isinstance(self, View) else self
    if value._root is not root or value._own_requires_grad != self._requires_grad:
        return False
    part = self._array[unwrap(key)]
    return isinstance(part, np.ndarray) and _place(part) == _place(value._array)


def _place(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)


def _times(value: Any, factor: Any) -> Any:
    return value if isinstance(factor, (int, float)) and factor == 1 else TABLE["multiply"](value, factor)


def _only_tensors(values: Any) -> bool:
    """Whether everything among the values that takes part in ops is a tensor."""
    for value in values:
        if isinstance(value, (list, tuple)):
            if not _only_tensors(value):
                return False
        elif answers(value) and not isinstance(value, Tensor):
            return isinstance(value, slice) and _only_tensors((value.start, value.stop, value.step))
    return True


# These know Tensor, which knows this file.
from weft.autograd._tape import record  # noqa: E402  # they need each other, this one only when it runs
from weft.autograd._tensor import Tensor, tensor, unwrap, wants  # noqa: E402  # they need each other, this one only when it runs
from weft.autograd._view import View, adopt, check_lineage, lineage  # noqa: E402  # they need each other, this one only when it runs
