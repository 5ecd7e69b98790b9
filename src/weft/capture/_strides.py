"""How arrays lie in memory, by the numbers: NumPy's rules for the strides of views and copies, without any memory.

A layout is a shape, strides in bytes and the size of an element. Sizes may be symbolic. What NumPy would find out by
comparing them is asked of an `Ask`, which answers, or raises `Unknown`.

    >>> turned = lying((2, 3), 8).permuted((1, 0))
    >>> turned.strides, turned.reshaped((6,), Ask()), lying((2, 3), 8).reshaped((6,), Ask())
    ((8, 24), None, Layout(shape=(6,), strides=(8,), itemsize=8))
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any, NamedTuple

_RELATIONS = {"==": operator.eq, "<": operator.lt}


class Unknown(Exception):
    """How an array lies cannot be told."""


class Ask:
    """Comparisons of sizes and strides: plain numbers here; `prove` answers for symbolic ones."""

    def equal(self, a: Any, b: Any) -> bool:
        return self._compare("==", a, b)

    def less(self, a: Any, b: Any) -> bool:
        return self._compare("<", a, b)

    def surely_equal(self, a: Any, b: Any) -> bool:
        """Whether two sizes are the same whatever they are."""
        return bool(self.prove("==", a, b))

    def prove(self, relation: str, a: Any, b: Any) -> bool | None:
        """The answer that holds whatever the sizes are; None where there is none."""
        return bool(_RELATIONS[relation](a, b))

    def decide(self, relation: str, a: Any, b: Any) -> bool | None:
        """An answer where there is no proof; None where it is not to be had."""
        return None

    def _compare(self, relation: str, a: Any, b: Any) -> bool:
        answer = self.prove(relation, a, b)
        answer = self.decide(relation, a, b) if answer is None else answer
        if answer is None:
            raise Unknown
        return answer


class Layout(NamedTuple):
    """A shape, the strides in bytes, and the size of an element."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    itemsize: int

    def permuted(self, axes: Any) -> Layout:
        """With its axes in another order."""
        return Layout(tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes), self.itemsize)

    def part(self, keys: tuple[Any, ...], shape: tuple[Any, ...]) -> Layout:
        """What a basic key selects, whose shape is known: numbers drop an axis, slices have their step multiplied."""
        given = sum(key is not None and key is not ... for key in keys)
        strides: list[Any] = []
        axis = 0
        for key in keys if any(key is ... for key in keys) else (*keys, ...):
            if key is None:
                strides.append(0)
            elif key is ...:
                strides += self.strides[axis : axis + len(self.shape) - given]
                axis += len(self.shape) - given
            else:
                if isinstance(key, slice):
                    strides.append(self.strides[axis] * (1 if key.step is None else key.step))
                axis += 1
        return Layout(shape, tuple(strides), self.itemsize)

    def spread(self, shape: tuple[Any, ...], ask: Ask) -> Layout:
        """Broadcast to a shape: axes that are repeated have the stride 0."""
        added = len(shape) - len(self.shape)
        pairs = zip(self.shape, shape[added:], self.strides, strict=True)
        kept = [stride if ask.equal(old, new) else 0 for old, new, stride in pairs]
        return Layout(shape, (*(0,) * added, *kept), self.itemsize)

    def diagonal(self, first: int, second: int, shape: tuple[Any, ...]) -> Layout:
        """Two axes become one, the last, that steps along both."""
        count = len(self.shape)
        pair = (first % count, second % count)
        strides = [stride for axis, stride in enumerate(self.strides) if axis not in pair]
        return Layout(shape, (*strides, self.strides[pair[0]] + self.strides[pair[1]]), self.itemsize)

    def in_order(self, order: str, ask: Ask) -> bool:
        """Whether the elements lie one after the other, by rows ("C") or by columns ("F"); those of none do."""
        step: Any = self.itemsize
        axes = list(zip(self.shape, self.strides, strict=True))
        for dim, stride in axes if order == "F" else axes[::-1]:
            if not ask.surely_equal(stride, step):
                if ask.equal(dim, 1):
                    continue
                if not ask.equal(stride, step):
                    return any(ask.surely_equal(size, 0) for size in self.shape)
            step = step * dim
        return True

    def reshaped(self, shape: tuple[Any, ...], ask: Ask) -> Layout | None:
        """With another shape, where that is possible without a copy.

        Runs of old axes are matched with runs of new ones of as many elements. The old ones of each run must lie as
        one axis would.
        """
        if self.in_order("C", ask):
            return lying(shape, self.itemsize)
        old = [(dim, stride) for dim, stride in zip(self.shape, self.strides, strict=True) if not ask.equal(dim, 1)]
        strides: list[Any] = []
        start, place = 0, 0
        try:
            while start < len(old) and place < len(shape):
                end, first = start + 1, place
                many, wanted, place = old[start][0], shape[place], place + 1
                while not ask.equal(many, wanted):
                    if ask.less(wanted, many):
                        wanted, place = wanted * shape[place], place + 1
                    else:
                        many, end = many * old[end][0], end + 1
                if not all(ask.equal(outer[1], inner[0] * inner[1]) for outer, inner in pairwise(old[start:end])):
                    return None
                strides += _strides(shape[first:place], old[end - 1][1])
                start = end
        except IndexError:  # of sizes that do not fit together as far as is known
            raise Unknown from None
        rest = len(shape) - len(strides)
        return Layout(shape, (*strides, *[strides[-1] if strides else self.itemsize] * rest), self.itemsize)

    def copied(self, order: str, itemsize: int, ask: Ask) -> Layout:
        """How NumPy lays out a copy: `order` is "C", "F", "A" or "K", which keeps the order of the axes."""
        if order in ("A", "K"):
            if len(self.shape) < 2 or self.in_order("C", ask):
                order = "C"
            elif self.in_order("F", ask):
                order = "F"
            elif order == "K":
                return self._kept(itemsize, ask)
        return lying(self.shape, itemsize, "F" if order == "F" else "C")

    def _kept(self, itemsize: int, ask: Ask) -> Layout:
        sizes = [-stride if ask.less(stride, 0) else stride for stride in self.strides]
        axes: list[int] = []
        for axis in range(len(sizes)):  # by the size of their strides, the largest first; equal ones as they stand
            place = len(axes)
            while place and ask.less(sizes[axes[place - 1]], sizes[axis]):
                place -= 1
            axes.insert(place, axis)
        ordered = lying(tuple(self.shape[axis] for axis in axes), itemsize)
        return ordered.permuted([axes.index(axis) for axis in range(len(axes))])


def lying(shape: tuple[Any, ...], itemsize: int, order: str = "C") -> Layout:
    """An array whose elements lie one after the other, by rows or by columns."""
    strides = _strides(shape, itemsize) if order == "C" else _strides(shape[::-1], itemsize)[::-1]
    return Layout(tuple(shape), tuple(strides), itemsize)


def _strides(shape: tuple[Any, ...], step: Any) -> list[Any]:
    strides = []
    for dim in reversed(shape):
        strides.append(step)
        step = step * (max(dim, 1) if type(dim) is int else dim)
    return strides[::-1]
