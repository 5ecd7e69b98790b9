"""Compiled functions, derivatives and training steps in files: what comes back, and what is refused in words."""

from __future__ import annotations

import base64
import bisect
import copy
import functools
import heapq
import json
import math
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from weft import _safetensors, nn, optim
from weft.errors import CaptureError, FileError, NotCovered, WeftError
from weft.graph._save import digest
from weft.optim import lr_scheduler

SCALE = 2.0
WEIGHTS = np.arange(6.0).reshape(2, 3)
COLUMNS = np.asfortranarray(np.arange(6.0).reshape(3, 2))


def back(function: Any, path: Path, **options: Any) -> Any:
    """A function after it went through a file; what is loaded is saved as the same bytes."""
    function.save(path / "f.weft")
    loaded = weft.load(path / "f.weft", **options)
    loaded.save(path / "again.weft")
    assert (path / "again.weft").read_bytes() == (path / "f.weft").read_bytes()
    return loaded


def same(got: Any, expected: Any) -> None:
    """Equal values of the same types."""
    pairs = zip(weft.pytree.leaves_of(got), weft.pytree.leaves_of(expected), strict=True)
    for one, other in pairs:
        assert type(one) is type(other)
        if hasattr(other, "numpy"):
            assert one.requires_grad == other.requires_grad
            one, other = one.numpy(), other.numpy()
        np.testing.assert_array_equal(one, other, strict=isinstance(other, np.ndarray))
    assert weft.pytree.flatten(got)[1] == weft.pytree.flatten(expected)[1]


# Calls


def by_size(x, factor=2.0, *rest, how="sum", **named):
    if len(x) > 10:
        return x[:10] * factor
    total = x.sum() if how == "sum" else x.mean()
    return {"total": total * factor, "rest": (*rest, *named.values())}


def test_a_branch_on_a_size_is_one_graph_for_each_side(tmp_path: Path) -> None:
    compiled = weft.compile(by_size)
    compiled(np.ones(4))
    with pytest.raises(NotCovered, match="x_0 is 12, was 4: x_0 > 10 holds now; it was saved for x: float64"):
        back(compiled, tmp_path)(np.ones(12))
    compiled(np.ones(20))
    loaded = back(compiled, tmp_path)
    for size in (1, 4, 10, 11, 30):
        if size > 1:
            same(loaded(np.ones(size)), by_size(np.ones(size)))
    assert len(loaded.graphs) == 2 and loaded.graph is loaded.graphs[-1]
    assert loaded.cache_info() == (4, 0, 2)


def test_it_is_called_as_the_function_was(tmp_path: Path) -> None:
    compiled, x = weft.compile(by_size), np.arange(3.0)
    for call in (
        lambda f: f(x),
        lambda f: f(x, 3.0),
        lambda f: f(factor=4.0, x=x),
        lambda f: f(x, 2.0, x, 5),
        lambda f: f(x, how="mean"),
        lambda f: f(x, extra=x),
    ):
        expected = call(compiled)
        loaded = back(compiled, tmp_path)
        same(call(loaded), expected)
    for wrong, text in ((lambda: loaded(), "missing 1 required"), (lambda: loaded(x, x=x), "multiple values")):
        with pytest.raises(TypeError, match=text):
            wrong()
    with pytest.raises(NotCovered, match="how is 'median', was 'sum'"):
        loaded(x, how="median")
    assert repr(loaded) == "<loaded by_size(x, factor=2.0, *rest, how='sum', **named), 4 graphs>"
    assert loaded.__name__ == "by_size" and len(loaded.explain().graphs) == 4


class Pair(NamedTuple):
    left: Any
    right: Any


def of_structures(a, b):
    first = a["x"][0] if isinstance(a, dict) else a[0]
    return first * b, [b, (first,)]


@pytest.mark.parametrize("value", [{"x": [np.ones(2)]}, [np.ones(2), 1], (np.ones(2),), {"x": (np.ones(2), None)}])
def test_structures_are_checked(value: Any, tmp_path: Path) -> None:
    compiled = weft.compile(of_structures)
    expected = compiled(value, 3)
    loaded = back(compiled, tmp_path)
    same(loaded(copy.deepcopy(value), 3), expected)
    for other in ([np.ones(2)], {"y": [np.ones(2)]}, {"x": [np.ones(3), np.ones(2)]}, np.ones(2), None):
        with pytest.raises(NotCovered, match=r"structure of a is another|was saved for"):
            loaded(other, 3)


