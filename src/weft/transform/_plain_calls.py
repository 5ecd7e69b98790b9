"""Calls of functions that are no ops, said in ops that have derivatives: `max(x, y)`, `cmath.exp(z)`, SciPy's."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from weft.capture._numpy_writes import apply_at
from weft.capture._python_calls import added
from weft.graph import Node
from weft.ops._op import TABLE
from weft.ops._scipy import special_name
from weft.transform._builder import Builder

Call = Callable[..., Any]
"""Records a call of an op, by its name: `call("sin", x)`."""


def in_ops(builder: Builder, node: Node) -> Callable[[], Any] | None:
    """A function that records what a node computes in ops; None where the node calls nothing known here."""
    if node.target is apply_at and node.args[0] in (np.maximum, np.minimum):
        return lambda: _extreme_at(builder, node)
    try:
        said = _SAID.get(node.target)
    except TypeError:  # something that cannot be looked up
        return None
    if said is None:
        said = _SPECIAL.get(special_name(node.target) or "")
    if said is None or (node.kwargs and said is not _windows):
        return None

    def call(name: str, *args: Any) -> Any:
        return builder.call(TABLE[name], *args)

    return lambda: said(call, *map(builder.value, node.args), **builder.value(dict(node.kwargs)))


def _extreme_at(builder: Builder, node: Node) -> Any:
    """`np.maximum.at(a, key, value)`: all that equal the result share in it."""
    _, a, key, value = builder.value(node.args)

    def call(name: str, *args: Any) -> Any:
        return builder.call(TABLE[name], *args)

    y = call("stop_gradient", builder.value(node))
    mine, theirs = call("equal", a, y), call("equal", value, call("getitem", y, key))
    none = call("zeros_like", y)
    sums = call("index_add", call("where", mine, a, 0.0), key, call("where", theirs, value, 0.0))
    count = call("index_add", call("where", mine, 1.0, none), key, call("where", theirs, 1.0, 0.0))
    return call("divide", sums, count)


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


def _gamma(call: Call, x: Any) -> Any:
    """exp(lgamma(x)), with the sign that turns at each whole number left of 0."""
    odd = call("remainder", call("floor", call("stop_gradient", x)), 2.0)
    sign = call("where", call("greater", x, 0), 1.0, call("subtract", 1.0, call("multiply", odd, 2.0)))
    return call("multiply", call("exp", call("lgamma", x)), sign)


def _times_log(call: Call, x: Any, y: Any, log: str = "log") -> Any:
    """x log(y), 0 where x is."""
    zero = call("equal", x, 0)
    safe = call("where", zero, 1.0, y)
    return call("where", zero, 0.0, call("multiply", x, call(log, safe)))


def _below(call: Call, x: Any) -> Any:
    """The share of a normal distribution below x."""
    return call("multiply", call("erfc", call("multiply", x, -math.sqrt(0.5))), 0.5)


def _windows(call: Call, x: Any, window_shape: Any, axis: Any = None, **_: Any) -> Any:
    """`sliding_window_view`: along each axis, the elements from each place on, as a dimension at the end."""
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = len(x.shape)
    for size, each in zip(sizes, axes, strict=True):
        at = each % ndim
        starts = call("arange", x.shape[at] - size + 1)
        places = call("add", call("reshape", starts, (-1, 1)), np.arange(size))
        x = call("moveaxis", call("take", x, places, at), at + 1, -1)
    return x


def _matvec(call: Call, matrix: Any, vector: Any) -> Any:
    return call("squeeze", call("matmul", matrix, call("expand_dims", vector, -1)), -1)


def _vecmat(call: Call, vector: Any, matrix: Any) -> Any:
    return call("squeeze", call("matmul", call("expand_dims", call("conj", vector), -2), matrix), -2)


_SPECIAL: dict[str, Callable[..., Any]] = {
    "entr": lambda call, x: call("negative", _times_log(call, x, x)),
    "exp10": lambda call, x: call("exp", call("multiply", x, math.log(10))),
    "gamma": _gamma,
    "ndtr": _below,
    "xlog1py": lambda call, x, y: _times_log(call, x, y, "log1p"),
    "xlogy": _times_log,
}


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
    math.gamma: _gamma,
    math.ldexp: lambda call, value, power: call("ldexp", value, power),
    np.lib.stride_tricks.sliding_window_view: _windows,
    **({np.matvec: _matvec, np.vecmat: _vecmat} if hasattr(np, "matvec") else {}),
    cmath.phase: _of_complex("angle"),
    **{
        getattr(cmath, name): _of_complex(name)
        for name in "exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
    },
}
