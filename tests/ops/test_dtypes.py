"""Every pointwise op over all dtypes, pairs of dtypes and Python numbers, against NumPy: value, dtype, refusal."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import REFERENCES, load_all

import weft
from weft.ops import TABLE, Op, spec_of

load_all()
DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]
POINTWISE = [op for op in TABLE.values() if op.domain is not None]
LIKE_NUMPY = [op for op in POINTWISE if hasattr(np, op.name) or op.name in ("erf", "erfc", "rsqrt")]
NUMBERS = (True, 2, 0.5, 1.5j)
FAR: dict[str, float] = {"erf": 8, "erfc": 16}
"""Ops that may differ from their reference by more than one rounding, and by how many."""


def numbers(dtype: np.dtype[Any]) -> np.ndarray:
    """A few numbers every function can stand: small, so that shifts and powers stay in range."""
    return np.array([1, 0, 1, 3]).astype(dtype)


def operands(op: Op) -> Iterator[tuple[Any, ...]]:
    """Arrays of each dtype; for several arrays every combination, and each Python number in each place."""
    arrays = [numbers(dtype) for dtype in DTYPES]
    count = len(op.arrays)
    if count == 1:
        yield from ((x,) for x in (*arrays, *NUMBERS))
        return
    # The condition of `where` has no part in promotion: one dtype besides bool is enough for it.
    first = [arrays[0], arrays[5]] if count == 3 else []
    for pair in itertools.product([*arrays, *NUMBERS], repeat=2):
        yield from ((condition, *pair) for condition in first) if first else (pair,)


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result, or the kind of error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            return np.asarray(function(*args))
        except (TypeError, ValueError, OverflowError) as error:
            return next(kind for kind in (TypeError, ValueError, OverflowError) if isinstance(error, kind))


@pytest.mark.parametrize("op", LIKE_NUMPY, ids=lambda op: op.name)
def test_like_numpy(op: Op) -> None:
    reference = REFERENCES.get(op.name) or getattr(np, op.name)
    for args in operands(op):
        expected, got = outcome(reference, args), outcome(op, args)
        shown = f"{op.name}({', '.join(str(getattr(a, 'dtype', repr(a))) for a in args)})"
        if isinstance(expected, type):
            assert got is expected, f"{shown} is {got!r}, the reference raises {expected.__name__}"
            continue
        assert not isinstance(got, type), f"{shown} raises {got.__name__}, the reference does not"
        assert got.dtype == expected.dtype, f"{shown} has dtype {got.dtype}, the reference {expected.dtype}"
        rounding = np.finfo(got.dtype).eps if got.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, expected, rtol=rounding * FAR.get(op.name, 1), atol=0, err_msg=shown)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", [op for op in POINTWISE if op not in LIKE_NUMPY], ids=lambda op: op.name)
def test_floats_keep_their_dtype(op: Op, dtype: str) -> None:
    """What NumPy lacks has a reference in float64 only."""
    domains = op.domain if isinstance(op.domain, tuple) else (op.domain,) * len(op.arrays)
    args = [np.linspace(d.low, d.high, 9).astype(dtype) for d in domains]
    got, expected = op(*args), REFERENCES[op.name](*(a.astype(np.float64) for a in args))
    assert got.dtype == dtype
    # A few roundings of numbers of this size.
    rounding = 8 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("op", POINTWISE, ids=lambda op: op.name)
def test_shape_rule_knows_the_dtype(op: Op) -> None:
    for args in operands(op):
        if all(not isinstance(a, np.ndarray) for a in args):
            continue
        got = outcome(op, args)
        if isinstance(got, type):
            if got is TypeError:  # what depends on dtypes alone is refused before there are values
                with pytest.raises(TypeError):
                    op(*map(spec_of, args))
            continue
        assert op(*map(spec_of, args)) == spec_of(got), [getattr(a, "dtype", a) for a in args]


def test_integers_to_negative_powers_are_refused() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        weft.pow(np.array([2]), -1)
