"""Containers of the standard library other than list, dict and set, and iterators: read anew, never changed once."""

from __future__ import annotations

import array
import collections
import functools
import io
import itertools
import json
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from seen_state import seen

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0])
DEQUE = collections.deque([1, 2, 3])
BYTES = bytearray(b"ab")
NUMBERS = array.array("d", [1.0, 2.0])
USER = collections.UserDict(a=1.0)
CHAIN = collections.ChainMap({"a": 1.0})
COUNTS = collections.Counter("aab")
STEPS = itertools.count()


@pytest.mark.parametrize(
    ("program", "change"),
    [
        (lambda x: x * DEQUE[0] + len(DEQUE), lambda: DEQUE.appendleft(9)),
        (lambda x: x * BYTES[0], lambda: BYTES.insert(0, BYTES[0] + 1)),
        (lambda x: x * NUMBERS[0], lambda: NUMBERS.insert(0, 7.0)),
        (lambda x: x * USER["a"], lambda: USER.update(a=USER["a"] + 1)),
        (lambda x: x * CHAIN["a"], lambda: CHAIN.update(a=CHAIN["a"] + 1)),
    ],
)
def test_what_they_hold_counts(program: Callable[..., Any], change: Callable[[], None]) -> None:
    compiled = weft.compile(program)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), program(X))
        np.testing.assert_array_equal(compiled(X), program(X))
        change()
    assert compiled.cache_info().hits == 3


def appended_in_a_loop(x):
    found: Any = collections.deque()
    for value in x:
        if value > 1:
            found.append(1)
    return len(found)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (appended_in_a_loop, "a deque made outside a branch or loop is changed inside it"),
        (lambda x: x * next(STEPS), "a count from outside: what it gives would be used up"),
    ],
)
def test_what_is_refused(program: Callable[..., Any], message: str) -> None:
    before = list(DEQUE), dict(COUNTS), repr(STEPS)
    with pytest.raises(CaptureError) as caught:
        weft.compile(program)(X)
    assert message in caught.value.message
    assert (list(DEQUE), dict(COUNTS), repr(STEPS)) == before


def test_an_iterator_as_an_argument_is_not_used_up() -> None:
    given = iter([1, 2])
    with pytest.raises(CaptureError, match="a list_iterator from outside"):
        weft.compile(lambda x, items: x * sum(items))(X, given)
    assert list(given) == [1, 2]


READING: list[Callable[..., Any]] = [
    lambda x, file: x * float(next(file)),
    lambda x, file: x * float(file.readline()),
    lambda x, file: x * sum(float(line) for line in file),
    lambda x, file: ([float(line) for line in file], x),
    lambda x, file: ([letter for line in file for letter in line], x),
    lambda x, file: (list(map(float, file)), x),
    lambda x, file: ([*file], x),
    lambda x, file: ("1\n" in file, x),
    lambda x, file: (json.load(file), x),
    lambda x, file: (operator.iadd([0], file), x),
    lambda x, file: file.write("3\n") * x,
]


@pytest.mark.parametrize("program", READING)
def test_a_file_as_an_argument_is_not_read_or_written(program: Callable[..., Any]) -> None:
    given = io.StringIO("1\n2\n")
    with pytest.raises(CaptureError, match="a StringIO from outside is read or written"):
        weft.compile(program)(X, given)
    assert given.tell() == 0
    assert given.getvalue() == "1\n2\n"


def test_a_file_may_be_given_on_and_one_of_the_programs_own_is_read() -> None:
    def program(x, file):
        own = io.StringIO("1\n2\n")
        return file.closed, x * sum(float(line) for line in own)

    given, compiled = io.StringIO("1\n2\n"), weft.compile(program)
    for x in (X, -X):
        closed, total = compiled(x, given)
        assert closed is False
        np.testing.assert_array_equal(total, 3 * x)
    assert not compiled._ran_plainly


class _Steps:
    """An iterator of the program's own class."""

    def __init__(self) -> None:
        self.count = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> int:
        self.count += 1
        return self.count


def test_an_iterator_of_the_programs_own_class_goes_on_where_it_was() -> None:
    compiled, given, same = weft.compile(lambda x, steps: x * next(steps)), _Steps(), _Steps()
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X, given), X * next(same))
        assert given.count == same.count
    assert not compiled._ran_plainly


class Stack(list[int]):
    """A list with a method of its own."""

    def push(self, value):
        self.append(value)


def made_inside(x):
    queue = collections.deque([0])
    total = 0.0
    while queue:
        place = queue.popleft()
        total = total + x[place]
        if place < 1:
            queue.append(place + 1)
    counts = collections.Counter("ab")
    counts.update("a")
    stack = Stack()
    stack.push(2)
    stack.append(3)
    steps = itertools.count(1)
    return total * counts["a"] + len(stack) + next(steps) * next(steps)


def test_made_inside() -> None:
    compiled = weft.compile(made_inside)
    for x in (X, -X):
        assert compiled(x) == made_inside(x)


class _Row(list):
    def __init__(self, cells, table):
        list.__init__(self, cells)
        self.table = table


