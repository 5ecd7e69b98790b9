"""DataLoader in one process: order, epochs, state, background threads."""

from __future__ import annotations

import gc
import itertools
import json
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Iterator
from typing import Any

import loadable
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loadable import plain, raise_in_loop

import weft
from weft.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, pipeline
from weft.errors import StateError, WorkerTimeout

quick = settings(derandomize=True, deadline=None, max_examples=50)
THREADS = [0, 1, 3]


@quick
@given(st.integers(0, 20), st.integers(1, 6), st.booleans(), st.sampled_from(THREADS))
def test_batches_in_order(total: int, size: int, drop_last: bool, threads: int) -> None:
    items = [i * i for i in range(total)]
    expected = [items[i : i + size] for i in range(0, total, size)]
    if drop_last and total % size:
        expected.pop()
    for dataset in (items, pipeline(lambda: iter(items)), pipeline(items)):
        loader = DataLoader(dataset, size, drop_last=drop_last, prefetch=threads)
        assert plain(loader) == plain(loader) == expected
        if dataset is items:
            assert len(loader) == len(expected)


def test_length() -> None:
    assert len(DataLoader(range(5), None)) == 5
    assert len(DataLoader(loadable.Stream(5), 2)) == 3
    assert len(DataLoader(loadable.Stream(5), 2, drop_last=True)) == 2
    assert len(DataLoader(loadable.Stream(5), None)) == 5
    assert len(DataLoader(range(9), sampler=[3, 4, 5], batch_size=2)) == 2
    with pytest.raises(TypeError):
        len(DataLoader(iter([1])))


