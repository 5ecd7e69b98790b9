"""Variables and objects that functions share: each branch and loop looks after those that were made before it."""

from __future__ import annotations

import contextlib
import functools
import random
from typing import Any

import numpy as np
import pytest

import weft


def branch_that_assigns_nothing_itself(x):
    a = 0

    def count():
        nonlocal a
        a += 3

    def go(s):
        nonlocal a
        if s.sum() > 2:
            count()
        a += 1

    go(x)
    return a


def two_of_one_name(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    def go(s):
        n = 5

        def other():
            nonlocal n
            n += 1

        if s.sum() > 1:
            count()
        else:
            other()
        return n

    return go(x), n


def recursion(x):
    def walk(call):
        n = 0

        def count():
            nonlocal n
            n += 1

        below = 0
        if call is None:
            below = walk(count)
        elif x.sum() > 1:
            call()
        return n + below * 10

    return walk(None)


def maker_is_over(x):
    def make(s):
        n = 0

        def count():
            nonlocal n
            n += 1
            return n

        def go(s):
            if s.sum() > 1:
                count()

        go(s)
        return count

    count = make(x)
    if x.sum() > 3:
        count()
    return count()


def loop_that_begins_as_plain_python(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    def go(s):
        while True:
            count()
            if s.sum() > 5:
                break
            s = s + 1

    go(x)
    return n


def bodies_that_read_more_than_they_are_given(x):
    n, seen, row = 0, [], np.zeros(2)

    def step(i, z):
        nonlocal n
        n += 1
        seen.append(i)
        row[0] += 1
        return z + x[0]

    made = weft.fori_loop(0, 2, step, 0.0)
    return n, len(seen), row, made


def walrus(x):
    k = 0

    def count():
        nonlocal k
        return (k := k + 1)

    def go(s):
        if s.sum() > 1:
            count()

    go(x)
    return k


def with_as(x):
    k = 0

    def enter():
        nonlocal k
        with contextlib.nullcontext(7) as k:
            pass

    def go(s):
        if s.sum() > 1:
            enter()

    go(x)
    return k


class Box:
    pass


def objects_of_each_turn(x):
    total = 0
    while x.sum() > 1:
        box = Box()
        box.n = 0
        if x.sum() > 2:
            box.n += 1
        total += box.n
        x = x * 0.5
    return total


def counter():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    return count


def closures_of_each_turn(x):
    total = 0
    while x.sum() > 1:
        count = counter()
        if x.sum() > 2:
            count()
        total += count()
        x = x * 0.5
    for i in range(12):
        count = counter()
        if x.sum() > i:
            count()
        total += count()
    return total


def called_by_python(x):
    n = 0

    class Thing:
        @property
        def seen(self):
            nonlocal n
            n += 1
            return n

        def __add__(self, other):
            nonlocal n
            n += 10
            return other

    def add(a, b):
        nonlocal n
        n += 100
        return a + b

    thing, made = Thing(), 0
    if x.sum() > 1:
        made = thing.seen + (thing + 1) + functools.reduce(add, [1, 2, 3])
    return n, made


def loop_inside_of_a_body(x):
    k = 0

    def body(s):
        nonlocal k
        h = s
        while h.sum() > 1:
            h = h * 0.8
            k += 1
        return s * 0.5

    return weft.while_loop(lambda s: s.sum() > 1, body, x), k


def loops_in_loops(x):
    k = 0

    def body(s):
        nonlocal k
        for i in range(12):
            if s.sum() > i:
                k += 1
        return s * 0.5

    for _ in range(11):
        x = body(x)
    return k, x


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]
PROGRAMS = [program for program in PROGRAMS if program not in (Box, counter)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Any) -> None:
    compiled = weft.compile(program)
    for values in ([0.1, 0.2], [3.0, 5.0], [1.0, 0.9], [0.5, 0.7]):
        plain, captured = program(np.array(values)), compiled(np.array(values))
        for a, b in zip(weft.pytree.leaves_of(plain), weft.pytree.leaves_of(captured), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)
    assert not compiled._ran_plainly, compiled.explain()


def condition_that_counts(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    while count() < x.sum():
        x = x * 0.9
    return n


def generator_that_counts(x):
    n = 0

    def items():
        nonlocal n
        for k in range(5):
            n += 1
            yield k

    for _ in items():
        pass
    return n


def map_that_counts(x):
    n = 0

    def count(k):
        nonlocal n
        n += 1
        return k

    for k in map(count, range(30)):
        if k > 3:
            break
    return n


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (condition_that_counts, "the condition of a `while` that writes"),
        (generator_that_counts, "runs over assigns a variable of the function with the loop"),
        (map_that_counts, "runs over assigns a variable of the function with the loop"),
    ],
)
def test_what_only_running_could_tell_is_refused(program: Any, why: str) -> None:
    with pytest.raises(weft.errors.CaptureError, match=why):
        weft.compile(program)(np.array([3.0, 5.0]))


def test_an_expression_that_may_stop() -> None:
    def program(x):
        n = 0

        def count(v):
            nonlocal n
            n += 1
            return v > 1

        return any(count(v) for v in x), n

    compiled = weft.compile(program)
    for x in ([3.0, 5.0], [0.0, 5.0], [0.0, 0.0]):
        assert compiled(np.array(x)) == program(np.array(x))
    assert compiled.cache_info().misses == 1


def test_draws_of_pythons_own_generators() -> None:
    def drawn(x, made=random.Random):
        generator, total = made(3), x
        for _ in range(12):
            total = total + x * generator.random()
        return total

    def sometimes(x):
        generator, total = random.Random(3), x
        if x > 0:
            total = total + generator.random()
        return total + generator.random()

    for program in (drawn, sometimes):
        compiled = weft.compile(program)
        for x in (1.0, -2.0):
            assert compiled(x) == program(x)


def test_assigned_in_a_message_and_in_a_function_that_is_differentiated() -> None:
    def told(x):
        n = 0

        def count():
            nonlocal n
            n += 1
            return "never"

        assert x.sum() > -1, count()
        return n

    def differentiated(x):
        n = 0

        def loss(s):
            nonlocal n
            n += 1
            return (s**2).sum()

        if x.sum() > 1:
            x = weft.grad(loss)(x)
        return x, n

    assert weft.compile(told)(np.ones(2)) == 0
    compiled = weft.compile(differentiated)
    for value, count in ((1.0, 1), (0.1, 0)):
        gradient, n = compiled(np.full(2, value))
        assert n == count
        np.testing.assert_array_equal(gradient, np.full(2, 2 * value if count else value))
