"""A text as numbers, one a character; how surprised a model is by it, and what a model writes itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import weft
from weft import data, nn

SONNETS = Path(__file__).parent / "texts" / "sonnets.txt"


class Text:
    """A text as numbers, one a character; its last tenth is held out."""

    def __init__(self, path: Path = SONNETS) -> None:
        text = path.read_text(encoding="utf-8")
        self.characters = sorted(set(text))
        numbers = self.encode(text)
        cut = len(numbers) * 9 // 10
        self.train, self.held_out = numbers[:cut], numbers[cut:]

    def encode(self, text: str) -> np.ndarray:
        return np.array([self.characters.index(character) for character in text])

    def decode(self, numbers: np.ndarray) -> str:
        return "".join(self.characters[number] for number in numbers)


def windows(numbers: np.ndarray, length: int) -> data.ArrayDataset:
    """Every stretch of `length` characters, with the character that follows each of them."""
    stretches = np.lib.stride_tricks.sliding_window_view(numbers, length + 1)
    return data.ArrayDataset(stretches[:, :-1], stretches[:, 1:])


def loss_of(model: nn.Module, given: np.ndarray, following: np.ndarray) -> weft.Tensor:
    """How surprised a model is by what follows, in nats a character."""
    return nn.functional.cross_entropy(model(given).flatten(0, 1), following.reshape(-1))


def loss_over(model: nn.Module, numbers: np.ndarray, length: int) -> float:
    """The loss over a whole text, cut into stretches side by side, without dropout."""
    beginnings = data.Subset(windows(numbers, length), range(0, len(numbers) - length, length))
    model.eval()
    with weft.no_grad():
        total = sum(loss_of(model, x, y).item() * len(x) for x, y in data.DataLoader(beginnings, 64))
    model.train()
    return total / len(beginnings)


def write(model: nn.Module, text: Text, prompt: str, count: int, length: int, temperature: float = 0.8) -> str:
    """Text that a model goes on with, one character after another; it sees the last `length` of them."""
    numbers = text.encode(prompt)
    model.eval()
    with weft.no_grad():
        for _ in range(count):
            scores = model(numbers[None, -length:])[0, -1] / temperature
            numbers = np.append(numbers, weft.random.categorical(scores.numpy()))
    model.train()
    return text.decode(numbers)
