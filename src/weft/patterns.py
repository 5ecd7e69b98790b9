"""What patterns for `weft.replace_pattern` may hold besides calls.

A pattern is a function; its parameters match whatever stands in their place, node or constant. Annotate a parameter to
restrict it, and use `one_of` where any of several functions will do:

    >>> import weft
    >>> from weft import patterns
    >>> activation = patterns.one_of(weft.sin, weft.cos)
    >>> def scaled(x: patterns.value, c: patterns.number):
    ...     return activation(x * c)
    >>> def unscaled(x, c):
    ...     return activation(x) * c
    >>> gm = weft.symbolic_trace(lambda x, y: weft.sin(x * 2) + weft.cos(x * y))
    >>> [match.bindings for match in weft.replace_pattern(gm, scaled, unscaled)]
    [{'x': x, 'c': 2}]
    >>> print(gm.code)
    def forward(self, x, y):
        sin_1 = weft.sin(x)
        mul_2 = sin_1 * 2;  sin_1 = None
        mul_1 = x * y;  x = y = None
        cos = weft.cos(mul_1);  mul_1 = None
        add = mul_2 + cos;  mul_2 = cos = None
        return add
    <BLANKLINE>

Conditions of your own go in `guards={"c": lambda c: c > 0}` and `where=lambda match: ...`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._listing import listing as _listing
from weft.graph._match import InternalMatch, SubgraphMatcher
from weft.graph._rewrite import Match, ReplacedPatterns
from weft.graph._wildcards import OneOf, Restriction, is_constant, is_node, is_number

__all__ = [
    "InternalMatch",
    "Match",
    "OneOf",
    "ReplacedPatterns",
    "SubgraphMatcher",
    "constant",
    "number",
    "one_of",
    "value",
]

constant: Any = Restriction(
    "constant", is_constant, "Matches what is known while tracing: numbers, strings, dtypes, tuples of them."
)
value: Any = Restriction("value", is_node, "Matches the result of another node, never a constant.")
number: Any = Restriction("number", is_number, "Matches a Python or NumPy number written in the program.")


def one_of(*choices: Callable[..., Any] | str) -> OneOf:
    """A function for patterns that matches any of several; a string names a method.

    The replacement may use the same object: it calls the function that was found.

    >>> one_of(len, "relu")
    one_of(len, relu)
    """
    return OneOf(*choices)


__dir__ = _listing(__name__)
