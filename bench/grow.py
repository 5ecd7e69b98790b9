"""How the time and the memory of tracing grow with the program."""

from __future__ import annotations

import math

import weft
from bench.measure import Row, allocated, seconds, show
from bench.programs import chain

SIZES = (1_000, 10_000, 50_000, 100_000, 200_000)
EXPONENT = 1.2  # of growth in n: 1 is linear, 2 quadratic; collecting garbage among more objects accounts for a little


def growth() -> list[Row]:
    """Time and memory a node, from a thousand nodes to two hundred thousand."""
    times, kept = {}, {}
    for n in SIZES:
        program = chain(n, weft.relu)
        times[n] = seconds(lambda f=program: weft.symbolic_trace(f), repeat=15 if n <= 10_000 else 5)
        kept[n] = allocated(lambda f=program: weft.symbolic_trace(f))
    rows = [Row(f"trace {n:,} nodes, each", f"{times[n] / n * 1e6:.2f} µs, {kept[n] / n:.0f} B") for n in SIZES]
    first, last = SIZES[0], SIZES[-1]
    for what, values in (("time", times), ("memory", kept)):
        exponent = math.log(values[last] / values[first]) / math.log(last / first)
        row = Row(
            f"{what} grows as n to the power", f"{exponent:.3f}", target=f"<= {EXPONENT}", met=exponent <= EXPONENT
        )
        rows.append(row)
    return rows


if __name__ == "__main__":
    show("Growth of tracing", growth())
