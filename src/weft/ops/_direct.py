"""Derivative rules for plain arrays: the same code, with every op in it replaced by the function that evaluates it.

A rule calls ops, and an op looks at its arguments to find who answers. Where all of them are known to be NumPy's that
search is in vain, and for small arrays it costs more than the arithmetic.
"""

from __future__ import annotations

from functools import cache
from types import CellType, FunctionType
from typing import Any

import numpy as np

from weft.errors import NotDifferentiable

_by_module: dict[int, tuple[Any, dict[str, Any]]] = {}


def direct(rule: Any) -> Any:
    """The rule as a function of arrays alone."""
    if isinstance(rule, NotDifferentiable):
        return rule
    slope = getattr(rule, "slope", None)
    if slope is None:
        return _without_ops(rule)
    slope = _without_ops(slope)

    def times_slope(g: Any, y: Any, *arguments: Any) -> Any:
        factor = slope(y, *arguments)
        if type(factor) is int:
            return g if factor == 1 else -g if factor == -1 else 0 if is_flat(factor, arguments) else g * factor
        kind = getattr(factor, "dtype", None)
        return g * (np.conj(factor) if kind is None or kind.kind == "c" else factor)

    return times_slope


@cache
def _without_ops(function: Any) -> Any:
    if not isinstance(function, FunctionType):
        return function
    closure = tuple(CellType(_evaluating(cell.cell_contents)) for cell in function.__closure__ or ())
    names = _names(function.__globals__)
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure or None)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _names(module: dict[str, Any]) -> dict[str, Any]:
    """What a module's functions see, with ops replaced, and functions of this room by ones that see the same."""
    known = _by_module.get(id(module))
    if known is None:
        known = (module, {})
        _by_module[id(module)] = known  # before its functions are made, which need it
        known[1].update({name: _evaluating(value) for name, value in module.items()})
    return known[1]


def _evaluating(value: Any) -> Any:
    if isinstance(value, Op):
        return value.eval
    if isinstance(value, FunctionType) and value.__module__.startswith("weft.ops."):
        return _without_ops(value)
    return value


from weft.ops._op import Op, is_flat  # noqa: E402  # ops ask for their direct rules, which know what an op is
