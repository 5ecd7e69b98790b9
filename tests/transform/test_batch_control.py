"""Programs with branches and loops, batched: against a loop over the rows that runs them as plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from batching import batch_graph, by_rows, captured, gradient_of_sum, run_batched

import weft
from weft import pytree
from weft.transform._gradient import grad

rng = np.random.default_rng(0)


def branch(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        z = x * y
    else:
        z = y - x
    return z, x.max()


def of_numbers(a: float, b: float) -> Any:
    if a > b:
        a = a * 2.0
    else:
        b = b / 3
    return a + b


def recurrence(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = s * 0.5 + x[i % 4]
    return s


def root(x: float, tolerance: float) -> Any:
    turns, y = 0, x
    while abs(y * y - 2.0) > tolerance and turns < 50:
        y = 0.5 * (y + 2 / y)
        turns += 1
    return y, turns


def search(xs: Any, t: float) -> Any:
    i = 0
    while i < len(xs) and xs[i] < t:
        i += 1
    return i


def lu(a: Any) -> Any:
    n = a.shape[0]
    a = a.copy()
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def nested(x: Any, m: int) -> Any:
    t = 0.0
    for i in range(m):
        for j in range(i):
            if x[j] > 0:
                t += x[j] * i
            else:
                t -= 1.0
    return t


def leaves_early(x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        if x[i] < -0.5:
            break
        t += x[i]
    return t


def within(x: Any, i: int) -> Any:
    if i < len(x):
        y = x[i]
    else:
        y = -1.0
    return y


def inverse_if(x: Any) -> Any:
    if x[0] > 0:
        return np.linalg.inv(x[:2, None] * x[None, :2] + np.eye(2))
    return np.zeros((2, 2))


def masked(x: Any) -> Any:
    x = x.copy()
    x[x < 0] = 0
    return x, x[x > 0].sum()


def raises_at_times(x: float) -> Any:
    if x > 0:
        if x > 100:
            raise ValueError("too large")
        x = x + 1
    return x + 1


def listed(x: Any) -> Any:
    found = []
    for i in range(4):
        found.append(x[i] * 2)  # noqa: PERF401  # an append is what is tested
    return np.array(found)


def truths(a: float, b: float) -> Any:
    first, second = a > 0.0, b > 1.0
    return (first and second), (not first) or second, first + second


def python_numbers(a: float, b: float) -> Any:
    some = max(a, b, 0.5), min(a, b), abs(a), round(a), int(b), float(a) > b, -a, a**2, a // 0.3, math.sin(a)
    return some, divmod(a, b)


def window(x: Any, i: int) -> Any:
    return x[i : i + 2].sum()


def relaxed(x: Any, b: Any, k: int) -> Any:
    x = x.copy()
    for _ in range(k):
        for i in range(4):
            x[i] = b[i] - 0.1 * x[(i + 1) % 4]
    return x


def promoted(x: Any, c: float) -> Any:
    return x * c + 1, x**c, np.where(x > 0, x, c), x[0] + c, np.clip(x, 0, c)


def collatz(n: int) -> Any:
    k = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        k += 1
    return k


def loop_in_branch(x: float, n: int) -> Any:
    if x > 0:
        s = 0.0
        while s * s < x:
            s += 0.1
    else:
        s = -1.0
    for i in range(n):
        if i == 3:
            continue
        s += i
    return s


def backwards(x: Any, first: int, last: int) -> Any:
    t = 0.0
    for i in range(first, last, -2):
        t = t * 0.5 + x[i] * i
    return t


def by_functions(x: Any, n: int) -> Any:
    low, high = weft.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, x))
    chosen = weft.switch(n, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x)
    total, sums = weft.scan(lambda s, row: (s + row * low, s), 0.0, x)
    return high, chosen, total, sums


def gathers(x: Any, i: Any, j: int) -> Any:
    y = x.copy()
    y[i, j] = 1.5
    z = x.copy()
    z[:, i] = z[:, i] * 2 + j
    return x[i], x[:, i], x[i, j], x[j, 1:], x[None, :, j], x[i, None, i], y, z, np.take(x, i, axis=1)


PROGRAMS: list[tuple[Callable[..., Any], list[Any]]] = [
    (branch, [rng.normal(size=3), rng.normal(size=3)]),
    (of_numbers, [1.5, 0.3]),
    (recurrence, [rng.normal(size=5), 4]),
    (root, [1.9, 1e-6]),
    (search, [np.sort(rng.normal(size=6)), 0.2]),
    (lu, [rng.normal(size=(4, 4)) + 5 * np.eye(4)]),
    (nested, [rng.normal(size=8), 4]),
    (leaves_early, [rng.normal(size=6)]),
    (within, [rng.normal(size=4), 2]),
    (inverse_if, [rng.normal(size=3)]),
    (masked, [rng.normal(size=5)]),
    (raises_at_times, [0.5]),
    (listed, [rng.normal(size=4)]),
    (truths, [0.5, -1.3]),
    (python_numbers, [1.2, 0.7]),
    (window, [rng.normal(size=8), 2]),
    (relaxed, [rng.normal(size=4), rng.normal(size=4), 3]),
    (promoted, [rng.normal(size=4).astype(np.float32) ** 2 + 1, 0.5]),
    (collatz, [7]),
    (loop_in_branch, [1.0, 5]),
    (backwards, [rng.normal(size=12), 7, 1]),
    (by_functions, [rng.normal(size=3), 2]),
    (gathers, [rng.normal(size=(4, 4)), np.array([2, 0, 1]), 2]),
]


def examples(x: Any, size: int) -> np.ndarray:
    """Four values like one, that go other ways than it does."""
    if isinstance(x, int):
        found = np.array([x, x + 1, max(x - 2, 1), x + 3] if x != 2 else [2, 1, 3, 0])
    elif isinstance(x, float):
        found = np.array([x, -x, x * 0.5, x * 2] if x != 1e-6 else [1e-6, 1e-3, 1e-9, 1.0])
    elif x.dtype.kind == "i":
        found = np.stack([x, x[::-1], x * 0, x - 1])
    else:
        found = np.stack(
            [x, -x, x + np.asarray(0.3, x.dtype), x[::-1]] if x.dtype != np.float32 else [x, x * 2, x + 1, x]
        )
    return found[:size]


def masks(count: int) -> list[list[bool]]:
    alone = [[i == j for i in range(count)] for j in range(count)] if count > 1 else []
    return [[True] * count, *alone]


def compare(function: Callable[..., Any], given: list[Any], rtol: float = 1e-12) -> None:
    for along in masks(len(given)):
        for size in (4, 1, 0):
            graph = captured(function, given)
            arguments = [examples(x, size) if has else x for x, has in zip(given, along, strict=True)]
            with np.errstate(all="ignore"):
                found = run_batched(graph, arguments, along, size)
                if not size:
                    assert all(len(got) == 0 for got in found)
                    continue
                wanted = by_rows(function, arguments, along, size, given)
            for got, want in zip(found, wanted, strict=True):
                assert (got.shape, got.dtype) == (want.shape, want.dtype), along
                exact = 1e-6 if got.dtype == np.float32 else rtol
                np.testing.assert_allclose(got, want, rtol=exact, atol=rtol, err_msg=str((along, size)))


def twice(function: Callable[..., Any], given: list[Any], rtol: float = 1e-12) -> None:
    """A batch of batches."""
    along = [True] * len(given)
    arguments = [examples(x, 4) for x in given]
    with np.errstate(all="ignore"):
        inner, _, rows = batch_graph(captured(function, given), arguments, along, 4)
        both = [np.stack([each, each[::-1]]) for each in arguments]
        found = run_batched(inner, both, along, 2)
        wanted = by_rows(function, arguments, along, 4, given)
    for got, want, has in zip(found, wanted, rows, strict=True):
        if has:
            np.testing.assert_allclose(
                got, np.stack([want, want[::-1]]), rtol=1e-6 if want.dtype == np.float32 else rtol
            )


names = [function.__name__ for function, _ in PROGRAMS]


@pytest.mark.parametrize(("function", "given"), PROGRAMS, ids=names)
def test_program(function: Callable[..., Any], given: list[Any]) -> None:
    compare(function, given)


@pytest.mark.parametrize(("function", "given"), PROGRAMS, ids=names)
def test_batch_of_batches(function: Callable[..., Any], given: list[Any]) -> None:
    twice(function, given)


@pytest.mark.parametrize(("function", "given"), PROGRAMS, ids=names)
def test_numbers_of_examples_that_change(function: Callable[..., Any], given: list[Any]) -> None:
    """From the second call on the sizes are those of any call."""
    batched = weft.vmap(function)
    for size in (4, 3, 2):
        arguments = [examples(x, size) for x in given]
        with np.errstate(all="ignore"):
            found = pytree.leaves_of(batched(*arguments))
            wanted = by_rows(function, arguments, [True] * len(given), size, given)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype == np.float32 else 1e-12)


# Gradients, whose loops leave tapes


def loss_of_loop(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = s * 0.5 + np.sin(x[i % 4]) * s + x[i % 5] ** 2
    return s


def loss_of_lu(a: Any) -> Any:
    return (lu(a) ** 2).sum()


def loss_of_root(x: float, tolerance: float) -> Any:
    turns, y = 0, x
    while abs(y * y - 2.0) > tolerance and turns < 50:
        y = 0.5 * (y + 2 / y) * 1.0 + 0.1 * (x - y) * (y * y - 2)
        turns += 1
    return y * x


def loss_of_branch(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        z = np.sin(x) * y
    else:
        z = y - x * x
    return (z * z).sum()


def loss_of_branches(x: Any, n: int) -> Any:
    t = 1.0
    for i in range(n):
        if x[i] > 0:
            t = t * x[i] * np.cos(t)
        else:
            t = t - x[i] * x[i] * t
    return t


def loss_of_nested(x: Any, m: int) -> Any:
    t = 1.0
    for i in range(m):
        for j in range(i):
            t = np.sin(t * x[j]) + 0.5 * x[i] * t
    return t


def loss_of_inner_while(x: Any, m: int) -> Any:
    t = 0.0
    for i in range(m):
        u = x[i] * x[i]
        while u < 3.0:
            u = u * 1.5 + 0.1
        t += np.sin(u) * t + u
    return t


def loss_of_layer(x: Any, w: Any) -> Any:
    return -weft.log_softmax(np.tanh(x @ w))[1] + weft.mean((x - x.mean()) ** 2)


def loss_of_costly_branches(x: Any, n: int) -> Any:
    for i in range(3):
        if x[i] > 0:
            x = np.tanh(WEIGHTS @ np.tanh(WEIGHTS @ x))
        else:
            x = np.sort(x) * (x @ WEIGHTS)[1]
        if n > 2:
            x = np.cos(x @ WEIGHTS) @ WEIGHTS
        else:
            x = x * (WEIGHTS @ x) * n
    return x.sum()


def loss_of_steps(x: Any, n: int) -> Any:
    total = 0.0
    while n > 1:
        for i in range(n):
            x = np.tanh(WEIGHTS @ x) * x[i % 3]
        total = total + x.sum() * total + x[0]
        n = n // 2
    return total


WEIGHTS = rng.normal(size=(3, 3))

LOSSES: list[tuple[Callable[..., Any], list[Any]]] = [
    (loss_of_loop, [rng.normal(size=5), 4]),
    (loss_of_lu, [rng.normal(size=(4, 4)) + 5 * np.eye(4)]),
    (loss_of_root, [1.9, 1e-6]),
    (loss_of_branch, [rng.normal(size=3), rng.normal(size=3)]),
    (loss_of_branches, [rng.normal(size=8), 4]),
    (loss_of_nested, [rng.normal(size=8), 4]),
    (loss_of_inner_while, [rng.normal(size=8), 3]),
    (loss_of_costly_branches, [rng.normal(size=3), 3]),
    (loss_of_steps, [rng.normal(size=3), 4]),
    (loss_of_layer, [rng.normal(size=3), rng.normal(size=(3, 4))]),
]
losses = pytest.mark.parametrize(("function", "given"), LOSSES, ids=[function.__name__ for function, _ in LOSSES])


def first(function: Callable[..., Any]) -> Callable[..., Any]:
    def slope(*args: Any) -> Any:
        return grad(function)(*args)

    return slope


def second(function: Callable[..., Any]) -> Callable[..., Any]:
    def total(*args: Any) -> Any:
        return np.sum(grad(function)(*args))

    def curvature(*args: Any) -> Any:
        return grad(total)(*args)

    return curvature


@losses
def test_gradient(function: Callable[..., Any], given: list[Any]) -> None:
    compare(first(function), given, 1e-9)


@losses
def test_second_derivative(function: Callable[..., Any], given: list[Any]) -> None:
    compare(second(function), given, 1e-9)


@losses
def test_gradient_in_a_batch_of_batches(function: Callable[..., Any], given: list[Any]) -> None:
    twice(first(function), given, 1e-9)


@losses
def test_gradient_of_the_batch(function: Callable[..., Any], given: list[Any]) -> None:
    """The gradient of what all examples give together is that of each."""
    along = [True] * len(given)
    arguments = [examples(x, 4) for x in given]
    found = gradient_of_sum(captured(function, given), arguments, along, 4)
    (wanted,) = by_rows(grad(function), arguments, along, 4, given)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def singular(x: float, n: int) -> Any:
    if x > 0:
        y = np.log(x) + np.sqrt(x) / x + x**-1.5
    else:
        y = np.sqrt(-x + 1.0) + np.exp(-x)
    while n > 0 and y < 3.0:
        y = y + 1 / (3.5 - y)
        n = n - 1
    return y


def test_branches_not_taken_neither_warn_nor_spoil_the_gradient() -> None:
    x, n = np.array([0.0, 2.0, -1.0, 900.0]), np.array([3, 0, 1, 2])
    graph = captured(singular, [0.5, 1])
    found = run_batched(graph, [x, n], [True, True], 4)[0]
    np.testing.assert_allclose(found, [singular(float(a), int(b)) for a, b in zip(x, n, strict=True)])
    slopes = gradient_of_sum(graph, [x, n], [True, True], 4)
    np.testing.assert_allclose(slopes, [grad(singular)(float(a), int(b)) for a, b in zip(x, n, strict=True)])


def test_gradients_of_uneven_loops_are_loops_over_all_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie so on the tape that the examples need not run one by one."""
    from weft.transform import _batch_rows

    monkeypatch.setattr(_batch_rows, "each_row", None)
    for function, given in LOSSES:
        arguments = [examples(x, 4) for x in given]
        run_batched(captured(first(function), given), arguments, [True] * len(given), 4)
