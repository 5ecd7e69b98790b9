"""The syntax tree of a function, found by its code object.

A `def` is parsed by itself, on its own lines, so that a function of a long file costs no more than its length. A
lambda is looked for in the whole file; where several stand on a line, the one whose compiled code is the function's.
Every node keeps the line and the column it has in the file.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from weft.capture._convert_compile import compile_inside
from weft.errors import CaptureError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEFINES = re.compile(r"(async\s+)?def\b|@")
_HELP = (
    "define it in a file, a notebook cell or a prompt that keeps its source, or mark it with weft.wrap to call it whole"
)
_PROMPT = "put it into a file, or type it into IPython, a notebook or the prompt of Python 3.13"


def find(function: FunctionType) -> tuple[FunctionNode, Sequence[str]]:
    """The function's own tree, fresh and free to change, and the lines of its file."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines or len(lines) < code.co_firstlineno:
        if code.co_filename == "<stdin>":
            raise _missing(code, "Python's prompt keeps no source before Python 3.13", _PROMPT)
        raise _missing(code, "its source is not available")
    node: FunctionNode | None
    node = _lambda(code, lines) if code.co_name == "<lambda>" else _definition(code, lines)
    # Python files every text it is given under this one name: only the very same code will do.
    if code.co_filename == "<string>" and (node is None or not _same_code(node, code)):
        raise _missing(code, "its source is not available")
    if node is None or not _same_parameters(node, code) or not _same_extent(node, code):
        raise _missing(code, "its source has changed, or is not where its code says")
    return node, lines


def _missing(code: CodeType, why: str, help: str = _HELP) -> CaptureError:
    where = f"{code.co_filename}:{code.co_firstlineno}"
    return CaptureError(f"{code.co_qualname} cannot be captured: {why}", where=where, help=help)


def _definition(code: CodeType, lines: Sequence[str]) -> FunctionNode | None:
    first = code.co_firstlineno
    if _DEFINES.match(lines[first - 1].lstrip()):
        for last in _ends(lines, first):
            # Blank lines before keep the numbers of lines; a block around it keeps the columns.
            text = "\n" * (first - 2) + "if 1:\n" if lines[first - 1][0].isspace() else "\n" * (first - 1)
            if first == 1 and lines[0][0].isspace():
                break
            try:
                tree = ast.parse(text + "".join(lines[first - 1 : last]))
            except SyntaxError:
                continue
            outer = tree.body[0]
            node = outer.body[0] if isinstance(outer, ast.If) else outer
            return node if _is(node, code) else None  # type: ignore[return-value]  # _is knows its type
    return _anywhere(code, lines)


def _anywhere(code: CodeType, lines: Sequence[str]) -> FunctionNode | None:
    """The definition in the tree of the whole file, for where its lines alone do not parse."""
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    return next((node for node in ast.walk(tree) if _is(node, code)), None)  # type: ignore[return-value]  # as above


def _is(node: ast.AST, code: CodeType) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != code.co_name:
        return False
    return min([node.lineno, *(each.lineno for each in node.decorator_list)]) == code.co_firstlineno


def _ends(lines: Sequence[str], first: int) -> Iterator[int]:
    """Line numbers at which a block begun on `first` may end, in order."""
    margin = _indent(lines[first - 1])
    header = True
    for number in range(first, len(lines)):
        line = lines[number]
        stripped = line.lstrip()
        if not stripped or stripped[0] == "#":
            continue
        if _indent(line) <= margin:
            if header and _DEFINES.match(stripped):
                header = stripped[0] == "@"
                continue
            yield number
    yield len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lambda(code: CodeType, lines: Sequence[str]) -> ast.Lambda | None:
    candidates = [node for node in _lambdas(code, lines) if _same_parameters(node, code)]
    if len(candidates) > 1:
        candidates = _by_columns(candidates, code) or [node for node in candidates if _same_code(node, code)]
    if len(candidates) > 1:
        raise _missing(code, "several lambdas on its line compile to the same code and Python kept no columns")
    return candidates[0] if candidates else None


def _by_columns(candidates: list[ast.Lambda], code: CodeType) -> list[ast.Lambda]:
    """The lambda whose body has all the places that the code has; none where Python kept no columns."""
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column is not None]
    ends = [(line, column) for _, line, _, column in code.co_positions() if line and column is not None]
    places, ends = [p for p in places if p[1]], [e for e in ends if e[1]]  # what begins a function is at column 0
    if not places or not ends:
        return []
    first, last = min(places), max(ends)
    found = [
        node
        for node in candidates
        if (node.body.lineno, node.body.col_offset) <= first
        and last <= (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    ]
    # A lambda inside of another lies in the bodies of both: it is the inner one.
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))[-1:]


def _lambdas(code: CodeType, lines: Sequence[str]) -> list[ast.Lambda]:
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return []
    line = code.co_firstlineno
    return [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == line]


def _same_parameters(node: FunctionNode, code: CodeType) -> bool:
    args = node.args
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    found += [each for each in (args.vararg, args.kwarg) if each is not None]
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # CO_VARARGS and CO_VARKEYWORDS
    names = code.co_varnames[:count]
    return len(names) == len(found) and all(
        name == each.arg or (each.arg.startswith("__") and name.endswith(each.arg))
        for name, each in zip(names, found, strict=True)
    )


def _same_extent(node: FunctionNode, code: CodeType) -> bool:
    """Whether the code has lines where the tree has, to the last; a cheap sign that the file is the one compiled."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return last <= (node.end_lineno or last)


def _same_code(node: FunctionNode, code: CodeType) -> bool:
    return _essence(compile_inside(node, code)) == _essence(code)


def _essence(code: CodeType) -> tuple[Any, ...]:
    """What tells code objects apart, whatever they are called."""
    constants = [_essence(each) if isinstance(each, CodeType) else (type(each), each) for each in code.co_consts]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, list(code.co_positions()))
