"""What NumPy's further functions refuse, in the same words for arrays and for Specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import DtypeError, IndexingError, NotDifferentiable, ShapeError, UnknownShape
from weft.ops import TABLE, spec_of

X, V, C = np.ones((3, 4)), np.arange(3.0), np.ones(3, complex)
ERRORS: list[tuple[type[Exception], str, str, tuple[Any, ...], dict[str, Any]]] = [
    (ShapeError, r"convolve: expected arrays of one dimension, got shapes \(3, 4\) and \(3,\)", "convolve", (X, V), {}),
    (ShapeError, "convolve: both arrays need at least one element, got 0 and 3", "convolve", (V[:0], V), {}),
    (ValueError, "convolve: expected mode 'full', 'same' or 'valid', got 'some'", "convolve", (V, V, "some"), {}),
    (ShapeError, "interp: xp and fp are sequences of one length", "interp", (X, V, V[:2]), {}),
    (DtypeError, "interp: x and xp are real numbers", "interp", (C, V, V), {}),
    (ShapeError, r"gradient: axis 0 of \(1,\) is too short, at least 2 are needed", "gradient", (V[:1],), {}),
    (ShapeError, r"gradient: coordinates of shape \(2,\) for axis 0 of \(3,\)", "gradient", (V, V[:2]), {}),
    (ShapeError, r"histogram: weights of shape \(3,\) for values of shape \(3, 4\)", "histogram", (X,), {"weights": V}),
    (ValueError, "histogram: expected one bin or more, got 0", "histogram", (X, 0), {}),
    (ShapeError, "digitize: the edges of bins have one dimension", "digitize", (X, X), {}),
    (ValueError, "quantile: q lies between 0 and 1, got 1.5", "quantile", (X, 1.5), {}),
    (ValueError, "percentile: q lies between 0 and 100, got -1", "percentile", (X, -1), {}),
    (ValueError, "quantile: method 'best' is not one of inverted_cdf,", "quantile", (X, 0.5), {"method": "best"}),
    (DtypeError, "median: complex numbers have no order|quantile: complex numbers", "quantile", (C, 0.5), {}),
    (ShapeError, r"average: weights of shape \(3,\) for an array of shape \(3, 4\) need axis", "average", (X,),
     {"weights": V}),
    (ShapeError, r"cov: expected at most two dimensions, got shape \(1, 1, 3\)", "cov", (V[None, None],), {}),
    (ShapeError, r"polyval: coefficients have one dimension, got shape \(3, 4\)", "polyval", (X, V), {}),
    (ShapeError, "vander: expected one dimension", "vander", (X,), {}),
    (ValueError, "polyder: expected m of 0 or more, got -1", "polyder", (V, -1), {}),
    (ShapeError, "polyfit: x is a sequence and y has as many rows", "polyfit", (V, V[:2], 1), {}),
    (ShapeError, "compress: the condition has one dimension", "compress", (X > 0, X), {}),
    (DtypeError, "select: conditions are boolean, got float64", "select", ([V], [V]), {}),
    (ValueError, "select: 1 conditions and 2 values", "select", ([V > 0], [V, V]), {}),
    (DtypeError, "choose: the numbers of choices are integers, got float64", "choose", (V, [V, V]), {}),
    (ShapeError, "partition: axis 2 is out of range", "partition", (X, 1, 2), {}),
    (ShapeError, r"fliplr: expected two dimensions or more, got shape \(3,\)", "fliplr", (V,), {}),
    (ShapeError, "vsplit: expected 2 dimensions or more", "vsplit", (V, 3), {}),
    (IndexingError, "insert: index 9 is out of range for axis 0 of size 3", "insert", (V, 9, 1.0), {}),
    (IndexingError, "delete: index -4 is out of range for axis 0 of size 3", "delete", (V, -4), {}),
    (ShapeError, "block: lists are nested equally deep everywhere", "block", ([V, [V]],), {}),
    (ShapeError, "concat: shapes", "append", (X, X[:, :2]), {"axis": 0}),
    (ShapeError, "rollaxis: start 5 is out of range", "rollaxis", (X, 0, 5), {}),
    (ShapeError, r"ix_: expected arrays of one dimension, got shape \(3, 4\)", "ix_", (X,), {}),
    (ShapeError, "diag_indices_from: expected two or more dimensions of one size", "diag_indices_from", (X,), {}),
    (ShapeError, "lstsq: expected 3 rows on the right", "lstsq", (X, V[:2]), {}),
    (ShapeError, "tensorsolve: ", "tensorsolve", (X, V), {}),
    (ShapeError, "cond: expected a matrix or a stack of matrices", "cond", (V,), {}),
    (ShapeError, "multi_dot: expected two arrays or more, got 1", "multi_dot", ([X],), {}),
    (ShapeError, r"sum: where of shape \(2, 3\) does not fit", "sum_where", (V,), {"where": np.ones((2, 3), bool)}),
    (ValueError, "max_where: where needs initial", "max_where", (X,), {"where": X > 0}),
    (ValueError, "take_by: expected mode", "take_by", (X, np.array([1])), {"mode": "some"}),
    (DtypeError, "ediff1d: complex128 does not fit an array of float64", "ediff1d", (V, C), {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "message", "name", "args", "kwargs"), ERRORS, ids=[f"{e[2]}-{e[1][:30]}" for e in ERRORS]
)
def test_arguments_that_do_not_fit(kind: Any, message: str, name: str, args: Any, kwargs: Any) -> None:
    op = TABLE[name]
    with pytest.raises(kind, match=f"^({message})"):
        op(*args, **kwargs)
    names = list(op.__signature__.parameters)
    bound = op.bind(args, kwargs)
    with pytest.raises(kind, match=f"^({message})"):
        op.infer(*(spec_of(value) if n in op.arrays else value for n, value in zip(names, bound, strict=True)))


UNKNOWN: list[tuple[str, tuple[Any, ...], str]] = [
    ("argwhere", (X,), "how many elements that are not zero there are is known only when it runs"),
    ("flatnonzero", (X,), "how many elements that are not zero"),
    ("extract", (X > 0, X), "how many true elements"),
    ("compress", (V > 0, V), "how many true elements"),
    ("unique", (V,), "how many distinct values"),
    ("union1d", (V, V), "how many distinct values"),
    ("histogram", (X, "auto"), "how many bins 'auto' makes depends on the values"),
    ("lstsq", (X.T, np.ones(4)), "whether there are residuals depends on the rank"),
]


@pytest.mark.parametrize(("name", "args", "message"), UNKNOWN, ids=[u[0] for u in UNKNOWN])
def test_sizes_that_depend_on_values(name: str, args: Any, message: str) -> None:
    with pytest.raises(UnknownShape, match=f"{name}: {message}"):
        TABLE[name](*(spec_of(a) for a in args))


def test_derivatives_that_do_not_exist_say_why() -> None:
    x = weft.tensor([0.5, 1.5, 2.5], requires_grad=True)
    with pytest.raises(NotDifferentiable, match="quantile has no derivative where weights are given"):
        weft.quantile(x, 0.5, weights=np.ones(3), method="inverted_cdf")
    with pytest.raises(NotDifferentiable, match="spacing has no derivative with respect to x: the distance"):
        weft.spacing(x).sum().backward()


def test_questions_about_arrays_are_answered_by_pythons_own_truth_values() -> None:
    for function in (weft.array_equal, weft.array_equiv):
        assert function(V, V) is True
        assert function(V, V + 1) is False


def test_a_whole_row_of_nan_gives_nan() -> None:
    x = np.array([[np.nan, np.nan], [1.0, np.nan]])
    for name in ("nanmax", "nanmin", "nanmedian"):
        with pytest.warns(RuntimeWarning, match="All-NaN"):
            np.testing.assert_array_equal(TABLE[name](x, axis=1), [np.nan, 1.0])
        np.testing.assert_array_equal(TABLE[name].body(x, axis=1), [np.nan, 1.0])


def test_what_numpy_takes_beyond_the_op_is_refused_before_anything_is_written() -> None:
    out = np.zeros(4)
    for call in (lambda: weft.nanmax(X, 0, out), lambda: weft.nanmax(X, 0, out=out), lambda: weft.dstack([V], 1)):
        with pytest.raises(TypeError, match=r"^(nanmax|dstack)[(]"):
            call()
    assert not out.any()
