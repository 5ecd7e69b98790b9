"""Text that a captured program gives to `eval` or `exec`.

It runs once, at capture, and is not converted. So it may compute from the variables of the function, and nothing else:
what reads or changes anything outside, prints or draws is refused.

    eval("a * np.sin(x)")       # captured
    eval("print(x)")            # refused
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._changes import may_change_unseen

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_BUILTINS = frozenset({abs, len, round, pow, divmod, list, tuple})
_MAKES = (ast.Lambda, ast.comprehension, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
_HELP = "write it as code"


def check_text(recorder: Recorder, text: Any, frame: types.FrameType, spaces: bool) -> None:
    """Refuse text that may do more than compute from the variables of the function in `frame`."""
    if spaces:
        recorder.refuse("eval or exec with variables of its own: what it does to them is not captured", help=_HELP)
    if not isinstance(text, (str, bytes)):
        if isinstance(text, types.CodeType):
            recorder.refuse("eval or exec of compiled code: what it does is not captured", help=_HELP)
        return  # Python raises
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return  # Python raises
    for node in sorted(ast.walk(tree), key=lambda node: not isinstance(node, _MAKES)):
        does = _does(recorder, node, frame)
        if does is not None:
            recorder.refuse(f"eval or exec of text that {does}: that is not captured", help=_HELP)


def _does(recorder: Recorder, node: ast.AST, frame: types.FrameType) -> str | None:
    """What a part of the text does that only code may; None where it computes."""
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.Expr, ast.Assign)):
        return f"holds {type(node).__name__.lower()}"
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        return f"changes {ast.unparse(node)}"
    if isinstance(node, _MAKES):
        return "makes functions or variables"
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            return None
        if node.id in frame.f_locals:
            changes = may_change_unseen(recorder, frame.f_locals[node.id])
            return f"names {node.id}, and may change it" if changes else None
        value = frame.f_globals.get(node.id, vars(builtins).get(node.id))
        return None if isinstance(value, types.ModuleType) or _only_computes(value) else f"reads {node.id}"
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        return f"reads {node.attr}"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in frame.f_locals:
        value = getattr(frame.f_globals.get(node.value.id), node.attr, None)
        return None if _only_computes(value) or isinstance(value, float) else f"reads {ast.unparse(node)}"
    return None


def _only_computes(function: Any) -> bool:
    """Whether a function gives the same for the same arguments, and does nothing else."""
    if isinstance(function, np.ufunc) or getattr(function, "__module__", None) == math.__name__:
        return True
    return isinstance(function, types.BuiltinFunctionType | type) and function in _BUILTINS
