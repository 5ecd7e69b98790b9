"""Timing and the table: the same way of measuring for everyone who is measured."""

from __future__ import annotations

import gc
import importlib
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Row:
    """One line of the report."""

    what: str
    weft: str
    peer: str = ""
    ratio: str = ""
    target: str = ""
    met: bool | None = None


def seconds(function: Callable[[], Any], repeat: int = 5, clock: Callable[[], float] = time.thread_time) -> float:
    """The best of several runs. The collector is on, as it is for users; the result is dropped outside the clock.

    The clock counts the processor time of this thread, which does all the work, whatever else the machine does.
    """
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        start = clock()
        result = function()
        best = min(best, clock() - start)
        del result
    return best


def side_by_side(
    functions: dict[str, Callable[[], Any]],
    rounds: int = 7,
    calls: int = 1,
    clock: Callable[[], float] = time.thread_time,
    rest: float = 0.0,
) -> dict[str, float]:
    """The best time of a call of each, taken in turns, so that a busy moment of the machine meets all of them alike.

    Where one call takes a few milliseconds, a round makes several. What computes in several threads needs the wall
    clock, and a rest before each turn: threads go on spinning for a while after their work, and would slow the next.
    """
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            time.sleep(rest)
            taken = seconds(lambda f=function: [f() for _ in range(calls)], repeat=1, clock=clock)
            best[name] = min(best[name], taken / calls)
    return best


def allocated(function: Callable[[], Any]) -> int:
    """Bytes that the result of a call keeps alive."""
    gc.collect()
    tracemalloc.start()
    try:
        result = function()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return kept


def peak(function: Callable[[], Any]) -> int:
    """The most bytes that a call has allocated at once."""
    gc.collect()
    tracemalloc.start()
    try:
        result = function()
        _, most = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return most


def section(name: str) -> list[Row]:
    """The rows of a section of the report, named as `module.function`."""
    module, function = name.split(".")
    found: list[Row] = getattr(importlib.import_module(f"bench.{module}"), function)()
    return found


def show(title: str, rows: list[Row]) -> None:
    """Print rows as a table with a verdict where there is a target."""
    cells = [(r.what, r.weft, r.peer, r.ratio, r.target, {True: "met", False: "MISSED", None: ""}[r.met]) for r in rows]
    head = ("", "weft", "peer", "ratio", "target", "verdict")
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, tuple("-" * w for w in widths), *cells]:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
