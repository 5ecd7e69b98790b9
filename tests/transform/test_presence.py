"""Gradients that come on some paths only: to a parameter of the side not taken comes none, as on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from steps import compare, regression, stepping, usual

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.errors import CaptureError


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 2).to(np.float64), nn.Linear(6, 2).to(np.float64)
        self.c = nn.Parameter(np.array([0.9, 1.1]))


def one_side(net: Any, x: Any) -> Any:
    return net.a(x) if x.sum() > 0 else net.b(x) * net.c


def half_of_it(net: Any, x: Any) -> Any:
    h = net.a(x)
    if x.sum() > 0:
        h = h + net.b(x) * net.c
    return h


def both_sides(net: Any, x: Any) -> Any:
    return net.a(x) * net.c if x.sum() > 0 else net.a(x) + net.c


def branch_in_a_branch(net: Any, x: Any) -> Any:
    h = net.a(x)
    if x.sum() > 0:
        if x[0].sum() > 0:
            h = h + net.b(x)
        h = h * 1.5
    return h


def branch_in_a_loop(net: Any, x: Any) -> Any:
    h = net.a(x)
    for i in range(len(x)):
        if x[i].sum() > 4.0:
            h = h + 0.1 * net.b(x)
    return h


def loop_of_unknown_turns(net: Any, x: Any) -> Any:
    h, n = net.a(x), 0
    while (h * h).sum() > 6.0 and n < 5:
        h, n = h * net.c * 0.5, n + 1
    return h


def loop_in_a_branch(net: Any, x: Any) -> Any:
    h = net.a(x)
    if x.sum() > 0:
        for i in range(3):
            h = h * net.c + x[i, :2]
    return h


def what_a_loop_begins_with(net: Any, x: Any) -> Any:
    h, n = net.c, 0
    while h.sum() < 1.0 and n < 3:
        h, n = h * 2.0, n + 1
    return net.a(x) * h


def by_chance(net: Any, x: Any) -> Any:
    h = net.a(x)
    if weft.rand(()) < 0.5:
        h = h + net.b(x)
    return h


def what_nobody_uses(net: Any, x: Any) -> Any:
    h, unused = net.a(x), x[:, :2] * 1.0
    for i in range(len(x)):
        if x[i].sum() < 3.0:
            h = h * 0.9 + net.b.bias.detach()
        else:
            unused = unused + net.b(x) * h
            h = h + net.c
    return h


PROGRAMS = [
    *(one_side, half_of_it, both_sides, branch_in_a_branch, branch_in_a_loop, loop_of_unknown_turns),
    *(loop_in_a_branch, what_a_loop_begins_with, by_chance, what_nobody_uses),
]
OPTIMIZERS: list[tuple[Any, Any]] = [
    (optim.SGD, {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    (optim.AdamW, {"weight_decay": 0.1}),
]


def training(program: Any) -> Any:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(program(net, x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss

    return body


@pytest.mark.parametrize(("optimizer", "options"), OPTIMIZERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_steps(program: Any, optimizer: Any, options: Any) -> None:
    # The first gradient of SGD begins the momentum: a graph of its own, for each set of parameters that have begun.
    captures = 1 if optimizer is optim.AdamW else None
    step = compare(stepping(training(program), optimizer, Parts, **options), captures=captures, exact=False)
    assert "touch" not in str(step.graph)


@pytest.mark.parametrize("program", PROGRAMS)
def test_on_the_tape(program: Any) -> None:
    net = Parts()

    def gradients(call: Any, k: int) -> list[Any]:
        net.zero_grad()
        weft.manual_seed(k)
        (call(regression(k)[0]) ** 2).sum().backward()
        return [p.grad for p in net.parameters()]

    compiled = weft.compile(lambda x: program(net, x))
    patterns = set()
    for k in range(8):
        plain, captured = gradients(lambda x: program(net, x), k), gradients(compiled, k)
        patterns.add(tuple(one is None for one in plain))
        for one, other in zip(plain, captured, strict=True):
            assert (one is None) is (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert (len(patterns) == 1) is (program in (both_sides, what_a_loop_begins_with))
    assert not compiled._ran_plainly


def test_results_of_which_one_is_used() -> None:
    p, q = nn.Parameter(np.array([1.0, 2.0])), nn.Parameter(np.array([3.0, 4.0]))
    compiled = weft.compile(lambda x: (x * 2 * p.sum(), (x**2).sum() * q.sum()))
    for n in (3, 5):  # of another size, zeros of the first size would not do
        x = weft.tensor(np.arange(float(n)), requires_grad=True)
        compiled(x)[1].backward()
        np.testing.assert_array_equal(x.grad, 14.0 * x.detach())
        assert p.grad is None
        assert q.grad is not None
        p.grad = q.grad = None
    assert compiled.cache_info().misses == 1


def gathering(net: Any, opt: Any, x: Any, y: Any) -> Any:
    opt.zero_grad()
    for part in (x, -x):
        F.mse_loss(one_side(net, part), y).backward()
    opt.step()


def test_gradients_of_both_sides_are_gathered() -> None:
    compare(stepping(gathering, optim.AdamW, Parts), exact=False)


def by_hand(net: Any, opt: Any, x: Any, y: Any) -> None:
    F.mse_loss(one_side(net, x), y).backward()
    with weft.no_grad():
        for p in net.parameters():
            if p.grad is not None:
                p -= 0.1 * (p.grad + 0.1 * p)


def set_anew(net: Any, opt: Any, x: Any, y: Any) -> None:
    F.mse_loss(one_side(net, x), y).backward()
    net.c.grad = net.c.grad * 2.0


def asked_for(net: Any, opt: Any, x: Any, y: Any) -> Any:
    return weft.autograd.grad(F.mse_loss(one_side(net, x), y), [net.c], allow_unused=True)


def two_steps(net: Any, opt: Any, x: Any, y: Any) -> Any:
    usual(lambda x: one_side(net, x), opt, x, y)
    return usual(lambda x: one_side(net, x), opt, x, y)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (by_hand, "the gradient of a Tensor from outside inside a captured branch"),
        (set_anew, "setting a gradient where only running the graph tells"),
        (asked_for, "whether the outputs depend on input 0 is known only when"),
        (two_steps, "two steps of an optimiser in one call"),
    ],
)
def test_what_would_have_to_know_at_capture_is_refused(body: Any, says: str) -> None:
    _, _, step = stepping(body, optim.AdamW, Parts)()
    with pytest.raises(CaptureError, match=says):
        weft.compile(step)(*regression(0))
