"""Layers that are products with a matrix, and the layer that does nothing."""

from __future__ import annotations

import math
from typing import Any

import weft.nn.functional as F
from weft._module import Module
from weft.nn import init
from weft.nn._make import check_device, check_sizes, parameter

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Gives back what it gets; takes any arguments, so that it can stand in for another layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """x @ weight.T + bias.

    >>> layer = Linear(3, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)  # 8 parameters
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = parameter(out_features, in_features, dtype=dtype)
        self.register_parameter("bias", parameter(out_features, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        """The product for the last dimension of the input."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k] for each output k."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = parameter(out_features, in1_features, in2_features, dtype=dtype)
        self.register_parameter("bias", parameter(out_features, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """The form for the last dimensions of both inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
