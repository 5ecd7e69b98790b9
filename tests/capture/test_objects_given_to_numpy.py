"""Objects of the program's own in arrays: NumPy calls their operators, where nothing is captured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

SEEN: list[Any] = []


class Noted:
    """A number that takes down what is done with it."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __lt__(self, other: Noted) -> bool:
        SEEN.append("<")
        return self.value < other.value

    def __add__(self, other: Noted) -> Noted:
        note("+")
        return Noted(self.value + other.value)


class Quiet(Noted):
    """One that does not."""

    def __lt__(self, other: Noted) -> bool:
        return self.value < other.value

    def __add__(self, other: Noted) -> Quiet:
        return Quiet(self.value + other.value)


def note(what: str) -> None:
    SEEN.append(what)


def assigned(kind: type) -> Any:
    made = np.empty(2, dtype=object)
    made[0], made[1] = kind(2.0), kind(1.0)
    return made


OUTSIDE = np.array([Noted(2.0), Noted(1.0)])
GIVEN = {
    "sort": lambda kind: np.sort([kind(2.0), kind(1.0)]),
    "sum": lambda kind: np.array([kind(2.0), kind(1.0)]).sum(),
    "add": lambda kind: np.array([kind(2.0)], object) + np.array([kind(1.0)], object),
    "full": lambda kind: np.full(2, kind(1.0)).sum(),
    "assigned": lambda kind: assigned(kind).sum(),
    "nested": lambda kind: np.array([[kind(2.0)], [kind(1.0)]]).sum(axis=0),
}


def conditioned(given: Any, kind: type) -> Any:
    def program(x: float) -> float:
        if x > 0:
            given(kind)
        return x * 2

    return program


@pytest.mark.parametrize("name", GIVEN)
def test_objects_whose_operators_change_something_are_not_given_to_numpy(name: str) -> None:
    SEEN.clear()
    with pytest.raises(CaptureError, match=r"NumPy is given objects of Noted, whose __(add|lt)__ changes something"):
        weft.compile(conditioned(GIVEN[name], Noted))(1.0)
    assert not SEEN


@pytest.mark.parametrize("name", GIVEN)
def test_objects_whose_operators_change_nothing_may_be(name: str) -> None:
    compiled = weft.compile(conditioned(GIVEN[name], Quiet))
    assert [compiled(x) for x in (1.0, -1.0)] == [2.0, -2.0]
    assert not compiled._ran_plainly


def test_an_array_of_them_from_outside_is_refused() -> None:
    with pytest.raises(CaptureError, match="NumPy is given objects of Noted"):
        weft.compile(lambda x: x * OUTSIDE.sum().value)(1.0)
