"""Cases of `ops/quantiles.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X, B = normal(3, 4), normal(2, 3, 4)
HOLES = np.where(np.eye(3, 4, dtype=bool), np.nan, X)
METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear
median_unbiased normal_unbiased lower higher midpoint nearest""".split()

for method in METHODS:
    for name in ("quantile", "nanquantile"):
        ref = getattr(np, name)
        case(name, X, 0.3, axis=1, method=method, ref=ref)
        case(name, X, 0.5, method=method, ref=ref)
        case(name, normal(7), [0.0, 0.11, 0.5, 0.93, 1.0], method=method, ref=ref)
        case(name, normal(6, dtype=np.float32), 0.4, method=method, ref=ref, _rtol=1e-6)  # float32
        case(name, integers(0, 9, 7), 0.4, method=method, ref=ref, _same=False)
    case("percentile", X, 30, axis=1, method=method, ref=np.percentile)
    case("nanpercentile", HOLES, 77.5, axis=1, method=method, ref=np.nanpercentile, _grad=False)
    case("nanquantile", HOLES, [0.2, 0.7], axis=1, method=method, ref=np.nanquantile, _grad=False)

for name in ("quantile", "nanquantile"):
    ref = getattr(np, name)
    case(name, X, [0.0, 0.25, 1.0], axis=0, ref=ref)
    case(name, X, np.array([[0.1, 0.2, 0.9]]), axis=(0, 1), ref=ref)
    case(name, B, 0.6, axis=(0, 2), keepdims=True, ref=ref)
    case(name, B, [0.1], axis=-1, keepdims=True, ref=ref)
    case(name, normal(), 0.4, ref=ref)
    case(name, normal(5, dtype=np.float32), [0.4], ref=ref, _rtol=1e-6, _same=False)  # float32; NumPy widens
    case(name, normal(5, dtype=np.float16), 0.4, ref=ref, _rtol=1e-3)  # float16
    # One row for all: NumPy's nanquantile does not broadcast weights.
    weights = {"weights": np.tile(np.arange(1.0, 5), (3, 1)), "method": "inverted_cdf"}
    case(name, X, 0.5, axis=1, ref=ref, _grad=False, **weights)
case("quantile", HOLES, 0.5, axis=1, ref=np.quantile, _grad=False)
case("percentile", B, np.array([5.0, 95.0]), axis=(0, -1), ref=np.percentile)
case("percentile", X, 50.0, keepdims=True, ref=np.percentile)
case("nanpercentile", X, [10, 90], 0, ref=np.nanpercentile)
case("percentile", integers(0, 9, 6), 25, ref=np.percentile)

for name in ("median", "nanmedian"):
    ref = getattr(np, name)
    case(name, X, ref=ref)
    case(name, X, axis=0, ref=ref)
    case(name, X, axis=[0, 1], ref=lambda x, axis, ref=ref: ref(x, tuple(axis)))
    case(name, B, axis=(0, 1), keepdims=True, ref=ref)
    case(name, HOLES, axis=0, ref=ref, _grad=False)
    case(name, integers(0, 9, 6), ref=ref)
    case(name, normal(5, dtype=np.float32), ref=ref)
    case(name, normal(4, dtype=np.float16), ref=ref)
    case(name, normal(4, dtype=np.complex128), ref=ref)  # in the order that sort gives them
