"""`match` statements: converted they are Python's own; captured they decide by traced values, too."""

from __future__ import annotations

import enum
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from converting import define, plain, result

import weft
from programs._compare import _same
from weft.errors import CaptureError


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: Any
    y: Any = 0


class Loose:
    __match_args__ = ("first", "missing")
    first = 1


class Wrong:
    __match_args__ = ["first"]  # noqa: RUF012  # a list: that is what is wrong


class Number(int):
    pass


Pair = namedtuple("Pair", "left right")
SUBJECTS = [
    *(0, 1, -1, 2.5, 1 + 2j, True, False, None, "a", "ab", b"a", bytearray(b"a"), Number(3)),
    *(np.float64(2.5), np.int64(1), Colour.RED, Colour.BLUE, Point(1), Point(1, 2)),
    *([], [1], [1, 2], [1, 2, 3], (1, 2), (0, 1), [[1, 2], 3], range(2), deque([1, 2]), {1, 2}, Pair(1, 2)),
    *({}, {"k": 1}, {"k": 1, "l": 2}, {"k": {"l": 3}}, OrderedDict(k=1)),
    *(Point(x=[1, 2]), Loose(), Wrong(), memoryview(b"ab"), np.array([1, 2]), int),
]
PATTERNS = """
0 ;; -1 ;; 2.5 ;; 1 + 2j ;; "a" ;; b"a" ;; None ;; True ;; False ;; Colour.RED ;; 0 | 1 | "a" ;; None | True
[] ;; [a] ;; [a, b] ;; (1, b) ;; [a, *rest] ;; [*rest, a] ;; [a, *_, b] ;; [*_] ;; [[a, b], c] ;; [a, 2] | [a, 1]
{} ;; {"k": a} ;; {"k": 1, **rest} ;; {**rest} ;; {"k": {"l": a}} ;; {"k": a, "l": b} ;; {Colour.RED: a}
int() ;; int(a) ;; float(a) ;; str() ;; list([a, b]) ;; tuple() ;; bool() ;; Number(a) ;; Colour() ;; Pair(a, b)
dict() ;; Point() ;; Point(a) ;; Point(a, b) ;; Point(a, y=b) ;; Point(x=[a, b]) ;; Point(1, 2) ;; Point(z=a)
Point(a, x=b) ;; Loose(a) ;; Loose(a, b) ;; Loose(a, b, c)
Wrong(a) ;; len(a) ;; object(real=a) ;; int(a, b) ;; np.ndarray(size=a)
a ;; _ ;; [a, b] as c ;; (0 | 1) as a ;; {"k": (1 | 2) as a} ;; [Point(a), *_] | [a, _]
"""


@pytest.mark.parametrize("pattern", [each for line in PATTERNS.strip().splitlines() for each in line.split(" ;; ")])
def test_each_pattern_means_what_it_means_in_python(pattern: str) -> None:
    text = (
        "def program(subject, guard):\n    a = b = c = rest = 'none'\n    match subject:\n"
        f"        case {pattern} if guard == 0:\n            found = 'first'\n"
        "        case 1:\n            found = 'one'\n"
        f"        case {pattern}:\n            return 'second', a, b, c, rest\n    return found, a, b, c, rest\n"
    )
    # A capture without a guard must stand last.
    text = text if pattern not in ("a", "_") else text.replace("        case 1:\n            found = 'one'\n", "")
    program = define(text, **globals())
    converted = plain(program)
    for subject in SUBJECTS:
        for guard in (0, 1):
            expected, got = result(program, subject, guard), result(converted, subject, guard)
            assert repr(expected) == repr(got), (subject, guard)


def literals(x, n):
    match n:
        case 0:
            y = x
        case 1 | 2:
            y = x * 2
        case k if k > 10:
            y = x * k
        case _:
            y = -x
    return y


def of_a_computed_number(x, n):
    for _ in range(n):
        match int(x.sum()) % 4:
            case 0:
                x = x + 1
            case 1 | 2 as rest:
                x = x + rest
            case rest if rest > x[0]:
                return x * rest
            case _:
                break
    return x + 0.5


def tuples(x, n):
    match (x.sum(), x[0]):
        case (0, _) | (_, 0):
            return x
        case (total, 1.0) if n > total:
            return x * total
        case (1.0, first) | (first, 1.0):
            return x - first
        case [total, *rest] if total < 0:
            return x * len(rest)
        case total, _:
            return x / total


def the_class_of_a_traced_value(x, n):
    match x:
        case [_, *_]:
            kind = 1
        case np.ndarray(ndim=1, size=size):
            kind = size
        case _:
            kind = 3
    match x.sum():
        case {"a": 1}:
            kind += 100
        case float(total):
            kind = kind + total
        case _:
            kind += 300
    match x[0] > 0, n > 1:
        case True, _:  # of NumPy's truths none is True
            kind += 1000
        case _, True:
            kind = kind + 2000
        case _, False:
            kind = kind + 3000
    return kind


CAPTURED = [literals, of_a_computed_number, tuples, the_class_of_a_traced_value]
ROWS = [np.array(row) for row in ([0.0, 0.0], [1.0, 0.5], [0.25, 0.75], [-3.0, 1.0], [1.0, 3.0, 7.0], [2.0, 5.0, 9.0])]


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("how", ["compile", "static", "script"])
def test_a_captured_match_decides_as_python_does(program: Any, how: str) -> None:
    if how == "script" and program is the_class_of_a_traced_value:
        with pytest.raises(CaptureError, match="a sequence pattern on a value of which the type"):
            weft.script(program)
        return
    dynamic = False if how == "static" else None
    made = weft.script(program) if how == "script" else weft.compile(program, dynamic=dynamic)
    for x in ROWS:
        for n in (0, 1, 2, 3, 20):
            _same("the result", made(x.copy(), n), program(x.copy(), n), 0.0)


def test_one_graph_holds_all_cases() -> None:
    @weft.compile
    def program(x):
        match x.max():
            case 3.0:
                return x
            case 4.0 | 5.0:
                return -x
        return x * 2

    for top in (3.0, 4.0, 5.0, 6.0):
        x = np.array([0.5, top])
        assert program(x).tolist() == (x * {3.0: 1, 6.0: 2}.get(top, -1)).tolist()
    assert program.cache_info().misses == 1


def test_a_mode_is_part_of_what_a_graph_depends_on() -> None:
    @weft.compile
    def program(x, mode):
        match mode:
            case {"scale": by}:
                return x * by
            case "up" | "down" as way:
                return x + (1 if way == "up" else -1)
            case Colour.RED:
                return x * 0
        return None

    x = np.array([1.0, 2.0])
    for mode in ({"scale": 2.0}, "up", "down", Colour.RED, {"scale": 3.0}, "other", "up"):
        _same(str(mode), program(x, mode), program.__weft_original__(x, mode), 0.0)


def test_trace_follows_cases_of_known_values() -> None:
    def program(x, mode):
        match mode, x.shape:
            case "sum", (_, _):
                return x.sum(axis=0)
            case "sum", (n,):
                return x / n

    assert weft.trace(program, np.ones((2, 3)), "sum")(np.ones((2, 3)), "sum").tolist() == [2.0] * 3
    assert weft.trace(program, np.ones(4), "sum")(np.ones(4), "sum").tolist() == [0.25] * 4


def test_trace_refuses_a_case_that_a_value_decides() -> None:
    def program(x):
        match x.sum():
            case 0.0:
                return x
        return -x

    with pytest.raises(CaptureError, match="a branch on a traced value") as caught:
        weft.trace(program, np.ones(3))
    assert "case 0.0:" in str(caught.value)
