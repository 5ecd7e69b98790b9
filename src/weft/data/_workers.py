"""Worker processes that make batches.

Batch n is made by worker n % count, so the order needs no bookkeeping and does not depend on who is faster. Each worker
has two pipes of its own: nothing is shared that a killed worker could leave locked. Arrays travel outside the pickle.
A worker ends when told to, when the pipe from its consumer closes, or when its consumer dies.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import random
import signal
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.data._failure import Failure
from weft.data._fetch import Fetcher, Stream
from weft.data._worker_info import WorkerInfo, set_worker_info
from weft.errors import WorkerError, WorkerTimeout

__all__ = ["Pool"]

_GRACE = 1.0  # seconds a worker is given to end by itself
_LOOK = 0.5  # seconds between two looks at whether a silent worker is alive
# The consumer's ends of all pipes. A forked worker inherits copies, which would keep the pipes of others open.
_held: weakref.WeakSet[Any] = weakref.WeakSet()


_Message = tuple[bytes, list[bytes]]


class _End:
    """The stream has no batch of this number."""


@dataclass
class _Worker:
    index: int
    process: Any
    inbox: Any  # batches come out of it
    outbox: Any  # tasks go into it

    def __str__(self) -> str:
        return f"worker {self.index} (process {self.process.pid})"


class Pool:
    """Started worker processes. One iteration at a time uses it; `close` ends them."""

    def __init__(
        self, context: Any, fetcher: Fetcher, count: int, init: Callable[[int], Any] | None, timeout: float | None
    ) -> None:
        self.timeout = timeout
        self.busy = False
        self.broken = False
        self._owner = os.getpid()
        self._run = 0
        self._workers: list[_Worker] = []
        try:
            for index in range(count):
                self._workers.append(_start(context, fetcher, index, count, init))
        except BaseException as error:
            self.close()
            if isinstance(error, (pickle.PicklingError, AttributeError, TypeError)):
                error.add_note(
                    f"weft.data: worker processes start by {context.get_start_method()!r}, for which the dataset, "
                    "collate_fn and worker_init_fn must be picklable: no lambdas or functions inside functions"
                )
            raise

    def batches(self, epoch: int, tasks: Iterator[tuple[int, Any]], ahead: int) -> Iterator[Any]:
        """The batches of these numbered tasks, in order; `ahead` tasks are with the workers at any time."""
        self._run += 1
        waiting: deque[int] = deque()
        self.busy = True
        try:
            while True:
                while len(waiting) < ahead and (task := next(tasks, None)) is not None:
                    self._send(epoch, *task)
                    waiting.append(task[0])
                if not waiting:
                    return
                batch = self._receive(waiting.popleft())
                if isinstance(batch, _End):
                    return
                yield batch
                del batch
        finally:
            self.busy = False

    def _send(self, epoch: int, number: int, task: Any) -> None:
        worker = self._worker(number)
        try:
            with self._unbroken():
                worker.outbox.send((self._run, epoch, number, task))
        except OSError:
            # The worker is gone: what it said before comes first, then how it went. There is always one or the other.
            while True:
                self._receive(number)

    def _worker(self, number: int) -> _Worker:
        if not self._workers:
            raise WorkerError(f"batch {number}: the loader's workers were closed")
        return self._workers[number % len(self._workers)]

    @contextlib.contextmanager
    def _unbroken(self) -> Iterator[None]:
        """An exception in here, an interrupt even, may leave half a message in a pipe: the pool is not used again."""
        try:
            yield
        except BaseException:
            self.broken = True
            raise

    def _receive(self, number: int) -> Any:
        worker = self._worker(number)
        while True:
            with self._unbroken():
                run, value = self._message(worker, number)
            if run is None or run == self._run:
                break
            # Left over from an iteration that was stopped early.
        if isinstance(value, Failure):
            self.broken = self.broken or run is None
            raise value.error()
        return value

    def _message(self, worker: _Worker, number: int) -> tuple[int | None, Any]:
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            left = _LOOK if deadline is None else min(_LOOK, max(0.0, deadline - time.monotonic()))
            ready = multiprocessing.connection.wait([worker.inbox, worker.process.sentinel], left)
            try:
                # A worker that has ended may have left its last words in the pipe.
                if worker.inbox in ready or worker.inbox.poll():
                    return _receive(worker.inbox)
            except (EOFError, OSError):
                raise self._died(worker, number) from None
            if ready or not worker.process.is_alive():
                raise self._died(worker, number)
            if deadline is not None and time.monotonic() >= deadline:
                raise WorkerTimeout(
                    f"batch {number}: no answer from {worker} after {self.timeout} seconds",
                    help="raise the loader's timeout, or see what the dataset is waiting for",
                )

    def _died(self, worker: _Worker, number: int) -> WorkerError:
        worker.process.join(_GRACE)
        code = worker.process.exitcode
        help = None
        if code is not None and code < 0:
            how = f"was killed by signal {-code} ({_signal_name(-code)})"
            if _signal_name(-code) == "SIGKILL":
                help = "the system does this when memory runs out: try smaller batches or fewer workers"
        elif code is None:
            how = "closed its connection"
        else:
            how = f"ended with exit status {code}"
            help = "what it wrote to standard error says more; where processes are spawned, the program's own start "
            help += "must be under `if __name__ == '__main__':`"
        return WorkerError(f"batch {number}: {worker} {how}", help=help)

    def close(self) -> None:
        """End the workers: ask, then insist. Nothing of them is left afterwards."""
        # A forked process holds copies of other processes' pools, which are not its own to end.
        if os.getpid() != self._owner:
            return
        workers, self._workers = self._workers, []
        self.broken = True
        for worker in workers:
            worker.outbox.close()
            worker.inbox.close()
        deadline = time.monotonic() + _GRACE
        for worker in workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            late = [worker for worker in workers if worker.process.is_alive()]
            for worker in late:
                getattr(worker.process, end)()
            for worker in late:
                worker.process.join(_GRACE)
        for worker in workers:
            # A process that even the last signal has not ended yet is the system's to finish.
            with contextlib.suppress(ValueError):
                worker.process.close()


def _start(context: Any, fetcher: Fetcher, index: int, count: int, init: Callable[[int], Any] | None) -> _Worker:
    inbox, their_outbox = context.Pipe(duplex=False)
    their_inbox, outbox = context.Pipe(duplex=False)
    _held.update((inbox, outbox))
    info = WorkerInfo(index, count, fetcher.worker_seed(index), fetcher.dataset)
    process = context.Process(
        target=_work, args=(their_inbox, their_outbox, fetcher, info, init), name=f"weft-data-{index}", daemon=True
    )
    try:
        with warnings.catch_warnings():
            # Python warns of every thread, NumPy's own included, which know how to be forked. Python's may not.
            if threading.active_count() == 1:
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            process.start()
    except BaseException:
        inbox.close()
        outbox.close()
        raise
    finally:
        # While this process holds them open, it would not see the worker's end of them close.
        their_inbox.close()
        their_outbox.close()
    return _Worker(index, process, inbox, outbox)


def _work(inbox: Any, outbox: Any, fetcher: Fetcher, info: WorkerInfo, init: Callable[[int], Any] | None) -> None:
    """What a worker process does."""
    # Ctrl-C reaches every process of the terminal; the consumer is the one to answer it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for connection in _held:
        connection.close()
    random.seed(info.seed)
    np.random.seed(info.seed % 2**32)
    set_worker_info(info)
    place = f"worker {info.index} (process {os.getpid()})"
    # Sent by a thread: the next batch is made while the consumer is not reading, and tasks are always taken.
    ready: queue.SimpleQueue[_Message] = queue.SimpleQueue()
    threading.Thread(target=_send_all, args=(outbox, ready), daemon=True).start()
    if init is not None:
        try:
            init(info.index)
        except BaseException as error:
            ready.put(_packed(None, Failure(error, f"worker_init_fn of {place}")))
    streams: dict[int, Stream] = {}
    while True:
        try:
            run, epoch, number, task = inbox.recv()
        except (EOFError, OSError):
            return
        try:
            message = _packed(run, _make(fetcher, streams, run, epoch, number, task))
        except BaseException as error:
            message = _packed(run, Failure(error, place))
        ready.put(message)


def _make(fetcher: Fetcher, streams: dict[int, Stream], run: int, epoch: int, number: int, task: Any) -> Any:
    if fetcher.streaming:
        if run not in streams:
            streams.clear()
            streams[run] = Stream(fetcher, epoch)
        try:
            task = streams[run].up_to(number)
        except StopIteration:
            return _End()
    return fetcher(epoch, number, task)


def _packed(run: int | None, value: Any) -> _Message:
    """A message as a pickle, and the memory of its arrays beside it.

    The memory is copied: a dataset may fill the same array again while this one waits to be sent.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps((run, value), 5, buffer_callback=buffers.append)
    return head, [bytes(buffer.raw()) for buffer in buffers]


def _send_all(outbox: Any, ready: queue.SimpleQueue[_Message]) -> None:
    with contextlib.suppress(OSError):  # the consumer has stopped listening
        while True:
            head, buffers = ready.get()
            outbox.send_bytes(pickle.dumps([len(buffer) for buffer in buffers]))
            outbox.send_bytes(head)
            for buffer in buffers:
                if buffer:
                    outbox.send_bytes(buffer)
            del head, buffers


def _receive(inbox: Any) -> tuple[int | None, Any]:
    sizes = pickle.loads(inbox.recv_bytes())
    head = inbox.recv_bytes()
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if buffer:
            inbox.recv_bytes_into(buffer)
    run, value = pickle.loads(head, buffers=buffers)
    return run, value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
