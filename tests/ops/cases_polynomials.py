"""Cases of `ops/polynomials.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal, uniform

P = normal(4)
case("polyval", P, normal(2, 3), ref=np.polyval)
case("polyval", P, normal(), ref=np.polyval)
case("polyval", P, 0.7, ref=np.polyval)
case("polyval", normal(1), normal(3), ref=np.polyval)
case("polyval", P, np.array([0.0, 1.0, -2.0]), ref=np.polyval)
case("polyval", normal(3, dtype=complex), normal(3, dtype=complex, seed=1), ref=np.polyval)
case("polyval", integers(-3, 4, 4), integers(-3, 4, 5), ref=np.polyval)
case("polyval", integers(-3, 4, 4), normal(3, dtype=np.float32), ref=np.polyval)
case("polyval", P.astype(np.float32), normal(3, dtype=np.float32), ref=np.polyval, _rtol=1e-6)  # float32
case("polyval", P, normal(0), ref=np.polyval)

for increasing in (False, True):
    case("vander", normal(4), increasing=increasing, ref=np.vander)
    case("vander", normal(3), 5, increasing, ref=np.vander)
    case("vander", normal(3), N=2, increasing=increasing, ref=np.vander)
    case("vander", integers(-3, 4, 3), 4, increasing, ref=np.vander)
    case("vander", normal(3, dtype=complex), increasing=increasing, ref=np.vander)
case("vander", normal(3, dtype=np.float32), ref=np.vander)
case("vander", normal(0), ref=np.vander)

for name in ("polyadd", "polysub"):
    ref = getattr(np, name)
    case(name, normal(4), normal(2, seed=1), ref=ref)
    case(name, normal(2), normal(4, seed=1), ref=ref)
    case(name, normal(3), normal(3, seed=1), ref=ref)
    case(name, normal(3), normal(), ref=ref)
    case(name, integers(0, 9, 3), normal(2, dtype=np.float32), ref=ref)
for m in (0, 1, 2, 5):
    case("polyder", P, m, ref=np.polyder)
case("polyder", integers(0, 9, 4), ref=np.polyder)
case("polyder", normal(1), ref=np.polyder)
case("polyint", P, ref=np.polyint)
case("polyint", P, 2, ref=np.polyint)
case("polyint", P, 2, 1.5, ref=np.polyint)
case("polyint", P, m=2, k=np.array([1.5, -2.0]), ref=np.polyint)
case("polyint", integers(0, 9, 4), ref=np.polyint)
case("polyint", P, 0, ref=np.polyint)

T = np.array([-1.0, -0.3, 0.4, 1.1, 2.0])
# The coefficients come from a decomposition of a matrix whose condition takes a digit or two.
case("polyfit", T, normal(5), 1, ref=np.polyfit, _rtol=1e-9)
case("polyfit", T, normal(5), 2, ref=np.polyfit, _rtol=1e-9)
case("polyfit", T, normal(5, 2), 2, ref=np.polyfit, _rtol=1e-9)
case("polyfit", T, normal(5), 1, w=uniform(0.5, 2, 5), ref=np.polyfit, _rtol=1e-9)
case("polyfit", np.arange(5), integers(0, 9, 5), 2, ref=np.polyfit, _rtol=1e-9)
case("polyfit", T, normal(5), 0, ref=np.polyfit, _rtol=1e-9)
