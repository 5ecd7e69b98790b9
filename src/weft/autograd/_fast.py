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
from weft.autograd import _versions
from weft.autograd._mode import recording
from weft.autograd._tape import Step, keep_below, kept
from weft.autograd._tensor import Parameter, Tensor, wrapped
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
_new = object.__new__
_internal = _where._INTERNAL
_recording = recording.get
_next_number = _versions.clock.__next__
_known: Any = None  # the names of the module that called last, which is not weft's own


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
        if type(op) is Op:  # others have a way of their own
            op.call_by(_function(op))
    TABLE["stop_gradient"].call_by(_stop_gradient)
    for name, op in [*TABLE.items(), *((other, TABLE[name]) for other, name in OTHER_NAMES.items())]:
        if op.exactly == 1 and not hasattr(Tensor, name):
            setattr(Tensor, name, _unary(op))
    # Training frees and allocates the same large arrays over and over. Once a large block was freed, the C library
    # (glibc) keeps such memory rather than give it back and pay for its page faults again: a fifth of a CNN's time.
    np.empty(31 << 20, np.uint8)
    setattr(Tensor, "__getitem__", _getitem)  # noqa: B010  # the type checker does not let methods be assigned


def _getitem(self: Tensor, key: Any) -> Any:
    array = self._array
    whole = key if type(key) is tuple else (key,)
    if len(whole) == array.ndim and all(type(part) is int or isinstance(part, np.integer) for part in whole):
        key = (*whole, ...)  # a view of one element, where NumPy would make a number of it
    return _call(TABLE["getitem"], self, key)


def _stop_gradient(*args: Any, **kwargs: Any) -> Any:
    (value,) = TABLE["stop_gradient"].bind(args, kwargs)
    if isinstance(value, Tensor):
        return value.detach()
    return TABLE["stop_gradient"].dispatch(args, kwargs)


def _function(op: Op) -> Callable[..., Any]:
    """What a call of the op does."""
    if op.exactly == 1:
        return _unary(op)
    answer = _binary(op) if op.exactly == 2 else partial(_call, op)

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or type(args[0]) not in _TENSORS or len(args) != (op.exactly or len(args)):
            return op.dispatch(args, kwargs)
        return answer(*args)

    return function


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
        tail = op.tails[len(args)] if len(args) < len(op.tails) else None
        if tail is None:  # the op takes any number of arguments
            return wrapped(op, args, {}, result, True, sys._getframe(1))
        _record(op, args, raw, tail, made, sys._getframe(1))
    if result.base is not None or result is raw[0]:
        return viewed(made, None, op, args, {})
    return made


def _plain(value: Any) -> bool:
    """Whether a tuple or slice is of plain values throughout."""
    if type(value) is tuple:
        return all(type(part) in _PLAIN or _plain(part) for part in value)
    return type(value) is slice and _plain((value.start, value.stop, value.step))


def _binary(op: Op) -> Callable[..., Any]:
    evaluate = op.eval

    # Steps are made right here, and below: a call of another function would cost a tenth of all there is to do.
    def method(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind in _NUMBERS:
            wants, right = self._requires_grad, other
        elif kind in _TENSORS:
            wants, right = self._requires_grad or other._requires_grad, other._array
        else:
            return op.dispatch((self, other), {})
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
                source = self._step
                step.sources = (self._source() if source is None or self._slot else source, None)
                read = op.reads[0]
            elif self._requires_grad:
                step.sources = (self._source(), other._source())
                read = op.reads[0] | op.reads[1]
            else:
                step.sources = (None, other._source())
                read = op.reads[1]
            step.kept = (left, right) if result.nbytes < keep_below else _held(op, (left, right), read)
            frame = sys._getframe(1)
            if frame.f_globals is not _known:
                frame = _user_frame(frame)
            step.code, step.offset = frame.f_code, frame.f_lasti
            step.number = _next_number()
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
            step.sources = (None, self._source())
            read = op.reads[1]
            step.kept = (other, self._array) if result.nbytes < keep_below else _held(op, (other, self._array), read)
            frame = sys._getframe(1)
            if frame.f_globals is not _known:
                frame = _user_frame(frame)
            step.code, step.offset = frame.f_code, frame.f_lasti
            step.number = _next_number()
            if "y" in read:
                step.result = result
        return made

    return method


def _unary(op: Op) -> Callable[..., Any]:
    evaluate = op.eval
    # A ufunc with a derivative gives numbers of the kind it takes, in memory of their own.
    usual = isinstance(evaluate, np.ufunc) and callable(op.vjp[0])
    result_read: bool | None = None  # worked out when it is first needed

    def method(x: Any, *more: Any) -> Any:
        nonlocal result_read
        if more or (type(x) is not Tensor and type(x) not in _TENSORS):
            return op.dispatch((x, *more), {})
        array = x._array
        try:
            result = evaluate(array)
        except Exception:  # as above
            return op.dispatch((x,), {})
        made = _new(Tensor)
        made._array = result = result if type(result) is ndarray else np.asarray(result)
        if x._requires_grad and _recording() and (usual or result.dtype.kind in "fc"):
            made._requires_grad = True
            made._step = step = _new(Step)
            step.op = op
            source = x._step
            step.sources = (x._source() if source is None or x._slot else source,)
            step.kept = (array,) if result.nbytes < keep_below else _held(op, (array,), op.reads[0])
            frame = sys._getframe(1)
            if frame.f_globals is not _known:
                frame = _user_frame(frame)
            step.code, step.offset = frame.f_code, frame.f_lasti
            step.number = _next_number()
            if result_read is None:
                result_read = "y" in op.reads[0]
            if result_read:
                step.result = result
        if not usual and (result is array or result.base is not None):
            return viewed(made, None, op, (x,), {})
        return made

    method.__name__ = method.__qualname__ = op.name
    method.__doc__ = op.__doc__
    return method


def _record(op: Op, args: tuple[Any, ...], raw: tuple[Any, ...], tail: Any, made: Tensor, frame: Any) -> None:
    """Give a result its step, if a tensor among the arrays of the call requires its gradient; `tail` are defaults."""
    sources = tuple(
        y._source() if depends and at < len(args) and type(y := args[at]) in _TENSORS and y._requires_grad else None
        for at, depends in zip(op.positions, op.depends, strict=True)
    )
    read = frozenset().union(*(reads for reads, source in zip(op.reads, sources, strict=True) if source is not None))
    if not read and not any(sources):
        return
    frame = _user_frame(frame)
    step = _new(Step)
    step.op = op
    raw += tail
    result = made._array
    small = result.nbytes < keep_below and getattr(raw[0], "nbytes", 0) < keep_below
    step.kept = raw if small else _held(op, raw, read)
    step.sources = sources
    step.code, step.offset = frame.f_code, frame.f_lasti
    step.number = _next_number()
    if "y" in read:
        step.result = result
    made._requires_grad = True
    made._step = step


def _held(op: Op, raw: tuple[Any, ...], read: frozenset[str]) -> tuple[Any, ...]:
    """What the tape keeps of a call's arguments."""
    return tuple(kept(value, name in read) for value, name in zip(raw, op.__signature__.parameters, strict=True))


def _user_frame(frame: Any) -> Any:
    """The innermost frame at or above this one that is not weft's own; remembers which module that was."""
    global _known
    while _internal[frame.f_globals.get("__name__", "")]:
        if frame.f_back is None:
            return frame
        frame = frame.f_back
    _known = frame.f_globals
    return frame
