"""Comprehensions and generator expressions of a captured program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft.capture._cells import Restart, Watched
from weft.capture._generators import Generated
from weft.capture._iterables import Collected, Items, items_of
from weft.capture._lists import containers_in
from weft.capture._memory import is_tensor
from weft.capture._merge import describe, is_mixed, type_of, visible_sizes
from weft.capture._once import once
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._region import Buffer
from weft.capture._sharing import may_be, tie
from weft.capture._values import Array, Scalar, Traced, is_traced
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def collect(
    recorder: Recorder,
    kind: str,
    iterable: Any,
    element: Callable[[Any], Any],
    condition: Callable[[Any], Any] | None = None,
) -> Any:
    """`[element(item) for item in iterable if condition(item)]`; of pairs where `kind` is "dict"."""
    if isinstance(iterable, Generated):
        iterable = iterable.settled()
    if kind.startswith("nested"):
        return _nested(recorder, kind.removeprefix("nested "), iterable, element, condition)
    if kind == "first":
        return FirstOf(recorder, iterable, element, condition)
    known = isinstance(iterable, (Array, Items, Opaque)) or recorder.lists.get(iterable) is not None
    items = items_of(recorder, iterable) if known else None
    if items is not None and recorder.branches and items.traced and _in_loop(recorder, kind, items, element, condition):
        if kind == "over":
            recorder._deeper(recorder.bind(run_all), (items.length, items.item, element, condition or always), {})
            return items.ended(False)
        effects = recorder.python_effects, len(recorder.places.log)
        collected = _stacked(recorder, items, element, condition, views=kind != "list")
        if kind == "generator" and effects != (recorder.python_effects, len(recorder.places.log)):
            recorder.refuse(
                "a generator expression over a traced number of elements, which changes variables or objects: "
                "only running tells how many of them are taken",
                help="take all of them: [... for ...]",
            )
        items.ended(False)
        if kind == "generator":
            return once(recorder, collected, element, condition)
        return recorder.call(_BY_HASH[kind], (collected,), {}) if kind in _BY_HASH else collected
    if kind == "generator":
        return _lazily(recorder, iterable if items is None else items, element, condition)
    found: list[Any] = []
    recorder.made(found)
    for item in map(recorder.met, iterable if items is None else items):
        kept = True if condition is None else condition(item)
        if isinstance(kept, Traced):
            open_ = recorder.branches and not recorder.can_decide(kept)
            kept = kept if open_ else recorder.decide(kept)
        if kind == "over":
            if isinstance(kept, Traced):
                recorder._deeper(recorder.bind(run_if), (kept, item, element), {})
            elif kept:
                element(item)
        elif isinstance(kept, Traced) or recorder.lists.get(found) is not None:
            recorder._deeper(recorder.bind(append_if), (kept, item, element, found), {})
        elif kept:
            found.append(element(item))
    recorder.reads.made(tuple(found))
    return _by_hash(recorder, kind, found) if kind in _BY_HASH else found


def _nested(recorder: Recorder, kind: str, iterable: Any, element: Any, condition: Any) -> Any:
    """A comprehension of several `for`s: `element(whole)` is that of the first, and the last adds to the list."""
    whole: list[Any] = []
    recorder.made(whole)
    recorder.lists.filling.append(whole)
    try:
        collect(recorder, "over", iterable, element(whole), condition)
    finally:
        recorder.lists.filling.pop()
    recorder.reads.made(tuple(whole))
    return _by_hash(recorder, kind, whole) if kind in _BY_HASH else whole


class FirstOf:
    """A generator expression that `next`, `any` or `all` is given: a loop which an item ends."""

    def __init__(self, recorder: Recorder, iterable: Any, element: Any, condition: Any) -> None:
        self.recorder = recorder
        self.parts = (iterable, element, condition or always)
        self.native: Iterator[Any] | None = None

    def take(self, *default: Any) -> Any:
        """`next(self, *default)`."""
        recorder = self.recorder
        grown = self.parts[0] if recorder.lists.get(self.parts[0]) is None else recorder.lists.get(self.parts[0])
        items, element, condition = (grown, *self.parts[1:])
        if not recorder.branches:
            return next(self, *default)
        function = first_or_default if default else first_or_raise
        return recorder._deeper(recorder.bind(function), (items, element, condition, *default), {})

    def truth(self, function: Any) -> Any:
        """`any(self)` or `all(self)`."""
        if not self.recorder.branches:
            return function(self)
        return self.recorder._deeper(self.recorder.bind(any_of if function is any else all_of), self.parts, {})

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:  # in the hands of another `next` than Python's
        if self.native is None:
            items = items_of(self.recorder, self.parts[0])
            self.native = _lazily(self.recorder, self.parts[0] if items is None else items, *self.parts[1:])
        return next(self.native)


def _lazily(recorder: Recorder, items: Any, element: Callable[[Any], Any], condition: Any) -> Iterator[Any]:
    """A generator expression: each element where it is asked for."""
    for item in map(recorder.met, items):
        kept = True if condition is None else condition(item)
        if recorder.decide(kept) if isinstance(kept, Traced) else kept:
            value = element(item)
            recorder.reads.made((value,))
            yield value


_BY_HASH: dict[str, Any] = {"dict": dict, "set": set}


def _by_hash(recorder: Recorder, kind: str, found: list[Any]) -> Any:
    """A dict of pairs, or a set; what is traced has no hash before the graph runs."""
    if kind == "dict" and recorder.lists.get(found) is None:
        keys = [key for key, _ in found]
        if any(map(is_traced, keys)) and not any(map(is_opaque, keys)):
            recorder.refuse("a dict by traced values", help="use an array, or np.unique")
    return recorder.call(_BY_HASH[kind], (found,), {})


def _in_loop(recorder: Recorder, kind: str, items: Items, element: Any, condition: Any) -> bool:
    """Whether items of traced number are gone through in the graph; otherwise one by one, as their number is known.

    What several `for`s give, keys and elements of a set are known, then, unless a condition is not.
    """
    length = items.length
    uncounted = isinstance(length, Traced) and not recorder.can_decide(length)
    if kind not in (*_BY_HASH, "over") or items.untyped or uncounted:
        return True
    if (condition is None and kind != "over") or not len(items):
        return False
    unknown = []

    def ask(_: Any) -> Any:
        kept = True if condition is None else condition(items.item(0))
        unknown.append(isinstance(kept, Traced) and not recorder.can_decide(kept))
        if kind == "over" and not isinstance(kept, Traced) and kept:
            grown = recorder.lists.mark()
            element(items.item(0))
            unknown.append(recorder.lists.mark()[0] > grown[0])
        return 0

    filled = recorder.lists.filling[-1] if kind == "over" else []
    before = len(filled)
    try:
        _tried(recorder, ask)
    finally:
        del filled[before:]
    return any(unknown)


def _stacked(
    recorder: Recorder, items: Items, element: Callable[[Any], Any], condition: Callable[[Any], Any] | None, views: bool
) -> Any:
    """The elements where their number is traced: a loop that writes them into arrays, or keeps `views` in a list."""
    length = items.length
    # A list that a condition has chosen is one to change, as those are that grow; derivatives go through arrays.
    changes = condition is not None or (recorder.state.known is not None and recorder.state.known.lists)
    in_arrays = not items.untyped and (recorder.deriving or not changes)
    stack = None
    if in_arrays:
        stack = Stack.of(recorder, length, lambda k: element(items.item(k)), may_fail=True, views=views)
    if stack is None:
        found: list[Any] = []
        recorder.made(found)
        recorder._deeper(recorder.bind(append_all), (length, items.item, element, condition or always, found), {})
        return found
    arrays = stack.arrays
    if condition is None:
        recorder._deeper(recorder.bind(fill_all), (length, items.item, element, stack.write), {})
    else:
        length = recorder._deeper(recorder.bind(fill_some), (length, items.item, element, condition, stack.write), {})
        arrays = [recorder.getitem(array, slice(None, length)) for array in arrays]
    stack.tie()
    return Collected(recorder, arrays, stack.tree, stack.kinds, length)


def numbers_of(recorder: Recorder, array: Array) -> Any:
    """`array.tolist()` where only running tells how many items there are."""
    kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[array.spec.dtype.kind]
    if len(array.spec.shape) > 1 or (recorder.state.known is not None and recorder.state.known.lists):
        return collect(recorder, "list", array, lambda item: item.tolist())
    length = recorder.integer(array.spec.shape[0])
    return Collected(recorder, [recorder.numpy.function(np.copy, (array,), {})], pytree.LEAF, [kind], length)


def _tried(recorder: Recorder, compute: Callable[[Any], Any]) -> tuple[list[Any], Any, list[Any], set[Buffer]]:
    """What `compute(k)` gives, its structure and types, found by capturing it and taking it back; what it writes."""
    while True:
        watched, grown, region = Watched(recorder), recorder.lists.mark(), recorder.enter()
        region.own_cells = frozenset()
        try:
            node = region.placeholder("k")
            node.meta["type"] = int
            made = compute(Scalar(recorder, int, node))
            own, written = frozenset(region.made), set(region.written)
            growing = any(recorder.lists.get(container) is not None for container in containers_in(made))
        except Restart:
            continue
        finally:
            recorder.leave(region)
            recorder.lists.go_back(grown)
            watched.go_back()
        for container in containers_in(made):
            if id(container) not in own:  # each item is that very object
                recorder.lists.hold((container,))
        leaves, tree = pytree.flatten(made)
        if growing:  # only running tells how much is in it
            return [made], tree, [None], written
        return leaves, tree, [type_of(leaf) for leaf in leaves], written


def _may_be_mixed(leaf: Any) -> bool:
    """The same of what a region computed that has ended, where arrays are not read any more."""
    return not leaf.spec.shape if isinstance(leaf, Array) else is_mixed(leaf)


class Stack:
    """Arrays with a row for each of a traced number of results, of whatever structure those have."""

    def __init__(
        self, recorder: Recorder, arrays: list[Any], tree: Any, kinds: list[Any], sources: list[list[Buffer]]
    ) -> None:
        self.recorder = recorder
        self.arrays, self.tree, self.kinds = arrays, tree, kinds
        self.sources = sources  # what the results are views of

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        length: Any,
        compute: Callable[[Any], Any],
        may_fail: bool = False,
        views: bool = False,
    ) -> Any:
        """Arrays for the results of `compute(k)`, whose types are found by capturing one and taking it back.

        None, where that is allowed, if their sizes are known only where each is computed, or if a row cannot stand
        for a result: an array from outside is that very array, what is written meanwhile changes all of them, the tape
        of a Tensor goes through no array, and numbers of several types stay what they are. With `views`, which a row
        would copy, those are kept as well.
        """
        leaves, tree, types, written = _tried(recorder, compute)
        specs = [t.spec for t in types if t is not None and t.spec is not None]
        open_sizes = any(None in visible_sizes(recorder, spec, recorder.region).shape for spec in specs)
        if may_fail and (open_sizes or None in types or any(t.unknown for t in types if t is not None)):
            return None
        if may_fail and not leaves:  # nothing to count empty containers by
            return None
        if may_fail and not recorder.deriving and (is_tensor(leaves) or any(map(_may_be_mixed, leaves))):
            return None
        found = [may_be(leaf.buffer) if isinstance(leaf, Array) else {} for leaf in leaves]
        sources = [[buffer for buffer in buffers if recorder.region.knows(buffer)] for buffers in found]
        if may_fail and any(_is_that(leaf, known, written) for leaf, known in zip(leaves, sources, strict=True)):
            return None
        if views and any(sources) and not recorder.deriving:
            return None
        arrays = [cls._array(recorder, length, leaf, found) for leaf, found in zip(leaves, types, strict=True)]
        kinds = [t.kind if t and t.spec is None and isinstance(t.kind, type) else None for t in types]
        return cls(recorder, arrays, tree, kinds, sources)

    @staticmethod
    def _array(recorder: Recorder, length: Any, leaf: Any, found: Any) -> Any:
        if found is None:
            recorder.refuse(
                f"a traced number of results of which one is {describe(leaf)}",
                help="let it give numbers or arrays of one shape",
            )
        spec = Spec((), np.dtype(found.kind)) if found.spec is None else found.spec
        sizes = visible_sizes(recorder, spec, recorder.region).shape
        if None in sizes:
            recorder.refuse("a traced number of results whose size is known only where each is computed")
        shape = (length, *(recorder.integer(d) for d in sizes))
        made = recorder.numpy.function(np.empty, (shape,), {"dtype": spec.dtype})
        return recorder.array_class(True)(recorder, made.buffer, (), made.spec) if is_tensor(leaf) else made

    def write(self, k: Any, value: Any) -> None:
        """Put a result into its row."""
        for array, leaf in zip(self.arrays, pytree.leaves_of(value), strict=True):
            self.recorder.setitem(array, k, leaf)

    def tie(self) -> None:
        """Note that results which are views were copied: neither they nor what they are views of is written now."""
        for array, sources in zip(self.arrays, self.sources, strict=True):
            if sources:
                tie(array.buffer, sources)


def _is_that(leaf: Any, known: list[Buffer], written: set[Buffer]) -> bool:
    """Whether a result is an array from outside of the loop, or a view of one that the loop writes."""
    return bool(known) and (not leaf.path or not written.isdisjoint(known))


# Captured themselves, as the program's own loops are.


def fill_all(length: Any, item: Any, element: Any, write: Any) -> None:
    """Write every element."""
    for k in range(length):
        write(k, element(item(k)))


def fill_some(length: Any, item: Any, element: Any, condition: Any, write: Any) -> Any:
    """Write the elements of items that meet a condition, and count them."""
    count = 0
    for k in range(length):
        value = item(k)
        if condition(value):
            write(count, element(value))
            count += 1
    return count


def append_all(length: Any, item: Any, element: Any, condition: Any, found: Any) -> None:
    """Collect the elements of items that meet a condition into a list."""
    for k in range(length):
        value = item(k)
        if condition(value):
            found.append(element(value))


def run_all(length: Any, item: Any, element: Any, condition: Any) -> None:
    """Go through the elements of items that meet a condition."""
    for k in range(length):
        value = item(k)
        if condition(value):
            element(value)


def run_if(kept: Any, item: Any, element: Any) -> None:
    """Ask for the element of an item that meets a condition."""
    if kept:
        element(item)


def append_if(kept: Any, item: Any, element: Any, found: Any) -> None:
    """Collect the element of an item that meets a condition."""
    if kept:
        found.append(element(item))


def first_or_default(items: Any, element: Any, condition: Any, default: Any) -> Any:
    """The element of the first item that meets a condition."""
    for item in items:
        if condition(item):
            return element(item)
    return default


def first_or_raise(items: Any, element: Any, condition: Any) -> Any:
    """The same where there is no default."""
    for item in items:
        if condition(item):
            return element(item)
    raise StopIteration


def any_of(items: Any, element: Any, condition: Any) -> bool:
    """Whether the element of an item that meets a condition is true."""
    for item in items:  # noqa: SIM110  # this is what `any` means
        if condition(item) and element(item):
            return True
    return False


def all_of(items: Any, element: Any, condition: Any) -> bool:
    """Whether those of all such items are."""
    for item in items:  # noqa: SIM110  # and this is `all`
        if condition(item) and not element(item):
            return False
    return True


def always(value: Any) -> bool:
    """The condition of a comprehension without one."""
    return True
