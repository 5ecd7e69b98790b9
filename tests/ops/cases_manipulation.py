"""Cases of `ops/manipulation.py`: movement has the reference's values and dtype, whatever the dtype."""

from typing import Any

import numpy as np
from cases import case, integers, normal

DTYPES = (np.float32, np.float16, np.int8, np.uint64, np.bool_, np.complex64)

A = normal(2, 3)
B = normal(2, 3, 4)
C = normal(2, 3, dtype=complex)


def ref_flatten(x, start_dim=0, end_dim=-1):
    shape = x.shape or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    return x.reshape((*shape[:start], np.prod(shape[start : end + 1], dtype=int), *shape[end + 1 :]))


# reshape
case("reshape", A, (3, 2), ref=np.reshape)
case("reshape", B, (-1, 6), ref=np.reshape)
case("reshape", B, 24, ref=np.reshape)
case("reshape", A, (np.int64(6), 1), ref=np.reshape)
case("reshape", normal(1), (), ref=np.reshape)
case("reshape", normal(), (1, 1), ref=np.reshape)
case("reshape", normal(2, 0), (0, 5), ref=np.reshape)
case("reshape", C, (6,), ref=np.reshape)
case("reshape", A, (3, 2), copy=True, ref=lambda x, shape, copy: np.array(x).reshape(shape))
case("reshape", A, (3, 2), copy=False, ref=lambda x, shape, copy: x.reshape(shape))

# order of the dimensions
case("permute_dims", B, (2, 0, 1), ref=np.transpose)
case("permute_dims", B, axes=(-1, 0, 1), ref=np.transpose)
case("permute_dims", B, ref=np.transpose)
case("permute_dims", normal(), ref=np.transpose)
case("permute_dims", normal(0, 3), (1, 0), ref=np.transpose)
case("permute_dims", C, (1, 0), ref=np.transpose)
case("moveaxis", B, 0, -1, ref=np.moveaxis)
case("moveaxis", B, (0, 2), (1, 0), ref=np.moveaxis)
case("moveaxis", B, [-1, 0], [0, 1], ref=np.moveaxis)
case("moveaxis", normal(2, 0, 3), 2, 0, ref=np.moveaxis)
case("moveaxis", C, 0, 1, ref=np.moveaxis)
case("swapaxes", B, 0, 2, ref=np.swapaxes)
case("swapaxes", B, -1, 1, ref=np.swapaxes)
case("swapaxes", C, 0, 0, ref=np.swapaxes)

# dimensions of size one, joined dimensions
case("expand_dims", A, ref=lambda x: np.expand_dims(x, 0))
case("expand_dims", A, 1, ref=np.expand_dims)
case("expand_dims", A, axis=-1, ref=np.expand_dims)
case("expand_dims", A, axis=(0, 2), ref=np.expand_dims)
case("expand_dims", normal(), 0, ref=np.expand_dims)
case("expand_dims", normal(0), -1, ref=np.expand_dims)
case("expand_dims", C, 1, ref=np.expand_dims)
case("squeeze", normal(1, 3, 1), ref=np.squeeze)
case("squeeze", normal(1, 3, 1), 0, ref=np.squeeze)
case("squeeze", normal(1, 3, 1), axis=(0, -1), ref=np.squeeze)
case("squeeze", normal(1, 0, 1), axis=2, ref=np.squeeze)
case("squeeze", normal(1, 2, dtype=complex), 0, ref=np.squeeze)
case("ravel", B, ref=np.ravel)
case("ravel", normal(), ref=np.ravel)
case("ravel", normal(2, 0), ref=np.ravel)
case("ravel", C, ref=np.ravel)
case("flatten", B, ref=ref_flatten)
case("flatten", B, 1, ref=ref_flatten)
case("flatten", B, end_dim=1, ref=ref_flatten)
case("flatten", B, -2, -1, ref=ref_flatten)
case("flatten", normal(), ref=ref_flatten)
case("flatten", normal(2, 0, 3), 1, ref=ref_flatten)
case("flatten", C, ref=ref_flatten)
for dim in (0, 1, 2, 3):
    case("atleast_1d", normal(*(2, 3, 1)[:dim]), ref=np.atleast_1d)
    case("atleast_2d", normal(*(2, 3, 1)[:dim]), ref=np.atleast_2d)
# A Python scalar has no Spec: the body evaluates it.
case("atleast_1d", 2.5, ref=np.atleast_1d, _infer=False)
case("atleast_2d", 3, ref=np.atleast_2d, _infer=False)

# broadcasting and repetition
case("broadcast_to", normal(3), (2, 3), ref=np.broadcast_to)
case("broadcast_to", normal(2, 1), (4, 2, 3), ref=np.broadcast_to)
case("broadcast_to", normal(), (2,), ref=np.broadcast_to)
case("broadcast_to", normal(), 2, ref=np.broadcast_to)


