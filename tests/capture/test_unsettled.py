"""Numbers of Python's that a loop makes NumPy's: its body is captured once where it is the same for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.capture._loop import Loop
from weft.graph import Graph
from weft.graph._control import cond, fori_loop


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The line of each loop, once for each time that its body is captured."""
    found: list[int] = []
    enter = Loop.enter

    def noted(self: Loop) -> Any:
        values = enter(self)
        if self.active:
            found.append(self.site.line)
        return values

    monkeypatch.setattr(Loop, "enter", noted)
    return found


def added(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


def subtracted_from(a: Any, b: Any) -> Any:
    s = 1.5
    for i in range(len(a)):
        s = a[i] - s
    return s


def largest(a: Any, b: Any) -> Any:
    best = -np.inf
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
    return best


def entropy(a: Any, b: Any) -> Any:
    total = 0.0
    for i in range(len(a)):
        if a[i] > 2:
            if b[i] > 3:
                total -= a[i] * np.log(a[i])
            else:
                b[i] = a[i] - total
    return total


def spread(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        b += s * a
        s += a[i]
    return s, b.sum()


def scaled(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        s += a[i] * s + b[i]
    return s


def halved(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        s = s * 0.5 + a[i]
    return s


def kept(a: Any, b: Any) -> Any:
    s = last = 0.0
    for i in range(len(a)):
        last = s
        s += a[i]
    return s, last


def chosen(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        t = a[i]
        if b[i] > 3:
            t = s
        s += b[i] + t
    return s


def complex_sum(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        s += a[i] * 1j
    return s


ONCE = [added, subtracted_from, largest, entropy, spread]
TWICE = [scaled, halved, kept, chosen, complex_sum]


def arguments(first: Any, second: Any) -> tuple[Any, Any]:
    return np.linspace(1, 7, 11).astype(first), np.linspace(5, 2, 11).astype(second)


def leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("types", [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("i8", "f8")])
@pytest.mark.parametrize("program", [*ONCE, *TWICE])
def test_results_are_of_the_type_and_value_of_the_plain_call(program: Any, types: tuple[str, str]) -> None:
    ours, theirs = arguments(*types), arguments(*types)
    compiled = weft.compile(program)
    for one, other in zip(leaves(compiled(*ours)), leaves(program(*theirs)), strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype.itemsize < 8 else 1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)
    agree(compiled.graph)


@pytest.mark.parametrize("program", ONCE)
def test_a_body_that_is_the_same_for_both_is_captured_once(program: Any, passes: list[int]) -> None:
    weft.compile(program)(*arguments("f8", "f8"))
    assert len(passes) == 1


@pytest.mark.parametrize("program", TWICE)
def test_a_body_that_depends_on_the_type_is_captured_again(program: Any, passes: list[int]) -> None:
    # Of float32 and a float of Python's comes float32, of float32 and NumPy's float64 float64.
    weft.compile(program)(*arguments("f4", "f8"))
    assert len(passes) == 2


def test_who_asks_for_the_type_settles_it(passes: list[int]) -> None:
    def program(a: Any) -> Any:
        s = 0.0
        for i in range(len(a)):
            s += a[i] if isinstance(s, float) else a[i] * 1
        return s

    a = np.arange(1.0, 12.0)
    assert weft.compile(program)(a) == program(a)
    assert len(passes) == 2


def test_steps_that_are_taken_back_tell_the_types(passes: list[int]) -> None:
    def program(a: Any) -> Any:
        error, steps = 1.0, 0
        while error > 1e-3:
            error = abs(a[0] - a[1])
            a /= 2
            steps += 1
        return error, steps

    assert weft.compile(program)(np.array([3.0, 1.0])) == program(np.array([3.0, 1.0]))
    assert len(passes) == 1


def agree(graph: Graph) -> None:
    """What goes into a body is of the type that the body says."""
    for node in graph.nodes:
        for body in node.bodies:
            inner = [each.meta["type"] for each in body.nodes if each.op == "placeholder"]
            if node.target is cond:
                given = [each.meta["type"] for each in node.args[3:]]
            else:
                assert node.target is fori_loop
                given = [int, *node.meta["type"], *(each.meta["type"] for each in node.args[4:])]
            assert inner == given
            agree(body)


def read_back(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        b[i] = (a[i] * s) * 3
        s += b[i]
    return s


def test_what_is_read_back_has_the_type_of_the_array() -> None:
    a, b = np.arange(12, dtype=np.float32), np.zeros(12)
    expected, got = read_back(a, b.copy()), weft.compile(read_back)(a, b.copy())
    assert type(got) is type(expected) is np.float64
    assert got == expected
