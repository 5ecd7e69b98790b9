"""Sequences and samples: convolution, interpolation, slopes and areas under curves, phases, window functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, conj, op
from weft.ops._spec import Shape, Spec, dtype_of, normalize_axes, normalize_axis, shape_of
from weft.ops.creation import arange, asarray, ones
from weft.ops.cumulative import along, cumsum, diff
from weft.ops.dtypes import astype, result_type
from weft.ops.elementwise import abs, clip, divisor, remainder
from weft.ops.indexing import searchsorted, take
from weft.ops.joining import concat
from weft.ops.logic import equal, greater, less, logical_and, where
from weft.ops.manipulation import flip, ravel, reshape
from weft.ops.numbers import i0
from weft.ops.padding import pad
from weft.ops.reductions import sum
from weft.ops.sorting import argsort
from weft.ops.transcendental import sqrt

__all__ = [
    "bartlett",
    "blackman",
    "convolve",
    "correlate",
    "ediff1d",
    "gradient",
    "hamming",
    "hanning",
    "interp",
    "kaiser",
    "trapezoid",
    "unwrap",
]

# ── Convolution ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _cut(name: str, n: int, m: int, mode: str) -> tuple[int, int]:
    """Where the result of a mode begins in the full convolution, and how long it is."""
    if n < 1 or m < 1:
        raise ShapeError(f"{name}: both arrays need at least one element, got {n} and {m}")
    few = min(n, m)
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return (few - 1) // 2, max(n, m)
    if mode == "valid":
        return few - 1, max(n, m) - few + 1
    raise ValueError(f"{name}: expected mode 'full', 'same' or 'valid', got {mode!r}")


def _lengths(name: str, a: Any, v: Any) -> tuple[int, int]:
    """The numbers of elements of two sequences; a number counts as a sequence of one."""
    shapes = shape_of(a) or (1,), shape_of(v) or (1,)
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise ShapeError(f"{name}: expected arrays of one dimension, got shapes {shapes[0]} and {shapes[1]}")
    return shapes[0][0], shapes[1][0]


def _convolve_spec(a: Any, v: Any, mode: str) -> Spec:
    return Spec((_cut("convolve", *_lengths("convolve", a, v), mode)[1],), np.result_type(dtype_of(a), dtype_of(v)))


def _convolve_back(g: Any, a: Any, v: Any, mode: str) -> Any:
    """The gradient of `a`: that of the full convolution, correlated with `v`."""
    n, m = _lengths("convolve", a, v)
    start, length = _cut("convolve", n, m, mode)
    full = pad(g, ((start, n + m - 1 - start - length),)) if mode != "full" else g
    return reshape(convolve(full, flip(conj(reshape(v, (m,)))), "valid"), shape_of(a))


@op(
    arrays=("a", "v"),
    infer=_convolve_spec,
    vjp=(
        lambda g, y, a, v, mode: _convolve_back(g, a, v, mode),
        lambda g, y, a, v, mode: _convolve_back(g, v, a, mode),
    ),
    numpy=(np.convolve,),
)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two sequences: all of it, as much as the longer one ("same"), or where both overlap."""
    return np.convolve(a, v, mode)


