"""Lists, dicts and sets inside of others, reached by another name, in a branch or a loop that changes them."""

# ruff: noqa: PERF401  # programs as people write them

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
from alike import REFUSED, SAME, fates

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

POINTS = (np.array([1.2, 2.0]), np.array([1.2, 2.0, 7.0]), np.array([7.0, 2.0]))


class Holder:
    def __init__(self) -> None:
        self.parts = [1.0]


def in_a_branch(x):
    held = {"l": [1.0, x[1]]}
    if x[0] > 5:
        inner = held["l"]
        inner[0] = 2.0
    return held["l"][0] * x[0]


def grows_in_a_branch(x):
    held = {"l": []}
    if x[0] > 5:
        inner = held["l"]
        inner.append(1)
    return x[0] * (1 + len(held["l"]))


def another_name(x):
    made = []
    if x[0] > 5:
        same = made
        same.append(1)
    return x[0] * (1 + len(made))


def in_a_loop(x):
    held = ([1.0, x[1]],)
    for _ in range(len(x)):
        inner = held[0]
        inner[0] = inner[0] * 2.0
    return held[0][0] * x[0]


def in_a_loop_over_dicts(x):
    rows = [{"k": 1.0}]
    for v in x:
        for row in rows:
            if v > 5:
                row["k"] = row["k"] + 1.0
    return x[0] * rows[0]["k"]


def unpacked(x):
    rows = [[1.0], [2.0]]
    if x[0] > 5:
        a, b = rows
        a[0], b[0] = b[0], a[0]
    return rows[0][0] * x[0]


def by_a_function(x):
    def bump(given):
        same = given
        same[0] = same[0] + 1.0

    made = [1.0]
    for _ in range(len(x)):
        bump(made)
    return made[0] * x[0]


def an_attribute(x):
    holder = Holder()
    if x[0] > 5:
        parts = holder.parts
        parts[0] = 2.0
    return x[0] * holder.parts[0]


def appended_and_stored(x):
    rows, held = [], {}
    rows.append([1.0])
    held["k"] = [1.0]
    for v in x:
        if v > 5:
            a, b = rows[0], held["k"]
            a[0] = 3.0
            b[0] = b[0] + 1.0
    return x[0] * rows[0][0] * held["k"][0]


def where_it_was_made(x):
    held = {"l": [x[0], {"z": x[1]}]}
    held["l"][0] = held["l"][0] * 2
    held["l"][1]["z"] += held["l"][0]
    return held["l"][1]["z"]


@dataclass
class Record:
    count: float = 1.0
    parts: list[float] = field(default_factory=list)


def made_for_a_field(x):
    record = Record()
    if x[0] > 5:
        parts = record.parts
        parts.append(3.0)
        record.count = 2.0
    return x[0] * record.count * (1 + len(record.parts))


def collected(x):
    rows = [[1.0] for _ in range(2)]
    by_name = {name: [1.0] for name in "ab"}
    if x[0] > 5:
        for row in rows:
            row.append(2.0)
        by_name["a"].append(2.0)
    return x[0] * (len(rows[0]) + len(rows[1]) * len(by_name["a"]))


def converted(x):
    pairs, copied = list(zip([[1.0]], [[2.0]], strict=True)), dict(dict(p=[1.0]))  # noqa: C408  # what is tested
    if x[0] > 5:
        for a, b in pairs:
            a[0], b[0] = b[0], a[0]
        inner = copied["p"]
        inner[0] = 5.0
    return x[0] * pairs[0][0][0] * copied["p"][0]


def given_to_a_function(x):
    def used(made, *, more):
        if x[0] > 5:
            same = made
            same[0] = 4.0
            inner = more["l"]
            inner[0] = 3.0
        return made[0] * more["l"][0]

    return used([1.0], more={"l": [1.0]}) * x[0]