def test_named_tuples_of_ones_own_are_the_loaders_to_allow(tmp_path: Path) -> None:
    compiled = weft.compile(lambda p: Pair(p.right, p.left * 2))
    expected = compiled(Pair(np.ones(2), np.zeros(3)))
    compiled.save(tmp_path / "f.weft")
    with pytest.raises(FileError, match=r"Pair is not part of weft, and running it was not allowed"):
        weft.load(tmp_path / "f.weft")
    same(back(compiled, tmp_path, allow=[Pair])(Pair(np.ones(2), np.zeros(3))), expected)


def guarded(x, y, n, flag):
    if flag and n > 3:
        x[0] = n
    return x[:3] @ y[:3] + (1 if x.shape == y.shape else 2)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((np.ones(4, np.float32), np.ones(4), 5, True), "x has dtype float32, was float64"),
        ((np.ones((4, 1)), np.ones(4), 5, True), "ndim of x is 2, was 1"),
        (([1.0], np.ones(4), 5, True), "the class of x is list, was ndarray"),
        ((np.ones(2), np.ones(2), 5, True), ">= 3 no longer holds"),
        ((np.ones(4), np.ones(4), 5.0, True), "the class of n is float, was int"),
        ((np.ones(4), np.ones(4), 5, False), "flag is False, was True"),
        ((np.ones(4), np.ones(4), 5, 1), "flag is 1, was True"),
    ],
)
def test_a_refusal_names_the_condition_and_what_was_saved(args: Any, says: str, tmp_path: Path) -> None:
    compiled = weft.compile(guarded)
    compiled(np.ones(4), np.ones(4), 5, True)
    loaded = back(compiled, tmp_path)
    same(loaded(np.ones(7), np.ones(7), 9, True), guarded(np.ones(7), np.ones(7), 9, True))
    before = copy.deepcopy(args)
    with pytest.raises(NotCovered) as caught:
        loaded(*args)
    message = str(caught.value)
    assert message.startswith("guarded: no saved graph is for this call") and says in message
    assert "it was saved for x: float64[" in message and "help: " in message
    same(args, before)


def test_arrays_that_share_memory(tmp_path: Path) -> None:
    compiled = weft.compile(guarded)
    compiled(np.ones(4), np.ones(4), 5, True)
    loaded, base = back(compiled, tmp_path), np.ones(8)
    for x, y in ((base[:4], base[2:6]), (base, base)):
        with pytest.raises(NotCovered, match=r"share memory, and one is written|are not one array"):
            loaded(x, y, 5, True)
    assert base.tolist() == [1.0] * 8


def test_graphs_are_chosen_in_their_order(tmp_path: Path) -> None:
    compiled = weft.compile(lambda x: x * len(x), dynamic=False)
    for size in (3, 5, 2):
        compiled(np.ones(size))
    loaded = back(compiled, tmp_path)
    assert [graph.find_nodes(op="placeholder")[0].meta["type"].shape for graph in loaded.graphs] == [(3,), (5,), (2,)]
    for size in (2, 3, 5):
        same(loaded(np.ones(size)), np.ones(size) * size)
    with pytest.raises(NotCovered, match=r"graph 1: size 0 of x is 4, was 3(.|\n)*graph 3: size 0 of x is 4, was 2"):
        loaded(np.ones(4))


# What is read from outside


def reads(x):
    return x @ WEIGHTS.T * SCALE + COLUMNS.sum(axis=0)


def test_what_is_read_from_outside_counts_as_it_is_when_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, x = weft.compile(reads), np.ones(3)
    compiled(x)
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    with pytest.raises(
        FileError, match=r"reads: no graph is for what it reads from outside now: SCALE is 10\.0, was 2\.0"
    ):
        compiled.save(tmp_path / "f.weft")
    expected = compiled(x)
    loaded = back(compiled, tmp_path)
    monkeypatch.setitem(globals(), "SCALE", 0.0)
    same(loaded(x), expected)
    assert len(loaded.graphs) == 1 and list(loaded.state) == ["WEIGHTS", "COLUMNS"]
    assert loaded.state["COLUMNS"].flags.f_contiguous  # arrays keep the order that they lie in
    loaded.state["WEIGHTS"][...] = 0  # it is what the graph reads
    same(loaded(x), COLUMNS.sum(axis=0))


