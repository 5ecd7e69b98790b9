"""What an object holds, as one value that can be compared: values, types, and which parts are one and the same."""

from __future__ import annotations

import collections
import enum
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type, np.generic, enum.Enum)


def seen(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """The structure of a value. Tuples, which nobody can change, count by what they hold."""
    memo = {} if memo is None else memo
    name = type(value).__name__
    if isinstance(value, _PLAIN) or callable(value):
        return name, repr(value)
    if isinstance(value, tuple):
        return name, *(seen(part, memo) for part in value)
    if id(value) in memo:
        return "the same as", memo[id(value)][0]
    memo[id(value)] = (len(memo), value)
    if isinstance(value, np.ndarray):
        base = memo[id(value.base)][0] if id(value.base) in memo else None
        return name, str(value.dtype), value.shape, value.tobytes(), base
    if isinstance(value, np.random.Generator):
        return name, repr(value.bit_generator.state)
    if isinstance(value, (list, collections.deque)):
        return name, *(seen(part, memo) for part in value)
    if isinstance(value, dict):
        return name, *((key, seen(part, memo)) for key, part in value.items())
    if isinstance(value, (set, frozenset)):
        return name, *sorted(map(repr, value))
    slots = [slot for cls in type(value).__mro__ for slot in getattr(cls, "__slots__", ()) if hasattr(value, slot)]
    held = {**{slot: getattr(value, slot) for slot in slots}, **getattr(value, "__dict__", {})}
    return name, *((key, seen(part, memo)) for key, part in held.items())


def outcome(function: Any, *args: Any) -> tuple[str, Any]:
    """What a call gives, or raises."""
    try:
        return "gives", function(*args)
    except Exception as error:
        return "raises", (type(error).__name__, str(error))
