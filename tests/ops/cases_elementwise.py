"""Cases of `ops/elementwise.py`, `transcendental.py`, `special.py` and `logic.py` beyond what their domains give."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from cases import REFERENCES, case, integers, normal, uniform


def _scipy(function: Any) -> Any:
    """A function of SciPy, which lacks float16 and small results for small integers, with NumPy's result dtypes."""

    def reference(x: Any) -> Any:
        x = np.asarray(x)
        return function(x.astype(np.float64, casting="same_kind")).astype(np.sin(np.empty(0, x.dtype)).dtype)

    return reference


def _rsqrt(x: Any) -> Any:
    return np.power(np.sqrt(x), np.array(-1, np.sqrt(x).dtype))


def _whole(ufunc: Any) -> Any:
    """Integers are whole already, and stay integers; in NumPy only since 2.1."""
    return lambda x: np.array(x) if np.asarray(x).dtype.kind in "biu" else ufunc(x)


def _sinc(x: Any) -> Any:
    """NumPy's, but for a float16 0, by which older releases divide."""
    y = np.sinc(x)
    return np.where(np.asarray(x) == 0, np.ones((), y.dtype), y)


REFERENCES["floor"] = _whole(np.floor)
REFERENCES["ceil"] = _whole(np.ceil)
REFERENCES["trunc"] = _whole(np.trunc)
REFERENCES["sinc"] = _sinc
REFERENCES["erf"] = _scipy(scipy.special.erf)
REFERENCES["erfc"] = _scipy(scipy.special.erfc)
REFERENCES["i1"] = _scipy(scipy.special.i1)
REFERENCES["lgamma"] = _scipy(scipy.special.gammaln)
REFERENCES["digamma"] = _scipy(scipy.special.digamma)
REFERENCES["rsqrt"] = _rsqrt

x = np.array([[-2.5, -0.7, 0.4], [1.3, 2.6, 5.0]])


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    low = -np.inf if min is None else min
    high = np.inf if max is None else max
    return np.where(x < low, low, np.where(x > high, high, x))


case("clip", x, -1.0, 2.0, ref=clip)
case("clip", x, -1.0, ref=clip)
case("clip", x, max=2.0, ref=clip)
case("clip", x, min=None, max=None, ref=lambda x, min, max: x)
case("clip", x, np.array([-1.0, 0.0, 1.0]), np.array([[2.0], [3.0]]), ref=clip)
case("clip", x, np.array(-1.0), 2, ref=clip)
case("clip", np.float64(3.0), 0.0, 1.0, ref=lambda x, a, b: np.float64(1.0))
case("clip", normal(0, 2), -1.0, 2.0, ref=clip)
case("clip", x.astype(np.float32), -1, 2.5, ref=np.clip)
case("clip", x.astype(np.float16), -1.0, None, ref=np.clip)
case("clip", integers(-9, 9, 7, dtype=np.int8), -3, 3, ref=np.clip)
case("clip", integers(-9, 9, 7), 0.5, None, ref=np.clip)

case("around", x + 0.05, ref=np.round)
case("around", x * 1.2345, 2, ref=np.round)
case("around", x * 123.45, decimals=-1, ref=np.round)
case("around", x.astype(np.float32), 1, ref=np.round)
case("around", integers(-99, 99, 7), 1, ref=np.round)
case("around", integers(-99, 99, 7), -1, ref=np.round)

broken = np.array([np.nan, 1.5, -np.inf, np.inf, -2.0])
case("nan_to_num", x, ref=np.nan_to_num)
case("nan_to_num", broken, _grad=False, ref=np.nan_to_num)
case("nan_to_num", broken, nan=3.0, posinf=7.0, neginf=-7.0, _grad=False, ref=np.nan_to_num)
case("nan_to_num", broken.astype(np.float32), _grad=False, ref=np.nan_to_num)
case(
    "nan_to_num",
    np.array([complex(a, b) for a, b in zip(broken, broken[::-1], strict=True)]),
    _grad=False,
    ref=np.nan_to_num,
)
case("nan_to_num", normal(3, dtype=complex), ref=np.nan_to_num)
case("nan_to_num", integers(0, 9, 3), ref=np.nan_to_num)

