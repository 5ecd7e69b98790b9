"""Writes random programs that have derivatives: NumPy code with loops, branches, views, writes, and vmap and grad.

A program takes two vectors `a` and `b`, a square matrix `m` of as many rows, a number `s`, integers `v` and a count
`k`, and gives a number, or a number and a vector. What it computes stays small, so that differences tell its
derivatives. A `smooth` program has no kinks but where a comparison changes its outcome.
"""

from __future__ import annotations

import linecache
import math
import random
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

import weft

_NUMBERS = count()

HELPERS = """
def damped(x, by):
    x *= 0.5
    x[0] = by
    return x

def filtered(x, by):
    y = np.zeros_like(x)
    y[0] = x[0]
    for j in range(1, len(x)):
        y[j] = 0.4 * y[j - 1] * by + x[j]
    return y

def swapped(x, i, j):
    x[i], x[j] = x[j], x[i]

def early(x, limit):
    for j in range(len(x)):
        if x[j] > limit:
            return x[j] * limit
    return x.sum() * 0.1

def settle(x, target):
    steps = 0
    while abs(x * x - target) > 0.3 and steps < 6:
        x = 0.5 * (x + target / x)
        steps += 1
    return x

def swept(row, by):
    row[1:] += row[:-1] * by
    for j in range(len(row)):
        if row[j] > by:
            row[j] *= 0.5
    return row.sum() * 0.3

filtered_rows = weft.vmap(filtered, (0, None))
settled_rows = weft.vmap(settle)
swept_rows = weft.vmap(swept, (0, None))
swept_columns = weft.vmap(swept, (1, 0))
slope = weft.grad(lambda x, by: (filtered(x, by) ** 2).sum() * 0.2)
along = lambda x, by: weft.jvp(filtered, (x, by), (np.cos(x), by))[1]
"""

# In braces, names: V and W vectors, M and N matrices, I the integers, F a float, K an int, each one variable wherever
# it stands in a line; expressions, new each time: v, m, f, k and t (a test); `at` is an index.
VALUES = {
    "f": [
        "{F}", "{F}", "0.5", "{V}[{at}]", "{V}[{at}]", "{M}[{at}, {at}]", "({f} + {f})", "({f} - {f}) * 0.5",
        "{f} * {f} * 0.5", "np.tanh({f})", "math.sin({F})", "{f} / (1.0 + {f} ** 2)", "{V}.sum() * 0.2", "{M}.mean()",
        "np.dot({V}, {W}) * 0.2", "({f} if {t} else {f})", "early({V}, {f})", "float({V}[{at}])",
        "np.sqrt(1.0 + {f} ** 2)",
        "settle(1.0 + {f} ** 2, 2.0 + {f} ** 2)", "math.exp(-{F} * {F})", "np.linalg.norm({V}) * 0.2",
        "swept({V}.copy(), {f})", "np.float64({f})", "np.prod(1.0 + {V} * 0.1)", "-{f}", "{f} ** 2 * 0.3",
    ],
    "v": [
        "{V} * 0.5 + {W}", "{V} * {W}", "{V} - {W}", "np.tanh({V})", "np.sin({v})", "{V}[::-1] * {f}",
        "{M} @ {V} * 0.3",
        "{V} @ {M} * 0.3", "{M}[{at}]", "{M}[:, {at}]", "{M}.T[{at}]", "{V}[{I}]", "np.roll({V}, {k})",
        "np.cumsum({V}) * 0.3", "{V} / (1.0 + {W} ** 2)", "np.exp(-{V} ** 2)", "np.full(len({V}), {f})", "{V} + {f}",
        "filtered({V}, {f})", "np.where({I} % 2 == 0, {V}, {W})", "np.where({V} > {f}, {V}, {W} * 0.5)",
        "np.diag({M}) * 1.0",
        "{M}.sum(axis=0) * 0.3", "{M}.mean(axis=1)", "np.concatenate(({V}[1:], {W}[:1]))", "np.zeros_like({V})",
        "np.log(1.0 + {V} ** 2)", "np.linalg.solve(np.eye(len({V})) * 3.0 + np.tanh({M}) * 0.3, {V})", "{V}.copy()",
        "np.array([{f} for j in range(len({V}))])", "np.stack(({V}, {W}))[{k} % 2]", "np.outer({V}, {W})[{at}]",
        "np.einsum('i,ij->j', {V}, {M}) * 0.3", "{V} ** 2 * 0.4", "np.exp({V}) / np.exp({V}).sum()",
        "swept_rows({M}, {f})", "swept_columns({M}, {v})", "settled_rows(1.0 + {V} ** 2, 2.0 + {W} ** 2)",
        "slope({V}, {f})", "along({V}, {f})",
    ],
    "m": [
        "{M}.copy()", "{M} * 0.5", "{M} + {N}.T", "{M} @ {N} * 0.2", "np.outer({V}, {W})", "np.tanh({M})", "{M} * {V}",
        "{M}[::-1]", "{M}.T.copy()", "{M} - {f}", "np.diag({V}) + {M}", "{M}.reshape(-1).reshape({M}.shape)",
        "{V}[:, None] * {M}", "np.broadcast_to({V}, {M}.shape) * 0.5", "np.triu({M})", "filtered_rows({M}, {f})",
    ],
    "k": ["{K}", "{K}", "1", "2", "({k} + 1) % 3", "len({V}) // 2", "int({I}[0])"],
    "t": [
        "{f} > 0.1", "{V}[{at}] > {f}", "{K} % 2 == 0", "{k} > 1", "{V}.sum() > 0.0", "{f} < {f}", "{I}[{at}] > 1",
        "{t} and {t}", "not {t}", "({V} > 0.2).any()", "abs({f}) < 1.0",
    ],
    "at": ["0", "-1", "{k} % len(a)", "{I}[{k} % len(a)]", "1"],
}  # fmt: skip
KINKED = {
    "f": ["max({f}, {f})", "min({f}, {f})", "abs({f})", "{V}.max()", "np.maximum({f}, 0.1)", "np.median({V})"],
    "v": ["np.maximum({V}, {W})", "np.abs({V})", "np.sort({V})", "np.clip({V}, -0.5, 0.5)", "np.minimum({V}, {f})"],
    "m": ["np.maximum({M}, {f})", "np.abs({M})"],
}

