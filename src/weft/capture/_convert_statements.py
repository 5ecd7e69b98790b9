"""Simple statements of converted code: assignments, updates, deletions, assertions, `raise`, `with`, `try`.

Python evaluates the value of an assignment before its target; so does converted code, through a variable of its own
where the target is more than a plain name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from weft.capture._convert_build import LOAD, STORE, attribute, constant, hook, load, put, statement, store
from weft.capture._convert_expressions import Expressions
from weft.capture._convert_jumps import VALUE, Jump, SetFlags, jumps

_SIGNS = {
    ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.FloorDiv: "//=", ast.Mod: "%=", ast.Pow: "**=",
    ast.MatMult: "@=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=", ast.LShift: "<<=", ast.RShift: ">>=",
}  # fmt: skip
_SEQUENCES = (ast.Tuple, ast.List)
_NOTHING: set[str] = set()
Statement = list[ast.stmt]


class Statements(Expressions):
    """Converts statements; each becomes a list of them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.statements: dict[type[ast.AST], Callable[[Any], Statement]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AugAssign: self._update,
            ast.AnnAssign: self._annotated,
            ast.Delete: self._delete,
            ast.Return: self._return,
            ast.Raise: self._raise,
            ast.Assert: self._assert,
            ast.Global: lambda node: [],
            ast.Nonlocal: lambda node: [],
            ast.With: self._with,
            ast.Try: self._try,
            ast.TryStar: self._try,
            SetFlags: self._set_flags,
            Jump: self._jump,
        }
        self.facts: Any = None

    def block(self, nodes: list[Any]) -> Statement:
        """A converted block; never empty."""
        kept = self.unbound, self.facts
        out: Statement = []
        for node in nodes:
            self.unbound = getattr(node, "weft_unbound", _NOTHING)
            self.facts = node.weft_facts
            out += self.convert(node)
        self.unbound, self.facts = kept
        return out or [put(ast.Pass(), nodes[0])]

    def convert(self, node: Any) -> Statement:
        """One converted statement."""
        convert = self.statements.get(type(node))
        return convert(node) if convert is not None else [node]

    def _expression(self, node: ast.Expr) -> Statement:
        node.value = self.expr(node.value)
        return [node]

    def _set_flags(self, node: SetFlags) -> Statement:
        return [store(node, flag, constant(node, node.value)) for flag in node.flags]

    def _jump(self, node: Jump) -> Statement:
        value = [] if node.returned is None else [store(node, VALUE, self.expr(node.returned))]
        return [*value, *self._set_flags(node)] or [put(ast.Pass(), node)]

    def _return(self, node: ast.Return) -> Statement:
        node.value = None if node.value is None else self.expr(node.value)
        return [node]

    # Assignments.

    def _assign(self, node: ast.Assign) -> Statement:
        value = self.expr(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value)
        name = self.temporary()
        out: Statement = [store(node.value, name, value)]
        for target in node.targets:
            out += self.store(target, load(node.value, name))
        names = [target for target in node.targets if isinstance(target, ast.Name)]
        if len(names) < len(node.targets):  # what an object holds then may be another than the variables have
            for target in names:
                again = put(ast.Name(target.id, STORE), target)
                out += self.store(again, hook(target, "held", load(node.value, name)))
        return out

    def _annotated(self, node: ast.AnnAssign) -> Statement:
        if node.value is not None:
            return self.store(node.target, self.expr(node.value))
        if isinstance(node.target, ast.Name):
            return [node]
        # Without a value, Python evaluates what the target is a part of, and stores nothing.
        parts = [self.expr(node.target.value)]
        if isinstance(node.target, ast.Subscript):
            parts.append(self.key(node.target.slice))
        return [statement(part) for part in parts]

    def store(self, target: Any, value: ast.expr) -> Statement:
        """Statements that store a converted value into a target."""
        if isinstance(target, ast.Name):
            name = self.mangled(target.id)
            if name in self.function.globals:
                return [statement(hook(target, "set_global", constant(target, name), value))]
            return [put(ast.Assign([target], self.assigned(value, name, value)), target)]
        if isinstance(target, _SEQUENCES):
            return self._unpack(target, value)
        if isinstance(target, ast.Starred):
            return self.store(target.value, value)
        before: Statement = []
        if not self._late_enough(target, value):
            name = self.temporary()
            before, value = [store(value, name, value)], load(value, name)
        owner = self.expr(target.value)
        if isinstance(target, ast.Attribute):
            done = hook(target, "setattr", owner, constant(target, self.mangled(target.attr)), value)
        else:
            done = hook(target, "setitem", owner, self.key(target.slice), value)
        return [*before, statement(done)]

    def _unpack(self, target: Any, value: ast.expr) -> Statement:
        names = [self.temporary() for _ in target.elts]
        parts: list[ast.expr] = [put(ast.Name(name, STORE), target) for name in names]
        out: Statement = [put(ast.Assign([put(ast.Tuple(parts, STORE), target)], self.unpack(target, value)), target)]
        for each, name in zip(target.elts, names, strict=True):
            out += self.store(each, load(each, name))
        return out

    def _late_enough(self, target: Any, value: ast.expr) -> bool:
        """Whether nobody can tell that parts of the target are evaluated before the value."""
        if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id.startswith("_weft")):
            return True
        return self.trivial(target.value) and (isinstance(target, ast.Attribute) or self.trivial(target.slice))

    def trivial(self, node: Any) -> bool:
        """Whether evaluating it cannot fail, has no effect, and gives the same a moment later."""
        if node is None or isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            name = self.mangled(node.id)
            fixed = name not in self.function.rewritten and name not in self.facts.stores
            return fixed and name not in self.unbound and self.scope.owner(name) is self.function
        if isinstance(node, ast.Slice):
            return self.trivial(node.lower) and self.trivial(node.upper) and self.trivial(node.step)
        return isinstance(node, ast.Tuple) and all(self.trivial(each) for each in node.elts)

    def _update(self, node: Any) -> Statement:
        target, sign = node.target, constant(node, _SIGNS[type(node.op)])
        if isinstance(target, ast.Name):
            name = self.mangled(target.id)
            current = self.expr(load(target, target.id))
            made = hook(node, "update", constant(target, name), current, sign, self.expr(node.value))
            if name in self.function.globals:
                return [statement(hook(node, "set_global", constant(target, name), made))]
            value = self.assigned(node, name, made) if name in self.function.nonlocals else made
            return [put(ast.Assign([target], value), node)]
        item = isinstance(target, ast.Subscript)
        if node.weft_native:
            return self._update_in_steps(node, sign)
        owner = self.expr(target.value)
        key = self.key(target.slice) if item else constant(target, self.mangled(target.attr))
        name = "update_item" if item else "update_attr"
        if self.trivial(node.value):
            return [statement(hook(node, name, owner, key, sign, self.expr(node.value)))]
        return [statement(hook(node, name + "_late", owner, key, sign, self.thunk(node.value)))]

    def _update_in_steps(self, node: Any, sign: ast.expr) -> Statement:
        """`x[k] += (y := v)`: what a lambda cannot hold is evaluated here, between reading and writing."""
        target = node.target
        item = isinstance(target, ast.Subscript)
        owner, key, value = self.temporary(), self.temporary(), self.temporary()
        out: Statement = [store(target, owner, self.expr(target.value))]
        out.append(store(target, key, self.key(target.slice) if item else constant(target, self.mangled(target.attr))))
        read = hook(target, "getitem" if item else "attr", load(target, owner), load(target, key))
        out.append(store(target, value, read))
        made = hook(node, "update", load(target, key), load(target, value), sign, self.expr(node.value))
        out.append(store(node, value, made))
        names = [load(target, name) for name in (owner, key, value)]
        return [*out, statement(hook(target, "setitem" if item else "setattr", *names))]

    def _delete(self, node: ast.Delete) -> Statement:
        out: Statement = []
        for target in node.targets:
            out += self._delete_one(target)
        return out or [put(ast.Pass(), node)]

    def _delete_one(self, target: Any) -> Statement:
        if isinstance(target, _SEQUENCES):
            return [each for part in target.elts for each in self._delete_one(part)]
        if isinstance(target, ast.Attribute):
            name = constant(target, self.mangled(target.attr))
            return [statement(hook(target, "delattr", self.expr(target.value), name))]
        if isinstance(target, ast.Subscript):
            return [statement(hook(target, "delitem", self.expr(target.value), self.key(target.slice)))]
        name_ = self.mangled(target.id)
        owner = self.scope.owner(name_)
        if owner is None or name_ not in owner.undefined:
            return [put(ast.Delete([target]), target)]
        checked = name_ in self.unbound or owner is not self.function
        check = [statement(self.expr(load(target, target.id)))] if checked else []
        return [*check, self.undefined(target, name_)]

    def undefined(self, at: Any, name: str) -> ast.stmt:
        """`name = _weft.undefined("name")`."""
        return store(at, name, hook(at, "undefined", constant(at, name)))

    # Errors and contexts.

    def _assert(self, node: Any) -> Statement:
        if not __debug__:
            return [put(ast.Pass(), node)]
        site, test = self.site("assert", node), self.tested(node.test)
        if node.msg is not None and node.weft_native:
            node.test, node.msg = hook(node.test, "truth", site, test), self.expr(node.msg)
            return [node]
        message = constant(node, None) if node.msg is None else self.thunk(node.msg)
        return [statement(hook(node, "assert_", site, test, message))]

    def _raise(self, node: ast.Raise) -> Statement:
        if node.exc is None:
            return [node]
        site, exception = self.site("raise", node), self.expr(node.exc)
        cause: ast.expr = constant(node, None)
        if node.cause is not None and not isinstance(node.cause, ast.Constant):
            # The statement itself sets the cause: only so is `from None` told from no cause at all.
            name = self.temporary()
            cause = self.expr(node.cause)
            cause = put(ast.NamedExpr(put(ast.Name(name, STORE), cause), cause), cause)
            node.cause = load(node, name)
        node.exc = hook(node, "raise_", site, exception, cause)
        return [node]

    def _with(self, node: ast.With) -> Statement:
        item, *rest = node.items
        if not rest:
            body = self.block(node.body)
        elif all(each.optional_vars is None or isinstance(each.optional_vars, ast.Name) for each in node.items):
            for each in node.items:
                self._context(each)
            node.body = self.block(node.body)
            return [node]
        else:
            self._context(item)
            first = self._entered(item)
            body = self._with(put(ast.With(rest, node.body), node))
            return [put(ast.With([item], first + body), node)]
        self._context(item)
        return [put(ast.With([item], self._entered(item) + body), node)]

    def _context(self, item: ast.withitem) -> None:
        item.context_expr = hook(item.context_expr, "context", self.expr(item.context_expr))

    def _entered(self, item: ast.withitem) -> Statement:
        """What stores the value of an entered context, where its target is more than a name."""
        target = item.optional_vars
        elsewhere = self.function.globals | self.function.nonlocals
        if target is None or (isinstance(target, ast.Name) and self.mangled(target.id) not in elsewhere):
            return []
        name = self.temporary()
        item.optional_vars = put(ast.Name(name, STORE), target)
        return self.store(target, load(target, name))

    def _try(self, node: Any) -> Statement:
        swallows = bool(jumps(node.finalbody))
        caught = (bool(node.handlers) and not hasattr(node, "weft_ours")) or swallows
        node.body = self._caught(node, self.block(node.body), swallows) if caught else self.block(node.body)
        for handler in node.handlers:
            self.unbound = getattr(handler, "weft_unbound", _NOTHING)
            handler.type = None if handler.type is None else self.expr(handler.type)
            handler.body = self.block(handler.body)
            if handler.name is not None and self.mangled(handler.name) in self.function.undefined:
                handler.body = self._named(handler, self.mangled(handler.name))
            if swallows:
                handler.body = self._caught(node, handler.body, swallows)
        if caught and node.handlers and isinstance(node, ast.Try):
            again = put(ast.Raise(None, None), node)
            node.handlers.insert(0, put(ast.ExceptHandler(attribute(node, "own_ways"), None, [again]), node))
        node.orelse = self.block(node.orelse) if node.orelse else []
        if node.orelse and swallows:
            node.orelse = self._caught(node, node.orelse, swallows)
        if not node.finalbody:
            return [node]
        node.finalbody = self.block(node.finalbody)
        if swallows:
            return [node]
        final = self.temporary()
        node.finalbody = [put(ast.With([ast.withitem(load(node, final), None)], node.finalbody), node)]
        return [store(node, final, hook(node, "final")), node]

    def _caught(self, node: Any, body: Statement, swallows: bool) -> Statement:
        """A part of a `try` of which exceptions may be caught."""
        place = constant(body[0], None)
        named = any(handler.name is not None for handler in node.handlers)
        more: list[ast.expr] = [constant(node, swallows), constant(node, named)] if swallows or named else []
        kinds = [handler.type for handler in node.handlers]
        if not swallows and all(map(_names_classes, kinds)):
            caught = put(ast.Tuple([copy.deepcopy(kind) for kind in kinds], LOAD), place)
            more = [constant(node, swallows), constant(node, named), self.thunk(caught)]
        item = ast.withitem(hook(place, "try_", self.site("try", node), *more), None)
        return [put(ast.With([item], body), place)]

    def _named(self, handler: Any, name: str) -> Statement:
        """`except … as name` where the variable is one of ours to empty: Python's own way would unbind it."""
        handler.name = self.temporary()
        done = put(ast.Try(handler.body, [], [], [self.undefined(handler, name)]), handler)
        return [store(handler, name, load(handler, handler.name)), done]


def _names_classes(kind: Any) -> bool:
    """Whether the classes that a handler catches are only named: they may then be asked for before they are needed."""
    if isinstance(kind, ast.Tuple):
        return all(map(_names_classes, kind.elts))
    while isinstance(kind, ast.Attribute):
        kind = kind.value
    return isinstance(kind, ast.Name)
