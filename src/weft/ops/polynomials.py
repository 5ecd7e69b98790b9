"""Polynomials by their coefficients, the highest power first, as NumPy's `poly*` functions take them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops._dim import dim_max
from weft.ops._families import composite, conj, op
from weft.ops._matrices import inexact
from weft.ops._op import TABLE
from weft.ops._raises import SINGULAR
from weft.ops._spec import Spec, dtype_of, shape_of, size_of
from weft.ops.creation import arange, asarray, zeros
from weft.ops.dtypes import astype, result_type
from weft.ops.joining import concat
from weft.ops.linalg import matmul
from weft.ops.manipulation import atleast_1d, expand_dims, reshape
from weft.ops.reductions import sum
from weft.ops.transcendental import pow, sqrt

__all__ = ["polyadd", "polyder", "polyfit", "polyint", "polysub", "polyval", "vander"]


def _length(name: str, p: Any) -> int:
    if len(shape_of(p)) > 1:
        raise ShapeError(f"{name}: coefficients have one dimension, got shape {shape_of(p)}")
    return (shape_of(p) or (1,))[0]


# ── Values ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _polyval_spec(p: Any, x: Any) -> Spec:
    _length("polyval", p)
    return Spec(shape_of(x), np.result_type(dtype_of(x), dtype_of(p)))


def _polyval_p(g: Any, y: Any, p: Any, x: Any) -> Any:
    """Each coefficient reaches the value by its power of x."""
    n = _length("polyval", p)
    powers = pow(expand_dims(conj(asarray(x)), -1), arange(n - 1, -1, -1))
    slopes = expand_dims(g, -1) * powers
    return reshape(sum(slopes, axis=tuple(range(len(shape_of(slopes)) - 1))), shape_of(p))


def _polyval_x(g: Any, y: Any, p: Any, x: Any) -> Any:
    n = _length("polyval", p)
    if n < 2:
        return 0
    return g * conj(polyval(p[:-1] * arange(n - 1, 0, -1), x))


@op(arrays=("p", "x"), infer=_polyval_spec, vjp=(_polyval_p, _polyval_x), numpy=(np.polyval,))
def polyval(p: Any, x: Any) -> Any:
    """The value of a polynomial at each element of x."""
    _length("polyval", p)
    return np.polyval(p, x)


@composite(arrays=("x",), numpy=(np.vander,), eval=np.vander)
def vander(x: Any, N: int | None = None, increasing: builtins.bool = False) -> Any:
    """The powers of each element, from the highest to 0, as the rows of a matrix; the other way where `increasing`."""
    if len(shape_of(x)) != 1:
        raise ShapeError(f"vander: expected one dimension, got shape {shape_of(x)}")
    count = shape_of(x)[0] if N is None else N
    powers = arange(count) if increasing else arange(count - 1, -1, -1)
    return pow(expand_dims(astype(x, np.promote_types(dtype_of(x), int)), -1), powers)


# ── Arithmetic ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _aligned(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both with zeros in front to one length."""
    lengths = _length(name, a1), _length(name, a2)
    longest = dim_max(*lengths)
    padded = []
    for each, length in zip((a1, a2), lengths, strict=True):
        line = atleast_1d(each)
        gap = longest - length
        padded.append(concat([zeros(gap, dtype=dtype_of(line)), line]) if not isinstance(gap, int) or gap else line)
    return padded[0], padded[1]


@composite(arrays=("a1", "a2"), numpy=(np.polyadd,), eval=np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    first, second = _aligned("polyadd", a1, a2)
    return first + second


@composite(arrays=("a1", "a2"), numpy=(np.polysub,), eval=np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    first, second = _aligned("polysub", a1, a2)
    return first - second


@composite(arrays=("p",), numpy=(np.polyder,), eval=np.polyder, memory=None)
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, `m` times over."""
    if m < 0:
        raise ValueError(f"polyder: expected m of 0 or more, got {m}")
    p = atleast_1d(p)
    for _ in range(m):
        n = _length("polyder", p)
        p = p[:-1] * arange(n - 1, 0, -1)
    return p


def _constants(m: int, k: Any) -> list[Any]:
    if k is None:
        return [0.0] * m
    given = atleast_1d(k)
    count = _length("polyint", given)
    if count == 1 and m > 1:
        return [given[0]] * m
    if count < m:
        raise ValueError(f"polyint: {m} integrations need {m} constants, got {count}")
    return [given[i] for i in range(m)]


@composite(arrays=("p", "k"), numpy=(np.polyint,), eval=np.polyint, memory=None, always_array=True)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of a polynomial, `m` times over, with the constants `k` (0)."""
    if m < 0:
        raise ValueError(f"polyint: expected m of 0 or more, got {m}")
    p = atleast_1d(p)
    for constant in _constants(m, k):
        n = _length("polyint", p)
        p = concat([p / arange(n, 0, -1), reshape(asarray(constant), (1,))])
    return p


# ── Fits ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _polyfit_spec(x: Any, y: Any, deg: Any, rcond: Any, w: Any) -> Spec:
    if len(shape_of(x)) != 1 or len(shape_of(y)) not in (1, 2) or shape_of(x) != shape_of(y)[:1]:
        raise ShapeError(f"polyfit: x is a sequence and y has as many rows, got shapes {shape_of(x)} and {shape_of(y)}")
    if w is not None and shape_of(w) != shape_of(x):
        raise ShapeError(f"polyfit: weights of shape {shape_of(w)} for points of shape {shape_of(x)}")
    terms = deg + 1 if not shape_of(deg) else size_of(shape_of(deg))
    given = [each for each in (x, y, w) if each is not None]
    return Spec((terms, *shape_of(y)[1:]), inexact("polyfit", *(Spec((), result_type(d, 0.0)) for d in given)))


def _numpy_polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, *, w: Any = None) -> Any:
    return np.polyfit(x, y, deg, rcond, w=w)


@composite(arrays=("x", "y", "w"), numpy=(np.polyfit,), eval=_numpy_polyfit, infer=_polyfit_spec, raises=SINGULAR)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, *, w: Any = None) -> Any:
    """The polynomial of degree `deg` that comes nearest to the points (x, y), each counted by its weight.

    The derivative takes the points to determine the polynomial.
    """
    x, y = (each if dtype_of(each).kind in "fc" else astype(each, np.float64) for each in (x, y))
    powers = arange(deg, -1, -1) if not shape_of(deg) else np.sort(np.asarray(deg))[::-1].copy()
    left = pow(expand_dims(x, -1), powers)
    right = reshape(y, (shape_of(y)[0], -1))
    if w is not None:
        weight = expand_dims(w, -1)
        left, right = left * weight, right * weight
    scale = sqrt(sum(left * conj(left), axis=0))
    found = matmul(TABLE["pinv"](left / scale), right) / expand_dims(scale, -1)
    return reshape(found, (shape_of(found)[0], *shape_of(y)[1:]))
