"""Eager tensors: what weft adds to NumPy's own time on small arrays, recorded and back, beside torch.

And `grad` beside `backward` on tapes that are kept, which both only walk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from bench.measure import Row, show, side_by_side

OPS = 200
SIZE = 16
BEYOND_NUMPY = 0.6  # µs an op, at most, where nothing is recorded
AGAINST_TORCH = 1.0
GRAD_AGAINST_BACKWARD = 1.25

Program = Callable[[Any, Any, Any], Any]


def arithmetic(_: Any, x: Any, c: Any) -> Any:
    """Half products with a tensor, half sums with a number."""
    for _ in range(OPS // 2):
        x = x * c
        x = x + 0.001
    return x


def functions(lib: Any, x: Any, c: Any) -> Any:
    """A function of one argument, called as one of the library."""
    for _ in range(OPS // 2):
        x = lib.sin(x)
        x = lib.cos(x)
    return x


def mixed(lib: Any, x: Any, c: Any) -> Any:
    """Operators and functions, as programs have them."""
    for _ in range(OPS // 5):
        x = lib.tanh(x * c - 0.5)
        x = lib.exp(-x)
    return x


def chain(leaves: list[Any], c: Any) -> Any:
    """One step after the other, from one leaf."""
    return arithmetic(weft, leaves[0], c).sum()


def wide(leaves: list[Any], c: Any) -> Any:
    """One leaf used by many steps."""
    return sum((weft.sin(leaves[0]) * (c + i) for i in range(OPS // 4)), c).sum()


def many(leaves: list[Any], c: Any) -> Any:
    """Many leaves, as a model's weights."""
    total = c
    for leaf in leaves:
        total = total * leaf + c
    return total.sum()


PROGRAMS: dict[str, Program] = {"multiply, add": arithmetic, "sin, cos": functions, "tanh, exp, *, -": mixed}


def against_torch() -> list[Row]:
    """Forward, forward recorded, and forward with backward, in time an op."""
    import torch

    start, factor = np.linspace(0.1, 1, SIZE), np.full(SIZE, 0.999)
    tensors = {"weft": (weft, weft.tensor), "torch": (torch, torch.tensor)}
    rows = []
    for name, program in PROGRAMS.items():
        forward: dict[str, Callable[[], Any]] = {"numpy": lambda p=program: p(np, start, factor)}
        record: dict[str, Callable[[], Any]] = {}
        both: dict[str, Callable[[], Any]] = {}
        for library, (lib, tensor) in tensors.items():
            x, c, leaf = tensor(start), tensor(factor), tensor(start, requires_grad=True)
            forward[library] = lambda p=program, lib=lib, x=x, c=c: p(lib, x, c)
            record[library] = lambda p=program, lib=lib, x=leaf, c=c: p(lib, x, c)
            both[library] = lambda p=program, lib=lib, x=leaf, c=c: _back(p, lib, x, c)
        times = side_by_side(forward, rounds=40, calls=5)
        beyond = (times["weft"] - times["numpy"]) / OPS * 1e6
        target = f"<= {BEYOND_NUMPY} µs"
        peer = f"{times['numpy'] / OPS * 1e6:.2f} µs (NumPy)"
        rows.append(Row(f"{name}: forward", _each(times), peer, f"+{beyond:.2f} µs", target, beyond <= BEYOND_NUMPY))
        rows.append(_versus(f"{name}: forward, recorded", side_by_side(record, rounds=40, calls=5)))
        rows.append(_versus(f"{name}: forward and backward", side_by_side(both, rounds=40, calls=5)))
    return rows


def grad_beside_backward() -> list[Row]:
    """The walk back alone: every leaf wanted, or one of many."""
    factor = weft.tensor(np.full(SIZE, 0.999))
    leaves = [weft.tensor(np.linspace(0.1, 1, SIZE), requires_grad=True) for _ in range(OPS // 2)]
    rows = []
    for program, name, wanted in (
        (chain, "chain", leaves[:1]),
        (wide, "wide", leaves[:1]),
        (many, "many leaves", leaves),
        (many, "one of many leaves", leaves[:1]),
    ):
        total = program(leaves, factor)
        times = side_by_side(
            {
                "grad": lambda y=total, wanted=wanted: weft.autograd.grad(y, wanted, retain_graph=True),
                "backward": lambda y=total, leaves=leaves: _fresh(y, leaves),
            },
            rounds=40,
            calls=5,
        )
        ratio = times["grad"] / times["backward"]
        fast = ratio <= GRAD_AGAINST_BACKWARD
        shown = [f"{times[way] * 1e6:.0f} µs" for way in ("grad", "backward")]
        rows.append(Row(name, *shown, f"{ratio:.2f}", f"<= {GRAD_AGAINST_BACKWARD}", fast))
    return rows


def _fresh(total: Any, leaves: list[Any]) -> None:
    for leaf in leaves:
        leaf.grad = None
    total.backward(retain_graph=True)


def _back(program: Program, lib: Any, x: Any, c: Any) -> None:
    x.grad = None
    program(lib, x, c).sum().backward()


def _each(times: dict[str, float]) -> str:
    return f"{times['weft'] / OPS * 1e6:.2f} µs"


def _versus(what: str, times: dict[str, float]) -> Row:
    ratio = times["weft"] / times["torch"]
    peer = f"{times['torch'] / OPS * 1e6:.2f} µs"
    return Row(what, _each(times), peer, f"{ratio:.2f}", f"<= {AGAINST_TORCH}", ratio <= AGAINST_TORCH)


if __name__ == "__main__":
    show("`grad`, 16 numbers (peer: backward)", grad_beside_backward())
    show(f"Eager, {OPS} ops on {SIZE} numbers, time an op (peer: torch)", against_torch())
