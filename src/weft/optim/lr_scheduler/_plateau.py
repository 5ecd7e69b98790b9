"""A schedule that follows a measured value rather than the count of steps."""

from __future__ import annotations

import math
from typing import Any

from weft.optim._optimizer import Optimizer
from weft.optim.lr_scheduler._scheduler import LRScheduler, each_group


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` whenever a value has not improved for more than `patience` steps; `step` takes the value.

    Better means less (`mode="min"`) or more ("max") than the best so far by `threshold`, relative ("rel") or not
    ("abs"). After a reduction `cooldown` steps count for nothing. Changes below `eps` are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau: an Optimizer is expected, got {type(optimizer).__name__}")
        if not 0 <= factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor is less than 1 and not negative, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode is 'min' or 'max', got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode is 'rel' or 'abs', got {threshold_mode!r}")
        self.min_lrs = each_group("ReduceLROnPlateau", "min_lr", min_lr, optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.optimizer = optimizer
        self.factor = factor
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any) -> None:  # type: ignore[override]  # this schedule needs the value it follows
        """Take a new value into account, and reduce the learning rates if it is time."""
        value = float(metrics)
        rates = self._rates()
        if len(rates) != len(self.min_lrs):
            raise ValueError(
                f"ReduceLROnPlateau: made for {len(self.min_lrs)} parameter groups, the optimiser has {len(rates)} now"
            )
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            lower = [max(rate * self.factor, least) for rate, least in zip(rates, self.min_lrs, strict=True)]
            rates = [new if old - new > self.eps else old for old, new in zip(rates, lower, strict=True)]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._set(rates)

    @property
    def in_cooldown(self) -> bool:
        """Whether steps count for nothing now."""
        return self.cooldown_counter > 0

    def _better(self, value: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "abs":
            return sign * value < sign * self.best - self.threshold
        return sign * value < sign * self.best * (1 - sign * self.threshold)
