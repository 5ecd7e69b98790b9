"""Generator expressions, zip, enumerate, map and reversed give their items once, as in Python."""

# ruff: noqa: C416, C417  # as people write it

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import REFUSED, SAME, fates
from seen_state import seen

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])
CALLS = [(X,), (np.array([4.0, 1.0]),), (np.array([2.0, 2.0, 3.0]),)]


def summed_twice(x):
    items = (v * 2 for v in x)
    return sum(items), sum(items)


def listed_twice(x):
    items = (v * 2 for v in x if v > 1)
    return list(items), list(items)


def zipped_twice(x):
    pairs = zip(x, x, strict=True)
    return [a + b for a, b in pairs], [a for a, _ in pairs]


def mapped_twice(x):
    items = map(lambda v: v + 1, x)
    return list(items), sum(items)


def numbered_twice(x):
    items = enumerate(x)
    return [k for k, _ in items], [v for _, v in items]


def reversed_twice(x):
    items = reversed(x)
    return list(items), list(items)


def under_two_names(x):
    items = (v for v in x)
    other = items
    return sum(other), sum(items)


def in_a_dict(x):
    held = {"items": (v for v in x)}
    return sum(held["items"]), sum(held["items"])


def after_a_break(x):
    items, total = (v for v in x), 0.0
    for v in items:
        total += v
        if total > 2:
            break
    return total, [v for v in items]


def next_after_a_break(x):
    items = iter(x)
    first = next(items)
    kept = [first]
    for v in items:
        if v == first:
            break
        kept.append(v)
    return kept, next(items, None)


def after_in(x):
    items = (v for v in x)
    return 2.0 in items, list(items)


def largest_and_more(x):
    items = (v for v in x)
    return max(items), len(list(items)), any(items)


def in_each_turn(x):
    pairs, total = zip(x, x, strict=True), 0.0
    for _ in range(2):
        for a, b in pairs:
            total += a * b
    return total


def in_one_branch(x):
    items = (v * 2 for v in x)
    if x[0] > 2:
        return sum(items), 0.0
    return 0.0, sum(items)


def after_a_write(x):
    x = x.copy()
    items = (v * 2 for v in x)
    x[0] = 100.0
    return sum(items)


def after_an_assignment(x):
    factor = 2.0
    items = (v * factor for v in x)
    factor = 5.0
    return sum(items)


def given_back(x):
    return (v for v in x)


def given_back_in_a_list(x):
    return [(v for v in x), 1]


def zip_given_back(x):
    return {"pairs": zip(x, x, strict=True)}


def map_given_back(x):
    return map(abs, x)


def flat_given_back(x):
    return x.flat


