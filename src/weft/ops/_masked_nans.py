"""NumPy's reductions that pass over NaN with `where=`, `initial=`, `mean=` and all their other parameters.

`weft.ops._numpy` chooses one of these for a call that the plain op does not take. NaN is left out beside what `where`
leaves out.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from weft.ops._families import composite
from weft.ops._masked import (
    _count,
    _eval,
    _extreme_eval,
    _infer,
    _shape,
    _spread_eval,
    _squares,
    _wide,
    max_where,
    min_where,
    prod_where,
    sum_where,
)
from weft.ops._matrices import put_in, real_dtype
from weft.ops._spec import dtype_of
from weft.ops.dtypes import astype
from weft.ops.elementwise import divisor
from weft.ops.logic import equal, isnan, less_equal, logical_and, logical_not
from weft.ops.logic import where as choose
from weft.ops.nans import _filled
from weft.ops.transcendental import sqrt


def _numbers(a: Any, where: Any) -> Any:
    """Which elements that `where` chooses are not NaN."""
    if dtype_of(a).kind not in "fc":
        return where
    return logical_not(isnan(a)) if where is True else logical_and(where, logical_not(isnan(a)))


@composite(arrays=("a", "initial", "where"), eval=_eval(np.nansum), infer=_infer("nansum", np.nansum))
def nansum_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum along the given axes of the elements chosen by `where` that are not NaN, starting from `initial`."""
    return sum_where(_filled(a, 0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@composite(arrays=("a", "initial", "where"), eval=_eval(np.nanprod), infer=_infer("nanprod", np.nanprod))
def nanprod_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Product along the given axes of the elements chosen by `where` that are not NaN, starting from `initial`."""
    return prod_where(_filled(a, 1), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@composite(arrays=("a", "initial", "where"), eval=_extreme_eval(np.nanmax))
def nanmax_where(
    a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest along the given axes of `initial` and the elements chosen by `where` that are not NaN."""
    return max_where(a, axis, keepdims=keepdims, initial=initial, where=_numbers(a, where))


@composite(arrays=("a", "initial", "where"), eval=_extreme_eval(np.nanmin))
def nanmin_where(
    a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest along the given axes of `initial` and the elements chosen by `where` that are not NaN."""
    return min_where(a, axis, keepdims=keepdims, initial=initial, where=_numbers(a, where))


@composite(arrays=("a", "where"), eval=np.nanmean)
def nanmean_where(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = True
) -> Any:
    """Mean along the given axes of the elements chosen by `where` that are not NaN; NaN where there is none."""
    _shape("nanmean", a, axis, keepdims, where)
    chosen = _numbers(a, where)
    x = _wide(_filled(a, 0), dtype)
    count = _count(x, axis, keepdims, chosen)
    total = sum_where(x, axis, keepdims=keepdims, where=where)
    found = choose(equal(count, 0), math.nan, total / astype(divisor(count), real_dtype(dtype_of(x))))
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: float, keepdims: Any, where: Any, mean: Any, correction: float | None
) -> Any:
    _shape("nanvar", a, axis, keepdims, where)
    chosen = _numbers(a, where)
    total, freedom = _squares(_filled(a, 0), axis, dtype, ddof, keepdims, chosen, mean, correction)
    short = less_equal(freedom, 0)
    return choose(short, math.nan, total / choose(short, 1, freedom))


@composite(arrays=("a", "where", "mean"), eval=_spread_eval(np.nanvar))
def nanvar_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Variance along the given axes, from `mean` where given, of the elements chosen by `where` that are not NaN."""
    found = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


@composite(arrays=("a", "where", "mean"), eval=_spread_eval(np.nanstd))
def nanstd_where(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation along the given axes of the elements chosen by `where` that are not NaN."""
    square = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    found = choose(equal(square, 0), 0, sqrt(divisor(square)))
    return astype(found, np.float16) if dtype is None and dtype_of(a) == np.float16 else found


_OPS = (nansum_where, nanprod_where, nanmax_where, nanmin_where, nanmean_where, nanvar_where, nanstd_where)
put_in("weft.ops._masked_nans", *_OPS)
