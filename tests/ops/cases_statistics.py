"""Cases of `ops/statistics.py`: NumPy and SciPy as the reference."""

import numpy as np
from cases import case, normal
from scipy.spatial.distance import cdist

X, B = normal(3, 4), normal(2, 3, 4)
HOLES = np.where(np.eye(3, 4, dtype=bool), np.nan, X)
EMPTY_ROW = np.where(np.arange(3)[:, None] == 1, np.nan, X)


def ref_histc(x, bins, min, max):
    return np.histogram(x, bins, (min, max) if min != max else (x.min(), x.max()))[0].astype(x.dtype)


def ref_cdist(x1, x2, p=2.0):
    pairs = zip(x1.reshape(-1, *x1.shape[-2:]), x2.reshape(-1, *x2.shape[-2:]), strict=True)
    found = [cdist(a, b, "minkowski", p=p) for a, b in pairs]
    return np.reshape(found, (*x1.shape[:-1], x2.shape[-2]))


case("nansum", HOLES, ref=np.nansum, _grad=False)
case("nansum", X, axis=1, keepdims=True, ref=np.nansum)
case("nanmean", HOLES, axis=1, ref=np.nanmean, _grad=False)
case("nanmean", EMPTY_ROW, axis=1, ref=lambda x, axis: np.where(np.isnan(x[:, 0]), np.nan, x.mean(axis)), _grad=False)
case("nanmean", X, axis=(0, 1), keepdims=True, ref=np.nanmean)
case("nanmean", normal(5, dtype=np.float32), ref=np.nanmean, _rtol=1e-6)  # float32
case("bincount", np.array([1, 0, 5, 1]), ref=np.bincount, _infer=False)
case("bincount", np.array([1, 0, 5, 1]), normal(4), minlength=8, ref=np.bincount, _infer=False)
case("bincount", np.array([], int), minlength=2, ref=np.bincount, _infer=False)
case("histc", X, 5, -1, 1, ref=ref_histc, _grad=False)
case("histc", X, 4, 0, 0, ref=ref_histc, _grad=False)
case("cdist", X, normal(5, 4), ref=ref_cdist)
case("cdist", B, normal(2, 2, 4), 1.0, ref=ref_cdist)
case("cdist", X, normal(2, 4), p=3.0, ref=ref_cdist)
case("dist", X, normal(3, 4, seed=1), ref=lambda a, b: np.linalg.norm(a - b))
case("dist", X, normal(4, seed=1), 1.0, ref=lambda a, b, p: np.abs(a - b).sum())
case("isclose", X, X + 1e-9, ref=np.isclose)
case("isclose", X, X[0], 0.5, 0.1, ref=np.isclose)
case("isclose", np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), equal_nan=True, ref=np.isclose)
