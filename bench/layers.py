"""The ops of neural networks, eager: forward, and forward with backward, beside torch, in float32.

Both libraries get the same arrays and run the same call of `nn.functional`, written once. Forward runs without
recording; the second row of each pair records, and pulls a given gradient back to every argument that is a float.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional

import weft
import weft.nn.functional
from bench.measure import Row, show, side_by_side

TIMES = 2.0  # torch's time, at most, for convolution and pooling


@dataclass
class Layer:
    """One call to measure: `call(F, *arguments)` with F of either library."""

    what: str
    call: Callable[..., Any]
    shapes: tuple[Any, ...]  # a shape gives normal numbers, an array stands for itself
    judged: bool = False
    constant: tuple[int, ...] = field(default=())  # arguments without a gradient


def _integers(high: int, *shape: int) -> Any:
    return np.random.default_rng(1).integers(0, high, shape)


def _conv(kernel: int, padding: int, channels: int, features: int, size: int, **options: Any) -> Layer:
    shapes = ((64, channels, size, size), (features, channels, kernel, kernel), (features,))
    what = f"conv2d 64x{channels}x{size}x{size} to {features}, {kernel}x{kernel}, padding {padding}"
    return Layer(what, lambda F, x, w, b: F.conv2d(x, w, b, padding=padding), shapes, **options)


IMAGES = (64, 16, 28, 28)
TOKENS = (32, 64, 128)
HEADS = (32, 4, 64, 32)

LAYERS = [
    _conv(3, 1, 1, 16, 28, judged=True),
    _conv(3, 0, 1, 16, 28, judged=True),
    _conv(5, 2, 1, 16, 28, judged=True),
    _conv(5, 0, 1, 16, 28, judged=True),
    _conv(3, 1, 16, 32, 14),
    _conv(3, 1, 32, 32, 14),
    Layer("max_pool2d 64x16x28x28, 2x2", lambda F, x: F.max_pool2d(x, 2), (IMAGES,), judged=True),
    Layer("avg_pool2d 64x16x28x28, 2x2", lambda F, x: F.avg_pool2d(x, 2), (IMAGES,), judged=True),
    Layer("max_pool2d 64x16x28x28, 3x3, stride 2", lambda F, x: F.max_pool2d(x, 3, 2, 1), (IMAGES,)),
    Layer("adaptive_avg_pool2d 64x16x28x28 to 1", lambda F, x: F.adaptive_avg_pool2d(x, 1), (IMAGES,)),
    Layer(
        "batch_norm, training, 64x16x28x28",
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (IMAGES, (16,), (16,)),
    ),
    Layer(
        "batch_norm, evaluating, 64x16x28x28",
        lambda F, x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        (IMAGES, np.zeros(16, np.float32), np.ones(16, np.float32), (16,), (16,)),
        constant=(1, 2),
    ),
    Layer("group_norm 64x16x28x28, 4", lambda F, x, w, b: F.group_norm(x, 4, w, b), (IMAGES, (16,), (16,))),
    Layer("layer_norm 32x64x128", lambda F, x, w, b: F.layer_norm(x, (128,), w, b), (TOKENS, (128,), (128,))),
    Layer("rms_norm 32x64x128", lambda F, x, w: F.rms_norm(x, (128,), w), (TOKENS, (128,))),
    Layer("softmax 32x64x128", lambda F, x: F.softmax(x, dim=-1), (TOKENS,)),
    Layer("log_softmax 32x64x128", lambda F, x: F.log_softmax(x, dim=-1), (TOKENS,)),
    Layer("cross_entropy 2048x128", lambda F, x, t: F.cross_entropy(x, t), ((2048, 128), _integers(128, 2048))),
    Layer("cross_entropy 64x10", lambda F, x, t: F.cross_entropy(x, t), ((64, 10), _integers(10, 64))),
    Layer("mse_loss 64x128", lambda F, x, t: F.mse_loss(x, t), ((64, 128), (64, 128)), constant=(1,)),
    Layer("gelu 32x64x128", lambda F, x: F.gelu(x), (TOKENS,)),
    Layer("gelu, tanh, 32x64x128", lambda F, x: F.gelu(x, approximate="tanh"), (TOKENS,)),
    Layer("silu 32x64x128", lambda F, x: F.silu(x), (TOKENS,)),
    Layer("sigmoid 32x64x128", lambda F, x: F.sigmoid(x), (TOKENS,)),
    Layer("relu 64x16x28x28", lambda F, x: F.relu(x), (IMAGES,)),
    Layer("leaky_relu 64x16x28x28", lambda F, x: F.leaky_relu(x), (IMAGES,)),
    Layer("dropout 32x64x128", lambda F, x: F.dropout(x, 0.1, True), (TOKENS,)),
    Layer("embedding 32x64 of 1000x128", lambda F, t, w: F.embedding(t, w), (_integers(1000, 32, 64), (1000, 128))),
    Layer("linear 2048x128 to 512", lambda F, x, w, b: F.linear(x, w, b), ((32, 64, 128), (512, 128), (512,))),
    Layer("attention 32x4x64x32", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), (HEADS,) * 3),
    Layer(
        "attention, causal, 32x4x64x32",
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (HEADS,) * 3,
    ),
]


def against_torch(only: str = "", rounds: int = 9) -> list[Row]:
    """Two rows a layer whose name contains `only`."""
    return [row for layer in LAYERS if only in layer.what for row in _measured(layer, rounds)]


def threads() -> str:
    """How many threads each side computes with."""
    blas = os.environ.get("OPENBLAS_NUM_THREADS") or len(os.sched_getaffinity(0))
    return f"threads: torch {torch.get_num_threads()}, weft {weft.get_num_threads()} in its own kernels, {blas} in BLAS"


def _measured(layer: Layer, rounds: int) -> list[Row]:
    generator = np.random.default_rng(0)
    arrays = [
        shape if isinstance(shape, np.ndarray) else generator.standard_normal(shape, dtype=np.float32)
        for shape in layer.shapes
    ]
    size = np.shape(layer.call(weft.nn.functional, *arrays))
    g = generator.standard_normal(size, dtype=np.float32) if size else np.float32(1)
    sides: dict[str, Any] = {
        "weft": (weft, weft.nn.functional, weft.tensor),
        "torch": (torch, torch.nn.functional, torch.tensor),
    }
    forward, both = {}, {}
    for name, (library, functional, tensor) in sides.items():
        values = [tensor(a) for a in arrays]
        leaves = [tensor(a) for a in arrays]
        wanted = [
            leaf.requires_grad_()
            for i, (leaf, a) in enumerate(zip(leaves, arrays, strict=True))
            if a.dtype == np.float32 and i not in layer.constant
        ]
        forward[name] = _forward(library, layer.call, functional, values)
        both[name] = _both(layer.call, functional, leaves, wanted, tensor(g))
    rows = []
    for part, runs in (("", forward), (", with backward", both)):
        calls = max(1, int(0.01 / _once(runs["weft"])))
        times = side_by_side(runs, rounds=rounds, calls=calls, clock=time.perf_counter, rest=0.03)
        rows.append(_row(layer.what + part, times["weft"], times["torch"], TIMES if layer.judged else None))
    return rows


def _forward(library: Any, call: Callable[..., Any], functional: Any, values: list[Any]) -> Callable[[], None]:
    def run() -> None:
        with library.no_grad():
            call(functional, *values)

    return run


def _both(
    call: Callable[..., Any], functional: Any, values: list[Any], leaves: list[Any], g: Any
) -> Callable[[], None]:
    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        call(functional, *values).backward(g)

    return run


def _once(run: Callable[[], Any]) -> float:
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _row(what: str, ours: float, theirs: float, times: float | None) -> Row:
    ratio = ours / theirs
    target = "" if times is None else f"<= {times:.1f}"
    met = None if times is None else ratio <= times
    return Row(what, f"{ours * 1e3:.3f} ms", f"{theirs * 1e3:.3f} ms", f"{ratio:.2f}", target, met)


if __name__ == "__main__":
    import sys

    show(f"Layers ({threads()})", against_torch(*sys.argv[1:2]))
