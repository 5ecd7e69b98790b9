"""Forward and backward graphs against the tape, under every policy."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from halves import POLICIES, check_alike, in_halves, kept_bytes

import weft
from weft import nn
from weft.autograd import checkpoint
from weft.transform._partition_cost import is_creation
from weft.transform._partition_measure import arrays_in

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


class Deep(nn.Module):
    """Layers of one width."""

    def __init__(self, depth: int, width: int, marked: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.marked = marked

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = (
                checkpoint(lambda x, layer=layer: weft.tanh(layer(x)) * x, x)
                if self.marked
                else weft.tanh(layer(x)) * x
            )
        return x


class Attending(nn.Module):
    """A block of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.down(weft.gelu(self.up(self.norm(x))))


def convolutional() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 3, 3), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(3, 2)),
    ).double()


def looping(x, w):
    h = x
    for i in range(w.shape[0]):
        h = weft.tanh(h * w[i]) + h
    return h


def counting(x):
    h = x
    n = 0
    while weft.sum(h * h) < 50.0:
        h = h * 1.5 + weft.sin(h)
        n = n + 1
    return weft.exp(-h * h)


def branching(x, y):
    if weft.sum(x) > 0:
        z = weft.exp(x) * y
    else:
        z = weft.sin(x) + y * y
    return z * x


def writing(x, y):
    out = weft.zeros_like(x) + y
    for i in range(1, x.shape[0]):
        out[i] = weft.sin(out[i - 1]) * x[i]
    return out


def nested(pair, scale):
    return {"sum": pair["a"] * scale, "rest": [weft.exp(pair["b"]), weft.sum(pair["a"]) * 2.0]}


def views(x):
    y = weft.permute_dims(weft.reshape(weft.exp(x), (3, 4)), (1, 0))
    return weft.sin(y[1:]) * y[:-1] @ weft.ones((3, 2))


def pointwise(x):
    for _ in range(6):
        x = weft.sin(x) * weft.exp(-x * x)
    return x


def reducing(x, y):
    return weft.softmax(x @ y, axis=-1) * weft.logsumexp(x) + weft.linalg.inv(y @ y.T + weft.eye(4))[:3]


FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pointwise": (pointwise, (normal(5),)),
    "reducing": (reducing, (normal(3, 4), normal(4, 4))),
    "looping": (looping, (normal(4), normal(6, 4))),
    "counting": (counting, (np.abs(normal(4)) + 0.5,)),
    "branching, one side": (branching, (np.abs(normal(4)), normal(4))),
    "branching, the other": (branching, (-np.abs(normal(4)), normal(4))),
    "nested": (nested, ({"a": normal(3), "b": normal(2)}, 2.5)),
    "views": (views, (normal(12),)),
    "mlp": (Deep(4, 5).double(), (normal(7, 5),)),
    "marked mlp": (Deep(4, 5, marked=True).double(), (normal(7, 5),)),
    "attention": (Attending().double(), (normal(2, 3, 8),)),
    "convolution": (convolutional().eval(), (normal(2, 2, 10, 10),)),
    "float32": (Deep(3, 4), (normal(6, 4).astype(np.float32),)),
    "complex": (lambda z: weft.exp(z * z) * weft.conj(z), (normal(3) + 1j * normal(3),)),
    "integers": (lambda x, i: weft.sin(x)[i] * 2.0, (normal(5), np.array([0, 3, 3]))),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_halves_give_what_the_tape_gives(name: str, policy: str) -> None:
    function, args = FUNCTIONS[name]
    halves = check_alike(function, *args, policy=policy)
    if policy == "keep":
        assert all(is_creation(node) for node in halves._again) and halves.report.extra == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_budget_changes_no_value(name: str) -> None:
    function, args = FUNCTIONS[name]
    check_alike(function, *args, memory_budget=1)
    most = weft.partition(weft.joint_graph(function, *args)).report.peak
    check_alike(function, *args, memory_budget=max(most * 0.6, 1))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_told_is_what_is_kept(name: str, policy: str) -> None:
    function, args = FUNCTIONS[name]
    halves = weft.partition(weft.joint_graph(function, *args), policy)
    measured = halves.measure(*args)
    arrays = kept_bytes(halves, args)
    if any(each.estimated for each in halves.kept):
        assert arrays <= measured.kept  # a tape has links as well
    else:
        assert measured.kept == arrays
        # Numbers without dimensions are arrays of 8 bytes to one and none to the other.
        assert abs(measured.kept - halves.report.kept_bytes) <= 16 * len(halves.kept)