def test_arrays_from_outside_that_are_written_go_on_from_what_they_were(tmp_path: Path) -> None:
    totals = np.zeros(2)

    @weft.compile
    def count(x):
        totals[0] += x.sum()
        totals[1] += 1
        return totals / totals[1]

    count(np.ones(3))
    loaded = back(count, tmp_path)
    same(loaded(np.ones(5)), np.array([4.0, 1.0]))
    assert totals.tolist() == [3.0, 1.0] and loaded.state["totals"].tolist() == [8.0, 2.0]
    loaded = back(loaded, tmp_path)
    same(loaded(np.zeros(1)), np.array([8 / 3, 1.0]))


@pytest.mark.parametrize(
    "make",
    [
        *(lambda kind=kind: np.random.Generator(kind(3)) for kind in (np.random.PCG64, np.random.PCG64DXSM)),
        *(lambda kind=kind: np.random.Generator(kind(3)) for kind in (np.random.MT19937, np.random.Philox)),
        lambda: np.random.Generator(np.random.SFC64(3)),
        lambda: np.random.RandomState(3),
    ],
)
def test_generators_go_on_from_where_they_are(make: Any, tmp_path: Path) -> None:
    rng = make()

    @weft.compile
    def draw(x):
        return x + rng.normal(size=2)

    draw(np.ones(2))
    loaded = back(draw, tmp_path)
    same([loaded(np.ones(2)) for _ in range(3)], [draw(np.ones(2)) for _ in range(3)])
    same(back(loaded, tmp_path)(np.ones(2)), draw(np.ones(2)))


def test_counters_are_state_that_all_graphs_share(tmp_path: Path) -> None:
    class Counter:
        def __init__(self) -> None:
            self.steps, self.rate = 0, 0.5

    counter = Counter()

    @weft.compile
    def count(x):
        counter.steps += 1
        counter.rate = counter.rate * 2
        return x * counter.steps + counter.rate

    for x in (np.ones(2), np.ones((2, 2)), np.ones(2)):
        count(x)
    loaded = back(count, tmp_path)
    for x in (np.ones((3, 2)), np.ones(2), np.ones((2, 2))):
        same(loaded(x), count(x))
    assert list(loaded.state.values()) == [{"steps": 6, "rate": 32.0}] and (counter.steps, counter.rate) == (6, 32.0)


def test_what_objects_hold_is_state(tmp_path: Path) -> None:
    class Filter:
        def __init__(self) -> None:
            self.mean, self.count, self.seen, self._before, self.name = np.zeros(2), 0, [], None, "a filter"

        def update(self, x):
            self.mean = self.mean * 0.5 + x
            self.count += 1
            self.seen.append(float(x.sum()))
            self._before = x * 2
            return self.mean.sum()

    own = Filter()
    update = weft.compile(own.update)
    for k in range(3):
        update(np.ones(2) * k)
    loaded = back(update, tmp_path)
    for k in range(3):
        same(loaded(np.ones(2) * k), update(np.ones(2) * k))
    loaded = back(loaded, tmp_path)
    same(loaded(np.ones(2)), update(np.ones(2)))
    (state,) = loaded.state.values()
    same([state[name] for name in ("mean", "count", "seen", "_before")], [own.mean, own.count, own.seen, own._before])


TOTAL = 0.0


def test_variables_and_globals_that_are_assigned_are_state(tmp_path: Path) -> None:
    count = 0

    @weft.compile
    def both(x):
        global TOTAL
        nonlocal count
        count += 1
        TOTAL = TOTAL + x.sum()
        return x * count + TOTAL

    for _ in range(3):
        both(np.ones(2))
    loaded = back(both, tmp_path)
    same(loaded(np.ones(2)), both(np.ones(2)))
    same(loaded(np.ones(2)), both(np.ones(2)))
    assert sorted(loaded.state) == ["TOTAL", "count"] and loaded.state["count"] == {"count": 5}


def test_lists_given_as_arguments_are_changed(tmp_path: Path) -> None:
    compiled = weft.compile(lambda items, x: items.append(x.sum()))
    compiled([1.0], np.ones(2))
    loaded, items = back(compiled, tmp_path), [1.0]
    loaded(items, np.ones(3))
    assert items == [1.0, 3.0]


def test_random_numbers_are_those_of_the_process(tmp_path: Path) -> None:
    compiled = weft.compile(lambda x: nn.functional.dropout(x, 0.5) + weft.rand(3))
    x = np.ones(3)
    compiled(x)
    loaded = back(compiled, tmp_path)
    weft.manual_seed(4)
    expected = [compiled(x) for _ in range(3)]
    weft.manual_seed(4)
    same([loaded(x) for _ in range(3)], expected)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return self.last(nn.functional.relu(self.norm(self.first(x))))


