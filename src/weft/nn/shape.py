"""Layers that only move values: to other shapes and sizes, between channels and space, in and out of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft.nn.functional as F
from weft import ops
from weft._module import Module

__all__ = [
    "Flatten",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


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


class Unflatten(Module):
    """One dimension laid out as several; one of the sizes may be -1."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if isinstance(unflattened_size, int) or not all(isinstance(size, int) for size in unflattened_size):
            raise TypeError(f"Unflatten: unflattened_size is a tuple of integers, got {unflattened_size!r}")
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        """The input in its new shape."""
        return ops.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """Channels turned into finer space: (N, C r², H, W) to (N, C, H r, W r).

    >>> import numpy as np
    >>> PixelShuffle(2)(np.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        """The input, finer."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Space turned into channels: (N, C, H r, W r) to (N, C r², H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        """The input, coarser."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class Upsample(Module):
    """The input resized to `size`, or by `scale_factor`; see `functional.interpolate` for the modes."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
    ) -> None:
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ValueError(f"{type(self).__name__}: expected either size or scale_factor")
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners

    def forward(self, input: Any) -> Any:
        """The input, resized."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, bool(self.align_corners))

    def extra_repr(self) -> str:
        """The size or factor, and the mode."""
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={_float(self.scale_factor)}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images resized by repeating pixels."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images resized by straight lines between pixels, corner pixels staying corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class _Windows(Module):
    """The settings of windows over space."""

    def __init__(self, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self) -> str:
        """The windows."""
        words = (f"{name}={getattr(self, name)}" for name in ("kernel_size", "dilation", "padding", "stride"))
        return ", ".join(words)


class Unfold(_Windows):
    """Every window as a column: (N, C, *space) to (N, C taps, windows)."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input: Any) -> Any:
        """The columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """Columns of windows added up in space, the transpose of `Unfold`."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        """The sums."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The size and the windows."""
        return f"output_size={self.output_size}, {super().extra_repr()}"


def _float(factor: Any) -> Any:
    return tuple(map(float, factor)) if isinstance(factor, Sequence) else float(factor)
