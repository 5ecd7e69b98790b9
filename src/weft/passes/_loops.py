"""Rules of control flow: branches that are alike, carries that stay what they are, operands that are constants."""

from __future__ import annotations

from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import scan
from weft.passes._forms import Form, fails, inline, placeholders, projections, result_of, without
from weft.passes._keys import BodyKey, key_of
from weft.passes._rules import type_of
from weft.passes._sweep import MISSING
from weft.passes.fold import is_literal

Settled = dict[Node, Any]
"""Readers of a control node's items, and the values that they turned out to be."""


def branches_alike(node: Node, form: Form) -> Any:
    """cond and switch whose branches all do the same are that branch: what decides is not asked.

    Holds where the decision cannot fail: for booleans and numbers.
    """
    if not form.is_branch or not _decides(form.lead[0]):
        return MISSING
    first = BodyKey(form.bodies[0])
    if any(BodyKey(body) != first for body in form.bodies[1:]):
        return MISSING
    return inline(form.bodies[0], form.operands, node)


def _decides(pred: Any) -> bool:
    found = type_of(pred)
    return isinstance(found, type) or getattr(found, "shape", None) == ()


def invariant_carries(node: Node, form: Form, settled: Settled) -> list[str]:
    """A carry that the body hands on untouched is what it was at the start: it becomes an operand.

    Holds always; the result is the very object that was given. Returns the names of these carries.
    """
    if form.is_branch or not form.carries or fails(form.step_body):
        return []
    result, inputs = result_of(form.step_body), placeholders(form.step_body)
    carried = result[0] if form.target is scan and isinstance(result, (tuple, list)) and len(result) == 2 else result
    readers = projections(node)
    if readers is None or not isinstance(carried, (tuple, list)) or len(carried) != len(form.carries):
        return []
    places = [i for i, value in enumerate(carried) if value is inputs[form.first_carry + i]]
    own = _carry_readers(form, readers)
    if not places or own is None:
        return []
    left = [i for i in range(len(carried)) if i not in set(places)]
    kept = tuple(carried[i] for i in left)
    for i, body in enumerate(form.bodies):
        is_step = i == len(form.bodies) - 1
        outputs = result_of(body) if not is_step else (kept, result[1]) if form.target is scan else kept
        form.bodies[i] = _moved_last(body, [form.first_carry + place for place in places], outputs)
    for place in places:
        settled.update(dict.fromkeys(own.get(place, ()), form.carries[place]))
    form.operands += [form.carries[place] for place in places]
    form.carries = [form.carries[place] for place in left]
    form.write_to(node)
    _renumber(node, form, own, left)
    return [inputs[form.first_carry + place].name for place in places]


def _carry_readers(form: Form, readers: dict[int, list[Node]]) -> dict[int, list[Node]] | None:
    """The nodes that read each carry of the result; None where something reads them otherwise."""
    if form.target is not scan:
        return readers
    found: dict[int, list[Node]] = {}
    for reader in readers.get(0, ()):
        own = projections(reader)
        if own is None:
            return None
        for place, nodes in own.items():
            found.setdefault(place, []).extend(nodes)
    return found


def _renumber(node: Node, form: Form, own: dict[int, list[Node]], left: list[int]) -> None:
    """Have the readers of the carries that are left, and the types, follow."""
    new = {place: i for i, place in enumerate(left)}
    holders = {reader.args[0] for readers in own.values() for reader in readers}
    for place, readers in own.items():
        for reader in readers:
            if place in new:
                reader.args = (reader.args[0], new[place])
    for holder in {node, *holders}:
        for fact in ("type", "tensor_meta"):
            kinds = (holder._meta or {}).get(fact)
            if not isinstance(kinds, (tuple, list)):
                continue
            if form.target is scan and holder is node:
                holder.meta[fact] = (tuple(kinds[0][place] for place in left), *kinds[1:])
            else:
                holder.meta[fact] = tuple(kinds[place] for place in left)


def _moved_last(body: Graph, places: list[int], result: Any) -> Graph:
    """A copy of a body whose inputs at some places come after all others, and which returns another result."""
    copied = without(body, (), result)
    inputs = placeholders(copied)
    last = inputs[-1]
    for place in places:
        if inputs[place] is not last:
            last.append(inputs[place])
        last = inputs[place]
    return copied


def known_operands(node: Node, form: Form) -> list[str]:
    """An operand that is a constant, or the same as another, is one in the bodies too. Returns the inputs' names."""
    first = form.first_operand
    seen: dict[Any, int] = {}
    instead: dict[int, Any] = {}  # place of an input → constant, or place of the input that it equals
    for place, value in enumerate(form.operands, first):
        if is_literal(value):
            instead[place] = value
        elif isinstance(value, Node) and seen.setdefault(key_of(value), place) != place:
            instead[place] = _Input(seen[key_of(value)])
    if not instead:
        return []
    names = [placeholders(form.bodies[0])[place].name for place in instead]
    for i, body in enumerate(form.bodies):
        inputs = placeholders(body)
        values = {inputs[p]: inputs[v.place] if isinstance(v, _Input) else v for p, v in instead.items()}
        form.bodies[i] = without(body, list(instead), result_of(body), values)
    form.operands = [value for place, value in enumerate(form.operands, first) if place not in instead]
    form.write_to(node)
    return names


class _Input:
    """Another input of a body, by its place."""

    def __init__(self, place: int) -> None:
        self.place = place
