"""Which values the derivative rules of an op read: what a tape must keep, and what it can let go.

Read off the rules themselves. A parameter that a rule's code never loads is not needed, so `x + y` keeps neither x nor
y; nor is one of which it asks only the shape or dtype. Whatever else is loaded counts as read.
"""

from __future__ import annotations

import dis
import inspect
from types import FunctionType
from typing import Any

RESULT = "y"

_DESCRIBING = frozenset({"shape_of", "dtype_of"})  # functions that ask for a description of their argument
_DESCRIPTIONS = frozenset({"shape", "dtype", "ndim"})
_SILENT = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "RESUME", "NOP"})


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
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _SILENT]
    # What is loaded is used by what follows, so the last instruction, a return, loads nothing.
    for before, instruction, after in zip(
        [instructions[0], *instructions], instructions, instructions[1:], strict=False
    ):
        if instruction.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST_LOAD_FAST")):
            value = instruction.argval
            described = before.argval in _DESCRIBING and after.opname == "CALL" and after.arg == 1
            if isinstance(value, tuple):
                loaded.update(value)
            elif not described and not (after.opname == "LOAD_ATTR" and after.argval in _DESCRIPTIONS):
                loaded.add(value)
    read = {name for name, own in zip(named, positional, strict=False) if own in loaded}
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] in loaded:
        read.update(named[len(positional) :])
    return frozenset(read)
