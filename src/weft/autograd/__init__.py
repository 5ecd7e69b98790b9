"""Tensors, and the tape that gives their gradients. See `Tensor`, `backward` and `grad`."""

from weft._listing import listing as _listing
from weft.autograd import _fast, _inplace
from weft.autograd._backward import backward, grad
from weft.autograd._checkpoint import checkpoint
from weft.autograd._function import Function
from weft.autograd._mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from weft.autograd._numerical import gradcheck, gradgradcheck, numerical_diff
from weft.autograd._tensor import Parameter, Tensor, tensor

_fast.install()
_inplace.install(Tensor)

__all__ = [
    "Function",
    "Parameter",
    "Tensor",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "numerical_diff",
    "set_grad_enabled",
    "tensor",
]

__dir__ = _listing(__name__)
