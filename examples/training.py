"""What the training examples share: options, a run that goes on after it was killed, a picture of its losses.

A script writes its own loop; `Run` hands it batches, keeps the losses, reports, and saves a checkpoint now and then:

    run = Run(options, model, optimizer, schedule, loader)
    for images, labels in run.batches():
        loss = ...                # forward, backward, step
        run.record(loss)
    sys.exit(run.finish(...))
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import weft
from weft import data, nn

CHECKPOINT, CURVE, RESULT = "checkpoint.safetensors", "loss.png", "result.json"


@dataclass
class Goal:
    """A figure that a full run has to reach: at least `bound`, or at most where `smaller` is better."""

    name: str
    bound: float
    smaller: bool = False

    def reached(self, value: float) -> bool:
        return value <= self.bound if self.smaller else value >= self.bound

    def __str__(self) -> str:
        return f"{self.name} {'at most' if self.smaller else 'at least'} {self.bound}"


def parser(description: str, steps: int) -> argparse.ArgumentParser:
    """The options all examples have; `steps` is what a full run takes."""
    name = Path(sys.argv[0]).stem
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("--steps", type=_positive, default=steps, help="steps of the optimiser (%(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of first values, order and dropout (%(default)s)")
    made.add_argument("--out", type=Path, default=Path("build/training", name), metavar="FOLDER", help="(%(default)s)")
    made.add_argument("--resume", action="store_true", help="go on from the checkpoint in FOLDER")
    made.add_argument("--checkpoint-every", type=_positive, default=100, metavar="STEPS", help="(%(default)s)")
    made.add_argument("--report-every", type=_positive, default=-(-steps // 12), metavar="STEPS", help="(%(default)s)")
    # The matrices are small: a second thread gains little, and waits where others use the machine.
    made.add_argument("--threads", type=_positive, default=1, help="to compute with (%(default)s)")
    made.set_defaults(name=name, full=steps)
    return made


class Run:
    """A training run: where it stands, its losses, and the parts whose state a checkpoint holds.

    `measure`, if given, computes a figure called `measured` at each report.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        model: nn.Module,
        optimizer: Any,
        schedule: Any,
        loader: data.DataLoader,
        measure: Callable[[], float] | None = None,
        measured: str = "",
    ) -> None:
        self.options = options
        self.model = model
        self.loader = loader
        self.parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": loader}
        self.measure = measure
        self.measured = measured
        self.step = 0
        self.losses: list[float] = []
        self.measurements: list[tuple[int, float]] = []
        self.seconds = 0.0
        # What makes one run another: a checkpoint is good for a run with the same settings only.
        own = ("out", "resume", "checkpoint_every", "threads")
        self.settings = {key: value for key, value in vars(options).items() if key not in own}
        self.checkpoint = options.out / CHECKPOINT
        options.out.mkdir(parents=True, exist_ok=True)
        threadpool_limits(options.threads, "blas")
        weft.set_num_threads(options.threads)
        print(f"{options.name}: {model.num_parameters():,} parameters, {options.steps} steps, seed {options.seed}")
        if options.resume:
            self.load()

    # Steps

    def batches(self) -> Iterator[Any]:
        """A batch for each step that is left, from as many epochs as it takes."""
        self._started = time.perf_counter() - self.seconds
        left = self.options.steps - self.step
        yield from data.progress(self._batches(), left, self.options.name)

    def _batches(self) -> Iterator[Any]:
        while self.step < self.options.steps:
            for batch in self.loader:
                yield batch
                self._after_step()
                if self.step == self.options.steps:
                    return

    def record(self, loss: weft.Tensor) -> None:
        """Note the loss of a step that is done."""
        self.step += 1
        self.losses.append(loss.item())
        if not math.isfinite(self.losses[-1]):
            sys.exit(f"{self.options.name}: the loss is {self.losses[-1]} at step {self.step}: try a smaller rate")

    def _after_step(self) -> None:
        self.seconds = time.perf_counter() - self._started
        last = self.step == self.options.steps
        if last or self.step % self.options.report_every == 0:
            self._report()
        if last or self.step % self.options.checkpoint_every == 0:
            self.save()

    def _report(self) -> None:
        recent = float(np.mean(self.losses[-self.options.report_every :]))
        line = f"step {self.step:5d}  loss {recent:.4f}"
        if self.measure is not None:
            self.measurements.append((self.step, self.measure()))
            line += f"  {self.measured} {self.measurements[-1][1]:.4f}"
        if sys.stderr.isatty():
            print("\r\033[2K", end="", file=sys.stderr, flush=True)  # the progress bar makes room
        print(f"{line}  {self.seconds:.1f} s", flush=True)

    # Checkpoints

    def save(self) -> None:
        """Write everything the rest of the run depends on to one file, which appears whole or not at all."""
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state |= {"settings": self.settings, "random": weft.random.get_state()}
        state |= {"step": self.step, "losses": np.array(self.losses), "measurements": self.measurements}
        state |= {"seconds": self.seconds}
        nn.save_state(self.checkpoint, state)

    def load(self) -> None:
        """Go on where the checkpoint was written."""
        if not self.checkpoint.exists():
            sys.exit(f"{self.options.name}: no checkpoint to resume from: {self.checkpoint} does not exist")
        state = nn.load_state(self.checkpoint)
        if state["settings"] != self.settings:
            sys.exit(f"{self.options.name}: {self.checkpoint} is of a run with other settings: {state['settings']}")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        weft.random.set_state(state["random"])
        self.step, self.seconds = state["step"], state["seconds"]
        self.losses, self.measurements = state["losses"].tolist(), state["measurements"]
        print(f"resumed at step {self.step}")

    # The end

    def finish(self, goal: Goal, value: float) -> int:
        """Draw the losses, say what was reached, and return the exit status: 1 where a full run missed its goal."""
        full = self.options.steps >= self.options.full
        reached = goal.reached(value)
        curve = self.options.out / CURVE
        draw(self, goal, value, curve)
        result = {"name": self.options.name, "goal": str(goal), "value": value, "reached": reached}
        result |= {"steps": self.step, "seconds": self.seconds, "parameters": self.model.num_parameters()}
        (self.options.out / RESULT).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        print(f"{goal.name} {value:.4f} after {self.step} steps and {self.seconds:.1f} s; see {curve}")
        if not full:
            print(f"a short run; the full one takes {self.options.full} steps to {goal}")
        elif not reached:
            print(f"missed: {goal} was expected, got {value:.4f}", file=sys.stderr)
        return int(full and not reached)


