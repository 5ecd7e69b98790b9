"""Memory between forward and backward: 48 layers beside torch, and what a quarter of torch's memory costs."""

from __future__ import annotations

import importlib.util
import linecache
from typing import Any

import numpy as np

import weft
from bench.measure import Row, peak, seconds, show
from weft import nn

DEPTH, WIDTH, BATCH = 48, 64, 1024
ARITHMETIC = 0.4  # more, at most, for a quarter of the memory


def against_torch() -> list[Row]:
    """Bytes kept by default, and the most there are at once with a budget."""
    x = np.random.default_rng(0).standard_normal((BATCH, WIDTH)).astype(np.float32)
    model = _perceptron(nn)
    joint = weft.joint_graph(model, x)
    theirs = _kept_by_torch(x) if importlib.util.find_spec("torch") else DEPTH * x.nbytes
    default = weft.partition(joint)
    default.measure(x)
    kept = default.measured.kept
    shape = f"{DEPTH} layers of {WIDTH} at batch {BATCH}"
    rows = [
        Row(f"{shape}: kept", _mb(kept), _mb(theirs), f"{kept / theirs:.2f}", "<= 1", kept <= theirs),
    ]
    quarter = weft.partition(joint, memory_budget=theirs / 4)
    quarter.measure(x)
    report, most = quarter.report, quarter.measured.peak
    rows.append(
        Row(
            "a quarter of it as budget: peak",
            _mb(most),
            _mb(theirs),
            f"{most / theirs:.2f}",
            "<= 0.25",
            report.met and most <= theirs / 4,
        )
    )
    rows.append(
        Row(
            "  more arithmetic", f"{report.overhead:.0%}", "", "", f"<= {ARITHMETIC:.0%}", report.overhead <= ARITHMETIC
        )
    )
    for name, halves in (("default", default), ("a quarter", quarter)):
        used = peak(lambda h=halves: _both(h, x))
        rows.append(Row(f"  {name}: all that Python allocates, gradients too", _mb(used)))
        rows.append(Row(f"  {name}: forward and backward", f"{seconds(lambda h=halves: _both(h, x)) * 1e3:.1f} ms"))
    return rows


def growth() -> list[Row]:
    """Splitting chains of pointwise work and products of matrices."""
    rows = []
    for count in (250, 2_500):
        chain = _chain(count)
        joint = weft.joint_graph(chain, weft.spec((16, 4)), weft.spec((4, 4)))
        taken = seconds(lambda j=joint: weft.partition(j), repeat=1)
        rows.append(Row(f"a joint graph of {len(joint.graph.nodes):,} nodes in two", f"{taken:.2f} s"))
    return rows


def _chain(count: int) -> Any:
    text = "def chain(x, w):\n" + "    x = weft.sin(weft.tanh(x @ w))\n" * count + "    return x\n"
    name = f"<chain of {count}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"weft": weft}
    exec(compile(text, name, "exec"), namespace)
    return namespace["chain"]


def _perceptron(library: Any) -> Any:
    return library.Sequential(*(part for _ in range(DEPTH) for part in (library.Linear(WIDTH, WIDTH), library.ReLU())))


def _both(halves: Any, x: Any) -> Any:
    value, pull = halves(x)
    return pull(np.ones(value.shape, np.float32))


def _kept_by_torch(x: Any) -> int:
    """Bytes of what torch's tape holds, but the input and the parameters."""
    import torch

    model = _perceptron(torch.nn)
    given = torch.from_numpy(x)
    held: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        held[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = model(given)
    for own in (given, *model.parameters()):
        held.pop(own.untyped_storage().data_ptr(), None)
    assert result.shape == x.shape
    return sum(tensor.untyped_storage().nbytes() for tensor in held.values())


def _mb(amount: float) -> str:
    return f"{amount / 1e6:.2f} MB"


if __name__ == "__main__":
    show("Memory of 48 layers (peer: what torch keeps)", against_torch())
    show("Splitting joint graphs", growth())
