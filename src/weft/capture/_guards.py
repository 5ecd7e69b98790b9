"""Guards: what must hold of a later call for a captured graph to be the right one, made from what a capture noted."""

from __future__ import annotations

import itertools
import math
import operator
import types
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft import pytree
from weft._module import KINDS, Module
from weft._objects import MISSING, own_value
from weft._step import option
from weft._where import _INTERNAL
from weft.autograd import Tensor
from weft.capture._captured import Captured
from weft.capture._checks import (
    MISS,
    Assigned,
    Checks,
    Condition,
    Expr,
    Step,
    argument,
    both,
    call,
    equal,
    form,
    held,
    kind,
    of_size,
    part,
    same,
    short,
    shown,
    size,
)
from weft.capture._opaque import Opaque, is_traceable
from weft.capture._parts import tree_fits
from weft.capture._reads import snapshot, snapshot_value
from weft.capture._state_places import share_parts
from weft.capture._step_guards import apart, grad_fits, grads_fit, leaves_fit, optimizer_fits, step_guards
from weft.graph import Node
from weft.ops._dim import Dim
from weft.pytree import LEAF, Tree

# How a person writes what decides: an option that is tested, compared or negated.
_WORDS: dict[Any, str] = {
    bool: "bool({})",
    operator.not_: "not {}",
    operator.eq: "{} == {}",
    operator.ne: "{} != {}",
    operator.lt: "{} < {}",
    operator.le: "{} <= {}",
    operator.gt: "{} > {}",
    operator.ge: "{} >= {}",
}


