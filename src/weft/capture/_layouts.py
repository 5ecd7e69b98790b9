"""How traced arrays lie in memory, which decides whether NumPy gives a view of one or a copy.

An array of NumPy's with the same strides and no elements to speak of, a sketch, is asked. Where sizes or bounds of
slices are open there are two, of odd and of even sizes: an answer that is yes for both holds for all sizes. No other
answer does, since an array of one row lies in every order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._values import Array, Scalar
from weft.graph._writes import set_shape
from weft.ops._dim import Dim

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_SIZES = ((5, 7, 11, 13, 17, 19, 23, 29), (6, 10, 14, 22, 26, 34, 38, 46))
_SKETCHED = {"permute_dims": "transpose", "broadcast_to": "broadcast_to", "diagonal": "diagonal"}


class Unknown(Exception):
    """How an array lies cannot be told."""


def lies_in_order(recorder: Recorder, array: Array) -> bool:
    """Whether a copy that keeps the order of an array is known to lie one element after the other."""
    return len(array.spec.shape) < 2 or is_contiguous(recorder, array) is True


def is_contiguous(recorder: Recorder, array: Array, flag: str = "c_contiguous") -> bool | None:
    """Whether the elements of an array lie one after the other; None where that cannot be told."""
    if flag == "c_contiguous" and not array.path and array.buffer.layout is None:
        return True
    return _asked(recorder, array, lambda sketch, sizes: bool(getattr(sketch.flags, flag)))


def shares_reshaped(recorder: Recorder, array: Array, shape: Any) -> bool | None:
    """Whether a reshape of an array is a view; None where that cannot be told."""

    def can_reshape(sketch: Any, sizes: _Sizes) -> bool:
        if sketch.flags.c_contiguous:
            return True
        wanted = [sizes.of(dim) for dim in shape]
        if np.prod(wanted, dtype=int) != sketch.size:
            raise Unknown
        try:
            set_shape(sketch.view(), wanted)  # the one way to ask without copying
        except AttributeError:
            return False
        return True

    return _asked(recorder, array, can_reshape)


class _Sizes:
    """Numbers for the sizes that are open. `exact` says that there was none."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers
        self.known: dict[Any, int] = {}
        self.exact = True

    def of(self, dim: Any) -> int:
        if not isinstance(dim, Dim):
            return int(dim)
        self.exact = False
        for atom in dim.atoms():
            self.known.setdefault(atom, self.numbers[len(self.known) % len(self.numbers)])
        return dim.evaluate(self.known)

    def part(self, sketch: Any, key: Any) -> Any:
        """What a basic key selects; a slice with an open bound selects a part."""
        keys = key if isinstance(key, tuple) else (key,)
        plain = [self._key(k) for k in keys]
        found = sketch[tuple(plain)]
        if any(_is_open(k) for k in keys) and sketch.size > 0 and min(found.shape, default=2) < 2:
            raise Unknown  # too few to tell a part from the whole
        return found

    def _key(self, key: Any) -> Any:
        if isinstance(key, Scalar):
            return 0  # which one is all the same
        if not _is_open(key):
            return key
        self.exact = False
        if isinstance(key.step, Scalar):
            raise Unknown
        return slice(None, -1, key.step) if key.step is None or key.step > 0 else slice(-2, None, key.step)


def _is_open(key: Any) -> bool:
    return isinstance(key, slice) and any(isinstance(b, Scalar) for b in (key.start, key.stop, key.step))


def _asked(recorder: Recorder, array: Array, question: Callable[[Any, _Sizes], bool]) -> bool | None:
    answers = set()
    exact = True
    for numbers in _SIZES:
        sizes = _Sizes(numbers)
        try:
            answers.add(question(_sketch(recorder, array, sizes), sizes))
        except (Unknown, IndexError, AttributeError, KeyError, ValueError):
            return None
        exact = exact and sizes.exact
    return True if answers == {True} else False if exact else None


def _sketch(recorder: Recorder, array: Array, sizes: _Sizes) -> Any:
    layout = array.buffer.layout
    if isinstance(layout, list):
        # In the order of what it was computed from: known where all of that lies in order.
        ordered = len(array.buffer.spec.shape) < 2 or all(lies_in_order(recorder, a) for a in layout)
        layout = array.buffer.layout = None if ordered else False
    if layout is False:
        raise Unknown
    if isinstance(layout, Array):
        sketch = _sketch(recorder, layout, sizes)  # an argument of a function that is differentiated lies as given
    else:
        shape = [sizes.of(dim) for dim in array.buffer.spec.shape]
        strides = _in_order(shape, array.buffer.spec.dtype.itemsize)
        if layout is not None:
            given, parameter, in_order = layout
            recorder.layouts.add(parameter)
            strides = strides if in_order else given
        sketch = np.lib.stride_tricks.as_strided(np.empty(1, array.buffer.spec.dtype), shape, strides)
    for step in array.path:
        if step.target is operator.getitem:
            sketch = sizes.part(sketch, step.args[0])
        elif step.target.name == "reshape":
            sketch = sketch.view()
            set_shape(sketch, [sizes.of(dim) for dim in step.args[0]])
        else:
            sketch = getattr(np, _SKETCHED[step.target.name])(sketch, *step.args)
    return sketch


def _in_order(shape: list[int], size: int) -> list[int]:
    strides = []
    for dim in reversed(shape):
        strides.append(size)
        size *= max(dim, 1)
    return strides[::-1]


def layout_of(value: Any, label: str) -> Any:
    """How an array of the caller's lies in memory: strides, what to call it, whether it lies in order."""
    return (value.strides, label, value.flags.c_contiguous) if isinstance(value, np.ndarray) else None
