"""States and the values they are loaded into: what fits, what is reported, and how values take their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class LoadReport(NamedTuple):
    """What `load_state_dict(strict=False)` did not find a place for, or a value for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def check_mapping(state: object) -> None:
    """Refuse what is no dict, such as the path of a file."""
    if not isinstance(state, Mapping):
        given = type(state).__name__
        raise TypeError(
            f"load_state_dict: expected a dict of values by name, got {given}; read a file with nn.load_state(path)"
        )


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """The array inside a tensor, or the value as an array."""
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)


def misfit(name: str, old: Any, new: np.ndarray[Any, Any]) -> str | None:
    """Why a value does not fit its place, in words; None where it does."""
    if tuple(new.shape) != tuple(old.shape):
        return f"{name}: shape {tuple(new.shape)} given, {tuple(old.shape)} expected"
    if new.dtype.kind not in "biufc" or (new.dtype.kind == "c" and np.dtype(old.dtype).kind != "c"):
        return f"{name}: dtype {new.dtype} given, {np.dtype(old.dtype)} expected"
    return None


def mismatch_message(owner: str, report: LoadReport, wrong: list[str]) -> str:
    """Everything that does not fit, in one message."""
    lines = [f"load_state_dict: the state does not fit {owner}; nothing was changed"]
    for label, names in (
        ("missing", report.missing_keys),
        ("unexpected", report.unexpected_keys),
        ("does not fit", wrong),
    ):
        if names:
            lines += [f"  {label}:", *(f"    {name}" for name in names)]
    return "\n".join(lines)


def fill(old: Any, new: np.ndarray[Any, Any], keep_dtype: bool) -> Any:
    """Put values where the old ones are: into the same memory where that can be, else into the same tensor."""
    array = as_array(old)
    if keep_dtype and array.flags.writeable:
        array[...] = new
        if hasattr(old, "_mark_written"):
            old._mark_written()
        return old
    copied = np.array(new, dtype=array.dtype if keep_dtype else new.dtype)
    if not hasattr(old, "detach"):
        return copied
    old.data = copied
    return old
