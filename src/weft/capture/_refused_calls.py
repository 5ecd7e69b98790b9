"""Calls that cannot be captured: their error is kept with all that the attempts depended on, and is raised again.

What an attempt depends on are the guards of what it had captured until then. Where another call meets those of every
attempt, each of them would come to the same end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._budget import kind_of_call
from weft.capture._guards import Guards
from weft.errors import TraceError

_MOST = 16  # refusals that one function remembers
_NUMBERS = (int, float, complex)


class Refusals:
    """The calls of a function that were refused, the latest last."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, list[Any], TraceError]] = []

    def remember(self, values: tuple[Any, ...], error: TraceError, met: list[Exception]) -> None:
        """Keep what the attempts at a call have `met`, unless it is not known of each what it depended on."""
        attempts: list[Any] = [getattr(each, "attempt", None) for each in met]
        for each in met:
            each.__dict__.pop("attempt", None)  # with all that was captured
        if any(attempt is None for attempt in attempts):
            return
        try:
            for attempt in attempts:
                attempt.graph.output(None)
            checks = [Guards(attempt).checks for attempt in attempts]
        except Exception:  # what stands in half a graph need not have a value that a guard could ask for
            return
        self._known = [*self._known[1 - _MOST :], (_likeness(values), checks, error)]

    def raise_for(self, values: tuple[Any, ...]) -> None:
        """Raise the error of an earlier call that this one is like."""
        like = _likeness(values) if self._known else None
        for known, checks, error in reversed(self._known):
            if like == known and all(each.failing(values) is None for each in checks):
                made = type(error)(error.message, where=error.where, help=error.help)
                made.__dict__.update(error.__dict__)
                raise made


def _likeness(values: tuple[Any, ...]) -> Any:
    """What a call must have in common with another for its error to say the same: sizes and numbers, too."""
    return len(pytree._registered), kind_of_call(values), [_amount(value) for value in values]


def _amount(value: Any) -> Any:
    if isinstance(value, (np.ndarray, Tensor)):
        return value.shape
    return value if isinstance(value, _NUMBERS) else None


__all__ = ["Refusals"]