class Guards:
    """All guards of one captured call."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.names: dict[Node, Expr] = {}  # input of the graph → expression
        self.labels: dict[Node, str] = {}  # input of the graph → what a person calls it
        self.steps: list[Step] = []  # guards, and assignments to variables, in the order they are run
        self._variables = 0
        self._computed: dict[Node, Expr] = {}  # number that guards need → the variable that holds it
        self._arguments()
        self._state()
        self._sizes()
        self._values()
        self._reads()
        self._sharing()
        self._parts()
        step_guards(self, captured.recorder.training)
        self.checks = Checks(self.steps, len(captured.arguments.names), tuple(self.names.values()))

    def require(self, test: Expr, says: str, **known: Any) -> None:
        """Add a guard."""
        self.steps.append(Condition(test, says, **known))

    def variables(self, value: Expr, count: int | None = None) -> list[Expr]:
        """A variable of the entry, set to the value of an expression; with `count` so many, one for each item."""
        first = self._variables
        self._variables += 1 if count is None else count
        self.steps.append(Assigned(first, value, count))
        return [Expr("variable", (number,)) for number in range(first, self._variables)]

    # What is guarded

    def _arguments(self) -> None:
        made = self.captured.arguments
        remaining = iter(made.leaves)
        for number, (name, tree) in enumerate(zip(made.names, made.trees, strict=True)):
            self._tree(argument(number), name, tree, remaining)

    def _state(self) -> None:
        """What objects hold is read, and guarded as arguments are."""
        state, first = self.captured.recorder.state, len(self.steps)
        for owner, node in state.placeholders():
            self.names[node], self.labels[node] = held(owner), f"a {type(owner).__name__}"
        for one in state.inputs.values():
            begin = len(self.steps)
            (value,) = self.variables(_place(one.owner, one.name))
            self._tree(value, one.label, one.tree, iter(one.leaves))
            self._learns(begin, one.key, one.owner)
        if state.used:  # in the order in which the graph takes them
            places = {node: place for place, node in enumerate(self.captured.graph.nodes)}
            self.names = dict(sorted(self.names.items(), key=lambda pair: places[pair[0]]))
        for found, array, traced in state.same:
            one_array = held(array) if found is None else _place(found.owner, found.name)
            node = traced.buffer.target
            other = self.names[node] if node in self.names else held(self._constant(traced))
            label = "an array from outside" if found is None else found.label
            self.require(same(one_array, other), f"{label} is the same array as {node.name}")
        for k in range(first, len(self.steps)):
            step = self.steps[k]
            self.steps[k] = replace(step, outside=True) if isinstance(step, Condition) else step

    def _constant(self, traced: Any) -> Any:
        """The array outside that a traced one stands for."""
        return next(value for value, known in self.captured.recorder.constants.values() if known is traced)

    def _learns(self, first: int, key: Any, kept: Any) -> None:
        """Let the guards since so many tell, where one does not hold, which place it is about."""
        for k in range(first, len(self.steps)):
            step = self.steps[k]
            if isinstance(step, Condition):
                self.steps[k] = replace(step, learns=(key, kept))

    def _tree(self, given: Expr, label: str, tree: Tree, leaves: Any) -> None:
        """Guards on the structure of an argument and on its leaves."""
        if tree.kind is None:
            self._leaf(given, label, next(leaves))
            return
        children: list[Expr] = []
        below = tree.children
        says, told = f"the structure of {label} is the same", (f"the structure of {label} is another",)
        if tree.kind in (tuple, list, dict):
            is_dict = tree.kind is dict
            fits = equal(form("keys", given), tree.context) if is_dict else equal(form("length", given), len(below))
            self.require(both(same(kind(given), tree.kind), fits), says, told=told, basic=True)
            if below:
                children = self.variables(form("values", given) if is_dict else given, len(below))
        else:
            known = self.captured.recorder.state.known
            flat_of = flatten_but_objects if known is not None and known.whole else flatten
            (flat,) = self.variables(call(flat_of, given, tree))
            self.require(form("is not", flat, None), says, told=told, basic=True)
            children = [part(flat, k) for k in range(tree.leaf_count)]
            below = (LEAF,) * tree.leaf_count
        for k, (child, inner) in enumerate(zip(children, below, strict=True)):
            self._tree(child, f"{label}[{tree.context[k]!r}]" if tree.kind is dict else f"{label}[{k}]", inner, leaves)

    def _leaf(self, given: Expr, label: str, leaf: Any) -> None:
        value, node = leaf.value, leaf.node
        if node is None:
            was = snapshot(value)
            self._unchanged(given, was, label, value, basic=True, alone=was[0] == "same")
            return
        self.names[node], self.labels[node] = given, label
        words, name = f"the class of {label} is ", type(value).__name__
        self._compare(same(kind(given), type(value)), words, form("name", kind(given)), name, basic=True)
        if not isinstance(value, (np.ndarray, Tensor)) or not is_traceable(value):
            return
        dtype, has = value.dtype, form("dtype", given)
        test = form("or", same(has, dtype), equal(has, dtype))
        self._compare(test, f"{label} has dtype ", has, str(dtype), basic=True)
        ndim = form("ndim", given)
        self._compare(equal(ndim, value.ndim), f"ndim of {label} is ", ndim, str(value.ndim), basic=True)
        for axis, dim in enumerate(node.meta["type"].shape):
            if not isinstance(dim, Dim):
                found = size(given, axis)
                self._compare(equal(found, dim), f"size {axis} of {label} is ", found, str(dim), basic=True)
        if isinstance(value, np.ndarray) and node.name in self.captured.recorder.layouts:
            strides = form("strides", given)
            if value.flags.c_contiguous:
                told = (f"{label} has strides ", ", lay in order")
                self.require(form("contiguous", given), f"{label} lies in order", now=strides, told=told)
            else:
                self._compare(equal(strides, value.strides), f"{label} has strides ", strides, f"{value.strides}")

    def _compare(self, test: Expr, words: str, now: Expr, was: str, **known: Any) -> None:
        """A guard on something that has a value: `words` come before it."""
        self.require(test, f"{words}{was}", now=now, told=(words, f", was {was}"), **known)

    def _sizes(self) -> None:
        seen = set()
        for guard in self.captured.recorder.sizes.guards:
            sides = [self._dim(side) for side in (guard.left, guard.right)]
            if None in sides or (guard.relation, *sides) in seen:
                continue
            seen.add((guard.relation, *sides))
            test = form(guard.relation, *sides)
            atoms = [atom for side in (guard.left, guard.right) if isinstance(side, Dim) for atom in side.atoms()]
            names = {atom: self._size_name(atom) for atom in atoms}
            says, asked = guard.expression(names), guard._replace(outcome=True).expression(names)
            told = ("", f": {asked} {'no longer holds' if guard.outcome else 'holds now'}")
            now = self._atoms(guard.left, guard.right)
            self.require(test if guard.outcome else form("not", test), says, now=now, told=told)

    def _atoms(self, *dims: Any) -> Expr:
        """An expression for a text that tells what the sizes in some are, and what they were."""
        atoms = {atom: None for dim in dims if isinstance(dim, Dim) for atom in dim.atoms()}
        return form("sizes", *(told for atom in atoms for told in (self._size_name(atom), self._atom(atom), atom.hint)))

    def _size_name(self, atom: Any) -> str:
        """What a person calls a size: one of a copy's inputs goes by the name of the graph's own."""
        how, node, *axis = atom.source or ("", None)
        own = None if node is None else self.captured.recorder.copied_inputs.get(node)
        if own is not None and how != "node" and isinstance(size := own.meta["type"].shape[axis[0]], Dim):
            return size.expression()
        return str(atom.name)

    def _atom(self, atom: Any) -> Expr | None:
        """Where a size is found; one of a copy's inputs is one of the graph's own, and what is copied is the same."""
        first = self.captured.recorder.sizes.copies.get(atom)
        if first is not None:
            return self._dim(first)
        how, node, *axis = atom.source
        node = self.captured.recorder.copied_inputs.get(node, node)
        if how == "node":
            return self._expression(node) if node in self.names or atom.hint is not None else None
        return None if node not in self.names else size(self.names[node], axis[0])

    def _dim(self, dim: Any) -> Expr | None:
        if not isinstance(dim, Dim):
            return held(dim)
        found = {atom: self._atom(atom) for atom in dim.atoms()}
        return None if None in found.values() else of_size(dim, found.__getitem__)  # type: ignore[arg-type]

    def _values(self) -> None:
        for node, (hint, _) in self.captured.recorder.value_guards.items():
            found = self._expression(node)
            self._compare(equal(found, held(hint)), f"{self._told(node)} is ", form("repr", found), shown(hint))

    def _told(self, node: Node) -> str:
        """What a person calls a number: a variable, an option, or what is asked of one."""
        if node in self.labels:
            return self.labels[node]
        if node.target is option:
            return str(node.args[2])
        words = _WORDS.get(node.target)
        given = self.captured.recorder.computed.get(node, node.args)
        if words is None or words.count("{}") != len(given):
            return node.name
        return words.format(*[self._told(arg) if isinstance(arg, Node) else repr(arg) for arg in given])

    def _expression(self, node: Any) -> Expr:
        """A number; what it is computed from becomes variables, each computed once."""
        if not isinstance(node, Node):
            return held(node)
        left = [self._origin(node)]
        while left:
            last = left[-1]
            args = [self._origin(arg) for arg in self.captured.recorder.computed.get(last, last.args)]
            open_ = [arg for arg in args if isinstance(arg, Node) and self._known(arg) is None]
            left += open_
            if not open_:
                left.pop()
                if self._known(last) is None:
                    given = [self._known(arg) if isinstance(arg, Node) else held(arg) for arg in args]
                    (self._computed[last],) = self.variables(call(last.target, *given))
        return self._known(self._origin(node))  # type: ignore[return-value]  # it is known by now

    def _known(self, node: Node) -> Expr | None:
        return self.names.get(node) or self._computed.get(node)

    def _origin(self, node: Any) -> Any:
        """The node of the graph's own that one of a region or of a copy stands for; anything else as it is."""
        recorder = self.captured.recorder
        while isinstance(node, Node):
            node = recorder.copied_inputs.get(node, node)
            lifted = None if node in self.names else recorder.root.lifted.get(node)
            if lifted is None:
                break
            node = lifted
        return node

    def _reads(self) -> None:
        reads = self.captured.recorder.reads
        for space, name, was in reads.names.values():
            if was[0] == "same" and isinstance(was[1], types.ModuleType):
                continue
            cell = isinstance(space, types.CellType)
            found = form("cell", space) if cell else form("get", space, name)
            label = (
                name if cell or "__builtins__" in space else f"the default of {name}"
            )  # else a function's __kwdefaults__
            self._unchanged(found, was, label, snapshot_value(was), basic=_is_ours(space), outside=True)
        named = {id(leaf.value): leaf.parameter for leaf in self.captured.arguments.leaves if leaf.node is None}
        for owner, name, was in reads.attributes.values():
            called = isinstance(owner, (type, types.FunctionType))
            whose = named.get(id(owner))
            label = (
                f"{whose}.{name}"
                if whose
                else f".{name} of {owner.__name__ if called else f'a {type(owner).__name__}'}"
            )
            is_code = isinstance(owner, types.FunctionType) and name == "__code__"
            found, first = form("code", owner) if is_code else _place(owner, name), len(self.steps)
            if was[0] == "method":
                found, was = form("attribute", found, "__func__"), ("same", was[1])
            # That functions and classes are the program's own ones goes without saying, and how our layers are made.
            ours = _INTERNAL[type(owner).__module__]
            basic = called or (ours and (was[0] != "data" or name not in vars(owner) or name[0] == "_"))
            self._unchanged(found, was, label, snapshot_value(was), basic=basic, outside=True)
            if not called and not (isinstance(owner, Module) and name in KINDS):
                self._learns(first, (type(owner), name), owner)
        if reads.modules.known:
            told = ("a module has other parts, hooks or another forward",)
            says = "modules have the same parts and hooks"
            self.require(call(tree_fits, reads.modules), says, told=told, outside=True)

    def _unchanged(self, given: Expr, was: Any, label: str, value: Any, **known: Any) -> None:
        """A value is as its snapshot says; told without a call where that is as good."""
        words, now, shown = f"{label} is ", form("repr", given), short(value)
        if was[0] == "not its own":
            owner, name = (part.parts[0] for part in given.parts)  # to read it would compute it
            told = (f"there is {label} now",)
            own = call(own_value, owner, name)
            self.require(same(own, held(MISSING)), f"there is no {label} yet", told=told, **known)
        elif was[0] == "missing":
            told = (f"there is {label} now",)
            self.require(same(given, held(MISS)), f"there is no {label}", told=told, **known)
        elif was[0] == "present":
            told = (f"there is no {label}",)
            self.require(form("is not", given, held(MISS)), f"there is {label}", told=told, **known)
        elif was[0] == "same":
            says, told = f"{label} is the same object", (f"{label} is another object",)
            self.require(same(given, held(was[1])), says, told=told, **known)
        elif was[0] == "data" and was[1] in (bool, type(None)):
            self._compare(same(given, was[2]), words, now, shown, **known)
        elif was[0] == "data" and (was[1] in (int, str) or _is_plain_float(was)):
            (found,) = self.variables(given)
            number = float(was[2]) if was[1] is float else was[2]
            test = both(same(kind(found), was[1]), equal(found, number))
            self._compare(test, words, form("repr", found), shown, **known)
        else:
            self._compare(form("unchanged", given, held(was)), words, now, shown, **known)

    def _parts(self) -> None:
        """Containers that change share nothing with those that the graph takes as they were."""
        recorder = self.captured.recorder
        inputs = [_place(one.owner, one.name) for one in recorder.state.inputs.values() if _changes(one)]
        given = self.captured.arguments
        opaque = {leaf.parameter for leaf in given.leaves if isinstance(leaf.traced, Opaque)}
        inputs += [argument(number) for number, name in enumerate(given.names) if name in opaque]
        reads = recorder.reads
        spaces = [(space, name, was) for space, name, was in reads.names.values() if was[0] in _HOLDING]
        others = [form("cell", s) if isinstance(s, types.CellType) else form("get", s, name) for s, name, _ in spaces]
        others += [_place(owner, name) for owner, name, was in reads.attributes.values() if was[0] in _HOLDING]
        if inputs and others:
            test = form("not", call(_share, *inputs, None, *others))
            self.require(test, "containers that change share nothing with others", plain=True, outside=True)

    def _sharing(self) -> None:
        """Arrays that are one and the same stay so; where any is written, others share no memory with it."""
        written = {target for target, _ in self.captured.graph.output_node().kwargs.get("writes", ())}
        if not written:
            self._one_array()
            return
        seen: list[_Memory] = []
        for one in self._memories():
            for other in seen:
                if one.node in written or other.node in written or (one.value is other.value and not one.outside):
                    self._apart(one, other)
            seen.append(one)

    def _one_array(self) -> None:
        """An array given twice was captured as the one array it is; and the program may have asked with `is`."""
        arrays = [
            (leaf.node, leaf.value)
            for leaf in self._leaves()
            if leaf.node is not None and isinstance(leaf.value, (np.ndarray, Tensor))
        ]
        for (one, value), (other, other_value) in itertools.combinations(arrays, 2):
            is_one = value is other_value
            if is_one or self.captured.recorder.asked_identity:
                self._one(self.names[one], self.names[other], f"{self.labels[one]} and {self.labels[other]}", is_one)

    def _one(self, one: Expr, other: Expr, who: str, is_one: bool) -> None:
        test = form("is" if is_one else "is not", one, other)
        self.require(test, f"{who} {'are' if is_one else 'are not'} one array")

    def _apart(self, one: _Memory, other: _Memory) -> None:
        who = f"{other.label} and {one.label}"
        if not one.outside:
            # An array given twice is captured as the one array it is.
            is_one = one.value is other.value
            self._one(one.given, other.given, who, is_one)
            if is_one:
                return
        # Two arrays that own their memory do not share it.
        owned = both(one.own, other.own, form("is not", one.inside, other.inside))
        share = form("may_share", one.inside, other.inside)
        test = form("or", owned, form("not", share))
        family = "arrays that are written share no memory with others"
        self.require(
            test, f"{who} share no memory", plain=True, family=family, told=(f"{who} share memory, and one is written",)
        )

    def _leaves(self) -> list[Any]:
        """What is given to the graph: arguments, and what objects hold."""
        inputs = self.captured.recorder.state.inputs.values()
        return [*self.captured.arguments.leaves, *(leaf for one in inputs for leaf in one.leaves)]

    def _memories(self) -> list[_Memory]:
        """The arrays that the graph reads or writes: arguments first, then those from outside."""
        made = [
            self._memory(leaf.node, leaf.value, self.names[leaf.node], self.labels[leaf.node])
            for leaf in self._leaves()
            if leaf.node is not None and isinstance(leaf.value, (np.ndarray, Tensor))
        ]
        for value, traced in self.captured.recorder.constants.values():
            if isinstance(traced, Opaque):
                continue
            node = traced.buffer.target
            label = f"an array from outside ({node.name})"
            made.append(self._memory(node, value, held(value), label, outside=True))
        return made

    def _memory(self, node: Node, value: Any, given: Expr, label: str, outside: bool = False) -> _Memory:
        inside = form("array", given) if isinstance(value, Tensor) else given
        (own,) = self.variables(form("owns", inside))
        return _Memory(node, value, given, label, inside, own, outside)


