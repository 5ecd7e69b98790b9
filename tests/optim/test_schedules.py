"""Schedules against formulas of the step alone, and their state and errors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import nn, optim
from weft.errors import StateError
from weft.optim import lr_scheduler as lrs


def optimizer(lr: float = 0.1, **options: Any) -> optim.Optimizer:
    groups = [{"params": [nn.Parameter([1.0])]}, {"params": [nn.Parameter([2.0])], "lr": 3 * lr}]
    return optim.SGD(groups, lr=lr, momentum=0.9, **options)


def rates(schedule: Any, steps: int) -> list[float]:
    """The rates of the first group, whose tripled value is the other's."""
    found = []
    for _ in range(steps):
        first, second = schedule.get_last_lr()
        assert [g["lr"] for g in schedule.optimizer.param_groups] == [first, second]
        assert second == pytest.approx(3 * first, abs=1e-15)
        found.append(first)
        schedule.step()
    return found


def cosine(part: float, low: float = 0.0) -> float:
    return low + (0.1 - low) * (1 + math.cos(math.pi * part)) / 2


FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[int], float]]] = {
    "lambda": (lambda o: lrs.LambdaLR(o, lambda e: 1 / (e + 1)), lambda n: 0.1 / (n + 1)),
    "multiplicative": (lambda o: lrs.MultiplicativeLR(o, lambda e: 0.5), lambda n: 0.1 * 0.5**n),
    "step": (lambda o: lrs.StepLR(o, 3), lambda n: 0.1 * 0.1 ** (n // 3)),
    "milestones": (lambda o: lrs.MultiStepLR(o, [2, 5, 5], 0.5), lambda n: 0.1 * 0.5 ** ((n >= 2) + 2 * (n >= 5))),
    "exponential": (lambda o: lrs.ExponentialLR(o, 0.9), lambda n: 0.1 * 0.9**n),
    "constant": (lambda o: lrs.ConstantLR(o, 0.5, 4), lambda n: 0.05 if n < 4 else 0.1),
    "linear": (lambda o: lrs.LinearLR(o, 0.2, 1.0, 4), lambda n: 0.1 * (0.2 + 0.8 * min(n, 4) / 4)),
    "polynomial": (lambda o: lrs.PolynomialLR(o, 6, 2.0), lambda n: 0.1 * (1 - min(n, 6) / 6) ** 2),
    "cosine": (lambda o: lrs.CosineAnnealingLR(o, 5), lambda n: cosine(n / 5)),
    "restarts": (lambda o: lrs.CosineAnnealingWarmRestarts(o, 4), lambda n: cosine(n % 4 / 4)),
    "restarts longer": (
        lambda o: lrs.CosineAnnealingWarmRestarts(o, 2, 3),
        lambda n: cosine(n / 2 if n < 2 else (n - 2) / 6 if n < 8 else (n - 8) / 18),
    ),
    "sequence": (
        lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.25, 1.0, 4), lrs.CosineAnnealingLR(o, 12)], [4]),
        lambda n: 0.1 * (0.25 + 0.75 * n / 4) if n < 4 else cosine((n - 4) / 12),
    ),
    "chain": (
        lambda o: lrs.ChainedScheduler([lrs.ConstantLR(o, 0.5, 3), lrs.ExponentialLR(o, 0.9)]),
        lambda n: 0.1 * 0.9**n * (0.5 if n < 3 else 1),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_rates(name: str) -> None:
    build, formula = FORMULAS[name]
    np.testing.assert_allclose(rates(build(optimizer()), 16), [formula(n) for n in range(16)], rtol=1e-12, atol=1e-15)


def test_one_cycle() -> None:
    o = optim.Adam([nn.Parameter([1.0])], betas=(0.8, 0.99))
    schedule = lrs.OneCycleLR(o, 1.0, 11, pct_start=0.5, anneal_strategy="linear", div_factor=10, final_div_factor=10)
    seen, momenta = [], []
    for _ in range(11):
        seen += schedule.get_last_lr()
        momenta.append(o.param_groups[0]["betas"][0])
        schedule.step()
    top = 0.5 * 11 - 1  # the step of the peak, which need not be whole
    up = [0.1 + 0.9 * n / top for n in range(5)]
    down = [1 + (0.01 - 1) * (n - top) / (10 - top) for n in range(5, 11)]
    np.testing.assert_allclose(seen, up + down, rtol=1e-12)
    assert momenta[0] == 0.95 and momenta[-1] == pytest.approx(0.95) and min(momenta) < 0.87
    assert o.param_groups[0]["betas"][1] == 0.99
    before = copy.deepcopy(schedule.state_dict())
    with pytest.raises(ValueError, match="step 12 of a cycle of 11 steps"):
        schedule.step()
    assert schedule.state_dict() == before


def test_plateau() -> None:
    o = optimizer(lr=1.0)
    schedule = lrs.ReduceLROnPlateau(o, factor=0.5, patience=1, min_lr=0.3)
    seen = []
    for value in (5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0):
        schedule.step(value)
        seen.append(schedule.get_last_lr()[0])
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.3]
    assert schedule.best == 4.0


