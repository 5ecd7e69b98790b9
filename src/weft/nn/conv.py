"""Convolutions in one, two and three dimensions, and their transposes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module
from weft.nn import init
from weft.nn._make import check_device, check_sizes, each, parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Conv(Module):
    """What convolutions share: sizes, parameters, first values, text."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str

    def _build(self, channels: tuple[int, int], bias: bool, device: Any, dtype: Any, **sizes: Any) -> None:
        check_device(device)
        self.in_channels, self.out_channels = channels
        self.groups, self.padding_mode = sizes.pop("groups"), sizes.pop("padding_mode")
        check_sizes(self, in_channels=channels[0], out_channels=channels[1])
        check_sizes(
            self, 1, groups=self.groups, **{name: sizes[name] for name in ("kernel_size", "stride", "dilation")}
        )
        for count in channels:
            if count % self.groups:
                raise ValueError(f"{type(self).__name__}: {count} channels cannot be split into {self.groups} groups")
        if self.padding_mode not in _PAD_MODES:
            raise ValueError(f"padding_mode must be one of {', '.join(_PAD_MODES)}, got {self.padding_mode!r}")
        for name, value in sizes.items():
            setattr(self, name, value if isinstance(value, str) else each(value, self.dims))
        if isinstance(self.padding, str) and self.padding not in ("same", "valid"):
            raise ValueError(f"padding must be numbers, 'same' or 'valid', got {self.padding!r}")
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError(f"padding='same' needs stride 1, got {self.stride}")
        first, second = channels[::-1] if not self.transposed else channels
        self.weight = parameter(first, second // self.groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", parameter(self.out_channels, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        fan_in = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Channels and sizes; what has its usual value is left out."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name, (usual,) * self.dims)
            if value != (usual,) * self.dims:
                text += f", {name}={value!r}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode!r}"


class _Forward(_Conv):
    """Convolutions proper."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(
            (in_channels, out_channels),
            bias,
            device,
            dtype,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
        )

    def _pads(self) -> tuple[int, ...]:
        """What `F.pad` takes for this padding: (before, after) of the last dimension first."""
        pairs: list[tuple[int, int]] = []
        for i in range(self.dims):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                pairs.append((total // 2, total - total // 2))
            else:
                amount = 0 if isinstance(self.padding, str) else self.padding[i]
                pairs.append((amount, amount))
        return tuple(amount for pair in reversed(pairs) for amount in pair)

    def forward(self, input: Any) -> Any:
        """The convolution of a batch (N, C, …) or of one input (C, …)."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._pads(), _PAD_MODES[self.padding_mode]), 0
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.dims - 1]
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _Transpose(_Conv):
    """Transposed convolutions: the gradient of a convolution with respect to its input, used as a layer."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__} pads with zeros only, got padding_mode={padding_mode!r}")
        self._build(
            (in_channels, out_channels),
            bias,
            device,
            dtype,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
        )

    def forward(self, input: Any) -> Any:
        """The transposed convolution of a batch (N, C, …) or of one input (C, …)."""
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.dims - 1]
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class Conv1d(_Forward):
    """Convolution over sequences (N, C, L)."""

    dims = 1


class Conv2d(_Forward):
    """Convolution over images (N, C, H, W).

    >>> Conv2d(3, 8, 3, padding=1)
    Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))  # 224 parameters
    """

    dims = 2


class Conv3d(_Forward):
    """Convolution over volumes (N, C, D, H, W)."""

    dims = 3


class ConvTranspose1d(_Transpose):
    """Transposed convolution over sequences."""

    dims = 1


class ConvTranspose2d(_Transpose):
    """Transposed convolution over images."""

    dims = 2


class ConvTranspose3d(_Transpose):
    """Transposed convolution over volumes."""

    dims = 3
