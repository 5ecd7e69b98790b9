"""Schedules that go through cycles: cosine with restarts, and one cycle of rate and momentum."""

from __future__ import annotations

import math
from typing import Any

from weft.optim._optimizer import Optimizer
from weft.optim.lr_scheduler._scheduler import LRScheduler, each_group, positive_whole


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min` in `T_0` steps, then from the top again, each time `T_mult` times as long."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        positive_whole("CosineAnnealingWarmRestarts", "T_0", T_0)
        positive_whole("CosineAnnealingWarmRestarts", "T_mult", T_mult)
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_i = T_0
        self.T_cur: float = 0
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Go on by one step, or to an epoch, which may be a fraction: `step(epoch + batch / batches)`."""
        self._check_groups()
        epoch = self.last_epoch + 1 if epoch is None else epoch
        if epoch < 0:
            raise ValueError(f"{self._name}: epoch is not negative, got {epoch}")
        cycle = self._cycle(epoch)
        self.T_i = self.T_0 * self.T_mult**cycle
        begun = cycle if self.T_mult == 1 else (self.T_mult**cycle - 1) // (self.T_mult - 1)
        self.T_cur = epoch - self.T_0 * begun
        self.last_epoch = math.floor(epoch)
        self._step_count += 1
        self._set(self.get_lr())

    def get_lr(self) -> list[float]:
        """The rates `T_cur` into a cycle of `T_i`."""
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def _cycle(self, epoch: float) -> int:
        """The number of the cycle an epoch is in."""
        if self.T_mult == 1:
            return int(epoch // self.T_0)
        cycle, end = 0, self.T_0
        while epoch >= end:
            cycle += 1
            end += self.T_0 * self.T_mult**cycle
        return cycle

    def _restart(self) -> None:
        self.step(0)


class OneCycleLR(LRScheduler):
    """Up from `max_lr / div_factor` to `max_lr`, then far down, over `total_steps`; momentum goes the other way.

    `total_steps` may be given as `epochs` times `steps_per_epoch`. With `three_phase` the way down mirrors the way up,
    and a third phase goes further down. See Smith and Topin, "Super-Convergence" (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"OneCycleLR: an Optimizer is expected, got {type(optimizer).__name__}")
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start is from 0 to 1, got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy is 'cos' or 'linear', got {anneal_strategy!r}")
        self._schedule_phases = _phases(self.total_steps, float(pct_start), three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        options = [
            {"initial_lr": top / div_factor, "max_lr": top, "min_lr": top / div_factor / final_div_factor}
            for top in each_group("OneCycleLR", "max_lr", max_lr, optimizer)
        ]
        if cycle_momentum:
            self.use_beta1 = _has_betas(optimizer)
            low = each_group("OneCycleLR", "base_momentum", base_momentum, optimizer)
            high = each_group("OneCycleLR", "max_momentum", max_momentum, optimizer)
            for option, base, top in zip(options, low, high, strict=True):
                option.update(base_momentum=base, max_momentum=top)
        if last_epoch == -1:
            for group, option in zip(optimizer.param_groups, options, strict=True):
                group.update(option)
        super().__init__(optimizer, last_epoch)

    def step(self) -> None:
        """Set the learning rates, and momenta, of the next step."""
        if self.last_epoch + 1 > self.total_steps:
            raise ValueError(f"OneCycleLR: step {self.last_epoch + 1} of a cycle of {self.total_steps} steps")
        super().step()

    def get_lr(self) -> list[float]:
        """The rates for step `last_epoch`; sets the momenta."""
        begin = 0.0
        phase = self._schedule_phases[-1]
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"]:
                break
            begin = phase["end_step"]
        else:
            begin = self._schedule_phases[-2]["end_step"]
        part = (self.last_epoch - begin) / ((phase["end_step"] - begin) or 1)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._between(group, phase, "momentum", part))
        return [self._between(group, phase, "lr", part) for group in self.optimizer.param_groups]

    def _between(self, group: dict[str, Any], phase: dict[str, Any], what: str, part: float) -> float:
        start, end = float(group[phase[f"start_{what}"]]), float(group[phase[f"end_{what}"]])
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def _restart(self) -> None:
        self.last_epoch = -1
        self.step()


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        positive_whole("OneCycleLR", "total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
    positive_whole("OneCycleLR", "epochs", epochs)
    positive_whole("OneCycleLR", "steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _phases(total: int, rise: float, three_phase: bool) -> list[dict[str, Any]]:
    """The last step of each phase, and the options of a group between which it goes."""

    def phase(end: float, lr: tuple[str, str], momentum: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": lr[0],
            "end_lr": lr[1],
            "start_momentum": momentum[0],
            "end_momentum": momentum[1],
        }

    up = phase(rise * total - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three_phase:
        return [up, phase(total - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    down = phase(2 * rise * total - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [up, down, phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]


def _has_betas(optimizer: Optimizer) -> bool:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        name = type(optimizer).__name__
        raise ValueError(f"OneCycleLR: {name} has neither momentum nor betas to cycle; give cycle_momentum=False")
    return "betas" in optimizer.defaults
