"""Pipelines: steps over any iterable, put together by methods, evaluated one element at a time when iterated.

    >>> steps = pipeline(range(7)).map(lambda x: x * 10).skip(1).batch(4)
    >>> for batch in steps:
    ...     print(batch)
    [10 20 30 40]
    [50 60]

A pipeline can be iterated any number of times and always gives the same elements; `at_epoch(n)` is the same pipeline
with the random steps of another epoch, and `repeat` goes through the epochs. Steps are in `_steps` and `_transforms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.data._datasets import IterableDataset
from weft.data._seeds import Seed

__all__ = ["Pipeline", "pipeline"]


class Pipeline(IterableDataset):
    """A stream of elements with a method for each step. A step is a Pipeline of its own, with a `source` before it."""

    source: Any = None
    _depth = 0

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements as they are in one epoch: what a step defines."""
        raise NotImplementedError(f"{type(self).__name__} has no run")

    def __iter__(self) -> Iterator[Any]:
        return self.run(0)

    def __len__(self) -> int:
        raise TypeError(f"the length of {self!r} is not known")

    def __bool__(self) -> bool:
        return True  # whatever its length, which may not be known

    def __repr__(self) -> str:
        return f"{self.source!r}.{self._call()}"

    def _call(self) -> str:
        return f"{type(self).__name__.lower()}()"

    def at_epoch(self, epoch: int) -> Pipeline:
        """The pipeline with its random steps as they are in this epoch; iterating it gives epoch 0.

        >>> numbers = pipeline(range(10)).shuffle(10, seed=3)
        >>> list(numbers.at_epoch(1)) == list(numbers), list(numbers.at_epoch(0)) == list(numbers)
        (False, True)
        """
        return steps.AtEpoch(self, epoch)

    # Order and number of elements

    def map(self, function: Callable[[Any], Any], *, on: Any = None, threads: int = 0) -> Pipeline:
        """The function's result for each element, or for the part of it that `on` names; in background threads if any.

        >>> list(pipeline([(1, "a"), (2, "b")]).map(str.upper, on=1))
        [(1, 'A'), (2, 'B')]
        """
        return steps.Map(self, function, on=on, threads=threads)

    def filter(self, keep: Callable[[Any], Any]) -> Pipeline:
        """The elements for which the function is true.

        >>> list(pipeline(range(6)).filter(lambda x: x % 2))
        [1, 3, 5]
        """
        return steps.Filter(self, keep)

    def shuffle(self, buffer: int | None = None, seed: Seed = None) -> Pipeline:
        """The elements in random order: each is drawn from a buffer of so many, or of all where it is None.

        >>> sorted(pipeline(range(5)).shuffle(3, seed=0))
        [0, 1, 2, 3, 4]
        """
        return steps.Shuffle(self, buffer, seed)

    def batch(
        self, size: int, drop_last: bool = False, collate: Callable[[Sequence[Any]], Any] | None = None
    ) -> Pipeline:
        """Batches of elements; see `default_collate`. The last may be shorter, unless `drop_last`."""
        return steps.Batch(self, size, drop_last, collate)

    def unbatch(self) -> Pipeline:
        """The elements of batches.

        >>> [int(x) for x in pipeline([1, 2, 3]).batch(2).unbatch()]
        [1, 2, 3]
        """
        return steps.Unbatch(self)

    def repeat(self, times: int | None = None) -> Pipeline:
        """The elements several times over, for ever where `times` is None; each time is an epoch of the random steps.

        >>> list(pipeline("ab").repeat(2))
        ['a', 'b', 'a', 'b']
        """
        return steps.Repeat(self, times)

    def prefetch(self, ahead: int = 2) -> Pipeline:
        """The same elements, made by a background thread, which works so many of them ahead."""
        return steps.Prefetch(self, ahead)

    def take(self, count: int) -> Pipeline:
        """The first elements.

        >>> list(pipeline("abc").repeat().take(5))
        ['a', 'b', 'c', 'a', 'b']
        """
        return steps.Take(self, count)

    def skip(self, count: int) -> Pipeline:
        """What comes after the first elements.

        >>> list(pipeline("abc").skip(1))
        ['b', 'c']
        """
        return steps.Skip(self, count)

    # Arrays; `on` says which part of the element is meant: a key or index, several of them, None for the whole of it

    def tile(self, repeats: int | Sequence[int], *, on: Any = None) -> Pipeline:
        """Each array repeated side by side; see `weft.data.tile`."""
        return transforms.Tile(self, on, repeats=repeats)

    def crop(
        self, size: int | Sequence[int], at: str | Sequence[int] = "centre", seed: Seed = None, *, on: Any = None
    ) -> Pipeline:
        """A part of each image: at its "centre", at (top, left), or anywhere with `at="random"`.

        >>> next(iter(pipeline([np.eye(8)]).crop(3, at="random", seed=1))).shape
        (3, 3)
        """
        return transforms.Crop(self, on, seed=seed, size=size, at=at)

    def pad(self, width: int | Sequence[int], mode: str = "constant", value: float = 0, *, on: Any = None) -> Pipeline:
        """Each image with a border; see `weft.data.pad`."""
        return transforms.Pad(self, on, width=width, mode=mode, value=value)

    def flip(self, axis: int | tuple[int, ...] = -1, p: float = 1.0, seed: Seed = None, *, on: Any = None) -> Pipeline:
        """Each image mirrored with probability `p`."""
        return transforms.Flip(self, on, seed=seed, axis=axis, p=p)

    def normalise(self, mean: Any, std: Any, *, on: Any = None) -> Pipeline:
        """(x - mean) / std of each array; see `weft.data.normalise`."""
        return transforms.Normalise(self, on, mean=mean, std=std)

    def one_hot(self, classes: int, dtype: npt.DTypeLike = np.float32, *, on: Any = None) -> Pipeline:
        """A row with a one in it for each whole number; see `weft.data.one_hot`."""
        return transforms.OneHot(self, on, classes=classes, dtype=dtype)


def pipeline(source: Iterable[Any] | Callable[[], Iterable[Any]]) -> Pipeline:
    """A pipeline over an iterable, a dataset, or what a function gives each time it is called.

    >>> list(pipeline(lambda: iter("ab")).repeat(2))
    ['a', 'b', 'a', 'b']
    """
    return steps.as_pipeline(source)


# Steps are Pipelines, whose methods make steps: one of the two has to come second.
from weft.data import _steps as steps  # noqa: E402  # one of the two has to come second
from weft.data import _transforms as transforms  # noqa: E402  # one of the two has to come second
