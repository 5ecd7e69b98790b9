"""The training examples: losses fall, curves are drawn, and a run that was killed goes on to the very same numbers."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.image
import numpy as np
import pytest

import weft
from weft import data, nn, optim

EXAMPLES = Path(__file__).parents[2] / "examples"

# Steps of a short run: enough for the loss to fall, and for it to be killed well before its end.
STEPS = {"train_digits_mlp": 300, "train_digits_cnn": 60, "train_char_lstm": 16, "train_char_gpt": 24}


def test_every_training_example_is_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("train_*.py")} == {*STEPS, "train_all"}


@pytest.mark.parametrize("name", STEPS)
def test_a_killed_run_goes_on_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    options = ["--steps", str(STEPS[name]), "--checkpoint-every", str(STEPS[name] // 4)]
    killed = tmp_path / "killed"
    reached = _kill_after_its_first_checkpoint(name, killed, options)
    assert 0 < reached < STEPS[name]
    output = _run(name, killed, *options, "--resume")
    assert f"resumed at step {reached}" in output

    whole = tmp_path / "whole"
    _check_short_run(_run(name, whole, *options), whole, STEPS[name])
    expected, found = (nn.load_state(folder / "checkpoint.safetensors") for folder in (whole, killed))
    del expected["seconds"], found["seconds"]
    assert found["step"] == STEPS[name]
    assert _flat(found) == _flat(expected)
    assert _result(killed)["value"] == _result(whole)["value"]


@pytest.mark.parametrize("name", ["train_digits_mlp", "train_digits_cnn"])
def test_a_full_run_on_the_digits_reaches_its_goal(name: str, tmp_path: Path) -> None:
    output = _run(name, tmp_path / "run")
    result = _result(tmp_path / "run")
    assert result["reached"]
    assert result["goal"] == "test accuracy at least 0.97"
    assert result["value"] >= 0.97
    assert f"test accuracy {result['value']:.4f}" in output


def test_all_of_them_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "train_digits_cnn").touch()  # in the way of its folder
    command = [sys.executable, "-W", "error", str(EXAMPLES / "train_all.py"), str(tmp_path), "--steps", "2"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 1, done.stderr
    table = done.stdout.partition("example ")[2]
    assert re.search(r"^train_digits_cnn +failed, see above$", table, re.MULTILINE), done.stdout
    assert "FileExistsError" in done.stderr
    for name in STEPS.keys() - {"train_digits_cnn"}:
        assert re.search(rf"^{name} +[\d,]+ +2 +[\d.]+  [\d.]+; the goal is \w+", table, re.MULTILINE), done.stdout


# What they share


def test_a_full_run_that_misses_its_goal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    training = _training(monkeypatch)
    goal = training.Goal("accuracy", 0.9)
    run = _small_run(training, tmp_path, steps=6, full=6)
    _train(run)
    assert run.finish(goal, 0.95) == 0
    assert run.finish(goal, 0.85) == 1
    assert "missed: accuracy at least 0.9 was expected, got 0.8500" in capsys.readouterr().err
    short = _small_run(training, tmp_path, steps=3, full=6)
    _train(short)
    assert short.finish(goal, 0.85) == 0
    assert "a short run; the full one takes 6 steps" in capsys.readouterr().out
    assert training.Goal("loss", 1.5, smaller=True).reached(1.5)
    assert not training.Goal("loss", 1.5, smaller=True).reached(1.51)


def test_a_checkpoint_in_the_middle_of_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the second of three epochs of five batches, at a step after its last checkpoint."""
    training = _training(monkeypatch)
    whole = _small_run(training, tmp_path / "whole", steps=15)
    _train(whole)
    stopped = _small_run(training, tmp_path / "stopped", steps=15)
    _train(stopped, until=9)  # the last checkpoint is of step 8
    resumed = _small_run(training, tmp_path / "stopped", steps=15, resume=True)
    assert resumed.step == 8
    _train(resumed)
    assert resumed.losses == whole.losses
    assert resumed.measurements == whole.measurements
    assert _flat(resumed.model.state_dict()) == _flat(whole.model.state_dict())


def test_what_cannot_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = _training(monkeypatch)
    with pytest.raises(SystemExit, match=r"no checkpoint to resume from: .*checkpoint\.safetensors does not exist"):
        _small_run(training, tmp_path, steps=4, resume=True)
    _train(_small_run(training, tmp_path, steps=4))
    with pytest.raises(SystemExit, match=r"is of a run with other settings: .*'steps': 4"):
        _small_run(training, tmp_path, steps=5, resume=True)


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _small_run(_training(monkeypatch), tmp_path, steps=4)
    with pytest.raises(SystemExit, match=r"the loss is nan at step 1"):
        run.record(weft.tensor(float("nan")))


