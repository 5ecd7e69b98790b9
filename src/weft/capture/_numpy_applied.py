"""Functions of NumPy that call a function of the program: `np.vectorize`, `np.apply_along_axis`, `np.piecewise`.

Each is written here as the loop it stands for, and that loop is captured as if the program had written it.
"""

from __future__ import annotations

import gc
import math
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._iterables import Items
from weft.capture._numpy_calls import special
from weft.capture._numpy_special import _as_array, count_of, traced_in
from weft.capture._opaque import is_opaque
from weft.capture._values import Array, Scalar

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def _captured(recorder: Recorder, function: Any, *args: Any) -> Any:
    return recorder._deeper(recorder.bind(function), args, {})


def _is_program(function: Any) -> bool:
    return isinstance(function, (types.FunctionType, types.MethodType))


def held_function(function: Any) -> Any:
    """The function that an `np.vectorize`, or what `np.frompyfunc` gave, calls; None where it is neither."""
    if isinstance(function, np.vectorize):
        return function.pyfunc
    made = isinstance(function, np.ufunc) and set("".join(function.types)) == set("O->")
    return gc.get_referents(function)[0] if made else None


def run_held(recorder: Recorder, function: Any, held: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an `np.vectorize`, or of what `np.frompyfunc` gave."""
    in_module = isinstance(held, types.BuiltinFunctionType) and isinstance(held.__self__, types.ModuleType)
    if (in_module or isinstance(held, (type, np.ufunc))) and not traced_in(args, kwargs):
        return function(*args, **kwargs)
    if recorder.untyped or is_opaque((args, kwargs)):
        return recorder.numpy.untyped(function, args, kwargs)
    if not isinstance(function, np.vectorize):
        name = getattr(held, "__name__", "a function")
        recorder.refuse(f"np.frompyfunc calls {name} and gives object elements", help="write the loop")
    return vectorized(recorder, function, args, kwargs)


def holding_written(recorder: Recorder, function: Any) -> Any:
    """The same for a call that runs with the graph, where what it calls must be as the program wrote it."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return getattr(holding_written(recorder, owner), function.__name__)
    held = held_function(function)
    if held is None or (written := recorder.function_arg(held)) is held:
        return function
    if isinstance(function, np.ufunc):
        return np.frompyfunc(written, function.nin, function.nout)
    return np.vectorize(written, function.otypes, None, function.excluded, function.cache, function.signature)


def vectorized(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an `np.vectorize`."""
    dtype = None if function.otypes is None else _only_dtype(recorder, function.otypes)
    if kwargs or function.excluded or function.signature or function.cache:
        recorder.refuse(
            "np.vectorize with excluded, signature, cache or keyword arguments",
            help="write the loop, or an expression over whole arrays",
        )
    arrays = [_as_array(recorder, a, None, copy=False) for a in args]
    if len(arrays) == 1:
        return _captured(recorder, _each, function.pyfunc, arrays[0], dtype)
    if len(arrays) == 2:
        return _captured(recorder, _each_pair, function.pyfunc, *arrays, dtype)
    return recorder.refuse("np.vectorize of three or more arrays", help="write the loop")


def _only_dtype(recorder: Recorder, types: Any) -> Any:
    if len(types) != 1 or np.dtype(types[0]).kind not in "biufc":
        recorder.refuse("np.vectorize with several results, or with others than numbers", help="write the loop")
    return np.dtype(types[0])


def _each(function: Any, x: Any, dtype: Any) -> Any:
    if dtype is None:
        if x.size == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        dtype = np.asarray(function(x.reshape(-1)[0])).dtype  # the first one decides, as NumPy has it
    return np.array([function(v.item()) for v in x.reshape(-1)]).reshape(x.shape).astype(dtype)


def _each_pair(function: Any, x: Any, y: Any, dtype: Any) -> Any:
    x, y = np.broadcast_arrays(x, y)
    if dtype is None:
        if x.size == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        dtype = np.asarray(function(x.reshape(-1)[0], y.reshape(-1)[0])).dtype
    made = np.array([function(v.item(), w.item()) for v, w in zip(x.ravel(), y.ravel(), strict=True)])
    return made.reshape(x.shape).astype(dtype)


@special(np.apply_along_axis)
def _apply_along_axis(recorder: Recorder, func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    if not _is_program(func1d):
        return recorder.numpy._as_it_is(np.apply_along_axis, (func1d, axis, arr, *args), kwargs)
    return _captured(recorder, _along, func1d, axis, _as_array(recorder, arr, None, copy=False), args, kwargs)


def _along(function: Any, axis: int, array: Any, args: Any, kwargs: Any) -> Any:
    moved = np.moveaxis(array, axis, -1)
    count = math.prod(moved.shape[:-1])
    if count == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = moved.reshape(count, moved.shape[-1])
    first = np.asanyarray(function(rows[0], *args, **kwargs))
    made = np.zeros((count, *first.shape), first.dtype)  # the first one decides, as NumPy has it
    made[0] = first
    for k in range(1, count):
        made[k] = function(rows[k], *args, **kwargs)
    start = axis % array.ndim  # a result lies where the axis was
    places = range(start, start + first.ndim)
    return np.moveaxis(made.reshape(moved.shape[:-1] + first.shape), range(-first.ndim, 0), places)


@special(np.piecewise)
def _piecewise(recorder: Recorder, x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    if not isinstance(x, Array) or not isinstance(condlist, (list, tuple)) or kw or not any(map(callable, funclist)):
        made = recorder.numpy.with_op(np.piecewise, (x, condlist, funclist, *args), kw)
        return recorder.numpy.function(np.asarray, (made,), {}) if isinstance(made, Scalar) else made
    conditions = list(condlist)
    if len(funclist) == len(conditions) + 1:
        anywhere = conditions[0]
        for condition in conditions[1:]:
            anywhere = anywhere | condition
        conditions.append(~anywhere)
    if len(funclist) != len(conditions):
        wanted = f"either {len(condlist)} or {len(condlist) + 1}"
        raise ValueError(f"with {len(condlist)} condition(s), {wanted} functions are expected")
    made = recorder.numpy.function(np.zeros_like, (x,), {})
    for condition, function in zip(conditions, funclist, strict=True):
        value = recorder.run(function, (x[condition], *args), {}) if callable(function) else function
        made[condition] = value
    return made


class NdItems(Items):
    """`np.ndenumerate(a)`: places and elements."""

    def __init__(self, recorder: Recorder, array: Array) -> None:
        super().__init__(recorder)
        self.array = array

    @property
    def length(self) -> Any:
        return count_of(self.array.shape)

    def item(self, k: Any) -> Any:
        place: list[Any] = []
        for size in reversed(self.array.shape):
            place.insert(0, k % size)
            k = k // size
        return tuple(place), self.recorder.getitem(self.array, tuple(place))


@special(np.ndenumerate)
def _ndenumerate(recorder: Recorder, arr: Any) -> NdItems:
    return NdItems(recorder, _as_array(recorder, arr, None, copy=False))


@special(np.nditer)
def _nditer(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    recorder.refuse("np.nditer of a traced array", help="loop over the array, over a.flat, or over np.ndenumerate(a)")
