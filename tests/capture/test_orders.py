"""Results whose elements lie by columns: what `order=` asks for, what NumPy keeps, and writes into them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import weft
from capture.converting import define
from programs._compare import assert_same, call

MADE = """
np.zeros((n, 3), order='F')
np.zeros((n, 3), float, 'F')
np.ones((3, n), order='F')
np.full((n, 3), x[0, 0], order='F')
np.eye(n, 4, order='F')
np.empty((n, 2, 3), order='F') * 0
np.zeros_like(x, order='F')
np.zeros_like(x.T, order='C')
np.ones_like(x.T)
np.full_like(x, 2, order='F')
np.full_like(x.T, 2, order='C')
np.add(x, x, order='F')
np.add(x.T, x.T, order='C')
np.exp(x.T, order='C')
np.multiply(x, 2, order='K')
np.modf(x, order='F')[1]
np.copy(x, order='F')
np.array(x, order='F')
np.asarray(x.T, order='C')
x.astype(np.float32, order='F')
x.copy('F')
np.zeros((n, 3), order='F') + x[0, 0]
np.zeros((n, 3), order='C')
np.where(x.T > 3, x.T, 0)
""".strip().splitlines()

WRITTEN = """
z = np.zeros((n, 3), order='F'); y = z.ravel(order='F'); y[2] = 5
z = np.zeros((n, 3), order='F'); y = z.ravel(); y[2] = 5
z = np.zeros((n, 3), order='F'); z[1] = 2; y = z.ravel(order='K'); y[2] = 5
z = np.zeros((n, 3), order='F'); z[1] = 2; y = z.ravel(order='A')
z = np.ones((n, 3), order='F'); z[1] = 2; y = z.T.ravel(); y[0] = 7
z = np.zeros((n, 3), order='F'); z[1] = 2; y = z.reshape((3, n), order='A'); y[0] = 7
z = np.zeros_like(x); y = z.ravel(); y[2] = 5
z = np.exp(x); y = z.ravel(); y[2] = 5
z = x * x + 1; y = z.reshape(-1); y[2] = 5
z = np.where(x > 3, x, 0); y = z.reshape(-1); y[2] = 5
z = np.maximum(x, 1); y = z.ravel('K'); y[2] = 5
z = x; y = z.ravel('K'); y[1] = 5
z = x; y = z.ravel('A'); y[1] = 5
""".strip().splitlines()


@pytest.mark.parametrize("text", MADE)
def test_how_a_result_lies(text: str) -> None:
    program = define(f"def program(x, n):\n    return {text}\n", np=np)
    compiled, scripted = weft.compile(program), weft.script(program)
    for x, n in ((np.arange(12.0).reshape(3, 4), 3), (np.arange(10.0).reshape(5, 2), 2)):
        traced = weft.trace(program, x, n)
        wanted = program(x, n)
        for found in (compiled(x, n), scripted(x, n), traced(x, n)):
            assert found.dtype == wanted.dtype
            assert found.strides == wanted.strides
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("text", WRITTEN)
def test_writes_beside_results_that_lie_by_columns(text: str) -> None:
    program = define(f"def program(x, n):\n    {text}\n    return z, y\n", np=np)
    compiled = weft.compile(program)
    for x in (np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3).T, np.asfortranarray(np.ones((4, 3)))):
        assert_same(call(compiled, (x.copy("K"), 4)), call(program, (x.copy("K"), 4)))


def test_gradients_of_results_that_lie_by_columns() -> None:
    def program(x: Any) -> Any:
        z = np.multiply(x, x, order="F")
        z[0] = 1
        return np.sum(z.ravel(order="K") * np.arange(6.0))

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(weft.grad(program)(x), [[0, 0, 0], [6, 24, 50]])


@pytest.mark.parametrize(
    "text",
    [
        "v[:, 2].copy()",
        "np.array(v[:, 2])",
        "v[:, 2].astype(float)",
        "np.ascontiguousarray(v[:, 2])",
        "np.copy(v[::-1, 0])",
        "copy.copy(v[:, 1])",
    ],
)
def test_a_copy_lies_in_order_for_a_product(text: str) -> None:
    program = define(
        f"def program(v):\n    column = {text}\n    return v.T @ column, np.dot(column, column)\n", np=np, copy=copy
    )
    v = np.random.default_rng(0).standard_normal((200, 3))
    compiled = weft.compile(program)
    for arguments in ((v,), (np.asfortranarray(v),), (v[::2],)):
        for got, expected in zip(compiled(*arguments), program(*arguments), strict=True):
            assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()
