"""Captured programs that write elements in loops: the generated code writes them in place, as the program does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from programs.cellular import langtons_ant


def cumulative(x: Any) -> Any:
    out = np.zeros(len(x))
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def insertion_sort(values: Any) -> Any:
    a = values.copy()
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def swap_rows(a: Any) -> None:
    for k in range(len(a) - 1):
        p = k + np.argmax(np.abs(a[k:, 0]))
        a[[k, p]] = a[[p, k]]


def quiet(x: Any, n: int) -> Any:
    out = np.zeros(n)
    with np.errstate(divide="ignore"):
        for i in range(n):
            out[i] = x[i] / 2.0
    return out


def talk(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * 2
        print(i, out[i])
    return out


def into_the_argument(a: Any, b: Any) -> None:
    for i in range(1, len(a)):
        for j in range(len(b)):
            a[i] += a[i - 1] * b[j]


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (cumulative, (np.arange(20.0),)),
    (insertion_sort, (np.array([3.0, 1.0, 2.0, 5.0, 4.0] * 3),)),
    (langtons_ant, (9, 40)),  # two numbers trade places: the carries take several rounds to settle
    (swap_rows, (np.arange(20.0).reshape(10, 2) % 7,)),
    (quiet, (np.arange(12.0), 12)),
    (talk, (np.arange(12.0),)),
    (into_the_argument, (np.arange(12.0), np.ones(11))),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_elements_are_written_in_place(
    function: Callable[..., Any], args: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled = weft.compile(function)
    expected = function(*plain)
    printed = capsys.readouterr().out
    np.testing.assert_equal(compiled(*given), expected)
    assert capsys.readouterr().out == printed
    np.testing.assert_equal(given, plain)
    assert "for " in compiled.code
    assert "index_update" not in compiled.code
    assert ".copy(" not in compiled.code.replace("weft.copy(values)", "")


def shifted(a: Any) -> Any:
    """What a later iteration reads of an earlier one must not be written over."""
    rows = np.zeros((len(a), len(a)))
    row = np.zeros(len(a))
    for i in range(len(a)):
        before = row
        row = row.copy()
        row[i] = a[i]
        rows[i] = before + row
    return rows


def pairs(a: Any) -> Any:
    first = np.zeros(len(a))
    second = first
    for i in range(len(a)):
        kept = second * 1.0
        second = first
        first = kept
        first[i] = a[i]
    return first, second


@pytest.mark.parametrize("function", [shifted, pairs])
def test_what_is_still_read_is_copied(function: Callable[..., Any]) -> None:
    a = np.arange(1.0, 12.0)
    np.testing.assert_equal(weft.compile(function)(a), function(a))


def rows_in_a_list(a: Any) -> Any:
    """Each row is written while it is new, and stays as it is in the list."""
    rows = []
    for i in range(len(a)):
        row = np.zeros(len(a))
        for j in range(len(a)):
            row[j] = a[i] * j
        rows.append(row)
    return np.array(rows)


def test_a_row_is_written_in_place_before_it_is_listed() -> None:
    a = np.arange(12.0)
    compiled = weft.compile(rows_in_a_list)
    np.testing.assert_equal(compiled(a), rows_in_a_list(a))
    assert ".append(row)" in compiled.code
    assert "index_update" not in compiled.code


def snapshots(a: Any) -> Any:
    """What was put into the list is written no more: the row after it is another."""
    rows = []
    row = np.zeros(len(a))
    for i in range(len(a)):
        row = row + 0.0
        row[i] = a[i]
        rows.append(row)
    row[0] = 5.0
    return rows[-1] * 1.0, row, np.array(rows)


def listed_before(a: Any) -> Any:
    rows = []
    row = a * 2
    for i in range(len(a)):
        rows.append(row * 1.0)
        row[i] = -1.0
    return np.array(rows), row


@pytest.mark.parametrize("function", [snapshots, listed_before])
def test_what_a_list_holds_stays_as_it_is(function: Callable[..., Any]) -> None:
    a = np.arange(1.0, 13.0)
    np.testing.assert_equal(weft.compile(function)(a), function(a))


def column_from_row(m: Any) -> Any:
    m[:, 3] = m[2].copy()
    return m


def column_from_sum(m: Any) -> Any:
    m[:, 3] = m[2] + 0
    m[1] = np.array(m[:, 0])
    return m


def columns_from_rows(m: Any) -> Any:
    for i in range(len(m)):
        m[:, i] = m[2].copy()
        m[i] = m[:, 1].copy()
    return m


def moved(m: Any) -> Any:
    v = m[0]
    v[1:] = v[:-1].copy()
    v[::2] = v[:2].copy()
    return m


@pytest.mark.parametrize("program", [column_from_row, column_from_sum, columns_from_rows, moved])
def test_a_copy_is_written_as_it_was(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for kind in (int, float):
        got, expected = (f(np.arange(16).reshape(4, 4).astype(kind)) for f in (compiled, program))
        np.testing.assert_array_equal(got, expected)


def a_part_read_after_its_write(a: Any) -> Any:
    for k in range(len(a) - 1):
        below = a[k + 1 :, k]
        below[0] = below[0] + 1
        a[k, k] = below @ below
    return a.T


def a_part_written_by_turns(a: Any) -> Any:
    for k in range(len(a) - 1):
        below = a[k + 1 :, k]
        below[0] = -1 if below[0] < 0 else 1
        below[-1] += below[0]
        a[k, k:] = below.sum()
    return a[0], np.diagonal(a)


def a_part_that_is_returned(a: Any) -> Any:
    below = a[1:, 0]
    below[0] = below[0] + 1
    a[0, 0] = below.sum()
    return a.T, below


@pytest.mark.parametrize(
    "program",
    [a_part_read_after_its_write, a_part_written_by_turns, a_part_that_is_returned],
    ids=lambda f: f.__name__,
)
def test_a_part_that_is_written_may_be_read_again(program: Callable[..., Any]) -> None:
    """Nothing is copied, and what is returned shows the caller's array, as in the plain call."""
    compiled = weft.compile(program)
    given, plain = np.arange(9.0).reshape(3, 3) - 3, np.arange(9.0).reshape(3, 3) - 3
    got, expected = compiled(given), program(plain)
    assert "index_update(" not in compiled.code
    assert "copy(" not in compiled.code
    np.testing.assert_array_equal(given, plain)
    for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (got, expected)), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.shares_memory(one, given)


