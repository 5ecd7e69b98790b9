"""Lists that change inside a captured branch or loop: objects of the running graph, changed in the program's order.

Where a loop body is the first to change one, it is captured again: what it read before the change was the list as it
was before the loop.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft._objects import dict_of
from weft.capture._generators import Generated
from weft.capture._held import Held
from weft.capture._iterables import Items
from weft.capture._kinds import same_kind
from weft.capture._merge import Disagreement, Type, any_type, describe, join_types, type_of, visible_sizes
from weft.capture._opaque import Opaque
from weft.capture._region import Region
from weft.capture._sharing import may_be
from weft.capture._values import Array, Scalar, Traced, is_traced
from weft.graph._list_arrays import array_of
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


_NUMBERS = (bool, int, float, complex)


_THIS = "a list that changes under a traced condition"


class GrownList(Items):
    """Stands for a list of the program from where it first changes under a traced condition.

    `tree` and `types` describe its elements; None as long as there was none. `version` counts how often they changed.
    """

    uncounted = False

    def __init__(self, recorder: Recorder, plain: list[Any], owner: Region) -> None:
        super().__init__(recorder)
        self.plain = plain
        self.owner = owner
        self.before = list(plain)
        self.tree: Any = None
        self.types: list[Type | None] = []
        self.version = 0
        self.resized = 0  # how many calls there are that change the length
        self.holding: list[Any] = []  # buffers of arrays that are elements
        with recorder.within(owner):
            for item in plain:
                self._describe(item)
            node = recorder.create(list, (list(plain),), {}, None, name="items")
        self.handle = Opaque(recorder, node)

    def _describe(self, item: Any) -> None:
        """Take note of the type of an element; all have one type."""
        recorder = self.recorder
        if recorder.untyped:
            self.tree, self.types = LEAF, [Type(unknown=True)]
            recorder.lists.hold(item)
            return
        recorder.lists.hold(item)
        if self.types and self.types[0] is not None and self.types[0].unknown:
            self._hold_arrays(item)
            return
        held = containers_in(item)
        parts = [part for part in held if type(part) is list or recorder.lists.get(part) is not None]
        if parts and (any_type(recorder, item) is not None or self._stand(item, held)):
            self.forget()
            return
        if any(recorder.lists.get(part) is not None for part in parts):
            recorder.refuse(
                "a list of lists, of which only running tells how many elements they have",
                help="put the elements of all into one list, and where each begins into another",
            )
        leaves, tree = pytree.flatten(item)
        types = [self._seen(leaf) for leaf in leaves]
        if self.tree is None:
            self.tree, self.types = tree, types
            self.version += 1
            return
        if tree != self.tree:
            self._differ(item, f"{describe(item)} is one of them")
            return
        joined: list[Type | None] = []
        for old, new in zip(self.types, types, strict=True):
            try:
                joined.append(None if old is None or new is None else join_types(recorder, old, new))
            except Disagreement as how:
                self._differ(item, str(how), help="let all have one shape and dtype")
                return
        if not all(map(_same_type, self.types, joined)):
            self.version += 1
        self.types = joined

    def _stand(self, item: Any, held: list[Any]) -> bool:
        """Whether all containers in an element are ones of the running graph; arrays in it do not change, then."""
        if any(self.recorder.lists.get(container) is None for container in held):
            return False
        self._hold_arrays(item)
        return True

    def _hold_arrays(self, item: Any) -> None:
        for leaf in pytree.leaves_of(item):
            self._seen(leaf)

    def _differ(self, item: Any, how: str, help: str | None = None) -> None:
        """Elements of different types: of each, only running tells what it is, where that may be."""
        if any_type(self.recorder, item) is None:
            self.recorder.refuse(f"a list that changes in a loop or branch holds different things: {how}", help=help)
        self.forget()

    def forget(self) -> None:
        """Of its elements only running tells what they are."""
        if self.tree != LEAF or not (self.types and self.types[0] is not None and self.types[0].unknown):
            self.tree, self.types = LEAF, [Type(unknown=True)]
            self.version += 1

    def _seen(self, leaf: Any) -> Type | None:
        """The type of a part of an element, as far as the owner of the list knows its sizes.

        An array that a list holds is written through the list too: as values are copies here, it must not change.
        """
        found = type_of(leaf)
        for buffer in may_be(leaf.buffer) if isinstance(leaf, Array) else ():
            buffer.listed = _THIS
            self.holding.append(buffer)
        if found is None or found.spec is None:
            return found
        return Type(visible_sizes(self.recorder, found.spec, self.owner), tensor=found.tensor)

    def go_back(self) -> None:
        """Let the program's own list be what it was."""
        self.plain[:] = self.before

    # Changes

    def append(self, value: Any) -> None:
        self._describe(value)
        self._resize("append", value)

    def insert(self, index: Any, value: Any) -> None:
        self._describe(value)
        self._resize("insert", index, value)

    def extend(self, values: Any) -> None:
        if self.recorder.untyped:
            self._describe(None)
            self._resize("extend", self.recorder.lists.taken(values))
            return
        if isinstance(values, Opaque):
            self.forget()
            self._resize("extend", values)
            return
        other = self.recorder.lists.get(values)
        if other is None and not (isinstance(values, Items) and values.traced):
            for value in values:
                self.append(value)
            return
        if not (isinstance(other, GrownList) and _alike(self, other)):
            if any_type(self.recorder) is None:
                self.recorder.refuse("a list is made longer by a number of elements that only running tells")
            self.forget()
        self._resize("extend", self.recorder.lists.taken(values))

    def repeat(self, count: Any) -> None:
        self.anything()
        self.recorder.create(operator.imul, (self.handle, count), {}, None).meta["must_run"] = True

    def pop(self, *index: Any) -> Any:
        return self._typed(self._resize("pop", *index))

    def clear(self) -> None:
        self._resize("clear")

    def anything(self) -> None:
        """Code that is not captured changes it: of its elements nothing is known from then on."""
        self.forget()
        self.resized += 1

    def _resize(self, method: str, *args: Any) -> Any:
        self.resized += 1
        return self.recorder.create_method(self.handle, method, args, {})

    def reverse(self) -> None:
        self.recorder.call_method(self.handle, "reverse", (), {})

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        if key is not None:
            self.recorder.refuse(
                "sort(key=…) of a list whose length only running tells", help="make it an array, and use np.argsort"
            )
        self.recorder.call_method(self.handle, "sort", (), {"reverse": reverse} if reverse is not False else {})

    def remove(self, value: Any) -> None:
        self._resize("remove", value)

    def set(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self.recorder.refuse("a slice of a list whose length only running tells is assigned", help="use an array")
        self._describe(value)
        self.recorder.create(operator.setitem, (self.handle, key, value), {}, None)

    def delete(self, key: Any) -> None:
        self.resized += 1
        self.recorder.create(operator.delitem, (self.handle, key), {}, None)

    # Reads

    @property
    def length(self) -> Any:
        return Scalar(self.recorder, int, self.recorder.create(len, (self.handle,), {}, int))

    @property
    def filled(self) -> Any:
        """Whether there is an element."""
        return self.length > 0

    def item(self, k: Any) -> Any:
        node = self.recorder.create(operator.getitem, (self.handle, k), {}, None)
        return Opaque(self.recorder, node) if isinstance(k, slice) else self._typed(node)

    def copy(self) -> Any:
        return self.recorder.call_method(self.handle, "copy", (), {})

    def index(self, *args: Any) -> Any:
        return self._number("index", args)

    def count(self, value: Any) -> Any:
        return self._number("count", (value,))

    def _number(self, name: str, args: tuple[Any, ...]) -> Any:
        node = self.recorder.create_method(self.handle, name, args, {})
        node.meta["type"] = int
        return Scalar(self.recorder, int, node)

    def holds(self, value: Any) -> Any:
        """`value in list`."""
        return Scalar(self.recorder, bool, self.recorder.create(operator.contains, (self.handle, value), {}, bool))

    def _typed(self, node: Any) -> Any:
        recorder = self.recorder
        if self.tree is None or None in self.types:
            return Opaque(recorder, node)
        if self.tree == LEAF:
            return self._value(node, self.types[0])
        parts: list[Any] = []
        _project(recorder, node, self.tree, parts)
        made = self.tree.unflatten([self._value(part, t) for part, t in zip(parts, self.types, strict=True)])
        return recorder.lists.standing(made, "one of the elements of a list")

    def _value(self, node: Any, type_: Any) -> Any:
        from weft.capture._merge import value_of

        if type_.spec is not None:
            type_ = Type(visible_sizes(self.recorder, type_.spec, self.recorder.region), tensor=type_.tensor)
        made = value_of(self.recorder, type_, node, node.name)
        if isinstance(made, Array):
            made.buffer.listed = _THIS
        elif type_.spec is None and not type_.unknown:
            node.meta["type"] = type_.meta
        return made

    def listed(self, dtype: Any = None) -> Any:
        """`np.array(list)`, or `np.array(list, dtype)`."""
        recorder = self.recorder
        spec = self._element()
        if spec is None:
            return recorder.opaque(np.array, (self.handle,), {} if dtype is None else {"dtype": dtype})
        shape = visible_sizes(recorder, spec, recorder.region).shape
        sizes = [recorder.sizes.fresh("items"), *(recorder.sizes.fresh("size") if d is None else d for d in shape)]
        type_ = Spec(sizes, spec.dtype if dtype is None else dtype)
        args = (self.handle, type_.dtype, len(sizes), *(() if dtype is None else (True,)))
        return recorder.wrap(recorder.create(array_of, args, {}, type_), type_)

    array = listed

    def _element(self) -> Spec | None:
        """What each element is in an array of all; None where only running can tell."""
        specs: list[Spec] = []
        for found in self.types:
            if found is None or found.unknown or (found.spec is None and found.kind not in _NUMBERS):
                return None
            specs.append(Spec((), np.dtype(found.kind)) if found.spec is None else found.spec)
        if self.tree == LEAF:
            return specs[0]
        shape = None if any(spec.shape for spec in specs) or not specs else _shape(self.tree)
        return None if shape is None else Spec(shape, np.result_type(*(spec.dtype for spec in specs)))


def _alike(one: GrownList, other: GrownList) -> bool:
    return one.tree == other.tree and all(map(_same_type, one.types, other.types))


def containers_in(item: Any, opened: set[int] | None = None) -> list[Any]:
    """What a program may change of an element: the lists, dicts and sets that it is or holds, the innermost first."""
    opened = set() if opened is None else opened
    if isinstance(item, Traced) or id(item) in opened:
        return []
    opened.add(id(item))
    if isinstance(item, (list, tuple, deque)):
        parts: Any = item
    elif isinstance(item, dict):
        parts = item.values()
    elif not (pytree.is_registered(type(item)) or is_dataclass(item)):
        return [item] if isinstance(item, set) else []
    else:
        parts = (dict_of(item) or {}).values()
    found = [inner for part in parts for inner in containers_in(part, opened)]
    return found if isinstance(item, tuple) else [*found, item]


def _shape(tree: Any) -> tuple[int, ...] | None:
    """The shape of an array of a nested sequence; None where it is none, or not of one length throughout."""
    if tree is None or tree.kind not in (None, tuple, list):
        return None
    if tree.kind is None:
        return ()
    inner = {_shape(child) for child in tree.children}
    found = inner.pop() if len(inner) == 1 else None
    return None if found is None else (len(tree.children), *found)


def _same_type(a: Type | None, b: Type | None) -> bool:
    if a is None or b is None or a.unknown or b.unknown:
        return (a is None, a is not None and a.unknown) == (b is None, b is not None and b.unknown)
    if a.spec is None or b.spec is None:
        return a.spec is b.spec and same_kind(a.kind, b.kind)
    if a.spec.dtype != b.spec.dtype or len(a.spec.shape) != len(b.spec.shape):
        return False
    pairs = zip(a.spec.shape, b.spec.shape, strict=True)
    return all(x is y or (x is not None and y is not None and same_shape((x,), (y,))) for x, y in pairs)


def _project(recorder: Recorder, node: Any, tree: Any, parts: list[Any]) -> None:
    """The nodes of the leaves of a nested value."""
    if tree.kind is None:
        parts.append(node)
        return
    for (read, key), child in zip(pytree.readers(tree), tree.children, strict=True):
        _project(recorder, recorder.create(read, (node, key), {}, None), child, parts)


_GONE = object()  # a key that no program has
_CHANGEABLE = frozenset({list, dict, set})
STANDING = _CHANGEABLE | {deque, OrderedDict, defaultdict, Counter}
"""Types of the containers of the program that one of the running graph may stand for."""


class Gone(Opaque):
    """Fills the place of elements in a list that has grown: code that is not captured must not read them."""

    __slots__ = ()

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder, None)

    @property
    def node(self) -> Any:
        self.recorder.refuse(
            "a list whose length only running tells is used in a way that is not captured",
            help="make it an array first: np.array(items)",
        )


