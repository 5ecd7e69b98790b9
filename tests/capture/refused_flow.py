"""Branches, loops and calls that cannot be captured, by front end; see refused.py."""

from __future__ import annotations

import itertools

import numpy as np
from refused import READINGS, instead, refused

# Branches whose sides disagree

SIDES = "give it the same shape and dtype on both sides"


@refused(
    "Branches that disagree",
    "a variable that only one side assigns",
    "top is assigned on one side of a branch only: at line 3, but not where the condition of line 2 is false",
    at="top",
    help="assign top before, or on every path",
)
def one_side_assigns(x):
    if x.max() > 0:
        top = x.max()
    return x / top


@instead
def both_sides_assign(x):
    top = 1.0
    if x.max() > 0:
        top = x.max()
    return x / top


@refused(
    "Branches that disagree",
    "results that differ inside",
    "the two sides of the branch at line 2 disagree on the result[1]['top']: a tuple of 2 and an array float64[x_0] "
    "(at line 3 and at line 4)",
    at="x.sum() > 0",
    help=SIDES,
)
def insides_of_results(x):
    if x.sum() > 0:
        return 1, {"top": (x, x.max())}
    return 2, {"top": x}


# Loops

CARRIED = "start with {} of the type it has in the loop"


@refused(
    "Loops",
    "a loop that nothing ends",
    "nothing traced ends the loop at line 2",
    at="True",
    help="end it by a condition on a value that the loop computes: while x.max() > 1, or if ...: break",
)
def endless(x):
    while True:
        x = x / 2


@refused(
    "Loops",
    "a condition that prints",
    "the condition of a `while` that writes, prints or raises",
    at="(print(x.max()) or x.max()) > 1",
    help="compute it in the body, and test a variable",
)
def condition_prints(x):
    while (print(x.max()) or x.max()) > 1:
        x = x / 2
    return x


@instead
def body_prints(x):
    top = x.max()
    print(top)
    while top > 1:
        x = x / 2
        top = x.max()
        print(top)
    return x


@refused(
    "Loops",
    "a `yield` under a traced condition",
    "a `yield` under a traced condition (line 4)",
    at="value > 0",
    help="append to a list; or make the generator a function of the module, and take list(...) of it",
)
def yields(x):
    def positive():
        for value in x:
            if value > 0:
                yield value

    return sum(positive())


@instead
def sums_in_a_loop(x):
    total = 0.0
    for value in x:
        if value > 0:
            total += value
    return total


# Tracing takes one path


@refused(
    "weft.trace takes one path",
    "a branch on a value",
    "a branch on a traced value: its value is known only when the graph runs",
    at="x.sum() > 0",
    help="weft.script and weft.compile capture both sides; or choose with np.where(condition, a, b)",
    front_end="trace",
)
def branches(x):
    if x.sum() > 0:
        return x
    return -x


@instead
def selects(x):
    return np.where(x.sum() > 0, x, -x)


@refused(
    "weft.trace takes one path",
    "a loop that a value ends",
    "a branch on a traced value: its value is known only when the graph runs",
    at="x.max() > 1",
    help="weft.script and weft.compile capture both sides; or choose with np.where(condition, a, b)",
    front_end="trace",
)
def halves(x):
    while x.max() > 1:
        x = x / 2
    return x


@instead
def halves_at_once(x):
    return x / 2.0 ** np.maximum(np.ceil(np.log2(x.max())), 0)


# Scripts know nothing of their arguments


@refused(
    "weft.script knows no arguments",
    "an argument of unknown length in code that is not captured",
    "a loop over a value of unknown length, in code that is not captured",
    at="itertools.pairwise(x)",
    help="loop over it with `for`",
    front_end="script",
)
def unknown_length(x):
    return [b - a for a, b in list(itertools.pairwise(x))]


@refused(
    "weft.script knows no arguments",
    "an argument that a pattern takes apart",
    "a sequence pattern on a value of which the type or the length is known only when the graph runs",
    at="[first, last]",
    help="take its parts first, as in `a, b = value`, and write the cases as `if` and `elif`",
    front_end="script",
)
def taken_apart(x):
    match x:
        case [first, last]:
            return first - last
    return x[0]


@instead
def asked_for_its_length(x):
    if len(x) == 2:
        return x[0] - x[1]
    return x[0]


@refused(
    "weft.script knows no arguments",
    "a recursion that an argument ends",
    "halve_often calls itself without end: what would stop it is known only when the graph runs",
    READINGS,
    3,
    at="halve_often(x / 2, n - 1)",
    help="write it as a loop",
    front_end="script",
)
def halve_often(x, n):
    return x if n == 0 else halve_often(x / 2, n - 1)


@instead
def halve_in_loop(x, n):
    for _ in range(n):
        x = x / 2
    return x
