"""What layers share when they are built: parameters of a shape, and arguments given once for every dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import _casting
from weft.autograd import Parameter, Tensor

Floats = np.ndarray[Any, Any]


def parameter(*shape: int, dtype: Any = None) -> Parameter:
    """A parameter of zeros, float32 unless told otherwise; the layer fills it in `reset_parameters`."""
    return Parameter(np.zeros(shape, np.float32 if dtype is None else dtype))


def buffer(*shape: int, fill: float = 0.0, dtype: Any = None) -> Tensor:
    """A tensor of one number, float32 unless told otherwise."""
    return Tensor(np.full(shape, fill, np.float32 if dtype is None else dtype))


def each(value: Any, count: int) -> tuple[Any, ...]:
    """One value for every dimension, or a sequence of as many."""
    if not isinstance(value, Sequence):
        return (value,) * count
    if len(value) != count:
        raise ValueError(f"expected one number or {count} of them, got {tuple(value)}")
    return tuple(value)


def check_sizes(layer: Any, least: int = 0, **sizes: Any) -> None:
    """Raise unless sizes that a layer was given, by name, are whole numbers, or tuples of them, of `least` or more."""
    for name, given in sizes.items():
        for size in given if isinstance(given, (tuple, list)) else (given,):
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
                kind: type[Exception] = TypeError
            elif size < least:
                kind = ValueError
            else:
                continue
            raise kind(f"{type(layer).__name__}: {name} is a whole number of {least} or more, got {size!r}")


def check_device(device: Any) -> None:
    """Refuse devices that do not exist here."""
    _casting.check_device("nn", device)
