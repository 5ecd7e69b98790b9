"""What `to(...)` asks for, of a tensor or a module: torch's forms of the call, and the one device there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def check_device(name: str, device: Any) -> None:
    """Refuse devices that do not exist here."""
    if device is not None and str(device) != "cpu":
        raise ValueError(f"{name}: device {str(device)!r} is not available: arrays live on the CPU; leave it out")


def is_device(value: Any) -> bool:
    """Whether a value names a device rather than a dtype."""
    return isinstance(value, str) and value.partition(":")[0] in ("cpu", "cuda", "mps", "xpu", "meta", "xla")


def wanted_dtype(name: str, args: tuple[Any, ...], dtype: Any = None, device: Any = None) -> np.dtype[Any] | None:
    """The dtype that `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)` asks for; None for the present one.

    >>> wanted_dtype("to", ("cpu", np.float32)), wanted_dtype("to", ("cpu",))
    (dtype('float32'), None)
    """
    for value in args:
        if value is None:
            continue
        if is_device(value):
            device = value
        elif dtype is None:
            dtype = value.dtype if hasattr(value, "dtype") and not isinstance(value, type) else value
        else:
            raise TypeError(f"{name}: expected a dtype, a device or both, got {args}")
    check_device(name, device)
    return None if dtype is None else _as_dtype(name, dtype)


def _as_dtype(name: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{name}: {dtype!r} is neither a dtype nor a device") from None
