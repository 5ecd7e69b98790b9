"""`break`, `continue` and early `return` rewritten as structured code.

Where a branch always jumps, the rest of the block moves into the other branch:

    if c: return a                 if c: _weft_value = a
    REST                           else: REST

Otherwise the jump sets a flag, and an `if` over the flag guards what follows. `else` of a loop becomes an `if` over
the loop's flag. What is left are `Jump`s (which remember where they went, for the analysis of live variables),
`SetFlags`, and loops that know their flag. Needs and gives statements with facts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from weft.capture._convert_scope import Facts, Scope

RETURNED = "_weft_returned"
VALUE = "_weft_value"
# Tuples, not unions: a union is made anew each time it is written out.
_LOOPS = (ast.While, ast.For)
_JUMPS = (ast.Break, ast.Continue, ast.Return)
_TRIES = (ast.Try, ast.TryStar)


class Loop:
    """A loop's flags. A `return` inside sets the break flag too, where there is one."""

    def __init__(self, number: int, parent: Loop | None, kinds: set[str]) -> None:
        self.parent = parent
        self.break_flag = f"_weft_break_{number}"
        self.continue_flag = f"_weft_continue_{number}"
        self.breaks = "break" in kinds
        self.exit: str | None = self.break_flag if self.breaks else RETURNED if "return" in kinds else None


class SetFlags(ast.stmt):
    """Sets flags of our own to True or False."""

    _fields = ()

    def __init__(self, at: ast.stmt, flags: list[str], value: bool) -> None:
        super().__init__()
        ast.copy_location(self, at)
        self.flags = flags
        self.value = value
        self.weft_facts = Facts()


class Jump(SetFlags):
    """What a jump became: a value to return, and flags to set. Nothing up to its target runs after it."""

    _fields = ()

    def __init__(self, at: ast.stmt, kind: str, loop: Loop | None, flags: list[str]) -> None:
        super().__init__(at, flags, True)
        self.kind = kind
        self.loop = loop
        self.returned: ast.expr | None = None


_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue, Jump)


def completes(statements: list[ast.stmt]) -> bool:
    """Whether control may reach the end of the block."""
    return all(_completes(statement) for statement in statements)


def _completes(node: Any) -> bool:
    if isinstance(node, _ENDS):
        return False
    if isinstance(node, ast.If):
        return completes(node.body) or completes(node.orelse)
    if isinstance(node, _LOOPS):
        if "break" in jumps(node.body) or (hasattr(node, "weft_loop") and node.weft_loop.breaks):
            return True
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        return not endless and completes(node.orelse)
    if isinstance(node, _TRIES):
        ends = completes(node.body) and completes(node.orelse)
        return completes(node.finalbody) and (ends or any(completes(each.body) for each in node.handlers))
    # A `with` may swallow an exception raised before the jump at its end.
    return True


_LEAVE_BY = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


def jumps(statements: list[Any], known: dict[Any, set[str]] | None = None) -> set[str]:
    """The kinds of jump that leave the block; `known` remembers those that leave a statement within it."""
    found: set[str] = set()
    for node in statements:
        kind = _LEAVE_BY.get(type(node))
        if kind is not None:
            found.add(kind)
        elif isinstance(node, _LOOPS):
            found |= jumps(node.body) & {"return"} | jumps(node.orelse)
        elif type(node) in _BLOCKS:
            inner = None if known is None else known.get(node)
            if inner is None:
                inner = set().union(*(jumps(block, known) for block in blocks(node)))
                if known is not None:
                    known[node] = inner
            found |= inner
    return found


def blocks(node: Any) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    find = _BLOCKS.get(type(node))
    return [] if find is None else find(node)


_BLOCKS: dict[type[ast.AST], Callable[[Any], list[list[ast.stmt]]]] = (
    dict.fromkeys((ast.If, ast.While, ast.For), lambda node: [node.body, node.orelse])
    | dict.fromkeys((ast.With, ast.AsyncWith), lambda node: [node.body])
    | dict.fromkeys(_TRIES, lambda node: [node.body, *(e.body for e in node.handlers), node.orelse, node.finalbody])
)


def leaves_a_finally(statements: list[Any]) -> bool:
    """Whether a jump leaves a `finally`, and so swallows exceptions; such a function keeps Python's own jumps."""
    for node in statements:
        if isinstance(node, _TRIES) and jumps(node.finalbody):
            return True
        if any(leaves_a_finally(block) for block in blocks(node)):
            return True
    return False


def _may_raise_after(statements: list[Any]) -> bool:
    """Whether something that can raise runs between a jump in the block and the block's end."""
    for node in statements:
        if isinstance(node, (ast.With, *_TRIES)) and jumps([node]):
            return True
        if any(_may_raise_after(block) for block in blocks(node)):
            return True
    return False


