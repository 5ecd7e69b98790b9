"""Writes through views: a part taken out, changed, and put back where it was taken from is changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.graph._arguments import map_aggregate
from weft.graph._code_program import GETITEMS, INDEX_UPDATE, Program
from weft.graph._code_values import Block, Plain, Value, live_after
from weft.graph._node import Node
from weft.graph._storage_kinds import NUMBERS, Keys, is_spec, is_update


class WriteBacks:
    """`v = x[k]; v2 = index_update(v, …); x2 = index_update(x, k, v2)`: writing v in place has written x already."""

    def __init__(self, program: Program, keys: Keys) -> None:
        self._program = program
        self._last: dict[Plain, tuple[Value, Plain]] = {}  # update of a view → what it shows, and who writes it back
        self._chains: dict[Plain, list[Plain]] = {}
        for value in program.values.values():
            block = value.block
            if 0 <= value.at < block.end:
                statement = block.statements[value.at]
                if is_update(statement):
                    assert isinstance(statement, Plain)
                    self._find(statement, keys)

    def _find(self, back: Plain, keys: Keys) -> None:
        base_node, key, written = back.args
        if back.node.target is not INDEX_UPDATE or not isinstance(written, Node) or not keys.is_view(key):
            return
        chain: list[Plain] = []
        statement = self._statement(written, back.block)
        while statement is not None and is_update(statement):
            chain.append(statement)
            statement = self._statement(statement.args[0], back.block)
        values = self._program.values
        if not chain or statement is None or not self.shows(statement, values[base_node], key):
            return
        self._chains[back] = chain
        for link in chain:
            self._last[link] = (values[base_node], back)

    def _statement(self, node: Any, block: Block) -> Plain | None:
        value = self._program.values.get(node) if isinstance(node, Node) else None
        if value is None or value.block is not block or not 0 <= value.at < block.end:
            return None
        found = block.statements[value.at]
        return found if isinstance(found, Plain) and found.value is value else None

    @staticmethod
    def _is_view(statement: Plain) -> bool:
        known = statement.value.type
        return (
            statement.node.op == "call_function"
            and statement.node.target in GETITEMS
            and len(statement.args) == 2
            and isinstance(statement.args[0], Node)
            and is_spec(known)
            and len(known.shape) > 0
        )

    def shows(self, statement: Any, base: Value, key: Any) -> bool:
        """Whether a statement reads the part of a value that a key selects."""
        if not isinstance(statement, Plain) or not self._is_view(statement):
            return False
        shown, k = statement.args
        return self._program.values.get(shown) is base and _same_key(k, key, self._program)

    def excused(self, statement: Plain) -> set[Value]:
        """Values that may see the write: all they are read for from now on is to have it written to them."""
        found: set[Value] = set()
        link: Plain = statement
        while link in self._last:
            base, back = self._last[link]
            if any(at > statement.at and at != back.at for at in _positions(base, statement.block)):
                break
            if base.uses.get(statement.block, -1) > back.at or live_after(base, back.block, back.at):
                break
            found.add(base)
            link = back
        return found

    def is_shifted(self, update: Plain) -> bool:
        """Whether an update moves a run of elements of an array in one dimension: `x[1:] = x[:-1]`."""
        base, key, written = update.args
        found = self._statement(written, update.block)
        if (
            found is None
            or not self._is_view(found)
            or self._program.values.get(found.args[0]) is not self._program.values[base]
        ):
            return False
        known = self._program.values[base].type
        runs = all(isinstance(k, slice) and (k.step is None or k.step == 1) for k in (key, found.args[1]))
        return runs and is_spec(known) and len(known.shape) == 1

    def is_done(self, back: Plain, in_place: set[Plain]) -> bool:
        """Whether what an update writes is there already, because all that led to it happened in place."""
        return back in self._chains and all(link in in_place for link in self._chains[back])


def _positions(value: Value, block: Block) -> Iterator[int]:
    """Where in a block a value is read; a read elsewhere inside it counts at the statement that holds it."""
    for where, position in value.reads:
        here, at = where, position
        while here is not block and here.parent is not None:
            here, at = here.parent, here.at
        if here is block:
            yield at


def _same_key(one: Any, other: Any, program: Program) -> bool:
    def plain(part: Any) -> Any:
        if isinstance(part, Node):
            return program.values.get(part, part)
        return part

    found = [map_aggregate(key if type(key) is tuple else (key,), plain) for key in (one, other)]
    return _equal(found[0], found[1])


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, slice):
        return all(map(_equal, (one.start, one.stop, one.step), (other.start, other.stop, other.step)))
    return one is other or (isinstance(one, NUMBERS) and one == other)