@composite(arrays=("a", "v"), numpy=(np.correlate,), eval=np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The products of two sequences, the second conjugated, summed for every shift of it against the first."""
    n, m = _lengths("correlate", a, v)
    a, v = reshape(a, (n,)), reshape(v, (m,))
    _cut("correlate", n, m, mode)
    if m > n:  # NumPy exchanges them and reads the result backwards, which shows in where "same" begins
        return flip(conj(convolve(v, flip(conj(a)), mode)))
    return convolve(a, flip(conj(v)), mode)


# ── Interpolation ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _wrapped(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Points and samples brought into one period, with a sample more at each end."""
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    xp = concat([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concat([fp[-1:], fp, fp[:1]])


@composite(arrays=("x", "xp", "fp"), numpy=(np.interp,), eval=np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Values at x of the line through the points (xp, fp), xp ascending; `left` and `right` hold beyond its ends."""
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp):
        raise ShapeError(f"interp: xp and fp are sequences of one length, got shapes {shape_of(xp)} and {shape_of(fp)}")
    if dtype_of(x).kind == "c" or dtype_of(xp).kind == "c":
        raise DtypeError("interp: x and xp are real numbers")
    x, xp = astype(x, np.float64), astype(xp, np.float64)
    fp = astype(fp, np.complex128 if dtype_of(fp).kind == "c" else np.float64)
    if period is not None:
        if not hasattr(period, "shape") and period == 0:
            raise ValueError("interp: period is not 0")
        x, xp, fp = _wrapped(x, xp, fp, abs(period))
        left = right = None
    n = shape_of(xp)[0]
    if n == 0:
        raise ShapeError("interp: there are no points to draw a line through")
    at = clip(searchsorted(xp, x, side="right") - 1, 0, max(n - 2, 0))
    after = at + 1 if n > 1 else at
    x0, f0 = take(xp, at), take(fp, at)
    slope = (take(fp, after) - f0) / divisor(take(xp, after) - x0)
    y = slope * (x - x0) + f0
    y = where(greater(x, xp[-1]), fp[-1] if right is None else right, y)
    return where(less(x, xp[0]), fp[0] if left is None else left, y)


# ── Slopes and areas ──────────────────────────────────────────────────────────────────────────────────────────────────


def _steps(f: Any, spacing: Any, axis: int) -> Any:
    """The distances along an axis: a number, or differences of coordinates laid along it."""
    if not shape_of(spacing):
        return spacing
    ndim, size = len(shape_of(f)), shape_of(f)[axis]
    if shape_of(spacing) != (size,):
        raise ShapeError(f"gradient: coordinates of shape {shape_of(spacing)} for axis {axis} of {shape_of(f)}")
    wide = spacing if dtype_of(spacing).kind in "fc" else astype(spacing, np.float64)
    return reshape(diff(wide), (*(1,) * axis, size - 1, *(1,) * (ndim - axis - 1)))


def _interior(f: Any, h: Any, axis: int) -> Any:
    def part(start: int, stop: int | None, x: Any = f) -> Any:
        return x[along(axis, slice(start, stop))]

    if not shape_of(h):
        return (part(2, None) - part(0, -2)) / (2.0 * h)
    h1, h2 = part(0, -1, h), part(1, None, h)
    left, middle, right = -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))
    return left * part(0, -2) + middle * part(1, -1) + right * part(2, None)


def _edge(f: Any, h: Any, axis: int, order: int, last: bool) -> Any:
    """The slope at one end, from two or three points; counted inwards."""

    def point(i: int, x: Any = f) -> Any:
        return x[along(axis, slice(-1 - i, -i or None) if last else slice(i, i + 1))]

    steps = (point(0, h), point(1, h) if order > 1 else None) if shape_of(h) else (h, h)
    sign = -1 if last else 1
    if order == 1:
        return sign * (point(1) - point(0)) / steps[0]
    h1, h2 = steps
    weights = -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    return sign * (weights[0] * point(0) + weights[1] * point(1) + weights[2] * point(2))


def _spacings(given: tuple[Any, ...], count: int) -> list[Any]:
    if not given:
        return [1.0] * count
    if len(given) == 1 and not shape_of(given[0]):
        return [given[0]] * count
    if len(given) != count:
        raise TypeError(f"gradient: {len(given)} spacings for {count} axes")
    return list(given)


@composite(arrays=("f", "varargs"), numpy=(np.gradient,), eval=np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes along the given axes from neighbouring elements; one array for each axis where there are several.

    The spacing is 1, a number, a number for each axis, or the coordinates along each.
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is 1 or 2, got {edge_order!r}")
    shape = shape_of(f)
    axes = normalize_axes("gradient", axis, len(shape))
    f = f if dtype_of(f).kind in "fc" else astype(f, np.float64)
    found = []
    for each, spacing in zip(axes, _spacings(varargs, len(axes)), strict=True):
        if shape[each] < edge_order + 1:
            raise ShapeError(f"gradient: axis {each} of {shape} is too short, at least {edge_order + 1} are needed")
        h = _steps(f, spacing, each)
        parts = [_edge(f, h, each, edge_order, False), _interior(f, h, each), _edge(f, h, each, edge_order, True)]
        slopes = concat(parts, axis=each)
        found.append(slopes if dtype_of(slopes) == dtype_of(f) else astype(slopes, dtype_of(f)))
    return found[0] if len(found) == 1 else tuple(found)


@composite(arrays=("y", "x"), numpy=(np.trapezoid,), eval=np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area under the line through samples along an axis, at the coordinates x or `dx` apart."""
    y = asarray(y)
    at = normalize_axis("trapezoid", axis, len(shape_of(y)))
    step = dx
    if x is not None:
        x = asarray(x)
        step = diff(x, axis=axis if len(shape_of(x)) > 1 else 0)
        if len(shape_of(x)) == 1:
            step = reshape(step, (shape_of(step)[0], *(1,) * (len(shape_of(y)) - at - 1)))
    return sum(step * (y[along(at, slice(1, None))] + y[along(at, slice(None, -1))]) / 2.0, axis=at)


@composite(arrays=("ary", "to_end", "to_begin"), numpy=(np.ediff1d,), eval=np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array, with other values joined to the ends."""
    between = diff(ravel(ary))
    parts = [None if end is None else ravel(end) for end in (to_begin, to_end)]
    for end in parts:
        if end is not None and not np.can_cast(dtype_of(end), dtype_of(ary), "same_kind"):
            raise DtypeError(f"ediff1d: {dtype_of(end)} does not fit an array of {dtype_of(ary)}")
    joined = [parts[0], between, parts[1]]
    return concat([astype(part, dtype_of(ary)) for part in joined if part is not None])


def _wrap_bounds(dtype: np.dtype[Any], period: Any) -> tuple[Any, bool]:
    """Half a period, and whether a step of exactly that may count as either direction."""
    if dtype.kind in "iu":
        half, odd = divmod(period, 2)
        return half, odd == 0
    return period / 2, True


@composite(arrays=("p",), numpy=(np.unwrap,), eval=np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """Phases along an axis with whole periods added so that no step is longer than half of one, or `discont`."""
    at = normalize_axis("unwrap", axis, len(shape_of(p)))
    step = diff(p, axis=at)
    dtype = np.dtype(result_type(step, period))
    high, either = _wrap_bounds(dtype, period)
    short = remainder(step + high, period) - high
    if either:
        short = where(logical_and(equal(short, -high), greater(step, 0)), high, short)
    limit = period / 2 if discont is None else discont
    turns = where(less(abs(step), limit), 0, short - step)
    rest = p[along(at, slice(1, None))] + cumsum(turns, at)
    return astype(concat([astype(p[along(at, slice(None, 1))], dtype), astype(rest, dtype)], axis=at), dtype)


# ── Window functions ──────────────────────────────────────────────────────────────────────────────────────────────────


def _window_spec(M: Any, beta: Any = None) -> Spec:
    shape: Shape = (max(0, M),)
    return Spec(shape, np.float64)


@op(arrays=(), vjp=(), infer=_window_spec, numpy=(np.bartlett,))
def bartlett(M: int) -> Any:
    """A triangle of M samples that is 0 at both ends."""
    return np.bartlett(M)


@op(arrays=(), vjp=(), infer=_window_spec, numpy=(np.blackman,))
def blackman(M: int) -> Any:
    """The Blackman window of M samples, a sum of three cosines."""
    return np.blackman(M)


@op(arrays=(), vjp=(), infer=_window_spec, numpy=(np.hamming,))
def hamming(M: int) -> Any:
    """The Hamming window of M samples, a raised cosine that ends at 0.08."""
    return np.hamming(M)


@op(arrays=(), vjp=(), infer=_window_spec, numpy=(np.hanning,))
def hanning(M: int) -> Any:
    """The Hann window of M samples, a raised cosine that ends at 0."""
    return np.hanning(M)


@composite(arrays=("beta",), eval=np.kaiser, infer=_window_spec, numpy=(np.kaiser,))
def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window of M samples; a larger `beta` makes it narrower."""
    middle = (M - 1) / 2.0
    if M == 1:
        return ones(1)
    return i0(beta * sqrt(1 - ((arange(M) - middle) / middle) ** 2.0)) / i0(beta)
