"""Cases of `ops/joining.py` and `ops/padding.py`."""

import numpy as np
from cases import case, integers, normal

DTYPES = (np.float32, np.float16, np.int8, np.uint64, np.bool_, np.complex64)


def ref_unstack(x, axis=0):
    return tuple(np.take(x, i, axis) for i in range(x.shape[axis]))


def ref_chunk(x, chunks, axis=0):
    size = -(-x.shape[axis] // chunks)
    return tuple(np.take(x, range(i, min(i + size, x.shape[axis])), axis) for i in range(0, x.shape[axis], size))


def ref_pad(x, pad_width, mode="constant", **options):
    return np.pad(x, pad_width, {"replicate": "edge", "circular": "wrap"}.get(mode, mode), **options)


# joining
for kind in (list, tuple):
    case("concat", kind([normal(2, 3), normal(4, 3)]), ref=np.concatenate)
case("concat", [normal(2, 3), normal(2, 1), normal(2, 0)], axis=1, ref=np.concatenate)
case("concat", [normal(2, 3), normal(2, 1)], -1, ref=np.concatenate)
case("concat", [normal(2, 3), normal(4), normal()], axis=None, ref=np.concatenate)
case("concat", [normal(2)], ref=np.concatenate)
case("concat", [normal(2), normal(3, dtype=complex)], ref=np.concatenate)
case("concat", [normal(2, dtype=np.float32), integers(0, 5, 3, dtype=np.int8)], ref=np.concatenate)
case("concat", [normal(2, dtype=np.float32), integers(0, 5, 3)], ref=np.concatenate)
case("stack", [normal(2, 3), normal(2, 3, seed=1)], ref=np.stack)
case("stack", (normal(2, 3), normal(2, 3, seed=1)), axis=-1, ref=np.stack)
case("stack", [normal(2, 3)], 1, ref=np.stack)
case("stack", [normal(), normal(seed=1), normal(seed=2)], ref=np.stack)
case("stack", [normal(0, 2), normal(0, 2)], axis=1, ref=np.stack)
case("stack", [normal(2), normal(2, dtype=complex)], ref=np.stack)
case("stack", [normal(2, dtype=np.float16), integers(0, 3, 2, dtype=np.int8)], ref=np.stack)
case("hstack", [normal(2), normal(3)], ref=np.hstack)
case("hstack", [normal(2, 1), normal(2, 3)], ref=np.hstack)
case("hstack", (normal(), normal(2)), ref=np.hstack)
case("hstack", [normal(2, 1, 2, dtype=complex), normal(2, 2, 2)], ref=np.hstack)
case("vstack", [normal(3), normal(2, 3)], ref=np.vstack)
case("vstack", (normal(), normal(seed=1)), ref=np.vstack)
case("vstack", [normal(3), normal(0, 3), normal(3, dtype=complex)], ref=np.vstack)

# cutting
case("unstack", normal(3, 2), ref=ref_unstack)
case("unstack", normal(2, 3), axis=1, ref=ref_unstack)
case("unstack", normal(2, 3, 2), -1, ref=ref_unstack)
case("unstack", normal(2), ref=ref_unstack)
case("unstack", normal(2, 0), ref=ref_unstack)
case("unstack", normal(0, 2), ref=ref_unstack)
case("unstack", normal(2, 2, dtype=complex), ref=ref_unstack)
case("split", normal(6, 2), 3, ref=np.split)
case("split", normal(2, 4), 2, axis=-1, ref=np.split)
case("split", normal(6), [2, 3], ref=np.split)
case("split", normal(6), (2, 2, 9), ref=np.split)
case("split", normal(6), [-2], ref=np.split)
case("split", normal(6), np.array([1, 4]), ref=np.split)
case("split", normal(6), [], ref=np.split)
case("split", normal(6), [4, 1], ref=np.split)  # parts overlap
case("split", normal(0, 3), 2, ref=np.split)
case("split", normal(4, dtype=complex), 2, ref=np.split)
case("chunk", normal(7, 2), 3, ref=ref_chunk)
case("chunk", normal(2, 6), 4, axis=1, ref=ref_chunk)
case("chunk", normal(2, 6), 3, -1, ref=ref_chunk)
case("chunk", normal(2), 5, ref=ref_chunk)
case("chunk", normal(0, 2), 3, ref=lambda x, n: tuple(x for _ in range(n)))

# padding
for mode in ("constant", "reflect", "symmetric", "edge", "replicate", "wrap", "circular"):
    case("pad", normal(3), 2, mode, ref=ref_pad)
    case("pad", normal(2, 3), ((1, 0), (2, 1)), mode, ref=ref_pad)
    case("pad", normal(1, 2), 1, mode=mode, ref=ref_pad)
    case("pad", normal(2, dtype=complex), (0, 3), mode, ref=ref_pad)
    case("pad", normal(2), (7, 4), mode, ref=ref_pad)  # several times around
    case("pad", normal(2, 0), ((1, 1), (0, 0)), mode, ref=ref_pad)
    case("pad", normal(), 0, mode, ref=ref_pad)
case("pad", normal(2, 2), (1, 2), ref=ref_pad)
case("pad", normal(2, 2), ((1, 2),), ref=ref_pad)
case("pad", normal(2, 2), {-1: (1, 2)}, ref=lambda x, width: np.pad(x, ((0, 0), (1, 2))))
case("pad", normal(2, 2), {0: 1}, mode="edge", ref=lambda x, width, mode: np.pad(x, ((1, 1), (0, 0)), mode))
case("pad", normal(2, 0), 1, ref=ref_pad)
case("pad", normal(2, 2), 1, constant_values=2.5, ref=ref_pad)
case("pad", normal(2, 2), 1, constant_values=normal(seed=5), ref=ref_pad)
case("pad", normal(2, 2), ((1, 2), (0, 3)), constant_values=normal(2), ref=ref_pad)
case("pad", normal(2, 2), ((1, 2), (0, 3)), constant_values=normal(2, 2, seed=6), ref=ref_pad)
case("pad", normal(2, 2), 1, constant_values=((1, 2), (3, 4)), ref=ref_pad)
case("pad", normal(2, dtype=complex), 1, constant_values=normal(dtype=complex), ref=ref_pad)

for dtype in DTYPES:
    x = integers(0, 2, 4, 2).astype(dtype)
    case("concat", [x, x], 1, ref=np.concatenate)
    case("stack", [x, x], ref=np.stack)
    case("split", x, 2, ref=np.split)
    case("unstack", x, ref=ref_unstack)
    case("pad", x, 1, ref=ref_pad)
    case("pad", x, 1, "reflect", ref=ref_pad)
