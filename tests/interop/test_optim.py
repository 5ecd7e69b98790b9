"""Optimisers of `weft.optim` and clipping against torch: parameters and state, step by step; arguments and refusals."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft import nn, optim

# Both compute in float64 and differ by the order of a few roundings a step.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}
STEPS = 20
SHAPES = [(3, 4), (5,), (), (2, 1, 3), (0, 2)]


def start(kind: str = "f") -> list[np.ndarray]:
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape) for shape in SHAPES]
    return values if kind == "f" else [v + 1j * random.standard_normal(v.shape) for v in values]


def both(kind: str = "f") -> tuple[list[Any], list[Any]]:
    ours = [nn.Parameter(np.array(v)) for v in start(kind)]
    theirs = [torch.nn.Parameter(torch.from_numpy(np.array(v))) for v in start(kind)]
    return ours, theirs


def give_gradients(ours: list[Any], theirs: list[Any], seed: int, without: int | None = None) -> None:
    """The same gradients for both: a slope towards zero and noise, none for one of the parameters."""
    random = np.random.default_rng(seed)
    for i, (p, q) in enumerate(zip(ours, theirs, strict=True)):
        g = np.asarray(p.numpy() + random.standard_normal(p.shape))
        p.grad = None if i == without else weft.tensor(g)
        q.grad = None if i == without else torch.from_numpy(np.array(g))


def plain(value: Any) -> Any:
    """Numbers and arrays in place of tensors."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return value.numpy() if isinstance(value, weft.Tensor) else value


def assert_same_state(ours: Any, theirs: Any) -> None:
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    assert mine["state"].keys() == {k for k, v in other["state"].items() if v}
    for number, entry in mine["state"].items():
        expected = {k: v for k, v in other["state"][number].items() if v is not None and k != "al"}
        assert entry.keys() == expected.keys()
        for name, value in entry.items():
            assert_close(plain(value), plain(expected[name]))
    for group, expected in zip(mine["param_groups"], other["param_groups"], strict=True):
        assert group == expected


