"""The cheapest set to keep, against every set there is, and on graphs of many values."""

from __future__ import annotations

import random
from typing import Any

import pytest

from weft.transform._mincut import Flow, cheapest_to_keep


class Values:
    """A small graph of values: what each is computed from, costs, prices; which are needed, free, repeatable."""

    def __init__(self, rng: random.Random, count: int, dense: bool) -> None:
        """A dense one has many ways from few sources to few ends, so that flows get into each other's way."""
        self.inputs = [rng.sample(range(k), min(k, rng.randint(0, 3))) for k in range(count)]
        self.free = {k for k in range(count) if not self.inputs[k] and rng.random() < 0.6}
        self.needed = [k for k in range(count) if rng.random() < 0.4]
        self.cost = [rng.randint(1, 9) for _ in range(count)]
        self.again = [bool(self.inputs[k]) and rng.random() < 0.7 for k in range(count)]
        self.price = [rng.choice([0, 0, 1, 2, 5]) for _ in range(count)]
        if dense:
            self.inputs = [rng.sample(range(k), min(k, rng.randint(1, 4))) for k in range(count)]
            self.free, self.price = set(), [0] * count
            self.needed = [k for k in range(count // 2, count) if rng.random() < 0.4]
            self.again = [k > 2 for k in range(count)]
            self.cost = [rng.randint(1, 30) for _ in range(count)]

    def chosen(self) -> set[int]:
        return set(
            cheapest_to_keep(
                self.needed,
                self.inputs.__getitem__,
                self.free.__contains__,
                self.cost.__getitem__,
                self.again.__getitem__,
                self.price.__getitem__,
            )
        )

    def total(self, kept: set[int]) -> float:
        """What keeping these costs with all that is computed again; infinite where something cannot be had."""
        total = float(sum(self.cost[k] for k in kept))
        seen: set[int] = set()
        waiting = [k for k in self.needed if k not in self.free and k not in kept]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if not self.again[value]:
                return float("inf")
            total += self.price[value]
            waiting += [k for k in self.inputs[value] if k not in self.free and k not in kept]
        return total


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("dense", [False, True])
def test_no_set_is_cheaper(seed: int, dense: bool) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        values = Values(rng, 9 if dense else rng.randint(1, 8), dense)
        others = [k for k in range(len(values.cost)) if k not in values.free]
        best = min(
            values.total({k for at, k in enumerate(others) if mask >> at & 1}) for mask in range(1 << len(others))
        )
        assert values.total(values.chosen()) == best


def test_of_equals_the_one_that_computes_least_again() -> None:
    kept = cheapest_to_keep([3], lambda k: [k - 1] if k else [], lambda k: False, lambda k: 8.0, lambda k: k > 0)
    assert kept == [3]


def test_what_cannot_be_kept_is_computed_again() -> None:
    cost = {0: 8.0, 1: float("inf"), 2: float("inf")}
    kept = cheapest_to_keep([2], lambda k: [k - 1] if k else [], lambda k: False, cost.__getitem__, lambda k: k > 0)
    assert kept == [0]


def chain(count: int) -> Any:
    return cheapest_to_keep(
        range(count), lambda k: [k - 1] if k else [], lambda k: False, lambda k: 8.0 + k % 7, lambda k: k % 5 != 0
    )


def ladder(count: int) -> Any:
    """A long chain, of each value of which a small part is needed: paths of every length from one source."""
    return cheapest_to_keep(
        range(1, 2 * count, 2),
        lambda k: [k - 1] if k % 2 else [k - 2] if k else [],
        lambda k: False,
        lambda k: 1.0 if k % 2 else 1e9 - k,
        lambda k: k != 0,
    )


def residual(count: int) -> Any:
    return cheapest_to_keep(
        range(0, count, 2),
        lambda k: [each for each in (k - 1, k - 3, k - 7) if each >= 0],
        lambda k: False,
        lambda k: 8.0 + k % 11,
        lambda k: k % 13 != 0,
        lambda k: 0.5,
    )


@pytest.mark.parametrize("graph", [chain, ladder, residual])
def test_work_grows_with_the_graph_and_no_faster(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round looks at each edge once, and a push changes one: both together are the work."""
    counts = {"rounds": 0, "pushes": 0}
    levels, push = Flow._levels, Flow.push

    def counted_levels(self: Flow) -> list[int]:
        counts["rounds"] += 1
        return levels(self)

    def counted_push(self: Flow, edge: int, amount: int) -> None:
        counts["pushes"] += 1
        push(self, edge, amount)

    monkeypatch.setattr(Flow, "_levels", counted_levels)
    monkeypatch.setattr(Flow, "push", counted_push)
    for count in (1_000, 10_000, 100_000):
        counts.update(rounds=0, pushes=0)
        graph(count)
        assert counts["rounds"] <= 10 and counts["pushes"] <= 8 * count
