"""Names of results, ties, NaN, and which NumPy functions mean these ops."""

from __future__ import annotations

import numpy as np
from tape import Traced, gradients

import weft
from weft.ops import op_of


def test_results_have_the_standard_names() -> None:
    x = np.array([2, 1, 2])
    found = weft.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    np.testing.assert_array_equal(found.indices, [1, 0])
    np.testing.assert_array_equal(found.values[found.inverse_indices], x)
    assert weft.unique_counts(x)._fields == ("values", "counts")
    assert weft.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert weft.topk(x, 1)._fields == ("values", "indices")
    assert weft.topk(weft.spec((3,)), 2).indices == weft.spec((2,), "int64")


def test_gradient_of_a_tie_goes_to_the_element_that_took_the_place() -> None:
    x = Traced(np.array([1.0, 0.0, 1.0]))
    for descending, expected in ((False, [20.0, 10.0, 30.0]), (True, [10.0, 30.0, 20.0])):
        (g,) = gradients(weft.sort(x, descending=descending), [x], np.array([10.0, 20.0, 30.0]))
        np.testing.assert_array_equal(g.data, expected)
    (g,) = gradients(weft.topk(x, 1).values, [x])
    np.testing.assert_array_equal(g.data, [1.0, 0.0, 0.0])


def test_gradient_passes_around_nan() -> None:
    x = Traced(np.array([np.nan, 2.0, 1.0]))
    (g,) = gradients(weft.sort(x), [x], np.array([10.0, 20.0, 30.0]))
    np.testing.assert_array_equal(g.data, [30.0, 20.0, 10.0])


def test_numpy_functions_mean_these_ops() -> None:
    for name in [
        "broadcast_arrays",
        "broadcast_to",
        "concat",
        "concatenate",
        "stack",
        "expand_dims",
        "flip",
        "moveaxis",
        "permute_dims",
        "transpose",
        "ravel",
        "repeat",
        "reshape",
        "roll",
        "rot90",
        "split",
        "squeeze",
        "swapaxes",
        "tile",
        "pad",
        "take",
        "take_along_axis",
        "nonzero",
        "searchsorted",
        "isin",
        "sort",
        "argsort",
        "unique_all",
        "unique_counts",
        "unique_inverse",
        "unique_values",
        "hstack",
        "vstack",
        "atleast_1d",
        "atleast_2d",
    ]:
        assert op_of(getattr(np, name)) is getattr(weft, name), name
