"""What capturing may cost: what grows beyond it runs as plain Python, is told once, and is remembered."""

from __future__ import annotations

import linecache
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.capture import _budget, _compile
from weft.capture._budget import Trial
from weft.errors import CaptureError
from weft.ops._dim import REASONED, Dim, Sizes

Array = np.ndarray[Any, Any]


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every capture that is begun."""
    found: list[Any] = []

    def noted(function: Any, *args: Any, **how: Any) -> Any:
        found.append(function)
        return capture(function, *args, **how)

    capture = _compile.capture
    monkeypatch.setattr(_compile, "capture", noted)
    return found


def solve(grid: Array) -> bool:
    for i in range(4):
        for j in range(4):
            if grid[i, j] == 0:
                for value in range(1, 5):
                    free = True
                    for k in range(4):
                        if grid[i, k] == value or grid[k, j] == value:
                            free = False
                    if free:
                        grid[i, j] = value
                        if solve(grid):
                            return True
                        grid[i, j] = 0
                return False
    return True


def merge_sort(values: Array) -> Array:
    n = len(values)
    if n <= 1:
        return values.copy()
    left, right = merge_sort(values[: n // 2]), merge_sort(values[n // 2 :])
    merged = np.empty(n)
    i = j = 0
    for k in range(n):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            merged[k] = left[i]
            i += 1
        else:
            merged[k] = right[j]
            j += 1
    return merged


class Body:
    def __init__(self, x: Any, v: Any, m: Any) -> None:
        self.x, self.v, self.m = x, v, m


def fall(xs: Array, vs: Array, ms: Array) -> Any:
    bodies = [Body(xs[i], vs[i], ms[i]) for i in range(30)]
    for _ in range(20):
        for body in bodies:
            body.v = body.v - 0.1 * body.x / body.m
            body.x = body.x + 0.1 * body.v
            body.m = body.m * 0.999
    return sum(body.x for body in bodies)


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def told(run: Callable[[], Any]) -> list[str]:
    """The warnings of a run."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(warning.message) for warning in found]


BEYOND: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "a recursive solver": (solve, lambda: (np.array([[1, 0, 0, 0], [0, 0, 3, 0], [0, 4, 0, 0], [0, 0, 0, 2]]),)),
    "merge sort": (merge_sort, lambda: (np.linspace(0, 60, 64) % 7,)),
    "objects in a loop": (fall, lambda: (np.ones(30), np.arange(30.0), np.ones(30))),
    "recursion on a number": (fib, lambda: (16,)),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_grows_beyond_the_budget_runs_plainly(name: str, captures: list[Any]) -> None:
    function, arguments = BEYOND[name]
    compiled = weft.compile(function)

    def calls() -> None:
        for _ in range(5):
            assert_same(call(compiled, arguments()), call(function, arguments()))

    (warning,) = told(calls)
    assert re.search(r"ran as plain Python: capturing has recorded .* for \d+ lines", warning)
    assert len(captures) == 1
    assert sum(compiled.explain().plain.values()) == 5 and "capturing has recorded" in str(compiled.explain())
    assert "budget=None any number" in str(compiled.explain())
    assert compiled.cache_info() == (0, 0, 0)


def halved(values: Array) -> Any:
    return spread(values, 0)


def spread(values: Array, depth: int) -> Any:
    total = 0.0
    for v in values:
        if v > depth:
            total = total + v
    if depth < 8 and total > 1:
        return sum(spread(values - k, depth + 1) for k in range(3))
    return total


def test_a_script_that_grows_beyond_the_budget_is_refused() -> None:
    found = r"script: capturing has recorded .* operations for \d+ lines of code.*\n.*write a recursion as a loop"
    with pytest.raises(CaptureError, match=found):
        weft.script(halved)


def test_explain_tells_of_the_budget() -> None:
    found = weft.explain(fib, 16)
    assert not found.captured
    assert str(found).startswith("fib runs as plain Python: capturing has recorded 2,")
    assert "help: weft.compile(f, budget=10)" in str(found)


@pytest.mark.parametrize("budget", [None, 100.0])
def test_the_budget_can_be_raised_and_lifted(budget: float | None) -> None:
    compiled = weft.compile(budget=budget)(fib)
    assert compiled(14) == fib(14)
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("budget", [0, -1, "much"])
def test_budgets_that_are_none(budget: Any) -> None:
    with pytest.raises(ValueError, match="budget is a number above 0 or None"):
        weft.compile(fib, budget=budget)


