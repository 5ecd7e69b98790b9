"""Background threads that work ahead: `ordered_map` is `map` in which several threads share the work.

Results come in the order of the source, and at most `ahead` of them wait. However the iterator ends (its last item, an
exception, `close`, collection as garbage), its threads end with it.

    >>> list(ordered_map(abs, [-1, 2, -3], threads=2, ahead=4))
    [1, 2, 3]
"""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from weft.data._closing import close
from weft.errors import WorkerTimeout

__all__ = ["ordered_map"]

_DONE, _VALUE, _ERROR = range(3)
_numbers = itertools.count(1)


def ordered_map(
    function: Callable[[Any], Any], source: Iterable[Any], threads: int, ahead: int, timeout: float | None = None
) -> Iterator[Any]:
    """The results of the function over the source, computed in background threads.

    The source is read by one thread at a time, and closed at the end. `timeout` is how many seconds a result may take.
    """
    crew = _Crew(function, iter(source), ahead)
    patient = True
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
        patient = False  # a thread cannot be made to stop: waiting for this one might be for ever
        raise
    finally:
        value = None  # an exception holds this frame: do not hold it in turn
        crew.stop(patient)


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
        self.threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        for _ in range(count):
            # Each in a copy of the consumer's context: what is set there (a random source, a mode) holds here too.
            work = contextvars.copy_context().run
            thread = threading.Thread(
                target=work, args=(self.work,), name=f"weft-data-thread-{next(_numbers)}", daemon=True
            )
            thread.start()
            self.threads.append(thread)

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
        with self.changed:
            if not self.changed.wait_for(lambda: self.taken in self.results, timeout):
                raise WorkerTimeout(f"no result from a background thread after {timeout} seconds")
            result = self.results.pop(self.taken)
            self.taken += 1
            self.changed.notify_all()
        return result

    def stop(self, patient: bool) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        if not patient:
            return
        # Garbage is collected in whichever thread comes upon it, which may be one of these: it goes on to its own end.
        if threading.current_thread() in self.threads:
            return
        for thread in self.threads:
            thread.join()
        self.results.clear()
        close(self.source)
