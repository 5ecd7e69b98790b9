"""Sorting by traced keys, the smallest by a key, and double-ended queues, in captured programs."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from alike import SAME, fates

import weft
from programs._compare import _same
from weft.errors import CaptureError

ROWS = [np.array(row) for row in ([0.0, 1.0, 2.0, 3.0], [2.0, -1.0, 2.0, 0.5], [np.nan, 1.0, 1.0, -4.0])]
PRICES = {"low": 1.0, "high": 2.0}


def sorted_by_a_key(x):
    values = [x[0], x[1], x[2], x[3]]
    return sorted(values, key=lambda v: -v), sorted(values, key=abs, reverse=True), sorted(values), sorted(x)


def list_sorted_in_place(x):
    pairs = [(k, x[k]) for k in range(4)]
    pairs.sort(key=lambda pair: pair[1], reverse=True)
    points = [(x[0], 1.0), (x[1], 2.0), (x[2], 0.5)]
    points.sort(key=lambda point: (point[0] > 0, point[1]))
    names = ["b", "a", "C"]
    names.sort(key=str.lower)
    values = [x[3], x[2]]
    values.sort()
    return pairs, points, names, values


def arrays_sorted(x):
    rows = [x * 1, x * 2, x * 3]
    rows.sort(key=lambda row: -row.sum())
    return rows, max(rows, key=np.linalg.norm)


def places_in_order(x):
    return sorted(range(4), key=lambda k: x[k]), max(range(4), key=lambda k: x[k]), min(range(4), key=x.__getitem__)


def smallest_by_a_key(x):
    named = {"p": x[0], "q": x[1], "r": x[2]}
    near = min([x[0], x[1], x[2]], key=lambda v: abs(v - 1.2))
    return near, max(named, key=named.get), min(named.items(), key=lambda item: item[1]), min([], key=abs, default=4)


def queue(x):
    d = deque()
    for k in range(3):
        d.append(x[k])
    d.appendleft(x[3])
    last, first = d.pop(), d.popleft()
    d.extend([x[0], 4.0])
    d.rotate(1)
    return last, first, len(d), d[0], sum(d), list(d), [v * 2 for v in d], list(zip(d, reversed(d), strict=True))


def window(x):
    d = deque([x[0]], maxlen=2)
    means = []
    for k in range(4):
        d.append(x[k])
        means.append(sum(d) / len(d))
    return np.array(means), np.array(d), max(d), sorted(d), isinstance(d, deque), x[1] in d, d[int(x[3] > 1)]


PROGRAMS = [sorted_by_a_key, list_sorted_in_place, arrays_sorted, places_in_order, smallest_by_a_key, queue, window]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("how", ["compile", "static", "script"])
def test_as_in_plain_python(program: Any, how: str) -> None:
    dynamic = False if how == "static" else None
    made = weft.script(program) if how == "script" else weft.compile(program, dynamic=dynamic)
    for x in ROWS:
        _same("the result", made(x.copy()), program(x.copy()), 0.0)
    if how == "compile":
        assert made.cache_info().currsize == 1
        assert not made.explain().plain


def test_a_key_is_asked_for_plain_values_too() -> None:
    @weft.compile
    def program(x):
        return [x * len(word) for word in sorted(["ccc", "a", "bb"], key=len)], max(PRICES, key=PRICES.get)

    _same("the result", program(ROWS[0]), program.__weft_original__(ROWS[0]), 0.0)


def test_the_number_of_values_is_part_of_what_the_graph_holds_for() -> None:
    @weft.compile
    def order(x):
        return sorted(range(len(x)), key=lambda k: x[k])

    for size in (3, 5, 3):
        x = np.cos(np.arange(float(size)))
        assert order(x) == sorted(range(size), key=x.__getitem__)
    with pytest.raises(CaptureError, match="100 values sorted by traced keys") as caught:
        order(np.zeros(100))
    assert "np.argsort" in str(caught.value)


def test_gradients_flow_through_what_was_chosen() -> None:
    @weft.compile
    def program(x):
        first, *_ = sorted([x[0], x[1], x[2]], key=lambda v: -v)
        return first * 3.0

    x = weft.tensor([1.0, 5.0, 2.0], requires_grad=True)
    program(x).backward()
    assert x.grad.numpy().tolist() == [0.0, 3.0, 0.0]


def test_a_queue_is_a_queue_where_it_is_given_away_or_returned() -> None:
    @weft.wrap
    def kind(d):
        return type(d).__name__, d.maxlen, list(d)

    def program(x):
        d = deque([x[0], x[1]], maxlen=2)
        return kind(d), d

    for made in (weft.compile(program), weft.script(program)):
        assert made(ROWS[0]) == (("deque", 2, [0.0, 1.0]), deque([0.0, 1.0]))


def test_a_queue_that_grows_in_a_captured_loop_is_refused_with_a_rewrite() -> None:
    def search(x, n):
        d, total = deque([0]), 0.0
        while len(d) > 0:
            i = d.popleft()
            total += x[i]
            if x[i] < n:
                d.append(i + 1)
        return total

    def as_list(x, n):
        d, total = [0], 0.0
        while len(d) > 0:
            i = d.pop(0)
            total += x[i]
            if x[i] < n:
                d.append(i + 1)
        return total

    x = np.arange(6.0)
    for capture in (weft.compile(search), lambda *args: weft.script(search)):
        with pytest.raises(CaptureError, match="a deque made outside a branch or loop is changed inside it") as caught:
            capture(x, 3)
        assert "d.append(i + 1)" in str(caught.value)
        assert "use a list" in str(caught.value)
    assert weft.compile(as_list)(x, 3) == as_list(x, 3) == search(x, 3)


def sorts_its_argument(items):
    items.sort(key=lambda item: item[0])
    return items[0]


def merges_its_argument(items):
    items.sort(key=lambda item: -item[0], reverse=True)
    merged = [items.pop(0)]
    for item in items:
        if item[0] <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], item[1])
        else:
            merged.append(item)
    return merged


@pytest.mark.parametrize("program", [sorts_its_argument, merges_its_argument])
def test_a_list_that_is_an_argument_is_sorted_by_what_a_function_of_the_program_gives(program: Any) -> None:
    given = [[8.0, 10.0], [2.0, 6.0], [1.0, 3.0]], [[4.0, 5.0], [1.0, 4.0]], [[3.0, 4.0]]
    assert fates(program, *((items,) for items in given))[0] == SAME


def greatest_of_those_found(x, scale):
    big = x[x > 0.3]
    first = max(range(len(big)), key=lambda k: abs(big[k] - scale))
    last = min(range(len(big)), key=lambda k: (big[k] * scale, k))
    return first, last, big[first]


def row_to_exchange(x, scale):
    table = [[float(v), v * scale] for v in x]
    for i in range(len(table) - 1):
        largest = max(range(i, len(table)), key=lambda row: abs(table[row][i % 2]))
        table[i], table[largest] = table[largest], table[i]
    return table


@pytest.mark.parametrize("make", [weft.compile, weft.script])
@pytest.mark.parametrize("program", [greatest_of_those_found, row_to_exchange])
def test_a_key_may_read_variables_where_only_running_tells_how_many_values_there_are(program: Any, make: Any) -> None:
    captured = make(program)
    for row in ([0.5, 0.4, 2.0, 2.0], [2.0, -1.0, 0.9, 0.5], [np.nan, 1.0, 1.0, -4.0], [0.1, 0.7, 0.2, 0.2]):
        for scale in (0.5, -2.0):
            _same("result", captured(np.array(row), scale), program(np.array(row), scale), 0.0)
    if program is greatest_of_those_found:
        with pytest.raises(ValueError, match="empty"):
            captured(np.array([0.1, 0.2]), 0.5)
