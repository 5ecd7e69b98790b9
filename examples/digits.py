"""Handwritten digits that ship with scikit-learn, and how many of them a model names right."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import weft
from weft import data, nn


def digits(validate: bool = False) -> tuple[data.ArrayDataset, data.ArrayDataset]:
    """What to train on and what to judge by: 8 by 8 images from 0 to 1, and their digits.

    Every fifth image of each digit is for the last test. `validate` is for choosing settings: it leaves those alone and
    holds back a quarter of the others.
    """
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    fifth = np.zeros(len(labels), int)
    for digit in range(10):
        fifth[labels == digit] = np.arange(np.sum(labels == digit)) % 5
    train, judge = (fifth < 3, fifth == 3) if validate else (fifth < 4, fifth == 4)
    return data.ArrayDataset(images[train], labels[train]), data.ArrayDataset(images[judge], labels[judge])


def accuracy(model: nn.Module, dataset: data.ArrayDataset) -> float:
    """The part of a dataset that a model names right."""
    images, labels = dataset[:]
    model.eval()
    with weft.no_grad():
        named = model(images).argmax(1).numpy()
    model.train()
    return float(np.mean(named == labels))