def draw(run: Run, goal: Goal, value: float, path: Path) -> None:
    """The loss of each step, the mean around it, and what was measured on the way, as a PNG."""
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss", yscale="linear" if goal.smaller else "log")
    steps, losses = np.arange(1, run.step + 1), np.array(run.losses)
    axes.plot(steps, losses, color="#9ecae1", linewidth=0.7, label="each step")
    axes.plot(steps, _smooth(losses, len(losses) // 40), color="#08519c", linewidth=1.8, label="mean around it")
    if goal.smaller:
        axes.axhline(goal.bound, color="#31a354", linewidth=1, linestyle="--", label=f"goal {goal.bound}")
        if run.measurements:
            axes.plot(*zip(*run.measurements, strict=True), "o-", color="#d95f0e", markersize=4, label=run.measured)
    axes.set_title(run.options.name.removeprefix("train_").replace("_", " "), loc="left", fontweight="bold")
    axes.set_title(f"{goal.name} {value:.4f}", loc="right", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, format="png")


def _smooth(values: np.ndarray, width: int) -> np.ndarray:
    """The mean of each value and those around it: `width` on either side, fewer near the ends."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    middle = np.arange(len(values))
    reach = np.minimum(width, np.minimum(middle, len(values) - 1 - middle))
    return (sums[middle + reach + 1] - sums[middle - reach]) / (2 * reach + 1)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"at least 1 is expected, got {number}")
    return number
