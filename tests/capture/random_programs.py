"""Writes random NumPy programs: nested control flow over arrays that are aliased, viewed, written and rebound.

The writer knows of each variable whether it is a number, a vector as long as the argument `a`, a vector of another
length, or a matrix of the shape of `m`, so that most programs run to their end. Every loop ends by itself.
"""

from __future__ import annotations

import linecache
import random
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

_NUMBERS = count()

HELPERS = """
def fill_first(x, value):
    x[0] = value

def shift(x, by):
    x[1:] = x[:-1] * by
    return x

def halve_some(x, limit):
    for j in range(len(x)):
        if x[j] > limit:
            x[j] *= 0.5
            continue
        x[j] += 0.25

def tail(x):
    return x[1:]

def first_above(x, limit):
    for j in range(len(x)):
        if x[j] > limit:
            return j
    return -1

def bumped(x, by):
    y = x.copy()
    y += by
    return y

def either(x, y, flag):
    if flag > 0:
        x[0] = flag
        return y + 1
    return x * 2
"""

# In braces, names: V and W vectors, O any vector, M and N matrices, I integers, F a float, K an int, each one variable
# wherever it stands in a line; expressions, new each time: v, o, m, w, f, k and t (a test); `at O` an index into O.
LEAVES = {
    "f": ["{F}", "{F}", "0.5", "1.5", "-0.25"],
    "k": ["{K}", "{K}", "{index}", "{index}", "1", "3", "-1"],
    "v": ["{V}.copy()", "np.zeros(len({V}))", "{V} + {F}"],
    "t": ["{F} > {f}", "{K} > 1", "{V}[{at V}] > {F}", "{F} < 0", "{K} % 2 == 0", "{index} > 1"],
}
VALUES = {
    "f": [
        "({f} + {f})", "({f} - {f})", "{f} * 0.5", "np.tanh({f})", "min({f}, {f})", "({f} if {t} else {f})", "abs({f})",
        "{V}[{at V}]", "{V}[{at V}]", "{V}[{at V}]", "{M}[{at M}, {at M[0]}]", "{V}.sum() * 0.1", "{M}.mean()",
        "float({k})", "np.dot({V}, {W}) * 0.01", "max({V}[{at V}], {f})",
    ],
    "k": [
        "({k} + {k})", "({k} - {k})", "{k} % 5", "({k} * {k}) % 7", "max({k}, {k})", "({k} if {t} else {k})",
        "len({O})", "abs({k})", "first_above({O}, {f})", "{M}.shape[0]", "int({I}[0])", "int({I}[{at I}])",
    ],
    "v": [
        "{V} * 0.5 + {W}", "np.where({V} > {f}, {V}, {W})", "{V} - {W}", "np.tanh({V})", "np.maximum({V}, {f})",
        "{V}[::-1] + {W}", "bumped({V}, {f})", "either({V}, {W}, {f})", "np.roll({V}, {k})", "np.full(len({V}), {f})",
        "np.cumsum({V}) * 0.1", "{V} / (1.0 + {W} ** 2)", "np.sort({V})", "-{V}", "np.zeros_like({V})", "{V} + {f}",
    ],
    "o": [
        "{V}[1:]", "{V}[:-1]", "{V}[::2]", "{V}[::-1]", "tail({V})", "{V}[: 1 + {k} % len({V})]", "{M}[{at M}]",
        "{M}[:, 0]", "{M}[:, {at M[0]}]", "{M}.reshape(-1)", "{M}.ravel()", "{M}.T[0]", "{O}[{O} > {f}]",
        "np.diff({V})",
        "{O} * 2.0", "np.concatenate(({V}, {O}))", "{V}[-2::-1]", "{V}[{k} % 3 :]", "{V}[:: 1 + {k} % 2]",
    ],
    "m": [
        "{M}.copy()", "{M} * 0.5", "{M} + {N}", "np.zeros_like({M})", "{M} - {f}", "np.where({M} > {N}, {M}, {f})",
        "np.zeros({M}.shape)", "{M}.T.copy().T", "{M} @ {N}.T @ {M} * 0.01", "{M}[::-1]", "{M}[:, ::-1]", "{M}.T.T",
    ],
    "w": ["{I} + 1", "{I}.copy()", "{I} % 3", "np.arange(len({I}))", "{I}[::-1]", "-{I}", "{I} * {k}"],
    "t": [
        "{f} > {f}", "{k} > 1", "{k} % 2 == 0", "{k} < {k}", "{V}[{at V}] > {f}", "{V}.sum() > {f}", "{I}[{at I}] > 1",
        "{t} and {t}", "{t} or {t}", "not {t}", "{f} < {V}[{at V}] < {f}", "len({O}) > {k}", "({V} > {f}).any()",
    ],
    "at": ["0", "-1", "{k} % len(X)", "{index} % len(X)", "{index} % len(X)"],
}  # fmt: skip

