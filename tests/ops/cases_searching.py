"""Cases of `ops/searching.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X, N = normal(3, 4), integers(0, 3, 3, 4)
HOLES = np.where(np.eye(3, 4, dtype=bool), np.nan, X)

for x in (N, X > 0, normal(0, 2), np.array(3.0), np.array(0)):
    case("argwhere", x, ref=np.argwhere, _infer=False)
    case("flatnonzero", x, ref=np.flatnonzero, _infer=False)

case("compress", np.array([True, False, True]), X, 0, ref=np.compress, _infer=False)
case("compress", [0, 1, 1], X, axis=-1, ref=np.compress, _infer=False)
case("compress", np.array([False, True]), X, ref=np.compress, _infer=False)
case("extract", X > 0, X, ref=np.extract, _infer=False)
case("extract", N, X, ref=np.extract, _infer=False)
case("extract", X > 9, X, ref=np.extract, _infer=False)
for trim in ("fb", "f", "b"):
    case("trim_zeros", np.array([0.0, 0, 1, 0, 2, 0]), trim, ref=np.trim_zeros, _infer=False)

SMALL, LARGE = X < -0.5, X > 0.5
case("select", [SMALL, LARGE], [X * 2, X], ref=np.select)
case("select", [SMALL, LARGE], [X * 2, 1.5], default=normal(4), ref=np.select)
case("select", [SMALL[0], LARGE], [1, 2], ref=np.select)
case("select", [SMALL], [X.astype(np.float32)], 1.5, ref=np.select)
case("select", [SMALL], [N], -1, ref=np.select)
case("select", [np.True_, SMALL], [normal(), normal(3, 1)], ref=np.select)
case("select", (SMALL, LARGE), (N, X.astype(np.float32)), ref=np.select)

for mode in ("raise", "wrap", "clip"):
    far = N if mode == "raise" else N * 3 - 4
    case("choose", far, [X, -X, X * X], mode=mode, ref=np.choose)
    case("choose", far, (X, 1.5, normal(4)), mode=mode, ref=np.choose)
    case("choose", far, normal(3, 3, 4), mode=mode, ref=np.choose)
    case("choose", far[0].astype(np.int8), integers(0, 9, 3, 4), mode=mode, ref=np.choose)
case("choose", X > 0, [X, -X], ref=np.choose)

for name in ("partition", "argpartition"):
    ref = getattr(np, name)
    case(name, normal(7), 3, ref=ref)
    case(name, normal(7), (1, 4), ref=ref)
    case(name, normal(4, 3), 2, 0, ref=ref)
    case(name, normal(3, 4), -1, axis=None, ref=ref)
    case(name, integers(0, 9, 7), 2, ref=ref)
    case(name, HOLES, 1, ref=ref, _grad=False)
case("lexsort", [N[0], N[1]], ref=np.lexsort)
case("lexsort", N, ref=np.lexsort)
case("lexsort", (N, X), 0, ref=np.lexsort)
for dtype in (np.float64, np.float32, np.complex128, np.complex64, np.int8, np.int64):
    case("sort_complex", N.astype(dtype) + normal(3, 4).astype(dtype), ref=np.sort_complex)

for a, b in ((X, X), (X, X + 1e-9), (X, X[0]), (HOLES, HOLES), (N, N.astype(float)), (normal(0), normal(0))):
    case("array_equal", a, b, ref=np.array_equal)
    case("array_equiv", a, b, ref=np.array_equiv)
    case("all_close", a, b, ref=np.allclose)
case("array_equal", HOLES, HOLES, equal_nan=True, ref=np.array_equal)
case("all_close", HOLES, HOLES + 0.1, 0.5, 0.5, True, ref=np.allclose)
case("array_equal", X, X[0, 0], ref=np.array_equal)

for x in (N, np.array([2.0, np.nan, 2.0, np.nan, -1.0]), np.array(3), normal(0)):
    case("unique", x, ref=np.unique, _infer=False)
    case("unique", x, True, True, True, ref=np.unique, _infer=False)
    case("unique", x, return_counts=True, equal_nan=False, ref=np.unique, _infer=False)
case("unique", N // 2, axis=0, ref=np.unique, _infer=False)
case("unique", N // 2, True, True, True, axis=1, ref=np.unique, _infer=False)
A, B = np.array([3, 1, 2, 3, 5]), np.array([[5, 7], [3, 3]])
for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d"):
    case(name, A, B, ref=getattr(np, name), _infer=False)
    case(name, A, B / 2, ref=getattr(np, name), _infer=False)
case("setdiff1d", A, A[:2], True, ref=np.setdiff1d, _infer=False)
case("setxor1d", A[1:], A[:2], assume_unique=True, ref=np.setxor1d, _infer=False)
case("intersect1d", A[1:], A[:2], True, True, ref=np.intersect1d, _infer=False)
case("intersect1d", A, B, return_indices=True, ref=np.intersect1d, _infer=False)

case("ravel_multi_index", (N, N), (3, 4), ref=np.ravel_multi_index)
case("ravel_multi_index", [N[:, :1], N[0] + 3], (3, 4), mode="clip", ref=np.ravel_multi_index)
case("ravel_multi_index", (N - 5, N), (3, 4), ("wrap", "raise"), "F", ref=np.ravel_multi_index)
case("ravel_multi_index", np.array([[0, 1], [2, 3]]), (3, 4), ref=np.ravel_multi_index)
case("ravel_multi_index", (1, 2), (3, 4), ref=np.ravel_multi_index)
case("unravel_index", N, (3, 4), ref=np.unravel_index)
case("unravel_index", N[0], (2, 2, 3), order="F", ref=np.unravel_index)
case("unravel_index", 7, (3, 4), ref=np.unravel_index)
case("unravel_index", N, 12, ref=np.unravel_index)

BITS, BYTES = integers(0, 2, 3, 11, dtype=np.uint8), integers(0, 256, 3, 2, dtype=np.uint8)
for order in ("big", "little"):
    case("packbits", BITS, bitorder=order, ref=np.packbits)
    case("packbits", BITS.astype(bool), axis=1, bitorder=order, ref=np.packbits)
    case("packbits", BITS, 0, order, ref=np.packbits)
    case("unpackbits", BYTES, bitorder=order, ref=np.unpackbits)
    case("unpackbits", BYTES, 1, 11, order, ref=np.unpackbits)
    case("unpackbits", BYTES, axis=0, count=-3, bitorder=order, ref=np.unpackbits)
    case("unpackbits", BYTES, 1, 20, ref=np.unpackbits)
