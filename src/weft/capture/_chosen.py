"""Values that are one thing or another, as only the running graph knows: they are read, and never written.

`Joined` is a list, dict or other object in a plain container that is indexed by a traced value: the container is
written out where the graph reads it, so what it holds is new each time, and a change would be lost. `candidates` are
then those it is one of. It is also what two sides of a branch, or two turns of a loop, leave a variable with where no
type describes both: numbers and None, lists of different lengths, arrays of different dtypes. What it is has other
names in the program, which would not see a change; `candidates` is None.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft.capture._opaque import Member, Opaque
from weft.capture._plain import COMPARISONS
from weft.capture._values import Traced, is_traced
from weft.graph._effects import _WRITING_METHODS, _marked
from weft.graph._looping import sequence, unpacked
from weft.ops._op import op_of

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_BUILTIN = (list, dict, set, deque, tuple, frozenset)


class Joined(Opaque):
    """A value of one type or another, one of some objects, or a part of one; it is read only."""

    __slots__ = ("candidates",)

    def __init__(self, recorder: Recorder, node: Any, candidates: list[Any] | None = None) -> None:
        super().__init__(recorder, node)
        self.candidates = candidates

    def __getitem__(self, key: Any) -> Any:
        node = self.recorder.create(operator.getitem, (self, key), {}, None)
        if self.candidates is None:
            return Joined(self.recorder, node)
        return read_only(self.recorder, node, [p for c in self.candidates for p in _items(self.recorder, c, key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.refuse_change("[...] = ...")

    def __getattr__(self, name: str) -> Any:
        if name in _WRITING_METHODS or self._may_change(name):
            self.refuse_change(f".{name}()")
        found = super().__getattr__(name)
        fixed = self.candidates is not None and not _changeable(self.recorder, _inside(self.candidates))
        return found if fixed or type(found) is not Member else JoinedMember(self.recorder, self, name, found.node)

    def _may_change(self, name: str) -> bool:
        """Whether it is a method of a class of the program's, which may change its object."""
        return any(
            callable(getattr(type(value), name, None)) and not hasattr(_builtin(value), name)
            for value in self.candidates or ()
        )

    def assign(self, name: str, value: Any) -> None:
        self.refuse_change(f".{name} = ...")

    def delete(self, name: str) -> None:
        self.refuse_change(f"del .{name}")

    def refuse_change(self, change: str) -> Any:
        """Refuse what would change it."""
        if self.candidates is None:
            self.recorder.refuse(
                f"{change} changes a value of which a branch or a loop decides what it is",
                help="change it on each side of the branch, or change a copy: list(...), np.array(...)",
            )
        self.recorder.refuse(
            f"{change} changes a {type(self.candidates[0]).__name__} in a container that is indexed by a traced value",
            help="use an array with one more dimension, or compare the index with each possible one",
        )


for _name in [
    name for name in vars(Opaque) if name.startswith("__i") and name not in ("__init__", "__index__", "__iter__")
]:
    setattr(Joined, _name, lambda self, other: self.refuse_change("an operator in place"))


class JoinedMember(Joined):
    """An attribute of such a value; called at once it is a call of a method."""

    __slots__ = ("attribute", "owner")

    def __init__(self, recorder: Recorder, owner: Joined, attribute: str, node: Any) -> None:
        parts = None if owner.candidates is None else _changeable(recorder, _inside(owner.candidates))
        super().__init__(recorder, node, parts)
        self.owner, self.attribute = owner, attribute

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        node = self.recorder.create_method(self.owner, self.attribute, args, kwargs)
        owners = self.owner.candidates
        if self.candidates is not None and owners is not None:
            found = _around(self.candidates)
            if self.attribute == "get" and isinstance(owners[0], dict):
                found = [*(part for one in owners for part in _items(self.recorder, one, args[0])), *args[1:]]
            return read_only(self.recorder, node, found)
        return (Opaque if self.attribute in _COPYING else Joined)(self.recorder, node)


_COPYING = frozenset({"copy", "tolist", "astype", "item"})
_FRESH = frozenset({len, bool, int, float, complex, str, repr, round, any, all, isinstance, print, hash})
_FRESH |= {operator.contains, operator.truth, operator.not_, *COMPARISONS.values()}
_OF_PARTS = frozenset({sum, sorted, list, tuple, set, frozenset, iter, next, reversed, enumerate, sequence, unpacked})
"""Functions whose results are made of parts of what they are given; `min` and `max` of one argument are, too."""


