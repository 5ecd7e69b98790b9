"""Schedules that multiply the learning rate by a factor of the step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from weft.errors import StateError
from weft.optim._optimizer import Optimizer
from weft.optim.lr_scheduler._scheduler import LRScheduler, each_group, positive_whole

Factor = Callable[[int], float]


class _ByFunction(LRScheduler):
    """A factor from a function of the step, one for all groups or one each."""

    _unsaved = LRScheduler._unsaved | {"lr_lambdas"}

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        if isinstance(optimizer, Optimizer):
            self.lr_lambdas: list[Any] = each_group(self._name, "lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules; of the functions, the attributes of callable objects, and None for plain functions."""
        saved = [None if isinstance(f, FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": saved}

    def _check_state(self, state_dict: Mapping[str, Any]) -> None:
        super()._check_state(state_dict)
        if len(state_dict["lr_lambdas"]) != len(self.lr_lambdas):
            counts = f"{len(state_dict['lr_lambdas'])} functions given, {len(self.lr_lambdas)} expected"
            raise StateError(f"load_state_dict: the state does not fit {self._name}; nothing was changed\n  {counts}")

    def _take(self, state_dict: Mapping[str, Any]) -> None:
        super()._take({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_ByFunction):
    """The first rate times `lr_lambda(step)`."""

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        return self._at(self.last_epoch)

    def _first_lr(self) -> list[float]:
        return self._at(0)

    def _at(self, step: int) -> list[float]:
        return [base * factor(step) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_ByFunction):
    """The last rate times `lr_lambda(step)`."""

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        return self._rates() if self._is_initial else self._after(self.last_epoch)

    def _first_lr(self) -> list[float]:
        return self._after(0)

    def _after(self, step: int) -> list[float]:
        return [rate * factor(step) for rate, factor in zip(self._rates(), self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        positive_whole("StepLR", "step_size", step_size)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        return self._scaled(1.0 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma)


class MultiStepLR(LRScheduler):
    """Times `gamma` at each milestone; a milestone given twice counts twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _first_lr(self) -> list[float]:
        return [base * self.gamma ** self.milestones[0] for base in self.base_lrs]

    def _take(self, state_dict: Mapping[str, Any]) -> None:
        # Files give a plain dict back, which knows nothing of steps that are no milestones.
        super()._take({**state_dict, "milestones": Counter(state_dict["milestones"])})


class ExponentialLR(LRScheduler):
    """Times `gamma` at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        return self._scaled(1.0 if self._is_initial or self.last_epoch == 0 else self.gamma)


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` steps."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < factor <= 1:
            raise ValueError(f"ConstantLR: factor is more than 0 and at most 1, got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def _first_lr(self) -> list[float]:
        return [base * (self.factor if self.total_iters > 0 else 1.0) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Warm-up: times a factor that goes evenly from `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is more than 0 and at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is from 0 to 1, got {end_factor}")
        positive_whole("LinearLR", "total_iters", total_iters)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _first_lr(self) -> list[float]:
        return [base * self.start_factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Down to zero in `total_iters` steps, as (1 − step/total_iters) to the given power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        positive_whole("PolynomialLR", "total_iters", total_iters)
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        if self._is_initial or self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        return self._scaled((left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to `eta_min` in `T_max` steps, then up again, and so on."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        positive_whole("CosineAnnealingLR", "T_max", T_max)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`."""
        step, low = self.last_epoch, self.eta_min
        if self._is_initial or step == 0:
            return self._rates()
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the bottom the last rate is eta_min, and no factor leads up from it.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - low) * rise for rate, base in zip(self._rates(), self.base_lrs, strict=True)]
        factor = (1 + math.cos(math.pi * step / self.T_max)) / (1 + math.cos(math.pi * (step - 1) / self.T_max))
        return [factor * (rate - low) + low for rate in self._rates()]
