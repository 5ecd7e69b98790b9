"""What capturing may cost: a capture that grows out of proportion ends, and its calls run as plain Python.

The plain call is right whatever is captured. So it takes over where a capture records far more than the program has
lines, where a function needs graph after graph, and where a graph turns out to be many times slower than the function.
That is told once, and remembered for calls of the same kind.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor

_BASE = 2_000  # operations that any capture may record
_PER_LINE = 100  # and more for each line of the functions captured
_GRAPHS = 64  # how many graphs a function may be captured as
_IN_VAIN = 16  # of those that fix numbers, how many one after the other before a call comes back to one
_COSTLY = 3  # fewer are enough, where their captures took long:
_COST = 0.5  # seconds, and
_TIMES_PLAIN = 100.0  # times as long as so many plain calls
_SLOWER = 3.0  # a graph that takes so many times as long as the plain call is given up
_SHORT = 100e-6  # seconds: calls that are shorter, or slower by less, are not compared
_TRIALS = 3  # calls of a graph that are timed
_PATIENCE = 10.0  # what was given up is tried again after so many times the time that it took
_LENIENT = 3  # exceptions of the program's own that are met before calls run plainly at once
_ALONE = 6  # graphs that are each for one object or function, before another one is waited for to come again
_ALIKE_TO = 10  # so many containers within each other tell one kind of call from another
_DATA = (str, bytes, int, float, complex, type(None), np.generic, np.ndarray, Tensor)


class OverBudget(BaseException):
    """Ends a capture that has grown out of proportion; no handler of the program is to see it."""


class Allowance:
    """How much one capture may still record; `factor` is what the user allows, None for any amount."""

    __slots__ = ("factor", "left", "lines", "spent")

    def __init__(self, factor: float | None) -> None:
        self.factor = factor
        self.lines = self.spent = 0
        self.left = float("inf") if factor is None else _BASE * factor

    def add(self, function: Any) -> None:
        """A function of the program is captured too."""
        if self.factor is not None:
            lines = len({line for *_, line in function.__code__.co_lines()})
            self.lines += lines
            self.left += lines * _PER_LINE * self.factor

    def spend(self) -> None:
        """An operation is recorded, a step written out, or a function called."""
        self.spent += 1
        self.left -= 1
        if self.left < 0:
            more = "weft.compile(f, budget=10) allows ten times as many, budget=None any number"
            raise OverBudget(f"{self.told()}\n  help: {more}")

    def told(self) -> str:
        """What the capture has come to."""
        return (
            f"capturing has recorded {self.spent:,} operations for {self.lines} lines of code, as calls within "
            "calls, loops written out or loops captured again make more and more of them"
        )


def take_long(in_vain: list[Any], factor: float | None, plain: float) -> bool:
    """Whether captures that were made in vain took far longer than plain calls of `plain` seconds."""
    if factor is None or len(in_vain) < _COSTLY * factor:
        return False
    cost: float = sum(e.cost for e in in_vain)
    return cost > factor * max(_COST, _TIMES_PLAIN * plain * len(in_vain))


def too_many(graphs: int, in_vain: list[Any], factor: float | None, plain: float | None) -> str | None:
    """Why a function with so many graphs is not captured again; None if it may.

    `in_vain` are those for numbers that did not come again, `plain` is how long a plain call takes, if that is known.
    """
    few = factor is None or (graphs < _GRAPHS * factor and len(in_vain) < _IN_VAIN * factor)
    if factor is None or (few and (plain is None or not take_long(in_vain, factor, plain))):
        return None
    which = "" if graphs >= _GRAPHS * factor else ", the last of them for numbers that did not come again"
    return (
        f"it was captured {graphs} times already, each for other arguments{which}: why_recompiled() tells what "
        "differs\n  help: weft.compile(f, budget=10) allows ten times as many graphs, budget=None any number"
    )


class GivenUp:
    """A kind of call that runs as plain Python, and what was spent on it."""

    def __init__(self) -> None:
        self.why = ""
        self.failures = 0
        self.cost = 0.0  # seconds that captures took which came to nothing
        self.plain = 0.0  # seconds of plain calls since

    def failed(self, why: str, cost: float) -> None:
        """Another capture came to nothing."""
        self.why, self.plain = why, 0.0
        self.failures += 1
        self.cost += cost

    @property
    def holds(self) -> bool:
        """Whether a call runs plainly without another attempt."""
        return bool(self.failures) and self.plain < self.cost * _PATIENCE

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A plain call."""
        began = time.perf_counter()
        try:
            result = function(*args, **kwargs)
        except Exception:
            if self.failures < _LENIENT:  # an exception of the program's own: the next call may have none
                self.plain = float("inf")
            raise
        finally:
            self.plain += time.perf_counter() - began
        return result