def _nest(node: Any) -> None:
    """`with a, b:` as two statements: `a` may swallow what leaving `b` raises."""
    inner: Any = ast.copy_location(ast.With(node.items[1:], node.body), node)
    inner.weft_facts, node.weft_facts = node.weft_facts, Facts()
    node.weft_facts.reads |= inner.weft_facts.reads
    node.weft_facts.stores |= inner.weft_facts.stores
    node.weft_facts.perhaps |= inner.weft_facts.stores.keys()
    node.items, node.body = node.items[:1], [inner]


def _settable(kinds: set[str], loop: Loop | None) -> list[str]:
    """The flags that the jumps set, where they are used at all."""
    found: list[str] = []
    if loop is not None and "continue" in kinds:
        found.append(loop.continue_flag)
    if loop is not None and "break" in kinds:
        found.append(loop.break_flag)
    if "return" in kinds:
        found.append(RETURNED)
        while loop is not None:
            found += [loop.break_flag] * (loop.breaks and loop.break_flag not in found)
            loop = loop.parent
    return found


class Lowering:
    """Rewrites the jumps of one function."""

    def __init__(self, scope: Scope, numbers: Any) -> None:
        self.scope = scope
        self.numbers = numbers
        self.used: set[str] = set()
        self.kinds: dict[Any, set[str]] = {}  # of jumps that leave a statement, as it was written
        self.setters: list[SetFlags] = []
        self.dropped = False
        """Whether code that never runs was left out; what it stores are variables of the function all the same."""
        self.returns = False

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The function's statements without jumps; with a `return` at the end where one was nested."""
        self.returns = any("return" in jumps([node]) for node in body if not isinstance(node, ast.Return))
        if self.returns and completes(body):
            last = ast.copy_location(ast.Return(None), body[-1])
            last.weft_facts = Facts()  # type: ignore[attr-defined]  # an attribute of our own
            body = [*body, last]
        lowered = self.block(body, None)
        if RETURNED in self.used:
            lowered.insert(0, self._setter(SetFlags(body[0], [RETURNED], False)))
        for setter in self.setters:
            setter.flags = [flag for flag in setter.flags if flag in self.used]
            setter.weft_facts.stores.update(dict.fromkeys(setter.flags, setter.lineno))
            self.scope.stored.update(dict.fromkeys(setter.weft_facts.stores))
        if self.returns:
            value = ast.copy_location(ast.Name(VALUE, ast.Load()), body[-1])
            end = ast.copy_location(ast.Return(value), body[-1])
            end.weft_facts = Facts()  # type: ignore[attr-defined]  # an attribute of our own
            end.weft_facts.reads.add(VALUE)  # type: ignore[attr-defined]  # an attribute of our own
            lowered.append(end)
        return lowered

    def _setter(self, node: SetFlags) -> SetFlags:
        self.setters.append(node)
        return node

    def block(self, statements: list[ast.stmt], loop: Loop | None) -> list[ast.stmt]:
        """The block, lowered; what follows a statement may have moved into it."""
        out: list[ast.stmt] = []
        for index, node in enumerate(statements):
            jumping = isinstance(node, _JUMPS) and (self.returns or not isinstance(node, ast.Return))
            if not jumping and not blocks(node):
                out.append(node)
                continue
            rest = statements[index + 1 :]
            if jumping:
                out.append(self._jump(node, loop))
                self._drop(rest)
                return out
            if isinstance(node, _LOOPS):
                made, rest = self._loop(node, loop, rest)
                return out + made + self.block(rest, loop)
            kinds, done = jumps([node], self.kinds), _completes(node)
            if isinstance(node, ast.If):
                rest = self._if(node, loop, rest, bool(kinds))
            else:
                self._inside(node, loop)
            out.append(node)
            if kinds and done:
                return out + (self.block(self._guard(kinds, rest, loop), loop) if rest else [])
            if kinds:
                self._drop(rest)
                return out
        return out

    def _jump(self, node: Any, loop: Loop | None) -> Jump:
        if isinstance(node, ast.Return):
            jump = Jump(node, "return", loop, _settable({"return"}, loop))
            jump.weft_facts = node.weft_facts  # type: ignore[attr-defined]  # an attribute of our own
            jump.weft_facts.stores[VALUE] = node.lineno
            jump.returned = node.value or ast.copy_location(ast.Constant(None), node)
        elif isinstance(node, ast.Break):
            assert loop is not None
            jump = Jump(node, "break", loop, [loop.break_flag])
        else:
            assert loop is not None
            jump = Jump(node, "continue", loop, [loop.continue_flag])
        self._setter(jump)
        return jump

    def _drop(self, statements: list[ast.stmt]) -> None:
        self.dropped = self.dropped or bool(statements)

    def _if(self, node: ast.If, loop: Loop | None, rest: list[ast.stmt], jumping: bool) -> list[ast.stmt]:
        """Lower an `if`; what follows moves into it where one side always jumps. Gives back what did not move."""
        body, orelse = completes(node.body), completes(node.orelse)
        if jumping and rest and body != orelse:
            if body:
                node.body = node.body + rest
            else:
                node.orelse = node.orelse + rest
            rest = []
        node.body = self.block(node.body, loop)
        node.orelse = self.block(node.orelse, loop)
        return rest

    def _inside(self, node: Any, loop: Loop | None) -> None:
        if isinstance(node, _TRIES):
            kinds = jumps(node.body)
            if node.orelse and kinds and not completes(node.body):
                self._drop(node.orelse)
                node.orelse = []
            flags = _settable(kinds, loop)
            node.body = self.block(node.body, loop)
            if node.orelse:
                guarded = self._guard(kinds, node.orelse, loop) if kinds else node.orelse
                node.orelse = self.block(guarded, loop)
            for handler in node.handlers:
                handler.body = self.block(handler.body, loop)
                if flags:
                    # Whatever raised after a jump (leaving a `with`, a `finally`) has undone the jump.
                    handler.body.insert(0, self._setter(SetFlags(handler.body[0], flags, False)))
            node.finalbody = self.block(node.finalbody, loop)
        else:
            if len(node.items) > 1 and jumps(node.body):
                _nest(node)
            flags = _settable(jumps(node.body), loop) if _may_raise_after(node.body) else []
            node.body = self.block(node.body, loop)
            if flags:
                node.body = [self._undoing(node, flags)]

    def _undoing(self, node: ast.With, flags: list[str]) -> ast.stmt:
        """The body of a `with` that may swallow what was raised after a jump, and so has to take the jump back."""
        again = ast.copy_location(ast.Raise(None, None), node)
        reset = [self._setter(SetFlags(node, flags, False)), again]
        handler = ast.copy_location(ast.ExceptHandler(None, None, reset), node)
        made: Any = ast.copy_location(ast.Try(node.body, [handler], [], []), node)
        parts: tuple[Any, ...] = (made, handler, again)
        for each in parts:
            each.weft_facts = Facts()
        made.weft_ours = True
        return made  # type: ignore[no-any-return]  # it is a Try

    def _loop(self, node: Any, loop: Loop | None, rest: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A lowered loop, and what is still to be lowered after it."""
        kinds = jumps(node.body)
        inner = Loop(next(self.numbers), loop, kinds)
        node.weft_loop = inner
        before: list[ast.stmt] = []
        if inner.exit is not None:
            self.used.add(inner.exit)
        if inner.breaks:
            before.append(self._setter(SetFlags(node, [inner.break_flag], False)))
        node.body = self.block(node.body, inner)
        if inner.continue_flag in self.used:
            node.body.insert(0, self._setter(SetFlags(node.body[0], [inner.continue_flag], False)))
        orelse, node.orelse = node.orelse, []
        if rest and "return" in kinds:
            rest = self._guard({"return"}, rest, loop)
        if inner.exit is None:
            return [*before, node], orelse + rest
        if orelse:
            rest = [self._unless(orelse[0], [inner.exit], orelse), *rest]
        return [*before, node], rest

    def _flags(self, kinds: set[str], loop: Loop | None) -> list[str]:
        """The flags that say whether one of the jumps has been taken."""
        found: dict[str, None] = {}
        if "return" in kinds:
            found[loop.break_flag if loop is not None and loop.breaks else RETURNED] = None
        if loop is not None:
            found |= dict.fromkeys([loop.break_flag] * ("break" in kinds))
            found |= dict.fromkeys([loop.continue_flag] * ("continue" in kinds))
        self.used.update(found)
        return list(found)

    def _guard(self, kinds: set[str], rest: list[ast.stmt], loop: Loop | None) -> list[ast.stmt]:
        return [self._unless(rest[0], self._flags(kinds, loop), rest)]

    def _unless(self, at: Any, flags: list[str], body: list[ast.stmt]) -> ast.If:
        """`if not flag: body`."""
        names: list[ast.expr] = [ast.copy_location(ast.Name(flag, ast.Load()), at) for flag in flags]
        test = names[0] if len(names) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), names), at)
        node = ast.If(ast.copy_location(ast.UnaryOp(ast.Not(), test), at), body, [])
        made: Any = ast.copy_location(node, at)
        made.weft_facts = Facts()
        made.weft_facts.reads.update(flags)
        made.weft_facts.lazy = len(names) > 1
        return node
