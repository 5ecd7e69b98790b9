"""Cases of `ops/linalg_systems.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

# Decompositions and inverses lose a digit or two to the condition of the matrix.
LOOSE = {"_rtol": 1e-9}
A = normal(3, 3) + 3 * np.eye(3)


def ref_lstsq(a, b, rcond=None):
    return np.linalg.lstsq(a, b, rcond)


case("lstsq", normal(5, 3), normal(5), ref=ref_lstsq, _infer=False, **LOOSE)
case("lstsq", normal(5, 2), normal(5, 2, seed=1), ref=ref_lstsq, _infer=False, **LOOSE)
case("lstsq", A, normal(3), rcond=None, ref=ref_lstsq, _grad=False, **LOOSE)
case("lstsq", normal(2, 4), normal(2), ref=ref_lstsq, **LOOSE)
case("lstsq", normal(2, 3), normal(2, 2), ref=ref_lstsq, **LOOSE)
case("lstsq", normal(4, 2, dtype=complex), normal(4, dtype=complex), ref=ref_lstsq, _infer=False, **LOOSE)
case("lstsq", integers(0, 9, 2, 3), integers(0, 9, 2), ref=ref_lstsq, **LOOSE)

case("multi_dot", [normal(2, 3), normal(3, 4), normal(4, 2)], ref=np.linalg.multi_dot)
case("multi_dot", (normal(3), normal(3, 2), normal(2)), ref=np.linalg.multi_dot)
case("multi_dot", [normal(3), normal(3, 2)], ref=np.linalg.multi_dot)
case("multi_dot", [normal(2, 3, dtype=np.float32)] + [normal(3, 3)] * 2, ref=np.linalg.multi_dot, _rtol=1e-6)

for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
    case("cond", A, p, ref=np.linalg.cond, **LOOSE)
    case("cond", np.stack([A, A @ A]), p=p, ref=np.linalg.cond, _order=1, **LOOSE)
case("cond", normal(3, 2), ref=np.linalg.cond, **LOOSE)
case("cond", normal(2, 2, dtype=complex), ref=np.linalg.cond, **LOOSE)
case("cond", integers(1, 9, 3, 3) + 9 * np.eye(3, dtype=int), 1, ref=np.linalg.cond, **LOOSE)

T = normal(2, 3, 6)
case("tensorinv", T, ref=np.linalg.tensorinv, **LOOSE)
case("tensorinv", normal(4, 2, 2) + np.eye(4).reshape(4, 2, 2), ind=1, ref=np.linalg.tensorinv, **LOOSE)
case("tensorsolve", T, normal(2, 3), ref=np.linalg.tensorsolve, **LOOSE)
case("tensorsolve", normal(2, 6, 3), normal(2, 3), axes=(1,), ref=np.linalg.tensorsolve, **LOOSE)
