"""In which order samples are taken.

A sampler is iterated once an epoch; `set_epoch` says which epoch comes next, and each iteration moves to the one after.

    >>> order = RandomSampler(range(5), seed=0)
    >>> first, second = list(order), list(order)
    >>> order.set_epoch(0)
    >>> first == list(order), first == second, sorted(first) == sorted(second)
    (True, False, True)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from weft.data._closing import closing
from weft.data._seeds import Seed, generator, seed_of

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """An order of samples: iterating gives indices."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is; an order that is always the same has no use for it."""


class SequentialSampler(Sampler):
    """Every sample, from first to last.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.dataset)))


class RandomSampler(Sampler):
    """Every sample once, in an order drawn from the seed and the epoch.

    With `replacement` any sample may come any number of times; `num_samples` draws fewer or more than the dataset has.
    """

    def __init__(
        self, dataset: Any, seed: Seed = None, *, replacement: bool = False, num_samples: int | None = None
    ) -> None:
        if num_samples is not None and num_samples < 0:
            raise ValueError(f"RandomSampler: num_samples is not negative, got {num_samples}")
        self.dataset = dataset
        self.seed = seed_of(seed)
        self.replacement = replacement
        self.epoch = 0
        self._num_samples = num_samples

    def __len__(self) -> int:
        return len(self.dataset) if self._num_samples is None else self._num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        draw = generator(self.seed, self.epoch)
        self.epoch += 1
        total, wanted = len(self.dataset), len(self)
        if wanted and not total:
            raise ValueError(f"RandomSampler: {wanted} samples of an empty dataset")
        if self.replacement:
            return iter(draw.integers(total, size=wanted).tolist() if wanted else [])
        order: list[int] = []
        while len(order) < wanted:
            order += draw.permutation(total).tolist()
        return iter(order[:wanted])


class BatchSampler(Sampler):
    """The indices of another sampler in lists of `batch_size`; the last may be shorter, unless `drop_last`.

    >>> list(BatchSampler(range(5), 2)), list(BatchSampler(range(5), 2, drop_last=True))
    ([[0, 1], [2, 3], [4]], [[0, 1], [2, 3]])
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is at least 1, got {batch_size}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        return batch_count(len(self.sampler), self.batch_size, self.drop_last)  # type: ignore[arg-type]

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the sampler's next iteration is."""
        set_epoch(self.sampler, epoch)

    def __iter__(self) -> Iterator[list[int]]:
        # Begun at once, not at the first batch: by then the sampler may have been told of another epoch.
        return chunks(iter(self.sampler), self.batch_size, self.drop_last)


def set_epoch(sampler: Any, epoch: int) -> None:
    """Tell a sampler the epoch, if it wants to know: any iterable of indices is a sampler."""
    tell = getattr(sampler, "set_epoch", None)
    if tell is not None:
        tell(epoch)


def batch_count(total: int, batch_size: int, drop_last: bool) -> int:
    """How many batches `total` samples make."""
    return total // batch_size if drop_last else -(-total // batch_size)


def chunks(items: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Lists of `size` items."""
    with closing(items):
        while len(chunk := list(itertools.islice(items, size))) == size:
            yield chunk
        if chunk and not drop_last:
            yield chunk
