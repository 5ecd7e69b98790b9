"""Texts of expressions and statements, each run as a function of its own: plainly, and compiled.

The names a text uses are its parameters. The same compiled function is called with arguments of one size, of another,
and of the first again; results, arguments afterwards, printed text and the state of random generators are compared.
"""

from __future__ import annotations

import ast
import cmath
import contextlib
import copy
import functools
import io
import itertools
import linecache
import math
import operator
import os
import random
import sys
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from programs._compare import _same
from weft.capture._compile import CompiledFunction
from weft.errors import TraceError

RTOL = 1e-12  # a sum may be taken in another order
_MODULES = (np, math, cmath, operator, itertools, functools, random, weft, uuid, os, io, sys)
_SPACE = {module.__name__.replace("numpy", "np"): module for module in _MODULES}


def arguments(which: int) -> dict[str, Any]:
    """Values for all names, of one of two sizes: arrays of each dtype and rank, numbers, lists."""
    g = np.random.default_rng(which)
    n, m = ((5, 3), (7, 4))[which]
    made = {
        "x": g.normal(size=n),
        "y": g.normal(size=n),
        "p": g.random(n) * 0.8 + 0.1,
        "X": g.normal(size=(n, m)),
        "Y": g.normal(size=(n, m)),
        "S": g.normal(size=(n, n)) + n * np.eye(n),
        "T3": g.normal(size=(2, n, m)),
        "f": g.normal(size=n).astype(np.float32),
        "F": g.normal(size=(n, m)).astype(np.float32),
        "i": g.integers(-9, 9, n),
        "I": g.integers(0, 9, (n, m)),
        "j": g.integers(0, n, n),
        "u": g.integers(0, 255, n).astype(np.uint8),
        "i8": g.integers(-100, 100, n).astype(np.int8),
        "b": g.random(n) > 0.5,
        "B": g.random((n, m)) > 0.5,
        "c": g.normal(size=n) + 1j * g.normal(size=n),
        "C": g.normal(size=(n, m)) + 1j * g.normal(size=(n, m)),
        "z": np.array(g.normal()),
        "zi": np.array(which + 3),
        "k": which + 2,
        "r": 0.5 + which,
        "neg": -1.5 - which,
        "t": bool(which),
        "w": 1.5 + which * 1j,
        "ns": np.float64(0.7 + which),
        "ni": np.int64(3 + which),
        "nf": np.float32(1.5 + which),
        "nb": np.bool_(which),
        "nu": np.uint8(200 + which),
        "nc": np.complex128(1 + 2j * which),
        "e": np.empty(0),
        "E": np.empty((0, m)),
        "l": g.normal(size=4).tolist(),
        "q": g.integers(0, 9, 4).tolist(),
        "big": 2**40 + which,
        "nan": np.where(g.random(n) > 0.7, np.nan, g.normal(size=n)),
    }
    made["b"][0] = made["B"][0, 0] = True
    return made


_MADE = [arguments(which) for which in (0, 1)]
_NAMES = frozenset(_MADE[0])
_counter = itertools.count()


def values(which: int, names: list[str]) -> list[Any]:
    """Fresh values for some names."""
    return copy.deepcopy([_MADE[which][name] for name in names])


def texts(table: str) -> list[str]:
    """The texts of a table: one a line, or several between `;;`."""
    return [text.strip() for line in table.splitlines() for text in line.split(";;") if text.strip()]


def function_of(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A function with source that runs a text, and the names of its parameters."""
    tree = ast.parse(text.replace("\\n", "\n"))
    names = list(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in _NAMES))
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Return(tree.body[-1].value)
    body = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    source = f"def f({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
    file = f"<surface {next(_counter)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = dict(_SPACE)
    exec(compile(source, file, "exec"), space)
    return space["f"], names


def _outcome(function: Callable[..., Any], args: list[Any]) -> tuple[Any, ...]:
    """What a caller notices: the result, the arguments, what is printed, the state of NumPy's generator."""
    np.random.seed(7)
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        contextlib.redirect_stderr(io.StringIO()) as errors,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # both runs warn alike; what they compute is compared
        result = function(*args)
    kind, keys, *rest = np.random.get_state()
    return result, args, (printed.getvalue(), errors.getvalue()), (kind, keys.tobytes(), *rest)


def check_captured(text: str) -> None:
    """Assert that a text is captured and does what it does plainly."""
    function, names = function_of(text)
    compiled = CompiledFunction(function, "numpy", None)
    fallen: list[Any] = []
    plainly = compiled._plainly
    compiled._plainly = lambda *given: (fallen.append(given[-1]), plainly(*given))[1]  # type: ignore[method-assign]  # watched
    for which in (0, 1, 0):
        expected = _outcome(function, values(which, names))
        got = _outcome(compiled, values(which, names))
        assert not fallen, f"ran as plain Python: {fallen[0]!r}"
        _same("result", got[0], expected[0], RTOL)
        for name, one, other in zip(names, got[1], expected[1], strict=True):
            _same(name, one, other, RTOL)
        assert got[2:] == expected[2:]


def check_raises(text: str) -> None:
    """Assert that a text raises, plainly and compiled, the same error with the same words."""
    function, names = function_of(text)
    compiled = CompiledFunction(function, "numpy", None)
    for which in (0, 1):
        errors = []
        for one in (function, compiled):
            try:
                _outcome(one, values(which, names))
            except TraceError:
                raise
            except Exception as error:
                errors.append((type(error), str(error)))
        assert len(errors) == 2, f"{errors} of two"
        assert errors[0] == errors[1]


def refusal_of(text: str) -> str:
    """The words with which a text is refused."""
    function, names = function_of(text)
    compiled = CompiledFunction(function, "numpy", None)
    try:
        _outcome(compiled, values(0, names))
    except TraceError as error:
        return str(error)
    raise AssertionError(f"{text} was captured")
