"""Reductions that pass over NaN with `where=`, `initial=`, `mean=` and the like: results, gradients, many examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

X = np.random.default_rng(0).normal(size=(3, 4))
X[0, 1] = X[1, 3] = X[2, :] = np.nan
CHOSEN = np.array([[True, True, False, True], [True, False, True, True], [False, True, True, True]])
OPTIONS: dict[str, dict[str, Any]] = {
    "where": {"where": CHOSEN},
    "where of rows": {"where": CHOSEN, "axis": 1},
    "where of columns": {"where": CHOSEN, "axis": 0, "keepdims": True},
    "initial": {"initial": 1.5},
    "initial and where": {"initial": -2.0, "where": CHOSEN[:1], "axis": 0},
    "dtype": {"dtype": np.float64, "axis": 0},
    "mean": {"mean": np.nanmean(X[:2], keepdims=True), "axis": 1},
    "ddof": {"ddof": 1, "where": CHOSEN, "axis": 1},
    "correction": {"correction": 1, "axis": 0},
}
TAKEN = {
    "nansum": ("where", "where of rows", "where of columns", "initial", "initial and where", "dtype"),
    "nanprod": ("where", "where of rows", "where of columns", "initial", "initial and where", "dtype"),
    "nanmax": ("initial", "initial and where"),
    "nanmin": ("initial", "initial and where"),
    "nanmean": ("where", "where of rows", "where of columns", "dtype"),
    "nanvar": ("where", "where of rows", "where of columns", "dtype", "mean", "ddof", "correction"),
    "nanstd": ("where", "where of rows", "where of columns", "dtype", "mean", "ddof", "correction"),
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize(("name", "how"), [(name, how) for name, hows in TAKEN.items() for how in hows])
def test_each_option(name: str, how: str) -> None:
    function, options = getattr(np, name), OPTIONS[how]

    def program(x: Any) -> Any:
        return function(x, **options)

    def total(x: Any) -> Any:
        found = function(x, **options)
        return np.sum(np.where(np.isnan(found), 0.0, found) ** 2)

    wanted = program(X)
    found = weft.compile(program)(X)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(weft.vmap(program)(np.stack([X, X + 1])), [wanted, program(X + 1)], rtol=1e-12)
    differences = np.zeros(X.shape)
    for at in zip(*np.nonzero(~np.isnan(X)), strict=True):
        step = np.zeros(X.shape)
        step[at] = 1e-6
        differences[at] = (total(X + step) - total(X - step)) / 2e-6
    gradient = weft.grad(total)(X)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-8)
    along = np.where(np.isnan(X), 0.0, X**2)
    np.testing.assert_allclose(weft.jvp(total, (X,), (along,))[1], np.sum(gradient * along), rtol=1e-8, atol=1e-12)