@pytest.mark.parametrize("training", [True, False])
def test_modules(training: bool, tmp_path: Path) -> None:
    weft.manual_seed(1)
    net = Net().train(training)
    compiled, x = weft.compile(net), weft.tensor(np.random.default_rng(0).random((5, 3)).astype(np.float32))
    compiled(x)
    loaded = back(compiled, tmp_path)
    same(loaded(x), compiled(x))
    assert repr(loaded) == "<loaded Net(x), 1 graph>"
    assert {name for name in loaded.state if "." in name} >= {"first.weight", "norm.running_mean", "last.bias"}
    loaded(x).sum().backward()
    net(x).sum().backward()
    if not training:
        np.testing.assert_allclose(loaded.state["first.weight"].grad, net.first.weight.grad, rtol=1e-5)


# Derivatives


def loss(x, k):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + np.sin(x[i]) * k
        else:
            total = total + x[i] ** 2
    return total


@pytest.mark.parametrize(
    "make",
    [
        lambda: weft.grad(loss),
        lambda: weft.grad(loss, (0, 1)),
        lambda: weft.value_and_grad(loss),
        lambda: weft.jacfwd(lambda x, k: x * k),
        lambda: weft.jacrev(lambda x, k: x * k),
        lambda: weft.hessian(loss),
        lambda: weft.compile(lambda x, k: weft.vjp(loss, x, k)[1](1.0)),
        lambda: weft.compile(lambda x, k: weft.jvp(loss, (x, k), (np.ones_like(x), None))),
        lambda: weft.compile(lambda x, k: weft.linearize(loss, x, k)[1](x, k)),
        lambda: weft.vmap(lambda x, k: x * k + x.sum(), in_axes=(0, None)),
        lambda: weft.compile(weft.grad(lambda x, k: (weft.grad(loss)(x, k) ** 2).sum())),
        lambda: weft.vmap(weft.grad(lambda x, k: np.sin(x) * k), in_axes=(0, None)),
    ],
)
def test_derivatives(make: Any, tmp_path: Path) -> None:
    function, x = make(), np.array([1.0, -2.0, 3.0])
    function(x, 2.0)
    loaded = back(function, tmp_path)
    for other in (x, -x, np.linspace(-1, 1, 7)):
        same(loaded(other, 0.5), function(other, 0.5))
    with pytest.raises(NotCovered, match="x has dtype int64, was float64"):
        loaded(np.arange(3), 2.0)


def test_a_derivative_prints_as_one(tmp_path: Path) -> None:
    function = weft.grad(loss)
    function(np.ones(2), 2.0)
    assert repr(back(function, tmp_path)) == "<loaded grad of loss(x, k), 1 graph>"


def test_tensors_have_gradients_as_before(tmp_path: Path) -> None:
    compiled, x = weft.compile(loss), np.array([1.0, -2.0, 3.0])
    taken = []
    compiled(weft.tensor(x, requires_grad=True), 2.0)
    loaded = back(compiled, tmp_path)
    for function in (loaded, compiled):
        given = weft.tensor(x, requires_grad=True)
        result = function(given, 2.0)
        (first,) = weft.autograd.grad(result, [given], create_graph=True)
        (second,) = weft.autograd.grad(first.sum(), [given])
        taken.append([result.detach(), first.detach(), second])
    same(taken[0], taken[1])


@weft.custom_vjp
def clipped(x):
    return np.clip(x, -1, 1)


clipped.defvjp(lambda x: (np.clip(x, -1, 1), x), lambda x, g: (g * 0.5,))


def test_rules_of_ones_own_go_along(tmp_path: Path) -> None:
    x = np.array([0.5, 3.0])
    function = weft.grad(lambda x: (clipped(x) ** 2).sum())
    same(back_called(function, tmp_path, x), function(x))
    given = [weft.tensor(x, requires_grad=True) for _ in range(2)]
    compiled = weft.compile(lambda x: (clipped(x) ** 2).sum())
    compiled(given[0])
    for one, run in zip(given, (compiled, back(compiled, tmp_path)), strict=True):
        run(one).backward()
    same(given[0].grad, given[1].grad)


def back_called(function: Any, path: Path, *args: Any) -> Any:
    function(*args)
    return back(function, path)(*args)


