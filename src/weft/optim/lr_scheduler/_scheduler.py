"""`LRScheduler`: counts steps and sets the learning rate of each parameter group.

Schedules compute the next rate from the present one, not from the count alone, so that several may act on one
optimiser, each with its own factor. `_first_lr` gives the rates at step 0 by themselves, for whoever starts over.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from weft.errors import StateError
from weft.optim._optimizer import Optimizer

_OF_TORCH = {"_is_initial", "_get_lr_called_within_step"}  # in torch's state, with no meaning beyond a call


class LRScheduler:
    """Base of the schedules. A subclass defines `get_lr`: the rates for step `last_epoch`, one a group."""

    _unsaved = frozenset({"optimizer", "_is_initial"})
    __weft_effects__ = frozenset({"step", "get_last_lr"})  # methods that a captured program calls when its graph runs
    __weft_outside__ = frozenset({"get_lr", "state_dict", "load_state_dict"})  # that it must not call
    _is_initial = False  # True while a schedule is made: taking up at `last_epoch`, most leave the rate as it is

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{self._name}: an Optimizer is expected, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{self._name}: parameter group {i} has no 'initial_lr', which last_epoch={last_epoch} needs; "
                    "load the optimiser's state first, or load the schedule's state instead of giving last_epoch"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr: list[float] = []
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            del self._is_initial

    def step(self) -> None:
        """Set the learning rates of the next step."""
        self._check_groups()
        self._step_count += 1
        self.last_epoch += 1
        self._set(self.get_lr())

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`, one a group; called by `step`."""
        raise NotImplementedError(f"{self._name} does not define get_lr()")

    def get_last_lr(self) -> list[float]:
        """The rates in force, one a group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser, as plain values."""
        return {key: deepcopy(value) for key, value in self.__dict__.items() if key not in self._unsaved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a copy of what `state_dict` gave; what does not fit is an error, and then nothing is changed."""
        self._check_state(state_dict)
        self._take(state_dict)

    def _take(self, state_dict: Mapping[str, Any]) -> None:
        self.__dict__.update({key: deepcopy(value) for key, value in state_dict.items() if key not in _OF_TORCH})

    def _check_state(self, state_dict: Any) -> None:
        wrong = [] if isinstance(state_dict, Mapping) else [f"a dict is expected, got {type(state_dict).__name__}"]
        expected = set(self.state_dict())
        given = set(expected if wrong else state_dict) - _OF_TORCH
        wrong += [f"missing: {name}" for name in sorted(expected - given)]
        wrong += [f"unexpected: {name}" for name in sorted(given - expected)]
        groups = len(self.optimizer.param_groups)
        for name in ("base_lrs", "_last_lr", "min_lrs"):
            if not wrong and name in expected and len(state_dict[name]) != groups:
                wrong.append(f"{name}: {len(state_dict[name])} rates given, {groups} expected")
        if wrong:
            lines = "\n".join(f"  {line}" for line in wrong)
            raise StateError(f"load_state_dict: the state does not fit {self._name}; nothing was changed\n{lines}")

    def _first_lr(self) -> list[float]:
        """The rates of step 0, whatever they are now."""
        return list(self.base_lrs)

    def _restart(self) -> None:
        """Begin again at step 0; `SequentialLR` calls this when a schedule's turn comes."""
        self._step_count += 1
        self.last_epoch = 0
        self._set(self._first_lr())

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)

    def _rates(self) -> list[float]:
        """The rates in force, as the optimiser has them: another schedule may have changed them."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[float]:
        return [rate * factor for rate in self._rates()]

    def _check_groups(self) -> None:
        found = len(self.optimizer.param_groups)
        if found != len(self.base_lrs):
            raise ValueError(
                f"{self._name}: made for {len(self.base_lrs)} parameter groups, the optimiser has {found} now; "
                "make the schedule after the last add_param_group"
            )

    @property
    def _name(self) -> str:
        return type(self).__name__


def each_group(owner: str, name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for every parameter group, or a sequence of as many."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{owner}: {name} has {len(value)} values for {count} parameter groups")
    return list(value)


def positive_whole(owner: str, name: str, value: Any) -> None:
    """Refuse anything but whole numbers from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{owner}: {name} is a whole number of at least 1, got {value!r}")
