"""`cond`, `switch`, `while_loop`, `fori_loop`, `scan` run at once: against plain Python, with gradients, refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import ControlError, ShapeError
from weft.graph._control import check, fail


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Box:
    low: Any
    high: Any


@pytest.mark.parametrize("pred", [True, False, np.bool_(True), np.array(0), np.array([1.5]), 0.0, 2, weft.tensor(True)])
def test_cond_calls_one_branch(pred: Any) -> None:
    calls: list[str] = []
    result = weft.cond(pred, lambda x, y: (calls.append("true"), x + y)[1], lambda x, y: x - y, 5, 2)
    assert result == (7 if bool(pred) else 3) and calls == (["true"] if bool(pred) else [])


def test_switch_clamps() -> None:
    branches = [lambda x: x + 1, lambda x: x * 10, lambda x: -x]
    found = [weft.switch(i, branches, 3) for i in (-5, 0, 1, 2, 3, np.int8(1), np.array([2]), weft.tensor(0))]
    assert found == [4, 4, 30, -3, -3, 30, -3, 4]


@settings(deadline=None, max_examples=60)
@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-3, 3).filter(bool))
def test_fori_loop_is_range(lower: int, upper: int, step: int) -> None:
    found = weft.fori_loop(lower, upper, lambda i, s: Point(s.x * 3 + i, s.y + 1), Point(1, 0), step=step)
    expected = Point(1, 0)
    for i in range(lower, upper, step):
        expected = Point(expected.x * 3 + i, expected.y + 1)
    assert found == expected and type(found) is Point


def test_while_loop_keeps_the_structure() -> None:
    found = weft.while_loop(
        lambda s, limit: s["box"].low < limit,
        lambda s, limit: {"box": Box(s["box"].low * 2, s["box"].high + s["n"]), "n": s["n"] + 1},
        {"box": Box(1.0, np.zeros(2)), "n": 0},
        20,
    )
    assert found["box"].low == 32.0 and found["n"] == 5 and found["box"].high.tolist() == [10.0, 10.0]


def test_a_loop_that_does_not_run_returns_the_start_itself() -> None:
    start = np.ones(3)
    assert weft.while_loop(lambda s: False, lambda s: s + 1, start) is start
    assert weft.fori_loop(3, 3, lambda i, s: s + 1, start) is start


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_stacks(reverse: bool) -> None:
    rng = np.random.default_rng(0)
    xs = {"a": rng.normal(size=(4, 2)), "b": np.arange(4)}

    def step(s: Any, x: Any, w: Any) -> Any:
        return s * w + x["a"], (s, {"twice": x["b"] * 2, "none": None}, 1.5)

    state, (before, rest, constant) = weft.scan(step, np.zeros(2), xs, 0.5, reverse=reverse)
    s, rows = np.zeros(2), []
    for i in reversed(range(4)) if reverse else range(4):
        rows.append(s)
        s = s * 0.5 + xs["a"][i]
    np.testing.assert_array_equal(state, s)
    np.testing.assert_array_equal(before, rows[::-1] if reverse else rows)
    assert rest["none"] is None and rest["twice"].tolist() == [0, 2, 4, 6] and rest["twice"].dtype == np.int64
    assert constant.tolist() == [1.5] * 4


def test_scan_without_rows_or_without_xs() -> None:
    state, ys = weft.scan(lambda s, x: (s * 2, s), 1, length=4)
    assert state == 16 and ys.tolist() == [1, 2, 4, 8]
    start = np.ones(3, np.float32)
    state, (a, b, c) = weft.scan(
        lambda s, x: (s + x, (s, x.astype(np.int16), None)), start, np.zeros((0, 3), np.float32)
    )
    assert state is start and c is None
    assert (a.shape, a.dtype) == ((0, 3), np.float32) and (b.shape, b.dtype) == ((0, 3), np.int16)
    assert weft.scan(lambda s, x: (s, 1 / x), 0.0, np.zeros(0))[1].shape == (0,)


# Gradients


def numerical(f: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    gradient, h = np.zeros_like(x), 1e-6
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        gradient[i] = (float(f(up)) - float(f(down))) / (2 * h)
    return gradient


def _cond(x: Any) -> Any:
    return weft.cond(x[0] > 0, lambda v: (v * v).sum(), lambda v: weft.exp(v).sum(), x)


def _switch(x: Any) -> Any:
    return weft.switch(1, [weft.sum, lambda v: (weft.sin(v) * v).sum()], x)


def _while(x: Any) -> Any:
    return weft.while_loop(lambda s: s[1] < 3, lambda s: (weft.tanh(s[0] * 1.5) + x, s[1] + 1), (x, 0))[0].sum()


def _fori(x: Any) -> Any:
    return weft.fori_loop(0, 4, lambda i, s: weft.sin(s) * (i + 1) + x, x * 0).sum()


def _scan(x: Any) -> Any:
    last, ys = weft.scan(lambda s, r, w: (weft.tanh(s + r * w), s * r), x[0] * 0, x, 0.7, reverse=True)
    return (ys * weft.arange(3.0)).sum() + last * last


@pytest.mark.parametrize("f", [_cond, _switch, _while, _fori, _scan])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gradients_flow(f: Callable[[Any], Any], sign: float) -> None:
    x = sign * np.array([0.3, -0.8, 1.1])
    t = weft.tensor(x, requires_grad=True)
    y = f(t)
    y.backward()
    np.testing.assert_allclose(y.numpy(), f(x), rtol=1e-14)  # the same operations in the same order
    # Central differences with h = 1e-6 are good to about 1e-9 here.
    np.testing.assert_allclose(t.grad.numpy(), numerical(f, x), rtol=1e-7, atol=1e-8)


# Refusals


def _say(message: str) -> str:
    return re.escape(message)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: weft.cond(np.ones(3), abs, abs, 1),
            ShapeError,
            "cond: pred is one truth value, got an array of shape (3,)",
        ),
        (lambda: weft.cond("yes", abs, abs, 1), ControlError, "cond: pred is a truth value, got str 'yes'"),
        (lambda: weft.cond(True, 1, 2), ControlError, "cond: true_fn is a function (or a Graph), got int 1"),
        (lambda: weft.cond(True, abs, weft.Graph(), 2), ControlError, "are Graphs and some are functions"),
        (lambda: weft.switch(0.5, [abs], 1), ControlError, "switch: index is an integer, got float 0.5"),
        (
            lambda: weft.switch(np.ones(2, int), [abs], 1),
            ControlError,
            "switch: index is an integer, got an array int64[2]",
        ),
        (lambda: weft.switch(0, [], 1), ControlError, "switch: branches is a list of functions, at least one"),
        (lambda: weft.switch(0, abs, 1), ControlError, "switch: branches is a list of functions, at least one"),
        (lambda: weft.fori_loop(0, 2.5, abs, 1), ControlError, "fori_loop: upper is an integer, got float 2.5"),
        (lambda: weft.fori_loop(0, 2, abs, 1, step=0), ValueError, "fori_loop: step is 0"),
        (lambda: weft.fori_loop(0, 2, 3, 1), ControlError, "fori_loop: body_fn is a function"),
        (
            lambda: weft.fori_loop(0, 2, lambda i, s: {"a": [s["a"][0] + 0.5]}, {"a": [1]}),
            ControlError,
            "fori_loop: init['a'][0] is an int, but body_fn gives a float",
        ),
        (
            lambda: weft.fori_loop(0, 2, lambda i, s: Point(s.x, s.y[1:]), Point(1.0, np.ones(3))),
            ControlError,
            "fori_loop: init.y is float64[3], but body_fn gives float64[2]",
        ),
        (
            lambda: weft.fori_loop(0, 2, lambda i, s: s * np.ones(2), np.ones(2, np.float32)),
            ControlError,
            "fori_loop: init is float32[2], but body_fn gives float64[2]",
        ),
        (
            lambda: weft.while_loop(lambda s: True, lambda s: (s, s), 1),
            ControlError,
            "while_loop: init is *, but body_fn gives (*, *)",
        ),
        (
            lambda: weft.while_loop(lambda s: s, lambda s: s, np.ones(2)),
            ShapeError,
            "while_loop: the result of cond_fn is one truth value",
        ),
        (
            lambda: weft.while_loop(lambda s: None, lambda s: s, 1),
            ControlError,
            "the result of cond_fn is a truth value",
        ),
        (
            lambda: weft.scan(lambda s, x: s, 0, np.ones(2)),
            ControlError,
            "scan: f returns a pair (state, y), got a int",
        ),
        (lambda: weft.scan(lambda s, x: (s, x), 0, {"a": 1.0}), ControlError, "scan: xs['a'] is read row by row"),
        (lambda: weft.scan(lambda s, x: (s, x), 0), ControlError, "scan: there are no arrays in xs"),
        (
            lambda: weft.scan(lambda s, x: (s, x), 0, (np.ones(2), np.ones(3))),
            ShapeError,
            "scan: xs[1] has 3 rows, xs[0] has 2",
        ),
        (
            lambda: weft.scan(lambda s, x: (s, x), 0, np.ones(2), length=3),
            ShapeError,
            "scan: xs has 2 rows, length is 3",
        ),
        (lambda: weft.scan(lambda s, x: (s, s), 0, length=-1), ShapeError, "scan: length is -1"),
        (
            lambda: weft.scan(lambda s, x: (s + 1, np.ones(s + 1)), 0, length=3),
            ControlError,
            "scan: the first y is float64[1], but f gives float64[2]",
        ),
        (
            lambda: weft.scan(lambda s, x: (s, "y"), 0, length=2),
            ControlError,
            "scan: f gives a str, which cannot be stacked",
        ),
    ],
)
def test_refusals(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=_say(message)) as caught:
        call()
    if issubclass(kind, weft.errors.WeftError):
        assert "test_control_eager.py" in str(caught.value)


@pytest.mark.parametrize(
    ("init", "step"),
    [
        (0, np.int64(1)),
        (0, np.int32(1)),
        (0.0, np.float32(1)),
        (np.float32(0), 1.0),
        (True, np.bool_(False)),
        (0j, np.complex64(1)),
    ],
)
def test_numbers_of_one_kind_are_interchangeable(init: Any, step: Any) -> None:
    assert weft.fori_loop(0, 3, lambda i, s: step, init) == step


# Traced values


class Recorded:
    """Answers calls of control flow, and knows what it was asked."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __weft_control__(self, primitive: Any, args: Any, kwargs: Any) -> Any:
        self.calls.append((primitive, args, kwargs))
        return "recorded"


