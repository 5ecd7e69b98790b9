"""Everyday expressions over lists of which only running tells the length, in scripts and of lists from outside."""

# ruff: noqa: PERF402  # these are the ways of writing that are to be captured

# ruff: noqa: PERF401  # lists that loops fill are what is tested

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

EXPRESSIONS = [
    "[0 for i in range(len(v))]",
    "[v[i] for i in range(len(v) - 1, -1, -1)]",
    "[x for x in v if x > 1]",
    "{k: x for k, x in enumerate(v)}",
    "{x for x in v}",
    "dict(enumerate(v))",
    "dict(zip(v, v))",
    "list(enumerate(v))",
    "list(map(abs, v))",
    "list(map(lambda x: x + 1, v))",
    "list(range(len(v)))",
    "list(reversed(v))",
    "list(reversed(range(len(v))))",
    "list(zip(v, v))",
    "[0] * len(v)",
    "np.zeros(len(v))",
    "max(enumerate(v))",
    "sum(reversed(v))",
    "sorted(zip(v, v))",
    "tuple(range(len(v)))",
    "','.join(map(str, v))",
    "','.join(str(x) for x in reversed(v))",
]


def program(number: int, expression: str, changes: bool) -> Any:
    lines = ["def program(v):", "    v.append(2)" if changes else "    v = v + [2]", f"    return {expression}"]
    name = f"<lists of unknown length {number} {changes}>"
    linecache.cache[name] = (1, None, [line + "\n" for line in lines], name)
    found: dict[str, Any] = {"np": np}
    exec(compile("\n".join(lines), name, "exec"), found)
    return found["program"]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS.__getitem__)
def test_of_an_argument_that_is_changed(number: int) -> None:
    function = program(number, EXPRESSIONS[number], True)
    compiled = weft.compile(function)
    for given in ([3, 1], [4], []):
        if given or "max" not in EXPRESSIONS[number]:
            assert_same(call(compiled, (list(given),)), call(function, (list(given),)))
    assert not compiled._ran_plainly


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS.__getitem__)
def test_in_a_script(number: int) -> None:
    function = program(number, EXPRESSIONS[number], False)
    scripted = weft.script(function)
    for given in ([3, 1], [4], []):
        assert_same(call(scripted, (list(given),)), call(function, (list(given),)))


@weft.script
def extended(v):
    found = []
    for x in v:
        found.append(x)
    found.extend(reversed(v))
    return found, ",".join(reversed(found))


def test_a_list_and_a_text_take_what_is_reversed() -> None:
    assert extended(["a", "b"]) == (["a", "b", "b", "a"], "a,b,b,a")


@weft.wrap
def unknown(value):
    return value


def added(*values, **named):
    return sum(values) + sum(named.values())


class Adder:
    def __init__(self, scale=1.0):
        self.scale = scale

    def add(self, *values, **named):
        self.count = len(values)
        return sum(values) * self.scale + named.get("rest", 0)


def in_displays(adder, x):
    first, *rest = unknown([1, 2, 3])
    return (2, *unknown((3, 4)), x.sum()), [*unknown([1, 2]), *[x[0]], 5], {*unknown([1]), 2}, (*rest, first)


def in_shapes(adder, x):
    made = np.empty((2, *unknown(x).shape), x.dtype)
    return made.shape, x[1:, *unknown(())], np.stack((*unknown([x, x]),)).T


def in_calls(adder, x):
    def scaled(*values):
        return sum(values) * x[0]

    return added(1, *unknown([1, 2]), a=x[0], **unknown({"b": 2}), c=x[1]), scaled(*unknown([1, 2])), adder.scale


def given_twice(adder, x):
    return added(**unknown({"b": 2}), **unknown({"b": x[1]}))


def in_methods(adder, x):
    adder.scale = x[1]
    return adder.add(*unknown([1, x[0]]), **unknown({"rest": x[2]})), Adder(*unknown([x[0]])).scale


def in_builtins(adder, x):
    print(*unknown([1, 2]), x[0])
    return max(*unknown([1, 2])), list(zip(*unknown([[1, 2], [3, 4]]), strict=True))


@pytest.mark.parametrize("program", [in_displays, in_shapes, in_calls, given_twice, in_methods, in_builtins])
def test_stars_before_values_of_unknown_length(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.arange(3.0) + 1, np.arange(4.0) * 2):
        adder, same = Adder(), Adder()
        assert_same(call(compiled, (adder, x)), call(program, (same, x)))
        assert vars(adder) == vars(same)
    assert not compiled._ran_plainly


def test_what_such_a_call_may_change_is_not_read_after_it() -> None:
    def counted(adder, x):
        adder.add(*unknown([1, x[0]]))
        return adder.count

    with pytest.raises(CaptureError, match=r"\.count of a Adder is read, which \.add may change"):
        weft.compile(counted)(Adder(), np.ones(3))


