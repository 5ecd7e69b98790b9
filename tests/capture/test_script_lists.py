"""Lists, comprehensions and generators in captured branches and loops, scripted and compiled."""

# ruff: noqa: C416, PERF401, RUF007, UP028  # these are the ways of writing that are to be captured

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from capture._script_programs import outcome
from weft.errors import CaptureError

SCRIPTED: list[Callable[..., Any]] = []
BOTH: list[Callable[..., Any]] = []
NUMBERS = (np.array([0, 1, 2, 2, 1, 2, 0, 1, 1, 1, 1]), np.array([2, 0]), np.array([1]))


def both(function: Callable[..., Any]) -> Callable[..., Any]:
    BOTH.append(function)
    return function


def scripted(function: Callable[..., Any]) -> Callable[..., Any]:
    SCRIPTED.append(function)
    return function


@both
def length_before_append(x):
    items, n = [], 0
    for v in x:
        n += len(items)
        items.append(v)
    return n, items


@both
def counts(x):
    found = [0, 0, 0]
    for v in x:
        found[v] += 1
    return found


@both
def running_total(x):
    items = [0]
    for v in x:
        items.append(items[-1] + v)
    return items


@both
def extended_in_place(x):
    items = []
    for v in x:
        items += [v * 2]
    return items


@both
def some_appended(x):
    items = []
    for v in x:
        if v > 1:
            items.append(v)
    if items:
        return items[-1], len(items)
    return -1, 0


@both
def popped(x):
    items = []
    for v in x:
        if items and items[-1] >= v:
            items.pop()
        items.append(v)
    return items, 2 in items, not items


@both
def pairs(x):
    rows = []
    for i in range(len(x)):
        rows.append((i, x[i] * 2.0))
    total = 0.0
    for i, v in rows:
        total += i * v
    return total, rows


@both
def nested_loops(x):
    items = []
    for a in x:
        for b in x:
            if len(items) < 5:
                items.append(a * b)
    return items


@both
def same_array_kept(x):
    history, state = [], np.zeros(2)
    for v in x:
        state = state + v
        history.append(state)
    return np.array(history)


@both
def two_names(x):
    items = [1]
    alias = items
    for v in x:
        alias.append(int(v))
    return items, alias is items


@both
def stack_of_places(x):
    stack, total = [len(x) - 1], 0
    while stack:
        k = stack.pop()
        total += x[k]
        if x[k] > 0 and k > 0:
            stack.append(k - 1)
    return total


@scripted
def changed_in_every_way(x):
    items = []
    for v in x:
        if v > 1:
            items.append(v)
        else:
            items.insert(0, -v)
    items.sort()
    items.reverse()
    del items[0]
    copied = items.copy()
    items.extend([7])
    numbers = items.count(7), items.index(7), len(items), sum(items), max(items), any(items)
    return items, copied, numbers, list(items), tuple(items), sorted(items), items[1:], isinstance(items, list)


@scripted
def written_through_the_list(x):
    rows = []
    for _ in x:
        rows.append(np.zeros(2))
    for k, row in enumerate(rows):
        row[0] = k
    rows[0][1] = 5.0
    return rows


@scripted
def comprehensions(x):
    kept = [v for v in x if v > 0]
    places = [i for i, v in enumerate(x) if v > 0]
    steps = [b - a for a, b in zip(x, x[1:], strict=False)]
    whole = {i: v for i, v in enumerate(x)}, {int(v) for v in x}, tuple(v + 1 for v in x)
    return kept, places, steps, whole, sum(v for v in x), all(v >= 0 for v in x), list(map(abs, x)), list(reversed(x))


def squares(n):
    """A generator whose loop is traced."""
    print("begins")
    for i in range(n):
        if i == 2:
            continue
        yield i * i
    yield -1


@scripted
def generated(x):
    n = len(x)
    total = 0
    for v in squares(n):
        total += v
    listed = [v for v in squares(n)], list(squares(n)), dict(enumerate(squares(n)))
    return total, listed, sum(squares(n)), max(squares(3))


def marked(x):
    """A generator in which a traced value decides on an item after the first."""
    yield -1.0
    if x.sum() > 2:
        yield x.sum()
    yield 0.5


@both
def generated_under_a_condition(x):
    total = 0.0
    for v in list(marked(x)):
        total += v
    return total, sum(marked(x)), max(marked(x)), tuple(marked(x)), len(list(marked(x)))


@scripted
def counted_in_a_dict(x):
    counts, seen, order = {"none": 0}, set(), []
    alias = counts
    for v in x:
        counts[v] = counts.get(v, 0) + 1
        if v not in seen:
            seen.add(v)
            order.append(v)
    del counts["none"]
    if seen:
        seen.discard(1)
    total = 0
    for key in counts:
        total += counts[key]
    return counts, alias is counts, seen, order, total, len(counts), sorted(counts), list(alias.items())


@scripted
def changed_on_one_side(x):
    d, items = {"a": 1, "b": 2}, [1]
    alias = items
    if x[0] > 0:
        d.pop("a")
        items = [2]
    items.append(3)
    d["c"] = 4
    return d, "a" in d, items, alias


@scripted
def rebound_in_a_loop(x):
    items, first = [], None
    for v in x:
        if v > 1:
            items = []
        items.append(v)
        first = items
    return items, first


@scripted
def closure_appends(x):
    out = []

    def add(v):
        out.append(v * 2)

    for v in x:
        add(v)
    return out


@pytest.mark.parametrize("program", [*BOTH, *SCRIPTED], ids=lambda program: program.__name__)
def test_scripted(program: Callable[..., Any]) -> None:
    module = weft.script(program)
    module.graph.lint()
    for x in NUMBERS:
        assert outcome(module, (x.copy(),)) == outcome(program, (x.copy(),))


