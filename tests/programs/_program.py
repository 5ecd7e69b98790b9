"""The register of the corpus: what a program is, the decorator that enters one, and the list of all of them.

A program is an ordinary function over NumPy arrays. The decorator returns it unchanged, so what the tests capture is
what its author wrote:

    @program(arguments=lambda rng: (rng.standard_normal(8),), others=[lambda rng: (np.zeros(0),)], features=["overlap"])
    def shift(a):
        a[1:] = a[:-1]

Most features are seen in the source (`_seen.py`) or when it runs; `features` lists those only its author can know.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Maker = Callable[[np.random.Generator], tuple[Any, ...]]

_HERE = Path(__file__).parent
_PROGRAMS: dict[str, Program] = {}


@dataclass(frozen=True)
class Program:
    """One entry. `makers` make fresh arguments from a generator.

    `trace`: no traced value decides the path. `script`: nothing of an argument must be known before it runs (a
    recursion as deep as an array is long, a list that is unpacked, a string that picks a function must).
    """

    family: str
    function: Callable[..., Any]
    makers: tuple[Maker, ...]
    trace: bool
    script: bool
    declared: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.family}.{self.function.__name__}"

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names, from `_features.FEATURES`, of all that the program and its helpers contain."""
        from programs._compare import observed
        from programs._seen import seen

        return tuple(sorted(seen(self.function) | observed(self) | set(self.declared)))

    def arguments(self, which: int = 0, seed: int = 0) -> tuple[Any, ...]:
        """Fresh arguments from one of the makers; the same ones each time."""
        return self.makers[which](np.random.default_rng([which, seed]))


def program(
    arguments: Maker, others: Sequence[Maker], *, trace: bool = False, script: bool = True, features: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Enter a function into the corpus and return it unchanged."""

    def enter(function: Function) -> Function:
        family = function.__module__.rpartition(".")[2]
        entry = Program(family, function, (arguments, *others), trace, script, tuple(features))
        if entry.name in _PROGRAMS:
            raise ValueError(f"two programs are called {entry.name}")
        _PROGRAMS[entry.name] = entry
        return function

    return enter


def families() -> tuple[str, ...]:
    """The names of the files that hold programs."""
    return tuple(sorted(p.stem for p in _HERE.glob("[!_]*.py") if not p.stem.startswith(("test_", "conftest"))))


def programs() -> tuple[Program, ...]:
    """Every program of every family, by name."""
    for family in families():
        importlib.import_module(f"programs.{family}")
    return tuple(entry for _, entry in sorted(_PROGRAMS.items()))
