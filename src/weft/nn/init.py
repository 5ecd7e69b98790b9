"""Ways to fill a tensor with first values, under the names of `torch.nn.init`: in place, returning the tensor.

Numbers come from the current generator of `weft.random`, so `weft.manual_seed` makes them the same every time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft import random
from weft._listing import listing as _listing
from weft._tracing import current_tracer
from weft.autograd import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Numbers drawn evenly from [a, b)."""
    return _fill(tensor, _drawn(random.uniform, tensor, a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normally distributed numbers."""
    return _fill(tensor, _drawn(random.normal, tensor, mean, std))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normally distributed numbers, those outside [a, b] left out."""
    return _fill(tensor, _drawn(random.truncated_normal, tensor, mean, std, a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _fill(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _fill(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: expected two dimensions, got shape {tensor.shape}")
    return _fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Even numbers whose variance keeps that of signals both ways (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal numbers whose variance keeps that of signals both ways (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))))


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Even numbers whose variance keeps that of signals behind a rectifier (He et al., 2015)."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal numbers whose variance keeps that of signals behind a rectifier (He et al., 2015)."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """A matrix with orthonormal rows or columns, whichever are fewer; other dimensions count as columns."""
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: expected at least two dimensions, got shape {tensor.shape}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    drawn = _drawn(random.standard_normal, np.empty((max(rows, columns), min(rows, columns))))
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))  # makes the distribution uniform over all such matrices
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a nonlinearity shrinks the spread of signals, to be made up for.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"relu": math.sqrt(2), "tanh": 5 / 3, "selu": 3 / 4, "sigmoid": 1.0, "linear": 1.0}
    if nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain: unknown nonlinearity {nonlinearity!r}; known: {', '.join(sorted(gains))}")
    return gains[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit has."""
    if tensor.ndim < 2:
        raise ValueError(f"inputs and outputs of a unit need at least two dimensions, got shape {tensor.shape}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return max(1, _fans(tensor)[mode == "fan_out"])


def _drawn(distribution: Any, like: Any, *parameters: float) -> Any:
    """Numbers in the shape and dtype of a tensor, drawn now: a layer made while a program is traced is a constant."""
    token = current_tracer.set(None)
    try:
        return distribution(like.shape, *parameters, dtype=like.dtype if like.dtype.kind == "f" else np.float64)
    finally:
        current_tracer.reset(token)


def _fill(tensor: Tensor, values: Any) -> Tensor:
    tensor.numpy()[...] = values
    return tensor


__dir__ = _listing(__name__)
