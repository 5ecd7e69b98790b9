"""The layer that changes the shape alone."""

from __future__ import annotations

from typing import Any

from weft import ops
from weft._module import Module

__all__ = ["Flatten"]


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` joined into one; the batch stays by default."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """The input in its new shape."""
        return ops.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
