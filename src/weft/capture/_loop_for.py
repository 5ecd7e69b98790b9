"""`for` loops of a captured program."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.capture._convert_site import Site
from weft.capture._exchange import written_slots
from weft.capture._generators import Effects
from weft.capture._iterables import EnumerateItems, Items, ListItems, RangeItems, after_first, items_of
from weft.capture._loop import UNROLLED, Loop
from weft.capture._merge import project
from weft.capture._once import leave
from weft.capture._opaque import Opaque
from weft.capture._region import Region
from weft.capture._values import Scalar, Traced
from weft.graph import Node
from weft.graph._control import fori_loop, while_loop
from weft.graph._looping import before_end

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


_FIRST_TURNS = 3  # so many are written out before a loop: a number may go from int to float to NumPy's


def begun(iterable: Any) -> Iterator[Any]:
    """The iterator that a loop in Python goes over."""
    return iter(iterable)


class ForLoop(Loop):
    """A `for`."""

    def __init__(
        self, recorder: Recorder, site: Site, iterable: Any, values: tuple[Any, ...], cells: Any = None
    ) -> None:
        self.began: int | None = len(recorder.places.log)  # before the first item was taken
        super().__init__(recorder, site, values, cells)
        self.iterable = iterable
        self.items = items = items_of(recorder, iterable)
        self.iterator: Any = None
        self.current: Any = None
        self.index: Node | None = None
        self.stop: Node | None = None
        self.first_turn = False  # whether the next step is the first turn, written out before the rest is captured
        self.first_taken = 0
        self.resized = 0  # how often the list was made longer or shorter before this pass
        if items is not None and items.traced:
            if not recorder.branches:
                recorder.refuse_loop()
            self.capturing, self.may_unroll = True, False
        elif items is not None and recorder.branches and not isinstance(items, ListItems):
            self.capturing = len(items) * recorder.unrolling > (0 if recorder.untyped else UNROLLED)
        if not self.capturing:
            self.iterator = begun(iterable if items is None else items)

    def _copies(self) -> int:
        return 2 if self.items is None or self.items.traced or self.first_turn else max(1, len(self.items))

    def _more(self) -> bool:
        if self.capturing and self.carry is None and self.may_unroll:
            self.remembered = self._remember()
            if self.remembered.first_turn:
                self.capturing, self.first_turn = False, True
        if self.capturing:
            return True
        if self.repeats:
            self.repeats = False
            return True
        if self.iterator is None:
            self.iterator = iter(self.items)  # type: ignore[arg-type]  # a loop that was to be captured has items
        log = self.recorder.places.log
        began, going = len(log) if self.began is None else self.began, False
        self.began = None
        open_ended = Effects(self.recorder) if isinstance(self.stopped, Traced) else None
        for item in self.iterator:
            self.current, going = item, True
            break
        if open_ended is not None and open_ended.found():
            open_ended.refuse()
        if any(id(cell) in self.cells for cell, _ in log[began:]):
            self.recorder.refuse(
                f"what the loop at line {self.site.line} runs over assigns a variable of the function with the loop",
                help="take all of it first: for x in list(...)",
            )
        return going

    def _give_up(self, error: Any) -> None:
        """Run the loop step by step; where only the first turn is another, as it adds things, capture the rest."""
        differs = self.carry is not None and self.carry.first_differs
        self.first_turn = differs and self.first_taken < _FIRST_TURNS
        if self.first_turn and self.remembered is not None:
            self.remembered.first_turn = True
        super()._give_up(error)

    def _step(self, values: tuple[Any, ...], stop: Any) -> None:
        super()._step(values, stop)
        if isinstance(self.stopped, Traced):
            self._left()
        if self.first_turn:
            self.first_turn, self.first_taken = False, self.first_taken + 1
            assert self.items is not None
            self.items = after_first(self.items)
            self.done = self.done or not len(self.items)
            if not self.done and not isinstance(self.stopped, Traced):
                self.iterator, self.remembered = None, None
                self.capturing, self.given_up = True, False
                self.grown = self.recorder.lists.mark()

    def _collected(self) -> list[Effects]:
        """What the generators do whose items were all taken before the loop."""
        recorder, items = self.recorder, [self.items]
        for item in items:
            parts = getattr(item, "parts", ()) or (getattr(item, "part", None),)
            items += [part for part in parts if isinstance(part, Items)]
        known = [(made, recorder.lists.get(made.collected)) for made in recorder.collected]
        return [made.effects for made, grown in known if any(grown is item for item in items) and made.effects]

    def _left(self) -> None:
        """Note that only running tells whether the loop has taken all items."""
        for effects in self._collected():
            if effects.any:
                effects.refuse()
        leave(self.recorder, self.iterable)

    def _open(self, head: Region) -> None:
        self.resized = 0 if self.items is None else self.items.resized
        counted = isinstance(self.items, (RangeItems, EnumerateItems))
        self.index = head.placeholder(_target_name(self.site) if counted else "k")
        self.index.meta["type"] = int
        self.index._position = self.recorder.position()
        self.stop = head.placeholder("stop")
        self.stop.meta["type"] = bool
        self.counter = head.placeholder("trips")
        self.counter.meta["type"] = int

    def item(self) -> Any:
        """The iteration's item."""
        if not self.active:
            return self.current
        assert self.index is not None
        assert self.items is not None
        recorder, items = self.recorder, self.items
        counter = Scalar(recorder, int, self.index)
        direct = isinstance(items, RangeItems)
        counter.dim = dim = recorder.sizes.value(self.index.name, None, ("node", self.index), None if direct else 0)
        if not isinstance(items, RangeItems):
            if not isinstance(items.length, Opaque):
                recorder.sizes.assume("<", dim, recorder.dim(items.length))
            return items.item(counter)
        if not any(isinstance(v, Opaque) for v in (items.start, items.stop)) and not isinstance(items.step, Traced):
            recorder.sizes.assume(">=" if items.step > 0 else "<=", dim, recorder.dim(items.start))
            recorder.sizes.assume("<" if items.step > 0 else ">", dim, recorder.dim(items.stop))
        return counter

    def _finish(self, values: tuple[Any, ...], stop: Any) -> None:
        recorder, items, body = self.recorder, self.items, self.body
        assert items is not None
        assert body is not None
        assert self.stop is not None
        assert self.index is not None
        for effects in self._collected():
            effects.check_body(body)
        slots = self._slots(values)
        ranged = isinstance(items, RangeItems)
        start, end, step = (items.start, items.stop, items.step) if ranged else (0, items.length, 1)  # type: ignore[attr-defined]  # a range
        ran = _ran(items)
        resized = items.resized > self.resized
        if not isinstance(stop, Traced) and not stop and not resized:

            def make(inits: Any, operands: Any) -> Any:
                keywords = {} if not isinstance(step, Traced) and step == 1 else {"step": step}
                return fori_loop, (start, end, body.graph, inits, *operands), keywords

            self.trips = items.length if any(written_slots(slots, body)) else None
            self._record(slots, [], make, ran, leading=(self.index,))
            items.ended(False)
            return
        with recorder.within(body):
            following = recorder.create(operator.add, (body.lift(self.index), step), {}, int)
            own = [(self.index, start, following), (self.stop, False, recorder.arg(stop))]
            self._count(own)
        test, going = self._condition(None if resized else end, step)

        def make_while(inits: Any, operands: Any) -> Any:
            return while_loop, (test.graph, body.graph, inits, *operands), {}

        node = self._record(slots, own, make_while, ran, (test, going))
        self._left()
        items.ended(project(recorder, node, 1, bool, "stopped") if node is not None else False)

    def _condition(self, end: Any, step: Any) -> tuple[Region, Node]:
        recorder = self.recorder
        assert self.head is not None
        assert self.index is not None
        assert self.stop is not None
        assert self.items is not None
        test = Region(self.head)
        with recorder.within(test):
            index, stop = test.lift(self.index), test.lift(self.stop)
            if end is None:  # of a list that the loop itself makes longer or shorter
                end = self.items.length_now()
            if isinstance(step, Traced):
                inside = recorder.create(before_end, (index, end, step), {}, bool)
            else:
                inside = recorder.create(operator.lt if step > 0 else operator.gt, (index, end), {}, bool)
            going = recorder.create(operator.not_, (stop,), {}, bool)
            return test, recorder.create(operator.and_, (inside, going), {}, bool)


def _ran(items: Items) -> Any:
    """Whether a loop runs at all."""
    if isinstance(items, RangeItems) and not isinstance(items.step, Traced):
        return items.start < items.stop if items.step > 0 else items.start > items.stop
    return items.length > 0


def _target_name(site: Site) -> str:
    """The loop's own variable: of those stored on its line, the first."""
    stored = [name for name in site.names if site.stores.get(name, (None, None))[0] == site.line]
    return (stored or [name for name in site.names if not name.startswith("_weft")] or ["i"])[0]
