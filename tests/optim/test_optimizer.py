"""What all optimisers share: groups, options, state, and errors that leave everything as it was."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn, optim
from weft.errors import DtypeError, ShapeError, StateError

ALL = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad, optim.Lion, optim.LBFGS]
STEPPING = ALL[:-1]


def parameters() -> list[nn.Parameter]:
    return [nn.Parameter(np.arange(6.0).reshape(2, 3)), nn.Parameter(np.ones(4))]


def trained(cls: type[optim.Optimizer], steps: int = 3, **options: Any) -> optim.Optimizer:
    optimizer = cls(parameters(), **options)
    for i in range(steps):
        for p in optimizer.param_groups[0]["params"]:
            p.grad = weft.tensor(np.cos(p.numpy() + i))
        optimizer.step(lambda: 1.0)
    return optimizer


def snapshot(optimizer: optim.Optimizer) -> bytes:
    return pickle.dumps((optimizer.state_dict(), [p.numpy() for g in optimizer.param_groups for p in g["params"]]))


def test_the_room_offers_what_it_says() -> None:
    assert weft.optim is optim
    for name in optim.__all__:
        assert inspect.getdoc(getattr(optim, name)), name
    for name in optim.lr_scheduler.__all__:
        assert inspect.getdoc(getattr(optim.lr_scheduler, name)), name


def test_groups_share_defaults_and_keep_their_own_options() -> None:
    p, q = parameters()
    optimizer = optim.SGD([{"params": p}, {"params": [q], "lr": 1.0, "note": "own"}], lr=0.5, momentum=0.9)
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 1.0]
    assert [g["momentum"] for g in optimizer.param_groups] == [0.9, 0.9]
    assert optimizer.param_groups[1]["note"] == "own"
    assert optimizer.param_groups[0]["params"] == [p]
    p.grad, q.grad = weft.tensor(np.ones((2, 3))), weft.tensor(np.ones(4))
    optimizer.step()
    assert p.numpy()[0, 0] == -0.5 and q.numpy()[0] == 0.0


def test_a_generator_of_parameters_and_of_names() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    assert len(optim.Adam(model.parameters()).param_groups[0]["params"]) == 4
    optimizer = optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert optimizer.param_groups[0]["params"][0] is model[0].weight


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p: optim.SGD(p), TypeError, "SGD: params is an iterable of tensors or dicts, got one tensor"),
        (lambda p: optim.SGD({p}), TypeError, "a set has no order"),
        (lambda p: optim.SGD({"params": [p]}), TypeError, "got dict"),
        (lambda p: optim.SGD(3), TypeError, "got int"),
        (lambda p: optim.SGD([]), ValueError, "no parameters"),
        (lambda p: optim.SGD([p, p]), ValueError, "given twice"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError, "given twice"),
        (lambda p: optim.SGD([{"lr": 1.0}]), ValueError, "needs 'params', got ['lr']"),
        (lambda p: optim.SGD([{"params": [p]}, p]), TypeError, "a parameter group is a dict"),
        (lambda p: optim.SGD([p.numpy()]), TypeError, "only tensors can be optimised, got ndarray"),
        (lambda p: optim.SGD([weft.tensor([1, 2])]), TypeError, "int64"),
        (lambda p: optim.SGD([p * 2]), ValueError, "only a leaf"),
        (lambda p: optim.SGD([("a", p), nn.Parameter([1.0])]), ValueError, "(name, tensor)"),
        (lambda p: optim.SGD([{"params": [("a", p)]}, {"params": [nn.Parameter([1.0])]}]), ValueError, "have names"),
        (lambda p: optim.SGD([p], lr=-0.1), ValueError, "SGD: lr must not be negative, got -0.1"),
        (lambda p: optim.SGD([{"params": [p], "lr": -0.1}]), ValueError, "SGD: lr must not be negative"),
        (lambda p: optim.SGD([p], lr=None), TypeError, "SGD: lr must be a number, got NoneType"),
        (lambda p: optim.SGD([p], differentiable=True), ValueError, "differentiable=True is not supported"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda p: optim.Adam([p], betas=0.9), ValueError, "Adam: betas are two numbers"),
        (lambda p: optim.AdamW([p], betas=(0.9, 1.0)), ValueError, "AdamW: betas[1] must be"),
        (lambda p: optim.Lion([p], betas=(1.5, 0.9)), ValueError, "Lion: betas[0] must be"),
        (lambda p: optim.Lion([p], weight_decay=-1), ValueError, "Lion: weight_decay"),
        (lambda p: optim.RMSprop([p], alpha=-1), ValueError, "RMSprop: alpha"),
        (lambda p: optim.Adagrad([p], lr_decay=float("nan")), ValueError, "Adagrad: lr_decay"),
        (lambda p: optim.LBFGS([p], line_search_fn="wolfe"), ValueError, "line_search_fn is None or 'strong_wolfe'"),
        (lambda p: optim.LBFGS([p], history_size=0), ValueError, "history_size is at least 1"),
        (lambda p: optim.LBFGS([{"params": [p]}, {"params": []}]), ValueError, "one group"),
        (lambda p: optim.LBFGS([p]).step(), TypeError, "a closure is needed"),
        (lambda p: _stepped(optim.Optimizer([p], {"lr": 1.0}), p), NotImplementedError, "neither step() nor _update()"),
    ],
)
def test_refused(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        build(nn.Parameter([1.0, 2.0]))
    assert message in str(raised.value)


def _stepped(optimizer: optim.Optimizer, p: Any) -> None:
    p.grad = p.detach()
    optimizer.step()


def test_a_group_that_is_refused_is_not_added() -> None:
    optimizer = trained(optim.SGD)
    before = snapshot(optimizer)
    for group in ({"params": [nn.Parameter([1.0])], "lr": -1}, {"params": [optimizer.param_groups[0]["params"][0]]}):
        with pytest.raises(ValueError):
            optimizer.add_param_group(group)
    assert snapshot(optimizer) == before


@pytest.mark.parametrize("cls", STEPPING)
def test_a_gradient_that_does_not_fit_changes_nothing(cls: type[optim.Optimizer]) -> None:
    optimizer = trained(cls)
    before = snapshot(optimizer)
    p, q = optimizer.param_groups[0]["params"]
    p.grad = weft.tensor(np.ones((2, 3)))
    for bad, error in (
        (weft.tensor(np.ones(3)), ShapeError),
        (weft.tensor(np.ones((4, 1))), ShapeError),
        (weft.tensor(np.ones(4, np.complex128)), DtypeError),
        (weft.tensor(np.ones(4, np.int64)), DtypeError),
    ):
        q.grad = bad
        with pytest.raises(error, match=cls.__name__):
            optimizer.step()
        assert snapshot(optimizer) == before


def test_a_parameter_that_has_changed_its_shape() -> None:
    optimizer = trained(optim.Adam)
    p = optimizer.param_groups[0]["params"][0]
    p.data = np.ones((3, 2))
    p.grad = weft.tensor(np.ones((3, 2)))
    with pytest.raises(StateError, match=r"exp_avg has shape \(2, 3\)"):
        optimizer.step()


def test_zero_grad() -> None:
    p, q = parameters()
    optimizer = optim.SGD([p, q])
    p.grad = held = weft.tensor(np.ones((2, 3)))
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is held and held.tolist() == [[0.0] * 3] * 2 and q.grad is None
    p.grad = weft.tensor(np.full((2, 3), np.nan))
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [[0.0] * 3] * 2
    optimizer.zero_grad()
    assert p.grad is None


def test_a_closure_is_called_with_recording_on() -> None:
    p = nn.Parameter([3.0])
    optimizer = optim.SGD([p], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with weft.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert p.tolist() == [0.0]


@pytest.mark.parametrize("cls", ALL)
def test_state_dict_loads_into_another(cls: type[optim.Optimizer]) -> None:
    optimizer = trained(cls)
    other = cls(parameters(), lr=0.77)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
    assert pickle.dumps(other.state_dict()) == pickle.dumps(copy.deepcopy(optimizer.state_dict()))
    # A copy: the one does not go on in the other's memory.
    before = snapshot(other)
    for p in optimizer.param_groups[0]["params"]:
        p.grad = weft.tensor(np.ones(p.shape))
    optimizer.step(lambda: 1.0)
    assert snapshot(other) == before


def test_the_layout_is_torchs() -> None:
    state = trained(optim.Adam).state_dict()
    assert list(state) == ["state", "param_groups"]
    assert sorted(state["state"]) == [0, 1]
    assert state["state"][0].keys() == {"step", "exp_avg", "exp_avg_sq"}
    assert state["state"][1]["step"] == 3
    assert state["param_groups"][0]["params"] == [0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("state"), "a dict with 'state' and 'param_groups'"),
        (lambda s: s["param_groups"].append(s["param_groups"][0]), "2 parameter groups given, 1 expected"),
        (lambda s: s["param_groups"][0]["params"].append(2), "group 0: 3 parameters given, 2 expected"),
        (lambda s: s.update(param_groups=[{}]), "'param_groups' is a list of dicts with 'params'"),
        (lambda s: s["state"].update({5: {}}), "state 5: no parameter group has a parameter 5"),
        (lambda s: s["state"].update({0: None}), "state 0: a dict is expected"),
        (lambda s: s["state"][1].update(exp_avg=np.ones(5)), "state 1: 'exp_avg' has shape (5,)"),
        (lambda s: s["state"][1].update(sum=np.ones(4)), "state 1: 'sum' is not what Adam remembers"),
        (lambda s: s["param_groups"][0].update(lr=-1), "group 0: Adam: lr must not be negative"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(change: Any, message: str) -> None:
    optimizer = trained(optim.Adam)
    before = snapshot(optimizer)
    state = copy.deepcopy(trained(optim.Adam, steps=5).state_dict())
    change(state)
    with pytest.raises(StateError) as raised:
        optimizer.load_state_dict(state)
    assert message in str(raised.value)
    assert "Adam; nothing was changed" in str(raised.value)
    assert snapshot(optimizer) == before


def test_the_state_of_another_optimiser_is_refused() -> None:
    for source in STEPPING:
        for target in ALL:
            state = trained(source, **({"momentum": 0.9} if source in (optim.SGD, optim.RMSprop) else {})).state_dict()
            if source is target or {source, target} == {optim.Adam, optim.AdamW}:
                continue
            if source is optim.Lion and target in (optim.Adam, optim.AdamW):
                continue  # a mean of gradients is what these keep too
            if source is optim.SGD and target is optim.RMSprop:
                continue  # likewise a momentum
            with pytest.raises(StateError, match="is not what"):
                target(parameters()).load_state_dict(state)


def test_lbfgs_refuses_vectors_of_another_length() -> None:
    optimizer = optim.LBFGS([nn.Parameter([1.0])])
    with pytest.raises(StateError, match="not of length 1"):
        optimizer.load_state_dict({**trained(optim.LBFGS).state_dict(), "param_groups": [{"params": [0]}]})


def test_options_an_older_file_does_not_know_are_the_defaults() -> None:
    state = trained(optim.Adam).state_dict()
    del state["param_groups"][0]["maximize"]
    optimizer = optim.Adam(parameters())
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["maximize"] is False


@pytest.mark.parametrize("cls", ALL)
def test_pickle_and_deepcopy_keep_parameters_and_state_together(cls: type[optim.Optimizer]) -> None:
    optimizer = trained(cls)
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        for o in (optimizer, other):
            assert set(o.state) <= set(o.param_groups[0]["params"])
        assert snapshot(other) == snapshot(copy.deepcopy(optimizer))
        assert other.param_groups[0]["params"][0] is not optimizer.param_groups[0]["params"][0]


def test_repr_lists_the_options() -> None:
    assert repr(optim.Lion([nn.Parameter([1.0])])) == (
        "Lion (\nParameter Group 0\n    betas: (0.9, 0.99)\n    lr: 0.0001\n    maximize: False\n    weight_decay: 0\n)"
    )


def test_an_optimiser_of_ones_own() -> None:
    class Signs(optim.Optimizer):
        def __init__(self, params: Any, lr: float = 0.5) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["count"] = self.state[p].get("count", 0) + 1
                    p.data = p.numpy() - group["lr"] * np.sign(p.grad.numpy())

    p = nn.Parameter([1.0, -1.0])
    optimizer = Signs([p])
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(2):
        p.grad = p.detach()
        optimizer.step()
        schedule.step()
    assert p.tolist() == [0.25, -0.25]
    assert optimizer.state_dict()["state"] == {0: {"count": 2}}
