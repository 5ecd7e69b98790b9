"""Python's operators on tensors, with nothing between them and NumPy that is not needed.

`a + b` means `weft.add(a, b)`. What an op does for any mixture of arguments (find who answers, bind, unwrap) is settled
beforehand here for the usual ones: tensors and Python numbers. Everything else, and every error, goes the general way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import _where
from weft.autograd._mode import recording
from weft.autograd._tape import Edge, Step, keep_below, kept
from weft.autograd._tensor import Parameter, Tensor
from weft.ops._op import TABLE, Op

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "pow",
    "matmul": "matmul",
}
_COMPARING = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_UNARY = {"neg": "negative", "abs": "abs"}
_NUMBERS = (float, int)
_new = object.__new__
_internal = _where._INTERNAL


def install() -> None:
    """Put the operators on Tensor."""
    for symbol, name in _BINARY.items():
        setattr(Tensor, f"__{symbol}__", _binary(TABLE[name]))
        setattr(Tensor, f"__r{symbol}__", _reflected(TABLE[name]))
    for symbol, name in _COMPARING.items():
        setattr(Tensor, f"__{symbol}__", _binary(TABLE[name], records=False))
    for symbol, name in _UNARY.items():
        setattr(Tensor, f"__{symbol}__", _unary(TABLE[name]))


def _binary(op: Op, records: bool = True) -> Callable[[Tensor, Any], Any]:
    evaluate = op.eval

    def method(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind is Tensor or kind is Parameter:
            wants, right = self._requires_grad or other._requires_grad, other._array
        elif kind in _NUMBERS:
            wants, right = self._requires_grad, other
        else:
            return op(self, other)
        try:
            result = evaluate(self._array, right)
        except Exception:  # whatever it is, the general way meets it again and words it better
            return op(self, other)
        return _finish(op, self, other, result) if records and wants and recording.get() else _plain(result)

    return method


def _reflected(op: Op) -> Callable[[Tensor, Any], Any]:
    evaluate = op.eval

    def method(self: Tensor, other: Any) -> Any:
        if type(other) not in _NUMBERS:
            return op(other, self)
        try:
            result = evaluate(other, self._array)
        except Exception:  # as above
            return op(other, self)
        return _finish(op, other, self, result) if self._requires_grad and recording.get() else _plain(result)

    return method


def _unary(op: Op) -> Callable[[Tensor], Any]:
    evaluate = op.eval

    def method(self: Tensor) -> Any:
        if self._requires_grad and recording.get():
            return op(self)
        return _plain(evaluate(self._array))

    return method


def _plain(result: Any) -> Tensor:
    made = _new(Tensor)
    made._array = result if type(result) is np.ndarray else np.asarray(result)
    return made


def _finish(op: Op, left: Any, right: Any, result: Any) -> Tensor:
    """Record a call of two arguments, at least one of them a tensor that requires its gradient."""
    if type(result) is not np.ndarray:
        result = np.asarray(result)
    made = _new(Tensor)
    made._array = result
    frame = sys._getframe(2)
    while _internal[frame.f_globals.get("__name__", "")] and frame.f_back is not None:
        frame = frame.f_back
    position = (frame.f_code, frame.f_lasti, None)
    left_wants = type(left) not in _NUMBERS and left._requires_grad
    right_wants = type(right) not in _NUMBERS and right._requires_grad
    edges: tuple[Edge, ...]
    if not right_wants:
        edges, read = ((0, (left._step, left._slot) if left._step else left._source()),), op.reads[0]
    elif not left_wants:
        edges, read = ((1, (right._step, right._slot) if right._step else right._source()),), op.reads[1]
    else:
        edges, read = ((0, left._source()), (1, right._source())), op.reads[0] | op.reads[1]
    step = Step(op, (left, right), edges, position)
    if result.nbytes > keep_below:
        step.kept = tuple(map(kept, (left, right), (name in read for name in op.arrays)))
    if "y" in read:
        step.result = result
    made._requires_grad = True
    made._step = step
    return made
