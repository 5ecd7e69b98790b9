"""Ops on tensors, with nothing between them and NumPy that is not needed.

What an op does for any mixture of arguments (find who answers, bind, unwrap, explain) is settled beforehand here for
the usual ones: tensors, arrays, numbers, and tuples and slices of numbers. Everything else, and every error, goes the
general way, `Op.dispatch`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import EllipsisType, NoneType
from typing import Any

import numpy as np
from numpy import ndarray

from weft import _where
from weft.autograd._mode import recording
from weft.autograd._tape import Edge, Step, keep_below, kept
from weft.autograd._tensor import Parameter, Tensor, wrapped
from weft.autograd._versions import clock
from weft.autograd._view import View, viewed
from weft.ops._methods import OTHER_NAMES
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
_TENSORS = frozenset({Tensor, Parameter, View})
_NUMBERS = frozenset({float, int})
_PLAIN = frozenset({float, int, bool, complex, str, NoneType, EllipsisType, ndarray, np.dtype, type})
_MISSING = object()
_new = object.__new__
_internal = _where._INTERNAL
_recording = recording.get


def install() -> None:
    """Put the operators and the methods of one argument on Tensor, and take the calls of ops that begin with one."""
    for symbol, name in _BINARY.items():
        setattr(Tensor, f"__{symbol}__", _binary(TABLE[name]))
        setattr(Tensor, f"__r{symbol}__", _reflected(TABLE[name]))
    for symbol, name in _COMPARING.items():
        setattr(Tensor, f"__{symbol}__", _binary(TABLE[name]))
    for symbol, name in _UNARY.items():
        setattr(Tensor, f"__{symbol}__", _unary(TABLE[name]))
    for op in TABLE.values():
        made = _unary(op) if op.exactly == 1 else _binary(op) if op.exactly == 2 else partial(_call, op)
        op.lanes.update(dict.fromkeys(_TENSORS, made))
    TABLE["stop_gradient"].lanes.update(dict.fromkeys(_TENSORS, Tensor.detach))
    for name, op in [*TABLE.items(), *((other, TABLE[name]) for other, name in OTHER_NAMES.items())]:
        if op.exactly == 1 and not hasattr(Tensor, name):
            setattr(Tensor, name, op.lanes[Tensor])
    setattr(Tensor, "__getitem__", _getitem)  # noqa: B010  # the type checker does not let methods be assigned


def _getitem(self: Tensor, key: Any) -> Any:
    return _call(TABLE["getitem"], self, key)


def _call(op: Op, *args: Any) -> Any:
    """`op(*args)`, the first of them a tensor."""
    first = args[0]
    wants = first._requires_grad
    raw: tuple[Any, ...]
    if len(args) == 1:
        raw = (first._array,)
    else:
        values = []
        for value in args:
            kind = type(value)
            if kind in _TENSORS:
                wants = wants or value._requires_grad
                values.append(value._array)
            elif kind in _PLAIN or _plain(value):
                values.append(value)
            else:
                return op.dispatch(args, {})
        raw = tuple(values)
    wants = wants and _recording()
    if (wants and op.body is not None) or (op.exactly is not None and op.exactly != len(args)):
        return op.dispatch(args, {})
    try:
        result = op.eval(*raw)
    except Exception:  # whatever it is, the general way meets it again and words it better
        return op.dispatch(args, {})
    if type(result) is not ndarray:
        if not isinstance(result, np.generic):
            return wrapped(op, args, {}, result, wants, sys._getframe(1))
        result = np.asarray(result)
    made = _new(Tensor)
    made._array = result
    if wants and result.dtype.kind in "fc":
        _record(op, args, raw, made, sys._getframe(1))
    if result.base is not None or result is raw[0]:
        return viewed(made, None, op, args, {})
    return made


def _plain(value: Any) -> bool:
    """Whether a tuple or slice is of plain values throughout."""
    if type(value) is tuple:
        for part in value:
            if type(part) not in _PLAIN and not _plain(part):
                return False
        return True
    return type(value) is slice and _plain((value.start, value.stop, value.step))


def _binary(op: Op) -> Callable[..., Any]:
    evaluate = op.eval

    # Steps are made right here, and below: a call of another function would cost a tenth of all there is to do.
    def method(self: Tensor, other: Any = _MISSING, *more: Any) -> Any:
        kind = type(other)
        if more:
            return op.dispatch((self, other, *more), {})
        if kind in _NUMBERS:
            wants, right = self._requires_grad, other
        elif kind in _TENSORS:
            wants, right = self._requires_grad or other._requires_grad, other._array
        else:
            return op.dispatch((self,) if other is _MISSING else (self, other), {})
        left = self._array
        try:
            result = evaluate(left, right)
        except Exception:  # whatever it is, the general way meets it again and words it better
            return op.dispatch((self, other), {})
        made = _new(Tensor)
        made._array = result = result if type(result) is ndarray else np.asarray(result)
        if wants and _recording() and result.dtype.kind in "fc":
            made._requires_grad = True
            made._step = step = _new(Step)
            step.op = op
            if kind in _NUMBERS or not other._requires_grad:
                step.edges = ((0, (source, self._slot) if (source := self._step) else self._source()),)
                read = op.reads[0]
            elif self._requires_grad:
                step.edges = ((0, self._source()), (1, other._source()))
                read = op.reads[0] | op.reads[1]
            else:
                step.edges = ((1, other._source()),)
                read = op.reads[1]
            step.kept = (left, right) if result.nbytes < keep_below else _held(op, (left, right), read)
            frame = sys._getframe(1)
            if _internal[frame.f_globals.get("__name__", "")]:
                frame = _user_frame(frame)
            step.position = (frame.f_code, frame.f_lasti, None)
            step.number = next(clock)
            if "y" in read:
                step.result = result
        return made

    return method


def _reflected(op: Op) -> Callable[[Tensor, Any], Any]:
    evaluate = op.eval

    def method(self: Tensor, other: Any) -> Any:
        if type(other) not in _NUMBERS:
            return op.dispatch((other, self), {})
        try:
            result = evaluate(other, self._array)
        except Exception:  # as above
            return op.dispatch((other, self), {})
        made = _new(Tensor)
        made._array = result = result if type(result) is ndarray else np.asarray(result)
        if self._requires_grad and _recording():
            made._requires_grad = True
            made._step = step = _new(Step)
            step.op = op
            step.edges = ((1, (source, self._slot) if (source := self._step) else self._source()),)
            read = op.reads[1]
            step.kept = (other, self._array) if result.nbytes < keep_below else _held(op, (other, self._array), read)
            frame = sys._getframe(1)
            if _internal[frame.f_globals.get("__name__", "")]:
                frame = _user_frame(frame)
            step.position = (frame.f_code, frame.f_lasti, None)
            step.number = next(clock)
            if "y" in read:
                step.result = result
        return made

    return method


def _unary(op: Op) -> Callable[..., Any]:
    evaluate = op.eval

    def method(self: Tensor, *more: Any) -> Any:
        if more:
            return op.dispatch((self, *more), {})
        array = self._array
        try:
            result = evaluate(array)
        except Exception:  # as above
            return op.dispatch((self,), {})
        made = _new(Tensor)
        made._array = result = result if type(result) is ndarray else np.asarray(result)
        if self._requires_grad and _recording() and result.dtype.kind in "fc":
            made._requires_grad = True
            made._step = step = _new(Step)
            step.op = op
            step.edges = ((0, (source, self._slot) if (source := self._step) else self._source()),)
            read = op.reads[0]
            step.kept = (array,) if result.nbytes < keep_below else _held(op, (array,), read)
            frame = sys._getframe(1)
            if _internal[frame.f_globals.get("__name__", "")]:
                frame = _user_frame(frame)
            step.position = (frame.f_code, frame.f_lasti, None)
            step.number = next(clock)
            if "y" in read:
                step.result = result
        return viewed(made, None, op, (self,), {}) if result is array or result.base is not None else made

    method.__name__ = method.__qualname__ = op.name
    method.__doc__ = op.__doc__
    return method


def _record(op: Op, args: tuple[Any, ...], raw: tuple[Any, ...], made: Tensor, frame: Any) -> None:
    """Give a result its step, if a tensor among the arrays of the call requires its gradient."""
    edges: tuple[Edge, ...]
    x = args[0]
    if len(args) == 1:
        edges = ((0, (step, x._slot) if (step := x._step) else x._source()),)
        read = op.reads[0]
    elif len(args) == 2 and (type(y := args[1]) not in _TENSORS or not y._requires_grad) and op.positions[0] == 0:
        edges = ((0, (step, x._slot) if (step := x._step) else x._source()),)
        read = op.reads[0]
    else:
        edges = tuple(
            (which, y._source())
            for which, at in enumerate(op.positions)
            if at < len(args) and type(y := args[at]) in _TENSORS and y._requires_grad
        )
        if not edges:
            return
        read = op.reads[edges[0][0]] if len(edges) == 1 else frozenset().union(*(op.reads[w] for w, _ in edges))
    frame = _user_frame(frame)
    step = _new(Step)
    step.op = op
    if len(raw) != len(op.tails) - 1:
        raw += op.tails[len(raw)]
    result = made._array
    small = result.nbytes < keep_below and getattr(raw[0], "nbytes", 0) < keep_below
    step.kept = raw if small else _held(op, raw, read)
    step.edges = edges
    step.position = (frame.f_code, frame.f_lasti, None)
    step.number = next(clock)
    if "y" in read:
        step.result = result
    made._requires_grad = True
    made._step = step


def _held(op: Op, raw: tuple[Any, ...], read: frozenset[str]) -> tuple[Any, ...]:
    """What the tape keeps of a call's arguments."""
    return tuple(kept(value, name in read) for value, name in zip(raw, op.__signature__.parameters, strict=True))


def _user_frame(frame: Any) -> Any:
    """The innermost frame at or above this one that is not weft's own."""
    while _internal[frame.f_globals.get("__name__", "")] and frame.f_back is not None:
        frame = frame.f_back
    return frame