class _Table(list):
    def __init__(self, rows, scale):
        list.__init__(self, [_Row(row, self) for row in rows])
        self.scale = scale

    def insert(self, place, row):
        list.insert(self, place, [*row, "inserted"])


def scaled_sum(row, y):
    return sum(row) * row.table.scale + y


def row_added(row, y):
    row.table.append(_Row(row, row.table))
    return len(row.table)


def inserted_past_its_class(row, y):
    list.insert(row.table, 0, (y, y))
    row.table.insert(0, (y,))
    return list.count(row.table, (y, y))


def table_made(row, y):
    return _Table([[y, 2.0]], 3.0)


@pytest.mark.parametrize("program", [scaled_sum, row_added, inserted_past_its_class, table_made])
def test_containers_that_hold_themselves(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for y in (1.0, 4.0):
        row, same = _Table([[1.0, 2.0]], 2.0)[0], _Table([[1.0, 2.0]], 2.0)[0]
        assert seen(compiled(row, y)) == seen(program(same, y))
        assert seen(row.table) == seen(same.table)
    assert not compiled._ran_plainly


class _Tried(dict):  # type: ignore[type-arg]  # of anything
    def __init__(self, items: Any) -> None:
        super().__init__(items=items)
        try:
            self["numbers"] = items.astype(float)
        except ValueError:
            self["numbers"] = None


class _TriedFirst(tuple):  # type: ignore[type-arg]  # of anything
    def __new__(cls, items: Any) -> Any:
        try:
            return tuple.__new__(cls, (items.astype(float),))
        except ValueError:
            return tuple.__new__(cls, ())


class _TriedInMethod(dict):  # type: ignore[type-arg]  # of anything
    def __init__(self, items: Any) -> None:
        self.fill(items)

    def fill(self, items: Any) -> None:
        try:
            self["numbers"] = items.astype(float)
        except ValueError:
            self["numbers"] = None


def _or_none(function: Any) -> Any:
    @functools.wraps(function)
    def inner(items: Any) -> Any:
        try:
            return function(items)
        except ValueError:
            return None

    return inner


_numbers = _or_none(lambda items: items.astype(float))


class _TriedByDecorator(dict):  # type: ignore[type-arg]  # of anything
    def __init__(self, items: Any) -> None:
        self["numbers"] = _numbers(items)


@pytest.mark.parametrize("cls", [_Tried, _TriedFirst, _TriedInMethod, _TriedByDecorator])
def test_what_the_making_of_a_container_catches_is_refused(cls: type) -> None:
    words = weft.wrap(lambda: np.array(["one", "two"]))
    with pytest.raises(CaptureError, match="inside a `try` or `with` that may catch what it raises"):
        weft.compile(lambda: cls(words()))()


@pytest.mark.parametrize("cls", [list, dict])
def test_plain_containers_that_hold_themselves(cls: type) -> None:
    endless: Any = cls()
    _ = endless.append(endless) if cls is list else endless.setdefault("itself", endless)
    assert weft.compile(lambda items: len(items))(endless) == 1


def test_a_list_that_holds_itself_is_no_result() -> None:
    def endless(x: Any) -> Any:
        items: Any = [x]
        items.append(items)
        return items

    for capture in (weft.trace, lambda function, x: weft.compile(function)(x)):
        with pytest.raises(CaptureError, match="a result that holds itself: a list"):
            capture(endless, X)


class _Named(dict):  # type: ignore[type-arg]  # of anything
    """A dict whose items are its attributes, by the methods of dicts themselves."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__  # type: ignore[assignment]  # as people write it
    __delattr__ = dict.__delitem__  # type: ignore[assignment]  # as people write it


class _NamedOrNone(_Named):
    __getattr__ = dict.get  # type: ignore[assignment]  # as people write it


def doubled_by_name(named, x):
    named.x = named.x * x
    named.more = x + 1
    return named.more, len(named), list(named)


def taken_by_name(named, x):
    named.x *= x
    del named.y
    return "y" in named, len(named)


def given_on_a_side(named, x):
    if x[0] > 1:
        named.x = x
    else:
        named.y = 5
    return named.x + 1


def of_its_own(named, x):
    made = type(named)(x=x)
    made.twice = made.x * 2
    made.x = 3
    del made.x
    return made, list(made), made.twice


def past_its_class(named, x):
    dict.__setitem__(named, "x", named.x + x)
    dict.__delitem__(named, "y")
    return dict.__len__(named), dict.__contains__(named, "y")


@pytest.mark.parametrize("kind", [_Named, _NamedOrNone])
@pytest.mark.parametrize("program", [doubled_by_name, taken_by_name, given_on_a_side, of_its_own, past_its_class])
def test_items_that_methods_of_dicts_make_attributes(program, kind) -> None:
    compiled = weft.compile(program)
    held = weft.compile(lambda owner, x: program(owner.named, x))
    for first in (1.0, 2.0, 3.0):
        x = np.array([first, 4.0])
        same, one, owner = (kind(x=np.arange(2.0), y=7) for _ in range(3))
        wanted = seen(program(same, x)), seen(same)
        assert (seen(compiled(one, x)), seen(one)) == wanted
        assert (seen(held(SimpleNamespace(named=owner), x)), seen(owner)) == wanted
    assert not compiled._ran_plainly
