"""All ufuncs and operators of NumPy in compiled functions, over pairs of types: values, dtypes, arrays or scalars."""

from __future__ import annotations

import numpy as np
import pytest
from surface import check_captured, function_of, values

ONE = "p x X f i u b c z k r t w ns ni nf nb nu nc e l q".split()
TWO = "x,y x,k k,x x,r r,f f,k i,k u,k u,i i,i8 b,b b,k c,w c,x k,r ns,k ni,r nf,r nu,k nu,nu".split()
TWO += "z,r e,e l,x x,l t,t z,z".split()
METHODS = (
    *("reduce(x)", "reduce(X, axis=1)", "reduce(i)", "reduce(X, axis=0, keepdims=True)", "reduce(b)"),
    *("reduce(X, where=B, initial=1)", "accumulate(x)", "accumulate(X, axis=1)", "outer(x, y)", "outer(i, X)"),
    *("outer(k, x)", "outer(l, q)", "reduceat(x, [0, 2])", "reduce(u, dtype=float)", "accumulate(u)", "reduce(l)"),
)
OPERATORS = "+ - * / // % ** & | ^ << >> < <= == != > >= @".split()
PAIRS = "x,y x,k k,x r,f f,k i,k u,k u,i i,i8 b,b b,k c,w k,r ns,k ni,r r,ni nf,r nu,k k,nu nu,nu nu,i8".split()
PAIRS += "z,r z,z k,k t,k w,k nb,t r,r l,x X,X S,S e,r neg,k neg,x nf,f zi,k S,x".split()
UFUNCS = sorted({getattr(np, name).__name__ for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} - {"isnat"})


def works(text: str) -> bool:
    """Whether plain Python gives a result."""
    function, names = function_of(text)
    try:
        with np.errstate(all="ignore"):
            function(*values(1, names))
    except (TypeError, ValueError):
        return False
    return True


def named(name: str) -> list[str]:
    """The calls of a ufunc and of its methods that plain Python takes."""
    ufunc = getattr(np, name)
    if ufunc.nin == 1:
        found = [f"np.{name}({a})" for a in ONE]
    else:
        found = [f"np.{name}({pair})" for pair in TWO]
        found += [f"np.{name}.{rest}" for rest in METHODS if ufunc.nout == 1 and ufunc.signature is None]
    return [text for text in found if works(text)]


@pytest.mark.parametrize("name", [name for name in UFUNCS if hasattr(np, name)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the samples lie outside the domain of some ufuncs
def test_ufuncs_as_plain(name: str) -> None:
    for text in named(name):
        check_captured(text)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as above
def test_operators_as_plain(operator: str) -> None:
    for pair in PAIRS:
        text = pair.replace(",", f" {operator} ")
        if works(text):
            check_captured(text)
