"""Cases of `ops/reductions.py` and `ops/cumulative.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
import scipy.special
from cases import case, integers, normal, uniform

AXES: list[dict[str, Any]] = [
    {},
    {"axis": 1, "keepdims": True},
    {"axis": (0, -1)},
    {"axis": -2},
    {"axis": (), "keepdims": False},
    {"axis": (2, 0), "keepdims": True},
]
x = uniform(0.5, 2.0, 2, 3, 4)
zeros_inside = np.array([[0.0, 2.0, -1.0], [0.0, 0.0, 3.0], [1.5, 2.0, 4.0]])


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)))


for options in AXES:
    case("sum", x, **options, ref=np.sum)
    case("prod", x, **options, ref=np.prod)
    case("mean", x, **options, ref=np.mean)
    case("var", x, **options, ref=np.var)
    case("max", x, **options, ref=np.max)
    case("min", x, **options, ref=np.min)
    case("all", x > 1, **options, ref=np.all)
    case("any", x > 1.9, **options, ref=np.any)
    case("count_nonzero", x > 1, **options, ref=np.count_nonzero)
    case("logsumexp", x, **options, ref=_logsumexp)
    if options.get("axis") != ():
        case("std", x, **options, ref=np.std)

for name in ("sum", "prod", "mean", "max", "min", "all", "any", "count_nonzero"):
    numpy = getattr(np, name)
    case(name, np.array(1.5), ref=numpy)
    case(name, normal(3, dtype=complex), ref=numpy)
    for dtype in (np.bool_, np.int8, np.uint16, np.float16, np.float32, np.complex64):
        # float16 and float32 round in another order than the reference may.
        case(name, integers(0, 3, 2, 3, dtype=dtype), axis=0, ref=numpy)
    if name not in ("max", "min"):
        case(name, np.zeros((2, 0)), axis=0, ref=numpy)
for name in ("sum", "prod", "all", "any", "count_nonzero"):
    case(name, np.zeros((2, 0)), axis=1, ref=getattr(np, name))

case("sum", normal(2, 3), 0, ref=np.sum)
case("sum", normal(2, 3), 0, np.float32, _grad=False, ref=np.sum)
case("sum", integers(0, 9, 3, dtype=np.int8), dtype=np.int8, ref=np.sum)
case("prod", zeros_inside, ref=np.prod)
case("prod", zeros_inside, axis=1, ref=np.prod)
case("prod", zeros_inside, axis=0, dtype=np.complex128, ref=np.prod)
case("prod", normal(3, 2, dtype=complex), axis=0, ref=np.prod)
case("mean", normal(5, dtype=np.float16), ref=np.mean)
case("mean", integers(0, 9, 5), dtype=np.float32, ref=np.mean)
case("max", integers(-9, 9, 3, 4), axis=-1, ref=np.max)

for name in ("var", "std"):
    numpy = getattr(np, name)
    case(name, x, axis=1, correction=1, ref=lambda x, axis, correction, f=numpy: f(x, axis, ddof=correction))
    case(name, x, axis=0, ddof=1, ref=numpy)
    case(name, x, (0, 2), correction=0.5, ref=lambda x, axis, correction, f=numpy: f(x, axis, ddof=correction))
    case(name, normal(4, 3, dtype=complex), axis=0, ref=numpy)
    case(name, normal(4, 3, dtype=np.complex64), axis=0, _rtol=1e-6, ref=numpy)
    case(name, normal(4, 3, dtype=np.float32), axis=0, _rtol=1e-6, ref=numpy)
    case(name, 100 * normal(4, 3, dtype=np.float16), axis=0, _rtol=2e-3, ref=numpy)
    case(name, integers(0, 9, 4, 3), axis=0, ref=numpy)
    case(name, integers(0, 2, 4, dtype=bool), ref=numpy)
    case(name, normal(4, 3), dtype=np.float32, _grad=False, _rtol=1e-6, ref=numpy)

case("logsumexp", normal(3, 2, dtype=complex), axis=0, ref=_logsumexp)
case("logsumexp", normal(3, dtype=np.float32), _rtol=1e-6, ref=scipy.special.logsumexp)
case("logsumexp", integers(0, 5, 3), ref=_logsumexp)
case("logsumexp", np.array(2.5), ref=_logsumexp)

for name in ("argmax", "argmin"):
    numpy = getattr(np, name)
    case(name, x, ref=numpy)
    case(name, x, 1, ref=numpy)
    case(name, x, axis=-1, keepdims=True, ref=numpy)
    case(name, x, keepdims=True, ref=numpy)
    case(name, np.array(2.0), ref=numpy)
    case(name, integers(0, 3, 3, 4), axis=0, ref=numpy)


# ── Running totals ────────────────────────────────────────────────────────────────────────────────────────────────────


def _running(numpy: Any, initial: int) -> Any:
    def reference(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        total = numpy(x, 0 if axis is None else axis, dtype)
        if not include_initial:
            return total
        padding = [(0, 0)] * x.ndim
        padding[axis or 0] = (1, 0)
        return np.pad(total, padding, constant_values=initial)

    return reference


def _recurrence(a: Any, b: Any, axis: int = -1, reverse: bool = False) -> Any:
    """Step by step, one number at a time."""
    a, b = np.broadcast_arrays(a, b)
    order = slice(None, None, -1) if reverse else slice(None)
    a, b = np.moveaxis(a, axis, -1)[..., order], np.moveaxis(b, axis, -1)[..., order]
    y = np.zeros(b.shape, np.result_type(a, b))
    for i in np.ndindex(y.shape):
        y[i] = b[i] + (a[i] * y[(*i[:-1], i[-1] - 1)] if i[-1] else 0)
    return np.moveaxis(y[..., order], -1, axis)


for name, numpy, initial in (("cumulative_sum", np.cumsum, 0), ("cumulative_prod", np.cumprod, 1)):
    reference = _running(numpy, initial)
    case(name, normal(4), ref=reference)
    case(name, normal(4), include_initial=True, ref=reference)
    case(name, zeros_inside, axis=0, ref=reference)
    case(name, zeros_inside, axis=-1, include_initial=True, ref=reference)
    case(name, normal(2, 0), axis=1, include_initial=True, ref=reference)
    case(name, normal(3, 2, dtype=complex), axis=0, ref=reference)
    case(name, normal(3, dtype=np.float32), ref=reference)
    case(name, normal(3, dtype=np.float32), dtype=np.float64, ref=reference)
    for dtype in (np.bool_, np.int8, np.uint8, np.float16):
        case(name, integers(0, 3, 4, dtype=dtype), ref=reference)
for name in ("cumsum", "cumprod"):
    case(name, normal(2, 3), ref=getattr(np, name))
    case(name, normal(2, 3), 1, ref=getattr(np, name))
    case(name, normal(2, 3, dtype=np.float32), axis=0, dtype=np.float64, ref=getattr(np, name))
    case(name, np.array(2.0), ref=getattr(np, name))

case("linear_recurrence", normal(5), normal(5, seed=1), ref=_recurrence)
case("linear_recurrence", normal(5), normal(5, seed=1), reverse=True, ref=_recurrence)
case("linear_recurrence", normal(3, 2), normal(3, 2, seed=1), axis=0, ref=_recurrence)
case("linear_recurrence", normal(2), normal(2, 3, 2), axis=-2, reverse=True, ref=_recurrence)
case("linear_recurrence", normal(3, dtype=complex), normal(3), ref=_recurrence)
case("linear_recurrence", normal(1), normal(1), ref=_recurrence)
case("linear_recurrence", normal(0), normal(0), ref=_recurrence)
case("linear_recurrence", normal(3, dtype=np.float32), normal(3, dtype=np.float32), ref=_recurrence, _rtol=1e-6)
# A first-order filter y[i] = 0.9 y[i - 1] + b[i].
case("linear_recurrence", np.full(6, 0.9), normal(6), ref=lambda a, b: scipy.signal.lfilter([1.0], [1.0, -0.9], b))

case("diff", normal(5), ref=np.diff)
case("diff", normal(3, 4), 2, 0, ref=np.diff)
case("diff", normal(3, 4), n=0, ref=np.diff)
case("diff", normal(3, 4), axis=-2, prepend=normal(1, 4), append=normal(2, 4), ref=np.diff)
case("diff", normal(3, 4), prepend=0.0, append=np.array(2.0), ref=np.diff)
case("diff", normal(1), n=2, ref=np.diff)
case("diff", normal(4, dtype=complex), ref=np.diff)
case("diff", integers(0, 9, 5, dtype=np.uint8), ref=np.diff)
case("diff", integers(0, 2, 5, dtype=bool), ref=np.diff)
case("diff", [1, 4, 9], _infer=False, ref=np.diff)
