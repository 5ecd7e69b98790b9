"""Layers that pad space: with a constant, with zeros, mirrored, with the edge repeated, around a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """One width for every side, or a pair (before, after) for each dimension of space, the last dimension's first."""

    mode: ClassVar[str] = "constant"
    rank: ClassVar[int]
    value: float | None = None

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        count = 2 * self.rank
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != count:
            raise ValueError(f"{type(self).__name__}: expected one width or {count} of them, got {self.padding}")

    def forward(self, input: Any) -> Any:
        """The input, padded."""
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """A constant on every side."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The widths and the constant."""
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPad(_Pad):
    """What lies inside, mirrored at the edge."""

    mode = "reflect"


class _ReplicationPad(_Pad):
    """The edge, repeated."""

    mode = "replicate"


class _CircularPad(_Pad):
    """What lies at the other end."""

    mode = "circular"


def _layers(base: type[_Pad], name: str, words: str) -> tuple[Any, Any, Any]:
    """The layers for one, two and three dimensions of space."""
    made = []
    for rank in (1, 2, 3):
        doc = f"{words} of (N, C, *space), space of {rank} dimension{'s' if rank > 1 else ''}."
        made.append(type(f"{name}{rank}d", (base,), {"rank": rank, "__doc__": doc, "__module__": __name__}))
    first, second, third = made
    return first, second, third


ZeroPad1d, ZeroPad2d, ZeroPad3d = _layers(_Pad, "ZeroPad", "Zeros on every side")
ConstantPad1d, ConstantPad2d, ConstantPad3d = _layers(_ConstantPad, "ConstantPad", "A constant on every side")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _layers(_ReflectionPad, "ReflectionPad", "Mirrored sides")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _layers(_ReplicationPad, "ReplicationPad", "Edges repeated")
CircularPad1d, CircularPad2d, CircularPad3d = _layers(_CircularPad, "CircularPad", "The other end on every side")
