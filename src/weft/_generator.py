"""`Generator`, and which one random ops draw from; users find both in `weft.random`.

A generator is a seed and a position in the stream of 64-bit words that Philox 4x64-10 makes of it, so that any part of
the stream can be computed without what comes before. One generator serves the whole process; `isolated` gives the
current context (a thread, a task, a test) one of its own: draws elsewhere neither disturb it nor are disturbed.
"""

from __future__ import annotations

import numbers
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]

_SEEDS = 1 << 128
_WORD = (1 << 64) - 1
_FORMAT = 1
_FIELDS = 13  # format, seed (2), key (2), counter (4), place in the block, half a word kept (2), children
# The last word of the counter: blocks of the stream itself, of split() and of fold_in() never meet.
_SPLIT, _FOLD = 1, 2


class Generator:
    """A stream of random numbers: explicit, splittable, and known by its seed and its position alone.

    >>> a = Generator(7)
    >>> a.words(3).tolist() == Generator(7).words(3).tolist()
    True
    >>> left, right = a.split(2)
    >>> left.initial_seed() == right.initial_seed()
    False
    """

    __slots__ = ("__weakref__", "_children", "_philox", "_seed", "numpy")

    def __init__(self, seed: int | None = None) -> None:
        self._seed = secrets.randbits(64) if seed is None else _checked("seed", seed, _SEEDS)
        self._children = 0
        self._philox = np.random.Philox(self._seed)
        self.numpy = np.random.Generator(self._philox)
        """NumPy's generator over the same stream: what one draws, the other goes on behind."""

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed; returns the generator."""
        fresh = np.random.Philox(_checked("seed", seed, _SEEDS)).state
        with self._philox.lock:
            self._philox.state = fresh
            self._seed, self._children = int(seed), 0
        return self

    def seed(self) -> int:
        """Start again from a seed of the system's; returns the seed."""
        self.manual_seed(secrets.randbits(64))
        return self._seed

    def initial_seed(self) -> int:
        """The seed the stream started from: `Generator(g.initial_seed())` gives the same numbers from the beginning."""
        return self._seed

    @property
    def position(self) -> int:
        """How many words were drawn."""
        return _position(self._philox.state)

    # Words

    def words(self, count: int) -> Words:
        """The next so many 64-bit words."""
        drawn: Words = self._philox.random_raw(count)
        return drawn

    def reserve(self, count: int) -> np.random.Philox:
        """Leave out the next so many words, and return what makes them: for draws that need the first of them only.

        >>> g = Generator(7)
        >>> g.reserve(100).random_raw() == Generator(7).words(1)[0], g.position
        (True, 100)
        """
        count = _checked("count", count, 1 << 192)
        with self._philox.lock:
            before = self._philox.state
            after = _at(before["state"]["key"], _position(before) + count).state
            after["has_uint32"], after["uinteger"] = before["has_uint32"], before["uinteger"]
            self._philox.state = after
        kept = np.random.Philox(0)
        kept.state = before
        return kept

    def jump(self, words: int) -> Generator:
        """Leave out so many words of the stream; returns the generator."""
        self.reserve(words)
        return self

    # Other generators

    def split(self, n: int = 2) -> list[Generator]:
        """So many new generators, each with a stream of its own; never the same ones twice.

        They depend on the seed and on how many were split off before. The stream of this one is not touched.
        """
        n = _checked("split: the number of generators", n, 1 << 32)
        with self._philox.lock:
            first, self._children = self._children, self._children + n
            key = self._philox.state["state"]["key"]
        return [_derived(key, first + i, _SPLIT) for i in range(n)]

    def fold_in(self, data: int) -> Generator:
        """The generator that belongs to a number, such as an epoch or a worker: the same one whenever it is asked for.

        >>> g = Generator(7)
        >>> g.fold_in(3).initial_seed() == Generator(7).fold_in(3).initial_seed() != g.fold_in(4).initial_seed()
        True
        """
        return _derived(self._philox.state["state"]["key"], _checked("fold_in: data", data, _SEEDS), _FOLD)

    def clone(self) -> Generator:
        """A generator of its own that stands where this one does."""
        return _restored(self.get_state())

    # State

    def get_state(self) -> Words:
        """Everything there is to know, as an array of whole numbers that a checkpoint can hold."""
        with self._philox.lock:
            state, children, seed = self._philox.state, self._children, self._seed
        inner = state["state"]
        place = (state["buffer_pos"], state["has_uint32"], state["uinteger"])
        return np.array(
            [_FORMAT, seed & _WORD, seed >> 64, *inner["key"], *inner["counter"], *place, children], np.uint64
        )

    def set_state(self, state: Any) -> None:
        """Go on from a state of `get_state`, bit for bit."""
        listed = state.tolist() if hasattr(state, "tolist") else state
        if not (isinstance(listed, list) and len(listed) == _FIELDS and {*map(type, listed)} == {int}):
            raise ValueError(f"set_state: expected the {_FIELDS} whole numbers that get_state gives, got {state!r}")
        version, low, high, *rest = listed
        key, counter, (place, kept, half, children) = rest[:2], rest[2:6], rest[6:]
        begun = place == 4 or (1 <= place < 4 and any(counter))
        if not (version == _FORMAT and begun and kept in (0, 1) and 0 <= half < 1 << 32 and min(low, high, *rest) >= 0):
            raise ValueError("set_state: the state is damaged, or of another version of weft")
        restored = _inner(key, counter, place)
        restored["has_uint32"], restored["uinteger"] = kept, half
        with self._philox.lock:
            self._philox.state = restored
            self._seed, self._children = low | high << 64, children

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.get_state(),))

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed}, position={self.position})"