def _summed(x: Any, shape: Any) -> Any:
    """By the definition: each element is added to the one that broadcasting takes for it."""
    total = np.zeros(shape, x.dtype)
    places = np.broadcast_to(np.arange(total.size).reshape(total.shape), x.shape)
    np.add.at(total.reshape(-1), places.reshape(-1), x.reshape(-1))
    return total[()]


for x, shape in (
    ((4, 2, 3), (2, 3)),
    ((4, 2, 3), (2, 1)),
    ((4, 2, 3), (1, 1, 3)),
    ((3,), ()),
    ((3,), 1),
    ((2, 3), (2, 3)),
    ((0, 3), (3,)),
    ((), ()),
):
    case("sum_to", normal(*x), shape, ref=_summed)
case("broadcast_to", normal(), (), ref=np.broadcast_to)
case("broadcast_to", normal(1, 3), (0, 3), ref=np.broadcast_to)
case("broadcast_to", normal(3, dtype=complex), (2, 3), ref=np.broadcast_to)
case("broadcast_arrays", normal(2, 1), normal(3), ref=np.broadcast_arrays)
case("broadcast_arrays", normal(), normal(3, dtype=np.float32), integers(0, 5, 2, 1), ref=np.broadcast_arrays)
case("broadcast_arrays", normal(2), ref=np.broadcast_arrays)
case("broadcast_arrays", normal(1, 2, dtype=complex), normal(0, 1), ref=np.broadcast_arrays)
case("tile", A, (2, 3), ref=np.tile)
case("tile", A, 2, ref=np.tile)
case("tile", normal(2), (3, 1, 2), ref=np.tile)
case("tile", B, (2,), ref=np.tile)
case("tile", A, (0, 2), ref=np.tile)
case("tile", normal(), (), ref=np.tile)
case("tile", normal(), 3, ref=np.tile)
case("tile", normal(2, 0), (2, 2), ref=np.tile)
case("tile", C, (1, 2), ref=np.tile)
case("repeat", A, 2, ref=np.repeat)
case("repeat", A, 3, axis=0, ref=np.repeat)
case("repeat", A, 2, -1, ref=np.repeat)
case("repeat", A, 0, axis=1, ref=np.repeat)
case("repeat", normal(), 3, ref=np.repeat)
case("repeat", normal(2, 0), 2, axis=0, ref=np.repeat)
case("repeat", C, 2, axis=1, ref=np.repeat)
case("repeat", A, [1, 0, 2], axis=1, ref=np.repeat)
case("repeat", A, (2, 3), 0, ref=np.repeat)
# The size of the result is the sum of the repeats: a value, which the shape rule does not have here.
case("repeat", A, np.array([2, 1]), axis=0, ref=np.repeat, _infer=False)
case("repeat", A, np.array([2]), axis=-1, ref=np.repeat, _infer=False)
case("repeat", A, np.array(2), ref=np.repeat, _infer=False)
case("repeat", A, integers(0, 3, 6), ref=np.repeat, _infer=False)
case("repeat", A, np.int64(2), axis=0, ref=np.repeat, _infer=False)

# reordering
case("flip", B, ref=np.flip)
case("flip", B, 1, ref=np.flip)
case("flip", B, axis=(0, -1), ref=np.flip)
case("flip", normal(), ref=np.flip)
case("flip", normal(0, 2), axis=0, ref=np.flip)
case("flip", C, axis=-1, ref=np.flip)
case("roll", A, 1, ref=np.roll)
case("roll", A, -2, axis=1, ref=np.roll)
case("roll", A, (1, 5), axis=(0, -1), ref=np.roll)
case("roll", A, (1, 2), axis=(1, 1), ref=np.roll)
case("roll", A, 1, axis=(0, 1), ref=np.roll)
case("roll", normal(), 3, ref=np.roll)
case("roll", normal(0, 3), 1, axis=0, ref=np.roll)
case("roll", C, 2, axis=1, ref=np.roll)
for k in (-1, 0, 1, 2, 3, 5):
    case("rot90", A, k, ref=np.rot90)
case("rot90", B, 1, (2, 0), ref=np.rot90)
case("rot90", C, k=3, axes=(-1, 0), ref=np.rot90)

for dtype in DTYPES:
    x = integers(0, 2, 2, 3).astype(dtype)
    case("reshape", x, (3, 2), ref=np.reshape)
    case("permute_dims", x, ref=np.transpose)
    case("moveaxis", x, 0, 1, ref=np.moveaxis)
    case("expand_dims", x, 1, ref=np.expand_dims)
    case("squeeze", x[:1], 0, ref=np.squeeze)
    case("broadcast_to", x, (2, 2, 3), ref=np.broadcast_to)
    case("tile", x, (2, 1), ref=np.tile)
    case("repeat", x, 2, axis=0, ref=np.repeat)
    case("flip", x, 0, ref=np.flip)
    case("roll", x, 1, ref=np.roll)
