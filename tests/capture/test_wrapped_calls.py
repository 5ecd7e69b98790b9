"""`wrap` in every way of calling it, and what a wrapped function may do to what it is given."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from math import floor
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import weft
from weft.errors import CaptureError, NotDifferentiable

X = np.array([0.0, 1.0, 2.0])

weft.wrap("named_before_it_is_defined")
weft.wrap("floor")


def named_before_it_is_defined(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def as_a_statement(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


other_name = as_a_statement
weft.wrap(as_a_statement)


@weft.wrap
def decorated(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def _plain(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


assigned = weft.wrap(_plain)


@weft.wrap
@functools.lru_cache
def remembered(k: Any) -> Any:
    return k + 1


class Owner:
    @weft.wrap
    def method(self, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    @staticmethod
    @weft.wrap
    def static(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    @weft.wrap
    @staticmethod
    def static_above(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    @classmethod
    @weft.wrap
    def of_class(cls, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    @staticmethod
    def stated(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    weft.wrap(stated)

    def __call__(self, x: Any) -> Any:
        return x


owner = Owner()

WAYS: dict[str, Callable[[Any], Any]] = {
    "name above the def": lambda x: named_before_it_is_defined(x),
    "statement after the def": lambda x: as_a_statement(x),
    "another name of it": lambda x: other_name(x),
    "decorator": lambda x: decorated(x),
    "assigned": lambda x: assigned(x),
    "imported builtin": lambda x: floor(x[1]),
    "over lru_cache": lambda x: remembered(x[0]),
    "static method": lambda x: owner.static(x),
    "decorator above staticmethod": lambda x: owner.static_above(x),
    "class method": lambda x: Owner.of_class(x),
    "statement in a class": lambda x: Owner.stated(x),
}

FRONT_ENDS: dict[str, Callable[[Any], Any]] = {
    "compile": weft.compile,
    "script": weft.script,
    "trace": lambda f: weft.trace(f, X),
    "symbolic_trace": weft.symbolic_trace,
}
each_front_end = pytest.mark.parametrize("make", FRONT_ENDS.values(), ids=FRONT_ENDS)


@each_front_end
@pytest.mark.parametrize("name", WAYS)
def test_ways_of_calling(name: str, make: Callable[[Any], Any]) -> None:
    f = make(WAYS[name])
    np.testing.assert_array_equal(f(X.copy()), WAYS[name](X.copy()))
    assert any(getattr(node.target, "_weft_wrapped", False) for node in f.graph.nodes)


@pytest.mark.parametrize("front_end", ["compile", "script", "trace"])
def test_methods(front_end: str) -> None:
    f = FRONT_ENDS[front_end](lambda x: owner.method(x))
    np.testing.assert_array_equal(f(X), X * 2)


def test_a_name_assigned_keeps_the_function_itself_as_it_was() -> None:
    assert not hasattr(_plain, "_weft_wrapped")


def test_misuse_is_refused() -> None:
    def inside(x: Any) -> Any:
        return x

    with pytest.raises(RuntimeError, match=r"no effect in a function: write inside = weft\.wrap"):
        weft.wrap(inside)
    with pytest.raises(TypeError, match="not a class"):
        weft.wrap(Owner)
    with pytest.raises(TypeError, match="not int"):
        weft.wrap(3)  # type: ignore[arg-type]
    with pytest.raises(NameError, match=r"'np\.sum' is not a name"):
        weft.wrap("np.sum")
    space: dict[str, Any] = {"weft": weft}
    with pytest.raises(NameError, match="no name of this module stands for it"):
        exec("import math\nweft.wrap(math.hypot)", space)
    with pytest.raises(TypeError, match="'number' is no function"):
        exec("number = 3\nweft.wrap('number')", space)

    def wraps_inside(x: Any) -> Any:
        twice = weft.wrap(lambda v: v * 2)
        return twice(x)

    with pytest.raises(CaptureError, match=r"weft\.wrap inside of what is captured"):
        weft.compile(wraps_inside)(X)


# What a wrapped function changes


class Pair(NamedTuple):
    first: Any
    rest: list[Any]


@weft.wrap
def add(values: Any, value: Any) -> None:
    values.append(value)


@weft.wrap
def put(values: Any, key: Any, value: Any) -> None:
    values[key] = value


@weft.wrap
def add_to_rest(pair: Pair, value: Any) -> None:
    pair.rest.append(value)


@weft.wrap
def total(values: Any) -> Any:
    return sum(float(value) for value in values)


@weft.wrap
def middle(values: Any) -> Any:
    values.sort()
    return values[len(values) // 2]


@weft.wrap
def fill(array: Any, value: float = 7.0) -> None:
    array[...] = value


def appended(x: Any) -> Any:
    values = [x[0]]
    add(values, x[1])
    return values


def appended_in_a_loop(x: Any) -> Any:
    values: list[Any] = []
    for i in range(3):
        add(values, x[i])
    return values


def keyed(x: Any) -> Any:
    values: dict[str, Any] = {}
    put(values, "first", x[0])
    return values


def replaced(x: Any) -> Any:
    values = [x[0], x[1]]
    put(values, 0, x[2])
    return values


def inner_list(x: Any) -> Any:
    values = [[x[0]], [x[1]]]
    add(values[0], x[2])
    return values


def inside_a_display(x: Any) -> Any:
    values = [x[0]]
    add([values, 1][0], x[1])
    return values


def in_a_named_tuple(x: Any) -> Any:
    pair = Pair(x[0], [])
    add_to_rest(pair, x[1])
    return pair.rest


def by_keyword(x: Any) -> Any:
    values = [x[0]]
    add(value=x[1], values=values)
    return values


@each_front_end
@pytest.mark.parametrize(
    "program",
    [
        *(appended, appended_in_a_loop, keyed, replaced, inner_list, inside_a_display, in_a_named_tuple, by_keyword),
    ],
)
def test_changes_of_the_program_s_containers_are_refused(program: Any, make: Callable[[Any], Any]) -> None:
    f = make(program)
    with pytest.raises(CaptureError, match=r"(add|put|add_to_rest) changes a (list|dict|Pair) that it was given"):
        f(X)


@weft.wrap
def same(value: Any) -> Any:
    return value


@weft.wrap
def first_of(value: Any) -> Any:
    return value[0]


def changed_after_it_is_given_back(x: Any) -> Any:
    values = [x[0]]
    again = same(values)
    values.append(x[1])
    return again


def changed_as_given_back(x: Any) -> Any:
    values = {"a": x[0]}
    same(values).update({"b": x[1]})
    return values


def inside_of_what_was_given(x: Any) -> Any:
    values = [[x[0]]]
    first_of(values).append(x[1])
    return values


@each_front_end
@pytest.mark.parametrize("program", [changed_after_it_is_given_back, changed_as_given_back, inside_of_what_was_given])
def test_giving_back_the_program_s_containers_is_refused(program: Any, make: Callable[[Any], Any]) -> None:
    with pytest.raises(CaptureError, match=r"gives back a (list|dict) that it was given"):
        make(program)(X)


def reads_a_list(x: Any) -> Any:
    values = [x[0], x[1], math_nan]
    return total(values[:2]) + values[1]


math_nan = float("nan")


def sorts_a_display(x: Any) -> Any:
    return middle([x[2], x[0], x[1]]), middle([value + 1 for value in (x[0], x[1], x[2])])


def fills_its_own(x: Any) -> Any:
    one, other = np.zeros(3), np.zeros(3)
    before = one.sum()
    fill(one[1:])
    return one + x, other + x, before


def fills_an_argument(x: Any) -> Any:
    before = x.sum()
    fill(x[1:])
    return before, x.sum()


@each_front_end
@pytest.mark.parametrize("program", [reads_a_list, sorts_a_display, fills_its_own, fills_an_argument])
def test_what_is_allowed(program: Any, make: Callable[[Any], Any]) -> None:
    mine, theirs = X.copy(), X.copy()
    np.testing.assert_equal(make(program)(mine), program(theirs))
    np.testing.assert_array_equal(mine, theirs)


@weft.wrap
def add_to_set(values: Any, value: Any) -> None:
    values.add(value)


@weft.wrap
def count(values: Any) -> int:
    return len(values)


def test_sets_are_containers_of_the_program() -> None:
    def adds(x: Any) -> Any:
        seen = {1}
        add_to_set(seen, 2)
        return seen, x

    def looks(x: Any) -> Any:
        names = {1.5, 2.5}
        named = [names, x[0]]
        before = total(names)
        names.add(4.0)
        return before, total(names), count(named), x

    for make in (weft.compile, weft.script, lambda f: weft.trace(f, X)):
        with pytest.raises(CaptureError, match="add_to_set changes a set that it was given"):
            make(adds)(X)
        np.testing.assert_equal(make(looks)(X), looks(X))


def test_displays_need_no_check() -> None:
    gm = weft.symbolic_trace(lambda x: total([x[0], x[1]]))
    assert [node.name for node in gm.graph.nodes] == ["x", "getitem", "getitem_1", "total", "output"]


def test_gradients_around_a_call_that_only_looks() -> None:
    def looks(x: Any) -> Any:
        values = [x[0], x[1]]
        total(values)
        return (x * x).sum()

    np.testing.assert_array_equal(weft.grad(looks)(X), 2 * X)

    def uses(x: Any) -> Any:
        values = [x[0], x[1]]
        return (x * total(values)).sum()

    with pytest.raises(NotDifferentiable, match="total has no derivative"):
        weft.grad(uses)(X)


def test_deques_and_saved_files(tmp_path: Any) -> None:
    def queued(x: Any) -> Any:
        values = deque([x[0]])
        add(values, x[1])
        return values

    with pytest.raises(CaptureError, match="add changes a deque"):
        weft.compile(queued)(X)
    path = tmp_path / "appended.weft"
    weft.script(appended).save(path)
    with pytest.raises(CaptureError, match="add changes a list"):
        weft.load(path, allow=[add])(X)


class Counter:
    """Counts calls."""

    def __init__(self) -> None:
        self.calls = 0


CALLS = 0
CACHE = {"k": 0.0}
COUNTER = Counter()


def _count() -> None:
    global CALLS
    CALLS += 1


@weft.wrap
def counts(x: Any) -> Any:
    _count()
    CACHE["k"] = float(CALLS)
    COUNTER.calls += 1
    return x * len(CACHE)


@weft.wrap
def counts_in(counter: Any, x: Any) -> Any:
    counter.calls += 1
    return x


def global_after(x):
    counts(x)
    return x * CALLS


def item_after(x):
    return counts(x) + CACHE["k"]


def attribute_after(x):
    return counts(x) + COUNTER.calls


def attribute_of_an_own_object(x):
    counter = Counter()
    return counts_in(counter, x) + counter.calls


def global_in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += CALLS
        counts(x[i])
    return total


@pytest.mark.parametrize(
    "program", [global_after, item_after, attribute_after, attribute_of_an_own_object, global_in_a_loop]
)
def test_what_a_wrapped_function_changes_is_not_read_after_it(program: Any) -> None:
    with pytest.raises(CaptureError, match=r"is read, which counts(_in)? may change: that is marked with weft\.wrap"):
        weft.compile(program)(X)


def test_what_is_read_before_a_wrapped_function_changes_it() -> None:
    def before(x: Any) -> Any:
        n = CALLS
        return counts(x) + n

    compiled, start = weft.compile(before), CALLS
    assert [float(compiled(X)[0]) for _ in range(3)] == [start, start + 1, start + 2]


def test_builtins_that_only_look_need_no_check() -> None:
    space: dict[str, Any] = {"size": weft.wrap(len), "weft": weft}
    exec("def program(x):\n    items = [x[0], x[1]]\n    return size(items) + x", space)
    gm = weft.symbolic_trace(space["program"])
    called = weft.symbolic_trace(lambda x: floor(x.sum()))
    assert not [node for graph in (gm, called) for node in graph.graph.nodes if "as_given" in node.name]


class _Table:
    shared: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.low, self.high = np.zeros(3), np.ones(3)
        self.names, self.views = {"low": 1, "high": 2}, {"first": self.low[:1]}


@weft.wrap
def summed(table: Any) -> Any:
    return table.low.sum()


def written_and_seen(table, x):
    table.low[0] = x[0]
    table.names["more"] = 3
    return summed(table)


def written_on_a_side_and_seen(table, x):
    if x[0] > 0:
        table.low[1] = x[0]
        return summed(table)
    return 0.0


def written_before_a_branch_ends(table, x):
    if x[0] > 0:
        table.low[1] = x[0]
    return summed(table)


def written_by_a_loop_and_seen(table, x):
    total = 0.0
    for one in x:
        table.low[0] += one
        table.names["more"] = one
        total = total + summed(table)
    return total


def swapped_and_seen(table, x):
    table.low += x
    table.high[:] = table.low[::-1]
    return summed(table), table.high


def seen_by_a_name_that_running_tells(table, x):
    table.low[0] = x[0]
    table.names["z"] = 3
    name = sorted(table.names)[1]
    return getattr(table, name) + 0, hasattr(table, name)


def seen_in_a_dict(table, x):
    table.views["more"] = 1
    table.low[0] = x[0]
    return table.views["first"] * 1


def kept_by_the_class(table, x):
    made = _Table()
    made.shared["sum"] = x.sum()
    return made.shared["sum"] + len(table.shared)


SEEN = [
    written_and_seen,
    written_on_a_side_and_seen,
    written_before_a_branch_ends,
    written_by_a_loop_and_seen,
    swapped_and_seen,
    seen_by_a_name_that_running_tells,
    seen_in_a_dict,
    kept_by_the_class,
]


@pytest.mark.parametrize("program", SEEN)
def test_code_that_runs_as_it_is_sees_what_was_written_into_arrays_before(program: Callable[..., Any]) -> None:
    compiled, table, same = weft.compile(program), _Table(), _Table()
    for k in (1.0, 2.0):
        _Table.shared.clear()
        expected = program(same, np.full(3, k))
        _Table.shared.clear()
        assert str(compiled(table, np.full(3, k))) == str(expected)
        assert str(vars(table)) == str(vars(same))
    assert not compiled._ran_plainly
