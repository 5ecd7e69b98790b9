"""Cases of `ops/_numpy_forms.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X, V = normal(3, 4), normal(3)
TIES = integers(0, 3, 40)

case("clip_between", X, a_min=-0.5, a_max=0.5, ref=np.clip)
case("clip_between", X, 0, a_max=normal(4), ref=np.clip)
case("clip_between", integers(-9, 9, 5), None, a_max=3, ref=np.clip)
for kind in (None, "quicksort", "heapsort", "stable", "mergesort"):
    case("argsort_by", TIES, kind=kind, ref=np.argsort)
    case("argsort_by", X, 0, kind, ref=np.argsort)
    case("sort_by", X, 0, kind, ref=np.sort)
    case("sort_by", TIES, kind=kind, ref=np.sort)
case("argsort_by", X, axis=None, ref=np.argsort)
case("argsort_by", TIES, stable=True, ref=np.argsort)
case("sort_by", X, axis=None, ref=np.sort)
case("sort_by", X, stable=False, ref=np.sort)
for mode in ("wrap", "clip"):
    case("take_by", X, integers(-9, 20, 5), mode=mode, ref=np.take)
    case("take_by", X, integers(-9, 9, 2, 2), 1, mode=mode, ref=np.take)
    case("take_by", X, 7, axis=0, mode=mode, ref=np.take)
case("take_by", X, [1, -1], -1, mode="raise", ref=np.take)
F = normal(3, dtype=np.float32)
for name in ("dot", "inner"):
    case(f"{name}_of", X, 2.5, ref=getattr(np, name))
    case(f"{name}_of", 2, X, ref=getattr(np, name))
    case(f"{name}_of", F, 2.5, ref=getattr(np, name), _rtol=1e-6)
    case(f"{name}_of", integers(0, 9, 3, dtype=np.int8), 2, ref=getattr(np, name))
case("diff_of", X, prepend=1.5, ref=np.diff)
case("diff_of", X, 2, 0, prepend=normal(1, 4), append=2, ref=np.diff)
case("diff_of", F, append=0.0, ref=np.diff, _rtol=1e-6)
case("diff_of", integers(0, 9, 4, dtype=np.int8), prepend=0, ref=np.diff)
case("cross_along", normal(3, 2), normal(2, 3), axisa=0, ref=np.cross)
case("cross_along", normal(3, 2), normal(3, 2, seed=1), 0, 0, 0, ref=np.cross)
case("cross_along", normal(2, 3), V, axisc=0, ref=np.cross)
case("cross_along", normal(3, 2), normal(3, 2, seed=1), axis=0, ref=np.cross)
case("qr_triangle", X, "r", ref=np.linalg.qr, _rtol=1e-9)
case("qr_triangle", normal(4, 2), mode="r", ref=np.linalg.qr, _rtol=1e-9)
case("pinv_by", X, rcond=1e-3, ref=np.linalg.pinv, _rtol=1e-9)
case("pinv_by", X, 1e-9, False, ref=np.linalg.pinv, _rtol=1e-9)
case("pinv_by", X, ref=np.linalg.pinv, _rtol=1e-9)
S = X @ X.T
case("pinv_by", S, hermitian=True, ref=np.linalg.pinv, _rtol=1e-9, _grad=False)
case("matrix_rank_by", X, 1e-3, ref=np.linalg.matrix_rank)
case("matrix_rank_by", np.stack([S, 0 * S]), tol=100.0, hermitian=True, ref=np.linalg.matrix_rank)
case("all_atleast_1d", normal(), normal(2), integers(0, 9, 2, 2), ref=np.atleast_1d)
case("all_atleast_2d", normal(), normal(2), integers(0, 9, 2, 2), ref=np.atleast_2d)
