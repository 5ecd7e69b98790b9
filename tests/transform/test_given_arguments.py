"""Arguments of functions that are differentiated: Modules among them, and arrays that the function writes into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn


def shifted(x: Any, b: Any) -> Any:
    b += x.sum()
    return b * x


def kept_by_name(x: Any, *, b: Any) -> Any:
    b[0] = x.sum() ** 2
    return b * x


@pytest.mark.parametrize("jacobian", [weft.jacrev, weft.jacfwd])
def test_what_is_written_into_other_arguments_stays_inside(jacobian: Any) -> None:
    x, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, -1.0])
    expected = np.diag(b + 6) + x[:, None]
    assert np.allclose(jacobian(shifted)(x, b), expected)
    assert np.allclose(jacobian(kept_by_name)(x, b=b), np.diag([36.0, 0, -1]) + np.outer([1.0, 0, 0], np.full(3, 12.0)))
    assert np.allclose(weft.compile(lambda x, b: jacobian(shifted)(x, b))(x, b), expected)
    assert np.array_equal(b, [1, 0, -1])


def test_hessian_of_a_function_that_writes_into_another_argument() -> None:
    x, b = np.array([1.0, 2.0, 3.0]), {"b": np.array(1.5)}
    slope = weft.hessian(lambda x, c: shifted(x, c["b"]).sum())
    assert np.allclose(slope(x, b), np.full((3, 3), 2.0))
    assert np.allclose(weft.vmap(slope, in_axes=(0, None))(np.stack([x, x]), b), np.full((2, 3, 3), 2.0))
    assert b["b"] == 1.5


def test_sorted_array() -> None:
    x = np.array([0.3, -0.2, 0.5, 0.1])
    ranked = weft.grad(lambda x: sum(k * value for k, value in enumerate(sorted(x))))
    assert np.allclose(ranked(x), [2, 0, 3, 1])
    fallen = weft.grad(lambda x: np.array(sorted(x, reverse=True)) @ np.arange(4.0))
    assert np.allclose(weft.vmap(fallen)(np.stack([x, -x])), [[1, 3, 0, 2], [2, 0, 3, 1]])


def test_a_limit_only_decides() -> None:
    def until(x: Any, limit: Any) -> Any:
        total = 0.0
        for value in x:
            total += value**2
            if total > limit:
                break
        return total

    with pytest.warns(UserWarning, match="only through while_loop, where it decides what runs"):
        assert weft.grad(until, 1)(np.array([1.0, 2.0, 3.0]), 2.0) == 0


def _squares(layer: Any, x: Any) -> Any:
    return (layer(x) ** 2).sum()


def _layer() -> tuple[Any, Any, dict[str, Any]]:
    weft.manual_seed(0)
    layer, x = nn.Linear(2, 3, dtype=np.float64), np.array([0.5, -2.0])
    return layer, x, {name: parameter.detach() for name, parameter in layer.named_parameters()}


@pytest.mark.parametrize("jacobian", [weft.jacrev, weft.jacfwd])
def test_jacobian_by_a_module(jacobian: Any) -> None:
    layer, x, _ = _layer()
    by_layer, by_x = jacobian(lambda layer, x: layer(x), argnums=(0, 1))(layer, x)
    assert np.allclose(by_layer["bias"], np.eye(3))
    assert np.allclose(by_layer["weight"], np.eye(3)[:, :, None] * x)
    assert np.allclose(by_x, layer.weight.detach())


def test_hessian_by_a_module() -> None:
    layer, x, _ = _layer()
    second = weft.hessian(_squares)(layer, x)
    assert np.allclose(second["bias"]["bias"], 2 * np.eye(3))
    assert np.allclose(second["weight"]["bias"], 2 * np.eye(3)[:, None, :] * x[:, None])


def test_products_with_a_module() -> None:
    layer, x, parameters = _layer()
    slopes = weft.grad(_squares)(layer, x)
    value, pull = weft.vjp(_squares, layer, x)
    by_layer, by_x = pull(1.0)
    assert by_layer.keys() == slopes.keys()
    assert all(np.allclose(by_layer[name].detach(), slopes[name].detach()) for name in slopes)
    assert np.allclose(by_x, weft.grad(_squares, 1)(layer, x))
    # The function is of second order in the parameters taken together.
    assert np.allclose(weft.jvp(_squares, (layer, x), (parameters, None))[1].detach(), 2 * value.detach())
    assert np.allclose(weft.linearize(_squares, layer, x)[1](parameters, None).detach(), 2 * value.detach())
    along, across = weft.hvp(_squares, (layer, x), (parameters, None))
    assert all(np.allclose(along[name].detach(), slopes[name].detach()) for name in slopes)
    assert np.allclose(across, 2 * by_x)


def test_a_pullback_reads_the_parameters_of_its_call() -> None:
    layer, x, _ = _layer()
    other = nn.Linear(2, 3, dtype=np.float64)
    for _ in range(2):
        for each in (layer, other):
            found = weft.vjp(_squares, each, x)[1](1.0)[0]["bias"].detach()
            assert np.allclose(found, 2 * each(x).detach())
        with weft.no_grad():
            layer.bias += 1.0


def emptied(x: Any) -> Any:
    flat = x.reshape(-1)  # a view of an array that lies in order, a copy of any other
    flat[3] = 0.0
    return (x**2).sum()


def test_arrays_lie_as_they_are_given() -> None:
    rows = np.arange(1.0, 13.0).reshape(4, 3)
    apart = np.zeros((8, 6))
    apart[::2, ::2] = rows
    slope = weft.grad(emptied)
    shared = 2 * rows
    shared[1, 0] = 0.0
    assert np.array_equal(slope(rows), shared)
    for given in (np.asfortranarray(rows), apart[::2, ::2], rows[::-1].copy()[::-1]):
        assert np.array_equal(slope(given), 2 * rows)
        assert weft.jvp(emptied, (given,), (np.ones((4, 3)),)) == (650.0, 2 * rows.sum())
        assert np.array_equal(weft.compile(lambda x: weft.grad(emptied)(x))(given), 2 * rows)
    assert np.array_equal(weft.compile(lambda x: weft.grad(emptied)(x.T))(rows.T.copy()), 2 * rows)
    assert np.array_equal(slope(rows), shared), "as before"


@pytest.mark.parametrize("order", ["K", "A"])
def test_the_order_in_memory_is_the_arguments(order: Any) -> None:
    slope = weft.grad(lambda x: (x.ravel(order) * np.arange(6)).sum())
    rows = np.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert np.array_equal(slope(np.ones((2, 3))), rows)
        assert np.array_equal(slope(np.ones((2, 3), order="F")), np.arange(6.0).reshape(2, 3, order="F"))
