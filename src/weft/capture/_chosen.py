"""Values that are one thing or another, as only the running graph knows: they are read, and never written.

`Chosen` is a list, dict or set in a plain container that is indexed by a traced value. The container is written out
where the graph reads it, so what it holds is new each time, and a change would be lost. `Joined` is what two sides of a
branch, or two turns of a loop, leave a variable with where no type describes both: numbers and None, lists of different
lengths, arrays of different dtypes. What it is has other names in the program, which would not see a change.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from weft.capture._opaque import Member, Opaque
from weft.graph._effects import _WRITING_METHODS

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_CHANGEABLE = (list, dict, set)


class Joined(Opaque):
    """A value of one type or another, or a part of one."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.refuse_change("[...] = ...")

    def __getattr__(self, name: str) -> Any:
        if name in _WRITING_METHODS:
            self.refuse_change(f".{name}()")
        found = super().__getattr__(name)
        return JoinedMember(self.recorder, self, name, found.node) if type(found) is Member else found

    def refuse_change(self, change: str) -> Any:
        """Refuse what would change it."""
        self.recorder.refuse(
            f"{change} changes a value of which a branch or a loop decides what it is",
            help="change it on each side of the branch, or change a copy: list(...), np.array(...)",
        )


for _name in [
    name for name in vars(Opaque) if name.startswith("__i") and name not in ("__init__", "__index__", "__iter__")
]:
    setattr(Joined, _name, lambda self, other: self.refuse_change("an operator in place"))


class JoinedMember(Joined):
    """An attribute of such a value; called at once it is a call of a method."""

    __slots__ = ("attribute", "owner")

    def __init__(self, recorder: Recorder, owner: Joined, attribute: str, node: Any) -> None:
        super().__init__(recorder, node)
        self.owner, self.attribute = owner, attribute

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self.recorder.call_method(self.owner, self.attribute, args, kwargs)
        return made if self.attribute in _COPYING else Joined(self.recorder, made._node)


_COPYING = frozenset({"copy", "tolist", "astype", "item"})


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
    recorder.stand_ins.fix(candidates, f"a {type(container).__name__} has been indexed by a traced value")
    return Chosen(recorder, made.node, candidates) if candidates else made


def _parts(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
