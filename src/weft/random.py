"""Where random ops draw their numbers.

One generator serves the whole process; `isolated` gives the current context (a thread, a task, a test) one of its own,
so that draws elsewhere neither disturb it nor are disturbed. The numbers come from Philox, a counter-based generator.

    >>> manual_seed(7)
    >>> first = generator().random()
    >>> manual_seed(7)
    >>> generator().random() == first
    True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

__all__ = ["generator", "isolated", "manual_seed"]


class _Source:
    """A generator that can be replaced by reseeding without changing who refers to it."""

    def __init__(self, seed: int | None = None) -> None:
        self.generator = _philox(seed)


def _philox(seed: int | None) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


_process = _Source()
_context: ContextVar[_Source | None] = ContextVar("weft_random_source", default=None)


def generator() -> np.random.Generator:
    """The generator random ops use here: the context's own inside `isolated`, otherwise the process's.

    >>> type(generator().bit_generator).__name__
    'Philox'
    """
    return (_context.get() or _process).generator


def manual_seed(seed: int) -> None:
    """Start the current generator again from `seed`.

    >>> manual_seed(0)
    """
    (_context.get() or _process).generator = _philox(seed)


@contextmanager
def isolated(seed: int | None = None) -> Iterator[np.random.Generator]:
    """Give the current context a generator of its own, seeded by `seed` (by the system when None).

    >>> with isolated(3) as first:
    ...     a = generator().random()
    >>> with isolated(3):
    ...     print(generator().random() == a)
    True
    """
    token = _context.set(_Source(seed))
    try:
        yield generator()
    finally:
        _context.reset(token)
