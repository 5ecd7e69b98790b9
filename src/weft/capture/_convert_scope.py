"""Scopes of a function to convert, and what each of its statements reads and stores.

One walk over the tree gives every function, lambda, comprehension and class in it a `Scope`, and every statement
`Facts`: for a compound statement those of its header alone. Names are as Python stores them (`_Class__private`).
Both are kept in attributes of the nodes, `weft_scope` and `weft_facts`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import Any

from weft.capture._convert_compile import mangled
from weft.capture._convert_match import MatchTest

NATIVE_CALLS = frozenset({"locals", "globals", "vars", "dir", "eval", "exec", "__import__"})
_BUILTINS = frozenset(dir(builtins))
# Tuples, not unions: a union is made anew each time it is written out, and this is where the time goes.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCK = (ast.stmt, ast.ExceptHandler)
_OF_FIELDS = frozenset({ast.Assign, ast.Expr, ast.Return, ast.If, ast.While, ast.For})
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Facts:
    """What a statement reads, stores (with the line) and deletes; `lazy` where it holds parts evaluated on demand.

    `perhaps` are names that only such a part stores.
    """

    __slots__ = ("deletes", "lazy", "perhaps", "reads", "stores")

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.stores: dict[str, int] = {}
        self.deletes: set[str] = set()
        self.perhaps: set[str] = set()
        self.lazy = False

    @property
    def kills(self) -> set[str]:
        """The names it certainly stores."""
        return self.stores.keys() - self.perhaps


class Scope:
    """The names of one function, lambda, comprehension or class body."""

    __slots__ = (
        "captured", "class_name", "deleted", "emptied", "first", "generator", "globals", "kind", "name", "nonlocals",
        "parameters", "parent", "reads", "rewritten", "stored", "undefined",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, parent: Scope | None, class_name: str | None) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.class_name = class_name
        self.parameters: tuple[str, ...] = ()
        self.stored: dict[str, None] = {}
        self.reads: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.captured: set[str] = set()
        """Its variables that scopes inside it read whenever they run."""
        self.rewritten: set[str] = set()
        """Its variables that functions inside it store."""
        self.deleted: set[str] = set()
        self.emptied: set[str] = set()
        """Its variables that functions inside it delete."""
        self.undefined: set[str] = set()
        """Its variables that may hold an `undefined` object in converted code."""
        self.generator = False
        self.first: str | None = None

    def owns(self, name: str) -> bool:
        """Whether the name is a variable of this very scope."""
        return name in self.stored and name not in self.globals and name not in self.nonlocals

    def owner(self, name: str) -> Scope | None:
        """The scope whose variable a read of the name finds; None where it lies outside the whole function."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.globals:
                return None
            if name in scope.stored and name not in scope.nonlocals and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None


