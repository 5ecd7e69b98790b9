"""The graph gradient of every op: that of the tape, that of finite differences, also for sizes other than captured."""

from __future__ import annotations

import re
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
from test_dims_table import at, other_sizes, resized

from weft.errors import NotDifferentiable
from weft.ops import TABLE
from weft.ops._dim import Dim

SAMPLES = samples()

# Ops of which no call takes floats.
OF_INTEGERS = {
    *("bitwise_and", "bitwise_and_accumulate", "bitwise_and_reduce", "bitwise_and_reduceat", "bitwise_count"),
    *("bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_or_accumulate", "bitwise_or_reduce"),
    *("bitwise_or_reduceat", "bitwise_right_shift", "bitwise_xor", "bitwise_xor_accumulate", "bitwise_xor_reduce"),
    *("bitwise_xor_reduceat", "class_indices", "gcd", "gcd_reduce", "ix_", "lcm", "lcm_reduce", "one_hot"),
    *("packbits", "ravel_multi_index", "unpackbits", "unravel_index"),
}

# Ops whose results are truth values or integers: nothing of them varies continuously.
DISCRETE = {
    *("adaptive_max_indices", "all", "all_close", "all_where", "any", "any_where", "argmax", "argmin"),
    *("argpartition", "argsort", "argsort_by", "argwhere", "array_equal", "array_equiv", "bernoulli_mask"),
    *("categorical", "choice_indices", "count_nonzero", "diag_indices_from", "digitize", "equal", "flatnonzero"),
    *("greater", "greater_equal", "isclose", "iscomplex", "isfinite", "isin", "isinf", "isnan", "isneginf"),
    *("isposinf", "isreal", "less", "less_equal", "lexsort", "logical_and", "logical_and_accumulate"),
    *("logical_and_reduceat", "logical_not", "logical_or", "logical_or_accumulate", "logical_or_reduceat"),
    *("logical_xor", "logical_xor_reduce", "matrix_rank", "matrix_rank_by", "max_pool_indices", "multinomial"),
    *("nanargmax", "nanargmin", "nonzero", "not_equal", "searchsorted", "signbit", "tril_indices_from"),
    *("triu_indices_from",),
}

# What a refusal says, of the ops that have no derivative, or none in some of their calls.
REFUSED = {
    "bernoulli": "a draw jumps from one number to another",
    "beta": "numbers are proposed and refused",
    "fmax_accumulate": "there is no rule for it",
    "fmax_reduce": "there is no rule for it",
    "fmin_accumulate": "there is no rule for it",
    "fmin_reduce": "there is no rule for it",
    "gamma": "numbers are proposed and refused",
    "histc": "counts are integers",
    "intersect1d": "how many distinct values there are changes with the values",
    "maximum_reduceat": "there is no rule for it",
    "minimum_reduceat": "there is no rule for it",
    "multiply_reduceat": "there is no rule for it",
    "nanquantile": "where weights are given: they move it from value to value",
    "nextafter": "steps to the neighbouring number",
    "poisson": "a draw jumps",
    "qr": "columns of a complete Q are any basis of what is left",
    "quantile": "where weights are given: they move it from value to value",
    "setdiff1d": "how many distinct values there are changes with the values",
    "setxor1d": "how many distinct values there are changes with the values",
    "spacing": "the distance to the neighbouring number has no derivative",
    "standard_gamma": "numbers are proposed and refused",
    "svd": "are any basis of what is left",
    "trim_zeros": "how many elements are left changes with the values",
    "union1d": "how many distinct values there are changes with the values",
    "unique": "how many distinct values there are changes with the values",
    "unique_all": "how many distinct values there are changes with the values",
    "unique_counts": "how many distinct values there are changes with the values",
    "unique_inverse": "how many distinct values there are changes with the values",
    "unique_values": "how many distinct values there are changes with the values",
}

# Found out when the gradient arrives: it may be zero there.
REFUSED_WHEN_RUN = {"qr", "svd"}

