"""Functions of NumPy that join arrays, of a known or a traced number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._iterables import Collected
from weft.capture._lists import GrownList
from weft.capture._numpy_calls import call_named, special
from weft.capture._numpy_special import copied
from weft.ops import Spec
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


@special(np.stack)
def _stack(recorder: Recorder, arrays: Any, axis: int = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.stack, arrays, 1, axis=axis)
    if isinstance(arrays, Collected):
        return recorder.numpy.function(np.moveaxis, (arrays.rows(), 0, axis), {})
    return call_named(recorder, "stack", _listed(arrays), axis=axis)


def _listed(arrays: Any) -> Any:
    return list(arrays) if not isinstance(arrays, (list, tuple)) else arrays


def _joined(recorder: Recorder, function: Any, arrays: GrownList, more: int, **kwargs: Any) -> Any:
    """A function that joins arrays, on a list that has grown: `more` is how many dimensions it adds."""
    found = arrays.types[0] if arrays.tree == LEAF else None
    if found is None or found.unknown:
        return recorder.opaque(function, (arrays.handle,), kwargs)
    spec = Spec((), np.dtype(found.kind)) if found.spec is None else found.spec
    rank = max(len(spec.shape) + more, 2 if function in (np.vstack, np.column_stack) else 1)
    type_ = Spec([recorder.sizes.fresh(function.__name__) for _ in range(rank)], spec.dtype)
    return recorder.wrap(recorder.create(function, (arrays.handle,), kwargs, type_), type_)


@special(np.concatenate)
def _concatenate(recorder: Recorder, arrays: Any, axis: Any = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.concatenate, arrays, 0, axis=axis)
    if isinstance(arrays, Collected):
        whole = arrays.rows()
        if axis != 0 or len(whole.spec.shape) < 2:
            recorder.refuse("np.concatenate of a traced number of arrays along another axis than the first")
        made = recorder.numpy.function(np.reshape, (whole, (-1, *whole.shape[2:])), {})
    else:
        made = call_named(recorder, "concat", _listed(arrays), axis=axis)
        if rest.get("dtype") is not None:
            made = copied(recorder, made, np.dtype(rest["dtype"]))
    return made if out is None else recorder.numpy.write_whole(out, made)


@special(np.vstack)
def _vstack(recorder: Recorder, tup: Any, **rest: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.vstack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.rows()
        return whole if len(whole.spec.shape) == 2 else _concatenate(recorder, tup)
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
        return _joined(recorder, np.hstack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.rows()
        if len(whole.spec.shape) != 2:
            recorder.refuse("np.hstack of a traced number of matrices")
        return recorder.numpy.function(np.reshape, (whole, (-1,)), {})
    return recorder.numpy.with_op(np.hstack, (_listed(tup),), rest)