def test_stars_in_scripts() -> None:
    listed, largest = weft.script(lambda xs: [*xs, 1]), weft.script(lambda xs: max(*xs))
    named = weft.script(lambda options: added(1, **options))
    assert (listed((2, 3)), largest([4.0, 5.0]), named({"a": 2})) == ([2, 3, 1], 5.0, 3)
    with pytest.raises(TypeError, match="keyword argument 'a'"):
        weft.script(lambda options: added(**options, **options))({"a": 2})


MADE = ["[v * 2 for v in x]", "[v * 2 for v in x if v > 0]", "[(v, i) for i, v in enumerate(x) if v]"]
USES = [
    "made == [2.0, 4.0, 8.0], made != [1.0], made == x.tolist()",
    "made[:2], made[::-1], made[-1], made[k:], made[: k + 1][0], len(made[k:])",
    "[1.0] + made, made + made, made + [], (made + [7.0])[-1]",
    "made * 2, 3 * made, made * k, len(made * 0)",
    "[[one, one] for one in made][1:]",
    "made[1:] == made[2:], made[:0] == []",
]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("use", USES)
def test_of_a_comprehension_over_an_array(made: str, use: str) -> None:
    """It gives a list: what is cut out of it, compared with it and added to it is one, too."""
    name = f"<a comprehension {MADE.index(made)} {USES.index(use)}>"
    lines = ["def program(x, k):", f"    made = {made}", f"    return {use}"]
    linecache.cache[name] = (1, None, [line + "\n" for line in lines], name)
    found: dict[str, Any] = {}
    exec(compile("\n".join(lines), name, "exec"), found)
    function = found["program"]
    compiled = weft.compile(function)
    script = weft.script(function)
    for given in ([1.0, 2.0, -3.0, 4.0], [0.5, 1.0, 2.0], [5.0, 6.0, 7.0, 8.0, -1.0]):
        expected = call(function, (np.array(given), 1))
        assert_same(call(compiled, (np.array(given), 1)), expected)
        assert_same(call(script, (np.array(given), 1)), expected)
    assert not compiled._ran_plainly


def chosen_and_changed(x: Any, last: Any) -> Any:
    kept = [i for i in range(0, len(x), 2) if x[i] > 0]
    kept += [last]
    kept[0] = -1
    return kept


def test_a_comprehension_with_a_condition_may_be_changed() -> None:
    compiled = weft.compile(chosen_and_changed)
    for size in (5, 6, 9):
        x = np.cos(np.arange(size) / 9)
        assert_same(call(compiled, (x, size)), call(chosen_and_changed, (x, size)))
    assert not compiled._ran_plainly


def counted(x: Any, n: Any) -> Any:
    counts = [0 for _ in range(n)]
    for value in x:
        counts[int(abs(value)) % n] += 1
    return counts, counts.count(1), counts.copy(), counts.index(max(counts))


def counted_in_as_many_as_needed(x: Any, n: Any) -> Any:
    counts = [0] * (int(x.max()) + 1)
    others = [0 for _ in counts]
    for value in x:
        counts[int(abs(value)) % len(counts)] += n
        others[int(abs(value)) % len(counts)] -= n
    return counts, others


def flags_in_a_loop(x: Any, n: Any) -> Any:
    total = turns = 0
    while total < 10:
        flags = [False for _ in range(n)]
        flags[int(x[0]) % n] = True
        flags[-1] = True
        flags += [False]
        total += sum([i for i in range(n) if flags[i]]) + len(flags)
        turns += 1
    return total, turns


def rearranged(x: Any, n: Any) -> Any:
    values, names = [v * 2 for v in x], ["a", "b", "c"]
    k = int(x[1]) % 3
    values[k], values[0] = values[0], values[k]
    values.append(1.5)
    values.reverse()
    names[k] = "z"
    del names[k - 1]
    same = names
    same.insert(k, "new")
    return values, names, "".join(names), len(values)


def inner_lists(x: Any, n: Any) -> Any:
    rows = [[0.0 for _ in range(n)] for _ in x]
    rows[0][n - 1] = x[0]
    return rows


CHANGING = [counted, counted_in_as_many_as_needed, flags_in_a_loop, rearranged, inner_lists]


@pytest.mark.parametrize("function", CHANGING)
def test_a_comprehension_may_be_changed_at_a_traced_place(function: Callable[..., Any]) -> None:
    compiled = weft.compile(function)
    for given, n in (([1.0, 2.0, -3.0, 4.0], 5), ([2.0, 7.0, 1.0, 0.5, 6.0], 3), ([3.0, 1.0, 1.0], 4)):
        assert_same(call(compiled, (np.array(given), n)), call(function, (np.array(given), n)))
    assert not compiled._ran_plainly


