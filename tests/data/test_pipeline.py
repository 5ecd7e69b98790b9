"""Pipelines against plain Python."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import pickle
import threading
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import data
from weft.data import Batch, Map, Pipeline, Prefetch, Repeat, Shuffle, Skip, Take, Unbatch, pipeline

quick = settings(derandomize=True, deadline=None, max_examples=60)
ITEMS = st.lists(st.integers(-100, 100), max_size=25)


def ints(elements: Any) -> list[int]:
    return [int(element) for element in elements]


@quick
@given(ITEMS, st.integers(1, 7))
def test_unbatch_undoes_batch(items: list[int], size: int) -> None:
    source = pipeline(items)
    assert ints(source.batch(size).unbatch()) == items
    assert len(source.batch(size).unbatch()) == len(items)
    whole = items[: len(items) // size * size]
    assert ints(source.batch(size, drop_last=True).unbatch()) == whole
    assert len(source.batch(size, drop_last=True).unbatch()) == len(whole)
    batches = list(source.batch(size))
    again = list(source.batch(size).unbatch().batch(size))
    assert [b.tolist() for b in batches] == [b.tolist() for b in again]


@quick
@given(ITEMS, st.integers(1, 30) | st.none(), st.integers(0, 2**64), st.integers(0, 3))
def test_shuffle_is_a_permutation(items: list[int], buffer: int | None, seed: int, epoch: int) -> None:
    numbered = list(enumerate(items))
    shuffled = pipeline(numbered).shuffle(buffer, seed).at_epoch(epoch)
    out = list(shuffled)
    assert sorted(out) == numbered and len(shuffled) == len(items)
    assert list(shuffled) == out, "iterating again gives the same"
    if buffer is not None:
        # An element is in the buffer only once all but `buffer - 1` before it have gone.
        assert all(number - place < buffer for place, (number, _) in enumerate(out))
    if buffer == 1:
        assert out == numbered


def test_every_order_comes_equally_often() -> None:
    orders = [tuple(pipeline(range(3)).shuffle(seed=seed)) for seed in range(1200)]
    counts = {order: orders.count(order) for order in itertools.permutations(range(3))}
    # 200 expected of each, standard deviation 13: five of them allowed.
    assert all(abs(count - 200) < 65 for count in counts.values())
    # Through a buffer of two: whichever is drawn first, its place is taken by 2, and the two left are drawn evenly.
    orders = [tuple(pipeline(range(3)).shuffle(2, seed)) for seed in range(1200)]
    assert set(orders) == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0)}
    assert all(abs(orders.count(order) - 300) < 75 for order in set(orders))


STEPS: dict[str, tuple[Any, Any]] = {
    "map": (lambda p, n: p.map(lambda x: x * n), lambda xs, n: [x * n for x in xs]),
    "map in threads": (lambda p, n: p.map(lambda x: x * n, threads=2), lambda xs, n: [x * n for x in xs]),
    "filter": (lambda p, n: p.filter(lambda x: x % (n + 1)), lambda xs, n: [x for x in xs if x % (n + 1)]),
    "take": (lambda p, n: p.take(n), lambda xs, n: xs[:n]),
    "skip": (lambda p, n: p.skip(n), lambda xs, n: xs[n:]),
    "repeat": (lambda p, n: p.repeat(n), lambda xs, n: xs * n),
    "prefetch": (lambda p, n: p.prefetch(n + 1), lambda xs, n: xs),
    "batch and sum": (
        lambda p, n: p.batch(n + 1).map(np.sum).map(int),
        lambda xs, n: [sum(xs[i : i + n + 1]) for i in range(0, len(xs), n + 1)],
    ),
    "shuffle and sort": (
        lambda p, n: p.shuffle(n + 1, seed=n).batch(10**6, collate=sorted).filter(len).map(np.array).unbatch().map(int),
        lambda xs, n: sorted(xs),
    ),
    "endless": (lambda p, n: p.repeat().take(n), lambda xs, n: (xs * n)[:n]),
}


@quick
@given(ITEMS, st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 4)), max_size=4))
def test_steps_in_any_combination(items: list[int], chosen: list[tuple[str, int]]) -> None:
    built, expected = pipeline(items), items
    for name, n in chosen:
        make, mean = STEPS[name]
        built, expected = make(built, n), mean(expected, n)
        if len(expected) > 2000:
            return
    assert list(built) == expected
    assert list(built) == expected, "iterating again gives the same"
    try:
        length = len(built)
    except TypeError:
        assert any(name in ("filter", "shuffle and sort") for name, _ in chosen)
    else:
        assert length == len(expected)


def test_lengths_that_are_not_known() -> None:
    for unknown in (pipeline(lambda: [1]), pipeline(iter([1])), pipeline([1]).filter(bool), pipeline([[1]]).unbatch()):
        with pytest.raises(TypeError, match=r"the length of pipeline\(.*\).* is not known"):
            len(unknown.map(bool))
        assert unknown, "a pipeline is true, whatever its length"
    with pytest.raises(TypeError, match="repeats for ever has no length"):
        len(pipeline([1]).repeat())


def test_nothing_is_made_before_it_is_asked_for() -> None:
    made: list[int] = []

    def make(x: int) -> int:
        made.append(x)
        return x

    steps = pipeline(itertools.count()).map(make).take(3)
    assert made == []
    elements = iter(steps)
    assert next(elements) == 0 and made == [0]
    assert list(elements) == [1, 2] and made == [0, 1, 2]


def test_epochs() -> None:
    shuffled = pipeline(range(20)).shuffle(seed=5)
    epochs = [list(shuffled.at_epoch(epoch)) for epoch in range(4)]
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert list(shuffled.repeat(2)) == epochs[0] + epochs[1]
    assert list(shuffled.repeat(2).at_epoch(1)) == epochs[2] + epochs[3]
    assert list(shuffled.repeat().take(60)) == epochs[0] + epochs[1] + epochs[2]
    assert list(shuffled.repeat().at_epoch(1).take(20)) not in epochs
    assert list(shuffled.at_epoch(1).at_epoch(2)) == epochs[3]
    assert list(shuffled.at_epoch(2).skip(15)) == epochs[2][15:]
    assert next(iter(pipeline(shuffled.map(int).batch(20)).at_epoch(3))).tolist() == epochs[3]


def test_steps_of_one_seed_are_independent() -> None:
    """The second shuffle is not the first one again."""
    twice = list(pipeline(range(30)).shuffle(seed=1).shuffle(seed=1))
    once = list(pipeline(range(30)).shuffle(seed=1))
    assert twice != [once[i] for i in once]


def test_sources() -> None:
    assert list(pipeline(lambda: iter("ab")).repeat(2)) == list("abab")
    assert list(pipeline({"k": 1})) == ["k"]
    assert [row.tolist() for row in pipeline(np.eye(2))] == [[1, 0], [0, 1]]

    class Indexed:  # without an IndexError at its end
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index * 2

    assert list(pipeline(Indexed())) == [0, 2, 4] and len(pipeline(Indexed())) == 3
    assert pipeline(pipeline([1])) is not None and len(pipeline(pipeline([1]))) == 1

    class Epochs(data.IterableDataset):
        def __init__(self, epoch: int = 0) -> None:
            self.epoch = epoch

        def __iter__(self) -> Iterator[int]:
            return iter([self.epoch])

        def at_epoch(self, epoch: int) -> Epochs:
            return Epochs(epoch)

    assert list(pipeline(Epochs()).repeat(3)) == [0, 1, 2]
    with pytest.raises(TypeError, match="a pipeline needs an iterable, or a function that gives one, got int"):
        pipeline(5)  # type: ignore[arg-type]


def test_an_iterator_serves_once() -> None:
    steps = pipeline(iter([1, 2])).map(str)
    assert list(steps) == ["1", "2"]
    with pytest.raises(ValueError, match=r"gone through already; give it a function"):
        list(steps)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.batch(0), "batch: expected 1 or more, got 0"),
        (lambda p: p.shuffle(0), "shuffle: expected 1 or more, got 0"),
        (lambda p: p.take(-1), "take: expected 0 or more"),
        (lambda p: p.skip(-1), "skip: expected 0 or more"),
        (lambda p: p.repeat(-1), "repeat: expected 0 or more"),
        (lambda p: p.prefetch(0), "prefetch: expected 1 or more"),
        (lambda p: p.at_epoch(-1), "at_epoch: expected 0 or more"),
        (lambda p: p.flip(p=1.5), "p is a probability"),
        (lambda p: p.map(3), "expected a function, got int"),
        (lambda p: p.take(1.5), "interpreted as an integer"),
    ],
)
def test_numbers_out_of_range(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(pipeline([1]))


def test_steps_alone() -> None:
    assert list(Map([1, 2], str)) == ["1", "2"]
    assert sorted(Shuffle([1, 2, 3], 2, 0)) == [1, 2, 3]
    assert [b.tolist() for b in Batch(range(3), 2)] == [[0, 1], [2]]
    assert ints(Unbatch([np.array([1, 2]), np.array([3])])) == [1, 2, 3]
    assert list(Take(Repeat("ab"), 3)) == ["a", "b", "a"]
    assert list(Skip(Prefetch("abc"), 2)) == ["c"]


def test_a_step_of_ones_own() -> None:
    class Pairs(Pipeline):
        def __init__(self, source: Any) -> None:
            self.source = source

        def run(self, epoch: int) -> Iterator[Any]:
            return itertools.pairwise(self.source.run(epoch))

    assert list(Pairs(pipeline(range(4))).map(sum)) == [1, 3, 5]
    with pytest.raises(NotImplementedError, match="Pipeline has no run"):
        iter(Pipeline())


class Pair(NamedTuple):
    image: Any
    label: Any


@dataclasses.dataclass
class Record:
    image: Any
    label: Any


def test_parts_of_elements() -> None:
    assert list(pipeline([(1, 2), (3, 4)]).map(str, on=0)) == [("1", 2), ("3", 4)]
    assert list(pipeline([(1, 2)]).map(str, on=(0, 1))) == [("1", "2")]
    assert list(pipeline([[1, 2]]).map(str, on=-1)) == [[1, "2"]]
    original = {"a": 1, "b": 2}
    assert list(pipeline([original]).map(str, on="b")) == [{"a": 1, "b": "2"}]
    assert original == {"a": 1, "b": 2}, "elements are not changed in place"
    assert list(pipeline([Pair(1, 2)]).map(str, on="label")) == [Pair(1, "2")]
    assert list(pipeline([Pair(1, 2)]).map(str, on=0)) == [Pair("1", 2)]
    assert list(pipeline([Record(1, 2)]).map(str, on="image")) == [Record("1", 2)]
    with pytest.raises(TypeError, match="the element is a int, which has no such parts"):
        list(pipeline([1]).map(str, on=0))


# Failures and stopping


@pytest.mark.parametrize("threads", [0, 2])
def test_an_exception_says_where(threads: int) -> None:
    def reciprocal(x: int) -> float:
        return 1 / x

    elements = iter(pipeline([1, 2, 0, 3]).map(reciprocal, threads=threads).prefetch(2))
    assert [next(elements), next(elements)] == [1, 0.5]
    with pytest.raises(ZeroDivisionError) as caught:
        next(elements)
    assert caught.value.__notes__ == ["weft.data: in map(reciprocal), element 2"]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return 1 / x"
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(pipeline([1]).map(lambda _: next(iter([])), threads=threads))


def test_an_exception_in_an_image_step_says_where() -> None:
    with pytest.raises(weft.errors.ShapeError, match="larger than the image") as caught:
        list(pipeline([np.zeros((4, 4)), np.zeros((2, 2))]).crop(3))
    assert caught.value.__notes__ == ["weft.data: in crop(size=3, at='centre'), element 1"]
    with pytest.raises(TypeError, match=r"crop: the element is a tuple; say which part of it is meant: on=0"):
        list(pipeline([(np.zeros((4, 4)), 1)]).crop(3))
    with pytest.raises(TypeError, match=r"on='x'"):
        list(pipeline([{"x": np.zeros((4, 4))}]).crop(3))


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("weft-data")]


def test_stopping_early_ends_the_threads_and_closes_the_source() -> None:
    closed: list[str] = []

    def numbers() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.append("closed")

    def stop(elements: Any) -> None:
        for element in elements:
            if element == 5:
                break

    steps = pipeline(numbers).prefetch(2).map(lambda x: x, threads=2).prefetch(3)
    stop(steps)
    assert closed == ["closed"] and not ours()
    elements = iter(steps)
    next(elements)
    assert len(ours()) == 4
    del elements
    gc.collect()
    assert closed == ["closed"] * 2 and not ours()


@pytest.mark.parametrize(
    "fail",
    [
        lambda p: p.map(lambda x: 1 / 0),
        lambda p: p.map(lambda x: 1 / 0, threads=2),
        lambda p: p.filter(lambda x: 1 / 0),
        lambda p: p.batch(2, collate=lambda x: 1 / 0),
        lambda p: p.shuffle(2).map(lambda x: 1 / 0).prefetch(2),
        lambda p: p.repeat().take(5).skip(1).at_epoch(1).map(lambda x: 1 / 0),
        lambda p: p.flip(),
        lambda p: p.unbatch(),
        lambda p: data.DataLoader(p, 2, collate_fn=lambda x: 1 / 0),
        lambda p: data.DataLoader(p, 2, collate_fn=lambda x: 1 / 0, prefetch=2),
    ],
)
def test_an_exception_ends_the_threads_before_it(fail: Any) -> None:
    """Also while the exception, whose traceback holds the steps' frames, is held on to."""
    with pytest.raises((ZeroDivisionError, ValueError)) as caught:
        list(fail(pipeline(itertools.count).prefetch(2)))
    assert caught.value.__traceback__ is not None
    assert not ours()


