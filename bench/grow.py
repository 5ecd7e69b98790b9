"""How the time and the memory of tracing grow with the program."""

from __future__ import annotations

import gc

import weft
from bench.measure import Row, allocated, seconds, show
from bench.programs import chain

SIZES = (1_000, 10_000, 50_000, 100_000, 200_000)
SPREAD = 1.5  # between the cheapest and the dearest size, for growth to count as linear


def growth() -> list[Row]:
    """Time and memory a node, from a thousand nodes to two hundred thousand."""
    times = _times()
    gc.disable()  # a row without a verdict: tells how much of the growth is the collector searching more objects
    try:
        paused = _times()
    finally:
        gc.enable()
    kept = {n: allocated(lambda n=n: weft.symbolic_trace(chain(n, weft.relu))) / n for n in SIZES}
    rows = [Row(f"trace {n:,} nodes, each", f"{times[n] * 1e6:.2f} µs, {kept[n]:.0f} B") for n in SIZES]
    for what, values in (("time", times), ("memory", kept)):
        spread = max(values.values()) / min(values.values())
        rows.append(
            Row(f"{what} a node, dearest / cheapest", f"{spread:.2f}x", target=f"<= {SPREAD}x", met=spread <= SPREAD)
        )
    spread = max(paused.values()) / min(paused.values())
    rows.append(Row("time a node, the collector paused", f"{spread:.2f}x"))
    return rows


def _times() -> dict[int, float]:
    """Seconds a node, by size."""
    found = {}
    for n in SIZES:
        program = chain(n, weft.relu)
        found[n] = seconds(lambda f=program: weft.symbolic_trace(f), repeat=15 if n <= 10_000 else 5) / n
    return found


if __name__ == "__main__":
    show("Growth of tracing", growth())