def assert_close(got: Any, expected: Any) -> None:
    if isinstance(got, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_close(one, other)
    else:
        np.testing.assert_allclose(got, expected, **TOLERANCE)


def options(**choices: list[Any]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


SGD = [
    o
    for o in options(
        lr=[0.1],
        momentum=[0, 0.9],
        dampening=[0, 0.2],
        weight_decay=[0, 0.1],
        nesterov=[False, True],
        maximize=[False, True],
    )
    if not o["nesterov"] or (o["momentum"] and not o["dampening"])
]
ADAM = list(options(lr=[0.05], weight_decay=[0, 0.1], amsgrad=[False, True], maximize=[False, True]))
CASES = [
    *(("SGD", o) for o in SGD),
    ("SGD", {}),
    *(("Adam", o) for o in ADAM),
    *(("Adam", {**o, "decoupled_weight_decay": True, "betas": (0.5, 0.7), "eps": 1e-3}) for o in ADAM),
    *(("AdamW", o) for o in ADAM),
    ("Adam", {}),
    ("AdamW", {}),
    *(
        ("RMSprop", o)
        for o in options(
            lr=[0.05],
            alpha=[0.8],
            weight_decay=[0, 0.1],
            momentum=[0, 0.9],
            centered=[False, True],
            maximize=[False, True],
        )
    ),
    ("RMSprop", {}),
    *(
        ("Adagrad", o)
        for o in options(
            lr=[0.05],
            lr_decay=[0, 0.1],
            weight_decay=[0, 0.1],
            initial_accumulator_value=[0, 0.3],
            maximize=[False, True],
        )
    ),
    ("Adagrad", {}),
]


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_steps(name: str, kwargs: dict[str, Any], kind: str) -> None:
    ours, theirs = both(kind)
    mine, other = getattr(optim, name)(ours, **kwargs), getattr(torch.optim, name)(theirs, **kwargs)
    for step in range(STEPS):
        give_gradients(ours, theirs, step, without=step % 7)
        before = [None if p.grad is None else p.grad.numpy().copy() for p in ours]
        mine.step()
        other.step()
        for p, q, g in zip(ours, theirs, before, strict=True):
            np.testing.assert_allclose(p.numpy(), q.detach().numpy(), **TOLERANCE)
            assert g is None or np.array_equal(p.grad.numpy(), g)
    assert_same_state(mine, other)
    assert repr(mine) == repr(other)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_groups_with_options_of_their_own(name: str) -> None:
    ours, theirs = both()

    def build(module: Any, p: list[Any]) -> Any:
        made = getattr(module, name)([{"params": p[:2], "lr": 0.3}, {"params": p[2], "weight_decay": 0.2}], lr=0.1)
        made.add_param_group({"params": p[3:], "maximize": True, "label": "late"})
        return made

    if name == "Adagrad":  # torch's begins no state for groups that come late
        ours, theirs = ours[:3], theirs[:3]
        mine, other = (
            getattr(m, name)([{"params": p[:2], "lr": 0.3}, {"params": p[2], "weight_decay": 0.2}], lr=0.1)
            for m, p in ((optim, ours), (torch.optim, theirs))
        )
    else:
        mine, other = build(optim, ours), build(torch.optim, theirs)
    for step in range(STEPS):
        give_gradients(ours, theirs, step)
        mine.step()
        other.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), **TOLERANCE)
    assert_same_state(mine, other)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_a_torch_state_dict_loads(name: str) -> None:
    kwargs = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    ours, theirs = both()
    other = getattr(torch.optim, name)(theirs, lr=0.05, **kwargs)
    for step in range(5):
        give_gradients(ours, theirs, step)
        other.step()
    ours = [nn.Parameter(q.detach().numpy().copy()) for q in theirs]
    mine = getattr(optim, name)(ours)
    mine.load_state_dict(other.state_dict())
    assert_same_state(mine, other)
    for step in range(5, 10):
        give_gradients(ours, theirs, step)
        mine.step()
        other.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), **TOLERANCE)


def test_names_of_parameters() -> None:
    ours, theirs = both()
    names = [f"p{i}" for i in range(len(ours))]
    mine = optim.Adam(zip(names, ours, strict=True))
    other = torch.optim.Adam(zip(names, theirs, strict=True))
    assert mine.state_dict()["param_groups"][0]["param_names"] == names
    assert_same_state(mine, other)


# L-BFGS minimises the same function on both sides, written with operators both have.


def rosenbrock(x: Any, y: Any) -> Any:
    return ((1 - x) ** 2).sum() + (100 * (y - x**2) ** 2).sum()


def quartic(x: Any, y: Any) -> Any:
    return ((x - 2) ** 4).sum() + ((x - y) ** 2).sum() + (x * y).sum() * 0.1


@pytest.mark.parametrize("function", [rosenbrock, quartic])
@pytest.mark.parametrize(
    "kwargs",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "lr": 0.3, "history_size": 3, "max_iter": 7},
        {"line_search_fn": "strong_wolfe", "max_eval": 9, "tolerance_grad": 1e-2},
        {"line_search_fn": "strong_wolfe", "lr": 30.0, "tolerance_change": 1e-3},
        {"lr": 0.1},
        {"lr": 0.02, "max_iter": 4, "history_size": 2},
        {"lr": 0.1, "max_eval": 3},
        {"lr": 0.1, "tolerance_grad": 0.5, "tolerance_change": 1e-2},
    ],
    ids=str,
)
def test_lbfgs(function: Callable[[Any, Any], Any], kwargs: dict[str, Any]) -> None:
    values = [np.array([-1.2, 0.5, 1.5]), np.array([1.0, -0.5, 0.3])]
    ours = [weft.tensor(v, requires_grad=True) for v in values]
    theirs = [torch.tensor(v, requires_grad=True) for v in values]
    mine, other = optim.LBFGS(ours, **kwargs), torch.optim.LBFGS(theirs, **kwargs)
    calls = {"mine": 0, "other": 0}

    def closure(who: str, optimizer: Any, parameters: list[Any]) -> Callable[[], Any]:
        def compute() -> Any:
            calls[who] += 1
            optimizer.zero_grad()
            loss = function(*parameters)
            loss.backward()
            return loss

        return compute

    for _ in range(4):
        first = mine.step(closure("mine", mine, ours))
        expected = other.step(closure("other", other, theirs))
        assert first.item() == pytest.approx(expected.item(), rel=1e-8, abs=1e-12)
        assert calls["mine"] == calls["other"]
        for p, q in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-10, atol=1e-10)
    state, expected_state = mine.state_dict()["state"][0], other.state_dict()["state"][0]
    assert state.keys() == {k for k in expected_state if k != "al"}
    for name in ("n_iter", "func_evals"):
        assert state[name] == expected_state[name]
    assert len(state["old_dirs"]) == len(expected_state["old_dirs"])


