"""Which writes may happen in place: who owns the memory of each value, and who else may still see it.

`index_update(x, key, value)` means a copy. It may be `x[key] = value`, and `index_add` may be `x[key] += value`, where
the memory of x belongs to the computation and nothing read later, in this iteration or the next, may share it. Memory
goes by *roots*: one for each result that has memory of its own, one for each input, and one for each carry of a loop,
which stands for whatever that carry holds in the present iteration. Two carries of a loop keep apart as long as what
they hold at the end of an iteration is apart (so two buffers may swap), which is assumed first and given up where the
body does not keep to it. A carry that is written in place starts from an initial value that is owned and not read
again, or from a copy of it.

Inputs are not owned, except those that the output lists as written and whose new content ends up in their own memory.
Different inputs are taken to have different memory, as the writes of a graph always are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.graph._arguments import map_aggregate
from weft.graph._code_program import GETITEMS, INDEX_ADD, INDEX_UPDATE, Program
from weft.graph._code_values import Block, Carry, Choice, Gather, Loop, Plain, Result, Value, live_after
from weft.graph._node import Node
from weft.graph._storage_kinds import (
    NOTHING,
    NUMBERS,
    OTHER,
    Keys,
    changes_list,
    holds,
    is_spec,
    is_update,
    parts_of,
    sharing,
    writes_directly,
)
from weft.graph._storage_loops import LoopAnalysis
from weft.graph._storage_views import WriteBacks
from weft.ops._op import OWN, op_of
from weft.ops.indexing import add_into, assign

_FOREIGN = 0  # memory that is not ours, wherever it lies
_NONE: frozenset[int] = frozenset()


class Storage:
    """The result: which updates happen in place, which carries start from copies, which values are one object."""

    def __init__(self, program: Program, in_place: bool = True) -> None:
        self.program = program
        self.keys = Keys(program)
        self.in_place: set[Plain] = set()
        self.silent: set[Plain] = set()  # updates that write what is there already, through a view
        self.copied: set[Carry] = set()
        self.kept_rows: set[Result] = set()  # rows of a scan that later iterations would overwrite
        writes = program.output.kwargs.get("writes", ()) if program.output is not None else ()
        self._writes = [(program.values[target], value) for target, value in writes]
        attributes = sum(value.node.op == "get_attr" for value in program.values.values())
        allowed = {target for target, _ in self._writes if target.node.op != "get_attr" or attributes == 1}
        self._enabled = in_place and not any(writes_directly(value.node) for value in program.values.values())
        self._back = WriteBacks(program, self.keys) if self._enabled else None
        while True:
            self._run(allowed if self._enabled else set())
            lost = {target for target, value in self._writes if target in allowed and not self.is_same(target, value)}
            if not lost:
                break
            allowed = allowed - lost

    def is_same(self, target: Value, argument: Any) -> bool:
        """Whether an argument surely is the very object that another value is."""
        found = self._object(argument)
        return found is not None and found is self.object(target)

    def object(self, value: Value) -> Value:
        """The value whose object another one is, as long as writes go in place."""
        while (other := self._same.get(value, value)) is not value:
            value = other
        return value

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two arguments may share memory."""
        return self._overlap(self._roots_of(one), self._roots_of(other))

    # Roots

    def _run(self, allowed: set[Value]) -> None:
        self.in_place, self.silent, self.copied, self.kept_rows = set(), set(), set(), set()
        self._roots: dict[Value, frozenset[int]] = {}
        self._same: dict[Value, Value] = {}
        self._arrays: set[Value] = set(allowed)
        self._count = _FOREIGN
        self._owned: set[int] = set()
        self._outer: dict[int, set[int]] = {}  # of the root of a carry: older roots whose memory it may hold
        self._group: dict[int, tuple[Loop, int]] = {}
        self._relied: set[int] = set()
        self.listed: set[int] = set()  # roots of what was put into lists, where it stays as it is from then on
        self._holders: dict[int, list[Value]] = {}
        self._cursor: dict[Block, float] = {}
        for value in self.program.values.values():
            if value.at == -1 and value.block is self.program.top and value not in self._roots:
                self._set(value, frozenset({self._new(value in allowed)}))
        self._allowed = allowed
        self._walk(self.program.top)

    def _new(self, owned: bool = True) -> int:
        self._count += 1
        if owned:
            self._owned.add(self._count)
        return self._count

    def _set(self, value: Value, roots: frozenset[int]) -> None:
        known = value.type
        if isinstance(known, type) and known in NUMBERS:
            roots = _NONE
        self._roots[value] = roots
        for root in self._reach(roots):
            self._holders.setdefault(root, []).append(value)

    def _reach(self, roots: Iterable[int]) -> set[int]:
        """Roots, and the older ones whose memory they may stand for."""
        found = set(roots)
        waiting = [root for root in found if root in self._outer]
        while waiting:
            for root in self._outer[waiting.pop()]:
                if root not in found:
                    found.add(root)
                    if root in self._outer:
                        waiting.append(root)
        return found

    def _roots_of(self, argument: Any) -> frozenset[int]:
        if isinstance(argument, Node):
            if argument in self.program.constants:
                return self._roots_of(self.program.constants[argument])
            return self._roots.get(self.program.values[argument], _NONE)
        found: set[int] = set()

        def leaf(part: Any) -> Any:
            if isinstance(part, Node):
                found.update(self._roots_of(part))
            elif hasattr(part, "__array_interface__") and not isinstance(part, np.generic):
                found.add(_FOREIGN)
            return part

        map_aggregate(argument, leaf)
        return frozenset(found)

    def _overlap(self, one: Iterable[int], other: Iterable[int]) -> bool:
        others = list(other)
        return any(self._meet(a, b) for a in one for b in others)

    def _meet(self, a: int, b: int) -> bool:
        """Whether the memory of two roots may be the same: pairs of roots they may stand for are looked at once."""
        waiting = [(min(a, b), max(a, b))]
        seen = set(waiting)
        while waiting:
            old, young = waiting.pop()
            if old == young:
                return True
            if young not in self._outer:
                continue
            if old in self._group and self._group[old][0] is self._group[young][0]:
                continue  # carries of one loop that have been found to keep apart
            for root in self._outer[young]:
                pair = (min(root, old), max(root, old))
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
        return False

    def _is_owned(self, roots: frozenset[int]) -> bool:
        owned = bool(roots) and all(root in self._owned or root in self._outer for root in self._reach(roots))
        return owned and not self._overlap(self.listed, roots)

    # Walking

    def _walk(self, block: Block) -> None:
        for statement in block.statements:
            self._cursor[block] = statement.at
            if isinstance(statement, Plain):
                self._plain(statement)
            elif isinstance(statement, Choice):
                self._choice(statement)
            elif isinstance(statement, Loop):
                LoopAnalysis(self, statement).run()
            elif isinstance(statement, Gather):
                self._set(statement.value, frozenset().union(*(self._roots[one] for one in _flat(statement.parts))))
        self._cursor[block] = float("inf")

    def _plain(self, statement: Plain) -> None:
        value, node = statement.value, statement.node
        if is_update(statement):
            self._update(statement)
        elif changes_list(node):
            # What a list is given stays as it is from then on; what is taken out of one may be anybody's.
            self.listed |= self._reach(self._roots_of(statement.args[1:]))
            self._set(value, frozenset({_FOREIGN}) if node.target == "pop" else _NONE)
        elif holds(node):
            self._hold(statement)
        elif node.op == "get_attr":
            self._set(value, frozenset({self._new() if value in self._allowed else _FOREIGN}))
        else:
            kind = sharing(statement, self.keys)
            if kind == NOTHING:
                self._set(value, _NONE)
            elif kind == OWN:
                known = value.type
                scalar = is_spec(known) and known.shape == ()
                self._set(value, _NONE if scalar else frozenset({self._new()}))
            else:
                # Of a key, nothing is shown.
                item = any(node.target is function for function in GETITEMS) and len(statement.args) == 2
                shared = self._roots_of(statement.args[0] if item else (statement.args, statement.kwargs))
                self._set(value, shared | {_FOREIGN} if kind == OTHER else shared)
        op = op_of(node.target) if node.op == "call_function" else None
        if op is not None and op.always_array:
            self._arrays.add(value)

    def _hold(self, statement: Plain) -> None:
        """An object gets to hold a value. What it holds stays as it is, but where the output lists what is written."""
        shared = self._roots_of(statement.args[2:])
        if statement.value in self._allowed:
            self._set(statement.value, shared)
        else:
            self.listed |= self._reach(shared)
            self._set(statement.value, shared | {_FOREIGN})

    def _is_array(self, value: Value) -> bool:
        """Whether a value is an array for sure, and not a number or a scalar of NumPy's."""
        known = value.type
        return value in self._arrays or (is_spec(known) and len(known.shape) > 0)

    def note_array(self, value: Value, sure: bool) -> None:
        """Note whether a value is an array for sure."""
        if sure:
            self._arrays.add(value)
        else:
            self._arrays.discard(value)

    def _update(self, statement: Plain) -> None:
        base = self.program.values[statement.args[0]]
        if self._enabled and self._may_write(statement, base):
            self.in_place.add(statement)
            self._same[statement.value] = base
            self._relied |= self._reach(self._roots[base])
            self._set(statement.value, self._roots[base])
            assert self._back is not None, "made where writing in place is enabled"
            if self._back.is_done(statement, self.in_place):
                self.silent.add(statement)
            else:
                self.silent.discard(statement)
            return
        self.in_place.discard(statement)
        self.silent.discard(statement)
        self._same.pop(statement.value, None)
        self._set(statement.value, frozenset({self._new()}))

    def _may_write(self, statement: Plain, base: Value) -> bool:
        roots = self._roots[base]
        if not self._is_array(base) or not self._is_owned(roots):
            return False
        _, key, written = statement.args
        if isinstance(written, Node) and statement.node.graph._tracer_cls is not None and "type" not in written.meta:
            return False  # a symbolic trace does not tell Tensors from arrays, in which they would lose their gradients
        if self._overlap(self._roots_of(key), roots):
            return False
        assert self._back is not None, "made where writing in place is enabled"
        if self._back.is_done(statement, self.in_place):  # it changes nothing that anybody could see
            return True
        if self._overlap(self._roots_of(written), roots) and not self._may_overlap(statement):
            return False
        excused = {statement.value, *self._back.excused(statement)}
        return not any(
            other not in excused and self._overlap(self._roots[other], roots) and not self._is_apart(other, base, key)
            for other in self._alive(self._reach(roots), statement.block, statement.at)
        )

    def _is_apart(self, value: Value, base: Value, key: Any) -> bool:
        """Whether a value is `base[j]` where `base[i]` is written, and the two are numbers that differ."""
        made = value.block.statements[value.at] if 0 <= value.at < value.block.end else None
        if not isinstance(made, Plain) or len(made.args) != 2 or not any(made.node.target is f for f in GETITEMS):
            return False
        source = self.program.values.get(made.args[0]) if isinstance(made.args[0], Node) else None
        if source is None or self.object(source) is not self.object(base):
            return False
        one, other = parts_of(made.args[1])[0], parts_of(key)[0]
        return type(one) is int and type(other) is int and one != other and (one < 0) == (other < 0)

    def _may_overlap(self, statement: Plain) -> bool:
        """Whether NumPy writes what shares memory with the place it goes to as it was.

        Of a part in one dimension it need not: `M[:, 3] = M[2]` reads what it has just written. Where the program
        itself says so, it gets that.
        """
        assert self._back is not None, "made where writing in place is enabled"
        if not self.keys.is_basic(statement.args[1]):
            return False
        if statement.node.target is not INDEX_UPDATE or statement.node.meta.get("overlaps"):
            return True
        base, key, written = statement.args
        return (
            self.keys.rank(statement) != 1
            or self._back.is_done(statement, self.in_place)
            or self._back.is_shifted(statement)
            or self._is_part(written, self.program.values[base], key)
        )

    def _is_part(self, argument: Any, base: Value, key: Any) -> bool:
        """Whether what is written is the very part it is written to, wherever it shares its memory."""
        if not isinstance(argument, Node) or not self._overlap(self._roots_of(argument), self._roots[base]):
            return True
        value = self.program.values.get(argument)
        if value is not None and key is ... and self.object(value) is self.object(base):
            return True
        if value is None or not 0 <= value.at < value.block.end:
            return False
        made = value.block.statements[value.at]
        if isinstance(made, Choice):
            found = next((result for result in made.results if result.value is value), None)
            return found is not None and all(self._is_part(source, base, key) for source in found.sources)
        if is_update(made) and isinstance(made, Plain):
            return made in self.in_place and self._is_part(made.args[0], base, key)
        assert self._back is not None, "made where writing in place is enabled"
        return self._back.shows(made, base, key)

    def _alive(self, roots: Iterable[int], block: Block, at: int) -> Iterator[Value]:
        """The values read after a position that hold any of the roots."""
        for root in roots:
            holders = self._holders.get(root, [])
            kept = [
                value
                for value in dict.fromkeys(holders)
                if value.uses.get(value.block, -1) >= self._cursor.get(value.block, -1)
            ]
            self._holders[root] = kept
            for value in kept:
                if _defined(value, block, at) and live_after(value, block, at):
                    yield value

    def _choice(self, choice: Choice) -> None:
        for branch in choice.branches:
            self._walk(branch)
        for result in choice.results:
            if result.value is None:
                continue
            sources = [s for s, branch in zip(result.sources, choice.branches, strict=True) if not branch.fails]
            self._set(result.value, frozenset().union(*map(self._roots_of, sources)))
            objects = {self._object(source) for source in sources}
            first = objects.pop() if len(objects) == 1 else None
            if first is not None:
                self._same[result.value] = first
            else:
                self._same.pop(result.value, None)
            self.note_array(result.value, bool(sources) and all(map(self._sure, sources)))

    def _object(self, argument: Any) -> Value | None:
        if not isinstance(argument, Node) or argument in self.program.constants:
            return None
        return self.object(self.program.values[argument])

    def _sure(self, argument: Any) -> bool:
        if not isinstance(argument, Node) or argument in self.program.constants:
            return False
        return self._is_array(self.program.values[argument])


def _defined(value: Value, block: Block, at: int) -> bool:
    """Whether a value is there at a position; one that comes later was noted when the loop was walked before."""
    here: Block | None = block
    nested = False
    while here is not None:
        if here is value.block:
            return value.at < at or (value.at == at and not nested)
        at, nested, here = here.at, True, here.parent
    return False


def _flat(parts: Any) -> Iterator[Value]:
    if isinstance(parts, Value):
        yield parts
    else:
        for part in parts:
            yield from _flat(part)


def _hashable(target: Any) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def write_item(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` as index_update means it, for keys of which little is known before they are there."""
    if isinstance(array, np.ndarray):
        assign(array, key, value)
    else:
        array[key] = value


def add_item(array: Any, key: Any, value: Any) -> None:
    """`array[key] += value` as index_add means it: an element named twice receives both."""
    if isinstance(array, np.ndarray):
        add_into(array, key, value)
    else:
        array[...] = INDEX_ADD(array, key, value)
