"""The variables of generated code: which values share one, and what each is called.

Values that flow into one another (the initial value of a carry, its value in an iteration, the one for the next, the
result of the loop; what branches give and the result) share a variable wherever none of them is needed while another
is defined, so that most of these flows need no statement at all. Names are unique in the function.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from typing import Any

from weft.graph._code_program import Program
from weft.graph._code_values import Block, Choice, Loop, Plain, Result, Value, live_at
from weft.graph._literals import is_variable
from weft.graph._node import Node
from weft.graph._storage import Storage

_PLAIN_NAMES = re.compile(r"(getitem|index_update|index_add|cond|switch|while_loop|fori_loop|scan)(_\d+)?$")
_NUMBER = re.compile(r"_\d+$")


class Variable:
    """One name for values of which only one is needed at any time."""

    __slots__ = ("hi", "lo", "members", "name", "order", "span")

    def __init__(self, value: Value, order: int) -> None:
        self.members = [value]
        self.order = order
        self.name = ""
        self.span: Block | None = value.block  # where all members are defined; None where in several blocks
        # A value that is never read takes up its variable all the same.
        self.lo, self.hi = value.at, max(value.at + 0.5, value.uses.get(value.block, -1))


class Variables:
    """Finds the variable of each value."""

    def __init__(self, program: Program, storage: Storage, taken: Iterable[str]) -> None:
        self._program = program
        self._storage = storage
        self._fixed = {program.values[target] for target, _ in _writes(program)}
        self._of: dict[Value, Variable] = {}
        self.all: list[Variable] = []
        self._define(program.top)
        self._share(program.top)
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}
        self._name_all()
        self.rows = {result: self._free(["rows"]) for result in _stacked(program.top)}  # lists that scans fill

    def name(self, value: Value) -> str:
        return self._of[value].name

    def names(self) -> set[str]:
        """Every local name there is."""
        return {*(variable.name for variable in self.all), *self.rows.values()}

    def variable(self, value: Value) -> Variable:
        return self._of[value]

    # Sharing

    def _define(self, top: Block) -> None:
        for value in _values(self._program, top):
            if value not in self._of:
                self._of[value] = variable = Variable(value, len(self.all))
                self.all.append(variable)

    def _share(self, block: Block) -> None:
        """Let values share variables, inner blocks first, loops before what surrounds them."""
        for statement in block.statements:
            if isinstance(statement, Plain):
                if statement in self._storage.in_place:
                    self._try(self._program.values[statement.args[0]], statement.value)
            elif isinstance(statement, Choice):
                for branch in statement.branches:
                    self._share(branch)
                for result in statement.results:
                    for source in result.sources if result.read else ():
                        self._try(source, result.value)
            elif isinstance(statement, Loop):
                for carry in statement.carries:
                    if carry.used and carry.result.value is not None:
                        self._merge(self._of[carry.value], self._of[carry.result.value])
                self._share(statement.body)
                for carry in statement.carries:
                    if carry.used and carry not in self._storage.copied:
                        self._try(carry.init, carry.value)
                for carry in statement.carries:
                    if carry.used:
                        self._try(carry.out, carry.value)

    def _try(self, source: Any, value: Value | None) -> None:
        if isinstance(source, Node):
            if source in self._program.constants:
                return
            source = self._program.values[source]
        if not isinstance(source, Value) or value is None:
            return
        one, other = self._of[source], self._of[value]
        if one is not other and not self._conflict(one, other):
            self._merge(one, other)

    def _conflict(self, one: Variable, other: Variable) -> bool:
        for variable, added in ((one, other), (other, one)):
            for fixed in variable.members if self._fixed else ():
                # What is written back goes to the very object; the name has to go on meaning it.
                if fixed in self._fixed and any(self._storage.object(member) is not fixed for member in added.members):
                    return True
        apart = one.hi <= other.lo or other.hi <= one.lo
        if apart and one.span is other.span and one.span is not None:
            return False
        return any(live_at(a, b) or live_at(b, a) for a in one.members for b in other.members)

    def _merge(self, one: Variable, other: Variable) -> None:
        if one is other:
            return
        if len(one.members) < len(other.members):
            one, other = other, one
        one.order = min(one.order, other.order)
        one.span = one.span if one.span is other.span else None
        one.lo, one.hi = min(one.lo, other.lo), max(one.hi, other.hi)
        one.members += other.members
        for member in other.members:
            self._of[member] = one

    # Names

    def _name_all(self) -> None:
        self.all = sorted(dict.fromkeys(self._of.values()), key=lambda variable: variable.order)
        top = self._program.top
        later: list[Variable] = []
        for variable in self.all:
            fixed = next((m for m in variable.members if m.block is top and m.at == -1), None)
            own = variable.members[0] if len(variable.members) == 1 else None
            if fixed is None and own is not None and own.block is top and len(own.names) == 1:
                fixed = own
            if fixed is None or fixed.node._name in self._taken:
                later.append(variable)
            else:
                variable.name = fixed.node._name
                self._taken.add(variable.name)
        for variable in later:
            variable.name = self._free(_candidates(variable))

    def _free(self, candidates: list[str]) -> str:
        for name in candidates:
            if name not in self._taken and is_variable(name) and not hasattr(builtins, name):
                self._taken.add(name)
                return name
        base = _NUMBER.sub("", candidates[0]) or "value"
        base = base if base.isidentifier() else "value"
        number = self._numbers.get(base, 0) + 1
        while f"{base}_{number}" in self._taken:
            number += 1
        self._numbers[base] = number
        self._taken.add(f"{base}_{number}")
        return f"{base}_{number}"


def _candidates(variable: Variable) -> list[str]:
    """Names to try: those of outer values first, of earlier ones first; names that say nothing only without others."""
    ranked = sorted(variable.members, key=lambda value: (value.block.depth, value.at))
    names = list(dict.fromkeys(name for value in ranked for name in value.names))
    telling = [name for name in names if not _PLAIN_NAMES.match(name)]
    return telling or names


def _writes(program: Program) -> Any:
    return () if program.output is None else program.output.kwargs.get("writes", ())


def _stacked(block: Block) -> Iterator[Result]:
    for statement in block.statements:
        if isinstance(statement, Loop):
            yield from (result for result in statement.stacked if result.read)
            yield from _stacked(statement.body)
        elif isinstance(statement, Choice):
            for branch in statement.branches:
                yield from _stacked(branch)


def _values(program: Program, top: Block) -> Iterator[Value]:
    """All values, in the order of the program."""
    yield from (value for value in program.values.values() if value.block is top and value.at == -1)
    waiting: list[Any] = [iter(top.statements)]
    while waiting:
        statement = next(waiting[-1], None)
        if statement is None:
            waiting.pop()
            continue
        if isinstance(statement, Choice):
            yield from (result.value for result in statement.results if result.value is not None)
            waiting.extend(iter(branch.statements) for branch in reversed(statement.branches))
        elif isinstance(statement, Loop):
            results = [carry.result for carry in statement.carries] + statement.stacked
            yield from (result.value for result in results if result.value is not None)
            yield from () if statement.index is None else (statement.index,)
            yield from (carry.value for carry in statement.carries if carry.used)
            yield from (row for row, _ in statement.rows)
            waiting.append(iter(statement.body.statements))
        elif hasattr(statement, "value"):
            yield statement.value