# Clipping


@pytest.mark.parametrize("norm_type", [2, 2.0, 1.0, 3.0, 0.5, float("inf"), "inf"])
@pytest.mark.parametrize("max_norm", [0.1, 1e3])
@pytest.mark.parametrize("kind", ["f", "c"])
def test_clip_grad_norm(norm_type: float, max_norm: float, kind: str) -> None:
    ours, theirs = both(kind)
    give_gradients(ours, theirs, 0, without=1)
    if float(norm_type) == float("inf"):  # torch has no largest of nothing
        ours, theirs = ours[:-1], theirs[:-1]
    total = nn.utils.clip_grad_norm_(ours, max_norm, norm_type)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    np.testing.assert_allclose(total.numpy(), expected.numpy(), **TOLERANCE)
    for p, q in zip(ours, theirs, strict=True):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), **TOLERANCE)


def test_clip_grad_value_and_vectors() -> None:
    ours, theirs = both()
    give_gradients(ours, theirs, 0, without=1)
    nn.utils.clip_grad_value_(ours, 0.3)
    torch.nn.utils.clip_grad_value_(theirs, 0.3)
    for p, q in zip(ours, theirs, strict=True):
        if p.grad is not None:
            np.testing.assert_array_equal(p.grad.numpy(), q.grad.numpy())
    vector, expected = nn.utils.parameters_to_vector(ours), torch.nn.utils.parameters_to_vector(theirs)
    np.testing.assert_array_equal(vector.detach().numpy(), expected.detach().numpy())
    nn.utils.vector_to_parameters(vector * 2, ours)
    torch.nn.utils.vector_to_parameters(expected * 2, theirs)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(p.numpy(), q.detach().numpy())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_arguments_and_defaults(name: str) -> None:
    import inspect

    ours, theirs = (inspect.signature(getattr(m, name).__init__).parameters for m in (optim, torch.optim))
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]
    assert [p.kind for p in ours.values()] == [p.kind for p in theirs.values()]


@pytest.mark.parametrize("name", [n for n in optim.lr_scheduler.__all__ if n != "LRScheduler"])
def test_arguments_of_schedules(name: str) -> None:
    import inspect

    ours, theirs = (inspect.signature(getattr(m.lr_scheduler, name).__init__).parameters for m in (optim, torch.optim))
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]


