"""Functions of NumPy's that are given an array to write into: `np.sum(x, axis=0, out=o)`, `np.add.reduce(x, out=o)`.

An array to write into is more than a place for the result: many functions compute in its dtype. Where its dtype is
the one the function gives anyway, the result is computed by an op and written. A sum or a product into wider floats is
one in that dtype. Any other call is recorded as it is, which is exact and has no derivative.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._numpy_probe import Samples, name_of, sampled
from weft.capture._values import Array
from weft.ops import Spec
from weft.ops._numpy import arguments_given

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

# Functions that compute in the dtype of the array they write into, as they do when told that dtype.
_TOTALS = frozenset({np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.trace, np.nansum, np.nanprod})
_METHODS = frozenset({(np.add, "reduce"), (np.multiply, "reduce"), (np.add, "accumulate"), (np.multiply, "accumulate")})


def into(
    recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, run: Any = None
) -> Any:
    """Record a call with `out=`; the array written into is the result. `run` records the same call without it."""
    run = run or (lambda args, kwargs: recorder.numpy.function(function, args, kwargs))
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    target = recorder.constant(target) if isinstance(target, np.ndarray) else target
    if not isinstance(target, Array):
        sampled(recorder, function, args, {**kwargs, "out": out}, None)  # raises what NumPy raises
        recorder.refuse(f"{name_of(function)}(…, out=…) of several arrays", help="assign each: a[...] = result")
    dtype = target.spec.dtype
    natural, used = _checked(recorder, function, args, kwargs, target.spec)
    if not used:
        return run(args, kwargs)
    if natural is not None and natural == dtype != np.float16:  # NumPy says that float64 equals None
        result = run(args, kwargs)
        return recorder.numpy.write_whole(target, result, "unsafe")
    wider = dtype.char in "fdgFDG" and natural is not None and np.result_type(natural, dtype) == dtype
    if wider and _is_total(function, args):
        if function in _TOTALS:
            args, kwargs = (), arguments_given(function, args, kwargs)
        if kwargs.get("dtype") is None:
            return recorder.numpy.write_whole(target, run(args, {**kwargs, "dtype": dtype}))
    return write_filled(recorder, target, function, args, kwargs)


def write_filled(recorder: Recorder, target: Array, function: Any, args: Any, kwargs: Any) -> Array:
    """Record a call that writes into an array as it is."""
    type_ = Spec(target.spec.shape, target.spec.dtype)
    node = recorder.create(filled, (function, target, *args), kwargs, type_)
    if recorder.keeps_raising:
        node.meta["raises"] = True  # where the sizes do not fit
    recorder.store(target, node)
    return target


def _is_total(function: Any, args: tuple[Any, ...]) -> bool:
    owner = getattr(function, "__self__", None)
    if function is np.mean and (not args or np.dtype(getattr(args[0], "dtype", int)).char not in "fdgFDG"):
        return False  # a mean of whole numbers or of float16 is computed in a dtype of its own
    return function in _TOTALS or (isinstance(owner, np.ufunc) and (owner, function.__name__) in _METHODS)


def _checked(recorder: Recorder, function: Any, args: Any, kwargs: Any, spec: Spec) -> Any:
    """The dtype of what a function gives by itself, and whether it writes into an array that it is given at all.

    The dtype is None where it gives nothing by itself: some functions learn from the array what to compute in. Raises
    what NumPy raises for an array of this dtype and so many dimensions.
    """
    try:
        result, samples = sampled(recorder, function, args, kwargs, None)
    except TypeError:
        return None, True
    if not isinstance(result, (np.ndarray, np.generic)):
        return None, True
    rank = len(spec.shape)
    again, out = Samples(samples.differing), np.ones(result.shape if result.ndim == rank else (1,) * rank, spec.dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = function(*again.of(args), **again.of(kwargs), out=out)
    return result.dtype, given is out


def filled(function: Any, array: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A copy of an array after `function(*args, **kwargs, out=array)`."""
    result = np.array(array)
    function(*args, **kwargs, out=result)
    return result
