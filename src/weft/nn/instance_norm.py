"""Instance normalisation: each channel of each sample by its own mean and variance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import weft.nn.functional as F
from weft.autograd import Tensor
from weft.errors import ShapeError
from weft.nn.normalization import _BatchNorm, _values, move
from weft.ops import Spec

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_BatchNorm):
    """What instance normalisations share. The last of `ranks` is that of a batch, the one before that of one sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:
        """Each channel of each sample normalised."""
        known = isinstance(input, (Tensor, np.ndarray, Spec))
        if known and input.ndim not in self.ranks:
            wanted = " or ".join(f"{rank}" for rank in self.ranks)
            raise ShapeError(f"{type(self).__name__}: expected {wanted} dimensions, got shape {input.shape}")
        alone = known and input.ndim == self.ranks[0]
        batch = input[None] if alone else input
        if known and batch.shape[1] != self.num_features:
            name = type(self).__name__
            raise ShapeError(f"{name}: expected {self.num_features} channels, got shape {input.shape}")
        own = self.training or not self.track_running_stats
        self._follow(batch)
        mean, var = (None, None) if own else (self.running_mean, self.running_var)
        result = F.instance_norm(batch, mean, var, self.weight, self.bias, own, 0.0, self.eps)
        return result[0] if alone else result

    def _track(self, x: np.ndarray[Any, Any]) -> None:
        """Move the running statistics towards the average of those of the samples."""
        axes = tuple(range(2, x.ndim))
        rate = self.momentum
        assert rate is not None, "the constructor takes a number"
        for running, new in ((self.running_mean, x.mean(axes)), (self.running_var, x.var(axes, ddof=1))):
            move(running, (1 - rate) * _values(running) + rate * new.mean(0))


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L)."""

    ranks: ClassVar[tuple[int, ...]] = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W)."""

    ranks: ClassVar[tuple[int, ...]] = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W)."""

    ranks: ClassVar[tuple[int, ...]] = (4, 5)
