"""Derivatives of random programs that write parts of arrays whose bounds are computed: against differences."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from capture import random_programs

PARTS = [
    "{V}[{K} % n:] *= {V}[{K} % n:] * 0.5",
    "{V}[{index} % len({V}):] *= {V}[{index} % len({V}):] * 0.5",
    "{V}[{k} % n:] += {V}[{k} % n:] * {f}",
    "{V}[:{k} % 3 + 1] -= {W}[:{k} % 3 + 1]",
    "{M}[:, {k} % 3] = {M}[{k} % 3].copy()",
    "{M}[{k} % 2:, 0] *= {M}[{k} % 2:, 1]",
    "{V}[{k} % n:{k} % n + 2] *= {f}",
]
TOTAL = """
def total(a, b, m, s, v, n, k):
    a, b, m, v = a * 1, b * 1, m * 1, v * 1
    return weighed(program(a, b, m, v, n, k, s)) + np.sum(a) + np.sum(m)
"""
# Found by a search over the first thousand: of these, sizes decided something in copies of bodies of loops.
SEEDS = (33, 51, 88, 143, 144, 207, 365, 373, 397, 466, 551, 667, 763, 812)


def weighed(result: Any) -> Any:
    """A number that depends on all floats of a result."""
    total = 0.0
    for part in result if isinstance(result, tuple) else (result,):
        if part is not None and not isinstance(part, int):
            total = total + np.sum(part * 0.1)
    return total


def defined(seed: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("parts", "more parts"):
        monkeypatch.setitem(random_programs.STATEMENTS, name, PARTS)
    text = random_programs.Writer(seed).program() + TOTAL
    name = f"<random parts {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "weighed": weighed, "__name__": __name__}
    exec(compile(text, name, "exec"), space)
    return space["total"]


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function = defined(seed, monkeypatch)
    rng = np.random.default_rng(seed)
    varied = (rng.normal(size=4), rng.normal(size=4), rng.normal(size=(3, 4)), float(rng.normal()))
    rest = (rng.integers(0, 5, size=3), 3, 1)
    along = (np.ones(4), np.full(4, 0.5), np.full((3, 4), 0.25), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = weft.grad(function, (0, 1, 2, 3))(*varied, *rest)
        found = sum(float(np.sum(g * d)) for g, d in zip(gradient, along, strict=True))
        ahead, behind = (
            function(*(x + h * d for x, d in zip(varied, along, strict=True)), *rest) for h in (1e-6, -1e-6)
        )
    expected = (ahead - behind) / 2e-6
    assert np.isclose(found, expected, rtol=1e-3, atol=1e-3) or abs(expected) > 1e3