def test_what_is_written_looks_like_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows which character follows which, and nothing else, is as surprised as counting says."""
    monkeypatch.syspath_prepend(EXAMPLES)
    sonnets = importlib.import_module("sonnets")
    text = sonnets.Text()
    assert text.decode(text.encode("Shall I")) == "Shall I"
    assert (text.train.size, text.held_out.size) == (21998, 2445)
    pairs = np.ones((len(text.characters),) * 2)
    np.add.at(pairs, (text.train[:-1], text.train[1:]), 1)
    scores = np.log(pairs / pairs.sum(1, keepdims=True))
    model = nn.Embedding.from_pretrained(scores)
    last = (text.train.size - 1) // 16 * 16
    expected = -scores[text.train[:last], text.train[1 : last + 1]].mean()
    assert sonnets.loss_over(model, text.train, 16) == pytest.approx(expected, rel=1e-12)
    # At a temperature near zero the likeliest character follows, and no other.
    likely = [text.encode("S")[0]]
    for _ in range(20):
        likely.append(scores[likely[-1]].argmax())
    assert sonnets.write(model, text, "S", count=20, length=4, temperature=1e-6) == text.decode(np.array(likely))


def test_the_test_images_are_never_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    digits = importlib.import_module("digits").digits
    train, test = digits()
    part, validation = digits(validate=True)
    assert (len(train), len(test), len(part), len(validation)) == (1442, 355, 1085, 357)
    images = {label: {image.tobytes() for image, _ in part} for label, part in (("train", train), ("test", test))}
    assert not images["train"] & images["test"]
    assert {image.tobytes() for image, _ in part + validation} == images["train"]
    counts = np.bincount(test.arrays[1])
    assert counts.max() - counts.min() <= 2, "as many of each digit"


# Helpers


def _check_short_run(output: str, folder: Path, steps: int) -> None:
    losses = nn.load_state(folder / "checkpoint.safetensors")["losses"]
    assert losses.shape == (steps,)
    assert losses[-steps // 4 :].mean() < 0.9 * losses[: steps // 4].mean()
    assert re.search(rf"step +{steps}  loss [\d.]+", output)
    assert "a short run" in output
    assert "\033" not in output, "colour in a pipe"
    picture = matplotlib.image.imread(folder / "loss.png")
    assert picture.shape[:2] == (480, 840)
    # The curve goes from the upper left to the lower right: blue points are higher in the first tenth than in the last.
    red, _, blue = np.moveaxis(picture[..., :3], -1, 0)
    heights = [np.nonzero(part)[0].mean() for part in np.array_split(blue - red > 0.4, 10, axis=1) if part.any()]
    assert heights[0] < heights[-1]


def _kill_after_its_first_checkpoint(name: str, folder: Path, options: list[str]) -> int:
    """Start a run, kill it once a checkpoint is there, and say of which step that is."""
    checkpoint = folder / "checkpoint.safetensors"
    with subprocess.Popen(_command(name, folder, *options), stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 60
            while not checkpoint.exists():
                assert process.poll() is None, "it ended without a checkpoint"
                assert time.monotonic() < deadline
                time.sleep(0.001)
        finally:
            process.kill()
    assert process.returncode != 0, "it ended before it was killed"
    assert not (folder / "result.json").exists()
    return int(nn.load_state(checkpoint)["step"])


def _run(name: str, folder: Path, *options: str) -> str:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        _command(name, folder, *options), env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _command(name: str, folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), "--out", str(folder), *options]


def _result(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def _flat(state: Any) -> Any:
    """A structure in which arrays and tensors stand as their dtype, shape and bytes, to compare bit for bit."""
    if isinstance(state, dict):
        return {key: _flat(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [_flat(value) for value in state]
    if isinstance(state, weft.Tensor | np.ndarray | np.generic):
        array = np.asarray(state.numpy() if isinstance(state, weft.Tensor) else state)
        return str(array.dtype), array.shape, array.tobytes()
    return repr(state)


def _training(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("training")


def _small_run(training: ModuleType, folder: Path, *, steps: int, full: int = 100, resume: bool = False) -> Any:
    options = argparse.Namespace(
        name="small", steps=steps, seed=0, out=folder, resume=resume, checkpoint_every=4, report_every=3, threads=1
    )
    options.full = full
    weft.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    x = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    loader = data.DataLoader(data.ArrayDataset(x, x[:, :1] * x[:, 1:2]), 4, shuffle=True, seed=0)
    weight = model[0].weight
    return training.Run(options, model, optimizer, schedule, loader, lambda: float(weight.sum().item()), "sum")


def _train(run: Any, until: int | None = None) -> None:
    for x, y in run.batches():
        loss = nn.functional.mse_loss(run.model(x), y)
        run.parts["optimizer"].zero_grad()
        loss.backward()
        run.parts["optimizer"].step()
        run.parts["schedule"].step()
        run.record(loss)
        if run.step == until:
            return
