"""Dicts and sets that a script changes under a traced condition, or by a traced key: objects of the running graph."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

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
            content = [list(plain.items())] if kind is dict else [list(plain)]
            super().__init__(recorder, recorder.create(kind, tuple(content), {}, None, name=kind.__name__))
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
        self.plain.update(self.before)

    def set(self, key: Any, value: Any) -> None:
        self.recorder.lists.hold(value)
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
