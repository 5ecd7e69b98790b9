"""Operators and built-in functions on objects of the program's own classes: their methods are captured."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import SAME, fates

import weft

A = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
CALLS = [(A,), (A[::-1].copy(),), (-A,), (A * 0,)]


class Vec3:
    __array_ufunc__ = None

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, other):
        if isinstance(other, Vec3):
            return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)
        return NotImplemented

    def __sub__(self, other):
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self):
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, k):
        scaled = Vec3(self.x * k, self.y * k, self.z * k)
        if scaled.x > 20:
            scaled = Vec3(20.0, scaled.y, scaled.z)
        return scaled

    __rmul__ = __mul__

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def __eq__(self, other):
        return isinstance(other, Vec3) and self.x == other.x and self.y == other.y and self.z == other.z

    __hash__ = None  # type: ignore[assignment]  # as Python has it

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __getitem__(self, i):
        if i == 0:
            return self.x
        return self.y if i == 1 else self.z

    def __setitem__(self, i, value):
        if i == 0:
            self.x = value
        elif i == 1:
            self.y = value
        else:
            self.z = value

    def __len__(self):
        return 3

    def __iter__(self):
        return iter((self.x, self.y, self.z))

    def __abs__(self):
        return math.sqrt(self @ self)

    def __bool__(self):
        return bool(self.x != 0 or self.y != 0 or self.z != 0)

    def __iadd__(self, other):
        self.x += other.x
        return self

    def __contains__(self, value):
        return any(value == part for part in self)

    def __repr__(self):
        return f"<{self.x} {self.y} {'up' if self.z > 0 else 'down'}>"


def both(x):
    return Vec3(x[0], x[1], x[2]), Vec3(x[3], x[4], x[5])


def arithmetic(x):
    a, b = both(x)
    return a + b, a - b, -a, a * x[0], 2 * a, x[0] * b, np.float64(2) * a, a @ b


def compared(x):
    a, b = both(x)
    return a == b, a != b, a == a, a < b, a > b, a == 3.0, a != None, a < b < a * 3  # noqa: E711  # is tested


def items(x):
    a, _ = both(x)
    for i in range(len(a)):
        a[i] = a[i] + x[i + 3]
    p, q, r = a
    return a, list(a), sum(a), max(a), [2 * t for t in a], p + q + r, len(a), x[1] in a, 77 in a, (*a, 1)


def truth(x):
    a, _ = both(x)
    return (1 if a else 2), not a, bool(a), abs(a)


def in_place(x):
    a, b = both(x)
    c = a
    for i in range(len(x)):
        c += b
        if x[i] > 4:
            c += Vec3(x[i], 0.0, 0.0)
    return a, c, a is c


def folded(x):
    found = [Vec3(v, v + 1, 2 * v) for v in x[:3]]
    return (
        sum(found, Vec3(0.0, 0.0, 0.0)),
        functools.reduce(operator.add, found),
        functools.reduce(lambda a, b: a - b, found),
        operator.mul(found[0], x[2]),
    )


class Wrapped:
    """An array of its own, as libraries of units have it."""

    def __init__(self, a):
        self.a = a

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__":
            return NotImplemented
        result = ufunc(*(v.a if isinstance(v, Wrapped) else v for v in inputs), **kwargs)
        return Wrapped(result * 0 if result.sum() > 100 else result)

    def __array_function__(self, function, types, args, kwargs):
        return Wrapped(function(*(v.a if isinstance(v, Wrapped) else v for v in args), **kwargs))

    def __mul__(self, other):
        return np.multiply(self, other)

    def __rmul__(self, other):
        return np.multiply(other, self)

    def __getitem__(self, key):
        return Wrapped(self.a[key])


def of_numpy(x):
    w = Wrapped(x)
    return w * 2, x * w, x[0] * w, 2 * w, np.sin(w), np.maximum(w, 3), np.add(x, w), np.sum(w), w[1:].a


class Table:
    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return (self.a if self.a.sum() > 0 else -self.a).copy()


def as_array(x):
    t = Table(x)
    return np.asarray(t) + 1, np.array(t), np.asarray(t, dtype=np.float32)


class Dual:
    def __init__(self, v, d=0.0):
        self.v, self.d = v, d

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.v + other.v, self.d + other.d)

    __radd__ = __add__

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.v * other.v, self.v * other.d + self.d * other.v)

    __rmul__ = __mul__

    def __pow__(self, n):
        result = Dual(1.0)
        for _ in range(n):
            result = result * self
        return result

    def __gt__(self, other):
        return self.v > (other.v if isinstance(other, Dual) else other)


def beside_numbers(x):
    """NumPy's numbers give an object that says nothing about them their value as Python has it."""
    d = Dual(x[1], 1.0)
    y = x[0] * d**3 + 2 * d + np.float32(0.5) * d
    if y > 4:
        y = y * d
    while y > 1.0:
        y = y * 0.5
    return y, x[2] + d, x[0] < d


@functools.total_ordering
class Version:
    def __init__(self, major, minor):
        self.major, self.minor = major, minor

    def __eq__(self, other):
        return (self.major, self.minor) == (other.major, other.minor)

    __hash__ = None  # type: ignore[assignment]  # as Python has it

    def __lt__(self, other):
        if self.major != other.major:
            return self.major < other.major
        return self.minor < other.minor


@dataclasses.dataclass(order=True)
class Card:
    value: Any
    suit: Any = 0


def ordered(x):
    a, b = Version(x[0], x[1]), Version(x[3], x[4])
    c, d = Card(x[0], x[1]), Card(x[3], 2)
    return a < b, a >= b, a > b, a == b, c < d, c >= d, c == d, c != d


class Base:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return ("left", self.v + other.v)

    def __radd__(self, other):
        return ("right of base", self.v)


class Derived(Base):
    def __radd__(self, other):
        return NotImplemented if isinstance(other, Derived) else ("right of derived", self.v + other.v)


def reflected(x):
    return Base(x[0]) + Derived(x[1]), Derived(x[1]) + Base(x[0]), Base(x[0]) + Base(x[1]), 3 + Base(x[0])


def unsupported(x):
    try:
        return Base(x[0]) - 1
    except TypeError as error:
        return str(error)


def shown(x):
    a, _ = both(x)
    return repr(a), str(a), f"{a}!"


class Stack(list):
    def __getitem__(self, k):
        return super().__getitem__(k) + 1

    def __lshift__(self, value):
        self.append(value)
        return self


def of_list(x):
    s = Stack()
    s << x[0] << x[1]
    return s[0] + s[-1], len(s)


PROGRAMS = [
    arithmetic, compared, items, truth, in_place, folded, of_numpy, as_array, beside_numbers, ordered, reflected,
    unsupported, shown,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_methods_of_classes_are_captured(program: Callable[..., Any]) -> None:
    assert fates(program, *CALLS)[0] == SAME


def test_classes_derived_from_list() -> None:
    assert weft.compile(of_list)(A) == of_list(A)


def given(a, b, x):
    c = a + b
    if c < a:
        c = -c
    return c * x[0], a == b, [x[0] * a for _ in range(2)]


def test_objects_that_are_arguments() -> None:
    first, second = Vec3(1.0, 2.0, 3.0), Vec3(4.0, 5.0, 6.0)
    assert fates(given, (first, second, A), (-second, first, A), (first, first, -A))[0] == SAME
