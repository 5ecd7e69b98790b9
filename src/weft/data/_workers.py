"""Worker processes that make batches, as their consumer sees them; `_worker` is what they do.

Batch n is made by worker n % count, so the order needs no bookkeeping and does not depend on who is faster. Each worker
has two pipes of its own: nothing is shared that a killed worker could leave locked. Arrays travel outside the pickle.
A worker ends when the pipe from its consumer closes, which it does however the consumer ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from weft.data._closing import close_at_exit
from weft.data._failure import Failure, add_note
from weft.data._fetch import Fetcher
from weft.data._messages import Message, Parcel, receive, unpacked
from weft.data._worker import GRACE, LOOK, End, work
from weft.errors import WorkerError, WorkerTimeout

__all__ = ["Pool"]

_GRACE = GRACE


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
        if multiprocessing.current_process().daemon:
            raise WorkerError(
                "a worker process cannot have worker processes of its own",
                help="give the loader that is used inside the dataset num_workers=0; it may have prefetch threads",
            )
        self.timeout = timeout
        self.busy = False
        self.broken = False
        self._owner = os.getpid()
        self._run = 0
        self._workers: list[_Worker] = []
        close_at_exit(self)
        try:
            for index in range(count):
                self._add(context, Parcel((fetcher, init)), index, count)
        except BaseException as error:
            self.close()
            if isinstance(error, (pickle.PicklingError, AttributeError, TypeError)):
                add_note(
                    error,
                    f"weft.data: worker processes start by {context.get_start_method()!r}, for which the dataset, "
                    "collate_fn and worker_init_fn must be picklable: no lambdas or functions inside functions",
                )
            raise

    @property
    def free(self) -> bool:
        """Whether an iteration may use it: in another process than its own, none may."""
        return not self.busy and not self.broken and os.getpid() == self._owner

    def _add(self, context: Any, parcel: Parcel, index: int, count: int) -> None:
        forks = context.get_start_method() == "fork"
        # One at a time: a worker forked by another thread meanwhile would hold pipes that are not listed yet.
        with _starting if forks else contextlib.nullcontext():
            worker, theirs = _prepared(context, parcel, index, count)
            self._workers.append(worker)  # before it starts: an interrupt at any point leaves it to be closed
            try:
                _start(worker.process, forks)
            finally:
                # While this process holds them open, it would not see the worker's end of them close.
                _close(*theirs)

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
                if isinstance(batch, End):
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
        if os.getpid() != self._owner:
            raise WorkerError(
                f"batch {number}: the loader's workers are those of another process, which forked this one",
                help="iterate over the loader anew in this process",
            )
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
                message = self._message(worker, number)
            try:
                run, value = unpacked(message)
            except Exception as error:
                add_note(error, f"weft.data: batch {number} of {worker} was made, and could not be unpickled here")
                raise
            if run is None or run == self._run:
                break
            # Left over from an iteration that was stopped early.
        if isinstance(value, Failure):
            self.broken = self.broken or run is None
            raise value.error()
        return value

    def _message(self, worker: _Worker, number: int) -> Message:
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            left = LOOK if deadline is None else min(LOOK, max(0.0, deadline - time.monotonic()))
            ready = multiprocessing.connection.wait([worker.inbox, worker.process.sentinel], left)
            try:
                # A worker that has ended may have left its last words in the pipe.
                if worker.inbox in ready or worker.inbox.poll():
                    return receive(worker.inbox)
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

    def prepare_exit(self) -> None:
        """Tell the workers to end."""
        if os.getpid() == self._owner:
            for worker in self._workers:
                _close(worker.outbox, worker.inbox)

    def close(self) -> None:
        """End the workers: ask, then insist. Nothing of them is left afterwards."""
        # A forked process holds copies of other processes' pools, which are not its own to end.
        if os.getpid() != self._owner:
            return
        self.prepare_exit()
        workers, self._workers = self._workers, []
        self.broken = True
        started = [worker.process for worker in workers if worker.process.pid is not None]
        try:
            _end(started)
        except BaseException:  # an interrupt: there is no time for more than this
            for process in started:
                process.kill()
            raise


def _end(processes: list[Any]) -> None:
    _join(processes)
    for process in processes:
        if process.is_alive():
            process.terminate()
    _join(processes)
    for process in processes:
        if process.is_alive():
            process.kill()
    _join(processes)
    for process in processes:
        # A process that even the last signal has not ended yet is the system's to finish.
        with contextlib.suppress(ValueError):
            process.close()


def _join(processes: list[Any]) -> None:
    deadline = time.monotonic() + _GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


# Starting a process

# The consumer's ends of all pipes, and those it has not handed over yet. A forked worker inherits copies of them, which
# would keep the pipes of others open.
_held: weakref.WeakSet[Any] = weakref.WeakSet()
_starting = threading.RLock()


def _renew_lock() -> None:
    # The thread that held it is not in the forked process to release it.
    global _starting
    _starting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _prepared(context: Any, parcel: Parcel, index: int, count: int) -> tuple[_Worker, tuple[Any, Any]]:
    """A worker that has not started, and its own ends of the pipes."""
    inbox, their_outbox = context.Pipe(duplex=False)
    their_inbox, outbox = context.Pipe(duplex=False)
    _held.update((inbox, outbox, their_inbox, their_outbox))
    # By any other way than forking, a process gets the two pipes that are its own and no others.
    others = _held if context.get_start_method() == "fork" else ()
    process = context.Process(
        target=work,
        args=(their_inbox, their_outbox, others, parcel, index, count),
        name=f"weft-data-{index}",
        daemon=True,
    )
    return _Worker(index, process, inbox, outbox), (their_inbox, their_outbox)


def _start(process: Any, forks: bool) -> None:
    if not forks:
        process.start()
        return
    with _signals_held(), warnings.catch_warnings() if threading.active_count() == 1 else contextlib.nullcontext():
        # Python warns of every thread, NumPy's own included, which know how to be forked. Python's may not.
        if threading.active_count() == 1:
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        process.start()


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Signals wait: a forked process gets none before it has said what it does with them.

    Nor does a handler that raises cut short what Python and its modules do around a fork: the lock of `logging`, which
    they hold meanwhile, would stay locked for every other thread.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _close(*pipes: Any) -> None:
    for pipe in pipes:
        # Struck off first: another thread may fork while this one closes, and the number may be another file's then.
        _held.discard(pipe)
        pipe.close()
