"""Places of Python objects that a captured branch or loop changes: attributes, items of dicts, closure variables.

Such a place is treated as one more variable of every branch and loop it is changed in. Which places these are turns
out while the program is captured: the first change of a new one starts the branch or loop over.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any

from weft.capture._region import Region
from weft.capture._values import Undefined

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class Restart(BaseException):
    """A place has turned out to be changed: what is being captured starts over."""


@contextmanager
def in_expression(recorder: Recorder) -> Iterator[None]:
    """While one side of an expression is captured, which has no variables that it could leave as another side does."""
    recorder.expressions += 1
    try:
        yield
    finally:
        recorder.expressions -= 1


def cells_of(function: Any) -> dict[str, CellType]:
    """The variables of functions around that a function uses."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def depth_of_definer(active: list[Any], name: str) -> int:
    """How deep among the functions that are running the one is whose variable the last of them assigns; 0 if over."""
    function = active[-1]
    for depth in range(len(active) - 1, 0, -1):
        outer = active[depth - 1]
        if outer.__qualname__ == function.__qualname__.rpartition(".<locals>.")[0]:
            if name in outer.__code__.co_cellvars:
                return depth
            function = outer
    return 0


def looks_after(function: Any, name: str) -> bool:
    """Whether the branches and loops of a function treat a variable as their own."""
    return name in function.__code__.co_cellvars or name in _assigned(function.__code__)


@cache
def _assigned(code: CodeType) -> frozenset[str]:
    """The variables of functions around that code assigns."""
    return frozenset(one.argval for one in dis.get_instructions(code) if one.opname == "STORE_DEREF")


def check_nonlocal(recorder: Recorder, name: str) -> None:
    """Look after a variable of another function, assigned where a branch or loop decides on it.

    Statements look after the variables that their own function has or assigns; expressions have no variables.
    """
    active = recorder.active
    if not active or recorder.region is recorder.root:
        return
    depth = depth_of_definer(active, name)
    region: Region | None = recorder.region
    while region is not None and depth:
        if region.depth >= depth and (region.in_expression or not looks_after(active[region.depth - 1], name)):
            break
        region = region.parent
    if region is not None:
        recorder.python_effects += 1
        recorder.places.changed(cells_of(active[-1])[name], "cell_contents", name, depth)


class Place:
    """An attribute, an item of a dict, or the variable of a closure.

    `depth` tells how deep among the functions that are running the one is whose variable it is, 0 where none is. When
    statements of functions around that began, it did not exist.
    """

    def __init__(self, holder: Any, key: Any, label: str, depth: int) -> None:
        self.holder = holder
        self.key = key
        self.label = label
        self.depth = depth
        self.original = self.get()

    def get(self) -> Any:
        """What it holds now."""
        try:
            if isinstance(self.holder, CellType):
                return self.holder.cell_contents
            return self.holder[self.key] if type(self.holder) is dict else getattr(self.holder, self.key)
        except (AttributeError, KeyError, ValueError):
            return Undefined(self.label)

    def set(self, value: Any) -> None:
        """Let it hold another value; none, where it is a value that is none."""
        if isinstance(self.holder, CellType):
            self.holder.cell_contents = value
        elif type(self.holder) is dict:
            if type(value) is Undefined:
                self.holder.pop(self.key, None)
            else:
                self.holder[self.key] = value
        elif type(value) is Undefined:
            if self.key in vars(self.holder):
                delattr(self.holder, self.key)
        else:
            setattr(self.holder, self.key, value)


class Places:
    """The places of one capture that are changed under a traced condition."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.known: dict[tuple[int, Any], Place] = {}

    def __len__(self) -> int:
        return len(self.known)

    def all(self) -> list[Place]:
        return list(self.known.values())

    def changed(self, holder: Any, key: Any, label: str, depth: int = 0) -> None:
        """A place is about to be changed where a traced value decides on it."""
        if (id(holder), key) not in self.known:
            self.known[id(holder), key] = Place(holder, key, label, depth)
            raise Restart

    def go_back(self, count: int) -> None:
        """Give the places found since there were so many of them what they held."""
        for place in self.all()[count:]:
            place.set(place.original)


class Watched:
    """The places that a branch or loop has to look after, and what they held where it began."""

    def __init__(self, recorder: Recorder) -> None:
        self.places = recorder.places
        self.depth, self.in_expression = len(recorder.active), recorder.expressions > 0
        known = recorder.places.all()
        self.count = len(known)
        self.function = recorder.active[-1] if recorder.active else None
        self.own = [place for place in known if self._matters(place)]
        self.start = tuple(place.get() for place in self.own)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(place.label for place in self.own)

    @property
    def outdated(self) -> bool:
        """Whether more places have been found since."""
        return any(map(self._matters, self.places.all()[self.count :]))

    def _matters(self, place: Place) -> bool:
        """Whether it is no variable that the branch or loop looks after anyway, nor one made in it."""
        if place.depth == 0 or self.function is None:
            return True
        if self.in_expression:
            return place.depth <= self.depth
        own = cells_of(self.function).get(place.label) is place.holder and looks_after(self.function, place.label)
        return place.depth < self.depth and not own

    def read(self) -> tuple[Any, ...]:
        return tuple(place.get() for place in self.own)

    def write(self, values: tuple[Any, ...]) -> None:
        for place, value in zip(self.own, values, strict=True):
            place.set(value)

    def go_back(self) -> None:
        """Let every place hold what it held at the beginning."""
        self.places.go_back(self.count)
        self.write(self.start)
