"""When memory was last written: how backward knows that a value it needs is no longer there.

Steps of the tape and writes in place draw numbers from one clock, so a write whose number is above a step's came after
it. Writes are noted for the array that owns the memory; a write through a view, or through a detached tensor, is thus
seen by everyone who shares it. Recording an op costs nothing for this.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

clock = itertools.count(1)

_lock = threading.Lock()
_writes: dict[int, tuple[int, Any, weakref.ref[Array]]] = {}
_latest = 0


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


def mark(array: Array, position: Any) -> int:
    """Note that the memory of an array was written, by the line at `position`."""
    global _latest
    held = owner(array)
    key = id(held)
    with _lock:
        known = _writes.get(key)
        reference = weakref.ref(held, lambda _: _writes.pop(key, None)) if known is None else known[2]
        _latest = next(clock)
        _writes[key] = (_latest, position, reference)
    return _latest


def written_after(number: int, array: Array) -> Any:
    """The position of the last write to the memory of an array, if that came after step `number`; else None."""
    known = _writes.get(id(owner(array)))
    return None if known is None or known[0] < number else known[1]
