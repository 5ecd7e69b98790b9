"""Objects, lists and dicts of which a branch, a loop or an index decides which one a variable is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import REFUSED, SAME, fates

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])


class P:
    def __init__(self, v, w=None):
        self.v, self.w = v, w

    def plus(self, k):
        if k > 1:
            self.v = self.v + k
        return self


@dataclasses.dataclass
class D:
    v: Any
    w: Any = None


class Slotted:
    __slots__ = ("v", "w")

    def __init__(self, v, w):
        self.v, self.w = v, w


def new_on_both_sides(x):
    p = P(1.0, x + 1) if x[0] > 0 else P(2.0, x + 2)
    p.v += x[1]
    p.plus(x[2])
    p.w[0] = 7.0
    q = Slotted(x[0], [x[1]]) if x[0] > 0 else Slotted(x[1], [x[2]])
    q.w.append(1.0)
    q.w[0] = q.v
    return p, q.v, q.w


def by_two_names(x):
    if x[0] > 0:
        p = P(1.0)
        q = p
    else:
        p = P(2.0)
        q = p
    q.v += x[1]
    return p.v, q.v, p is q


def by_a_name_on_one_side(x):
    if x[0] > 0:
        p = P(1.0)
        q = p
    else:
        p, q = P(2.0), P(3.0)
    q.v += x[1]
    return p.v, q.v


def held_by_another(x):
    h = P(0.0)
    if x[0] > 0:
        p = P(1.0)
        h.w = p
    else:
        p = P(2.0)
        h.w = p
    p.v = 9.0
    return h.w.v


def held_by_another_on_one_side(x):
    h = P(0.0)
    if x[0] > 0:
        p = P(1.0)
        h.w = p
    else:
        p = P(2.0)
        h.w = P(3.0)
    p.v = 9.0
    return h.w.v


def nested(x):
    if x[0] > 0:
        r = P(P(x[0]), {"a": [x[1]]})
    else:
        r = P(P(x[1]), {"a": [x[2]]})
    r.v.v = 7.0
    r.w["a"].append(x[0])
    r.w["b"] = 1
    return r.v.v, r.w


def lists_of_other_lengths(x):
    p = P(x[0], [1.0, x[1]]) if x[0] > 0 else P(x[1], [])
    return p.v, len(p.w), sum(p.w)


def one_side_goes_on(x):
    if x[0] < -50:
        raise ValueError(x)
    else:  # noqa: RET506  # a side that goes on is what is tested
        p = P(x[0])
        q, items = p, [p, x[1]]
    q.v = 4.0
    items[1] = 2.0
    return p.v, items[0].v, items[1], q is p


def the_best(x):
    best = P(-1e9, 0)
    for i in range(len(x)):
        if x[i] > best.v:
            best = P(x[i], i)
    return best


def each_turn(x):
    p = D(0.0, 0)
    while p.w < 5:
        p = D(p.v + x[0], p.w + 1)
    return p


def by_its_method(x):
    p = P(0.0)
    for v in x:
        p = p.plus(v)
    return p.v


def swapped(x):
    a, b = P(x[0]), P(x[1])
    for v in x:
        a, b = b, a
        if v > 2:
            a = P(a.v + b.v)
    return a.v, b.v


def beside_the_first(x):
    a = P(0.0)
    p = a
    for v in x:
        p = P(p.v + v)
        if v > 100:
            p = a
    return a.v, p.v


def indexed(x):
    ps = [P(1.0), P(2.0), P(3.0)]
    total = 0.0
    for label in np.array([0, 2, 2]) + (x[0] > 0) * 0:
        total += ps[label].v
    return total


def change_of_the_one(x):
    a, b = D(1.0), D(2.0)
    p = a if x[0] > 0 else b
    p.v = 5.0
    return a.v, b.v


def change_of_the_other(x):
    a, b = P(1.0), P(2.0)
    p = a if x[0] > 0 else b
    a.v = 5.0
    return p.v


def change_in_a_list(x):
    a, b = [1.0], [2.0]
    p = a if x[0] > 0 else b
    a[0] = 7.0
    return p[0]


def growth(x):
    a, b = [1.0], [2.0]
    p = a if x[0] > 0 else b
    a.append(7.0)
    return len(p)


def change_in_a_dict(x):
    a, b = {"k": 1.0}, {"k": 2.0}
    p = a if x[0] > 0 else b
    a["k"] = 5.0
    return p["k"]


def change_by_a_method(x):
    a, b = [3.0, 1.0], [2.0, 1.0]
    p = a if x[0] > 0 else b
    a.sort()
    return p[0]


def change_of_what_another_holds(x):
    a, b = P(1.0), P(2.0)
    items = [a, b]
    p = a if x[0] > 0 else b
    items[0].v = 8.0
    return p.v


def change_in_the_loop(x):
    p = P(0.0)
    q = p
    for v in x:
        q.v += v
        p = P(p.v + v)
    return q.v, p.v


def change_after_an_index(x):
    ps = [P(1.0), P(2.0), P(3.0)]
    q = ps[np.argmax(x)]
    ps[2].v = 10.0
    return q.v


def sought(x):
    a, b = P(1.0), P(2.0)
    p = a if x[0] > 0 else b
    return {a: 1, b: 2}[p]


def found(x):
    a, b = P(1.0), P(2.0)
    p = a if x[0] > 0 else b
    return p in [a, 1.0], p == a


def equal(x):
    a, b = P(1.0), P(2.0)
    p = a if x[0] > 0 else b
    return p == a


def both_given_back(x):
    a, b = P(1.0), P(2.0)
    return (a if x[0] > 0 else b), a


CAPTURED = [
    new_on_both_sides, by_two_names, held_by_another, nested, lists_of_other_lengths, one_side_goes_on, the_best,
    each_turn, by_its_method, swapped, beside_the_first, indexed, change_in_the_loop, change_in_a_list, growth,
    change_by_a_method,
]  # fmt: skip
TOLD = [
    by_a_name_on_one_side, held_by_another_on_one_side, change_of_the_one, change_of_the_other, change_in_a_dict,
    change_of_what_another_holds, change_after_an_index, sought, found, equal, both_given_back,
]  # fmt: skip


@pytest.mark.parametrize("program", CAPTURED, ids=lambda program: program.__name__)
def test_one_object_or_another(program: Callable[..., Any]) -> None:
    assert fates(program, (X,), (-X,), (X[::-1].copy(),))[0] == SAME


@pytest.mark.parametrize("program", TOLD, ids=lambda program: program.__name__)
def test_what_only_running_tells_is_refused(program: Callable[..., Any]) -> None:
    assert fates(program, (X,), (-X,))[0] == REFUSED


def test_the_refusal_says_why() -> None:
    with pytest.raises(CaptureError) as caught:
        weft.compile(change_of_the_other)(X)
    line = change_of_the_other.__code__.co_firstlineno + 2
    assert caught.value.message == (
        f".v = … changes a P after the branch at line {line} has left a variable with this one or another: which of "
        "them changes, only running tells"
    )
    assert caught.value.help == "change it before, on each side, or change a copy"
