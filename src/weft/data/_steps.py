"""The steps of a pipeline that concern elements whatever they are. Each can be used alone over any iterable.

>>> list(Take(Repeat([1, 2]), 3))
[1, 2, 1]
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from weft import pytree
from weft.data._closing import closing
from weft.data._collate import default_collate, default_uncollate
from weft.data._failure import add_note
from weft.data._pipeline import Pipeline
from weft.data._samplers import batch_count, chunks
from weft.data._seeds import Seed, generator, seed_of
from weft.data._threads import ordered_map

__all__ = ["Batch", "Filter", "Map", "Prefetch", "Repeat", "Shuffle", "Skip", "Source", "Take", "Unbatch"]

_PASSES = 2**32  # of an endless repeat, before its epochs would meet those of the next


class Source(Pipeline):
    """The beginning of a pipeline: an iterable, a dataset, or a function that gives an iterable.

    An iterator that can only be gone through once is taken too, and refused the second time.
    """

    def __init__(self, source: Any) -> None:
        if not (callable(source) or hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
            raise TypeError(f"a pipeline needs an iterable, or a function that gives one, got {type(source).__name__}")
        self.source = source
        self._once = hasattr(source, "__next__") and not isinstance(source, type)
        self._used = False

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements of the source."""
        if self._once and self._used:
            raise ValueError(
                "this pipeline is over an iterator, which was gone through already; "
                "give it a function that makes the iterator: pipeline(lambda: ...)"
            )
        self._used = True
        if self._once:
            return (element for element in self.source)  # which is closed in its place: the iterator is not ours
        if isinstance(self.source, type):
            return iter(self.source())
        if hasattr(self.source, "at_epoch"):
            return iter(self.source.at_epoch(epoch))
        if hasattr(self.source, "__iter__"):
            return iter(self.source)
        if hasattr(self.source, "__getitem__"):
            return (self.source[index] for index in range(len(self.source)))
        return iter(self.source())

    def __len__(self) -> int:
        if self._once or isinstance(self.source, type) or not hasattr(self.source, "__len__"):
            return super().__len__()
        return len(self.source)

    def __repr__(self) -> str:
        return f"pipeline({type(self.source).__name__})"


def as_pipeline(source: Any) -> Pipeline:
    """The source itself where it is a pipeline already."""
    return source if isinstance(source, Pipeline) else Source(source)


class _Step(Pipeline):
    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self.source: Pipeline = as_pipeline(source)
        # Two random steps of one seed draw different numbers because they stand in different places.
        self._depth = self.source._depth + 1

    def __len__(self) -> int:
        return len(self.source)


