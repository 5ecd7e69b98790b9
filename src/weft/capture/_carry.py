"""The state of a captured loop: what its variables are at the head of an iteration, and what becomes of them.

Every variable that an iteration stores and a later one, or the code after the loop, may read is carried. Its type must
describe the value before the loop and the one an iteration leaves; where it does not yet, it is widened and the body
captured again.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.capture._again import Remembered
from weft.capture._convert_site import Site
from weft.capture._kinds import same_kind
from weft.capture._layouts import Met, surely_contiguous, where_met
from weft.capture._lists import containers_in
from weft.capture._merge import (
    Disagreement,
    Type,
    any_type,
    as_output,
    describe,
    differing,
    filler,
    is_same,
    join_types,
    shown,
    spoken,
    type_in,
    value_of,
    visible_sizes,
)
from weft.capture._region import Buffer, Region
from weft.capture._same_body import captured
from weft.capture._sharing import may_be
from weft.capture._stand_ins import flatten, has_identity, with_parts
from weft.capture._unsettled import settle, unsettled
from weft.capture._values import Added, Array, MaybeUnbound, PartlyDefined, Unassigned, Undefined, around_of, late_of
from weft.capture._views import places_of, seen_at
from weft.graph import Node
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


@dataclass
class Slot:
    """One carried number or array: `symbol` stands for it in the body, `source` is the buffer it starts from."""

    name: str
    init: Any
    type: Type
    placeholder: Node | None = None
    symbol: Any = None
    source: Buffer | None = None
    final: Any = None
    first: Type | None = None  # the type of what it starts from


@dataclass
class Variable:
    """A variable of the loop: carried leaves and things that stay what they are."""

    name: str
    start: Any
    tree: Any = None
    parts: list[Any] = field(default_factory=list)  # Slots, and plain values
    late: bool = False  # whether it has no value before the loop
    flag: Any = None  # a Slot: whether it has a value by now, where an iteration may leave it without one
    why: str | None = None
    found: Any = None  # what an iteration finds
    kept: bool = False  # whether it leaves that very object
    left: Any = None  # what the iteration leaves


@dataclass
class Seen:
    """What a variable of the body is a view of, and the carried places where."""

    view: Any
    places: list[Slot]


class Again(Exception):
    """A type had to be widened: the body is to be captured again."""


class Carry:
    """The variables of one loop."""

    def __init__(self, recorder: Recorder, site: Site, values: tuple[Any, ...], remembered: Remembered) -> None:
        self.recorder = recorder
        self.site = site
        self.start = values
        self.types: dict[tuple[str, int], Type] = {}  # widened types, by variable and leaf
        self.variables: list[Variable] = []
        self.opened: set[str] = set()  # variables that are one object or another, carried attribute by attribute
        self.whole: set[str] = set()  # variables whose structure changes, carried as one value of unknown type
        self.around = recorder.region
        self.lifted = len(self.around.lifted)
        self.remembered = remembered
        self.rebound = remembered.rebound
        self.places: frozenset[str] = frozenset()  # variables that are items of dicts, or attributes
        self.maybe: dict[str, tuple[Any, list[Any], str | None]] = {}  # variables that iterations may leave unassigned
        self.added: set[str] = set()  # items and attributes that this pass found missing, and added
        self.without: Any = None  # what a pass captured that found them missing, and no mark in their place
        self.changed = 0  # how many changes of objects there were before this pass
        self.asked = 0  # how many questions about types there were before this pass
        self.answers: set[frozenset[Any]] = set()  # what each pass answered to those in the body
        self.unordered: set[int] = set()  # ids of arrays whose place others take that lie otherwise, where that matters
        self.foresees = True  # whether types that were found in earlier captures are taken up
        self.foreseen = False  # whether one was

    @property
    def first_differs(self) -> bool:
        """Whether the first iteration is another than those after it: it adds things, or has numbers of other types."""
        return bool(self.remembered.added) or len(self.answers) > 1

    def begin(self, region: Region) -> tuple[Any, ...]:
        """The variables as an iteration finds them, with a placeholder in the region for each that is carried."""
        self.head = region
        self.asked, self.added = len(self.recorder.asked), set()
        self.changed = len(self.recorder.changed)
        self.variables = [self._variable(name, value) for name, value in zip(self.site.names, self.start, strict=True)]
        found = []
        for variable in self.variables:
            if variable.late and variable.flag is None:
                added = variable.name in self.places and variable.name in self.remembered.added
                added = added and not self.remembered.flags
                found.append(Added(variable.name, self.site.line) if added else variable.start)
                continue
            leaves = [self._symbol(part, region) if isinstance(part, Slot) else part for part in variable.parts]
            value = variable.found = self._standing(variable, leaves)
            self.recorder.lists.stands_for(value, variable.start)
            if variable.flag is not None:
                value = MaybeUnbound(variable.name, value, self._symbol(variable.flag, region), late_of(variable.start))
            found.append(value)
        return tuple(found)

    def _standing(self, variable: Variable, leaves: list[Any]) -> Any:
        """A variable of given leaves: an object that stays what it is, or one that stands for those of the turns."""
        before = [] if variable.late else self._flat(variable.name, variable.start)[0]
        if not variable.late and len(before) == len(leaves) and all(map(operator.is_, before, leaves)):
            return variable.start
        value = variable.tree.unflatten(leaves)
        self.recorder.stand_ins.note(value, variable.start, why=self._where, fixed=False)
        parts = tuple(value) if type(value) is list else value
        self.recorder.lists.standing(parts, "one that the iterations of a loop hand on")
        return value

    @property
    def _where(self) -> str:
        return f"the loop at line {self.site.line} has left a variable"

    def _flat(self, name: str, value: Any) -> tuple[list[Any], Any]:
        """The leaves of a variable, and its structure."""
        return ([value], LEAF) if name in self.whole else flatten(self.recorder, value, name in self.opened)

    def _variable(self, name: str, value: Any) -> Variable:
        if name not in self.site.live:
            return Variable(name, Undefined(name), late=True)
        if isinstance(value, Undefined):
            return self._unassigned(name, value)
        leaves, tree = self._flat(name, value)
        made = Variable(name, value, tree)
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, (np.ndarray, Tensor)):
                leaf = self.recorder.constant(leaf)
            found: Any = self.types.get((name, k)) or self._widened(name, k, type_in(self.recorder, leaf))
            if name in self.whole:
                found = self.types.get((name, 0)) or Type(unknown=True)
            # As long as nothing else is known, an array stays the same one: `x += 1` changes it, and not what x is.
            same = found is None or (isinstance(leaf, Array) and name not in self.rebound)
            same = same or (self.recorder.lists.get(leaf) is not None and name not in self.whole)
            made.parts.append(leaf if same else self._slot(name, leaf, found))
        return made

    def _widened(self, name: str, k: int, start: Type | None) -> Type | None:
        """The type that a number took when this loop was captured before, within a loop around it."""
        known = self.remembered.widened.get((name, k))
        if known is None or start is None or start.kind is None or not same_kind(start.kind, known[0].kind):
            return start
        if not self.foresees:
            return start
        found: Type = known[1]
        self.foreseen = True
        return found

    def _unassigned(self, name: str, value: Undefined) -> Variable:
        """A variable without a value before the loop, or that may have none."""
        known = self.maybe.get(name)
        start, flag = value, False
        if isinstance(value, (MaybeUnbound, PartlyDefined)):
            leaves, tree = flatten(self.recorder, value.value)
            known = known or (tree, [type_in(self.recorder, leaf) or leaf for leaf in leaves], value.why)
            flag = value.ran
        else:
            leaves = []
        if isinstance(value, Added):
            return Variable(name, value, late=True)
        if known is None:
            line = self.site.line
            why = f"{name} is read in the loop at line {line} before that iteration assigns it, and has no value before"
            if name.startswith(("[", ".")):
                return Variable(name, Undefined(name, value.why or why), late=True)
            return Variable(name, Unassigned(name, value.why or why, self.head, late_of(value)), late=True)
        tree, types, reason = known
        made = Variable(name, start, tree, late=True, why=reason)
        for k, found in enumerate(types):
            if isinstance(found, Type):
                first, found = found, self.types.get((name, k)) or found
                slot = self._slot(name, leaves[k], found) if leaves else Slot(name, None, found, first=first)
                made.parts.append(slot)
            else:
                made.parts.append(found)
        made.flag = Slot(f"{name}_defined", flag, Type(kind=bool))
        return made

    def _slot(self, name: str, leaf: Any, type_: Type) -> Slot:
        source = leaf.buffer if isinstance(leaf, Array) else None
        return Slot(name, leaf, type_, source=source, first=type_in(self.recorder, leaf))

    def _symbol(self, slot: Slot, region: Region) -> Any:
        node = region.placeholder(shown(slot.name))
        node._position = self.recorder.position()
        node.meta["type"] = slot.type.meta if slot.type.spec is None else None
        slot.placeholder = node
        if slot.type.kind is float and not self.recorder.untyped:
            slot.symbol = unsettled(self.recorder, node, slot.name)
        else:
            layout = where_met([slot.init]) if id(slot.init) not in self.unordered else False
            slot.symbol = value_of(self.recorder, slot.type, node, slot.name, region, layout)
        return slot.symbol

    # The end of an iteration

    def finish(self, values: tuple[Any, ...], region: Region, body: Region) -> list[Slot]:
        """Every carried slot with its value after the iteration; raises `Again` where a type is widened."""
        again = False
        slots: list[Slot] = []
        for variable, value in zip(self.variables, values, strict=True):
            if variable.flag is not None:
                again = self._flagged(variable, value, slots) or again
                continue
            if variable.late:
                again = self._late(variable, value, slots) or again
                continue
            if isinstance(value, Undefined):
                if variable.name in self.site.live:
                    self._disagree(variable.name, variable.start, value)
                continue
            variable.left = value
            leaves, tree = self._flat(variable.name, value)
            variable.kept = value is variable.found
            if self._to_open(variable, leaves, tree):
                again = True
                continue
            rebound = not (variable.name in self.whole or variable.kept) and self._rebound(variable, value)
            if rebound or tree != variable.tree or self._other_list(variable, leaves):
                joined = any_type(self.recorder, variable.start, value)
                if self.recorder.untyped or joined is not None:
                    self._carry_whole(variable.name, joined)
                    again = True
                    continue
                self._disagree(variable.name, variable.start, value)
            for k, (part, leaf) in enumerate(zip(variable.parts, leaves, strict=True)):
                again = self._leaf(variable, k, part, leaf, slots) or again
        self.answers.add(frozenset(self.recorder.asked[self.asked :]))
        as_found = [self._lies_as_found(slot) for slot in slots]
        if again or not all(as_found):
            raise Again
        self._check_answers(slots)
        self._check_added(slots, body)
        self._check_memory(slots, region, body)
        self._check_changed()
        return slots

    def unchanged(self) -> list[Slot]:
        """Every carried slot, of a body that always raises: no iteration has an end."""
        parts = [part for variable in self.variables for part in (*variable.parts, variable.flag)]
        slots = [part for part in parts if isinstance(part, Slot) and part.placeholder is not None]
        for slot in slots:
            slot.final = slot.symbol
        return slots

    def _to_open(self, variable: Variable, leaves: list[Any], tree: Any) -> bool:
        """Whether a variable is found to be one object or another: it is taken apart from now on."""
        name = variable.name
        if name in self.opened or name in self.whole:
            return False
        same = tree == variable.tree and all(
            isinstance(part, Slot) or is_same(part, leaf) for part, leaf in zip(variable.parts, leaves, strict=True)
        )
        if same or flatten(self.recorder, variable.start)[1] != flatten(self.recorder, variable.left)[1]:
            return False
        if not any(map(has_identity, (*variable.parts, *leaves))):
            return False
        self.opened.add(name)
        self.types = {key: found for key, found in self.types.items() if key[0] != name}
        return True

    def _check_changed(self) -> None:
        """Refuse that the body changes, by another name, what a variable was before the loop."""
        changed = set(self.recorder.changed[self.changed :])
        for variable in self.variables:
            if variable.found is None or variable.found is variable.start or not changed:
                continue
            hit = next((part for part in with_parts(variable.start) if id(part) in changed), None)
            if hit is not None:
                self.recorder.refuse(
                    f"the loop at line {self.site.line} changes a {type(hit).__name__} that {spoken(variable.name)} is "
                    "before it, and is not after it: which one changes, only running tells",
                    help="change a copy",
                )

    def _after(self, variable: Variable, leaves: list[Any]) -> Any:
        """A variable after the loop: what stands for what it was before, and what the turns leave."""
        if variable.found is variable.start and variable.found is not None:
            return variable.start
        value = variable.tree.unflatten(leaves)
        found = (one for one in (variable.start, variable.left) if one is not None and not isinstance(one, Undefined))
        self.recorder.stand_ins.note(value, *found, why=self._where)
        return self.recorder.lists.standing(value, "one that a loop leaves")

    def _lies_as_found(self, slot: Slot) -> bool:
        """Whether an array lies in order after the iteration too, where the iteration took it to do so before."""
        met = slot.symbol.buffer.layout if isinstance(slot.symbol, Array) else False
        if not isinstance(met, Met) or not isinstance(slot.final, Array):
            return True
        met.arrays.append(slot.final)
        if not met.asked or surely_contiguous(self.recorder, slot.symbol):
            return True
        self.unordered.add(id(slot.init))
        return False

    def layout_after(self, slot: Slot) -> Any:
        """How the array of a carry lies after the loop."""
        return slot.symbol.buffer.layout if isinstance(slot.symbol, Array) else where_met([slot.final])

    def _check_added(self, slots: list[Slot], body: Region) -> None:
        """Capture the body once more with marks where the first iteration finds nothing; it must come out the same."""
        if not self.added or self.remembered.flags:
            return
        found = captured(body, [slot.final for slot in slots])
        if not self.added <= self.remembered.added:
            self.remembered.added |= self.added
            self.without = found
            raise Again
        if self.without is not None and found != self.without:
            name = min(self.added)
            self.recorder.refuse(
                f"what the loop at line {self.site.line} does depends on whether there is {name}, which it adds",
                help="give it a value before the loop, such as None or 0",
            )

    def _check_answers(self, slots: list[Slot]) -> None:
        """Refuse a question about types that is answered otherwise once the loop has widened a number.

        The passes over the body cover the types that its iterations meet: the first those before the loop.
        """
        widened = next((slot for slot in slots if _is_widened(slot)), None)
        if widened is None or not any(self.answers):
            return
        if self.foreseen:
            self.foresees = self.foreseen = False
            self.types.clear()
            self.answers.clear()
            raise Again
        if len(self.answers) > 1:
            name = spoken(widened.name)
            self.recorder.refuse(
                f"the loop at line {self.site.line} asks for a type that depends on the iteration: {name} is "
                f"{widened.first} before it, {widened.type} in it",
                help=f"start with {name} of the type it has in the loop",
            )

    def _rebound(self, variable: Variable, value: Any) -> bool:
        """Whether a variable that an iteration has assigned is one list of the running graph or another.

        Where it is a container that cannot be that, neither changes any more.
        """
        lists, both = self.recorder.lists, (variable.start, value)
        if type(value) is type(variable.start) is list and (
            self.recorder.untyped or any_type(self.recorder) is not None
        ):
            return None not in [lists.share(each) for each in both]
        lists.standing(both, "one that a loop leaves")
        return False

    def _other_list(self, variable: Variable, leaves: list[Any]) -> bool:
        """Whether a variable that was a list of the running graph has become something else."""
        pairs = zip(variable.parts, leaves, strict=True)
        return any(part is not leaf and self.recorder.lists.get(part) is not None for part, leaf in pairs)

    def _leaf(self, variable: Variable, k: int, part: Any, leaf: Any, slots: list[Slot]) -> bool:
        if not isinstance(part, Slot):
            if is_same(part, leaf):
                return False
            if not isinstance(part, Array) or type_in(self.recorder, leaf) is None:
                together = any_type(self.recorder, part, leaf)
                if together is None:
                    self._disagree(variable.name, part, leaf)
                self._carry_whole(variable.name, together)
                return True
            self.rebound.add(variable.name)
            return True
        found: Any = type_in(self.recorder, leaf)
        if found is None:
            found = any_type(self.recorder, leaf)
        if found is None:
            self._disagree(variable.name, part.init, leaf)
        part.final = leaf
        slots.append(part)
        try:
            joined = join_types(self.recorder, part.type, found)
            if not (part.type.mixed or found.mixed):
                joined = replace(joined, mixed=False)  # which turn it is tells the type: see `asked`
        except Disagreement:
            joined = any_type(self.recorder, part.init, leaf) or self._disagree(variable.name, part.init, leaf)
        if self._describes(part, joined, leaf):
            return False
        self.types[variable.name, k] = joined
        if part.type.kind is not None and joined.kind is not None:
            widened, place = self.remembered.widened, (variable.name, k)
            widened[place] = (widened.get(place, (part.type,))[0], joined)
            return not self._settled(part, joined)
        return True

    def _settled(self, part: Slot, joined: Type) -> bool:
        """Whether the body is the same for the wider type; then the types of its placeholders change, nothing else."""
        if not settle(part.symbol, joined.kind):
            return False
        assert part.placeholder is not None
        part.type = part.first = joined
        part.placeholder.meta["type"] = joined.meta
        lifted, same = self.around.lifted, {part.placeholder}
        since = list(islice(reversed(lifted.items()), len(lifted) - self.lifted))
        for node, outer in reversed(since):
            if outer in same:
                same.add(node)
                node.meta["type"] = joined.meta
        return True

    def _describes(self, part: Slot, joined: Type, leaf: Any) -> bool:
        if joined.unknown or part.type.unknown:
            return part.type.unknown and part.type.joined >= joined.joined
        if joined.spec is None:
            return same_kind(joined.kind, part.type.kind)
        if part.type.spec is None:
            return False
        for open_before, dim in zip(part.type.spec.shape, joined.spec.shape, strict=True):
            if dim is None and open_before is not None:
                return False
        return True

    def _late(self, variable: Variable, value: Any, slots: list[Slot]) -> bool:
        """A variable that only the body assigns: what it holds before the loop is never read."""
        if variable.name not in self.site.live:
            return False
        if isinstance(value, (MaybeUnbound, PartlyDefined)):
            leaves, tree = flatten(self.recorder, value.value)
            self.maybe[variable.name] = (tree, [type_in(self.recorder, leaf) or leaf for leaf in leaves], value.why)
            return True
        start = variable.start
        if isinstance(value, Undefined):
            self.check_read()
            return False
        if isinstance(start, Unassigned) and start.is_read:
            leaves, tree = flatten(self.recorder, value)
            self.maybe[variable.name] = (tree, [type_in(self.recorder, leaf) or leaf for leaf in leaves], None)
            return True
        if variable.name in self.places:
            self.added.add(variable.name)
        variable.left = value
        leaves, variable.tree = flatten(self.recorder, value)
        if variable.name in self.places and self.remembered.flags:
            types = [type_in(self.recorder, leaf) or leaf for leaf in leaves]
            self.maybe[variable.name] = (variable.tree, types, None)
            return True
        variable.parts = []
        for leaf in leaves:
            found = type_in(self.recorder, leaf)
            if found is None or (isinstance(leaf, Array) and self.recorder.is_outer(leaf, self.around)):
                variable.parts.append(leaf)
                continue
            places = places_of(self.recorder, leaf, self.around)
            if places:
                kept = [Slot(variable.name, None, Type(kind=place.kind), final=place) for place in places]
                variable.parts.append(Seen(leaf, kept))
                slots.extend(kept)
                continue
            slot = Slot(variable.name, None, found, final=leaf)
            variable.parts.append(slot)
            slots.append(slot)
        return False

    def check_read(self) -> None:
        """Refuse what the body reads before it has a value, where it leaves it without one."""
        for variable in self.variables:
            refusal = variable.start.refusal if isinstance(variable.start, Unassigned) else None
            if refusal is not None:
                self.recorder.refused = refusal
                raise refusal

    def _carry_whole(self, name: str, joined: Type | None) -> None:
        """Let a variable whose structure changes be carried as one value, of a type that describes all it is."""
        self.whole.add(name)
        before = self.types.get((name, 0))
        self.types = {key: found for key, found in self.types.items() if key[0] != name}
        if joined is not None:
            kept = before is not None and before.joined
            self.types[name, 0] = Type(unknown=True, joined=joined.joined or kept)

    def _flagged(self, variable: Variable, value: Any, slots: list[Slot]) -> bool:
        """A variable that an iteration may leave unassigned: carried with whether it has a value."""
        held, ran = (value.value, value.ran) if isinstance(value, (MaybeUnbound, PartlyDefined)) else (value, True)
        variable.left = held
        leaves, tree = flatten(self.recorder, held)
        if tree != variable.tree:
            self._disagree(variable.name, variable.start, held)
        again = False
        for k, (part, leaf) in enumerate(zip(variable.parts, leaves, strict=True)):
            again = self._leaf(variable, k, part, leaf, slots) or again
        variable.flag.final = ran
        slots.append(variable.flag)
        return again

    def _disagree(self, name: str, before: Any, after: Any) -> Any:
        line = (self.site.stores.get(name) or (None, None))[0]
        before, after, where = differing(before, after)
        self.recorder.refuse(
            f"the loop at line {self.site.line} changes what {spoken(name)}{where} is: {describe(before)} before it, "
            f"{describe(after)} after an iteration (line {line or self.site.line})",
            help=f"start with {spoken(name)} of the type it has in the loop",
        )

    def _check_memory(self, slots: list[Slot], region: Region, body: Region) -> None:
        """Refuse a carried array that shares memory with another where one of them is written in the loop."""
        written = set(body.written)
        owners: dict[Buffer, str] = {}
        for slot in slots:
            symbol = slot.symbol.buffer if isinstance(slot.symbol, Array) else None
            sources = may_be(slot.source)
            for source in sources if symbol is not None else ():
                if source in region.entered and (symbol in written or source in written):
                    self._shared(slot.name, source.name)
            if symbol in written:
                others = (s for s in slots if s is not slot)
                clash = next((s for s in others if not sources.keys().isdisjoint(may_be(s.source))), None)
                if clash is not None:
                    self._shared(slot.name, clash.name)
            for final in may_be(slot.final.buffer if isinstance(slot.final, Array) else None):
                clash_name = owners.setdefault(final, slot.name)
                shared = clash_name != slot.name or (final in body.entered and not self._carried(final, slots))
                if shared and (final in written or symbol in written):
                    self._shared(slot.name, clash_name if clash_name != slot.name else final.name)

    @staticmethod
    def _carried(buffer: Buffer, slots: list[Slot]) -> bool:
        return any(isinstance(s.symbol, Array) and s.symbol.buffer is buffer for s in slots)

    def _shared(self, name: str, other: str) -> Any:
        self.recorder.refuse(
            f"{spoken(name)} and {spoken(other)} share memory in the loop at line {self.site.line}, and one of them is "
            "written: which writes the other sees would depend on the iteration",
            help="copy one where it is assigned: b = a.copy()",
        )

    # After the loop

    def init_of(self, slot: Slot) -> Any:
        """What a carry starts from, as an operand in the region around."""
        if slot.init is not None:
            return as_output(self.recorder, slot.init, slot.type)
        return filler(self.recorder, slot.type)

    def type_after(self, slot: Slot) -> Type:
        """The type of a carry after the loop: sizes of the body are open, and so is the type of what no turn wrote."""
        if slot.type.spec is None:
            start = type_in(self.recorder, slot.init)
            stays = start is None or start.kind is None or same_kind(start.kind, slot.type.kind)
            return slot.type if stays else replace(slot.type, mixed=True)
        return Type(visible_sizes(self.recorder, slot.type.spec, self.recorder.region), tensor=slot.type.tensor)

    def results(self, values: dict[int, Any], ran: Any) -> tuple[Any, ...]:
        """The variables after the loop: `values` by the id of their slot, and whether the loop ran at all."""
        return tuple(self._result(variable, values, ran) for variable in self.variables)

    def _part_after(self, part: Any, values: dict[int, Any]) -> Any:
        if isinstance(part, Seen):
            return seen_at(self.recorder, part.view, [values[id(slot)] for slot in part.places])
        return values.get(id(part), part.init) if isinstance(part, Slot) else part

    def _result(self, variable: Variable, values: dict[int, Any], ran: Any) -> Any:
        name = variable.name
        if variable.tree is None:
            unset = variable.late and not isinstance(variable.start, Added)
            return around_of(variable.start) or Undefined(name) if unset else variable.start
        leaves = [self._part_after(part, values) for part in variable.parts]
        if variable.kept and not variable.late and containers_in(variable.start):
            return variable.start
        value = self._after(variable, leaves)
        if variable.flag is not None:
            flag = values.get(id(variable.flag), variable.flag.init)
            return (
                MaybeUnbound(name, value, flag, late_of(variable.start))
                if variable.why is None
                else PartlyDefined(name, value, flag, variable.why)
            )
        if variable.late and ran is not True and not name.startswith("_weft"):
            return MaybeUnbound(name, value, ran, around_of(variable.start))
        return value


def _is_widened(slot: Slot) -> bool:
    """Whether a number is carried as another kind of number than it starts as."""
    first = slot.first
    if first is None or first.kind is None:
        return False
    return slot.type.kind is None or not same_kind(first.kind, slot.type.kind)
