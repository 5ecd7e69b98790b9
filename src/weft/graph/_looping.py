"""What loops of captured programs do when they run, where only running can tell: lengths, items, ends of ranges."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from weft.graph._effects import has_side_effect

_SEQUENCES = (list, tuple, str, bytes, bytearray, range, np.flatiter)


def sequence(value: Any) -> Any:
    """What a `for` goes over, as something whose items have places: itself where it is a sequence, else a list.

    >>> sequence({"a": 1, "b": 2})
    ['a', 'b']
    """
    if isinstance(value, np.ndarray) or hasattr(type(value), "__weft_op__"):
        if not value.shape:
            iter(value)  # raises, as a loop over it does
        return value
    return value if isinstance(value, _SEQUENCES) else list(value)


def trip_count(start: int, stop: int, step: int) -> int:
    """How many numbers a range has.

    >>> trip_count(0, 10, 3)
    4
    """
    return len(range(start, stop, step))


def before_end(index: int, end: int, step: int) -> bool:
    """Whether a counter has not passed the end of its range.

    >>> before_end(3, 0, -1)
    True
    """
    return index < end if step > 0 else index > end


@has_side_effect
def check_zipped(stopped: Any, *lengths: int) -> None:
    """Raise what `zip(strict=True)` raises at the end of a loop over sequences of other lengths than the first's.

    Nothing where the loop was left before.

    >>> check_zipped(False, 3, 2)
    Traceback (most recent call last):
        ...
    ValueError: zip() argument 2 is shorter than argument 1
    """
    if not stopped:
        deque(zip(*map(range, lengths), strict=True), maxlen=0)


@has_side_effect
def check_length(value: Any, count: int) -> None:
    """Raise what Python raises where a value is unpacked into another number of names than it has items.

    >>> check_length("abc", 2)
    Traceback (most recent call last):
        ...
    ValueError: too many values to unpack (expected 2)
    """
    size = len(value)
    if size > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    if size < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {size})")


LOOPING = (sequence, trip_count, before_end, check_zipped, check_length)
