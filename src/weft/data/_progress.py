"""A progress bar where a person is watching, and nothing where nobody is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["progress"]


class progress:  # used as a function
    """The iterable itself, with a bar that shows how far it has come.

    The bar is tqdm's (`pip install tqdm`). Without tqdm it is a plain line. Nothing is shown where `file`,
    by default standard error, is not a terminal.

    >>> sum(progress([1, 2, 3], description="adding"))
    6
    """

    def __init__(
        self, iterable: Iterable[Any], total: int | None = None, description: str | None = None, file: Any = None
    ) -> None:
        if isinstance(total, str):
            raise TypeError(f"progress: total is a number of items, got {total!r}\n  help: write description={total!r}")
        self.iterable = iterable
        self.total = total
        self.description = description
        self.file = file

    def __repr__(self) -> str:
        return f"<progress of {self.iterable!r}>"

    def __len__(self) -> int:
        return len(self.iterable) if self.total is None else self.total  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        file = self.file or sys.stderr
        if file is None or not file.isatty():
            yield from self.iterable
            return
        bar = _bar() or _Line
        # Closed here rather than by tqdm: on leaving early the line on the screen is finished too.
        with bar(total=self._count(), desc=self.description, file=file, dynamic_ncols=True) as shown:
            for item in self.iterable:
                yield item
                shown.update()

    def _count(self) -> int | None:
        try:
            return len(self)
        except TypeError:
            return None


class _Line:
    """What is shown without tqdm: one line that is written over, with the count and the time taken."""

    every = 0.1  # seconds between two lines: a terminal is slower than most loops
    advised = False  # whether this process was told of the bar

    def __init__(self, total: int | None, desc: str | None, file: Any, **_: Any) -> None:
        self.total, self.file = total, file
        self.label = f"{desc}: " if desc else ""
        self.count = 0
        self.began = self.written = time.monotonic()

    def __enter__(self) -> _Line:
        self.write()
        return self

    def __exit__(self, *exception: object) -> None:
        self.write()
        self.file.write("\n")
        if not _Line.advised:
            _Line.advised = True
            self.file.write("pip install tqdm turns this line into a bar with the speed and the time left\n")
        self.file.flush()

    def update(self) -> None:
        """Count an item that is done."""
        self.count += 1
        if time.monotonic() - self.written >= self.every:
            self.write()

    def write(self) -> None:
        """Write the line over itself."""
        self.written = time.monotonic()
        share = f"/{self.total} ({100 * self.count // self.total} %)" if self.total else ""
        self.file.write(f"\r{self.label}{self.count}{share}, {self.written - self.began:.1f} s")
        self.file.flush()


def _bar() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None

    class Bar(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        monitor_interval = 0  # no watching thread: nothing stays behind

    return Bar
