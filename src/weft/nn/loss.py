"""Losses as layers: `loss(input, target)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """A loss whose settings are the keyword arguments of its function."""

    function: ClassVar[Callable[..., Any]]
    settings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none", "batchmean"):
            raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        """How far the input is from the target."""
        chosen = {name: getattr(self, name) for name in self.settings}
        return type(self).function(input, target, reduction=self.reduction, **chosen)


class L1Loss(_Loss):
    """The mean absolute difference."""

    function = staticmethod(F.l1_loss)


class MSELoss(_Loss):
    """The mean squared difference."""

    function = staticmethod(F.mse_loss)


class SmoothL1Loss(_Loss):
    """Squared near zero, absolute beyond `beta`, divided by it."""

    function = staticmethod(F.smooth_l1_loss)
    settings = ("beta",)

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """Squared near zero, absolute beyond `delta`."""

    function = staticmethod(F.huber_loss)
    settings = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities from a target."""

    function = staticmethod(F.kl_div)
    settings = ("log_target",)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target


class CrossEntropyLoss(_Loss):
    """The negative logarithm of the target's probability, from logits."""

    function = staticmethod(F.cross_entropy)
    settings = ("weight", "ignore_index", "label_smoothing")

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class NLLLoss(_Loss):
    """The negative logarithm of the target's probability, from log-probabilities."""

    function = staticmethod(F.nll_loss)
    settings = ("weight", "ignore_index")

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index


class BCELoss(_Loss):
    """The cross entropy of two classes, from probabilities."""

    function = staticmethod(F.binary_cross_entropy)
    settings = ("weight",)

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


class BCEWithLogitsLoss(_Loss):
    """The cross entropy of two classes, from logits."""

    function = staticmethod(F.binary_cross_entropy_with_logits)
    settings = ("weight", "pos_weight")

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
