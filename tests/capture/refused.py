"""The register of small programs that cannot be captured: each with its error, and with what to write instead.

`@refused(...)` enters a program, `@instead` the one that does the same and is captured. Lines in messages count from
the program's `def`. The programs stand in refused_flow.py and refused_things.py.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft
from weft.errors import TraceError

READINGS = np.array([3.0, -1.0, 2.0])


@dataclass
class Refusal:
    """One program: what it is about, how it is captured, and the error: reason, help, and the text it points at."""

    group: str
    title: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    front_end: str
    message: str
    help: str | None
    at: str
    instead: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    def capture(self) -> TraceError:
        """The error that capturing the program raises."""
        try:
            if self.front_end == "compile":
                weft.compile(self.function)(*fresh(self.arguments))
            elif self.front_end == "trace":
                weft.trace(self.function, *fresh(self.arguments))
            else:
                weft.script(self.function)
        except TraceError as error:
            return error
        raise AssertionError(f"{self.name} was captured")

    def relative(self, text: str) -> str:
        """A message whose lines count from the program's `def`."""
        first = self.function.__code__.co_firstlineno
        while not _line(self.function, first).startswith("def "):
            first += 1
        return re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) - first + 1}", text)


REFUSED: list[Refusal] = []


def fresh(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of their own for each call."""
    return tuple(value.copy() if isinstance(value, (np.ndarray, list, dict)) else value for value in arguments)


def _line(function: Callable[..., Any], number: int) -> str:
    return linecache.getline(function.__code__.co_filename, number)


def refused(
    group: str,
    title: str,
    message: str,
    *arguments: Any,
    at: str,
    help: str | None = None,
    front_end: str = "compile",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a program that is refused."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        REFUSED.append(Refusal(group, title, function, arguments or (READINGS,), front_end, message, help, at))
        return function

    return enter


def instead(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter what to write in place of the latest program."""
    REFUSED[-1].instead = function
    return function