class Walker:
    """Gives nodes their scopes and facts."""

    def __init__(self, class_name: str | None) -> None:
        self.scopes: list[Scope] = []
        self.scope = Scope("module", "", None, class_name)
        self.facts = Facts()
        self.natives = 0
        self.conditional = 0
        self.special = {
            ast.Name: self._name,
            ast.Lambda: self._function,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.BoolOp: self._bool_op,
            ast.IfExp: self._if_expression,
            ast.Compare: self._compare,
            ast.NamedExpr: self._walrus,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield,
            ast.Await: self._native,
            ast.Call: self._call,
            ast.Constant: self._nothing,
            ast.Attribute: lambda node: self.expression(node.value),
            MatchTest: self._match_test,
        }

    def expression(self, node: Any) -> None:
        """Collect what an expression, a target or a list of them reads and stores."""
        if isinstance(node, list):
            for each in node:
                self.expression(each)
            return
        special: Any = self.special.get(type(node))
        if special is not None:
            special(node)
            return
        self._parts(node)

    def _parts(self, node: Any) -> None:
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, ast.AST):
                if value._fields:
                    self.expression(value)
            elif type(value) is list:
                for each in value:
                    if isinstance(each, ast.AST):
                        self.expression(each)

    def _name(self, node: ast.Name) -> None:
        name = mangled(node.id, self.scope.class_name)
        kind = type(node.ctx)
        if kind is ast.Load:
            self.facts.reads.add(name)
            self.scope.reads.add(name)
            if name == "super":
                self.scope.reads.add("__class__")
        elif kind is ast.Store:
            self._store(node.id, node.lineno)
        else:
            self.facts.deletes.add(name)
            self.scope.deleted.add(name)
            self.scope.stored[name] = None

    def _store(self, name: str, line: int) -> None:
        name = mangled(name, self.scope.class_name)
        self.facts.stores[name] = line
        self.scope.stored[name] = None

    def _walrus(self, node: ast.NamedExpr) -> None:
        self.natives += 1
        self.expression(node.value)
        inner, scope = self.scope, self.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        self.scope = scope
        self._store(node.target.id, node.lineno)
        if self.conditional:
            self.facts.perhaps.add(mangled(node.target.id, scope.class_name))
        self.scope = inner

    def _native(self, node: ast.AST) -> None:
        self.natives += 1
        for value in ast.iter_child_nodes(node):
            self.expression(value)

    def _yield(self, node: ast.AST) -> None:
        self.scope.generator = True
        self._native(node)

    def _call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in NATIVE_CALLS:
            self.natives += 1
        self.expression(node.func)
        for value in node.args:
            self.expression(value)
        for keyword in node.keywords:
            self.expression(keyword.value)

    def _bool_op(self, node: ast.BoolOp) -> None:
        self.expression(node.values[0])
        self._lazily(node, node.values[1:])

    def _if_expression(self, node: ast.IfExp) -> None:
        self.expression(node.test)
        self._lazily(node, [node.body, node.orelse])

    def _compare(self, node: ast.Compare) -> None:
        self.expression(node.left)
        if len(node.ops) > 1:
            self._lazily(node, node.comparators)
        else:
            self.expression(node.comparators[0])

    def _lazily(self, node: Any, parts: Iterable[ast.expr]) -> None:
        """Parts that become lambdas, unless something in them has to stay in the function itself."""
        self.facts.lazy = True
        before = self.natives
        self.conditional += 1
        for part in parts:
            self.expression(part)
        self.conditional -= 1
        node.weft_native = self.natives != before

    def _nothing(self, node: ast.Constant) -> None:
        """A literal reads nothing."""

    def _match_test(self, node: MatchTest) -> None:
        self.expression(node.subject)
        self._lazily(node, node.values)

    def _comprehension(self, node: Any) -> None:
        self.facts.lazy = True
        self.expression(node.generators[0].iter)
        outer, before = self.scope, self.natives
        scope = node.weft_scope = Scope("comprehension", outer.name, outer, outer.class_name)
        kept, facts, self.facts, self.scope = self.facts, Facts(), Facts(), scope
        self.conditional += 1
        for index, generator in enumerate(node.generators):
            self.facts = facts
            self.expression(generator.target)
            self.facts = Facts()
            if index:
                self.expression(generator.iter)
            self.expression(generator.ifs)
            facts.reads |= self.facts.reads
            _stores_perhaps(kept, self.facts)
            self.natives += generator.is_async
        self.facts = Facts()
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.expression(elements)
        _stores_perhaps(kept, self.facts)
        facts.reads |= self.facts.reads
        self.facts, self.scope = kept, outer
        self.conditional -= 1
        found = {name for name in facts.reads if not scope.owns(name)}
        if isinstance(node, ast.GeneratorExp):
            self.scopes.append(scope)  # it reads whenever it is asked for an item
        else:
            kept.reads |= found
            outer.reads |= found
        node.weft_native = self.natives != before

    def _function(self, node: FunctionNode) -> None:
        """A function or lambda: its defaults here, its body in a scope of its own."""
        arguments = node.args
        self.expression(arguments.defaults)
        self.expression([each for each in arguments.kw_defaults if each is not None])
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        outer, kept, before = self.scope, self.facts, (self.natives, self.conditional)
        scope = Scope("function", name, outer, outer.class_name)
        node.weft_scope = scope  # type: ignore[union-attr]  # an attribute of our own
        self.scopes.append(scope)
        self.scope, self.facts, self.conditional = scope, Facts(), 0
        scope.parameters = tuple(mangled(each.arg, scope.class_name) for each in parameters(arguments))
        scope.stored.update(dict.fromkeys(scope.parameters))
        positional = [*arguments.posonlyargs, *arguments.args]
        scope.first = mangled(positional[0].arg, scope.class_name) if positional else None
        if isinstance(node, ast.Lambda):
            self.expression(node.body)
        else:
            self.block(node.body)
        self.scope, self.facts = outer, kept
        self.natives, self.conditional = before

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A nested `def`: what is around it is evaluated here."""
        self.expression(node.decorator_list)
        for each in parameters(node.args):
            if each.annotation is not None:
                self.expression(each.annotation)
        if node.returns is not None:
            self.expression(node.returns)
        self._function(node)
        self._store(node.name, node.lineno)

    def _class(self, node: ast.ClassDef) -> None:
        self.expression(node.decorator_list)
        self.expression(node.bases)
        self.expression([keyword.value for keyword in node.keywords])
        outer, kept = self.scope, self.facts
        scope = Scope("class", node.name, outer, node.name)
        node.weft_scope = scope  # type: ignore[attr-defined]  # an attribute of our own
        self.scopes.append(scope)
        self.scope = scope
        self.block(node.body)
        self.scope, self.facts = outer, kept
        self.facts.reads |= scope.reads
        self._store(node.name, node.lineno)

    def block(self, statements: list[ast.stmt]) -> None:
        """Give each statement its facts, and go into the blocks of compound ones."""
        for statement in statements:
            facts = self.facts = statement.weft_facts = Facts()  # type: ignore[attr-defined]  # our own
            self._statement(statement)
            self.facts = facts

    def _statement(self, node: Any) -> None:
        if type(node) in _OF_FIELDS:
            self._fields(node)
        elif isinstance(node, _FUNCTIONS):
            self.definition(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, ast.Global):
            self.scope.globals.update(mangled(name, self.scope.class_name) for name in node.names)
        elif isinstance(node, ast.Nonlocal):
            self.scope.nonlocals.update(mangled(name, self.scope.class_name) for name in node.names)
        elif isinstance(node, _IMPORTS):
            for alias in node.names:
                self._store(alias.asname or alias.name.partition(".")[0], node.lineno)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.AnnAssign):
            self._annotated(node)
        elif isinstance(node, ast.Assert):
            self.expression(node.test)
            if node.msg is not None:
                self._lazily(node, [node.msg])
        else:
            self._fields(node)

    def _fields(self, node: Any) -> None:
        """Header first, whatever the order of the fields; then the blocks."""
        blocks = []
        for name in node._fields:
            value = getattr(node, name)
            if type(value) is list and value and isinstance(value[0], _BLOCK):
                blocks.append(value)
            elif isinstance(value, ast.AST):
                self.expression(value)
            elif type(value) is list:
                self.expression([each for each in value if isinstance(each, ast.AST)])
        for block in blocks:
            if isinstance(block[0], ast.stmt):
                self.block(block)
            else:
                for each in block:
                    self._part(each)

    def _part(self, node: Any) -> None:
        """A handler of a `try`."""
        facts = self.facts = node.weft_facts = Facts()
        if node.type is not None:
            self.expression(node.type)
        if node.name is not None:
            self.scope.stored[mangled(node.name, self.scope.class_name)] = None
        self.block(node.body)
        self.facts = facts

    def _augmented(self, node: ast.AugAssign) -> None:
        self.expression(node.target)
        if isinstance(node.target, ast.Name):
            name = mangled(node.target.id, self.scope.class_name)
            self.facts.reads.add(name)
            self.scope.reads.add(name)
        lazy = self.facts.lazy
        self._lazily(node, [node.value])
        self.facts.lazy = lazy or not isinstance(node.target, ast.Name)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.expression(node.value)
            self.expression(node.target)
        elif isinstance(node.target, ast.Name):
            self.scope.stored[mangled(node.target.id, self.scope.class_name)] = None
        else:
            self.expression(node.target)


def _stores_perhaps(facts: Facts, inner: Facts) -> None:
    facts.stores |= inner.stores
    facts.perhaps |= inner.stores.keys()


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters, in Python's order."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [each for each in (arguments.vararg, arguments.kwarg) if each is not None]


def resolve(scopes: Iterable[Scope]) -> set[str]:
    """Tell scopes which of their variables others use; the names read that lie outside all of them."""
    outer: set[str] = set()
    for scope in scopes:
        for name in scope.reads:
            owner = scope.owner(name)
            if owner is None:
                outer.add(name)
            elif owner is not scope:
                owner.captured.add(name)
        for name in scope.nonlocals & scope.stored.keys():
            owner = scope.parent.owner(name) if scope.parent is not None else None
            if owner is not None:
                owner.rewritten.add(name)
                owner.captured.add(name)
                owner.emptied.update([name] * (name in scope.deleted))
    return outer


def is_builtin(name: str, namespace: dict[str, Any]) -> bool:
    """Whether the name of no variable is that of a builtin, as things stand now."""
    return name in _BUILTINS and name not in namespace
