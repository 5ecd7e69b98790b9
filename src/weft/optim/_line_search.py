"""A step length along a line that satisfies the strong Wolfe conditions (Nocedal and Wright, chapter 3).

First the step grows until an interval must hold a good one; then the interval is narrowed. Both take the minimum of the
cubic through two points and their slopes as the next guess. It yields where it looks next, and is sent what is there.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
Found = TypeVar("Found")
Looking = Generator[float, tuple[float, Array], Found]
"""Yields step lengths, and is sent the loss and the gradient there."""

ENOUGH = 1e-4  # of the decrease the slope at the start promises
FLAT = 0.9  # of the slope at the start is small enough
TRIES = 25


class Point(NamedTuple):
    """What is known of one step length."""

    t: float
    loss: float
    gradient: Array
    slope: float  # along the line


def strong_wolfe(t: float, direction: Array, start: Point, tolerance: float) -> Looking[Point]:
    """The point to go to. `tolerance` is the shortest interval worth halving."""
    line = _Line(direction, start)
    low, high, found = yield from line.bracket(t)
    if not found:
        low = yield from line.narrow(low, high, tolerance)
    return low


def look(t: float, direction: Array) -> Looking[Point]:
    """The point at one step length."""
    loss, gradient = yield t
    return Point(t, loss, gradient, float(gradient @ direction))


class _Line:
    def __init__(self, direction: Array, start: Point) -> None:
        self._direction = direction
        self._start = start
        self._tries = 0

    def bracket(self, t: float) -> Looking[tuple[Point, Point, bool]]:
        """Two points with a good step between them, the better one first; or a good one, twice, and True."""
        before, here = self._start, (yield from look(t, self._direction))
        while self._tries < TRIES:
            worse = self._tries > 1 and here.loss >= before.loss
            if self._too_high(here) or worse:
                return _by_loss(before, here)
            if self._flat(here):
                return here, here, True
            if here.slope >= 0:
                return _by_loss(before, here)
            t = cubic_minimum(before, here, here.t + 0.01 * (here.t - before.t), here.t * 10)
            before, here = here, (yield from look(t, self._direction))
            self._tries += 1
        return _by_loss(self._start, here)

    def narrow(self, low: Point, high: Point, tolerance: float) -> Looking[Point]:
        """The best point of an interval, after narrowing it to a good step or as far as it can be."""
        reach = float(np.abs(self._direction).max())
        near_an_end = False
        while self._tries < TRIES and abs(high.t - low.t) * reach >= tolerance:
            left, right = sorted((low.t, high.t))
            t, near_an_end = _inside(cubic_minimum(low, high, left, right), left, right, near_an_end)
            here = yield from look(t, self._direction)
            self._tries += 1
            if self._too_high(here) or here.loss >= low.loss:
                low, high, _ = _by_loss(low, here)
            elif self._flat(here):
                return here
            else:
                low, high = here, low if here.slope * (high.t - low.t) >= 0 else high
        return low

    def _too_high(self, here: Point) -> bool:
        return here.loss > self._start.loss + ENOUGH * here.t * self._start.slope

    def _flat(self, here: Point) -> bool:
        return abs(here.slope) <= -FLAT * self._start.slope


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes is least, kept in [low, high]; the middle if nowhere."""
    if a.t > b.t:
        a, b = b, a
    width = b.t - a.t
    bend = a.slope + b.slope - 3 * (b.loss - a.loss) / width
    square = bend * bend - a.slope * b.slope
    root = math.sqrt(square) if square >= 0 else math.nan
    spread = b.slope - a.slope + 2 * root
    if not abs(spread) > 0:  # no minimum, or no numbers
        return (low + high) / 2
    return min(max(b.t - width * ((b.slope + root - bend) / spread), low), high)


def _by_loss(before: Point, here: Point) -> tuple[Point, Point, bool]:
    return (before, here, False) if before.loss <= here.loss else (here, before, False)


def _inside(t: float, left: float, right: float, near_an_end: bool) -> tuple[float, bool]:
    """Keep away from the ends of the interval the second time in a row that a guess is close to one."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if not (near_an_end or t >= right or t <= left):
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
