"""The class of a derivative: a Tensor with respect to a Tensor, an array with respect to an array or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn

A, B = np.array([1.0, 2.0]), np.array([3.0, 4.0])
KINDS: dict[str, Any] = {
    "tensor": weft.tensor,
    "parameter": nn.Parameter,
    "array": np.array,
    "number": lambda values: float(values[0]),
}


def product(x: Any, y: Any) -> Any:
    return x * y


def number(x: Any, y: Any) -> Any:
    return (x * x * y).sum()


def pulled(x: Any, y: Any) -> Any:
    return weft.vjp(number, x, y)[1](1.0)


CALLS: dict[str, Any] = {
    "grad": weft.grad(number, (0, 1)),
    "value_and_grad": lambda x, y: weft.value_and_grad(number, (0, 1))(x, y)[1],
    "vjp": pulled,
    "hvp": lambda x, y: weft.hvp(number, (x, y), (1.0 * x, 1.0 * y)),
    "jacrev": weft.jacrev(product, (0, 1)),
    "jacfwd": weft.jacfwd(product, (0, 1)),
    "hessian": lambda x, y: weft.hessian(number, (0, 1))(x, y)[0],
    "compiled": weft.compile(lambda x, y: weft.grad(number, (0, 1))(x, y)),
    "grad of vmap": weft.grad(lambda x, y: weft.vmap(product, (0, None))(x, y).sum(), (0, 1)),
}


def is_tensor(value: Any) -> bool:
    assert isinstance(value, (weft.Tensor, np.ndarray, np.generic)), type(value)
    return isinstance(value, weft.Tensor)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("first", ["tensor", "parameter", "array"])
@pytest.mark.parametrize("second", KINDS)
def test_by_argument(name: str, first: str, second: str) -> None:
    given = KINDS[first](A), KINDS[second](B)
    found = CALLS[name](*given)
    assert [is_tensor(one) for one in found] == [isinstance(one, weft.Tensor) for one in given]
    plain = CALLS[name](np.array(A), B if second != "number" else float(B[0]))
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_array_equal(one.detach() if is_tensor(one) else one, other)


@pytest.mark.parametrize(
    "call", [weft.jvp, lambda f, x, t: (lambda value, push: (value, push(*t)))(*weft.linearize(f, *x))]
)
@pytest.mark.parametrize(("first", "second"), [("tensor", "array"), ("array", "tensor"), ("array", "array")])
def test_along_a_direction_by_result(call: Any, first: str, second: str) -> None:
    value, tangent = call(product, (KINDS[first](A), KINDS[second](B)), (A, B))
    assert is_tensor(value) is is_tensor(tangent) is ("tensor" in (first, second))


def test_examples() -> None:
    each = weft.vmap(weft.grad(lambda x, y: (x * y) ** 2, (0, 1)))
    found = each(weft.tensor(A), B)
    assert list(map(is_tensor, found)) == [True, False]
    assert is_tensor(weft.vmap(product)(weft.tensor(A), B))
    assert not is_tensor(weft.vmap(product)(A, B))


def test_in_containers() -> None:
    def loss(given: Any) -> Any:
        return sum((part * part).sum() for part in [given["a"], *given["b"]])

    found = weft.grad(loss)({"a": weft.tensor(A), "b": [B, weft.tensor(B)]})
    assert [is_tensor(found["a"]), *map(is_tensor, found["b"])] == [True, False, True]
