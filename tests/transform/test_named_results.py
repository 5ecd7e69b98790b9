"""Derivatives through functions whose results have names: eigh, qr, svd and slogdet give named tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft


def _matrix(x: Any) -> Any:
    return np.outer(x, x) + np.diag(x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda x: np.linalg.eigh(_matrix(x))[0][0],
    "eigh by name": lambda x: np.linalg.eigh(_matrix(x)).eigenvectors[0, 0] ** 2,
    "svd": lambda x: np.linalg.svd(_matrix(x))[1][0],
    "qr": lambda x: np.abs(np.linalg.qr(_matrix(x)).R).sum(),
    "slogdet": lambda x: np.linalg.slogdet(_matrix(x)).logabsdet,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str) -> None:
    program, x, width = PROGRAMS[name], np.array([1.0, 2.0, 3.0]), 1e-6
    expected = [(program(x + width * e) - program(x - width * e)) / (2 * width) for e in np.eye(3)]
    # Central differences are right to about width**2 and to rounding over width.
    np.testing.assert_allclose(weft.grad(program)(x), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(weft.jacfwd(program)(x), expected, rtol=1e-7, atol=1e-8)
    batched = weft.vmap(weft.grad(program))(np.stack([x, x + 1]))
    np.testing.assert_allclose(batched, [weft.grad(program)(row) for row in (x, x + 1)], rtol=1e-12)
