"""Functions and methods of NumPy that write into an array they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._numpy_calls import call_named, method, special
from weft.capture._raising import RULES
from weft.capture._values import Array, Scalar
from weft.graph._effects import MEMORY
from weft.ops import Spec
from weft.ops._op import OWN, TABLE

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def _target(recorder: Recorder, array: Any) -> Array:
    made: Array = recorder.constant(array) if isinstance(array, np.ndarray) else array
    return made


@special(np.copyto)
def _copyto(recorder: Recorder, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    dst = _target(recorder, dst)
    src = recorder.numpy.function(np.asarray, (src,), {}) if isinstance(src, (list, tuple)) else src
    spec = recorder.abstract(src)
    if isinstance(spec, Spec):
        np.copyto(np.empty(0, dst.spec.dtype), np.empty(0, spec.dtype), casting=casting)
    value = src if where is True else call_named(recorder, "where", where, src, dst)
    recorder.setitem(dst, ..., value)


@method("fill")
def _fill(recorder: Recorder, a: Any, value: Any, /) -> None:
    recorder.setitem(a, ..., value)


@method("sort")
def _sort(
    recorder: Recorder, a: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    how = {"kind": kind, "order": order} if stable is None else {"kind": kind, "order": order, "stable": stable}
    np.sort(np.empty(0, a.spec.dtype), **how)  # raises what NumPy raises
    _replace(recorder, a, recorder.numpy.function(np.sort, (a,), {"axis": axis}))


@method("partition")
def _partition(
    recorder: Recorder, a: Any, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None
) -> None:
    _replace(recorder, a, recorder.numpy.function(np.partition, (a, kth), {"axis": axis}))


def _replace(recorder: Recorder, a: Array, value: Any) -> None:
    recorder.store(a, value.node)


@method("put")
def _method_put(recorder: Recorder, a: Any, indices: Any, values: Any, mode: str = "raise") -> None:
    _put(recorder, a, indices, values, mode)


@special(np.put)
def _put(recorder: Recorder, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    a, call = _target(recorder, a), recorder.numpy.function
    v = recorder.numpy.of_traced(v)
    if mode != "raise" or _is_empty(recorder, v):
        _changed(recorder, np.put, a, ind, v, mode)
        return
    if call(np.ndim, (v,), {}):
        ind = call(np.ravel, (ind,), {})
        v = call(np.resize, (v, call(np.size, (ind,), {})), {})
    whole = recorder.read(a)
    flat_type = Spec((_count(a.spec.shape),), a.spec.dtype)
    flat = recorder.create(TABLE["reshape"], (whole, flat_type.shape), {}, flat_type)
    new = recorder.create(TABLE["index_update"], (flat, ind, v), {}, flat_type)
    recorder.store(a, recorder.create(TABLE["reshape"], (new, a.spec.shape), {}, a.spec))


def _count(shape: Any) -> Any:
    count: Any = 1
    for dim in shape:
        count = count * dim
    return count


def _changed(recorder: Recorder, function: Any, a: Array, *args: Any) -> None:
    """A call that writes into an array, as it is."""
    recorder.store(a, recorder.create(after, (function, a, *args), {}, Spec(a.spec.shape, a.spec.dtype)))


def after(function: Any, a: Any, *args: Any) -> Any:
    """A copy of an array after `function(a, *args)`, which writes into it."""
    result = np.array(a)
    function(result, *args)
    return result


RULES[id(after)] = lambda args, type_: True
setattr(after, MEMORY, OWN)


def _of_kind(recorder: Recorder, a: Array, values: Any) -> Any:
    """Values to be written: NumPy makes a list an array of the same dtype, whatever it holds."""
    if isinstance(values, (list, tuple)):
        return recorder.numpy.function(np.asarray, (values, a.spec.dtype), {})
    return recorder.numpy.of_traced(values)


@special(np.putmask)
def _putmask(recorder: Recorder, a: Any, mask: Any, values: Any) -> None:
    a, call = _target(recorder, a), recorder.numpy.function
    values = _of_kind(recorder, a, values)
    if not call(np.ndim, (values,), {}):
        recorder.setitem(a, call(np.reshape, (call(np.asarray, (mask, bool), {}), a.shape), {}), values)
    elif _chooses(recorder, mask, a, values):
        recorder.setitem(a, ..., call(np.where, (mask, call(np.resize, (values, a.shape), {}), a), {}))
    else:
        _changed(recorder, np.putmask, a, mask, values)


@special(np.place)
def _place(recorder: Recorder, arr: Any, mask: Any, vals: Any) -> None:
    arr, call = _target(recorder, arr), recorder.numpy.function
    vals = _of_kind(recorder, arr, vals)
    if not _chooses(recorder, mask, arr, vals) or _may_be_none(vals, arr):
        _changed(recorder, np.place, arr, mask, vals)
        return
    chosen = call(np.asarray, (mask, bool), {})
    order = call(np.subtract, (call(np.cumsum, (chosen,), {}), 1), {})
    each = call(np.take, (vals, call(np.reshape, (order, arr.shape), {})), {"mode": "wrap"})
    recorder.setitem(arr, ..., call(np.where, (chosen, each, arr), {}))


def _may_be_none(values: Any, array: Any) -> bool:
    """Whether there may be no values for an array that has elements."""
    if isinstance(values, Scalar):
        return False
    shape = values.spec.shape if isinstance(values, Array) else np.shape(values)
    sizes = [size for size in shape if not any(size is known for known in array.spec.shape)]
    return any(type(size) is not int or size == 0 for size in sizes)


@special(np.fill_diagonal)
def _fill_diagonal(recorder: Recorder, a: Any, val: Any, wrap: bool = False) -> None:
    a, val = _target(recorder, a), recorder.numpy.of_traced(val)
    if len(a.spec.shape) != 2 or wrap or _is_empty(recorder, val):
        _changed(recorder, np.fill_diagonal, a, val, wrap)
        return
    rows, columns = a.shape
    size = recorder.python.call(min, (rows, columns), {})
    if recorder.numpy.function(np.ndim, (val,), {}):
        val = recorder.numpy.function(np.resize, (val, size), {})
    index = recorder.numpy.function(np.arange, (size,), {})
    recorder.setitem(a, (index, index), val)


@special(np.nan_to_num)
def _nan_to_num(
    recorder: Recorder, x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    made = recorder.numpy.with_op(np.nan_to_num, (x,), {"nan": nan, "posinf": posinf, "neginf": neginf})
    if copy or not isinstance(x, (Array, np.ndarray)):
        return made
    return recorder.numpy.write_whole(x, made)


@special(np.put_along_axis)
def _put_along_axis(recorder: Recorder, arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    arr, values = _target(recorder, arr), recorder.numpy.of_traced(values)
    _replace(recorder, arr, call_named(recorder, "put_along_axis", arr, indices, values, axis))


def add_at(recorder: Recorder, ufunc: Any, a: Any, indices: Any, *value: Any) -> None:
    """`np.add.at(a, indices, value)`: an element named twice receives both."""
    a = _target(recorder, a)
    value = tuple(map(recorder.numpy.of_traced, value))
    spec = Spec(a.spec.shape, a.spec.dtype)
    if ufunc is np.add and _fits(recorder, a, *value):
        recorder.store(a, recorder.create(TABLE["index_add"], (a, indices, *value), {}, spec))
        return
    if ufunc is np.subtract and a.spec.dtype.kind in "fc" and _fits(recorder, a, *value):
        add_at(recorder, np.add, a, indices, recorder.numpy.ufunc(np.negative, "__call__", value, {}))
        return
    recorder.store(a, recorder.create(apply_at, (ufunc, a, indices, *value), {}, spec))


def _chooses(recorder: Recorder, mask: Any, a: Array, values: Any) -> bool:
    """Whether a mask chooses, element by element, between an array and values that it can hold."""
    shape = getattr(recorder.abstract(mask), "shape", None)
    return shape == a.spec.shape and not _is_empty(recorder, values) and _fits(recorder, a, values)


def _is_empty(recorder: Recorder, value: Any) -> bool:
    spec = recorder.abstract(value)
    return any(type(d) is int and d == 0 for d in spec.shape) if isinstance(spec, Spec) else spec in ([], ())


def _fits(recorder: Recorder, a: Array, value: Any) -> bool:
    """Whether adding a value to an array gives numbers of the same type."""
    spec = recorder.abstract(value)
    if isinstance(spec, (list, tuple)):
        return False
    return np.result_type(a.spec.dtype, spec.dtype if isinstance(spec, Spec) else spec) == a.spec.dtype


def apply_at(ufunc: Any, a: Any, indices: Any, *value: Any) -> Any:
    """A copy of an array after `ufunc.at(a, indices, value)`."""
    result = np.array(a)
    ufunc.at(result, indices, *value)
    return result


RULES[id(apply_at)] = RULES[id(after)]
setattr(apply_at, MEMORY, OWN)


@method("resize")
def _resize(recorder: Recorder, a: Any, *args: Any, **kwargs: Any) -> None:
    recorder.refuse(
        "a.resize() changes the size of an array in place", help="assign the result: a = np.resize(a, shape)"
    )


@method("setflags")
def _setflags(recorder: Recorder, a: Any, *args: Any, **kwargs: Any) -> None:
    recorder.refuse("a.setflags() changes how an array may be used", help="leave it out, or copy the array")
