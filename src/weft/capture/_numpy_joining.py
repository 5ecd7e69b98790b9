"""Functions of NumPy that join arrays, of a known or a traced number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._iterables import Collected
from weft.capture._lists import GrownList
from weft.capture._numpy_calls import call_named, special
from weft.capture._numpy_out import into
from weft.capture._numpy_special import copied
from weft.ops import Spec
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


@special(np.stack)
def _stack(recorder: Recorder, arrays: Any, axis: int = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.stack, arrays, 1, out, axis=axis, **rest)
    if out is not None and not isinstance(arrays, Collected):
        return into(recorder, np.stack, (_listed(arrays),), {"axis": axis, **rest}, out)
    if isinstance(arrays, Collected):
        made = recorder.numpy.function(np.moveaxis, (arrays.rows(), 0, axis), {})
    else:
        made = call_named(recorder, "stack", _parts(recorder, arrays), axis=axis)
    return _given(recorder, made, out, **rest)


def _listed(arrays: Any) -> Any:
    return list(arrays) if not isinstance(arrays, (list, tuple)) else arrays


def _parts(recorder: Recorder, arrays: Any) -> Any:
    """What is joined; a list of traced values among it is an array, which has a dtype."""
    return [recorder.numpy.of_traced(part) for part in _listed(arrays)]


def _given(recorder: Recorder, made: Any, out: Any, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """An array that was joined, in the dtype or the array that the program gave for it."""
    if dtype is not None:
        if not np.can_cast(made.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {made.dtype!r} to {np.dtype(dtype)!r} by rule '{casting}'")
        made = copied(recorder, made, np.dtype(dtype))
    return made if out is None else recorder.numpy.write_whole(out, made)


def _joined(
    recorder: Recorder, function: Any, arrays: GrownList, more: int, out: Any = None, /, dtype: Any = None, **rest: Any
) -> Any:
    """A function that joins arrays, on a list that has grown: `more` is how many dimensions it adds."""
    found = arrays.types[0] if arrays.tree == LEAF else None
    kwargs = rest if dtype is None else {**rest, "dtype": np.dtype(dtype)}
    if found is None or found.unknown:
        if out is not None:
            recorder.refuse(f"np.{function.__name__}(items, out=…) of a list of unknown things", help="assign out[...]")
        return recorder.opaque(function, (arrays.handle,), kwargs)
    spec = Spec((), np.dtype(found.kind)) if found.spec is None else found.spec
    rank = max(len(spec.shape) + more, 2 if function in (np.vstack, np.column_stack) else 1)
    if rest.get("axis", 0) is None:
        rank = 1
    sizes = [recorder.sizes.fresh(function.__name__) for _ in range(rank)]
    type_ = Spec(sizes, spec.dtype if dtype is None else np.dtype(dtype))
    made = recorder.wrap(recorder.create(function, (arrays.handle,), kwargs, type_), type_)
    return made if out is None else recorder.numpy.write_whole(out, made)


@special(np.concatenate)
def _concatenate(recorder: Recorder, arrays: Any, axis: Any = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.concatenate, arrays, 0, out, axis=axis, **rest)
    if out is not None and not isinstance(arrays, Collected):
        return into(recorder, np.concatenate, (_listed(arrays),), {"axis": axis, **rest}, out)
    if isinstance(arrays, Collected):
        whole = arrays.rows()
        if axis != 0 or len(whole.spec.shape) < 2:
            recorder.refuse("np.concatenate of a traced number of arrays along another axis than the first")
        made = recorder.numpy.function(np.reshape, (whole, (-1, *whole.shape[2:])), {})
    else:
        made = call_named(recorder, "concat", _parts(recorder, arrays), axis=axis)
    return _given(recorder, made, out, **rest)


@special(np.vstack)
def _vstack(recorder: Recorder, tup: Any, **rest: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.vstack, tup, 0, **rest)
    if isinstance(tup, Collected):
        whole = tup.rows()
        flat = len(whole.spec.shape) == 2
        return _given(recorder, whole, None, **rest) if flat else _concatenate(recorder, tup, **rest)
    return recorder.numpy.with_op(np.vstack, (_listed(tup),), rest)


@special(np.column_stack)
def _column_stack(recorder: Recorder, tup: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.column_stack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.rows()
        if len(whole.spec.shape) != 2:
            recorder.refuse("np.column_stack of a traced number of matrices")
        return call_named(recorder, "permute_dims", whole)
    return recorder.numpy.with_op(np.column_stack, (_listed(tup),), {})


@special(np.hstack)
def _hstack(recorder: Recorder, tup: Any, **rest: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.hstack, tup, 0, **rest)
    if isinstance(tup, Collected):
        whole = tup.rows()
        if len(whole.spec.shape) != 2:
            recorder.refuse("np.hstack of a traced number of matrices")
        return _given(recorder, recorder.numpy.function(np.reshape, (whole, (-1,)), {}), None, **rest)
    return recorder.numpy.with_op(np.hstack, (_listed(tup),), rest)
