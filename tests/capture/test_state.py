"""Objects from outside that a compiled program changes are, after each call, what the plain call leaves."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import stateful
from seen_state import outcome, seen

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", stateful.CASES)
def test_classes_with_state(name: str) -> None:
    """Two objects, one after the other, are given to the same compiled functions."""
    cls, given, calls = stateful.CASES[name]
    compiled = {method: weft.compile(getattr(cls, method)) for method, *_ in calls}
    for _ in range(2):
        held, plain = cls(*given), cls(*given)
        for method, *args in calls:
            got = outcome(compiled[method], held, *args)
            expected = outcome(getattr(cls, method), plain, *copy.deepcopy(args))
            assert seen((got, held)) == seen((expected, plain)), method


@pytest.mark.parametrize("name", ["Kalman", "Welford", "Life", "Heat", "MovingAverage", "Integrator", "Lcg", "RNNCell"])
def test_what_an_object_holds_needs_no_new_graph(name: str) -> None:
    cls, given, calls = stateful.CASES[name]
    held = cls(*given)
    compiled = {method: weft.compile(getattr(held, method)) for method, *_ in calls}
    for _ in range(2):
        for method, *args in calls:
            compiled[method](*args)
    assert [function.cache_info().misses for function in compiled.values()] == [1] * len(compiled)


@dataclasses.dataclass(frozen=True)
class F:
    """Cannot be changed, only be made anew."""

    x: float = 1.0
    y: float = 2.0


class Thing:
    """Holds whatever a test gives it."""

    shared = 3
    count = 0

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    def bump(self, by: Any = 1) -> Any:
        self.n += by
        return self.n

    @functools.cached_property
    def cached(self) -> Any:
        return self.n * 2

    @classmethod
    def made(cls) -> int:
        cls.count += 1
        return cls.count


def compare(program: Any, times: int = 3, **held: Any) -> Any:
    """Call a program of an object and X some times, compiled and plainly; the compiled function."""
    compiled = weft.compile(program)
    mine, plain = Thing(**copy.deepcopy(held)), Thing(**copy.deepcopy(held))
    for _ in range(times):
        x, y = X.copy(), X.copy()
        got, expected = outcome(compiled, mine, x), outcome(program, plain, y)
        assert seen((got, x, mine)) == seen((expected, y, plain))
    return compiled


PROGRAMS: dict[str, Any] = {}
HELD: dict[str, Any] = {}


def program(**held: Any) -> Any:
    def add(function: Any) -> Any:
        PROGRAMS[function.__name__], HELD[function.__name__] = function, held
        return function

    return add


@program(a=np.arange(3.0))
def writes_in_place(o, x):
    o.a += x
    return o.a


@program(a=np.arange(3.0))
def writes_anew(o, x):
    before = o.a
    o.a = o.a + x
    return before is o.a, before


@program(a=np.arange(3.0))
def holds_it_twice(o, x):
    o.a = o.b = o.a * 2
    o.b[0] = 7.0
    return o.a.sum()


@program(a=None)
def keeps_the_argument(o, x):
    o.a = x
    x[0] = 5.0
    return o.a[0]


@program(a=np.arange(3.0))
def keeps_a_view(o, x):
    o.tail = o.a[1:]
    o.a[2] = 9.0
    return o.tail


@program(a=0)
def gives_back_what_it_keeps(o, x):
    o.a = x * 2
    return o.a


@program(a=0)
def keeps_what_is_written_later(o, x):
    o.a = np.zeros(3)
    for i in range(3):
        o.a[i] = x[i] * 2
    return o.a.sum()


@program(a=1.0, n=0)
def in_a_branch(o, x):
    if x.sum() > o.a:
        o.a = o.a * 2
        o.n += 1
    else:
        o.a = 0.5
    return o.n


@program(a=np.zeros(3), n=0)
def in_a_loop(o, x):
    for v in x:
        o.a = o.a + v
        o.n += 1
    return o.a


@program(a=np.zeros(3))
def written_and_bound_in_a_loop(o, x):
    for v in x:
        o.a = o.a * v
        o.a[0] = v
    o.a[1] = 4.0
    return o.a[2]


@program()
def a_new_attribute(o, x):
    o.fresh = float(x.sum())
    return o.fresh


@program()
def a_new_attribute_in_a_branch(o, x):
    if x.sum() > 3:
        o.fresh = 1.0
    return x


@program(a=1.0)
def comes_and_goes(o, x):
    del o.a
    o.b = 2
    del o.b
    o.a = x.sum()
    return o.a


@program()
def of_the_class(o, x):
    o.shared += 1
    return o.shared


@program(n=1)
def by_name(o, x):
    for name in ("p", "q"):
        setattr(o, name, getattr(o, name, 0) + o.n)
    vars(o)["r"] = o.p
    o.__dict__.update(s=o.q, n=o.n + 1)
    object.__setattr__(o, "t", hasattr(o, "u"))
    return vars(o)["n"]


@program(a=1.0, b=2.0)
def exchanges(o, x):
    o.a, o.b = o.b, o.a + 1
    return o.a


@program(n=0)
def before_an_exception(o, x):
    o.n += 1
    if o.n == 2:
        raise ValueError("two")
    o.m = o.n
    return o.m


@program(n=0)
def before_an_index_error(o, x):
    o.n += 1
    v = x[o.n]
    o.last = v
    return v


@program(a=None)
def writes_before_an_exception_in_a_loop(o, x):
    for i in range(int(x[0] > 100) + 9):
        o.a = x + i
        o.a[0] = 7.0
        v = o.a[1:]
        v[0] = x[i]
        o.a[2] = i


@program(a=None)
def writes_before_an_exception_in_a_branch(o, x):
    if x[0] < 100:
        o.a = np.zeros(3)
        o.a[0] = 3.0
        for i in range(9):
            o.a[i] = 5.0
        o.a[1] = 4.0


@program(a=None, n=0)
def writes_before_an_exception_in_a_while(o, x):
    i = 0
    while True:
        a = x * i
        o.a = a
        a[1] = 5.0
        for _ in range(2):
            o.n += 1
            o.a[0] += 1
        if x[i] > 100:
            break
        a[2] = 6.0
        i += 1


@program(n=0, found=[], last=None)
def breaks_out_of_a_while(o, x):
    i = 0
    while True:
        o.n += 1
        o.found.append(x[i])
        if x[i] > 1.5 and o.n > 1:
            break
        o.last = x[i]
        i += 1
    return o.n


@program(n=0)
def returns_out_of_a_while(o, x):
    while True:
        o.n += 1
        if o.n * x[1] > 5:
            return o.n


@program(n=0, limit=1.5)
def before_a_traced_exception(o, x):
    o.n += 1
    if x.sum() + o.n > 7 + o.limit:
        raise ValueError("too much")
    o.n += 1
    return o.n


@program(items=[], n=0)
def appends_before_an_exception(o, x):
    o.items.append(x[0])
    o.n = len(o.items)
    o.items.append(x[o.n + 1])


@program(items=[1.0], other=None)
def one_list_by_two_names(o, x):
    o.other = o.items
    o.other.append(2.0)
    return len(o.items)


@program(items=None)
def a_list_made_inside(o, x):
    found = []
    o.items = found
    found.append(x[0])
    o.items.append(x[1])
    return len(o.items)


@program(grid=None)
def containers_in_containers(o, x):
    o.grid = [[0.0, 0.0] for _ in range(2)]
    o.grid[0][1] = x[0]
    o.grid[1].append(x[1])
    o.table = {"a": [1]}
    o.table["a"].append(x[2])
    o.queue = collections.deque([1, 2], 2)
    o.queue.append(len(o.grid[1]))
    o.names = {"n"}
    o.names.add("m")
    return o.grid[0][1]


@program(rows=[[1.0], [2.0]], row=None)
def a_list_by_another_name(o, x):
    o.row = o.rows[1]
    o.row.append(x[0])
    return len(o.rows[1])


@program(table={}, names=set(), window=collections.deque(maxlen=2))
def all_kinds_of_containers(o, x):
    o.table[len(o.table)] = x.sum()
    o.names.add("a")
    o.window.append(x[0])
    o.window.append(len(o.window))
    return sum(o.table.values())


@program(rows=[[0.0, 1.0], [2.0, 3.0]])
def a_list_of_lists(o, x):
    for i in range(2):
        for j in range(2):
            o.rows[i][j] += x[i]
    return o.rows[1][1]


@program(inner=Thing(deep=Thing(a=np.ones(3), n=0)))
def attributes_of_attributes(o, x):
    o.inner.deep.a = o.inner.deep.a * x
    o.inner.deep.n += 1
    deep = o.inner.deep
    deep.a[0] = 2.0
    return deep.a


@program(parts=[Thing(v=1.0), Thing(v=2.0)])
def objects_in_a_list(o, x):
    for part in o.parts:
        part.v = part.v * 2
    return sum(part.v for part in o.parts)


@program(inner=None)
def an_object_made_inside(o, x):
    made = Thing(v=x.sum(), before=o.inner is None)
    o.inner = made
    o.inner.v += 1
    made.w = 2
    return made.v


@program(n=0)
def gives_the_object_back(o, x):
    o.n += 1
    return o


@program(text="", seen=())
def texts_and_tuples(o, x):
    o.text = o.text + "a"
    o.seen = (*o.seen, len(o.text))
    return len(o.seen)


@program(pair=(1.0, 2.0))
def a_tuple_of_numbers(o, x):
    a, b = o.pair
    o.pair = (b, a + b)
    return o.pair[0]


@program(flag=False, mode="slow")
def flags(o, x):
    o.flag = not o.flag
    o.mode = "fast" if o.mode == "slow" else "slow"
    return x if o.flag else -x


@program(a=np.zeros(3), i=0)
def an_integer_that_indexes(o, x):
    o.a[o.i] = x[o.i]
    o.i = (o.i + 1) % 3
    return o.a


@program(n=3)
def an_integer_that_sizes(o, x):
    o.n = o.n + 1
    return np.zeros(o.n)


@program(n=0)
def a_number_of_another_type(o, x):
    o.n = o.n + 0.5 if o.n else np.float32(1)
    return o.n


@program(items=[], a=np.ones(3))
def append_then_write(o, x):
    o.items.append(o.a)
    o.a += 1
    return len(o.items)


@program(items=[], a=np.ones(3))
def write_then_append(o, x):
    o.a += 1
    o.items.append(o.a)
    return len(o.items)


@program(items=[])
def arg_append(o, x):
    o.items.append(x)
    x[0] = 7.0
    return x


@program(n=1.0)
def cachedprop(o, x):
    o.n += 1.0
    return o.cached * x


@program(n=0)
def listcomp(o, x):
    return [o.bump() for _ in range(3)]


@program(n=0)
def mapped(o, x):
    return list(map(o.bump, [1, 2]))


@program(n=0)
def genloop(o, x):
    return [o.bump(v) for v in x]


@program(n=0)
def andor(o, x):
    x.sum() > 4 and o.bump()
    x.sum() > 400 or o.bump(10)
    return o.n


@program(n=0)
def condexpr(o, x):
    return o.bump() if x[0] > 0 else o.bump(5)


@program(n=0)
def returns_in_loop(o, x):
    for i in range(len(x)):
        o.n += 1
        if x[i] > 1.5:
            return o.n
    return -1


@program(n=0)
def tryfinally(o, x):
    try:
        o.n += 1
        return x * 2
    finally:
        o.n += 10


@program(n=0)
def tryexcept(o, x):
    try:
        o.n += 1
        raise ValueError
    except ValueError:
        o.n += 10
    return o.n


@program(a=np.ones(3))
def samearr(o, x):
    o.b = o.a
    o.a += x
    o.c = o.b
    return o.c.sum()


@program(n=0, table={})
def fmtkey(o, x):
    o.n += 1
    o.table[f"k{o.n}"] = o.n
    return len(o.table)


@program(seen=set(), i=0, j=0)
def tupleset(o, x):
    o.i += 1
    o.j = o.i % 2
    if (o.j, 0) in o.seen:
        return False
    o.seen.add((o.j, 0))
    return True


@program(s=F())
def frozen2(o, x):
    o.s = F(o.s.x + 1, o.s.y * 2)
    return o.s.x


@program(parts=[Thing(v=1.0), Thing(v=2.0)], cur=None)
def pick(o, x):
    o.cur = o.parts[1]
    o.cur.v += 1
    return o.parts[1].v, o.cur is o.parts[1]


@program(parts=[Thing(v=1.0), Thing(v=2.0)])
def swapobj(o, x):
    a, b = o.parts
    a.v, b.v = b.v, a.v + 1
    return a.v


@program(parts=[Thing(v=1.0), Thing(v=2.0)])
def grow_objs(o, x):
    o.parts.append(Thing(v=x.sum()))
    for q in o.parts:
        q.v += 1
    return sum(q.v for q in o.parts)


@program(h=np.zeros((4, 3)), i=0, x=np.ones(3))
def rows(o, x):
    o.x = o.x + x
    o.h[o.i] = o.x
    o.i += 1
    return o.h


@program(n=1)
def ranged(o, x):
    t = 0.0
    for k in range(o.n):
        t += x[k % 3]
    o.n += 1
    return t


@program(n=0)
def nested(o, x):
    def go(k):
        o.n += k
        return o.n

    return go(1) + go(2)


@program(n=0, kids=[])
def inner_made(o, x):
    t = Thing(n=1)
    t.bump()
    t.bump(o.n)
    o.n = t.n
    return t.n


@program(tree=Thing(v=1, l=Thing(v=2, l=None, r=None), r=Thing(v=3, l=None, r=None)))
def recurse(o, x):
    def go(t):
        if t is None:
            return 0
        t.v += 1
        return t.v + go(t.l) + go(t.r)

    return go(o.tree)


@program(q=[3, 1, 2])
def sorts(o, x):
    o.q.sort()
    o.q.reverse()
    o.q.insert(0, len(o.q))
    o.q.extend([1, 2])
    del o.q[0]
    o.q.remove(1)
    return o.q[0], o.q.index(2)


@program(q=[3.0, 1.0])
def slices(o, x):
    o.q[0:1] = [1.0, 2.0]
    o.q += [x[0]]
    o.q *= 1
    return o.q[-1]


@program(q=[3.0, 1.0])
def rebound_list(o, x):
    o.q = o.q + [x[0]]  # noqa: RUF005  # what is tested
    o.q = [v * 2 for v in o.q]
    return len(o.q)


@program(q=[3.0, 1.0])
def enum_list(o, x):
    t = 0
    for i, v in enumerate(o.q):
        o.q[i] = v + 1
        t += v
    return t


@program(d={"a": 1.0})
def dicts(o, x):
    o.d["a"] += x[0]
    o.d["b"] = o.d.get("b", 0) + 1
    for v in o.d.values():
        o.s = v
    for k in list(o.d):
        o.d[k] = o.d[k] + 1
    return sorted(o.d), "a" in o.d, o.d.pop("zz", None)


@program(d={"w": np.ones(3)})
def dict_arrays(o, x):
    o.d["w"] += x
    o.d["v"] = o.d["w"] * 2
    return o.d["v"]


@program(a=np.zeros(3))
def view_write(o, x):
    v = o.a[1:]
    v += x[1:]
    o.v = v
    v[0] = 5
    return o.a


@program(a=np.zeros(3))
def made_view(o, x):
    b = x * 2
    o.v = b[1:]
    return o.v


@program(a=np.zeros(3))
def made_base_and_view(o, x):
    o.b = x * 2
    o.v = o.b[1:]
    o.b[2] = 50.0
    return o.v


@program(a=np.zeros(3))
def equal_things(o, x):
    o.p = np.zeros(3)
    o.q = np.zeros(3)
    o.r = x * 1
    o.s = x * 1
    o.t = x + 0
    return o.p


@program(a=np.ones(3))
def copies(o, x):
    old = o.a.copy()
    o.old = old
    o.a[0] = x[0] * 5
    old2 = o.a.copy()
    o.a[1] = 9.0
    o.old2 = old2
    return old


@program(a=np.ones(3))
def functional(o, x):
    o.b = o.a * 2
    y = weft.index_update(o.b, 0, 77.0)
    o.c = y
    return y


@program(a=np.zeros(4))
def loop_exc(o, x):
    o.b = np.zeros(4)
    for i in range(4):
        o.b[i] = x[i]
    return o.b


@program(n=0)
def loop_exc2(o, x):
    for i in range(4):
        o.n += 1
        o.v = x[i]
    return o.n


@program(n=0, items=[])
def loop_exc3(o, x):
    for i in range(4):
        o.items.append(x[i])
        o.n += 1
    return o.n


@program(st=None)
def init_later(o, x):
    if o.st is None:
        o.st = np.zeros(3)
    o.st += x
    return o.st.sum()


@program(z=None)
def tuple_state(o, x):
    if o.z is None:
        o.z = (0.0, np.zeros(3))
    t, a = o.z
    o.z = (t + 1, a + x)
    return o.z[1]


@program(a=[np.zeros(3), np.ones(3)])
def list_of_arrays(o, x):
    for k in range(2):
        o.a[k] = o.a[k] + x
    o.a[0] += 1
    return o.a[1]


@program(a=[np.zeros(3), np.ones(3)])
def list_of_arrays_inplace(o, x):
    for w in o.a:
        w += x
    return o.a[1]


@program(m=np.zeros((2, 2)))
def elem(o, x):
    o.m[0, 1] += x[0]
    o.m[1] = o.m[0] * 2
    o.m = o.m.T
    return o.m


@program(c=1 + 2j, b=True, s="x", f=np.float32(2))
def kinds(o, x):
    o.c = o.c * 2
    o.b = not o.b
    o.s = o.s + "y"
    o.f = o.f * np.float32(1.5)
    return o.c


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_change_an_object(name: str) -> None:
    compare(PROGRAMS[name], **HELD[name])


def test_objects_of_modules_and_variables() -> None:
    held: dict[str, Any] = {}

    def make() -> Any:
        total, kept = 0.0, []

        def step(x: Any) -> Any:
            nonlocal total
            total += x.sum()
            kept.append(total)
            held["last"] = x
            return total, len(kept)

        return step, kept

    (step, kept), (plain, plain_kept) = make(), make()
    compiled = weft.compile(step)
    for k in range(4):
        assert compiled(X + k) == plain(X + k)
        assert kept == plain_kept
    assert compiled.cache_info().misses == 2  # after the first call the total is one of NumPy's


def test_a_list_given_as_an_argument() -> None:
    def fills(items: list[Any], more: dict[str, Any], x: Any) -> int:
        items.append(x.max())
        items[0] = len(items)
        more["items"] = items
        return len(items)

    compiled = weft.compile(fills)
    mine: list[Any] = [1]
    plain: list[Any] = [1]
    for _ in range(3):
        a, b = {}, {}  # type: ignore[var-annotated]  # they are filled
        assert compiled(mine, a, X) == fills(plain, b, X)
        assert mine == plain
        assert a["items"] is mine
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize(
    "front_end", [lambda f: weft.trace(f, X), lambda f: weft.grad(f)(X), lambda f: weft.vmap(f)(np.ones((2, 3)))]
)
def test_other_front_ends_refuse(front_end: Any) -> None:
    thing = Thing(n=1.0)

    def program(x: Any) -> Any:
        thing.n = thing.n + x.sum()
        return thing.n

    with pytest.raises(CaptureError, match=r"\.n (= … changes|of a Thing is assigned in a function that is diff)"):
        front_end(program)
    assert thing.n == 1.0


def by_getattr(o, x):
    return getattr(o, "n") * x  # noqa: B009  # what is tested


def by_default(o, x):
    return getattr(o, "m", 5.0) * x


def by_hasattr(o, x):
    return x if hasattr(o, "m") else -x


def by_vars(o, x):
    return vars(o)["n"] * x


def by_dict(o, x):
    return o.__dict__.get("m", 1.0) * x


@pytest.mark.parametrize("read", [by_getattr, by_default, by_hasattr, by_vars, by_dict])
def test_attributes_read_by_name_are_read_at_each_call(read: Any) -> None:
    thing, compiled = Thing(n=2.0), weft.compile(read)
    np.testing.assert_array_equal(compiled(thing, X), read(thing, X))
    thing.n, thing.m = 7.0, 11.0
    np.testing.assert_array_equal(compiled(thing, X), read(thing, X))
    del thing.m
    np.testing.assert_array_equal(compiled(thing, X), read(thing, X))


def test_what_changes_between_calls() -> None:
    def doubles(o: Any, x: Any) -> Any:
        o.a = o.a * 2
        o.b += x
        return o.a.sum()

    def share(o: Any) -> None:
        o.b = o.a

    def part(o: Any) -> None:
        o.b = o.a[:]

    def bind(o: Any) -> None:
        o.a = np.arange(3, dtype=np.float32)

    def grow(o: Any) -> None:
        o.a = np.ones((2, 3))

    held, plain = (Thing(a=np.ones(3), b=np.zeros(3)) for _ in range(2))
    compiled = weft.compile(doubles)
    for change in (share, bind, part, grow, bind):
        assert seen((compiled(held, X), held)) == seen((doubles(plain, X), plain))
        change(held)
        change(plain)


def test_counts_of_a_class() -> None:
    before = Thing.count
    compiled = weft.compile(lambda x: Thing.made() * x)
    for k in range(1, 4):
        np.testing.assert_array_equal(compiled(X), (before + k) * X)
        assert Thing.count == before + k
    assert compiled.cache_info().misses == 1


def test_an_array_that_a_container_outside_holds_is_not_written_later() -> None:
    def keeps(o: Any, x: Any) -> Any:
        doubled = x * 2
        o.items.append(doubled)
        doubled[0] = 9.0
        return doubled

    thing = Thing(items=[])
    with pytest.raises(CaptureError, match="a write to doubled, which an object from outside holds"):
        weft.compile(keeps)(thing, X)
    assert thing.items == []


def test_one_container_by_two_names() -> None:
    def counts(a: Any, b: Any, x: Any) -> int:
        a.append(x[0])
        return len(b)

    def rows(o: Any, x: Any) -> int:
        o.rows[0].append(x[0])
        return len(o.first)

    compiled = weft.compile(counts)
    mine, other = [1.0], [2.0]
    assert [compiled(mine, other, X), compiled(mine, mine, X), compiled(other, mine, X)] == [1, 3, 3]
    compiled = weft.compile(rows)
    apart, shared = Thing(rows=[[1.0]], first=[1.0]), Thing(rows=[[1.0]])
    shared.first = shared.rows[0]
    assert [compiled(apart, X), compiled(apart, X)] == [1, 1]
    assert [compiled(shared, X), compiled(shared, X)] == [2, 3]
    apart.first = apart.rows[0]
    assert compiled(apart, X) == 4


RATES = {"a": 1.0, "b": 2.0}


def test_a_generator_beside_a_dict_from_outside() -> None:
    """What the graph takes whole and is no container has no parts that others could share."""

    def drawn(generator: Any, x: Any) -> Any:
        total = 0.0
        for name in RATES:
            total += RATES[name]
        return x * total + generator.uniform(0, 1, size=3)

    compiled = weft.compile(drawn)
    given = [np.random.RandomState(4), np.random.RandomState(4)]
    for k in range(3):
        x = np.arange(3.0) + k
        found, expected = (f(g, x) for f, g in zip((compiled, drawn), given, strict=True))
        np.testing.assert_array_equal(found, expected)


def the_first_kept(o: Any, x: Any) -> Any:
    kept, other = Thing(n=x[0], size=2), Thing(n=x[1], size=3)
    if x.sum() > 0:
        o.kept, o.other = kept, other
    else:
        o.kept = other
    kept.n, o.kept.size = 10, 20
    kept.bump()
    o.kept.bump(5)
    return kept.n, kept.size, other.n, o.kept is kept


def kept_in_another(o: Any, x: Any) -> Any:
    inner = Thing(n=x[0])
    outer = Thing(inner=inner, n=1)
    if x.sum() > 0:
        o.kept = outer
    inner.n, outer.inner.more = 10, 4
    if x[1] > 0:
        o.other = inner
        inner.bump(30)
    return outer.inner.n, inner.more, o.other is inner, outer.inner is inner


def the_last_kept_in_a_loop(o: Any, x: Any) -> Any:
    best, seen_last = Thing(n=-1.0), Thing(n=0)
    for v in x:
        if v > best.n:
            best = Thing(n=v)
            o.kept = best
        o.other = seen_last
        seen_last.n += v
    return best.n, seen_last.n, o.kept is best


def kept_before_it_raises(o: Any, x: Any) -> Any:
    made = Thing(n=x[0], size=x)
    if x.sum() > 0:
        o.kept = made
        raise ValueError("kept")
    made.size = 4
    return made.n, made.size


def changed_before_it_is_kept(o: Any, x: Any) -> Any:
    made = Thing(n=x[0])
    if x.sum() > 0:
        made.n = 5
        o.kept = made
        made.bump()
    made.bump()
    return made.n


KEPT = [the_first_kept, kept_in_another, the_last_kept_in_a_loop, kept_before_it_raises]


@pytest.mark.parametrize("program", KEPT)
def test_what_a_branch_gives_away_was_made_before_it(program: Any) -> None:
    compiled = weft.compile(program)
    held, plain = Thing(kept=None, other=None), Thing(kept=None, other=None)
    for x in (X, -X, np.array([-4.0, 1.0, 1.0]), np.array([4.0, -1.0, -1.0]), X):
        if program is not kept_in_another:
            held, plain = Thing(kept=None, other=None), Thing(kept=None, other=None)
        got, expected = outcome(compiled, held, x.copy()), outcome(program, plain, x.copy())
        assert seen((got, held)) == seen((expected, plain))
    assert not compiled._ran_plainly


def test_what_a_branch_has_changed_before_it_gives_it_away_is_refused_after_it() -> None:
    with pytest.raises(CaptureError, match="a Thing made before a branch or loop is changed and given away in it"):
        weft.compile(changed_before_it_is_kept)(Thing(kept=None), X)


@dataclasses.dataclass
class Entry:
    name: str
    weight: Any = 1.0


def dataclasses_in_containers(o: Any, x: Any) -> Any:
    o.kept = Thing(entries={"a": [Entry("one", x[0])], "b": []})
    entry = o.kept.entries["a"][0]
    return entry.weight, entry.name, len(o.kept.entries["b"])


def test_containers_that_hold_dataclasses_are_given_away() -> None:
    compiled = weft.compile(dataclasses_in_containers)
    for x in (X, -X):
        held, plain = Thing(kept=None), Thing(kept=None)
        assert seen((compiled(held, x), held)) == seen((dataclasses_in_containers(plain, x), plain))
    assert not compiled._ran_plainly
