"""Functions and regions of converted code: `if`, `while`, `for`, nested functions, classes.

A generator, or a function whose `finally` swallows exceptions by jumping, keeps Python's own `if`, `while` and `for`;
their tests and iterables go through hooks.
"""

from __future__ import annotations

import ast
from typing import Any

from weft.capture._convert_build import LOAD, STORE, constant, hook, load, method, put, statement, store, variables
from weft.capture._convert_flow import Flow, Region
from weft.capture._convert_jumps import Lowering, blocks, leaves_a_finally
from weft.capture._convert_statements import Statement, Statements

# Python nests at most 20 blocks in one function; deeper code moves into a function of its own.
_DEEP = 13
_BLOCKS = {ast.If: 2, ast.While: 2, ast.For: 2, ast.With: 1, ast.Try: 4, ast.TryStar: 4}


class Functions(Statements):
    """Converts functions, in place."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.depth = 0
        self.native = False
        self.declared: dict[str, None] = {}
        """Variables of the function being converted that must be seen to be its own."""
        self.statements |= {
            ast.If: self._if,
            ast.While: self._while,
            ast.For: self._for,
            ast.FunctionDef: self._definition,
            ast.AsyncFunctionDef: lambda node: [node],
            ast.ClassDef: self._class,
        }

    def convert_function(self, node: Any) -> None:
        """Convert a function's body (a lambda's too); what stands around it is the caller's."""
        kept = (self.scope, self.function, self.unbound, self.thunks, self.late, self.foreign, self.no_walrus,
                self.depth, self.native, self.declared, self.facts)  # fmt: skip
        self.scope = self.function = scope = node.weft_scope
        self.unbound, self.thunks, self.depth, self.declared = set(), 0, 0, {}
        self.late = self.foreign = self.no_walrus = False
        if isinstance(node, ast.Lambda):
            node.body = self.expr(node.body)
        elif isinstance(node, ast.FunctionDef):
            self.native = scope.generator or leaves_a_finally(node.body)
            node.body = self._body(node)
        (self.scope, self.function, self.unbound, self.thunks, self.late, self.foreign, self.no_walrus,
         self.depth, self.native, self.declared, self.facts) = kept  # fmt: skip

    def _body(self, node: ast.FunctionDef) -> Statement:
        scope, body = self.function, node.body
        described = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        head: Statement = body[:1] if described and isinstance(body[0].value.value, str) else []  # type: ignore[attr-defined]  # as just tested
        body = body[len(head) :]
        if body and self.native:
            Flow(scope, body).run_native()
        elif body:
            lowering = Lowering(scope, self.numbers)
            body = lowering.function(body)
            if lowering.dropped:
                self.declared |= scope.stored
            Flow(scope, body).run()
        made = self.block(body) if body else []
        if scope.globals:
            head.append(put(ast.Global(sorted(scope.globals)), node))
        if scope.nonlocals:
            head.append(put(ast.Nonlocal(sorted(scope.nonlocals)), node))
        unset = sorted(name for name in scope.undefined if scope.owns(name) and name not in scope.parameters)
        owned = [name for name in self.declared if scope.owns(name) and name not in scope.parameters]
        if owned:
            # Never run, and not even compiled; it tells Python whose variables these are.
            names: Statement = [store(node, name, constant(node, None)) for name in owned]
            head.append(put(ast.If(constant(node, False), names, []), node))
        head += [self.undefined(_header(node), name) for name in unset]
        if scope.rewritten:
            place = _header(node)
            head.append(statement(hook(place, "makes", self.cells(place, sorted(scope.rewritten)))))
        if node.args.kwarg is not None:
            place = _header(node)
            head.append(statement(hook(place, "collects", load(place, self.mangled(node.args.kwarg.arg)))))
        return [*head, *made]

    def _own_cells(self, at: Any, names: tuple[str, ...]) -> list[ast.expr]:
        """What tells a branch or loop which of its variables other functions use, too."""
        shared = [name for name in names if name in self.function.nonlocals or name in self.function.rewritten]
        return [self.cells(at, shared)] if shared else []

    def convert(self, node: Any) -> Statement:
        """One converted statement; deep inside others, as a function of its own."""
        cost = _BLOCKS.get(type(node), 0)
        if self.depth < _DEEP or self.native or not cost or not blocks(node):
            self.depth += cost * (not self.native)
            made = super().convert(node)
            self.depth -= cost * (not self.native)
            return made
        depth, self.depth, name = self.depth, cost, self.temporary()
        names = dict.fromkeys([*node.weft_stored, *_handled(node), *sorted(self.function.rewritten)])
        stored = [each for each in names if each not in self.function.globals]
        self.thunks += 1
        body = super().convert(node)
        self.thunks -= 1
        self.depth = depth
        self.declared |= dict.fromkeys(stored)
        if stored:
            body.insert(0, put(ast.Nonlocal(stored), node))
        if self.function.globals:
            body.insert(0, put(ast.Global(sorted(self.function.globals)), node))
        place = _header(node)
        part: Any = ast.parse("def f(): pass").body[0]
        part.name, part.body = name, body
        return [put(part, place), statement(put(ast.Call(load(place, name), [], []), place))]

    # Regions.

    def _if(self, node: Any) -> Statement:
        site = self._region_site("if", node, node.test)
        test = self.tested(node.test)
        if self.native:
            node.test = hook(node.test, "truth", site, test)
            node.body = self.block(node.body)
            node.orelse = self.block(node.orelse) if node.orelse else []
            return [node]
        region: Region = node.weft_region
        handle, at = self.temporary(), node.test
        values = variables(at, region.names, LOAD)
        sides = hook(at, "if_", site, test, values, *self._own_cells(at, region.names))
        body, orelse = self.block(node.body), self.block(node.orelse) if node.orelse else []
        taken = put(ast.Attribute(load(at, handle), "taken", LOAD), at)
        inner = _with(at, handle, [put(ast.If(taken, body, orelse), at)])
        leave = [_stored(at, region.names, method(at, handle, "leave", values))]
        return [_for(at, handle, sides, [inner, *leave])]

    def _while(self, node: Any) -> Statement:
        site = self._region_site("while", node, node.test)
        if self.native:
            node.test = hook(node.test, "truth", site, self.tested(node.test))
            return self._native_loop(node)
        handle, at = self.temporary(), node.test
        test = method(at, handle, "test", self.tested(node.test))
        inner = _with(at, handle, [put(ast.If(test, self.block(node.body), []), at)])
        return self._loop(node, handle, hook(at, "while_", site), inner)

    def _for(self, node: Any) -> Statement:
        site = self._region_site("for", node, node.iter)
        iterable = self.expr(node.iter)
        if self.native:
            node.iter = hook(node.iter, "iterate", iterable)
            return self._native_loop(node)
        handle, at = self.temporary(), node.iter
        loop = hook(at, "for_", site, iterable)
        first = self.store(node.target, method(node.target, handle, "item"))
        inner = _with(at, handle, first + self.block(node.body))
        return self._loop(node, handle, loop, inner)

    def _loop(self, node: Any, handle: str, loop: ast.Call, inner: ast.With) -> Statement:
        names, flag, at = node.weft_region.names, node.weft_loop.exit, inner
        values = variables(at, names, LOAD)
        loop.args += [values, *self._own_cells(at, names)]
        stop = constant(at, False) if flag is None else load(at, flag)
        leave = statement(method(at, handle, "leave", values, stop))
        enter = _stored(at, names, method(at, handle, "enter"))
        turn = _for(at, self.temporary(), load(at, handle), [enter, inner, leave])
        return [store(at, handle, loop), turn, _stored(at, names, method(at, handle, "result"))]

    def _native_loop(self, node: Any) -> Statement:
        first: Statement = []
        if isinstance(node, ast.For) and not self._plain(node.target):
            name = self.temporary()
            first = self.store(node.target, load(node.target, name))
            node.target = put(ast.Name(name, STORE), node.target)
        node.body = first + self.block(node.body)
        node.orelse = self.block(node.orelse) if node.orelse else []
        return [node]

    def _plain(self, target: Any) -> bool:
        return isinstance(target, ast.Name) and self.mangled(target.id) not in self.function.globals

    def _region_site(self, kind: str, node: Any, end: Any) -> ast.Constant:
        if self.native:
            return self.site(kind, node, end, has_yield=self.function.generator and _yields(node))
        region: Region = node.weft_region
        return self.site(
            kind, node, end, names=region.names, live=region.live, live_body=region.live_body,
            live_orelse=region.live_orelse, stores=region.stores,
        )  # fmt: skip

    # Definitions.

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        self._defaults(node.args)
        self.convert_function(node)
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.expr(each) for each in arguments.defaults]
        arguments.kw_defaults = [each if each is None else self.expr(each) for each in arguments.kw_defaults]

    def _decorators(self, node: Any) -> list[ast.expr]:
        """Python itself calls decorators: those of the program are calls that it makes."""
        return [hook(each, "decorator", self.expr(each)) for each in node.decorator_list]

    def _definition(self, node: ast.FunctionDef) -> Statement:
        node.decorator_list = [*self._decorators(node), hook(node, "definition")]
        self._defaults(node.args)
        self.convert_function(node)
        return [node]

    def _class(self, node: ast.ClassDef) -> Statement:
        node.decorator_list = self._decorators(node)
        node.bases = [self.expr(each) for each in node.bases]
        for keyword in node.keywords:
            keyword.value = self.expr(keyword.value)
        kept, self.scope = self.scope, node.weft_scope  # type: ignore[attr-defined]  # an attribute of our own
        self._members(node.body)
        self.scope = kept
        return [node]

    def _members(self, statements: list[Any]) -> None:
        """Methods of a class are converted; the rest of its body is Python's."""
        for node in statements:
            if isinstance(node, ast.FunctionDef):
                self.convert_function(node)
            elif isinstance(node, ast.ClassDef):
                kept, self.scope = self.scope, node.weft_scope  # type: ignore[attr-defined]  # our own
                self._members(node.body)
                self.scope = kept
            for block in blocks(node):
                self._members(block)


def _stored(at: Any, names: tuple[str, ...], value: ast.expr) -> ast.stmt:
    """`(x, y) = value`."""
    return put(ast.Assign([variables(at, names, STORE)], value), at) if names else statement(value)


def _with(at: Any, handle: str, body: Statement) -> ast.With:
    return put(ast.With([ast.withitem(load(at, handle), None)], body), at)


def _for(at: Any, name: str, iterable: ast.expr, body: Statement) -> ast.For:
    return put(ast.For(put(ast.Name(name, STORE), at), iterable, body, []), at)


def _header(node: Any) -> Any:
    """The first line of a statement, as a place."""
    place = ast.Pass()
    place.lineno = place.end_lineno = node.lineno
    place.col_offset = place.end_col_offset = node.col_offset
    return place


def _handled(node: Any) -> list[str]:
    """Names of `except … as name` inside."""
    found = [each.name for each in getattr(node, "handlers", ()) if each.name is not None]
    for block in blocks(node):
        for each in block:
            found += _handled(each)
    return found


def _yields(node: Any) -> bool:
    """Whether a `yield` of the function itself stands inside."""
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    return any(_yields(each) for each in ast.iter_child_nodes(node))
