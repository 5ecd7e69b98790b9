"""What pointwise ops, reductions and creation say when they are called wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tape import Traced, gradients

import weft
from weft.errors import DtypeError, NotDifferentiable, ShapeError

S = weft.spec
CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: weft.add(S((3, 4)), S((5,))), ShapeError, r"add: shapes \(3, 4\) and \(5,\) do not broadcast: 4 != 5"),
    (lambda: weft.add(np.ones((3, 4)), np.ones(5)), ShapeError, r"add: shapes \(3, 4\) and \(5,\) do not broadcast"),
    (lambda: weft.where(S((2,), bool), S((3,)), 1.0), ShapeError, "where: shapes .* do not broadcast"),
    (lambda: weft.clip(S((2,)), S((3,)), 1.0), ShapeError, r"clip: shapes \(2,\) and \(3,\) and \(\) do not broadcast"),
    (lambda: weft.erf(1j), DtypeError, "erf: expected real numbers, got complex128"),
    (lambda: weft.erfc(S((2,), "complex64")), DtypeError, "erfc: expected real numbers, got complex64"),
    (lambda: weft.sum(S((2, 3)), axis=2), ShapeError, "sum: axis 2 is out of range for an array of 2 dimensions"),
    (lambda: weft.sum(np.ones((2, 3)), axis=2), ShapeError, "sum: axis 2 is out of range for an array of 2 dimensions"),
    (lambda: weft.max(S((2, 3)), axis=(0, -2)), ShapeError, r"max: axis \(0, -2\) names a dimension twice"),
    (lambda: weft.argmax(S((2, 3)), axis=(0, 1)), ShapeError, r"argmax: expected one axis or None, got \(0, 1\)"),
    (lambda: weft.argmin(np.ones((2, 3)), axis=(0, 1)), ShapeError, r"argmin: expected one axis or None, got \(0, 1\)"),
    (lambda: weft.cumulative_sum(np.ones((2, 3))), ShapeError, "cumulative_sum: an array of 2 dimensions needs axis"),
    (lambda: weft.cumulative_prod(S(())), ShapeError, "cumulative_prod: an array of 0 dimensions needs axis"),
    (lambda: weft.linear_recurrence(S((2,)), S((3,))), ShapeError, r"linear_recurrence: shapes \(2,\) and \(3,\)"),
    (
        lambda: weft.linear_recurrence(np.ones(2), np.ones(2), axis=1),
        ShapeError,
        "linear_recurrence: axis 1 is out of range",
    ),
    (lambda: weft.diff(np.ones(3), n=-1), ShapeError, "diff: expected n of 0 or more, got -1"),
    (lambda: weft.tril(np.ones(3)), ShapeError, r"tril: expected a matrix or a stack of them, got shape \(3,\)"),
    (lambda: weft.triu(S((3,))), ShapeError, r"triu: expected a matrix or a stack of them, got shape \(3,\)"),
    (lambda: weft.meshgrid(np.ones((2, 2))), ShapeError, "meshgrid: expected arrays of one dimension"),
    (
        lambda: weft.meshgrid(np.ones(2), indexing="yx"),
        ValueError,
        "meshgrid: expected indexing 'xy' or 'ij', got 'yx'",
    ),
    (lambda: weft.zeros(2, device="gpu"), ValueError, "zeros: expected device None or 'cpu', got 'gpu'"),
    (
        lambda: weft.astype(np.ones(2), "int8", device="gpu"),
        ValueError,
        "astype: expected device None or 'cpu', got 'gpu'",
    ),
    (lambda: weft.from_dlpack(np.ones(2), device="gpu"), ValueError, "from_dlpack: expected device None or 'cpu'"),
    (lambda: weft.sin(S((2,)), S((2,))), TypeError, r"sin\(x, /\): too many positional arguments"),
]


@pytest.mark.parametrize(("call", "kind", "message"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_message(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_every_way_to_make_an_array_checks_the_device() -> None:
    x = np.ones(2)
    for name, args in {
        "arange": (3,),
        "asarray": (x,),
        "empty": (2,),
        "empty_like": (x,),
        "eye": (2,),
        "full": (2, 1.0),
        "full_like": (x, 1.0),
        "linspace": (0, 1, 3),
        "ones": (2,),
        "ones_like": (x,),
        "zeros_like": (x,),
    }.items():
        with pytest.raises(ValueError, match=f"{name}: expected device None or 'cpu', got 'gpu'"):
            getattr(weft, name)(*args, device="gpu")
        assert isinstance(getattr(weft, name)(*args, device="cpu"), np.ndarray)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda x: weft.nextafter(x, 2.0), "steps to the neighbouring number"),
    ],
)
def test_no_derivative_says_why(call: Callable[[Any], Any], reason: str) -> None:
    x = Traced(np.array([0.5]))
    with pytest.raises(NotDifferentiable, match=reason):
        gradients(weft.sum(call(x)), [x])
