"""Worker processes: the same batches, their failures, and their end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
from typing import Any

import loadable
import numpy as np
import pytest
from loadable import plain, raise_in_loop

import weft
from weft.data import ArrayDataset, DataLoader, TensorDataset, _workers, default_collate, pipeline
from weft.errors import WorkerError, WorkerTimeout

METHODS = multiprocessing.get_all_start_methods()
FORK = "fork" if "fork" in METHODS else None

# Python 3.12 and later warn of threads when forking; the test runner has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def loader(dataset: Any, **options: Any) -> DataLoader:
    return DataLoader(dataset, **{"num_workers": 2, "multiprocessing_context": FORK, **options})


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get no time to end by themselves."""
    monkeypatch.setattr(_workers, "_GRACE", 0.05)


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return plain(DataLoader(loadable.Numbers(11), 3, shuffle=True, seed=4))


@pytest.mark.parametrize("method", METHODS)
def test_start_methods(method: str, expected: list[Any]) -> None:
    numbers = loadable.Numbers(11)
    given = plain(loader(numbers, batch_size=3, shuffle=True, seed=4, multiprocessing_context=method))
    assert given == expected
    assert isinstance(given[0]["name"], list)
    failing = loader(loadable.Failing(3, 1, "raise_plain"), multiprocessing_context=method)
    with pytest.raises(ZeroDivisionError):
        list(failing)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("factor", [1, 3])
def test_order_and_draws_do_not_depend_on_workers(workers: int, factor: int) -> None:
    for dataset, shuffle in ((loadable.Drawing(10), True), (loadable.Stream(10), False)):
        alone = DataLoader(dataset, 3, shuffle=shuffle, seed=1)
        shared = loader(dataset, batch_size=3, shuffle=shuffle, seed=1, num_workers=workers, prefetch_factor=factor)
        for _ in range(2):
            assert plain(shared) == plain(alone)


def test_a_pipeline_in_workers_is_reshuffled_each_epoch() -> None:
    source = pipeline(range(12)).shuffle(5, seed=2)
    shared = loader(source, batch_size=4)
    epochs = [np.concatenate(list(shared)).tolist() for _ in range(2)]
    assert epochs == [list(source), list(source.at_epoch(1))]
    assert epochs[0] != epochs[1]


def test_single_samples() -> None:
    assert list(loader(["a", "b", "c"], batch_size=None)) == ["a", "b", "c"]
    assert list(loader(loadable.Stream(3), batch_size=None, seed=0)) == list(
        DataLoader(loadable.Stream(3), None, seed=0)
    )


def test_arrays_arrive_whole_writable_and_their_own() -> None:
    rng = np.random.default_rng(0)
    dataset = ArrayDataset(
        big=rng.normal(size=(6, 200, 300)),
        fortran=np.asfortranarray(rng.normal(size=(6, 3))),
        empty=np.zeros((6, 0)),
        strange=np.array([(i, i / 2) for i in range(6)], dtype="i4,f8"),
    )
    for batch, start in zip(loader(dataset, batch_size=4), (0, 4), strict=True):
        for name, array in zip(dataset.names, dataset.arrays, strict=True):
            np.testing.assert_array_equal(batch[name], array[start : start + 4])
            assert batch[name].dtype == array.dtype
            assert batch[name].flags.writeable
    (x,) = next(iter(loader(TensorDataset(np.eye(2)), batch_size=2)))
    assert isinstance(x, weft.Tensor)
    # The array is filled again before it is sent.
    assert [batch[0] for batch in loader(loadable.Scratch(8), batch_size=None, prefetch_factor=4)] == list(range(8))


def test_tasks_larger_than_a_pipe_holds() -> None:
    order = np.arange(200_000)[::-1].tolist()
    batches = loader(range(200_000), batch_size=60_000, sampler=order, collate_fn=np.array, prefetch_factor=3)
    assert np.concatenate(list(batches)).tolist() == order


def test_workers_know_themselves() -> None:
    made = list(loader(loadable.Who(4), batch_size=None, seed=3))
    assert [sample[:3] for sample in made] == [(0, 2, 4), (1, 2, 4)] * 2
    assert made[0][3] != os.getpid() and made[0][3] == made[2][3] != made[1][3]
    assert made[0][4] != made[1][4] and made[0][5] != made[1][5], "each worker has random numbers of its own"
    assert [sample[4:] for sample in made] == [
        sample[4:] for sample in loader(loadable.Who(4), batch_size=None, seed=3)
    ]
    marks = list(loader(loadable.Marked(2), batch_size=None, worker_init_fn=loadable.mark))
    assert marks == ["marked 0", "marked 1"]
    assert weft.data.get_worker_info() is None


