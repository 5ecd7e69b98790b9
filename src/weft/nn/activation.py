"""Activation functions as layers. `inplace` is accepted for the sake of existing code; no value changes in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module
from weft.nn import init
from weft.nn._make import check_device, parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sigmoid",
    "SiLU",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Activation(Module):
    """A function of the input and of the settings named in `settings`, in that order."""

    function: ClassVar[Callable[..., Any]]
    settings: ClassVar[tuple[str, ...]] = ()
    inplace = False

    def forward(self, input: Any) -> Any:
        """The function of each element, or along `dim` where there is one."""
        return type(self).function(input, *[getattr(self, name) for name in self.settings])

    def extra_repr(self) -> str:
        """The settings."""
        shown = [f"{name}={getattr(self, name)!r}" for name in self.settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class _Plain(_Activation):
    """An activation without settings."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _Along(_Activation):
    """An activation along one dimension."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        if dim is None:
            raise ValueError(f"{type(self).__name__} needs the dimension to work along: {type(self).__name__}(dim=-1)")
        self.dim = dim


class _Alpha(_Activation):
    """An activation with a scale of its negative part."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class _Lambda(_Activation):
    """An activation with a width around zero."""

    settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The width."""
        return str(self.lambd)


class ReLU(_Plain):
    """max(x, 0)."""

    function = staticmethod(F.relu)


class ReLU6(_Plain):
    """min(max(x, 0), 6)."""

    function = staticmethod(F.relu6)


class SiLU(_Plain):
    """x * sigmoid(x)."""

    function = staticmethod(F.silu)


class Mish(_Plain):
    """x * tanh(softplus(x))."""

    function = staticmethod(F.mish)


class SELU(_Plain):
    """The scaled exponential linear unit."""

    function = staticmethod(F.selu)


class Hardswish(_Plain):
    """x * relu6(x + 3) / 6."""

    function = staticmethod(F.hardswish)


class Hardsigmoid(_Plain):
    """relu6(x + 3) / 6."""

    function = staticmethod(F.hardsigmoid)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    function = staticmethod(F.sigmoid)


class LogSigmoid(_Activation):
    """log(sigmoid(x))."""

    function = staticmethod(F.logsigmoid)


class Tanh(_Activation):
    """The hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    function = staticmethod(F.tanhshrink)


class Softsign(_Activation):
    """x / (1 + abs(x))."""

    function = staticmethod(F.softsign)


class Softmax(_Along):
    """exp(x) divided by its sum."""

    function = staticmethod(F.softmax)


class LogSoftmax(_Along):
    """The logarithm of softmax."""

    function = staticmethod(F.log_softmax)


class Softmin(_Along):
    """exp(-x) divided by its sum."""

    function = staticmethod(F.softmin)


class GLU(_Activation):
    """One half of the input times the sigmoid of the other."""

    function = staticmethod(F.glu)
    settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class GELU(_Activation):
    """x times the normal distribution function of x, exactly or by its tanh formula."""

    function = staticmethod(F.gelu)
    settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate must be 'none' or 'tanh', got {approximate!r}")
        self.approximate = approximate


class ELU(_Alpha):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""

    function = staticmethod(F.elu)


class CELU(_Alpha):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""

    function = staticmethod(F.celu)


class LeakyReLU(_Activation):
    """x where positive, a fraction of it elsewhere."""

    function = staticmethod(F.leaky_relu)
    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace


class Hardtanh(_Activation):
    """x held between two numbers."""

    function = staticmethod(F.hardtanh)
    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if min_val >= max_val:
            raise ValueError(f"Hardtanh: min_val must be below max_val, got {min_val} and {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace


class Threshold(_Activation):
    """x where it exceeds a threshold, a fixed value elsewhere."""

    function = staticmethod(F.threshold)
    settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds the threshold."""

    function = staticmethod(F.softplus)
    settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class Hardshrink(_Lambda):
    """x, or zero where it lies within lambd of zero."""

    function = staticmethod(F.hardshrink)


class Softshrink(_Lambda):
    """x moved towards zero by lambd, or zero where it lies within."""

    function = staticmethod(F.softshrink)


class PReLU(Module):
    """x where positive, a learned fraction of it elsewhere: one fraction, or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        check_device(device)
        self.init = init
        self.weight = parameter(num_parameters, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every fraction to its first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """The activation; channels are the second dimension."""
        return F.prelu(input, self.weight)

    def _arguments(self) -> dict[str, Any]:
        """What to build another one with."""
        return {"num_parameters": self.weight.shape[0], "init": self.init}

    def extra_repr(self) -> str:
        """How many fractions."""
        return f"num_parameters={self.weight.shape[0]}"