def rows_below(x):
    rows = []
    for v in x:
        row = []
        for w in x:
            if w < v:
                row.append(w)
        rows.append(row)
    return rows[0], rows[-1][-1], sum(rows[-1]), [len(row) for row in rows]


def rows_of_comprehensions(x):
    rows = []
    for v in x:
        rows.append([w for w in x if w < v])
    return rows[1][:1], rows[-1][-1], len(rows[-1])


def rows_in_a_comprehension(x):
    rows = [[w * v for w in x if w < v] for v in x]
    return rows[-1][0] + rows[-1][-1], max(rows[-1])


def rows_with_their_values(x):
    rows = []
    for v in x:
        below = [w for w in x if w < v]
        rows.append((v, below, {"above": [w for w in x if w > v]}))
    return rows[-1][1][-1], rows[-1][0], rows[0][2]["above"], len(rows[-1][1])


def row_that_grows_when_kept(x):
    rows = []
    for v in x:
        row = []
        rows.append(row)
        for w in x:
            if w < v:
                row.append(w)
    return rows[-1][-1], len(rows[0])


@pytest.mark.parametrize(
    "program",
    [rows_below, rows_of_comprehensions, rows_in_a_comprehension, rows_with_their_values, row_that_grows_when_kept],
)
def test_lists_of_lists_of_unknown_lengths(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0]), np.array([1.0, 2.0])):
        try:
            assert_same(call(compiled, (x,)), call(program, (x,)))
        except CaptureError:
            assert program is row_that_grows_when_kept


def inserted_at_a_traced_place(x):
    names = [f"x{k}" for k in range(3)]
    names.insert(x.argmin(), "least")
    values = [1.0, 2.0, 3.0]
    other = values
    other.insert(int(x[0]) - 1, x[1])
    return names, values, len(values), sum(values)


def taken_from_a_traced_place(x):
    values = [x[0], x[1], 5.0]
    return values.pop(int(x[0])), values, values.pop(-1)


