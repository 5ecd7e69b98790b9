"""The ops of neural networks under the names and arguments of `torch.nn.functional`.

Most are the ops themselves; where the argument is called `dim`, or laid out differently, a thin function calls the op.

    >>> import numpy as np
    >>> import weft.nn.functional as F
    >>> F.softmax(np.zeros((1, 4)), dim=1)
    array([[0.25, 0.25, 0.25, 0.25]])
"""

from __future__ import annotations

import math
from typing import Any

from weft import ops
from weft._listing import listing as _listing
from weft.errors import ShapeError
from weft.ops._op import with_shape as _with_shape
from weft.ops.activation import (
    celu,
    elu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from weft.ops.activation import log_sigmoid as logsigmoid
from weft.ops.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    interpolate,
)
from weft.ops.attention import scaled_dot_product_attention
from weft.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from weft.ops.gelus import gelu
from weft.ops.layers import (
    alpha_dropout,
    bilinear,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    linear,
    one_hot,
)
from weft.ops.layers import pad_trailing as pad
from weft.ops.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from weft.ops.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from weft.ops.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fold,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    unfold,
)
from weft.ops.transcendental import tanh

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "unfold",
]


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """exp(x) divided by its sum along `dim`."""
    return ops.softmax(_cast(input, dtype), axis=dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Logarithm of softmax along `dim`."""
    return ops.log_softmax(_cast(input, dtype), axis=dim)


def softmin(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """exp(-x) divided by its sum along `dim`."""
    return ops.softmin(_cast(input, dtype), axis=dim)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of the array along `dim` times the sigmoid of the second half."""
    return ops.glu(input, axis=dim)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Divide by the p-norm along `dim`."""
    return ops.normalize(input, p, axis=dim, eps=eps)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Cosine of the angle between vectors along `dim`."""
    return ops.cosine_similarity(x1, x2, axis=dim, eps=eps)


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels turned into finer space: (*, C r², H, W) to (*, C, H r, W r)."""
    *batch, channels, height, width = _image("pixel_shuffle", input)
    r = upscale_factor
    if r <= 0 or channels % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels do not divide into {r} times {r}")
    apart = ops.reshape(input, (*batch, channels // (r * r), r, r, height, width))
    n = len(batch)
    mixed = ops.permute_dims(apart, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(mixed, (*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Space turned into channels: (*, C, H r, W r) to (*, C r², H, W)."""
    *batch, channels, height, width = _image("pixel_unshuffle", input)
    r = downscale_factor
    if r <= 0 or height % r or width % r:
        raise ShapeError(f"pixel_unshuffle: {height} by {width} does not divide by {r}")
    apart = ops.reshape(input, (*batch, channels, height // r, r, width // r, r))
    n = len(batch)
    mixed = ops.permute_dims(apart, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(mixed, (*batch, channels * r * r, height // r, width // r))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Any:
    """A random choice by logits, softened by the temperature `tau`; `hard` gives ones and zeros, and its gradient."""
    noise = ops.random.standard_gumbel(tuple(logits.shape), logits.dtype)
    soft = ops.softmax((logits + noise) / tau, axis=dim)
    if not hard:
        return soft
    best = ops.equal(soft, ops.max(soft, axis=dim, keepdims=True))
    return ops.stop_gradient(ops.astype(best, soft.dtype) - soft) + soft


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of the vectors of each bag of numbers.

    A bag is a row of `input`; or `input` is one row, and `offsets` tells where in it each bag begins. An empty bag
    gives zeros. The number `padding_idx` counts as not there.

    >>> import numpy as np
    >>> embedding_bag(np.array([0, 2, 1]), np.eye(3), np.array([0, 2]), mode="sum")
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode is 'sum', 'mean' or 'max', got {mode!r}")
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise ValueError("embedding_bag: max_norm, scale_grad_by_freq and sparse are not there")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag: per_sample_weights are for mode 'sum', not {mode!r}")
    input = _with_shape("embedding_bag", "input", input)
    if isinstance(input.ndim, int) and (input.ndim == 1) != (offsets is not None):
        raise ShapeError("embedding_bag: offsets are given for an input of one dimension, and for no other")
    rows = embedding(input, weight, padding_idx)
    there = ops.ones_like(rows[..., 0]) if padding_idx is None else ops.astype(input != padding_idx, rows.dtype)
    scaled = rows * ops.expand_dims(there if per_sample_weights is None else there * per_sample_weights, -1)
    if offsets is None:
        present = ops.expand_dims(there, -1) > 0
        total, count = ops.sum(scaled, axis=1), ops.sum(there, axis=1)
    else:
        begins = offsets[:-1] if include_last_offset else offsets
        bags = begins.shape[0]
        bag = ops.searchsorted(begins, ops.arange(input.shape[0]), side="right") - 1
        present = ops.expand_dims((bag == ops.expand_dims(ops.arange(bags), -1)) & (there > 0), -1)
        total = ops.index_add(ops.zeros((bags, weight.shape[1]), rows.dtype), bag, scaled)
        count = ops.index_add(ops.zeros(bags, rows.dtype), bag, there)
        rows = ops.expand_dims(rows, 0)
    full = ops.expand_dims(count, -1) > 0
    if mode == "max":
        return ops.where(full, ops.max(ops.where(present, rows, -math.inf), axis=1), ops.zeros_like(total))
    return total if mode == "sum" else total / ops.expand_dims(ops.maximum(count, 1), -1)


def _image(name: str, input: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = tuple(_with_shape(name, "input", input).shape)
    if len(shape) < 3:
        raise ShapeError(f"{name}: expected (channels, height, width) at the end, got shape {shape}")
    return shape


def _cast(input: Any, dtype: Any) -> Any:
    return input if dtype is None else ops.astype(input, dtype)


__dir__ = _listing(__name__)
