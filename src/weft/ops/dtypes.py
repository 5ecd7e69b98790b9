"""Data types: casting, asking about them, and how they combine.

Only `astype` is an op. The rest answer at once, for arrays, Specs and every other weft value, since a dtype is known
before its array is.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.ops._cost import CHEAP
from weft.ops._families import op
from weft.ops._spec import Spec, shape_of

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@op(
    arrays=("x",),
    infer=lambda x, dtype, copy, device, order: Spec(shape_of(x), dtype),
    vjp=lambda g, y, x, dtype, copy, device, order: g,
    numpy=(np.astype,) if hasattr(np, "astype") else (),
    linear=True,
    memory=None,
    always_array=True,
    cost=CHEAP,
)
def astype(x: Any, /, dtype: Any, *, copy: builtins.bool = True, device: Any = None, order: str = "K") -> Any:
    """The array in another dtype; the same array where it has that dtype already and `copy` is false.

    `order` says how a copy lies in memory: "C" by rows, "F" by columns, "K" as the array does.
    """
    if device not in (None, "cpu"):
        raise ValueError(f"astype: expected device None or 'cpu', got {device!r}")
    return np.asarray(x).astype(dtype, order, copy=copy)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether every value of one dtype, or of an array's, has a place in another.

    >>> can_cast("int16", "float32"), can_cast("int32", "float32")
    (True, False)
    """
    return np.can_cast(_dtype(from_), _dtype(to))


def finfo(type: Any, /) -> np.finfo[Any]:
    """The limits of a float or complex dtype or array: `bits`, `eps`, `max`, `min`, `smallest_normal`, `dtype`.

    >>> finfo("float32").bits
    32
    """
    return np.finfo(_dtype(type))


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """The limits of an integer dtype or array: `bits`, `max`, `min`, `dtype`.

    >>> iinfo("int8").max
    127
    """
    return np.iinfo(_dtype(type))


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is another, or of a kind: "bool", "signed integer", "integral", "real floating", "numeric", ...

    >>> isdtype("float32", "real floating"), isdtype("int8", ("bool", "unsigned integer"))
    (True, False)
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return builtins.any(_is_kind(_dtype(dtype), each) for each in kinds)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python numbers promote to together; a Python number gives way to a dtype.

    >>> result_type(np.zeros(2, "float32"), "int16", 1.5)
    dtype('float32')
    """
    numbers = (int, float, complex)
    plain = (v if isinstance(v, numbers) and not hasattr(v, "dtype") else _dtype(v) for v in arrays_and_dtypes)
    return np.result_type(*plain)


def _is_kind(dtype: np.dtype[Any], kind: Any) -> builtins.bool:
    try:
        return np.isdtype(dtype, kind)
    except (TypeError, ValueError):
        if isinstance(kind, str):
            raise ValueError(f"isdtype: {kind!r} is not a kind of dtype") from None
        return builtins.bool(dtype == np.dtype(kind))


def _dtype(value: Any) -> np.dtype[Any]:
    """The dtype that a value is, or has; an array-like without one is looked at."""
    if isinstance(value, (builtins.type, str, np.dtype)):
        return np.dtype(value)
    found = getattr(value, "dtype", None)
    return np.asarray(value).dtype if found is None else np.dtype(found)