def test_inside_other_captures(tmp_path: Path) -> None:
    compiled, x = weft.compile(loss), np.array([1.0, -2.0, 3.0])
    compiled(x, 2.0)
    loaded = back(compiled, tmp_path)
    same(weft.grad(loaded)(x, 2.0), weft.grad(loss)(x, 2.0))
    same(weft.vmap(lambda x: loaded(x, 2.0))(np.stack([x, -x])), np.array([loss(x, 2.0), loss(-x, 2.0)]))
    outer = weft.compile(lambda x: loaded(x * 2, 3.0) + 1)
    same(outer(x), loss(x * 2, 3.0) + 1)
    assert weft.compile(loaded) is loaded
    with pytest.raises(CaptureError):
        weft.script(loaded)
    with pytest.raises(CaptureError, match=r"x has dtype float64(.|\n)*it was saved for x: float64"):
        weft.compile(lambda x: loaded(x.astype(np.float32), 3.0))(x)


# Training steps


def step_of(make_optimizer: Any, make_schedule: Any = None, accumulate: bool = False) -> Any:
    weft.manual_seed(2)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Tanh(), nn.Linear(4, 1))
    optimizer = make_optimizer(model.parameters())
    schedule = None if make_schedule is None else make_schedule(optimizer)

    @weft.compile
    def step(x, y):
        model.train()
        if not accumulate:
            optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
        return loss

    return step


def losses(step: Any, count: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    weft.manual_seed(seed)
    pairs = [(rng.random((6, 3)).astype(np.float32), rng.random((6, 1)).astype(np.float32)) for _ in range(count)]
    return [step(weft.tensor(x), weft.tensor(y)) for x, y in pairs]


OPTIMIZERS = [
    lambda p: optim.SGD(p, lr=0.1),
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
    lambda p: optim.AdamW(p, lr=0.01),
    lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    lambda p: optim.Adagrad(p, lr=0.1),
    lambda p: optim.Lion(p, lr=0.01),
]


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("make", OPTIMIZERS)
def test_training_goes_on_to_the_bit(make: Any, accumulate: bool, tmp_path: Path) -> None:
    step = step_of(make, accumulate=accumulate)
    losses(step, 3, 0)
    loaded = back(step, tmp_path)
    same(losses(loaded, 3, 1), losses(step, 3, 1))
    same(losses(back(loaded, tmp_path), 2, 2), losses(step, 2, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda o: lr_scheduler.StepLR(o, 2, 0.5),
        lambda o: lr_scheduler.MultiStepLR(o, [2, 4], 0.5),
        lambda o: lr_scheduler.ExponentialLR(o, 0.9),
        lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
        lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.LinearLR(o, total_iters=3), lr_scheduler.ExponentialLR(o, 0.8)], milestones=[3]
        ),
    ],
)
def test_schedules_go_on(make: Any, tmp_path: Path) -> None:
    step = step_of(lambda p: optim.SGD(p, lr=0.1), make)
    losses(step, 3, 0)
    loaded = back(step, tmp_path)
    same(losses(loaded, 4, 1), losses(step, 4, 1))
    rates = [one.param_groups[0]["lr"] for one in loaded.state.values() if isinstance(one, optim.Optimizer)]
    assert len(rates) == 1


def test_the_state_of_a_step_is_there_to_be_read_and_set(tmp_path: Path) -> None:
    step = step_of(lambda p: optim.SGD(p, lr=0.1))
    losses(step, 2, 0)
    loaded = back(step, tmp_path)
    state = loaded.state
    assert {"model.0.weight", "model.1.running_mean", "optimizer"} <= state.keys()
    state["optimizer"].param_groups[0]["lr"] = 0.0
    before = state["model.0.weight"].numpy().copy()
    losses(loaded, 1, 1)
    same(state["model.0.weight"].numpy(), before)
    state["optimizer"].param_groups[0]["momentum"] = 0.9
    with pytest.raises(NotCovered, match="no saved graph is for this call"):
        losses(loaded, 1, 1)


# What a file cannot hold


class Thing:
    def __init__(self, scale: float) -> None:
        self.scale = scale


def test_an_object_as_an_argument_is_refused(tmp_path: Path) -> None:
    thing = Thing(2.0)
    compiled = weft.compile(lambda x, thing: x * thing.scale)
    compiled(np.ones(2), thing)
    changing = weft.compile(lambda thing, x: setattr(thing, "scale", thing.scale + x.sum()))
    changing(Thing(1.0), np.ones(2))
    for one in (compiled, changing):
        with pytest.raises(FileError, match=r"it holds while thing is the same object, and that cannot be told in"):
            one.save(tmp_path / "f.weft")
    assert not (tmp_path / "f.weft").exists()


