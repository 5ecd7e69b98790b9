"""State: Python objects that a captured program did not make, and changes.

The program runs on the caller's own objects: an attribute that it assigns holds a traced value, until `undo` gives
every place back what it held. So properties, slots, `vars` and loops over places mean what they always mean.
What a place holds when a call begins is an input of the graph, as arguments are: the entry reads and guards it.
Every assignment is an effect in the graph, where the program makes it: what is raised later finds it made.
A container that changes is a value of unknown type, as in a script: all that is done with it stays in its order.
Which places and containers these are is learned: the first change of one ends the capture, and the next one knows.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft import pytree
from weft._module import Module
from weft._objects import (
    MISSING,
    delete_state,
    dict_of,
    new_container,
    new_object,
    of_class,
    own_value,
    restore,
    set_back,
    set_for_now,
    set_state,
)
from weft.autograd import Tensor
from weft.capture._arguments import Leaf, input_of
from weft.capture._lists import STANDING, containers_in
from weft.capture._opaque import Opaque
from weft.capture._region import Buffer, Region
from weft.capture._stand_ins import parts_of, with_parts
from weft.capture._state_places import (
    CONTAINERS,
    Input,
    Key,
    Known,
    Learned,
    assigned_with,
    attributes,
    check_value,
    is_array,
    is_container,
    is_object,
    is_own,
    is_setting,
    is_space,
    label,
    let_go,
    names_before,
    nodes_between,
    parts,
    place_label,
    present_value,
    same_value,
    sees_nothing,
)
from weft.capture._values import Array, Scalar, Traced, Undefined
from weft.graph import Node
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_NUMBERS = (int, float, complex, np.number, np.bool_)


class Change(NamedTuple):
    """An assignment to a place, or its deletion."""

    owner: Any
    name: str
    value: Any  # MISSING where it is deleted
    was: Any
    written: bool  # whether the program had changed the place before
    node: Node
    raising: int  # how much might have raised before it


class State:
    """The state of one capture."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.known: Known | None = None  # None where nothing outside may be changed
        self.inputs: dict[tuple[int, str], Input] = {}
        self.owners: dict[int, tuple[Any, Node]] = {}  # by id, objects and the nodes by which the graph has them
        self.held: dict[int, Any] = {}  # by id, arrays that are inputs already
        self.same: list[tuple[Input | None, Any, Any]] = []  # inputs that are an array known by another name
        self.met: dict[int, Any] = {}  # by id, objects that the program found outside
        self.given: set[int] = set()  # ids of objects that stand for arguments, made of what those hold
        self.written: set[tuple[int, str]] = set()
        self.sets: dict[Region, dict[tuple[int, str], tuple[Any, str, Any, Any]]] = {}
        self.dicts: dict[int, tuple[Any, Any]] = {}  # by id, the `__dict__` of an object, and the object
        self.handed_over: dict[int, tuple[Any, Opaque]] = {}  # by id, containers, and what they are from then on
        self.kept: list[Any] = []  # whose ids are remembered
        self.lists: set[int] = set()  # ids of what stands for a list or a deque that is an input
        self.views: dict[int, tuple[Any, Node]] = {}  # by id, views that objects hold: every later use is of that one
        self._making: list[Any] = []  # objects of the program's that the graph is about to make
        self.count = 0  # how often places were changed
        self._journal: list[tuple[Any, str, Any]] = []
        self._log: list[Change | Buffer] = []  # what can be taken back
        self._undone: list[list[Change]] = []  # changes that are taken back, see `takes_back`

    @property
    def used(self) -> bool:
        """Whether the graph reads or changes objects."""
        return bool(self.inputs or self.owners)

    def begin(self, values: list[Any]) -> None:
        """Note the objects that stand for arguments of the call."""
        for value in values:
            if isinstance(value, (list, tuple, dict)):
                self.begin(list(value.values() if isinstance(value, dict) else value))
            elif not isinstance(value, Traced) and id(value) not in self.given and is_container(value):
                self.given.add(id(value))
                self.kept.append(value)
                self.begin([getattr(value, name) for name in attributes(value)])

    @property
    def changed(self) -> str | None:
        """What a person calls a place that the program changes, or that is read because it may; None where none is."""
        return next((one.label for one in self.inputs.values()), "an object" if self.owners else None)

    # Reading

    def read(self, owner: Any, name: str, value: Any) -> Any:
        """What a place holds where the program is, MISSING where that counts as it is at capture."""
        if self.known is None:
            return MISSING
        place = (id(owner), name)
        if place in self.written:
            return value
        known = self.inputs.get(place)
        if known is not None:
            return known.traced
        if not self.may_have(owner):
            return MISSING
        key = self.key(owner, name)
        opaque = key in self.known.opaque
        if not opaque and key not in self.known.live:
            return MISSING
        made = Input(owner, name, value, key)
        if not self._take(made, opaque):
            return MISSING
        self.inputs[place] = made
        self.kept.append(value)
        if isinstance(made.traced, Opaque) and hasattr(value, "__len__"):
            self._refuse_shared(made)
        return made.traced

    def _take(self, made: Input, opaque: bool) -> bool:
        """Make inputs of what a place holds; False where it is nothing that a graph can be given."""
        assert self.known is not None
        value, recorder = made.value, self.recorder
        name = made.name if made.name.isidentifier() else "value"
        often = self.known.often(made.key)
        if not often and not opaque and is_setting(value):
            return False
        if (
            isinstance(value, CONTAINERS)
            or (often and isinstance(value, (str, bytes, bool, tuple)))
            or (opaque and isinstance(value, tuple))
        ):
            leaf = Leaf(made.label, value, self._placeholder(name))
            leaf.traced = made.traced = Opaque(recorder, leaf.node)
            self.lists.update([id(made.traced)] if type(value) in (list, deque) else [])
            made.leaves = [leaf]
            return True
        leaves, tree = pytree.flatten(value) if isinstance(value, tuple) else ([value], LEAF)
        if not leaves or not all(
            (isinstance(leaf, _NUMBERS) and type(leaf) is not bool) or is_array(leaf) for leaf in leaves
        ):
            return False
        made.tree = tree
        for leaf in leaves:
            made.leaves.append(self._leaf(made, leaf, name, often))
        made.traced = tree.unflatten([leaf.traced for leaf in made.leaves])
        return True

    def _leaf(self, made: Input, value: Any, name: str, often: bool) -> Leaf:
        leaf, recorder = Leaf(made.label, value), self.recorder
        if isinstance(value, np.ndarray):
            known = self.array(value)
            if known is not None:
                self.same.append((made, value, known))
                leaf.traced = known
                return leaf
        input_of(recorder, leaf, name, dynamic=True, numbers=(int, float, complex), make=self._placeholder)
        if often and isinstance(leaf.traced, Scalar):
            leaf.traced.hint = None
        if isinstance(value, np.ndarray):
            self.held[id(value)] = leaf.traced
        return leaf

    def array(self, value: Any) -> Any:
        """The traced value of an array that is an input of the graph already, else None."""
        known = self.held.get(id(value))
        return self.recorder.constants.get(id(value), (None, None))[1] if known is None else known

    def pinned(self, value: Any) -> Any:
        """The same, of an array that the program found where it is read as a constant."""
        known = self.held.get(id(value))
        if known is not None:
            self.same.append((None, value, known))
        return known

    def _refuse_shared(self, made: Input) -> None:
        """Refuse a container that changes and holds objects or arrays: the graph may know them by other names."""
        for part in parts(made.value):
            if isinstance(part, np.ndarray) and self.array(part) is not None:
                self.recorder.refuse(
                    f"{made.label} changes, and holds an array that the program uses by another name as well",
                    help="let it hold copies",
                )

    def _placeholder(self, name: str) -> Node:
        graph = self.recorder.root.graph
        first = next((node for node in graph.nodes if node.op != "placeholder"), None)
        node = graph.create_node("placeholder", name, (), {}, name)
        if node.name != name:
            node.target = node.name
        node._position = self.recorder.start
        if first is not None:
            first.prepend(node)
        return node

    # Changing

    def may_have(self, owner: Any) -> bool:
        """Whether an object is one whose state a graph may read and change."""
        if id(owner) in self.owners or is_space(owner):
            return True
        if isinstance(owner, type):
            return is_own(owner)
        if id(owner) not in self.met or self.recorder._home(owner) is not None:
            return False
        if isinstance(owner, (Tensor, np.ndarray, types.ModuleType, types.FunctionType)):
            return False
        return not hasattr(type(owner), "__weft_outside__") and not hasattr(type(owner), "__weft_effects__")

    def key(self, owner: Any, name: str) -> Key:
        if is_space(owner):
            return (id(owner), name)
        return (owner if isinstance(owner, type) else type(owner), name)

    def set(self, owner: Any, name: str, value: Any) -> bool:
        """`owner.name = value`; False where the capture may not do that."""
        if not self._begin(owner, name):
            return False
        check_value(self.recorder, owner, name, value)
        self.prepare(owner, name)
        recorder = self.recorder
        recorder.python_effects += 1
        home = recorder._home(owner) or recorder.root
        if recorder.region is not home:
            key = "cell_contents" if isinstance(owner, types.CellType) else name
            recorder.places.changed(owner, key, place_label(owner, name), home)
        value = self.given_away(value)
        was, raising = own_value(owner, name), recorder.raising
        self.count += 1
        recorder.changed.append(id(owner))
        set_state(owner, name, value)
        written = self._note_written(owner, name)
        node = self._emit(owner, name, value)
        self._log.append(Change(owner, name, value, was, written, node, raising))
        return True

    def _note_written(self, owner: Any, name: str) -> bool:
        """Note that the program has changed a place; whether it had done so before."""
        place = (id(owner), name)
        written = place in self.written
        self.written.add(place)
        return written

    def assign(self, owner: Any, name: str, value: Any) -> bool:
        """The same of an object that may have what its class has no descriptor for."""
        if self.known is None or self.recorder.untyped or not self.may_have(owner):
            return False
        cls = type(owner)
        if not isinstance(owner, (type, Module)):
            found = of_class(cls, name)
            if isinstance(found, types.GetSetDescriptorType):  # that of a function gives its class a text
                found = getattr(cls, name)
            if hasattr(found, "__set__") and not isinstance(found, types.MemberDescriptorType):
                return False
            if dict_of(owner) is None and found is None:
                raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=owner)
        return self._holds(owner, name, value) or self.set(owner, name, value)

    def _holds(self, owner: Any, name: str, value: Any) -> bool:
        """Whether an object holds an array already, which has been written in place: `self.x += 1`."""
        if not isinstance(value, Array) or value.path:
            return False
        held = own_value(owner, name)
        return held is value or (isinstance(held, np.ndarray) and self.array(held) is value)

    def set_variable(self, space: Any, name: str, value: Any) -> None:
        """The same for a global or a variable of a function that is over; refused where that may not be."""
        if self.set(space, name, value):
            return
        is_global = isinstance(space, dict)
        what = f"the global {name}" if is_global else f"{name}, a variable of a function that is over"
        self.recorder.refuse(
            f"an assignment to {what}: it would happen once, when the program is captured",
            help=f"return the {'value' if is_global else 'new value'}, or write into an array: a[...] = value",
        )

    def changes(self, container: Any) -> None:
        """A container from outside is about to change: the capture is to know that from the beginning."""
        origin = self.recorder.reads.origins.get(id(container))
        if self.known is None or self.recorder.untyped or origin is None or self.recorder.deriving:
            return
        place, kept = origin
        if place not in self.known.opaque or id(kept) in self.given:
            raise Learned({place: kept}, opaque=True, whole=id(kept) in self.given)

    def delete(self, owner: Any, name: str) -> bool:
        """`del owner.name`; False where the capture may not do that."""
        if not self._begin(owner, name):
            return False
        recorder = self.recorder
        if recorder.region is not recorder.root:
            recorder.refuse(
                f"del {label(owner, name)} in a branch or loop", help="assign None, and delete it after the loop"
            )
        if own_value(owner, name) is MISSING:
            raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner)
        self.prepare(owner, name)
        recorder.python_effects += 1
        was, raising = own_value(owner, name), recorder.raising
        self.count += 1
        recorder.changed.append(id(owner))
        delete_state(owner, name)
        written = self._note_written(owner, name)
        node = recorder.create(delete_state, (self.node(owner), name), {}, None)
        self._log.append(Change(owner, name, MISSING, was, written, node, raising))
        return True

    def _begin(self, owner: Any, name: str) -> bool:
        recorder = self.recorder
        if self.known is None or recorder.untyped or not self.may_have(owner):
            return False
        if recorder.deriving:
            recorder.refuse(
                f"{label(owner, name)} is assigned in a function that is differentiated",
                help="return the new value, and assign it outside",
            )
        key = self.key(owner, name)
        if key not in self.known.live or id(owner) in self.given:
            raise Learned(dict.fromkeys(assigned_with(owner, name), owner), whole=id(owner) in self.given)
        return True

    def prepare(self, owner: Any, name: str) -> None:
        """Before a place is changed for the first time: remember what it held, and what the graph is to take it for."""
        place = (id(owner), name)
        inner = self.recorder.region is not self.recorder.root
        if place in self.written or any(one is owner and other == name for one, other, _ in self._journal):
            return
        own = own_value(owner, name)
        if inner:
            present = present_value(owner, name)
            if present is MISSING:
                self.recorder.reads.missing(owner, name)
            else:
                found = self.read(owner, name, present)
                if found is MISSING:
                    self.recorder.reads.note(owner, name, present)
                elif found is not present:
                    self._journal.append((owner, name, own))
                    set_state(owner, name, found)
                    self.written.add(place)
                    return
            self.written.add(place)
        self._journal.append((owner, name, own))

    def _emit(self, owner: Any, name: str, value: Any) -> Node:
        recorder, region = self.recorder, self.recorder.region
        with_memory = isinstance(value, Array)
        node = recorder.create(set_state, (self.node(owner), name, self.reference(value)), {}, None, name)
        if not with_memory:
            return node
        buffer = value.buffer
        node.meta["type"] = value.spec
        if buffer.target is None and region is recorder.root and not value.path and buffer.choice is None:
            # From here on the caller has it: what is written into it is written there.
            self._log.append(buffer)
            buffer.target = node
            region.held[buffer] = node
            region.views.pop(buffer, None)
        elif buffer.target is None:
            self.sets.setdefault(region, {})[id(owner), name] = (owner, name, value, value.node)
        return node

    def drop_owners(self) -> None:
        """Give up the objects that the finished graph does nothing with."""
        for key, (_, node) in [*self.owners.items()]:
            if node.op == "placeholder" and not node.users:
                node.graph.erase_node(node)
                del self.owners[key]

    def reference(self, value: Any) -> Any:
        """A value as it is put into an object: an array of the caller's is that array itself."""
        recorder = self.recorder
        function = recorder.given.node(value)
        if function is not None:
            return function
        if isinstance(value, Array) and id(value) in self.views:
            return recorder.region.lift(self.views[id(value)][1])
        if isinstance(value, Array) and (value.path or value.buffer.target is not None):
            return self._reference(value)
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self.reference(part) for part in value)
        return value

    def _reference(self, value: Array) -> Any:
        recorder, node = self.recorder, value.node
        if value.buffer.target is not None:
            node = self.recorder.region.lift(value.buffer.target)
            for step in value.path:
                node = step.apply(self.recorder, node, None)
        if value.path and recorder.region is recorder.root:
            self.views[id(value)] = (value, node)
        return node

    def mark(self) -> int:
        """What is needed to take back what is assigned from now on."""
        return len(self._log)

    def go_back(self, mark: int) -> None:
        """Take back what was assigned since a mark."""
        for one in reversed(self._log[mark:]):
            if isinstance(one, Buffer):
                one.target = None
                continue
            self.recorder.python_effects -= 1
            self.count -= 1
            restore(one.owner, one.name, one.was)
            if not one.written:
                self.written.discard((id(one.owner), one.name))
        gone = [one.node for one in self._log[mark:] if isinstance(one, Change)]
        self._undone = [changes for changes in self._undone if changes[-1].node not in gone]
        del self._log[mark:]

    # Changes that a `finally` takes back

    def takes_back(self, nodes: list[Node], begun: int, raising: int) -> bool:
        """Take notice that a `finally`, which has just made `nodes`, takes back changes; False where it does more.

        Where nothing in between could see them, the graph does without them. Else it makes them for now, and takes
        them back whatever is raised. The `try` began when so many changes were logged, and so much might have raised.
        """
        groups = [self._taken_back(node, begun, raising) for node in nodes]
        if None in groups:
            return False
        self._undone += [changes for changes in groups if changes is not None]
        return True

    def _taken_back(self, node: Node, begun: int, raising: int) -> list[Change] | None:
        """The changes of a place of which that by `node` is the last, and after which it is as it was."""
        made = [(k, one) for k, one in enumerate(self._log) if isinstance(one, Change)]
        last = next((one for _, one in made if one.node is node), None)
        if last is None:
            return None
        of_place = [(k, one) for k, one in made if one.owner is last.owner and one.name == last.name]
        of_place = [(k, one) for k, one in of_place if one.node.graph is node.graph and not self.is_undone(one.node)]
        of_place = of_place[: next(n for n, (_, one) in enumerate(of_place) if one is last) + 1]
        # From the first of them on, nothing may have raised before the `try`, and in it the place held that already.
        for n in reversed(range(len(of_place))):
            first = of_place[n][1]
            before_try = all(k < begun for k, _ in of_place[:n])
            if before_try and first.raising >= raising and same_value(self._before(first), last.value):
                changes = [one for _, one in of_place[n:]]
                plain = all(one.node.target is set_state and not one.node.users for one in changes)
                return changes if plain and not any(isinstance(one.value, Array) for one in changes) else None
        return None

    def _before(self, change: Change) -> Any:
        known = self.inputs.get((id(change.owner), change.name))
        return change.was if change.written or known is None else known.traced

    def is_undone(self, node: Node) -> bool:
        """Whether a node is one of a change that is taken back."""
        return any(one.node is node for changes in self._undone for one in changes)

    def take_back(self) -> None:
        """At the end of a region: erase its changes that are taken back, or let them be made for now."""
        graph = self.recorder.region.graph
        for changes in self._undone:
            first, last = changes[0].node, changes[-1].node
            if first.graph is not graph or first._erased or first.target is not set_state:
                continue
            between = () if first is last else nodes_between(first, last)  # one alone puts there what is there
            if all(sees_nothing(node, changes[0].name) for node in between):
                for one in changes:
                    graph.erase_node(one.node)
            else:
                first.target, last.target = set_for_now, set_back

    def handed(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Values that a container from outside will hold: arrays of the caller's are those arrays."""
        made = []
        for value in map(self.given_away, values):
            if isinstance(value, Array) and value.buffer.target is None:
                value.buffer.listed = "an object from outside"
            made.append(self.reference(value))
        return tuple(made)

    def result(self, value: Any) -> Any:
        """A part of the result: a view that an object holds is that view itself."""
        if id(value) in self.views:
            return self.views[id(value)][1]
        function = self.recorder.given.node(value)
        return self.recorder.arg(value) if function is None else function

    def flush(self) -> None:
        """Assign arrays again that were written since they were assigned in this region, which ends."""
        region = self.recorder.region
        self.take_back()
        for owner, name, value, before in list(self.sets.get(region, {}).values()):
            present = present_value(owner, name)
            if present is value and value.node is not before:
                self._emit(owner, name, value)

    def flush_all(self) -> None:
        """The same in the midst of a region, before what may raise: arrays of regions around as well."""
        region: Region | None = self.recorder.region
        inner: list[Region] = []
        seen: set[tuple[int, str]] = set()
        while region is not None:
            for place, (owner, name, value, before) in list(self.sets.get(region, {}).items()):
                if place in seen or present_value(owner, name) is not value:
                    continue
                seen.add(place)
                written = any(value.buffer in one.written for one in inner)
                if written or region.held.get(value.buffer, before) is not before:
                    self._emit(owner, name, value)
            inner.append(region)
            region = region.parent

    def settle(self, owner: Any, name: str) -> None:
        """After a branch or a loop that has changed a place: an array there is the caller's from now on."""
        if (id(owner), name) not in self.written:
            return
        value = present_value(owner, name)
        if isinstance(value, Array) and value.buffer.target is None:
            self._emit(owner, name, value)

    def given_away(self, value: Any) -> Any:
        """A value that goes into an object: containers that the program made are ones of the running graph by then."""
        recorder = self.recorder
        if isinstance(value, CONTAINERS) and recorder.lists.get(value) is None:
            for part in (value, *parts(value)):
                if isinstance(part, CONTAINERS) and recorder._home(part) is None and id(part) in recorder.reads.outside:
                    self.changes(part)  # it has another name from now on
            if self._stands(value):
                return value
            given = recorder.create(type(value), (list(value),), {}, None) if isinstance(value, set) else value
            made = Opaque(recorder, recorder.create(new_container, (given,), {}, None))
            let_go(recorder, value)
            self.handed_over[id(value)] = value, made
            return made
        if type(value) is tuple:
            return tuple([self.given_away(part) for part in value])
        if isinstance(value, Array) and value.path and value.buffer.target is None:
            value.buffer.listed = "an object from outside"
        return value

    def _stands(self, value: Any) -> bool:
        """Whether a container of the program can be one of the running graph under all its names; it is, then."""
        lists = self.recorder.lists
        kinds = {part.kind if isinstance(part, Scalar) else type(part) for part in parts(value)}
        if type(value) is list and len(kinds) <= 1 and not any(isinstance(one, CONTAINERS) for one in parts(value)):
            lists.own(value)
            return True
        inside = containers_in(value)
        if any(type(part) not in STANDING for part in (value, *inside)) or self.recorder._home(value) is None:
            return False
        for part in inside:
            lists.share(part)
        return lists.get(value) is not None

    # Objects

    def node(self, owner: Any) -> Node:
        """The node by which the graph has an object."""
        known = self.owners.get(id(owner))
        if known is None and id(owner) in self.given:  # the argument itself is wanted, not what it holds
            raise Learned({}, whole=True)
        if known is None:
            name = "cell" if isinstance(owner, types.CellType) else "variables" if type(owner) is dict else None
            name = name or (owner if isinstance(owner, type) else type(owner)).__name__.lower()
            known = self.owners[id(owner)] = (owner, self._placeholder(name if name.isidentifier() else "owner"))
        return self.recorder.region.lift(known[1])

    def object_node(self, value: Any) -> Node | None:
        """The node of an object that is a result, an argument of a call or held by another; None of what is none."""
        if self.known is None or self.recorder.untyped or isinstance(value, (Traced, Undefined)):
            return None
        if not is_object(value):
            return None
        return self.node(value) if self.is_outside(value) else self._made(value)

    def is_outside(self, value: Any) -> bool:
        """Whether a value is an object that the graph has as the caller has it."""
        if self.known is None or self.recorder.untyped or isinstance(value, (Traced, Undefined)):
            return False
        known = id(value) in self.owners or (id(value) in self.met and self.recorder._home(value) is None)
        return known and is_object(value)

    def is_whole(self, value: Any) -> bool:
        """Whether a part of the result is an object of the caller's, and no container of numbers."""
        return id(value) in self.owners or (id(value) in self.met and id(value) not in self.given and is_object(value))

    def _made(self, value: Any) -> Node | None:
        """The node that makes an object of the program's when the graph runs; from then on it is the caller's."""
        cls = type(value)
        new: Any = cls.__new__
        if new is not object.__new__ or hasattr(cls, "__del__"):
            return None
        recorder = self.recorder
        recorder.libraries.check_made(value)
        recorder.stand_ins.check_out(value)
        if any(value is one for one in self._making):
            recorder.refuse(
                f"a {cls.__name__} that the program makes and gives away, which holds itself",
                help="leave the reference to itself out, or make the object outside of the captured function",
            )
        self._making.append(value)
        try:
            with recorder.within(self._where_made(value)):
                node = self._made_whole(value)
        finally:
            self._making.pop()
        return recorder.region.lift(node)

    def _where_made(self, value: Any) -> Region:
        """The region in which an object was made, where it is still what it was then; else the present one."""
        recorder, home = self.recorder, self.recorder._home(value)
        inside: list[Region] = []
        region: Region = recorder.region
        while home is not None and region is not home and region.parent is not None:
            inside.append(region)
            region = region.parent
        changed = {id(place.holder) for place in recorder.places.all()} if inside else set()
        for part in with_parts(value) if inside else ():
            if not is_object(part) or id(part) in changed or any(id(part) in each.made for each in inside):
                return recorder.region
            if not all(self._was_there(leaf, region, inside) for leaf in parts_of(part)):
                return recorder.region
        return region if inside else recorder.region

    def _was_there(self, value: Any, home: Region, inside: list[Region]) -> bool:
        """Whether a value was the same before the regions `inside` of another began; False where that is not known."""
        if not isinstance(value, (Array, Scalar, Opaque)):
            return value is None or isinstance(value, (int, float, complex, np.generic, str, type)) or is_object(value)
        written = isinstance(value, Array) and any(value.buffer in region.written for region in inside)
        return not written and bool(self.recorder.is_outer(value, home))

    def _made_whole(self, value: Any) -> Node:
        recorder, cls = self.recorder, type(value)
        names = tuple(attributes(value))
        given = [self.given_away(getattr(value, name)) for name in names]
        args = (cls, names, *map(self.reference, given))
        node = recorder.create(new_object, args, {}, None, cls.__name__.lower())
        self.owners[id(value)] = (value, node)
        assert self.known is not None
        for name, part in zip(names, given, strict=True):
            self.written.add((id(value), name))
            held = getattr(value, name)
            if part is not held and recorder.region is recorder.root:  # a container of the running graph by now
                self._journal.append((value, name, held))
                set_state(value, name, part)
            if isinstance(held, Array) and held.buffer.target is None:
                held.buffer.listed = "an object from outside"
        for key in assigned_with(value):
            self.known.live.setdefault(key, value)
        return node

    def placeholders(self) -> Iterator[tuple[Any, Node]]:
        """The objects that are inputs of the graph."""
        return ((owner, node) for owner, node in self.owners.values() if node.op == "placeholder")

    def names_before(self, owner: Any) -> tuple[str, ...]:
        """The attributes that an object had of its own when the capture began."""
        return names_before(owner, [(name, was) for one, name, was in self._journal if one is owner])

    def undo(self) -> None:
        """Give every place what it held when the capture began."""
        for owner, name, was in reversed(self._journal):
            restore(owner, name, was)
        self._journal.clear()
