"""Functions that a program makes and gives away, as its result or to an object, are those of the plain call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

SCALE = 3.0
X = np.array([1.0, 2.0])


class Keeper:
    """Keeps a function."""


class Poly:
    def __init__(self, c):
        self.c = c


def scaled(k):
    return lambda x: x * k


def with_defaults(k):
    w = X * k

    def inner(y, z=2.0, *, q=k):
        """Adds up."""
        return np.sum(w) + y * z + q + np.e

    return inner


def decorated(k):
    def wrap(f):
        @functools.wraps(f)
        def g(*a):
            return f(*a) + k

        return g

    @wrap
    def h(y):
        return y * 2

    return h


def two_on_a_line(k):
    return (lambda x: x * k), (lambda x: x + k)


def of_a_list(k):
    items = [k]

    def f(x):
        return items[0] * x + len(items)

    items.append(2)
    return f


def in_a_dict(k):
    return {"f": lambda x: x * k, "k": k}


def of_an_object(k):
    p = Poly(k * 2)
    return lambda x: p.c * x


def of_a_global(k):
    def f(x):
        return x * SCALE + k

    return f


def of_the_last_value(k):
    f = lambda x: x * k  # noqa: E731  # as it is written
    k = k + 1
    return f


def of_another(k):
    def f(x):
        return x * k

    return lambda x: f(x) + f(k)


def kept(o, k):
    def fn(y):
        return y + k

    o.fn = fn
    return o.fn(1.0)


def kept_and_assigned(o, k):
    o.fn = lambda x: x * k
    k = k + 1
    return k


def counting(k):
    def f(x):
        nonlocal k
        k += 1
        return x * k

    return f


def kept_and_written(o, k):
    y = np.full(2, k)
    o.fn = lambda z: y + z
    y[0] = 100.0
    return y


def recursive(k):
    def f(n):
        return k if n == 0 else f(n - 1) * 2

    return f


def functions_in(value: Any) -> list[Any]:
    if isinstance(value, Keeper):
        return functions_in(vars(value))
    if isinstance(value, (dict, tuple)):
        return [f for part in (value.values() if isinstance(value, dict) else value) for f in functions_in(part)]
    return [value] if callable(value) else []


def told(value: Any) -> list[Any]:
    """What the functions in a value are called, and what they give."""
    return [
        (f.__name__, f.__qualname__, f.__doc__, f.__module__, f.__defaults__, f.__kwdefaults__, f(1.0), f(3.0))
        for f in functions_in(value)
    ]


@pytest.mark.parametrize(
    "program",
    [
        *(scaled, with_defaults, decorated, two_on_a_line, of_a_list, in_a_dict, of_an_object, of_a_global),
        *(of_the_last_value, of_another),
    ],
)
def test_functions_as_results(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for k in (2.0, 3.0, 4.0):
        assert told(compiled(k)) == told(program(k))
    assert compiled.cache_info().misses == 1
    assert functions_in(compiled(2.0))[0] is not functions_in(compiled(2.0))[0]


def test_a_function_that_an_object_keeps() -> None:
    compiled, held, plain = weft.compile(kept), Keeper(), Keeper()
    for k in (2.0, 3.0):
        assert compiled(held, k) == kept(plain, k)
        assert told(held) == told(plain)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (kept_and_assigned, "reads a variable that is assigned after it was given away"),
        (counting, "assigns variables of the functions around it"),
        (kept_and_written, "a write to y, which an object from outside holds as well"),
        (recursive, "calls itself"),
    ],
)
def test_what_the_function_would_see_later_is_refused(program: Callable[..., Any], why: str) -> None:
    args = (Keeper(), 2.0) if program.__name__.startswith("kept") else (2.0,)
    with pytest.raises(CaptureError, match=why):
        weft.compile(program)(*args)
