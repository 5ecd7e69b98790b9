"""Training a 784-512-512-10 network at batch 256, eager: time and peak memory beside torch, and NumPy by hand."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import weft
import weft.optim
from bench.measure import Row, show, side_by_side

SIZES = (784, 512, 512, 10)
BATCH = 256
TIMES = 1.1  # torch's time, at most
MEMORY = 1.2  # torch's peak, at most

X = np.random.default_rng(0).standard_normal((BATCH, SIZES[0]), dtype=np.float32)
T = np.random.default_rng(1).integers(0, SIZES[-1], BATCH)


def against_torch() -> list[Row]:
    """A step of SGD with momentum, of Adam, and forward with backward alone."""
    import torch

    libraries = (("weft", weft, weft.optim), ("torch", torch, torch.optim))
    rows = []
    for what, make in (
        ("forward and backward", None),
        ("a step with SGD, momentum", lambda optim, p: optim.SGD(p, lr=0.01, momentum=0.9)),
        ("a step with Adam", lambda optim, p: optim.Adam(p, lr=1e-3)),
    ):
        steps = {name: _step(lib, optim, make) for name, lib, optim in libraries}
        if make is None:
            steps["NumPy by hand"] = _by_hand()
        times = side_by_side(steps, rounds=25, calls=5, clock=time.perf_counter, rest=0.05)
        rows.append(_versus(what, times["weft"], times["torch"], "ms", 1e3, TIMES))
        if make is None:
            ratio = times["NumPy by hand"] / times["torch"]
            rows.append(Row("  NumPy by hand", f"{times['NumPy by hand'] * 1e3:.2f} ms", "", f"{ratio:.2f}"))
    peaks = (_peak(_step(weft, weft.optim, None)), _torch_peak(_step(torch, torch.optim, None)))
    rows.append(_versus("peak memory of forward and backward", *peaks, "MB", 1e-6, MEMORY))
    return rows


def _step(lib: Any, optim: Any, make: Any) -> Callable[[], None]:
    nn = lib.nn
    layers = [part for a, b in pairwise(SIZES) for part in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    optimiser = None if make is None else make(optim, model.parameters())
    x, t = lib.tensor(X), lib.tensor(T)

    def step() -> None:
        (model if optimiser is None else optimiser).zero_grad()
        nn.functional.cross_entropy(model(x), t).backward()
        if optimiser is not None:
            optimiser.step()

    return step


def _by_hand() -> Callable[[], None]:
    """What a person would write: three products forward, five backward, and the pointwise parts in place."""
    rng = np.random.default_rng(0)
    pairs = list(pairwise(SIZES))
    weights = [rng.standard_normal((b, a), dtype=np.float32) / np.float32(a) ** 0.5 for a, b in pairs]
    biases = [np.zeros(b, np.float32) for _, b in pairs]

    def step() -> None:
        inputs = [X]
        for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
            y = inputs[-1] @ w.T
            y += b
            inputs.append(np.maximum(y, 0, out=y) if i < len(weights) - 1 else y)
        g = inputs.pop()
        g -= g.max(1, keepdims=True)
        np.exp(g, out=g)
        g /= g.sum(1, keepdims=True)
        g[np.arange(BATCH), T] -= 1
        g /= BATCH
        for i in reversed(range(len(weights))):
            _ = g.T @ inputs[i], g.sum(0)
            if i:
                g = g @ weights[i]
                g *= inputs[i] > 0

    return step


def _peak(step: Callable[[], None]) -> int:
    """The most bytes allocated during a step, its gradients included; what was there before does not count."""
    step()
    gc.collect()
    tracemalloc.start()
    try:
        step()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _torch_peak(step: Callable[[], None]) -> int:
    """The same for torch, whose profiler reports every allocation."""
    from torch.profiler import ProfilerActivity, profile

    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def _versus(what: str, ours: float, theirs: float, unit: str, scale: float, target: float) -> Row:
    ratio = ours / theirs
    cells = (f"{ours * scale:.2f} {unit}", f"{theirs * scale:.2f} {unit}")
    return Row(what, *cells, f"{ratio:.2f}", f"<= {target}", ratio <= target)


if __name__ == "__main__":
    show(f"Training {'-'.join(map(str, SIZES))} at batch {BATCH}, eager (peer: torch)", against_torch())
