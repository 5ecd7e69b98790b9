"""Places of Python objects that a captured branch or loop changes: attributes, items of dicts, closure variables.

Such a place is treated as one more variable of every branch and loop it is changed in. Which places these are turns
out while the program is captured: the first change of a new one starts the branch or loop over.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from contextlib import suppress
from types import CellType
from typing import TYPE_CHECKING, Any

from weft._objects import MISSING, delete_state, dict_of, own_value, set_state
from weft.capture._region import Region
from weft.capture._values import Undefined

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


_MOST = 200  # places of one object: for each, what is being captured starts over


class Restart(BaseException):
    """A place has turned out to be changed: what is being captured starts over."""


def has_places(value: Any) -> bool:
    """Whether the items of a value are places: of a dict, also of a class that stores them as dict does."""
    return isinstance(value, dict) and type(value).__setitem__ in _STORING


_STORING = (dict.__setitem__, OrderedDict.__setitem__)


class Place:
    """An attribute, an item of a dict, or the variable of a closure.

    `home` is the region in which the object or the variable was made, None where that was before the capture.
    """

    def __init__(self, holder: Any, key: Any, label: str, home: Region | None) -> None:
        self.holder = holder
        self.key = key
        self.label = label
        self.home = home
        self.item = has_places(holder)
        self.original = self.get()
        own = dict_of(holder) is None or own_value(holder, key) is not MISSING
        self.inherited = not own and type(self.original) is not Undefined

    def get(self) -> Any:
        """What it holds now."""
        try:
            if isinstance(self.holder, CellType):
                return self.holder.cell_contents
            if self.item:  # asked as a dict is: a defaultdict or a Counter would make an item
                return dict.get(self.holder, self.key, Undefined(self.label))
            return getattr(self.holder, self.key)
        except (AttributeError, ValueError):
            return Undefined(self.label)

    @staticmethod
    def put(cell: CellType, value: Any) -> None:
        """Let a variable hold another value, or none."""
        cell.cell_contents = value

    def set(self, value: Any) -> None:
        """Let it hold another value; none, where it is a value that is none."""
        if isinstance(self.holder, CellType):
            self.put(self.holder, value)
        elif self.item:
            if type(value) is Undefined:
                self.holder.pop(self.key, None)
            else:
                self.holder[self.key] = value
        elif type(value) is Undefined or (self.inherited and value is self.original):
            with suppress(AttributeError):  # it has none of its own
                delete_state(self.holder, self.key)
        else:
            set_state(self.holder, self.key, value)


class Places:
    """The places of one capture that are changed under a traced condition."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.known: dict[tuple[int, Any], Place] = {}
        self.homes: dict[int, tuple[CellType, Region]] = {}  # by id, variables of the program's functions
        self.log: list[tuple[CellType, Any]] = []  # variables of functions around, assigned; what they held before

    def __len__(self) -> int:
        return len(self.known)

    def all(self) -> list[Place]:
        return list(self.known.values())

    def changed(self, holder: Any, key: Any, label: str, home: Region | None) -> None:
        """A place is about to be changed where a traced value decides on it."""
        if (id(holder), key) not in self.known:
            if sum(known[0] == id(holder) for known in self.known) >= _MOST:
                self.recorder.refuse(
                    f"more than {_MOST} items of a {type(holder).__name__} change in a branch or loop, or their keys "
                    "are other objects each time",
                    help="use an array, or keys that are numbers or texts",
                )
            self.known[id(holder), key] = Place(holder, key, label, home)
            raise Restart

    # Variables of functions around

    def makes(self, cells: tuple[CellType, ...]) -> None:
        """A function begins whose variables functions inside of it assign."""
        for cell in cells:
            self.homes[id(cell)] = (cell, self.recorder.region)

    def assigned(self, cell: CellType, name: str) -> None:
        """Look after a variable of a function around that is about to be assigned."""
        self._check(cell, name)
        try:
            self.log.append((cell, cell.cell_contents))
        except ValueError:
            self.log.append((cell, Undefined(name)))

    def foresee(self, cells: Any) -> frozenset[int]:
        """Of a branch or loop that begins, the ids of the variables it looks after, which `cells` could read."""
        if cells is None:
            return frozenset()
        for name, cell in zip(cells.__code__.co_freevars, cells.__closure__, strict=True):
            self._check(cell, name)
        return frozenset(map(id, cells.__closure__))

    def _check(self, cell: CellType, name: str) -> None:
        """See to it that every branch and loop around, inside of which the variable was not made, looks after it."""
        _, home = self.homes.get(id(cell), (None, None))
        region: Region | None = self.recorder.region
        while region is not None and region is not home and region is not self.recorder.root:
            if region.own_cells is not None and id(cell) not in region.own_cells:
                if (id(cell), "cell_contents") not in self.known:
                    self.recorder.python_effects += 1
                self.changed(cell, "cell_contents", name, home)
            region = region.parent

    def undo(self, mark: int) -> None:
        """Take back all assignments but the first ones."""
        for cell, value in reversed(self.log[mark:]):
            Place.put(cell, value)
        del self.log[mark:]

    def go_back(self, count: int) -> None:
        """Give the places found since there were so many of them what they held."""
        for place in self.all()[count:]:
            place.set(place.original)


class Watched:
    """The places that a branch or loop has to look after, and what they held where it began."""

    def __init__(self, recorder: Recorder, own: frozenset[int] = frozenset()) -> None:
        """`own` are the ids of variables that the branch or loop looks after itself."""
        self.places, self.region, self.cells, self.state = recorder.places, recorder.region, own, recorder.state
        known = recorder.places.all()
        self.count = len(known)
        self.own = [place for place in known if self._matters(place)]
        self.start = tuple(place.get() for place in self.own)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called: the same key of a second dict is another place."""
        count: Counter[str] = Counter()
        found = []
        for place in self.own:
            count[place.label] += 1
            found.append(place.label if count[place.label] == 1 else f"{place.label} #{count[place.label]}")
        return tuple(found)

    @property
    def named_places(self) -> frozenset[str]:
        """The names of those that are items of dicts or attributes, and so can be asked for."""
        pairs = zip(self.names, self.own, strict=True)
        return frozenset(name for name, place in pairs if not isinstance(place.holder, CellType))

    @property
    def dicts(self) -> list[Any]:
        """The dicts that they are items of."""
        return list({id(place.holder): place.holder for place in self.own if place.item}.values())

    @property
    def outdated(self) -> bool:
        """Whether more places have been found since."""
        return any(map(self._matters, self.places.all()[self.count :]))

    def _matters(self, place: Place) -> bool:
        """Whether it is no variable that the branch or loop looks after anyway, nor one made in it."""
        return id(place.holder) not in self.cells and (place.home is None or place.home.contains(self.region))

    def read(self) -> tuple[Any, ...]:
        return tuple(place.get() for place in self.own)

    def settle(self) -> None:
        """After the branch or the loop: arrays in objects from outside are the caller's from now on."""
        for place in self.own:
            is_cell = isinstance(place.holder, CellType)
            self.state.settle(place.holder, place.label if is_cell else place.key)

    def write(self, values: tuple[Any, ...]) -> None:
        for place, value in zip(self.own, values, strict=True):
            place.set(value)

    def go_back(self) -> None:
        """Let every place hold what it held at the beginning."""
        self.places.go_back(self.count)
        self.write(self.start)
