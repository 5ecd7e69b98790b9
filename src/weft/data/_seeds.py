"""Random numbers by name: a seed and a path of numbers (epoch, step, element) say which, and nothing else does.

So the same draw is made whoever makes it, in whatever order: a thread, a worker process, a resumed run.

    >>> generator(7, 0, 3).random() == generator(7, 0, 3).random()
    True
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from weft import random

Seed = int | np.random.Generator | None
_LARGEST = 2**63 - 1


def seed_of(seed: Any) -> int:
    """A seed as a number: a generator gives one, and None asks weft's current generator for one."""
    if seed is None:
        seed = random.generator()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(_LARGEST))
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"a seed is a whole number, a NumPy Generator or None, got {seed!r}")
    if seed < 0:
        raise ValueError(f"a seed is not negative, got {seed}")
    return int(seed)


def generator(seed: int, *path: int) -> np.random.Generator:
    """The generator of this seed and path; different paths give unrelated numbers."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=path)))


def derived(seed: int, *path: int) -> int:
    """A seed of its own for this path."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1, np.uint64)[0])
