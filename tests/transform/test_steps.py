"""Whole training steps as one graph: optimisers, layers and schedules, against the plain step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from steps import Attention, compare, images, mlp, regression, stepping, trained, usual

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.capture import _step_reuse

OPTIMIZERS: list[tuple[Any, dict[str, Any]]] = [
    (optim.SGD, {"lr": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, {"lr": 0.01, "weight_decay": 0.1, "maximize": True, "foreach": True}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    (optim.Adam, {}),
    (optim.Adam, {"amsgrad": True, "weight_decay": 0.01, "maximize": True}),
    (optim.Adam, {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    (optim.AdamW, {"betas": (0.8, 0.9)}),
    (optim.AdamW, {"amsgrad": True, "eps": 1e-3}),
    (optim.RMSprop, {}),
    (optim.RMSprop, {"centered": True, "momentum": 0.9, "weight_decay": 0.1}),
    (optim.RMSprop, {"momentum": 0.5, "maximize": True}),
    (optim.Adagrad, {}),
    (optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1, "maximize": True}),
    (optim.Lion, {}),
    (optim.Lion, {"weight_decay": 0.1, "maximize": True}),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("optimizer", "options"), OPTIMIZERS)
def test_optimizers(optimizer: Any, options: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype is np.float32:
        monkeypatch.setattr(_step_reuse, "_WORTH", 0)  # arrays as small as these would not be written over
    # Where the first step is another one (a gradient that is not dampened), it is a graph of its own.
    captures = 2 if options.get("dampening") else 1
    make = trained(optimizer=optimizer, dtype=dtype, **options)
    compare(make, lambda k: regression(k, dtype), 100, captures=captures)


def test_all_optimizers_are_tested() -> None:
    made = {name for name in optim.__all__ if isinstance(getattr(optim, name), type)} - {"Optimizer"}
    assert made == {optimizer.__name__ for optimizer, _ in OPTIMIZERS} | {"LBFGS"}  # test_steps_lbfgs.py


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam, optim.RMSprop, optim.Adagrad, optim.Lion])
def test_complex_parameters(optimizer: Any) -> None:
    class Squared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(np.arange(12).reshape(6, 2) * (1 + 0.5j))

        def forward(self, x: Any) -> Any:
            h = x @ self.w
            return weft.real(h * weft.conj(h))

    compare(stepping(usual, optimizer, Squared, lr=1e-6))


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cell = kind(3, 5, batch_first=True)
        self.last = nn.Linear(5, 2)

    def forward(self, x: Any) -> Any:
        h, _ = self.cell(x.reshape((8, 2, 3)))
        return self.last(h[:, -1])


MODELS = {
    "batch norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)),
    "averaged": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=None), nn.Linear(8, 2)),
    "dropout": lambda: nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 2)),
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "attention": Attention,
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    compare(trained(MODELS[name]), steps=100 if "norm" in name or name == "dropout" else 10)


@pytest.mark.parametrize("norm", [nn.BatchNorm2d, nn.InstanceNorm2d, nn.GroupNorm])
def test_convolutions(norm: Any) -> None:
    def model() -> Any:
        options: Any = {"track_running_stats": True} if norm is not nn.GroupNorm else {}
        middle = norm(2, 4) if norm is nn.GroupNorm else norm(4, affine=True, **options)
        return nn.Sequential(*(nn.Conv2d(2, 4, 3), middle, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)))

    compare(trained(model, loss=F.cross_entropy), images)


@pytest.mark.parametrize("make_schedule", ["OneCycleLR", "CosineAnnealingLR", "StepLR"])
def test_schedules_between_steps(make_schedule: str) -> None:
    options = {
        "OneCycleLR": {"max_lr": 0.2, "total_steps": 200},
        "CosineAnnealingLR": {"T_max": 50},
        "StepLR": {"step_size": 7},
    }[make_schedule]

    def make() -> Any:
        net, opt, step = trained(optimizer=optim.SGD, lr=0.1, momentum=0.9)()
        return net, opt, step, getattr(optim.lr_scheduler, make_schedule)(opt, **options)

    compare(make, steps=100, between=lambda run, k: run.rest[0].step())


def test_a_schedule_inside_the_step() -> None:
    def make() -> Any:
        net = mlp()
        opt = optim.Adam(net.parameters(), lr=0.1)
        cosine = optim.lr_scheduler.CosineAnnealingLR(opt, 50)
        plateau = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)

        def step(x: Any, y: Any) -> Any:
            loss = usual(net, opt, x, y)
            cosine.step()
            plateau.step(loss)
            return loss

        return net, opt, step

    compare(make, steps=40)


def test_parameter_groups() -> None:
    def make() -> Any:
        net = mlp()
        groups = [{"params": net[0].parameters(), "lr": 0.1}, {"params": net[2].parameters(), "weight_decay": 0.0}]
        opt = optim.AdamW(groups, lr=0.01)
        return net, opt, lambda x, y: usual(net, opt, x, y)

    def between(run: Any, k: int) -> None:
        run.optimizer.param_groups[0]["lr"] *= 0.9
        run.optimizer.param_groups[1]["betas"] = (0.8, 0.99)

    compare(make, between=between)


def test_options_that_decide_are_guarded() -> None:
    def between(run: Any, k: int) -> None:
        if k == 3:
            run.optimizer.param_groups[0]["weight_decay"] = 0.1
        if k == 6:
            run.optimizer.param_groups[0]["maximize"] = True
        if k == 9:
            run.optimizer.param_groups[0]["weight_decay"] = 0.2  # decides nothing new

    compare(trained(), between=between, captures=3)


def test_the_mode_of_a_model_is_guarded() -> None:
    model = MODELS["batch norm"]
    compare(trained(model), between=lambda run, k: run.model.train(k % 4 != 1), captures=2)


def test_frozen_parameters() -> None:
    def between(run: Any, k: int) -> None:
        if k in (3, 6):
            run.model[0].requires_grad_(k == 6)

    compare(trained(), between=between, captures=2)


def test_states_that_are_loaded() -> None:
    def make() -> Any:
        return (*trained()(), {})

    def between(run: Any, k: int) -> None:
        saved = run.rest[0]
        if k == 3:
            import copy

            saved.update(copy.deepcopy({"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}))
        if k == 8:
            run.model.load_state_dict(saved["model"])
            run.optimizer.load_state_dict(saved["optimizer"])

    compare(make, between=between)


def test_parameters_added_later() -> None:
    def make() -> Any:
        net = mlp()
        opt = optim.Adam(net[0].parameters())
        return net, opt, lambda x, y: usual(net, opt, x, y)

    def between(run: Any, k: int) -> None:
        if k == 3:
            run.optimizer.add_param_group({"params": list(run.model[2].parameters()), "lr": 0.1})

    # What the first optimiser does not know is not cleared by it either: its gradients grow, in a graph of its own.
    compare(make, between=between, captures=3)


def test_batch_norm_in_training_without_a_step() -> None:
    weft.manual_seed(0)
    net = MODELS["batch norm"]().to(np.float64)
    other = MODELS["batch norm"]().to(np.float64)
    other.load_state_dict(net.state_dict())
    compiled = weft.compile(other)
    for k in range(5):
        x, y = regression(k)
        plain, captured = net(x), compiled(x)
        np.testing.assert_array_equal(captured.numpy(), plain.numpy())
        ((plain - y) ** 2).sum().backward()
        ((captured - y) ** 2).sum().backward()
        for name, value in net.state_dict().items():
            np.testing.assert_array_equal(other.state_dict()[name].numpy(), value.numpy(), err_msg=name)
        for p, q in zip(net.parameters(), other.parameters(), strict=True):
            # The backward of a graph adds up what comes to a value in another order than the tape.
            np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), rtol=1e-12, atol=1e-12)
    assert compiled.cache_info().misses == 1
    assert not compiled._ran_plainly


def test_the_graph_is_one() -> None:
    step = compare(trained(optimizer=optim.SGD, lr=0.1), steps=2)
    step.graph.lint()
    text = str(step.graph)
    assert "weft.linear" in text
    assert "weft._step.set_grad" in text
    assert "weft._step.put" in text
    code = step.code
    assert "lr = weft._step.option(optimizer, 0, 'lr')" in code
    assert code.count("weft._step.put(") == 4
    assert "import weft" in code


def by_item(net: Any, loss: Any) -> Any:
    return loss * loss.item()


def by_float(net: Any, loss: Any) -> Any:
    return loss * float(loss)


def by_asarray(net: Any, loss: Any) -> Any:
    return loss * np.asarray(loss)


def by_math(net: Any, loss: Any) -> Any:
    return loss * math.exp(-loss.item())


def by_branch(net: Any, loss: Any) -> Any:
    weight = net[0].weight[0, 0]
    return loss * (float(weight) if weight > 0 else weight.item() * 2)


@pytest.mark.parametrize("scaled", [by_item, by_float, by_asarray, by_math, by_branch])
def test_no_gradient_flows_through_numbers_taken_out_of_tensors(scaled: Any) -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = scaled(net, F.mse_loss(net(x), y))
        loss.backward()
        opt.step()
        return loss

    compare(stepping(body, optim.SGD, lr=0.1), exact=False)
    compare(stepping(lambda net, opt, x, y: scaled(net, F.mse_loss(net(x), y)), optim.SGD, lr=0.1), exact=False)
    gradients = []
    for compiled in (False, True):
        weft.manual_seed(0)
        net = mlp()

        def loss(x: Any, y: Any, net: Any = net) -> Any:
            return scaled(net, F.mse_loss(net(x), y))

        (weft.compile(loss) if compiled else loss)(*regression(0)).backward()
        gradients.append([p.grad.numpy() for p in net.parameters()])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_gradient_that_a_variable_holds_changes_with_the_parameter() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        held = net[0].weight.grad
        before = held * 1
        opt.zero_grad(set_to_none=False)
        (F.mse_loss(net(x), y) * 2).backward()
        opt.step()
        return held.sum(), before.sum(), net[0].weight.grad is held

    compare(stepping(body))
