"""Arrays that may be one another, depending on the way a program takes, are never held apart without notice."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError


def one_of_two_written(a, b, s, n):
    x = a
    if s > 0:
        x = a[::1]
    x[n % 3] += 3.0
    return x


def read_through_a_choice(a, b, s, n):
    x = a if s > 0 else b
    for _ in range(n):
        b[0] += 1
        s += x[0]
        x = x * 2
    return x, s


def written_through_a_choice(a, b, s, n):
    x = a if s > 0 else b
    for _ in range(n):
        x[0] += 1
        x = x * 2
    return x


def view_left_by_a_loop(a, b, s, n):
    x = b
    for i in range(n):
        x = a[i % 3 :]
    x[0] = 5.0


def shorter_and_shorter(a, b, s, n):
    x = a
    while x[0] < s:
        x = x[1:]
    x[0] = 5.0


def views_exchanged(a, b, s, n):
    x, y = a[1:], b[1:]
    for _ in range(n):
        x[0] += 1
        x, y = y, x


def chosen_in_the_loop(a, b, s, n):
    x = a
    for i in range(n):
        x = x if a[i % 3] > s else b
        b[0] += 1
        s += x[0]
    return s


def chosen_and_left(a, b, s, n):
    for i in range(12):
        x = a if b[i % 3] > s else b
        x[0] += 1
    x[1] = 9.0


def chosen_twice(a, b, s, n):
    x = a if s > 0 else b
    if b[1] > s:
        x = x[::-1]
    else:
        x = x * 2
    a[0] = 8.0
    return x[-1]


def written_after_no_steps(a, b, s, n):
    for _ in range(n):
        a = a * 0.5
    a[0] = 7.0
    return a


def exchanged_so_many_times(a, b, s, n):
    for _ in range(n - 3):
        a += 1
        a, b = b, a


def items_written_meanwhile(a, b, s, n):
    for x, y in zip(a, a, strict=True):
        a[-1] = a[0] + s
        b[0] = x + y


PROGRAMS = [
    one_of_two_written, read_through_a_choice, written_through_a_choice, view_left_by_a_loop, shorter_and_shorter,
    views_exchanged, chosen_in_the_loop, chosen_and_left, chosen_twice, written_after_no_steps, items_written_meanwhile,
    exchanged_so_many_times,
]  # fmt: skip
REASONS = ("which is", "share memory", "that array or another", "changes what x is")


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, str | None]:
    """The result of a call, or why it was refused."""
    try:
        return function(*args), None
    except CaptureError as error:
        return None, str(error)


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_plain_or_refused(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    ran = 0
    for size, s, n in [(6, 0.5, 3), (4, -1.0, 5), (5, 2.0, 0), (6, 0.1, 1)]:
        args = (np.linspace(-1, 4, size), np.linspace(2, -1, size), s, n)
        one, other = copy.deepcopy(args), copy.deepcopy(args)
        got, refusal = outcome(compiled, one)
        if refusal is not None:
            assert any(reason in refusal for reason in REASONS), refusal
            continue
        ran += 1
        expected = program(*other)
        for x, y in zip((*one, got), (*other, expected), strict=True):
            for p, q in zip(x, y, strict=True) if isinstance(x, tuple) else [(x, y)]:
                np.testing.assert_array_equal(p, q)
    assert ran or program in (views_exchanged, written_through_a_choice, shorter_and_shorter)


DERIVED = [
    "abs(k) > 3", "3 <= abs(k)", "k**2 > 3", "k // m > 1", "k % m > 1", "(k & m) > 1", "(k ^ m) > 2", "(k >> 1) > 1",
    "~k > 1", "int(k / m) > 1", "round(k / 2) > 1", "(k > 1) == (m > 1)", "abs(k - m) > 2", "divmod(k, m)[0] > 1",
    "max(k, -k) > 3", "abs(k)", "k * m > 3",
]  # fmt: skip


@pytest.mark.parametrize("text", DERIVED)
def test_branches_on_integers_computed_from_arguments(text: str, tmp_path: Any) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"def program(k, m):\n    if {text}:\n        return 1\n    return 0\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    compiled = weft.compile(space["program"])
    for k, m in [(2, 3), (5, 2), (-4, 3), (0, 1), (-1, 7), (3, 3), (7, -2), (9, 2)]:
        assert compiled(k, m) == space["program"](k, m), (k, m)


def test_what_holds_inside_a_loop_need_not_hold_after_it() -> None:
    def program(a: Any, n: int) -> Any:
        for i in range(n):
            a[i % 3] += 1
        return 1 if n > 0 else 0

    compiled = weft.compile(program)
    assert [compiled(np.zeros(3), n) for n in (3, 0, 5, -1)] == [1, 0, 1, 0]


def test_a_number_needed_inside_a_branch_is_guarded() -> None:
    def program(a: Any, k: int) -> Any:
        if a[0] > 0:
            return {0: 1.5, 1: 2.5, 2: 3.5}[abs(k)]
        return 0.0

    compiled = weft.compile(program)
    for first in (1.0, -1.0):
        for k in (2, -1, 0, 1):
            assert compiled(np.array([first]), k) == program(np.array([first]), k)


def test_a_path_that_reads_what_has_no_value_is_only_that_path() -> None:
    def program(a: Any, n: int) -> Any:
        if n > 1:
            p = a * 2
        if a[0] > 0:
            return p
        return a

    compiled = weft.compile(program)
    np.testing.assert_array_equal(compiled(np.array([-1.0]), 0), [-1.0])
    np.testing.assert_array_equal(compiled(np.array([1.0]), 2), [2.0])
    with pytest.raises(UnboundLocalError, match="'p'"):
        compiled(np.array([1.0]), 0)


def a_view_that_was_written(a, c):
    b = a[1:]
    b[0] = 5
    return b


def one_view_or_another(a, c):
    b = a[1:] if c > 0 else a[:-1]
    b[0] = 3.0
    return b


def a_view_written_in_a_loop(a, c):
    b = a[1:]
    for i in range(len(b)):
        b[i] = i
    return b


def an_array_and_a_view_of_it(a, c):
    b = np.zeros(4)
    v = b[1:]
    v[0] = c
    return b, v


def a_view_of_an_array_made_inside(a, c):
    b = a * 2
    v = b[1:]
    v[0] = c
    return v


def a_view_of_what_changed_places(a, c):
    a[0], a[1] = a[1], a[0]
    return a[1:], a.reshape(2, 2), a


def a_view_of_what_changed_computed_places(a, c):
    k = int(abs(c))
    a[0], a[k] = a[k], a[0]
    return a[1:], a.reshape(2, 2), np.ravel(a)


def a_view_beside_a_copy_that_was_written(a, c):
    b = a + 1
    b.flat[:] = a[1:3]
    a[0] = c
    return a, a[1:], np.ravel(a), b


def a_view_of_what_was_shuffled(a, c):
    np.random.default_rng(0).shuffle(a)
    b = np.squeeze(a)
    return b, np.ravel(a), a[::2]


@pytest.mark.parametrize(
    "program",
    [
        *(a_view_beside_a_copy_that_was_written, a_view_of_what_changed_places),
        *(a_view_of_what_changed_computed_places, a_view_of_what_was_shuffled),
        *(a_view_that_was_written, one_view_or_another, a_view_written_in_a_loop, an_array_and_a_view_of_it),
        a_view_of_an_array_made_inside,
    ],
)
def test_a_result_shares_the_memory_it_shares_in_the_plain_call(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for c in (2.0, -2.0):
        plain, a = np.arange(4.0), np.arange(4.0)
        expected, got = program(plain, np.float64(c)), compiled(a, np.float64(c))
        arrays, plain_arrays = weft.pytree.leaves_of((a, got)), weft.pytree.leaves_of((plain, expected))
        for one, plain_one in zip(arrays, plain_arrays, strict=True):
            np.testing.assert_array_equal(one, plain_one)
            shared = [np.shares_memory(one, other) for other in arrays]
            assert shared == [np.shares_memory(plain_one, other) for other in plain_arrays]


def from_before_or_reordered(a, c):
    q = np.empty(4)
    if a[1] > c:
        q[0], q[1:] = a[1], 3.0
    else:
        q[:3], q[3] = a[0], c
        q = q[[3, 0, 1, 2]]
    q *= 0.5
    if q[0] < 0.0:
        np.negative(q, q)
    return q, a


def given_or_made(a, c):
    q = a
    if c > 0:
        q = a * 2
    q += 1.0
    return q, a


def written_by_its_first_name(a, c):
    q = a + 1.0
    if c > 0:
        q = a
    q[0] = q[1]
    a[1] = 7.0
    q[2] = q[1]
    return q, a


def given_or_made_in_a_loop(a, c):
    q = a
    if c > 0:
        q = np.zeros(4)
    for k in range(12):
        q[k % 2] += a[3]
        a[0] = q[1]
    return q, a


def one_of_two_given(a, c):
    b = np.ones(4)
    q = b if c > 0 else a
    q *= 2.0
    return q, b, a


def made_and_one_of_three(a, c):
    q = a
    if c > 0:
        q = a * 2
    if a[2] > 1.0:
        q = np.ones(4)
    q -= 5.0
    a[0] += 1.0
    return q, a


@pytest.mark.parametrize(
    "program",
    [
        *(from_before_or_reordered, given_or_made, written_by_its_first_name, given_or_made_in_a_loop),
        *(one_of_two_given, made_and_one_of_three),
    ],
)
def test_one_array_or_another_is_written_after_a_branch(program: Callable[..., Any]) -> None:
    test_a_result_shares_the_memory_it_shares_in_the_plain_call(program)


def test_what_a_loop_has_read_of_one_array_or_another_is_not_written_in_it() -> None:
    def program(a, c, n):
        q = a
        if c > 0:
            q = a * 2
        total = 0.0
        for _ in range(n):
            total += q[1]
            q += 1.0
        return total, q

    compiled = weft.compile(program)
    for c in (1.0, -1.0):
        got, refusal = outcome(compiled, (np.arange(4.0), c, 12))
        expected = program(np.arange(4.0), c, 12)
        if refusal is None:
            assert got[0] == expected[0]
            np.testing.assert_array_equal(got[1], expected[1])
        else:
            assert "which is" in refusal


def row_given_back_from_a_loop(a, c):
    x, k = a.reshape(2, 2), 0
    while k < 20:
        i = np.argmin(x[:, 0])
        if x[i].sum() > c + 4:
            return x[i], a
        x[i] += 1.0
        k += 1
    return x[0], a


def row_that_a_loop_found(a, c):
    x = a.reshape(2, 2)
    for k in range(12):
        row = x[int(x[k % 2, 0] > 3)]
        x[k % 2] += 0.5 + abs(c)
    return row, a


def part_where_it_is_large(a, c):
    for k in range(3):
        if a[k] > 1.5:
            i = int(a[k])
            return a.reshape(2, 2)[i // 2, 0] + c, a
        a[k] = -1.0
    return a[-1], a


@pytest.mark.parametrize(
    "program",
    [row_given_back_from_a_loop, row_that_a_loop_found, part_where_it_is_large],
)
def test_a_view_at_a_computed_place_is_a_view_after_a_branch_or_loop(program: Callable[..., Any]) -> None:
    test_a_result_shares_the_memory_it_shares_in_the_plain_call(program)


def row_found_or_not(a, b):
    for k in range(12):
        if a[0].sum() > 1.0:
            i = k
            return b[i]
        a[-1, 0] -= 0.5
    return a[0]


def one_row_or_another(a, b):
    y, k = b[0], 0
    while k < 11 and a[0, 0] < 9:
        y = a[0] if b[0, 0] > 0 else a[k]
        k += 1
    return y


@pytest.mark.parametrize("program", [row_found_or_not, one_row_or_another])
def test_a_place_is_not_looked_at_on_a_path_that_is_not_taken(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for sign in (1.0, -1.0):
        a, b = np.ones((3, 2)) * 0.25, np.full((3, 2), sign)
        c, d = a.copy(), b.copy()
        if program is one_row_or_another and sign < 0:
            for function in (compiled, program):
                with pytest.raises(IndexError, match="index 3 is out of bounds"):
                    function(a, b)
            continue
        np.testing.assert_array_equal(compiled(a, b), program(c, d))
        np.testing.assert_array_equal(a, c)
