"""Writes docs/pictures/ with the view extra: `.venv/bin/python docs/pictures.py`. A test keeps them in step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import weft

FOLDER = Path(__file__).with_name("pictures")


def energy(feedback: Any, signal: Any) -> Any:
    """The program of the README's first block."""
    out = signal.copy()
    for i in range(1, len(out)):
        out[i] += feedback * out[i - 1]
    return np.sum(out**2)


def pictures() -> dict[str, str]:
    """Each picture as SVG, by the name of its file."""
    compiled = weft.compile(energy)
    compiled(0.5, np.ones(4))
    return {"energy.svg": compiled.graph.to_svg().replace(str(Path(__file__).parent), "docs")}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
