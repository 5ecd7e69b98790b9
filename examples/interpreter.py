"""Interpreters: run a graph node by node, and do something at each: print it, time it, note its shape."""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

import weft
from weft import nn


class Printing(weft.Interpreter):
    """Prints each node and the shape of its value."""

    def run_node(self, n):
        value = super().run_node(n)
        print(f"  {n.op:<14} {n.name:<10} {value.shape}")
        return value


class Timing(weft.Interpreter):
    """Adds up the time spent in each node over many runs."""

    def __init__(self, module) -> None:
        super().__init__(module)
        self.seconds = defaultdict(float)
        self.runs = 0

    def run(self, *args, **kwargs):
        self.runs += 1
        return super().run(*args, **kwargs)

    def run_node(self, n):
        start = time.perf_counter()
        try:
            return super().run_node(n)
        finally:
            self.seconds[n.name] += time.perf_counter() - start

    def summary(self) -> str:
        """The nodes, dearest first, with their share of the time."""
        total = sum(self.seconds.values())
        rows = sorted(self.seconds.items(), key=lambda item: -item[1])
        lines = [f"  {name:<10} {taken / self.runs * 1e6:>8.1f} µs {taken / total:>5.0%}" for name, taken in rows]
        return "\n".join([f"{self.runs} runs, {total / self.runs * 1e6:.1f} µs each", *lines])


def main() -> None:
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))
    traced = weft.symbolic_trace(model)
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)

    print("Each call:")
    result = Printing(traced).run(x)
    print("Same as the module:", np.array_equal(result, model(x)))

    timing = Timing(traced)
    for _ in range(20):
        timing.run(x)
    print("\nTime by node:")
    print(timing.summary())


if __name__ == "__main__":
    main()
