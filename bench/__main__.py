"""Run every benchmark and print one report: `make bench`. Exits with 1 when a target is missed."""

from __future__ import annotations

import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context

from bench import edit, grow
from bench.measure import Row, show


def main() -> int:
    """Print the report; the exit status."""
    names = ("weft", "torch", "jax")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {_version(name)}" for name in names))
    rows = [*_against_peers()]
    # What concerns weft alone runs without the peers in memory: their objects would be searched for garbage as well.
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as alone:
        for title, section in (
            ("Growth of tracing", grow.growth),
            ("Editing", edit.edits),
            ("A whole graph", edit.whole_graph),
        ):
            found = alone.submit(section).result()
            show(title, found)
            rows += found
    judged = [row for row in rows if row.met is not None]
    missed = [row.what for row in judged if not row.met]
    print(
        f"\n{len(judged) - len(missed)} of {len(judged)} targets met"
        + "".join(f"\n  missed: {what}" for what in missed)
    )
    return 1 if missed else 0


def _against_peers() -> list[Row]:
    from bench import layers, mlp, tape, trace

    rows = []
    for title, section in (
        ("Tracing, time a node", trace.against_peers),
        (f"Eager, {tape.OPS} ops on {tape.SIZE} numbers, time an op (peer: torch)", tape.against_torch),
        (f"Training a network of three layers ({layers.threads()})", mlp.against_torch),
        (f"Layers ({layers.threads()})", layers.against_torch),
    ):
        found = section()
        show(title, found)
        rows += found
    return rows


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
