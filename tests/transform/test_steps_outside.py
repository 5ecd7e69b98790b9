"""What a training step has around it: modules whose parts are replaced, schedules, shared gradients, lengths."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from steps import compare, mlp, regression, stepping, trained, usual

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
    plain = net(x).detach()
    handles = [
        net[0].register_forward_hook(lambda module, args, result: result * len(module.weight)),
        net[2].register_forward_pre_hook(lambda module, args: args[0] + 1.0),
        net[2].register_forward_hook(lambda module, args, kwargs, result: result + args[0].sum(), with_kwargs=True),
        net.register_forward_hook(lambda module, args, result: None),
    ]
    for handle in [None, *handles]:
        if handle is not None:
            handle.remove()
        np.testing.assert_array_equal(compiled(x).detach(), net(x).detach())
    np.testing.assert_array_equal(compiled(x).detach(), plain)
    net[0].register_full_backward_hook(lambda module, inputs, outputs: None)
    with pytest.raises(CaptureError, match="a backward hook of Linear"):
        compiled(x)


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
        loss = usual(net, opt, x, y)
        schedule.step()
        return loss, read(net, opt, schedule)

    return net, step


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda net, opt, schedule: schedule.last_epoch, "last_epoch"),
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


def _scheduled(body: Any) -> Any:
    """What makes a run of `body(net, opt, schedule, held, *batch)`; `held` gives the groups, from a variable."""

    def make() -> Any:
        net = mlp()
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        schedule, held = optim.lr_scheduler.ExponentialLR(opt, 0.5), opt.param_groups
        return net, opt, lambda *batch: body(net, opt, schedule, lambda: held, *batch)

    return make


def test_options_are_those_in_force_where_they_are_read() -> None:
    def body(net: Any, opt: Any, schedule: Any, held: Any, x: Any, y: Any) -> Any:
        groups = opt.param_groups
        before = groups[0]["lr"]
        loss = usual(net, opt, x, y)
        schedule.step()
        after = [group["lr"] for group in opt.param_groups]
        if loss > 1.0:
            after.append(opt.param_groups[0].get("momentum"))
        else:
            after.append(groups[0]["lr"] * 3.0)
        return before, groups[0]["lr"], after, dict(groups[0])["lr"], schedule.get_last_lr(), len(groups[0]["params"])

    compare(_scheduled(body))


def test_options_that_the_step_sets() -> None:
    def body(net: Any, opt: Any, schedule: Any, held: Any, x: Any, y: Any) -> Any:
        for group in opt.param_groups:
            group["lr"] *= 0.9
            group["momentum"] = 0.5  # which decides in the step of SGD whether there is a buffer
        loss = usual(net, opt, x, y)
        opt.param_groups[0]["weight_decay"] = float(loss.detach()) * 1e-3
        schedule.step()
        return loss, opt.param_groups[0]["lr"], opt.param_groups[0]["weight_decay"]

    compare(_scheduled(body), captures=2)  # at first there is no weight decay


@pytest.mark.parametrize("when", ["before", "after"])
def test_groups_in_a_variable_do_not_show_a_rate_that_is_over(when: str) -> None:
    def body(net: Any, opt: Any, schedule: Any, held: Any, x: Any, y: Any) -> Any:
        first = held() if when == "before" else None
        usual(net, opt, x, y)
        schedule.step()
        return (first or held())[0]["lr"]

    _, _, step = _scheduled(body)()
    with pytest.raises(CaptureError, match="a parameter group of SGD in a variable, and a schedule"):
        weft.compile(step)(*regression(0))


@pytest.mark.parametrize(("name", "value"), [("nesterov", True), ("momentums", 1.0), ("lr", (0.1, 0.2))])
def test_only_numbers_among_options_are_set(name: str, value: Any) -> None:
    def body(net: Any, opt: Any, schedule: Any, held: Any, x: Any, y: Any) -> Any:
        opt.param_groups[0][name] = value
        return usual(net, opt, x, y)

    _, opt, step = _scheduled(body)()
    with pytest.raises(CaptureError, match=f"setting '{name}' of SGD: only numbers"):
        weft.compile(step)(*regression(0))
    assert opt.param_groups[0].get(name) != value


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("shown", [lambda p: p.detach(), lambda p: p.numpy(), lambda p: p.numpy()[::-1, 1:]])
def test_arguments_that_share_memory_with_parameters(shown: Any, first: bool) -> None:
    ends = []
    for compiled in (False, True):
        net = nn.Linear(3, 3, bias=False).to(np.float64)
        net.weight.data = np.arange(9.0).reshape(3, 3)
        opt = optim.SGD(net.parameters(), lr=1e-3)

        def step(x: Any, net: Any = net, opt: Any = opt) -> Any:
            opt.zero_grad()
            loss = (net.weight**2).sum() * x.mean()
            loss.backward()
            opt.step()
            return loss, x.sum()  # the new values, where x is the parameter

        run = weft.compile(step) if compiled else step
        plain = np.ones((3, 3)) if isinstance(shown(net.weight), np.ndarray) else weft.tensor(np.ones((3, 3)))
        results = [run(x) for x in ([shown(net.weight), plain] if first else [plain, shown(net.weight), plain])]
        ends.append([float(value) for pair in results for value in pair])
    assert ends[0] == ends[1]
    assert run._ran_plainly == {"arrays that share memory": 1}


def test_parameters_that_come_to_share_memory() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        return usual(net, opt, x, y), net[0].bias.sum()

    ends = []
    for compiled in (False, True):
        weft.manual_seed(0)
        net, _, step = stepping(body, optim.SGD, lr=0.1)()
        run = weft.compile(step) if compiled else step
        run(*regression(0))
        net[0].bias.data = net[2].weight.numpy()[0]
        ends.append([float(value) for k in range(3) for value in run(*regression(k))])
    assert ends[0] == ends[1]


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
        loss = usual(net, opt, x, y)
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


def clipped(gradient: Any) -> Any:
    return gradient.clip(-0.01, 0.01)


def halved(gradient: Any) -> None:
    gradient.mul_(0.5)


def as_array(gradient: Any) -> Any:
    return np.tanh(gradient.numpy())


@pytest.mark.parametrize("hook", [clipped, halved, as_array])
def test_hooks_of_parameters(hook: Any) -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        (asked,) = weft.autograd.grad(loss, [net[0].weight], retain_graph=True)
        loss.backward()
        opt.step()
        return loss, asked

    def between(run: Any, k: int) -> None:
        if k == 2:
            run.rest.append([p.register_hook(hook) for p in run.model.parameters()])
        if k == 5:
            for handle in run.rest[0]:
                handle.remove()

    compare(stepping(body, optim.SGD, lr=0.1), steps=8, captures=2, between=between)


def test_a_hook_that_returns_another_shape() -> None:
    p = weft.nn.Parameter(np.ones(3))
    p.register_hook(lambda gradient: gradient.sum())

    @weft.compile
    def step() -> None:
        (p * p).sum().backward()

    with pytest.raises(weft.errors.AutogradError, match=r"a hook returned a gradient of shape \(\), not \(3,\)"):
        step()


def test_hooks_of_arguments_are_refused() -> None:
    x = weft.tensor(np.ones(3), requires_grad=True)

    @weft.compile
    def step(x: Any) -> None:
        (x * x).sum().backward()

    step(x)
    x.register_hook(clipped)
    with pytest.raises(weft.errors.CaptureError, match="an argument with hooks"):
        step(x)
