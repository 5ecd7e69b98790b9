"""`DataLoader`: batches of a dataset, in an order that depends on the seed and the epoch and on nothing else.

    >>> loader = DataLoader(range(6), batch_size=2, shuffle=True, seed=0)
    >>> first, second = list(loader), list(loader)
    >>> loader.set_epoch(0)
    >>> [batch.tolist() for batch in loader] == [batch.tolist() for batch in first]
    True

Its state is a few numbers. A loader that has loaded the state of another goes on where that one stood:

    >>> batches = iter(loader)
    >>> skipped = next(batches)
    >>> again = DataLoader(range(6), batch_size=2, shuffle=True)
    >>> again.load_state_dict(loader.state_dict())
    >>> [batch.tolist() for batch in again] == [batch.tolist() for batch in batches]
    True
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft._state import check_mapping
from weft.data._closing import closing
from weft.data._datasets import IterableDataset
from weft.data._fetch import Fetcher, Stream
from weft.data._samplers import BatchSampler, RandomSampler, SequentialSampler, batch_count, set_epoch
from weft.data._seeds import Seed, seed_of
from weft.data._threads import ordered_map
from weft.errors import StateError

if TYPE_CHECKING:
    from weft.data._workers import Pool

__all__ = ["DataLoader"]


@dataclass
class _Position:
    """How far an iteration has come."""

    epoch: int
    batches: int
    done: bool = False


class DataLoader:
    """Batches of a dataset; every iteration is an epoch.

    `dataset`: numbered samples (any with `__len__` and `__getitem__`) or a stream (`IterableDataset`, iterables).
    `batch_size`: samples a batch; None gives the samples themselves. `shuffle`: each epoch an order drawn from `seed`.
    `sampler`, `batch_sampler`: any iterable of indices, or of lists of indices, in place of `shuffle`.
    `collate_fn`: makes a batch of a list of samples; `default_collate` where it is None.
    `num_workers`: processes that make batches. `prefetch`: threads that do. Each works `prefetch_factor` batches ahead.
    `timeout`: seconds to wait for a batch at most. `worker_init_fn`: called in each worker process with its index.
    `persistent_workers`: keep the processes from one epoch to the next, until `close` or the loader's own end.
    `multiprocessing_context`: "fork", "spawn", "forkserver" or a context; Python's default where it is None.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        drop_last: bool = False,
        timeout: float | None = None,
        worker_init_fn: Callable[[int], Any] | None = None,
        *,
        seed: Seed = None,
        prefetch: int = 0,
        prefetch_factor: int = 2,
        persistent_workers: bool = False,
        multiprocessing_context: Any = None,
    ) -> None:
        self.dataset = dataset
        if batch_size is not None and not hasattr(batch_size, "__index__"):
            raise TypeError(f"batch_size is a whole number, or None for single samples, got {batch_size!r}")
        self.batch_size = None if batch_size is None else operator.index(batch_size)
        self.drop_last = drop_last
        self.collate_fn = collate_fn
        self.num_workers = operator.index(num_workers)
        self.prefetch = operator.index(prefetch)
        self.prefetch_factor = operator.index(prefetch_factor)
        self.timeout = timeout or None
        self.worker_init_fn = worker_init_fn
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.seed = seed_of(seed)
        self._streaming = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__")
        self._check(shuffle, sampler, batch_sampler)
        self.sampler, self.batch_sampler = self._order(shuffle, sampler, batch_sampler)
        self._next = _Position(0, 0)
        self._current: _Position | None = None
        self._pool: Pool | None = None

    def _check(self, shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
        if self._streaming:
            if not hasattr(self.dataset, "__iter__"):
                raise TypeError(f"a dataset is indexed or iterated over; {type(self.dataset).__name__} allows neither")
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "a stream comes in its own order: shuffle it with weft.data.pipeline(...).shuffle(...)"
                )
        if shuffle and sampler is not None:
            raise ValueError("give either shuffle or a sampler: a sampler says the order itself")
        if batch_sampler is not None and (shuffle or sampler is not None or self.drop_last or self.batch_size != 1):
            raise ValueError(
                "a batch_sampler says what batches are: leave batch_size, shuffle, sampler and drop_last out"
            )
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(f"batch_size is at least 1, or None for single samples, got {self.batch_size}")
        if self.batch_size is None and self.drop_last:
            raise ValueError("drop_last drops a short last batch; with batch_size=None there are no batches")
        for name in ("num_workers", "prefetch"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is not negative, got {getattr(self, name)}")
        if self.num_workers and self.prefetch:
            raise ValueError("num_workers and prefetch both work ahead, in processes and in threads: give one of them")
        if self.prefetch_factor < 1:
            raise ValueError(f"prefetch_factor is at least 1, got {self.prefetch_factor}")
        if self.timeout is not None and self.timeout < 0:
            raise ValueError(f"timeout is not negative, got {self.timeout}")

    def _order(self, shuffle: bool, sampler: Any, batch_sampler: Any) -> tuple[Any, Any]:
        if self._streaming:
            return None, None
        if batch_sampler is not None:
            self.batch_size = None
            return getattr(batch_sampler, "sampler", None), batch_sampler
        if sampler is None:
            sampler = RandomSampler(self.dataset, self.seed) if shuffle else SequentialSampler(self.dataset)
        if self.batch_size is None:
            return sampler, None
        return sampler, BatchSampler(sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        if not self._streaming:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        total = len(self.dataset)
        return total if self.batch_size is None else batch_count(total, self.batch_size, self.drop_last)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}  # a copy starts workers of its own

    # Epochs and state

    @property
    def epoch(self) -> int:
        """The number of the epoch under way, or of the next where none is."""
        return self._where().epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration this epoch, from its beginning."""
        self._next, self._current = _Position(operator.index(epoch), 0), None

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, in plain numbers: what the latest iteration has given counts as done."""
        where = self._where()
        random = self._random_sampler()
        return {
            "epoch": where.epoch,
            "batches": where.batches,
            "seed": self.seed,
            "order": None if random is None else random.seed,
            "batch_size": self.batch_size,
            "samples": _length(self.dataset),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there: the next iteration is the rest of that epoch."""
        check_mapping(state)
        own = self.state_dict()
        if state.keys() != own.keys():
            raise StateError(f"a loader's state has {', '.join(own)}; got {', '.join(map(str, state)) or 'nothing'}")
        for name in ("batch_size", "samples"):
            if state[name] != own[name]:
                raise StateError(f"the state is of a loader with {name} {state[name]}, this one has {own[name]}")
        random = self._random_sampler()
        if (random is None) != (state["order"] is None):
            raise StateError(f"the state is of a loader that {'does not shuffle' if random else 'shuffles'}")
        if random is not None:
            random.seed = seed_of(state["order"])
        self.seed = seed_of(state["seed"])
        self._next, self._current = _Position(state["epoch"], state["batches"]), None
        self.close()  # its workers have the old seed

    def _random_sampler(self) -> RandomSampler | None:
        return self.sampler if isinstance(self.sampler, RandomSampler) else None

    def _where(self) -> _Position:
        under_way = self._current is not None and not self._current.done
        return self._current if under_way and self._current is not None else self._next

    # Iterating

    def __iter__(self) -> Iterator[Any]:
        position = self._next
        self._next, self._current = _Position(position.epoch + 1, 0), position
        return self._iterate(position, self._batches(position.epoch, position.batches))

    def _iterate(self, position: _Position, batches: Iterator[Any]) -> Iterator[Any]:
        with closing(batches):
            for batch in batches:
                position.batches += 1
                yield batch
                del batch  # not kept while the next is awaited
        position.done = True

    def _batches(self, epoch: int, skip: int) -> Iterator[Any]:
        if self.num_workers:
            return self._from_processes(epoch, skip)
        fetcher = self._fetcher()
        tasks = self._tasks(fetcher, epoch, skip)
        if self.prefetch:
            ahead = self.prefetch * self.prefetch_factor
            return ordered_map(_Call(fetcher, epoch), tasks, self.prefetch, ahead, self.timeout)
        return _made(fetcher, epoch, tasks)

    def _tasks(self, fetcher: Fetcher, epoch: int, skip: int) -> Iterator[tuple[int, Any]]:
        """What batches are made of, numbered; those to be skipped are passed over without being made."""
        if self._streaming:
            source: Iterator[Any] = Stream(fetcher, epoch)
        else:
            order = self.sampler if self.batch_sampler is None else self.batch_sampler
            set_epoch(order, epoch)
            source = iter(order)
        return _numbered(source, skip)

    def _fetcher(self) -> Fetcher:
        return Fetcher(
            self.dataset,
            self.collate_fn,
            self.seed,
            streaming=self._streaming,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            batched=self.batch_sampler is not None or self.batch_size is not None,
        )

    # Worker processes

    def _from_processes(self, epoch: int, skip: int) -> Iterator[Any]:
        fetcher = self._fetcher()
        if self._streaming:
            # The workers read the stream; how long it is they will say.
            tasks: Iterator[tuple[int, Any]] = ((number, None) for number in itertools.count(skip))
        else:
            tasks = self._tasks(fetcher, epoch, skip)
        return self._in_pool(fetcher, epoch, tasks)

    def _in_pool(self, fetcher: Fetcher, epoch: int, tasks: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        pool = self._take_pool(fetcher)
        try:
            yield from pool.batches(epoch, tasks, self.num_workers * self.prefetch_factor)
        finally:
            if pool is not self._pool or pool.broken:
                pool.close()

    def _take_pool(self, fetcher: Fetcher) -> Pool:
        if self._pool is not None and self._pool.free:
            return self._pool
        import multiprocessing

        from weft.data._workers import Pool

        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        pool = Pool(context, fetcher, self.num_workers, self.worker_init_fn, self.timeout)
        if self.persistent_workers and (self._pool is None or not self._pool.busy):
            self._pool = pool
            weakref.finalize(self, pool.close)
        return pool

    def close(self) -> None:
        """End the persistent workers; the next iteration starts new ones."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Call:
    """A fetcher called with one numbered task, which is what threads do."""

    def __init__(self, fetcher: Fetcher, epoch: int) -> None:
        self.fetcher = fetcher
        self.epoch = epoch

    def __call__(self, numbered: tuple[int, Any]) -> Any:
        return self.fetcher(self.epoch, *numbered)


def _made(fetcher: Fetcher, epoch: int, tasks: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    # Not map(): a StopIteration out of the dataset would end it as if there were no more batches.
    with closing(tasks):
        for number, task in tasks:
            yield fetcher(epoch, number, task)


def _numbered(source: Iterator[Any], skip: int) -> Iterator[tuple[int, Any]]:
    with closing(source):
        yield from itertools.islice(enumerate(source), skip, None)


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError):
        return None