@dataclass(frozen=True)
class _Memory:
    """An array of a call: how the entry reads it, and what a person calls it."""

    node: Node
    value: Any
    given: Expr
    label: str
    inside: Expr  # the array itself, where `given` is a Tensor
    own: Expr  # the variable that says whether it owns its memory
    outside: bool


_HOLDING = ("items", "dict")


def _changes(one: Any) -> bool:
    """Whether what a place holds is a container that changes."""
    return any(isinstance(leaf.traced, Opaque) for leaf in one.leaves)


def _share(*values: Any) -> bool:
    """Whether containers before a None share parts with those behind it."""
    place = next(place for place, value in enumerate(values) if value is None)
    return share_parts(values[:place], values[place + 1 :])


def _is_ours(space: Any) -> bool:
    """Whether a variable is one of weft's own modules."""
    return type(space) is dict and _INTERNAL[space.get("__name__", "")]


def _place(owner: Any, name: str) -> Expr:
    """What a place outside holds."""
    if isinstance(owner, types.CellType):
        return form("cell", owner)
    return form("get" if type(owner) is dict else "attribute", owner, name)


def _is_plain_float(was: Any) -> bool:
    """Whether a snapshot is of a float that `==` tells from all others."""
    return was[1] is float and math.isfinite(number := float(was[2])) and bool(number)


def flatten(value: Any, tree: Any) -> list[Any] | None:
    """The leaves of a container of a structure; None where it has another."""
    from weft.capture._arguments import _is_leaf

    leaves, found = pytree.flatten(value, is_leaf=_is_leaf)
    return leaves if found == tree else None


def flatten_but_objects(value: Any, tree: Any) -> list[Any] | None:
    """The same, where objects of classes of the program's own are leaves."""
    from weft.capture._arguments import _is_whole

    leaves, found = pytree.flatten(value, is_leaf=_is_whole)
    return leaves if found == tree else None


CHECKED: dict[Any, str] = {
    flatten: "flatten",
    apart: "apart",
    leaves_fit: "leaves_fit",
    grad_fits: "grad_fits",
    grads_fit: "grads_fit",
    optimizer_fits: "optimizer_fits",
}
"""The functions that guards call besides those of graphs, by the names they have in files."""

__all__ = ["CHECKED", "MISS", "Condition", "Guards"]
