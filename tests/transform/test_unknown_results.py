"""Functions that run as they are, marked with `wrap`: what they give is not known, and never taken for a constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError, NotDifferentiable

POINTS = np.array([1.0, 2.0, 3.0])
SEEN: list[Any] = []


@weft.wrap
def doubled(x: Any) -> Any:
    return x * 2


@weft.wrap
def seen(x: Any) -> None:
    SEEN.append(float(np.sum(x)))


def _in_a_branch(x: Any) -> Any:
    if x.sum() > 0:
        return np.sum(doubled(x))
    return x.sum()


def _in_a_loop(x: Any) -> Any:
    total = x.sum()
    for _ in range(3):
        total = total + np.sum(doubled(x))
    return total


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "the result itself": lambda x: doubled(x),
    "a method of it": lambda x: doubled(x).sum(),
    "a function of it": lambda x: np.sin(doubled(x)).sum(),
    "beside what varies": lambda x: np.sum(doubled(np.ones(3))) * x.sum(),
    "a constant of what varies": lambda x: np.sum(doubled(weft.stop_gradient(x))) * x.sum(),
    "in a branch": _in_a_branch,
    "in a loop": _in_a_loop,
    "eigenvalues": lambda x: np.linalg.eig(np.outer(x, x))[0].real.sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: weft.grad(f)(POINTS),
        lambda f: weft.vjp(f, POINTS),
        lambda f: weft.jvp(f, (POINTS,), (POINTS,)),
        lambda f: weft.linearize(f, POINTS),
    ],
    ids=["grad", "vjp", "jvp", "linearize"],
)
def test_refused(name: str, derivative: Callable[[Any], Any]) -> None:
    with pytest.raises(NotDifferentiable, match="has no derivative: what it gives is known only when it runs"):
        derivative(PROGRAMS[name])


def test_the_error_names_the_function_and_the_line() -> None:
    def program(x: Any) -> Any:
        twice = doubled(x)
        return np.sin(twice).sum()

    with pytest.raises(NotDifferentiable, match="doubled has no derivative") as caught:
        weft.grad(program)(POINTS)
    assert "twice = doubled(x)" in str(caught.value)


def test_one_whose_result_nothing_reads_runs() -> None:
    def program(x: Any) -> Any:
        seen(x)
        return (x**2).sum()

    SEEN.clear()
    np.testing.assert_array_equal(weft.grad(program)(POINTS), 2 * POINTS)
    assert SEEN == [6.0]


def test_with_a_rule() -> None:
    @weft.custom_vjp
    def twice(x: Any) -> Any:
        out = np.empty(3)
        out[...] = doubled(x)
        return out

    def forward(x: Any) -> Any:
        return twice(x), None

    twice.defvjp(forward, lambda kept, g: (2 * g,))
    np.testing.assert_array_equal(weft.grad(lambda x: (twice(x) ** 2).sum())(POINTS), 8 * POINTS)


def test_vmap() -> None:
    def written(x: Any) -> Any:
        out = np.empty(3)
        out[...] = doubled(x)
        return out

    rows = np.stack([POINTS, POINTS + 1])
    np.testing.assert_array_equal(weft.vmap(written)(rows), 2 * rows)
    np.testing.assert_array_equal(weft.vmap(lambda x: doubled(x))(rows), 2 * rows)
    with pytest.raises(CaptureError, match="out_axes is 1 for a result of which only running tells what it is"):
        weft.vmap(lambda x: doubled(x), out_axes=1)(rows)


@weft.wrap
def scaled(n: int) -> Any:
    return np.full((2, 1), 1.0 / n) if n > 5 else 1.0 / n


@pytest.mark.parametrize("first", [1, 5])  # numbers only; at last arrays of two rows
def test_vmap_beside_values_of_unknown_shape(first: int) -> None:
    def recurrence(first: int, x: Any) -> Any:
        before, now = scaled(first) * x, scaled(first) * x * 2
        for n in range(first + 1, first + 3):
            before, now = now, scaled(n) * x * now - 0.5 * before
        return now

    rows = np.arange(12.0).reshape(3, 4) / 10
    expected = np.stack([recurrence(first, row) for row in rows])
    assert expected.shape == ((3, 4) if first == 1 else (3, 2, 4))
    np.testing.assert_allclose(weft.vmap(recurrence, in_axes=(None, 0))(first, rows), expected, rtol=1e-12)


@weft.wrap
def begin_with(array: Any, value: Any) -> None:
    array[0] = value


def _written_by_it(value: Any) -> Any:
    made = np.zeros(2)
    begin_with(made, value)
    return made.sum() * value


@weft.wrap
def append(items: Any, value: Any) -> None:
    items.append(value)


def _appended_by_it(value: Any) -> Any:
    items = [np.zeros(2)]
    append(items, value)
    return sum(np.sum(item) for item in items) * value


def _written_in_a_list(value: Any) -> Any:
    made = [np.zeros(2)]
    begin_with_first(made, value)
    return made[0].sum() * value


@weft.wrap
def begin_with_first(arrays: Any, value: Any) -> None:
    arrays[0][0] = value


def _writes_its_argument(x: Any) -> Any:
    begin_with(x, 7.0)
    return x.sum()


@weft.wrap
def sum_of_cleared(array: Any) -> float:
    before = float(array.sum())
    array[:] = 0
    return before


@pytest.mark.parametrize(
    ("program", "at"),
    [(_written_by_it, 0.0), (_writes_its_argument, POINTS), (_written_in_a_list, 0.0), (_appended_by_it, 1.0)],
)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: weft.grad(f)(x),
        lambda f, x: weft.jvp(f, (x,), (x,)),
        lambda f, x: weft.jvp(weft.grad(f), (x,), (x,)),
        lambda f, x: weft.grad(weft.compile(f))(x),
        lambda f, x: weft.vmap(weft.grad(f))(np.stack([x, x])),
    ],
)
def test_arrays_that_it_changes_are_no_constants(program: Any, at: Any, derivative: Any) -> None:
    with pytest.raises(CaptureError, match=r"\w+ changes an? \w+ that it was given"):
        derivative(program, at)


def test_each_example_has_its_own_array_to_change() -> None:
    values, rows = np.arange(1.0, 4.0), np.stack([POINTS, POINTS + 1])
    np.testing.assert_array_equal(weft.vmap(_written_by_it)(values), values**2)
    np.testing.assert_array_equal(weft.vmap(_writes_its_argument)(rows.copy()), [12.0, 14.0])
    np.testing.assert_array_equal(weft.vmap(lambda x: x * sum_of_cleared(x))(rows.copy()), np.zeros((2, 3)))
