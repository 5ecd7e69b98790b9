"""Iterators that own the iterators they read from, and what must be ended before the interpreter is.

An exception keeps the frames it came through alive, and with them any half-read iterator, and its threads. So whoever
stops reading closes what it read, at once. Threads and processes still at work when the program ends are ended first:
later, when the interpreter takes itself apart, a thread can no longer be waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ["close", "close_at_exit", "closing"]


class _Closes(Protocol):
    def prepare_exit(self) -> None: ...

    def close(self) -> None: ...


_at_exit: weakref.WeakSet[Any] = weakref.WeakSet()


@contextmanager
def closing(iterator: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The iterator, closed at the end of the block if it is of a kind that can be."""
    try:
        yield iterator
    finally:
        close(iterator)


def close(iterator: Iterator[Any]) -> None:
    """Close an iterator that can be closed."""
    end = getattr(iterator, "close", None)
    if end is not None:
        end()


def close_at_exit(thing: _Closes) -> None:
    """Close the thing, if it is still there, when the program ends."""
    _at_exit.add(thing)


@atexit.register
def _close_all() -> None:
    things = list(_at_exit)
    for thing in things:
        thing.prepare_exit()
    # Only now, when all of them have been told: one may be waiting for another.
    for thing in things:
        with contextlib.suppress(Exception):  # the others are to be closed too, and nobody is left to be told
            thing.close()
