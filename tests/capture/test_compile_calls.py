"""A compiled function does what the plain call does, whatever its arguments are and whatever happens.

PYTEST_DONT_REWRITE: the asserts of the programs here are theirs.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call

X = np.arange(6.0)
GRID = X.reshape(2, 3)


def check(function: Callable[..., Any], *makers: Any, captures: int | None = None) -> Any:
    """Compare over all arguments, twice; a maker is a tuple of arguments, or a function that makes one."""
    compiled = weft.compile(function)
    for _ in range(2):
        for maker in makers:
            expected = call(function, made(maker))
            assert_same(call(compiled, made(maker)), expected, identity=True)
    if captures is not None:
        assert compiled.cache_info().misses == captures, compiled.why_recompiled()
    return compiled


def made(maker: Any) -> Any:
    return maker() if callable(maker) else copy.deepcopy(maker)


@dataclass(eq=False)
class Point:
    w: Any
    b: float = 1.0


class Weights:
    def __init__(self, w: Any, k: int) -> None:
        self.w = w
        self.k = k


def add_one(x: Any) -> Any:
    x += 1
    return x


def set_all(x: Any) -> None:
    x[...] = 5


def write_reshaped(x: Any) -> Any:
    y = x.reshape(-1)
    y[0] = 9
    return y.sum(), x


def write_in_dict(d: Any) -> None:
    d["a"][0] = 5
    d["a"] += 1


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "sizes": (lambda x: x.sum(), (X,), (X[:1],), (X[:0],), (np.arange(20.0),)),
    "bool": (lambda x, k: x if k else -x, (X, True), (X, False)),
    "None": (lambda x, k=None: x if k is None else x + k, (X,), (X, 2.0), (X, None)),
    "str": (lambda x, how: x.sum() if how == "sum" else x.max(), (X, "sum"), (X, "max")),
    "numpy scalars": (lambda x, k: x * k, (X, np.float32(2)), (X, np.int64(3)), (X, np.float64(0.5)), (X, np.bool_(1))),
    "no dimensions": (lambda x: (x, x + 1), (np.array(3.0),), (np.array(2),)),
    "no dimensions, written": (add_one, (np.array(3.0),), (X,)),
    "no dimensions, set": (set_all, (np.array(3.0),), (X,)),
    "order in memory": (lambda x: (x.reshape(-1), x.ravel(), x.T.copy()), lambda: (np.asfortranarray(GRID),), (GRID,)),
    "reshaped and written": (
        write_reshaped,
        lambda: (np.asfortranarray(GRID),),
        (GRID,),
        lambda: (GRID.copy()[:, ::-1],),
    ),
    "strides": (lambda x: x[::-1] * np.arange(len(x)), lambda: (X[::-1],), lambda: (X[::2],), (X,)),
    "list": (lambda xs: sum(xs), ([X, X + 1],), ([X],), ([X, X, X],)),
    "dict": (lambda d: d["a"] - d["b"], ({"a": X, "b": X * 2},), ({"b": X, "a": X * 2},)),
    "dict, written": (write_in_dict, ({"a": X},), ({"a": X[:3], "b": 1},)),
    "dataclass": (lambda p, x: p.w * x + p.b, (Point(X), X), (Point(X, 2.0), X), (Point(X[:3]), X[:3])),
    "object": (lambda o, x: o.w * x + o.k, lambda: (Weights(X, 2), X), lambda: (Weights(-X, 3), X)),
    "complex": (lambda z: abs(z) * z.real, (1 + 2j,), (3j,)),
    "nothing traced": (lambda n: [n] * 2, ("a",), ("b",)),
    "zero and minus zero": (lambda x, k: np.copysign(x, k), (X, 0.0), (X, -0.0), (X, np.nan)),
    "empty containers": (lambda x, d, t: x + len(d) + len(t), (X, {}, ()), (X, {"a": 1}, (1, 2))),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    check(*ARGUMENTS[name])


def test_captured_again_only_where_it_matters() -> None:
    doubled = lambda x: x * 2 + 1  # noqa: E731  # as users write them
    others = [(X.astype("float32"),), (X.astype(int),), (GRID,), (X[:3],), (np.arange(50.0),)]
    compiled = check(doubled, (X,), *others, captures=4)
    assert len(compiled.why_recompiled()) == 3
    check(lambda x, k: x * k, (X, 2), (X, 3), (X, -1), captures=1)
    check(lambda x, k: x * k, (X, 2.0), (X, 3.5), (X, 2), captures=2)
    check(lambda x, n: x[:n].sum() if n > 2 else x[0], (X, 3), (X, 4), (X, 1), captures=2)


def test_generators_are_advanced_as_plainly() -> None:
    def noisy(rng: Any, x: Any) -> Any:
        return x + rng.normal(size=6) * rng.random()

    compiled = weft.compile(noisy)
    for seed in range(3):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(one, X), noisy(other, X))
        assert one.bit_generator.state == other.bit_generator.state
    assert compiled.cache_info().misses == 1


def pairs() -> list[tuple[Any, Any]]:
    a = np.arange(5.0)
    return [(a, a), (a, np.ones(5)), (a, a[::-1]), (a[1:], a[:-1]), (a[:2], a[2:4]), (a[::2], a[1:4])]


def write_one(a: Any, b: Any) -> Any:
    a[0] = 7
    return a + b


def write_both(a: Any, b: Any) -> None:
    for i in range(len(a)):
        a[i] = b[i] + 1
        b[i] = 2 * a[i]


@pytest.mark.parametrize("function", [write_one, write_both, lambda a, b: a + b, lambda a, b: 0 if a is b else 1])
def test_arrays_that_share_memory(function: Any) -> None:
    compiled = weft.compile(function)
    for which in [*range(6), *reversed(range(6)), 0, 3, 1]:
        assert_same(call(compiled, pairs()[which]), call(function, pairs()[which]), identity=True)


def test_read_only_arrays() -> None:
    def given(writeable: bool) -> Any:
        x = np.arange(3.0)
        x.flags.writeable = writeable
        return (x,)

    def write(x: Any) -> None:
        x[0] = 1

    check(write, lambda: given(True), lambda: given(False))
    check(lambda x: x + 1, lambda: given(True), lambda: given(False), captures=1)


# Exceptions


def raises_inside(a: Any) -> Any:
    if a.sum() < 0:
        raise ValueError(f"bad {a.sum()}")
    for v in a:
        if v == 3:
            raise KeyError("three")
    return a


def asserts(a: Any) -> Any:
    assert a.sum() > 0, f"the sum is {a.sum()}"
    return a


def asserts_in_loop(a: Any, n: int) -> Any:
    for i in range(n):
        assert a[i] < 4, i
    return n


def writes_then_fails(a: Any) -> None:
    a[0] = 9
    a[10] = 1


def writes_until_it_fails(a: Any, n: int) -> None:
    for i in range(n):
        a[i] = i * 2


def unbound(a: Any, flag: bool) -> Any:
    if flag:
        q = a
    return q


def unbound_loop(a: Any, n: int) -> Any:
    for i in range(n):
        last = a[i]
    return last


EXCEPTIONS: dict[str, tuple[Any, ...]] = {
    "shapes": (lambda a, b: a + b, (X, X[:4]), (X, X), (X, X[:1])),
    "index": (lambda a, i: a[i], (X, 2), (X, 9), (X, -7), (X, -1)),
    "division of integers": (lambda a, b: a // b, (4, 0), (4, 2), (4, -3)),
    "division": (lambda a, b: a / b, (4.0, 0.0), (4.0, 2.0)),
    "singular": (lambda a: np.linalg.solve(a, np.ones(2)), (np.zeros((2, 2)),), (np.eye(2),)),
    "not positive": (lambda a: np.linalg.cholesky(a), (np.eye(2),), (-np.eye(2),)),
    "raise": (raises_inside, (X,), (-X,), (X[:2],)),
    "assert": (asserts, (X,), (-X,)),
    "assert in a loop": (asserts_in_loop, (X, 3), (X, 6), (X, 9)),
    "after a write": (writes_then_fails, (X,), (np.arange(12.0),)),
    "in the midst of writes": (writes_until_it_fails, (X, 3), (X, 9), (X, 6)),
    "no value": (unbound, (X, True), (X, False)),
    "no value after a loop": (unbound_loop, (X, 3), (X, 0)),
    "no attribute": (lambda a: a.nothing, (X,)),
    "type": (lambda a, b: a + b, (X, "text"), (X, None)),
    "key": (lambda a, d: a * d["k"], (X, {"k": 2}), (X, {})),
    "unpacking": (lambda a: [b + c for b, c in [a]], (X[:2],), (X,)),
    "reshape": (lambda a, n: a.reshape(n, -1), (X, 2), (X, 4), (X, 3)),
    "concatenate": (lambda a, b: np.concatenate([a, b]), (X, X), (X, GRID)),
    "arguments": (lambda a, b: a, (X,), (X, 1, 2)),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(name: str) -> None:
    outcomes = [call(EXCEPTIONS[name][0], made(args)) for args in EXCEPTIONS[name][1:]]
    if name != "division":
        assert any(outcome.exception is not None for outcome in outcomes)
    check(*EXCEPTIONS[name])


def test_warnings_are_those_of_the_plain_call() -> None:
    def function(a: Any) -> Any:
        return np.log(a) + 1 / a

    compiled = weft.compile(function)
    seen = []
    for run in (function, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(np.array([0.0, -1.0]))
        seen.append([str(warning.message) for warning in caught])
    assert seen[0]
    assert seen[1] == seen[2] == seen[0]


def test_results_share_memory_as_plainly() -> None:
    def function(a: Any) -> Any:
        b = a * 2
        return a, a.T, a[1:], a.reshape(-1), a * 1, a + 0, np.array(a), a.copy(), b, b, -b

    results = weft.compile(function)(GRID)
    expected = function(GRID)
    assert [np.shares_memory(one, GRID) for one in results] == [np.shares_memory(one, GRID) for one in expected]
    assert results[0] is GRID
    assert results[8] is results[9]
    assert not np.shares_memory(results[8], results[10])


def test_what_is_made_inside_is_made_anew() -> None:
    def function(x: Any) -> Any:
        made_here = [np.zeros(6), weft.zeros((6,)), np.array([[1.0, 2.0]]), weft.eye(2), weft.linspace(0, 1, 3)]
        for one in made_here:
            one[0] += x[1]
        return made_here

    compiled = weft.compile(function)
    results = [compiled(X) for _ in range(3)]
    for result in results:
        for one, other in zip(result, function(X), strict=True):
            np.testing.assert_array_equal(one, other)
    assert not any(np.shares_memory(a, b) for a, b in zip(results[1], results[2], strict=True))


def test_wrapped_functions_run_where_the_program_calls_them() -> None:
    seen: list[float] = []

    @weft.wrap
    def note(x: Any) -> None:
        seen.append(float(x.sum()))

    def program(x: Any) -> Any:
        note(x)
        for i in range(20):
            if x[i % 6] > 2:
                note(x * i)
        return x + 1

    program(X)
    expected, seen[:] = list(seen), []
    weft.compile(program)(X)
    assert seen == expected