case("where", x > 0, x, 2.0, ref=np.where)
case("where", x > 0, 1, x.astype(np.float32), ref=np.where)
case("where", integers(0, 2, 3), x, x[::-1].copy(), ref=np.where)
case("where", True, normal(2, dtype=complex), normal(2), ref=np.where)

# Python numbers, negative bases, exponents of each kind, zero.
base = np.array([-1.5, -0.4, 0.7, 2.0])
for exponent in (0, 1, 2, 3, -1, -2, 2.0):
    case("pow", base, exponent, ref=np.power)
    case(
        "pow",
        base,
        np.full(4, exponent, np.int64 if isinstance(exponent, int) else float),
        _grad=exponent != 2.0,
        ref=np.power,
    )
case("pow", np.abs(base), 0.5, ref=np.power)
case("pow", 2.0, base, ref=np.power)
case("pow", integers(1, 5, 4), base, ref=np.power)
case("pow", integers(1, 5, 4), integers(0, 4, 4), ref=np.power)
case("pow", base.astype(np.float32), 3, ref=np.power)
case("pow", normal(3, dtype=complex), 3, ref=np.power)
case("pow", normal(3, dtype=complex), normal(3), ref=np.power)
case("pow", np.abs(normal(3)), normal(3, dtype=complex), ref=np.power)

case("multiply", normal(3), normal(3, dtype=complex), ref=np.multiply)
case("divide", normal(3, dtype=complex), 2, ref=np.divide)
case("divide", 2, normal(3, dtype=complex), ref=np.divide)
case("maximum", x, 0, ref=np.maximum)
case("minimum", 0.0, x, ref=np.minimum)
case("remainder", x, -0.8, ref=np.remainder)
case("fmod", x, -0.8, ref=np.fmod)
case("cbrt", -np.abs(x), ref=np.cbrt)
case("atan2", x, -np.abs(x[::-1]), ref=np.arctan2)
case("sinc", np.array([0.0, 1e-4, -0.02, 0.04, 1.5]), ref=np.sinc)
case("real", normal(2, 2, dtype=np.complex64), ref=np.real)
case("imag", normal(2, 2), ref=lambda x: np.zeros(x.shape))
# More elements than are done one by one.
case("erf", uniform(-6, 6, 200), _order=0, _grad=False, ref=REFERENCES["erf"])
case("erfc", uniform(-6, 6, 200), _order=0, _grad=False, ref=REFERENCES["erfc"])
case("erf", uniform(-6, 6, 20000, dtype=np.float32), _grad=False, _rtol=1e-6, ref=REFERENCES["erf"])
case("erfc", uniform(-6, 6, 20000, dtype=np.float32), _grad=False, _rtol=2e-6, ref=REFERENCES["erfc"])

# Its derivative is zero by definition, whatever the values do.
case("stop_gradient", normal(2, 3), _grad=False, ref=lambda x: x)
case("stop_gradient", normal(2, dtype=complex), _grad=False, ref=lambda x: x)

case("i1", uniform(-600, 600, 50), _grad=False, ref=REFERENCES["i1"])
case("i1", np.array([0.0, 1e-9, -1e-3]), ref=REFERENCES["i1"])
case("lgamma", uniform(-6, -0.1, 20), ref=REFERENCES["lgamma"])
case("digamma", uniform(-5.9, 40, 50), _grad=False, ref=REFERENCES["digamma"])
for n in range(4):
    case("polygamma", n, uniform(0.2, 30, 20), _order=0 if n else 2, ref=scipy.special.polygamma)


def _tetragamma(n: int, x: Any) -> Any:
    """polygamma(2, x), which SciPy has on the right alone, by its recurrence from there."""
    return scipy.special.polygamma(2, x + 3) - sum(2 / (x + k) ** 3 for k in range(3))


case("polygamma", 2, uniform(-2.55, -2.45, 5), ref=_tetragamma)
