"""What a worker process does: read tasks, make batches, send them, and end with its consumer.

Three threads: one reads tasks, so that the consumer is never kept from giving them and its end is noticed whatever the
dataset is doing; the main one makes batches; one sends them, so that the next is made while the consumer does not read.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import random
import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.data._failure import Failure
from weft.data._fetch import Fetcher, Stream
from weft.data._messages import Message, Parcel, packed, send
from weft.data._worker_info import WorkerInfo, set_worker_info
from weft.ops._parallel import set_num_threads

__all__ = ["GRACE", "LOOK", "End", "work"]

GRACE = 1.0  # seconds a worker is given to end by itself
LOOK = 0.5  # seconds between two looks at whether a silent process is alive


class End:
    """The stream has no batch of this number."""


def work(inbox: Any, outbox: Any, others: Iterable[Any], parcel: Parcel, index: int, count: int) -> None:
    """Be worker `index`. `others` are pipes that a forked worker has copies of and must not hold open."""
    _take_signals()
    set_num_threads(1)  # as many workers as there are cores would want as many threads each
    for pipe in others:
        if pipe is not inbox and pipe is not outbox:
            with contextlib.suppress(OSError):
                pipe.close()
    place = f"worker {index} (process {os.getpid()})"
    tasks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    ready: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read_all, args=(inbox, tasks, os.getppid()), daemon=True).start()
    threading.Thread(target=_send_all, args=(outbox, ready), daemon=True).start()
    doing = place
    try:
        fetcher, init = parcel.open()
        _set_seeds(fetcher, index, count)
        if init is not None:
            doing = f"worker_init_fn of {place}"
            init(index)
    except BaseException as error:  # sent to the consumer, whatever it is
        ready.put(packed((None, Failure(error, doing))))
        while tasks.get() is not None:
            pass
        return
    streams: dict[int, Stream] = {}
    while (pickled := tasks.get()) is not None:
        ready.put(_answer(fetcher, streams, pickled, place))


def _take_signals() -> None:
    # Ctrl-C reaches every process of the terminal; the consumer is the one to answer it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the consumer does before it ends is not for its workers to do as well.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _set_seeds(fetcher: Fetcher, index: int, count: int) -> None:
    info = WorkerInfo(index, count, fetcher.worker_seed(index), fetcher.dataset)
    random.seed(info.seed)
    # Not np.random.seed: it waits for a lock, which a thread of the consumer may have held when this was forked.
    fresh = np.random.MT19937(info.seed)
    np.random.set_bit_generator(fresh)  # type: ignore[attr-defined, unused-ignore]  # left out of NumPy's own stubs
    set_worker_info(info)


def _answer(fetcher: Fetcher, streams: dict[int, Stream], pickled: bytes, place: str) -> Message:
    run = None
    try:
        run, epoch, number, task = pickle.loads(pickled)
        return packed((run, _make(fetcher, streams, run, epoch, number, task)))
    except BaseException as error:  # sent to the consumer, whatever it is
        return packed((run, Failure(error, place)))


def _make(fetcher: Fetcher, streams: dict[int, Stream], run: int, epoch: int, number: int, task: Any) -> Any:
    if fetcher.streaming:
        if run not in streams:
            streams.clear()
            streams[run] = Stream(fetcher, epoch)
        try:
            task = streams[run].up_to(number)
        except StopIteration:
            return End()
    return fetcher(epoch, number, task)


def _read_all(inbox: Any, tasks: queue.SimpleQueue[bytes | None], parent: int) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            # A process that the consumer forked may hold the pipe open beyond the consumer's own end.
            while not inbox.poll(LOOK):
                if os.getppid() != parent:
                    raise EOFError
            tasks.put(inbox.recv_bytes())
    tasks.put(None)
    time.sleep(GRACE)
    os._exit(1)  # the dataset is still at work, and nobody waits for it


def _send_all(outbox: Any, ready: queue.SimpleQueue[Message]) -> None:
    with contextlib.suppress(OSError):  # the consumer has stopped listening
        while True:
            send(outbox, ready.get())