# Failures


@pytest.mark.parametrize("seen", [0, 1, 4])
def test_an_exception_comes_where_its_batch_would(seen: int) -> None:
    batches = iter(loader(loadable.Failing(6, seen, "raise_plain"), batch_size=None))
    assert [next(batches) for _ in range(seen)] == list(range(seen))
    with pytest.raises(ZeroDivisionError) as caught:
        next(batches)
    shown = "".join(traceback.format_exception(caught.value))
    assert "loadable.py" in shown and "_ = 1 / a_local_number" in shown and "in raise_plain" in shown
    assert f"The traceback in worker {seen % 2} (process " in shown
    assert next(batches, "end") == "end"
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("raise_own", WorkerError, "failed: loadable.Picky: left and right\n  help: the exception itself could not"),
        ("raise_unpicklable", WorkerError, "failed: loadable.Unpicklable: <function"),
        ("unpicklable", Exception, "(?i)pickle"),
        ("raise_stop", RuntimeError, "StopIteration"),
        ("leave", WorkerError, r"batch 1: worker 1 \(process \d+\) ended with exit status 3\n  help: what it wrote"),
    ],
)
def test_exceptions_of_every_kind(how: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        list(loader(loadable.Failing(4, 1, how), collate_fn=loadable.as_is))
    if how.startswith("raise"):
        error: BaseException | None = caught.value
        notes = "".join(getattr(error, "__notes__", [])) + "".join(getattr(error.__cause__, "__notes__", []))
        assert f"in {how}" in notes


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_worker_is_an_error_and_not_a_hang() -> None:
    batches = iter(loader(loadable.Failing(8, 3, "kill"), batch_size=None, prefetch_factor=1))
    begun = time.monotonic()
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(WorkerError, match=r"batch 3: worker 1 .* was killed by signal 9 \(SIGKILL\)\n  help: .*memory"):
        next(batches)
    assert time.monotonic() - begun < 10
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_worker_killed_while_it_waits() -> None:
    batches = iter(loader(range(100), batch_size=None, prefetch_factor=1))
    next(batches)
    victim = multiprocessing.active_children()[0]
    os.kill(victim.pid or 0, signal.SIGTERM)
    victim.join(10)
    with pytest.raises(WorkerError, match="killed by signal 15"):
        list(batches)


def test_a_stream_that_fails() -> None:
    batches = iter(loader(loadable.FailingStream(), batch_size=2))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="the sixth"):
        next(batches)


def test_a_worker_that_cannot_start() -> None:
    with pytest.raises(LookupError, match="worker 1 found nothing") as caught:
        list(loader(range(4), worker_init_fn=loadable.fail_to_start))
    assert "worker_init_fn of worker 1" in caught.value.__notes__[0]


@pytest.mark.skipif("spawn" not in METHODS, reason="spawn")
def test_what_cannot_be_pickled_is_refused_before_anything_starts() -> None:
    with pytest.raises(Exception, match=r"(?i)pickle") as caught:
        list(loader(range(4), collate_fn=lambda x: x, multiprocessing_context="spawn"))
    assert any("must be picklable: no lambdas" in note for note in caught.value.__notes__)


@pytest.mark.usefixtures("hasty")
def test_timeout() -> None:
    with pytest.raises(WorkerTimeout, match=r"batch 1: no answer from worker 1 .* after 0.05 seconds") as caught:
        list(loader(loadable.Failing(4, 1, "hang"), timeout=0.05))
    assert isinstance(caught.value, TimeoutError)


# Stopping early


def test_break_and_exception_and_garbage() -> None:
    endless = pipeline(range(10)).repeat()
    for dataset in (range(1000), endless):
        for _ in loader(dataset, batch_size=2):
            assert len(multiprocessing.active_children()) == 2
            break
        assert multiprocessing.active_children() == []
        with pytest.raises(InterruptedError):
            raise_in_loop(loader(dataset, batch_size=2), InterruptedError)
        assert multiprocessing.active_children() == []
        held: list[Any] = [iter(loader(dataset))]
        next(held[0])
        held.append(held)  # a cycle, for the collector to find
        del held
        gc.collect()
        assert multiprocessing.active_children() == []
    iter(loader(range(3)))  # never begun


