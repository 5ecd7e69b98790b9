"""Types of numbers: Python's `bool, int, float, complex`, and dtypes of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

REPRESENTATIVES: dict[type, Any] = {bool: True, int: 1, float: 0.5, complex: 1j}
"""A number of each of Python's types, for rules that only look at the type."""


def joined_kind(kinds: list[Any]) -> Any:
    """The type that numbers of several types have in common."""
    if all(kind is kinds[0] for kind in kinds):
        return kinds[0]
    if all(isinstance(kind, type) for kind in kinds):
        return max(kinds, key=list(REPRESENTATIVES).index)
    return np.result_type(*(REPRESENTATIVES[kind] if isinstance(kind, type) else kind for kind in kinds))


def same_kind(a: Any, b: Any) -> bool:
    """Whether two types of numbers are one: Python's float is not NumPy's float64, though they compare equal."""
    return isinstance(a, type) == isinstance(b, type) and bool(a == b)