def test_a_program_of_many_lines_may_record_as_much_for_each() -> None:
    lines = [f"    x = x * {k % 7 + 1}.0 - x / {k + 2}.0 + {k}.0\n" for k in range(1500)]
    space: dict[str, Any] = {}
    source = "".join(["def long(x):\n", *lines, "    return x\n"])
    linecache.cache["/long.py"] = (len(source), None, source.splitlines(True), "/long.py")
    exec(compile(source, "/long.py", "exec"), space)
    compiled = weft.compile(space["long"])
    assert_same(call(compiled, (np.ones(2),)), call(space["long"], (np.ones(2),)))
    assert compiled.cache_info().misses == 1


def added(x: Array) -> Any:
    return x + 1


def missed(x: Array, name: str) -> Any:
    return x + {"one": 1.0, "two": 2.0}[name]


def test_a_refusal_is_remembered(captures: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(function: Any, *args: Any, **how: Any) -> Any:
        captures.append(function)
        raise RuntimeError(f"{object()!r} is in the way")

    monkeypatch.setattr(_compile, "capture", broken)
    compiled = weft.compile(added)
    assert told(lambda: compiled(np.zeros(3))) == [
        "added was not captured and ran as plain Python: RuntimeError: <object object at 0x…> is in the way"
    ]
    ways = len(captures)  # with sizes open, with sizes fixed, …: those of one call
    for size in (3, 4, 5, 6):
        np.testing.assert_array_equal(compiled(np.zeros(size)), np.ones(size))
    assert len(captures) == ways
    assert told(lambda: compiled(np.zeros((2, 2)))) == []  # another kind of call
    assert len(captures) == 2 * ways
    assert "RuntimeError: <object object at 0x…> is in the way" in str(compiled.explain())


def test_an_exception_of_the_programs_own_is_no_refusal() -> None:
    compiled = weft.compile(missed)
    for name in ("three", "four"):
        with pytest.raises(KeyError, match=name):
            compiled(np.ones(2), name)
    np.testing.assert_array_equal(compiled(np.ones(2), "one"), [2.0, 2.0])
    np.testing.assert_array_equal(compiled(np.ones(2), "two"), [3.0, 3.0])
    assert compiled.cache_info().misses == 2


def test_graph_after_graph_ends() -> None:
    compiled = weft.compile(lambda x, name: x + len(name))
    (warning,) = told(lambda: [compiled(1.0, "a" * k) for k in range(70)])
    assert "it was captured 64 times already, each for other arguments" in warning
    assert [compiled(1.0, "a" * k) for k in range(60, 75)] == list(range(61, 76))
    assert compiled.cache_info().misses == 64
    assert len(compiled._runs) == 4  # of those that came again; the others are not tried in vain by each call
    limited = weft.compile(lambda x, name: x + len(name), budget=1 / 16)
    assert len(told(lambda: [limited(1.0, "a" * k) for k in range(7)])) == 1
    assert limited.cache_info().misses == 4


def in_order(numbers: list[float]) -> list[float]:
    if len(numbers) < 2:
        return numbers
    middle = len(numbers) // 2
    low, high, found = in_order(numbers[:middle]), in_order(numbers[middle:]), []
    i = j = 0
    while i < len(low) and j < len(high):
        if low[i] <= high[j]:
            found.append(low[i])
            i += 1
        else:
            found.append(high[j])
            j += 1
    return found + low[i:] + high[j:]


def test_graphs_for_numbers_that_do_not_come_again_end() -> None:
    compiled = weft.compile(in_order)
    lists = [[math.cos(j + k) for j in range(6)] for k in range(20)]
    (warning,) = told(lambda: [compiled(numbers) for numbers in lists])
    assert "captured 16 times already, each for other arguments, the last of them for numbers that did not" in warning
    assert compiled.cache_info().misses == 16
    assert [compiled(numbers) for numbers in lists] == [sorted(numbers) for numbers in lists]
    again = weft.compile(in_order)
    assert told(lambda: [again(numbers) for numbers in lists for _ in range(2)]) == []
    assert again.cache_info().misses == 20
    wanted = weft.compile(in_order, dynamic=False)
    assert told(lambda: [wanted(numbers) for numbers in lists]) == []


def pushed(room: Any, used: Any, seen: Any, at: int, sink: int, flow: int) -> int:
    """How much more goes through a network from one place to another, by the first way that has room."""
    if at == sink:
        return flow
    seen[at] = True
    for to in range(len(room)):
        if not seen[to] and used[at][to] < room[at][to]:
            got = pushed(room, used, seen, to, sink, min(flow, room[at][to] - used[at][to]))
            if got:
                used[at][to] += got
                used[to][at] -= got
                return got
    return 0


def through(room: Any, source: int, sink: int) -> int:
    used = [[0] * len(room) for _ in room]
    total = 0
    while True:
        got = pushed(room, used, [False for _ in room], source, sink, 1 << 40)
        if not got:
            return total
        total += got


def test_the_least_of_many_numbers_is_not_reasoned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would be compared with each other, more of them from call to call within a call."""
    compared = []
    extreme = Sizes.extreme

    def counted(sizes: Any, function: Any, *values: Any) -> Any:
        compared.append(sum(value.weight for value in values if isinstance(value, Dim)))
        return extreme(sizes, function, *values)

    monkeypatch.setattr(Sizes, "extreme", counted)
    room = [[0, 10, 10, 0], [0, 0, 2, 8], [0, 0, 0, 9], [0, 0, 0, 0]]
    compiled = weft.compile(through, budget=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(room, 0, 3) == 17
    assert len(compared) > 10
    assert max(compared) <= REASONED


class Counter:
    def __init__(self) -> None:
        self.total = 0.0

    def add(self, x: float) -> float:
        self.total += x
        return self.total


def test_objects_that_come_once_are_not_captured_for() -> None:
    """Each needs a graph of its own, which nothing gains by: the next one is captured for when it comes again."""
    compiled = weft.compile(lambda counter, x: counter.add(x))
    assert told(lambda: [compiled(Counter(), 2.0) for _ in range(30)]) == []
    assert compiled.cache_info().misses == 7
    assert "the next is captured when it is given a second time" in str(compiled.explain())
    again = Counter()
    assert [compiled(again, 1.5) for _ in range(5)] == [1.5, 3.0, 4.5, 6.0, 7.5]
    assert compiled.cache_info().misses - 7 in (1, 2)  # its first number is one of Python's
    many = [Counter() for _ in range(12)]
    for turn in range(1, 4):
        assert [compiled(counter, 1.0) for counter in many] == [turn] * 12
    misses = compiled.cache_info().misses
    assert [compiled(counter, 1.0) for counter in many] == [4.0] * 12
    assert compiled.cache_info().misses == misses
    free = weft.compile(lambda counter, x: counter.add(x), budget=None)
    assert [free(Counter(), 2.0) for _ in range(10)] == [2.0] * 10
    assert free.cache_info().misses == 10


def test_functions_that_come_once_are_not_captured_for() -> None:
    compiled = weft.compile(lambda f, x: f(f(x)))
    assert [compiled(lambda x, k=k: x + k, 1.0) for k in range(30)] == [1.0 + 2 * k for k in range(30)]
    assert compiled.cache_info().misses == 7


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(_budget.time, "perf_counter", lambda: self.now)

    def taking(self, seconds: float, run: Callable[..., Any]) -> Callable[..., Any]:
        def taken(*values: Any) -> Any:
            self.now += seconds
            return run(*values)

        return taken


SPEEDS = [(0.01, 0.001, True), (0.01, 0.008, False), (1e-5, 1e-6, False)]


@pytest.mark.parametrize(("graph", "plain", "slow"), SPEEDS)
def test_a_graph_that_is_slower_gives_way(
    graph: float, plain: float, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three calls of the graph are timed and then one of the function, unless the graph is quick in any case."""
    clock, found = Clock(monkeypatch), []
    runs = clock.taking(graph, lambda *values: "graph"), clock.taking(plain, lambda values: "plain")
    trial = Trial(runs[0], object(), lambda values: True, runs[1], lambda why, values: found.append(why))
    results = []
    while not found:
        results.append(trial(1))
    assert results == (["graph"] * 3 + ["plain"] if graph > 1e-4 else ["graph"])
    assert len(found) == 1
    assert ("takes 10 times as long as the plain call" in str(found[0])) is slow


def test_a_compiled_function_that_is_slower_runs_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Array) -> Any:
        return x.sum() + 1

    clock = Clock(monkeypatch)  # it stands still while the function itself runs
    made = _compile.Entry.__init__

    def dragging(entry: Any, *args: Any) -> None:
        made(entry, *args)
        entry.run = clock.taking(0.01, entry.run)

    monkeypatch.setattr(_compile.Entry, "__init__", dragging)
    compiled = weft.compile(program)
    (warning,) = told(lambda: [compiled(np.ones(3)) for _ in range(6)])
    assert warning.startswith("program runs as plain Python: the graph takes")
    assert compiled(np.ones(3)) == 4
    assert " ran as plain Python: the graph takes" in str(compiled.explain())


