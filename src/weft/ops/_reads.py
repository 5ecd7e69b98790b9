"""Which values the derivative rules of an op read: what a tape must keep, and what it can let go.

Read off the rules themselves. A parameter that a rule's code never loads is not needed, so `x + y` keeps neither x nor
y. What is loaded counts as read, even where only its shape is used.
"""

from __future__ import annotations

import dis
import inspect
from types import FunctionType
from typing import Any

RESULT = "y"


def values_read(rule: Any, parameters: list[str]) -> frozenset[str]:
    """The parameters (and `y`, the result) whose values a rule called as rule(g, y, *parameters) may read."""
    offset = 1
    if hasattr(rule, "slope"):  # of a pointwise family, called as slope(y, *parameters)
        rule, offset = rule.slope, 0
    named = [*["g"][:offset], RESULT, *parameters]
    if not isinstance(rule, FunctionType):
        return frozenset(named)
    code = rule.__code__
    positional = code.co_varnames[: code.co_argcount]
    loaded = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST_LOAD_FAST")):
            value = instruction.argval
            loaded.update(value if isinstance(value, tuple) else (value,))
    read = {name for name, own in zip(named, positional, strict=False) if own in loaded}
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] in loaded:
        read.update(named[len(positional) :])
    return frozenset(read)
