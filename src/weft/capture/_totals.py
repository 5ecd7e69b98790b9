"""`sum` and `math.prod` of arrays: they combine the items one by one, in the type that the first step gives."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from weft.capture._numpy_probe import Samples
from weft.capture._python_calls import PythonCalls, kind_of, python
from weft.capture._values import Array
from weft.ops._dim import hint_of

_STEPS: dict[Any, tuple[Any, Any, int]] = {sum: (operator.add, np.sum, 0), math.prod: (operator.mul, np.prod, 1)}


def total(calls: PythonCalls, function: Any, items: Array, start: Any) -> Any:
    """`sum(items, start)` or `math.prod(items, start=start)`: `start` itself where there are no items."""
    combine, reduce, usual = _STEPS[function]
    recorder, size = calls.recorder, items.spec.shape[0]
    if size == 0:
        return start
    args, given = ((items,), {"start": start}) if function is math.prod else ((items, start), {})
    if type(start) is int and start == usual:
        args, given = (items,), {}
    if hint_of(size) is None and len(items.spec.shape) > 1:
        return recorder.opaque(function, args, given)  # an array, or a number where there are no items
    with np.errstate(all="ignore"):
        dtype = combine(Samples().of(start), np.ones((), items.spec.dtype)[()]).dtype
    if len(items.spec.shape) > 1 or isinstance(start, Array):
        reduced = recorder.numpy.function(reduce, (items,), {"axis": 0, "dtype": dtype})
        return recorder.operate(combine, start, reduced)
    kinds = [dtype] if hint_of(size) is not None else [dtype, kind_of(start)]  # only running tells whether it is empty
    return calls.one_of(function, args, kinds, **given)


@python(math.prod)
def _prod(calls: PythonCalls, items: Any, /, *, start: Any = 1) -> Any:
    if isinstance(items, Array) and items.spec.shape:
        return total(calls, math.prod, items, start)
    if not isinstance(items, (tuple, list)):
        given = {} if type(start) is int and start == 1 else {"start": start}
        return calls._math(math.prod, (items,), given)
    result = start
    for item in items:
        result = result * item
    return result