class AtEpoch(_Step):
    """The source, so many epochs later."""

    def __init__(self, source: Any, epoch: int) -> None:
        super().__init__(source)
        self._depth = self.source._depth
        self.epoch = _count("at_epoch", epoch)

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements of the later epoch."""
        return self.source.run(epoch + self.epoch)

    def _call(self) -> str:
        return f"at_epoch({self.epoch})"


class Map(_Step):
    """A function's result for each element, or for a part of it; see `Pipeline.map`."""

    def __init__(self, source: Any, function: Callable[[Any], Any], *, on: Any = None, threads: int = 0) -> None:
        super().__init__(source)
        if not callable(function):
            raise TypeError(f"map: expected a function, got {type(function).__name__}")
        self.function = function
        self.on = on
        self.threads = _count("threads", threads)

    def run(self, epoch: int) -> Iterator[Any]:
        """The results."""
        elements = _numbered(self.source.run(epoch))
        if self.threads:
            return ordered_map(self._apply, elements, self.threads, 2 * self.threads)
        return self._each(elements)

    def _each(self, elements: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        with closing(elements):
            for element in elements:
                yield self._apply(element)

    def _apply(self, numbered: tuple[int, Any]) -> Any:
        number, element = numbered
        try:
            return on_parts(element, self.on, self.function)
        except Exception as error:
            add_note(error, f"weft.data: in {self._call()}, element {number}")
            raise

    def _call(self) -> str:
        return f"map({getattr(self.function, '__name__', type(self.function).__name__)})"


class Filter(_Step):
    """The elements for which a function is true."""

    def __init__(self, source: Any, keep: Callable[[Any], Any]) -> None:
        super().__init__(source)
        self.keep = keep

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements that are kept."""
        with closing(self.source.run(epoch)) as elements:
            for element in elements:
                if self.keep(element):
                    yield element

    def __len__(self) -> int:
        return Pipeline.__len__(self)

    def _call(self) -> str:
        return f"filter({getattr(self.keep, '__name__', type(self.keep).__name__)})"


class Shuffle(_Step):
    """The elements in random order, each drawn from a buffer of `buffer` elements that is filled up again.

    No element comes more than `buffer - 1` places early; with None the buffer holds them all.
    """

    def __init__(self, source: Any, buffer: int | None = None, seed: Seed = None) -> None:
        super().__init__(source)
        self.buffer = None if buffer is None else _count("shuffle", buffer, least=1)
        self.seed = seed_of(seed)

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements in the order of this epoch."""
        draw = generator(self.seed, self._depth, epoch)
        with closing(self.source.run(epoch)) as elements:
            held = list(itertools.islice(elements, self.buffer))
            for element in elements:
                place = int(draw.integers(len(held)))
                out, held[place] = held[place], element
                yield out
        for place in draw.permutation(len(held)).tolist():
            yield held[place]

    def _call(self) -> str:
        return f"shuffle({self.buffer}, seed={self.seed})"


class Batch(_Step):
    """Elements in batches, made by `collate`, which is `default_collate` where it is None."""

    def __init__(
        self,
        source: Any,
        size: int,
        drop_last: bool = False,
        collate: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        super().__init__(source)
        self.size = _count("batch", size, least=1)
        self.drop_last = drop_last
        self.collate = collate or default_collate

    def run(self, epoch: int) -> Iterator[Any]:
        """The batches."""
        with closing(chunks(self.source.run(epoch), self.size, self.drop_last)) as parts:
            for part in parts:
                yield self.collate(part)

    def __len__(self) -> int:
        return batch_count(len(self.source), self.size, self.drop_last)

    def _call(self) -> str:
        return f"batch({self.size}{', drop_last=True' if self.drop_last else ''})"


class Unbatch(_Step):
    """The elements that batches are made of: what `default_collate` joined is taken apart."""

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements."""
        with closing(self.source.run(epoch)) as batches:
            for batch in batches:
                yield from default_uncollate(batch)

    def __len__(self) -> int:
        if not isinstance(self.source, Batch):
            return Pipeline.__len__(self)
        total = len(self.source.source)
        return total - total % self.source.size if self.source.drop_last else total


class Repeat(_Step):
    """The elements `times` times over, for ever where it is None. Each pass is an epoch of its own."""

    def __init__(self, source: Any, times: int | None = None) -> None:
        super().__init__(source)
        self.times = None if times is None else _count("repeat", times)

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements of one epoch of the source after another."""
        first = epoch * (_PASSES if self.times is None else self.times)
        for turn in itertools.count() if self.times is None else range(self.times):
            empty = True
            with closing(self.source.run(first + turn)) as elements:
                for element in elements:
                    empty = False
                    yield element
            if empty and self.times is None:
                return  # nothing for ever would never give control back

    def __len__(self) -> int:
        if self.times is None:
            raise TypeError("a pipeline that repeats for ever has no length")
        return len(self.source) * self.times

    def _call(self) -> str:
        return f"repeat({'' if self.times is None else self.times})"


class Prefetch(_Step):
    """The same elements, made by a background thread that works ahead of the consumer."""

    def __init__(self, source: Any, ahead: int = 2) -> None:
        super().__init__(source)
        self.ahead = _count("prefetch", ahead, least=1)

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements."""
        return ordered_map(_same, self.source.run(epoch), 1, self.ahead)

    def _call(self) -> str:
        return f"prefetch({self.ahead})"


class Take(_Step):
    """The first `count` elements. No more than those are asked of the source."""

    def __init__(self, source: Any, count: int) -> None:
        super().__init__(source)
        self.count = _count("take", count)

    def run(self, epoch: int) -> Iterator[Any]:
        """The first elements."""
        with closing(self.source.run(epoch)) as elements:
            yield from itertools.islice(elements, self.count)

    def __len__(self) -> int:
        if isinstance(self.source, Repeat) and self.source.times is None:
            return self.count if len(self.source.source) else 0
        return min(self.count, len(self.source))

    def _call(self) -> str:
        return f"take({self.count})"


class Skip(_Step):
    """What comes after the first `count` elements."""

    def __init__(self, source: Any, count: int) -> None:
        super().__init__(source)
        self.count = _count("skip", count)

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements after them."""
        with closing(self.source.run(epoch)) as elements:
            yield from itertools.islice(elements, self.count, None)

    def __len__(self) -> int:
        return max(0, len(self.source) - self.count)

    def _call(self) -> str:
        return f"skip({self.count})"


def on_parts(element: Any, on: Any, function: Callable[[Any], Any]) -> Any:
    """The element with the function applied to the part `on` names, to each of several, or to the whole of it."""
    if on is None:
        return function(element)
    keys = on if isinstance(on, (tuple, list)) else [on]
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return dataclasses.replace(element, **{key: function(getattr(element, key)) for key in keys})
    if pytree.is_namedtuple(element) and all(isinstance(key, str) for key in keys):
        return element._replace(**{key: function(getattr(element, key)) for key in keys})
    if not isinstance(element, (dict, list, tuple)):
        raise TypeError(f"on={on!r}: the element is a {type(element).__name__}, which has no such parts")
    changed: Any = dict(element) if isinstance(element, dict) else list(element)
    for key in keys:
        changed[key] = function(changed[key])
    if isinstance(element, tuple):
        return type(element)(*changed) if pytree.is_namedtuple(element) else tuple(changed)
    return changed


def _numbered(elements: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    with closing(elements):
        yield from enumerate(elements)


def _same(element: Any) -> Any:
    return element


def _count(name: str, value: Any, least: int = 0) -> int:
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name}: expected {least} or more, got {number}")
    return number
