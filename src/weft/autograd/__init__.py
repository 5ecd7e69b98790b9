"""Tensors: arrays that take part in ops and can be asked for gradients. See `Tensor` and `Parameter`."""

from weft.autograd._tensor import Parameter, Tensor, tensor

__all__ = ["Parameter", "Tensor", "tensor"]
