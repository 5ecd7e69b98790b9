"""Functions of NumPy that give views, or the array itself, and `a.flat`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._layouts import is_contiguous
from weft.capture._numpy_calls import call_named, special
from weft.capture._numpy_out import into
from weft.capture._numpy_probe import sampled, shared
from weft.capture._numpy_special import _as_array, copied, count_of, in_order
from weft.capture._values import Array, Traced
from weft.capture._views import Step, _like, order_of_axes
from weft.ops import Spec
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_REVERSED = slice(None, None, -1)


def _at_least(keys: dict[int, tuple[Any, ...]]) -> Any:
    """`np.atleast_1d` and its kin: by the number of dimensions, the key that adds what is missing."""

    def handler(recorder: Recorder, *arrays: Any) -> Any:
        made = []
        for value in arrays:
            array = _as_array(recorder, value, None, copy=False)
            key = keys.get(len(array.spec.shape))
            made.append(array if key is None else recorder.getitem(array, key))
        return made[0] if len(made) == 1 else tuple(made)

    return handler


_ALL = slice(None)
special(np.atleast_1d)(_at_least({0: (None, ...)}))
special(np.atleast_2d)(_at_least({0: (None, None, ...), 1: (None, _ALL)}))
special(np.atleast_3d)(_at_least({0: (None, None, None, ...), 1: (None, _ALL, None), 2: (_ALL, _ALL, None)}))


@special(np.flipud)
def _flipud(recorder: Recorder, m: Any) -> Any:
    array = _as_array(recorder, m, None, copy=False)
    if not array.spec.shape:
        raise ValueError("Input must be >= 1-d.")
    return recorder.getitem(array, (_REVERSED, ...))


@special(np.fliplr)
def _fliplr(recorder: Recorder, m: Any) -> Any:
    array = _as_array(recorder, m, None, copy=False)
    if len(array.spec.shape) < 2:
        raise ValueError("Input must be >= 2-d.")
    return recorder.getitem(array, (_ALL, _REVERSED, ...))


@special(np.diag)
def _diag(recorder: Recorder, v: Any, k: Any = 0) -> Any:
    array = _as_array(recorder, v, None, copy=False)
    if len(array.spec.shape) not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return call_named(recorder, "diag" if len(array.spec.shape) == 1 else "diagonal", array, k)


@special(np.rot90)
def _rot90(recorder: Recorder, m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    array = _as_array(recorder, m, None, copy=False)
    count = len(array.spec.shape)
    if len(axes) != 2 or count < 2 or axes[0] % count == axes[1] % count:
        np.rot90(np.empty((1,) * count), 1, axes)  # raises what NumPy raises
    first, second = (axis % count for axis in axes)
    turns = operator.index(k) % 4
    if turns == 0:
        return recorder.getitem(array, ...)
    if turns == 2:
        return call_named(recorder, "flip", array, axis=(first, second))
    if turns == 1:
        return call_named(recorder, "swapaxes", call_named(recorder, "flip", array, axis=second), first, second)
    return call_named(recorder, "flip", call_named(recorder, "swapaxes", array, first, second), axis=second)


@special(np.rollaxis)
def _rollaxis(recorder: Recorder, a: Any, axis: int, start: int = 0) -> Any:
    array = _as_array(recorder, a, None, copy=False)
    count = len(array.spec.shape)
    return call_named(recorder, "permute_dims", array, order_of_axes(np.rollaxis, count, axis, start))


if hasattr(np, "unstack"):

    @special(np.unstack)
    def _unstack(recorder: Recorder, x: Any, /, *, axis: int = 0) -> Any:
        if len(x.spec.shape) == 0:
            raise ValueError("Input array must be at least 1-d.")
        return tuple(recorder.items(call_named(recorder, "moveaxis", x, axis, 0)))


@special(np.real_if_close)
def _real_if_close(recorder: Recorder, a: Any, tol: Any = 100) -> Any:
    array = _as_array(recorder, a, None, copy=False)
    if array.spec.dtype.kind != "c":
        return array
    return recorder.refuse(
        "np.real_if_close of complex numbers: whether it gives real ones is known only when the graph runs",
        help="take the real part: np.real(a)",
    )


@special(np.ascontiguousarray)
def _ascontiguousarray(recorder: Recorder, a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return in_order(recorder, _at_least({0: (None, ...)})(recorder, _as_array(recorder, a, dtype, copy=False)), "C")


@special(np.asfortranarray)
def _asfortranarray(recorder: Recorder, a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return in_order(recorder, _at_least({0: (None, ...)})(recorder, _as_array(recorder, a, dtype, copy=False)), "F")


@special(np.einsum)
def _einsum(recorder: Recorder, *operands: Any, **kwargs: Any) -> Any:
    out = kwargs.pop("out", None)
    if out is not None:
        return into(recorder, np.einsum, operands, kwargs, out)
    operands = tuple(map(recorder.numpy.of_traced, operands))
    view = _diagonal(recorder, *operands) if len(operands) == 2 and not kwargs else None
    if view is not None:
        return view
    made = recorder.numpy.with_op(np.einsum, operands, kwargs)
    if len(operands) > 2 or not isinstance(made, Array):
        return made
    # Of one array it gives a view where it can.
    result, samples = sampled(recorder, np.einsum, operands, kwargs, None)
    return shared(recorder, made, result, samples, np.einsum)


def _diagonal(recorder: Recorder, text: Any, array: Any) -> Any:
    """`np.einsum("ii->i", array)`, which may be written, unlike that of `np.diagonal`; None of any other."""
    given, _, wanted = text.replace(" ", "").partition("->") if isinstance(text, str) else ("", "", "")
    if type(array) is not Array or len(array.spec.shape) != 2 or not wanted.isalpha() or given != wanted * 2:
        return None
    square = array.shape[0] == array.shape[1]
    if isinstance(square, Traced) and not recorder.can_decide(square):
        return None
    if len(wanted) != 1 or not (recorder.decide(square) if isinstance(square, Traced) else square):
        return None
    for one in (array, call_named(recorder, "permute_dims", array)):
        if is_contiguous(recorder, one):
            return call_named(recorder, "reshape", one, (-1,))[:: array.shape[0] + 1]
    return None


class FlatArray(Array):
    """`a.flat`: what is read from it is a copy, what is written into it goes into the array."""

    __slots__ = ("whole",)

    def __init__(self, recorder: Recorder, buffer: Any, path: Any, spec: Spec, whole: Array | None = None) -> None:
        super().__init__(recorder, buffer, path, spec)
        self.whole = whole

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return copied(self.recorder, found) if isinstance(found, Array) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        assert self.whole is not None
        recorder, whole = self.recorder, self.whole
        if recorder.numpy.function(np.ndim, (value,), {}) == 0:
            super().__setitem__(key, value)
        else:
            recorder.store(whole, recorder.create(with_flat, (whole, key, value), {}, whole.spec))

    def __getattr__(self, name: str) -> Any:
        if name == "base":
            return self.whole
        if name != "copy":
            raise AttributeError(f"'numpy.flatiter' object has no attribute '{name}'", name=name, obj=self)
        return lambda: copied(self.recorder, self)


def with_flat(array: Any, key: Any, value: Any) -> Any:
    """A copy of an array after `array.flat[key] = value`, which repeats the value as often as needed."""
    result = np.array(array)
    result.flat[key] = value
    return result


def flat(recorder: Recorder, array: Array) -> FlatArray:
    """`array.flat`."""
    spec = Spec((recorder.dim(count_of(array.shape)),), array.spec.dtype)
    step = Step(TABLE["reshape"], (spec.shape,), _like)
    step.spec = spec
    return FlatArray(recorder, array.buffer, (*array.path, step), spec, array)
