"""Cases of `ops/signal.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

for mode in ("full", "same", "valid"):
    for n, m in ((6, 3), (3, 6), (5, 4), (4, 4), (1, 5), (4, 2), (2, 4)):
        a, v = normal(n), normal(m, seed=1)
        case("convolve", a, v, mode, ref=np.convolve)
        case("correlate", a, v, mode, ref=np.correlate)
    case("convolve", normal(5, dtype=complex), normal(3, dtype=complex, seed=1), mode=mode, ref=np.convolve)
    case("correlate", normal(5, dtype=complex), normal(4, dtype=complex, seed=1), mode=mode, ref=np.correlate)
    case("correlate", normal(2, dtype=complex), normal(4, dtype=complex, seed=1), mode=mode, ref=np.correlate)
    case("convolve", integers(0, 9, 5), integers(0, 9, 3, dtype=np.int8), mode, ref=np.convolve)
    case("correlate", integers(0, 9, 5), normal(3, dtype=np.float32), mode, ref=np.correlate)
case("convolve", normal(4), normal(3, seed=1), ref=np.convolve)
case("convolve", normal(4, dtype=np.float32), normal(3, dtype=np.float32), ref=np.convolve, _rtol=1e-6)  # float32
case("convolve", normal(), normal(3), ref=np.convolve)
case("correlate", normal(4), normal(3, seed=1), ref=np.correlate)

XP, FP = np.array([-2.0, -0.5, 0.25, 1.5]), normal(4)
AT = np.array([[-3.0, -1.7, -0.4], [0.3, 1.2, 2.5]])
case("interp", AT, XP, FP, ref=np.interp)
case("interp", AT, XP, FP, left=-1.5, right=7.0, ref=np.interp)
case("interp", AT, XP, normal(4, dtype=complex), ref=np.interp)
case("interp", AT, XP, FP, period=3.7, ref=np.interp)
case("interp", AT, XP[::-1], FP, period=-4.1, ref=np.interp)
case("interp", normal(), XP, FP, ref=np.interp)
case("interp", normal(0), XP, FP, ref=np.interp)
case("interp", AT, XP[:1], FP[:1], ref=np.interp)
case("interp", integers(-3, 4, 5), np.arange(3), np.array([1, 5, 2]), ref=np.interp)
case("interp", np.array([np.nan, -2.0, 1.5, np.inf, -np.inf]), XP, FP, ref=np.interp, _grad=False)
case("interp", np.array([0.1, 0.9], np.float32), XP.astype(np.float32), FP.astype(np.float32), ref=np.interp)

UNEVEN = np.array([0.0, 0.4, 1.5, 1.9, 3.0])
for edge_order in (1, 2):
    case("gradient", normal(5), edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(5), 0.5, edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(5), UNEVEN, edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(3, 5), edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(3, 5), np.array([0.0, 1.5, 2.0]), 0.3, edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(4, 3), 2.0, axis=0, edge_order=edge_order, ref=np.gradient)
    case("gradient", normal(2, 3, 4), axis=(-1, 1), edge_order=edge_order, ref=np.gradient)
case("gradient", normal(2), ref=np.gradient)
case("gradient", normal(5, dtype=complex), UNEVEN, ref=np.gradient)
case("gradient", integers(0, 9, 5), ref=np.gradient)
case("gradient", integers(0, 9, 5), np.array([0, 1, 4, 9, 16]), ref=np.gradient)
case("gradient", normal(5, dtype=np.float32), UNEVEN, ref=np.gradient, _rtol=1e-6, _grad=False)  # float32

case("trapezoid", normal(5), ref=np.trapezoid)
case("trapezoid", normal(5), UNEVEN, ref=np.trapezoid)
case("trapezoid", normal(3, 5), UNEVEN, ref=np.trapezoid)
case("trapezoid", normal(5, 3), x=UNEVEN, axis=0, ref=np.trapezoid)
case("trapezoid", normal(5, 3), x=normal(5, 3, seed=1), axis=-2, ref=np.trapezoid)
case("trapezoid", normal(2, 3), dx=0.25, axis=0, ref=np.trapezoid)
case("trapezoid", normal(4, dtype=complex), ref=np.trapezoid)
case("trapezoid", integers(0, 9, 4), ref=np.trapezoid)
case("trapezoid", normal(1), ref=np.trapezoid)
case("trapezoid", normal(4, dtype=np.float32), ref=np.trapezoid, _rtol=1e-6)  # float32
case("trapezoid", normal(0), ref=np.trapezoid)

case("ediff1d", normal(5), ref=np.ediff1d)
case("ediff1d", normal(2, 3), to_end=normal(2), to_begin=-99.0, ref=np.ediff1d)
case("ediff1d", integers(0, 9, 4), np.array([1, 2], np.int32), ref=np.ediff1d)
case("ediff1d", normal(1), ref=np.ediff1d)
case("ediff1d", normal(3, dtype=np.float32), 1.0, ref=np.ediff1d)

PHASE = np.array([0.0, 2.0, 3.9, 6.2, 0.4, -6.0, 3.0])
case("unwrap", PHASE, ref=np.unwrap)
case("unwrap", np.stack([PHASE, PHASE[::-1]]), ref=np.unwrap)
case("unwrap", np.stack([PHASE, PHASE[::-1]], 1), 4.0, 0, ref=np.unwrap)
case("unwrap", PHASE, period=4.3, ref=np.unwrap)
case("unwrap", PHASE, discont=5.0, period=7.0, ref=np.unwrap)
case("unwrap", integers(0, 400, 8), period=360, ref=np.unwrap)
case("unwrap", np.array([0, 3, 6, 1, 4, -3]), period=7, ref=np.unwrap)
case("unwrap", np.array([0, 180, 0, -180, 0]), period=360, ref=np.unwrap)
case("unwrap", PHASE.astype(np.float32), ref=np.unwrap, _rtol=1e-6)  # float32

for name in ("bartlett", "blackman", "hamming", "hanning"):
    for size in (0, 1, 2, 7):
        case(name, size, ref=getattr(np, name))
for size in (0, 1, 6):
    case("kaiser", size, 8.6, ref=np.kaiser)
case("kaiser", 5, np.array(8.6), ref=np.kaiser)
