"""The ufuncs of NumPy that the sweep calls, and in which ways: see `numpy_table` for the names of the arguments."""

from __future__ import annotations

import numpy as np

UFUNCS = {name: found for name in dir(np) if isinstance(found := getattr(np, name), np.ufunc)}

# `f` stands for the ufunc; `r q t c` are numbers of Python's: a float, an integer, a bool, a complex one.
OF_ONE = """
f(x) ;; f([v, w]) ;; f(x[0, 0]) ;; f(r) ;; f(q) ;; f(c) ;; f(x, casting='no') ;; f(x, casting='unsafe', dtype='d')
f(x, order='F') ;; f(x, subok=False)
"""
OF_TWO = """
f(x, y) ;; f(x, 2) ;; f(1.5, x) ;; f([v, w], v) ;; f(x[0, 0], y) ;; f(q, r) ;; f(x[0, 0], x[0, 1]) ;; f(x, r) ;; f(x, t)
f(r, x[0, 1]) ;; f(x, c) ;; f(q, x[0, 1]) ;; f(x, y, casting='no') ;; f(x, y, casting='unsafe', dtype='d')
f(x, y, order='F') ;; f(x, y, subok=False) ;; f.outer(v, w)
"""
METHODS_OF_TWO = """
f.reduce(x) ;; f.reduce(x, axis=1) ;; f.reduce(x, 1, None, None, True) ;; f.reduce(x, axis=None)
f.reduce(x, initial=3) ;; f.reduce(x, axis=(0, 1)) ;; f.reduce(x, where=m, initial=1) ;; f.accumulate(x)
f.accumulate(x, 1) ;; f.reduceat(v, [0, 2]) ;; f.reduceat(x, k[:2], axis=1) ;; f.reduceat(v, indices=[0, 2])
f.reduce(x, keepdims=True, axis=0) ;; f.reduce([v, w]) ;; f.reduce(x, initial=None)
"""
DTYPE_OF_TWO = """
f(x, y, dtype=D) ;; f.reduce(x, dtype=D) ;; f(x, 2, dtype=D) ;; f(x, y, dtype=D, casting='unsafe')
f.outer(v, w, dtype=D) ;; f.accumulate(x, dtype=D) ;; f.accumulate(x, 1, D) ;; f.reduceat(x, [0, 2], dtype=D)
"""
OUT_OF_ONE = "f(x, out=O) ;; f(x, O) ;; f(x, out=(O,), where=m) ;; f(x, out=O, casting='unsafe')"
OUT_OF_TWO = """
f(x, y, out=O) ;; f.reduce(x, out=O) ;; f(x, y, O) ;; f(x, y, out=(O,), where=m) ;; f(x, y, out=O, casting='unsafe')
f.accumulate(x, 1, None, O) ;; f.reduce(x, 1, None, O) ;; f.reduceat(x, [0, 2], out=O)
"""


def names() -> list[str]:
    """One name a ufunc, those with a signature of their own left out: they are functions of matrices."""
    return sorted(name for name, ufunc in UFUNCS.items() if ufunc.signature is None and name == ufunc.__name__)


def pairs(name: str) -> list[str]:
    """Calls of a ufunc of two arguments whose dtypes may differ: `P` stands for the second."""
    return [f"np.{name}(x, P)"] if UFUNCS[name].nin == 2 else []


def texts(name: str) -> tuple[list[str], list[str], list[str]]:
    """Calls of a ufunc; those with a dtype, and those with an array to write into."""
    ufunc = UFUNCS[name]
    one, single = ufunc.nin == 1, ufunc.nout == 1
    plain = _of(name, OF_ONE if one else OF_TWO) + (_of(name, METHODS_OF_TWO) if single and not one else [])
    if not single or one:
        dtyped = _of(name, "f(x, dtype=D)" if one else "f(x, y, dtype=D) ;; f(x, 2, dtype=D) ;; f.outer(v, w, dtype=D)")
    else:
        dtyped = _of(name, DTYPE_OF_TWO)
    return plain, dtyped, (_of(name, OUT_OF_ONE if one else OUT_OF_TWO) if single else [])


def _of(name: str, table: str) -> list[str]:
    cells = (text.strip() for line in table.splitlines() for text in line.split(";;"))
    return [f"np.{name}{text[1:]}" for text in cells if text]
