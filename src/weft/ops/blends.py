"""Sums of products under torch's names: lerp, addmm, addcmul and their kin, and logit.

In the matrix forms `beta` weighs the array itself and `alpha` the product; with `beta=0` the array does not count, be
it NaN.
"""

from __future__ import annotations

from typing import Any

from weft.ops._families import composite
from weft.ops._spec import broadcast_shapes, shape_of
from weft.ops.elementwise import add, clip, divide, multiply, subtract
from weft.ops.linalg import matmul, outer
from weft.ops.manipulation import broadcast_to
from weft.ops.numbers import copy
from weft.ops.transcendental import log

__all__ = ["addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm", "lerp", "logit"]


@composite(arrays=("x", "end", "weight"))
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """From x on towards `end` by the share `weight`: x + weight * (end - x)."""
    return add(x, multiply(weight, subtract(end, x)))


@composite(arrays=("x", "tensor1", "tensor2"))
def addcmul(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + value * tensor1 * tensor2."""
    return add(x, _times(value, multiply(tensor1, tensor2)))


@composite(arrays=("x", "tensor1", "tensor2"))
def addcdiv(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + value * tensor1 / tensor2."""
    return add(x, _times(value, divide(tensor1, tensor2)))


@composite(arrays=("x", "mat1", "mat2"))
def addmm(x: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * (mat1 @ mat2)."""
    return _blend(x, matmul(mat1, mat2), beta, alpha)


@composite(arrays=("x", "mat", "vec"))
def addmv(x: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * (mat @ vec)."""
    return _blend(x, matmul(mat, vec), beta, alpha)


@composite(arrays=("x", "vec1", "vec2"))
def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha times the outer product of two vectors."""
    return _blend(x, outer(vec1, vec2), beta, alpha)


@composite(arrays=("x", "batch1", "batch2"))
def baddbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * (batch1 @ batch2), matrix by matrix."""
    return _blend(x, matmul(batch1, batch2), beta, alpha)


@composite()
def logit(x: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), the inverse of sigmoid; with `eps`, of x brought into [eps, 1 - eps]."""
    inside = x if eps is None else clip(x, eps, 1 - eps)
    return log(divide(inside, subtract(1, inside)))


def _times(factor: Any, value: Any) -> Any:
    return value if isinstance(factor, (int, float)) and factor == 1 else multiply(factor, value)


def _blend(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    if isinstance(beta, (int, float)) and beta == 0:
        shape = broadcast_shapes("addmm", shape_of(x), shape_of(product))
        return copy(broadcast_to(_times(alpha, product), shape))
    return add(_times(beta, x), _times(alpha, product))
