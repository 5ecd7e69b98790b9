"""Loops over lists that they themselves make longer or shorter, and arrays joined from lists that have grown."""

# ruff: noqa: B905, PERF402  # these are the ways of writing that are to be captured

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

X = np.arange(5.0)


def filled(x):
    items = []
    for v in x:
        items.append(v)
    return items


def lengthened(x):
    items, n = filled(x), 0
    for v in items:
        n += 1
        if v < 7:
            items.append(v + 2)
    return n, items


def lengthened_and_counted(x):
    items, n = filled(x), 0
    for k, v in enumerate(items):
        n += k
        if v < 7:
            items.append(v + 2)
    return n, len(items)


def lengthened_in_a_zip(x):
    items, n = filled(x), 0.0
    for v, k in zip(items, range(50)):
        n += v * k
        if k < 9:
            items.append(v + 2)
    for k, (v, w) in enumerate(zip(items, items)):
        n += v * w - k
        if n < 500:
            items.append(n)
    return n, len(items)


def shortened(x):
    items, n = filled(x), 0
    for v in items:
        n += 1
        if v < 1:
            continue
        if n > 20:
            break
        if v < 3:
            items.append(v + 1)
        else:
            items.pop()
    else:
        n += 100
    return n, items


def lengthened_without_a_traced_condition(x):
    items, n = [1, 2], 0
    for v in items:
        n += v
        if len(items) < 5:
            items.append(v + 1)
    for k, v in enumerate(items):
        n += v * k
        if len(items) < 8:
            items.append(v + 1)
    for k, v in zip(range(20), items):
        n += v * k
        if len(items) < 10:
            items.append(v + 1)
    for v in reversed(items):
        n += v
        if len(items) < 12:
            items.append(v + 1)
    return n + x.sum()


def by_place(x):
    items, k, n = [x[0], x[1]], 0, 0
    while k < len(items):
        v = items[k]
        n += 1
        if v < 5:
            items.append(v + 1)
        k += 1
    return n


def replaced(x):
    items, n = [x[0], x[1], x[2]], 0
    for v in items:
        n += v
        if v < 1:
            items[2] = v + 100
    return n


def until_both_are_empty(x):
    left = right = [0]
    n = 0
    while left or right:
        left, right = [], []
        for k in range(len(x)):
            if x[k] > n:
                left.append(k)
            if x[k] > n + 2:
                right.append(x[k])
        n += 1
    return n, not (left or n > 3)


RIGHT = [lengthened, lengthened_and_counted, lengthened_in_a_zip, shortened, lengthened_without_a_traced_condition]
RIGHT += [by_place, replaced, until_both_are_empty]


@pytest.mark.parametrize("front_end", [weft.script, weft.compile])
@pytest.mark.parametrize("program", RIGHT)
@pytest.mark.filterwarnings("error")
def test_lists_that_their_own_loop_changes(program: Callable[..., Any], front_end: Any) -> None:
    captured = front_end(program)
    for x in (X, X[:2] + 0.5, X - 9):
        assert_same(call(captured, (x.copy(),)), call(program, (x.copy(),)))


def of_few(x):
    items, n = [x[0], x[1]], 0
    for v in items:
        n += 1
        if v < 5:
            items.append(v + 1)
    return n


def backwards(x):
    items, n = filled(x), 0
    for v in reversed(items):
        n += v
        if n < 30:
            items.append(v)
    return n


@pytest.mark.parametrize(("program", "what"), [(of_few, "a loop over a list"), (backwards, "a loop over")])
def test_what_is_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(CaptureError, match=what):
        weft.script(program)
    with pytest.raises(CaptureError, match=what):
        weft.compile(program)(X)


def joined(x):
    rows, numbers = [np.ones((2, 2))], [1]
    for v in x:
        if v > 1:
            rows.append(v * np.ones((2, 2)))
            numbers.append(2)
    flat = np.concatenate(rows, axis=None)
    out = np.zeros((2 * len(rows), 2), np.float32)
    np.concatenate(rows, out=out)
    single = np.concatenate(rows, dtype=np.float32)
    return (
        *(flat.ndim, flat.sum(axis=0), out, single, np.zeros(2, single.dtype)),
        *(np.stack(rows, axis=1, dtype=np.float32), np.hstack(rows, dtype=np.float32)),
        *(np.vstack(rows, dtype=np.int64, casting="unsafe"), np.stack(numbers, dtype=np.float32)),
    )


def joined_of_known_number(x):
    out = np.zeros((2, len(x)))
    np.stack([x, x * 2], out=out)
    halves = np.stack([x, x], dtype=np.float32)
    return out, halves, np.concatenate([x, x], dtype=int, casting="unsafe"), np.vstack([x, x], dtype=np.float32)


def joined_of_comprehensions(x):
    return (
        np.stack([v * 2 for v in x], dtype=np.float32),
        np.vstack([x * v for v in x], dtype=np.float32),
        np.hstack([v for v in x], dtype=np.float32),  # noqa: C416  # a comprehension is to be captured
    )


def not_by_this_rule(x):
    return np.concatenate([x, x], dtype=np.int64)


@pytest.mark.parametrize("program", [joined, joined_of_known_number, joined_of_comprehensions, not_by_this_rule])
def test_dtype_and_out_of_functions_that_join(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (X, X + 0.25, -X):
        assert_same(call(compiled, (x.copy(),)), call(program, (x.copy(),)))
