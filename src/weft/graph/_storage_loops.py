"""The memory of loops: what each carry may hold, which carries keep apart, and which must start from a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.graph._code_values import Carry, Loop, Result, live_after
from weft.graph._storage_kinds import NUMBERS, is_spec

if TYPE_CHECKING:
    from weft.graph._storage import Storage

_NONE: frozenset[int] = frozenset()


class LoopAnalysis:
    """One loop: first every carry is taken to have memory of its own; then what the body does to that is worked out."""

    def __init__(self, storage: Storage, loop: Loop) -> None:
        self.storage = storage
        self.loop = loop
        self.first = storage._count
        self.carries = [carry for carry in loop.carries if carry.used]
        self.root: dict[Carry, int] = {}
        for carry in self.carries:
            self.root[carry] = root = storage._new()
            storage._group[root] = (loop, root)
            storage._outer[root] = set()
        self.arrays = {carry: self._may_be_array(carry) for carry in self.carries}

    def _may_be_array(self, carry: Carry) -> bool:
        """Whether a carry is taken to be an array at first; numbers, which most carries are, would be found out."""
        known = carry.value.type
        if is_spec(known):
            return len(known.shape) > 0 or self.storage._sure(carry.init)
        return not (isinstance(known, type) and known in NUMBERS)

    def run(self) -> None:
        """Work the loop out, decisions for its body included."""
        storage = self.storage
        relied = set(storage._relied)
        while True:
            storage._relied = set(relied)
            listed = self._listed()
            self._enter()
            storage._walk(self.loop.body)
            if not self._settle() and not self._join_starts() and self._listed() == listed:
                break
        self._start()
        for carry in self.carries:
            value = carry.result.value
            if value is not None:
                storage._set(value, frozenset({self.root[carry]}))
                storage._same.pop(value, None)
                if carry not in storage.copied and storage.object(carry.value) is not carry.value:
                    storage._same[value] = storage.object(carry.value)
                storage.note_array(value, self.arrays[carry])
        for result in self.loop.stacked:
            self._rows(result)

    def _listed(self) -> set[int]:
        """The roots in lists that the next iteration finds again: of carries, and from before the loop."""
        own = set(self.root.values())
        return {root for root in self.storage._reach(self.storage.listed) if root <= self.first or root in own}

    def _enter(self) -> None:
        storage = self.storage
        storage._cursor[self.loop.body] = -1
        for carry in self.carries:
            storage._set(carry.value, frozenset({self.root[carry]}))
            storage._same.pop(carry.value, None)
            storage.note_array(carry.value, self.arrays[carry])
        for row, source in self.loop.rows:
            storage._set(row, storage._roots_of(source))
        if self.loop.index is not None:
            storage._set(self.loop.index, _NONE)

    def _settle(self) -> bool:
        """Give up what the body does not keep to; whether there was anything of that kind."""
        changed = False
        outs = [(carry, self.storage._roots_of(carry.out)) for carry in self.carries]
        for carry, roots in outs:
            known = self.storage._outer[self.root[carry]]
            found = {root for root in self.storage._reach(roots) if root <= self.first}
            if not found <= known:
                known |= found
                changed = True
            if self.arrays[carry] and not self.loop.body.fails and not self.storage._sure(carry.out):
                self.arrays[carry] = is_spec(carry.value.type) and len(carry.value.type.shape) > 0
                changed = changed or not self.arrays[carry]
        for i, (one, roots) in enumerate(outs):
            for other, others in outs[i + 1 :]:
                if self.root[one] != self.root[other] and self.storage._overlap(roots, others):
                    self._merge(one, other)
                    changed = True
        return changed

    def _join_starts(self) -> bool:
        """Let carries that start from the same memory, and will not start from copies, count as one; whether any do."""
        needed, joined = self._needed(), False
        shown = [carry for carry in self.carries if self.root[carry] not in needed]
        for i, one in enumerate(shown):
            roots = self.storage._roots_of(one.init)
            for other in shown[i + 1 :]:
                if self.root[one] != self.root[other] and self.storage._overlap(
                    roots, self.storage._roots_of(other.init)
                ):
                    self._merge(one, other)
                    joined = True
        return joined

    def _merge(self, one: Carry, other: Carry) -> None:
        kept, dropped = self.root[one], self.root[other]
        self.storage._outer[kept] |= self.storage._outer[dropped]
        for carry in self.carries:
            if self.root[carry] == dropped:
                self.root[carry] = kept

    def _start(self) -> None:
        """Decide what carries start from: what was relied on must be owned and read by nobody else, or copied."""
        storage = self.storage
        needed = self._needed()
        for carry in self.carries:
            root = self.root[carry]
            if root not in needed:
                storage.copied.discard(carry)
                storage._outer[root] |= storage._roots_of(carry.init)
        self._spread()
        for carry in self.carries:
            root = self.root[carry]
            if root in needed and self._may_take(carry):
                storage.copied.discard(carry)
                taken = storage._roots_of(carry.init)
                storage._outer[root] |= taken
                storage._relied |= storage._reach(taken)
            elif root in needed:
                storage.copied.add(carry)
        for carry in self.carries:
            # The same object throughout: what it starts as, changed in place if at all.
            start = storage._object(carry.init)
            if carry not in storage.copied and start is not None and storage._object(carry.out) is carry.value:
                storage._same[carry.value] = start
        for carry in self.carries:
            # Later reads of older roots have to find what the carry may hold now.
            storage._set(carry.value, storage._roots[carry.value])
        self._spread()

    def _needed(self) -> set[int]:
        """The roots of carries whose memory is written, now or after it has moved to another carry."""
        needed = {self.root[carry] for carry in self.carries if self.root[carry] in self.storage._relied}
        grown = True
        while grown:
            grown = False
            for carry in self.carries:
                if self.root[carry] in needed:
                    sources = self._moved(carry)
                    grown = grown or not sources <= needed
                    needed |= sources
        return needed

    def _spread(self) -> None:
        """Let what a carry may hold reach the carries it moves to."""
        outer, moving = self.storage._outer, True
        while moving:
            moving = False
            for carry in self.carries:
                known = outer[self.root[carry]]
                for root in self._moved(carry):
                    if not outer[root] <= known:
                        known |= outer[root]
                        moving = True

    def _moved(self, carry: Carry) -> set[int]:
        """The roots of carries that a carry may be given for the next iteration."""
        return self.storage._reach(self.storage._roots_of(carry.out)) & set(self.root.values())

    def _may_take(self, carry: Carry) -> bool:
        """Whether a carry may write to its initial value itself: owned, an array, and read by nobody else any more."""
        storage, loop = self.storage, self.loop
        roots = storage._roots_of(carry.init)
        if not storage._is_owned(roots) or not storage._sure(carry.init):
            return False
        value = storage.program.values[carry.init]
        if live_after(value, loop.block, loop.at) or loop.body in value.uses:
            return False
        for other in self.carries:
            if other is not carry and storage._overlap(roots, storage._roots_of(other.init)):
                return False
        for other_value in storage._alive(storage._reach(roots), loop.block, loop.at - 1):
            read_on = loop.body in other_value.uses or live_after(other_value, loop.block, loop.at)
            if read_on and storage._overlap(storage._roots[other_value], roots):
                return False
        return True

    def _rows(self, result: Result) -> None:
        """A row kept for later must not be what an iteration writes to."""
        storage = self.storage
        if result.value is None:
            return
        storage._set(result.value, frozenset({storage._new()}))
        storage.note_array(result.value, True)
        storage.kept_rows.discard(result)
        roots = storage._roots_of(result.sources)
        written = self._needed()
        moving = [carry.out for carry in self.carries if self.root[carry] in written]
        if storage._overlap(roots, written) or any(storage._overlap(roots, storage._roots_of(out)) for out in moving):
            storage.kept_rows.add(result)