# Samples that no graph can have, or no finite difference: a number of bins that depends on the values; a matrix that is
# singular, of which the tape's rule says so too; a gradient of the largest elements, given apart from what is largest.
NO_GRAPH = {"histogram-28"}
SINGULAR = {"cofactor_along-2", "cofactor_along-3"}
NOT_APART = {"max_pool_input"}

by_op = pytest.mark.parametrize("name", sorted(SAMPLES))


def test_every_op_is_expected_to_do_something() -> None:
    assert {op.name for op in TABLE.values() if op.arrays} == SAMPLES.keys() | OF_INTEGERS
    assert not SAMPLES.keys() & OF_INTEGERS
    assert SAMPLES.keys() >= DISCRETE | REFUSED.keys()


def gradient_of(sample: Sample, dynamic: bool = False) -> tuple[Problem, str]:
    """The problem with gradients; or the reason that there are none."""
    problem = Problem(sample.call, sample.arrays, dynamic)
    try:
        problem.reverse()
    except NotDifferentiable as error:
        return problem, str(error)
    return problem, ""


def tape_of(sample: Sample, arrays: list[np.ndarray], seeds: list[np.ndarray]) -> tuple[list[np.ndarray], str]:
    """The gradients of the tape; or the reason that there are none."""
    draw_again(sample.case)
    try:
        return tape_gradients(sample.call, arrays, seeds), ""
    except NotDifferentiable as error:
        return [], str(error)


def run(sample: Sample, problem: Problem, arrays: list[np.ndarray], seeds: list[np.ndarray]) -> list[Any]:
    """The gradients of the graph."""
    draw_again(sample.case)
    return problem.run(*arrays, *seeds)


def assert_same(got: Any, expected: list[np.ndarray], name: str, tolerance: float = 1e-11) -> None:
    """Of the shape and dtype of the tape's gradients, and the same but for the order in which sums are taken."""
    for g, e in zip(map(np.asarray, got), expected, strict=True):
        assert (g.shape, g.dtype) == (e.shape, e.dtype), name
        assert is_close(g, e, tolerance), f"{name}: {g} instead of {e}"


@by_op
def test_gradient(name: str) -> None:
    """Of each call: that of the tape, and a finite difference; where the tape refuses, a refusal with the line."""
    reasons = set()
    floats = 0
    for sample in SAMPLES[name]:
        if sample.case.name in NO_GRAPH | SINGULAR:
            continue
        with quiet():
            seeds = directions(sample.case.name, values_of(sample.call, sample.arrays))
            floats += len(seeds)
            expected, reason = tape_of(sample, sample.arrays, seeds)
            problem, refusal = gradient_of(sample)
            if name in REFUSED_WHEN_RUN and reason:
                with pytest.raises(NotDifferentiable, match=re.escape(REFUSED[name])):
                    run(sample, problem, sample.arrays, seeds)
                continue
            assert bool(refusal) == bool(reason), sample.case.name
            if refusal:
                reasons.add(refusal)
                continue
            got = run(sample, problem, sample.arrays, seeds)
            assert_same(got, expected, sample.case.name)
            if sample.smooth and name not in NOT_APART:
                assert_differences(sample, seeds, got)
    assert bool(floats) == (name not in DISCRETE)
    assert bool(reasons) == (name in REFUSED and name not in REFUSED_WHEN_RUN)
    for reason in reasons:
        assert REFUSED[name] in reason
        assert f"{name} has no derivative" in reason
        assert "return TABLE[case.op](*args, **kwargs)" in reason, "the line of the call"