def changed_places(x, v):
    x[0], x[1] = x[1], x[0]
    return [1][int(v)]


def changed_places_and_raises(x, v):
    kept = x[0]
    x[0] = x[1]
    if v > 1:
        raise ValueError("in between")
    x[1] = kept


def before_a_draw(x, v):
    x[0] = 9
    np.random.default_rng(int(v)).integers(5, int(v))


def before_an_assertion(x, v):
    x[0] = 9
    np.testing.assert_allclose(x, v)


def before_a_call_that_writes(x, v):
    x[0] = 9
    np.fill_diagonal(x[0], v)


def before_an_addition_at_places(x, v):
    x[0] = 9
    np.maximum.at(x, [0, 9], v)


def on_a_side_that_raises(x, v):
    if v > 1:
        np.multiply(x, 2, out=x)
        raise ValueError("a")


def in_a_turn_that_raises(x, v):
    for row in x:
        row *= 2
        int("a")


def until_it_raises(x, v):
    while v < 9:
        x[0] = 5.0
        v += {}["key"]


def before_both_sides_raise(x, v):
    for k in range(2):
        x[k] = 1
        if v > 1:
            raise ValueError("a")
        raise IndexError("b")


def on_a_side_that_does_not_fit(x, v):
    if v > 1:
        x *= 2
        x[0, 1, 2] = 1


@pytest.mark.parametrize(
    "program",
    [
        *(on_a_side_that_raises, in_a_turn_that_raises, until_it_raises, before_both_sides_raise),
        *(on_a_side_that_does_not_fit, changed_places, changed_places_and_raises, before_a_draw),
        *(before_an_assertion, before_a_call_that_writes),
        before_an_addition_at_places,
    ],
)
def test_what_was_written_before_an_exception_shows(program):
    compiled = weft.compile(program)
    for v in (2.0, 1.0):
        for _ in range(2):
            x, plain = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2)
            with contextlib.suppress(Exception):
                program(plain, v)
            with contextlib.suppress(IndexError, KeyError, ValueError, AssertionError):
                compiled(x, v)
            np.testing.assert_array_equal(x, plain)


