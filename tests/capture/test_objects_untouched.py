"""Capturing a call, and looking whether a graph fits, calls nothing of the program's objects by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

CALLS: list[str] = []


def noted(name: str, result: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        CALLS.append(name)
        return result

    return method


class Gain:
    """An object that notes each call of the methods that Python calls by itself."""

    factor = 2.0

    def __call__(self, x):
        return x * self.factor

    def shifted(self, x):
        return x + self.factor


for _name, _result in (
    *(("repr", "Gain"), ("str", "Gain"), ("eq", True), ("ne", False), ("hash", 1), ("bool", True), ("len", 3)),
    *(("contains", True), ("index", 1), ("int", 1), ("float", 1.0), ("format", "Gain")),
):
    setattr(Gain, f"__{_name}__", noted(_name, _result))

OUTSIDE = Gain()


def unused(x, gain):
    return x * 2


def called(x, gain):
    return gain(x) + gain.shifted(x) * OUTSIDE.factor


def compared(x, gain):
    return x if gain is None or gain is OUTSIDE else x + 1


def kept_in_containers(x, gain):
    found = [gain]
    found.append(gain)
    named = {"gain": gain, "all": found}
    for i in range(20):
        last = named["gain"]
        x = x + i
    return x * last.factor, named


def on_both_sides(x, gain):
    if x.sum() > 0:
        chosen, x = gain, x + 1
    else:
        chosen = gain
    return chosen.shifted(x), chosen


def by_default(x, gain, other=OUTSIDE):
    return list(map(gain, [x, other.shifted(x)]))


def derived(x, gain):
    return weft.grad(lambda y: (y * gain.factor).sum())(x)


PROGRAMS = [unused, called, compared, kept_in_containers, on_both_sides, by_default, derived]


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_objects_are_left_alone(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    CALLS.clear()
    gain = Gain()
    for x, given in ((np.ones(3), gain), (np.ones(4), gain), (np.ones(3), Gain()), (np.ones(3), gain)):
        compiled(x, given)
    assert compiled.cache_info().currsize > 0
    assert CALLS == []


class Asking:
    """An object that notes each attribute that it is asked for and does not have."""

    def __getattr__(self, name: str) -> Any:
        CALLS.append(name)
        raise AttributeError(name)


ASKING = Asking()


class Named(dict):  # type: ignore[type-arg]  # of anything
    def __init__(self, x: Any) -> None:
        super().__init__(x=x, kind="asking" if ASKING is not None else "none")


def test_objects_that_a_constructor_names_are_left_alone() -> None:
    compiled = weft.compile(lambda x: Named(x)["x"] * 2)
    CALLS.clear()
    np.testing.assert_array_equal(compiled(np.ones(3)), 2 * np.ones(3))
    assert not compiled._ran_plainly
    assert CALLS == []


@dataclasses.dataclass
class Scaled:
    """It compares by value, so it has no hash."""

    weight: float

    def __call__(self, x):
        return x * self.weight


def test_an_object_without_a_hash_is_called() -> None:
    compiled = weft.compile(called_twice)
    np.testing.assert_array_equal(compiled(np.ones(3), Scaled(2.0)), [4.0, 4.0, 4.0])
    assert compiled.cache_info().misses == 1


def called_twice(x, layer):
    return layer(layer(x))


class Loud(float):
    """A number whose class would rather tell its own story."""

    def __repr__(self):
        CALLS.append("repr")
        return "loud"

    def __eq__(self, other):
        CALLS.append("eq")
        return True

    __hash__ = float.__hash__


SET = {"loud": Loud(2.0)}


def set_outside(x):
    return x * SET["loud"] if "loud" in SET else x


def test_data_is_compared_as_python_has_it() -> None:
    compiled = weft.compile(set_outside)
    CALLS.clear()
    for value, expected in ((2.0, 2.0), (2.0, 2.0), (3.0, 3.0)):
        SET["loud"] = Loud(value)
        np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, expected))
    assert CALLS == []


class Swizzled:
    """What is not assigned is made of letters: `v.yx`."""

    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __getattr__(self, name):
        return tuple((self.x, self.y)["xy".index(letter)] for letter in name)


def swizzled(x):
    v = Swizzled(x, x * 2)
    a, b = v.yx
    return a - b + v.x


def test_attributes_are_asked_for_only_where_the_program_does() -> None:
    for captured in (weft.compile(swizzled), weft.script(swizzled), weft.trace(swizzled, 1.5)):
        assert captured(1.5) == 3.0  # an attribute that is not there yet would be asked for without end
    assert weft.grad(swizzled)(1.5) == 2.0