@pytest.mark.usefixtures("hasty")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_an_interrupt_while_waiting() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            list(loader(loadable.Failing(4, 1, "hang")))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert multiprocessing.active_children() == []


# Persistent workers


def processes() -> set[int | None]:
    return {process.pid for process in multiprocessing.active_children()}


def test_persistent_workers_stay_until_closed(expected: list[Any]) -> None:
    kept = loader(loadable.Numbers(11), batch_size=3, shuffle=True, seed=4, persistent_workers=True)
    assert plain(kept) == expected
    pids = processes()
    assert len(pids) == 2
    for _ in kept:
        break  # the leftovers of this epoch are not mistaken for the next one's
    kept.set_epoch(0)
    first = iter(kept)
    second = iter(kept)  # the workers are taken: this one gets others
    pairs = list(zip(first, second, strict=True))
    assert plain(pair[0] for pair in pairs) == expected
    kept.set_epoch(1)
    assert plain(pair[1] for pair in pairs) == plain(kept)
    assert processes() == pids
    kept.close()
    assert processes() == set()
    kept.set_epoch(0)
    with kept:
        assert plain(kept) == expected
        assert len(processes() - pids) == 2
    assert processes() == set()


def test_persistent_workers_end_with_their_loader() -> None:
    kept = loader(range(4), persistent_workers=True)
    list(kept)
    assert len(processes()) == 2
    del kept
    gc.collect()
    assert processes() == set()


def test_persistent_workers_after_a_failure() -> None:
    kept = loader(loadable.Failing(6, 2, "raise_plain"), persistent_workers=True)
    with kept:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                list(kept)
        assert len(processes()) == 2
    killed = loader(loadable.Failing(6, 2, "leave"), persistent_workers=True)
    with killed:
        for _ in range(2):
            with pytest.raises(WorkerError):
                list(killed)
            assert processes() == set()
    closed = loader(range(9), persistent_workers=True)
    batches = iter(closed)
    next(batches)
    closed.close()
    with pytest.raises(WorkerError, match="workers were closed"):
        list(batches)


def test_persistent_streams_begin_anew() -> None:
    with loader(loadable.Stream(7), batch_size=2, seed=5, persistent_workers=True) as kept:
        alone = DataLoader(loadable.Stream(7), 2, seed=5)
        for _ in kept:
            break
        list(alone)
        for _ in range(2):
            assert plain(kept) == plain(alone)


def test_resuming_in_workers(expected: list[Any]) -> None:
    for dataset in (loadable.Drawing(11), loadable.Stream(11)):
        whole = plain(DataLoader(dataset, 2, seed=9))
        for seen in (0, 1, 3, 6):
            stopped = loader(dataset, batch_size=2, seed=9)
            batches = iter(stopped)
            assert plain(next(batches) for _ in range(seen)) == whole[:seen]
            resumed = loader(dataset, batch_size=2, num_workers=3)
            resumed.load_state_dict(stopped.state_dict())
            del batches
            assert plain(resumed) == whole[seen:]


def test_a_pool_inherited_by_a_forked_process_is_not_its_to_end() -> None:
    batches = iter(loader(range(20), batch_size=None))
    next(batches)
    pool = next(o for o in gc.get_objects() if isinstance(o, _workers.Pool) and o._workers)
    pool._owner += 1
    pool.close()
    assert len(processes()) == 2
    pool._owner -= 1
    assert list(batches) == list(range(1, 20))


def test_threads_may_use_loaders_of_their_own() -> None:
    results: dict[int, Any] = {}

    def use(seed: int) -> None:
        results[seed] = plain(loader(range(9), batch_size=2, shuffle=True, seed=seed, num_workers=1))

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {seed: plain(DataLoader(range(9), 2, shuffle=True, seed=seed)) for seed in range(2)}


def test_collate_in_workers_is_the_same_function() -> None:
    numbers = loadable.Numbers(3)
    (batch,) = loader(numbers, batch_size=3)
    assert plain([batch]) == plain([default_collate([numbers[i] for i in range(3)])])
