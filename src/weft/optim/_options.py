"""Checks of options that several optimisers share."""

from __future__ import annotations

from numbers import Real
from typing import Any

Group = dict[str, Any]


def not_negative(owner: str, group: Group, *names: str) -> None:
    """Refuse options that are negative, NaN, or no numbers."""
    for name in names:
        value = group[name]
        number(owner, name, value)
        if not value >= 0:
            raise ValueError(f"{owner}: {name} must not be negative, got {value}")


def betas(owner: str, group: Group) -> None:
    """Refuse `betas` that are not two numbers in [0, 1)."""
    pair = group["betas"]
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"{owner}: betas are two numbers, got {pair!r}")
    for i, beta in enumerate(pair):
        number(owner, f"betas[{i}]", beta)
        if not 0 <= beta < 1:
            raise ValueError(f"{owner}: betas[{i}] must be at least 0 and less than 1, got {beta}")


def number(owner: str, name: str, value: Any) -> None:
    """Refuse what is not a real number."""
    if not isinstance(value, Real):
        raise TypeError(f"{owner}: {name} must be a number, got {type(value).__name__}")


def one_way_to_run(owner: str, group: Group) -> None:
    """Accept torch's options for how to run, all of which run alike here; refuse those that would change the result."""
    for name in ("capturable", "differentiable"):
        if group.get(name):
            raise ValueError(f"{owner}: {name}=True is not supported: updates are made in place and not recorded")