STATEMENTS = [
    "{V}[{at}] = {f}", "{V}[{at}] += {f}", "{V}[{at}] *= {f}", "{M}[{at}, {at}] = {f}", "{M}[{at}] = {v}",
    "{M}[:, {at}] += {v}", "{M}[{at}] *= 0.5", "{V}[1:] = {W}[:-1] * {f}", "{V}[:-1] += {V}[1:] * 0.3",
    "{V}[::2] *= 0.5", "{V}[:] = {v}", "{V}[{I}] = {W}", "{V}[{I}] += {W} * 0.2", "{V}[{V} > 0.3] *= 0.5",
    "{V}[{I} % 2 == 0] = {f}", "{V}[{W} < 0.0] = {V}[{W} < 0.0] * 0.5", "{V} += {v}", "{V} *= 0.5", "{M} *= 0.5",
    "{M} += {f}", "{F} += {f}", "{F} = {F} * 0.5 + {f}", "{F}, {G} = {G}, {F} * 0.5", "damped({V}, {f})",
    "damped({M}[{at}], {f})", "swapped({V}, 0, {at})", "np.multiply({V}, {f}, out={W})",
    "np.add.at({V}, {I}, {W} * 0.2)",
    "{M}[{I}, {I}] = {V}", "{M}[1:, 1:] += {M}[:-1, :-1] * 0.2", "{M}[{M} > 0.5] = 0.3", "{V}.fill({f})",
    "{V}[...] = {W}", "{V}[::-1] = {W} * 0.5", "{M}.T[{at}] += {V} * 0.2", "{K} = ({K} + 1) % 5",
    "for {e} in {V}: {F} = {F} * 0.5 + {e} * 0.3", "for {i}, {e} in enumerate({V}): {W}[{i}] = {e} * {F}",
]  # fmt: skip
VIEWS = ["{M}[{at}]", "{M}[:, 0]", "{V}[:]", "{M}.T[1]", "{V}[::-1]", "{M}.diagonal().copy()"]
BOUND = {"V": "v", "W": "v", "M": "m", "N": "m", "F": "f", "G": "f", "K": "k"}
NAMES = {"v": "xyz", "m": "gh", "f": "pqr"}


