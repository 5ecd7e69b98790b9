"""Numbers that are of one type or of another, as a branch decides, stay what they are in lists, and when asked."""

from __future__ import annotations

from collections.abc import Callable, KeysView, ValuesView
from typing import Any

import numpy as np
import pytest

import weft
from capture.alike import SAME, fates
from programs._compare import assert_same, call
from weft.errors import CaptureError


def kept_or_missing(x: Any) -> Any:
    return [v if 0 < v < 5 else np.nan for v in x]


def kept_or_zero(x: Any) -> Any:
    return [v if v > 1 else 0 for v in x if v < 5], tuple(2 * v if v > 0 else 0 for v in x)


def whole_or_half(x: Any) -> Any:
    return [0 if v > 0 else 1.5 for v in x]


def in_containers(x: Any) -> Any:
    return {"rows": [[v if v > 1 else 0, v] for v in x], "places": {k: v if v > 1 else 0 for k, v in enumerate(x)}}


def array_of_roots(x: Any) -> Any:
    roots = [np.sqrt(v) if v > 0 else 0 for v in x]
    return np.mean(roots), roots[1], np.array(roots), np.array([v if v > 1 else 0 for v in x]).dtype.name


def in_order(x: Any) -> Any:
    first = x[0] if x[0] > 1 else 0
    return sorted([first, x[1]]), sorted([v if v > 1 else 0 for v in x]), sorted([v if v > 1 else 0 for v in x[:1]])


def larger_of_two(x: Any) -> Any:
    top = max(0, x[0])
    return [max(0, v) for v in x], [min(1.5, v) for v in x], np.array([top]).dtype, isinstance(top, int)


def types_asked(x: Any) -> Any:
    first = x[0] if x[0] > 1 else 0
    kinds = isinstance(first, np.floating), isinstance(first, int), type(first).__name__, hasattr(first, "dtype")
    return kinds, np.array([first, first]).dtype, np.sqrt(first).dtype, np.result_type(np.sqrt(first), np.float32)


def branch_on_type(x: Any) -> Any:
    first = x[0] if x[0] > 1 else 0
    return x + 1 if isinstance(first, int) else x * 2


def left_by_loop(x: Any) -> Any:
    last = 0
    for v in x:
        if v > 0:
            last = v
    return [last for _ in x], np.array([last]).dtype.name


@pytest.mark.parametrize(
    "program",
    [
        kept_or_missing,
        kept_or_zero,
        whole_or_half,
        in_containers,
        array_of_roots,
        in_order,
        larger_of_two,
        types_asked,
        branch_on_type,
        left_by_loop,
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_number_of_either_type(program: Callable[..., Any], dtype: Any) -> None:
    x = np.array([1, -2, 3], dtype)
    assert fates(program, (x,), (-x,), (x,))[0] == SAME


def summed_in_turns(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total = total + x[i]
    return [total], isinstance(total, np.floating), type(total).__name__, np.array([total]).dtype.name


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_number_that_no_turn_wrote_is_what_it_was(dtype: Any) -> None:
    x = np.array([1, -2, 3], dtype)
    assert fates(summed_in_turns, (x, 3), (x, 0), (x, 1), (x, 0))[0] == SAME


def test_derivative_of_a_list_of_either_type() -> None:
    def total(x: Any) -> Any:
        return np.sum(np.array([v * v if v > 0 else 0.0 for v in x]))

    np.testing.assert_array_equal(weft.grad(total)(np.array([1.0, -2.0, 3.0])), [2.0, 0.0, 6.0])


def test_a_dtype_is_compared_with_one_that_running_tells() -> None:
    def widened(x, low):
        wide = np.promote_types(np.min_scalar_type(low), np.min_scalar_type(low * 2))
        if x.dtype != wide:
            x = x.astype(wide)
        return x - low

    compiled = weft.compile(widened)
    x = np.arange(5, dtype=np.int16)
    for low in (np.int16(-3), np.int16(-300)):
        got, expected = compiled(x, low), widened(x, low)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert not compiled._ran_plainly


def test_a_class_that_is_none_of_numbers_is_no_question() -> None:
    def listed(x, p):
        made = np.sign(x) * np.abs(x) ** p
        made = 0 if made.ndim == 0 and np.isnan(made) else made
        if isinstance(made, np.ndarray) and made.size == 1 and made.ndim != 0:
            return as_array(made)
        return np.float64(made)

    def as_array(value):
        return np.asarray(list(value) if isinstance(value, (KeysView, ValuesView)) else value, float)

    compiled = weft.compile(listed)
    for x in (np.array(2.0), np.array(np.nan), np.array(-1.5)):
        assert_same(call(compiled, (x, 0.15)), call(listed, (x, 0.15)))
    assert not compiled._ran_plainly


class _Budget:
    def __init__(self, most):
        self.most, self.used = most, 0


def cut(budget, x):
    count = min(len(x), budget.most - budget.used)
    try:
        part = x[:count] * 2
    except TypeError:
        part = x
    budget.used += 1
    return part


def repeated(budget, x):
    count = max(1, budget.most)
    budget.used += 1
    try:
        return [0] * count, count & 1, list(range(count))
    except TypeError:
        return "no integer"


def sized(budget, x):
    count = max(1, budget.most)
    budget.used += 1
    try:
        return np.zeros(count), np.eye(count)
    except TypeError:
        return "no integer"


def test_where_an_integer_is_wanted_a_number_that_may_be_none_is_refused() -> None:
    for most in (np.inf, 2.5):
        budget = _Budget(most)
        with pytest.raises(CaptureError, match="whether it is an integer"):
            weft.compile(cut)(budget, np.arange(4.0))
        assert vars(budget) == {"most": most, "used": 0}


@pytest.mark.parametrize("program", [repeated, sized])
@pytest.mark.parametrize("most", [np.inf, 2, 2.5])
def test_numbers_that_may_be_no_integers_raise_where_the_program_catches_it(program, most) -> None:
    compiled = weft.compile(program)
    budget, same = _Budget(most), _Budget(most)
    assert repr(compiled(budget, np.arange(4.0))) == repr(program(same, np.arange(4.0)))
    assert vars(budget) == vars(same)


def test_sizes_that_are_no_integers_raise_where_the_program_catches_it() -> None:
    def program(x, size):
        made = []
        for make in (np.zeros, np.eye, lambda n: np.full((n, 2), 1.0), lambda n: np.linspace(0, 1, n)):
            try:
                made.append(make(size))
            except TypeError:
                made.append(x)
        return made

    compiled = weft.compile(program)
    for size in (2.5, 2):
        assert repr(compiled(np.ones(2), size)) == repr(program(np.ones(2), size))
    assert not compiled._ran_plainly