class Louder(Recorded):
    __weft_priority__ = 7


def test_a_traced_value_answers_wherever_it_stands() -> None:
    t, add = Recorded(), lambda *a: 0
    calls: list[Any] = [
        (weft.cond, (t, add, add, 1), {}),
        (weft.cond, (True, add, add, {"a": [1, t]}), {}),
        (weft.switch, (t, [add]), {}),
        (weft.while_loop, (add, add, (1, t)), {}),
        (weft.fori_loop, (0, t, add, 1), {"step": 1}),
        (weft.fori_loop, (0, 3, add, 1, t), {"step": 2}),
        (weft.scan, (add, 0, t), {"length": None, "reverse": True}),
        (weft.scan, (add, 0, None), {"length": t, "reverse": False}),
    ]
    for primitive, args, kwargs in calls:
        assert primitive(*args, **kwargs) == "recorded"
        assert t.calls.pop() == (primitive, args, kwargs)
    check(t, "why")
    assert t.calls.pop() == (check, (t, "why"), {})
    loud = Louder()
    assert weft.cond(t, add, add, loud) == "recorded" and loud.calls and not t.calls


def test_a_traced_value_that_turns_up_in_a_loop_answers() -> None:
    t = Recorded()
    assert weft.while_loop(lambda s: t, lambda s: s, 1) == "recorded"
    assert weft.while_loop(lambda s: True, lambda s: [t], [1]) == "recorded"
    assert weft.fori_loop(0, 5, lambda i, s: t, 1) == "recorded"
    assert weft.scan(lambda s, x: (s, t), 1, length=2) == "recorded"
    assert weft.scan(lambda s, x: (s, t), 1, length=0) == "recorded"
    assert [call[0] for call in t.calls] == [weft.while_loop, weft.while_loop, weft.fori_loop, weft.scan, weft.scan]


# Effects


def test_check_and_fail_do_what_assert_and_raise_do() -> None:
    check(np.array([1]))
    with pytest.raises(AssertionError) as caught:
        check(0)
    assert caught.value.args == ()
    with pytest.raises(AssertionError) as caught:
        check([], ("m", 2))
    assert caught.value.args == (("m", 2),)
    with pytest.raises(KeyError) as raised:
        fail(KeyError, "k", 1)
    assert raised.value.args == ("k", 1)
    with pytest.raises(ZeroDivisionError, match="mine"):
        fail(ZeroDivisionError("mine"))
    with pytest.raises(TypeError, match="exceptions must derive from BaseException"):
        fail(int, 3)
