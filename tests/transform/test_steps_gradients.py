"""Steps that treat gradients in their own way: gathered, clipped, set, read; and updates by hand."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from steps import compare, mlp, regression, stepping, trained, usual

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.capture import _step_reuse


@pytest.fixture(autouse=True)
def _memory_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays as small as those here would not be worth it."""
    monkeypatch.setattr(_step_reuse, "_WORTH", 0)


def test_gradients_of_several_parts() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        total = 0.0
        for i in range(4):
            loss = F.mse_loss(net(x[2 * i : 2 * i + 2]), y[2 * i : 2 * i + 2]) / 4
            loss.backward()
            total = total + loss.detach()
        opt.step()
        return total

    compare(stepping(body))


def test_gradients_gathered_over_calls() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    def between(run: Any, k: int) -> None:
        if k % 3 == 2:
            run.optimizer.step()
            run.optimizer.zero_grad()

    compare(stepping(body), between=between, captures=2)  # with a gradient to begin with, and without


def test_the_gradient_that_is_there_stays_the_same_object() -> None:
    p = weft.nn.Parameter(np.ones(3))

    @weft.compile
    def step() -> Any:
        (p * p).sum().backward()

    step()
    held = p.grad
    step()
    assert p.grad is held
    assert held.tolist() == [4.0, 4.0, 4.0]


def test_zeros_in_place_of_nothing() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad(set_to_none=False)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss

    compare(stepping(body), captures=2)


@pytest.mark.parametrize("limit", [0.01, 1e6])
def test_clipped_norm(limit: float) -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), limit)
        opt.step()
        return loss, norm

    compare(stepping(body, optim.SGD, lr=0.1, momentum=0.9))


def test_clipped_values() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        net.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.01)
        opt.step()
        return loss

    compare(stepping(body))


def test_several_losses() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        h = net(x)
        error, size = F.mse_loss(h, y), h.abs().mean()
        error.backward(retain_graph=True)
        (0.1 * size).backward()
        opt.step()
        return {"error": error, "size": size}

    compare(stepping(body))


def test_a_penalty_on_the_parameters() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y) + 1e-3 * sum((p * p).sum() for p in net.parameters())
        loss.backward()
        opt.step()
        return loss

    compare(stepping(body), exact=False)  # the two parts of a gradient are added in another order


def test_gradients_asked_for() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        h = net[0](x)
        loss = F.mse_loss(net[2](weft.tanh(h)), y) + (h * h).sum()
        found = weft.autograd.grad(loss, [h, *net.parameters()])
        for p, g in zip(net.parameters(), found[1:], strict=True):
            p.grad = g
        opt.step()
        return loss, found[0]

    compare(stepping(body))


def test_a_penalty_on_a_gradient() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        (g,) = weft.autograd.grad(loss, [net[0].weight], create_graph=True)
        (loss + (g * g).sum()).backward()
        opt.step()
        return loss

    compare(stepping(body), exact=False)  # second derivatives add up in another order


def test_two_optimizers() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.maker, self.judge = mlp(), nn.Linear(2, 1).to(np.float64)

    def make() -> Any:
        net = Pair()
        makes, judges = optim.Adam(net.maker.parameters()), optim.SGD(net.judge.parameters(), lr=0.1, momentum=0.9)

        def step(x: Any, y: Any) -> Any:
            judges.zero_grad()
            made = net.maker(x)
            first = F.softplus(-net.judge(y)).mean() + F.softplus(net.judge(made.detach())).mean()
            first.backward()
            judges.step()
            makes.zero_grad()
            second = F.softplus(-net.judge(made)).mean()
            second.backward()
            makes.step()
            return first, second

        return net, makes, step

    compare(make)


def test_two_steps_in_one() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        usual(net, opt, x, y)
        return usual(net, opt, x, y)

    compare(stepping(body))


def test_a_closure() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            return loss

        return opt.step(closure)

    compare(stepping(body))


def test_gradients_of_arguments() -> None:
    def batches(k: int) -> Any:
        x, y = regression(k)
        return x.requires_grad_(), y

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        return usual(net, opt, x, y), x.grad

    compare(stepping(body), batches)


def test_control_flow() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        h = net(x)
        if h.sum() > 0:
            h = h * 2
        n = 0
        while (h * h).sum() > 1.0 and n < 4:
            h = h * 0.7
            n += 1
        loss = F.mse_loss(h, y)
        loss.backward()
        opt.step()
        return loss

    compare(stepping(body), exact=False)  # sums in the backward of a loop are made in another order


def by_subtracting(net: Any, loss: Any) -> None:
    with weft.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad


def by_method(net: Any, loss: Any) -> None:
    with weft.no_grad():
        for p in net.parameters():
            p.add_(p.grad, alpha=-0.1)


def by_data(net: Any, loss: Any) -> None:
    for p in net.parameters():
        p.data -= 0.1 * p.grad


def by_halving(net: Any, loss: Any) -> None:
    for p in net.parameters():
        p.grad *= 0.5
        p.data.add_(p.grad.numpy(), alpha=-0.1)


@pytest.mark.parametrize("update", [by_subtracting, by_method, by_data, by_halving])
def test_updates_by_hand(update: Any) -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        for p in net.parameters():
            p.grad = None
        loss = F.mse_loss(net(x), y)
        loss.backward()
        update(net, loss)
        return loss.item()

    compare(stepping(body))


class ByHand(optim.Optimizer):
    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> None:
        with weft.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p -= group["lr"] * p.grad


