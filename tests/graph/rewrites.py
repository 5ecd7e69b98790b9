"""What the tests of patterns share: inputs, and a rewrite with its code and matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft

X = np.array([-1.5, -0.25, 0.5, 2.0])
Y = np.array([3.0, -2.0, 1.0, 0.5])


def lines(gm: weft.GraphModule) -> list[str]:
    """The generated code without signature and releases."""
    return [line.split(";")[0].strip() for line in gm.code.splitlines()[1:]]


def rewritten(
    program: Callable[..., Any], pattern: Any, replacement: Any, **options: Any
) -> tuple[list[str], list[Any]]:
    gm = weft.symbolic_trace(program)
    matches = weft.replace_pattern(gm, pattern, replacement, **options)
    gm.graph.lint()
    return lines(gm), matches
