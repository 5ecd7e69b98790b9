"""Cases of `ops/numbers.py` beyond those its pointwise ops get from their domains: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal, uniform

NAN = np.array([1.0, np.nan, -2.0, np.nan, 0.0, -np.inf, np.inf])
for name in ("fmax", "fmin", "heaviside"):
    case(name, NAN, np.roll(NAN, 2), ref=getattr(np, name), _grad=False)
for name in ("isposinf", "isneginf", "isreal", "fabs", "rint", "fix"):
    for dtype in (np.float32, np.float16):
        case(name, NAN.astype(dtype), ref=getattr(np, name), _grad=False)
for name in ("isreal", "iscomplex"):
    case(name, np.array([1 + 0j, 2j, 0, 3.5]), ref=getattr(np, name))
case("iscomplex", normal(3), ref=np.iscomplex)
case("heaviside", np.array([-1.0, 0.0, 2.0]), normal(3), ref=np.heaviside, _grad=False)
for dtype in (np.int8, np.uint8, np.int64, np.bool_):
    x = integers(0, 2, 5).astype(dtype)
    for name in ("fix", "rint", "fabs", "angle", "copy", "modf", "frexp"):
        if not (dtype is np.bool_ and name == "fix"):
            case(name, x, ref=getattr(np, name))
for dtype in (np.int8, np.uint16):
    case("gcd", integers(0, 40, 5, dtype=dtype), integers(1, 40, 5, dtype=dtype, seed=1), ref=np.gcd)
    case("bitwise_count", integers(0, 100, 5, dtype=dtype), ref=np.bitwise_count)
    case("float_power", integers(1, 4, 5, dtype=dtype), 2, ref=np.float_power)
case("ldexp", normal(3, dtype=np.float32), integers(-2, 3, 3, dtype=np.int32), ref=np.ldexp)

for deg in (False, True):
    case("angle", normal(3, dtype=complex), deg, ref=np.angle)
    case("angle", normal(2, 3), deg=deg, ref=np.angle)
    case("angle", normal(3, dtype=np.complex64), deg, ref=np.angle, _rtol=1e-6)  # float32
for shape in ((3, 4), (), (0, 2)):
    x = uniform(0.1, 0.9, *shape) * 3.0
    case("modf", x, ref=np.modf)
    case("frexp", x, ref=np.frexp)
    case("divmod", x, uniform(0.4, 0.6, *shape), ref=np.divmod)
    case("copy", x, ref=np.copy)
case("modf", NAN, ref=np.modf, _grad=False)
case("modf", -NAN.astype(np.float32), ref=np.modf)
case("frexp", NAN.astype(np.float16), ref=np.frexp)
case("divmod", normal(3, 1), uniform(0.5, 2.0, 4), ref=np.divmod)
case("divmod", integers(-9, 9, 5), 4, ref=np.divmod)
case("divmod", integers(0, 9, 5, dtype=np.uint8), integers(1, 4, 5, dtype=np.int16), ref=np.divmod)
case("copy", normal(3, 2, dtype=complex), order="F", ref=np.copy)