STATEMENTS = {
    "numbers": ["{F} += {f}", "{F} -= {f}", "{F} *= 0.5", "{K} = min({K} + {k}, 9)", "{K} -= 1", "{F}, {G} = {G}, {F}"],
    "elements": [
        "{V}[{at V}] = {f}", "{V}[{at V}] += {f}", "{V}[{at V}] *= {f}", "{V}[{at V}] = {W}[{at W}]",
        "if len({O}): {O}[{at O}] = {f}", "if len({O}): {O}[{at O}] += {f}", "{I}[{at I}] += {k}", "{I}[{at I}] = {k}",
        "{V}[{at V}], {V}[{at V}] = {V}[{at V}], {V}[{at V}]",
    ],
    "slices": [
        "{V}[1:] = {f}", "{O}[::2] += {f}", "{V}[:{k}] *= {f}", "{O}[{k}:] = {f}", "{V}[{k}:{k}] += {f}",
        "{O}[:] = {f}",
        "{V}[:{K}] = {V}[:{K}] * 0.5", "{O}[::-1] = {O} * 0.5", "{V}[1:] = {W}[:-1]", "{V}[:-1] = {W}[1:] * 0.5",
        "{V}[::-1] = {W}", "{V}[:] = {v}", "{V}[...] = {W}", "{V}[1:] += {V}[:-1]", "{V}[{k} % 3:] -= {f}",
        "{V}[:] = {V}[::-1]", "{V}[:{index}] += {f}", "{V}[{index}:] = {V}[{index}:] + {f}",
    ],
    "masks": [
        "{O}[{O} > {f}] = {f}", "{V}[{V} < {W}] += {f}", "{M}[{M} > {f}] *= 0.5", "{V}[{V} > {F}] = {W}[{V} > {F}]",
        "{O}[{O} > {F}] = {O}[{O} > {F}] * 0.5", "{V}[{I} % 2 == 0] = {f}", "{V}[{I} % len({V})] = {f}",
    ],
    "matrices": [
        "{M}[{at M}] = {f}", "{M}[:, {at M[0]}] += {f}", "{M}[{at M}, 1:] *= {f}", "{M}[{at M}] = {M}[{at M}]",
        "{M}.T[{at M.T}] += {f}", "{M}[1:, ::2] = {f}", "{M}[0] = {M}[:, 0] = {f}" , "{M}[1:] = {M}[:-1]",
        "{M}[:, 1:] += {M}[:, :-1]", "{M} += {f}", "{M}[{at M}, {at M[0]}] = {f}", "{M}[{at M}][0] = {f}", "{M} *= {N}",
    ],
    "arrays": [
        "{V} += {v}", "{V} -= {f}", "{V} *= 0.5", "{O} += {f}", "{O} *= {f}", "np.add({V}, {W}, out={U})",
        "np.multiply({V}, {f}, out={U})", "np.maximum({V}, {W}, out={V})", "np.subtract({V}[1:], {f}, out={W}[:-1])",
        "{O}.sort()", "{V}.fill({f})", "{M}.fill({f})", "{V}.sort()", "{O}.fill({f})",
    ],
    "calls": [
        "fill_first({V}, {f})", "shift({V}, {f})", "halve_some({V}, {f})", "fill_first({M}, {f})", "shift({M}, {f})",
        "halve_some({O}, {f})", "print({f})", "print({k}, {V}.sum())", "print('at', {O})", "print({k})",
        "assert {t} or {f} < 3.0, 'too far'", "assert {f} < 4.0", "fill_first({V}[1:], {f})", "halve_some({M}[0], {f})",
    ],
}  # fmt: skip

