"""NumPy's functions called with Tensors: those that mean an op give Tensors, those that only look give what they find.

Others are refused: they would take the values, and lose the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.autograd._inplace import write_out
from weft.autograd._tensor import unwrap
from weft.ops._numpy import binds, op_call
from weft.ops._op import op_of
from weft.ops._scipy import special_name, special_op
from weft.ops._ufunc_methods import method_arguments, ufunc_method

# NumPy functions that ask about values rather than compute with them: no derivative is lost in the answer.
_ABOUT = frozenset(
    {np.allclose, np.array2string, np.array_equal, np.array_equiv, np.array_repr, np.array_str, np.can_cast}
    | {np.iscomplexobj, np.isrealobj, np.may_share_memory, np.ndim, np.result_type, np.save, np.savez, np.shape}
    | {np.shares_memory, np.size}
)


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc(*inputs)`, or one of its methods: `np.add.reduce(t)`."""
    if method not in ("__call__", "at") and "out" not in kwargs:
        arrays, given = method_arguments(method, inputs, kwargs)
        by_method = ufunc_method(ufunc, method, given)
        if method == "outer":
            given["ufunc"] = ufunc.__name__
        if by_method is not None and binds(by_method, arrays, given):
            return by_method(*arrays, **given)
    op = op_of(ufunc) or special_op(ufunc)
    if op is None or method != "__call__" or (kwargs and set(kwargs) != {"out"}):
        home = "np" if special_name(ufunc) is None else "scipy.special"
        raise _no_op(f"{home}.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"), kwargs)
    return write_out(kwargs["out"], op, inputs) if kwargs else op(*inputs)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's that is no ufunc."""
    op = op_of(function)
    if op is None and function in _ABOUT:
        return function(*unwrap(args), **unwrap(kwargs))
    if op is None:
        raise _no_op(f"{function.__module__}.{function.__name__}", {})
    op, args, kwargs = op_call(function, args, kwargs) or (op, args, kwargs)
    return op(*args, **kwargs)


def _no_op(name: str, kwargs: dict[str, Any]) -> TypeError:
    given = f" with {', '.join(kwargs)}" if kwargs else ""
    return TypeError(
        f"{name}{given} has no weft op, so it does not take a Tensor; pass t.numpy(), or use weft's function"
    )
