"""The forward derivative of every op: finite differences, and the transpose of the gradient, <g, J t> = <J* g, t>."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_derivatives import (
    Problem,
    Sample,
    directions,
    draw_again,
    evenly,
    inner,
    is_close,
    quiet,
    samples,
    tape_gradients,
    values_of,
)
from test_op_gradients import NO_GRAPH, NOT_APART, REFUSED, REFUSED_WHEN_RUN, SINGULAR

from weft.errors import NotDifferentiable

# Interpolation at nan and inf: the gradient of what is interpolated has nan from 0 * inf, as the tape's has.
NOT_FINITE = {"interp-9"}

SAMPLES = samples()
ROUNDINGS = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-5, np.dtype(np.complex64): 1e-5}
by_op = pytest.mark.parametrize("name", sorted(SAMPLES))


def tangents_of(sample: Sample, along: list[np.ndarray], values: list[np.ndarray], dynamic: bool = False) -> list:
    """The tangents of the results: zeros where none varies."""
    problem = Problem(sample.call, sample.arrays, dynamic)
    problem.forward()
    draw_again(sample.case)
    found = problem.run(*sample.arrays, *along)
    return [np.zeros_like(y) if t is None else np.asarray(t) for t, y in zip(found, values, strict=True)]


def refusal_of(sample: Sample, seeds: list[np.ndarray]) -> str:
    """Why the tape gives no gradient."""
    try:
        tape_gradients(sample.call, sample.arrays, seeds)
    except NotDifferentiable as error:
        return str(error)
    return ""


def check(sample: Sample, dynamic: bool = False) -> None:
    """The tangent along one direction."""
    values = values_of(sample.call, sample.arrays)
    weights = directions(sample.case.name, values)
    # A value that is nan may have a tangent that is, where its gradient is one of nothing.
    seeds = [np.where(np.isnan(y), np.zeros_like(y), w) for w, y in zip(weights, values, strict=True)]
    along = directions(sample.case.name + " along", sample.arrays)
    if refusal_of(sample, seeds):
        if sample.case.op not in REFUSED_WHEN_RUN:  # those have tangents of what is not any basis
            with pytest.raises(NotDifferentiable, match=REFUSED[sample.case.op]) as info:
                tangents_of(sample, along, values, dynamic)
            assert "return TABLE[case.op](*args, **kwargs)" in str(info.value), "the line of the call"
        return
    got = tangents_of(sample, along, values, dynamic)
    for t, y in zip(got, values, strict=True):
        assert (t.shape, t.dtype) == (y.shape, y.dtype), sample.case.name
    if sample.case.name in NOT_FINITE:
        return
    assert_transposed(sample, values, seeds, along, got)
    if sample.smooth and sample.case.op not in NOT_APART:
        assert_differences(sample, along, got)


def assert_transposed(sample: Sample, values: Any, seeds: Any, along: Any, got: Any) -> None:
    """<g, J t> = <J* g, t>."""
    draw_again(sample.case)
    back = inner(tape_gradients(sample.call, sample.arrays, seeds), along)
    forth = inner(seeds, [np.where(np.isnan(y), 0, t) for t, y in zip(got, values, strict=True)])
    tolerance = max([1e-9, *(ROUNDINGS.get(y.dtype, 0) for y in values)])
    assert is_close(forth, back, tolerance), f"{sample.case.name}: {forth} and {back}"


def assert_differences(sample: Sample, along: list[np.ndarray], got: list[np.ndarray], h: float = 1e-6) -> None:
    """A central difference has an error of about h**2, and of a rounding over h."""
    ahead = values_of(sample.call, [x + h * t for x, t in zip(sample.arrays, along, strict=True)])
    behind = values_of(sample.call, [x - h * t for x, t in zip(sample.arrays, along, strict=True)])
    for t, a, b in zip(got, ahead, behind, strict=True):
        assert is_close(t, (a - b) / (2 * h), 1e-5), f"{sample.case.name}: {t} and {(a - b) / (2 * h)}"


@by_op
def test_tangent(name: str) -> None:
    """The tests of gradients go through every case; what a tangent adds to them, six of each op show."""
    for sample in evenly(SAMPLES[name], 6):
        if sample.case.name not in NO_GRAPH | SINGULAR:
            with quiet():
                check(sample)


@by_op
def test_symbolic_sizes(name: str) -> None:
    for sample in evenly(SAMPLES[name], 2):
        if sample.case.name not in NO_GRAPH | SINGULAR and sample.case.infer:
            with quiet():
                check(sample, dynamic=True)


@by_op
def test_single_precision(name: str) -> None:
    """Tangents have the dtype of what they are tangents of, also where only one of the arguments varies."""
    for sample in evenly(SAMPLES[name], 1):
        arrays = [x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in sample.arrays]
        narrow = Sample(sample.case, arrays, sample.call)
        with quiet():
            values = values_of(sample.call, arrays)
            if refusal_of(narrow, directions(name, values)):
                continue
            for t, y in zip(tangents_of(narrow, directions(name, arrays), values), values, strict=True):
                assert (t.shape, t.dtype) == (y.shape, y.dtype), sample.case.name
