"""What was found out about a loop, for when it is met once more because the loop around it is captured again.

Types of variables are found out by capturing a body again. If loops inside it began anew each time, the work would
double with every level. So each pass over a body goes along the loops that the pass before met, in the same order.
"""

from __future__ import annotations

from typing import Any


class Remembered:
    """One loop, as the passes over the body around it meet it."""

    def __init__(self, place: Any = None) -> None:
        self.place = place
        self.rebound: set[str] = set()  # variables that the loop makes other arrays of
        self.widened: dict[tuple[str, int], tuple[Any, Any]] = {}  # number in the loop → its type before, and inside
        self.added: set[str] = set()  # items and attributes that are missing where the loop begins, and it adds
        self.first_turn = False  # whether its first turn is written out, and the rest captured
        self.flags = False  # whether it carries for each of those whether it is there
        self._inner: list[Remembered] = []
        self._met = 0

    def begin(self) -> None:
        """A pass over the body begins."""
        self._met = 0

    def next(self, place: Any) -> Remembered:
        """The loop at a place, met next in this pass; where it was another before, that and all after it are let go."""
        if self._met == len(self._inner) or self._inner[self._met].place != place:
            del self._inner[self._met :]
            self._inner.append(Remembered(place))
        self._met += 1
        return self._inner[self._met - 1]
