"""NumPy's ufuncs and their methods on traced values, with all that may be said of a call.

A ufunc computes in the dtypes that NumPy finds for its arguments, `dtype=`, `signature=` and `casting=` together. The
arguments are brought to those dtypes first; then the op of the ufunc means the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._numpy_calls import call_named
from weft.capture._numpy_out import into, write_filled
from weft.capture._numpy_special import _as_array, copied, laid_out
from weft.capture._values import Array, Scalar
from weft.ops._numpy import binds, op_call
from weft.ops._ufunc_methods import method_arguments, ufunc_method

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_IGNORED = frozenset({"order", "subok"})  # how a result lies in memory, not what it is
_HOW = frozenset({"dtype", "signature", "sig", "casting"})


def call(recorder: Recorder, ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a ufunc."""
    given = {key: value for key, value in kwargs.items() if key not in _IGNORED}
    out = given.pop("out", None)
    if len(inputs) > ufunc.nin:
        out, inputs = inputs[ufunc.nin :], inputs[: ufunc.nin]
    where = given.pop("where", True)
    inputs = tuple(map(recorder.numpy.made, inputs))
    targets = tuple(_target(recorder, each) for each in (out if isinstance(out, tuple) else (out,)))
    targets += (None,) * (ufunc.nout - len(targets))
    if where is not True:
        return _chosen(recorder, ufunc, inputs, given, where, targets)
    result = _computed(recorder, ufunc, inputs, given, targets)
    if all(target is None for target in targets):
        order = kwargs.get("order") or "K"
        parts = [laid_out(recorder, part, order) for part in (result if ufunc.nout > 1 else (result,))]
        return tuple(parts) if ufunc.nout > 1 else parts[0]
    casting = given.get("casting", "same_kind")
    write = recorder.numpy.write_whole
    if ufunc.nout == 1:
        return write(targets[0], result, casting)
    pairs = zip(targets, result, strict=True)
    return tuple(value if target is None else write(target, value, casting) for target, value in pairs)


def _target(recorder: Recorder, out: Any) -> Any:
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("return arrays must be of ArrayType")
    return recorder.constant(out) if isinstance(out, np.ndarray) else out


def _computed(
    recorder: Recorder, ufunc: Any, inputs: tuple[Any, ...], given: dict[str, Any], targets: tuple[Any, ...]
) -> Any:
    """What a ufunc gives, of arguments in the dtypes that NumPy computes in."""
    how = {key: given[key] for key in given if key in _HOW and given[key] is not None}
    rest = {key: value for key, value in given.items() if key not in _HOW}
    loop = _loop(recorder, ufunc, inputs, how, targets) if how else None
    if loop is not None and any(dtype.kind not in "biufc" for dtype in loop):
        recorder.refuse(f"np.{ufunc.__name__} in {loop[-1]}, which a graph does not compute with")
    if loop is not None:
        inputs = tuple(_brought(recorder, a, dtype) for a, dtype in zip(inputs, loop, strict=False))
    meant = op_call(ufunc, inputs, rest)
    if meant is None:
        return recorder.numpy._as_it_is(ufunc, inputs, {**rest, **how})
    op, args, more = meant
    result = recorder.call_op(op, args, more, called=ufunc if args is inputs and not more else None)
    parts = result if isinstance(result, tuple) else (result,)
    if loop is not None and any(part.spec.dtype != dtype for part, dtype in zip(parts, loop[ufunc.nin :], strict=True)):
        return recorder.numpy._as_it_is(ufunc, inputs, {**rest, **how})
    return result


def _loop(
    recorder: Recorder, ufunc: Any, inputs: tuple[Any, ...], how: dict[str, Any], targets: tuple[Any, ...]
) -> Any:
    """The dtypes of arguments and results that NumPy computes in; raises what NumPy raises where there are none."""
    types = [_type(recorder, a) for a in inputs]
    into = [None if target is None else target.spec.dtype for target in targets]
    given = {"signature": how.get("signature", how.get("sig")), "casting": how.get("casting")}
    if "dtype" in how:
        given["signature"] = (None,) * ufunc.nin + (np.dtype(how["dtype"]),) * ufunc.nout
    given = {key: value for key, value in given.items() if value is not None}
    return ufunc.resolve_dtypes((*types, *into), **given)


def _type(recorder: Recorder, value: Any) -> Any:
    """What NumPy is told of an argument: its dtype, or the type of a number of Python's."""
    kind = value.kind if isinstance(value, Scalar) else type(value)
    if kind in (int, float, complex):
        return kind
    return np.dtype(bool) if kind is bool else value.dtype


