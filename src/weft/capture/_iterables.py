"""What a captured program loops over: ranges with traced bounds, arrays, and zip, enumerate and reversed of them.

Each knows how many items it has and what its k-th item is, for a traced k too, so that a loop over it can be a loop in
the graph. Iterated by code that is not captured, it gives its items one by one where their number is known.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._generators import Generated
from weft.capture._opaque import Opaque
from weft.capture._raising import sure
from weft.capture._values import Array, Scalar, Traced
from weft.graph._list_arrays import with_rows
from weft.graph._looping import check_zipped, sequence, trip_count
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class Items:
    """Something to loop over."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    @property
    def length(self) -> Any:
        """How many items there are: an int, or a traced one."""
        raise NotImplementedError

    @property
    def traced(self) -> bool:
        """Whether how many there are is traced."""
        return isinstance(self.length, Traced)

    @property
    def untyped(self) -> bool:
        """Whether their number is of unknown type, as all that is traced is in a script."""
        return self.traced and (self.recorder.untyped or isinstance(self.length, Opaque))

    @property
    def uncounted(self) -> bool:
        """Whether only running tells how many there are, and there is no list of them yet."""
        return self.traced and isinstance(self.length, Traced) and not self.recorder.can_decide(self.length)

    def item(self, k: Any) -> Any:
        """The item at a place, counted from 0."""
        raise NotImplementedError

    filled: Any = True
    """Its truth; iterators have no length, and are true."""

    resized: Any = 0
    """How many calls there are that make a list of the running graph longer or shorter."""

    def length_now(self) -> Any:
        """The length within a loop that changes it."""
        return self.length

    def ended(self, stopped: Any) -> None:
        """What happens after a loop over it, which a `break` may have left."""

    def __len__(self) -> int:
        """How many there are, for code that is not captured."""
        length = self.length
        known = length.dim if isinstance(length, Scalar) and length.dim is not None else length
        if isinstance(length, Traced) and (isinstance(known, Opaque) or known.hint is None):
            self.recorder.refuse(
                "a loop over a value of unknown length, in code that is not captured", help="loop over it with `for`"
            )
        return operator.index(length)

    def __getitem__(self, k: Any) -> Any:
        return self.item(k)

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):  # one by one: what the loop writes, later items show
            yield self.item(k)


class RangeItems(Items):
    """`range(start, stop, step)`."""

    @property
    def filled(self) -> Any:
        return self.length != 0

    def __init__(self, recorder: Recorder, start: Any, stop: Any, step: Any = 1) -> None:
        super().__init__(recorder)
        if not isinstance(step, Traced) and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        self.start, self.stop, self.step = start, stop, step

    @property
    def traced(self) -> bool:
        return any(isinstance(bound, Traced) for bound in (self.start, self.stop, self.step))

    @classmethod
    def of(cls, recorder: Recorder, *bounds: Any) -> RangeItems:
        bounds = tuple(_whole(recorder, bound) for bound in bounds)
        return cls(recorder, 0, *bounds) if len(bounds) == 1 else cls(recorder, *bounds)

    @property
    def length(self) -> Any:
        recorder = self.recorder
        bounds = (self.start, self.stop, self.step)
        if not any(isinstance(v, Traced) for v in bounds):
            return len(range(*bounds))
        if any(isinstance(v, Opaque) for v in bounds):
            return recorder.opaque(trip_count, bounds, {})
        if isinstance(self.step, Scalar) and self.step.hint is None:
            node = recorder.create(trip_count, (self.start, self.stop, self.step), {}, int)
            return Scalar(recorder, int, node)
        upward = self.step > 0
        distance = self.stop - self.start if upward else self.start - self.stop
        pace = self.step if upward else -self.step
        with sure(recorder):  # the step is not 0
            steps = distance if not isinstance(pace, Scalar) and pace == 1 else (distance + pace - 1) // pace
        return recorder.python.call(max, (0, steps), {})

    def item(self, k: Any) -> Any:
        return self.start + k * self.step


def _whole(recorder: Recorder, bound: Any) -> Any:
    if isinstance(bound, Scalar) and bound.kind is not int:
        if not isinstance(bound.kind, type) and bound.kind.kind in "iu":
            return recorder.python.call(int, (bound,), {})
        from weft.capture._merge import refuse_mixed

        refuse_mixed(bound)
        raise TypeError(f"'{bound.kind}' object cannot be interpreted as an integer")
    if isinstance(bound, Array):
        return recorder.python.call(int, (bound,), {})
    return bound if isinstance(bound, (Scalar, Opaque)) else operator.index(bound)


