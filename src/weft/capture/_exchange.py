"""Loops that exchange arrays: `a, b = b, a` at the end of each iteration, with a or b written in it.

A carried variable holds its array by value, so after the loop it is not clear which of the caller's arrays is which:
that depends on how often the loop ran. Where iterations permute the arrays in one fixed way, it can be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.capture._carry import Slot
from weft.capture._region import Region
from weft.capture._sharing import may_be, tie
from weft.capture._values import Array, Scalar

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_LONGEST = 4  # how many arrays may go round


def written_slots(slots: list[Slot], body: Region) -> list[Slot]:
    """The carried arrays that start as arrays of the region around and are written in some iteration.

    Where any is written in the body, so are those that take its place in a later iteration.
    """
    arrays = [s for s in slots if s.source is not None and isinstance(s.symbol, Array)]
    written = {s.symbol.buffer for s in arrays if s.symbol.buffer in body.written}
    held = {s.symbol.buffer: s for s in arrays}
    for _ in arrays:
        finals = [s.final.buffer for s in arrays if s.symbol.buffer in written and isinstance(s.final, Array)]
        later = {buffer for final in finals for buffer in may_be(final) if buffer in held}
        written |= later
    return [s for s in arrays if s.symbol.buffer in written]


def cycles(slots: list[Slot], body: Region) -> dict[int, list[Slot]]:
    """For each written slot, by id, the slots its array goes through from one iteration to the next; {} if unknown."""
    # Only whole arrays can be given back: what goes round must not be a part of one, nor one or another.
    whole = [s for s in slots if isinstance(s.symbol, Array) and s.source is not None and not s.init.path]
    holders = {s.symbol.buffer: s for s in whole if list(may_be(s.source)) == [s.source]}
    ends = [(s, isinstance(s.final, Array) and not s.final.path) for s in slots]
    after = {id(s): holders.get(s.final.buffer) if whole_array else None for s, whole_array in ends}
    found: dict[int, list[Slot]] = {}
    sources = [s.source for s in holders.values()]
    if len(set(map(id, sources))) != len(sources):
        return {}
    before = {id(held): s for s in slots if (held := after[id(s)]) is not None}
    for slot in written_slots(slots, body):
        way, at = [slot], before.get(id(slot))
        while at is not None and at is not slot and len(way) < _LONGEST:
            way.append(at)
            at = before.get(id(at))
        if at is not slot:
            return {}
        found[id(slot)] = way
    return found


def give_back(
    recorder: Recorder, found: dict[int, list[Slot]], slots: list[Slot], values: dict[int, Any], trips: Any
) -> None:
    """Write what each array holds after the loop into the arrays the variables started from."""
    new = {}
    for slot in slots:
        way = found.get(id(slot))
        if way is not None and slot.source is not None:
            steps = Scalar(recorder, int, recorder.arg(trips)) if isinstance(trips, Scalar) else trips
            content = recorder.bind(_chosen)(steps, [values[id(one)] for one in way])
            new[slot.source] = recorder.arg(content)
    for buffer, node in new.items():
        recorder.region.write(buffer, node)
    for slot in slots:
        value = values.get(id(slot))
        if id(slot) in found and isinstance(value, Array):
            tie(value.buffer, list(new))


def _chosen(trips: Any, values: Any) -> Any:
    """The value at the place that so many steps round lead to; captured itself."""
    if len(values) == 1:
        return values[0]
    place = trips % len(values)
    result = values[0]
    if place == 1:
        result = values[1]
    if len(values) > 2 and place == 2:
        result = values[2]
    if len(values) > 3 and place == 3:
        result = values[3]
    return result
