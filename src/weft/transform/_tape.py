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

    The gradient of a tape is a tape, too, with the gradients of those values in their places. `places` are those that
    have one; in the others there is None.
    """

    types: tuple[Any, ...]
    places: tuple[int, ...] | None = None

    def at(self, place: int) -> int | None:
        """Where a link holds the gradient of the value at a place of the tape that this is the gradient of."""
        assert self.places is not None
        return place if place in self.places else None


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


def touch(value: Any, token: Any) -> Any:
    """The value itself; its derivative with respect to the token is 1: see `weft.transform._presence`."""
    return value


def add_tapes(one: Any, other: Any) -> Any:
    """The sum of two gradients of a tape, link by link; an empty one stands for nothing.

    >>> add_tapes(((), 1.0, None), ((), 2.0, 5.0))
    ((), 3.0, 5.0)
    """
    links = []
    while one and other:
        links.append((one[1:], other[1:]))
        one, other = one[0], other[0]
    made = one or other
    for a, b in reversed(links):
        made = (made, *map(_added, a, b))
    return made


def _added(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return add_tapes(a, b) if isinstance(a, tuple) else a + b


def sum_type(one: Any, other: Any) -> Any:
    """The type of the sum of two gradients of a tape."""
    if isinstance(one, Tapes):
        return Tapes(tuple(map(sum_type, one.types, other.types)))
    if not one.types or not other.types:
        return one if one.types else other
    types = tuple(
        sum_type(a, b) if isinstance(a, (Tape, Tapes)) and b is not None else b if a is None else a
        for a, b in zip(one.types, other.types, strict=True)
    )
    return Tape(types, tuple(sorted({*one.places, *other.places})))


add_tapes.__module__ = record.__module__ = "weft"
setattr(record, MAKES_TUPLE, True)