def assert_differences(sample: Sample, seeds: list[np.ndarray], got: list[Any], h: float = 1e-6) -> None:
    """A central difference along one direction has an error of about h**2, and of a rounding over h."""
    along = directions(sample.case.name + " along", sample.arrays)
    ahead = values_of(sample.call, [x + h * t for x, t in zip(sample.arrays, along, strict=True)])
    behind = values_of(sample.call, [x - h * t for x, t in zip(sample.arrays, along, strict=True)])
    slope = inner(seeds, [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    assert is_close(inner(got, along), slope, 1e-5), f"{sample.case.name}: {inner(got, along)} and {slope}"


@by_op
def test_single_precision(name: str) -> None:
    """Gradients have the dtype of what they are gradients of."""
    for sample in evenly(SAMPLES[name], 2):
        if sample.case.name in NO_GRAPH | SINGULAR:
            continue
        arrays = [x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in sample.arrays]
        narrow = Sample(sample.case, arrays, sample.call)
        with quiet():
            seeds = directions(sample.case.name, values_of(sample.call, arrays))
            expected, reason = tape_of(narrow, arrays, seeds)
            problem, _ = gradient_of(narrow)
            if not reason:
                # Single precision has 6e-8 for a rounding; solvers lose two digits of it.
                assert_same(run(sample, problem, arrays, seeds), expected, sample.case.name, 2e-5)


@by_op
def test_symbolic_sizes(name: str) -> None:
    """A graph captured for any size gives the gradient for the sizes of the example, and for others it holds for."""
    for sample in evenly(SAMPLES[name], 4):
        if sample.case.name in NO_GRAPH | SINGULAR or not sample.case.infer:
            continue
        with quiet():
            problem, refusal = gradient_of(sample, dynamic=True)
            if refusal:
                continue
            specs = [place.meta["type"] for place in problem.places[: len(sample.arrays)]]
            atoms = sorted({a for s in specs for d in s.shape if isinstance(d, Dim) for a in d.atoms()}, key=_serial)
            same = {atom: atom.hint for atom in atoms}
            for values in [same, *list(other_sizes(atoms, problem.sizes))[:1]]:
                shapes = [at(tuple(spec.shape), values) for spec in specs]
                arrays = [resized(x, shape) for x, shape in zip(sample.arrays, shapes, strict=True)]
                assert_as_tape(sample, problem, arrays, must=values is same)


def _serial(atom: Any) -> int:
    number: int = atom.serial
    return number


def assert_as_tape(sample: Sample, problem: Problem, arrays: list[np.ndarray], must: bool) -> None:
    """The gradient of the tape at other arrays; unless the op is not defined for them and need not be."""
    try:
        seeds = directions(sample.case.name, values_of(sample.call, arrays))
        expected, reason = tape_of(sample, arrays, seeds)
    except Exception:
        if must:
            raise
        return
    if not reason:
        assert_same(run(sample, problem, arrays, seeds), expected, sample.case.name, 1e-9)


SEVERAL = sorted(
    op.name for op in TABLE.values() if op.domain is not None and len(op.arrays) > 1 and op.name in SAMPLES
)


@pytest.mark.parametrize("name", SEVERAL)
def test_python_numbers(name: str) -> None:
    """A Python float that varies beside arrays: no gradient takes its dtype from it, and its own is that of a float."""
    sample = next(s for s in SAMPLES[name] if not any(x.dtype.kind == "c" for x in s.arrays))
    for place in range(len(sample.arrays)):
        arrays = [x.astype(np.float32) for x in sample.arrays]
        number = float(arrays[place].flat[0])
        mixed: list[Any] = [number if k == place else x for k, x in enumerate(arrays)]
        with quiet():
            values = values_of(sample.call, mixed)
            seeds = directions(name, values)
            problem = Problem(sample.call, mixed)
            tensors: list[Any] = [*mixed[:place], np.asarray(number), *mixed[place + 1 :]]
            expected, reason = tape_of(sample, [x.astype(np.float64) for x in tensors], _wide(seeds))
            if reason:
                with pytest.raises(NotDifferentiable):
                    problem.reverse()
                continue
            problem.reverse()
            got = [np.asarray(part) for part in problem.run(*mixed, *seeds)]
        for k, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert g.dtype == (np.float64 if k == place else np.float32)
            assert is_close(g, e, 2e-5), f"{name}: {g} instead of {e}"


def _wide(seeds: list[np.ndarray]) -> list[np.ndarray]:
    return [seed.astype(np.float64) for seed in seeds]