Q = torch.ones(2, requires_grad=True)
P = weft.tensor([1.0, 1.0], requires_grad=True)
REFUSED: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("a tensor", lambda m, p: m.SGD(p)),
    ("nothing", lambda m, p: m.SGD([])),
    ("twice", lambda m, p: m.SGD([{"params": [p]}, {"params": [p]}])),
    ("computed", lambda m, p: m.SGD([p * 2])),
    ("no tensor", lambda m, p: m.SGD([1])),
    ("lr", lambda m, p: m.SGD([p], lr=-1)),
    ("lr nan", lambda m, p: m.Adam([p], lr=float("nan"))),
    ("lr text", lambda m, p: m.Adam([p], lr="a")),
    ("momentum", lambda m, p: m.SGD([p], momentum=-1)),
    ("decay", lambda m, p: m.SGD([p], weight_decay=-1)),
    ("nesterov", lambda m, p: m.SGD([p], nesterov=True)),
    ("nesterov dampened", lambda m, p: m.SGD([p], nesterov=True, momentum=0.9, dampening=0.1)),
    ("betas", lambda m, p: m.Adam([p], betas=(1.0, 0.9))),
    ("betas low", lambda m, p: m.AdamW([p], betas=(0.9, -0.1))),
    ("eps", lambda m, p: m.Adam([p], eps=-1)),
    ("names", lambda m, p: m.SGD([("a", p), p])),
    ("alpha", lambda m, p: m.RMSprop([p], alpha=-1)),
    ("lr_decay", lambda m, p: m.Adagrad([p], lr_decay=-1)),
    ("accumulator", lambda m, p: m.Adagrad([p], initial_accumulator_value=-1)),
    ("groups", lambda m, p: m.LBFGS([{"params": [p]}, {"params": [p]}])),
    ("lbfgs lr", lambda m, p: m.LBFGS([p], lr=-1)),
    ("no closure", lambda m, p: m.LBFGS([p]).step()),
    ("no optimiser", lambda m, p: m.lr_scheduler.StepLR(None, 2)),
    ("last_epoch", lambda m, p: m.lr_scheduler.StepLR(m.SGD([p]), 2, last_epoch=3)),
    ("lambdas", lambda m, p: m.lr_scheduler.LambdaLR(m.SGD([p]), [abs, abs])),
    ("total", lambda m, p: m.lr_scheduler.OneCycleLR(m.SGD([p]), 1.0)),
    ("total 0", lambda m, p: m.lr_scheduler.OneCycleLR(m.SGD([p]), 1.0, 0)),
    ("pct", lambda m, p: m.lr_scheduler.OneCycleLR(m.SGD([p]), 1.0, 5, pct_start=2)),
    ("strategy", lambda m, p: m.lr_scheduler.OneCycleLR(m.SGD([p]), 1.0, 5, anneal_strategy="x")),
    ("no momentum", lambda m, p: m.lr_scheduler.OneCycleLR(m.Adagrad([p]), 1.0, 5)),
    ("T_0", lambda m, p: m.lr_scheduler.CosineAnnealingWarmRestarts(m.SGD([p]), 0)),
    ("T_mult", lambda m, p: m.lr_scheduler.CosineAnnealingWarmRestarts(m.SGD([p]), 1, 0)),
    ("factor", lambda m, p: m.lr_scheduler.ConstantLR(m.SGD([p]), 2.0)),
    ("start", lambda m, p: m.lr_scheduler.LinearLR(m.SGD([p]), 0.0)),
    ("end", lambda m, p: m.lr_scheduler.LinearLR(m.SGD([p]), 1.0, 2.0)),
    ("plateau", lambda m, p: m.lr_scheduler.ReduceLROnPlateau(m.SGD([p]), factor=1.0)),
    ("plateau mode", lambda m, p: m.lr_scheduler.ReduceLROnPlateau(m.SGD([p]), mode="x")),
    ("plateau min_lr", lambda m, p: m.lr_scheduler.ReduceLROnPlateau(m.SGD([p]), min_lr=[1, 2])),
    ("no schedules", lambda m, p: m.lr_scheduler.ChainedScheduler([])),
    (
        "milestones",
        lambda m, p: (o := m.SGD([p])) and m.lr_scheduler.SequentialLR(o, [m.lr_scheduler.StepLR(o, 2)], [1]),
    ),
]


@pytest.mark.parametrize(("name", "build"), REFUSED, ids=[name for name, _ in REFUSED])
def test_both_refuse(name: str, build: Callable[[Any, Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as expected:
            build(torch.optim, Q)
    kind = (TypeError, ValueError, KeyError)
    assert isinstance(expected.value, kind)
    with pytest.raises(expected.type) as got:
        build(optim, P)
    assert len(str(got.value)) > 20
