"""Normalisations: bring values to mean 0 and variance 1 over some axes, then scale and shift.

All are pure: batch_norm never changes the running statistics it is given; `batch_norm_with_stats` returns what a module
needs to update them. Half floats are averaged in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite
from weft.ops._spec import Shape, dtype_of, shape_of, size_of
from weft.ops.dtypes import astype
from weft.ops.manipulation import reshape
from weft.ops.reductions import mean
from weft.ops.transcendental import sqrt

__all__ = [
    "batch_norm",
    "batch_norm_with_stats",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
]


def _wide(name: str, x: Any) -> Any:
    """The value in a dtype wide enough to square and average."""
    dtype = dtype_of(x)
    if dtype.kind == "c":
        raise DtypeError(f"{name}: expected real numbers, got {dtype}")
    return astype(x, np.float32) if dtype == np.float16 else x


def _narrow(y: Any, x: Any) -> Any:
    return astype(y, np.float16) if dtype_of(x) == np.float16 else y


def _standardize(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """The value with mean 0 and variance 1 over the axes, its mean and its (biased) variance."""
    center = mean(x, axis=axes, keepdims=True)
    deviation = x - center
    variance = mean(deviation * deviation, axis=axes, keepdims=True)
    return deviation / sqrt(variance + eps), center, variance


def _affine(name: str, y: Any, weight: Any, bias: Any, shape: Shape, expected: Shape) -> Any:
    """Scale and shift by weight and bias of shape `expected`, laid out as `shape` to broadcast."""
    for label, value in (("weight", weight), ("bias", bias)):
        if value is not None and shape_of(value) != expected:
            raise ShapeError(f"{name}: expected a {label} of shape {expected}, got {shape_of(value)}")
    if weight is not None:
        y = y * reshape(weight, shape)
    return y if bias is None else y + reshape(bias, shape)


def _normalized_axes(name: str, x: Any, normalized_shape: int | Sequence[int]) -> tuple[Shape, tuple[int, ...]]:
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not sizes or shape_of(x)[-len(sizes) :] != sizes:
        raise ShapeError(f"{name}: the input {shape_of(x)} must end with normalized_shape {sizes}")
    return sizes, tuple(range(-len(sizes), 0))


def _per_channel(name: str, x: Any, least: int = 2) -> tuple[int, Shape]:
    """The number of channels and the shape that lays one number a channel out for broadcasting."""
    shape = shape_of(x)
    if len(shape) < least:
        raise ShapeError(f"{name}: expected at least {least} dimensions (batch, channels, ...), got {shape}")
    return shape[1], (1, shape[1], *(1,) * (len(shape) - 2))


@composite(arrays=("input", "weight", "bias"))
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise over the trailing dimensions, whose sizes are normalized_shape."""
    sizes, axes = _normalized_axes("layer_norm", input, normalized_shape)
    y, _, _ = _standardize(_wide("layer_norm", input), axes, eps)
    return _narrow(_affine("layer_norm", y, weight, bias, sizes, sizes), input)


@composite(arrays=("input", "weight"))
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root mean square over the trailing dimensions; eps is the dtype's own when None."""
    sizes, axes = _normalized_axes("rms_norm", input, normalized_shape)
    x = _wide("rms_norm", input)
    if eps is None:
        eps = float(np.finfo(dtype_of(x) if dtype_of(x).kind == "f" else np.float64).eps)
    y = x / sqrt(mean(x * x, axis=axes, keepdims=True) + eps)
    return _narrow(_affine("rms_norm", y, weight, None, sizes, sizes), input)


@composite(arrays=("input", "weight", "bias"))
def batch_norm_with_stats(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each channel over batch and space: the result, the mean and the unbiased variance of each channel.

    A module's running statistics move towards the last two: running = (1 - momentum) * running + momentum * batch.
    """
    channels, layout = _per_channel("batch_norm", input)
    axes = (0, *range(2, len(layout)))
    count = size_of([shape_of(input)[i] for i in axes])
    if count <= 1:
        raise ShapeError(f"batch_norm: training needs more than one value a channel, got input {shape_of(input)}")
    y, center, variance = _standardize(_wide("batch_norm", input), axes, eps)
    y = _narrow(_affine("batch_norm", y, weight, bias, layout, (channels,)), input)
    return y, reshape(center, (channels,)), reshape(variance, (channels,)) * (count / (count - 1))


@composite(arrays=("input", "running_mean", "running_var", "weight", "bias"))
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel by the batch's own statistics when training, by the running ones otherwise.

    The running statistics are not changed, whatever the momentum: `batch_norm_with_stats` returns the new ones' parts.
    """
    if training:
        return batch_norm_with_stats(input, weight, bias, eps)[0]
    if running_mean is None or running_var is None:
        raise ShapeError("batch_norm: evaluation needs running_mean and running_var, got None")
    return _by_running("batch_norm", input, running_mean, running_var, weight, bias, eps)


def _by_running(name: str, input: Any, center: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    channels, layout = _per_channel(name, input)
    for label, value in (("running_mean", center), ("running_var", variance)):
        if shape_of(value) != (channels,):
            raise ShapeError(f"{name}: expected {label} of shape {(channels,)}, got {shape_of(value)}")
    x = _wide(name, input)
    y = (x - reshape(center, layout)) / sqrt(reshape(variance, layout) + eps)
    return _narrow(_affine(name, y, weight, bias, layout, (channels,)), input)


@composite(arrays=("input", "running_mean", "running_var", "weight", "bias"))
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel of each sample over space; the running statistics are not changed."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: use_input_stats=False needs running_mean and running_var, got None")
        return _by_running("instance_norm", input, running_mean, running_var, weight, bias, eps)
    channels, layout = _per_channel("instance_norm", input, least=3)
    axes = tuple(range(2, len(layout)))
    if size_of([shape_of(input)[i] for i in axes]) <= 1:
        raise ShapeError(f"instance_norm: expected more than one value a channel, got input {shape_of(input)}")
    y, _, _ = _standardize(_wide("instance_norm", input), axes, eps)
    return _narrow(_affine("instance_norm", y, weight, bias, layout, (channels,)), input)


@composite(arrays=("input", "weight", "bias"))
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each sample over groups of channels and space."""
    channels, layout = _per_channel("group_norm", input)
    if channels % num_groups:
        raise ShapeError(f"group_norm: {channels} channels do not divide into {num_groups} groups")
    batch, _, *space = shape_of(input)
    grouped = reshape(_wide("group_norm", input), (batch, num_groups, channels // num_groups, *space))
    y, _, _ = _standardize(grouped, tuple(range(2, len(layout) + 1)), eps)
    return _narrow(_affine("group_norm", reshape(y, shape_of(input)), weight, bias, layout, (channels,)), input)