PROGRAMS = (
    collected,
    converted,
    given_to_a_function,
    made_for_a_field,
    in_a_branch,
    grows_in_a_branch,
    another_name,
    in_a_loop,
    in_a_loop_over_dicts,
    unpacked,
    by_a_function,
    an_attribute,
    appended_and_stored,
    where_it_was_made,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_change_happens_when_the_graph_runs(program):
    compiled = weft.compile(program)
    for x in POINTS:
        np.testing.assert_allclose(compiled(x), program(x))


OUTSIDE = {"l": [1.0], "more": [[1.0]]}


def test_what_is_outside_changes_as_in_the_plain_call():
    def through_a_name(x):
        inner = OUTSIDE["more"]
        inner[0][0] = 2.0
        return x.sum()

    def in_a_container(x):
        held = {"mine": list(OUTSIDE.values())}
        held["mine"][0].append(2.0)
        return x.sum()

    def of_an_argument(x, given):
        held = [given]
        held[0].append(2.0)
        return x.sum()

    given = [1.0]
    for program, args in ((through_a_name, ()), (in_a_container, ()), (of_an_argument, (given,))):
        compiled = weft.compile(program)
        for _ in range(2):
            compiled(POINTS[0], *args)
        assert compiled.cache_info().misses == 1
    assert OUTSIDE == {"l": [1.0, 2.0, 2.0], "more": [[2.0]]}
    assert given == [1.0, 2.0, 2.0]


def _brought(x):
    held = {"a": 1.0}
    if x[0] > 5:
        held["hit"] = 2.0
    return held


class Bare:
    pass


def _has(x):
    bare = Bare()
    if x[0] > 5:
        bare.z = 2.0
    return x[0] * (2 if hasattr(bare, "z") else 1)


READERS = {
    "len": lambda x: x[0] * len(_brought(x)),
    "in": lambda x: x[0] * (2 if "hit" in _brought(x) else 1),
    "list": lambda x: x[0] * len(list(_brought(x))),
    "items": lambda x: x[0] * sum(1 for _ in _brought(x).items()),
    "merged": lambda x: x[0] * len({**_brought(x)}),
    "comprehension": lambda x: x[0] * len([k for k in _brought(x)]),  # noqa: C416  # what is tested
    "hasattr": _has,
}


@pytest.mark.parametrize("read", READERS)
def test_a_key_that_a_branch_brings(read):
    """It was there for every call, whichever way the branch went."""
    with pytest.raises(CaptureError, match="is known only when the graph runs: one side of a branch"):
        weft.compile(READERS[read])(POINTS[0])


def test_keys_that_are_there_on_both_sides():
    def program(x):
        held = {}
        if x[0] > 5:
            held["hit"] = 2.0
        else:
            held["hit"] = 3.0
        return x[0] * held["hit"] * len(held) + ("hit" in held)

    for x in POINTS:
        assert weft.compile(program)(x) == program(x)


def test_other_keys_of_a_dict_that_a_branch_adds_to():
    def program(x):
        held = _brought(x)
        held["b"] = x[1]
        return held["a"] * held["b"] + ("b" in held) + isinstance(held, dict)

    for x in POINTS:
        assert weft.compile(program)(x) == program(x)


def test_iterators_advance_where_they_are_made():
    def outside(x):
        numbers = iter([1.0, 2.0, 3.0])
        total = x[0]
        if x[0] > 5:
            total = total * next(numbers)
        return total * next(numbers)

    def inside(x):
        total = x[0]
        for v in x:
            if v > 1.5:
                numbers = iter([1.0, 2.0])
                total = total * next(numbers) + next(numbers)
        return total + next(iter([4.0]))

    with pytest.raises(CaptureError, match="an iterator made outside a branch or loop is advanced inside it"):
        weft.compile(outside)(POINTS[0])
    for x in POINTS:
        assert weft.compile(inside)(x) == inside(x)


def a_key_at_the_end(x):
    made = {"mean": x.mean(), "parts": [x]}
    if x[0] > 5:
        made["most"] = (x.max(), {"n": len(x)})
    return made


def a_key_of_a_loop(x):
    made = {}
    for v in x:
        made["last"] = v
    return [made]


def a_default_of_a_loop(x):
    made = defaultdict(list)
    for i in range(len(x)):
        made["all"].append(x[i])
    return made


def counted(x):
    made = Counter(more=0)
    for v in x:
        if v > 5:
            made["more"] += 1
    return made


@pytest.mark.parametrize("program", [a_key_at_the_end, a_key_of_a_loop, a_default_of_a_loop, counted])
def test_keys_that_a_branch_or_a_loop_brings(program):
    compiled = weft.compile(program)
    for x in (*POINTS, np.zeros(0)) if program is not a_key_at_the_end else POINTS:
        assert_same(call(compiled, (x,)), call(program, (x,)))


def assigned_after_others(x):
    made = {}
    if x[0] > 5:
        made["a"] = 1
    made["b"] = 2
    made["a"] = 3
    return made


def in_another_order(x):
    made = {}
    if x[0] > 5:
        made["a"] = 1
        made["b"] = 2
    else:
        made["b"] = 3
        made["a"] = 4
    return list(made)


@pytest.mark.parametrize("program", [assigned_after_others, in_another_order])
def test_an_order_of_keys_that_a_branch_decides(program):
    for way in (lambda: weft.compile(program)(POINTS[0]), lambda: weft.script(program)):
        with pytest.raises(CaptureError, match="the order of the keys of a dict is known only when the graph runs"):
            way()


class Model:
    """An object that keeps what it is given, as estimators do."""

    def fit(self, x):
        self.seen = []
        for k in range(len(x)):
            self.seen.append(x[k] * 2)
        return self

    def begin(self, x):
        self.first = []
        self.first.append(x[0])
        self.table = {}
        self.table["last"] = x[1]


def test_a_list_made_for_an_attribute_of_an_object_may_change():
    for name in ("fit", "begin"):
        plain, captured = Model(), Model()
        compiled = weft.compile(getattr(Model, name))
        for x in (*POINTS, POINTS[0] * 3):
            expected, got = getattr(plain, name)(x), compiled(captured, x)
            assert (expected is plain) == (got is captured)
            assert vars(captured) == vars(plain)
        assert not compiled._ran_plainly


def put_in_then_changed(x, n):
    rows = []
    for k in range(n):
        row = []
        rows.append(row)
        row.append(x[k])
    return rows


def put_in_many_times(x, n):
    rows, row = [], [0.0, 1.0]
    for _ in range(n):
        rows.append(row)
    row[0] = x[0]
    return rows


def held_from_the_beginning(x, n):
    row = [0.0]
    rows = [row]
    for k in range(n):
        rows.append([x[k]])
        row.append(x[k])
    row.append(3.0)
    return rows


def taken_out_by_a_loop(x, n):
    rows, seen = [], []
    for k in range(n):
        rows.append([x[k]])
        seen.append({"k": x[k]})
    for row in rows:
        row.append(2.0)
    for each in seen:
        each["k"] = 5.0
    return rows, seen


def taken_out_by_a_name(x, n):
    rows = []
    for k in range(n):
        rows.append([x[k], 0.0])
    last, (first, second) = rows[-1], rows[:2]
    last[1], first[1], second[1] = 4.0, 1.0, 2.0
    return rows


def popped_and_put_back(x, n):
    rows = []
    for k in range(n):
        rows.append([x[k], 0.0])
    row = rows.pop()
    row[1] = 3.0
    rows.append(row)
    return rows


def chosen_by_an_expression(x, n):
    a, b = [1.0], [2.0]
    c = a if x[0] > n else b
    c[0] = 7.0
    return a, b


def chosen_by_a_branch(x, n):
    a, b = {"k": 1.0}, {"k": x[0]}
    c = a
    if x[0] > n:
        c = b
    d = c
    d["k"] = 7.0
    return a, b


def two_names_of_one(x, n):
    if x[0] > n:
        p = q = [x[1]]
    else:
        p = q = [2.0]
    p[0] = 8.0
    return p, q


def one_of_the_items(x, n):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    best = rows[0] if x[0] > x[1] else rows[1]
    best[1] = 5.0
    return rows


def made_by_both_sides(x, n):
    if x[0] > n:
        pair = [x[0], 1.0]
    else:
        pair = [x[1], 2.0]
    pair[1] += 1.0
    return pair


@pytest.mark.parametrize(
    ("program", "compiled"),
    [
        (put_in_then_changed, SAME),
        (put_in_many_times, SAME),
        (held_from_the_beginning, SAME),
        (taken_out_by_a_loop, SAME),
        (taken_out_by_a_name, SAME),
        (popped_and_put_back, SAME),
        (made_by_both_sides, SAME),
        (chosen_by_an_expression, SAME),
        (chosen_by_a_branch, REFUSED),
        (two_names_of_one, SAME),
        (one_of_the_items, SAME),
    ],
)
def test_a_container_that_a_list_or_a_branch_gives_is_the_programs_own(program, compiled):
    assert fates(program, (np.arange(5.0), 3), (np.arange(4.0) + 1, 2), (np.array([9.0, 1.0, 2.0]), 2))[0] == compiled


def pairs(items):
    found = {}
    for k in range(len(items) - 1):
        if items[k] in found:
            if items[k + 1] in found[items[k]]:
                found[items[k]][items[k + 1]] = found[items[k]][items[k + 1]] + 1
            else:
                found[items[k]][items[k + 1]] = 1
        else:
            found[items[k]] = {}
            found[items[k]][items[k + 1]] = 1
    return found


def test_a_dict_that_one_side_changes_and_the_other_replaces():
    compiled = weft.compile(pairs)
    for items in ([1, 2, 1, 2], [1, 2, 3, 1, 2], [5, 5, 5]):
        assert compiled(list(items)) == pairs(items)