ALL: dict[str, Callable[[Any], Any]] = {
    **{name: build for name, (build, _) in FORMULAS.items()},
    "one cycle": lambda o: lrs.OneCycleLR(o, 1.0, 40),
    "sequence of three": lambda o: lrs.SequentialLR(
        o, [lrs.ConstantLR(o), lrs.OneCycleLR(o, 1.0, 20), lrs.CosineAnnealingWarmRestarts(o, 3)], [3, 11]
    ),
}


@pytest.mark.parametrize("at", [0, 2, 7, 11])
@pytest.mark.parametrize("name", ALL)
def test_a_saved_schedule_goes_on_bit_for_bit(name: str, at: int) -> None:
    o = optimizer()
    schedule = ALL[name](o)
    for _ in range(at):
        schedule.step()
    states = copy.deepcopy((o.state_dict(), schedule.state_dict()))
    expected = []
    for _ in range(9):
        schedule.step()
        expected.append([(g["lr"], g["momentum"]) for g in o.param_groups])
    other = optimizer()
    fresh = ALL[name](other)
    other.load_state_dict(states[0])
    fresh.load_state_dict(states[1])
    got = []
    for _ in range(9):
        fresh.step()
        got.append([(g["lr"], g["momentum"]) for g in other.param_groups])
    assert got == expected
    assert fresh.state_dict() == schedule.state_dict()


def test_functions_with_state_are_saved_with_the_schedule() -> None:
    class Power:
        def __init__(self, base: float) -> None:
            self.base = base

        def __call__(self, step: int) -> float:
            return self.base**step

    saved = lrs.LambdaLR(optimizer(), [Power(0.5), lambda step: 1.0]).state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.5}, None]
    schedule = lrs.LambdaLR(optimizer(), [Power(0.1), lambda step: 1.0])
    schedule.load_state_dict(saved)
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.05, 0.3])
    saved["lr_lambdas"].pop()
    with pytest.raises(StateError, match="1 functions given, 2 expected"):
        schedule.load_state_dict(saved)