class Slowing(optim.Optimizer):
    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    def _update(self, parameter: Any, state: Any, group: Any) -> None:
        from weft.optim._blocks import blocks

        state["count"] = state.get("count", 0) + 1
        if "start" not in state:
            state["start"] = weft.Tensor(np.zeros(parameter.shape) + 2)
        for p, g, s, t in blocks(parameter, state["start"], scratch=1):
            np.multiply(g, float(group["lr"]) / state["count"], out=t)
            np.subtract(p, t, out=p)
            np.add(s, t, out=s)


@pytest.mark.parametrize(("optimizer", "captures"), [(ByHand, 1), (Slowing, 2)])
def test_optimizers_of_ones_own(optimizer: Any, captures: int) -> None:
    compare(trained(optimizer=optimizer), captures=captures)


def test_a_moving_average_of_the_parameters() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.now = mlp()
            self.mean = copy.deepcopy(self.now)

    def make() -> Any:
        net = Both()
        opt = optim.Adam(net.now.parameters())

        def step(x: Any, y: Any) -> Any:
            opt.zero_grad()
            loss = F.mse_loss(net.now(x), y)
            loss.backward()
            with weft.no_grad():
                for mean, now in zip(net.mean.parameters(), net.now.parameters(), strict=True):
                    mean.mul_(0.9).add_(now, alpha=0.1)
            opt.step()
            return loss

        return net, opt, step

    compare(make)


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(2.0), nn.Parameter(3.0)


def test_gradients_that_are_other_parameters() -> None:
    # The gradient of a is b: not its memory, which the step writes.
    def body(net: Any, opt: Any) -> Any:
        opt.zero_grad()
        loss = net.a * net.b
        loss.backward()
        opt.step()
        return loss, net.a.grad, net.a

    compare(stepping(body, optim.SGD, Two, lr=0.1), lambda k: ())


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(np.arange(6.0).reshape(2, 3)), nn.Parameter(np.arange(6.0).reshape(2, 3) + 5)


def test_parameters_that_change_places() -> None:
    # The gradient of a is computed from b, not in the memory of b.
    def body(net: Any, opt: Any) -> Any:
        opt.zero_grad()
        loss = (net.a * net.b).sum()
        loss.backward()
        with weft.no_grad():
            old = net.a.clone()
            net.a.copy_(net.b)
            net.b.copy_(old)
        return loss, net.a.detach() * 2

    compare(stepping(body, optim.SGD, Rows), lambda k: ())


def test_a_gradient_is_not_kept_where_a_parameter_is() -> None:
    def body(net: Any, opt: Any) -> Any:
        opt.zero_grad()
        loss = (net.a * net.b).sum()
        loss.backward()
        with weft.no_grad():
            net.b.fill_(7.0)
        return loss

    compare(stepping(body, optim.SGD, Rows), lambda k: ())


def test_a_parameter_that_gets_what_another_had() -> None:
    def body(net: Any, opt: Any) -> Any:
        with weft.no_grad():
            size = net.b.sum()
            net.a.copy_(net.b)
            net.b.mul_(2.0)
        return size

    compare(stepping(body, optim.SGD, Rows), lambda k: (), steps=4)


def test_views_of_what_could_be_written_over() -> None:
    def body(net: Any, opt: Any) -> Any:
        opt.zero_grad()
        double = net.a * 2.0
        row = double.reshape((-1,))
        size = row.sum()
        more = double + 1.0
        loss = (row * more.reshape((-1,))).sum() + size
        loss.backward()
        opt.step()
        return loss

    compare(stepping(body, optim.SGD, Rows, lr=1e-3), lambda k: (), exact=False)  # three parts of a gradient


def test_what_shares_memory_with_a_parameter_changes_with_it() -> None:
    def body(net: Any, opt: Any) -> Any:
        shown, held = net.a.detach(), net.a.numpy()
        opt.zero_grad()
        loss = (net.a * net.b).sum()
        loss.backward()
        opt.step()
        return shown.sum(), held.sum(), shown, net.b.data * 2

    compare(stepping(body, optim.SGD, Rows, lr=1e-3), lambda k: ())


def test_a_backward_after_the_step() -> None:
    # Of what was computed before it; its derivative needs no value that the step has changed.
    def body(net: Any, opt: Any) -> Any:
        first, second = (net.a * 2.0).sum(), (net.a * 3.0).sum()
        opt.zero_grad()
        first.backward()
        opt.step()
        second.backward()
        return first, second

    compare(stepping(body, optim.SGD, Rows, lr=1e-3), lambda k: ())


def test_parameters_that_are_written_without_a_step() -> None:
    net = Two()

    @weft.compile
    def halve() -> Any:
        with weft.no_grad():
            net.a.mul_(0.5)
        return net.a * net.b

    with pytest.raises(weft.errors.CaptureError, match="writes a, and returns what is to be differentiated"):
        halve()
    assert net.a.item() == 2.0


def test_what_runs_as_python_is_given_tensors(capsys: Any) -> None:
    seen = []

    @weft.wrap
    def note(value: Any) -> None:
        seen.append(type(value))

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        note(loss)
        opt.step()
        return loss

    compare(stepping(body), steps=3)
    assert seen == [weft.Tensor] * 6


def test_the_loss_has_no_tape() -> None:
    net, _, step = trained()()
    loss = weft.compile(step)(*regression(0))
    assert isinstance(loss, weft.Tensor)
    assert not loss.requires_grad
    assert all(p.requires_grad and p.grad is not None for p in net.parameters())
