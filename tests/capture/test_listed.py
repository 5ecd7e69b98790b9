"""Arrays of lists: their dtype and dimensions are those of the elements that came, or of no element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError


def whole(x):
    found = []
    for v in x:
        if v > 0:
            found.append(1)  # noqa: PERF401  # the loop is what is tested
    a = np.array(found)
    return a, np.zeros(2, a.dtype), a.sum()


def rows(x):
    found = []
    for v in x:
        if v > 0:
            found.append(np.array([v, v]))  # noqa: PERF401  # the loop is what is tested
    return np.array(found).ndim


def pairs(x):
    found = []
    for i, v in enumerate(x):
        if v > 0:
            found.append((i, (v, 2 * v)))
    return len(found)


def tuples(x):
    found = []
    for i, v in enumerate(x):
        if v > 0:
            found.append((i, 2.5))
    return np.array(found)


def mixed(x):
    found = [1]
    for v in x:
        if v > 0:
            found.append(2.5)  # noqa: PERF401  # the loop is what is tested
    return np.asarray(found)


def comprehension(x):
    return np.array([1 for v in x if v > 0])


def comprehension_of_tuples(x):
    return np.array([(i, 2) for i, v in enumerate(x) if v > 0])


PROGRAMS = [whole, rows, pairs, tuples, mixed, comprehension, comprehension_of_tuples]
SOME, NONE = np.array([1.0, -1, 2, 3, -4, 5]), -np.ones(7)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("first", "second"), [(SOME, NONE), (NONE, SOME)], ids=["some first", "none first"])
@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
def test_as_the_plain_call(program: Callable[..., Any], first: Any, second: Any) -> None:
    compiled, scripted = weft.compile(program), weft.script(program)
    for x in (first, second, first):
        assert_same(call(compiled, (x,)), call(program, (x,)))
        assert_same(call(scripted, (x,)), call(program, (x,)))


def test_a_plain_run_is_said() -> None:
    compiled = weft.compile(whole)
    compiled(SOME)
    with pytest.warns(UserWarning, match=r"np\.array of an empty list is float64 with ndim 1 in this call"):
        compiled(NONE)


def given(x):
    found = []
    for v in x:
        if v > 0:
            found.append(1)  # noqa: PERF401  # the loop is what is tested
    return np.array(found, dtype=np.int32)


@pytest.mark.filterwarnings("error")
def test_a_dtype_that_is_given_holds_without_elements_too() -> None:
    compiled = weft.compile(given)
    for x in (SOME, NONE):
        assert_same(call(compiled, (x,)), call(given, (x,)))


def told(x):
    found = []
    print("begins")
    for v in x:
        if v > 0:
            found.append(1)  # noqa: PERF401  # the loop is what is tested
    return np.array(found)


def written(x):
    x += 0.5
    found = []
    for v in x:
        if v > 0:
            found.append(1)  # noqa: PERF401  # the loop is what is tested
    return np.array(found)


@pytest.mark.parametrize("program", [told, written])
def test_a_run_that_left_something_is_not_repeated(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    compiled(SOME.copy())
    with pytest.raises(CaptureError, match=r"np\.array of an empty list") as raised:
        compiled(NONE.copy())
    assert "dtype=int" in str(raised.value)


def by_list(q):
    return q * [1, -1, 2, 3] + (1, 2, 3, 4), [1.5, 2, 3, 4] - q, q == [1, 1, 0, 1], [q[0], 2, q[1], 4] / q


def by_list_in_place(q):
    q *= [1, 2, 3, 4]
    q += (q[0], 1, 1, 1)


def number_by_list(q):
    return q[0] * [1, 2]


@pytest.mark.parametrize("program", [by_list, by_list_in_place])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.filterwarnings("error")
def test_lists_in_arithmetic_are_arrays(program: Callable[..., Any], dtype: Any) -> None:
    x = np.arange(1, 5).astype(dtype)
    assert_same(call(weft.compile(program), (x.copy(),)), call(program, (x.copy(),)))


def test_a_number_repeats_no_list() -> None:
    x = np.ones(2)
    assert_same(call(weft.compile(number_by_list), (x,)), call(number_by_list, (x,)))


def stacked(x):
    return np.stack([np.array([v, 1]) for v in x if v > 0])


def concatenated(x):
    return np.concatenate([np.array([v, 1]) for v in x if v > 0])


def with_default(x):
    found = [v for v in x if v > 0]
    return max(found, default=-1), min(found, default=None)


def of_few(x):
    return [v * 2 for v in (x[0], x[1], np.float64(3)) if v > 0]


@pytest.mark.parametrize("program", [stacked, concatenated, with_default, of_few])
@pytest.mark.parametrize(("first", "second"), [(SOME, NONE), (NONE, SOME)], ids=["some first", "none first"])
@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
def test_lists_without_elements(program: Callable[..., Any], first: Any, second: Any) -> None:
    compiled, scripted = weft.compile(program), weft.script(program)
    for x in (first, second, first):
        assert_same(call(compiled, (x,)), call(program, (x,)))
        assert_same(call(scripted, (x,)), call(program, (x,)))


def positive(x):
    return x[[i for i, v in enumerate(x) if v > 0]]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_condition_over_few_items(size: int) -> None:
    compiled = weft.compile(with_default)
    for x in (np.arange(size) + 1.0, -np.ones(size)):
        assert_same(call(compiled, (x,)), call(with_default, (x,)))
    x = np.arange(size) + 1.0
    assert_same(call(weft.compile(positive), (x,)), call(positive, (x,)))


def buckets(x):
    found = [[] for _ in range(3)]
    for v in x:
        found[int(v) % 3].append(v)
    return found


def table(x):
    found = [[0] * 3 for _ in range(2)]
    for i in range(len(x)):
        found[i % 2][i % 3] += x[i]
    return found


def deep(x):
    found = [[[0]], [[0]]]
    for i in range(len(x)):
        found[i % 2][0].append(x[i])
    return found


@pytest.mark.parametrize("program", [buckets, table, deep])
def test_a_list_in_a_list_at_a_traced_place_is_not_changed(program: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match="changes a list in a container that is indexed by a traced value"):
        weft.script(program)


def looked_up(x):
    known = [[1, 2], [3, 4]]
    total = 0
    for i in range(len(x)):
        total += known[i % 2][i % 2] * x[i]
    return total


def test_a_list_in_a_list_at_a_traced_place_is_read() -> None:
    assert_same(call(weft.script(looked_up), (SOME,)), call(looked_up, (SOME,)))


def places(x):
    found = []
    for i in range(len(x)):
        if (x[i], i) == (2.0, 2):
            found.append(i)
        if (x[i], -i) > (1.0, -3):
            found.append(10 + i)
        if [x[i], 1] != [-1.0, 1]:
            found.append(20 + i)
    return found, (x[0], 1) <= (x[1], 2), (x[0],) == [1.0], (x[0], 1) == (x[0], 1, 2)


@pytest.mark.filterwarnings("error")
def test_tuples_are_compared() -> None:
    compiled, scripted = weft.compile(places), weft.script(places)
    for x in (SOME, NONE, np.array([np.nan, 2.0])):
        assert_same(call(compiled, (x,)), call(places, (x,)))
        assert_same(call(scripted, (x,)), call(places, (x,)))


def rows_of_a_list(x):
    rows = [np.zeros(2), np.ones(2)]
    for i in range(len(x)):
        rows[i % 2][0] += x[i]
    return rows


def test_arrays_in_a_list_at_a_traced_place_are_written() -> None:
    assert_same(call(weft.script(rows_of_a_list), (SOME,)), call(rows_of_a_list, (SOME,)))
