"""Operators and methods of what Python has beside what NumPy has: a list is an array only where NumPy makes it one."""

from __future__ import annotations

import dataclasses
import io
import operator
from collections import OrderedDict, UserDict, UserList, deque
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0])
VALUES: dict[str, Callable[[], Any]] = {
    "list of floats": lambda: [1.0, 2.0],
    "list of ints": lambda: [1, 2],
    "list of lists": lambda: [[1, 2], [3, 4]],
    "list of texts": lambda: ["a", "b"],
    "mixed list": lambda: [1.0, "a"],
    "empty list": list,
    "tuple": lambda: (1.0, 2.0),
    "deque": lambda: deque([1.0, 2.0]),
    "range": lambda: range(2),
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1.0},
    "text": lambda: "ab",
    "None": lambda: None,
    "bool": lambda: True,
    "int": lambda: 2,
    "float": lambda: 2.5,
    "number of NumPy's": lambda: np.float64(1.5),
    "array": lambda: np.array([3.0, 4.0]),
    "rows": lambda: np.array([[1.0, 2.0], [3.0, 4.0]]),
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "**": lambda x, y: x**y,
    "@": lambda x, y: x @ y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    "&": lambda x, y: x & y,
    "in": lambda x, y: x in y,
    "not in": lambda x, y: x not in y,
    "two of it": lambda x, y: [x, y] == [y, x],
    "beside a list": lambda x, y: ([x, y], 1 in [x, y], [x, *[y]]),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "a number less": lambda x: x - 0.5,
    "a number less, from the left": lambda x: 0.5 - x,
    "an element": lambda x: x[0],
    "an element and all": lambda x: x[0] + x,
    "an element is all": lambda x: x[0] == x,
    "an element before all": lambda x: x[0] < x,
    "as often as an element says": lambda x: x * x[0],
    "as a dict": lambda x: dict(zip(x, x, strict=True)),
    "as a set": lambda x: set(x),
    "turned": lambda x: x[::-1],
    "part": lambda x: x[:1] + x,
    "extreme": lambda x: (max(x), min(x, x)),
    "sum": lambda x: (sum(x), sum(x, 1.0)),
    "length": lambda x: len(x) > 1,
    "place": lambda x: (x.index(x[0]), x.count(x[0])),
    "text": lambda x: (str(x), f"{x}", "%s" % (x,)),  # noqa: UP031  # what is tested
    "whole of several": lambda x: [*x, 1],
    "rounded": lambda x: round(x),
    "as an array": lambda x: np.asarray(x) * 2,
    "by NumPy's number": lambda x: np.float64(2.0) * x,
    "there or not": lambda x: x or 1,
    "nothing": lambda x: (x is None, x == None, not x),  # noqa: E711  # what is tested
    "class": lambda x: (type(x).__name__, isinstance(x, (list, tuple))),
    "method of the class": lambda x: x.__add__(x),
}


