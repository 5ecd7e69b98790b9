"""Datasets and functions for the tests of worker processes, in a module that a spawned process can import."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft import data, pytree
from weft import random as weft_random


class Numbers(data.Dataset):
    """The sample of a number is the number and a row made of it."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return {"n": index, "row": np.full(3, index, np.float32), "name": f"s{index}"}


class Drawing(Numbers):
    """Samples with random numbers in them."""

    def __getitem__(self, index: int) -> Any:
        return index, weft_random.generator().random()


class Stream(data.IterableDataset):
    """Numbers as a stream, each with a draw."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[Any]:
        for i in range(self.count):
            yield i, weft_random.generator().random()

    def __len__(self) -> int:
        return self.count


class Failing(Numbers):
    """One sample cannot be made; `how` says what happens instead."""

    def __init__(self, count: int, at: int, how: str) -> None:
        super().__init__(count)
        self.at = at
        self.how = how

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            return getattr(self, self.how)()
        return index

    def raise_plain(self) -> None:
        a_local_number = 0
        _ = 1 / a_local_number

    def raise_own(self) -> None:
        raise Picky("left", right="right")

    def raise_unpicklable(self) -> None:
        raise Unpicklable(lambda: None)

    def raise_stop(self) -> None:
        raise StopIteration

    def raise_group(self) -> None:
        raise ExceptionGroup("both", [ValueError("left"), KeyError("right")])

    def raise_exit(self) -> None:
        raise SystemExit(3)

    def missing(self) -> Any:
        return Missing()

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def leave(self) -> None:
        os._exit(3)

    def hang(self) -> None:
        time.sleep(60)

    def unpicklable(self) -> Any:
        return lambda: None


class Slow(Numbers):
    """Samples that take their time: "busy" a little, "idle" none, "stuck" more than there is, the first excepted."""

    def __init__(self, kind: str) -> None:
        super().__init__(1000)
        self.kind = kind

    def __getitem__(self, index: int) -> Any:
        time.sleep({"busy": 0.05, "idle": 0, "stuck": 1000 * (index > 0)}[self.kind])
        return index


class Handlers(Numbers):
    """What the process that makes the sample does with signals."""

    def __getitem__(self, index: int) -> Any:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), len(blocked)


class Loading(Numbers):
    """Makes its samples by a loader of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(2)
        self.inner = data.DataLoader(range(3), **options)

    def __getitem__(self, index: int) -> Any:
        return [int(batch[0]) + index for batch in self.inner]


class Fragile(Numbers):
    """Pickles, but cannot be read again; the error is one that closed pipes give too."""

    def __setstate__(self, state: Any) -> None:
        raise_missing()


class Missing:
    """A sample that cannot be read again in the consumer."""

    def __reduce__(self) -> Any:
        return raise_missing, ()


def raise_missing() -> None:
    raise FileNotFoundError("no such archive")


class Frozen(Exception):
    """Refuses to be changed, and so to be told where it came from."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to {name}")


class Unpicklable(Exception):
    """Carries something that cannot be pickled."""


class Picky(Exception):
    """Pickles, but cannot be read again: its constructor wants more than its args."""

    def __init__(self, left: str, *, right: str) -> None:
        super().__init__(f"{left} and {right}")


class FailingStream(data.IterableDataset):
    def __iter__(self) -> Iterator[int]:
        yield from range(5)
        raise KeyError("the sixth")


class Scratch(Numbers):
    """Gives the same array again and again, filled anew."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.array = np.zeros(1000)

    def __getitem__(self, index: int) -> Any:
        self.array[:] = index
        return self.array


class Who(Numbers):
    """The process that made the sample, as it sees itself."""

    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        drawn = (random.random(), np.random.rand())
        return None if info is None else (info.index, info.count, info.dataset.count, os.getpid(), *drawn)


def as_is(samples: Any) -> Any:
    return samples


def fail_to_start(index: int) -> None:
    if index == 1:
        raise LookupError(f"worker {index} found nothing")


def mark(index: int) -> None:
    os.environ["WEFT_TEST_MARK"] = f"marked {index}"


class Marked(Numbers):
    def __getitem__(self, index: int) -> Any:
        return os.environ.get("WEFT_TEST_MARK", "")


def plain(batches: Any) -> list[Any]:
    """Batches as lists and numbers, which compare."""
    return [pytree.map(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, batch) for batch in batches]


def raise_in_loop(batches: Any, error: type[BaseException]) -> None:
    for _ in batches:
        raise error
