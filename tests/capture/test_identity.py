"""`is` in a captured program answers for what a traced value stands for, or is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import REFUSED, SAME, fates

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])


def while_not_done(n):
    i, done = 0, False
    while done is False:
        i += 1
        if i * i > n:
            done = True
    return i


def until_done(n):
    i, done = 0, False
    while done is not True and i < n:
        i += 1
        done = i * i > n
    return i


def sieve(n):
    flags = [True] * (n + 1)
    for i in range(2, n + 1):
        if flags[i] is True:
            for j in range(i * i, n + 1, i):
                flags[j] = False
    return flags


def functions_of_operator(n):
    done, count = False, 0
    for i in range(n):
        if operator.is_(done, False):
            count += 1
        if i > 2:
            done = True
        if operator.is_not(done, True):
            count += 10
    return count


def in_a_chain(n):
    done, count = False, 0
    for i in range(n):
        if False is done is False:
            count += 1
        if i > 2:
            done = True
    return count


def in_a_pattern(n):
    done, count = False, 0
    for i in range(n):
        match done:
            case True:
                count += 1
            case False:
                count += 10
        if i > 2:
            done = True
    return count


def two_flags(x, y):
    first, second = x > 0.5, y > 0.5
    return 1 if first is second else 2


def either_kind(x):
    flag = x > 0
    return [1] if flag is True else [2] if flag is False else [3]


def of_numpy(x):
    return (x[0] > 0) is True, bool(x[0] > 0) is True, (x[0] > 0) is np.True_


def of_integers(n, m):
    return n is m, n is n


def of_a_sentinel(n, nothing=object()):  # noqa: B008  # the very object is asked for
    return 1 if n is nothing else 2


def which_of_two(x):
    y = x if x[0] > 0 else x + 1
    return y is x


def after_a_loop(x):
    best = x
    for _ in range(100):
        if best[0] < 3:
            best = best + 1
    return best is x


def inside_a_loop(x):
    best, count = x, 0
    for _ in range(100):
        if best is x:
            count += 1
        best = best + 1
    return count


def same_list(n):
    a, c = [1], [1]
    b = a
    for i in range(n):
        b.append(i)
    return a is b, a is c


class Vec3:
    """An object of the program."""

    def __init__(self, x):
        self.x = x


def which_object(x):
    a, b = Vec3(1.0), Vec3(2.0)
    c = a if x[0] > 0 else b
    return c.x


class Other:
    """Of another class."""

    x = 3.0


def one_list_or_another(x):
    a, b = [1.0], [2.0]
    c = a if x[0] > 0 else b
    return c is a


@pytest.mark.parametrize(
    ("program", "calls", "compiled"),
    [
        (while_not_done, [(10,), (50,)], SAME),
        (until_done, [(10,), (50,)], SAME),
        (sieve, [(20,), (30,)], SAME),
        (functions_of_operator, [(3,), (30,)], SAME),
        (in_a_chain, [(3,), (30,)], SAME),
        (in_a_pattern, [(3,), (30,)], SAME),
        (two_flags, [(1.0, 2.0), (1.0, -1.0)], SAME),
        (either_kind, [(1.0,), (-1.0,), (np.float64(1),)], SAME),
        (of_numpy, [(X,), (-X,)], SAME),
        (of_integers, [(5, 5), (5, 6)], SAME),
        (of_a_sentinel, [(5,)], SAME),
        (which_of_two, [(X,), (-X,)], REFUSED),
        (after_a_loop, [(X,), (-X,)], REFUSED),
        (inside_a_loop, [(X,), (-X,)], SAME),
        (same_list, [(3,), (30,)], SAME),
        (one_list_or_another, [(X,), (-X,)], SAME),
        (which_object, [(X,), (-X,)], SAME),
    ],
)
def test_is(program: Callable[..., Any], calls: list[tuple[Any, ...]], compiled: str) -> None:
    assert fates(program, *calls) == [compiled, SAME]


def either_object(x):
    c = Vec3(1.0) if x[0] > 0 else Other()
    return c.x


def test_objects_of_two_classes() -> None:
    assert fates(either_object, (X,), (-X,)) == [SAME, REFUSED]
    with pytest.raises(CaptureError) as caught:
        weft.trace(either_object, X)
    assert "a branch on a traced value" in caught.value.message
