"""What is kept: fewer bytes, checkpointed calls, budgets, marks that passes respect, and the report."""

from __future__ import annotations

import operator
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from halves import check_alike, kept_bytes

import weft
from weft import nn
from weft.autograd import checkpoint
from weft.passes import PassManager
from weft.transform._partition_report import shown

RNG = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


class Perceptron(nn.Module):
    def __init__(self, depth: int, width: int, marked: int = 0) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.marked = marked

    def part(self, x: Any, start: int, stop: int) -> Any:
        for layer in list(self.layers)[start:stop]:
            x = weft.tanh(layer(x))
        return x

    def forward(self, x: Any) -> Any:
        if not self.marked:
            return self.part(x, 0, len(self.layers))
        for start in range(0, len(self.layers), self.marked):
            x = checkpoint(self.part, x, start, start + self.marked)
        return x


class Residual(nn.Module):
    """Blocks whose input is added to what they give. What SiLU needs for itself is little; no budget can lower it."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            [
                nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
                for _ in range(depth)
            ]
        )

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = x + block(x)
        return x


X = normal(2048, 8)  # large beside what Python needs for itself
UNIT = X.nbytes


def test_pointwise_work_is_computed_again_rather_than_kept() -> None:
    def function(x, w):
        h = x @ w
        return weft.sin(weft.exp(h) * 2.0) @ w

    joint = weft.joint_graph(function, X, normal(8, 8))
    halves = weft.partition(joint)
    assert [each.name for each in halves.kept] == ["exp"] and halves.report.kept_bytes == UNIT
    assert weft.partition(joint, "keep").report.kept_bytes == 3 * UNIT
    assert kept_bytes(halves, (X, normal(8, 8))) == UNIT


def test_of_a_mask_the_mask_is_kept() -> None:
    joint = weft.joint_graph(lambda x, w: weft.relu(x @ w), X, normal(8, 8))
    assert weft.partition(joint).report.kept_bytes == UNIT / 8


def test_of_a_checkpointed_call_only_what_it_gives_is_kept() -> None:
    plain = weft.partition(weft.joint_graph(Perceptron(9, 8).double(), X))
    assert plain.report.kept_bytes == 9 * UNIT
    marked = check_alike(Perceptron(9, 8, marked=3).double(), X)
    assert marked.report.kept_bytes == 3 * UNIT == marked.measure(X).kept
    # What the last layer of each call gives is there, so that it need not run again.
    linear = [node for node in marked.backward.graph.nodes if node.target is weft.linear]
    assert len(linear) == 6 and all(node.meta["recomputed"] for node in linear)
    ignored = check_alike(Perceptron(9, 8, marked=3).double(), X, policy="keep")
    assert ignored.report.kept_bytes == 9 * UNIT


def test_the_policy_checkpoint_computes_nothing_else_again() -> None:
    def function(x, w):
        h = checkpoint(lambda x: weft.exp(weft.sin(x)) @ w, x)
        return weft.sin(weft.exp(h))

    args = (X, normal(8, 8))
    halves = check_alike(function, *args, policy="checkpoint")
    again = {node.name for node in halves.backward.graph.nodes if node.meta.get("recomputed")}
    assert again == {"sin", "exp"}
    check_alike(function, *args)


def test_a_checkpointed_call_in_a_loop_keeps_its_input() -> None:
    def block(h, w):
        a = weft.tanh(h @ w)
        return weft.tanh(a @ w) * a

    def marked(x, w, n):
        for i in range(n):
            x = checkpoint(block, x, w[i])
        return x

    def plain(x, w, n):
        for i in range(n):
            x = block(x, w[i])
        return x

    args = (X, normal(5, 8, 8), 5)
    with_marks, without = (weft.partition(weft.joint_graph(f, *args)) for f in (marked, plain))
    links = 5 * 200  # bytes, of the tape itself
    assert 5 * UNIT <= with_marks.measure(*args).kept <= 5 * UNIT + links < without.measure(*args).kept
    check_alike(marked, *args)


def test_derivatives_of_captured_functions_know_checkpoint_too() -> None:
    def function(x, w):
        return checkpoint(lambda x: weft.tanh(weft.tanh(x @ w) @ w), x)

    x, w = normal(4, 3), normal(3, 3)
    value, pull = weft.vjp(function, x, w)
    plain, expected = weft.vjp(lambda x, w: weft.tanh(weft.tanh(x @ w) @ w), x, w)
    np.testing.assert_array_equal(value, plain)
    for got, want in zip(pull(np.ones((4, 3))), expected(np.ones((4, 3))), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_a_gradient_in_one_graph_computes_checkpointed_calls_again() -> None:
    def part(x, w):
        for _ in (0, 1, 2, 3):
            x = weft.tanh(x @ w)
        return x

    def marked(x, w):
        for _ in (0, 1, 2, 3, 4):
            x = checkpoint(part, x, w)
        return weft.sum(x)

    def plain(x, w):
        for _ in (0, 1, 2, 3, 4):
            x = part(x, w)
        return weft.sum(x)

    x, w = normal(2000, 8), normal(8, 8)
    peaks = []
    results = []
    for function in (plain, marked):
        derived = weft.value_and_grad(function, (0, 1))
        results.append(derived(x, w))
        tracemalloc.start()
        derived(x, w)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    again = [node for node in derived.graph.nodes if node.meta.get("recomputed")]
    assert sum(node.target in (weft.matmul, operator.matmul) for node in again) == 15
    assert peaks[1] < 0.75 * peaks[0]
    for got, want in zip(results[1][1], results[0][1], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("share", [0.75, 0.5, 0.45])
@pytest.mark.parametrize("model", [Perceptron(40, 8), Residual(12, 8)], ids=["perceptron", "residual"])
def test_a_budget_is_met(model: Any, share: float) -> None:
    model = model.double()
    free = weft.partition(weft.joint_graph(model, X)).report
    budget = share * free.peak
    halves = check_alike(model, X, memory_budget=budget)
    report = halves.report
    assert report.met and report.peak <= budget
    assert halves.measure(X).peak <= budget
    assert report.overhead <= 0.4
    assert "met" in str(report) and "not met" not in str(report)


@pytest.mark.parametrize("policy", ["default", "keep"])
@pytest.mark.parametrize("share", [0.75, 0.5, 0.3])
def test_a_budget_is_met_where_all_is_pointwise(policy: str, share: float) -> None:
    def chain(x, w):
        for k in tuple(map(float, range(1, 31))):
            x = np.tanh(x * w) + np.sin(x) / k
        return x

    args = normal(2000), normal(2000)
    budget = share * weft.partition(weft.joint_graph(chain, *args), "keep").report.peak
    halves = check_alike(chain, *args, policy=policy, memory_budget=budget)
    assert halves.report.met and halves.measure(*args).peak <= budget + 5000  # bytes of Python's
    assert halves.report.overhead <= 0.4


def test_more_budget_takes_less_arithmetic() -> None:
    joint = weft.joint_graph(Perceptron(40, 8).double(), X)
    overheads = [weft.partition(joint, memory_budget=UNIT * units).report.overhead for units in (12, 20, 30, 38, 60)]
    assert overheads == sorted(overheads, reverse=True) and overheads[-1] == 0.0
    # Of 40 layers, those of which nothing is kept: about a third of the arithmetic of each.
    assert overheads[3] < 0.1


def test_a_budget_that_cannot_be_met_says_how_far_it_got() -> None:
    joint = weft.joint_graph(Perceptron(40, 8).double(), X)
    halves = weft.partition(joint, memory_budget="1kB")
    assert not halves.report.met
    assert halves.report.peak < 0.3 * weft.partition(joint).report.peak
    found = shown(halves.report.peak)
    assert f"budget: 1 kB, not met: {found} is the least that was found" in str(halves.report)
    assert halves.measure(X).peak <= 1.02 * halves.report.peak


def test_predicted_is_measured() -> None:
    for how in ({}, {"policy": "keep"}, {"memory_budget": 20 * UNIT}):
        halves = weft.partition(weft.joint_graph(Perceptron(30, 8).double(), X), **how)
        measured = halves.measure(X)
        report = halves.report
        assert measured.forward == pytest.approx(report.forward_peak.most, rel=0.02)
        assert measured.backward == pytest.approx(report.backward_peak.most, rel=0.02)


def test_the_report_names_lines() -> None:
    halves = weft.partition(weft.joint_graph(Perceptron(3, 8).double(), X))
    halves.measure(X)
    text = str(halves.report)
    assert "test_partition_memory.py" in text and "x = weft.tanh(layer(x))" in text
    assert "largest kept:" in text and "float64[2048, 8], 131 kB" in text
    assert "measured: " in text and "kept: 393 kB in 3 values" in text
    kept = halves.kept[0]
    assert (kept.bytes, kept.type.shape, kept.estimated) == (UNIT, (2048, 8), False)


def test_tapes_are_estimated_and_the_report_says_so() -> None:
    def function(x, n):
        for _ in range(n):
            x = weft.tanh(x) * x
        return x

    report = weft.partition(weft.joint_graph(function, X, 5)).report
    assert any(each.estimated for each in report.kept) and "16" in str(report).splitlines()[-1]


def recomputed(graph: weft.Graph) -> int:
    return sum(bool(node.meta.get("recomputed")) for node in graph.nodes)


def test_passes_do_not_merge_what_is_computed_again(tmp_path: Path) -> None:
    halves = weft.partition(weft.joint_graph(Perceptron(9, 8, marked=3).double(), X))
    whole = halves.whole()
    before = recomputed(whole.graph)
    assert before == halves.report.recomputed >= 12
    whole.save(tmp_path / "whole.weft")
    loaded = weft.load(tmp_path / "whole.weft")
    assert recomputed(loaded.graph) == before
    for module in (whole, loaded):
        PassManager(restore=False).run(module.graph)
        module.recompile()
        assert sum(node.target is weft.linear for node in module.graph.nodes) == 15
    with weft.no_grad():
        results = whole(X, np.ones(X.shape))
    value, pull = halves(X)
    for got, want in zip(results, [value, *pull(np.ones(X.shape))], strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12)
    # Without the marks they would be merged: the test could not fail otherwise.
    bare = halves.whole()
    for node in bare.graph.nodes:
        node.meta.pop("recomputed", None)
    PassManager(restore=False).run(bare.graph)
    assert sum(node.target is weft.linear for node in bare.graph.nodes) == 9
