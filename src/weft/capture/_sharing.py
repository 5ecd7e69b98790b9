"""Which buffers may be one and the same memory, where that depends on which way a program goes.

After `x = a if c else b * 2`, or a loop that leaves `x` as `a[i:]`, the graph holds x by value. That is right while
neither is written: so the two are tied, and a write to either is refused or makes the other unreadable.

    for i in range(n):
        x = a[i:]
    x[0] = 1.0              # a write to x, which is a depending on a branch or loop

After a branch that leaves an array from before it or one that a side has made, both are known: a write to what it has
left changes the one that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.capture._region import Buffer
from weft.capture._values import Array

if TYPE_CHECKING:
    from weft.capture._carry import Slot
    from weft.capture._recorder import Recorder


def may_be(buffer: Buffer | None) -> dict[Buffer, None]:
    """The buffers that one may be: itself, and those it was chosen from. An ordered set."""
    found: dict[Buffer, None] = {}
    waiting = [buffer] if buffer is not None else []
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        if one.choice is None:
            found[one] = None
        else:
            waiting += [array.buffer for array in one.choice[1:]]
        waiting += one.origins
    return found


def levels(*buffers: Buffer) -> int:
    """How many choices between arrays lead to one of these, at most."""
    return max(0 if b.choice is None else 1 + levels(*(array.buffer for array in b.choice[1:])) for b in buffers)


def tie(made: Buffer, known: list[Buffer], unless: Any = None) -> None:
    """Note that a buffer held by value may be one of others; not where `unless` is true."""
    made.maybe = tuple(dict.fromkeys(buffer.name for buffer in known))
    made.origins = tuple(known)
    made.unless = unless
    for buffer in known:
        buffer.shadows.append(made)


def untie(recorder: Recorder, buffer: Buffer) -> None:
    """Before a write: undo the ties of a buffer that need not be.

    Those that a condition known in this call excludes, under a guard; and its own where a branch has left it: it is one
    array or the other from now on, and no value of its own.
    """
    for one in (buffer, *buffer.shadows):
        if one.unless is not None and recorder.goes_by(one.unless) and recorder.decide(one.unless):
            _free(one)
    if buffer.either is not None and not _carried_by_value(recorder, buffer):
        _free(buffer)
        buffer.choice, buffer.either = buffer.either, None


def _free(buffer: Buffer) -> None:
    for origin in buffer.origins:
        origin.shadows = [shadow for shadow in origin.shadows if shadow is not buffer]
    buffer.maybe, buffer.origins, buffer.unless = (), (), None


def _carried_by_value(recorder: Recorder, buffer: Buffer) -> bool:
    """Whether a loop that is being captured has read a buffer: its next turn would find the value from before."""
    region = recorder.region
    while region.parent is not None:
        if buffer in region.entered and (region.virtual or region.parent.virtual):
            return True
        region = region.parent
    return False


def tie_carried(recorder: Recorder, slots: list[Slot], values: dict[int, Any], ran: Any) -> None:
    """After a loop: tie each carried array to what it may share memory with, that which it started from included."""
    around = recorder.region
    starts = {id(s): [b for b in may_be(s.source) if around.knows(b)] for s in slots}
    holders = {s.symbol.buffer: s for s in slots if isinstance(s.symbol, Array)}
    within: dict[int, dict[Buffer, None]] = {id(s): {} for s in slots}  # what iterations make of it
    for _ in slots:
        for slot in slots:
            for buffer in may_be(slot.final.buffer if isinstance(slot.final, Array) else None):
                held = holders.get(buffer)
                if held is not None:
                    within[id(slot)].update(dict.fromkeys(starts[id(held)]))
                    within[id(slot)].update(within[id(held)])
                elif around.knows(buffer):
                    within[id(slot)][buffer] = None
    for slot in slots:
        value = values.get(id(slot))
        if not isinstance(value, Array) or value.buffer.origins:
            continue
        if within[id(slot)]:
            tie(value.buffer, list(dict.fromkeys([*within[id(slot)], *starts[id(slot)]])))
        elif starts[id(slot)] and ran is not True:
            tie(value.buffer, starts[id(slot)], unless=ran)