class Lists:
    """The lists of one capture that have grown under a traced condition."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.grown: dict[int, Any] = {}  # id of a list, dict or set → what stands for it
        self.held: dict[int, tuple[Any, str]] = {}  # containers that stay as they are from now on, and why
        self.filling: list[list[Any]] = []  # what comprehensions of several `for`s, being captured, add to
        self.origins: dict[int, tuple[Any, Any]] = {}  # a list as an iteration finds it → the one before the loop

    def get(self, value: Any) -> Any:
        return self.grown.get(id(value)) if self.grown and type(value) in STANDING else None

    def of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of a call, lists that have grown in place of those they were."""
        if any(isinstance(value, Generated) for value in values):
            values = tuple(value.settled() if isinstance(value, Generated) else value for value in values)
        if not self.grown:
            return values
        return tuple(value if self.get(value) is None else self.get(value) for value in values)

    def whole(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of a call that takes all of each before anything else happens."""
        if not any(isinstance(value, Generated) for value in values):
            return values
        return tuple(value.whole() if isinstance(value, Generated) else value for value in values)

    def taken(self, value: Any) -> Any:
        """The list of a `reversed`, `zip`, `enumerate` or `range` of unknown length; anything else as it is."""
        if isinstance(value, Items) and value.uncounted:
            return self.recorder.call(list, (value,), {})
        return value

    def grow(self, value: Any, owner: Region) -> Any:
        """Let a list be one of the running graph from now on; in a script a dict or set too."""
        self.recorder.stand_ins.check_change(value, "what follows")
        kind = GrownList if type(value) is list else Held
        made = self.grown[id(value)] = kind(self.recorder, value, owner)
        value.clear()
        gone = Gone(self.recorder)
        if isinstance(value, dict):
            value[_GONE] = gone
        elif isinstance(value, set):
            value.add(_GONE)
        else:
            value.append(gone)
        return made

    def origin(self, value: list[Any]) -> list[Any]:
        """The list of the program that one stands for which a loop carries."""
        while id(value) in self.origins:
            value = self.origins[id(value)][1]
        return value

    def hold(self, item: Any) -> None:
        """A list of the running graph gets an item: containers in it keep being one object under all their names.

        They are objects of the running graph too, or do not change any more.
        """
        joins = self.recorder.joins and not (self.recorder.deriving or self.recorder.tensors)
        kinds = _CHANGEABLE if self.recorder.untyped else (list,) if joins else ()
        for container in containers_in(item):
            if type(container) not in kinds or self.share(container) is None:
                for one in (container, self.origin(container)):
                    self.held[id(one)] = one, "which a list that changes in a loop or branch holds as well"

    def standing(self, value: Any, what: str) -> Any:
        """A value made anew of what a branch, a loop or an index gives: containers in it stand for others."""
        for container in containers_in(value):
            if self.get(container) is None:
                self.held[id(container)] = container, f"which stands for {what}"
        return value

    def own(self, *values: Any) -> Any:
        """Let lists that the program made be those of the running graph, where they are not; what the last became."""
        for value in map(self.origin, values):
            owner: Region | None = self.recorder.region
            while owner is not None and id(value) not in owner.made:
                owner = owner.parent
            if owner is not None and self.get(value) is None:
                self.grow(value, owner)
        return self.get(self.origin(values[-1]))

    def share(self, value: Any) -> Any:
        """Let a container be one of the running graph that may change under other names: what it holds is not known."""
        made = self.own(value)
        if isinstance(made, GrownList):
            made.forget()
        return made

    def may_own(self, values: list[Any]) -> bool:
        """Whether objects of the program can become ones of the running graph: lists; in scripts dicts and sets too."""
        kinds = _CHANGEABLE if self.recorder.untyped else (list,)
        return all(type(v) in kinds and self.recorder._home(self.origin(v)) is not None for v in values)

    def grown_by(self, target: Any) -> Any:
        """The list of the running graph that a list of the program has become, or becomes by a change here."""
        recorder = self.recorder
        if type(target) is not list:
            return self.get(target)
        target = self.origin(target)
        known = self.get(target)
        if known is not None or id(target) in recorder.region.made or not recorder.branches:
            return known
        if id(target) in self.held:
            recorder.change_object(target, "in a loop or branch")
        owner = recorder.region.parent
        while owner is not None and id(target) not in owner.made:
            owner = owner.parent
        return None if owner is None else self.grow(target, owner)

    def changed_at(self, target: Any, key: Any) -> Any:
        """The list of the running graph that one becomes by a change at a place that only running tells; else None."""
        recorder, kind = self.recorder, type(target)
        if not isinstance(key, Traced) or kind not in (list, dict):
            return None
        if not recorder.untyped and (kind is dict or not recorder.branches or recorder.can_decide(key)):
            return None
        if id(target) in self.held:
            recorder.change_object(target, "at a traced place")
        return self.own(target)

    def lengthened(self, target: Any, by: Any) -> Any:
        """The list of the running graph that one becomes by an unknown number of elements; None for a known number."""
        traced = self.get(by) is not None or isinstance(by, Opaque) or (isinstance(by, Items) and by.traced)
        return self.own(target) if traced and type(target) is list and self.recorder.branches else None

    def held_by(self, target: Any, given: Any) -> Any:
        """In a script: the dict or set of the running graph that one of the program becomes by a change here."""
        recorder = self.recorder
        if not recorder.untyped or type(target) not in (dict, set):
            return None
        outside = id(target) not in recorder.region.made
        return self.own(target) if outside or is_traced(given) else None

    def stands_for(self, value: Any, before: Any) -> None:
        """Note that a loop carries a list, which its iterations find as another object."""
        if type(value) is list and type(before) is list and value is not before:
            self.origins[id(value)] = (value, before)

    def state(self) -> dict[int, int]:
        """What is known of lists now; `outdated` says whether that has changed."""
        return {key: made.version for key, made in self.grown.items()}

    def outdated(self, state: dict[int, int], region: Region) -> bool:
        """Whether a list that a region or one around it owns has grown, or holds other things, since then.

        What a loop body did with it before is not what later iterations do.
        """
        around: Region | None = region
        owners = set()
        while around is not None:
            owners.add(id(around))
            around = around.parent
        return any(state.get(key) != made.version for key, made in self.grown.items() if id(made.owner) in owners)

    def mark(self) -> tuple[int, int, int]:
        return len(self.grown), len(self.held), self.recorder.stand_ins.mark()

    def go_back(self, mark: tuple[int, int, int]) -> None:
        """Give lists that have grown since a mark their elements back; nothing stands for others since then."""
        grown, held, stand_ins = mark
        self.recorder.stand_ins.go_back(stand_ins)
        for key in list(self.held)[held:]:
            del self.held[key]
        for key in list(self.grown)[grown:]:
            made = self.grown.pop(key)
            made.go_back()
            for buffer in made.holding:
                buffer.listed = ""
