"""Layers that drop values at random in training, and do nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class _Dropout(Module):
    """What dropouts share. `inplace` is accepted for the sake of existing code; values are never changed in place."""

    function: ClassVar[Callable[..., Any]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be between 0 and 1, got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The input with values dropped and the others scaled up, in training; the input otherwise."""
        return type(self).function(input, self.p, self.training)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Each value dropped with probability p."""

    function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Each channel of (N, C, L) dropped with probability p."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Each channel of (N, C, H, W) dropped with probability p."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Each channel of (N, C, D, H, W) dropped with probability p."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance behind SELU (Klambauer et al., 2017)."""

    function = staticmethod(F.alpha_dropout)
