"""Dataclasses that finish themselves in a `__post_init__`: what it does is captured, under conditions and in loops."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np
import pytest
from alike import SAME, fates

import weft

X = np.array([1.0, 3.0, 2.0])


@dataclass(frozen=True)
class Weight:
    grams: float

    def __post_init__(self):
        if self.grams < 0:
            raise ValueError("negative")


@dataclass
class Span:
    low: float
    high: float = 1.5

    def __post_init__(self):
        if self.low > self.high:
            self.low, self.high = self.high, self.low


class Named(Span):
    name = "span"


@dataclass
class Scaled:
    value: float
    kept: list = field(default_factory=list)
    scale: InitVar[float] = 2.0
    count: int = field(init=False)

    def __post_init__(self, scale):
        self.kept.append(self.value * scale)
        self.count = len(self.kept)


@dataclass
class Shifted(Scaled):
    shift: float = 1.0

    def __post_init__(self, scale):
        super().__post_init__(scale)
        self.shift = self.shift + self.value


@dataclass
class Halved:
    value: float

    @property
    def half(self):
        return self.value / 2

    @half.setter
    def half(self, half):
        self.value = half * 2

    def __post_init__(self):
        self.half = self.half + 1


@dataclass(frozen=True)
class Keyed:
    value: float
    key: float = field(init=False, default=0.0)

    def __post_init__(self):
        object.__setattr__(self, "key", abs(self.value))


def weights(x):
    return [Weight(value).grams for value in x]


def spans(x):
    low = 0.0
    for value in x:
        low = low + Span(value).low * Named(value, 2.5).high
    return low


def scaled(x):
    first = Scaled(x[0])
    return first, first.count, [Scaled(value, [1.0], scale=3.0).kept for value in x], Shifted(x[1], scale=x[2])


def with_properties(x):
    return [Halved(value).half * Keyed(value).key for value in x]


@pytest.mark.parametrize("program", [weights, spans, scaled, with_properties])
def test_what_a_post_init_does_is_captured(program):
    assert fates(program, (X,), (X * 2,), (X[::-1],)) == [SAME, SAME]


def test_what_a_post_init_raises_is_raised():
    assert fates(weights, (X,), (-X,))[0] == SAME


def test_derivatives_go_through_a_post_init():
    assert weft.grad(lambda x: spans(x))(X).tolist() == [2.5, 1.5, 0.0]


def missing(x):
    return Weight()


def unknown(x):
    return Span(x[0], width=1.0)


@pytest.mark.parametrize("program", [missing, unknown])
def test_arguments_that_do_not_fit_raise_what_they_raise(program):
    with pytest.raises(TypeError) as expected:
        program(X)
    with pytest.raises(TypeError) as raised:
        weft.compile(program)(X)
    assert str(raised.value) == str(expected.value)
