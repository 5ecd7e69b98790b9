"""Room for recursion: what is captured is nested several calls deep for each call of the program.

A program may call itself as deep as Python allows, and be nested as deep. Capturing it, and writing it out again, takes
several of Python's frames for each level.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TIMES = 8  # how many frames a level takes at most

_lock = threading.Lock()
_inside = 0
_limit = sys.getrecursionlimit()


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Within, calls may be nested several times as deep as elsewhere; the limit is the whole process's."""
    global _inside, _limit
    with _lock:
        if not _inside:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(_limit * _TIMES)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_limit)


def plain_limit() -> int:
    """How deep calls may be nested outside."""
    return _limit if _inside else sys.getrecursionlimit()
