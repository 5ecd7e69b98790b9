"""Kernels on several threads: the same bits whatever their number, and nothing lost on the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import normal

import weft
from weft.ops import _parallel


@pytest.fixture(autouse=True)
def chosen_threads() -> Iterator[None]:
    before = _parallel._chosen
    yield
    _parallel._chosen = before


def results() -> list[Any]:
    x, w = normal(40, 2, 24, 24, dtype=np.float32), normal(6, 2, 5, 5, dtype=np.float32)
    how = ((1, 1), ((2, 2), (2, 2)), (1, 1))
    y = weft.ops.convolution.conv(x, w, *how)
    strided = ((2, 2), ((0, 0), (0, 0)), (1, 1))
    small = weft.ops.convolution.conv(x, w, *strided)
    many = normal(300_000)
    return [
        y,
        weft.ops.convolution.conv_weight(x, y, (5, 5), *how),
        weft.ops.convolution.conv_input(y, w, (24, 24), *how),
        weft.ops.convolution.conv_input(small, w, (24, 24), *strided),
        weft.sigmoid(many),
        weft.gelu(many),
        weft.silu(many),
    ]


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_same_bits_for_any_number_of_threads(threads: int) -> None:
    weft.set_num_threads(1)
    expected = results()
    weft.set_num_threads(threads)
    assert weft.get_num_threads() == threads
    for got, same in zip(results(), expected, strict=True):
        np.testing.assert_array_equal(got, same)


def test_parts_are_done_on_several_threads_each_once() -> None:
    weft.set_num_threads(3)
    together = threading.Barrier(3, timeout=20)
    done: list[tuple[int, str]] = []

    def work(part: int) -> None:
        if part < 3:  # one on each thread
            together.wait()
        done.append((part, threading.current_thread().name))

    _parallel.each(work, range(10))
    assert sorted(part for part, _ in done) == list(range(10))
    assert len({name for _, name in done}) == 3


@pytest.mark.parametrize("where", [0, 1])
def test_an_exception_arrives_after_all_threads_are_done(where: int) -> None:
    weft.set_num_threads(2)
    done = []

    def work(part: int) -> None:
        if part == where:
            raise ValueError(f"part {part}")
        done.append(part)

    with pytest.raises(ValueError, match=f"part {where}"):
        _parallel.each(work, range(4))
    assert 1 - where in done and 3 - where in done


def test_what_numpy_is_to_say_goes_along() -> None:
    weft.set_num_threads(2)
    seen = []
    with np.errstate(over="ignore"):
        _parallel.each(lambda part: seen.append(np.geterr()["over"]), range(4))
    assert seen == ["ignore"] * 4


def test_a_part_that_has_parts_does_not_wait_for_itself() -> None:
    weft.set_num_threads(2)
    done = []
    _parallel.each(lambda part: _parallel.each(lambda inner: done.append((part, inner)), range(3)), range(2))
    assert sorted(done) == [(part, inner) for part in range(2) for inner in range(3)]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    weft.set_num_threads(2)
    expected = results()[0].tobytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if results()[0].tobytes() == expected else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_numbers_of_threads_that_make_no_sense(count: Any) -> None:
    with pytest.raises(ValueError, match="set_num_threads: expected a positive number"):
        weft.set_num_threads(count)


def test_the_environment_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    _parallel._chosen = None
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert weft.get_num_threads() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert weft.get_num_threads() >= 1
