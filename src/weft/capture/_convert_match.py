"""`match` as `if`s: each case asks a hook whether its pattern fits, and stores what it captured.

    match x:                     _match_1 = x
        case 0 | 1: A            _match_2 = MatchTest(_match_1, 0 | 1)
        case [a, b] if a: B      if _match_2[0]: A
                                 else:
                                     _match_3 = MatchTest(_match_1, [a, b])
                                     if _match_3[0]: a = _match_3[1]; b = _match_3[2]; _match_4 = a
                                     else: _match_4 = False
                                     if _match_4: a = _match_3[1]; b = _match_3[2]; B

Names are stored again for a case's body: under a traced condition, the first store is on one side only.
"""

from __future__ import annotations

import ast
from itertools import count
from typing import Any

from weft.capture._convert_build import LOAD, constant, load, put, store

_AND = ast.And()


class MatchTest(ast.expr):
    """Whether a pattern fits a subject, and what it captures: a tuple. `pattern` refers to `values` by their places."""

    _fields = ("subject", "values")

    def __init__(self, at: ast.pattern, subject: str, shape: _Shape) -> None:
        super().__init__()
        put(self, at)
        self.subject = load(at, subject)
        self.pattern = shape.whole
        self.values = shape.values
        self.names = shape.names


class _Shape:
    """A pattern as nested tuples that can stand in code as a constant, and the expressions it refers to."""

    def __init__(self, pattern: ast.pattern) -> None:
        self.values: list[ast.expr] = []
        self.names: list[str] = []
        self.whole = self._of(pattern)

    def _of(self, node: Any) -> tuple[Any, ...]:
        """One of the forms that `weft.capture._matching` knows."""
        if isinstance(node, ast.MatchValue):
            return "value", self._value(node.value)
        if isinstance(node, ast.MatchSingleton):
            return "singleton", node.value
        if isinstance(node, ast.MatchSequence):
            return "sequence", self._all(node.patterns)
        if isinstance(node, ast.MatchStar):
            return "star", self._name(node.name)
        if isinstance(node, ast.MatchMapping):
            keys = tuple(self._value(key) for key in node.keys)
            return "mapping", keys, self._all(node.patterns), self._name(node.rest)
        if isinstance(node, ast.MatchClass):
            cls = self._value(node.cls)
            return "class", cls, self._all(node.patterns), tuple(node.kwd_attrs), self._all(node.kwd_patterns)
        if isinstance(node, ast.MatchOr):
            return "or", self._all(node.patterns)
        inner = None if node.pattern is None else self._of(node.pattern)
        return "as", inner, self._name(node.name)

    def _all(self, nodes: list[ast.pattern]) -> tuple[Any, ...]:
        return tuple(self._of(node) for node in nodes)

    def _value(self, node: ast.expr) -> int:
        self.values.append(node)
        return len(self.values) - 1

    def _name(self, name: str | None) -> str | None:
        if name is not None and name not in self.names:
            self.names.append(name)
        return name


class Matches(ast.NodeTransformer):
    """Rewrites the `match` statements of a function."""

    def __init__(self) -> None:
        self.numbers = count(1)

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        subject = self._variable()
        return [store(node, subject, node.subject), *self._cases(node.cases, subject)]

    def _variable(self) -> str:
        return f"_match_{next(self.numbers)}"

    def _cases(self, cases: list[ast.match_case], subject: str) -> list[ast.stmt]:
        if not cases:
            return []
        case, at = cases[0], cases[0].pattern
        rest = self._cases(cases[1:], subject)
        if isinstance(at, ast.MatchAs) and at.pattern is None:
            bind: list[ast.stmt] = [] if at.name is None else [store(at, at.name, load(at, subject))]
            if case.guard is None:
                return bind + case.body
            return [*bind, put(ast.If(case.guard, case.body, rest), case.guard)]
        shape, result = _Shape(at), self._variable()
        test = store(at, result, MatchTest(at, subject, shape))
        fits = _item(at, result, 0)
        names = [(name, place) for place, name in enumerate(shape.names, 1)]
        if case.guard is None:
            return [test, put(ast.If(fits, _stores(at, result, names) + case.body, rest), at)]
        if not names:
            return [test, put(ast.If(put(ast.BoolOp(_AND, [fits, case.guard]), at), case.body, rest), at)]
        guard = self._variable()
        asked = [*_stores(at, result, names), store(case.guard, guard, case.guard)]
        outcome = put(ast.If(fits, asked, [store(at, guard, constant(at, False))]), at)
        taken = put(ast.If(load(case.guard, guard), _stores(at, result, names) + case.body, rest), case.guard)
        return [test, outcome, taken]


def _item(at: Any, name: str, place: int) -> ast.expr:
    return put(ast.Subscript(load(at, name), constant(at, place), LOAD), at)


def _stores(at: Any, result: str, names: list[tuple[str, int]]) -> list[ast.stmt]:
    return [store(at, name, _item(at, result, place)) for name, place in names]