class RestItems(Items):
    """The items of something after its first."""

    def __init__(self, items: Items) -> None:
        super().__init__(items.recorder)
        self.items = items

    @property
    def length(self) -> Any:
        return self.items.length - 1

    def item(self, k: Any) -> Any:
        return self.items.item(k + 1)

    def ended(self, stopped: Any) -> None:
        self.items.ended(stopped)


def after_first(items: Items) -> Items:
    """What is left to loop over once the first item has been taken."""
    if isinstance(items, RangeItems):
        return RangeItems(items.recorder, items.start + items.step, items.stop, items.step)
    return RestItems(items)


class ArrayItems(Items):
    """The rows of an array."""

    def __init__(self, recorder: Recorder, array: Array) -> None:
        super().__init__(recorder)
        if not array.spec.shape:
            raise TypeError("iteration over a 0-d array")
        self.array = array

    @property
    def length(self) -> Any:
        return self.array.shape[0]

    def item(self, k: Any) -> Any:
        return self.recorder.getitem(self.array, k)


class OpaqueItems(Items):
    """The items of a value of unknown type, by their places."""

    def __init__(self, recorder: Recorder, value: Opaque) -> None:
        super().__init__(recorder)
        self.value = recorder.opaque(sequence, (value,), {})
        self._length = recorder.opaque(len, (self.value,), {})
        value.spent = value.node.target is iter

    @property
    def length(self) -> Any:
        return self._length

    def item(self, k: Any) -> Any:
        return self.value[k]


class ListItems(Items):
    """The items of a plain sequence."""

    def __init__(self, recorder: Recorder, items: Any) -> None:
        super().__init__(recorder)
        self.items = items

    @property
    def length(self) -> int:
        return len(self.items)

    def item(self, k: Any) -> Any:
        grown = self.recorder.lists.get(self.items)
        if grown is None and isinstance(k, Traced):
            return self.recorder.run_getitem(self.items, k)
        if grown is None:
            return self.items[k]
        if grown.resized:
            self.recorder.refuse(
                "a loop over a list whose length it changes under a traced condition",
                help="count the places: k = 0; while k < len(items): x = items[k]; ...; k += 1",
            )
        return grown.item(k)

    def __iter__(self) -> Iterator[Any]:
        """Item by item, as long as there are some: the loop may add to a list, or take from it."""
        k, count = 0, len(self.items)
        while k < count:
            yield self.item(k)
            k += 1
            if self.recorder.lists.get(self.items) is None:
                count = len(self.items)


class ZipItems(Items):
    """`zip(a, b, ...)`."""

    def __init__(self, recorder: Recorder, parts: list[Items], strict: bool = False) -> None:
        super().__init__(recorder)
        self.parts = parts
        self.lengths = lengths = [part.length for part in parts]
        self.unchecked = strict and any(isinstance(n, Traced) and not recorder.can_decide(n) for n in lengths)
        if strict and not self.unchecked and not all(length == lengths[0] for length in lengths[1:]):
            raise ValueError("zip() arguments differ in length")
        if any(type(length) is int and length == 0 for length in lengths):
            self._length: Any = 0
        else:
            self._length = lengths[0] if len(lengths) == 1 else recorder.python.call(min, tuple(lengths), {})

    @property
    def length(self) -> Any:
        return self._length

    def item(self, k: Any) -> Any:
        return tuple(part.item(k) for part in self.parts)

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.parts, strict=False)  # what is strict was looked at already

    @property
    def resized(self) -> Any:
        return sum(part.resized for part in self.parts)

    def length_now(self) -> Any:
        return self.recorder.python.call(min, ([part.length_now() for part in self.parts],), {})

    def ended(self, stopped: Any) -> None:
        if self.unchecked:
            self.recorder.create(check_zipped, (stopped, *self.lengths), {}, None)
        for part in self.parts:
            part.ended(stopped)


class EnumerateItems(Items):
    """`enumerate(a, start)`."""

    def __init__(self, recorder: Recorder, part: Items, start: Any = 0) -> None:
        super().__init__(recorder)
        self.part, self.start = part, start

    @property
    def length(self) -> Any:
        return self.part.length

    def item(self, k: Any) -> Any:
        return (k + self.start, self.part.item(k))

    def __iter__(self) -> Iterator[Any]:
        return ((k + self.start, item) for k, item in enumerate(self.part))

    @property
    def resized(self) -> Any:
        return self.part.resized

    def length_now(self) -> Any:
        return self.part.length_now()

    def ended(self, stopped: Any) -> None:
        self.part.ended(stopped)


