"""What a NumPy call on a proxy is recorded as: the weft op that means the same, or the NumPy function itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft._where import user_location
from weft.errors import TraceError
from weft.ops import op_of

_REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}


def ufunc_target(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The target of the node for `ufunc(*inputs, **kwargs)` or one of its methods."""
    if kwargs.get("out") is not None:
        raise TraceError(
            f"np.{ufunc.__name__}(…, out=…) writes into an array, which symbolic tracing does not record",
            where=_where(),
            help="use the result instead, or capture the program with weft.script, which records writes",
        )
    if method != "__call__":
        raise TraceError(
            f"np.{ufunc.__name__}.{method} on a traced value is not recorded by symbolic tracing",
            where=_where(),
            help=f"write np.{_REDUCTIONS[ufunc]}(…, axis=0)"
            if method == "reduce" and ufunc in _REDUCTIONS
            else "mark a function of your own with weft.wrap, or capture the program with weft.script",
        )
    return function_target(ufunc, inputs, kwargs)


def function_target(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op that means the same as the NumPy function where it takes these arguments, else the function."""
    op = op_of(function)
    if op is None:
        return function
    try:
        op.bind(args, kwargs)
    except TypeError:
        return function
    return op


def _where() -> str:
    return str(user_location())
