"""Branches on traced values: both sides are captured, each into a graph of its own, and joined by a `cond` node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from weft.capture._cells import Restart, Watched
from weft.capture._convert import is_converted
from weft.capture._convert_site import Site
from weft.capture._layouts import where_met
from weft.capture._lists import containers_in
from weft.capture._memory import is_tensor
from weft.capture._merge import (
    Disagreement,
    Type,
    advice,
    any_type,
    as_output,
    describe,
    differing,
    filler,
    is_same,
    join_types,
    project,
    spoken,
    type_in,
    value_of,
    visible_sizes,
)
from weft.capture._one_of import OneOf, is_called, may_be_either
from weft.capture._opaque import Opaque
from weft.capture._present import note_orders, orders
from weft.capture._raising import raises
from weft.capture._region import Buffer, Region
from weft.capture._sharing import levels, may_be, tie
from weft.capture._stand_ins import Meeting, ObjectTree, fill, flatten, parts_of, with_parts
from weft.capture._unsettled import meeting
from weft.capture._values import Added, Array, MaybeUnbound, PartlyDefined, Scalar, Undefined, is_traced, late_of
from weft.capture._views import places_of, seen_at
from weft.errors import TraceError, UnknownShape, WeftError
from weft.graph import Node
from weft.graph._control import cond, fail
from weft.graph._control import exception as exception_of
from weft.graph._handed import show

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_AS_PYTHON = frozenset(
    {
        *("weft.capture._changes.uncaptured", "weft.capture._collect.collect", "weft.capture._loop_for.begun"),
        *(f"weft.capture._hooks.{name}" for name in ("getitem", "operate", "percent")),
        *("weft.capture._plain.merged", "weft.capture._python_calls.contains", "weft.capture._reads.attribute"),
    }
)
"""Where weft does what the program asks of Python: without traced values, what is raised there is the program's."""
_MOST_CHOICES = 4  # choices between choices: every read and write of one is as many branches, and more for each step


class PathEnded(BaseException):
    """Ends the capture of a path that raises an exception when it runs."""


def end_path(recorder: Recorder, exception: Any) -> None:
    """Record that the present path raises, and leave it."""
    whole = not isinstance(exception, type) and not _made_of_arguments(exception)
    if whole:
        args: tuple[Any, ...] = (Opaque(recorder, _exception(recorder, exception)),)
    else:
        args = (exception,) if isinstance(exception, type) else (type(exception), *exception.args)
    trying, recorder.trying = recorder.trying, ()  # none of them catches it
    shown = _show_written(recorder)
    recorder.region.failed = recorder.create(fail, args, {}, None)
    recorder.trying = trying
    if (
        isinstance(exception, WeftError) and recorder.keeps_raising and not shown
    ):  # said by a rule of weft's: the function itself raises what NumPy says
        recorder.region.failed.meta["raises"] = "sizes"


def _show_written(recorder: Recorder) -> bool:
    """Let the caller see what a path that ends here has written into his arrays: no result hands it on."""
    region = recorder.region
    if not recorder.keeps_raising:
        return False
    changed = region.held if region is recorder.root else region.written
    buffers = [each for each in changed if each.target is not None and region.held[each] is not each.target]
    for buffer in buffers:
        assert buffer.target is not None, "so they were chosen"
        recorder.create(show, (region.lift(buffer.target), region.read(buffer)), {}, None)
    return bool(buffers)


def _made_of_arguments(exception: BaseException) -> bool:
    """Whether calling its class with its `args` gives the same exception."""
    makers = (type(exception).__init__, type(exception).__new__)
    own = any(isinstance(maker, FunctionType) for maker in makers)
    return not own and not getattr(exception, "__dict__", None) and exception.__cause__ is None


def _exception(recorder: Recorder, exception: BaseException) -> Node:
    """The node that makes an exception as it is, cause included."""
    cause = None if exception.__cause__ is None else _exception(recorder, exception.__cause__)
    given = (type(exception), tuple(exception.args), dict(getattr(exception, "__dict__", {})))
    more = () if cause is None else (Opaque(recorder, cause),)
    return recorder.create(exception_of, (*given, *more), {}, None)