def grown(x: Array, n: int) -> Array:
    return x * n if n < 2 else grown(x, n - 1) + grown(x, n - 2)


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x: weft.grad(f)(x),
    "value_and_grad": lambda f, x: weft.value_and_grad(f)(x),
    "jvp": lambda f, x: weft.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: weft.vjp(f, x),
    "linearize": lambda f, x: weft.linearize(f, x),
    "jacrev": lambda f, x: weft.jacrev(f)(x),
    "jacfwd": lambda f, x: weft.jacfwd(f)(x),
    "vmap": lambda f, x: weft.vmap(f)(np.stack([x, x])),
    "hessian": lambda f, x: weft.hessian(f)(x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_derivative_that_grows_out_of_proportion_is_refused(name: str) -> None:
    what = rf"(?s)(?:{name}|jacfwd) of program: capturing has recorded 2\d,\d+ operations .*budget=None\) any number"
    with pytest.raises(weft.errors.CaptureError, match=what):
        DERIVATIVES[name](program, np.ones(2))


def program(x: Array) -> Any:
    return np.sum(grown(x, 25))


def test_what_a_derivative_may_record_is_that_of_its_function() -> None:
    def smaller(x: Array) -> Any:
        return np.sum(grown(x, 11))

    x = np.ones(2)
    np.testing.assert_array_equal(weft.grad(smaller)(x), [89.0, 89.0])
    less = weft.compile(smaller, budget=0.01)
    for derivative in (weft.grad(less), weft.grad(weft.grad(less)), lambda x: weft.jvp(less, (x,), (x,))):
        with pytest.raises(weft.errors.CaptureError, match="capturing has recorded"):
            derivative(x)
    np.testing.assert_array_equal(weft.grad(weft.compile(smaller, budget=None))(x), [89.0, 89.0])


class Branching:
    """A part of a tree that splits what it is given, where there is enough of it."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.at: Any = 0
        self.value: Any = None
        self.left: Any = None
        self.right: Any = None

    def error(self, y: Array) -> Any:
        if y.ndim != 1:
            raise ValueError("one dimension is wanted")
        return np.mean((y - np.mean(y)) ** 2)

    def grow(self, x: Array) -> None:
        if x.ndim != 1:
            raise ValueError("one dimension is wanted")
        if len(x) < 6:
            self.value = np.mean(x)
            return
        if self.depth == 1:
            self.value = np.mean(x)
            return
        place = 0
        least = self.error(x) * 2
        for k in range(len(x)):
            if len(x[:k]) < 3 or len(x[k:]) < 3:
                continue
            before = self.error(x[:k])
            after = self.error(x[k:])
            error = before + after
            if error < least:
                place = k
                least = error
        if place != 0:
            self.at, self.left, self.right = x[place], Branching(self.depth - 1), Branching(self.depth - 1)
            self.left.grow(x[:place])
            self.right.grow(x[place:])
        else:
            self.value = np.mean(x)

    def ask(self, t: Any) -> Any:
        if self.value is not None:
            return self.value
        if self.left or self.right is not None:
            if t >= self.at:
                return self.right.ask(t)
            return self.left.ask(t)
        print("there is nothing to ask")
        return None


def asked_tree(x: Array, places: Array) -> Array:
    tree = Branching(4)
    tree.grow(x)
    return np.array([tree.ask(t) for t in places])


def test_objects_that_may_hold_more_and_more_of_their_kind() -> None:
    x, places = np.linspace(-1, 1, 20), np.array([-0.7, 0.1, 0.5])
    compiled = weft.compile(asked_tree)
    with pytest.warns(UserWarning, match="asked_tree was not captured and ran as plain Python"):
        np.testing.assert_array_equal(compiled(x, places), asked_tree(x, places))


@pytest.mark.parametrize(("times", "misses"), [(0.0, 3), (math.inf, 16)])
def test_captures_in_vain_that_take_far_longer_than_plain_calls_end_sooner(
    times: float, misses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_budget, "_COST", 0.0)
    monkeypatch.setattr(_budget, "_TIMES_PLAIN", times)
    clock, spent = iter(range(1000)), lambda: float(next(clock))  # whatever is timed takes a second
    monkeypatch.setattr(_compile.time, "thread_time", spent)
    compiled = weft.compile(in_order)
    lists = [[math.cos(j + k) for j in range(6)] for k in range(25)]
    (warning,) = told(lambda: [compiled(numbers) for numbers in lists])
    assert f"it was captured {misses} times already, each for other arguments, the last of them for n" in warning
    assert compiled.cache_info().misses == misses
    assert [compiled(numbers) for numbers in lists] == [sorted(numbers) for numbers in lists]