Generator.__module__ = "weft.random"  # where users find it


def _checked(what: str, value: Any, below: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} is a whole number, got {value!r}")
    number = int(value)
    if not 0 <= number < below:
        raise ValueError(f"{what} is at least 0 and below 2**{below.bit_length() - 1}, got {number}")
    return number


def _position(state: Any) -> int:
    """Words drawn: NumPy makes block 1, 2, … of four words each and says how much of the last one is used up."""
    blocks = sum(int(word) << (64 * i) for i, word in enumerate(state["state"]["counter"]))
    return 4 * blocks - 4 + int(state["buffer_pos"])


def _at(key: Any, position: int) -> np.random.Philox:
    """Philox with this key, so many words into its stream."""
    made = np.random.Philox(key=np.asarray(key, np.uint64), counter=position // 4)
    made.random_raw(position % 4, output=False)
    return made


def _inner(key: list[int], counter: list[int], place: int) -> Any:
    """NumPy's state of these numbers; the words of the block are computed again."""
    whole = sum(word << (64 * i) for i, word in enumerate(counter))
    if place == 4:
        return np.random.Philox(key=np.array(key, np.uint64), counter=whole).state
    state = _at(np.array(key, np.uint64), 4 * (whole - 1) + 1).state
    state["buffer_pos"] = place
    return state


def _derived(key: Any, number: int, kind: int) -> Generator:
    """The generator whose seed is the first two words of a block that no stream reaches."""
    block = np.random.Philox(key=np.asarray(key, np.uint64), counter=number | kind << 192)
    low, high = (int(word) for word in block.random_raw(2))
    return Generator(low | high << 64)


def _restored(state: Any) -> Generator:
    made = Generator(0)
    made.set_state(state)
    return made


_process = Generator()
_context: ContextVar[Generator | None] = ContextVar("weft_random_source", default=None)


def current() -> Generator:
    """The generator random ops draw from here: the context's own inside `isolated`, otherwise the process's."""
    return _context.get() or _process


def generator() -> np.random.Generator:
    """NumPy's generator over the stream of the current one.

    >>> type(generator().bit_generator).__name__
    'Philox'
    """
    return current().numpy


def manual_seed(seed: int) -> None:
    """Start the current generator again from `seed`.

    >>> manual_seed(7)
    >>> first = generator().random()
    >>> manual_seed(7)
    >>> generator().random() == first
    True
    """
    current().manual_seed(seed)


def seed() -> int:
    """Start the current generator again from a seed of the system's; returns the seed."""
    return current().seed()


def initial_seed() -> int:
    """The seed the current generator started from."""
    return current().initial_seed()


def get_state() -> Words:
    """The state of the current generator, as an array that a checkpoint can hold.

    >>> state = get_state()
    >>> first = generator().random()
    >>> set_state(state)
    >>> generator().random() == first
    True
    """
    return current().get_state()


def set_state(state: Any) -> None:
    """Let the current generator go on from a state of `get_state`."""
    current().set_state(state)


def split(n: int = 2) -> list[Generator]:
    """So many new generators split off the current one.

    >>> len(split(3))
    3
    """
    return current().split(n)


@contextmanager
def isolated(seed: int | Generator | None = None) -> Iterator[np.random.Generator]:
    """Give the current context a generator of its own: the one given, or one of this seed (of the system's when None).

    >>> with isolated(3):
    ...     a = generator().random()
    >>> with isolated(3):
    ...     print(generator().random() == a)
    True
    """
    token = _context.set(seed if isinstance(seed, Generator) else Generator(seed))
    try:
        yield generator()
    finally:
        _context.reset(token)
