"""Numbers outside that a compiled program changes: counters, running sums, gradients gathered over several calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from steps import compare, mlp, regression

import weft
import weft.nn.functional as F
from weft import nn, optim

CALLS = 0


class Log:
    def __init__(self) -> None:
        self.steps, self.total, self.best, self.mean = 0, 0.0, float("inf"), np.float64(0)


def logging(body: Any) -> Any:
    """What makes a run of `body(net, opt, log, *batch)`; the log is compared after each step, too."""

    def make() -> Any:
        net, log = mlp(), Log()
        opt = optim.Adam(net.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(net(x), y)
            loss.backward()
            body(net, opt, log, loss)
            return loss, log.steps, log.total, log.best, log.mean

        return net, opt, step, log

    return make


def every_third(net: Any, opt: Any, log: Any, loss: Any) -> None:
    log.steps += 1
    if log.steps % 3 == 0:
        opt.step()
        opt.zero_grad()


def sums(net: Any, opt: Any, log: Any, loss: Any) -> None:
    opt.step()
    opt.zero_grad()
    log.total += loss.item()
    log.best = min(log.best, loss.item())
    log.mean = 0.9 * log.mean + 0.1 * loss.detach().numpy()


def warms_up(net: Any, opt: Any, log: Any, loss: Any) -> None:
    log.steps += 1
    for group in opt.param_groups:
        group["lr"] = 1e-2 * min(1.0, log.steps / 5)
    opt.step()
    opt.zero_grad()


# Where gradients are there already is one more kind of call, and where the optimiser makes a step another.
@pytest.mark.parametrize(("body", "captures"), [(every_third, 3), (sums, 1), (warms_up, 1)])
def test_objects_that_count(body: Any, captures: int) -> None:
    logs = []
    compare(logging(body), captures=captures, between=lambda run, k: logs.append(dict(vars(run.rest[0]))))
    assert logs[:12] == logs[12:]
    assert logs[0] != logs[11]


def test_a_module_that_counts_its_calls() -> None:
    class Slowing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.calls = nn.Linear(6, 2).to(np.float64), 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return self.layer(x) / self.calls

    def make() -> Any:
        net = Slowing()
        opt = optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any, y: Any) -> Any:
            opt.zero_grad()
            loss = F.mse_loss(net(x), y) + F.mse_loss(net(x), -y)
            loss.backward()
            opt.step()
            return loss, net.calls

        return net, opt, step

    compare(make, exact=False)  # two parts of a gradient
    net = Slowing()
    compiled = weft.compile(net)
    for k in range(3):
        compiled(regression(k)[0]).sum().backward()
        assert net.calls == k + 1
    assert net.layer.weight.grad is not None
    assert compiled.cache_info().misses == 1


def test_variables_that_count() -> None:
    count, total = 0, 0.0

    @weft.compile
    def step(x: Any) -> Any:
        global CALLS
        nonlocal count, total
        CALLS += 1
        before = count
        count += 2
        total += float(x.sum())
        return before, count, total, CALLS

    for k in range(3):
        assert step(np.full(3, 2.0)) == (2 * k, 2 * k + 2, 6.0 * (k + 1), k + 1)
        assert (count, total, CALLS) == (2 * k + 2, 6.0 * (k + 1), k + 1)
    count = 10
    assert step(np.ones(3))[1] == 12
    assert step.cache_info().misses == 1
    count = 0.5  # a number of another type is another graph
    assert step(np.ones(3))[:2] == (0.5, 2.5)
    assert count == 2.5


def test_a_step_that_fails_leaves_what_the_plain_one_leaves() -> None:
    log = Log()

    @weft.compile
    def step(x: Any) -> Any:
        log.steps += 1
        assert x.sum() > 0, "negative"
        return log.steps

    assert step(np.ones(2)) == 1
    with pytest.raises(AssertionError, match="negative"):
        step(-np.ones(2))
    assert log.steps == 2


def in_a_branch(log: Any, x: Any) -> Any:
    if x.sum() > 0:
        log.steps += 1
    return x


def an_array(log: Any, x: Any) -> Any:
    log.total = x * 2
    return x


def a_new_name(log: Any, x: Any) -> Any:
    log.latest = float(x.sum())
    return x


@pytest.mark.parametrize("body", [in_a_branch, an_array, a_new_name])
def test_other_changes(body: Any) -> None:
    log, plain = Log(), Log()
    compiled = weft.compile(lambda x: body(log, x))
    for k in range(3):
        x = np.ones(2) - k
        np.testing.assert_array_equal(compiled(x), body(plain, x))
        np.testing.assert_equal(vars(log), vars(plain))


def test_a_step_is_explained() -> None:
    net, opt, step, _ = logging(sums)()
    found = weft.explain(step, *regression(0))
    assert found.captured, str(found)
    assert ".total of a Log: float" in str(found)
    assert all(p.grad is None for p in net.parameters())
    assert not opt.state
