"""Cases of `ops/averages.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal, uniform

X, C = normal(3, 4), normal(3, 4, dtype=complex)
W = uniform(0.5, 2.0, 3, 4)

case("ptp", X, ref=np.ptp)
case("ptp", X, axis=1, ref=np.ptp)
case("ptp", normal(2, 3, 2), axis=(0, 2), keepdims=True, ref=np.ptp)
case("ptp", integers(0, 255, 5, dtype=np.uint8), ref=np.ptp)
case("ptp", normal(5, dtype=np.float32), ref=np.ptp)

for returned in (False, True):
    case("average", X, returned=returned, ref=np.average)
    case("average", X, 0, returned=returned, ref=np.average)
    case("average", X, weights=W, returned=returned, ref=np.average)
    case("average", X, 1, W, returned, ref=np.average)
    case("average", X, axis=-1, weights=W[0], returned=returned, keepdims=True, ref=np.average)
    case("average", normal(2, 3, 4), axis=(2, 0), weights=uniform(0.5, 2, 4, 2), returned=returned, ref=np.average)
case("average", integers(0, 9, 5), ref=np.average)
case("average", integers(0, 9, 5), weights=integers(1, 9, 5, seed=1), ref=np.average)
case("average", normal(5, dtype=np.float32), weights=uniform(0.5, 2, 5, dtype=np.float32), ref=np.average, _rtol=1e-6)
case("average", C, 1, ref=np.average)
case("average", C, 1, W, ref=np.average)

case("cov", X, ref=np.cov)
case("cov", X, rowvar=False, ref=np.cov)
case("cov", X, normal(4, seed=1), ref=np.cov)
case("cov", X, normal(3, 2, seed=1), False, ref=np.cov)
case("cov", X, bias=True, ref=np.cov)
case("cov", X, ddof=2, ref=np.cov)
case("cov", X, fweights=np.array([1, 2, 3, 1]), ref=np.cov)
case("cov", X, aweights=uniform(0.5, 2, 4), ref=np.cov)
case("cov", X, ddof=0, aweights=uniform(0.5, 2, 4), ref=np.cov)
case("cov", X, fweights=np.array([1, 2, 3, 1]), aweights=uniform(0.5, 2, 4), ref=np.cov)
case("cov", normal(5), ref=np.cov)
case("cov", normal(5), rowvar=False, ref=np.cov)
case("cov", C, ref=np.cov)
case("cov", C, aweights=uniform(0.5, 2, 4), ref=np.cov)
case("cov", integers(0, 9, 2, 5), ref=np.cov)
case("cov", X.astype(np.float32), ref=np.cov)
case("cov", X, dtype=np.float32, ref=np.cov, _rtol=1e-5, _grad=False)  # float32

case("corrcoef", X, ref=np.corrcoef)
case("corrcoef", X, rowvar=False, ref=np.corrcoef)
case("corrcoef", normal(5), normal(5, seed=1), ref=np.corrcoef)
case("corrcoef", normal(5), ref=np.corrcoef)
case("corrcoef", C, ref=np.corrcoef)
case("corrcoef", integers(0, 9, 2, 5), ref=np.corrcoef)
