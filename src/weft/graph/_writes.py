"""Writes that an output lists: what the caller must see changed once a graph has run.

`output.kwargs["writes"]` has pairs of an input and the node of its new content. They are carried out after everything
is computed and before the result is returned, as if all at once: no content is read after a write has changed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft._module import as_array


def carry_out(writes: Iterable[tuple[Any, Any]]) -> None:
    """Put contents into their targets; where the shape differs the target takes on the new one first.

    >>> a, b = np.array([1, 2]), np.array([3, 4])
    >>> carry_out([(a, b), (b, a)])
    >>> a, b
    (array([3, 4]), array([1, 2]))
    """
    pairs = [(target, value) for target, value in writes if value is not target]
    if len(pairs) > 1:
        targets = [target for target, _ in pairs]
        pairs = [(target, _safe(value, targets)) for target, value in pairs]
    for target, value in pairs:
        if np.shape(target) != np.shape(value):
            set_shape(target, np.shape(value))
        target[...] = value


def set_shape(array: Any, shape: Any) -> None:
    """`array.shape = shape`: the array itself changes, or an AttributeError says that its elements do not lie so."""
    setter = getattr(array, "_set_shape", None)
    if setter is None:
        array.shape = shape
    else:
        setter(shape)  # since NumPy 2.5, where the assignment warns


def _safe(value: Any, targets: list[Any]) -> Any:
    """The content, or a copy where writing one of the targets might change it."""
    memory = _memory(value)
    if memory is None or not any(_shares(_memory(target), memory) for target in targets):
        return value
    return value.copy() if isinstance(value, np.ndarray) else value.clone()


def _memory(value: Any) -> Any:
    """The array that a value is or holds; None where it is neither an array nor a Tensor."""
    return (
        value if isinstance(value, np.ndarray) else as_array(value) if hasattr(type(value), "requires_grad") else None
    )


def _shares(one: Any, other: Any) -> bool:
    return one is not None and np.may_share_memory(one, other)