class ReversedItems(Items):
    """`reversed(a)`."""

    def __init__(self, recorder: Recorder, part: Items) -> None:
        super().__init__(recorder)
        self.part = part

    @property
    def length(self) -> Any:
        return self.part.length

    def item(self, k: Any) -> Any:
        return self.part.item(self.part.length - 1 - k)

    def __iter__(self) -> Iterator[Any]:
        return map(self.part.item, reversed(range(len(self))))

    @property
    def resized(self) -> Any:
        return self.part.resized

    def length_now(self) -> Any:
        self.recorder.refuse("a loop over reversed(items) that changes the length of items", help="go over a copy")


class Collected(Items):
    """A list of traced length, as a comprehension gives it: arrays that hold the leaves of its elements.

    `kinds` are the Python types of leaves that are numbers of Python's own, None for others.
    """

    uncounted = False

    def __init__(self, recorder: Recorder, arrays: list[Any], tree: Any, kinds: list[Any], length: Any) -> None:
        super().__init__(recorder)
        self.arrays, self.tree, self.kinds = arrays, tree, kinds
        self._length = length

    @property
    def length(self) -> Any:
        return self._length

    @property
    def filled(self) -> Any:
        return self.length != 0

    def item(self, k: Any) -> Any:
        leaves = [self.recorder.getitem(array, k) for array in self.arrays]
        if isinstance(k, slice):
            length = self.recorder.integer(leaves[0].spec.shape[0]) if leaves else len(range(self._length)[k])
            return Collected(self.recorder, leaves, self.tree, self.kinds, length)
        pairs = zip(leaves, self.kinds, strict=True)
        made = self.tree.unflatten(
            leaf if kind is None else self.recorder.python.call(kind, (leaf,), {}) for leaf, kind in pairs
        )
        return self.recorder.lists.standing(made, "one of the elements of a list")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        if name in ("copy", "count", "index"):
            return getattr(Opaque(self.recorder, self.as_list()), name)
        return self.changed(f".{name}()")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.changed("[...] = …")

    def __iadd__(self, other: Any) -> Any:
        return self.changed("+=")

    def __imul__(self, count: Any) -> Any:
        return self.changed("*=")

    def changed(self, how: str) -> Any:
        """The program changes it: captured again, it is a list that grows."""
        from weft.capture._state_places import Learned

        known = self.recorder.state.known
        if known is not None and not self.recorder.deriving and not known.lists:
            raise Learned({}, lists=True)
        return self.recorder.refuse(
            f"{how} of a list of which only running tells how many elements it has",
            help="append them to an empty list in a loop",
        )

    def array(self) -> Any:
        """All elements in one array."""
        if self.tree != LEAF:
            return self.recorder.numpy.function(np.stack, (self.arrays,), {"axis": 1})
        return self.arrays[0]

    def listed(self, dtype: Any = None) -> Any:
        """`np.array(list)`, or what `np.array(list, dtype)` converts."""
        found = self.array()
        spec = found.spec
        if len(spec.shape) == 1 and (dtype is not None or spec.dtype == np.float64):
            return found  # without elements too
        return self.rows()

    def rows(self) -> Any:
        """All elements in one array, of which there must be one: functions that join arrays take no empty list."""
        found = self.array()
        return self.recorder.wrap(self.recorder.create(with_rows, (found,), {}, found.spec), found.spec)

    def as_list(self) -> Any:
        """The node of the list itself."""
        if self.tree != LEAF:
            rows = [
                self.recorder.create(_listed, (a, k is not None), {}, None)
                for a, k in zip(self.arrays, self.kinds, strict=True)
            ]
            return self.recorder.create(_rows, (self.tree, *rows), {}, None)
        return self.recorder.create(_listed, (self.arrays[0], self.kinds[0] is not None), {}, None)


def _listed(array: Any, python: bool) -> list[Any]:
    """The items of an array in a list, as Python's numbers or NumPy's."""
    return list(array.tolist() if python else array)


def _rows(tree: Any, *columns: list[Any]) -> list[Any]:
    """A list of containers from lists of their leaves."""
    return [tree.unflatten(row) for row in zip(*columns, strict=True)]


def items_of(recorder: Recorder, value: Any) -> Items | None:
    """The items of something that a loop in the graph can go over; None for any other iterable."""
    if isinstance(value, Items):
        return value
    if isinstance(value, Generated):
        value = value.settled()
    grown: Any = recorder.lists.get(value)
    if isinstance(grown, Opaque):
        value = grown
    elif grown is not None:
        return grown  # type: ignore[no-any-return]  # a GrownList
    if isinstance(value, Opaque):
        return OpaqueItems(recorder, value)
    if isinstance(value, Array):
        return ArrayItems(recorder, value)
    if isinstance(value, np.ndarray):
        return ArrayItems(recorder, recorder.constant(value))
    if type(value) is range:
        return RangeItems(recorder, value.start, value.stop, value.step)
    if type(value) in (list, tuple):
        return ListItems(recorder, value)
    return None
