"""What a training step has around it: modules whose parts are replaced, schedules, shared gradients, lengths."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from steps import compare, mlp, regression, stepping, trained

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.errors import CaptureError


def replace_layer(net: Any) -> None:
    net[0] = nn.Linear(6, 8).to(np.float64)


def replace_activation(net: Any) -> None:
    net[1] = nn.ReLU()


def append_layer(net: Any) -> None:
    net.append(nn.Tanh())


def replace_forward(net: Any) -> None:
    net[1].forward = lambda x: x * 0.5


@pytest.mark.parametrize("change", [replace_layer, replace_activation, append_layer, replace_forward])
def test_parts_of_a_module_that_change(change: Any) -> None:
    def between(run: Any, k: int) -> None:
        if k == 2:
            change(run.model)

    # The optimiser does not know of a new layer: its gradients stay, and add up, which is a graph of its own.
    compare(trained(), steps=5, captures=3 if change is replace_layer else 2, between=between)


@pytest.mark.parametrize("change", [replace_layer, replace_activation, append_layer, replace_forward])
@pytest.mark.parametrize("how", ["module", "function", "argument"])
def test_parts_of_a_compiled_module_that_change(change: Any, how: str) -> None:
    net, (x, _) = mlp(), regression(0)
    given = (net,) if how == "argument" else ()
    function: Any = {"module": net, "function": lambda x: net(x), "argument": lambda net, x: net(x)}[how]
    compiled = weft.compile(function)
    compiled(*given, x)
    compiled(*given, x)
    assert compiled.cache_info().misses == 1
    change(net)
    np.testing.assert_array_equal(compiled(*given, x).detach(), net(x).detach())


def test_lists_and_dicts_of_parts_that_change() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.ModuleList([nn.ModuleList([nn.Linear(6, 6)])])
            self.named = nn.ModuleDict({"a": nn.Linear(6, 6)})
            self.factors = nn.ParameterList([nn.Parameter(weft.tensor(2.0))])

        def forward(self, x: Any) -> Any:
            for row in self.rows:
                for layer in row:
                    x = layer(x)
            return self.named["a"](x) * self.factors[0]

    net = Net()
    compiled = weft.compile(net)
    x = weft.tensor(np.ones((2, 6), np.float32))

    def check() -> None:
        np.testing.assert_array_equal(compiled(x).detach(), net(x).detach())

    check()
    net.rows[0][0] = nn.Linear(6, 6)
    check()
    net.rows[0].append(nn.Linear(6, 6))
    check()
    net.named["a"] = nn.Linear(6, 6)
    check()
    net.factors[0] = nn.Parameter(weft.tensor(3.0))
    check()


def test_a_hook_that_is_added_later_is_noticed() -> None:
    net, (x, _) = mlp(), regression(0)
    compiled = weft.compile(net)
    compiled(x)
    handle = net[0].register_forward_hook(lambda module, args, result: result * 2)
    with pytest.raises(CaptureError, match="hooks of Linear"):
        compiled(x)
    handle.remove()
    np.testing.assert_array_equal(compiled(x).detach(), net(x).detach())


def test_gradients_that_are_equal_have_memory_of_their_own() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ParameterList([nn.Parameter(weft.tensor(np.full(6, 1.0 + k))) for k in range(3)])

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = ((net.parts[0] + net.parts[1] + net.parts[2]) * x).sum()
        loss.backward()
        opt.step()
        return loss

    def between(run: Any, k: int) -> None:
        first, *others = run.model.parameters()
        before = [p.grad.numpy().copy() for p in others]
        first.grad.mul_(3)
        for p, was in zip(others, before, strict=True):
            np.testing.assert_array_equal(p.grad, was)

    compare(stepping(body, optim.SGD, Sum, lr=0.1), steps=3, between=between)


def _reading(read: Any) -> tuple[Any, Any]:
    net = mlp()
    opt = optim.Adam(net.parameters())
    schedule = optim.lr_scheduler.ExponentialLR(opt, 0.5)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        schedule.step()
        return loss, read(net, opt, schedule)

    return net, step


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda net, opt, schedule: schedule.get_last_lr(), "get_last_lr"),
        (lambda net, opt, schedule: schedule.last_epoch, "last_epoch"),
        (lambda net, opt, schedule: opt.param_groups[0]["lr"], "param_groups"),
        (lambda net, opt, schedule: len(opt.state), "state"),
        (lambda net, opt, schedule: opt.state_dict(), "state_dict"),
        (lambda net, opt, schedule: net.load_state_dict(net.state_dict()), "load_state_dict"),
        (lambda net, opt, schedule: copy.deepcopy(net), "deepcopy"),
    ],
)
def test_what_the_step_has_changed_is_not_read_from_outside(read: Any, says: str) -> None:
    net, step = _reading(read)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(CaptureError, match=says):
        weft.compile(step)(*regression(0))
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_the_state_of_an_optimiser_is_read_outside() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        for state in opt.state.values():
            state["exp_avg"].mul_(0.5)
        opt.step()
        return loss

    _, _, step = stepping(body)()
    step(*regression(0))
    with pytest.raises(CaptureError, match="the state of Adam, read or written in the step"):
        weft.compile(step)(*regression(0))


def test_a_dict_of_parameters_is_the_same_at_the_next_call() -> None:
    net, (x, _) = mlp(), regression(0)
    factors = {p: 1.0 + k for k, p in enumerate(net.parameters())}
    compiled = weft.compile(lambda x: net(x).sum() * sum(factors.values()))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).detach(), net(x).sum().detach() * 10.0)
    assert compiled.cache_info().misses == 1
    factors[net[0].weight] = 5.0
    np.testing.assert_allclose(compiled(x).detach(), net(x).sum().detach() * 14.0)


def test_lerp_in_a_step() -> None:
    average = mlp()

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        with weft.no_grad():
            for mean, p in zip(average.parameters(), net.parameters(), strict=True):
                mean.lerp_(p, 0.1)
        return loss

    began = copy.deepcopy(average.state_dict())
    ends = []
    for compiled in (False, True):
        average.load_state_dict(began)
        weft.manual_seed(0)
        _, _, step = stepping(body)()
        run = weft.compile(step) if compiled else step
        for k in range(3):
            run(*regression(k))
        ends.append(copy.deepcopy(average.state_dict()))
    for name, value in ends[0].items():
        np.testing.assert_array_equal(value, ends[1][name])


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers_on_the_tape_for_other_lengths(kind: Any) -> None:
    layer = kind(2, 3).to(np.float64)
    compiled = weft.compile(layer)
    for length in (4, 5, 2, 4, 1):
        found = []
        for run in (layer, compiled):
            x = weft.tensor(np.random.default_rng(length).normal(size=(length, 2)), requires_grad=True)
            layer.zero_grad()
            (run(x)[0] ** 2).sum().backward()
            found.append([x.grad, *(p.grad for p in layer.parameters())])
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
