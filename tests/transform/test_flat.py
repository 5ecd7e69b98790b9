"""Where a slope is 0 and another is infinite, the tape, graphs and compiled steps of the tape give one answer.

A 0 that a program multiplies by is a factor, and inf * 0 is nan. An op that is flat (floor, sign, x ** 0) lets no
gradient pass, so what lies behind it has none, however steep it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

NAN, NOTHING, ONES = [np.nan] * 3, [0.0] * 3, [1.0] * 3

CASES: dict[str, tuple[Any, list[float]]] = {
    "times 0": (lambda x: (np.sqrt(x) * 0).sum(), NAN),
    "0 times": (lambda x: (0 * np.sqrt(x)).sum(), NAN),
    "times 0.0": (lambda x: (np.sqrt(x) * 0.0).sum(), NAN),
    "times zeros": (lambda x: (np.sqrt(x) * np.zeros(3)).sum(), NAN),
    "times False": (lambda x: (np.sqrt(x) * False).sum(), NAN),
    "over inf": (lambda x: (np.log(x) / np.inf).sum(), NAN),
    "power 0": (lambda x: (np.log(x) ** 0).sum() + x.sum(), ONES),
    "floor": (lambda x: np.floor(np.sqrt(x)).sum() + (x * 0).sum(), NOTHING),
    "floor times x": (lambda x: (np.floor(np.sqrt(x)) * x).sum(), NOTHING),
    "whole division": (lambda x: (np.sqrt(x) // 2).sum() + x.sum(), ONES),
    "sign of two": (lambda x: (np.sign(np.sqrt(x) + np.log(x + 1)) + x).sum(), ONES),
    "heaviside": (lambda x: (np.heaviside(np.sqrt(x), 0.5) * x).sum(), [0.5] * 3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_answer_everywhere(name: str) -> None:
    function, expected = CASES[name]

    def on_tape(called: Any) -> Any:
        x = weft.tensor(np.zeros(3), requires_grad=True)
        called(x).backward()
        return x.grad.numpy()

    def by_grad() -> Any:
        x = weft.tensor(np.zeros(3), requires_grad=True)
        return weft.autograd.grad(function(x), [x])[0].numpy()

    found = {
        "tape": on_tape(function),
        "autograd.grad": by_grad(),
        "compiled on the tape": on_tape(weft.compile(function)),
        "grad": weft.grad(function)(np.zeros(3)),
        "jacfwd": weft.jacfwd(function)(np.zeros(3)),
    }
    for way, gradient in found.items():
        np.testing.assert_array_equal(gradient, expected, err_msg=way)


def test_zeros_arrive_where_only_flat_ops_lead() -> None:
    x, y = (weft.tensor(np.array([4.0, 9.0]), requires_grad=True) for _ in range(2))
    middle = np.sqrt(x)
    (np.floor(middle).sum() + (y * 2).sum()).backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), [0, 0])
    np.testing.assert_array_equal(y.grad.numpy(), [2, 2])
    found = weft.autograd.grad(np.floor(middle).sum() + x.sum() * 0 + 1, [middle, x])
    np.testing.assert_array_equal([part.numpy() for part in found], np.zeros((2, 2)))
    higher = weft.autograd.grad(np.floor(x).sum(), [x], create_graph=True)[0]
    np.testing.assert_array_equal(higher.numpy(), [0, 0])
