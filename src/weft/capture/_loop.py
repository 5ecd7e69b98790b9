"""Loops: run as Python where nothing traced decides how often, else captured once as a loop of the graph.

A loop of more than a few steps is captured as a loop even where Python knows their number, and run step by step only
where its body needs the numbers themselves.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.capture._again import Remembered
from weft.capture._branch import Branch, close, ends_path, has_effects, outer
from weft.capture._carry import Again, Carry, Slot
from weft.capture._cells import Restart, Watched
from weft.capture._convert_site import Site
from weft.capture._exchange import cycles, give_back, written_slots
from weft.capture._merge import as_output, project, shown, value_of
from weft.capture._region import Buffer, Region
from weft.capture._sharing import may_be, tie_carried
from weft.capture._values import Scalar, Traced
from weft.errors import CaptureError, TraceError
from weft.graph import Node
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

LONGEST = 512  # no loop of more steps than this is written out where its body was to be captured
UNROLLED = 8  # a loop of so many steps, known beforehand, is written out
_ROUNDS = 12  # how often types may be widened: each round opens a size or widens a number


class Loop:
    """A `while` or `for` of a captured program.

    Each pass of Python over its body is a plain step, or captures the body. A plain step after a `break` that a traced
    value decides is captured as one side of a branch.
    """

    carry_class = Carry

    def __init__(self, recorder: Recorder, site: Site, values: tuple[Any, ...], cells: Any = None) -> None:
        self.recorder = recorder
        self.shared = cells  # a function that holds the variables it shares with other functions
        self.cells = recorder.places.foresee(cells)
        self.site = site
        self.values: tuple[Any, ...] = values
        self.capturing = False  # whether passes capture the body
        self.active = False  # whether this pass does
        self.done: bool = False
        self.may_unroll = True
        self.given_up = False  # whether capturing was tried, and the loop is run step by step
        self.rounds = 0
        self.grown = recorder.lists.mark()
        self.changes = self._changes()  # how much was changed before the loop
        self.refused = recorder.refused  # before the loop, of which that is no failure
        self.lists: dict[int, int] = {}  # what was known of lists when this pass began
        self.stopped: Any = False  # whether a `break` has happened, where that is traced
        self.branch: Branch | None = None
        self.repeats = False  # whether the step that was taken last is to be taken again
        self.carry: Carry | None = None
        self.head: Region | None = None
        self.body: Region | None = None
        self.watched: Watched | None = None
        self.restart = False
        self.steps = 0
        self.facts: Any = None  # what was known of sizes when this pass began
        self.failure: Any = None  # what kept the loop from being captured
        self.remembered: Remembered | None = None
        self.outside: Remembered | None = None  # the loop around it

    def __iter__(self) -> Iterator[Any]:
        recorder, before = self.recorder, self.recorder.unrolling
        try:
            while not self.done and self._more():
                recorder.unrolling = before if self.capturing else before * self._copies()
                yield self
        finally:
            recorder.unrolling = before

    def _copies(self) -> int:
        """How many copies of the body are written out where the loop is not captured."""
        return 2

    def _more(self) -> bool:
        return True

    def enter(self) -> tuple[Any, ...]:
        """The variables as an iteration finds them."""
        self.active = self.capturing
        if not self.active:
            if isinstance(self.stopped, Traced):
                self._begin_step()
            return self.values
        if self.carry is None or self.watched is None or self.watched.outdated:
            self.watched = Watched(self.recorder, self.cells)
            site, more = self.site, self.watched.names
            if more:
                site = replace(site, names=(*site.names, *more), live=site.live | set(more))
            self.remembered = self._remember()
            values = (*self.values, *self.watched.start)
            self.carry = self.carry_class(self.recorder, site, values, self.remembered)
            self.carry.places = self.watched.named_places
        self.restart = False
        self.facts = self.recorder.sizes.mark()
        self.lists = self.recorder.lists.state()
        self.head = Region(self.recorder.region, virtual=True)
        self._open(self.head)
        found = self.carry.begin(self.head)
        self.watched.write(found[len(self.values) :])
        return found[: len(self.values)]

    def _remember(self) -> Remembered:
        """What is known of the loop from passes before."""
        site = self.site
        return self.remembered or self.recorder.remembered.next((site.file, site.line, site.column))

    def _open(self, head: Region) -> None:
        """Add what the loop itself carries."""

    def __enter__(self) -> Loop:
        if self.branch is not None:
            self.branch.__enter__()
        elif self.active:
            assert self.head is not None
            assert self.remembered is not None
            self.body = self.recorder.enter(self.head)
            self.body.own_cells = self.cells
            self.outside, self.recorder.remembered = self.recorder.remembered, self.remembered
            self.remembered.begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if self.branch is not None:
            return self.branch.__exit__(kind, error, trace)
        if not self.active:
            return False
        assert self.head is not None
        assert self.head.parent is not None
        assert self.body is not None
        assert self.outside is not None
        if kind is None:
            self.recorder.state.flush()
        self.recorder.region = self.head.parent
        self.recorder.remembered = self.outside
        if kind is not None and issubclass(kind, Restart):
            self.restart = True
            return True
        if kind is not None and issubclass(kind, TraceError) and self.may_unroll:
            self._give_up(error)
            return True
        if kind is not None and issubclass(kind, CaptureError) and self._adds():
            self.restart = True
            return True
        return ends_path(self.recorder, self.body, kind, error)

    def _adds(self) -> bool:
        """Whether the loop adds items or attributes, and is to carry from now on whether they are there."""
        found = self.remembered
        if found is None or found.flags or not found.added:
            return False
        found.flags, self.recorder.refused = True, self.refused
        return True

    def _give_up(self, error: Any) -> None:
        """Stop capturing the loop: run it step by step."""
        self.failure = error
        self.capturing, self.given_up, self.carry = False, True, None
        self.recorder.refused = self.refused
        if self.watched is not None:
            self.watched.go_back()
        self.recorder.lists.go_back(self.grown)

    def leave(self, values: tuple[Any, ...], stop: Any) -> None:
        """The variables as an iteration leaves them, and whether it broke out of the loop."""
        try:
            self._leave(values, stop)
        finally:
            self._forget()

    def _forget(self) -> None:
        """What is known of sizes in the body, such as that it runs, need not hold outside."""
        if self.facts is not None:
            self.recorder.sizes.forget(self.facts)
            self.facts = None

    def _leave(self, values: tuple[Any, ...], stop: Any) -> None:
        if self.active and not self.capturing:
            return  # given up: the loop starts over
        if not self.active:
            self._step(values, stop)
            return
        assert self.watched is not None
        if self.restart or self.watched.outdated:
            self._start_again()
            return
        caught = self.recorder.refused  # by a handler of the program
        if caught is not self.refused and self.may_unroll:
            self._give_up(caught)
            return
        try:
            if self.recorder.lists.outdated(self.lists, self.recorder.region):
                raise Again
            self._finish((*values, *self.watched.read()), stop)
            rest = self.values
            count = len(self.site.names)
            self.values = rest[:count]
            self.watched.write(rest[count:])
            if self.done:
                self.watched.settle()
                if self.changes == self._changes():
                    self.recorder.stand_ins.leave(self.grown[-1], self.values)
        except Again:
            self.watched.write(self.watched.start)
            self.rounds += 1
            if self.rounds > _ROUNDS:
                self.recorder.refuse(f"the types of the loop at line {self.site.line} change with every iteration")
        except CaptureError as error:
            if not self.may_unroll:
                raise
            self._give_up(error)

    def _changes(self) -> tuple[int, int, int]:
        recorder = self.recorder
        return recorder.python_effects, len(recorder.places.log), len(recorder.lists.grown)

    def _start_again(self) -> None:
        """Capture the body once more, with places of objects that have turned out to be changed in it."""
        assert self.watched is not None
        self.watched.go_back()
        self.carry = None

    # Steps

    def _count_step(self) -> None:
        """Note a step that is written out; too many of them, and what kept the loop from being captured is raised."""
        self.recorder.allowance.spend()
        self.steps += 1
        if self.steps > LONGEST and self.failure is not None:
            raise self.failure

    def _begin_step(self) -> None:
        """A step that is only taken where no `break` has happened: one side of a branch."""
        names = (*self.site.names, "_weft_stop")
        site = replace(self.site, kind="if", names=names, live=self.site.live | {"_weft_stop"})
        going = self.recorder.negation(self.stopped)
        self.branch = Branch(self.recorder, site, going, (*self.values, self.stopped), self.shared)

    def _step(self, values: tuple[Any, ...], stop: Any) -> None:
        branch = self.branch
        if branch is None:
            self.values, self.stopped = values, stop
        else:
            start = branch.leave((*values, stop))
            if branch.again:
                self.branch, self.repeats = None, True
                return
            branch.taken = False
            with branch:
                pass
            *rest, self.stopped = branch.leave(start)
            self.values, self.branch = tuple(rest), None
        self._count_step()
        if not isinstance(self.stopped, Traced) and self.stopped:
            self.done = True

    # Making the node

    trips: Any = None  # how often the loop runs, or the place of the carry that counts it

    counter: Any = None  # a placeholder at the head

    def _count(self, own: list[Any]) -> None:
        """Carry how often the loop has run; in the body's region."""
        assert self.body is not None
        self.trips = Place(len(own))
        step = self.recorder.create(operator.add, (self.body.lift(self.counter), 1), {}, int)
        own.append((self.counter, 0, step))

    def _trips(self, node: Node) -> Any:
        if not isinstance(self.trips, Place):
            return self.trips
        return Scalar(self.recorder, int, project(self.recorder, node, self.trips.at, int, "trips"))

    def _finish(self, values: tuple[Any, ...], stop: Any) -> None:
        raise NotImplementedError

    def _slots(self, values: tuple[Any, ...]) -> list[Slot]:
        assert self.carry is not None
        assert self.head is not None
        assert self.body is not None
        if self.body.failed is not None:
            self.carry.check_read()
            return self.carry.unchanged()
        with self.recorder.within(self.body):
            slots = self.carry.finish(values, self.head, self.body)
        self._forget()
        return slots

    def _record(
        self,
        slots: list[Slot],
        own: list[tuple[Node, Any, Any]],
        make: Any,
        ran: Any,
        test: tuple[Region, Any] | None = None,
        leading: tuple[Node, ...] = (),
    ) -> Node | None:
        """Make the loop's node, if it does anything, and take up its results.

        `own` are carries of the loop itself: the placeholder at the head, the initial value, that after an iteration.
        `test` is the region of the condition and its result. `leading` are placeholders before the carries.
        """
        recorder, head, body, carry = self.recorder, self.head, self.body, self.carry
        assert head is not None
        assert body is not None
        assert carry is not None
        with recorder.within(body):
            finals = [as_output(recorder, slot.final, slot.type) for slot in slots]
        written = [buffer for buffer in body.written if buffer in head.entered]
        for slot in slots:
            slot.placeholder = slot.placeholder or head.placeholder(shown(slot.name))
        carried: list[Any] = [placeholder for placeholder, _, _ in own] + [slot.placeholder for slot in slots]
        carried += [head.entered[buffer] for buffer in written]
        outputs = [value for _, _, value in own] + finals + [body.held[buffer] for buffer in written]
        inits = [init for _, init, _ in own] + [carry.init_of(slot) for slot in slots]
        inits += [recorder.region.read(buffer) for buffer in written]
        operands = {key: node for key, node in head.operands().items() if key not in body.written}
        order = [*leading, *carried, *operands.values()]
        _arrange(recorder.sizes, body, order, tuple(outputs))
        if test is not None:
            _arrange(recorder.sizes, test[0], order, test[1])
        metas = [placeholder.meta.get("type") for placeholder, _, _ in own]
        metas += [slot.type.meta if slot.type.spec is None else _closed(slot.type.spec) for slot in slots]
        metas += [buffer.spec for buffer in written]
        if not metas and not has_effects(body, raising=True):
            self._settle({}, ran)
            return None
        target, args, keywords = make(tuple(inits), [outer(recorder, key) for key in operands])
        node = recorder.create(target, args, keywords, tuple(metas))
        self._settle(self._results(node, slots, metas, len(own), written, ran), ran)
        return node

    def _results(
        self, node: Node, slots: list[Slot], metas: list[Any], count: int, written: list[Buffer], ran: Any
    ) -> dict[int, Any]:
        recorder, body, carry = self.recorder, self.body, self.carry
        assert body is not None
        assert carry is not None
        values = {}
        for k, slot in enumerate(slots, count):
            item = project(recorder, node, k, metas[k], slot.name)
            layout = carry.layout_after(slot)
            values[id(slot)] = value_of(recorder, carry.type_after(slot), item, slot.name, layout=layout)
        for k, buffer in enumerate(written, count + len(slots)):
            recorder.region.write(buffer, project(recorder, node, k, buffer.spec, buffer.name))
        found = cycles(slots, body)
        if found and all(len(way) == 1 for way in found.values()) is False and self.trips is not None:
            give_back(recorder, found, slots, values, self._trips(node))
            tie_carried(recorder, slots, values, ran)
            return values
        for slot in written_slots(slots, body):
            for source in may_be(slot.source):
                source.stale = (
                    f"{source.name} was written in the loop at line {self.site.line} as {slot.name}, "
                    "which is another array by now"
                )
        tie_carried(recorder, slots, values, ran)
        return values

    def _settle(self, values: dict[int, Any], ran: Any) -> None:
        assert self.carry is not None
        self.values = self.carry.results(values, ran)
        self.done = True

    def result(self) -> tuple[Any, ...]:
        """The variables after the loop."""
        if self.steps and not self.capturing:
            last = self.site.kind == "while" and not self.stopped  # only tested, and found to be over
            self.recorder.written_out[self.site] = (self.steps - last, self.failure)
        return self.values


@dataclass(frozen=True)
class Place:
    """Where among the carries of a loop something stands."""

    at: int


def _closed(spec: Any) -> Spec:
    return Spec([0 if d is None else d for d in spec.shape], spec.dtype)


def _arrange(sizes: Any, region: Region, order: list[Node], output: Any) -> None:
    """Bring the placeholders of a loop's part into the order of the head's, and end its graph."""
    head = region.parent
    assert head is not None
    buffers = {head.held[buffer]: buffer for buffer in region.entered}
    close(region, {buffers.get(node, node): None for node in order}, output)
    for node in order:
        place = region.entered[buffers[node]] if node in buffers else region.inputs.get(node)
        if place is not None:
            sizes.stands_for.setdefault(node, []).append(place)
