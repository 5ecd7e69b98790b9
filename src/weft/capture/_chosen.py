"""Lists, dicts and sets in a plain container, of which only the running graph knows the one that a program takes.

The container is written out where the graph reads it, so what it holds is new each time: reading it is fine, and a
change would be lost.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from weft.capture._opaque import Opaque
from weft.graph._effects import _WRITING_METHODS

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_CHANGEABLE = (list, dict, set)


class Chosen(Opaque):
    """One of some lists, dicts or sets; it is read only."""

    __slots__ = ("candidates",)

    def __init__(self, recorder: Recorder, node: Any, candidates: list[Any]) -> None:
        super().__init__(recorder, node)
        self.candidates = candidates

    def __getitem__(self, key: Any) -> Any:
        inner = [part for value in self.candidates for part in _parts(value)]
        return chosen(self.recorder, self, key, inner)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse("[...] = ...")

    def __getattr__(self, name: str) -> Any:
        if name in _WRITING_METHODS:
            self._refuse(f".{name}()")
        return super().__getattr__(name)

    def _refuse(self, change: str) -> None:
        self.recorder.refuse(
            f"{change} changes a {type(self.candidates[0]).__name__} in a container that is indexed by a traced value",
            help="use an array with one more dimension, or compare the index with each possible one",
        )


def chosen(recorder: Recorder, container: Any, key: Any, parts: list[Any]) -> Any:
    """`container[key]`, which is one of some parts."""
    candidates = [part for part in parts if type(part) in _CHANGEABLE]
    made = recorder.opaque(operator.getitem, (container, key), {})
    return Chosen(recorder, made.node, candidates) if candidates else made


def _parts(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