NAMES = {"v": "xyz", "o": "pq", "m": "gh", "w": "w", "k": "ij", "f": "tu"}
BOUND = {"V": "v", "W": "v", "U": "v", "M": "m", "N": "m", "I": "w", "F": "f", "G": "f", "K": "k"}

RANGES = [
    "3", "2", "n", "n", "len({V})", "len({V})", "1, len({V})", "len({V}) - 1, -1, -1", "n, 0, -1", "k, n", "0, 10",
    "0, 12, 3", "0, len({V}), 2", "{k}, {k}", "len({V}) - 2, 0, -2", "{M}.shape[0]", "9, -1, -1", "abs(k), n",
]  # fmt: skip
ITEMS = [  # what a `for` says, the floats and the indices among its targets
    ("e{0} in {V}", ["e{0}"], []),
    ("i{0}, e{0} in enumerate({V})", ["e{0}"], ["i{0}"]),
    ("e{0}, f{0} in zip({V}, {W})", ["e{0}", "f{0}"], []),
    ("e{0} in reversed({V})", ["e{0}"], []),
    ("i{0} in reversed(range(len({V})))", [], ["i{0}"]),
    ("i{0}, (e{0}, f{0}) in enumerate(zip({V}, {W}))", ["e{0}", "f{0}"], ["i{0}"]),
    ("e{0} in ({V}[0], {V}[-1], {F})", ["e{0}"], []),
    ("e{0} in {V}[1:]", ["e{0}"], []),
    ("i{0}, e{0} in enumerate({V}[::-1], 1)", ["e{0}"], ["i{0}"]),
]
ROWS = ["{0} += 1.0", "s += {0}.sum() * 0.1", "{0}[0] = s", "{0}[:] = {0}[::-1]", "{0}[1:] = {0}[:-1]"]
SHRINKING = ["{0} = {0}[1:]", "{0} = {0}[:-1]", "{0} = {0}[::2]", "{0} = {0}[1:] + {0}[:-1]"]
MEANWHILE = ["{0}[0] += 1.0", "s += {0}[0]", "if {0}[0] > s: break", "{0} *= 0.5"]


