"""Cases of `ops/grids.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal, uniform

for endpoint in (True, False):
    case("linspace_along", 0.5, 2.0, 4, endpoint, True, ref=np.linspace)
    case("linspace_along", normal(2), normal(2, seed=1), 3, endpoint, retstep=True, axis=1, ref=np.linspace)
    case("linspace_along", normal(2, 1), normal(2), num=3, endpoint=endpoint, axis=-1, ref=np.linspace)
    case("linspace_along", np.float32(1), 2, 3, endpoint, ref=np.linspace)
    case("linspace_along", 0, 9, 4, endpoint, dtype=int, axis=0, ref=np.linspace)
    case("logspace", -1.0, 2.0, 4, endpoint, ref=np.logspace)
    case("logspace", normal(2), normal(2, seed=1), 3, endpoint, axis=-1, ref=np.logspace)
    case("logspace", normal(), 2, 3, endpoint, base=uniform(1.5, 3.0), ref=np.logspace)
    case("logspace", 0, 3, 4, endpoint, base=2, dtype=int, ref=np.logspace)
    case("geomspace", 1.5, 24.0, 4, endpoint, ref=np.geomspace)
    case("geomspace", uniform(0.5, 2, 3), uniform(1, 9, 3), 4, endpoint, ref=np.geomspace)
    case("geomspace", -uniform(0.5, 2, 3), -9.0, 4, endpoint, axis=1, ref=np.geomspace)
    case("geomspace", 1, 1000, 4, endpoint, dtype=int, ref=np.geomspace, _same=False)
case("geomspace", np.float32(1), np.float32(8), 4, ref=np.geomspace, _rtol=1e-6)  # float32
case("geomspace", normal(dtype=complex), normal(dtype=complex, seed=1), 4, ref=np.geomspace)

for args in ((3,), (3, 4), (3, 2, 1), (2, 5, -1, int), (0,)):
    case("tri", *args, ref=np.tri)
case("identity", 3, ref=np.identity)
case("identity", 2, np.complex64, ref=np.identity)
for k in (-1, 0, 2):
    case("diagflat", normal(3), k, ref=np.diagflat)
    case("diagflat", normal(2, 2), k=k, ref=np.diagflat)
case("diagflat", normal(), ref=np.diagflat)

for sparse in (False, True):
    case("indices", (2, 3), sparse=sparse, ref=np.indices)
    case("indices", (4,), float, sparse, ref=np.indices)
    case("indices", (2, 0, 1), np.int8, sparse, ref=np.indices)
    for indexing in ("xy", "ij"):
        case("mesh", normal(2), normal(3), sparse=sparse, indexing=indexing, ref=np.meshgrid)
        case("mesh", normal(2), integers(0, 9, 3), normal(1), sparse=sparse, indexing=indexing, ref=np.meshgrid)
        case("mesh", normal(2, 2), normal(), sparse=sparse, indexing=indexing, copy=False, ref=np.meshgrid)
        case("mesh", normal(3), sparse=sparse, indexing=indexing, ref=np.meshgrid)
case("ix_", integers(0, 3, 2), integers(0, 3, 3), ref=np.ix_)
case("ix_", integers(0, 3, 2), normal(4) > 0, ref=np.ix_, _infer=False)
case("ix_", integers(0, 3, 0), ref=np.ix_)

for name in ("tril_indices", "triu_indices"):
    for args in ((3,), (3, 1), (4, -2), (2, 0, 4), (4, 1, 2), (3, 9), (3, -9), (0,)):
        case(name, *args, ref=getattr(np, name))
    for k in (-1, 0, 1):
        case(f"{name}_from", normal(3, 4), k, ref=getattr(np, f"{name}_from"))
case("diag_indices", 3, ref=np.diag_indices)
case("diag_indices", 2, 3, ref=np.diag_indices)
case("diag_indices_from", normal(3, 3), ref=np.diag_indices_from)
case("diag_indices_from", normal(2, 2, 2), ref=np.diag_indices_from)
