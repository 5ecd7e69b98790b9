"""Values of tensors that leave for NumPy or Python: where their derivative is lost unasked, a warning says so."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import grad, no_grad

NUMBER = weft.tensor(2.0, requires_grad=True)
ROW = weft.tensor([1.0, 2.0], requires_grad=True)
PAIR = [NUMBER, NUMBER]


def write_number() -> None:
    array = np.zeros(2)
    array[0] = NUMBER


def write_row() -> None:
    np.zeros(2)[:] = ROW


LOSING: list[Callable[[], Any]] = [
    lambda: np.array([NUMBER, 1.0]),
    lambda: np.array(PAIR),
    lambda: np.array([ROW, ROW]),
    lambda: np.full(3, NUMBER),
    lambda: np.sum([NUMBER, NUMBER]),
    lambda: np.ones(2) * [NUMBER, 1.0],
    lambda: np.add(np.ones(2), [NUMBER, NUMBER]),
    lambda: np.linalg.norm([NUMBER, NUMBER]),
    lambda: weft.Tensor([NUMBER, NUMBER]),
    lambda: math.exp(NUMBER),
    lambda: sqrt(NUMBER),
    write_number,
    write_row,
]
MEANT: list[Callable[[], Any]] = [
    lambda: np.asarray(ROW),
    lambda: np.array(ROW, np.float32),
    lambda: np.asarray(ROW * 2),
    lambda: float(NUMBER),
    lambda: math.exp(float(NUMBER)),
    lambda: [*map(float, ROW)],
    lambda: "%.2f" % NUMBER,  # noqa: UP031  # the way of writing it is what is tried
    lambda: f"{NUMBER:.2f} {ROW}",
    lambda: np.array(ROW.tolist()),
    lambda: np.sum(ROW.numpy()),
    lambda: np.array([NUMBER.detach(), 1.0]),
    lambda: np.testing.assert_allclose(ROW, [1.0, 2.0]),
    lambda: np.array_equal(ROW, [1.0, 2.0]),
]


@pytest.mark.parametrize("lose", LOSING)
def test_a_loss_is_said_on_the_line_of_the_program(lose: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match="forgotten; weft's functions keep it") as said:
        lose()
    assert {warning.filename for warning in said} == {__file__}
    with warnings.catch_warnings(), no_grad():
        warnings.simplefilter("error")
        lose()


@pytest.mark.parametrize("read", MEANT)
def test_what_is_meant_is_quiet(read: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read()


def test_what_keeps_the_derivative() -> None:
    kept = [np.stack([NUMBER, 1.0]), weft.full(3, NUMBER), weft.asarray([NUMBER]), np.add.reduce(weft.stack([NUMBER]))]
    assert [grad(made.sum(), NUMBER)[0].item() for made in kept] == [1.0, 3.0, 1.0, 1.0]


def test_a_captured_program_that_writes_into_arrays_has_all_derivatives() -> None:
    def cubes(x: Any) -> Any:
        y = np.zeros(3)
        for i in range(len(x)):
            y[i] = x[i] ** 3
        return (y**2).sum()

    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    first = weft.grad(cubes)(x)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    np.testing.assert_allclose(first, 6 * x.numpy() ** 5)
    np.testing.assert_allclose(second, 30 * x.numpy() ** 4)
    np.testing.assert_allclose(third, 120 * x.numpy() ** 3)


def test_the_gradient_by_an_array_is_none_on_the_tape() -> None:
    weights = weft.tensor([2.0, 3.0], requires_grad=True)

    def squares(x: Any) -> Any:
        y = np.zeros(3)
        for i in range(3):
            y[i] = (weights * x).sum() * i
        return (y**2).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = weft.grad(squares)(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, [160.0, 240.0])
    assert not getattr(found, "requires_grad", False)