def test_a_function_as_an_argument_goes_by_its_name(tmp_path: Path) -> None:
    compiled = weft.compile(lambda x, function: function(x) * 2)
    same(back_called(compiled, tmp_path, np.ones(2), np.sin), np.sin(np.ones(2)) * 2)
    with pytest.raises(NotCovered, match="function is another object"):
        back(compiled, tmp_path)(np.ones(2), np.cos)
    compiled(np.ones(2), lambda x: x)
    with pytest.raises(FileError, match="function is the same object, and that cannot be told"):
        compiled.save(tmp_path / "f.weft")


def test_what_is_no_data_is_refused_at_its_line(tmp_path: Path) -> None:
    step = step_of(lambda p: optim.SGD(p, lr=0.1), lambda o: lr_scheduler.LambdaLR(o, lambda n: 0.9**n))
    losses(step, 1, 0)
    with pytest.raises(FileError, match=r"schedule: .*lambda.* has no import path"):
        step.save(tmp_path / "f.weft")
    names = np.array(["a", "b"])
    compiled = weft.compile(lambda x: (x, names[0]))
    compiled(np.ones(1))
    with pytest.raises(FileError, match=r"names.*dtype <U1 cannot be saved(.|\n)*names\[0\]"):
        compiled.save(tmp_path / "f.weft")


VALUES = [
    (lambda x, s: x[s], slice(0, 2), slice(0, 3)),
    (lambda x, s: x * sum(s), range(3), range(4)),
    (lambda x, s: x.astype(s), np.dtype(">f4"), np.dtype("f4")),
    (lambda x, s: x * len(s), {1, 2}, {1, 3}),
    (lambda x, s: x * len(s), "two", "to"),
    (lambda x, s: x[s], ..., None),
    (lambda x, s: x * s.imag, 2j, 2.0),
    (lambda x, s: x + len(s), np.array(["a"]), ["a"]),
    (lambda x, s: x + s.normal() * 0, np.random.default_rng(0), np.random.RandomState(0)),
    (lambda x, s: x + s.sum(), weft.tensor([1.0, 2.0], requires_grad=True)[1:], weft.tensor([2.0])),
]


@pytest.mark.parametrize(("function", "value", "other"), VALUES)
def test_arguments_that_count_by_value_or_class(function: Any, value: Any, other: Any, tmp_path: Path) -> None:
    compiled, x = weft.compile(function), np.arange(3.0)
    expected = compiled(x, value)
    loaded = back(compiled, tmp_path)
    same(loaded(x, value if isinstance(value, weft.Tensor) else copy.deepcopy(value)), expected)
    with pytest.raises(NotCovered):
        loaded(x, other)


def test_arguments_that_are_bound(tmp_path: Path) -> None:
    x = np.arange(3.0)

    class Scaled:
        def __init__(self) -> None:
            self.weights = np.ones(3)

        def run(self, x, by=2):
            return x * self.weights * by

        def __call__(self, x):
            return x - self.weights

    def plain(a, b, c=1, *, d=0):
        return a * b + c - d

    for function in (
        weft.compile(Scaled().run),
        weft.compile(Scaled()),
        weft.compile(functools.partial(plain, np.ones(3) * 2)),
        weft.compile(functools.partial(plain, np.ones(3), c=5, d=np.ones(3))),
        weft.compile(functools.partial(Scaled().run, by=3)),
    ):
        expected = function(x)
        same(back(function, tmp_path)(x), expected)


def test_hooks_of_parameters_are_part_of_a_step(tmp_path: Path) -> None:
    step = step_of(lambda p: optim.SGD(p, lr=0.1))
    losses(step, 1, 0)
    loaded = back(step, tmp_path)
    for one in loaded.state.values():
        if isinstance(one, nn.Parameter):
            one.register_hook(lambda g: g * 0)
    with pytest.raises(NotCovered, match="the same parameters require gradients"):
        losses(loaded, 1, 0)
    p = nn.Parameter(np.ones(3))
    p.register_hook(lambda g: g * 0.5)

    @weft.compile
    def hooked(x):
        p.grad = None
        (p * x).sum().backward()
        return p.grad * 1

    expected = hooked(np.ones(3))
    same(back(hooked, tmp_path)(np.ones(3)), expected)


