"""However a consumer ends, nothing of its loaders stays behind; whatever fails in a worker, the consumer is told."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import loadable
import numpy as np
import pytest

from weft.data import DataLoader, _workers, pipeline
from weft.data._failure import Failure
from weft.errors import WorkerError, WorkerTimeout

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="fork, and signals of POSIX"),
    # Python 3.12 and later warn of threads when forking; the test runner has some of its own.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def loader(dataset: Any, **options: Any) -> DataLoader:
    return DataLoader(dataset, **{"num_workers": 2, "multiprocessing_context": "fork", **options})


# The consumer's end

Begin = Callable[..., "subprocess.Popen[str]"]
# What runs in the background of a shell ignores interrupts, and so does whatever it starts.
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Starts a program in a session of its own, of which nothing is left after the test, whatever its outcome."""
    begun: list[subprocess.Popen[str]] = []

    def begin(program: str, *arguments: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(loadable.__file__).parent), *filter(None, sys.path)])
        process = subprocess.Popen(
            [sys.executable, "-c", HEARS + program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": path},
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ended(process: subprocess.Popen[str]) -> str:
    """What the program said, once it is gone: its workers hold the pipes open too, to the end of the last of them."""
    return process.communicate(timeout=30)[1]


# The last wait is in short steps. Python 3.14 does not look for signals between print and a sleep that follows it: an
# interrupt that comes in between would be noticed after the sleep.
PROGRAM = """
import sys, time, loadable, os
from weft.data import DataLoader

kind, method, how = sys.argv[1:]
batches = iter(DataLoader(loadable.Slow(kind), num_workers=3, prefetch_factor=1, multiprocessing_context=method))
for batch in batches:
    print("batch", flush=True)
    if how == "fork" and os.fork() == 0:
        os.close(1), os.close(2)  # what is left open are the pipes of the workers
    while how in ("wait", "fork"):
        time.sleep(0.01)
    break
if how == "raise":
    raise LookupError
"""

ENDS = [
    *((kind, "fork", end) for kind in ("busy", "idle", "stuck") for end in ("SIGINT", "SIGTERM", "SIGKILL")),
    ("stuck", "spawn", "SIGKILL"),
    ("stuck", "forkserver", "SIGKILL"),
    ("idle", "forkserver", "SIGINT"),
]


@pytest.mark.parametrize(("kind", "method", "end"), ENDS)
def test_a_consumer_that_ends_takes_its_workers_along(begin: Begin, kind: str, method: str, end: str) -> None:
    process = begin(PROGRAM, kind, method, "wait")
    assert process.stdout is not None and process.stdout.readline() == "batch\n"
    if end == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    else:
        os.kill(process.pid, getattr(signal, end))
    errors = ended(process)
    assert process.returncode == -getattr(signal, end)
    assert errors.count("Traceback") == (1 if end == "SIGINT" else 0), errors


@pytest.mark.parametrize("how", ["return", "raise"])
def test_a_program_that_ends_by_itself(begin: Begin, how: str) -> None:
    process = begin(PROGRAM, "stuck", "fork", how)
    errors = ended(process)
    assert process.returncode == (how == "raise")
    assert errors.count("Traceback") == (how == "raise"), errors


def test_a_process_the_consumer_forked_does_not_keep_its_workers(begin: Begin) -> None:
    process = begin(PROGRAM, "idle", "fork", "fork")
    assert process.stdout is not None and process.stdout.readline() == "batch\n"
    process.kill()
    assert ended(process) == ""
    os.killpg(process.pid, 0)  # the forked process, which is still there and holds their pipes


EARLY = """
import os, signal, threading, time
from weft.data import DataLoader, _workers

def late(*args, work=_workers.work):
    time.sleep(0.5)
    work(*args)

_workers.work = late
threading.Timer(0.2, os.killpg, (0, signal.SIGINT)).start()
list(DataLoader(range(4), num_workers=2, multiprocessing_context="fork"))
"""


def test_an_interrupt_while_workers_start_is_the_consumers_alone(begin: Begin) -> None:
    process = begin(EARLY)
    errors = ended(process)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == 1, errors


ALARM = """
import logging, os, signal, threading, time
from weft.data import DataLoader

class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
os.register_at_fork(after_in_parent=lambda: time.sleep(0.5))  # an exception in here is shown, and goes no further
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    list(DataLoader(range(4), num_workers=2, multiprocessing_context="fork"))
except Alarm:
    print("raised")
logger = threading.Thread(target=logging.getLogger, args=("other",), daemon=True)
logger.start()
logger.join(10)
print("locked" if logger.is_alive() else "free")
"""


def test_an_alarm_while_workers_start_is_raised_after_it(begin: Begin) -> None:
    process = begin(ALARM)
    output, errors = process.communicate(timeout=30)
    assert (output.split(), errors) == (["raised", "free"], "")


EXIT = """
import gc, sys, time, loadable
from weft.data import DataLoader, pipeline

gc.disable()
slow = loadable.Slow(sys.argv[2])
fork = dict(num_workers=2, multiprocessing_context="fork")
kept = DataLoader(slow, None, **fork, persistent_workers=True)
batches = iter({
    "threads": DataLoader(slow, None, prefetch=2),
    "steps": pipeline(slow).prefetch(2).map(abs, threads=2).prefetch(1),
    "processes": DataLoader(slow, None, **fork),
    "persistent": kept,
}[sys.argv[1]])
assert next(batches) == 0
held = [batches]
held.append(held)
if sys.argv[3] == "cycle":
    del held, batches  # found when the interpreter takes itself apart
"""


@pytest.mark.parametrize("held", ["name", "cycle"])
@pytest.mark.parametrize("what", ["threads", "steps", "processes", "persistent"])
@pytest.mark.parametrize("kind", ["busy", "stuck"])
def test_a_program_that_ends_while_it_iterates(begin: Begin, what: str, kind: str, held: str) -> None:
    begun = time.monotonic()
    process = begin(EXIT, what, kind, held)
    assert ended(process) == ""
    assert process.returncode == 0
    assert time.monotonic() - begun < 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_an_interrupt_while_closing() -> None:
    batches = iter(loader(loadable.Slow("stuck"), batch_size=None))
    assert next(batches) == 0
    children = multiprocessing.active_children()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            batches.close()  # type: ignore[attr-defined]  # the iterator is a generator
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for child in children:
        child.join(10)
        assert child.exitcode == -signal.SIGKILL


# Forking


def test_signals_are_not_the_consumers() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        (seen,) = list(loader(loadable.Handlers(1), batch_size=None))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == (signal.SIG_IGN, signal.SIG_DFL, 0)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_lock_of_numpy_held_by_another_thread() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with np.random.get_bit_generator().lock:
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    try:
        made = list(loader(loadable.Who(2), batch_size=None, timeout=15))
    finally:
        done.set()
        holder.join()
    assert made[0][5] != made[1][5]


def test_one_worker_starts_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker forked while another thread makes pipes would hold them open."""
    starting: list[int] = []
    most = 0

    def watched(process: Any, forks: bool) -> None:
        nonlocal most
        starting.append(1)
        most = max(most, len(starting))
        time.sleep(0.02)
        start(process, forks)
        starting.pop()

    start = _workers._start
    monkeypatch.setattr(_workers, "_start", watched)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(list(loader(range(4))))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(results), most) == (4, 1)


def test_pipes_are_struck_off_before_they_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a closed file is soon another's: a worker forked in between must not close that."""
    here = os.getpid()
    closed: list[bool] = []
    close = multiprocessing.connection.Connection.close

    def watched(pipe: Any) -> None:
        if os.getpid() == here:
            closed.append(pipe in _workers._held)
        close(pipe)

    monkeypatch.setattr(multiprocessing.connection.Connection, "close", watched)
    list(loader(range(4)))
    assert len(closed) >= 8 and not any(closed)


def test_iterators_that_were_forked() -> None:
    begun = iter(loader(range(9), batch_size=None, persistent_workers=True))
    next(begun)
    report = multiprocessing.get_context("fork").Queue()

    def use() -> None:
        try:
            next(begun)
        except WorkerError as error:
            report.put(str(error))

    child = multiprocessing.get_context("fork").Process(target=use)
    child.start()
    assert "are those of another process" in report.get(timeout=20)
    child.join(20)
    report.close()
    report.join_thread()
    assert list(begun) == list(range(1, 9)), "they are not the forked process's to end"

    threads = iter(pipeline(range(9)).prefetch())
    next(threads)
    with pytest.raises(WorkerError, match="background threads are in another process"):
        list(loader(threads, batch_size=None, num_workers=1, timeout=20))
    assert list(threads) == list(range(1, 9))


def test_loaders_in_loaders() -> None:
    for method in ("fork", "spawn"):
        for inner in ({}, {"prefetch": 2}):
            made = list(loader(loadable.Loading(**inner), batch_size=None, multiprocessing_context=method))
            assert made == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(
        WorkerError, match=r"cannot have worker processes of its own\n  help: .* num_workers=0"
    ) as caught:
        list(loader(loadable.Loading(num_workers=1)))
    assert "in __getitem__" in caught.value.__notes__[0]


def test_a_copy_of_a_loader_starts_workers_of_its_own() -> None:
    with loader(range(4), batch_size=None, persistent_workers=True) as kept:
        assert list(kept) == [0, 1, 2, 3]
        with pickle.loads(pickle.dumps(kept)) as copy:
            assert list(copy) == [0, 1, 2, 3]
            assert len(multiprocessing.active_children()) == 4


# Failures


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("raise_group", ExceptionGroup, "both"),
        ("raise_exit", SystemExit, "3"),
    ],
)
def test_exceptions_of_odd_kinds(how: str, kind: type[BaseException], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        list(loader(loadable.Failing(4, 1, how)))
    assert f"in {how}" in "".join(caught.value.__notes__)


def test_an_exception_that_takes_no_note() -> None:
    told = Failure(loadable.Frozen(7), "worker 1").error()
    assert isinstance(told, WorkerError)
    assert "worker 1 failed: loadable.Frozen" in str(told) and "it takes no note" in str(told)
    assert "The traceback in worker 1" in told.__notes__[0]


def test_a_batch_that_cannot_be_unpickled() -> None:
    with pytest.raises(FileNotFoundError, match="no such archive") as caught:
        list(loader(loadable.Failing(4, 1, "missing"), batch_size=None))
    assert "batch 1 of worker 1" in caught.value.__notes__[-1]


def test_a_task_that_cannot_be_unpickled() -> None:
    with pytest.raises(FileNotFoundError, match="no such archive") as caught:
        list(loader(range(4), batch_size=None, sampler=[loadable.Missing()]))
    assert "in raise_missing" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_dataset_that_cannot_be_unpickled(method: str) -> None:
    with pytest.raises(FileNotFoundError, match="no such archive") as caught:
        list(loader(loadable.Fragile(4), multiprocessing_context=method))
    assert "The traceback in worker 0" in caught.value.__notes__[0] and "in __setstate__" in caught.value.__notes__[0]


def test_large_tasks_for_a_worker_that_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_workers, "_GRACE", 0.05)
    large = [[1], [0], [2] * 200_000, [3], [4] * 200_000]
    with pytest.raises(WorkerTimeout, match="batch 0: no answer from worker 0"):
        list(loader(loadable.Failing(5, 1, "hang"), batch_sampler=large, timeout=0.5, prefetch_factor=3))
