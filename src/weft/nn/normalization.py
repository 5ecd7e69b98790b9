"""Layers that bring values to a common mean and spread.

Batch normalisation in training mode updates its running statistics when it runs on values. A graph that looks inside it
(a tracer whose `is_leaf_module` says so) holds the normalisation alone: nodes are pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import weft.nn.functional as F
from weft._module import Module
from weft._tracing import current_tracer
from weft.autograd import Tensor, no_grad
from weft.errors import ShapeError, TraceError
from weft.nn import init
from weft.nn._make import buffer, check_device, check_sizes, parameter
from weft.ops._spec import Spec

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm", "RMSNorm"]


class _BatchNorm(Module):
    """What batch normalisations share."""

    ranks: ClassVar[tuple[int, ...]]
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", parameter(num_features, dtype=dtype) if affine else None)
        self.register_parameter("bias", parameter(num_features, dtype=dtype) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", buffer(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", buffer(num_features, fill=1.0, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", buffer(dtype=np.int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Forget the statistics and set the scale to one and the shift to zero."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """Each channel normalised: by its own statistics in training, by the running ones otherwise."""
        if isinstance(input, (Tensor, np.ndarray, Spec)) and input.ndim not in self.ranks:
            wanted = " or ".join(f"{rank}" for rank in self.ranks)
            raise ShapeError(f"{type(self).__name__}: expected {wanted} dimensions, got shape {input.shape}")
        if isinstance(input, (Tensor, np.ndarray)) and input.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}: input {input.shape} has {input.shape[1]} channels, the layer takes "
                f"{self.num_features}"
            )
        batch = self.training or not self.track_running_stats
        self._follow(input)
        mean, var = (None, None) if batch else (self.running_mean, self.running_var)
        return F.batch_norm(input, mean, var, self.weight, self.bias, batch, 0.0, self.eps)

    def _follow(self, input: Any) -> None:
        """Move the running statistics in training; a symbolic trace, which would lose that, is refused."""
        if not (self.training and self.track_running_stats):
            return
        if isinstance(input, (Tensor, np.ndarray)):
            self._track(_values(input))
        elif current_tracer.get() is not None:
            raise TraceError(
                f"{type(self).__name__}: symbolic tracing cannot record how training moves the running statistics",
                help="trace it after .eval(), or keep it a call: a Tracer whose is_leaf_module returns True for it",
            )

    def _track(self, x: np.ndarray[Any, Any]) -> None:
        """Move the running statistics towards those of a batch."""
        count = x.size // x.shape[1] if x.shape[1] else 0
        if count <= 1:
            raise ShapeError(
                f"{type(self).__name__}: training needs more than one value per channel, got shape {x.shape}"
            )
        axes = (0, *range(2, x.ndim))
        batches = _values(self.num_batches_tracked) + 1
        move(self.num_batches_tracked, batches)
        rate = 1 / int(batches) if self.momentum is None else self.momentum
        for running, new in ((self.running_mean, x.mean(axes)), (self.running_var, x.var(axes, ddof=1))):
            move(running, (1 - rate) * _values(running) + rate * new)

    def extra_repr(self) -> str:
        """Channels and settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


def move(running: Any, values: Any) -> None:
    """Write new statistics over the old."""
    with no_grad():
        running[...] = values.astype(running.dtype)


def _values(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, Tensor) else x


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W).

    >>> BatchNorm2d(8)
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)  # 16 parameters
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    ranks = (5,)


class LayerNorm(Module):
    """Normalisation over the last dimensions, those of `normalized_shape`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, normalized_shape=normalized_shape)
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = parameter(*self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", made)
        with_bias = elementwise_affine and bias
        self.register_parameter("bias", parameter(*self.normalized_shape, dtype=dtype) if with_bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to one and the shift to zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """The input normalised, scaled and shifted."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Shape and settings."""
        text = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{text}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Division by the root of the mean square over the last dimensions, those of `normalized_shape`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = parameter(*self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Any) -> Any:
        """The input divided and scaled."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Shape and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalisation over groups of channels, for each input of the batch by itself."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, 1, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels cannot be split into {num_groups} groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", parameter(num_channels, dtype=dtype) if affine else None)
        self.register_parameter("bias", parameter(num_channels, dtype=dtype) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to one and the shift to zero."""
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """The input normalised, scaled and shifted."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Groups, channels and settings."""
        text = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{text}, bias={self.bias is not None}"


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)
