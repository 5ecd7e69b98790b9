"""Schedules made of schedules: one after another, or all at once."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import StateError
from weft.optim._optimizer import Optimizer
from weft.optim.lr_scheduler._plateau import ReduceLROnPlateau
from weft.optim.lr_scheduler._scheduler import LRScheduler


class _Composed(LRScheduler):
    """What the two share: a list of schedules of one optimiser, whose states are saved inside its own."""

    _unsaved = LRScheduler._unsaved | {"_schedulers"}
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """The state of each schedule, and which step this is."""
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def _check_state(self, state_dict: Mapping[str, Any]) -> None:
        super()._check_state(state_dict)
        saved = state_dict["_schedulers"]
        if len(saved) != len(self._schedulers):
            counts = f"{len(saved)} schedules given, {len(self._schedulers)} expected"
            raise StateError(f"load_state_dict: the state does not fit {self._name}; nothing was changed\n  {counts}")
        for one, state in zip(self._schedulers, saved, strict=True):
            one._check_state(state)

    def _take(self, state_dict: Mapping[str, Any]) -> None:
        super()._take({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for one, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            one._take(state)

    def _adopt(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        if not schedulers:
            raise ValueError(f"{self._name}: at least one schedule is needed")
        for i, one in enumerate(schedulers):
            if not isinstance(one, LRScheduler):
                raise TypeError(f"{self._name}: schedule {i} is a {type(one).__name__}")
            if isinstance(one, ReduceLROnPlateau):
                raise ValueError(f"{self._name}: schedule {i} is a ReduceLROnPlateau, whose step needs a value")
            if one.optimizer is not (schedulers[0].optimizer if optimizer is None else optimizer):
                raise ValueError(f"{self._name}: schedule {i} belongs to another optimiser")
        self.optimizer = schedulers[0].optimizer
        self._schedulers = list(schedulers)


class SequentialLR(_Composed):
    """One schedule after another: the next takes over at each milestone, and starts from its own step 0.

    >>> import weft
    >>> optimizer = weft.optim.SGD([weft.tensor([1.0], requires_grad=True)], lr=1.0)
    >>> warm_up = weft.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> decay = weft.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._adopt(schedulers, optimizer)
        for i, one in enumerate(schedulers):
            if isinstance(one, _Composed):
                raise ValueError(f"SequentialLR: schedule {i} is a {one._name}, which cannot start over")
        if len(milestones) != len(schedulers) - 1:
            needed = f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones"
            raise ValueError(f"SequentialLR: {needed}, got {len(milestones)}")
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # Each schedule has set the rates when it was made; only the first is to have had an effect.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for one in schedulers:
            one.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Let the schedule whose turn it is set the rates of the next step."""
        turn = bisect.bisect_right(self._milestones, self.last_epoch + 1)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch + 1:
            scheduler._restart()
        else:
            scheduler.step()
        self.last_epoch += 1
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules at once: each changes the rates the one before it has set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._adopt(list(schedulers), optimizer)
        self._last_lr = self._rates()

    def step(self) -> None:
        """Step all of them, in order."""
        for one in self._schedulers:
            one.step()
        self._last_lr = self._rates()
