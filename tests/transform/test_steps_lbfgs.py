"""LBFGS in a compiled step: its closure is the body of a loop, run as often as the plain step calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from steps import Attention, compare, images, mlp, regression, stepping

import weft
import weft.nn.functional as F
from weft import nn, optim

OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.5},
    {"lr": 0.1, "max_iter": 4, "history_size": 3},
    {"max_iter": 1},
    {"line_search_fn": "strong_wolfe", "max_iter": 6},
    {"line_search_fn": "strong_wolfe", "max_eval": 7, "tolerance_grad": 1e-3},
    {"lr": 0.3, "max_iter": 5, "tolerance_change": 1e-2},
]


def searched(net: Any, opt: Any, x: Any, y: Any, loss: Any = F.mse_loss) -> Any:
    """The usual step with a closure."""

    def closure() -> Any:
        opt.zero_grad()
        value = loss(net(x), y)
        value.backward()
        return value

    return opt.step(closure)


def of(body: Any = searched, model: Callable[[], Any] = mlp, **options: Any) -> Callable[[], Any]:
    return stepping(body, optim.LBFGS, model, **{"lr": 0.2, "max_iter": 4, **options})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", OPTIONS)
def test_options(options: dict[str, Any], dtype: Any) -> None:
    compare(of(model=lambda: mlp().to(dtype), **options), lambda k: regression(k % 3, dtype), 100)


MODELS: dict[str, Callable[[], Any]] = {
    "batch norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)),
    "averaged": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=None), nn.Linear(8, 2)),
    "dropout": lambda: nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 2)),
    "attention": Attention,
    "shared": lambda: nn.Sequential(*[nn.Linear(6, 6)] * 2, nn.Linear(6, 2)),
}


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, search: str | None) -> None:
    make = of(model=lambda: MODELS[name]().to(np.float64), line_search_fn=search, lr=0.01)
    compare(make, lambda k: regression(0), 100 if "norm" in name or name == "dropout" else 10)


def test_convolutions() -> None:
    def model() -> Any:
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        return searched(net, opt, x, y, F.cross_entropy)

    compare(of(body, model), images)


# What else a closure does


def counting(net: Any, opt: Any, x: Any, y: Any) -> Any:
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        net.seen += 1
        return loss

    loss = opt.step(closure)
    return loss, calls


def clipping(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        return loss

    return opt.step(closure)


def zeros_in_place(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad(set_to_none=False)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    return opt.step(closure)


def adding_up(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    return opt.step(closure)


def writing_parameters(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        with weft.no_grad():
            for p in net.parameters():
                p.clamp_(-0.3, 0.3)
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    return opt.step(closure)


def some_of_them(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        h = net[0](x)
        loss = (h * h).mean()
        loss.backward()
        return loss

    return opt.step(closure)


def decided(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        h = net[0](x)
        if h.sum() > 0:
            loss = (net[2](h) ** 2).mean()
        else:
            loss = (h**2).mean()
        loss.backward()
        return loss

    return opt.step(closure)


def in_a_loop(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        h, k = net[0](x), 0
        while (h * h).sum() > 1.0 and k < 20:
            h = h * 0.7
            k += 1
        loss = F.mse_loss(net[2](h), y)
        loss.backward()
        return loss

    return opt.step(closure)


def twice(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    first = opt.step(closure)
    return first, opt.step(closure), sum((p.grad * p.grad).sum() for p in net.parameters())


def evaluated_after(net: Any, opt: Any, x: Any, y: Any) -> Any:
    before = F.mse_loss(net(x), y)
    with weft.no_grad():
        first = searched(net, opt, x, y)
    after = F.mse_loss(net(x), y)
    after.backward()
    return before.detach(), first, after


def without_backward(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        loss = F.mse_loss(net(x), y)
        for p, g in zip(net.parameters(), weft.autograd.grad(loss, list(net.parameters())), strict=True):
            p.grad = g
        return loss

    return opt.step(closure)


def noisy(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x + 0.01 * weft.randn(8, 6, dtype=np.float64)), y)
        loss.backward()
        return loss

    return opt.step(closure)


def read_only(net: Any, opt: Any, x: Any, y: Any) -> Any:
    rate = opt.param_groups[0]["lr"]
    opt.param_groups[0]["lr"] = rate * 0.9
    return searched(net, opt, x, y), opt.param_groups[0]["lr"]


PROGRAMS = [
    counting,
    clipping,
    zeros_in_place,
    adding_up,
    writing_parameters,
    some_of_them,
    decided,
    in_a_loop,
    twice,
    evaluated_after,
    without_backward,
    noisy,
    read_only,
]


class Counted(nn.Sequential):
    seen = 0


def counted() -> Any:
    net = Counted(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(np.float64)
    net.seen = 0
    return net


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Any, search: str | None) -> None:
    if program is some_of_them:
        steps = of(program, lambda: nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 2)).to(np.float64))
    elif program is decided:
        steps = of(program, lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(np.float64))
    else:
        steps = of(program, counted, line_search_fn=search, lr=0.05)
    step = compare(steps, lambda k: regression(k % 3), 20, captures=None)
    assert step.cache_info().misses <= 2, step.why_recompiled()


def test_other_sizes_need_no_other_graph() -> None:
    def batches(k: int) -> tuple[Any, Any]:
        x, y = regression(0)
        return x[: 4 + k], y[: 4 + k]

    compare(of(line_search_fn="strong_wolfe"), batches, 5)


def test_beside_another_optimiser() -> None:
    def make() -> Any:
        net = mlp()
        opt = optim.LBFGS(net[0].parameters(), lr=0.1, max_iter=3)
        other = optim.Adam(net[2].parameters())

        def step(x: Any, y: Any) -> Any:
            def closure() -> Any:
                net.zero_grad()
                loss = F.mse_loss(net(x), y)
                loss.backward()
                return loss

            loss = opt.step(closure)
            other.step()
            return loss

        return net, opt, step, other

    compare(make, lambda k: regression(0), 20)


def test_schedules_and_loaded_states() -> None:
    def make() -> Any:
        net = mlp()
        opt = optim.LBFGS(net.parameters(), lr=0.3, max_iter=3)
        schedule = optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)

        def step(x: Any, y: Any) -> Any:
            loss = searched(net, opt, x, y)
            schedule.step()
            return loss, schedule.get_last_lr()

        return net, opt, step

    def between(run: Any, k: int) -> None:
        if k == 5:
            run.optimizer.load_state_dict(run.optimizer.state_dict())
        if k == 8:
            run.optimizer.param_groups[0].update(max_iter=2, line_search_fn="strong_wolfe", history_size=2)

    compare(make, lambda k: regression(0), 12, between=between)


def test_hooks_of_parameters() -> None:
    def make() -> Any:
        net, opt, step = of()()
        net[0].weight.register_hook(lambda g: g * 0.5)
        return net, opt, step

    compare(make, lambda k: regression(0))


def test_steps_in_a_loop_that_is_written_out() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        return [searched(net, opt, x, y) for _ in range(3)]

    compare(of(body), lambda k: regression(0), 4)


def test_a_closure_that_fails_changes_nothing() -> None:
    net = mlp()
    opt = optim.LBFGS(net.parameters(), lr=0.3, max_iter=4)
    x, y = regression(0)

    @weft.compile
    def step(limit: Any) -> Any:
        calls = 0.0

        def closure() -> Any:
            nonlocal calls
            calls = calls + limit
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            weft.graph.check(calls < 3.0, "three calls")
            return loss

        return opt.step(closure)

    step(0.1)
    before = [p.numpy().copy() for p in net.parameters()], repr(opt.state_dict()), [p.grad for p in net.parameters()]
    with pytest.raises(AssertionError, match="three calls"):
        step(1.0)
    for p, was in zip(net.parameters(), before[0], strict=True):
        np.testing.assert_array_equal(p.numpy(), was)
    assert repr(opt.state_dict()) == before[1]
    assert all(p.grad is was for p, was in zip(net.parameters(), before[2], strict=True))
    assert step.cache_info().misses == 1


def test_what_a_closure_has_to_be() -> None:
    _, opt, _ = of()()
    with pytest.raises(TypeError, match="a closure is needed"):
        weft.compile(lambda: opt.step())()
    with pytest.raises(TypeError, match="float"):
        weft.compile(lambda: opt.step(lambda: (1.0, 2.0)))()


def test_a_step_under_a_condition_is_refused() -> None:
    _, _, step = of()()
    x, y = regression(0)

    @weft.compile
    def sometimes(x: Any, y: Any) -> Any:
        if x.sum() > 0:
            step(x, y)

    with pytest.raises(weft.errors.CaptureError, match="an optimiser's step inside a captured branch"):
        sometimes(x, y)


def one_element(net: Any, opt: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y).reshape((1,))
        loss.backward()
        return loss

    return opt.step(closure)


def recorded(net: Any, opt: Any, x: Any, y: Any) -> Any:
    losses, best = [], 1e9

    def closure() -> Any:
        nonlocal best
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        losses.append(loss.item())
        if loss.item() < best:
            best = loss.item()
        return loss

    return opt.step(closure), losses, best


def detached_before(net: Any, opt: Any, x: Any, y: Any) -> Any:
    weight, offset = F.mse_loss(net(x), y).item(), F.mse_loss(net(x), y)

    def closure() -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y) * weight + offset.detach()
        loss.backward()
        return loss

    return opt.step(closure)


@pytest.mark.parametrize("program", [one_element, recorded, detached_before])
def test_losses_that_closures_keep(program: Any) -> None:
    compare(of(program), lambda k: regression(0), 5)


def for_the_next_call(net: Any, opt: Any, x: Any, y: Any) -> Any:
    h = y[0] * 0

    def closure() -> Any:
        nonlocal h
        opt.zero_grad()
        loss = F.mse_loss(net(x), y) + (h * y[0]).sum()
        loss.backward()
        h = net[2].bias * 0.5
        return loss

    return opt.step(closure)


def for_after_the_step(net: Any, opt: Any, x: Any, y: Any) -> Any:
    h = y[0] * 0

    def closure() -> Any:
        nonlocal h
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        h = net[2].bias * 0.5
        return loss

    loss = opt.step(closure)
    (h * y[0]).sum().backward()
    return loss


@pytest.mark.parametrize("program", [for_the_next_call, for_after_the_step])
def test_derivatives_that_the_loop_would_lose_are_refused(program: Any) -> None:
    _, _, step = of(program)()
    with pytest.raises(weft.errors.CaptureError, match=r"h.*, which the closure computes from parameters"):
        weft.compile(step)(*regression(0))