def _brought(recorder: Recorder, value: Any, dtype: Any) -> Any:
    if isinstance(value, (Array, Scalar, np.ndarray, np.generic)) and getattr(value, "dtype", None) == dtype:
        return value
    if isinstance(value, Scalar) and not value.python:
        return copied(recorder, value, dtype)
    return _as_array(recorder, value, dtype, copy=False) if isinstance(value, (Array, Scalar)) else dtype.type(value)


def _chosen(
    recorder: Recorder,
    ufunc: Any,
    inputs: tuple[Any, ...],
    given: dict[str, Any],
    where: Any,
    targets: tuple[Any, ...],
) -> Any:
    """A call with `where=`: elements not chosen keep what the array written into had."""
    if any(target is None for target in targets):
        recorder.refuse(
            f"np.{ufunc.__name__}(…, where=…) without out=: elements not chosen are whatever was in memory",
            help="give out=, or use np.where",
        )
    harmless = 0 if ufunc is np.arctanh else 1
    calm = tuple(_harmless(recorder, where, a, harmless) for a in inputs)
    result = _computed(recorder, ufunc, calm, given, targets)
    results = result if ufunc.nout > 1 else (result,)
    casting = given.get("casting", "same_kind")
    if any(part.spec.dtype != target.spec.dtype for part, target in zip(results, targets, strict=True)):
        for part, target in zip(results, targets, strict=True):
            recorder.numpy.cast_into(target, part, casting)
        if ufunc.nout == 1:  # what is not chosen is cast to and fro, and may warn
            return write_filled(recorder, targets[0], ufunc, inputs, {**given, "where": where})
        recorder.refuse(
            f"np.{ufunc.__name__}(…, where=…) into arrays of other dtypes than its results",
            help="use np.where on each of them",
        )
    chosen = [call_named(recorder, "where", where, *pair) for pair in zip(results, targets, strict=True)]
    made = [recorder.numpy.write_whole(*pair) for pair in zip(targets, chosen, strict=True)]
    return tuple(made) if ufunc.nout > 1 else made[0]


def _harmless(recorder: Recorder, where: Any, value: Any, harmless: int) -> Any:
    """An argument that warns of no division by zero and the like where it is not chosen."""
    if not isinstance(value, Array):
        return value
    neutral = bool(harmless) if value.spec.dtype.kind == "b" else harmless
    return recorder.numpy.function(np.where, (where, value, neutral), {})


def method(recorder: Recorder, ufunc: Any, how: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.add.reduce(x)`, `.accumulate`, `.outer`, `.at`, `.reduceat`."""
    from weft.capture._numpy_writes import add_at

    if how == "at":
        return add_at(recorder, ufunc, *inputs, **kwargs)
    if how == "outer":
        return _outer(recorder, ufunc, inputs, kwargs)
    if how == "reduceat" and "indices" in kwargs:
        inputs, kwargs = (*inputs, kwargs["indices"]), {key: kwargs[key] for key in kwargs if key != "indices"}
    place = 4 if how == "reduceat" else 3  # after the arrays, the axis and the dtype
    out = inputs[place] if len(inputs) > place else kwargs.get("out")
    inputs, kwargs = method_arguments(how, inputs, kwargs)
    inputs = tuple(_as_array(recorder, a, None, copy=False) if isinstance(a, (list, tuple)) else a for a in inputs)
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is not None:

        def run(args: tuple[Any, ...], given: dict[str, Any]) -> Any:
            return _reduced(recorder, ufunc, how, args, given)

        return into(recorder, getattr(ufunc, how), inputs, kwargs, out, run)
    return _reduced(recorder, ufunc, how, inputs, kwargs)


def _reduced(recorder: Recorder, ufunc: Any, how: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`reduce`, `accumulate` or `reduceat`, by its op where it has one."""
    op = ufunc_method(ufunc, how, kwargs)
    if op is not None and binds(op, inputs, kwargs):
        return recorder.call_op(op, inputs, kwargs)
    return recorder.numpy._as_it_is(getattr(ufunc, how), inputs, kwargs)


def _outer(recorder: Recorder, ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    first, second = (_as_array(recorder, a, None, copy=False) for a in inputs)
    spread = call_named(recorder, "reshape", first, (*first.shape, *(1,) * len(second.spec.shape)))
    return call(recorder, ufunc, (spread, second), kwargs)