def ends_path(recorder: Recorder, region: Region, kind: Any, error: Any) -> bool:
    """Whether an exception that left a region only ends that path; it is then raised when the graph runs."""
    if kind is None:
        return False
    if issubclass(kind, PathEnded):
        return True
    if not issubclass(kind, Exception) or issubclass(kind, (TraceError, RecursionError, UnknownShape)):
        return False
    recorder.reads.unbound(error)
    # A variable without a value is the program's own affair, though a hook says so.
    programs = issubclass(kind, (WeftError, UnboundLocalError)) or error is recorder.programs_error
    if not programs and _raised_by_weft(error):
        return False
    if recorder.catches(kind):
        recorder.doubt(f"{kind.__name__} under a traced condition, inside a `try` with handlers")
    present, recorder.region = recorder.region, region
    try:
        end_path(recorder, error)
    finally:
        recorder.region = present
    return True


def _raised_by_weft(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    if trace is None or not module.startswith("weft."):
        return False
    if f"{module}.{trace.tb_frame.f_code.co_name}" in _AS_PYTHON:
        return any(map(is_traced, trace.tb_frame.f_locals.values()))
    return True


class Branch:
    """An `if` whose condition is traced: its two sides, one after the other."""

    def __init__(self, recorder: Recorder, site: Site, test: Any, values: tuple[Any, ...], cells: Any = None) -> None:
        """`cells` is a function that holds those of its variables that it shares with other functions."""
        self.recorder = recorder
        self.cells = recorder.places.foresee(cells)
        self.site = site
        self.test = test
        self.start = values
        self.taken = True
        self.regions: list[Region] = []
        self.results: list[tuple[Any, ...]] = []
        self.orders: list[Any] = []  # of the keys of dicts, as each side leaves them
        self.again = False  # whether both sides are to be captured once more
        self.grown = recorder.lists.mark()
        self.watched = Watched(recorder, self.cells)

    def __iter__(self) -> Iterator[Branch]:
        while True:
            self.regions, self.results, self.orders, self.again = [], [], [], False
            self.watched = Watched(self.recorder, self.cells)
            for taken in (True, False):
                self.taken = taken
                yield self
                if self.again:
                    break
            if not self.again:
                return

    def __enter__(self) -> Branch:
        region = self.recorder.enter()
        region.own_cells = self.cells
        self.regions.append(region)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        region = self.regions[-1]
        if kind is None:
            self.recorder.state.flush()
        elif issubclass(kind, PathEnded):
            self.recorder.state.take_back()
        self.recorder.leave(region)
        if kind is not None and issubclass(kind, Restart):
            self.again = True
            return True
        return ends_path(self.recorder, region, kind, error)

    def leave(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """After the first side, the variables as the second finds them; after the second, what they are from now on."""
        if self.again or self.watched.outdated:
            self.again = True
            self.watched.go_back()
            self.recorder.lists.go_back(self.grown)
            return self.start
        self.results.append((*values, *self.watched.read()))
        dicts = self.watched.dicts
        self.orders.append(orders(dicts))
        if len(self.results) == 1:
            self.watched.write(self.watched.start)
            return self.start
        note_orders(self.recorder, dicts, *self.orders)
        joined = self._join()
        self.watched.write(joined[len(values) :])
        self.watched.settle()
        return joined[: len(values)]

    def _join(self) -> tuple[Any, ...]:
        join = Join(self.recorder, self.regions, self.site.line)
        joined = []
        names = (*self.site.names, *self.watched.names)
        for index, name in enumerate(names):
            if name in self.site.live or index >= len(self.site.names):
                join.meeting.pair(*(result[index] for result in self.results))
        for index, name in enumerate(names):
            one, other = (result[index] for result in self.results)
            live = name in self.site.live or index >= len(self.site.names)
            joined.append(join.value(name, one, other, self) if live else _dead(name, one, other))
        values = join.finish(self.test)
        if all(region.failed is not None for region in self.regions):
            self.recorder.region.failed = values
            with self.recorder.region.graph.inserting_before(values):
                _show_written(self.recorder)
            raise PathEnded
        return tuple(part(values) if isinstance(part, _Later) else part for part in joined)

    def lines(self, name: str) -> tuple[str, str]:
        """Where each side leaves the variable as it is."""
        stores = self.site.stores.get(name, (None, None))
        return tuple(f"line {line}" if line else f"before line {self.site.line}" for line in stores)  # type: ignore[return-value]  # one for each side


def _dead(name: str, a: Any, b: Any) -> Any:
    return a if a is b else Undefined(name)


def _parts_of(side: Any) -> tuple[Any, Any]:
    """The value of a variable, and whether it has one."""
    if isinstance(side, (MaybeUnbound, PartlyDefined)):
        return side.value, side.ran
    return side, not isinstance(side, Undefined)


def _both(a: Any, b: Any) -> str:
    """Two values that differ, in words: objects of one class too."""
    first, second = describe(a), describe(b)
    if first != second or callable(a):
        return f"{first} and {second}"
    return f"{first} and another: which one, only running tells"


class _Later:
    """A value that the `cond` node gives once it is there."""

    def __init__(self, build: Any) -> None:
        self.build = build

    def __call__(self, items: Any) -> Any:
        return self.build(items)


class Join:
    """Collects what two regions give, and makes the `cond` node of it."""

    def __init__(self, recorder: Recorder, regions: list[Region], line: int = 0) -> None:
        self.recorder = recorder
        self.regions = regions
        self.names: tuple[Counter[int], Counter[int]] = (Counter(), Counter())  # names that containers have after each
        self.meeting = Meeting(recorder, regions, f"the branch at line {line} has left a variable")
        self.outputs: tuple[list[Any], list[Any]] = ([], [])
        self.types: list[tuple[str, Type]] = []
        self.layouts: list[Any] = []  # of each type: how its array lies
        self.buffers: list[Buffer] = []
        self.shadows: list[tuple[int, list[Buffer]]] = []
        self.eithers: list[tuple[int, int, Array]] = []  # the side that leaves an array from before, and that array

    def value(self, name: str, a: Any, b: Any, branch: Any) -> Any:
        """What a variable is after both sides: a value, or something to build from the items of the node."""
        ended = [region.failed is not None for region in self.regions]
        if any(ended):
            return self._only(name, b if ended[0] else a, 1 if ended[0] else 0)
        if a is b or (is_same(a, b) and not containers_in(a)):
            return a
        if not self.recorder.untyped:
            a, b = map(self.recorder.hooks.operand, (a, b))
        self._refuse_changed(name, a, b, branch)
        alone = self._alone(a, 0, branch) and self._alone(b, 1, branch)
        if not alone and a is not b and self._owned(a, b):
            return self._slot(name, Type(unknown=True), (a, b))
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            return self._undefined(name, a, b, branch)
        (leaves_a, tree_a), (leaves_b, tree_b) = map(self._flat, (a, b), self.regions)
        if tree_a != tree_b:
            if self.recorder.untyped:
                loose = not alone and any(self.recorder.lists.get(v) is None and containers_in(v) for v in (a, b))
                return self._slot(name, Type(unknown=True, joined=loose), (a, b))
            return self._apart(name, a, b, (tree_a, tree_b), branch)
        parts = [self._leaf(name, x, y, branch) for x, y in zip(leaves_a, leaves_b, strict=True)]
        built = self.meeting.build
        return _Later(lambda items: built(tree_a, a, b, (p(items) if isinstance(p, _Later) else p for p in parts)))

    def _refuse_changed(self, name: str, a: Any, b: Any, branch: Any) -> None:
        """Refuse to choose between containers of which a side changes one: by now it holds what it did before."""
        changed = {id(place.holder) for place in branch.watched.own}
        if changed and any(id(each) in changed for each in (*containers_in(a), *containers_in(b))):
            self.recorder.refuse(
                f"a branch leaves {spoken(name)} with one of two containers, and changes one of them",
                help="change it before the branch or after, or do one of the two only",
            )

    def _alone(self, value: Any, side: int, branch: Any) -> bool:
        """Whether the containers in what a side leaves were made there, and have one name only."""
        containers = containers_in(value)
        if not containers:
            return True
        made, held, names = self.regions[side].made, self.recorder.lists.held, self.names[side]
        if not names:
            names.update(id(c) for result in branch.results[side] for c in containers_in(result))
        return all(id(c) in made and id(c) not in held and names[id(c)] < 2 for c in containers)

    def _owned(self, a: Any, b: Any) -> bool:
        """Whether what two sides leave is two containers of the running graph, or becomes so; else neither changes."""
        recorder, lists = self.recorder, self.recorder.lists
        plain = [side for side in zip(self.regions, (a, b), strict=True) if not isinstance(side[1], Opaque)]
        for region, value in plain:
            self._within(region, recorder.reads.made, value)
        may = (recorder.untyped or any_type(recorder) is not None) and (len(plain) == 1 or type(a) is type(b))
        if may and all(self._within(region, lists.may_own, [value]) for region, value in plain):
            for region, value in plain:
                self._within(region, lists.share, value)
            return True
        lists.standing((a, b), "one of two that a branch leaves")
        return False

    def _within(self, region: Region, function: Any, *args: Any) -> Any:
        with self.recorder.within(region):
            return function(*args)

    def _flat(self, value: Any, region: Region) -> Any:
        return self._within(region, flatten, self.recorder, value)

    def _apart(self, name: str, a: Any, b: Any, trees: tuple[Any, Any], branch: Any) -> Any:
        """What is of one structure on one side and of another on the other: tuples and objects part by part."""
        one, other = trees
        joined = any_type(self.recorder, a, b)
        alike = one.kind is other.kind and one.context == other.context and len(one.children) == len(other.children)
        if alike and (isinstance(one, ObjectTree) or (one.kind is tuple and joined is not None)):
            parts = [self.value(name, x, y, branch) for x, y in zip(parts_of(a), parts_of(b), strict=True)]
            built = self.meeting.built
            return _Later(lambda items: built(one, [p(items) if isinstance(p, _Later) else p for p in parts], a, b))
        if joined is not None:
            return self._slot(name, joined, (a, b))
        if self.recorder.branches and may_be_either(a, b):
            return self._one_of(branch.test, self._either(name, a, 0), self._either(name, b, 1))
        a, b, where = differing(a, b)
        return self._disagree(name, (a, b), branch, where)

    def _chosen(self, value: Any) -> Type | None:
        """Where no types are known, a branch may choose a function or class too: it is called as it is."""
        return Type(unknown=True) if self.recorder.untyped and callable(value) and not is_converted(value) else None

    def _leaf(self, name: str, a: Any, b: Any, branch: Any) -> Any:
        if is_same(a, b):
            return a
        a, b = meeting(a, b)
        first: Any = type_in(self.recorder, a) or self._chosen(a)
        second: Any = type_in(self.recorder, b) or self._chosen(b)
        try:
            joined = None if first is None or second is None else join_types(self.recorder, first, second)
        except Disagreement:
            joined = None
        joined = any_type(self.recorder, a, b) if joined is None else joined
        if joined is None and self.recorder.branches and may_be_either(a, b):
            return self._one_of(branch.test, self._either(name, a, 0), self._either(name, b, 1))
        if joined is None:
            return self._disagree(name, (a, b), branch)
        if isinstance(a, Array) and isinstance(b, Array) and self._may_choose(a, b, joined):
            return self.recorder.choice(branch.test, a, b)
        self._note_either(a, b, joined)
        return self._slot(name, joined, (a, b))

    def _one_of(self, test: Any, first: Any, second: Any) -> _Later:
        given = test, first, second
        return _Later(lambda items: OneOf(self.recorder, *(p(items) if isinstance(p, _Later) else p for p in given)))

    def _either(self, name: str, value: Any, side: int) -> Any:
        """A function or an object that one side leaves, or one of some: what it holds becomes known outside."""
        self.recorder.allowance.spend()  # objects that hold one of several such objects make more and more of them
        if not isinstance(value, OneOf):
            return value if value is None or is_called(value) else self._only(name, value, side)
        test, first, second = value.sides
        test = self._passed("chosen", test, side)
        return self._one_of(test, self._either(name, first, side), self._either(name, second, side))

    def _may_choose(self, a: Array, b: Array, joined: Type) -> bool:
        """Whether what a variable is can stay open: one array of the region around or another of the same sizes."""
        if joined.spec is None or None in joined.spec.shape or levels(a.buffer, b.buffer) >= _MOST_CHOICES:
            return False
        return all(map(self.recorder.is_outer, (a, b)))

    def _note_either(self, a: Any, b: Any, joined: Type) -> None:
        """Note a choice between an array from before and one that a side has made, for a write to either."""
        recorder, arrays = self.recorder, isinstance(a, Array) and isinstance(b, Array)
        if not arrays or is_tensor((a, b)) or joined.spec is None or levels(a.buffer, b.buffer) >= _MOST_CHOICES:
            return
        outer = [recorder.is_outer(array) for array in (a, b)]
        made = b if outer[0] else a
        known = any(map(recorder.region.knows, may_be(made.buffer)))
        sizes = visible_sizes(recorder, joined.spec, recorder.region).shape
        whole = any(outer) and not (a if outer[0] else b).path
        if whole and not known and None not in sizes:
            self.eithers.append((len(self.types), outer.index(True), (a, b)[outer.index(True)]))

    def _only(self, name: str, value: Any, side: int) -> Any:
        """The value of the one side that goes on."""
        if isinstance(value, (MaybeUnbound, PartlyDefined)):
            held, flag = self._only(name, value.value, side), self._passed(name, value.ran, side)
            return self._built(lambda v, f: value.remade(name, v, f), held, flag)
        if isinstance(value, Undefined):
            return value
        recorder, (leaves, tree) = self.recorder, self._flat(value, self.regions[side])
        parts = [self._passed(name, leaf, side) for leaf in leaves]
        own = [part for part in with_parts(value) if id(part) in self.regions[side].made]

        def passed(items: Any) -> Any:
            for part in own:  # it goes on here, and may be changed
                recorder.made(part)
            return fill(recorder, tree, value, (p(items) if isinstance(p, _Later) else p for p in parts))

        return _Later(passed)

    def _passed(self, name: str, leaf: Any, side: int) -> Any:
        if isinstance(leaf, OneOf):
            return self._either(name, leaf, side)
        if self._is_lost(leaf):
            return self._slot(name, Type(unknown=True), (leaf, leaf), only=side)
        if not isinstance(leaf, (Array, Scalar, Opaque)) or self.recorder.is_outer(leaf):
            return leaf
        places = places_of(self.recorder, leaf, self.recorder.region)
        if isinstance(leaf, Array) and places:
            kept = [self._passed(name, place, side) for place in places]
            view, recorder = leaf, self.recorder
            return _Later(
                lambda items: seen_at(recorder, view, [p(items) if isinstance(p, _Later) else p for p in kept])
            )
        found = type_in(self.recorder, leaf)
        if found is None:
            self.recorder.refuse(f"{name} has no known type", help="compute it before the branch")
        return self._slot(name, found, (leaf, leaf), only=side)

    def _is_lost(self, value: Any) -> bool:
        """Whether a value is an object that the running graph has made on a side, and holds from then on."""
        known = self.recorder.state.owners.get(id(value))
        return known is not None and not self.recorder.region.sees(known[1])

    def _slot(self, name: str, type_: Type, values: tuple[Any, Any], only: int | None = None) -> _Later:
        recorder, index = self.recorder, len(self.types)
        if type_.spec is not None:
            type_ = Type(visible_sizes(recorder, type_.spec, recorder.region), tensor=type_.tensor)
            roots = [root for v in values if isinstance(v, Array) for root in may_be(v.buffer)]
            known = [root for root in dict.fromkeys(roots) if recorder.region.knows(root)]
            if known:
                self.shadows.append((index, known))
        for side, (region, value) in enumerate(zip(self.regions, values, strict=True)):
            with recorder.within(region):
                missing = only is not None and side != only
                self.outputs[side].append(filler(recorder, type_) if missing else as_output(recorder, value, type_))
        self.types.append((name, type_))
        self.layouts.append(where_met(values))
        return _Later(lambda items: items[index])

    def _undefined(self, name: str, a: Any, b: Any, branch: Any) -> Any:
        """A variable that one side, or both, may leave without a value."""
        values, flags = zip(*(_parts_of(side) for side in (a, b)), strict=True)
        held = [value for value in values if not isinstance(value, Undefined)]
        late = late_of(a) or late_of(b)
        if not held:
            return late or Undefined(name, a.why or b.why)
        only = None if len(held) == 2 else 0 if isinstance(values[1], Undefined) else 1
        value = self.value(name, values[0], values[1], branch) if only is None else self._only(name, held[0], only)
        if name.startswith("_weft"):  # a result that is read only where there is one
            return value
        flag = flags[0] if is_same(*flags) else self._slot("defined", Type(kind=bool), flags)
        if (
            late is not None
            or any(isinstance(side, MaybeUnbound) for side in (a, b))
            or not any(type(side) in (Undefined, Added) for side in (a, b))
        ):
            return self._built(lambda v, f: MaybeUnbound(name, v, f, late), value, flag)
        why = next((side.why for side in (a, b) if isinstance(side, PartlyDefined)), None)
        why = why or self._why(name, isinstance(a, Undefined), branch)
        return self._built(lambda v, f: PartlyDefined(name, v, f, why), value, flag)

    @staticmethod
    def _built(make: Any, value: Any, flag: Any) -> _Later:
        return _Later(lambda items: make(*(p(items) if isinstance(p, _Later) else p for p in (value, flag))))

    @staticmethod
    def _why(name: str, first: bool, branch: Any) -> str:
        there = branch.lines(name)[1 if first else 0]
        there = f"at {there}, but" if not there.startswith("before") else "it is"
        what = {"[": f"the key {name[1:-1]}", ".": f"the attribute {name[1:]}"}.get(name[0], name)
        return (
            f"{what} is assigned on one side of a branch only: {there} not where the condition of "
            f"line {branch.site.line} is {'true' if first else 'false'}"
        )

    def _disagree(self, name: str, values: tuple[Any, Any], branch: Any, where: str = "") -> Any:
        first, second = branch.lines(name)
        shown = spoken(name)
        lines = f" (at {first} and at {second})".replace("at before", "before")
        if shown != name and first.startswith("before") and second.startswith("before"):
            lines = ""  # the value of a conditional expression has no lines of its own
        self.recorder.refuse(
            f"the two sides of the branch at line {branch.site.line} disagree on {shown}{where}: "
            f"{_both(*values)}{lines}",
            help=advice(*values),
        )

    def finish(self, test: Any) -> Any:
        """The `cond` node's values: one for each slot; the node itself where both sides fail."""
        recorder = self.recorder
        for buffer in {**self.regions[0].written, **self.regions[1].written}:
            self.buffers.append(buffer)
            for side, region in enumerate(self.regions):
                self.outputs[side].append(None if region.failed else region.read(buffer))
        operands: dict[Node | Buffer, None] = {}
        for region in self.regions:
            operands.update(dict.fromkeys(region.operands()))
        for region, outputs in zip(self.regions, self.outputs, strict=True):
            close(region, operands, tuple(outputs) if region.failed is None else region.failed)
        metas = [type_.meta if type_.spec is None else _open(type_.spec) for _, type_ in self.types]
        metas += [buffer.spec for buffer in self.buffers]
        if not metas and not any(has_effects(region, raising=True) for region in self.regions):
            return []
        graphs = [region.graph for region in self.regions]
        args = (test, *graphs, *(outer(recorder, key) for key in operands))
        node = recorder.create(cond, args, {}, tuple(metas))
        if all(region.failed is not None for region in self.regions):
            return node
        return self._values(node, metas, test)

    def _values(self, node: Node, metas: list[Any], test: Any) -> list[Any]:
        recorder, values = self.recorder, []
        for k, buffer in enumerate(self.buffers, len(self.types)):
            recorder.region.write(buffer, project(recorder, node, k, buffer.spec, buffer.name))
        for k, (name, type_) in enumerate(self.types):
            item = project(recorder, node, k, metas[k], name)
            values.append(value_of(recorder, type_, item, name, layout=self.layouts[k]))
        for index, known in self.shadows:
            tie(values[index].buffer, known)
        for index, side, outer_one in self.eithers:
            value = values[index]
            own = Buffer(value.buffer.spec, value.buffer.name, layout=value.buffer.layout)
            own.alone = True
            recorder.region.make(own, recorder.region.read(value.buffer))
            made = type(value)(recorder, own, (), value.spec)
            value.buffer.either = (test, outer_one, made) if side == 0 else (test, made, outer_one)
        return values


def _open(spec: Any) -> Any:
    """A type as a node tells it before its sizes are settled."""
    from weft.ops import Spec

    return Spec([0 if d is None else d for d in spec.shape], spec.dtype)


def outer(recorder: Recorder, key: Node | Buffer) -> Node:
    """The operand for what a region reads of the one around it."""
    return recorder.region.read(key) if isinstance(key, Buffer) else key


def close(region: Region, operands: dict[Node | Buffer, None], output: Any) -> None:
    """Bring a region's placeholders into the order of the operands, and end its graph."""
    graph = region.graph
    known = region.operands()
    before: Any = None
    for key in operands:
        node = known.get(key)
        if node is None:
            node = region.placeholder(key.name, None if isinstance(key, Buffer) else key)
            if isinstance(key, Buffer):
                node.meta["type"] = key.spec
            else:
                region.lifted[node] = key
        first = graph._root.next if before is None else before.next
        if first is not node:
            first.prepend(node)
        before = node
    graph.output(output)


def has_effects(region: Region, raising: bool = False) -> bool:
    """Whether running a region does more than give its results; with `raising`, whether it may raise counts too."""
    nodes = (node for node in region.graph.nodes if node.op not in ("placeholder", "output"))
    return any(node.is_impure() or (raising and raises(node)) for node in nodes)
