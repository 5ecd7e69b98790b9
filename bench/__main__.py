"""Run every benchmark and print one report: `make bench`. Exits with 1 when a target is missed."""

from __future__ import annotations

import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context

from bench.measure import Row, section, show

SECTIONS = {  # title: module and function
    "Tracing, time a node": "trace.against_peers",
    "Eager, 200 ops on 16 numbers, time an op (peer: torch)": "tape.against_torch",
    "`grad`, 16 numbers (peer: backward)": "tape.grad_beside_backward",
    "Training a network of 784-512-512-10 at batch 256, eager (peer: torch)": "mlp.against_torch",
    "Layers (peer: torch)": "layers.against_torch",
    "Growth of tracing": "grow.growth",
    "Editing": "edit.edits",
    "A whole graph": "edit.whole_graph",
    "Passes": "passes.growth",
    "Capturing functions of 100 lines": "capture.first_call",
    "A cached call of a compiled function": "capture.cached_call",
    "Cached calls beside plain ones (peer: plain)": "capture.beside_plain",
    "Growth of capture": "capture.growth",
    "Gradients of loops with item assignment (peer: JAX beside its own)": "derivatives.gradients_of_loops",
    "Memory of gradients of loops": "derivatives.memory",
    "Growth of gradients": "derivatives.growth",
    "Memory of forward and backward of 48 layers (peer: what torch keeps)": "memory.against_torch",
    "Splitting joint graphs": "memory.growth",
}


def main() -> int:
    """Print the report; the exit status."""
    names = ("weft", "torch", "jax")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {_version(name)}" for name in names))
    rows: list[Row] = []
    # Each section has a process of its own: what another imported would be searched for garbage in this one.
    for title, name in SECTIONS.items():
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as alone:
            found = alone.submit(section, name).result()
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