def chosen(recorder: Recorder, container: Any, key: Any, parts: list[Any], function: Any = None, *more: Any) -> Any:
    """`container[key]`, which is one of some parts, or what another function gives by a key."""
    node = recorder.opaque(function or operator.getitem, (container, key, *more), {}).node
    written = list(_inner(recorder, parts))
    recorder.stand_ins.fix(written, f"a {type(container).__name__} has been indexed by a traced value")
    return read_only(recorder, node, _items(recorder, parts, key))


def read_only(recorder: Recorder, node: Any, found: list[Any]) -> Any:
    """What may be one of some values: those that can change, or hold what can, are not to be changed by it."""
    candidates = _changeable(recorder, found)
    return Joined(recorder, node, candidates) if candidates else Opaque(recorder, node)


def given_joined(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that is given what may be read only: a view of it, an element, or an item is read only, too."""
    written = (*(args[:1] if function in _marked else ()), kwargs.get("out"))
    for value in written:
        if isinstance(value, Joined):
            value.refuse_change(getattr(function, "__name__", "a function") + "()")
    computed = op_of(function) is not None and function is not operator.getitem
    node = recorder.create(function, args, kwargs, None)
    if computed or isinstance(function, np.ufunc) or function in _marked or function in _FRESH:
        return Opaque(recorder, node)
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, Joined)]
    known = [value.candidates for value in given if value.candidates is not None]
    if len(known) < len(given) or not (function in _OF_PARTS or (function in (min, max) and len(args) == 1)):
        return Joined(recorder, node)
    inside = [part for candidates in known for part in _changeable(recorder, _inside(candidates))]
    return read_only(recorder, node, _around(inside))


def _changeable(recorder: Recorder, values: Iterable[Any]) -> list[Any]:
    """Those of some values that the graph writes out and that can change, or hold what can."""
    return [value for value in values if _is_changeable(recorder, value)]


def _is_changeable(recorder: Recorder, value: Any) -> bool:
    if isinstance(value, (Traced, np.ndarray, np.generic)):
        return False
    if recorder.lists.get(value) is not None or id(value) in recorder.state.owners:
        return False  # an object of the running graph, which is the same under all its names
    opened = pytree.parts_of(value)
    if opened is None:
        return isinstance(value, (set, bytearray))
    return not isinstance(value, tuple) or bool(_changeable(recorder, opened[0]))


def _inner(recorder: Recorder, values: Iterable[Any]) -> Iterable[Any]:
    """The objects that can change among values and inside of tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from _inner(recorder, value)
        elif _is_changeable(recorder, value):
            yield value


def _inside(candidates: list[Any]) -> list[Any]:
    return [part for value in candidates for part in _parts(value)]


def _around(parts: list[Any]) -> list[Any]:
    """What a function may make of parts: each of them, and containers of them."""
    return [*parts, parts, [(part,) for part in parts]] if parts else []


def _parts(value: Any) -> list[Any]:
    opened = pytree.parts_of(value)
    return [] if opened is None else list(opened[0])


def _items(recorder: Recorder, value: Any, key: Any) -> list[Any]:
    """What `value[key]` may be."""
    if hasattr(value, "__missing__") and not isinstance(value, Counter):
        refuse_missing(recorder, value)
    if not is_traced(key):
        try:
            return [value[key]]
        except (LookupError, TypeError):  # another of the candidates has it, or the run raises
            return []
    parts = _parts(value)
    if not isinstance(key, slice):
        return parts
    return [parts] if _changeable(recorder, parts) else []


def refuse_missing(recorder: Recorder, mapping: Any) -> None:
    """Refuse a dict that may be changed by being asked for an item."""
    if not isinstance(mapping, defaultdict) or mapping.default_factory is not None:
        recorder.refuse(
            f"a {type(mapping).__name__} asked for an item that only running tells: what is not there is made",
            help="use a dict, and add what is not there: if key not in d: d[key] = ...",
        )


def _builtin(value: Any) -> type:
    return next((kind for kind in _BUILTIN if isinstance(value, kind)), type(None))
