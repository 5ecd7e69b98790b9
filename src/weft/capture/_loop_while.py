"""`while` loops of a captured program."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from weft.capture._branch import has_effects
from weft.capture._convert_site import Site
from weft.capture._exchange import written_slots
from weft.capture._kinds import joined_kind, same_kind
from weft.capture._loop import UNROLLED, Loop
from weft.capture._merge import Type, project, type_of
from weft.capture._raising import forget
from weft.capture._region import Region
from weft.capture._values import Traced
from weft.graph import Graph, Node
from weft.graph._control import cond, while_loop

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class WhileLoop(Loop):
    """A `while`.

    It starts as Python's own. Where its condition, or a `break`, turns out to be traced, or where it goes on for long,
    what was recorded is taken back and the loop captured from its beginning.
    """

    def __init__(self, recorder: Recorder, site: Site, values: tuple[Any, ...], cells: Any = None) -> None:
        super().__init__(recorder, site, values, cells)
        self.assigned = len(recorder.places.log)
        self.start = values
        self.mark = recorder.region.mark()
        self.effects = recorder.python_effects
        self.count = 0
        self.first: Any = None  # the condition before the loop
        self.stop: Node | None = None
        self.broken: Any = False  # whether a `break` has happened in the steps before those that are captured
        self.test_region: Region | None = None
        self.test_value: Any = None
        self.found_traced = False
        self.tested = 0  # how many variables of functions around had been assigned when the condition began

    def _open(self, head: Region) -> None:
        self.stop = head.placeholder("stop")
        self.stop.meta["type"] = bool
        self.counter = head.placeholder("trips")
        self.counter.meta["type"] = int

    def __enter__(self) -> Loop:
        super().__enter__()
        if self.active:
            self.test_region = self.body
            self.tested = len(self.recorder.places.log)
        return self

    def test(self, value: Any) -> bool:
        """Whether the body runs."""
        grown = self.recorder.lists.get(value)
        value = value if grown is None else grown.filled
        if self.active:
            return self._captured_test(value)
        recorder = self.recorder
        if not isinstance(value, Traced):
            self.done = not value
            if self.first is None:
                self.first = not self.done
            return not self.done
        if not recorder.branches:
            recorder.refuse_branch(value)
        known = recorder.can_decide(value)
        if self.given_up and known:
            self.done = not recorder.decide(value)
            return not self.done
        if self.count == 0:
            self.first = value
            forget(recorder.region.graph, self.mark[0])  # the loop tests it again
        self.capturing, self.found_traced, self.may_unroll = True, True, known
        return False

    def _captured_test(self, value: Any) -> bool:
        recorder, test = self.recorder, self.test_region
        assert test is not None
        assert self.head is not None
        if test.written or has_effects(test) or len(recorder.places.log) > self.tested:
            recorder.refuse(
                "the condition of a `while` that writes, prints or raises",
                help="compute it in the body, and test a variable",
            )
        self.test_value = recorder.arg(recorder.truth(value)) if isinstance(value, Traced) else bool(value)
        recorder.leave(test)
        self.body = recorder.enter(self.head)
        self.body.own_cells = self.cells
        return True

    def _step(self, values: tuple[Any, ...], stop: Any) -> None:
        if self.found_traced:
            self.found_traced = False
            if self.count:
                self._start_over(values)
            else:
                self.values = values
            return
        self.count += 1
        recorder = self.recorder
        long = self.count == UNROLLED and not self.given_up and not self.done and recorder.branches
        if isinstance(stop, Traced) or long:
            self.may_unroll = not isinstance(stop, Traced)
            if self._can_go_back() and (not long or recorder.region.graph._root._prev is not self.mark[0]):
                self.capturing = True
                self._start_over(values)
                return
            if isinstance(stop, Traced) and self.branch is None:  # the steps until here have changed objects: they stay
                self.capturing, self.broken = True, stop
                self.values, self.first = values, recorder.negation(stop)
                return
        super()._step(values, stop)

    def _can_go_back(self) -> bool:
        return self.recorder.python_effects == self.effects

    def _start_over(self, values: tuple[Any, ...]) -> None:
        """Take back the steps recorded so far, or go on from where they led."""
        if self._can_go_back():
            self.recorder.places.undo(self.assigned)
            self.recorder.region.go_back(self.mark)
            self.recorder.lists.go_back(self.grown)
            self._foresee(values)
            self.values, self.count = self.start, 0
        else:
            self.values, self.first = values, True

    def _foresee(self, values: tuple[Any, ...]) -> None:
        """Numbers that the steps taken back have made of a wider type are carried as such from the start."""
        self.remembered = self._remember()
        for name, before, after in zip(self.site.names, self.start, values, strict=True):
            types = type_of(before), type_of(after)
            kinds = [found.kind for found in types if found is not None and found.kind is not None]
            if len(kinds) == 2 and not same_kind(joined := joined_kind(kinds), kinds[0]):
                self.remembered.widened[name, 0] = (types[0], Type(kind=joined))

    def _finish(self, values: tuple[Any, ...], stop: Any) -> None:
        recorder, test, body = self.recorder, self.test_region, self.body
        assert test is not None
        assert self.stop is not None
        assert body is not None
        assert self.head is not None
        breaks = isinstance(stop, Traced) or bool(stop) or isinstance(self.broken, Traced)
        slots = self._slots(values)
        if self.test_value is True and not breaks and body.failed is None:
            recorder.refuse(
                f"nothing traced ends the loop at line {self.site.line}",
                help="end it by a condition on a value that the loop computes: while x.max() > 1, or if ...: break",
            )
        own: list[Any] = []
        if breaks:
            with recorder.within(body):
                own = [(self.stop, self._broken_before(), recorder.arg(stop))]
        if any(written_slots(slots, body)):
            with recorder.within(body):
                self._count(own)
        with recorder.within(test):
            result = self._condition(test) if breaks else self.test_value

        def make(inits: Any, operands: Any) -> Any:
            return while_loop, (test.graph, body.graph, inits, *operands), {}

        self._record(slots, own, make, self.first, (test, result))

    def _broken_before(self) -> Any:
        """Whether a `break` has happened before the loop that is captured; in the region around it."""
        assert self.head is not None
        assert self.head.parent is not None
        with self.recorder.within(self.head.parent):
            return self.recorder.arg(self.broken)

    def _condition(self, test: Region) -> Any:
        """The condition, and that no `break` has happened: after one it is not evaluated again, as it may fail then."""
        recorder = self.recorder
        assert self.stop is not None
        going = recorder.create(operator.not_, (test.lift(self.stop),), {}, bool)
        if self.test_value is True:
            return going
        graph, never = Graph(), Graph()
        copies: dict[Node, Node] = {}
        operands = [node for node in test.graph.nodes if node.op == "placeholder"]
        computed = [node for node in test.graph.nodes if node.op != "placeholder" and node is not going]
        for node in operands:
            copies[node] = graph.node_copy(node)
            never.node_copy(node)
        for node in computed:
            copies[node] = graph.node_copy(node, copies.__getitem__)
        value = self.test_value
        graph.output((copies[value] if isinstance(value, Node) else value,))
        never.output((False,))
        for node in reversed(computed):
            test.graph.erase_node(node)
        made = recorder.create(cond, (going, graph, never, *operands), {}, (bool,))
        return project(recorder, made, 0, bool, "going")
