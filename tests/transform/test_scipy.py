"""SciPy's functions in differentiated programs: one without a rule says so, one with a rule of its own follows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import weft
from weft.errors import NotDifferentiable


@weft.custom_vjp
def sine_integral(x: Any) -> Any:
    return special.sici(x)[0]


sine_integral.defvjp(lambda x: (special.sici(x)[0], x), lambda x, g: (g * np.sin(x) / x,))

POINTS = np.array([[0.5, 1.0], [2.0, 3.0]])


def test_without_a_rule() -> None:
    def total(x: Any) -> Any:
        return special.sici(x)[0].sum()

    with pytest.raises(NotDifferentiable, match=r"sici.* has no derivative rule") as caught:
        weft.grad(total)(POINTS)
    assert "special.sici(x)[0].sum()" in str(caught.value)
    assert "custom_vjp" in str(caught.value)


def test_with_a_rule() -> None:
    value, slope = weft.value_and_grad(lambda x: (sine_integral(x) ** 2).sum())(POINTS)
    expected = special.sici(POINTS)[0]
    assert value == (expected**2).sum()
    np.testing.assert_allclose(slope, 2 * expected * np.sin(POINTS) / POINTS, rtol=1e-15)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: special.erf(x),
        lambda x: special.beta(x, np.ones((3, 1, 2))),
        lambda x: special.beta(x[:, None], 2.0) + special.beta(x, x)[0],
        lambda x: special.sici(x)[1].T,
        lambda x: special.erf(x.sum()),
    ],
)
def test_sizes_are_those_of_the_arguments(program: Any) -> None:
    compiled = weft.compile(program)
    for points in (POINTS, POINTS[:1], np.concatenate([POINTS, POINTS + 1])):
        np.testing.assert_array_equal(compiled(points), program(points))
    spec = compiled.graph.output_node().args[0].meta["type"]
    assert not any("erf" in str(size) or "beta" in str(size) or "sici" in str(size) for size in spec.shape)