def test_samplers_and_collate() -> None:
    assert plain(DataLoader("abcdef", 2, sampler=[5, 0, 2])) == [["f", "a"], ["c"]]
    assert plain(DataLoader("abcdef", batch_sampler=[[5, 0], [1]])) == [["f", "a"], ["b"]]
    assert plain(DataLoader("abc", None, sampler=[2, 0])) == ["c", "a"]
    assert plain(DataLoader(range(4), 2, collate_fn=sum)) == [1, 5]
    assert plain(DataLoader("ab", None, collate_fn=str.upper)) == ["A", "B"]
    loader = DataLoader(range(6), batch_sampler=BatchSampler(RandomSampler(range(6), 3), 4))
    assert isinstance(loader.sampler, RandomSampler)
    assert sorted(itertools.chain(*plain(loader))) == list(range(6))
    assert isinstance(DataLoader([]).sampler, SequentialSampler)
    assert plain(DataLoader([])) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is at least 1"),
        ({"batch_size": None, "drop_last": True}, "no batches"),
        ({"shuffle": True, "sampler": [0]}, "either shuffle or a sampler"),
        ({"batch_sampler": [[0]], "shuffle": True}, "leave batch_size, shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "leave batch_size, shuffle"),
        ({"num_workers": -1}, "num_workers is not negative"),
        ({"prefetch": -1}, "prefetch is not negative"),
        ({"prefetch": 1, "num_workers": 1}, "give one of them"),
        ({"prefetch_factor": 0}, "prefetch_factor is at least 1"),
        ({"timeout": -1}, "timeout is not negative"),
        ({"dataset": iter([]), "shuffle": True}, "comes in its own order"),
        ({"seed": -3}, "not negative"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(**{"dataset": [1, 2], **options})


def test_what_is_not_a_dataset() -> None:
    with pytest.raises(TypeError, match="int allows neither"):
        DataLoader(5)


# Epochs


@pytest.mark.parametrize("threads", THREADS)
def test_every_epoch_has_its_order(threads: int) -> None:
    loader = DataLoader(range(20), 4, shuffle=True, seed=7, prefetch=threads)
    epochs = [plain(loader) for _ in range(3)]
    assert all(sorted(itertools.chain(*epoch)) == list(range(20)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    other = DataLoader(range(20), 4, shuffle=True, seed=7)
    for number in (2, 0, 1):
        other.set_epoch(number)
        assert other.epoch == number
        assert plain(other) == epochs[number]
        assert other.epoch == number + 1
    assert plain(DataLoader(range(20), 4, shuffle=True, seed=8)) != epochs[0]
    order = RandomSampler(range(20), 7)
    assert [i for batch in epochs[0] for i in batch] == list(order)


def test_an_epoch_left_early_counts() -> None:
    loader = DataLoader(range(20), 4, shuffle=True, seed=7)
    for _ in loader:
        break
    expected = DataLoader(range(20), 4, shuffle=True, seed=7)
    expected.set_epoch(1)
    assert plain(loader) == plain(expected)


def test_iterations_beside_each_other() -> None:
    loader = DataLoader(range(12), 3, shuffle=True, seed=1)
    expected = [plain(loader), plain(loader)]
    loader.set_epoch(0)
    one, two = iter(loader), iter(loader)
    pairs = [(next(one), next(two)) for _ in range(4)]
    assert [plain(side) for side in zip(*pairs, strict=True)] == expected


def test_without_a_seed_weft_gives_one() -> None:
    with weft.random.isolated(3):
        first = plain(DataLoader(range(20), 20, shuffle=True))
    with weft.random.isolated(3):
        assert plain(DataLoader(range(20), 20, shuffle=True)) == first
    assert plain(DataLoader(range(20), 20, shuffle=True)) != first


@pytest.mark.parametrize("dataset", [loadable.Drawing(10), loadable.Stream(10)])
def test_draws_belong_to_the_batch_and_the_epoch(dataset: Any) -> None:
    with weft.random.isolated(0) as outside:
        before = outside.bit_generator.state
        loader = DataLoader(dataset, 3, seed=2)
        epochs = [plain(loader) for _ in range(2)]
        assert str(outside.bit_generator.state) == str(before), "the caller's own numbers are not used up"
    assert epochs[0] != epochs[1]
    for threads in (1, 3):
        threaded = DataLoader(dataset, 3, seed=2, prefetch=threads, prefetch_factor=1)
        assert [plain(threaded) for _ in range(2)] == epochs
    draws = [draw for epoch in epochs for _, batch in epoch for draw in batch]
    assert len(set(draws)) == len(draws)


# State


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dataset", [loadable.Drawing(11), loadable.Stream(11), pipeline(range(11)).shuffle(4, 1)])
def test_resuming_continues_with_the_same_batches(dataset: Any, threads: int) -> None:
    shuffle = isinstance(dataset, loadable.Drawing)
    whole = DataLoader(dataset, 2, shuffle=shuffle, seed=3)
    expected = [plain(whole) for _ in range(3)]
    for seen in range(7):
        stopped = DataLoader(dataset, 2, shuffle=shuffle, seed=3, prefetch=threads)
        list(stopped)
        batches = iter(stopped)
        assert plain(next(batches) for _ in range(seen)) == expected[1][:seen]
        state = json.loads(json.dumps(stopped.state_dict()))
        assert (state["epoch"], state["batches"]) == (1, seen)
        resumed = DataLoader(dataset, 2, shuffle=shuffle, prefetch=threads)
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state and resumed.epoch == 1
        assert plain(resumed) == expected[1][seen:]
        assert plain(resumed) == expected[2]
        del batches


def test_the_state_between_epochs() -> None:
    loader = DataLoader(range(4), 2, shuffle=True, seed=3)
    start = loader.state_dict()
    assert (start["epoch"], start["batches"]) == (0, 0)
    list(loader)
    after = loader.state_dict()
    assert (after["epoch"], after["batches"]) == (1, 0)
    for _ in loader:
        break
    assert (loader.state_dict()["epoch"], loader.state_dict()["batches"]) == (1, 1)
    loader.load_state_dict(start)
    again = DataLoader(range(4), 2, shuffle=True, seed=3)
    assert plain(loader) == plain(again)


def test_a_sampler_of_the_users_own_is_resumed_too() -> None:
    stopped = DataLoader(range(9), 2, sampler=RandomSampler(range(9)))
    batches = iter(stopped)
    next(batches)
    resumed = DataLoader(range(9), 2, sampler=RandomSampler(range(9)))
    resumed.load_state_dict(stopped.state_dict())
    assert plain(resumed) == plain(batches)


def test_skipped_batches_are_not_made() -> None:
    made: list[int] = []

    class Watched(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            made.append(index)
            return index

    loader = DataLoader(Watched(6), 2, seed=0)
    loader.load_state_dict({**loader.state_dict(), "batches": 2})
    assert plain(loader) == [[4, 5]]
    assert made == [4, 5]


def test_states_that_do_not_fit() -> None:
    loader = DataLoader(range(4), 2, shuffle=True, seed=3)
    state = loader.state_dict()
    for wrong, message in (
        ({}, "a loader's state has epoch, batches, .* got nothing"),
        ({**state, "batch_size": 3}, "of a loader with batch_size 3, this one has 2"),
        ({**state, "samples": 5}, "of a loader with samples 5, this one has 4"),
        ({**state, "order": None}, "of a loader that does not shuffle"),
    ):
        with pytest.raises(StateError, match=message):
            loader.load_state_dict(wrong)
    with pytest.raises(TypeError, match=r"got str; read a file with nn\.load_state"):
        loader.load_state_dict("loader.safetensors")  # type: ignore[arg-type]  # the mistake
    assert loader.state_dict() == state
    with pytest.raises(StateError, match="of a loader that shuffles"):
        DataLoader(range(4), 2).load_state_dict(state)


# Background threads


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("weft-data")]


def test_threads_work_at_the_same_time_and_ahead() -> None:
    together = threading.Barrier(3)

    class Meeting(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            together.wait(10)  # passes only when three samples are being made at once
            return index

    assert plain(DataLoader(Meeting(9), None, prefetch=3)) == list(range(9))

    begun = threading.Semaphore(0)

    class Counting(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            begun.release()
            return index

    batches = iter(DataLoader(Counting(100), None, prefetch=2, prefetch_factor=3))
    assert next(batches) == 0
    for _ in range(7):
        assert begun.acquire(timeout=10)
    # Six ahead of the one that was taken, and no more.
    assert not begun.acquire(timeout=0.05)
    assert list(batches) == list(range(1, 100))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("seen", [0, 1, 5])
def test_an_exception_comes_where_its_batch_would(threads: int, seen: int) -> None:
    batches = iter(DataLoader(loadable.Failing(6, seen, "raise_plain"), None, prefetch=threads))
    assert [next(batches) for _ in range(seen)] == list(range(seen))
    with pytest.raises(ZeroDivisionError) as caught:
        next(batches)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "raise_plain" and frames[-1].line == "_ = 1 / a_local_number"
    assert frames[0].name == "test_an_exception_comes_where_its_batch_would"
    assert next(batches, "end") == "end"
    assert not ours()


@pytest.mark.parametrize("threads", THREADS)
def test_stop_iteration_out_of_a_dataset_does_not_pass_for_the_end(threads: int) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(loadable.Failing(6, 2, "raise_stop"), prefetch=threads))


@pytest.mark.parametrize("threads", THREADS)
def test_a_sampler_or_a_stream_that_fails(threads: int) -> None:
    def order() -> Iterator[int]:
        yield 0
        raise LookupError("no more")

    batches = iter(DataLoader(range(5), sampler=order(), prefetch=threads))
    assert next(batches).tolist() == [0]
    with pytest.raises(LookupError, match="no more"):
        next(batches)
    batches = iter(DataLoader(loadable.FailingStream(), 2, prefetch=threads))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="the sixth"):
        next(batches)


@pytest.mark.parametrize("dataset", [range(1000), pipeline(range(10)).repeat()])
def test_stopping_early_ends_the_threads(dataset: Any) -> None:
    for _ in DataLoader(dataset, 2, prefetch=3):
        assert len(ours()) == 3
        break
    assert not ours()
    for stop in (InterruptedError, KeyboardInterrupt):
        with pytest.raises(stop):
            raise_in_loop(DataLoader(dataset, 2, prefetch=3), stop)
        assert not ours()
    held: list[Any] = [iter(DataLoader(dataset, prefetch=2))]
    next(held[0])
    held.append(held)  # a cycle, for the collector to find
    del held
    gc.collect()
    assert not ours()
    iter(DataLoader(dataset, prefetch=2))  # never begun


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_an_interrupt_while_waiting() -> None:
    going_on = threading.Event()

    class Waiting(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            going_on.wait(10)
            return index

    def interrupt(*_: Any) -> None:
        going_on.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            list(DataLoader(Waiting(3), prefetch=2))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not ours()


def test_timeout_of_threads() -> None:
    going_on = threading.Event()

    class Waiting(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            going_on.wait(10)
            return index

    with pytest.raises(WorkerTimeout, match=r"no result from a background thread after 0.02 seconds"):
        list(DataLoader(Waiting(3), prefetch=2, timeout=0.02))
    going_on.set()  # a thread cannot be stopped from outside: it ends when what it waits for comes
    deadline = time.monotonic() + 10
    while ours() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not ours()


def test_garbage_may_be_collected_by_one_of_the_threads() -> None:
    """The iterator's end then comes in the middle of that thread's own work."""
    held: list[Any] = []
    collected = threading.Event()

    class Collecting(loadable.Numbers):
        def __getitem__(self, index: int) -> int:
            if index == 3:
                assert may_collect.wait(10)
                gc.collect()
                collected.set()
            return index

    may_collect = threading.Event()
    held.append(iter(DataLoader(Collecting(100), None, prefetch=1, prefetch_factor=4)))
    held.append(held)
    gc.disable()
    try:
        assert next(held[0]) == 0
        del held
        may_collect.set()
        assert collected.wait(10)
    finally:
        gc.enable()
    deadline = time.monotonic() + 10
    while ours() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not ours()


def test_threads_see_the_consumers_context() -> None:
    class Reading(loadable.Numbers):
        def __getitem__(self, index: int) -> Any:
            return MODE.get()

    from contextvars import ContextVar

    MODE: ContextVar[str] = ContextVar("mode", default="none")
    MODE.set("ours")
    assert list(DataLoader(Reading(3), None, prefetch=2)) == ["ours"] * 3


def test_batches_are_let_go() -> None:
    """What was given is not kept by the loader, not even while the next is awaited."""

    class Box:
        pass

    class Boxes(loadable.Numbers):
        def __getitem__(self, index: int) -> Any:
            return Box()

    for threads in THREADS:
        batches = iter(DataLoader(Boxes(5), None, prefetch=threads))
        boxes = [weakref.ref(next(batches)) for _ in range(4)]
        assert [box() for box in boxes[:-1]] == [None] * 3
        assert len(list(batches)) == 1

    given: list[weakref.ref[Box]] = []

    class Watching(loadable.Numbers):
        def __getitem__(self, index: int) -> Any:
            deadline = time.monotonic() + 5
            while index and given[-1]() is not None and time.monotonic() < deadline:
                time.sleep(0.001)
            alive = bool(index) and given[-1]() is not None
            box = Box()
            given.append(weakref.ref(box))
            return alive, box

    for alive, _ in DataLoader(Watching(3), None, prefetch=1, prefetch_factor=1):
        assert not alive
        del _
