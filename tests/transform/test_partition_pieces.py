"""Budgets on loops: cut in pieces, of which the backward runs each again from where it started."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from halves import check_alike, in_halves

import weft
from weft import nn

RNG = np.random.default_rng(9)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def stepping(x, w, n):
    for _ in range(n):
        x = np.tanh(x * w) + x
    return x


def from_three(x, w):
    for i in range(3, w.shape[0]):
        x = np.sin(x * w[i]) * i
    return x, (x * x).sum()


def choosing(x, n):
    for i in range(n):
        x = np.sin(x) * 1.5 if x.sum() > 0 else np.cos(x) + i
    return x


def within(x, n):
    for i in range(n):
        t = x
        for _ in range(i):
            t = np.sin(t) * x
        x = x + t
    return x


def writing(a, x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += a * np.tanh(y[i - 1])
    return y


class Repeated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Any, n: int) -> Any:
        for _ in range(n):
            x = weft.tanh(self.layer(x))
        return x


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (stepping, (normal(5), normal(5), 20)),
        (from_three, (normal(5), normal(17, 5))),
        (choosing, (normal(5), 12)),
        (within, (normal(5) * 0.3, 7)),
        (writing, (0.5, normal(12, 4))),
        (Repeated().double(), (normal(4, 6), 11)),
    ],
)
def test_a_budget_on_loops_changes_no_value(function: Any, args: tuple[Any, ...]) -> None:
    plain = weft.partition(weft.joint_graph(function, *args))
    halves = weft.partition(weft.joint_graph(function, *args), memory_budget=1)
    for module in (halves.forward, halves.backward, halves.whole()):
        module.graph.lint()
    assert halves.names == plain.names
    for got, want in zip(in_halves(halves, args), in_halves(plain, args), strict=True):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_a_loop_in_pieces_keeps_the_root_of_its_turns() -> None:
    x, w = normal(20_000), np.full(20_000, 0.1)
    joint = weft.joint_graph(stepping, x, w, 100)
    plain = weft.partition(joint)
    halves = weft.partition(joint, memory_budget=0.4 * plain.report.peak)
    report = halves.report
    assert report.met and halves.measure(x, w, 100).peak <= report.budget
    assert 10 * x.nbytes <= halves.measured.kept <= 11 * x.nbytes
    assert 0.2 < report.overhead < 0.4 and report.recomputed == 1
    assert report.everything_bytes == plain.report.kept_bytes
    for n in (0, 1, 2, 3, 50, 101):  # one graph serves all
        (value, pull), (expected, wanted) = halves(x, w, n), plain(x, w, n)
        np.testing.assert_array_equal(value, expected)
        for got, want in zip(pull(np.ones(20_000)), wanted(np.ones(20_000)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_loops_that_keep_little_of_what_they_write_are_not_cut() -> None:
    """A piece would start from a copy of the whole array, while the tape has one row for each turn."""
    joint = weft.joint_graph(writing, 0.5, normal(64, 2000))
    halves = weft.partition(joint, memory_budget=1)
    assert halves.joint is joint and not halves.report.met
    assert "is the least that was found" in str(halves.report)


def test_a_loop_that_draws_is_not_run_again() -> None:
    def noisy(x, n):
        for _ in range(n):
            x = weft.sin(x) * weft.rand(3, dtype=weft.float64)
        return x

    check_alike(noisy, normal(3), 9, seed=4, memory_budget=1)


def test_a_graph_that_was_edited_is_taken_as_it_is() -> None:
    joint = weft.joint_graph(stepping, weft.spec(2000), weft.spec(2000), 50)
    result = joint.graph.output_node().args[0][0]
    with joint.graph.inserting_before(joint.graph.output_node()):
        joint.graph.call_function(print, ("here",))
    assert result in joint.results and weft.partition(joint, memory_budget=1).joint is joint
