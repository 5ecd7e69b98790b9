"""Settings that a program changes and puts back, in a `finally` or an `__exit__`: whatever raises, they are as before.

A graph that takes all of it back changes nothing in the first place, unless something in between could notice.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

MODE, LEVEL, SCALE = "ignore", 1, 2.0


class Box:
    """Holds attributes."""


BOX = Box()


class mode:
    def __init__(self, wanted):
        self.wanted, self.was = wanted, MODE

    def __enter__(self):
        global MODE
        MODE = self.wanted
        return self

    def __exit__(self, *raised):
        global MODE
        MODE = self.was


@contextlib.contextmanager
def using(wanted):
    global MODE
    was, MODE = MODE, wanted
    try:
        yield
    finally:
        MODE = was


def strict(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with mode("strict"):
            return function(*args, **kwargs)

    return wrapper


def divide(a, b):
    if MODE == "ignore":
        return a / (b + 10)
    if MODE == "strict" and (b == 0).any():
        raise ZeroDivisionError("zero")
    return a // (b + 10)


@weft.wrap
def peek():
    return 1.0 if MODE == "strict" else 0.0


def by_a_context(x, i):
    with mode("strict"):
        y = divide(x[i], x + 1)
    return y.sum() + divide(x, x).sum()


def by_a_generator(x, i):
    with using("strict"):
        return divide(x[i], x + 1)


by_a_decorator = strict(lambda x, i: divide(x[i], x))


def one_in_the_other(x, i):
    with mode("strict"), mode("x"):
        y = divide(x[i], x + 1)
        with mode("ignore"):
            y = y + divide(x[i], x + 2)
    return y


def a_number(x, i):
    global LEVEL
    before, LEVEL = LEVEL, LEVEL + 5
    try:
        y = x[i] * LEVEL
    finally:
        LEVEL = before
    return y + LEVEL


def to_what_was_computed(x, i):
    global SCALE
    was, SCALE = SCALE, x[0]
    try:
        y = x[i] * SCALE
    finally:
        SCALE = was
    return y, SCALE


def an_attribute(x, i):
    was, BOX.mode = BOX.mode, "b"
    try:
        return x[i]
    finally:
        BOX.mode = was


def in_a_branch(x, i):
    if x.sum() > 0:
        with mode("strict"):
            return divide(x[i], x + 1).sum()
    return x[0]


def around_a_branch(x, i):
    with mode("strict"):
        if x[i] > 1:
            with mode("ignore"):
                y = divide(x[i], x + 1)
        else:
            y = divide(x[i], x)
    return y, MODE


def in_a_loop(x, i):
    total = 0.0
    for k in range(len(x)):
        with mode("strict"):
            total += divide(x[(i + k) ** 2 % 4], x + 1).sum()
    return total


def beside_a_change_that_stays(x, i):
    global LEVEL
    with mode("strict"):
        LEVEL += 1
        return divide(x[i], x + 1)


def raises_itself(x, i):
    with mode("strict"):
        y = divide(x[i], x + 1)
        if y.sum() > 10:
            raise ValueError("much")
    return y


def around_what_is_printed(x, i):
    with mode("strict"):
        print(x[0])
        return divide(x[i], x + 1)


def not_as_before(x, i):
    global LEVEL
    before, LEVEL = LEVEL, LEVEL + 5
    try:
        y = x[i] * LEVEL
    finally:
        LEVEL = before + 1
    return y


def raises_before_the_try(x, i):
    was, BOX.mode = BOX.mode, "b"
    y = x[i]
    try:
        return x[i + 1] + y
    finally:
        BOX.mode = was


def changed_twice_within(x, i):
    was = BOX.mode
    try:
        BOX.mode = "b"
        y = x[i]
        BOX.mode = was
        y = y + x[i + 1]
        BOX.mode = "c"
        return y + x[0]
    finally:
        BOX.mode = was


def seen_by_a_wrapped_function(x, i):
    with mode("strict"):
        return divide(x[i], x + 1) + peek()


def raised_by_a_wrapped_function(x, i):
    with mode("strict"):
        return unsure(x, i)


def raised_in_a_loop(x, i):
    total = 0.0
    for k in range(len(x)):
        with mode("strict" if k else "x"), mode("strict"):
            total += unsure(x, i + k - 1)
    return total


@weft.wrap
def unsure(x, i):
    return x[i] * (1.0 if MODE == "strict" else 2.0)


X = np.array([1.0, 2.0, 3.0])
CALLS = [(X, 1), (X, 2), (X, 9), (-X, 1), (-X, 7), (X * 100, 1), (X, 0), (X, -5)]
TAKEN_BACK = [
    *(by_a_context, by_a_generator, by_a_decorator, one_in_the_other, a_number, to_what_was_computed, an_attribute),
    *(in_a_branch, around_a_branch, in_a_loop, beside_a_change_that_stays, raises_itself, around_what_is_printed),
]
OTHERS = [not_as_before, raises_before_the_try, changed_twice_within]


def left(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What a call gives or raises, and how it leaves the settings."""
    global MODE, LEVEL, SCALE
    MODE, LEVEL, SCALE, BOX.mode = "ignore", 1, 2.0, "a"
    try:
        result = function(*copy.deepcopy(args))
    except CaptureError:
        raise
    except Exception as error:
        result = IndexError if isinstance(error, IndexError) else type(error)
    return repr((result, MODE, LEVEL, SCALE, BOX.mode))


