"""Train a small GPT on Shakespeare's sonnets, one character after another, and let it write.

It learns the 22,000 characters of the training text to below 1.6 nats each. That is more than it learns about sonnets:
the loss over the last tenth, which it never sees, is shown beside it and stays higher.
"""

from __future__ import annotations

import sys

import numpy as np
from sonnets import Text, loss_of, loss_over, windows, write
from training import Goal, Run, parser

import weft
from weft import data, nn, optim
from weft.optim import lr_scheduler

GOAL = Goal("training loss (nats a character)", 1.6, smaller=True)
LENGTH = 48


class GPT(nn.Module):
    """Scores of the next character at each position, from attention to the positions up to it."""

    def __init__(self, characters: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, width)
        self.positions = nn.Embedding(LENGTH, width)
        block = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, layers, norm=nn.LayerNorm(width))
        self.head = nn.Linear(width, characters, bias=False)
        # Each position starts near the mean of its past: small first values leave room for that.
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, numbers: np.ndarray) -> weft.Tensor:
        x = self.characters(numbers) + self.positions(np.arange(numbers.shape[1]))
        return self.head(self.blocks(x, is_causal=True))


def main() -> int:
    options = parser(__doc__, steps=1200).parse_args()
    weft.manual_seed(options.seed)

    text = Text()
    loader = data.DataLoader(windows(text.train, LENGTH), batch_size=16, shuffle=True, seed=options.seed)
    model = GPT(len(text.characters), width=96, heads=4, layers=2)
    optimizer = optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.99), weight_decay=0.1)
    warm_up = max(1, options.steps // 20)
    schedule = lr_scheduler.SequentialLR(
        optimizer,
        [
            lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=warm_up),
            lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(1, options.steps - warm_up), eta_min=2e-4),
        ],
        milestones=[warm_up],
    )

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
