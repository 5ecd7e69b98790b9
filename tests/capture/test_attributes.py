"""Attributes of traced values: those of what the value stands for, and none that the capture keeps on it."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from seen_state import seen

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError


def names_of_ours(thing):
    return thing.name, thing.node, thing.example, thing.owner, thing.recorder, thing.keep


def names_within(thing):
    inner = thing.inner
    return inner.name, inner.owner, inner.kept, inner.attribute, thing.inner.name


def dtype_name(x):
    return x.dtype.name, x.dtype.kind


def class_name(x):
    return x.__class__.__name__, x.__class__ is np.ndarray, type(x).__name__, x.sum().__class__.__name__


def no_path(x):
    return x.path


def no_kind(x):
    return x.sum().kind


def no_dim(x):
    return len(x).dim


def no_recorder(x):
    try:
        return x.recorder
    except AttributeError:
        return x + 1


THING = SimpleNamespace(name="a", node=1, example=2, owner=3, recorder=4, keep=5)
PROGRAMS = [
    (names_of_ours, THING),
    (names_within, SimpleNamespace(inner=SimpleNamespace(name="b", owner=1, kept=2, attribute=3))),
    *((program, np.ones(3)) for program in (dtype_name, class_name, no_path, no_kind, no_dim, no_recorder)),
]


@pytest.mark.parametrize(("program", "given"), PROGRAMS)
def test_compiled(program: Callable[..., Any], given: Any) -> None:
    assert_same(call(weft.compile(program), (given,)), call(program, (given,)))


@pytest.mark.parametrize(("program", "given"), [case for case in PROGRAMS if case[0] is not no_recorder])
def test_scripted(program: Callable[..., Any], given: Any) -> None:
    assert_same(call(weft.script(program), (given,)), call(program, (given,)))


class _Imported:
    """An attribute that is imported when it is asked for, as `six.moves` has them."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise ModuleNotFoundError("not on this machine")


class _Lazy(ModuleType):
    missing = _Imported()
    there = staticmethod(range)


LAZY = _Lazy("lazy")


def test_attributes_of_a_class_that_are_not_asked_for_stay_unread() -> None:
    def total(x: Any) -> Any:
        result = 0.0
        for i in LAZY.there(len(x)):
            result += x[i]
        return result

    assert weft.compile(total)(np.arange(4.0)) == 6.0
    assert weft.script(total)(np.arange(4.0)) == 6.0


class _Cached:
    """A value that is computed when it is read first, as libraries write it for themselves."""

    def __init__(self, function):
        self.function, self.name = function, function.__name__

    def __get__(self, owner, cls=None):
        if owner is None:
            return self
        if self.name not in owner.cache:
            owner.cache[self.name] = self.function(owner)
        return owner.cache[self.name]


class _Doubled:
    def __get__(self, owner, cls=None):
        return owner.x * 2


class _Kept:
    """Keeps what is assigned by another name, as floats; asked of the class it gives nothing, or raises."""

    def __init__(self, name, of_class):
        self.name, self.of_class = name, of_class

    def __get__(self, owner, cls):
        if owner is None and self.of_class is AttributeError:
            raise AttributeError(self.name)
        return getattr(owner, self.name, self.of_class)

    def __set__(self, owner, value):
        setattr(owner, self.name, np.asarray(value, dtype=float, order="F") + 1)

    def __delete__(self, owner):
        setattr(owner, self.name, np.zeros(1))


class _Readings:
    doubled = _Doubled()
    low, high, weight = _Kept("_low", None), _Kept("_high", AttributeError), _Kept("_weight", 3)

    def __init__(self, x):
        self.x, self.cache = x, {}

    @_Cached
    def squares(self):
        self.seen = 1
        return self.x**2

    @property
    def tripled(self):
        self.read = self.x
        return self.x * 3

    @property
    def lacking(self):
        raise AttributeError("lacking")


def cached_after_a_change(readings, y):
    readings.x = y
    return readings.squares, readings.doubled


def cached_of_its_own(readings, y):
    made = _Readings(y)
    return made.squares + made.doubled, made.cache["squares"], made.seen


def hidden_by_its_own(readings, y):
    readings.doubled = y
    return readings.doubled