@pytest.mark.parametrize("program", BOTH, ids=lambda program: program.__name__)
def test_compiled(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (*NUMBERS, *reversed(NUMBERS)):
        assert repr(compiled(x.copy())) == repr(program(x.copy()))


def test_a_list_holds_memory_and_not_values() -> None:
    def kept(x):
        history, state = [], np.zeros(2)
        for v in x:
            state += v
            history.append(state)
        return history

    x = np.arange(12.0)
    assert repr(weft.script(kept)(x)) == repr(kept(x))
    assert repr(weft.compile(kept)(x)) == repr(kept(x))  # written out, step by step

    def endless(x, n):
        history, state = [], np.zeros(2)
        for k in range(int(x[n])):
            state += k
            history.append(state)
        return history

    with pytest.raises(CaptureError, match=r"a write to state, which a list .* holds as well"):
        weft.compile(endless)(x, 9)


def test_traced_keys() -> None:
    def of_set(x):
        seen = set()
        seen.add(x[0])
        return len(seen)

    def of_dict(x):
        return {1: 10, 2: 20}[int(x[1])]

    x = np.arange(12.0)
    with pytest.raises(CaptureError, match="that is traced: which one it is"):
        weft.compile(of_set)(x)
    assert weft.script(of_set)(x) == 1
    assert weft.compile(of_dict)(x) == weft.script(of_dict)(x) == 10

    def inside(x):
        return x[1] in {1.0, 5.0}, x[1] in {1.0: 2}, x[2] in (1.0, 3.0), 1.0 in x

    assert repr(weft.compile(inside)(x)) == repr(inside(x)) == repr(weft.script(inside)(x))


def test_generators_that_cannot_be_collected() -> None:
    def asks(n):
        for i in range(n):
            got = yield i
            print(got)

    def nested(n):
        def inside():
            for i in range(n):
                yield i

        return [v for v in inside()]

    def one_by_one(x):
        return [v * 2 for v in marked(x)]

    for capture in (weft.script, lambda program: weft.compile(program)(np.ones(3))):
        with pytest.raises(CaptureError, match="a `yield` under a traced condition") as caught:
            capture(one_by_one)
        assert "if x.sum() > 2:" in str(caught.value)
        assert "help: append to a list" in str(caught.value)
    with pytest.raises(CaptureError, match="asks is a generator that receives values"):
        weft.script(lambda n: [v for v in asks(n)])
    with pytest.raises(CaptureError, match=r"a loop in a generator .* traced"):
        weft.script(nested)


def positive(x):
    """A generator in which a traced value decides on every item."""
    for v in x:
        if v > 0:
            yield v


def listed_and_listed(x):
    items = positive(x)
    return list(items), list(items)


def taken_in_part(x):
    items, total = positive(x), 0.0
    for v in items:
        total += v
        if total > 2:
            break
    return total, list(items)


def summed_and_summed(x):
    items = positive(x)
    return sum(items), sum(items)


def gone_through_twice(x):
    items, total = positive(x), 0.0
    for v in items:
        total += v
    for v in items:
        total += 100 * v
    return total


def taken_in_a_loop(x):
    items, total = positive(x), 0.0
    for _ in range(len(x)):
        total += sum(items)
    return total


TWICE = [listed_and_listed, taken_in_part, summed_and_summed, gone_through_twice, taken_in_a_loop]


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
@pytest.mark.parametrize("program", TWICE)
def test_items_of_a_generator_are_given_once(program: Any, front_end: Any) -> None:
    """The plain program finds it empty, or goes on behind the items that were taken."""
    with pytest.raises(CaptureError, match=r"taken a second time|inside it"):
        front_end(program)(np.array([1.0, 2.0, -3.5]))


def test_what_is_asked_of_a_generator_takes_no_items() -> None:
    def program(x: Any, items: Any) -> Any:
        found = positive(x)
        told = isinstance(found, types.GeneratorType), isinstance(found, list), callable(found), type(found).__name__
        chosen = filter(lambda v: v > 1, items)
        return told, list(found), type(chosen) is filter, list(chosen), list(chosen)

    x = np.array([1.0, 2.0, -3.5])
    assert repr(weft.compile(program)(x, [1, 3])) == repr(program(x, [1, 3]))
    with pytest.raises(TypeError, match="object of type 'filter' has no len"):
        weft.compile(lambda x: len(filter(lambda v: v > 0, x)))(x)


KEEPING: list[Callable[..., Any]] = [
    lambda x, n: list(filter(lambda v: v > 0, x)),
    lambda x, n: (sum(filter(lambda v: v > 0, x)), sorted(filter(None, x)), tuple(filter(lambda v: v < n, x))),
    lambda x, n: [v + n for v in filter(lambda v: v > 0, x)],
    lambda x, n: list(filter(lambda k: x[k] > 0, range(len(x)))),
    lambda x, n: (list(filter(None, [0, 1, n])), list(filter(str.isalpha, ["a", "1"]))),
    lambda x, n: np.array(list(filter(lambda v: v > 0, x))) * n,
]


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
@pytest.mark.parametrize("number", range(len(KEEPING)))
def test_filter_by_a_traced_condition(number: int, front_end: Any) -> None:
    captured = front_end(KEEPING[number])
    for x in (np.array([1.0, 2.0, -3.5]), np.array([0.5, -1.0, 4.0, 2.0])):
        assert repr(captured(x, 3)) == repr(KEEPING[number](x, 3))


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
def test_a_generator_is_unpacked(front_end: Any) -> None:
    def program(x: Any) -> Any:
        a, b = positive(x)
        return a + 2 * b

    assert front_end(program)(np.array([1.0, 2.0, -3.5])) == 5.0
