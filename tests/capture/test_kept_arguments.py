"""An argument that an object from outside keeps is that argument itself, whatever it is a container of."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import weft


@dataclasses.dataclass
class Axis:
    origin: float
    direction: int


@dataclasses.dataclass(frozen=True)
class Frozen:
    origin: float
    inner: Axis


class Holder:
    """Holds what a program gives it."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.named: dict[str, Any] = {}
        self.there = 1.0
        self.kept: Any = None


def in_an_attribute(holder: Any, given: Any) -> None:
    holder.kept = given


def in_new_containers(holder: Any, given: Any) -> None:
    holder.kept = [given, {"inside": (given,)}]


def in_its_list(holder: Any, given: Any) -> None:
    holder.items.append(given)


def in_its_dict(holder: Any, given: Any) -> None:
    holder.named["given"] = given


def under_a_condition(holder: Any, given: Any) -> Any:
    if holder.there > 0:
        holder.kept = given
    return holder.there


def in_an_object_made_inside(holder: Any, given: Any) -> None:
    made = Holder()
    made.kept = given
    holder.kept = made


def kept_and_given_back(holder: Any, given: Any) -> Any:
    holder.kept = given
    return given


PROGRAMS = [
    in_an_attribute,
    in_new_containers,
    in_its_list,
    in_its_dict,
    under_a_condition,
    in_an_object_made_inside,
    kept_and_given_back,
]
GIVEN: list[Callable[[], Any]] = [
    lambda: Axis(0.5, 1),
    lambda: Frozen(0.5, Axis(1.5, -1)),
    lambda: [0.5, 1],
    lambda: {"origin": 0.5},
    lambda: collections.OrderedDict(origin=0.5),
    lambda: collections.deque([0.5]),
    lambda: {0.5},
    lambda: [Axis(0.5, 1), [2.5]],
]


def found(value: Any, given: Any) -> Any:
    """What a value holds, with a mark in the places of the argument itself."""
    if value is given:
        return "the argument"
    if isinstance(value, Holder):
        return {name: found(part, given) for name, part in vars(value).items()}
    if type(value) in (list, tuple):
        return type(value)(found(part, given) for part in value)
    if type(value) is dict:
        return {key: found(part, given) for key, part in value.items()}
    return repr(value)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("make", GIVEN, ids=lambda make: type(make()).__name__)
def test_kept(program: Callable[[Any, Any], Any], make: Callable[[], Any]) -> None:
    compiled = weft.compile(program)
    for _ in range(2):
        seen = []
        for function in (program, compiled):
            holder, given = Holder(), make()
            result = function(holder, given)
            seen.append((found(holder, given), found(result, given), repr(given)))
        assert seen[0] == seen[1]
    assert "traced" not in repr(seen)
