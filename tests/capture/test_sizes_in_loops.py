"""Sizes of slices that move with a loop: those that its range keeps inside are known, others are taken to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from capture.converting import define
from programs._compare import assert_same, call
from weft.errors import CaptureError, ShapeError

# By what a loop over `i` runs over, what it computes of a and b, matrices with rows of one length, and vectors x and w.
BODIES = {
    "range(a.shape[1])": """
        a[:, i:i+1] @ b[:, i:i+1].T
        np.dot(a[:, i:i+1], b[:, i:i+1].T)
        np.tensordot(a[:, i:i+1], b[:, i:i+1], axes=([1], [1]))
        np.inner(a[:, i:i+1], b[:, i:i+1])
        np.einsum("ij,kj->ik", a[:, i:i+1], b[:, i:i+1])
        np.squeeze(b[:, i:i+1], axis=1) * 2
        np.squeeze(a[:, i:i+1]) * 2
        b[:, i:i+1].reshape(len(b))
        b[:, i:i+1].reshape(-1)
        np.hstack([b[:, i:i+1], np.ones((len(b), 1))])
        np.vstack([b[:, i:i+1], [[2.0]]])
        np.stack([b[0, i:i+1], w[:1]])
        b[0, i:i+1].item() + 1
        np.linalg.det(b[:1, i:i+1])
        np.vdot(b[:, i:i+1], b[:, :1])
        """,
    "range(len(x) - len(w) + 1)": """
        x[i:i+len(w)] * w
        x[i:i+len(w)] @ w
        np.outer(x[i:i+len(w)], w).reshape(len(w) ** 2)
        """,
    "range(len(x) // len(w))": """
        x[len(w) * i:len(w) * (i + 1)] * w
        x[i * len(w):i * len(w) + len(w)] * w
        """,
    "range(len(w) - 1, len(x))": "x[i-len(w)+1:i+1] * w",
    "range(1, a.shape[1] - 1)": "a[:, i-1:i+2] @ np.arange(3)",
    "range(1, len(x) + 1)": "x[:i] @ x[-i:] + x[:i] @ x[:i][::-1]",
}
PROGRAMS = [(rows, body.strip()) for rows, bodies in BODIES.items() for body in bodies.strip().splitlines()]


def _arguments(columns: int, size: int) -> tuple[Any, ...]:
    drawn = np.random.default_rng(columns)
    shapes = ((3, columns), (5, columns), (size,), (3,))
    return tuple(drawn.normal(size=shape) for shape in shapes)


@pytest.mark.parametrize(("rows", "body"), PROGRAMS)
def test_captured_whole(rows: str, body: str) -> None:
    text = f"def program(a, b, x, w):\n    t = 0.0\n    for i in {rows}:\n        t = t + {body}\n    return t\n"
    program = define(text, np=np)
    compiled, scripted = weft.compile(program), weft.script(program)
    for arguments in (_arguments(4, 9), _arguments(6, 7)):
        for captured in (compiled, scripted):
            assert_same(call(captured, arguments), call(program, arguments))


def test_sizes_that_do_not_fit_raise_where_they_are_met() -> None:
    def program(a: Any, b: Any) -> Any:
        t = np.zeros((3, 5))
        for i in range(a.shape[1]):
            t += a[:, i : i + 1] @ b[:, i : i + 1].T
        return t

    a, b, *_ = _arguments(4, 9)
    compiled = weft.compile(program)
    assert_same(call(compiled, (a, b)), call(program, (a, b)))
    with pytest.raises(ValueError, match="matmul"):
        compiled(a, b[:, :2])


def test_a_rank_that_only_running_tells() -> None:
    def columns(a: Any, b: Any) -> int:
        total = 0
        for i in range(a.shape[1]):
            total += np.squeeze(b[:, i : i + 1]).ndim
        return total

    def selected(x: Any, _: Any) -> int:
        return np.squeeze(x[x > 0]).ndim + x[x > 0].squeeze().ndim

    a, b, *_ = _arguments(4, 9)
    assert weft.compile(columns)(a, b) == columns(a, b)
    for x in (np.array([1.0, -1.0]), np.array([1.0, 1.0])):
        assert weft.compile(selected)(x, x) == selected(x, x)
    with pytest.raises(CaptureError, match=r"squeeze(.|\n)*help: name the dimensions to leave out"):
        weft.grad(lambda x: np.sum(np.squeeze(x[x > 0]) ** 2))(a[0])


def _narrow(a: Any, b: Any) -> Any:
    a = a * 1
    if a[0] > 100:
        a[:1] -= b[:2]
    return np.sum(a)


def _flat(a: Any, b: Any) -> Any:
    a = a * 1
    if a[0] > 100:
        np.add(a, b[None], out=a)
    return np.sum(a)


@pytest.mark.parametrize("program", [_narrow, _flat])
def test_writes_that_never_fit_raise_where_they_are_reached(program: Any) -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    compiled = weft.compile(program)
    assert_same(call(compiled, (a, b)), call(program, (a, b)))
    assert_same(call(compiled, (a * 1000, b)), call(program, (a * 1000, b)))
    np.testing.assert_array_equal(weft.grad(program)(a, b), np.ones(3))
    assert weft.jvp(program, (a, b), (a, b)) == (6.0, 6.0)
    with pytest.raises(ShapeError, match="non-broadcastable output operand with shape"):
        weft.jvp(program, (a * 1000, b), (a, b))


def test_sizes_computed_from_what_is_gone() -> None:
    def program(a: Any, s: Any) -> Any:
        b = a * 1
        b[: 1 % len(b) + 1]
        return s + np.sum(a)

    a = np.array([1.0, 2.0, 3.0])
    assert weft.jvp(program, (a, 1.0), (a, 2.0)) == (7.0, 8.0)
    assert weft.grad(program, 1)(a, 1.0) == 1.0