@pytest.mark.parametrize("program", TAKEN_BACK)
def test_a_graph_that_takes_back_its_changes(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for args in CALLS:
        assert left(compiled, args) == left(program, args)
    assert not compiled._ran_plainly
    changes = compiled.code.count("set_state")
    assert changes == (program is beside_a_change_that_stays)


@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
@pytest.mark.parametrize("program", OTHERS)
def test_changes_that_are_not_all_taken_back(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for args in CALLS:
        with contextlib.suppress(CaptureError):
            assert left(compiled, args) == left(program, args)


@pytest.mark.parametrize("program", [seen_by_a_wrapped_function, raised_by_a_wrapped_function, raised_in_a_loop])
def test_what_could_be_noticed_is_changed_for_now(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for args in CALLS:
        assert left(compiled, args) == left(program, args)
    assert "set_for_now" in compiled.code


def prints_in_the_end(x, i):
    try:
        return unsure(x, i)
    finally:
        print("over")


def test_what_is_no_change_that_is_put_back_is_refused() -> None:
    with pytest.raises(CaptureError, match="after what may raise when the graph runs"):
        weft.compile(prints_in_the_end)(X, 1)


def raises_with_errors_handled(x, front_end):
    with np.errstate(divide="ignore", invalid="raise"):
        y = np.linalg.inv(x)
        if y.sum() > 3:
            raise ValueError("much")
    return y


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
def test_numpys_handling_of_errors_is_as_before_whatever_raises(front_end: Any) -> None:
    captured, before = front_end(raises_with_errors_handled), np.geterr()
    for factor, raised in [(1.0, None), (0.0, np.linalg.LinAlgError), (0.5, ValueError), (1.0, None)]:
        with contextlib.nullcontext() if raised is None else pytest.raises(raised):
            captured(np.eye(2) * factor, None)
        assert np.geterr() == before


def ignores_warnings(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.log(x)
        warnings.warn("inside", stacklevel=1)
    warnings.warn("outside", stacklevel=1)
    return y


def warnings_are_errors(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.log(x)


def filters_in_a_branch(x):
    if x.sum() > 0:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="inside")
            warnings.warn("inside", stacklevel=1)
            warnings.warn("other", stacklevel=1)
    return x


def filters_for_good(x):
    warnings.simplefilter("ignore", UserWarning)
    warnings.warn("x", stacklevel=1)
    return x


def filters_in_a_loop(x):
    total = 0.0
    for v in x:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            total += np.log(v)
            if total > 5:
                raise ValueError("much")
    return total


def warned(function: Callable[..., Any], x: Any) -> Any:
    """What a call gives or raises, of what it warns, and the filters that it leaves."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = repr(function(x.copy()))
        except (RuntimeWarning, ValueError) as error:
            result = repr(error)
        return result, sorted(str(one.message) for one in seen), list(warnings.filters)


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
@pytest.mark.parametrize(
    "program", [ignores_warnings, warnings_are_errors, filters_in_a_branch, filters_for_good, filters_in_a_loop]
)
def test_filters_of_warnings(program: Callable[..., Any], front_end: Any) -> None:
    captured = front_end(program)
    for factor in (1.0, 0.0, -1.0, 1e9, 1.0):
        assert warned(captured, X * factor) == warned(program, X * factor)


def keyword(x, **options):
    options["by"] = options.get("by", 2.0) + 1
    options.setdefault("more", x[0])
    if x[0] > 0:
        options["by"] = x[1]
    options.pop("gone", None)
    return x * options["by"] + options["more"], options


def passes_them_on(x, **options):
    options.update(gone=1)
    made, theirs = keyword(x, **options)
    return made, theirs, options


@pytest.mark.parametrize("program", [keyword, passes_them_on])
def test_the_dict_of_a_calls_keywords_is_the_programs_own(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for keywords in ({}, {"by": 3.0}, {"by": 3.0, "gone": 1}, {"more": 7.0}):
        for x in (X, -X):
            given = dict(keywords)
            assert repr(compiled(x, **given)) == repr(program(x, **keywords))
            assert given == keywords
    assert not compiled._ran_plainly
