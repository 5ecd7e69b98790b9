"""Run every benchmark and print one report: `make bench`. Exits with 1 when a target is missed."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from bench import edit, trace
from bench.measure import show

SECTIONS = [
    ("Tracing, time a node", trace.against_peers),
    ("Growth of tracing", trace.growth),
    ("Editing", edit.edits),
    ("A whole graph", edit.whole_graph),
]


def main() -> int:
    print(
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in ("weft", "torch", "jax"))
    )
    rows = []
    for title, section in SECTIONS:
        found = section()
        show(title, found)
        rows += found
    judged = [row for row in rows if row.met is not None]
    missed = [row.what for row in judged if not row.met]
    print(
        f"\n{len(judged) - len(missed)} of {len(judged)} targets met"
        + "".join(f"\n  missed: {what}" for what in missed)
    )
    return 1 if missed else 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