@pytest.mark.parametrize("program", [inserted_at_a_traced_place, taken_from_a_traced_place])
def test_lists_change_at_traced_places(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in ([1.0, 4.0, 0.5], [2.0, 1.0, 3.0], [0.0, 1.0, 2.0], [7.0, 1.0, 2.0]):
        assert_same(call(compiled, (np.array(x),)), call(program, (np.array(x),)))
    assert not compiled._ran_plainly


def early_return(x: Any) -> Any:
    found = []
    for value in x:
        if value < 0:
            return []
        found.append(value)
    return found


def another_after_break(x: Any) -> Any:
    found: Any = []
    for value in x:
        if value < 0:
            last: Any = [value]
            break
        found.append(value)
    else:
        last = found
    last.append(5.0)
    return last, found, last is found


@pytest.mark.parametrize("program", [early_return, another_after_break])
def test_a_list_made_on_a_side_of_a_branch_goes_on(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.ones(3), np.array([1.0, 2.0, -1.0]), np.array([-1.0, 2.0, 3.0]), np.ones(3) * 2):
        assert_same(call(compiled, x), call(program, x))
    assert not compiled._ran_plainly


REDUCED = [
    "max((v, i) for i, v in enumerate(x))",
    "min([(v, i) for i, v in enumerate(x)])[1]",
    "sorted([(v, i) for i, v in enumerate(x)])",
    "max([[v, v * k] for v in x]), max([(i, v) for i, v in enumerate(x) if v > 0])",
    "any([(v, 0) for v in x]), all([(v > 0, 1) for v in x]), all([() for v in x])",
    "sum([(v, 1) for v in x], ())",
    "max([v * x[:2] for v in x], default=x) if len(x) < 2 else sum([v * x for v in x])",
]


@pytest.mark.parametrize("number", range(len(REDUCED)), ids=REDUCED.__getitem__)
def test_tuples_are_no_numbers(number: int) -> None:
    """Of several tuples `max` gives one, and no number of one."""
    name = f"<reduced {number}>"
    lines = ["def program(x, k):", f"    return {REDUCED[number]}"]
    linecache.cache[name] = (1, None, [line + "\n" for line in lines], name)
    found: dict[str, Any] = {}
    exec(compile("\n".join(lines), name, "exec"), found)
    for captured in (weft.compile(found["program"]), weft.script(found["program"])):
        for given in ([1.0, 2.0, -3.0, 2.0], [0.5, 1.5], [7.0, 7.0, 1.0]):
            assert_same(call(captured, (np.array(given), 3)), call(found["program"], (np.array(given), 3)))


EMPTY: list[Callable[..., Any]] = [
    lambda x: [[] for _ in x],
    lambda x: [() for _ in range(len(x))],
    lambda x: ([{} for _ in x], len([[] for _ in x]), [[], []] + [[] for _ in x]),
]


@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_lists_of_empty_containers(number: int) -> None:
    """There are as many as the loop has turns, though none holds anything to count them by."""
    for captured in (weft.compile(EMPTY[number]), weft.script(EMPTY[number])):
        for size in (3, 4, 1):
            assert_same(call(captured, (np.ones(size),)), call(EMPTY[number], (np.ones(size),)))


def test_a_container_is_not_repeated_a_traced_number_of_times() -> None:
    with pytest.raises(CaptureError, match="an index or a count"):
        weft.compile(lambda x: [[]] * int(x.max()))(np.ones(3))


def test_a_reduction_that_changes_a_list_is_refused_in_a_script() -> None:
    def grown(x: Any) -> Any:
        items = [1.0]
        functools.reduce(lambda before, value: before.append(value) or before, x, items)
        return items

    with pytest.raises(CaptureError, match="reduce over a value of unknown length"):
        weft.script(grown)
    assert weft.compile(grown)(np.arange(3.0)) == grown(np.arange(3.0))


def chosen_numbers(x: Any) -> Any:
    chosen = x[x > 0]
    numbers = chosen.tolist()
    chosen[:] = 9.0
    return numbers, len(numbers), sum(numbers), numbers[:1], chosen


def added_to(x: Any) -> Any:
    places = np.where(x > 0)[0].tolist()
    places.append(7)
    return places, [type(place) for place in places]


def rows_and_types(x: Any) -> Any:
    chosen = x > 0
    rows = np.stack([x, x + 1], axis=1)[chosen].tolist()
    return rows, chosen[chosen].tolist(), (x[chosen] * 1j).tolist(), x[chosen].astype("f4").tolist()


def is_among(x: Any) -> Any:
    numbers, doubled = x[x > 0].tolist(), [v * 2 for v in x[x > 0]]
    return 3.0 in numbers, x[0] in numbers, 6.0 not in doubled, "a" in numbers


def whether_there_are_any(x: Any) -> Any:
    numbers, doubled, turns = x[x > 0].tolist(), [v * 2 for v in x[x > 0]], 0
    while doubled and turns < 3:
        turns += 1
    if not numbers:
        return -1.0, turns
    return numbers[0], turns, bool(doubled), 1 if range(np.count_nonzero(x > 1)) else 2


def two_of_them(x: Any) -> Any:
    first, second = x[x > 0].tolist()
    return first - second


NUMBERS = [chosen_numbers, added_to, rows_and_types, is_among, whether_there_are_any, two_of_them]


@pytest.mark.parametrize("program", NUMBERS)
@pytest.mark.filterwarnings("error")
def test_numbers_of_an_array_of_which_only_running_tells_the_length(program: Callable[..., Any]) -> None:
    x = np.array([1.0, -2.0, 3.0])
    for captured in (weft.compile(program), weft.script(program)):
        for given in (x, -x, x[:0], x * 2):
            assert_same(call(captured, (given.copy(),)), call(program, (given.copy(),)))


def test_a_collected_list_is_called_a_list() -> None:
    with pytest.raises(CaptureError, match="a list of which only running tells the length and a number of type int"):
        weft.compile(lambda x: x[x > 0].tolist() or 5)(np.ones(3))


def test_derivatives_go_through_tolist() -> None:
    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(weft.grad(lambda x: sum(v * v for v in x[x > 0].tolist()))(x), [2.0, 0.0, 6.0])
    with pytest.raises(CaptureError, match="a loop over an array whose length is known only when the graph runs"):
        weft.trace(lambda x: sum(x[x > 0].tolist()), x)


@pytest.mark.parametrize("front_end", [weft.script, lambda f: weft.trace(f, np.ones(2))])
def test_a_loop_in_code_that_is_not_captured_is_called_so(front_end: Any) -> None:
    with pytest.raises(CaptureError, match="a loop over a value of unknown length, in code that is not captured"):
        front_end(lambda x: list(itertools.product(range(np.count_nonzero(x)), range(2))))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.log([v * 2 for v in x[x > 0]]),
        lambda x: np.maximum([v * 2 for v in x[x > 0]], 1.5),
        lambda x: np.add(x[x > 0], [int(v) for v in x[x > 0]]),
    ],
)
def test_universal_functions_take_them_as_arrays(program: Any) -> None:
    compiled = weft.compile(program)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.5, 3.0, 4.0])):
        assert_same(call(compiled, (x,)), call(program, (x,)))
    assert not compiled._ran_plainly
