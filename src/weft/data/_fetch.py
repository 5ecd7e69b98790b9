"""How a batch is made, wherever that happens: in the consumer's thread, in a background thread, in a worker process.

A batch is made inside `weft.random.isolated`, seeded by the loader's seed, the epoch and the batch's number. So random
augmentation that draws from `weft.random` gives the same batches whatever makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft import random
from weft.data._closing import close
from weft.data._collate import default_collate
from weft.data._datasets import Dataset
from weft.data._samplers import chunks
from weft.data._seeds import derived

__all__ = ["Fetcher", "Stream"]

_OF_BATCH, _OF_STREAM, _OF_WORKER = range(3)


class Fetcher:
    """Makes batches: of a dataset's samples at given indices, or of samples read from a stream."""

    def __init__(
        self,
        dataset: Any,
        collate: Callable[[Any], Any] | None,
        seed: int,
        *,
        streaming: bool,
        batch_size: int | None,
        drop_last: bool,
        batched: bool,
    ) -> None:
        self.dataset = dataset
        self.collate = collate
        self.seed = seed
        self.streaming = streaming
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.batched = batched

    def __call__(self, epoch: int, number: int, task: Any) -> Any:
        """Batch `number`: `task` is its indices, or its samples where they come from a stream."""
        with random.isolated(derived(self.seed, _OF_BATCH, epoch, number)):
            if not self.batched:
                sample = task if self.streaming else self.dataset[task]
                return sample if self.collate is None else self.collate(sample)
            if not self.streaming and self.collate is None and isinstance(self.dataset, Dataset):
                batch = self.dataset.batch(task)
                if batch is not None:
                    return batch
            samples = task if self.streaming else [self.dataset[index] for index in task]
            return (self.collate or default_collate)(samples)

    def worker_seed(self, index: int) -> int:
        """A seed for what worker `index` draws outside of `weft.random`."""
        return derived(self.seed, _OF_WORKER, index)


class Stream:
    """One epoch of a stream, read in tasks for `Fetcher`; what it draws is seeded as what its batches draw is."""

    def __init__(self, fetcher: Fetcher, epoch: int) -> None:
        at_epoch = getattr(fetcher.dataset, "at_epoch", None)
        items = iter(fetcher.dataset if at_epoch is None else at_epoch(epoch))
        size = fetcher.batch_size
        self._tasks: Iterator[Any] = items if size is None else chunks(items, size, fetcher.drop_last)
        self._seed = fetcher.seed, _OF_STREAM, epoch
        self._read = 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        number, self._read = self._read, self._read + 1
        with random.isolated(derived(*self._seed, number)):
            return next(self._tasks)

    def close(self) -> None:
        """End the stream where it stands."""
        close(self._tasks)

    def up_to(self, number: int) -> Any:
        """Task `number`, those before it read and dropped; StopIteration where the stream is shorter."""
        while self._read < number:
            next(self)
        return next(self)
