"""Dicts and sets that are objects of the running graph.

Those that a script changes under a traced condition, or by a traced key; and those, deques and the like that a program
gives to an object from outside.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Any

from weft._objects import new_container
from weft.capture._opaque import Opaque
from weft.capture._values import Scalar

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Region


class Held(Opaque):
    """Stands for a dict or set of the program from where it first changes so."""

    def __init__(self, recorder: Recorder, plain: Any, owner: Region) -> None:
        kind = type(plain)
        with recorder.within(owner):
            make: Any = kind if recorder.untyped or kind is set else new_container
            items = list(plain.items() if kind is dict else plain)
            content = _kept(recorder, plain) if make is new_container else items
            super().__init__(recorder, recorder.create(make, (content,), {}, None, name=kind.__name__.lower()))
        self.plain = plain
        self.owner = owner
        self.before = plain.copy()
        self.version = 0
        self.holding: list[Any] = []

    @property
    def handle(self) -> Held:
        return self

    def anything(self) -> None:
        """Code that is not captured changes it; nothing is known of it anyway."""

    def go_back(self) -> None:
        """Let the program's own object be what it was."""
        self.plain.clear()
        restore = dict.update if isinstance(self.plain, dict) else type(self.plain).__ior__
        (deque.extend if isinstance(self.plain, deque) else restore)(self.plain, self.before)

    def set(self, key: Any, value: Any) -> None:
        self.recorder.lists.hold(value)
        (value,) = self.recorder.state.handed((value,)) if self.recorder.state.used else (value,)
        self.recorder.create(operator.setitem, (self, key, value), {}, None)

    def delete(self, key: Any) -> None:
        self.recorder.create(operator.delitem, (self, key), {}, None)

    def holds(self, value: Any) -> Any:
        """`value in self`."""
        return Scalar(self.recorder, bool, self.recorder.create(operator.contains, (self, value), {}, bool))

    @property
    def filled(self) -> Any:
        """Whether it has an element."""
        return Scalar(self.recorder, bool, self.recorder.create(bool, (self,), {}, bool))


def _kept(recorder: Recorder, plain: Any) -> Any:
    """A copy of a container that an object from outside keeps: what is in it is given away with it."""
    made = plain.copy()
    if isinstance(made, dict):
        dict.update(made, zip(plain, recorder.state.handed(tuple(plain.values())), strict=True))
        return made
    return type(made)(recorder.state.handed(tuple(made)), made.maxlen)
