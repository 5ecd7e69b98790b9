"""Background threads that work ahead: `ordered_map` is `map` in which several threads share the work.

Results come in the order of the source, and at most `ahead` of them wait. However the iterator ends (its last item, an
exception, `close`, collection as garbage, the end of the program), its threads end with it.

    >>> list(ordered_map(abs, [-1, 2, -3], threads=2, ahead=4))
    [1, 2, 3]
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from weft.data._closing import close, close_at_exit
from weft.errors import WorkerError, WorkerTimeout

__all__ = ["ordered_map"]

_DONE, _VALUE, _ERROR = range(3)
_LOOK = (
    0.5  # seconds between two looks at whether there was an interrupt: one that comes just before a wait is lost in it
)
_GRACE = 1.0  # seconds a thread is given when the program ends
_numbers = itertools.count(1)


def ordered_map(
    function: Callable[[Any], Any], source: Iterable[Any], threads: int, ahead: int, timeout: float | None = None
) -> Iterator[Any]:
    """The results of the function over the source, computed in background threads.

    The source is read by one thread at a time, and closed at the end. `timeout` is how many seconds a result may take.
    """
    crew = _Crew(function, iter(source), ahead)
    patience = None
    try:
        crew.start(threads)
        while True:
            kind, value = crew.take(timeout)
            if kind == _DONE:
                return
            if kind == _ERROR:
                raise value
            yield value
            del value
    except WorkerTimeout:
        patience = 0.0  # a thread cannot be made to stop: waiting for this one might be for ever
        raise
    finally:
        value = None  # an exception holds this frame: do not hold it in turn
        crew.stop(patience)


class _Crew:
    """The threads and what they share. They refer to it, never to the iterator, which may go at any time."""

    def __init__(self, function: Callable[[Any], Any], source: Iterator[Any], ahead: int) -> None:
        self.function = function
        self.source = source
        self.ahead = ahead
        self.reading = threading.Lock()
        self.changed = threading.Condition()
        self.results: dict[int, tuple[int, Any]] = {}
        self.begun = 0
        self.taken = 0
        self.ended = False
        self.stopped = False
        self.exiting = False
        self.threads: list[threading.Thread] = []
        self.owner = os.getpid()

    def start(self, count: int) -> None:
        close_at_exit(self)
        for _ in range(count):
            # Each in a copy of the consumer's context: what is set there (a random source, a mode) holds here too.
            work = contextvars.copy_context().run
            thread = threading.Thread(
                target=work, args=(self.work,), name=f"weft-data-thread-{next(_numbers)}", daemon=True
            )
            self.threads.append(thread)  # before it starts: an interrupt in between must not lose it
            thread.start()

    def work(self) -> None:
        while True:
            with self.reading:
                number = self.next_number()
                if number is None:
                    return
                kind, value = self.read()
            if kind == _VALUE:
                kind, value = self.compute(value)
            with self.changed:
                self.results[number] = kind, value
                del value
                self.changed.notify_all()

    def next_number(self) -> int | None:
        """The number of the item to read next, once there is room for its result."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or self.begun - self.taken < self.ahead)
            if self.stopped or self.ended:
                return None
            self.begun += 1
            return self.begun - 1

    def read(self) -> tuple[int, Any]:
        try:
            return _VALUE, next(self.source)
        except StopIteration:
            self.ended = True
            return _DONE, None
        except BaseException as error:
            self.ended = True
            return _ERROR, error

    def compute(self, item: Any) -> tuple[int, Any]:
        try:
            return _VALUE, self.function(item)
        except BaseException as error:
            return _ERROR, error

    def take(self, timeout: float | None) -> tuple[int, Any]:
        if os.getpid() != self.owner:
            raise WorkerError(
                "this iterator's background threads are in another process, which forked this one",
                help="make the iterator in the process that uses it",
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        with self.changed:
            while not self.changed.wait_for(self.can_take, _until(deadline, _LOOK)):
                if deadline is not None and time.monotonic() >= deadline:
                    raise WorkerTimeout(f"no result from a background thread after {timeout} seconds")
            if self.taken not in self.results:
                raise WorkerError("this iterator was closed: the program has ended")
            result = self.results.pop(self.taken)
            self.taken += 1
            self.changed.notify_all()
        return result

    def can_take(self) -> bool:
        return self.stopped or self.taken in self.results

    def stop(self, patience: float | None) -> None:
        """End the threads, waiting for them so many seconds at most, or as long as it takes; then close the source."""
        # In a forked process they are not there, and the locks are as they left them.
        if self.exiting or os.getpid() != self.owner:
            return
        self.tell_to_end()
        # Garbage is collected in whichever thread comes upon it, which may be one of these: it goes on to its own end.
        if threading.current_thread() not in self.threads:
            self.end(patience)

    def tell_to_end(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def end(self, patience: float | None) -> None:
        deadline = None if patience is None else time.monotonic() + patience
        for thread in self.threads:
            while thread.is_alive():
                thread.join(_until(deadline, _LOOK))
                if deadline is not None and time.monotonic() >= deadline:
                    break
        if not any(thread.is_alive() for thread in self.threads):
            self.results.clear()
            close(self.source)

    # When the program ends, nothing waits for a thread for long, an iterator that is collected after that included.

    def prepare_exit(self) -> None:
        if os.getpid() == self.owner:
            self.exiting = True
            self.tell_to_end()

    def close(self) -> None:
        if os.getpid() == self.owner:
            self.end(_GRACE)


def _until(deadline: float | None, longest: float) -> float:
    return longest if deadline is None else min(longest, max(0.0, deadline - time.monotonic()))
