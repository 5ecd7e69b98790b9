"""Variables that a branch or a loop leaves with values of different types: None, lists of other lengths, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError


def lists_of_other_lengths(x):
    if x.sum() < 0:
        return False, [], []
    return True, [1, 2, 3], [x[0], x[1], x[2]]


def a_list_of_a_branch(x):
    out, count = [], 0
    if x[0] > 0:
        out, count = [x[0], x[1]], 2
    total = 0.0
    for value in out:
        total += value
    return (
        total,
        len(out),
        count,
        out[::-1],
        [v * 2 for v in out],
        np.array(out).sum(),
        out == [],
        max(out, default=1.0),
    )


def another_name_grows(x):
    out: list[float] = []
    keep = out
    if x[0] > 0:
        out = [x[0], x[1]]
    keep.append(3.0)
    return out, keep


def nothing_or_an_array(x):
    if x[0] > 0:
        return None
    return x


def nothing_first(x):
    found = None
    for i in range(len(x)):
        if x[i] > 1.5:
            found = (i, x[i])
    if found is None:
        return -1, 0.0
    place, value = found
    return place, value * 2


def first_place(x):
    found = None
    for i in range(len(x)):
        if x[i] > 1.5:
            found = i
            break
    return found


def the_best(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0 and (best is None or x[i] > best[1]):
            best = (i, x[i])
    return best


def filled_in_a_loop(x):
    h = None
    for i in range(3):
        if x[i] > 0:
            h = np.zeros(2) if h is None else h + x[i]
    return h


def wider_in_a_branch(x):
    a = x.astype(np.float32)
    if x[0] > 0:
        a = x * 2
    return a.sum(), a[1:] * 3, a.dtype == np.float32, a.shape, np.dot(a, a)


def wider_in_a_loop(x):
    a = np.zeros(3, np.float32)
    while a.sum() < 10:
        a = a + np.abs(x) + 1
    return a * 2, a.dtype


def a_float_of_32_bits(x):
    total = np.float32(0.0)
    for value in x:
        total = total + value
    return total


def in_the_smallest_dtype(x):
    kind = np.min_scalar_type(int(x.max()) * 100)
    if kind == np.uint8:
        kind = np.int16
    a = x.astype(kind)
    return a, a + 1, np.zeros(2, kind), np.dtype(kind).itemsize, np.iinfo(kind).max


def one_of_two_slices(x):
    part = slice(None)
    if x[0] > 0:
        part = slice(1, len(x))
    return part, x[part]


def longer_in_a_branch(x):
    a = np.zeros(2)
    for i in range(4):
        if x[0] > 0:
            a = np.append(a, x[i % 3])
    return a, a.sum()


def a_text_that_grows(x):
    text = ""
    for i in range(len(x)):
        if x[i] > 0:
            text += "+"
        else:
            text += "-"
    return text, len(text)


def told_in_bytes(x):
    task = b"START"
    for k in range(len(x)):
        if x[k] < 0:
            task = b"ERROR: below"
        elif x[k] > 2:
            task = b"WARNING"
        if task[:5] == b"ERROR" or task in (b"WARNING", b"END"):
            break
        task = b"NEXT"
    return task, len(task), task + b".", task.decode()


def a_tuple_that_grows(x):
    places = (1, 2)
    for i in range(len(x)):
        if x[i] > 0:
            places = places + (i,)  # noqa: RUF005  # what is tested
    return places


def a_list_or_an_array(x):
    made = [1.0] if x[0] > 0 else np.array([1.0, 2.0])
    return len(made), np.sum(made)


def first_of_some(x):
    return next(v for v in x if v > 0)


def first_of_some_or_nothing(x):
    return next((v for v in x if v > 0), None), next((i for i, v in enumerate(x) if v > 5), -1)


def first_of_a_list(x):
    return next((v * 2 for v in [x[0], x[1], x[2]] if v > 0), 0.0), next(k for k in "ab" if k > "a")


def some_of_an_array(x):
    return tuple(v for v in x if v > 0), sorted(v for v in x if v > 0), set(v for v in x if v > 100)  # noqa: C401  # what is tested


def rows_of_other_lengths(x):
    near = [[1, 2], [0], [0, 1]]
    total = 0.0
    for j in near[int(abs(x[0])) % 3]:
        total += x[j]
    return total, len(near[int(x.argmax())])


def appended(x):
    out = []
    if x[0] > 0:
        out = [x[0], x[1]]
    out.append(3.0)
    return out


PROGRAMS = [
    *(lists_of_other_lengths, a_list_of_a_branch, another_name_grows, nothing_or_an_array, nothing_first, first_place),
    *(the_best, filled_in_a_loop, wider_in_a_branch, wider_in_a_loop, a_float_of_32_bits, longer_in_a_branch),
    *(
        told_in_bytes,
        a_text_that_grows,
        a_tuple_that_grows,
        a_list_or_an_array,
        first_of_some,
        first_of_some_or_nothing,
    ),
    *(first_of_a_list, some_of_an_array, rows_of_other_lengths, appended, in_the_smallest_dtype, one_of_two_slices),
]
POINTS = ([1.0, 2.0, -3.0], [-1.0, -2.0, -1.0], [3.0, 1.0, 7.0], [-1.0, 1.0, 3.0])


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_the_plain_call(program: Callable[..., Any]) -> None:
    for captured in (weft.compile(program), weft.script(program)):
        for point in POINTS:
            got, expected = (call(each, (np.array(point),)) for each in (captured, program))
            assert_same(got, expected)


def written(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    y[1] = 5.0
    return x, y


def written_behind_it(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    x[1] = 5.0
    return y


def added_in_place(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    y += 1
    return x, y


def written_through_a_view(x):
    y = None
    if x[0] > 0:
        y = x
    if y is not None:
        view = y[1:]
        view[0] = 9.0
    return x


def written_through_another_array(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    np.asarray(y)[0] = 100.0
    return x


def written_by_out(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    np.add(y, 1, out=y)
    return x


def written_by_a_method(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    y.sort()
    return x


def written_by_attribute(x):
    y = x.astype(np.float32)
    if x[0] > 0:
        y = x
    y.T[0] = 4.0
    return x


@pytest.mark.parametrize(
    "program",
    [
        *(written, written_behind_it, added_in_place, written_through_a_view, written_through_another_array),
        *(written_by_out, written_by_a_method, written_by_attribute),
    ],
)
def test_what_has_two_types_is_not_changed(program: Callable[..., Any]) -> None:
    x = np.array(POINTS[0])
    with pytest.raises(CaptureError, match="the two sides of the branch"):
        weft.compile(program)(x)
    assert np.array_equal(x, POINTS[0])


@pytest.mark.parametrize("program", [nothing_first, wider_in_a_branch, lists_of_other_lengths])
def test_derivatives_want_one_type(program: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match=r"disagree on|changes what"):
        weft.grad(lambda x: program(x)[0])(np.array(POINTS[0]))
    with pytest.raises(CaptureError, match=r"disagree on|changes what"):
        weft.compile(lambda x: weft.grad(lambda x: program(x)[0])(x))(np.array(POINTS[0]))
