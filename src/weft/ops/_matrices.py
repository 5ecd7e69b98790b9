"""What the ops of linear algebra share: checks of matrix shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._dim import agree
from weft.ops._families import conj
from weft.ops._op import TABLE, Op
from weft.ops._spec import Shape, broadcast_shapes, shape_of


def put_in(module: str, *ops: Op) -> None:
    """Say where a user finds these ops: `weft.linalg.cholesky`, not `weft.cholesky`."""
    for each in ops:
        each.__module__ = module


def adjoint(x: Any) -> Any:
    """The conjugate transpose of a stack of matrices."""
    return conj(TABLE["matrix_transpose"](x))


def matrix_shape(name: str, x: Any) -> Shape:
    """Shape of a matrix or a stack of them."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ShapeError(f"{name}: expected a matrix or a stack of matrices, got shape {shape}")
    return shape


def square_shape(name: str, x: Any) -> Shape:
    """Shape of a square matrix or a stack of them."""
    shape = matrix_shape(name, x)
    if not agree(shape[-1], shape[-2]):
        raise ShapeError(f"{name}: expected square matrices, got shape {shape}, {shape[-2]} != {shape[-1]}")
    return shape


def inexact(name: str, *xs: Any) -> np.dtype[Any]:
    """The floating dtype of a result: that of the arguments, float64 for integers; LAPACK knows no half precision."""
    dtypes = [np.dtype(x.dtype) for x in xs]
    for dtype in dtypes:
        if dtype.kind not in "biufc" or dtype == np.float16:
            raise DtypeError(
                f"{name}: expected integers, float32, float64, complex64 or complex128, got {dtype}",
                help="convert first, for example with astype(x, weft.float32)",
            )
    return np.result_type(*(d if d.kind in "fc" else np.dtype(np.float64) for d in dtypes))


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The real dtype of the same precision."""
    return np.empty(0, dtype).real.dtype


def inner_shapes(name: str, a: Shape, b: Shape, m: int, n: int) -> None:
    """Refuse a product whose inner dimensions differ."""
    if not agree(m, n):
        raise ShapeError(f"{name}: inner dimensions differ: {a} @ {b}, {m} != {n}")


def stack_shapes(name: str, a: Shape, b: Shape) -> Shape:
    """The common shape of the leading dimensions of two stacks of matrices."""
    try:
        return broadcast_shapes(name, a[:-2], b[:-2])
    except ShapeError:
        raise ShapeError(f"{name}: stacks of matrices do not broadcast: {a} and {b}") from None
