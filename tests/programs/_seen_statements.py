"""Features of control flow, mutation and plain Python that a syntax tree shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LOOPS = ast.For | ast.While
_FUNCTIONS = ast.FunctionDef | ast.Lambda
# One kind of node, one feature.
_PLAIN: dict[type[ast.AST], str] = {
    ast.If: "if",
    ast.While: "while",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.IfExp: "conditional expression",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.Assert: "assert",
    ast.Raise: "raise",
    ast.AugAssign: "augmented assignment",
    ast.Starred: "starred unpacking",
    ast.ListComp: "list comprehension",
    ast.DictComp: "dict comprehension",
    ast.GeneratorExp: "generator expression",
    ast.JoinedStr: "f-string",
    ast.NamedExpr: "walrus",
    ast.With: "with",
    ast.Try: "try",
    ast.Lambda: "lambda",
    ast.Yield: "generator",
    ast.MatMult: "@",
    ast.LShift: "bit arithmetic",
    ast.RShift: "bit arithmetic",
    ast.BitXor: "bit arithmetic",
}


def statements(tree: ast.AST) -> set[str]:
    """The features found in a function's or a class's tree."""
    found = {name for node in ast.walk(tree) if (name := _PLAIN.get(type(node)))}
    for node in ast.walk(tree):
        match node:
            case ast.If():
                found |= _branch(node)
            case ast.For() | ast.While():
                found |= _loop(node)
            case ast.Assign() | ast.AugAssign():
                found |= _assignment(node)
            case ast.Compare() if len(node.ops) > 1:
                found.add("chained comparison")
            case ast.comprehension():
                found |= _iterated(node.iter)
            case ast.FunctionDef() | ast.Lambda():
                found |= _function(node)
            case ast.BinOp() if any(_is_shape(part) for part in ast.walk(node)):
                found.add("shape arithmetic")
    return found


def _branch(node: ast.If) -> set[str]:
    found = {"write in a branch"} if any(_stores(part) for part in _inside(node)) else set()
    if node.orelse:
        other = node.orelse[0]
        is_elif = len(node.orelse) == 1 and isinstance(other, ast.If) and other.col_offset == node.col_offset
        found.add("elif" if is_elif else "else")
    return found


def _loop(node: ast.For | ast.While) -> set[str]:
    inside = list(_inside(node))
    found = {"else on a loop"} if node.orelse else set()
    if any(isinstance(part, _LOOPS) for part in inside):
        found.add("nested loops")
    if any(isinstance(part, ast.If) for part in inside):
        found.add("branch in a loop")
    if any(_stores(part) for part in inside):
        found.add("write in a loop")
    return found | _iterated(node.iter) if isinstance(node, ast.For) else found


def _iterated(what: ast.expr) -> set[str]:
    if not (isinstance(what, ast.Call) and isinstance(what.func, ast.Name)):
        return set()
    name = what.func.id
    if name == "range":
        return {"for over range"} | ({"range with a step"} if len(what.args) == 3 else set())
    return {f"for over {name}"} if name in {"zip", "enumerate", "reversed"} else set()


def _assignment(node: ast.Assign | ast.AugAssign) -> set[str]:
    found: set[str] = set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if isinstance(node, ast.Assign) and len(targets) > 1 and any(isinstance(t, ast.Subscript) for t in targets):
        found.add("chained assignment")
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            found.add("tuple unpacking")
        elif isinstance(target, ast.Attribute) and target.attr == "shape":
            found.add("x.shape =")
        elif isinstance(target, ast.Subscript):
            sliced = any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))
            if isinstance(node, ast.AugAssign):
                found |= {"a[i] += v"} | ({"a[i, :j] += w"} if sliced else set())
            elif _is_whole(target.slice):
                found.add("a[:] = v")
            elif sliced:
                found.add("a[i:j] = v")
    return found


def _function(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    found = {"default argument"} if node.args.defaults or any(node.args.kw_defaults) else set()
    if isinstance(node, ast.Lambda):
        return found
    inner = [part for part in ast.walk(node) if isinstance(part, _FUNCTIONS) and part is not node]
    if any(isinstance(part, ast.FunctionDef) for part in inner):
        found.add("nested function")
    outside = {a.arg for a in node.args.args} | {n.id for n in _own(node) if isinstance(n, ast.Name) and _stored(n)}
    if any(_free(part) & outside for part in inner):
        found.add("closure")
    if any(isinstance(n, ast.Name) and n.id == node.name for statement in node.body for n in ast.walk(statement)):
        found.add("recursion")
    last = node.body[-1]
    if any(isinstance(n, ast.Return) and n is not last for n in _own(node)):
        found.add("early return")
    return found


def _free(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names an inner function reads without binding them."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    bound = {a.arg for a in node.args.args} | {n.id for n in names if _stored(n)}
    return {n.id for n in names} - bound


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, those of the functions inside it not included."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _FUNCTIONS):
            yield from _own(child)


def _inside(node: ast.If | ast.For | ast.While) -> Iterator[ast.AST]:
    for statement in node.body + node.orelse:
        yield from ast.walk(statement)


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _stores(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def _is_whole(key: ast.expr) -> bool:
    if isinstance(key, ast.Constant):
        return key.value is Ellipsis
    if isinstance(key, ast.Tuple):
        return all(_is_whole(part) for part in key.elts)
    return isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None


def _is_shape(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in {"shape", "size"}
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
