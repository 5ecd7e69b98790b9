"""When memory was last written: how backward knows that a value it needs is no longer there.

Steps of the tape and writes in place draw numbers from one clock, so a write whose number is above a step's came after
it. Writes are noted for the array that owns the memory, so a write through a view, or through a detached tensor, is
seen by everyone who shares it; a write to a part of it is noted element by element, so what lies beside it is not taken
for changed, and `out[i] = out[i - 1] * w` has a derivative. Recording an op costs nothing for this.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np

from weft._where import Location
from weft.autograd._mode import recording

Array = np.ndarray[Any, Any]

clock = itertools.count(1)

_LINES = 1 << 8  # so many lines of a program are told apart for writes to parts of one array
_NOWHERE = (Location("a place unknown", 0, None, None, None, "", None, ""), 0, None)
_lock = threading.Lock()
_writes: dict[int, _Writes] = {}
_latest = 0


class _Writes:
    """The writes to the memory of one array."""

    def __init__(self, owner: Array) -> None:
        key = id(owner)
        self.reference = weakref.ref(owner, lambda _: _writes.pop(key, None))
        self.number = 0  # of the last write to all of it
        self.position: Any = None
        # For each element the last write to a part of the array: its number, and in the last digit which line it was.
        self.parts: Array | None = None
        self.lines: dict[Any, int] = {}

    def note_part(self, owner: Array, array: Array, key: Any, number: int, position: Any) -> None:
        """Note a write to `array[key]`, which is a part of what the owner owns."""
        if self.parts is None:
            self.parts = np.zeros(owner.size, np.int64)
        line = self.lines.setdefault(position, len(self.lines) % _LINES)
        _same_part(self.parts, owner, array)[key] = number * _LINES + line

    def after(self, number: int, array: Array) -> Any:
        """The position of the last write to elements of an array, if that came after `number`."""
        if self.number > number:
            return self.position
        owner = self.reference()
        if self.parts is None or owner is None:
            return None
        last = int(_same_part(self.parts, owner, array).max(initial=0))
        if last // _LINES < number:
            return None
        return next(line for line, n in reversed(self.lines.items()) if n == last % _LINES)


def latest() -> int:
    """The number of the last write to any memory."""
    return _latest


def owner(array: Array) -> Array:
    """The array that owns the memory of this one, as far as NumPy tells."""
    while True:
        base: Any = array.base
        if base is None:
            return array
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # np.lib.stride_tricks puts an object of its own in between
            if not isinstance(base, np.ndarray):
                return array
        array = base


def mark(array: Array, position: Any, key: Any = ...) -> None:
    """Note that the memory of an array was written, where the key selects, by the line at `position`."""
    global _latest
    position = position or _NOWHERE
    held = owner(array)
    whole = held.nbytes == array.nbytes and key is ...
    with _lock:
        known = _writes.get(id(held))
        if known is None:
            known = _writes[id(held)] = _Writes(held)
        _latest = next(clock)
        exact = held.itemsize == array.itemsize and held.flags.forc and recording.get()
        if whole or not exact:
            known.number, known.position, known.parts = _latest, position, None
        else:
            known.note_part(held, array, key, _latest, position)


def written_after(number: int, array: Array) -> Any:
    """The position of the last write to the memory of an array, if that came after step `number`; else None."""
    known = _writes.get(id(owner(array)))
    return None if known is None else known.after(number, array)


def _same_part(numbers: Array, owner: Array, array: Array) -> Array:
    """Of an array of one number for each element of the owner, the part that another array is of the owner."""
    size = owner.itemsize
    if array.itemsize != size or not array.size:
        return numbers  # the real parts of complex numbers, say: all of it, to be safe
    start = (array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // size
    strides = [stride // size * numbers.itemsize for stride in array.strides]
    return np.ndarray(array.shape, numbers.dtype, numbers, start * numbers.itemsize, strides)