def test_writes_into_an_argument_come_after_what_the_backward_reads() -> None:
    def scaled(x, y):
        z = x * x * y
        x[...] = 0.0
        x[0] = z[0]
        return z

    for policy in POLICIES:
        joint = weft.joint_graph(scaled, weft.spec((3,)), weft.spec((3,)))
        halves = weft.partition(joint, policy)
        x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])
        value, pull = halves(x, y)
        np.testing.assert_array_equal(x, [2.0, 0.0, 0.0])
        np.testing.assert_array_equal(value, [2.0, 8.0, 45.0])
        by_x, by_y = pull(np.ones(3))
        np.testing.assert_array_equal(by_y, [1.0, 4.0, 9.0])
        np.testing.assert_array_equal(by_x, [4.0, 8.0, 30.0])


class Tracking(nn.Module):
    """Keeps an average of what it was given, and divides by it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.array([2.0, 3.0]))
        self.register_buffer("average", np.ones(2))

    def forward(self, x: Any) -> Any:
        result = x * self.weight / self.average
        self.average[...] = 0.5 * self.average + 0.5 * weft.mean(x, axis=0)
        return result


@pytest.mark.parametrize("policy", POLICIES)
def test_buffers_are_written_by_the_forward_and_read_as_they_were(policy: str) -> None:
    model = Tracking()
    x = normal(4, 2)
    halves = weft.partition(weft.joint_graph(model, x), policy)
    model.average[...] = [2.0, 4.0]
    _, pull = halves(x)
    np.testing.assert_allclose(np.asarray(model.average), [1.0, 2.0] + 0.5 * x.mean(axis=0))
    by_x, by_weight = pull(np.ones((4, 2)))
    np.testing.assert_allclose(np.asarray(by_x), np.ones((4, 1)) * [1.0, 0.75])
    np.testing.assert_allclose(np.asarray(by_weight), x.sum(axis=0) / [2.0, 4.0])


@pytest.mark.parametrize("how", [{"policy": policy} for policy in POLICIES] + [{"memory_budget": 1}])
def test_dropout_masks_are_the_ones_of_the_forward(how: dict[str, Any]) -> None:
    def dropping(x, w):
        h = weft.tanh(x @ w)
        h = checkpoint(lambda h: weft.dropout(weft.exp(h), 0.5, True) @ w, h)
        return weft.dropout(h, 0.3, True) * h

    check_alike(dropping, normal(6, 4), normal(4, 4), seed=5, **how)


class First(nn.Module):
    """The first of several results of a layer."""

    def __init__(self, layer: nn.Module, copies: int) -> None:
        super().__init__()
        self.layer, self.copies = layer, copies

    def forward(self, x: Any) -> Any:
        return self.layer(*[x] * self.copies)[0]


@pytest.mark.parametrize("how", [{"policy": policy} for policy in POLICIES] + [{"memory_budget": 1}])
@pytest.mark.parametrize("kind", ["lstm", "attention"])
def test_layers_that_drop_inside_and_give_several_results(kind: str, how: dict[str, Any]) -> None:
    layer, copies = (nn.LSTM(8, 4, num_layers=2, dropout=0.5, batch_first=True), 1)
    if kind == "attention":
        layer, copies = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True), 3
    check_alike(First(layer, copies).double(), normal(2, 5, 8), seed=3, **how)


@pytest.mark.parametrize("how", [{"policy": policy} for policy in POLICIES] + [{"memory_budget": 1}])
def test_draws_and_effects_run_once(how: dict[str, Any], capsys: Any) -> None:
    def noisy(x):
        y = weft.sin(x) * weft.rand(3, dtype=weft.float64)
        print("here")
        return weft.exp(y) * y

    halves = weft.partition(weft.joint_graph(noisy, weft.spec((3,))), **how)
    in_halves(halves, (normal(3),))
    assert capsys.readouterr().out == "here\n"
    drawn = [node for node in halves.backward.graph.nodes if node.op == "call_function" and node.is_impure()]
    assert drawn == []


def test_one_backward_for_each_forward() -> None:
    _, pull = weft.partition(weft.joint_graph(weft.sin, weft.spec(3)))(np.zeros(3))
    pull(np.ones(3))
    with pytest.raises(RuntimeError, match="has run already"):
        pull(np.ones(3))
    _, pull = weft.partition(weft.joint_graph(weft.sin, weft.spec(3)))(np.zeros(3))
    with pytest.raises(TypeError, match="another structure"):
        pull([np.ones(3)])


def test_mistakes_are_told() -> None:
    joint = weft.joint_graph(weft.sin, weft.spec(3))
    with pytest.raises(ValueError, match="policy is one of 'default', 'recompute', 'keep', 'checkpoint', got 'fast'"):
        weft.partition(joint, policy="fast")
    for wrong in ("lots", "12 parsecs", -1, 0, True, "-3MB", "1.2.3MB", ".", "", float("nan"), [1]):
        with pytest.raises(ValueError, match="memory_budget"):
            weft.partition(joint, memory_budget=wrong)
    for right in ("1.5 GiB", ".5MB", "2.kB", np.int64(5000), np.float32(1e6)):
        assert weft.partition(joint, memory_budget=right).report.met
    with pytest.raises(TypeError, match="takes arrays, got a JointGraph"):
        weft.sin(joint)
    np.testing.assert_array_equal(weft.partition(np.array([3, 1, 2]), 1), [1, 2, 3])


def test_arguments_and_gradients_that_do_not_fit_are_refused() -> None:
    halves = weft.partition(weft.joint_graph(lambda x: x * np.tanh(x), np.ones(2)))
    for wrong in (np.ones(3), np.ones((2, 1)), np.ones(2, np.float32), weft.ones(3)):
        with pytest.raises(weft.errors.ShapeError, match=r"x is .*the joint graph is one for float64\[2\]"):
            halves(wrong)
        with pytest.raises(weft.errors.ShapeError):
            halves.measure(wrong)
    for seed in (1.0, np.ones(1), np.ones((2, 2))):
        _, pull = halves(np.ones(2))
        with pytest.raises(weft.errors.ShapeError, match="for a result of shape"):
            pull(seed)
        assert pull(np.ones(2))[0].shape == (2,)  # a gradient that is refused uses nothing up
    _, pull = halves(np.ones(2))
    np.testing.assert_array_equal(pull(None)[0], np.zeros(2))
    halves = weft.partition(weft.joint_graph(lambda x: x * np.tanh(x), weft.spec(("n", 2))))
    assert halves(np.ones((5, 2)))[1](np.ones((5, 2)))[0].shape == (5, 2)


def test_what_is_used_up_is_let_go() -> None:
    """The arrays kept for a backward are gone while it runs, not only after it."""
    alive: list[int] = []

    @weft.wrap
    def watch(g):
        alive.append(sum(ref() is not None for ref in refs))
        return g

    halves = weft.partition(weft.joint_graph(Deep(4, 5).double(), weft.spec((7, 5))), "keep")
    graph = halves.backward.graph
    first = graph.output_node().args[0][0]
    with graph.inserting_before(graph.output_node()):
        graph.call_function(watch, (first,)).meta["must_run"] = True
    _, pull = halves(normal(7, 5))
    held = pull.__closure__
    kept = next(cell.cell_contents for cell in held if isinstance(cell.cell_contents, list))
    arrays = list(arrays_in(kept[len(halves.passed) :]))
    refs = [weakref.ref(array) for array in arrays]
    assert len(refs) > 3
    del arrays, kept, held
    pull(np.ones((7, 5)))
    assert alive == [0]
