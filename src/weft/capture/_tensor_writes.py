"""Traced Tensors that are written in place: `t.add_(other)`, `t.zero_()`; and their values alone, `t.data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.autograd import _inplace
from weft.capture._values import Array
from weft.errors import AutogradError
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def in_place(array: Any, name: str) -> Callable[..., Any] | None:
    """The method of a Tensor that writes into it; None where there is none of this name."""
    own = _WRITING.get(name)
    if own is not None:
        return lambda *args, **kwargs: own(array, *args, **kwargs)
    if name[:-1] not in _inplace._METHODS and name not in _OF_OPS:
        return None
    return lambda *args, **kwargs: written(array, getattr(array, name[:-1])(*args, **kwargs))


def written(array: Any, values: Any) -> Any:
    """Write values into the whole of an array, and give the array."""
    recorder: Recorder = array.recorder
    recorder.numpy.write_whole(array, values)
    return array


def check_leaf(recorder: Any, array: Array) -> None:
    """Refuse, as the tape does, to write into a leaf that requires its gradient."""
    if recorder.no_grad or not getattr(type(array), "_is_leaf_like", False) or array.buffer.target is None:
        return
    found = recorder.training.of_buffer(array.buffer)
    if found is not None and found._requires_grad:
        raise AutogradError("a leaf that requires its gradient is written in place", help="write it inside no_grad()")


def _times(value: Any, factor: Any) -> Any:
    return value if isinstance(factor, (int, float)) and factor == 1 else TABLE["multiply"](value, factor)


def _add(array: Any, other: Any, *, alpha: Any = 1) -> Any:
    return written(array, TABLE["add"](array, _times(other, alpha)))


def _sub(array: Any, other: Any, *, alpha: Any = 1) -> Any:
    return written(array, TABLE["subtract"](array, _times(other, alpha)))


def _addcmul(array: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return _add(array, TABLE["multiply"](tensor1, tensor2), alpha=value)


def _addcdiv(array: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return _add(array, TABLE["divide"](tensor1, tensor2), alpha=value)


def _fill(array: Any, value: Any) -> Any:
    array[...] = value
    return array


_OF_OPS = frozenset({"addmm_", "addmv_", "addr_", "atan2_", "baddbmm_", "copysign_", "fmod_", "lerp_", "logit_"})
_WRITING: dict[str, Callable[..., Any]] = {
    "add_": _add,
    "sub_": _sub,
    "addcmul_": _addcmul,
    "addcdiv_": _addcdiv,
    "zero_": lambda array: _fill(array, 0),
    "fill_": _fill,
    "copy_": _fill,
}
