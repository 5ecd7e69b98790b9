"""What of a training step is refused, and what the attempt leaves: nothing."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from steps import regression, stepping, usual

import weft
import weft.nn.functional as F
from weft import nn, optim


def refused(make: Any, match: str) -> None:
    """A step that cannot be captured says why, and the attempt changes nothing."""
    net, opt, step = make()
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(weft.errors.CaptureError, match=match):
        weft.compile(step)(*regression(0))
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name].numpy())
    assert all(p.grad is None for p in net.parameters())
    assert not any(opt.state.values())


def test_a_closure_that_reads_what_was_computed_before() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        penalty = sum((p**2).sum() for p in net.parameters())

        def closure() -> Any:
            opt.zero_grad()
            loss = F.mse_loss(net(x), y) + penalty
            loss.backward(retain_graph=True)
            return loss

        return opt.step(closure)

    refused(stepping(body, optim.LBFGS), "penalty, which is computed from parameters before the step, and which")


def test_a_backward_under_a_condition_is_refused() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        if loss > 0.1:
            loss.backward()
        opt.step()
        return loss

    refused(stepping(body), r"backward\(\) inside a captured branch")


def test_a_refusal_after_the_step() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss = usual(net, opt, x, y)
        opt.load_state_dict(opt.state_dict())
        return loss

    refused(stepping(body), r"Adam\.load_state_dict\(\): it would be called once")


def test_memory_that_is_shared_is_refused() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Parameter(np.ones((6, 2)))
            self.b = nn.Parameter(self.a.numpy())

        def forward(self, x: Any) -> Any:
            return x @ self.a + x @ self.b

    refused(stepping(usual, model=Twice), "a and b share memory, and the step writes it")


def test_a_second_backward_is_the_error_it_is() -> None:
    p = weft.nn.Parameter(np.ones(3))

    @weft.compile
    def step() -> None:
        loss = (p * p).sum()
        loss.backward()
        loss.backward()

    with pytest.raises(weft.errors.AutogradError):
        step()


def test_a_leaf_that_is_written_is_the_error_it_is() -> None:
    p = weft.nn.Parameter(np.ones(3))

    @weft.compile
    def step() -> None:
        p.mul_(2.0)

    with pytest.raises(weft.errors.AutogradError):
        step()


def test_only_compile_captures_steps() -> None:
    p = weft.nn.Parameter(np.ones(3))

    def step(x: Any) -> Any:
        loss = (p * x).sum()
        loss.backward()
        return loss

    with pytest.raises(weft.errors.CaptureError, match=r"only weft\.compile captures whole steps"):
        weft.trace(step, weft.tensor(np.ones(3)))
    assert p.grad is None
