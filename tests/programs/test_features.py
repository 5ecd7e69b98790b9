"""How features are found: in the syntax, and by watching a run."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from programs._compare import observed
from programs._program import Program
from programs._seen import seen
from programs._seen_calls import calls
from programs._seen_statements import statements
from programs._watched import WATCHED

# One line of source, and exactly the features that the walk must find in it.
SNIPPETS = [
    ("if x: y = 1", {"if"}),
    ("if x: y = 1\nelif z: y = 2\nelse: y = 3", {"if", "elif", "else"}),
    ("if x:\n y = 1\nelse:\n if z: y = 2", {"if", "else"}),
    ("while x: break", {"while", "break"}),
    ("while x:\n for y in z: continue", {"while", "nested loops", "continue"}),
    ("for i in range(n):\n if i: a[i] = 1\nelse: b = 2", {"for over range", "if", "branch in a loop", "else on a loop"}
     | {"write in a loop", "write in a branch"}),
    ("for i in range(9, 0, -1): x", {"for over range", "range with a step"}),
    ("[x for x, y in zip(a, b)]", {"list comprehension", "for over zip"}),
    ("{k: 1 for k in reversed(a)}", {"dict comprehension", "for over reversed"}),
    ("any(x for i, x in enumerate(a))", {"generator expression", "for over enumerate"}),
    ("x = y if z and not w or v else 0", {"conditional expression", "and", "or", "not"}),
    ("0 < x < 1", {"chained comparison"}),
    ("0 < x", set()),
    ("assert x", {"assert"}),
    ("a[i, :j] += w", {"augmented assignment", "a[i] += v", "a[i, :j] += w"}),
    ("a[i] -= w", {"augmented assignment", "a[i] += v"}),
    ("a[:] = a[..., :] = 1", {"a[:] = v", "chained assignment"}),
    ("a[1:] = 1", {"a[i:j] = v"}),
    ("a[i] = 1", set()),
    ("x.shape = 3", {"x.shape ="}),
    ("a, *b = c", {"tuple unpacking", "starred unpacking"}),
    ("x <<= 2", {"augmented assignment", "bit arithmetic"}),
    ("n = x.shape[0] // 2", {"shape arithmetic"}),
    ("with f(): g(h := 1)", {"with", "walrus"}),
    ("def f(x):\n if x: return 1\n return 2", {"if", "early return"}),
    ("def f(x):\n return f(x - 1)", {"recursion"}),
    ("def f(x):\n def g(y=1): return y\n return g", {"nested function", "default argument"}),
    ("def f(x):\n g = lambda y: x + y\n return g(1)", {"lambda", "closure"}),
    ("np.add(x, y, out=z)", {"out="}),
    ("np.add.at(x, i, y)", {"np.add.at"}),
    ("np.add.outer(x, y)", {"np.add.outer"}),
    ("np.outer(x, y)", {"np.outer"}),
    ("x.sort()", {".sort()"}),
    ("np.sort(x)", {"sorting"}),
    ("np.array([1, 2])", set()),
    ("np.array([[x, 2]])", {"np.array of values"}),
    ("np.histogram(x, weights=w)", {"np.histogram", "np.histogram with weights"}),
    ("np.nanmean(x), np.nan", {"nan-functions"}),
    ("np.linalg.norm(x), np.fft.fft(x)", {"np.linalg", "np.fft"}),
    ("x[:, None], x @ y", {"broadcasting", "@"}),
    ("max(1j, int(z))", {"max", "int", "complex numbers"}),
    ("f(x=1), len(x), print(x, end=y)", {"keyword argument", "len", "print"}),
    ("math.sin(x)", {"math.*"}),
    ("try: x\nexcept KeyError: raise", {"try", "raise"}),
    ("f'{x}'", {"f-string"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SNIPPETS, ids=[source for source, _ in SNIPPETS])
def test_what_the_walk_sees(source: str, expected: set[str]) -> None:
    tree = ast.parse(source)
    assert statements(tree) | calls(tree) == expected


LIMIT = 3


def _helper(buffer, k):
    buffer[k] = LIMIT


def _caller(a):
    return _helper(a, 1), sorted(a, key=_helper)


def test_the_walk_follows_helpers_and_constants() -> None:
    assert seen(_caller) == {"helper function", "write in a helper", "module constant", "function as argument"}


def _reads(a, k):
    return a[1:k][0] + a[[0, 1]].sum() + a[:2].sum()


def _writes(a, k):
    a[a > 0] = 0
    a[np.array([0, 1])] += 1
    a[k] = 2
    a += 1
    k += 1


def _loops(a, k):
    for i in range(1, k + 1):
        for _ in range(i):
            a[:i]
    for _ in a:
        k = k + a[a > k].size


def _down(a, k):
    for _ in range(k, 0, -1):
        a[:k]


def _bounds(a, k):
    return a[int(k) : np.int64(3)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_reads, set()),
        (_writes, {"a[mask] = v", "a[idx] = v", "a[i] = v", "x += 1 on an array"}),
        (
            _loops,
            {"traced range bounds", "traced slice bounds", "for over an array", "mask selection"},
        ),
        (_down, {"range with a negative step"}),
        (_bounds, {"array values bound a slice"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_run_shows(function, expected) -> None:
    entry = Program("features", function, (lambda rng: (np.arange(4.0), 2),), False, True, ())
    assert observed(entry) & WATCHED == expected


def _nothing(a):
    a[0] = 1


def _same(a):
    return a


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_nothing, {"writes argument", "returns nothing"}),
        (_same, set()),
        (lambda a: (a,), {"returns a tuple"}),
        (lambda a: {"a": a}, {"returns a dict"}),
        (lambda a: [a], {"returns a list"}),
        (lambda a: len(a), {"returns a Python number"}),
        (lambda a: a.sum(), {"returns a NumPy scalar"}),
    ],
)
def test_what_the_outcome_shows(function, expected, monkeypatch) -> None:
    entry = Program("features", function, (lambda rng: (np.zeros(3),),), False, True, ())
    monkeypatch.setattr("programs._compare.watched", lambda program: (program.function, type("", (), {"found": set()})))
    assert observed(entry) == expected
