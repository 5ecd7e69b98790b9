"""The tape of a loop: what its backward needs, pushed by each turn and taken off in reverse by the backward's turns.

A tape is a chain of tuples, `(rest, value, …)`, so that pushing neither copies nor changes anything: `record` makes the
next link, `operator.getitem` reads one, and the empty tape is `()`. A branch leaves a tape of one link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.graph._code import MAKES_TUPLE

EMPTY: tuple[()] = ()


@dataclass(frozen=True)
class Tape:
    """The type of a tape: the types of the values that each link holds.

    The gradient of a tape is a tape, too, which holds gradients of some of those values: `places` says of which.
    """

    types: tuple[Any, ...]
    places: tuple[int, ...] | None = None

    def at(self, place: int) -> int | None:
        """Where a link holds the gradient of the value at a place of the tape that this is the gradient of."""
        assert self.places is not None
        return self.places.index(place) + 1 if place in self.places else None


@dataclass(frozen=True)
class Tapes:
    """The type of a tape that one of several branches has left: the type of each."""

    types: tuple[Tape, ...]


def record(tape: Any, *values: Any) -> tuple[Any, ...]:
    """A tape with one more link, which holds these values.

    >>> tape = record(record((), 1.5), 2.5)
    >>> tape[1], tape[0][1]
    (2.5, 1.5)
    """
    return (tape, *values)


record.__module__ = "weft"
setattr(record, MAKES_TUPLE, True)
