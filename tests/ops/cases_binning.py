"""Cases of `ops/binning.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X, W = normal(12), normal(12, seed=1)
EDGES = np.array([-1.1, -0.3, 0.2, 0.9, 2.0])
HOLES = np.where(np.arange(12) % 5 == 0, np.nan, X)

for density in (None, True):
    case("histogram", X, density=density, ref=np.histogram)
    case("histogram", X, 4, density=density, ref=np.histogram)
    case("histogram", X, bins=4, range=(-1, 1), density=density, ref=np.histogram)
    case("histogram", X, bins=EDGES, density=density, ref=np.histogram)
    case("histogram", X.reshape(3, 4), 5, None, density, W.reshape(3, 4), ref=np.histogram)
    case("histogram", X, bins=EDGES, density=density, weights=W, ref=np.histogram)
    case("histogram", X, 3, (-1.0, 0.5), density, W, ref=np.histogram)
case("histogram", HOLES, 3, (-1.0, 0.5), ref=np.histogram, _grad=False)
case("histogram", HOLES, EDGES, ref=np.histogram, _grad=False)
case("histogram", EDGES, EDGES, ref=np.histogram, _grad=False)
case("histogram", np.linspace(0, 1, 11), 10, ref=np.histogram, _grad=False)
case("histogram", np.full(4, 2.5), 3, ref=np.histogram, _grad=False)
case("histogram", normal(0), 3, ref=np.histogram)
case("histogram", integers(0, 9, 20), 4, ref=np.histogram)
case("histogram", integers(0, 9, 20), np.arange(10), ref=np.histogram)
case("histogram", integers(0, 255, 20, dtype=np.uint8), 8, (0, 256), ref=np.histogram)
case("histogram", integers(-100, 100, 20, dtype=np.int8), 8, ref=np.histogram)
case("histogram", X.astype(np.float32), 4, ref=np.histogram, _rtol=1e-6)  # float32
case("histogram", X.astype(np.float32), 4, (-1.0, 1.0), ref=np.histogram, _rtol=1e-6)
case("histogram", integers(0, 9, 12), 4, weights=integers(0, 5, 12, seed=2), ref=np.histogram)
case("histogram", X, 4, (0, 1), weights=W + 1j, ref=np.histogram)
case("histogram", X, "sturges", ref=np.histogram, _infer=False, _grad=False)

case("histogram_bin_edges", X, ref=np.histogram_bin_edges)
case("histogram_bin_edges", X.reshape(3, 4), 3, (-2, 2.0), ref=np.histogram_bin_edges)
case("histogram_bin_edges", X, EDGES, ref=np.histogram_bin_edges)
case("histogram_bin_edges", integers(0, 9, 5), 4, None, np.ones(5), ref=np.histogram_bin_edges)
case("histogram_bin_edges", np.full(3, 1.5), 2, ref=np.histogram_bin_edges, _grad=False)

Y = normal(12, seed=3)
case("histogram2d", X, Y, ref=np.histogram2d)
case("histogram2d", X, Y, 3, ref=np.histogram2d)
case("histogram2d", X, Y, (2, 3), [[-1, 1], [-2.0, 1.0]], ref=np.histogram2d)
case("histogram2d", X, Y, EDGES, weights=W, ref=np.histogram2d)
case("histogram2d", X, Y, [EDGES, 3], density=True, ref=np.histogram2d)
case("histogram2d", integers(0, 5, 9), integers(0, 5, 9, seed=1), 3, ref=np.histogram2d)


def ref_dd(sample, *args, **kwargs):
    count, edges = np.histogramdd(sample, *args, **kwargs)
    return (count, tuple(edges))


case("histogramdd", normal(8, 3), 2, ref=ref_dd)
case("histogramdd", normal(8, 3), (2, 1, 3), ref=ref_dd)
case("histogramdd", [X, Y], (EDGES, 2), weights=W, ref=ref_dd)
case("histogramdd", normal(8, 2), 3, [(-1, 1), None], True, ref=ref_dd)
case("histogramdd", X, 3, ref=ref_dd)

case("digitize", X, EDGES, ref=np.digitize)
case("digitize", X.reshape(3, 4), EDGES[::-1], ref=np.digitize)
case("digitize", EDGES, EDGES, right=True, ref=np.digitize)
case("digitize", HOLES, EDGES, ref=np.digitize)
case("digitize", normal(), EDGES, ref=np.digitize)
case("digitize", normal(0), EDGES, ref=np.digitize)
case("digitize", integers(0, 9, 6), np.array([2, 4, 6]), ref=np.digitize)
