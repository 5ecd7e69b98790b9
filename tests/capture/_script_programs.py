"""Small programs for scripts, each with several tuples of arguments; `PROGRAMS` lists them."""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: list[tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = []
SIX = np.arange(6.0)


def runs_on(*arguments: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, arguments))
        return function

    return add


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, str, str]:
    """What a caller sees of a call, as text: it tells dtypes, NumPy's numbers from Python's, and exceptions."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            result = function(*arguments)
        except Exception as error:  # it is part of the outcome
            result = error
    return repr(result), repr([a for a in arguments if not hasattr(a, "__next__")]), printed.getvalue()


# Calls


@runs_on((SIX,), (SIX, 5))
def defaults(x, n=3, *, k=2):
    return x * n + k


@runs_on((SIX,), (SIX, 1, 2))
def variadic(x, *rest, scale=1.0, **options):
    total = x.sum() * scale
    for r in rest:
        total += r
    if "bias" in options:
        total += options["bias"]
    return total, options.get("q", 3), len(rest)


def _plus_one(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return inner


@runs_on((SIX,))
@_plus_one
def decorated(x):
    return x * 2


def _closure(k):
    w = np.array([1.0, 2, 3, 4, 5, 6])

    def inner(x):
        if x[0] > k:
            return x * w
        return x + w

    return inner


runs_on((SIX,), (SIX + 5,))(_closure(2))
runs_on((SIX,), (SIX, 1))(lambda x, y=2: x**y if y > 1 else -x)


@runs_on((SIX,))
def nested_functions(x):
    def helper(a, k=2):
        if a.sum() > 3:
            return a * k
        return a

    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    return helper(x) + helper(x, k=3), factorial(5)


@runs_on(("sum",), ("max",), ("other",))
def function_by_name(name):
    if name == "sum":
        f = np.sum
    elif name == "max":
        f = np.max
    else:
        f = len
    return f(np.array([3.0, -1]))


# Control flow


@runs_on((SIX,), (SIX[:2],), (SIX[:0],))
def breaking_for(x):
    for v in x:
        print("v", v)
        if v > 2:
            print("big")
            break
    else:
        print("never")
    return v


@runs_on((SIX, 5), (SIX[::-1].copy(), 6), (SIX, 0))
def continue_and_else(x, n):
    out = np.zeros(n)
    for i in range(n):
        if i % 2:
            continue
        for j in range(i):
            if x[j] > x[i]:
                break
            out[i] += x[j]
        else:
            out[i] *= 2
    return out


@runs_on((np.array([[1, 2, 3], [4, -1, 3]]),), (np.zeros((0, 2)),))
def rows_with_else(x):
    total = 0
    for row in x:
        for v in row:
            if v < 0:
                break
            if v == 1:
                continue
            total += v
        else:
            total += 100
            continue
        total -= 1
    return total


@runs_on((SIX,), (SIX + 1000,))
def endless_while(x):
    while True:
        x = x / 2
        if x.max() < 1:
            return x
        if x.min() > 100:
            break
    return None


@runs_on((3,), (6,), (0,))
def while_with_else(n):
    i = 0
    while i < n:
        i += 1
        if i == 5:
            return "five"
        if i > 7:
            raise RuntimeError("never")
    else:
        return "done"
    return "unreachable"


@runs_on((SIX,), (SIX[:1],), (SIX[:0],))
def early_returns(x):
    n = len(x)
    if n == 0:
        return None
    if n == 1:
        return x[0]
    for v in x:
        if v > 3:
            return v
    return x[0] + x[-1]


@runs_on((SIX, True), (SIX, False))
def raising(x, flag):
    if flag:
        raise ValueError(f"bad {x[0]}")
    return x + 1


@runs_on((SIX, SIX), (SIX, SIX[:2]), (SIX[:1], SIX[:1]))
def asserting(x, y):
    assert x.shape == y.shape, "shapes"
    assert len(x) > 1
    return x + y


@runs_on((1, 2), (0, 3), (5, 0))
def short_circuits(a, b):
    return (a and b), (a or b), not a, a < b < 10, b if a else -b, a is None


@runs_on((SIX,), (SIX[:0],))
def best_so_far(x):
    best = None
    for _, v in enumerate(x):
        if best is None or v > best:
            best = v
    return best


@runs_on((SIX, 4.0), (SIX, 99.0))
def bisection(x, wanted):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@runs_on((SIX, SIX), (SIX, SIX[:4]), (SIX[:4], SIX), ([9.0, 0.0], [0.0]))
def zipped_strictly(a, b):
    a[0] = 7
    for u, v in zip(a, b, strict=True):
        print(u * v)
        if u == 9:
            break
    return [u - v for u, v in zip(a, b, strict=True)]


# Writes


@runs_on((SIX,))
def writes(x):
    x += 1
    x[0] = 5
    x[1:3] *= 2
    y = x[2:]
    y[0] = -1
    x.sort()
    np.add(x, 1, out=x)


@runs_on((SIX,))
def views(x):
    v = x[1:]
    v[0] = 3
    w = x.reshape(2, 3)
    w[1] = 0
    x.T[0] = 7
    return v


@runs_on((SIX, 1), (SIX, 3))
def maybe_a_copy(x, n):
    y = x
    if n > 2:
        y = x.copy()
    y[0] = 9
    return y


@runs_on((SIX, SIX + 1), (SIX + 1, SIX))
def swapped(a, b):
    a, b = b, a
    if a[0] > b[0]:
        a, b = b, a
    a[0] = 100
    return a, b


@runs_on((np.array([3.0, 1, 2]),), ([3, 1, 2],))
def insertion_sort(x):
    i = 0
    while i < len(x):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1
        i += 1


@runs_on((SIX, 3))
def filled_table(x, n):
    out = np.empty((n, 3))
    for i in range(n):
        for j in range(3):
            out[i, j] = x[i] * j if j else -1.0
    return out, out.shape, out.sum(axis=0)


@runs_on(({"a": 1, "b": 2},), ({},))
def dict_argument(d):
    for k in d:
        d[k] = d[k] + 1
    for k, v in d.items():
        print(k, v)
    return d, sorted(d), list(d.values()), {**d, "c": 3}


@runs_on((SIX,))
def dict_of_totals(x):
    d = {"total": 0.0, "n": 0}
    for v in x:
        d["total"] += v
        d["n"] += 1
    return d


class Meter:
    """An object of the caller's: the program calls it, reads it and changes it."""

    def __init__(self):
        self.n, self.seen = 1, []

    def step(self, x):
        self.seen.append(x)
        self.n += 1

    def get(self):
        return self.n

    def __repr__(self):
        return f"Meter({self.n}, {self.seen})"