def test_an_iterator_of_the_users_own_is_left_open() -> None:
    numbers = (i for i in range(10))
    assert list(pipeline(numbers).map(int).take(3)) == [0, 1, 2]
    assert next(numbers) == 3


def test_prefetch_works_ahead() -> None:
    made = threading.Semaphore(0)

    def numbers() -> Iterator[int]:
        for i in range(10):
            made.release()
            yield i

    elements = iter(pipeline(numbers).prefetch(3))
    assert next(elements) == 0
    for _ in range(4):
        assert made.acquire(timeout=10)
    assert not made.acquire(timeout=0.05)
    assert list(elements) == list(range(1, 10))


def test_repr_and_pickle() -> None:
    steps = pipeline([1]).map(abs).filter(bool).shuffle(4, seed=1).batch(2, drop_last=True).unbatch().repeat().repeat(2)
    steps = steps.prefetch(1).take(5).skip(1).at_epoch(2).flip(p=0.5, seed=3, on=0).pad(1)
    assert repr(steps) == (
        "pipeline(list).map(abs).filter(bool).shuffle(4, seed=1).batch(2, drop_last=True).unbatch().repeat().repeat(2)"
        ".prefetch(1).take(5).skip(1).at_epoch(2).flip(axis=-1, p=0.5, seed=3, on=0)"
        ".pad(width=1, mode='constant', value=0)"
    )
    copied = pickle.loads(pickle.dumps(pipeline([1, 2, 3]).shuffle(2).map(str)))
    assert sorted(copied) == ["1", "2", "3"]


def test_an_endless_repeat_of_nothing_ends() -> None:
    assert list(pipeline([]).repeat()) == []
    assert len(pipeline([]).repeat().take(3)) == 0
