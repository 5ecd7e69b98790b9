"""What each `if`, `while` and `for` stores, which of that is read later, and which variables may have no value.

Works on statements without jumps (see `weft.capture._convert_jumps`), with facts. Two walks: forward for the variables
that certainly have a value, backward for those that may still be read. A loop needs no iteration to a fixed point:
what is live at its head is what is live after it and what its body reads before storing it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from weft.capture._convert_compile import mangled
from weft.capture._convert_jumps import Jump, blocks, completes
from weft.capture._convert_scope import Facts, Scope

# Tuples, not unions: a union is made anew each time it is written out.
_REGIONS = (ast.If, ast.While, ast.For)
_LEAVING = (ast.Return, ast.Raise)
_ENDS = (*_LEAVING, ast.Break, ast.Continue)
_LOOPS = (ast.While, ast.For)
_WITHS = (ast.With, ast.AsyncWith)
_ONCE_OR_NOT = _LOOPS + _WITHS
_TRIES = (ast.Try, ast.TryStar)
_PLAIN = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert})
Live = frozenset[str]


@dataclass
class Region:
    """What is known of the variables of one `if`, `while` or `for`."""

    names: tuple[str, ...]
    stores: dict[str, tuple[int | None, int | None]]
    live: Live = frozenset()
    live_body: Live = frozenset()
    live_orelse: Live = frozenset()


@dataclass
class Targets:
    """What is live where jumps and exceptions go."""

    after: Live = frozenset()
    head: Live = frozenset()
    returned: Live = frozenset()
    raised: Live = frozenset()
    flags: Live = field(default_factory=frozenset)


class Flow:
    """The analysis of one function's body; `weft_region` of regions and `weft_unbound` of statements tell the rest."""

    def __init__(self, scope: Scope, body: list[ast.stmt]) -> None:
        self.scope = scope
        self.body = body
        self.everywhere = frozenset(name for name in scope.rewritten if name not in scope.globals)
        self.always = frozenset(scope.captured | scope.nonlocals)
        self.region_names: set[str] = set()
        self.handled: set[str] = set()
        """Names of `except … as name`."""
        self.flags: Live = frozenset(name for name in scope.stored if name.startswith("_weft_"))

    def run(self) -> None:
        """Analyse; the scope learns which variables may hold `undefined`."""
        scope = self.scope
        self._stores(self.body)
        self.run_native()
        scope.undefined |= self.handled & self.region_names
        self._live(self.body, frozenset(), Targets(flags=self.flags))

    def run_native(self) -> None:
        """The part of the analysis that code in Python's own form needs: which variables may have no value."""
        scope = self.scope
        scope.undefined |= (self.everywhere - set(scope.parameters)) | scope.emptied
        self._bound(self.body, set(scope.parameters))

    # What is stored, from the inside out.

    def _stores(self, statements: list[Any]) -> dict[str, int]:
        """The variables a block stores, in order, each with the line of its last store."""
        found: dict[str, int] = {}
        for node in statements:
            found |= self._stored_by(node)
        return found

    def _stored_by(self, node: Any) -> dict[str, int]:
        facts: Facts = node.weft_facts
        header: dict[str, int] = {name: line for name, line in facts.stores.items() if name not in self.scope.globals}
        header |= dict.fromkeys(sorted(facts.deletes - self.scope.globals), node.lineno)
        parts = [self._stores(block) for block in blocks(node)]
        for each in getattr(node, "handlers", ()):
            parts.append({k: v for k, v in each.weft_facts.stores.items() if k not in self.scope.globals})
            if each.name is not None:
                self.handled.add(self._handled(each))
        if isinstance(node, _REGIONS):
            self._region(node, parts[0] if isinstance(node, ast.If) else header | parts[0], parts[1])
        for part in parts:
            header = header | part
        node.weft_stored = header
        return header

    def _region(self, node: Any, body: dict[str, int], orelse: dict[str, int]) -> None:
        names = dict.fromkeys([*body, *orelse]) | dict.fromkeys(sorted(self.everywhere))
        node.weft_region = Region(tuple(names), {name: (body.get(name), orelse.get(name)) for name in names})
        self.region_names.update(names)

    def _handled(self, handler: ast.ExceptHandler) -> str:
        return mangled(handler.name or "", self.scope.class_name)

    # What certainly has a value, from the top to the bottom. None: never reached.

    def _bound(self, statements: list[Any], bound: set[str] | None) -> set[str] | None:
        for node in statements:
            if bound is not None:
                bound = self._after(node, bound)
        return bound

    def _after(self, node: Any, bound: set[str]) -> set[str] | None:
        """What has a value after a statement; `bound`, what has one before, is changed."""
        facts: Facts = node.weft_facts
        if isinstance(node, ast.While):
            bound -= self._deletes(node)  # its test runs after its body, too
        self._missing(node, facts.reads | facts.deletes, bound)
        if isinstance(node, _ENDS):
            return None
        region = getattr(node, "weft_region", None)
        if isinstance(node, ast.If):
            bound |= facts.kills
        if region is not None:
            self.scope.undefined.update(name for name in region.names if name not in bound and self._mine(name))
        if facts.deletes:
            self.scope.undefined |= facts.deletes & self.region_names
            bound -= facts.deletes
            return bound
        if blocks(node):
            return self._compound(node, bound)
        bound |= facts.kills
        return bound

    def _mine(self, name: str) -> bool:
        return name in self.scope.stored and name not in self.scope.globals and name not in self.scope.nonlocals

    def _compound(self, node: Any, bound: set[str]) -> set[str] | None:
        facts: Facts = node.weft_facts
        if isinstance(node, ast.If):
            return _both(self._bound(node.body, set(bound)), self._bound(node.orelse, set(bound)))
        kept = bound - self._deletes(node)
        if isinstance(node, _ONCE_OR_NOT):
            self._bound(node.body, kept | facts.kills)
            after = kept | facts.kills if isinstance(node, ast.While) else kept
            # Leaving the first of several contexts may swallow what entering a later one raised.
            if isinstance(node, _WITHS) and len(node.items) == 1:
                after = (bound | facts.kills) - self._deletes(node)
            self._bound(getattr(node, "orelse", []), set(after))
            return after
        return self._try(node, bound, kept)

    def _part(self, node: Any, bound: set[str]) -> None:
        """The types of a handler."""
        self._missing(node, node.weft_facts.reads, bound)

    def _missing(self, node: Any, read: set[str], bound: set[str]) -> None:
        emptied = self.scope.emptied
        names = {name for name in read if (name not in bound or name in emptied) and self._mine(name)}
        if names:
            node.weft_unbound = names
        if names and node.weft_facts.lazy:
            # A lambda of ours that found the variable empty would say so in other words than Python.
            self.scope.undefined |= names

    def _try(self, node: Any, bound: set[str], kept: set[str]) -> set[str] | None:
        ends = self._bound(node.orelse, self._bound(node.body, set(bound)))
        for handler in node.handlers:
            self._part(handler, kept)
            names = {self._handled(handler)} if handler.name is not None else set()
            after = self._bound(handler.body, kept | names)
            ends = _both(ends, after if after is None else after - names)
        final = self._bound(node.finalbody, set(kept))
        if ends is None or final is None:
            return None
        gone = {name for each in node.finalbody for name in self._deletes(each)}
        return (ends - gone) | final if node.finalbody else ends

    def _deletes(self, node: Any) -> set[str]:
        found = set(node.weft_facts.deletes)
        for handler in getattr(node, "handlers", ()):
            found.update([self._handled(handler)] * (handler.name is not None))
        for block in blocks(node):
            for each in block:
                found |= self._deletes(each)
        return found

    # What may still be read, from the bottom to the top.

    def _live(self, statements: list[Any], live: Live, to: Targets) -> Live:
        for node in reversed(statements):
            live = self._before(node, live, to) | to.raised
        return live

    def _before(self, node: Any, live: Live, to: Targets) -> Live:
        facts: Facts = node.weft_facts
        if type(node) in _PLAIN:
            pass
        elif isinstance(node, Jump):
            live = _target(node, to)
        elif isinstance(node, _LEAVING):
            live = frozenset()
        elif isinstance(node, ast.If):
            live = self._if(node, live, to)
            return live - facts.kills | facts.reads
        elif isinstance(node, _LOOPS):
            return self._loop(node, live, to)
        elif isinstance(node, _TRIES):
            return self._live_try(node, live, to)
        elif isinstance(node, _WITHS):
            # It may swallow an exception, and then what follows runs next.
            inner = _raising(to, to.raised | live)
            live = self._live(node.body, live, inner) | live
        asked = facts.deletes & getattr(node, "weft_unbound", set())  # deleting a variable without a value raises
        return live - facts.kills - facts.deletes | facts.reads | asked

    def _if(self, node: Any, live: Live, to: Targets) -> Live:
        region = node.weft_region
        names = frozenset(region.names)
        always = self.always & names
        region.live = names & live | always
        region.live_body = names & self._leaving(node.body, live, to) | always
        region.live_orelse = names & self._leaving(node.orelse, live, to) | always
        return self._live(node.body, live, to) | self._live(node.orelse, live, to)

    def _leaving(self, statements: list[Any], live: Live, to: Targets) -> Live:
        """What may be read after a block, on the way its end leads."""
        last = statements[-1] if statements else None
        if isinstance(last, Jump):
            return _target(last, to) | to.raised
        if isinstance(last, ast.Raise):
            return to.raised
        if isinstance(last, ast.If) and not completes(last.body) and not completes(last.orelse):
            return self._leaving(last.body, live, to) | self._leaving(last.orelse, live, to)
        return live

    def _loop(self, node: Any, after: Live, to: Targets) -> Live:
        facts, region = node.weft_facts, node.weft_region
        if not hasattr(node, "weft_exposed"):
            node.weft_exposed = self._iteration(node, Targets(flags=to.flags))
        exposed: Live = node.weft_exposed
        head = after | exposed
        inner = Targets(after=after, head=head, returned=to.returned, raised=to.raised, flags=to.flags)
        self._iteration(node, inner)
        names = frozenset(region.names)
        region.live = region.live_body = region.live_orelse = names & head | self.always & names
        if isinstance(node, ast.For):
            head = head | facts.reads
        return head

    def _iteration(self, node: Any, to: Targets) -> Live:
        """What is live where an iteration begins: at a `while`'s test, or before a `for` stores its target."""
        facts: Facts = node.weft_facts
        leaving = frozenset() if node.weft_loop.exit is None else frozenset([node.weft_loop.exit])
        live = self._live(node.body, to.head | leaving, to)
        if isinstance(node, ast.While):
            return (live | to.after) - facts.kills | facts.reads
        return live - facts.kills | to.after

    def _live_try(self, node: Any, live: Live, to: Targets) -> Live:
        final = self._live(node.finalbody, live | to.raised, to) if node.finalbody else live
        outer = _raising(to, final) if node.finalbody else to
        handling = outer.raised
        for handler in node.handlers:
            names = frozenset([self._handled(handler)] if handler.name is not None else [])
            handling |= self._live(handler.body, final, outer) - names | handler.weft_facts.reads
        ends = self._live(node.orelse, final, outer)
        return self._live(node.body, ends, _raising(outer, handling)) | handling


def _raising(to: Targets, raised: Live) -> Targets:
    return Targets(to.after, to.head, to.returned, raised, to.flags)


def _target(jump: Jump, to: Targets) -> Live:
    live = {"break": to.after, "continue": to.head, "return": to.returned}[jump.kind]
    # Guards on the way to the target read flags, nothing else.
    return live | to.flags


def _both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