class Writer:
    """Writes one program. Each block of it knows the variables that have a value there."""

    def __init__(self, choices: random.Random, smooth: bool = False, longest: int = 4) -> None:
        self.random = choices
        self.values = VALUES if smooth else {kind: [*lines, *KINKED.get(kind, [])] for kind, lines in VALUES.items()}
        self.longest = longest
        self.lines: list[str] = []
        self.numbers = count()
        self.loops = 0
        self.names = {"v": {"a", "b"}, "m": {"m"}, "f": {"s"}, "k": {"k"}}

    def program(self) -> str:
        """The source: `program` gives a number, `several` a number and a vector."""
        self.line(1, "a, b, m = a.copy(), b.copy(), m.copy()")
        for _ in range(self.random.randint(2, self.longest)):
            self.statement(1)
        result = self.fill("{f} + np.sin({V}).sum() + ({M} * {N}).sum() * 0.1, {V} * {W}", 1)
        body = "\n".join(self.lines)
        head = "(a, b, m, s, v, k):\n"
        several = f"def several{head}{body}\n    return {result}\n"
        return f"{HELPERS}\n{several}\ndef program{head}    return several(a, b, m, s, v, k)[0]\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def chance(self, likely: float) -> bool:
        return self.random.random() < likely

    def fill(self, template: str, depth: int = 2) -> str:
        """A template with its names and expressions filled in."""
        chosen: dict[str, str] = {}

        def replace(match: re.Match[str]) -> str:
            key = match[1]
            if key == "I":
                return "v"
            if key in ("e", "i"):
                return chosen.setdefault(key, f"{key}{next(self.numbers)}")
            if key.isupper():
                return chosen.setdefault(key, self.random.choice(sorted(self.names[BOUND[key]])))
            if key == "at":
                return self.fill(self.random.choice(self.values["at"]), 0)
            return self.value(key, depth - 1)

        return re.sub(r"\{([A-Za-z]+)\}", replace, template)

    def value(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        if depth <= 0:
            leaf = {"f": "{F}", "v": "{V}", "m": "{M}", "k": "{K}", "t": "{F} > 0.1"}[kind]
            return self.fill(leaf, 0)
        return self.fill(self.random.choice(self.values[kind]), depth)

    def statement(self, depth: int) -> None:
        if depth <= 3 and self.chance(0.4):
            self.random.choice([self.if_, self.while_, self.for_, self.for_])(depth)
        elif self.chance(0.45):
            kind = self.random.choice("ffvvvm")
            name = self.random.choice(sorted(self.names[kind] | set(NAMES[kind])))
            view = kind == "v" and self.chance(0.2) and depth == 1
            self.line(depth, f"{name} = {self.fill(self.random.choice(VIEWS)) if view else self.value(kind)}")
            self.names[kind].add(name)
        else:
            self.line(depth, self.fill(self.random.choice(STATEMENTS)))

    def block(self, depth: int) -> None:
        before = {kind: set(names) for kind, names in self.names.items()}
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)
        self.names = before

    def if_(self, depth: int) -> None:
        self.line(depth, f"if {self.value('t')}:")
        self.block(depth + 1)
        if self.chance(0.5):
            self.line(depth, "else:")
            self.block(depth + 1)

    def while_(self, depth: int) -> None:
        number = next(self.numbers)
        self.line(depth, f"c{number} = 0")
        self.line(depth, f"while c{number} < 3 and {self.value('t', 1)}:")
        self.line(depth + 1, f"c{number} += 1")
        self.turn(depth + 1, f"c{number}")

    def for_(self, depth: int) -> None:
        number = next(self.numbers)
        turns = self.random.choice(["2", "k", "len(a)", "1, len(b)", "len(a) - 1, -1, -1", "0, len(a), 2"])
        self.line(depth, f"for i{number} in range({turns}):")
        self.turn(depth + 1, f"i{number}")

    def turn(self, depth: int, index: str) -> None:
        before = self.names
        self.names = {kind: set(names) for kind, names in before.items()}
        self.names["k"].add(index)
        if self.chance(0.3):
            jump = self.random.choice(["break", "continue"])
            self.line(depth, f"if {self.value('t', 1)}: {jump}")
        self.block(depth)
        self.names = before


def define(text: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions `program` and `several` of a source text that Python keeps."""
    file = f"<derivative program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "math": math, "weft": weft}
    exec(compile(text, file, "exec"), space)
    return space["program"], space["several"]


def arguments(seed: int, size: int, dtype: Any = np.float64) -> tuple[Any, ...]:
    """Fresh arguments: a, b, m, s that vary, v and k that do not."""
    numbers = np.random.default_rng(seed)
    a, b, m = (numbers.uniform(-1, 1, shape).astype(dtype) for shape in (size, size, (size, size)))
    return a, b, m, float(numbers.uniform(-1, 1)), numbers.integers(0, size, size), int(numbers.integers(1, 4))