class Newcomers:
    """Objects and functions that are given once and never again are not worth a graph each.

    Where several graphs were made for one such argument each, the next is captured for when it comes a second time.
    """

    why = (
        "an object or a function is given for the first time, and graphs were made for several that did not come "
        "again: the next is captured when it is given a second time"
    )

    def __init__(self) -> None:
        self.graphs = 0  # those that are each for one object or function
        self._seen: dict[int, Any] = {}

    def any_in(self, values: tuple[Any, ...]) -> bool:
        """Whether a call is given one for the first time."""
        if self.graphs < _ALONE:
            return False
        found = False
        for value in pytree.leaves_of(values):
            known = None if isinstance(value, _DATA) else self._seen.get(id(value), _nothing)
            if known is not None and known() is not value:
                found = True
                self._remember(value)
        return found

    def _remember(self, value: Any) -> None:
        key = id(value)
        with suppress(TypeError):  # of some classes there is no weak reference: their objects are always new
            self._seen[key] = weakref.ref(value, lambda _: self._seen.pop(key, None))


def _nothing() -> None:
    """What is left of an object that is gone, or was never there."""


def kind_of_call(values: tuple[Any, ...]) -> Any:
    """What calls that are captured alike have in common: types, dtypes and ranks, texts and flags."""
    return tuple([_kind(value) for value in values])


def _kind(value: Any, within: int = 0) -> Any:
    kind = type(value)
    if isinstance(value, (np.ndarray, Tensor)):
        return kind, value.dtype, value.ndim
    if kind is str or kind is bool:
        return value
    if (kind is tuple or kind is list or kind is dict) and within < _ALIKE_TO:  # a container may hold itself
        first = next(iter(value.values() if kind is dict else value), None)
        return kind, len(value), _kind(first, within + 1)
    return kind


class Trial:
    """The first calls of a graph: where they are many times slower than the function itself, `over` is told why.

    It stands in for the run of an entry until it is over.
    """

    def __init__(self, run: Callable[..., Any], miss: Any, fits: Any, plain: Any, over: Any) -> None:
        self.run, self.miss, self.fits, self.plain, self.over = run, miss, fits, plain, over
        self.times: list[float] = []

    def __call__(self, *values: Any) -> Any:
        if len(self.times) == _TRIALS and self.fits(values):
            return self._compared(values)
        began = time.perf_counter()
        result = self.run(*values)
        if result is not self.miss:
            self.times.append(time.perf_counter() - began)
            if self.times[-1] < _SHORT:
                self.over(None, values)
        return result

    def _compared(self, values: tuple[Any, ...]) -> Any:
        best, began = min(self.times), time.perf_counter()
        try:
            return self.plain(values)
        finally:
            taken = max(time.perf_counter() - began, 1e-9)
            slow = best > taken * _SLOWER and best > taken + _SHORT
            why = (
                f"the graph takes {best / taken:.0f} times as long as the plain call\n"
                "  help: weft.compile(f, budget=None) runs it all the same"
            )
            self.over(why if slow else None, values)