def more(x, y):
    x += y
    return x


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result as text with its type, or the class of the exception and its text; and the arguments afterwards."""
    with redirect_stdout(io.StringIO()):
        try:
            found = function(*args)
        except CaptureError as refused:
            return refused
        except Exception as raised:
            return type(raised), str(raised), repr(args)
    told = sorted(found, key=repr) if isinstance(found, set) else found  # its order goes by hashes, and how it was made
    return type(found), repr(told), repr(args)


def same_outcome(got: Any, expected: Any) -> bool:
    """Whether tracing gave what the plain call does: where that raises, an exception of the same kind."""
    if not issubclass(expected[0], Exception):
        return bool(got == expected)
    return issubclass(got[0], next(kind for kind in expected[0].__mro__ if kind.__module__ == "builtins"))


@pytest.mark.filterwarnings("ignore:.*ran as plain Python", "ignore:.*encountered in")
@pytest.mark.parametrize("operator", [*OPERATORS, "+="])
def test_operators(operator: str) -> None:
    program = OPERATORS.get(operator, more)
    wrong = []
    for left, one in VALUES.items():
        for right, other in VALUES.items():
            expected = outcome(program, (one(), other()))
            got = outcome(weft.compile(program), (one(), other()))
            if got != expected and not isinstance(got, CaptureError):
                wrong.append(f"{left} {operator} {right}: {got}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    program, wrong = CALLS[call], []
    for name, value in VALUES.items():
        expected = outcome(program, (value(),))
        got = outcome(weft.compile(program), (value(),))
        if got != expected and not isinstance(got, CaptureError):
            wrong.append(f"{call} of {name}: {got}, not {expected}")
        got = outcome(lambda x: weft.trace(program, x)(x), (value(),))
        if not isinstance(got, CaptureError) and not same_outcome(got, expected):
            wrong.append(f"{call} of {name}, traced: {got}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_lists_are_no_arrays() -> None:
    """Not refused, not run plainly: captured, and answered as Python does."""
    for program, args in (
        (lambda values: values == 1, ([1, 2],)),
        (lambda n: n in [[1, 2], [3, 4]], (1,)),
        (lambda n, values: (n == values, values != n, n in values), (2, [1, 2])),
        (lambda x: (x, 1) == (1, x), (1.0,)),
        (lambda d, e: (d == e, d != e), ({"a": 1.0}, {"a": 1.0})),
        (lambda n: dict([(n, 1), (n + 1, 2)]), (1,)),  # noqa: C406  # what is tested
        (lambda d, n: (n == d, d == n), (np.ones(2), {"a": 1})),
    ):
        compiled = weft.compile(program)
        assert outcome(compiled, args) == outcome(program, args)
        assert compiled.cache_info().misses == 1
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for -: 'list' and 'float'"):
        weft.trace(lambda values: values - 0.5, [1, 2])


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 1


class Named(NamedTuple):
    x: Any


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (str(Point(x[0])), repr(Point(x[1])), f"{Point(x[0])} {x[0]:.1f}", "%s" % Point(x[0])),  # noqa: UP031  # what is tested
        lambda x: (str(Named(x[0])), str(OrderedDict(a=x[0])), str(deque([x[0]])), str(UserDict(a=x[0]))),
        lambda x: (Point(x[0]) == Point(x[0]), Point(x[0]) != Point(x[1]), Named(x[0]) == Named(x[1])),
        lambda x: (deque([x[0]]) == deque([x[0]]), {"a": x[0]} == {"a": x[1]}, [x[0], [x[1]]] == [x[1], [x[0]]]),
        lambda x: ([2.0, 1.0].index(x[1]), [1.0, 2.0].count(x[0]), (1.0, 2.0).count(x[1])),
        lambda x: ({1, 2} | {3}, frozenset([3]), set()),
        lambda x: (max((x[0], 1), (x[1], 2)), min([[x[0]], [x[1]]])),
    ],
)
def test_containers_as_wholes(program: Callable[[Any], Any]) -> None:
    for captured in (weft.compile(program), weft.script(program), weft.trace(program, X)):
        for x in (X, X[::-1].copy()):
            assert outcome(captured, (x,)) == outcome(program, (x,))


def test_sets_are_new_each_time() -> None:
    compiled = weft.compile(lambda x: ({1, 2}, x))
    compiled(X)[0].add(3)
    assert compiled(X)[0] == {1, 2}


def test_additions_to_what_is_given() -> None:
    def longer(items, x):
        items += [1.0]
        return x

    for items in (deque([1.0]), UserList([1.0])):
        compiled = weft.compile(longer)
        compiled(items, X)
        compiled(items, X)
        assert list(items) == [1.0, 1.0, 1.0]


MANY = np.random.default_rng(0).normal(size=(2, 40))
FACTOR, BASE, POWERS = np.complex128(0.3 + 0.7j), np.float64(2.3), np.array([2.0, 3.0, 5.0])


def products(x):
    return [FACTOR * complex(a, b) for a, b in zip(*x, strict=True)], [FACTOR * z for z in x[0] + 1j * x[1]]


def products_by_function(x):
    return [operator.mul(FACTOR, z) for z in x[0] + 1j * x[1]]


def products_in_place(x):
    found = []
    for z in x[0] + 1j * x[1]:
        product = FACTOR
        product *= z
        found.append(product)
    return found


def powers(x):
    return [BASE**v for v in x[0]], POWERS ** x[0, 0], BASE // x[0, 0], POWERS % x[0, 1], x[0, 0] > BASE


@pytest.mark.parametrize("program", [products, products_by_function, products_in_place, powers])
def test_numbers_of_numpy_on_the_left_give_the_same_last_digit(program: Callable[[Any], Any]) -> None:
    for captured in (weft.compile(program), weft.script(program), weft.trace(program, MANY)):
        assert outcome(captured, (MANY,)) == outcome(program, (MANY,))


def left_complex(x):
    return [1j * v for v in x], [2j + v for v in x], [1j / v for v in x], [(1j - v).conjugate() for v in x], 1j ** x[0]


def parts_of_complex(x):
    return [(1j * v).imag for v in x], (1j * x[0]).real, [abs(1j * v) for v in x], sum(1j * v for v in x)


def given_complex(x, c=2j):
    return [c * v for v in x], [v * c for v in x], c * BASE, c * x, c * x[0].astype(np.float32), [c.real * v for v in x]


def compared_complex(x):
    i = 1j
    return [i == v for v in x], i != x[0], operator.eq(i, x[0]), i == x.sum(), i == x, i == x[0].astype(np.float32)


@pytest.mark.parametrize("program", [left_complex, parts_of_complex, given_complex, compared_complex])
def test_a_complex_number_of_python_takes_a_float_of_numpy_for_one(program: Callable[[Any], Any]) -> None:
    for captured in (weft.compile(program), weft.script(program), weft.trace(program, X)):
        assert outcome(captured, (X,)) == outcome(program, (X,))


def test_derivatives_through_complex_numbers_of_python() -> None:
    def squares(x: Any) -> Any:
        z = 1j
        for v in x:
            z = z * v + 1j * v
        return (z * z.conjugate()).real + (2j * x[0]).imag

    steps = np.eye(2) * 1e-6
    central = [(squares(X + step) - squares(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(weft.grad(squares)(X), central, rtol=1e-6)
    np.testing.assert_allclose(weft.jacfwd(squares)(X), central, rtol=1e-6)
