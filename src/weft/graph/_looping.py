"""What loops of captured programs do when they run, where only running can tell: lengths, items, ends of ranges."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from weft.graph._effects import CHECKS, has_side_effect

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
def check_unpacked(count: int, names: int) -> None:
    """Raise what Python raises where an array of another number of items is unpacked into so many names.

    >>> check_unpacked(4, 3)
    Traceback (most recent call last):
        ...
    ValueError: too many values to unpack (expected 3)
    """
    unpacker(names, 0, False)(range(count))


for _function in (check_zipped, check_unpacked):
    setattr(_function, CHECKS, True)


@has_side_effect
def unpacked(value: Any, before: int, after: int = 0, starred: bool = False) -> Any:
    """The items that `a, *b, c = value` stores, one for each name; raises what Python raises where it has too few.

    >>> unpacked("abcd", 1, 1, True)
    ['a', ['b', 'c'], 'd']
    """
    return unpacker(before, after, starred)(value)


@cache
def unpacker(before: int, after: int, starred: bool) -> Callable[[Any], Sequence[Any]]:
    """A function that unpacks as Python itself does, with its messages."""
    names = [f"a{i}" for i in range(before)] + ["*rest"] * starred + [f"z{i}" for i in range(after)]
    given = ", ".join(name.lstrip("*") for name in names)
    space: dict[str, Any] = {}
    exec(f"def unpack(value):\n [{', '.join(names)}] = value\n return [{given}]", space)
    made: Callable[[Any], Sequence[Any]] = space["unpack"]
    return made


def sort_order(keys: Any, reverse: bool = False) -> list[int]:
    """The places of a list's elements in the order of the sorted list.

    >>> sort_order([3, 1, 2])
    [1, 2, 0]
    """
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def sort_places(values: Any, reverse: bool = False) -> np.ndarray[Any, Any]:
    """The places of an array's elements in the order of Python's sort, as an array.

    >>> sort_places(np.array([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    """
    return np.array(sort_order(values, reverse), np.intp)


def place_of(keys: Any, largest: bool) -> int:
    """The place of the smallest element of a list, or of the largest; the first of equal ones.

    >>> place_of([3, 1, 2, 3], True)
    0
    """
    return (max if largest else min)(range(len(keys)), key=keys.__getitem__)


def together(*values: Any) -> tuple[Any, ...]:
    """Several values as one.

    >>> together(1, 2)
    (1, 2)
    """
    return values


LOOPING = (
    *(sequence, trip_count, before_end, check_zipped, check_unpacked, unpacked),
    *(sort_order, sort_places, place_of, together),
)