def _two_groups() -> dict[str, Any]:
    return lrs.StepLR(optimizer(), 2).state_dict()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "missing: base_lrs"),
        (None, "a dict is expected, got NoneType"),
        ({**_two_groups(), "extra": 1}, "unexpected: extra"),
        ({**_two_groups(), "base_lrs": [0.1]}, "base_lrs: 1 rates given, 2 expected"),
        (lrs.ExponentialLR(optimizer(), 0.5).state_dict(), "missing: step_size"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(state: Any, message: str) -> None:
    schedule = lrs.StepLR(optimizer(), 3)
    before = copy.deepcopy(schedule.state_dict())
    with pytest.raises(StateError) as raised:
        schedule.load_state_dict(state)
    assert message in str(raised.value)
    assert schedule.state_dict() == before


def test_parts_of_a_composed_state_are_checked_before_any_is_loaded() -> None:
    def build() -> Any:
        o = optimizer()
        return lrs.SequentialLR(o, [lrs.ConstantLR(o), lrs.StepLR(o, 2)], [3])

    schedule, state = build(), build().state_dict()
    before = copy.deepcopy(schedule.state_dict())
    state["last_epoch"] = 9
    state["_schedulers"][0]["last_epoch"] = 9
    del state["_schedulers"][1]["gamma"]
    with pytest.raises(StateError, match="does not fit StepLR"):
        schedule.load_state_dict(state)
    state["_schedulers"].pop()
    with pytest.raises(StateError, match="1 schedules given, 2 expected"):
        schedule.load_state_dict(state)
    assert schedule.state_dict() == before


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda o: lrs.StepLR(o, 0), ValueError, "StepLR: step_size is a whole number of at least 1, got 0"),
        (lambda o: lrs.StepLR(None, 1), TypeError, "StepLR: an Optimizer is expected, got NoneType"),
        (lambda o: lrs.LambdaLR(None, abs), TypeError, "LambdaLR: an Optimizer is expected"),
        (lambda o: lrs.OneCycleLR(None, 1.0, 5), TypeError, "OneCycleLR: an Optimizer is expected"),
        (lambda o: lrs.ReduceLROnPlateau(None), TypeError, "ReduceLROnPlateau: an Optimizer is expected"),
        (lambda o: lrs.StepLR(o, 1, last_epoch=2), KeyError, "has no 'initial_lr'"),
        (lambda o: lrs.LambdaLR(o, [abs] * 3), ValueError, "lr_lambda has 3 values for 2 parameter groups"),
        (lambda o: lrs.ConstantLR(o, 0.0), ValueError, "factor is more than 0"),
        (lambda o: lrs.LinearLR(o, total_iters=0), ValueError, "total_iters is a whole number"),
        (lambda o: lrs.PolynomialLR(o, 0), ValueError, "total_iters is a whole number"),
        (lambda o: lrs.CosineAnnealingLR(o, 0), ValueError, "T_max is a whole number"),
        (lambda o: lrs.CosineAnnealingWarmRestarts(o, 2).step(-1), ValueError, "epoch is not negative"),
        (lambda o: lrs.OneCycleLR(o, [1.0], 5), ValueError, "max_lr has 1 values for 2"),
        (lambda o: lrs.OneCycleLR(o, 1.0, epochs=3), ValueError, "give total_steps, or epochs and steps_per_epoch"),
        (lambda o: lrs.ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold_mode is 'rel' or 'abs'"),
        (lambda o: lrs.SequentialLR(o, [lrs.StepLR(o, 1)], [3]), ValueError, "1 schedules need 0 milestones, got 1"),
        (lambda o: lrs.SequentialLR(o, [lrs.StepLR(optimizer(), 1)], []), ValueError, "belongs to another optimiser"),
        (lambda o: lrs.SequentialLR(o, [abs], []), TypeError, "schedule 0 is a builtin_function_or_method"),
        (lambda o: lrs.ChainedScheduler([lrs.ReduceLROnPlateau(o)]), ValueError, "whose step needs a value"),
        (lambda o: lrs.SequentialLR(o, [lrs.ChainedScheduler([lrs.StepLR(o, 1)])], []), ValueError, "start over"),
        (lambda o: lrs.LRScheduler(o), NotImplementedError, "does not define get_lr()"),
    ],
)
def test_refused(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        build(optimizer())
    assert message in str(raised.value)


def test_a_group_that_comes_after_the_schedule() -> None:
    o = optimizer()
    schedules = [lrs.StepLR(o, 1), lrs.CosineAnnealingWarmRestarts(o, 2)]
    plateau = lrs.ReduceLROnPlateau(o)
    o.add_param_group({"params": [nn.Parameter([1.0])]})
    for schedule in schedules:
        with pytest.raises(ValueError, match="made for 2 parameter groups, the optimiser has 3"):
            schedule.step()
    with pytest.raises(ValueError, match="made for 2 parameter groups"):
        plateau.step(1.0)
