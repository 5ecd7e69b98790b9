"""Expressions of converted code: calls, names, items, attributes, tests and comprehensions through hooks.

An operand that Python evaluates on demand becomes a lambda. Where it holds what only works in the function itself (a
walrus, a `yield`, `locals()`), the expression keeps Python's form.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.capture._convert_build import LOAD, STORE, attribute, constant, function, hook, load, put, variables
from weft.capture._convert_compile import mangled
from weft.capture._convert_match import MatchTest
from weft.capture._convert_scope import NATIVE_CALLS, Scope, is_builtin
from weft.capture._convert_site import Site

_MEMBERSHIP = {ast.In: "contains", ast.NotIn: "not_contains", ast.Is: "is_", ast.IsNot: "is_not"}
_SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
_OWN_FRAME = sys.version_info < (3, 12)
"""Whether a list comprehension is a function of its own, as Python's messages about empty variables show."""


class Expressions:
    """Converts expressions in the scope it stands in."""

    def __init__(
        self, file: str, lines: Sequence[str], free: frozenset[str], namespace: dict[str, Any], numbers: Iterator[int]
    ) -> None:
        self.file = file
        self.lines = lines
        self.free_variables = free
        self.namespace = namespace
        self.numbers = numbers
        self.sites: list[Site] = []
        self.scope = self.function = Scope("module", "", None, None)
        self.unbound: set[str] = set()
        """Variables that may have no value at the statement being converted."""
        self.thunks = 0
        self.late = False
        """Inside a generator expression, which reads variables whenever it is asked for an item."""
        self.foreign = False
        """Inside what Python runs in a frame of its own."""
        self.no_walrus = False
        self.table: dict[type[ast.AST], Callable[[Any], ast.expr]] = {
            ast.Constant: lambda node: node,
            ast.Name: self._name,
            ast.Call: self._call,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.BinOp: self._binary,
            ast.BoolOp: self._bool_op,
            ast.UnaryOp: self._unary,
            ast.IfExp: self._if_expression,
            ast.Compare: self._compare,
            ast.NamedExpr: self._walrus,
            ast.Lambda: self._lambda,
            ast.JoinedStr: self._joined,
            ast.ListComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.Dict: self._dict,
            ast.Starred: self._starred,
            **dict.fromkeys((ast.Tuple, ast.List, ast.Set), self._display),
            ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension,
            MatchTest: self._match_test,
        }
        if sys.version_info >= (3, 14):
            self.table[ast.Interpolation] = self._interpolation

    def tested(self, node: Any) -> Any:
        """The converted expression, of which only the truth is asked for."""
        mark = node
        while isinstance(mark, ast.UnaryOp) and isinstance(mark.op, ast.Not):
            mark = mark.operand
        if isinstance(mark, ast.BoolOp):
            mark.weft_tested = True  # type: ignore[attr-defined]  # an attribute of our own
        return self.expr(node)

    def expr(self, node: Any) -> Any:
        """The converted expression; the node itself may be changed."""
        convert = self.table.get(type(node))
        return convert(node) if convert is not None else self._parts(node)

    def _parts(self, node: Any) -> Any:
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, ast.expr):
                setattr(node, name, self.expr(value))
            elif type(value) is list:
                setattr(node, name, [self.expr(each) if isinstance(each, ast.expr) else each for each in value])
        return node

    def site(self, kind: str, node: Any, end: Any = None, **known: Any) -> ast.Constant:
        """The index of a new site: from the beginning of one node to the end of it, or of another."""
        end = end if end is not None else node
        self.sites.append(
            Site(
                kind,
                self.file,
                node.lineno,
                self._column(node.lineno, node.col_offset),
                end.end_lineno,
                self._column(end.end_lineno, end.end_col_offset),
                self.function.name,
                **known,
            )
        )
        return constant(node, len(self.sites) - 1)

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return (offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))) + 1

    def temporary(self) -> str:
        """A variable of our own."""
        return f"_weft_{next(self.numbers)}"

    def mangled(self, name: str) -> str:
        """The name as Python stores it here."""
        return mangled(name, self.scope.class_name)

    def thunk(self, node: ast.expr) -> ast.Lambda:
        """`lambda: node`."""
        self.thunks += 1
        body = self.expr(node)
        self.thunks -= 1
        return function(node, body)

    def _name(self, node: ast.Name) -> ast.expr:
        name = self.mangled(node.id)
        if type(node.ctx) is not ast.Load or name.startswith("_weft") or name == "__class__":
            return node
        owner = self.scope.owner(name)
        if owner is None:
            inside = name in self.free_variables
            if not inside and is_builtin(name, self.namespace):
                return node
            return hook(node, "outer", constant(node, name), node)
        if name not in owner.undefined:
            return node
        if owner is not self.function or self.late:
            return hook(node, "read", node, constant(node, True))
        if name in self.unbound:
            return hook(node, "read", node, *([constant(node, True)] if self.foreign else []))
        return node

    def _call(self, node: ast.Call) -> ast.expr:
        target = node.func
        if isinstance(target, ast.Name) and self.scope.owner(self.mangled(target.id)) is None:
            if target.id == "super" and not node.args and not node.keywords:
                return self._super(node)
            if target.id in NATIVE_CALLS and not (target.id == "vars" and node.args):
                node.args = [self.expr(each) for each in node.args]
                for keyword in node.keywords:
                    keyword.value = self.expr(keyword.value)
                if node.args and target.id in ("eval", "exec") and not isinstance(node.args[0], ast.Starred):
                    spaces = [constant(node, True)] if node.args[1:] or node.keywords else []
                    node.args[0] = hook(node, "evaluated", node.args[0], *spaces)
                return node
        called = self.expr(target)
        first = isinstance(target, ast.Name) and target.id in _STOPPING and [type(a) for a in node.args[:1]]
        args = [self.expr(each) for each in node.args]
        if first == [ast.GeneratorExp]:
            _of_first(args[0])
        for count, keyword in enumerate(node.keywords):
            keyword.value = self.expr(keyword.value)
            if keyword.arg is None:
                keyword.value = hook(node, "keywords", keyword.value, constant(node, count))
        return hook(node, "call", called, *args, keywords=node.keywords)

    def _binary(self, node: ast.BinOp) -> ast.expr:
        """An operator asks the classes of its operands; the text of `"..." % values` asks its values for theirs."""
        text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        if isinstance(node.op, ast.Mod) and (text or isinstance(node.left, ast.JoinedStr)):
            return hook(node, "percent", self.expr(node.left), self.expr(node.right))
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return node
        return hook(node, "operate", constant(node, _OPERATORS[type(node.op)]), left, right)

    def _super(self, node: ast.Call) -> ast.Call:
        """`super()` looks at the frame it is called in; a lambda of ours would be the wrong one."""
        if self.thunks and self.function.first is not None:
            node.args = [load(node, "__class__"), load(node, self.function.first)]
        return node

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        return hook(node, "attr", self.expr(node.value), constant(node, self.mangled(node.attr)))

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        return hook(node, "getitem", self.expr(node.value), self.key(node.slice))

    def key(self, node: ast.expr) -> ast.expr:
        """A subscript's key; Python has slices between brackets only: `_weft.key[1:, 2]`."""
        sliced = isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and _has_slices(node))
        converted: ast.expr = self.expr(node)
        if not sliced:
            return converted
        key = put(ast.Subscript(attribute(node, "key"), converted, LOAD), node)
        return hook(node, "display", key) if isinstance(node, ast.Tuple) and _has_stars(node) else key

    def _bool_op(self, node: Any) -> ast.expr:
        kind = "and" if isinstance(node.op, ast.And) else "or"
        if not getattr(node, "weft_native", False):
            only = hasattr(node, "weft_tested")
            for each in node.values if only else ():
                each.weft_tested = True
            first, *rest = node.values
            site = self.site(f"{kind} as a test" if only else kind, node)
            return hook(node, kind + "_", site, self.expr(first), *(self.thunk(each) for each in rest))
        values = [self.expr(each) for each in node.values]
        if self.no_walrus:
            node.values = values
            whole: ast.expr = node
            return whole
        result: ast.expr = values.pop()
        for value in reversed(values):
            name = self.temporary()
            kept = put(ast.NamedExpr(put(ast.Name(name, STORE), value), value), value)
            test = hook(value, "truth", self.site(kind, node), kept)
            sides = (result, load(value, name)) if kind == "and" else (load(value, name), result)
            result = put(ast.IfExp(test, *sides), node)
        return result

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            node.operand = self.tested(node.operand)
            return hook(node, "not_", node.operand)
        node.operand = self.expr(node.operand)
        if isinstance(node.operand, ast.Constant):
            return node
        return hook(node, "unary", constant(node, _OPERATORS[type(node.op)]), node.operand)

    def _if_expression(self, node: Any) -> ast.expr:
        site = self.site("ifexp", node)
        test = self.tested(node.test)
        if not node.weft_native:
            return hook(node, "if_expression", site, test, self.thunk(node.body), self.thunk(node.orelse))
        node.test = hook(node.test, "truth", site, test)
        node.body, node.orelse = self.expr(node.body), self.expr(node.orelse)
        whole: ast.expr = node
        return whole

    def _compare(self, node: Any) -> ast.expr:
        if len(node.ops) > 1 and not node.weft_native:
            site, left = self.site("chain", node), self.expr(node.left)
            pairs = zip(node.ops, node.comparators, strict=True)
            rest = [put(ast.Tuple([constant(o, _SIGNS[type(op)]), self.thunk(o)], LOAD), o) for op, o in pairs]
            return hook(node, "chain", site, left, *rest)
        node.left = self.expr(node.left)
        node.comparators = [self.expr(each) for each in node.comparators]
        name = _MEMBERSHIP.get(type(node.ops[0]))
        if name is not None and len(node.ops) == 1:
            return hook(node, name, node.left, node.comparators[0])
        if len(node.ops) == 1:
            return hook(node, "compare", constant(node, _SIGNS[type(node.ops[0])]), node.left, node.comparators[0])
        whole: ast.expr = node
        return whole

    def _match_test(self, node: MatchTest) -> ast.expr:
        names, values = constant(node, tuple(node.names)), [self.thunk(each) for each in node.values]
        return hook(node, "match", self.site("if", node), node.subject, constant(node, node.pattern), names, *values)

    def _walrus(self, node: ast.NamedExpr) -> ast.expr:
        value = self.expr(node.value)
        name = self.mangled(node.target.id)
        node.value = value if name in self.function.globals else self.assigned(node, name, value)
        return node

    def assigned(self, at: Any, name: str, value: ast.expr) -> ast.expr:
        """What a variable of the function, or of one around it, is to hold."""
        if name in self.function.nonlocals:
            return hook(at, "assign_nonlocal", constant(at, name), value, self.cells(at, [name]))
        return hook(at, "assign", constant(at, name), value)

    def cells(self, at: Any, names: list[str]) -> ast.Lambda:
        """A function that holds the cells of variables, which it could read."""
        return function(at, variables(at, tuple(names), LOAD))

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        raise NotImplementedError

    def _joined(self, node: ast.JoinedStr) -> ast.expr:
        return hook(node, "fstring", *self._pieces(node))

    def _interpolation(self, node: Any) -> ast.expr:
        """A part of a template string: its format has to stay a literal one."""
        node.value = self.expr(node.value)
        whole: ast.expr = node
        return whole

    def _pieces(self, node: ast.JoinedStr) -> list[ast.expr]:
        return [self._piece(each) if isinstance(each, ast.FormattedValue) else each for each in node.values]

    def _piece(self, node: ast.FormattedValue) -> ast.expr:
        spec = self._pieces(node.format_spec) if isinstance(node.format_spec, ast.JoinedStr) else []
        conversion = constant(node, chr(node.conversion) if node.conversion >= 0 else None)
        return put(ast.Tuple([self.expr(node.value), conversion, put(ast.Tuple(spec, LOAD), node)], LOAD), node)

    def _starred(self, node: ast.Starred) -> ast.expr:
        node.value = hook(node, "spread", self.expr(node.value))
        return node

    def _display(self, node: Any) -> ast.expr:
        whole: ast.expr = self._parts(node)
        return hook(node, "display", whole) if _has_stars(node) and not _has_slices(node) else whole

    def _dict(self, node: ast.Dict) -> ast.expr:
        """A dict; one that others are unpacked into, as those dicts."""
        if all(key is not None for key in node.keys):
            whole: ast.expr = self._parts(node)
            return whole
        parts: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts.append(self.expr(value))
                continue
            if not parts or not hasattr(parts[-1], "weft_piece"):
                parts.append(put(ast.Dict([], []), node))
                parts[-1].weft_piece = True  # type: ignore[attr-defined]  # an attribute of our own
            parts[-1].keys.append(self.expr(key))  # type: ignore[attr-defined]  # a Dict
            parts[-1].values.append(self.expr(value))  # type: ignore[attr-defined]  # a Dict
        return hook(node, "merged", *parts)

    def _comprehension(self, node: Any) -> ast.expr:
        first, *more = node.generators
        names = [_names(each.target) for each in node.generators]
        if node.weft_native or None in names or _keeps(node, set().union(*names)):  # type: ignore[arg-type]  # no None
            return self._native_comprehension(node)
        if more and (isinstance(node, ast.GeneratorExp) or not any(each.ifs for each in node.generators)):
            return self._native_comprehension(node)
        site, iterable = self.site("comprehension", node), self.expr(first.iter)
        kept = self._enter(node)
        self.thunks += 1
        kind, found = _KINDS[type(node)], self.temporary() if more else None
        iterable, element, condition = self._clause(node, site, iterable, node.generators, found)
        if found is not None:
            kind, element = f"nested {kind}", function(node, element, found)
        self.thunks -= 1
        self._exit(kept)
        return hook(node, "comprehension", site, constant(node, kind), iterable, element, condition)

    def _clause(
        self, node: Any, site: ast.expr, iterable: ast.expr, generators: list[Any], found: str | None
    ) -> tuple[ast.expr, ast.expr, ast.expr]:
        """The iterable, element and condition of a `for`; before others its element adds theirs to the list `found`."""
        generator, *rest = generators
        if generator.ifs and not isinstance(generator.target, ast.Name):
            iterable, generator.target = self._flattened(site, iterable, generator.target)
        if rest:
            parts = self._clause(node, site, self.expr(rest[0].iter), rest, found)
            body: ast.expr = hook(node, "comprehension", site, constant(node, "over"), *parts)
        elif isinstance(node, ast.DictComp):
            body = put(ast.Tuple([self.expr(node.key), self.expr(node.value)], LOAD), node.key)
        else:
            body = self.expr(node.elt)
        if found is not None and not rest:
            body = hook(node, "call", hook(node, "attr", load(node, found), constant(node, "append")), body)
        element = self._of_target(generator.target, body, body)
        condition: ast.expr = constant(node, None)
        if generator.ifs:
            tests, place = generator.ifs, generator.ifs[0]
            test = tests[0] if len(tests) == 1 else put(ast.BoolOp(ast.And(), tests), place)
            condition = self._of_target(generator.target, self.expr(test), place)
        return iterable, element, condition

    def _flattened(self, site: ast.expr, iterable: ast.expr, target: Any) -> tuple[ast.expr, ast.expr]:
        """The items unpacked, once, into plain tuples; and the target that takes one of those."""
        names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
        whole = self._of_target(target, put(ast.Tuple([load(target, name) for name in names], LOAD), target), target)
        kind, nothing = constant(target, "generator"), constant(target, None)
        unpacked = hook(iterable, "comprehension", site, kind, iterable, whole, nothing)
        return unpacked, put(ast.Tuple([put(ast.Name(name, STORE), target) for name in names], STORE), target)

    def _enter(self, node: Any) -> tuple[Any, ...]:
        kept = (self.scope, self.late, self.foreign)
        self.scope = node.weft_scope
        self.late = self.late or isinstance(node, ast.GeneratorExp)
        self.foreign = self.foreign or self.late or _OWN_FRAME
        return kept

    def _exit(self, kept: tuple[Any, ...]) -> None:
        self.scope, self.late, self.foreign = kept

    def _of_target(self, target: Any, body: ast.expr, at: ast.expr) -> ast.Lambda:
        """`lambda target: body`, where the target may be unpacked."""
        if isinstance(target, ast.Name):
            return function(at, body, target.id)
        item = self.temporary()
        return function(at, self._unpacked(target, load(at, item), body, at), item)

    def _unpacked(self, target: Any, value: ast.expr, body: ast.expr, at: ast.expr) -> ast.expr:
        names = []
        for element in reversed(target.elts):
            element = element.value if isinstance(element, ast.Starred) else element
            names.append(element.id if isinstance(element, ast.Name) else self.temporary())
            if not isinstance(element, ast.Name):
                body = self._unpacked(element, load(at, names[-1]), body, at)
        items = put(ast.Starred(self.unpack(target, value), LOAD), at)
        return put(ast.Call(function(at, body, *reversed(names)), [items], []), at)

    def unpack(self, target: Any, value: ast.expr) -> ast.Call:
        """The values for the parts of a target."""
        stars = [index for index, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
        before = stars[0] if stars else len(target.elts)
        after = len(target.elts) - before - len(stars)
        counts = [constant(target, before), constant(target, after), constant(target, bool(stars))]
        return hook(target, "unpack", value, *counts)

    def _native_comprehension(self, node: Any) -> ast.expr:
        no_walrus, self.no_walrus = self.no_walrus, True
        first = node.generators[0]
        first.iter = hook(first.iter, "iterate", self.expr(first.iter))
        kept = self._enter(node)
        for index, generator in enumerate(node.generators):
            self.no_walrus = True
            if index and not generator.is_async:
                generator.iter = hook(generator.iter, "iterate", self.expr(generator.iter))
            self.no_walrus = no_walrus
            tests = generator.ifs
            generator.ifs = [hook(e, "truth", self.site("comprehension", e), self.expr(e)) for e in tests]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.expr(getattr(node, name)))
        self._exit(kept)
        self.no_walrus = no_walrus
        whole: ast.expr = node
        return whole


