"""What a NumPy call on a proxy is recorded as: the weft op that means the same, or the NumPy function itself.

Most functions of NumPy that have an op mean it with any arguments; where some arguments mean something else, or the
result is of another type, the function itself is recorded. Calls that write into an array are refused: the program
would go on with an array that was never written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from weft._where import user_location
from weft.autograd import Tensor
from weft.errors import TraceError
from weft.ops import op_of

_REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}
_WRITING = frozenset({np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis})
# Functions written in C, which tell their signature in newer versions of NumPy only.
_IN_C = {np.concatenate: ("arrays", "axis", "out"), np.dot: ("a", "b", "out"), np.inner: ("a", "b")}

# Where `out` stands among the arguments of methods of arrays.
_OUT_OF_METHODS = {
    **dict.fromkeys(("all", "any", "argmax", "argmin", "max", "min", "dot", "round", "choose"), 1),
    **dict.fromkeys(("sum", "prod", "mean", "cumsum", "cumprod", "std", "var", "clip", "take", "compress"), 2),
    "ptp": 1,
    "trace": 4,
}

# Methods of arrays that change nothing; any other method may change its object.
READING_METHODS = frozenset(
    name
    for name in {*dir(np.ndarray), *dir(Tensor)}
    if not name.startswith("__") and name not in ("fill", "partition", "put", "resize", "setfield", "setflags", "sort")
)

Given = dict[str, Any]


def _always(given: Given) -> bool:
    return True


def _has_number(given: Given) -> bool:
    """Whether a Python number is given where these functions make an array of it, which then promotes the result."""
    return any(type(value) in (bool, int, float, complex) for value in given.values())


def _is_one_of(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in names


_PADS = ("constant", "edge", "reflect", "symmetric", "wrap")
_ENDS = ("prepend", "append")

# Calls in which a function of NumPy means something else than its op.
_DIFFERS: dict[Any, Callable[[Given], bool]] = {
    np.split: _always,  # a list; the op gives a tuple
    np.linalg.eig: _always,  # real where all eigenvalues are; the op gives complex numbers always
    np.linalg.eigvals: _always,
    np.meshgrid: _always,  # flattens its arguments first
    np.pad: lambda given: not _is_one_of(given.get("mode", "constant"), _PADS),
    np.linalg.qr: lambda given: not _is_one_of(given.get("mode", "reduced"), ("reduced", "complete")),
    np.var: lambda given: given.get("dtype") is not None,  # NumPy gives the result this dtype too, and takes any
    np.std: lambda given: given.get("dtype") is not None,
    np.diff: lambda given: _has_number({name: given.get(name) for name in _ENDS}),
    np.dot: _has_number,
    np.inner: _has_number,
    np.cross: lambda given: "axis" in given and given["axis"] is None,
}


def ufunc_target(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The target of the node for `ufunc(*inputs, **kwargs)` or one of its methods."""
    if any(array is not None for array in kwargs.get("out") or ()):
        raise _writes(f"np.{ufunc.__name__}(…, out=…)")
    if method != "__call__":
        raise TraceError(
            f"np.{ufunc.__name__}.{method} on a traced value is not recorded by symbolic tracing",
            where=_where(),
            help=f"write np.{_REDUCTIONS[ufunc]}(…, axis=0)"
            if method == "reduce" and ufunc in _REDUCTIONS
            else "put it in a function of your own and mark that with weft.wrap",
        )
    return _target(ufunc, inputs, kwargs)


def function_target(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op that means the same as the NumPy function where it takes these arguments, else the function."""
    if function in _WRITING:
        raise _writes(f"np.{function.__name__}")
    given = _given(function, args, kwargs)
    if given.get("out") is not None:
        raise _writes(f"np.{function.__name__}(…, out=…)")
    if function is np.nan_to_num and not given.get("copy", True):
        raise _writes("np.nan_to_num(…, copy=False)")
    differs = _DIFFERS.get(function)
    # `out=None` by position stands where an op has another parameter.
    if (differs is not None and differs(given)) or ("out" in given and "out" not in kwargs):
        return function
    return _target(function, args, kwargs)


def check_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse the call of a method that is given an array to write into."""
    position = _OUT_OF_METHODS.get(name, len(args))
    out = kwargs.get("out", args[position] if position < len(args) else None)
    if isinstance(out, (np.ndarray, Tensor)):
        raise _writes(f"x.{name}(…, out=…)")


def _target(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    op = op_of(function)
    if op is None:
        return function
    try:
        op.bind(args, kwargs)
    except TypeError:
        return function
    return op


def _given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """The arguments of a call by the names NumPy gives them."""
    return {**dict(zip(_positional(function), args, strict=False)), **kwargs}


@lru_cache(maxsize=1024)
def _positional(function: Any) -> tuple[str, ...]:
    """The names of the parameters that may be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _IN_C.get(function, ())
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _writes(call: str) -> TraceError:
    return TraceError(
        f"{call} writes into an array, which symbolic tracing does not record",
        where=_where(),
        help="use the result instead: y = f(x)",
    )


def _where() -> str:
    return str(user_location())
