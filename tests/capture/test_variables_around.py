"""Variables of functions around, assigned by functions that branches and loops of yet other functions call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def body_of_while_loop(x):
    n = 0

    def body(s):
        nonlocal n
        n += 1
        return s * 0.5

    return weft.while_loop(lambda s: s.sum() > 1, body, x), n


def loop_of_another_function(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    def go(s):
        while s.sum() > 1:
            count()
            s = s * 0.5
        return s

    return go(x), n


def branch_of_another_function(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    def go(s):
        if s.sum() > 1:
            count()
        return s

    return go(x), n


def made_anew_in_each_turn(x):
    total = 0.0

    def inner(s):
        n = 0

        def count():
            nonlocal n
            n += 1

        def go(s):
            if s.sum() > 1:
                count()

        go(s)
        go(s * 3)
        return n

    for k in range(20):
        total += inner(x * k)
    return total


def function_of_scan(x):
    n = 0

    def seen(s):
        nonlocal n
        if s.sum() > 3:
            n += 1
        return s

    rows = x[:, None] * np.ones((1, 2))
    return weft.scan(lambda c, r: (seen(c) + r, c), np.zeros(2), rows), n


def side_of_cond(x):
    n = 0

    def twice(s):
        nonlocal n
        n = n + 2
        return s * 2

    return weft.cond(x.sum() > 3, twice, lambda s: s, x), n


def branch_of_the_function_that_assigns(x):
    n = 0

    def seen(s):
        nonlocal n
        if s.sum() > 1:
            n += 1

    while x.sum() > 0.1:
        seen(x)
        x = x * 0.5
    return x, n


def branch_between(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    def seen(s):
        if s.sum() > 1:
            count()

    while x.sum() > 0.1:
        seen(x)
        x = x * 0.5
    return x, n


def two_levels(x):
    n, best = 0, x * 0

    def outer(s):
        nonlocal best

        def inner(t):
            nonlocal n, best
            n += 1
            best = best + t

        for _ in range(12):
            if s.sum() > 1:
                inner(s)
            s = s * 0.7
        return s

    x = outer(x)
    return x, n, best


def given_to_another(x):
    total = x * 0

    def closure(y):
        nonlocal total
        total = total + y
        return y.sum()

    def drive(call, y):
        z = call(y)
        while z > 1:
            y = y * 0.5
            z = call(y)
        return z

    return drive(closure, x), total


def comprehension(x):
    n = 0

    def scaled(s):
        nonlocal n
        n += 1
        return s * n

    return np.array([scaled(s) for s in x]), n


def expressions(x):
    n = 0

    def scaled(s):
        nonlocal n
        if s > 1:
            n += 1
        return s * n

    some = np.array([scaled(s) for s in x if s > 0])
    one = scaled(x[0]) if x[1] > 2 else x[1]
    both = (x[0] > 2) and scaled(x[1]) > 3
    return some, one, both, n


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Any) -> None:
    compiled = weft.compile(program)
    for values in ([3.0, 5.0], [0.1, 0.2], [40.0, 2.0], [1.0, 1.0], [0.0, 9.0]):
        plain, captured = program(np.array(values)), compiled(np.array(values))
        for a, b in zip(weft.pytree.leaves_of(plain), weft.pytree.leaves_of(captured), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)
    assert not compiled._ran_plainly, compiled.explain()