@pytest.mark.parametrize(
    "mask",
    [np.eye(3, 2, dtype=int), np.eye(3, 2), np.eye(3, 2).ravel() > 0, [1, 0, 0, 0, 0, 1], [[1, 0], [0, 1], [0, 2]]],
)
@pytest.mark.parametrize("given", [True, False])
def test_masks_of_putmask_are_truths(mask, given):
    def inside(x, v):
        np.putmask(x, mask, v)
        return x

    def of_arguments(x, v, mask):
        np.putmask(x, mask, v)
        return x

    program, more = (of_arguments, (mask,)) if given else (inside, ())
    for run in (weft.compile(program), weft.script(program), weft.trace(program, np.ones((3, 2)), 7.0, *more)):
        got = run(np.arange(6.0).reshape(3, 2), 7.0, *more)
        np.testing.assert_array_equal(got, program(np.arange(6.0).reshape(3, 2), 7.0, *more))


@pytest.mark.parametrize("dtype", ["i8", "f4", "c16", "?", "u1"])
@pytest.mark.parametrize(
    "write", [np.place, np.putmask, lambda x, mask, values: np.copyto(x, [values[0]] * 2, casting="unsafe")]
)
def test_lists_that_are_written_are_arrays_of_the_same_dtype(write, dtype):
    def program(x, v):
        write(x, x > 1, [v, 1.5])
        return x

    x = np.arange(6).reshape(3, 2).astype(dtype)
    got = weft.compile(program)(x.copy(), 2.5)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, program(x.copy(), 2.5))


def with_diagonal(a, d):
    made = a * 2
    np.einsum("ii->i", made)[:] = np.exp(d)
    return made


def through_diagonal(a, d):
    view = np.einsum("ii -> i", a)
    view *= 2
    a[0, 0] = 5
    view[1:] += d[1:]
    return view, view.flags.writeable


def diagonal_of_a_side(a, d):
    for k in range(len(a)):
        if d[k] > 0:
            np.einsum("ii->i", a)[k] = -d[k]
    return np.einsum("ii->i", a[1:, 1:]) + 1, np.einsum("ii", a)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", [with_diagonal, through_diagonal, diagonal_of_a_side])
def test_diagonals_by_letters_are_written(program, order) -> None:
    compiled = weft.compile(program)
    for size in (3, 4):
        a = np.array(np.arange(size * size * 1.0).reshape(size, size), order=order)
        same, d = a.copy(order), np.linspace(-1.0, 2.0, size)
        assert repr(compiled(a, d)) == repr(program(same, d))
        assert repr(a) == repr(same)
    assert not compiled._ran_plainly


@weft.wrap
def first_of(x):
    return x[:1] * 2


@weft.wrap
def row_of_ones(x):
    return np.ones((1, int(np.sum(x > 0))))


def element_by_number(x):
    x[0] = first_of(x)


def element_of_a_view(x):
    part = x[1:]
    part[0] = first_of(x)


def added_to_an_element(x):
    x[0] += first_of(x)


def masked_by_a_row(x):
    x[x > 0] = row_of_ones(x)


def part_by_a_row(x):
    x[-2:] = row_of_ones(x)


@pytest.mark.parametrize(
    "program", [element_by_number, element_of_a_view, added_to_an_element, masked_by_a_row, part_by_a_row]
)
def test_values_of_unknown_shape_are_written_by_the_rules_of_numpy(program: Any) -> None:
    x = np.array([0.0, 1.0, 2.0])
    assert_same(call(weft.compile(program), (x.copy(),)), call(program, (x.copy(),)))


def whole_is_complex(x):
    x[:] = x * (1 + 2j)
    return x


def each_is_complex(x):
    for i in range(len(x)):
        x[i] = x[i] * (1 + 2j)
    return x


def masked_is_complex(x):
    y = np.zeros(3, x.dtype)
    y[x > 0] = np.fft.fft(x)[x > 0]
    return y


def number_is_complex(x):
    x[1] = np.complex64(3 + 1j)
    return x


@pytest.mark.parametrize("program", [whole_is_complex, each_is_complex, masked_is_complex, number_is_complex])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_complex_values_lose_their_imaginary_part_in_an_array_of_real_ones(program, dtype) -> None:
    expected = program(np.arange(3).astype(dtype))
    compiled = weft.compile(program)
    for captured in (compiled, weft.script(program), weft.trace(program, np.arange(3).astype(dtype))):
        given = np.arange(3).astype(dtype)
        found = captured(given)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert not compiled._ran_plainly
    for python in (lambda x: x.__setitem__(0, 1j), lambda x: x.__setitem__(slice(2), [1j, 2j])):
        with pytest.raises(TypeError, match="real number"):
            weft.compile(python)(np.arange(3).astype(dtype))
