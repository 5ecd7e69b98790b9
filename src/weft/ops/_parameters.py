"""What the ops that draw accept: shapes, dtypes, and parameters that are numbers or arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._dim import Dim
from weft.ops._spec import Shape, broadcast_shapes, dtype_of, shape_of
from weft.ops.dtypes import astype


def is_number(value: Any) -> bool:
    """Whether a parameter is one of Python's numbers, which take on the dtype of what they meet."""
    return type(value) in (int, float)


def number(name: str, what: str, value: Any) -> float:
    """A parameter that has to be a number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: {what} is a number, got {type(value).__name__}")
    return float(value)


def counted(name: str, what: str, value: Any) -> int:
    """A parameter that has to be a whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {what} is a whole number, got {value!r}") from None


def plain_shape(name: str, shape: Any) -> Shape:
    """A shape given as a number or a sequence of them."""
    found = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    plain = tuple(d if type(d) is int else _dimension(name, shape, d) for d in found)
    if any(d < 0 for d in plain if type(d) is int):
        raise ShapeError(f"{name}: dimensions are not negative, got {shape}")
    return plain


def _dimension(name: str, shape: Any, dim: Any) -> Any:
    if isinstance(dim, Dim):
        return dim
    try:
        return operator.index(dim)
    except TypeError:
        raise TypeError(f"{name}: a shape holds whole numbers, got {shape!r}") from None


def full_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """The shape of what is drawn: the one given, which the parameters must fit, or else that of the parameters."""
    own = broadcast_shapes(name, *(shape_of(p) for p in parameters))
    if shape is None:
        return own
    wanted = plain_shape(name, shape)
    if own and broadcast_shapes(name, wanted, own) != wanted:
        raise ShapeError(f"{name}: parameters of shape {own} do not fit the shape {wanted}")
    return wanted


def float_dtype(name: str, dtype: Any, *parameters: Any) -> np.dtype[Any]:
    """The dtype of what is drawn: the one given, else that of the parameters that are floating arrays, else float64."""
    if dtype is None:
        own = [dtype_of(p) for p in parameters if not isinstance(p, (int, float)) or isinstance(p, np.generic)]
        if any(d.kind not in "fiub" for d in own):
            raise DtypeError(f"{name}: parameters are real numbers, got {', '.join(map(str, own))}")
        floats = [d for d in own if d.kind == "f"]
        dtype = np.result_type(*floats) if floats else np.float64
    found = np.dtype(dtype)
    if found not in (np.float64, np.float32, np.float16):
        raise DtypeError(f"{name}: dtype must be float16, float32 or float64, got {found}")
    return found


def as_dtype(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """A parameter in the dtype of what is drawn; a number as one of Python's, which takes on any."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, bool) else value
    found = dtype_of(value)
    if found.kind not in "fiub":
        raise DtypeError(f"{name}: parameters are real numbers, got {found}")
    return value if found == dtype else astype(value, dtype)


def values(value: Any) -> Any:
    """The values of a parameter, where it has any yet; None of what only stands for an array."""
    return np.asarray(value) if is_number(value) or hasattr(value, "__array__") else None
