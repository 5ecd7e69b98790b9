"""Every script of examples/ runs, without a warning, and prints what it is there to show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

ESSENTIAL = {
    "analyse": [
        r"  call_module\s+10",
        r"  LayerNorm\s+3",
        r"  blocks\.0\.up\s+1088",
        r"  head\s+34",
        r"  x by ",
        r"The longest way from input to output has \d+ steps",
    ],
    "capture_mandelbrot": [
        r"while \(step < limit\)",
        r"escape_time\(0\.4\+0\.4j, 100\) = (\d+) and \1\n",
        r"  fori_loop .*\n    fori_loop .*\n      while_loop .*\n        cond ",
        r"Same as plain Python: True",
        r"hits=1, misses=1, currsize=1",
    ],
    "compile_heat_equation": [
        r"After \d+ steps:\n  @@@@",
        r"took as many steps: True\nand left the same plate: True",
        r"plate\[1:-1, 1:-1\] = add_3",
        r"hits=1, misses=1, currsize=1",
        r"plate has dtype float32, was float64",
    ],
    "compile_kalman": [
        r"Same as the plain call: True",
        r"track is captured: \d+ nodes, 1 loop, 1 branch",
        r"line \d+: if not np\.isnan\(measured\[i\]\):  both sides kept",
        r"step 30: noise 11\.40",
        r"measured has dtype float32, was float64",
    ],
    "custom_tracer": [
        r"Tracer: 11 nodes",
        r"BlockTracer: 5 nodes",
        r"OpenTracer: \d+ nodes",
        r"  call_module    blocks\.0\n  call_module    blocks\.1",
        r"  get_attr       project\.weight",
        r"All three compute the same",
    ],
    "demo": [
        r"def forward\(self, x\)",
        r"hidden\s+call_module\s+hidden\s+demo\.py:\d+",
        r"relu\s+call_function\s+relu\s+demo\.py:\d+\s+activation",
        r"the result moves by at most 0\.0*[1-9]",
        r"1 match",
        r"silu",
        r"graph \[[\d. ]+\]\nNumPy \[[\d. ]+\]",
        r"equal results: True",
        r"while \(_ < steps\)",
        r"20 bounces; .*: True",
        r"100 balls: CacheInfo\(hits=1, misses=1, currsize=1\)",
        r"because heights has dtype float32, was float64",
        r"bounce is captured: \d+ nodes, 2 loops, 2 branches",
        r"for i_1 in range\(sub, 2, -1\)",
        r"slope (-?\d\.\d+), by finite differences \1\n",
        r"if x\.sum\(\) > 0",
        r"weft\.where",
    ],
    "drop_dropout": [r"Dropped: dropout, layers_2", r"After:\n(?:(?!dropout)[^\0])*$", r"Two runs agree: True"],
    "fit_simulation": [
        r"by weft +(\+0\.00\d+)\n  by finite differences +\1\n",
        r"take \d+\.\d times as long",
        r"step 150: misfit 0\.0000248",
        r"     2  1\.50    1\.50   weak\n     3  4\.00    [34]\.\d\d\n",
        r"CacheInfo\(hits=161, misses=1, currsize=1\)",
    ],
    "fold_conv_bn": [r"Modules left: Conv2d, Conv2d, BatchNorm2d", r"Same results to float32 rounding: True"],
    "gpt_step": [
        r"   0  4\.(\d+)  4\.\1\n",
        r"  20  3\.(\d+)  3\.\1\n",
        r"learning rate went from 0\.010 to 0\.001: CacheInfo\(hits=20, misses=1, currsize=1\)",
        r"Parameters equal to 1e-10 after 21 steps: True",
        r"The graph has \d+ nodes",
        r"def forward\(self, given, following\):",
    ],
    "insert_prints": [
        r"  centre     shape \(3, 1\)   mean \+5\.500",
        r"The result is unchanged: True",
        r"report\('spread', std\)",
        r"Erased again, silent: True",
    ],
    "interpreter": [r"  call_module    _?0\s+\(32, 256\)", r"Same as the module: True", r"20 runs, [\d.]+ µs each"],
    "neural_ode": [
        r"step   0: loss 1\.\d+\n(?:.*\n)*  step 400: loss 0\.00[01]\d+\n",
        r"mean error 0\.[01]\d:",
        r"graph has (\d+) nodes; CacheInfo\(hits=400, misses=1.*\n.*200 times, \1; CacheInfo\(hits=401, misses=1",
    ],
    "relu_to_gelu": [
        r"Swapped 3 relus",
        r"Same as written by hand with gelu: True",
        r"Unused module dropped: True",
        r"The first gelu stands where act was",
    ],
    "sigmoid_to_tanh": [
        r"After:\n(?:(?!sigmoid)[^\0])*Transformer",
        r"gives (-?[\d.]+)\nInterpreter gives \1\nBy hand\s+\1",
        r"The first graph is as it was: True",
    ],
    "trace_a_model": [
        r"%param : \[num_users=1\] = get_attr\[target=param\]",
        r"%linear : \[num_users=1\] = call_module\[target=linear\]",
        r"linear = self\.linear\(add\)",
        r"call_function\s+add",
        r"what the module computes: True",
        r"is a Module: True",
        r"module's own: True",
    ],
}


# What the training examples share; those have tests of their own.
SHARED = {"digits", "sonnets", "training"}


def test_every_example_is_listed() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert {name for name in names if not name.startswith("train_")} == set(ESSENTIAL) | SHARED


@pytest.mark.parametrize("name", sorted(ESSENTIAL))
def test_example(name: str, tmp_path: Path) -> None:
    output = _run(name, tmp_path)
    for pattern in ESSENTIAL[name]:
        assert re.search(pattern, output), f"{pattern!r} is not in\n{output}"
    assert "\033" not in output, "colour in a pipe"
    assert list(tmp_path.iterdir()) == [], "files left behind"


def test_the_demo_takes_a_few_seconds(tmp_path: Path) -> None:
    start = time.perf_counter()
    _run("demo", tmp_path)
    assert time.perf_counter() - start < 10


def _run(name: str, folder: Path) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
