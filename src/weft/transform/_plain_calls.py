"""Calls of Python's own functions on numbers, said in ops that have derivatives: `max(x, y)`, `cmath.exp(z)`."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from weft.capture._python_calls import added
from weft.graph import Node
from weft.ops._op import TABLE
from weft.transform._builder import Builder

Call = Callable[..., Any]
"""Records a call of an op, by its name: `call("sin", x)`."""


def in_ops(builder: Builder, node: Node) -> Callable[[], Any] | None:
    """A function that records what a node computes in ops; None where the node calls nothing known here."""
    try:
        said = _SAID.get(node.target)
    except TypeError:  # something that cannot be looked up
        return None
    if said is None or node.kwargs:
        return None

    def call(name: str, *args: Any) -> Any:
        return builder.call(TABLE[name], *args)

    return lambda: said(call, *map(builder.value, node.args))


def _listed(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values


def _chosen(before: str) -> Callable[..., Any]:
    """The least or the greatest of some values; of those that are equal, the first."""

    def chosen(call: Call, *values: Any) -> Any:
        if len(values) == 1 and hasattr(values[0], "dtype"):
            return call("max" if before == "greater" else "min", values[0])
        return reduce(lambda best, each: call("where", call(before, each, best), each, best), _listed(values))

    return chosen


def _complex(call: Call, real: Any, imag: Any = None) -> Any:
    whole = call("astype", real, np.dtype(complex)) if hasattr(real, "dtype") else complex(real)
    return whole if imag is None else call("add", whole, call("multiply", imag, 1j))


def _rounded(call: Call, value: Any, digits: Any = None) -> Any:
    return call("multiply", value, 0.0)  # flat between its steps


def _length(call: Call, *values: Any) -> Any:
    return reduce(lambda x, y: call("hypot", x, y), values) if len(values) > 1 else call("abs", values[0])


def _logarithm(call: Call, value: Any, base: Any) -> Any:
    return call("divide", call("log", value), call("log", base))


def _distance(call: Call, one: Any, other: Any) -> Any:
    if hasattr(one, "dtype") and hasattr(other, "dtype"):
        return call("vector_norm", call("subtract", one, other))
    apart = [call("subtract", x, y) for x, y in zip(one, other, strict=True)]
    return _length(call, *apart)


def _product(call: Call, values: Any) -> Any:
    if hasattr(values, "dtype"):
        return call("prod", values)
    return reduce(lambda x, y: call("multiply", x, y), values)


def _sum(call: Call, values: Any, start: Any = None) -> Any:
    if hasattr(values, "dtype"):
        total = call("sum", values)
        return total if start is None else call("add", total, start)
    return reduce(lambda x, y: call("add", x, y), values if start is None else (start, *values))


def _remainder(call: Call, value: Any, divisor: Any) -> Any:
    count = call("rint", call("stop_gradient", call("divide", value, divisor)))
    return call("subtract", value, call("multiply", count, divisor))


def _of_complex(name: str) -> Callable[..., Any]:
    return lambda call, value: call(name, _complex(call, value))


_SAID: dict[Any, Callable[..., Any]] = {
    max: _chosen("greater"),
    min: _chosen("less"),
    complex: _complex,
    complex.conjugate: lambda call, value: call("conj", value),
    float.conjugate: lambda call, value: call("multiply", value, 1.0),
    sum: _sum,
    added: _sum,
    round: _rounded,
    math.log: _logarithm,
    math.hypot: _length,
    math.dist: _distance,
    math.prod: _product,
    math.fsum: _sum,
    math.remainder: _remainder,
    math.ldexp: lambda call, value, power: call("ldexp", value, power),
    cmath.phase: _of_complex("angle"),
    **{
        getattr(cmath, name): _of_complex(name)
        for name in "exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
    },
}
