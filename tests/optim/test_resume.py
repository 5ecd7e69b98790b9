"""Training that is saved half-way and taken up again gives the numbers of training that never stopped, bit for bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn, optim
from weft.optim import lr_scheduler as lrs

STEPS = 6

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
    "Adagrad": lambda p: optim.Adagrad(p, lr_decay=0.1),
    "Lion": lambda p: optim.Lion(p, lr=0.01),
    "LBFGS": lambda p: optim.LBFGS(p, max_iter=3, history_size=2, line_search_fn="strong_wolfe"),
}
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "cosine": lambda o: lrs.CosineAnnealingLR(o, 20),
    "milestones": lambda o: lrs.MultiStepLR(o, [2, 5, 8]),
    "warm-up": lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.1, total_iters=4), lrs.ExponentialLR(o, 0.9)], [4]),
    "plateau": lambda o: lrs.ReduceLROnPlateau(o, patience=0),
}


class Run:
    """A small training run with random batches and dropout, in float32."""

    def __init__(self, optimizer: str, schedule: str) -> None:
        weft.random.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 2))
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.schedule = SCHEDULES[schedule](self.optimizer)
        self.losses: list[float] = []

    def train(self, steps: int) -> None:
        for _ in range(steps):
            x = weft.random.generator().standard_normal((16, 5)).astype(np.float32)

            def closure(x: Any = x) -> Any:
                self.optimizer.zero_grad()
                loss = ((self.model(weft.tensor(x)) - x[:, :2]) ** 2).mean()
                loss.backward()
                return loss

            loss = self.optimizer.step(closure).item()
            self.losses.append(loss)
            self.schedule.step(*([loss] if isinstance(self.schedule, lrs.ReduceLROnPlateau) else []))

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": weft.random.get_state(),
            "losses": self.losses,
        }

    def take_up(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        weft.random.set_state(state["random"])
        self.losses = state["losses"]


def same(a: Any, b: Any) -> bool:
    """Whether two structures are equal to the last bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (weft.Tensor, np.ndarray)):
        one, other = np.asarray(a), np.asarray(b)
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(a == b)


@pytest.mark.parametrize("how", ["file", "pickle"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_resumed_equals_uninterrupted(optimizer: str, schedule: str, how: str, tmp_path: Path) -> None:
    with weft.random.isolated(0):
        whole = Run(optimizer, schedule)
        whole.train(2 * STEPS)
        expected = pickle.loads(pickle.dumps(whole.state()))
        half = Run(optimizer, schedule)
        half.train(STEPS)
        if how == "file":
            nn.save_state(tmp_path / "run.safetensors", half.state())
        else:
            (tmp_path / "run.pickle").write_bytes(pickle.dumps(half.state()))
    with weft.random.isolated(99):
        resumed = Run(optimizer, schedule)
        resumed.train(2)  # whatever was there before must not matter
        if how == "file":
            resumed.take_up(nn.load_state(tmp_path / "run.safetensors"))
        else:
            resumed.take_up(pickle.loads((tmp_path / "run.pickle").read_bytes()))
        resumed.train(STEPS)
        assert same(resumed.state(), expected)
    assert len(set(expected["losses"])) == 2 * STEPS


def test_in_another_process(tmp_path: Path) -> None:
    """Nothing of the first process is needed but the file."""
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("resume", {str(Path(__file__))!r})
resume = importlib.util.module_from_spec(spec); spec.loader.exec_module(resume)
run = resume.Run("AdamW", "cosine")
if sys.argv[1] != "first": run.take_up(resume.nn.load_state("half.safetensors"))
run.train(int(sys.argv[2]))
resume.nn.save_state(sys.argv[3], run.state())
"""
    for arguments in (("first", "4", "half.safetensors"), ("second", "4", "resumed"), ("first", "8", "whole")):
        subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
