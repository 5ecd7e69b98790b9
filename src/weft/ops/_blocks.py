"""What pointwise kernels share: which dtypes they take, and working on a block at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from weft.errors import DtypeError
from weft.ops._families import pointwise_dtype
from weft.ops._parallel import each
from weft.ops._spec import Spec, shape_of


def real_numbers(name: str, x: Any) -> Any:
    """The argument as an array; complex numbers have no order, so an op that needs one refuses them."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name}: expected real numbers, got {x.dtype}")
    return x


def floating(name: str, x: Any) -> Any:
    """The argument as a real floating array; integers become float64."""
    x = real_numbers(name, x)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def float_spec(name: str, check: Callable[..., None] = lambda *parameters: None) -> Callable[..., Spec]:
    """The shape rule of a pointwise op with further, plain parameters and a floating result."""

    def infer(x: Any, *parameters: Any) -> Spec:
        check(*parameters)
        return Spec(shape_of(x), pointwise_dtype(converter(name), x))

    return infer


@cache
def converter(name: str) -> Callable[[Any], Any]:
    return partial(floating, name)


BLOCK = 65536  # elements at a time, so that a block and its temporaries stay in the cache


def by_blocks(function: Callable[..., Any], x: Any, *parameters: Any) -> Any:
    """A function of each element, worked out a block at a time; it may not change the block."""
    if x.size <= BLOCK:
        return function(x, *parameters)
    flat = x.reshape(-1)
    y = np.empty(flat.shape, x.dtype)

    def work(start: int) -> None:
        y[start : start + BLOCK] = function(flat[start : start + BLOCK], *parameters)

    each(work, range(0, flat.size, BLOCK))
    return y.reshape(x.shape)
