"""`Operators`: Python's operators spelled as ops, for every class that takes part in ops (Spec, Tensor, …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ops._op import TABLE


def _forward(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return TABLE[name](self, other)

    return method


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return TABLE[name](other, self)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return TABLE[name](self)

    return method


class Operators:
    """Arithmetic, comparison and bit operators, `@`, and indexing, each one a call of the op it means."""

    __slots__ = ()
    __array_ufunc__: Any = None  # an ndarray on the left leaves the operator to us

    __add__, __radd__ = _forward("add"), _reflected("add")
    __sub__, __rsub__ = _forward("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _forward("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _forward("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _forward("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _forward("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _forward("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _forward("matmul"), _reflected("matmul")
    __and__, __rand__ = _forward("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _forward("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _forward("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _forward("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __rshift__, __rrshift__ = _forward("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __lt__, __le__ = _forward("less"), _forward("less_equal")
    __gt__, __ge__ = _forward("greater"), _forward("greater_equal")
    __neg__, __pos__, __invert__, __abs__ = (
        _unary("negative"),
        _unary("positive"),
        _unary("bitwise_invert"),
        _unary("abs"),
    )
    __getitem__ = _forward("getitem")