def test_an_edited_graph_of_a_loaded_function_is_what_runs(tmp_path: Path) -> None:
    compiled = weft.compile(lambda x: x * 2)
    compiled(np.ones(2))
    loaded = back(compiled, tmp_path)
    (node,) = loaded.graph.find_nodes(op="call_function")
    node.args = (node.args[0], 5)
    same(loaded(np.ones(2)), np.ones(2) * 5)
    same(back(loaded, tmp_path)(np.ones(2)), np.ones(2) * 5)


def test_a_tensor_that_was_computed_outside_is_refused(tmp_path: Path) -> None:
    weights = weft.tensor([1.0, 2.0], requires_grad=True) * 2
    compiled = weft.compile(lambda x: x * weights)
    compiled(np.ones(2))
    with pytest.raises(FileError, match=r"weights is a Tensor that was computed outside(.|\n)*detach it"):
        compiled.save(tmp_path / "f.weft")


def test_nothing_to_save_yet(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="loss was not called yet, so there is nothing to save"):
        weft.compile(loss).save(tmp_path / "f.weft")


def test_a_graph_that_holds_for_some_calls_only_is_saved_with_its_function(tmp_path: Path) -> None:
    compiled = weft.compile(by_size)
    compiled(np.ones(4))
    for one in (compiled.graph, compiled._latest().module):
        with pytest.raises(FileError, match=r"holds while x_0 <= 10(.|\n)*save the compiled function"):
            one.save(tmp_path / "g.weft")
    compiled = weft.compile(lambda x: x * 2)
    compiled(np.ones(4))
    compiled.graph.save(tmp_path / "g.weft")
    same(weft.load(tmp_path / "g.weft")(np.ones(5)), np.ones(5) * 2)  # a graph is called with its inputs


# Files


def test_sources_stay_out_where_that_is_asked_for(tmp_path: Path) -> None:
    compiled, x = weft.compile(by_size), np.ones(4)
    compiled(x)
    compiled.save(tmp_path / "f.weft")
    content = (tmp_path / "f.weft").read_bytes()
    assert b"test_saved_functions.py" in content and b"x.sum() if how" in content
    assert str(Path(__file__).parent).encode() not in content  # where the file lay is no part of it
    compiled.save(tmp_path / "f.weft", sources=False)
    content = (tmp_path / "f.weft").read_bytes()
    assert b"test_saved_functions" not in content and b"x.sum()" not in content
    loaded = weft.load(tmp_path / "f.weft")
    same(loaded(x), compiled(x))
    assert all(node.location is None for node in loaded.graph.nodes)
    graph = weft.trace(lambda x: x * 3, x)
    for one in (graph, graph.graph):
        one.save(tmp_path / "g.weft", sources=False)
        assert b"weft.trace" not in (tmp_path / "g.weft").read_bytes()


def rewritten(path: Path, change: Any) -> Path:
    """The file with another structure, digest and all."""
    arrays, metadata = _safetensors.read(path)
    structure = json.loads(metadata["weft"])
    change(structure)
    text = json.dumps(structure)
    _safetensors.write(path, arrays, {"weft": text, "weft_sha256": digest(text, arrays)})
    return path


def test_a_file_of_a_newer_format_is_refused_in_a_sentence(tmp_path: Path) -> None:
    compiled = weft.compile(loss)
    compiled(np.ones(2), 2.0)
    compiled.save(tmp_path / "f.weft")
    rewritten(tmp_path / "f.weft", lambda structure: structure.update(format=3))
    with pytest.raises(FileError, match=r"it is of format 3; this version of weft reads formats up to 2: update weft$"):
        weft.load(tmp_path / "f.weft")


