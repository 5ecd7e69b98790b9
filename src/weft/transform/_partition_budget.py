"""Meeting a budget: the forward is dropped in runs, each computed again from what crosses into it.

A run is a stretch of the forward of which nothing is kept. When the backward gets there, the run is computed again as a
whole, so at that time it has what was kept of all before, and what the run computes. Runs are therefore taken from the
front, where little was kept yet, each as long as the budget allows, and no more of them than it takes. They begin where
little crosses. Every plan that is considered is judged by the memory that both halves really have at once.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weft.graph import Node
from weft.transform._partition_choice import Choice, Plan

_UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_STEPS = 5  # of each search by halves
_COARSE, _FINE = 10, 5  # lengths of runs that are tried
_MANY = 2000  # nodes, of which fewer plans are tried


def budget_bytes(budget: object) -> float:
    """A budget in bytes: a number, or a text such as "200MB" or "1.5 GiB".

    >>> budget_bytes("200MB"), budget_bytes("1 KiB"), budget_bytes(5000)
    (200000000.0, 1024.0, 5000.0)
    """
    if isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool):
        amount = float(budget)
    else:
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)\s*", budget) if isinstance(budget, str) else None
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(f"memory_budget is a number of bytes or a text such as '200MB', got {budget!r}")
        amount = float(match[1]) * _UNITS[match[2].lower()]
    if not amount > 0:
        raise ValueError(f"memory_budget must be more than nothing, got {budget!r}")
    return amount


@dataclass
class _Stretch:
    """The forward in order: what is kept of it by default, and what crosses each place."""

    choice: Choice
    kept: list[Node]
    anywhere: bool = False  # whether runs may begin before pointwise work, too

    def __post_init__(self) -> None:
        self.nodes = self.choice.early
        self.at = {node: number for number, node in enumerate(self.nodes)}
        storage, free = self.choice.storage, self.choice.free
        forward = self.choice.forward_set
        weights = [0.0] * (len(self.nodes) + 1)
        seen: set[Node] = set()
        for node in self.kept:
            base = storage.base(node)
            if base not in seen and base not in free:
                seen.add(base)
                weights[self.at.get(base, 0)] += storage.bytes(base)
        self.before = [0.0]  # bytes kept by default before each place
        for weight in weights:
            self.before.append(self.before[-1] + weight)
        # A place is before a node of the function itself; a value crosses it from where it is made to its last use.
        last: dict[Node, int] = {}
        for number, node in enumerate(self.nodes):
            if node in forward:
                for each in node.all_input_nodes:
                    last[each] = number
        self.last = last
        self.crossing = self._sums(storage.bytes)
        # Several results of one call are kept one by one, so that no run ends between the call and them.
        together = self._sums(lambda node: float(self.choice.cost(node) == float("inf")))
        self.places = [
            number
            for number, node in enumerate(self.nodes)
            if node in forward and not together[number] and (self.anywhere or not self.choice.cheap[node])
        ]

    def _sums(self, of: Callable[[Node], float]) -> list[float]:
        """At each place, the sum over all values that cross it."""
        change = [0.0] * (len(self.nodes) + 2)
        for node, end in self.last.items():
            if node in self.at:
                change[self.at[node] + 1] += of(node)
                change[end + 1] -= of(node)
        return list(itertools.accumulate(change[: len(self.nodes)]))

    def crossing_nodes(self, place: int) -> list[Node]:
        """The values that are made before a place and read after it by the function."""
        return [node for node in self.nodes[:place] if self.last.get(node, -1) >= place]

    def runs(self, room: float, target: float) -> list[tuple[int, int]]:
        """Runs from the front, so that no more than `target` stays kept and none has more than `room` at once."""
        found: list[tuple[int, int]] = []
        start, held = 0, 0.0  # where the run begins; what is kept of all before it
        total = self.before[-1]
        saved = 0.0
        while total - saved > target and start < len(self.nodes):
            end = self._end(start, min(room - held, total - saved - target))
            if end is None:
                break
            found.append((start, end))
            crossing = self.crossing[end] if end < len(self.nodes) else 0.0
            saved += self.before[end] - self.before[start] - crossing
            held += crossing
            start = end
        return found

    def _end(self, start: int, room: float) -> int | None:
        """Where a run ends that keeps at most `room` bytes: where little crosses, of the places that are far enough."""
        low = bisect.bisect_right(self.places, start)
        fits = [p for p in self.places[low:] if self.before[p] - self.before[start] <= room + self.crossing[p]]
        if not fits:
            return self.places[low] if low < len(self.places) else None
        far = [
            p for p in fits if self.before[p] - self.before[start] >= 0.5 * (self.before[fits[-1]] - self.before[start])
        ]
        return min(far, key=lambda p: (self.crossing[p] - 0.25 * (self.before[p] - self.before[start]), -p))


def within_budget(choice: Choice, budget: float, start: Plan) -> Plan:
    """The plan that computes least again of those found that meet the budget; else the one of the least memory."""
    best = start
    if start.peak <= budget:
        return start
    stretch = _Stretch(choice, start.kept)
    most = min(budget, stretch.before[-1])
    coarse, fine = (_COARSE, _FINE) if len(stretch.nodes) <= _MANY else (_COARSE // 2, 2)
    best, room = _search(choice, stretch, budget, start, [most * k / coarse for k in range(1, coarse + 1)])
    width = most / coarse
    best, _ = _search(choice, stretch, budget, best, [room + width * k / fine for k in range(1 - fine, fine) if k])
    if best.peak <= budget:
        return _fewer(choice, best, budget)
    most = stretch.before[-1]  # it cannot be met so: as little as can be
    best, room = _search(choice, stretch, budget, best, [most * k / coarse**2 for k in range(1, coarse**2, 3)])
    width = 3 * most / coarse**2
    best, _ = _search(choice, stretch, budget, best, [room + width * k / fine for k in range(1 - fine, fine) if k])
    if best.peak <= budget or len(stretch.nodes) > _MANY:
        return best
    # Pointwise work that is all computed again at once takes as much as if it were kept.
    stretch = _Stretch(choice, choice.everything(), anywhere=True)
    most = stretch.before[-1]
    best, _ = _search(choice, stretch, budget, best, [most * k / coarse for k in range(1, coarse)])
    return best


def _search(choice: Choice, stretch: _Stretch, budget: float, best: Plan, rooms: list[float]) -> tuple[Plan, float]:
    """The best plan with runs of these lengths, and its length. Both long runs and many of them take memory."""
    found, at = None, rooms[-1]
    for room in rooms:
        plan = _most_kept(choice, stretch, room, budget)
        if found is None or _better(found, plan, budget) is plan:
            found, at = plan, room
    assert found is not None
    return _better(best, found, budget), at


def _most_kept(choice: Choice, stretch: _Stretch, room: float, budget: float) -> Plan:
    """With runs of at most `room`, as few of them as the budget allows."""
    low, high = 0.0, stretch.before[-1]
    best = _with_runs(choice, stretch, stretch.runs(room, 0.0))
    if best.peak > budget:
        return best
    for _ in range(_STEPS):
        target = (low + high) / 2
        plan = _with_runs(choice, stretch, stretch.runs(room, target))
        if plan.peak <= budget:
            low = target
            best = _better(best, plan, budget)
        else:
            high = target
    return best


def _with_runs(choice: Choice, stretch: _Stretch, runs: list[tuple[int, int]]) -> Plan:
    inside: set[Node] = set()
    pinned: set[Node] = set()
    for start, end in runs:
        inside.update(stretch.nodes[start:end])
        pinned.update(stretch.crossing_nodes(end))
    kept = choice.cut(lambda node: choice.cheap[node] or (node in inside and choice.repeatable[node]), pinned)
    return choice.plan(kept)


def _fewer(choice: Choice, best: Plan, budget: float) -> Plan:
    """Keep more, where there is room: what takes most arithmetic for its bytes first."""
    again = [
        node for node, repeated in best.backward if repeated and not choice.cheap[node] and choice.cost(node) < 1e300
    ]
    again.sort(key=lambda node: -choice.work[node] / max(choice.cost(node), 1.0))
    step = len(again)
    have = list(best.kept)
    while step:
        for start in range(0, len(again), step)[:4]:
            plan = choice.plan(sorted({*have, *again[start : start + step]}))
            if plan.peak <= budget and plan.extra < best.extra:
                best, have = plan, plan.kept
        step //= 2
    return best


def _better(one: Plan, other: Plan, budget: float) -> Plan:
    fits = (one.peak <= budget, other.peak <= budget)
    if fits == (True, True):
        return other if (other.extra, other.peak) < (one.extra, one.peak) else one
    if any(fits):
        return one if fits[0] else other
    return other if other.peak < one.peak else one
