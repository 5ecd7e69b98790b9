"""Schedules of `weft.optim.lr_scheduler` against torch's: rates, momenta and state, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft import optim


def optimizers(name: str = "SGD") -> tuple[Any, Any]:
    """An optimiser of two groups on either side."""
    made = []
    for module, tensor in ((optim, weft.tensor), (torch.optim, torch.tensor)):
        p = [tensor([1.0, 2.0], requires_grad=True), tensor([3.0], requires_grad=True)]
        extra = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        made.append(getattr(module, name)([{"params": [p[0]]}, {"params": [p[1]], "lr": 0.5}], lr=0.1, **extra))
    return made[0], made[1]


class Halving:
    def __init__(self) -> None:
        self.base = 2.0

    def __call__(self, step: int) -> float:
        return self.base**-step


def sequence(m: Any, o: Any) -> Any:
    parts = [m.LinearLR(o, 0.1, total_iters=3), m.CosineAnnealingLR(o, 5), m.ExponentialLR(o, 0.5)]
    return m.SequentialLR(o, parts, [4, 9])


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda m, o: m.LambdaLR(o, lambda e: 0.9**e),
    "lambdas": lambda m, o: m.LambdaLR(o, [lambda e: 1 / (1 + e), Halving()]),
    "multiplicative": lambda m, o: m.MultiplicativeLR(o, lambda e: 0.8 + 0.01 * e),
    "step": lambda m, o: m.StepLR(o, 3),
    "step gamma": lambda m, o: m.StepLR(o, 4, gamma=0.7),
    "milestones": lambda m, o: m.MultiStepLR(o, [2, 7, 7, 11], gamma=0.3),
    "exponential": lambda m, o: m.ExponentialLR(o, 0.9),
    "constant": lambda m, o: m.ConstantLR(o),
    "constant long": lambda m, o: m.ConstantLR(o, 0.25, 9),
    "linear": lambda m, o: m.LinearLR(o),
    "linear down": lambda m, o: m.LinearLR(o, 1.0, 0.0, 10),
    "polynomial": lambda m, o: m.PolynomialLR(o),
    "polynomial 2": lambda m, o: m.PolynomialLR(o, 12, 2.5),
    "cosine": lambda m, o: m.CosineAnnealingLR(o, 10),
    "cosine waves": lambda m, o: m.CosineAnnealingLR(o, 4, eta_min=0.01),
    "cosine of one": lambda m, o: m.CosineAnnealingLR(o, 1),
    "restarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 4),
    "restarts longer": lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, 2, eta_min=0.001),
    "one cycle": lambda m, o: m.OneCycleLR(o, 1.0, 30),
    "one cycle to the end": lambda m, o: m.OneCycleLR(o, 1.0, 29),
    "one cycle linear": lambda m, o: m.OneCycleLR(o, [1.0, 2.0], 30, anneal_strategy="linear", pct_start=0.4),
    "one cycle three": lambda m, o: m.OneCycleLR(
        o,
        0.5,
        epochs=5,
        steps_per_epoch=6,
        three_phase=True,
        base_momentum=[0.7, 0.8],
        div_factor=10,
        final_div_factor=7,
    ),
    "one cycle three linear": lambda m, o: m.OneCycleLR(o, 1, 31, three_phase=True, anneal_strategy="linear"),
    "one cycle alone": lambda m, o: m.OneCycleLR(o, 1.0, 30, cycle_momentum=False),
    "sequence": sequence,
    "sequence restarts": lambda m, o: m.SequentialLR(
        o, [m.ConstantLR(o, 0.1, 4), m.CosineAnnealingWarmRestarts(o, 3, 2), m.LambdaLR(o, lambda e: 0.5**e)], [4, 15]
    ),
    "sequence steps": lambda m, o: m.SequentialLR(
        o, [m.ExponentialLR(o, 0.9), m.StepLR(o, 2), m.MultiStepLR(o, [1, 3]), m.PolynomialLR(o, 4)], [3, 8, 14]
    ),
    "sequence constant": lambda m, o: m.SequentialLR(
        o,
        [m.MultiplicativeLR(o, lambda e: 0.9), m.ConstantLR(o), m.LinearLR(o), m.MultiplicativeLR(o, lambda e: 0.8)],
        [3, 9, 12],
    ),
    "sequence one cycle": lambda m, o: m.SequentialLR(o, [m.LinearLR(o, 0.5), m.OneCycleLR(o, 1.0, 28)], [4]),
    "chain": lambda m, o: m.ChainedScheduler([m.ConstantLR(o, 0.1, 3), m.ExponentialLR(o, 0.9)]),
    "chain cosine": lambda m, o: m.ChainedScheduler([m.LinearLR(o, 0.2), m.CosineAnnealingLR(o, 7), m.StepLR(o, 3)], o),
    "chain of sequence": lambda m, o: m.ChainedScheduler([sequence(m, o), m.ExponentialLR(o, 0.9)]),
}


def group_numbers(optimizer: Any) -> list[dict[str, Any]]:
    names = ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum")
    return [{k: group[k] for k in names if k in group} for group in optimizer.param_groups]


def assert_same_rates(mine: Any, other: Any, ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(mine.get_last_lr(), other.get_last_lr(), rtol=1e-10, atol=1e-15)
    for one, expected in zip(group_numbers(ours), group_numbers(theirs), strict=True):
        assert one.keys() == expected.keys()
        for name, value in one.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-10, atol=1e-15)


def theirs_only(state: Any) -> Any:
    """A state of torch without what has no meaning beyond a call."""
    internal = ("_is_initial", "_get_lr_called_within_step")
    if isinstance(state, dict):
        return {k: theirs_only(v) for k, v in state.items() if k not in internal}
    return [theirs_only(part) for part in state] if isinstance(state, list) else state


@pytest.mark.filterwarnings(
    "ignore:Detected call of `lr_scheduler.step", "ignore:The epoch parameter in `scheduler.step"
)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str, optimizer: str) -> None:
    ours, theirs = optimizers(optimizer)
    mine, other = SCHEDULES[name](optim.lr_scheduler, ours), SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    assert_same_rates(mine, other, ours, theirs)
    for _ in range(28):
        ours.step()
        theirs.step()
        mine.step()
        other.step()
        assert_same_rates(mine, other, ours, theirs)
    assert_same_schedule_state(mine.state_dict(), theirs_only(other.state_dict()))
    # A state of torch goes on as its owner does.
    fresh_optimizer, _ = optimizers(optimizer)
    fresh = SCHEDULES[name](optim.lr_scheduler, fresh_optimizer)
    fresh_optimizer.load_state_dict(theirs.state_dict())
    fresh.load_state_dict(other.state_dict())
    fresh.step()
    other.step()
    assert_same_rates(fresh, other, fresh_optimizer, theirs)


def assert_same_schedule_state(got: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key, value in expected.items():
            # torch does not count the steps of restarting cosines, and counts a restart in a sequence once more.
            if key != "_step_count":
                assert_same_schedule_state(got[key], value)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same_schedule_state(one, other)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-10, abs=1e-15)
    else:
        assert got == expected


RESUMED: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda m, o: m.LambdaLR(o, lambda e: 0.9**e, last_epoch=3),
    "multiplicative": lambda m, o: m.MultiplicativeLR(o, lambda e: 0.9, last_epoch=3),
    "step": lambda m, o: m.StepLR(o, 2, last_epoch=3),
    "milestones": lambda m, o: m.MultiStepLR(o, [2, 4, 4], last_epoch=3),
    "exponential": lambda m, o: m.ExponentialLR(o, 0.9, last_epoch=3),
    "constant": lambda m, o: m.ConstantLR(o, total_iters=4, last_epoch=3),
    "linear": lambda m, o: m.LinearLR(o, last_epoch=3),
    "polynomial": lambda m, o: m.PolynomialLR(o, 6, last_epoch=3),
    "cosine": lambda m, o: m.CosineAnnealingLR(o, 6, last_epoch=3),
    "cosine up": lambda m, o: m.CosineAnnealingLR(o, 3, last_epoch=3),
    "restarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 5, 2, last_epoch=3),
}


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("name", RESUMED)
def test_schedules_taken_up(name: str) -> None:
    ours, theirs = optimizers()
    for group in (*ours.param_groups, *theirs.param_groups):
        group["initial_lr"] = group["lr"] * 1.5
    mine, other = RESUMED[name](optim.lr_scheduler, ours), RESUMED[name](torch.optim.lr_scheduler, theirs)
    for _ in range(5):
        assert_same_rates(mine, other, ours, theirs)
        mine.step()
        other.step()


@pytest.mark.parametrize("mult", [1, 2, 3])
def test_restarts_at_epochs_that_are_fractions(mult: int) -> None:
    ours, theirs = optimizers()
    mine = optim.lr_scheduler.CosineAnnealingWarmRestarts(ours, 2, mult)
    other = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(theirs, 2, mult)
    for epoch in (0.0, 0.5, 1.99, 2.0, 2.25, 3.0, 4.5, 6.5, 13.75, 1.0, 26.5):
        mine.step(epoch)
        other.step(epoch)
        assert_same_rates(mine, other, ours, theirs)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
@pytest.mark.parametrize(
    "kwargs", [{}, {"cooldown": 2, "factor": 0.5}, {"min_lr": [0.03, 0.2]}, {"eps": 0.02}], ids=str
)
def test_plateau(mode: str, threshold_mode: str, kwargs: dict[str, Any]) -> None:
    ours, theirs = optimizers()
    arguments = {"mode": mode, "threshold_mode": threshold_mode, "patience": 2, "threshold": 0.01, **kwargs}
    mine = optim.lr_scheduler.ReduceLROnPlateau(ours, **arguments)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **arguments)
    values = [
        1.0,
        0.9,
        0.899,
        0.95,
        0.9,
        0.7,
        0.71,
        float("nan"),
        0.7,
        0.72,
        0.7,
        0.7,
        0.7,
        0.5,
        *[0.6] * 9,
        -3.0,
        -3.01,
        -2.9,
    ]
    for value in values:
        mine.step(value)
        other.step(value)
        assert_same_rates(mine, other, ours, theirs)
    assert_same_schedule_state(mine.state_dict(), other.state_dict())
