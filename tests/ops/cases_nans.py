"""Cases of `ops/nans.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X = normal(3, 4)
HOLES = np.where(np.eye(3, 4, dtype=bool), np.nan, X)
C = normal(3, 4, dtype=complex)

for name in ("nanprod", "nanmax", "nanmin", "nanvar", "nanstd"):
    ref = getattr(np, name)
    case(name, X, ref=ref)
    case(name, X, axis=1, ref=ref)
    case(name, normal(2, 3, 2), axis=(0, -1), keepdims=True, ref=ref)
    case(name, HOLES, ref=ref, _grad=False)
    case(name, HOLES, 0, ref=ref, _grad=False)
    case(name, HOLES, axis=-1, keepdims=True, ref=ref, _grad=False)
    case(name, normal(), ref=ref, _grad=False)
    case(name, integers(0, 9, 2, 3), axis=0, ref=ref)
    case(name, HOLES.astype(np.float32), axis=1, ref=ref, _rtol=1e-6)  # float32
for name in ("nancumsum", "nancumprod"):
    ref = getattr(np, name)
    case(name, X, ref=ref)
    case(name, X, axis=1, ref=ref)
    case(name, C, 0, ref=ref)
    case(name, HOLES, 0, ref=ref, _grad=False)
    case(name, integers(0, 9, 2, 3), -1, dtype=np.float64, ref=ref)
    case(name, integers(0, 9, 2, 3, dtype=np.int8), ref=ref)
    case(name, normal(0), ref=ref)
for name in ("nanvar", "nanstd"):
    ref = getattr(np, name)
    case(name, X, 1, ddof=1, ref=ref)
    case(name, HOLES, 1, ddof=1, ref=ref, _grad=False)
    case(name, C, 1, ref=ref)
    case(name, X.astype(np.float32), dtype=np.float64, ref=ref)
case("nanprod", X, 1, np.float32, ref=np.nanprod, _rtol=1e-6, _grad=False)  # float32
case("nanprod", C, ref=np.nanprod)
for name in ("nanargmax", "nanargmin"):
    ref = getattr(np, name)
    case(name, X, ref=ref)
    case(name, HOLES, 1, ref=ref)
    case(name, HOLES, axis=0, keepdims=True, ref=ref)
    case(name, integers(0, 9, 5), ref=ref)
