"""The logarithm of the gamma function and its derivatives: lgamma, digamma, polygamma.

polygamma(n, x) is summed up to z = x + 16 + 2n, from where Stirling's series is exact to rounding; left of 0 it follows
from the reflection about 1/2. See Abramowitz and Stegun, 6.3 and 6.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.errors import DtypeError
from weft.ops._families import Reals, op, unary
from weft.ops._spec import Spec, dtype_of, shape_of

__all__ = ["digamma", "lgamma", "polygamma"]

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B2, B4, …


def _real(name: str, x: Any) -> np.dtype[Any]:
    found = np.sin(np.empty(0, dtype_of(x))).dtype
    if found.kind != "f":
        raise DtypeError(f"{name}: expected real numbers, got {dtype_of(x)}")
    return found


def _right(n: int, x: np.ndarray) -> Any:
    """The polygamma function for x > 0."""
    count = 16 + 2 * n
    below: Any = sum((x + k) ** -(n + 1.0) for k in range(count))
    z = x + count
    if n == 0:
        total = np.log(z) - 0.5 / z - below
        for k, b in enumerate(_BERNOULLI, 1):
            total -= b / (2 * k * z ** (2 * k))
        return total
    total = math.factorial(n) * (below + 0.5 * z ** -(n + 1.0)) + math.factorial(n - 1) * z**-n
    for k, b in enumerate(_BERNOULLI, 1):
        total += b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * z ** -(2 * k + n)
    return (-1) ** (n + 1) * total


def _cotangent_slope(n: int, x: np.ndarray) -> Any:
    """The n-th derivative of pi cot(pi x), a polynomial of cot(pi x): that of cot is -1 - cot^2."""
    cot = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        cot = cot.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    return math.pi ** (n + 1) * cot(1 / np.tan(math.pi * (x - np.round(x))))


def _polygamma(n: int, x: Any) -> Any:
    dtype = _real("polygamma", x)
    x = np.asarray(x, np.float64)
    left = x <= 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = _right(n, np.where(left, 1 - x, x).astype(np.float64))
        if left.any():
            found = np.where(left, (-1) ** n * found - _cotangent_slope(n, x), found)
    return found.astype(dtype)[()]


def _polygamma_spec(n: Any, x: Any) -> Spec:
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"polygamma: n is a whole number, at least 0, got {n!r}")
    return Spec(shape_of(x), _real("polygamma", x))


def _polygamma_back(g: Any, y: Any, n: int, x: Any) -> Any:
    return g * polygamma(n + 1, x)


@op(arrays=("x",), infer=_polygamma_spec, vjp=(_polygamma_back,))
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of the digamma function of each element."""
    _polygamma_spec(n, x)
    return _polygamma(int(n), x)


digamma = unary(
    "digamma",
    eval=lambda x: _polygamma(0, x),
    derivative=lambda y, x: polygamma(1, x),
    domain=Reals(0.5, 6, complex=False),
    doc="The derivative of lgamma for each element.",
)


def _log_gamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at 0, -1, -2, …, or too large
        return math.inf


def _lgamma(x: Any) -> Any:
    dtype = _real("lgamma", x)
    x = np.asarray(x)
    return np.array([*map(_log_gamma, x.ravel().tolist())], np.float64).reshape(x.shape).astype(dtype)[()]


lgamma = unary(
    "lgamma",
    eval=_lgamma,
    derivative=lambda y, x: digamma(x),
    domain=Reals(0.5, 6, complex=False),
    doc="The logarithm of the absolute value of the gamma function of each element.",
)
