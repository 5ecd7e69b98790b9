"""Losses as layers: `loss(input, target)`, and those of pairs and triples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import weft.nn.functional as F
from weft._module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
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
        return self._loss(input, target)

    def _loss(self, *values: Any) -> Any:
        chosen = {name: getattr(self, name) for name in self.settings}
        return type(self).function(*values, reduction=self.reduction, **chosen)


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


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), for targets 1 and -1."""

    function = staticmethod(F.soft_margin_loss)


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1; what it lacks to the margin where the target is -1."""

    function = staticmethod(F.hinge_embedding_loss)
    settings = ("margin",)

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin


class PoissonNLLLoss(_Loss):
    """The negative logarithm of a count's probability, from the expected count or its logarithm."""

    function = staticmethod(F.poisson_nll_loss)
    settings = ("log_input", "full", "eps")

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps


class GaussianNLLLoss(_Loss):
    """The negative logarithm of the target's density, from mean and variance: `loss(mean, target, var)`."""

    function = staticmethod(F.gaussian_nll_loss)
    settings = ("full", "eps")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:  # type: ignore[override]  # one argument more
        """The loss."""
        return self._loss(input, target, var)


class _PairLoss(_Loss):
    """A loss of two inputs and a target that is 1 or -1."""

    settings = ("margin",)

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]  # one argument more
        """The loss."""
        return self._loss(input1, input2, target)


class MarginRankingLoss(_PairLoss):
    """By how much two inputs are not ordered as the target says: 1 for the first above the second, -1 for below."""

    function = staticmethod(F.margin_ranking_loss)


class CosineEmbeddingLoss(_PairLoss):
    """1 - cosine of pairs that are alike (target 1); the cosine beyond the margin of those that are not (target -1)."""

    function = staticmethod(F.cosine_embedding_loss)


class TripletMarginLoss(_Loss):
    """By how much an anchor is not closer to a positive than to a negative: `loss(anchor, positive, negative)`."""

    function = staticmethod(F.triplet_margin_loss)
    settings = ("margin", "p", "eps", "swap")

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]  # a triple
        """The loss."""
        return self._loss(anchor, positive, negative)
