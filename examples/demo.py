"""weft in a minute: capture a program, read, edit and rewrite it, compile, run, differentiate, train, save and load it.

Run by `make demo`. In colour on a terminal, plain when piped or when NO_COLOR is set.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import weft
from weft import nn, optim

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
KEYWORDS = re.compile(r"\b(def|return|import|from|for|while|if|else|in|not|None|True|False)\b")


class Classifier(nn.Module):
    """Two layers and a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        activation = weft.relu(self.hidden(x))
        gated = activation * weft.sigmoid(activation)
        return weft.softmax(self.head(gated), axis=-1)


def rms(signal):
    """Plain NumPy: nothing here knows about weft."""
    centred = signal - np.mean(signal, axis=-1, keepdims=True)
    return np.sqrt(np.mean(np.square(centred), axis=-1))


def loudness(feedback, signal):
    """NumPy with a loop and writes in place: differentiated as it is."""
    heard = signal.copy()
    for i in range(3, len(heard)):
        heard[i] += feedback * heard[i - 3]
    return np.sqrt(np.mean(np.square(heard)))


def bounce(heights, speeds, steps):
    """A simulation as people write it: balls fall, and bounce until they lie still. It changes its arguments."""
    bounces = 0
    for _ in range(steps):
        speeds -= 0.1
        heights += speeds
        for i in range(len(heights)):
            if heights[i] < 0:
                heights[i] = 0.0
                speeds[i] *= -0.8
                bounces += 1
        if np.abs(speeds).max() < 0.1:
            break
    return bounces


def train(model: nn.Module) -> None:
    """Learn which of three parts of each row has the largest sum."""
    x = weft.random.normal((500, 8), dtype=np.float32)
    labels = x[:, :6].reshape(len(x), 3, 2).sum(-1).argmax(-1)
    optimiser = optim.Adam(model.parameters(), lr=0.02)
    for step in range(101):
        loss = nn.functional.nll_loss(weft.log(model(x)), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 25 == 0:
            print(f"step {step:3}: loss {loss.item():.4f}")


def main() -> None:
    started = time.perf_counter()
    weft.random.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)

    heading("1. Capture a model: it becomes a graph that prints as Python")
    traced = weft.symbolic_trace(Classifier())
    show_code(traced.code)
    expected = traced(x)

    heading("2. Every node knows the line and the variable it came from")
    show_nodes(traced.graph)

    heading("3. Edit it: relu becomes gelu")
    graph = traced.graph
    for node in graph.find_nodes(op="call_function", target=weft.relu):
        with graph.inserting_after(node):
            new = graph.call_function(weft.gelu, node.args)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    traced.recompile()
    change = np.abs(traced(x) - expected).max().item()
    print(f"gelu stands on line {new.location.line}, where relu was; the result moves by at most {change:.4f}")

    heading("4. Rewrite by pattern: a * sigmoid(a) is silu(a)")
    matches = weft.replace_pattern(traced, lambda a: a * weft.sigmoid(a), lambda a: weft.silu(a))
    graph.lint()
    print(f"{len(matches)} match")
    show_code(traced.code)

    heading("5. NumPy code is captured as it is")
    numeric = weft.symbolic_trace(rms)
    show_code(numeric.code)
    signal = np.sin(np.linspace(0, 20, 1000)).reshape(2, 500)
    print(f"graph {numeric(signal)}\nNumPy {rms(signal)}")

    heading("6. Whole programs are compiled: loops, branches, writes into arguments")
    show_compiled()

    heading("7. Differentiate NumPy code, and train the model: the gradient of a loop is a loop")
    slope = weft.grad(loudness)
    echo = np.cos(np.arange(50.0))
    by_weft, width = slope(0.5, echo), 1e-6
    by_differences = (loudness(0.5 + width, echo) - loudness(0.5 - width, echo)) / (2 * width)
    show_code(slope.code[slope.code.index("def ") :])
    print(f"slope {by_weft:.6f}, by finite differences {by_differences:.6f}\n")
    train(Classifier())

    heading("8. Save, load, run: the same numbers, and no code in the file")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.weft"
        traced.save(path)
        loaded = weft.load(path)
        same = np.array_equal(loaded(x), traced(x))
        print(f"{path.name}: {path.stat().st_size} bytes, {len(loaded.graph.nodes)} nodes, equal results: {same}")

    heading("9. What a trace cannot hold is refused, with the line and the way out")
    show_refusal()
    print(style(f"\ndone in {time.perf_counter() - started:.2f} s", "2"))


def show_compiled() -> None:
    """Compile a simulation, compare it with the plain call, and show what was captured."""
    compiled = weft.compile(bounce)
    given = np.array([1.0, 2.0, 0.5]), np.zeros(3)
    expected = tuple(array.copy() for array in given)
    bounces = compiled(*given, 40)
    same = bounces == bounce(*expected, 40) and all(map(np.array_equal, given, expected))
    show_code(compiled.code)
    print(f"{bounces} bounces; the plain call gives the same, and leaves the same in its arguments: {same}")
    compiled(np.ones(100), np.zeros(100), 10)
    print(f"after a call with 100 balls: {compiled.cache_info()}")
    compiled(np.ones(3, np.float32), np.zeros(3, np.float32), 10)
    print(f"captured again, because {compiled.why_recompiled()[-1]}")
    print(weft.explain(bounce, np.ones(3), np.zeros(3), 40))


def show_refusal() -> None:
    def clipped(x):
        if x.sum() > 0:
            return x
        return -x

    try:
        weft.symbolic_trace(clipped)
    except weft.errors.TraceError as error:
        print(style(str(error), "33"))


def show_nodes(graph: weft.Graph) -> None:
    """A table of the nodes."""
    rows = []
    for node in graph.nodes:
        target = getattr(node.target, "__name__", node.target)
        line = f"{Path(node.location.file).name}:{node.location.line}" if node.location else ""
        rows.append((node.name, node.op, target, line, node.variable or ""))
    head = ("node", "kind", "target", "line", "variable")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(style("  ".join(cell.ljust(w) for cell, w in zip(head, widths, strict=True)).rstrip(), "1"))
    print("  ".join("─" * w for w in widths))
    for row in rows:
        cells = [cell.ljust(w) for cell, w in zip(row, widths, strict=True)]
        print("  ".join([style(cells[0], "36"), *cells[1:]]).rstrip())


def show_code(code: str) -> None:
    for line in code.strip().splitlines():
        print("    " + (KEYWORDS.sub(lambda word: style(word[0], "35"), line) if COLOUR else line))


def heading(text: str) -> None:
    print("\n" + style(text, "1;34"))


def style(text: str, code: str) -> str:
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


if __name__ == "__main__":
    main()
