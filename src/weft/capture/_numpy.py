"""What a NumPy call on a proxy is recorded as: the weft op that means the same, or the NumPy function itself.

Calls that write into an array are refused: the program would go on with an array that was never written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft._where import user_location
from weft.autograd import Tensor
from weft.errors import TraceError
from weft.graph._effects import OUT_OF_METHODS
from weft.ops._numpy import arguments_given, op_call
from weft.ops._ufunc_methods import method_arguments, ufunc_method

_WRITING = frozenset({np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis})
# Methods of arrays that change their object, and what gives a new array instead.
_IN_PLACE = {
    "fill": "weft.full_like(x, value)",
    "partition": "np.partition(x, k)",
    "put": "weft.index_update(x, key, value)",
    "resize": "np.resize(x, shape)",
    "setfield": "weft.index_update(x, key, value)",
    "setflags": "x.copy()",
    "sort": "weft.sort(x)",
}

# Methods of arrays that change nothing; any other method may change its object.
READING_METHODS = frozenset(
    name for name in {*dir(np.ndarray), *dir(Tensor)} if not name.startswith("__") and name not in _IN_PLACE
)


def ufunc_call(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The target and the arguments of the node for `ufunc(*inputs, **kwargs)` or one of its methods."""
    if any(array is not None for array in kwargs.get("out") or ()):
        raise _writes(f"np.{ufunc.__name__}(…, out=…)")
    if method == "__call__":
        return op_call(ufunc, inputs, kwargs) or (ufunc, inputs, kwargs)
    arrays, given = method_arguments(method, inputs, kwargs)
    op = ufunc_method(ufunc, method, given)
    if method == "outer":
        given["ufunc"] = ufunc.__name__
    try:
        if op is not None:
            op.bind(arrays, given)
            return op, arrays, given
    except TypeError:
        pass
    raise TraceError(
        f"np.{ufunc.__name__}.{method} on a traced value is not recorded by symbolic tracing",
        where=_where(),
        help="put it in a function of your own and mark that with weft.wrap",
    )


def function_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The op that means the same as the NumPy function, and its arguments; else the function as it was called."""
    if function in _WRITING:
        raise _writes(f"np.{function.__name__}")
    given = arguments_given(function, args, kwargs)
    if given.get("out") is not None:
        raise _writes(f"np.{function.__name__}(…, out=…)")
    if function is np.nan_to_num and not given.get("copy", True):
        raise _writes("np.nan_to_num(…, copy=False)")
    return op_call(function, args, kwargs) or (function, args, kwargs)


def check_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse the call of a method that changes its object, or is given an array to write into."""
    if name in _IN_PLACE:
        raise TraceError(
            f"x.{name}() changes x in place, which symbolic tracing does not record",
            where=_where(),
            help=f"use {_IN_PLACE[name]}, which gives a new array; weft.script captures writes from source",
        )
    position = OUT_OF_METHODS.get(name, len(args))
    out = kwargs.get("out", args[position] if position < len(args) else None)
    if isinstance(out, (np.ndarray, Tensor)):
        raise _writes(f"x.{name}(…, out=…)")


def _writes(call: str) -> TraceError:
    return TraceError(
        f"{call} writes into an array, which symbolic tracing does not record",
        where=_where(),
        help="use the result instead: y = f(x)",
    )


def _where() -> str:
    return str(user_location())
