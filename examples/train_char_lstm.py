"""Train an LSTM on Shakespeare's sonnets, one character after another, and let it write.

It learns the 22,000 characters of the training text to below 1.4 nats each. That is more than it learns about sonnets:
the loss over the last tenth, which it never sees, is shown beside it and stays higher.
"""

from __future__ import annotations

import sys

import numpy as np
from sonnets import Text, loss_of, loss_over, windows, write
from training import Goal, Run, parser

import weft
from weft import data, nn, optim

GOAL = Goal("training loss (nats a character)", 1.4, smaller=True)
LENGTH = 48


class Writer(nn.Module):
    """Scores of the next character, from a state that has seen the ones before."""

    def __init__(self, characters: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, 64)
        self.lstm = nn.LSTM(64, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, numbers: np.ndarray) -> weft.Tensor:
        outputs, _ = self.lstm(self.embedding(numbers))
        return self.head(outputs)


def main() -> int:
    options = parser(__doc__, steps=700).parse_args()
    weft.manual_seed(options.seed)

    text = Text()
    loader = data.DataLoader(windows(text.train, LENGTH), batch_size=32, shuffle=True, seed=options.seed)
    model = Writer(len(text.characters), width=192)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.steps, eta_min=2e-4)

    run = Run(
        options,
        model,
        optimizer,
        schedule,
        loader,
        measure=lambda: loss_over(model, text.held_out, LENGTH),
        measured="held-out loss",
    )
    for given, following in run.batches():
        loss = loss_of(model, given, following)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        run.record(loss)

    print(f"\n{write(model, text, prompt='Shall I compare', count=min(300, options.steps), length=LENGTH)}\n")
    return run.finish(GOAL, loss_over(model, text.train, LENGTH))


if __name__ == "__main__":
    sys.exit(main())
