"""Iterators that own the iterators they read from.

An exception keeps the frames it came through alive, and with them any half-read iterator, and its threads. So whoever
stops reading closes what it read, at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["close", "closing"]


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
