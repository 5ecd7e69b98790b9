"""Special methods of the program's own classes, run by an index, a loop, a text or a truth: they are captured too."""

# ruff: noqa: B905, C416  # programs as people write them

from __future__ import annotations

import pprint

import numpy as np
import pytest
from alike import SAME, fates

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

X = np.array([1.0, -2.0, 3.0])


class Rows:
    def __init__(self, data):
        self.data = data

    def __getitem__(self, k):
        if self.data[k] > 0:
            return self.data[k]
        return -self.data[k] * 2

    def __setitem__(self, k, value):
        if value > 0:
            self.data[k] = value

    def __len__(self):
        return 3 if self.data[0] > 0 else 2

    def __contains__(self, value):
        found = False
        for each in self.data:
            if each == value:
                found = True
        return found

    def __bool__(self):
        return bool(self.data.sum() > 0)

    def __abs__(self):
        return self.data if self.data[0] > 0 else -self.data

    def __repr__(self):
        return f"Rows({self.data.tolist()})" if self.data[0] > 0 else "Rows"


class Shuffled:
    """A loader whose iterator draws."""

    def __init__(self, data):
        self.data, self.order, self.k = data, np.arange(len(data)), 0

    def __iter__(self):
        np.random.shuffle(self.order)
        self.k = 0
        return self

    def __next__(self):
        if self.k >= 3:
            raise StopIteration
        self.k += 1
        return self.data[self.order[self.k - 1]]


class Parts:
    """A loader whose iterator is a generator."""

    def __init__(self, data):
        self.data = data

    def __iter__(self):
        order = np.arange(3)
        np.random.shuffle(order)
        for part in np.array_split(order, 3):
            yield self.data[part].sum()


def an_item(x):
    return Rows(x)[0] + Rows(x)[1]


def stores(x):
    rows = Rows(x.copy())
    rows[0], rows[1] = x[1], x[2]
    return rows.data


def a_length(x):
    return len(Rows(x)) * x[0]


def is_in(x):
    return 3.0 in Rows(x), 7.0 in Rows(x), 7.0 not in Rows(x)


def a_truth(x):
    return (1 if Rows(x) else 2), not Rows(x), x[0] if bool(Rows(x)) and x[1] < 0 else x[2]


def a_size(x):
    return abs(Rows(x))


def runs_over(x):
    total = 0.0
    for value in Shuffled(x):
        total = total * 2 + value
    return total


def listed(x):
    return [v * 2 for v in Shuffled(x)], list(Shuffled(x)), sum(Shuffled(x)), [v for v in Parts(x)], list(Parts(x))


def taken_apart(x):
    a, b, c = Shuffled(x)
    first, *rest = Parts(x)
    return a * 4 + b * 2 + c, first, rest


def step_by_step(x):
    steps = iter(Shuffled(x))
    return next(steps) * 4 + next(steps)


def paired(x):
    return [(k, a * b) for k, (a, b) in enumerate(zip(Shuffled(x), x))]


@pytest.mark.parametrize("program", [an_item, stores, a_length, is_in, a_truth, a_size])
def test_special_methods_are_captured(program):
    assert fates(program, (X,), (-X,), (X * 2,))[0] == SAME


@pytest.mark.parametrize("program", [runs_over, listed, taken_apart, step_by_step, paired])
def test_each_call_draws_what_the_plain_call_draws(program):
    compiled = weft.compile(program)
    for seed in (1, 2, 3):
        np.random.seed(seed)
        expected, state = call(program, (X,)), np.random.get_state()[2]
        np.random.seed(seed)
        assert_same(call(compiled, (X,)), expected)
        assert np.random.get_state()[2] == state
    assert not compiled._ran_plainly


def shown(x):
    rows = Rows(x)
    return f"{rows} {rows!r:>30}" + str(rows) + repr(rows)


class Priced:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return "str"

    def __format__(self, spec):
        return f"{self.x[0]:{spec or '.1f'}}" if self.x[0] > 0 else "less"


def formatted(x):
    return f"{Priced(x)} {Priced(x)!s}" + format(Priced(x), ".3f") + format(Priced(x)) + str(Priced(x))


def printed(x):
    print(Rows(x), f"{Rows(x)}", sep="|")
    return x * 2


@pytest.mark.parametrize("program", [shown, printed, formatted])
def test_texts_of_objects_are_made_when_the_graph_runs(program):
    assert fates(program, (X,), (-X,), (X * 2,))[0] == SAME


def shown_in_a_list(x):
    return str([Plain(x)])


class Plain:
    def __init__(self, x):
        self.parts = [x[0], 2.0]

    def __repr__(self):
        return "Plain" + str(self.parts)


def test_text_that_other_code_would_make_of_traced_values_is_refused():
    with pytest.raises(CaptureError, match="text made of it needs the value of"):
        weft.compile(shown_in_a_list)(X)


def attribute_in_a_format(x):
    return f"{Plain(x).parts[0]!r}"


def attribute_in_a_format_by_place(x):
    return f"{Plain(x).parts!r}"


def printed_prettily(x):
    return pprint.pformat({"parts": [x[0]]})


@pytest.mark.parametrize("program", [attribute_in_a_format, attribute_in_a_format_by_place, printed_prettily])
def test_no_text_shows_what_stands_for_a_value(program):
    for capture in (weft.compile, weft.script, lambda f: weft.trace(f, X)):
        try:
            captured = capture(program)
            shown = [captured(X), captured(X * 2)]
        except CaptureError as error:
            assert "text made of it needs the value of" in str(error)  # noqa: PT017  # either is right
        else:
            assert shown == [program(X), program(X * 2)]


class Bounded(list):
    """A list of its own class, whose `append` stands before that of `list`."""

    def __init__(self, size):
        super(Bounded, self).__init__()  # noqa: UP008  # as much code has it
        self.size = size

    def append(self, item):
        if len(self) < self.size:
            super(Bounded, self).append(item)  # noqa: UP008


def bounded(x, size):
    kept = Bounded(size)
    for value in x:
        kept.append(value * 2)
    return sum(kept), len(kept), list(kept)


def test_methods_of_builtin_classes_under_those_of_the_programs():
    assert fates(bounded, (X, 2), (X, 7), (X, 0))[0] == SAME


class Sorted:
    def __init__(self, x):
        self.x = x

    def __lt__(self, other):
        return np.random.rand() < 0.5


def drawn_by_sorted(x):
    return [each.x for each in sorted([Sorted(x), Sorted(x * 2)])]


def test_random_numbers_that_a_refused_program_draws_are_put_back():
    np.random.seed(5)
    before = np.random.get_state()
    with pytest.raises(CaptureError, match="a branch on a traced value"):
        weft.compile(drawn_by_sorted)(X)
    after = np.random.get_state()
    assert before[2] == after[2]
    assert np.array_equal(before[1], after[1])