class Writer:
    """Writes one function of the arguments a, b (vectors), m (matrix), v (integers), n, k (int) and s (float)."""

    def __init__(self, seed: int, longest: int = 5, deepest: int = 3) -> None:
        self.random = random.Random(seed)
        self.longest, self.deepest = longest, deepest  # how many statements, and how many blocks inside blocks
        self.lines: list[str] = []
        self.loops = 0
        self.jumped = False  # whether the last statement left its block
        self.numbers = count()
        # The variables that hold a value of each kind wherever the writer is now.
        self.names = {"v": {"a", "b"}, "o": set(), "m": {"m"}, "w": {"v"}, "k": {"n", "k"}, "f": {"s"}, "index": set()}
        self.sloppy = self.random.random() < 0.25  # whether variables may be read that have no value on some path
        self.result = self.random.choice(["{F}, {V}", "{F}, {V}, {M}", "{F}, {V}, {O}", "{V}", "{F}", "{K}, {V}", None])

    def program(self) -> str:
        """The source of the function, after the helpers it calls."""
        self.line(0, "def program(a, b, m, v, n, k, s):")
        for _ in range(self.random.randint(0, 3)):
            self.assign(1)
        for _ in range(self.random.randint(2, self.longest)):
            self.statement(1)
            if self.jumped:
                break
        else:
            self.end(1)
        return HELPERS + "\n" + "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def chance(self, likely: float) -> bool:
        return self.random.random() < likely

    # Expressions

    def fill(self, template: str, depth: int = 2) -> str:
        """A template with its names and expressions filled in."""
        chosen: dict[str, str] = {}

        def replace(match: re.Match[str]) -> str:
            key = match[1]
            if key.startswith("at "):
                owner = re.sub(r"^[A-Z]", lambda m: name(m[0]), key[3:])
                return self.fill(self.random.choice(VALUES["at"]), 0).replace("X", owner)
            if key.isupper():
                return name(key)
            if key == "index":
                return self.random.choice(sorted(self.names["index"] or self.names["k"]))
            return self.value(key, depth - 1)

        def name(key: str) -> str:
            if key not in chosen:
                kind = BOUND.get(key) or ("o" if self.names["o"] and self.chance(0.5) else "v")
                chosen[key] = self.random.choice(sorted(self.names[kind]))
            return chosen[key]

        return re.sub(r"\{([A-Za-z][A-Za-z .\[\]0]*)\}", replace, template)

    def value(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        leaf = kind in LEAVES and (depth <= 0 or self.chance(0.3))
        return self.fill(self.random.choice((LEAVES if leaf else VALUES)[kind]), depth)

    # Statements

    def statement(self, depth: int) -> None:
        self.jumped = False
        compound = [self.if_] * 3 + [self.while_, self.for_range, self.for_range, self.for_items] * (self.loops < 2)
        if depth <= self.deepest and self.chance(0.5):
            self.random.choice(compound)(depth)
        elif depth > 1 and self.chance(0.12):
            self.jump(depth)
        elif self.chance(0.35):
            self.random.choice([self.assign, self.assign, self.assign, self.assign, self.alias, self.shrink])(depth)
        else:
            self.line(depth, self.fill(self.random.choice(STATEMENTS[self.random.choice(list(STATEMENTS))])))

    def assign(self, depth: int) -> None:
        kind = self.random.choice("ffkvvvooomw")
        value = self.value(kind)
        self.store(depth, kind, f"min({value}, 9)" if kind == "k" else value)

    def store(self, depth: int, kind: str, value: str) -> str:
        """Assign to a name, a new one or one of that kind; arguments are rebound too."""
        old = self.names[kind] and self.chance(0.45)
        name = self.random.choice(sorted(self.names[kind]) if old else NAMES[kind])
        self.line(depth, f"{name} = {value}")
        self.names[kind].add(name)
        return name

    def alias(self, depth: int) -> None:
        kind = self.random.choice("vvvm")
        both = {
            "v": ["{V}", "{V}, {W} = {W}, {V}", "{V} if {t} else {W}", "{V} if {t} else {W} * 2", "shift({V}, {f})"]
        }
        value = self.fill(self.random.choice(both.get(kind, ["{M}", "{M}.T.T", "{M}, {N} = {N}, {M}"])))
        if " = " in value:
            self.line(depth, value)
        else:
            self.store(depth, kind, value)

    def shrink(self, depth: int) -> None:
        name = self.store(depth, "o", self.fill(self.random.choice(["{V}.copy()", "{V}", "{O} + {f}"])))
        self.line(depth, f"while len({name}) > {self.random.choice(['2', '1', 'max(k, 1)'])}:")
        self.line(depth + 1, self.random.choice(SHRINKING).replace("{0}", name))
        if self.chance(0.6):
            self.line(depth + 1, self.random.choice(MEANWHILE).replace("{0}", name))

    def jump(self, depth: int) -> None:
        self.jumped = True
        if self.loops and self.chance(0.75):
            self.line(depth, self.random.choice(["break", "continue"]))
        else:
            self.end(depth)

    def end(self, depth: int) -> None:
        self.jumped = True
        if self.result is not None:
            self.line(depth, self.fill(f"return {self.result}"))
        else:
            self.line(depth, "return")

    # Control flow

    def block(self, depth: int, most: int = 3) -> dict[str, set[str]] | None:
        """Statements, and the names after them; None where they are left by a jump."""
        before = {kind: set(names) for kind, names in self.names.items()}
        for _ in range(self.random.randint(1, most)):
            self.statement(depth)
            if self.jumped:
                break
        after, self.names = self.names, before
        return None if self.jumped else after

    def keep(self, ends: list[dict[str, set[str]] | None]) -> None:
        """Go on with the names that all paths assign; where sloppy, with those of any."""
        left = [end for end in ends if end is not None]
        together: Any = set.union if self.sloppy else set.intersection
        self.names = {
            kind: together(*(end[kind] for end in left)) if left else names for kind, names in self.names.items()
        }
        self.jumped = not left

    def if_(self, depth: int) -> None:
        self.line(depth, f"if {self.value('t')}:")
        ends = [self.block(depth + 1)]
        while self.chance(0.25):
            self.line(depth, f"elif {self.value('t')}:")
            ends.append(self.block(depth + 1))
        if self.chance(0.5):
            self.line(depth, "else:")
            ends.append(self.block(depth + 1))
        else:
            ends.append(self.names)
        self.keep(ends)

    def while_(self, depth: int) -> None:
        counter, limit = (
            f"c{next(self.numbers)}",
            self.fill(self.random.choice(["min(n, 9)", "4", "len({V})", "min(k + 2, 9)", "12"])),
        )
        self.line(depth, f"{counter} = 0")
        self.line(depth, f"while {counter} < {limit}{self.fill(' and ({t})') if self.chance(0.4) else ''}:")
        self.line(depth + 1, f"{counter} += 1")
        self.loop(depth, [], [counter])

    def for_range(self, depth: int) -> None:
        name = f"i{next(self.numbers)}" if self.chance(0.7) else self.random.choice("ij")
        self.line(depth, f"for {name} in range({self.fill(self.random.choice(RANGES))}):")
        self.loop(depth, [], [name])

    def for_items(self, depth: int) -> None:
        number = str(next(self.numbers))
        if self.chance(0.2):
            self.line(depth, self.fill(f"for r{number} in {{M}}:"))
            self.line(depth + 1, self.random.choice(ROWS).replace("{0}", f"r{number}"))
            self.loop(depth, [], [])
            return
        head, floats, indices = self.random.choice(ITEMS)
        self.line(depth, self.fill(f"for {head}:".replace("{0}", number)))
        self.loop(depth, *([name.replace("{0}", number) for name in names] for names in (floats, indices)))

    def loop(self, depth: int, floats: list[str], indices: list[str]) -> None:
        before = {kind: set(names) for kind, names in self.names.items()}
        self.names["f"] |= set(floats)
        self.names["index"] |= set(indices)
        self.loops += 1
        after = self.block(depth + 1, 4)
        self.loops -= 1
        self.names = before
        self.keep([before, after])
        self.names["index"] = before["index"]
        if self.chance(0.2):
            self.line(depth, "else:")
            self.keep([before, self.block(depth + 1, 2)])
        self.jumped = False


def define(text: str) -> Callable[..., Any]:
    """The function `program` of a source text that Python keeps."""
    file = f"<random program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["program"]  # type: ignore[no-any-return]  # the text defines it


# Size of a, b and v; rows and columns of m; n, k and s.
_CASES = [(6, 3, 4, 5, 2, 0.5), (9, 4, 4, 3, 0, -1.25), (4, 2, 3, 9, 1, 2.0), (11, 3, 2, 0, -1, 0.0)]


def arguments(which: int) -> tuple[Any, ...]:
    """Fresh arguments; sizes and numbers differ from one `which`, of 0 to 3, to the next."""
    size, rows, columns, n, k, s = _CASES[which]
    numbers = np.random.default_rng(which)
    a, b = (np.round(numbers.normal(size=size), 2) for _ in range(2))
    m = np.round(numbers.normal(size=(rows, columns)), 2)
    return a, b, m, numbers.integers(-3, 6, size=size), n, k, s
