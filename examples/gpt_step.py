"""One step of training a GPT as one graph: forward, backward, clipping and the optimiser's update.

The step is written as for eager training. Compiled, it becomes one graph that changes the parameters, the optimiser's
state and the gradients; a schedule that sets the learning rate between the calls needs no second capture. The model is
that of train_char_gpt.py.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from sonnets import Text, loss_of, windows
from train_char_gpt import GPT, LENGTH

import weft
from weft import data, nn, optim
from weft.optim import lr_scheduler

STEPS = 21


class Training:
    """A GPT, its optimiser, and what a step of training is."""

    def __init__(self, characters: int) -> None:
        weft.manual_seed(0)
        self.model = GPT(characters, width=32, heads=4, layers=2).double()  # what differs is rounding
        self.optimizer = optim.AdamW(self.model.parameters(), lr=1e-2, weight_decay=0.1)
        self.schedule = lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=STEPS, eta_min=1e-3)

    def step(self, given: np.ndarray, following: np.ndarray) -> weft.Tensor:
        """One step, as it is written in eager training."""
        loss = loss_of(self.model, given, following)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=1.0)
        self.optimizer.step()
        return loss

    def run(self, step: Callable[..., weft.Tensor], batches: list[tuple[np.ndarray, ...]]) -> tuple[list[float], float]:
        """Losses, and the seconds a step takes after the first."""
        losses = []
        for number, batch in enumerate(batches):
            if number == 1:
                started = time.perf_counter()
            losses.append(step(*batch).item())
            self.schedule.step()
        return losses, (time.perf_counter() - started) / (len(batches) - 1)


def main() -> None:
    text = Text()
    loader = data.DataLoader(windows(text.train, LENGTH), batch_size=4, shuffle=True, seed=0)
    batches = [batch for batch, _ in zip(loader, range(STEPS), strict=False)]

    eager = Training(len(text.characters))
    expected, eager_seconds = eager.run(eager.step, batches)
    training = Training(len(text.characters))
    step = weft.compile(training.step)
    losses, seconds = training.run(step, batches)

    print("step  eager       compiled")
    for number in range(0, STEPS, 5):
        print(f"{number:4}  {expected[number]:.8f}  {losses[number]:.8f}")
    print(f"The learning rate went from {1e-2:.3f} to {training.schedule.get_last_lr()[0]:.3f}: {step.cache_info()}")

    parameters = zip(eager.model.parameters(), training.model.parameters(), strict=True)
    furthest = max(np.abs(a.numpy() - b.numpy()).max() for a, b in parameters)
    print(f"\nParameters equal to 1e-10 after {STEPS} steps: {furthest < 1e-10}")
    print(f"A step takes {eager_seconds * 1e3:.0f} ms eager, {seconds * 1e3:.0f} ms as one graph")

    calls = Counter(getattr(node.target, "__name__", "") for node in step.graph.nodes if node.op == "call_function")
    print(f"\nThe graph has {len(step.graph.nodes)} nodes; most often:")
    for name, count in calls.most_common(5):
        print(f"  {name:<12} {count}")
    print("It begins and ends with")
    code = step.code[step.code.index("def ") :].strip().splitlines()
    print("\n".join(f"  {line}" for line in [*code[:5], "    …", *code[-4:]]))


if __name__ == "__main__":
    main()
