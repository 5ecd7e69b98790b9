"""Compiled functions of Tensors: the forward graph runs, and its backward graph is one step of the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.autograd import grad

RNG = np.random.default_rng(0)


def model() -> Any:
    weft.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)).double()


def data() -> tuple[Any, Any]:
    return weft.tensor(RNG.normal(size=(4, 5)), requires_grad=True), weft.tensor(np.array([0, 1, 2, 0]))


def gradients(net: Any, call: Any, x: Any, y: Any) -> tuple[Any, list[Any]]:
    for parameter in (*net.parameters(), x):
        parameter.grad = None
    loss = call(x, y)
    loss.backward()
    return loss, [parameter.grad.numpy().copy() for parameter in (*net.parameters(), x)]


def test_one_step_with_the_gradients_of_the_tape() -> None:
    net, (x, y) = model(), data()
    loss = nn.CrossEntropyLoss()

    def run(x: Any, y: Any) -> Any:
        return loss(net(x), y)

    compiled = weft.compile(run)
    expected, wanted = gradients(net, run, x, y)
    for _ in range(2):
        got, found = gradients(net, compiled, x, y)
        assert got.grad_fn.name() == "GraphBackward"
        assert all(
            source is None or type(source).__name__ == "AccumulateGrad" for source, _ in got.grad_fn.next_functions
        )
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-15)
        for one, other in zip(found, wanted, strict=True):
            # The same ops on the same numbers; sums of several uses may be added up in another order.
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
    assert compiled.cache_info().misses == 1


def test_a_module() -> None:
    net, (x, _) = model(), data()
    compiled = weft.compile(net)
    out = compiled(x)
    assert out.grad_fn.name() == "GraphBackward"
    (out**2).sum().backward()
    found = [parameter.grad.numpy().copy() for parameter in net.parameters()]
    for parameter in net.parameters():
        parameter.grad = None
    (net(x) ** 2).sum().backward()
    for one, parameter in zip(found, net.parameters(), strict=True):
        np.testing.assert_allclose(one, parameter.grad.numpy(), rtol=1e-12, atol=1e-15)


def test_gradients_of_gradients() -> None:
    net, (x, y) = model(), data()
    loss = nn.CrossEntropyLoss()

    def penalty(call: Any) -> Any:
        (slope,) = grad(call(x, y), [x], create_graph=True)
        return grad((slope**2).sum(), [x])[0].numpy()

    run = lambda x, y: loss(net(x), y)  # noqa: E731  # as a user writes it
    np.testing.assert_allclose(penalty(weft.compile(run)), penalty(run), rtol=1e-11, atol=1e-14)


def test_modes_and_flags() -> None:
    net, (x, _) = model(), data()
    compiled = weft.compile(lambda x: net(x).sum())
    assert compiled(x).requires_grad
    with weft.no_grad():
        assert not compiled(x).requires_grad
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    fixed = x.detach()
    assert not compiled(fixed).requires_grad
    assert compiled(x).requires_grad
    compiled(x).backward()
    assert all(parameter.grad is None for parameter in net.parameters())


def test_retain_graph_and_freeing() -> None:
    _, (x, _) = model(), data()
    compiled = weft.compile(lambda x: (x**3).sum())
    out = compiled(x)
    out.backward(retain_graph=True)
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy() ** 2, rtol=1e-15)
    with pytest.raises(weft.errors.AutogradError, match="freed"):
        out.backward()


def test_a_write_to_a_kept_argument_is_noticed() -> None:
    net, (x, _) = model(), data()
    compiled = weft.compile(lambda x: net(x).sum())
    out = compiled(x)
    with weft.no_grad():
        net[0].weight.mul_(2.0)
    with pytest.raises(weft.errors.AutogradError, match=r"(?s)written in place.*test_taped.py.*mul_"):
        out.backward()


def test_several_results_of_which_some_are_used() -> None:
    compiled = weft.compile(lambda x: {"a": x * 2, "b": [x.sum(), x.detach() + 1], "n": len(x)})
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    found = compiled(x)
    assert found["n"] == 2 and not found["b"][1].requires_grad
    found["b"][0].backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])


def test_loops_and_dropout() -> None:
    def run(x: Any) -> Any:
        total = x.sum() * 0
        for i in range(x.shape[0]):
            total = total + weft.nn.functional.dropout(x[i] ** 2, 0.5).sum()
        return total

    x = weft.tensor(RNG.normal(size=(12, 50)), requires_grad=True)
    out = weft.compile(run)(x)
    out.backward()
    ratio = x.grad.numpy() / x.numpy()
    assert set(np.unique(np.round(ratio, 9))) == {0.0, 4.0}, "the backward used other random numbers than the forward"
    np.testing.assert_allclose(out.item(), (ratio / 2 * x.numpy() ** 2).sum(), rtol=1e-12)


def test_second_derivatives_draw_what_the_forward_drew() -> None:
    net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1)).double()
    x = weft.tensor(RNG.normal(size=(4, 5)), requires_grad=True)
    found = []
    for call in (net, weft.compile(net)):
        for parameter in net.parameters():
            parameter.grad = None
        weft.manual_seed(3)
        first = call(x)
        weft.rand(2)  # draws between the two change nothing
        (slope,) = grad(first.sum(), [x], create_graph=True)
        ((slope**2).sum() + first.sum()).backward(inputs=list(net.parameters()))
        found.append([*(p.grad.numpy().copy() for p in net.parameters()), weft.rand(2)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_statistics_of_layers_where_each_op_is_a_step() -> None:
    def run(net: Any, x: Any) -> Any:
        assert (x**2).sum() > 0  # an effect, so that there is no single step
        return net(x)

    x = weft.tensor(RNG.normal(size=(4, 5)), requires_grad=True)
    nets = [nn.BatchNorm1d(5).double() for _ in range(2)]
    for net, call in zip(nets, (run, weft.compile(run)), strict=True):
        for _ in range(2):
            (call(net, x) ** 2).sum().backward()
    for one, other in zip(nets[0].state_dict().values(), nets[1].state_dict().values(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(nets[0].weight.grad.numpy(), nets[1].weight.grad.numpy())


def test_a_buffer_that_is_read_and_then_written() -> None:
    class Growing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", weft.tensor(np.array([2.0, 3.0])))

        def forward(self, x: Any) -> Any:
            y = np.sin(x * self.scale)
            self.scale.add_(1)
            return y

    net = Growing()
    compiled = weft.compile(net)
    for number in range(2):
        scale = np.array([2.0, 3.0]) + number
        x = weft.tensor(np.array([0.3, 0.7]), requires_grad=True)
        (slope,) = grad(compiled(x).sum(), [x], create_graph=True)
        np.testing.assert_allclose(slope.detach().numpy(), scale * np.cos(x.detach().numpy() * scale), rtol=1e-14)
        (second,) = grad(slope.sum(), [x])
        np.testing.assert_allclose(second.numpy(), -(scale**2) * np.sin(x.detach().numpy() * scale), rtol=1e-14)
        net.scale.copy_(weft.tensor(scale))
        compiled(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), slope.detach().numpy(), rtol=1e-14)
        np.testing.assert_array_equal(net.scale.numpy(), scale + 1)


def test_second_derivatives_are_those_of_the_inputs_that_there_were() -> None:
    w = RNG.normal(size=(3, 3))
    compiled = weft.compile(lambda x: (np.tanh(x @ w) ** 2).sum())  # keeps x @ w, not x
    x = weft.tensor(RNG.normal(size=3), requires_grad=True)
    y = compiled(x)
    (wanted,) = grad(y, [x], retain_graph=True)
    x.data = x.data * 10
    (found,) = grad(y, [x], create_graph=True)
    np.testing.assert_allclose(found.detach().numpy(), wanted.numpy(), rtol=1e-14)
    y = compiled(x)
    with weft.no_grad():
        x.mul_(0.1)
    with pytest.raises(weft.errors.AutogradError, match="written in place since"):
        grad(y, [x], create_graph=True)


def test_rows_of_a_scan_are_tensors() -> None:
    def run(x: Any, rows: Any) -> Any:
        last, given = weft.scan(lambda c, a: (c * a, np.sin(c)), x, rows)
        return given, (given**2).sum() + last.sum()

    rows = RNG.normal(size=6)
    compiled = weft.compile(run)
    for count in (6, 3):
        found = []
        for call in (run, compiled):
            x = weft.tensor(np.array([0.5, 2.0]), requires_grad=True)
            given, loss = call(x, rows[:count])
            assert isinstance(given, weft.Tensor) and given.requires_grad
            loss.backward()
            found.append(x.grad.numpy())
        np.testing.assert_allclose(found[1], found[0], rtol=1e-14)
