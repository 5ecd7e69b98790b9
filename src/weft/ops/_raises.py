"""What a call may raise though the shapes and dtypes of its arguments fit: because of the values it is given.

An op states one of these rules as `raises`. A rule is asked as a shape rule is: with every parameter in order, Specs in
place of arrays, and types in place of numbers that only running tells. The tests call every op with values that are out
of place, to see whether what it raises was stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

OF_VALUES: tuple[type[Exception], ...] = (ArithmeticError, LookupError, TypeError, ValueError)


class Raises(NamedTuple):
    """The classes of what a call may raise, and whether a call with these arguments may."""

    classes: tuple[type[Exception], ...]
    when: Callable[..., bool]


def always(*arguments: Any) -> bool:
    return True


SINGULAR = Raises((ValueError,), always)
"""Some matrices have no answer: NumPy's LinAlgError is a ValueError."""
BAD_VALUES = Raises(OF_VALUES, always)
"""Some values in the arrays have no answer: indices out of range, say."""


def when(rule: Callable[..., bool]) -> Raises:
    """Values may have no answer where the rule says so of the arguments."""
    return Raises(OF_VALUES, rule)


def when_given(*places: int) -> Raises:
    """Parameters that not every call gives may have values that have no answer."""
    return when(lambda *arguments: any(arguments[place] is not None for place in places))


def _may_be_empty(x: Any, *parameters: Any) -> bool:
    shape = getattr(x, "shape", None)
    return not isinstance(shape, tuple) or not all(isinstance(dim, int) and dim for dim in shape)


EMPTY = when(_may_be_empty)
"""There is no answer for no elements."""


def second_outside(highest: float, weights: int | None = None) -> Raises:
    """The second argument is a number from 0 to `highest`; weights, at a place, may be given too."""

    def rule(*arguments: Any) -> bool:
        number = arguments[1]
        fits = isinstance(number, (int, float)) and 0 <= number <= highest
        return not fits or (weights is not None and arguments[weights] is not None)

    return when(rule)


SECOND_BELOW_ZERO = second_outside(math.inf)


def _kind(x: Any) -> str:
    if not hasattr(x, "dtype"):
        x = x if isinstance(x, type) else type(x)
    return np.dtype(getattr(x, "dtype", x)).kind


def _negative_power(x1: Any, x2: Any) -> bool:
    """NumPy raises for whole numbers, the exponents below zero."""
    if _kind(x2) != "i" or _kind(x1) not in "biu":
        return False
    return not (isinstance(x2, (int, np.integer)) and x2 >= 0)


NEGATIVE_POWER = when(_negative_power)


def out_of_range(x: Any, key: Any, *_: Any) -> bool:
    """Whether an index into an array may be out of range. A slice never is, and a mask fits or not by its shape."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(part is Ellipsis for part in parts):
        place = next(k for k, part in enumerate(parts) if part is Ellipsis)
        used = sum(part is not None and part is not Ellipsis for part in parts)
        parts[place : place + 1] = [slice(None)] * (len(x.shape) - used)
    sizes = iter(x.shape)
    return any(_misses(part, next(sizes, None)) for part in parts if part is not None)


def _misses(part: Any, size: Any) -> bool:
    if isinstance(part, (slice, bool)):
        return False
    if isinstance(part, int) and isinstance(size, int):
        return False  # it is not, or the capture has failed
    return getattr(getattr(part, "dtype", None), "kind", None) != "b"


OUT_OF_RANGE = Raises((LookupError,), out_of_range)
"""An index read may be out of range."""