PROGRAMS = [
    *(summed_twice, listed_twice, zipped_twice, mapped_twice, numbered_twice, reversed_twice, under_two_names),
    *(
        in_a_dict,
        after_a_break,
        next_after_a_break,
        after_in,
        largest_and_more,
        in_each_turn,
        in_one_branch,
        after_a_write,
    ),
    after_an_assignment,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_items_are_there_once(program: Callable[..., Any]) -> None:
    assert set(fates(program, *CALLS)) <= {SAME, REFUSED}
    try:
        traced = weft.trace(program, X)
    except CaptureError:
        return
    assert repr(traced(X)) == repr(program(X))


@pytest.mark.parametrize("program", [given_back, given_back_in_a_list, zip_given_back, map_given_back, flat_given_back])
def test_iterators_are_not_given_back(program: Callable[..., Any]) -> None:
    for make in (weft.compile, weft.script):
        if make is weft.script and program is flat_given_back:
            continue  # NumPy's own, which the graph gives
        with pytest.raises(CaptureError, match=r"given back|cannot be an argument or a result|in code that is not"):
            make(program)(X)


def in_variables(x):
    items, pairs, doubled = (v * 2 for v in x), zip(x, x, strict=True), map(lambda v: v * 2, x)
    total = sum(items)
    for a, b in pairs:
        total += a * b
    return total, list(doubled), [k * v for k, v in enumerate(x)], list(reversed(x))


def in_loops(x):
    total = 0.0
    for k in range(3):
        total += sum(v * k for v in x)
        if total > 1:
            total -= max(v for v in x)
        for a, b in zip(x, x, strict=True):
            total += a * b
    return total


def one_in_another(x):
    return sum(sum(a * b for b in x) for a in x), [a + b for a, b in zip((v for v in x), x, strict=True)]


@pytest.mark.parametrize("program", [in_variables, in_loops, one_in_another])
def test_items_that_are_taken_once_are_captured(program: Callable[..., Any]) -> None:
    assert fates(program, *CALLS)[0] == SAME


def test_base_is_that_of_the_argument() -> None:
    compiled = weft.compile(lambda x: x.base is None)
    assert compiled(np.ones(4)) is True
    assert compiled(np.ones(8)[::2]) is False
    for refused in (lambda x: np.nonzero(x)[0].base is None, lambda x: (x * 2).reshape(-1).base is None):
        with pytest.raises(CaptureError, match=r"\.base of what may be a view"):
            weft.compile(refused)(X)


def bases(x, n):
    double = x * 2
    view, kept, rows = double[1:], np.zeros(10)[:n], np.concatenate([x, x])[::2][1:]
    view[0] = 7
    small = kept.copy() if kept.base is not None and kept.size < kept.base.size // 2 else kept
    return view.base is double, view.base[1], view.base.shape, rows.base.size, double.base, x[1:].base is x, small


def test_base_of_a_view_is_the_array_that_owns_the_memory() -> None:
    compiled = weft.compile(bases)
    for n in (2, 7):
        assert seen(compiled(np.arange(4.0), n)) == seen(bases(np.arange(4.0), n))
    of_view = np.arange(6.0)[1:5]
    assert seen(compiled(of_view, 2)) == seen(bases(of_view, 2))
    assert not compiled._ran_plainly


def test_base_is_asked_for_twice() -> None:
    def pruned(x):
        return x.copy() if x.base is not None and x.size < x.base.size // 2 else x

    compiled = weft.compile(pruned)
    for given in (np.arange(4.0), np.arange(9.0)[2:4], np.arange(9.0)[1:]):
        assert seen(compiled(given)) == seen(pruned(given))
    assert not compiled._ran_plainly


def test_base_of_what_was_written_is_refused() -> None:
    def program(x):
        x[0] = 5
        return x.base is None

    with pytest.raises(CaptureError, match=r"\.base of an array that was written before"):
        weft.compile(program)(np.arange(4.0)[1:])


def in_pairs(x):
    items = iter(x)
    return list(zip(items, items, strict=False))


def skipping(x):
    items, total = iter(x), 0.0
    for value in items:
        total += value * next(items)
    return total


def after_the_first(x):
    items = iter(x)
    total = next(items)
    for value in items:
        total = total * 2 + value
    return total


@pytest.mark.parametrize("program", [in_pairs, skipping])
def test_an_iterator_used_by_two_is_refused_in_scripts(program: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match="an iterator that is used again"):
        weft.script(program)


def test_an_iterator_gone_through_once_is_scripted() -> None:
    x = np.arange(6.0)
    assert weft.script(after_the_first)(x) == after_the_first(x)


def array_of_a_range(n):
    return np.array(range(n)), -np.asarray(range(1, n + 1))


def sums_of_ranges(n):
    return np.sum(range(n)), np.cumsum(range(n)), np.dot(range(n), range(n)), np.maximum(range(n), 2)


def joined_with_a_range(n):
    return np.hstack([np.ones(2, int), range(n)]), np.ones(n, int) + range(n), np.array(range(n), np.int8)


def sums_of_shorter_ranges(n):
    total = 0.0
    for i in range(n, -1, -1):
        total += np.sum(range(i)) / 3
    return np.array([np.sum(range(i)) for i in range(n)]), total


def indexed_by_ranges(n):
    x = np.ones((4, 4), int)
    x[range(n), range(n)] = 0
    return x, x[range(n), 0], x[range(n)]


@pytest.mark.parametrize(
    "program",
    [array_of_a_range, sums_of_ranges, joined_with_a_range, sums_of_shorter_ranges, indexed_by_ranges],
)
@pytest.mark.parametrize("first", [3, 0])
def test_an_array_of_an_empty_range_is_of_floats(program: Callable[..., Any], first: int) -> None:
    compiled = weft.compile(program)
    for n in (first, 3, 0, 1, 2):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*ran as plain Python")
            assert seen(compiled(n)) == seen(program(n))


def test_a_script_makes_arrays_of_ranges_as_numpy_does() -> None:
    scripted = weft.script(array_of_a_range)
    for n in (3, 0):
        assert seen(scripted(n)) == seen(array_of_a_range(n))


@pytest.mark.parametrize("how", [weft.compile, weft.script])
def test_a_range_is_added_to_drawn_numbers(how: Any) -> None:
    def jittered(n: int) -> Any:
        return np.random.random(n) + range(n), range(n) - np.random.random(n)

    captured = how(jittered)
    for n in (3, 0, 1):
        np.random.seed(n)
        expected = jittered(n)
        np.random.seed(n)
        assert seen(captured(n)) == seen(expected)
    assert not getattr(captured, "_ran_plainly", None)


def reduced_maps(x):
    return max(map(abs, x)), sorted(map(float, x)), min(map(lambda v: (v, 1), x)), any(map(lambda v: v > 2, x))


def parts_of_maps(x):
    absolute = map(abs, x)
    first = next(absolute)
    return first, list(absolute), all(map(math.isfinite, x)), [p for p, _ in zip(map(abs, x), "ab", strict=False)]


def first_of_map_that_prints(x):
    return next(map(lambda v: print(v) or v > 2, x))


@pytest.mark.parametrize("program", [reduced_maps, parts_of_maps, first_of_map_that_prints])
def test_a_map_gives_one_item_after_the_other(program: Any, capsys: Any) -> None:
    compiled = weft.compile(program)
    for x in (np.array([3.0, 1.0, -2.0]), np.array([-1.0, 1.5, 0.0])):
        found = compiled(x), capsys.readouterr().out
        assert repr(found) == repr((program(x), capsys.readouterr().out))


def printing(x):
    for v in x:
        print(v)
        yield v


def drawing(x, rng):
    for v in x:
        yield rng.random() < v


def writing(x):
    for i in range(len(x)):
        x[i] = 7.0
        yield x[i]


def while_positive(x):
    i = 0
    while i < len(x) and x[i] > 0:
        yield x[i]
        i += 1


def left_when_printing(x):
    for v in printing(x):
        if v > 2:
            return v
    return 0.0


def left_when_mapped(x):
    return any(v > 2 for v in map(lambda v: print(v) or v, x))


def left_when_drawing(x):
    rng = np.random.default_rng(0)
    for small in drawing(x, rng):
        if small:
            break
    return rng.random()


def left_when_writing(x):
    for v in writing(x):
        if v > 1:
            break
    return x


def written_between_items(x):
    total = 0.0
    for v in while_positive(x):
        total += v
        x[1] += v
    return total


def written_between_numbered_items(x):
    total = 0.0
    for k, v in enumerate(while_positive(x)):
        total += k * v
        x[:] = x - 1.0
    return total


LATE = [left_when_printing, left_when_drawing, left_when_writing, written_between_items, written_between_numbered_items]


@pytest.mark.parametrize("program", LATE)
def test_generators_that_take_turns_with_the_loop_over_them_are_refused(program: Any) -> None:
    for front_end in (weft.compile, weft.script):
        with pytest.raises(CaptureError, match=r"take turns|how many are taken|steps is traced"):
            front_end(program)(np.array([3.0, 1.0, 2.0]))


def sums_in_part(x):
    total, seen = 0.0, np.zeros(len(x))
    for k, v in enumerate(while_positive(x)):
        seen[k] = v
        print(k)
        total += v
        if total > 3:
            break
    return total, seen


def test_generators_that_only_compute_may_be_left(capsys: Any) -> None:
    for captured in (weft.compile(sums_in_part), weft.script(sums_in_part)):
        for x in (np.array([3.0, 1.0, 2.0]), np.array([1.0, -1.0]), np.ones(9)):
            found = captured(x), capsys.readouterr().out
            assert repr(found) == repr((sums_in_part(x), capsys.readouterr().out))
