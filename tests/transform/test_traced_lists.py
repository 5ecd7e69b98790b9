"""Lists of traced values where NumPy takes arrays: they are arrays, with a dtype, in values and in derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import NotDifferentiable


def _written(write: Any) -> Any:
    def call(x: Any) -> Any:
        y = x.copy()
        write(x, y)
        return (y**2).sum()

    return call


PROGRAMS: dict[str, Any] = {
    "concatenate": lambda x: (np.concatenate([x, [x[0] * x[1]]]) ** 2).sum(),
    "concatenate, some plain": lambda x: (np.concatenate([x, (x[0] * x[1], 1.0)]) ** 2).sum(),
    "concatenate, plain": lambda x: (np.concatenate([x, [1.0]]) ** 2).sum(),
    "concatenate, empty": lambda x: (np.concatenate([x, []]) ** 2).sum(),
    "concatenate, rows": lambda x: (np.concatenate([x[None], [x * x]]) ** 2).sum(),
    "concatenate, complex": lambda x: (np.abs(np.concatenate([x, [x[0] * 1j]])) ** 2).sum(),
    "hstack": lambda x: (np.hstack([x, [x[0] * x[1]]]) ** 2).sum(),
    "vstack": lambda x: (np.vstack([x, [x[0], x[1], 2.0]]) ** 2).sum(),
    "stack": lambda x: (np.stack([x, [x[0], x[1], 2.0]]) ** 2).sum(),
    "column_stack": lambda x: (np.column_stack([x, [x[0] * x[1], 1.0, 2.0]]) ** 2).sum(),
    "append": lambda x: (np.append(x, [x[0] * x[1]]) ** 2).sum(),
    "dot": lambda x: np.dot([x[0], x[1]], [x[2], 1.0]) ** 2,
    "dot, by name": lambda x: np.dot(a=[x[0], x[1] ** 2], b=[x[2], 2.0]),
    "dot, one plain": lambda x: np.dot([x[0] * x[2], x[1]], [3.0, 2.0]) ** 2,
    "dot, both plain or arrays": lambda x: np.dot(x * x, [1.0, 3.0, 2.0]) + np.dot([1.0, 2.0, 3.0], x),
    "matmul, one plain": lambda x: (np.matmul([[x[0], 1.0], [x[1], x[2]]], [3.0, 2.0]) ** 2).sum(),
    "outer": lambda x: (np.outer([x[0], x[1] ** 2], x) ** 2).sum(),
    "cross": lambda x: np.cross([x[0], x[1] ** 2, 1.0], x)[0],
    "cumsum": lambda x: np.cumsum([x[0], x[1] ** 2])[1],
    "einsum": lambda x: np.einsum("i,i", [x[0], x[1], 1.0], x),
    "polyval": lambda x: np.polyval([x[0], x[1]], 2.0),
    "average": lambda x: np.average([x[0], x[1] ** 2], weights=[x[2], 1.0]),
    "interp": lambda x: np.interp(1.5, [0.0, 2.0], [x[0], x[1]]),
    "convolve": lambda x: (np.convolve(x, [x[0], 1.0]) ** 2).sum(),
    "median": lambda x: np.median([x[0], x[1] ** 2, 4.5]),
    "sort": lambda x: np.sort([x[0] * 9, x[1] ** 2, 4.5])[1],
    "tile": lambda x: (np.tile([x[0], x[1] ** 2], 3) ** 2).sum(),
    "trace": lambda x: np.trace([[x[0], x[1]], [x[2], x[0] ** 2]]),
    "bincount": lambda x: (np.bincount([0, 1, 0], weights=[x[0], x[1] ** 2, x[2]]) ** 2).sum(),
    "array_split": lambda x: (np.array_split([x[0], x[1] ** 2, x[2]], 2)[0] ** 2).sum(),
    "mean of rows": lambda x: (np.mean([x, x**2, [1.0, x[0], x[1]]], axis=0) ** 2).sum(),
    "searchsorted": lambda x: np.searchsorted([x[0], x[1]], 1.5) * x[0],
    "weft.concat": lambda x: (weft.concat([x, [x[0] * x[1]]]) ** 2).sum(),
    "weft.sum": lambda x: weft.sum([x[0], x[1] ** 2]),
    "weft.dot": lambda x: weft.dot([x[0], x[1]], [x[2], 2.0]),
    "weft.dot, one plain": lambda x: weft.dot([x[0] * x[2], x[1]], [3.0, 2.0]) ** 2,
    "put": _written(lambda x, y: np.put(y, [0], [x[1] * x[0]])),
    "putmask": _written(lambda x, y: np.putmask(y, y > 1.5, [x[1] * x[0], x[2], 1.0])),
    "add.at": _written(lambda x, y: np.add.at(y, [0, 0], [x[1] * x[0], x[2]])),
    "subtract.at": _written(lambda x, y: np.subtract.at(y, [0, 0], [x[1] * x[0], x[2]])),
    "fill_diagonal": _written(lambda x, y: np.fill_diagonal(y[None, :1], [x[0] * x[1]])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_list_of_traced_values(name: str) -> None:
    function, x, step = PROGRAMS[name], np.array([1.1, 2.2, 3.3]), 1e-6
    expected = np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(3)])
    assert np.allclose(weft.compile(function)(x), function(x), rtol=1e-14)
    assert np.allclose(weft.grad(function)(x), expected, atol=1e-6)
    assert np.allclose(weft.jvp(function, (x,), (np.ones(3),))[1], expected.sum(), atol=1e-6)
    assert np.allclose(weft.vmap(weft.grad(function))(np.stack([x, x])), expected, atol=1e-6)


def test_size_and_shape_of_a_list() -> None:
    sizes = weft.compile(lambda x: (np.ndim([x[0], 1.0]), np.shape([[x[0], 1.0]]), np.size([x[0], 1.0])))
    assert sizes(np.ones(2)) == (1, (1, 2), 2)


def test_a_list_that_grows_and_shrinks_in_a_loop() -> None:
    def folded(x: Any) -> Any:
        y, total = x, 0.0
        for i in range(len(x) - 1, 0, -2):
            y = np.concatenate([y[:i], [y[i] * y[i - 1]]])
            total += y.sum()
        return total

    x, step = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 1e-6
    expected = [(folded(x + step * e) - folded(x - step * e)) / (2 * step) for e in np.eye(5)]
    assert np.allclose(weft.grad(folded)(x), expected)


def test_an_array_of_objects_has_no_derivative() -> None:
    with pytest.raises(NotDifferentiable, match="asarray has no derivative: what it gives is known only when it runs"):
        weft.grad(lambda x: np.sum(np.array([x[0], x[1]], dtype=object) * 2.0))(np.ones(2))
