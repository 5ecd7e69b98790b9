"""Second derivatives of every op: the graph of a gradient, differentiated in turn, against differences of the gradient.

A gradient is differentiated in the arguments of the op and in the gradient that comes to its result.
"""

from __future__ import annotations

import numpy as np
import pytest
from op_derivatives import Problem, Sample, directions, evenly, inner, is_close, quiet, samples, values_of
from test_op_gradients import NO_GRAPH, SINGULAR

from weft.errors import NotDifferentiable


def chosen() -> dict[str, list[Sample]]:
    """Cases of the table to differentiate twice: not those that it states for a first derivative only."""
    found = {}
    for name, several in samples().items():
        twice = [s for s in several if s.smooth and s.case.order > 1 and s.case.name not in NO_GRAPH | SINGULAR]
        if twice:
            found[name] = evenly(twice, 3)
    return found


SAMPLES = chosen()
by_op = pytest.mark.parametrize("name", sorted(SAMPLES))

# Ops all of whose cases draw, have no derivative, or are stated for a first one only.
ONCE = {
    *("bernoulli", "bernoulli_mask", "beta", "categorical", "choice", "choice_indices", "exponential", "gamma"),
    *("gumbel", "histc", "multinomial", "normal", "permutation", "poisson", "rand_like", "randn_like"),
    *("refuse_nonzero", "rollaxis", "standard_gamma", "stop_gradient", "uniform"),
}


def test_every_op_is_differentiated_twice() -> None:
    assert samples().keys() - SAMPLES.keys() == ONCE


class First:
    """The gradient of a call as a function of its arguments and of the gradient of its result."""

    def __init__(self, sample: Sample) -> None:
        self.problem = Problem(sample.call, sample.arrays)
        self.problem.reverse()
        self.inputs = [*sample.arrays, *directions(sample.case.name, values_of(sample.call, sample.arrays))]
        self.along = directions(sample.case.name + " along", self.inputs)

    def difference(self, h: float = 1e-6) -> list[np.ndarray]:
        """A central difference: its error is about h**2, and a rounding over h."""
        ahead, behind = (
            self.problem.run(*(x + step * t for x, t in zip(self.inputs, self.along, strict=True))) for step in (h, -h)
        )
        return [np.asarray((a - b) / (2 * h)) for a, b in zip(ahead, behind, strict=True)]


def gradient_graph(sample: Sample, dynamic: bool = False) -> Problem:
    """The graph of the gradient, to be differentiated."""
    problem = Problem(sample.call, sample.arrays, dynamic)
    problem.reverse()
    problem.again()
    return problem


@by_op
def test_second(name: str) -> None:
    """Forward over reverse gives the difference of gradients; reverse over reverse is its transpose."""
    for sample in SAMPLES[name]:
        with quiet():
            try:
                first = First(sample)
            except NotDifferentiable:
                continue  # the tests of gradients say for which ops
            expected = first.difference()
            forward = gradient_graph(sample)
            forward.forward()
            tangents = forward.run(*first.inputs, *first.along)
            for t, e in zip(tangents, expected, strict=True):
                got = np.zeros_like(e) if t is None else t
                assert is_close(got, e, 1e-5), f"{sample.case.name}: {got} and {e}"
            weights = directions(sample.case.name + " weights", expected)
            twice = gradient_graph(sample)
            twice.reverse()
            back = inner(twice.run(*first.inputs, *weights), first.along)
            assert is_close(back, inner(weights, expected), 1e-5), f"{sample.case.name}: {back}"


@by_op
def test_symbolic_sizes(name: str) -> None:
    """The same of a graph captured for any size."""
    sample = SAMPLES[name][-1]
    if not sample.case.infer:
        return
    with quiet():
        try:
            first = First(sample)
        except NotDifferentiable:
            return
        problem = gradient_graph(sample, dynamic=True)
        problem.forward()
        for t, e in zip(problem.run(*first.inputs, *first.along), first.difference(), strict=True):
            got = np.zeros_like(e) if t is None else t
            assert is_close(got, e, 1e-5), f"{sample.case.name}: {got} and {e}"
