"""Loops whose first turn finds a dict without a key, an object without an attribute, or a number of another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError


class Box:
    """An object to which programs add attributes."""


class Slots:
    __slots__ = ("v",)


class Inheriting:
    v = 0.0


class Momentum:
    def __init__(self) -> None:
        self.m: dict[str, Any] = {}

    def step(self, w, g):
        if "w" not in self.m:
            self.m["w"] = np.zeros_like(w)
        self.m["w"] = 0.9 * self.m["w"] + g
        return w - 0.1 * self.m["w"]


def in_a_method(w):
    opt = Momentum()
    for _ in range(12):
        w = opt.step(w, 2 * w)
    return np.sum(w)


def not_in(w):
    m = {}
    for _ in range(12):
        if "w" not in m:
            m["w"] = 0.0 * w
        m["w"] = 0.9 * m["w"] + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def in_an_expression(w):
    m = {}
    for _ in range(12):
        v = m["w"] if "w" in m else 0.0 * w
        m["w"] = 0.9 * v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def get_with_default(w):
    m = {}
    for _ in range(12):
        m["w"] = 0.9 * m.get("w", 0.0) + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def get_without_default(w):
    m = {}
    for _ in range(12):
        v = m.get("w")
        m["w"] = w if v is None else 0.9 * v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def truth_of_a_dict(w):
    m = {}
    for _ in range(12):
        if m:
            m["w"] = 0.9 * m["w"] + w
        else:
            m["w"] = w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def a_dict_or(w):
    m = {}
    for _ in range(12):
        v = (m or {"w": 0.0 * w})["w"]
        m["w"] = 0.9 * v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def equal_to_empty(w):
    m = {}
    for _ in range(12):
        v = 0.0 * w if m == {} else m["w"]
        m["w"] = 0.9 * v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def length_of_a_dict(w):
    m = {}
    for _ in range(12):
        m["w"] = 0.9 * (m["w"] if len(m) else 0.0) + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def items_of_a_dict(w):
    m = {}
    for _ in range(12):
        total = 0.0 * w
        for key, value in m.items():
            total = total + (value if key == "w" else 0.0)
        m["w"] = 0.9 * total + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def keys_of_a_dict(w):
    m = {}
    for _ in range(12):
        total = 0.0 * w
        for key in m:
            total = total + m[key]
        m["w"] = 0.9 * total + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def a_key_that_is_missing(w):
    m = {}
    for _ in range(12):
        try:
            v = m["w"]
        except KeyError:
            v = 0.0 * w
        m["w"] = 0.9 * v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def has_attribute(w):
    s = Box()
    for _ in range(12):
        if not hasattr(s, "v"):
            s.v = 0.0 * w
        s.v = 0.9 * s.v + w
        w = w - 0.1 * s.v
    return np.sum(w)


def attribute_with_default(w):
    s = Box()
    for _ in range(12):
        s.v = 0.9 * getattr(s, "v", 0.0) + w
        w = w - 0.1 * s.v
    return np.sum(w)


def an_attribute_that_is_missing(w):
    s = Box()
    for _ in range(12):
        try:
            v = s.v
        except AttributeError:
            v = 0.0 * w
        s.v = 0.9 * v + w
        w = w - 0.1 * s.v
    return np.sum(w)


def attributes_of_an_object(w):
    s = Box()
    for _ in range(12):
        v = s.v if "v" in vars(s) else 0.0 * w
        s.v = 0.9 * v + w
        w = w - 0.1 * s.v
    return np.sum(w)


def asked_in_an_inner_loop(w):
    m = {}
    for _ in range(12):
        v = 0.0 * w
        for _ in range(10):
            if "w" in m:
                v = v + 0.09 * m["w"]
        m["w"] = v + w
        w = w - 0.1 * m["w"]
    return np.sum(w)


def two_keys(w):
    m, n = {}, {}
    for k in range(12):
        m["w"] = 0.9 * m.get("w", 0.0) + w
        n["w"] = n.get("w", 0) + k
        w = w - 0.1 * m["w"] / (1 + n["w"])
    return np.sum(w)


def asks_for_int(w):
    t = 1
    for _ in range(12):
        t = t / 2 if isinstance(t, int) else t + w[0]
    return t


def asks_for_type(w):
    t = 1
    for _ in range(12):
        t = t / 2 if type(t) is int else t + w[0]
    return t


def asks_what_comes_of_it(w):
    t = 1
    for _ in range(12):
        u = t * 2
        t = u / 4 if isinstance(u, int) else t + w[0]
    return t


def matches_a_class(w):
    t = 1
    for _ in range(12):
        match t:
            case int():
                t = t / 2
            case _:
                t = t + w[0]
    return t


def asks_for_float_of_python(w):
    t = 1.0
    for _ in range(12):
        t = t / 2 + w[0] if type(t) is float else t + w[0]
    return t


def asks_for_dtype(w):
    t = 1.0
    for _ in range(12):
        t = t + 2 * w[0] if hasattr(t, "dtype") else t / 2 + w[0]
    return t


def asks_in_a_loop_around(w):
    t = 1
    for _ in range(12):
        for _ in range(10):
            t = t / 2 if isinstance(t, int) else t * 0.9 + w[0]
    return t


def asks_for_dtype_of_an_array(w):
    t = 0
    for _ in range(12):
        t = t + w[0] * (1 if np.asarray(t).dtype == float else 3)
    return t


def asks_numpy_for_the_type(w):
    t = 0
    for _ in range(12):
        t = t + w[0] * (1 if np.result_type(t) == np.float64 else 3)
    return t


def unpacked(w):
    m, total = {}, 0.0
    for _ in range(12):
        total = 2 * total + len([*m]) * w[1]
        m["w"] = w
    return total


def unpacked_in_an_inner_loop(w):
    total = 0
    for _ in range(12):
        m = {}
        for _ in range(10):
            total = 1.5 * total + len([*m]) * w[1]
            m["w"] = w
    return total


def matched(w):
    m, total = {}, 0.0
    for _ in range(12):
        match m:
            case {"w": _}:
                total = 2 * total + w[0]
            case _:
                total = 2 * total + w[1]
        m["w"] = w
    return total


def any_exception(w):
    m, total = {}, 0.0
    for _ in range(12):
        try:
            m["w"]
            n = 2
        except Exception:  # what is tested: it catches everything
            n = 1
        total = 2 * total + n * w[1]
        m["w"] = w
    return total


def in_slots(w):
    s = Slots()
    for k in range(12):
        s.v = (s.v if hasattr(s, "v") else 0.0) * 0.5 + w[0] * k
    return s.v


def left_early(w):
    m = {}
    for x in w * np.arange(24.0).reshape(12, 2):
        m["v"] = m.get("v", 0.0) * 0.5 + x
        if m["v"].sum() > 20:
            break
    return m["v"].sum()


def many_turns(w):
    m = {}
    for _ in range(3000):
        m["w"] = 0.5 * m.get("w", 0.0) + w
        w = 0.999 * w
    return m["w"].sum()


def many_turns_of_another_type(w):
    t = 1
    for _ in range(3000):
        t = t / 2 + 20 if type(t) is int else 0.999 * t + 0.01 * w[0]
    return t


def counted_by_a_value(w):
    m = {}
    for _ in range(int(w[0] * 7)):
        m["v"] = (m["v"] if "v" in m else 0.0 * w) * 0.5 + w
        w = 0.8 * w
    return m["v"].sum()


def until_small_with_dicts(w):
    m, n = {}, {}
    while np.abs(w).max() > 0.05:
        if "w" not in m:
            m["w"] = 0.0 * w
        if "w" not in n:
            n["w"] = 0
        m["w"] = 0.5 * m["w"] + w
        n["w"] += 1
        w = 0.7 * w + 0.01 * m["w"] / n["w"]
    return w.sum() + n["w"] + m["w"].sum()


def until_small_with_an_attribute(w):
    s = Box()
    while np.abs(w).max() > 0.05:
        s.v = 0.5 * s.v + w if hasattr(s, "v") else w
        w = 0.8 * w
    return s.v.sum()


def until_small_with_a_default(w):
    s = Box()
    while np.abs(w).max() > 0.05:
        s.v = 0.5 * getattr(s, "v", 0.0) + w.sum()
        w = 0.8 * w
    return s.v


def of_its_own(w):
    s, total = Inheriting(), 0.0
    for k in range(12):
        total = 2 * total + (1 if "v" in s.__dict__ else 3) + len(vars(s))
        s.v = s.v * 0.5 + w[0] * k
    return total + s.v


PROGRAMS = [
    of_its_own,
    unpacked,
    unpacked_in_an_inner_loop,
    matched,
    any_exception,
    in_slots,
    left_early,
    many_turns,
    many_turns_of_another_type,
    counted_by_a_value,
    until_small_with_dicts,
    until_small_with_an_attribute,
    until_small_with_a_default,
    asks_for_dtype_of_an_array,
    asks_numpy_for_the_type,
    in_a_method,
    not_in,
    in_an_expression,
    get_with_default,
    get_without_default,
    truth_of_a_dict,
    a_dict_or,
    equal_to_empty,
    length_of_a_dict,
    items_of_a_dict,
    keys_of_a_dict,
    a_key_that_is_missing,
    has_attribute,
    attribute_with_default,
    an_attribute_that_is_missing,
    attributes_of_an_object,
    asked_in_an_inner_loop,
    two_keys,
    asks_for_int,
    asks_for_type,
    asks_what_comes_of_it,
    matches_a_class,
    asks_for_float_of_python,
    asks_for_dtype,
    asks_in_a_loop_around,
]
W = np.array([1.0, 2.0])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_first_turn_differs(program: Callable[..., Any]) -> None:
    expected = program(W)
    np.testing.assert_allclose(weft.compile(program)(W), expected)
    np.testing.assert_allclose(weft.script(program)(W), expected)
    np.testing.assert_allclose(weft.vmap(program)(np.stack([W, 2 * W])), [expected, program(2 * W)])
    np.testing.assert_allclose(weft.value_and_grad(program)(W)[0], expected)


def test_only_the_first_turn_is_written_out() -> None:
    compiled = weft.compile(get_with_default)
    compiled(W)
    targets = [node.target for node in compiled.graph.nodes]
    assert targets.count(weft.fori_loop) == 1
    assert len(targets) < 12


def test_a_loop_that_only_adds_stays_whole() -> None:
    def program(w):
        s = Box()
        for k in range(12):
            s.v = w * k
            w = w + 0.1 * s.v
        return s.v.sum() + w.sum()

    compiled = weft.compile(program)
    np.testing.assert_allclose(compiled(W), program(W))
    loop = next(node for node in compiled.graph.nodes if node.target is weft.fori_loop)
    assert loop.args[:2] == (0, 12)


def test_a_key_that_no_turn_added() -> None:
    def program(w):
        m = {}
        while w.max() > 50:
            m["v"] = m.get("v", 0.0) * 0.5 + w.sum()
            w = 0.8 * w
        return m["v"]

    with pytest.raises(KeyError, match="'v'"):
        weft.vmap(program)(np.stack([W, W]))
    with pytest.raises(KeyError, match="'v'"):
        weft.value_and_grad(program)(W)


def while_default_of_another_type(w):
    m = {}
    while np.abs(w).max() > 0.05:
        m["w"] = 0.5 * m.get("w", 0.0) + w
        w = 0.8 * w
    return m["w"].sum()


def while_unpacked(w):
    m, total = {}, 0.0
    while np.abs(w).max() > 0.05:
        total = 2 * total + len([*m]) * w[1]
        m["w"] = w
        w = 0.8 * w
    return total


def while_type(w):
    t = 1
    while np.abs(w).max() > 0.05:
        t = t / 2 if isinstance(t, int) else t + w[0]
        w = 0.8 * w
    return t


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (while_default_of_another_type, r"whether there is \['w'\] is known only when the graph runs"),
        (while_unpacked, r"depends on whether there is \['w'\], which it adds"),
        (while_type, "asks for a type that depends on the iteration: t is a number of type int before it"),
    ],
)
def test_what_no_turn_can_be_written_out_for_is_refused(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        weft.value_and_grad(program)(W)
