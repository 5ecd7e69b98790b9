"""Cases of `ops/blends.py`: the formulas, written with NumPy."""

import numpy as np
from cases import case, normal, uniform

X, Y = normal(3, 4), uniform(0.5, 1.5, 3, 4)
M, N = normal(3, 5), normal(5, 4)


def ref_addmm(x, a, b, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


case("lerp", X, Y, 0.3, ref=lambda x, end, w: x + w * (end - x))
case("lerp", X, normal(4), Y, ref=lambda x, end, w: x + w * (end - x))
case("lerp", normal(3, dtype=np.float32), normal(3, dtype=np.float32), 0.5, ref=lambda x, e, w: x + w * (e - x))
case("addcmul", X, Y, normal(4), value=0.5, ref=lambda x, a, b, value: x + value * a * b)
case("addcmul", X, Y, Y, ref=lambda x, a, b: x + a * b)
case("addcdiv", X, normal(4), Y, value=-2.0, ref=lambda x, a, b, value: x + value * a / b)
case("addmm", X, M, N, ref=ref_addmm)
case("addmm", normal(4), M, N, beta=0.5, alpha=2.0, ref=ref_addmm)
case("addmm", np.full((3, 4), np.nan), M, N, beta=0, ref=lambda x, a, b, beta: a @ b, _grad=False)
case("addmv", normal(3), M, normal(5), beta=2.0, ref=ref_addmm)
case("addr", X, normal(3), normal(4), alpha=-1.0, ref=lambda x, a, b, alpha: x + alpha * np.outer(a, b))
case("baddbmm", normal(2, 3, 4), normal(2, 3, 5), normal(2, 5, 4), beta=0.1, ref=ref_addmm)
case("logit", uniform(0.1, 0.9, 3, 4), ref=lambda x: np.log(x / (1 - x)))
case("logit", uniform(0.02, 0.98, 8), 0.2, ref=lambda x, e: np.log(np.clip(x, e, 1 - e) / (1 - np.clip(x, e, 1 - e))))
