"""What keys, writes, and gathering along an axis refuse, in the same words for arrays and Specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import DtypeError, IndexingError, ShapeError, UnknownShape, WeftError

X = np.ones((2, 3))

KEYS = [
    (2, r"index 2 is out of range for axis 0 of size 2"),
    ((0, -4), r"index -4 is out of range for axis 1 of size 3"),
    ([0, 5], r"index 5 is out of range for axis 0 of size 2"),
    ((0, 0, 0), r"3 indices for an array of 2 dimensions, shape \(2, 3\)"),
    ((..., 0, ...), r"a key can hold one Ellipsis"),
    (1.0, r"a key holds integers, slices, None, Ellipsis, integer arrays and boolean masks; got 1.0"),
    ("a", r"a key holds integers, .*; got 'a'"),
    (np.ones(2), r"arrays in a key are integer or boolean; got float64"),
    (np.array([True, False, True]), r"a mask of shape \(3,\) over dimensions of shape \(2,\)"),
    (([0, 1], [0, 1, 2]), r"index arrays of shapes \(2,\) and \(3,\) do not broadcast"),
    (slice(None, None, 0), r"a slice with step 0"),
    (slice(1.0, None), r"the bounds of a slice are integers; got 1.0"),
]


@pytest.mark.parametrize(("key", "message"), KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_keys_that_do_not_fit(key: Any, message: str) -> None:
    for x in (X, weft.spec((2, 3))):
        with pytest.raises(IndexingError, match=f"getitem: {message}"):
            weft.getitem(x, key)
        with pytest.raises(IndexingError, match=f"index_update: {message}"):
            weft.index_update(x, key, 0.0)
        with pytest.raises(IndexingError, match=f"index_add: {message}"):
            weft.index_add(x, key, 0.0)


REFUSED: list[tuple[Any, type[WeftError], str]] = [
    (
        lambda x: weft.index_update(x, 0, np.ones(2)),
        ShapeError,
        r"index_update: a value of shape \(2,\) does not fit the part of shape \(3,\)",
    ),
    (
        lambda x: weft.index_add(x, [0, 0], np.ones((3, 1))),
        ShapeError,
        r"index_add: a value of shape \(3, 1\) does not fit the part of shape \(2, 3\)",
    ),
    (
        lambda x: weft.index_update(x, (0, 0), np.ones(2)),
        ShapeError,
        r"index_update: a value of shape \(2,\) does not fit the part of shape \(\)",
    ),
    (
        lambda x: weft.index_update(x, 0, 1j),
        DtypeError,
        r"index_update: a complex value does not fit an array of float64\n  (at .*\n  )?help: take weft.real",
    ),
    (
        lambda x: weft.index_add(x, 0, np.ones(3, complex)),
        DtypeError,
        r"index_add: complex128 cannot be added into an array of float64",
    ),
    (
        lambda x: weft.index_add(weft.astype(x, np.int64), [0, 0], 0.5),
        DtypeError,
        r"index_add: float64 cannot be added into an array of int64",
    ),
    (lambda x: weft.take(x, np.array([0]), axis=2), ShapeError, r"take: axis 2 is out of range"),
    (lambda x: weft.take(x, np.array([0.5])), IndexingError, r"take: indices are integers; got float64"),
    (
        lambda x: weft.take_along_axis(x, np.array([0])),
        ShapeError,
        r"take_along_axis: indices of shape \(1,\) and array of shape \(2, 3\) differ in dimensions",
    ),
    (
        lambda x: weft.take_along_axis(x, np.zeros((4, 3), int), 1),
        ShapeError,
        r"take_along_axis: shapes \(2, 1\) and \(4, 1\) do not broadcast",
    ),
    (
        lambda x: weft.take_along_axis(x, np.zeros((2, 1))),
        IndexingError,
        r"take_along_axis: indices are integers; got float64",
    ),
    (
        lambda x: weft.scatter_add(x, np.zeros((2, 1), int), np.ones((2, 2))),
        ShapeError,
        r"scatter_add: values of shape \(2, 2\) do not fit indices of shape \(2, 1\)",
    ),
    (
        lambda x: weft.scatter_add(x, np.zeros((2, 1), int), 1j),
        DtypeError,
        r"scatter_add: complex128 cannot be added into an array of float64",
    ),
    (
        lambda x: weft.put_along_axis(x, np.zeros(3, int), 0.0),
        ShapeError,
        r"put_along_axis: indices of shape \(3,\) and array of shape \(2, 3\) differ in dimensions",
    ),
    (lambda x: weft.nonzero(x[0, 0]), ShapeError, r"nonzero: expected one or more dimensions, got a scalar"),
    (lambda x: weft.searchsorted(x, 1.0), ShapeError, r"searchsorted: x1 has one dimension, got shape \(2, 3\)"),
    (
        lambda x: weft.searchsorted(x[0], 1.0, sorter=np.array([0])),
        ShapeError,
        r"searchsorted: sorter of shape \(1,\) for x1 of shape \(3,\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[r[2].split(":")[0] for r in REFUSED])
def test_arguments_that_do_not_fit(call: Any, error: type[WeftError], message: str) -> None:
    for x in (X, weft.spec((2, 3))):
        with pytest.raises(error, match=message):
            call(x)


def test_side_of_searchsorted() -> None:
    for x in (np.ones(3), weft.spec((3,))):
        with pytest.raises(ValueError, match="searchsorted: side is 'left' or 'right', got 'middle'"):
            weft.searchsorted(x, 0.5, side="middle")


def test_nonzero_has_no_shape_before_it_runs() -> None:
    with pytest.raises(UnknownShape, match="nonzero: how many elements are not zero is known only when it runs"):
        weft.nonzero(weft.spec((3,)))


def test_an_element_is_no_place_for_an_array() -> None:
    for value in (np.ones(1), np.ones((1, 1))):
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            weft.index_update(np.zeros(3), 0, value)
    assert weft.index_update(np.zeros(3), (0, ...), np.ones(1)).tolist() == [1.0, 0.0, 0.0]
