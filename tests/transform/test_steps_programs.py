"""Steps among the rest of a program: other sizes, checks, casts, teachers, a language model."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from steps import compare, mlp, regression, same, stepping, usual

import weft
import weft.nn.functional as F
from weft import nn, optim
from weft.capture import _step_reuse


@pytest.fixture(autouse=True)
def _memory_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays as small as those here would not be worth it."""
    monkeypatch.setattr(_step_reuse, "_WORTH", 0)


def test_batches_of_other_sizes() -> None:
    def batches(k: int) -> Any:
        return tuple(weft.tensor(t.numpy()[: 8 - k % 3]) for t in regression(k))

    def model() -> Any:
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).to(np.float64)

    compare(stepping(usual, model=model), batches)


def test_a_number_of_parts_that_is_given() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any, parts: int) -> Any:
        opt.zero_grad()
        for _ in range(parts):
            loss = F.mse_loss(net(x), y) / parts
            loss.backward()
        opt.step()
        return loss

    compare(stepping(body), lambda k: (*regression(k), 3))


def test_checks_and_what_they_leave() -> None:
    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss = usual(net, opt, x, y)
        assert loss.item() < 1e3, "diverged"
        return loss

    step = compare(stepping(body))
    assert ".numpy()" in step.code  # the graph runs on arrays
    net, opt, fresh = stepping(body)()
    compiled = weft.compile(fresh)
    x, y = regression(0)
    compiled(x, y)
    before = copy.deepcopy((net.state_dict(), opt.state_dict()["state"]))
    with pytest.raises(AssertionError, match="diverged"):
        compiled(weft.tensor(x.numpy() * 1e6), weft.tensor(y.numpy() * 1e6))
    same(before, (net.state_dict(), opt.state_dict()["state"]), "after a step that failed: ", True)


def test_parameters_that_are_cast() -> None:
    def between(run: Any, k: int) -> None:
        if k == 4:
            run.model.float()

    batches = lambda k: regression(k, np.float64 if k < 5 else np.float32)  # noqa: E731  # one line says it
    compare(stepping(usual), batches, captures=2, between=between)


def test_a_compiled_model_in_a_compiled_step() -> None:
    def make() -> Any:
        net = mlp()
        opt, compiled = optim.Adam(net.parameters()), weft.compile(net)
        return net, opt, lambda x, y: usual(compiled, opt, x, y)

    compare(make)


def test_read_only_parameters() -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            values = np.ones(3)
            values.flags.writeable = False
            self.a = nn.Parameter(1.0)
            self.a.data = values

        def forward(self, x: Any) -> Any:
            return x[:, :3] * self.a

    def batches(k: int) -> Any:
        x, _ = regression(k)
        return x, x[:, 3:]

    compare(stepping(usual, model=Frozen), batches)


def test_the_mode_set_inside_the_step() -> None:
    def model() -> Any:
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2)).to(np.float64)

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        net.train()
        loss = usual(net, opt, x, y)
        net[2].eval()
        return loss, net(x).detach()

    def between(run: Any, k: int) -> None:
        assert run.model.training
        assert not run.model[2].training
        run.model.eval()

    compare(stepping(body, model=model), between=between)


def test_a_teacher() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pupil, self.teacher = mlp(), mlp()

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        with weft.no_grad():
            wanted = net.teacher(x)
        return usual(net.pupil, opt, x, wanted)

    compare(stepping(body, model=Both))


def test_a_language_model() -> None:
    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(11, 8)
            self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.words.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.block(self.words(x)))

    def body(net: Any, opt: Any, x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.cross_entropy(net(x).reshape((-1, 11)), y.reshape((-1,)))
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss

    def batches(k: int) -> Any:
        text = np.random.default_rng(k).integers(0, 11, size=(3, 6))
        return weft.tensor(text[:, :-1]), weft.tensor(text[:, 1:])

    # Not the same to the last bit: attention adds up its gradients in another order.
    compare(stepping(body, optim.SGD, lambda: Language().to(np.float64), lr=0.1), batches, exact=False)
