"""Derivatives as graphs: what a gradient costs beside its function, in time, memory and nodes, and how that grows."""

from __future__ import annotations

import importlib.util
import linecache
import time
from typing import Any

import numpy as np

import weft
from bench.derivative_programs import arguments, in_jax
from bench.measure import Row, peak, seconds, show, side_by_side
from weft.capture._captured import capture

WORK = 8.0  # times the function's own time, for its value and its gradient
NODES = 5.0  # nodes for each of the function's
BUILT = 2.0  # seconds, for the gradient of 10,000 ops


def gradients_of_loops() -> list[Row]:
    """Value and gradient of loops with item assignment, beside the compiled function; JAX's beside its own."""
    peers = in_jax() if importlib.util.find_spec("jax") else {}
    rows = []
    for function, (args, argnums) in arguments().items():
        compiled = weft.compile(function)
        derived = weft.value_and_grad(function, argnums)
        compiled(*args)
        derived(*args)
        times = side_by_side({"f": lambda c=compiled, a=args: c(*a), "g": lambda d=derived, a=args: d(*a)})
        ratio = times["g"] / times["f"]
        theirs = _ratio_in_jax(peers[function.__name__], args, argnums) if function.__name__ in peers else ""
        name = f"{function.__name__}: {times['f'] * 1e3:.1f} ms, with gradient"
        rows.append(Row(name, f"{times['g'] * 1e3:.1f} ms", theirs, f"{ratio:.1f}", f"<= {WORK:.0f}", ratio <= WORK))
    return rows


def _ratio_in_jax(functions: Any, args: Any, argnums: Any) -> str:
    import jax

    compiled, plain = functions
    derived = jax.jit(jax.value_and_grad(plain, argnums))
    jax.block_until_ready((compiled(*args), derived(*args)))
    calls = {
        "f": lambda: jax.block_until_ready(compiled(*args)),
        "g": lambda: jax.block_until_ready(derived(*args)),
    }
    times = side_by_side(calls, rounds=3, clock=time.perf_counter)
    return f"JAX: {times['g'] / times['f']:.0f} x its own"


def memory() -> list[Row]:
    """What the gradient of a loop keeps: it grows with what a turn touches, not with whole arrays."""
    rows = []
    for function, (args, argnums) in arguments().items():
        derived = weft.value_and_grad(function, argnums)
        derived(*args)
        used = peak(lambda d=derived, a=args: d(*a))
        largest = max(np.size(arg) for arg in args) * 8
        rows.append(Row(f"{function.__name__}: peak, in sizes of its largest argument", f"{used / largest:.1f}"))
    return rows


def growth() -> list[Row]:
    """Chains of 1,000, 10,000 and 100,000 ops."""
    rows = []
    for count in (1_000, 10_000, 100_000):
        function = _chain(count)
        x = np.ones(4)
        plain = capture(function, (x,), {}, branches=True, dynamic=False, numbers=True)
        taken = seconds(lambda f=function: weft.grad(f)(np.ones(4)), repeat=1)
        alone = seconds(lambda f=function: weft.compile(f)(np.ones(4)), repeat=1)
        derived = weft.grad(function)
        derived(x)
        ratio = len(derived.graph.nodes) / len(plain.graph.nodes)
        met = ratio <= NODES and (count != 10_000 or taken - alone < BUILT)
        target = f"<= {NODES:.0f} nodes a node" + (f", < {BUILT:.0f} s" if count == 10_000 else "")
        what = f"the gradient of {count:,} ops, beyond capturing and compiling them"
        rows.append(Row(what, f"{taken - alone:.2f} s", "", f"{ratio:.1f} nodes", target, met))
    return rows


def _chain(count: int) -> Any:
    lines = ["    x = np.sin(x)\n", "    x = x * 1.01\n", "    x = x + 0.5\n"]
    source = "def chain(x):\n" + "".join(lines[k % 3] for k in range(count)) + "    return x.sum()\n"
    name = f"<a chain of {count} ops>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["chain"]


if __name__ == "__main__":
    show("Gradients of loops with item assignment", gradients_of_loops())
    show("Their memory", memory())
    show("Growth of gradients", growth())
