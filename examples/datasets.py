"""The data of the training examples: scikit-learn's handwritten digits, and a text that stands beside the scripts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import weft
from weft import data, nn

SONNETS = Path(__file__).parent / "texts" / "sonnets.txt"


def digits(validate: bool = False) -> tuple[data.ArrayDataset, data.ArrayDataset]:
    """What to train on and what to judge by: 8 by 8 images from 0 to 1, and their digits.

    Every fifth of the 1797 images is for the last test. To choose settings, `validate` leaves those alone and holds back
    a quarter of the others instead.
    """
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    number = np.arange(len(images))
    kept = number % 5 != 4
    train, judge = (kept & (number % 5 != 3), number % 5 == 3) if validate else (kept, ~kept)
    return data.ArrayDataset(images[train], labels[train]), data.ArrayDataset(images[judge], labels[judge])


def accuracy(model: nn.Module, dataset: data.ArrayDataset) -> float:
    """The part of a dataset that a model names right."""
    images, labels = dataset[:]
    model.eval()
    with weft.no_grad():
        named = model(images).argmax(1).numpy()
    model.train()
    return float(np.mean(named == labels))


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
        losses = [(loss_of(model, x, y).item(), len(x)) for x, y in data.DataLoader(beginnings, 64)]
    model.train()
    return float(np.average(*zip(*losses, strict=True)))


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