OLD = (
    "c-o~^+isgM81B`cBl1-<S=1at4w|%HZ8zJrdqBv5ouCmL8MCH}kosnOwf(k3Q`)4`v`Ap{{io0W!D&C-*xwQ5`JQQ7QBCt4ZI0-Hag8?Um?AFK"
    "p6V2Be4JVswkaZ>?~xP%q@*+uXzpdzH_T`bfXlXXuwqR=f}K{i*cw5SqC35B@4DZ2`(LuDy!O$$gK!U2Rd#={?~3u+3BB!D!|`FhnJK1wC1!??"
    "X98G>*VKYhb$gi4KZ@3)O3}yL1c>6mBN+yWH<Icwn5QTM&uv3XX2~Q3FR^bQ9|t(ZqHmfETQ~~gwJ;(BPGzB$t**;f>x;4=z9ci8G!vavj#P?%"
    "QbnOKOxaAh<9QFP-tM$TKJf@vt$GHIuc#L_?OrRJNLxkQoecy<60%}rP@9$=)a2yn@cd3Pd>k;S+lC;64O-Hs$;aA1hn;RA!P&&te__jeQR-R>"
    "*G{%uPOavhzLLbBng`B&%XCh)cENI&y1bO4(^P136`dX<yhdf;H+GdRQ&dakIUq>_FbK0tPGqm!-j(LkHc6tXSv1&EjO0!ebAhvgZ9luwxqMbz"
    ";A|KM<I`1StZ&)SuCtSC^D2b*?OZ0UXf0qaL2kOkOvczqCq`q-nY{~b>kpc)yC%3l7=fuvUG$or#I?vdqcF7=2wYkw&|vfOis@I=rQgrp^_FYV"
    "bN)>9e^WO}-0|GO?yv%qVyXRLuCnIRG>XGGPi`y*gf08L+tFYV!$s;BBrHot;)0f>3PM5_j1#i1)|DUl<*Hx-4~jM6aa=5;MYLj3v0#gE8L!v="
    "GAhx4-!eBBb)_F$1_8c=0R)A3=F4;_vX{B!ykoiph~QNQPF`FJ|6~q#T>Qe`HN-m}@C6@!jKctuJiEDh`V4<N_wbnY&-wcvo~Qf2+07y*"
)
"""A module of the first format: `relu(linear(x)) * [1, 2]` with a weight of [[1, 2], [3, 4]] and a bias of ±0.5."""


def test_old_files_load(tmp_path: Path) -> None:
    (tmp_path / "old.weft").write_bytes(zlib.decompress(base64.b85decode("".join(OLD))))
    x = np.array([[1.0, -1.0], [2.0, 1.0]], np.float32)
    result = weft.load(tmp_path / "old.weft")(x)
    np.testing.assert_array_equal(np.asarray(result.detach()), [[0.0, 0.0], [4.5, 19.0]])


def test_files_of_another_kind_are_told_apart(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"weight": np.ones(3)}, str(tmp_path / "weights"))
    nn.save_state(tmp_path / "state", {"weight": weft.tensor([1.0])})
    (tmp_path / "text").write_text("def f(x):\n    return x\n")
    for name, says in (
        ("weights", "a safetensors file of weights, no graph(.|\n)*nn.load_state"),
        ("state", "a checkpoint that nn.save_state wrote, no graph(.|\n)*nn.load_state"),
        ("text", "a text file, not one that was saved(.|\n)*load reads what"),
    ):
        with pytest.raises(FileError, match=says):
            weft.load(tmp_path / name)


def test_infinities_and_nan_in_conditions(tmp_path: Path) -> None:
    compiled = weft.compile(lambda x, k: x * k if k > 0 else -x, dynamic=False)
    for k in (math.inf, -0.0, -math.inf):
        compiled(np.ones(2), k)
    loaded = back(compiled, tmp_path)
    for k in (math.inf, -0.0, -math.inf):
        same(loaded(np.ones(2), k), compiled(np.ones(2), k))
    with pytest.raises(NotCovered):
        loaded(np.ones(2), 0.0)


def queued(x):
    heap = []
    for value in x:
        heapq.heappush(heap, value)
    return heapq.heappop(heap), bisect.bisect([1.0, 2.0], x[0]), type(x[0]) is float


def told(x):
    return f"{x:.2f}".zfill(8).replace("0", "o").upper()


@pytest.mark.parametrize(("function", "values"), [(queued, ([3.0, 1.5], [0.5, 2.5])), (told, (1.25, 30.0))])
def test_queues_types_and_texts_of_the_standard_library(function: Any, values: Any, tmp_path: Path) -> None:
    compiled = weft.compile(function)
    compiled(values[0])
    loaded = back(compiled, tmp_path)
    for value in values:
        assert loaded(value) == function(value)


def items_for_each(x):
    return [(value, total) for value, total in zip(x, np.cumsum(x))]  # noqa: B905


def test_lists_of_tuples(tmp_path: Path) -> None:
    compiled = weft.compile(items_for_each)
    compiled(np.arange(3.0))
    assert back(compiled, tmp_path)(np.arange(4.0)) == items_for_each(np.arange(4.0))
