"""A progress bar where a person is watching, and nothing where nobody is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["progress"]


class progress:  # used as a function
    """The iterable itself, with a bar that shows how far it has come.

    The bar is tqdm's (`pip install weft[progress]`). Without tqdm, or where `file` (standard error) is not a terminal,
    nothing is shown.

    >>> sum(progress([1, 2, 3], description="adding"))
    6
    """

    def __init__(
        self, iterable: Iterable[Any], total: int | None = None, description: str | None = None, file: Any = None
    ) -> None:
        self.iterable = iterable
        self.total = total
        self.description = description
        self.file = file

    def __len__(self) -> int:
        return len(self.iterable) if self.total is None else self.total  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        file = self.file or sys.stderr
        bar = _bar() if file is not None and file.isatty() else None
        if bar is None:
            yield from self.iterable
            return
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


def _bar() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None

    class Bar(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        monitor_interval = 0  # no watching thread: nothing stays behind

    return Bar
