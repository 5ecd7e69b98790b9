"""A reverse mode small enough to be obviously right, to test derivative rules to any order without weft's own tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ops import TABLE, Op
from weft.ops._operators import Operators


class Traced(Operators):
    """An array that remembers the call that made it."""

    __weft_priority__ = 10

    def __init__(self, data: Any, call: Call | None = None, slot: int | None = None) -> None:
        self.data = np.asarray(data)
        self.call = call
        self.slot = slot

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)

    def __weft_op__(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.composite:
            return op.body(*args, **kwargs)
        arguments = op.bind(args, kwargs)
        y = op.eval(*_unwrap(args), **_unwrap(kwargs))
        call = Call(op, arguments)
        if isinstance(y, tuple | list):
            call.result = tuple(Traced(part, call, i) for i, part in enumerate(y))
            return type(y)(*call.result) if hasattr(y, "_fields") else type(y)(call.result)
        call.result = Traced(y, call)
        return call.result


class Call:
    """One recorded call: the op, every parameter, and what came out."""

    def __init__(self, op: Op, arguments: tuple[Any, ...]) -> None:
        self.op = op
        self.arguments = arguments
        self.result: Any = None

    def inputs(self) -> list[tuple[str, Any]]:
        names = list(self.op.__signature__.parameters)
        return [(name, self.arguments[names.index(name)]) for name in self.op.arrays]


def gradients(y: Traced, xs: list[Traced], g: Any = 1.0) -> list[Any]:
    """Gradients of sum(y * g) with respect to each of xs, themselves traced."""
    grads: dict[int, Any] = {
        id(y): g if isinstance(g, Traced) else Traced(np.broadcast_to(np.asarray(g, y.dtype), y.shape))
    }
    for call in reversed(_order(y)):
        parts = call.result if isinstance(call.result, tuple) else (call.result,)
        if not any(id(part) in grads for part in parts):
            continue
        filled = tuple(grads.get(id(p), Traced(np.zeros(p.shape, p.dtype))) for p in parts)
        upstream, result = (filled, parts) if isinstance(call.result, tuple) else (filled[0], parts[0])
        for name, value in call.inputs():
            values = list(value) if isinstance(value, list | tuple) else [value]
            if not any(isinstance(v, Traced) and v.dtype.kind in "fc" for v in values):
                continue
            found = call.op.gradient(name, upstream, result, call.arguments)
            for v, each in zip(values, found if isinstance(value, list | tuple) else [found], strict=True):
                if isinstance(v, Traced) and v.dtype.kind in "fc":
                    assert each.shape == v.shape and each.dtype == v.dtype, (call.op, name, each.shape, v.shape)
                    grads[id(v)] = each if id(v) not in grads else TABLE["add"](grads[id(v)], each)
    return [grads.get(id(x), Traced(np.zeros(x.shape, x.dtype))) for x in xs]


def _order(y: Traced) -> list[Call]:
    done: dict[int, Call] = {}

    def visit(value: Any) -> None:
        if isinstance(value, list | tuple):
            for part in value:
                visit(part)
        elif isinstance(value, Traced) and value.call is not None and id(value.call) not in done:
            for argument in value.call.arguments:
                visit(argument)
            done[id(value.call)] = value.call

    visit(y)
    return list(done.values())


def _unwrap(value: Any) -> Any:
    if isinstance(value, Traced):
        return value.data
    if isinstance(value, dict):
        return {k: _unwrap(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_unwrap(v) for v in value)
    if isinstance(value, slice):
        return slice(_unwrap(value.start), _unwrap(value.stop), _unwrap(value.step))
    return value