def asked_for(readings, y):
    readings.x = y
    return hasattr(readings, "squares"), hasattr(readings, "tripled"), hasattr(readings, "lacking")


def asked_for_with_default(readings, y):
    readings.x = y
    return getattr(readings, "squares", y), getattr(readings, "tripled", y), getattr(readings, "lacking", y)


def kept_by_descriptors(readings, y):
    readings.low = readings.high = y
    readings.high += 1
    setattr(readings, "weight", y)  # noqa: B010  # as people write it
    if y.sum() > 3:
        readings.weight = y * 2
    del readings.low
    made = _Readings(y)
    made.high = y
    return readings.low, readings.high, getattr(readings, "weight"), made.high, hasattr(made, "low")  # noqa: B009


COMPUTED = (
    kept_by_descriptors,
    cached_after_a_change,
    cached_of_its_own,
    hidden_by_its_own,
    asked_for,
    asked_for_with_default,
)


@pytest.mark.parametrize("program", COMPUTED)
def test_what_descriptors_of_the_programs_compute(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for k in range(1, 4):
        readings, same = _Readings(np.ones(3)), _Readings(np.ones(3))
        assert seen(compiled(readings, np.arange(3.0) * k)) == seen(program(same, np.arange(3.0) * k))
        assert seen(readings) == seen(same)
    assert not compiled._ran_plainly


def test_what_compiled_descriptors_compute() -> None:
    cached: Any = import_module("pandas.util._decorators").cache_readonly

    class Table:
        def __init__(self, x: Any) -> None:
            self.x, self._cache = x, {}  # type: ignore[var-annotated]  # as pandas has it

        @cached
        def squares(self) -> Any:
            self.seen = 1
            return self.x**2

    def changed(table: Any, y: Any) -> Any:
        table.x = y
        return table.squares

    def read_after(table: Any, y: Any) -> Any:
        return table.squares, table.seen

    compiled = weft.compile(changed)
    for k in (1, 2):
        table, same = Table(np.ones(3)), Table(np.ones(3))
        assert seen(compiled(table, np.arange(3.0) * k)) == seen(changed(same, np.arange(3.0) * k))
        assert seen(table) == seen(same)
    assert not compiled._ran_plainly
    with pytest.raises(CaptureError, match=r"\.seen of a Table is read, which \.squares may change"):
        weft.compile(read_after)(Table(np.ones(3)), np.ones(3))


def chained_dict(owner, x):
    cache = owner.cache = {}
    cache["a"] = x * 2
    owner.count = len(cache)
    return cache["a"] + 1


def chained_set(owner, x):
    first = owner.known = second = set()
    second.add(1)
    first.add(2)
    return x + len(owner.known)


def chained_list(owner, x):
    owner.items = mixed = [x, "a", 3]
    mixed.append(5)
    owner.items.append(6)
    return len(mixed)


@pytest.mark.parametrize("program", [chained_dict, chained_set, chained_list])
def test_containers_that_a_variable_and_an_object_are_given_at_once(program: Any) -> None:
    compiled = weft.compile(program)
    for k in (1.0, 2.0):
        owner, same = SimpleNamespace(), SimpleNamespace()
        assert seen(compiled(owner, np.full(2, k))) == seen(program(same, np.full(2, k)))
        assert seen(owner) == seen(same)
    assert not compiled._ran_plainly


class _Result:
    def __init__(self, x):
        self.x, self.cache, self.mixed, self.numbers = x, {}, [x, "a"], [1.0]


def filled_when_given_away(owner, x):
    made = _Result(x)
    owner.result = made
    made.cache["double"] = x * 2
    made.mixed.append(3)
    made.numbers.append(2.0)
    return made.cache["double"], len(made.cache), made.mixed[-1], made


def known_by_two_objects(owner, x):
    made = _Result(x)
    owner.result = made
    owner.cache = made.cache
    made.cache["one"] = 1
    return len(owner.cache)


@pytest.mark.parametrize("program", [filled_when_given_away, known_by_two_objects])
def test_objects_that_are_filled_when_they_are_given_away(program: Any) -> None:
    compiled = weft.compile(program)
    for k in (1.0, 2.0):
        owner, same = SimpleNamespace(), SimpleNamespace()
        assert seen(compiled(owner, np.full(2, k))) == seen(program(same, np.full(2, k)))
        assert seen(owner) == seen(same)
    assert not compiled._ran_plainly


def wrapped_as_given(given, x):
    y = x * 2
    try:
        wrap = getattr(given, "__array_wrap__", y.__array_wrap__)
    except AttributeError:
        return y, "none"
    return wrap(y), type(wrap(y.sum(keepdims=True)[0:1])), wrap(y) is y


def test_arrays_have_the_special_attributes_of_numpy() -> None:
    compiled = weft.compile(wrapped_as_given)
    for given in (np.ones(3), 2):
        assert seen(compiled(given, np.arange(3.0))) == seen(wrapped_as_given(given, np.arange(3.0)))
    assert not compiled._ran_plainly


def asks_interface(x):
    try:
        return (x * 1).__array_interface__ is None
    except AttributeError:
        return x


def asks_floor(x):
    try:
        return (x[0] + 1).__floor__ is None
    except AttributeError:
        return x


def asks_trunc(x):
    try:
        return len(x[x > 0]).__trunc__ is None
    except AttributeError:
        return x


@pytest.mark.parametrize("program", [asks_interface, asks_floor, asks_trunc])
def test_special_attributes_that_a_capture_does_not_have_are_there(program: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match=r"\.__\w+__ of a traced (array|number)"):
        weft.compile(program)(np.ones(3))


class _Counts:
    def __init__(self) -> None:
        self.local = threading.local()

    def __call__(self, x: Any) -> Any:
        if not hasattr(self.local, "calls"):
            self.local.calls = 0
        self.local.calls += 1
        return x * self.local.calls


def counted(counts, x):
    return counts(x) + counts(x)


def test_attributes_of_a_thread_are_kept_as_those_of_objects() -> None:
    compiled, counts, same = weft.compile(counted), _Counts(), _Counts()
    for k in (1.0, 2.0, 3.0):
        assert seen(compiled(counts, np.full(2, k))) == seen(counted(same, np.full(2, k)))
        assert vars(counts.local) == vars(same.local)
    assert not compiled._ran_plainly


def labelled(function, x, name):
    function.label = name
    function.scale = len(name)
    return function(x, x, a=function.scale), function.label


def test_compiled_functions_that_take_attributes() -> None:
    function = import_module("scipy.linalg.blas").daxpy
    compiled = weft.compile(labelled)
    try:
        for name in ("a", "bc", "def"):
            wanted = labelled(function, np.ones(2), name)
            del function.label, function.scale
            assert seen(compiled(function, np.ones(2), name)) == seen(wanted)
            assert (function.label, function.scale) == (name, len(name))
        assert not compiled._ran_plainly
    finally:
        for name in ("label", "scale"):
            function.__dict__.pop(name, None)


class _Notes(dict):  # type: ignore[type-arg]  # of anything
    """A dict of the program's own class."""


def written_by_its_first_name(owner, x):
    notes = {}
    owner.notes = notes
    notes["twice"] = x * 2
    return owner.notes is notes, len(owner.notes)


def written_through_the_object(owner, x):
    notes = {"old": x}
    other = [notes, 1]
    owner.notes = notes
    owner.notes["new"] = x + 1
    return other, len(notes), "new" in notes, [*notes], {**notes}


def given_to_two_objects(owner, x):
    notes = {"a": []}
    owner.first = notes
    owner.second = {"of": notes}
    owner.second["of"]["a"].append(x)
    notes |= {"b": 1}
    return notes, owner.first is notes, owner.first["a"] is notes["a"]


def given_on_one_side(owner, x):
    notes = {}
    if x.sum() > 0:
        owner.notes = notes
        owner.notes["sum"] = x.sum()
    return notes


def written_by_a_loop(owner, x):
    notes = {}
    owner.notes = notes
    for one in x:
        notes["last"] = one
    return len(notes)


def of_other_kinds(owner, x):
    queue, counts, groups, order = deque([1.0], maxlen=2), Counter("aab"), defaultdict(list), OrderedDict(a=1, b=2)
    owner.queue, owner.counts, owner.groups, owner.order = queue, counts, groups, order
    owner.queue.append(x[0])
    owner.queue.append(2.0)
    queue *= 2
    owner.counts["a"] += 1
    groups["x"].append(x)
    owner.groups["y"].append(1)
    order.move_to_end("a")
    return queue, queue.maxlen, counts.most_common(1), len(groups), list(order), counts["a"], +counts


def of_own_kinds(owner, x):
    notes, names, items = _Notes(), UserDict(), UserList()
    owner.notes, owner.names, owner.items = notes, names, items
    owner.notes["x"] = x
    owner.names["x"] = 1
    owner.items.append(1)
    return len(notes), bool(names), 1 in items, notes["x"]


def held_by_a_set(owner, x):
    known = set()
    owner.known = known
    owner.known.add(3)
    return 3 in known, len(known), x


class _Entry(NamedTuple):
    name: str
    parts: Any


def lists_in_a_list(owner, x):
    entries = [_Entry("a", ["u"]), _Entry("b", [x]), None]
    owner.entries = entries
    entries[1].parts.append(2.0)
    owner.entries.append("last")
    return entries[0].parts, len(entries), owner.entries is entries


def held_in_many_places(owner, x):
    items = [x]
    for _ in range(40):
        items = [items, items]
    owner.items = items
    return x


def kept_until_it_is_wanted(owner, key, compute):
    notes = owner.__dict__.setdefault("_notes", {})
    if key not in notes:
        notes[key] = compute()
    return notes[key]


def wanted(owner, x):
    return kept_until_it_is_wanted(owner, "sum", lambda: x.sum()), owner._notes


def joined_to_attributes(owner, x):
    owner.__dict__ |= {"scale": 2.0, "given": x}
    own = owner.__dict__
    own |= {"more": []}
    owner.more.append(1)
    return sorted(own)


GIVEN_AWAY = [
    written_by_its_first_name,
    written_through_the_object,
    given_to_two_objects,
    given_on_one_side,
    written_by_a_loop,
    of_other_kinds,
    of_own_kinds,
    held_by_a_set,
    held_in_many_places,
    lists_in_a_list,
    wanted,
    joined_to_attributes,
]


@pytest.mark.parametrize("program", GIVEN_AWAY)
def test_containers_that_an_object_is_given_are_one_under_all_their_names(program: Any) -> None:
    compiled = weft.compile(program)
    for k in (1.0, 2.0):
        owner, same = _Result(np.ones(1)), _Result(np.ones(1))
        assert seen(compiled(owner, np.full(2, k))) == seen(program(same, np.full(2, k)))
        assert seen(owner) == seen(same)
    assert not compiled._ran_plainly


def test_an_array_in_a_list_that_an_object_has_is_not_written() -> None:
    def program(owner, x):
        y = x * 2
        owner.entries = [_Entry("a", ["u"]), _Entry("b", y)]
        y[0] = 3
        return owner.entries

    with pytest.raises(CaptureError, match="a write to y, which a list that changes under a traced condition holds"):
        weft.compile(program)(_Result(np.ones(2)), np.ones(2))


def test_attributes_are_not_given_to_an_object_all_at_once() -> None:
    def replaced(owner, x):
        owner.__dict__ = {"x": x}

    with pytest.raises(CaptureError, match=r"\.__dict__ = … of a _Result that the program did not make itself"):
        weft.compile(replaced)(_Result(np.ones(2)), np.ones(2))


class _WithSlots:
    __slots__ = ("end", "x")

    def __init__(self, x: Any) -> None:
        self.x = x

    def extend(self, x: Any) -> None:
        if x[0] > self.x[-1]:
            self.x = np.concatenate([self.x, x])
            self.end = x[-1]
        elif x[-1] < self.x[0]:
            self.x = np.concatenate([x, self.x])
            self.end = self.x[-1]
        else:
            raise ValueError("inside")


class _WithSlotsAndMore(_WithSlots):
    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.more = 1


@pytest.mark.parametrize("kind", [_WithSlots, _WithSlotsAndMore])
def test_slots_that_a_branch_changes(kind: Any) -> None:
    compiled = weft.compile(kind.extend)
    for first in (5.0, -9.0):
        made, same = kind(np.arange(4.0)), kind(np.arange(4.0))
        compiled(made, np.array([first, first + 1]))
        kind.extend(same, np.array([first, first + 1]))
        assert seen(made) == seen(same)
    assert not compiled._ran_plainly