_STOPPING = frozenset({"next", "any", "all"})  # which take items of a generator expression until one decides
_KINDS = {ast.ListComp: "list", ast.GeneratorExp: "generator", ast.SetComp: "set", ast.DictComp: "dict"}


def _of_first(generator: Any) -> None:
    """Let a converted generator expression, of which not all items may be taken, be told as one."""
    kind = generator.args[1] if isinstance(generator, ast.Call) and len(generator.args) > 1 else None
    if isinstance(kind, ast.Constant) and kind.value == "generator":
        kind.value = "first"


def _keeps(node: Any, names: set[str]) -> bool:
    """Whether elements are functions that read the variables of the comprehension: of which they share the last."""
    waiting = [getattr(node, name) for name in ("elt", "key", "value") if hasattr(node, name)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Lambda):
            given = part.args
            own = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
            if any(isinstance(each, ast.Name) and each.id in names - own for each in ast.walk(part.body)):
                return True
        elif not isinstance(part, ast.Call):
            waiting.extend(ast.iter_child_nodes(part))
    return False


def _has_stars(node: Any) -> bool:
    return isinstance(getattr(node, "ctx", LOAD), ast.Load) and any(isinstance(each, ast.Starred) for each in node.elts)


def _has_slices(node: Any) -> bool:
    return any(isinstance(each, ast.Slice) for each in node.elts)


def _names(target: Any) -> set[str] | None:
    """The names a target stores, each once; None where it stores something else, or a name twice."""
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, ast.Starred):
        return _names(target.value)
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    found: set[str] = set()
    for each in target.elts:
        names = _names(each)
        if names is None or names & found:
            return None
        found |= names
    return found