@runs_on((Meter(), 3))
def object_argument(meter, x):
    meter.step(x)
    before = meter.n
    meter.n = 5
    get = meter.get
    meter.get = meter.step
    return before, meter.n, get()


@runs_on((Meter(), SIX))
def attribute_before_branch(meter, x):
    n = meter.n
    if x[1] > 0:
        meter.n = 50
        y = x * n
    else:
        y = x
    return y + n, meter


# Values


@runs_on((SIX,), (SIX[:2],), (SIX[:1],), ([1, 2, 3],), ({"a": 1, "b": 2},))
def unpacking(x):
    a, b, *c = x
    (d, e), f = (a, b), c
    return d, e, f, len(f)


@runs_on(((1, 2),), ((1,),), ((1, 2, 3),), (iter([4, 5]),))
def unpacking_two(pair):
    a, b = pair
    return b, a


@runs_on((SIX, 1), (SIX, 0), (SIX, 7))
def plain_containers(a, i):
    table, names, words = [1, 2, 3], ("a", "b"), {0: "z", 1: "o"}
    found = words.get(i), words.get(9), i in table, i in words, i in range(3), i in {1, 2}
    return table[i], names[i], words[i], found, "abc"[i], table[i:]


@runs_on((SIX,), (3,))
def questions(x):
    return x.mean() if isinstance(x, np.ndarray) else -x, hasattr(x, "shape"), x is None, f"{x!r:>10}"


@runs_on((SIX,), (SIX[:0],))
def texts(x):
    s = ""
    for v in x:
        s += f"{v:.1f},"
    return s, s.split(","), ",".join(str(v) for v in x), s.upper() if s else "no"


@runs_on((SIX, SIX[::-1].copy()))
def numpy_calls(x, y):
    z = np.where(x > y, x, y)
    s = x @ y
    parts = x.T, x[None, :, None].shape, x.real, np.linalg.norm(x), math.sqrt(abs(s))
    return z, s, parts, min(x[0], y[1]), divmod(7, int(y[2])), np.mgrid[0 : len(x) : 2, :2]


@runs_on((SIX,))
def error_state(x):
    try:
        y = int("3")
    except ValueError:
        y = 0
    with np.errstate(divide="ignore"):
        z = 1 / x
    return y, z


@runs_on((7, 3), (8, 0))
def seeded(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rng.shuffle(x)
    return x, rng.integers(0, 10, n)


@runs_on(([1, 2],), ([1],), ([],))
def iterators(x):
    it = iter(x)
    a = next(it)
    return a, next(it, None)
