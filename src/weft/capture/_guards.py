"""Guards: what must hold of a later call for a captured graph to be the right one, as one Python function.

The function takes the parameters of the captured one and gives the graph's result, or MISS where a guard fails.
"""

from __future__ import annotations

import itertools
import math
import types
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._captured import Captured
from weft.capture._opaque import Opaque, is_traceable
from weft.capture._parts import tree_fits
from weft.capture._reads import snapshot, snapshot_value, unchanged
from weft.capture._step_guards import step_guards
from weft.graph import Node
from weft.ops._dim import Dim
from weft.pytree import LEAF, Tree

MISS: Any = object()
"""What an entry answers where it does not apply."""


@dataclass(frozen=True)
class Condition:
    """One guard: an expression over the names of `Guards.space` and the entry's own, and what it says to a person.

    `plain` where a call that only fails here cannot be captured either and runs as the function itself. `basic` where
    it says no more than the type of an input does. `told` says what a call that fails here is like: the words before
    and after the present value, which the expression `now` gives.
    """

    text: str
    says: str
    plain: bool = False
    basic: bool = False
    now: str = "None"
    told: tuple[str, ...] = ()
    reached: int = 0  # where it has failed, how many steps came before it

    def failed(self, now: Any) -> str:
        """What a call is like that does not meet it."""
        return _short(now, str).join(self.told) if self.told else f"no longer: {self.says}"


class Guards:
    """All guards of one captured call.

    The entry's parameters are p0, p1, ... and its variables v0, v1, ...: whatever names the captured function uses,
    they hide none of the others.
    """

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.space: dict[str, Any] = {
            "__name__": __name__,  # so that the line of a call is the caller's
            "MISS": MISS,
            "may_share": np.may_share_memory,
            "ndarray": np.ndarray,
            "getattr": getattr,
            "Tensor": Tensor,
            "unchanged": unchanged,
        }
        self.names: dict[Node, str] = {}  # input of the graph → expression
        self.labels: dict[Node, str] = {}  # input of the graph → what a person calls it
        self.steps: list[Condition | str] = []  # guards, and assignments to variables, in the order they are run
        self._variables = itertools.count()
        self._teller: Any = None
        self._arguments()
        self._sizes()
        self._values()
        self._reads()
        self._sharing()
        step_guards(self, captured.recorder.training)

    @property
    def conditions(self) -> list[Condition]:
        """The guards alone."""
        return [step for step in self.steps if isinstance(step, Condition)]

    def bound(self, value: Any, hint: str) -> str:
        """A name under which the function finds a value."""
        name = f"{hint}_{len(self.space)}"
        self.space[name] = value
        return name

    def require(self, text: str, says: str, **known: Any) -> None:
        self.steps.append(Condition(text, says, **known))

    def variable(self, text: str) -> str:
        """A variable of the entry, set to the value of an expression."""
        name = f"v{next(self._variables)}"
        self.steps.append(f"{name} = {text}")
        return name

    # What is guarded

    def _arguments(self) -> None:
        made = self.captured.arguments
        remaining = iter(made.leaves)
        for number, (name, tree) in enumerate(zip(made.names, made.trees, strict=True)):
            self._tree(f"p{number}", name, tree, remaining)

    def _tree(self, text: str, label: str, tree: Tree, leaves: Any) -> None:
        """Guards on the structure of an argument and on its leaves."""
        if tree.kind is None:
            self._leaf(text, label, next(leaves))
            return
        children: Any
        if tree.kind in (tuple, list, dict):
            kept = tree.context if tree.kind is dict else len(tree.children)
            test = f"(*{text},) == {self.bound(kept, 'keys')}" if tree.kind is dict else f"len({text}) == {kept}"
            told = (f"the structure of {label} is another",)
            says = f"the structure of {label} is the same"
            self.require(f"type({text}) is {tree.kind.__name__} and {test}", says, told=told)
            children = [f"v{next(self._variables)}" for _ in tree.children]
            if children:
                values = f"{text}.values()" if tree.kind is dict else text
                self.steps.append(f"{', '.join(children)}, = {values}")
            below = tree.children
        else:
            flat = self.variable(f"{self.bound(_flatten, 'flatten')}({text}, {self.bound(tree, 'tree')})")
            self.require(f"{flat} is not None", f"the structure of {label} is the same")
            children = [f"{flat}[{k}]" for k in range(tree.leaf_count)]
            below = (LEAF,) * tree.leaf_count
        for k, (child, part) in enumerate(zip(children, below, strict=True)):
            self._tree(child, f"{label}[{tree.context[k]!r}]" if tree.kind is dict else f"{label}[{k}]", part, leaves)

    def _leaf(self, text: str, label: str, leaf: Any) -> None:
        value, node = leaf.value, leaf.node
        if node is None:
            self._unchanged(text, snapshot(value), label, value, basic=True)
            return
        self.names[node], self.labels[node] = text, label
        if isinstance(value, (np.ndarray, Tensor)):
            kind = "ndarray" if isinstance(value, np.ndarray) else "Tensor"
            if type(value) not in (np.ndarray, Tensor):
                kind = self.bound(type(value), "kind")
            self._class(text, label, value, kind)
            if not is_traceable(value):
                return
            dtype, ndim = self.bound(value.dtype, "dtype"), value.ndim
            self._compare(
                f"({text}.dtype is {dtype} or {text}.dtype == {dtype})",
                f"{label} has dtype ",
                f"{text}.dtype",
                str(value.dtype),
                basic=True,
            )
            self._compare(f"{text}.ndim == {ndim}", f"ndim of {label} is ", f"{text}.ndim", str(ndim), basic=True)
            for axis, dim in enumerate(node.meta["type"].shape):
                if not isinstance(dim, Dim):
                    size = f"{text}.shape[{axis}]"
                    self._compare(f"{size} == {dim}", f"size {axis} of {label} is ", size, str(dim), basic=True)
            if isinstance(value, np.ndarray) and node.name in self.captured.recorder.layouts:
                if value.flags.c_contiguous:
                    told = (f"{label} has strides ", ", lay in order")
                    says = f"{label} lies in order"
                    self.require(f"{text}.flags.c_contiguous", says, now=f"{text}.strides", told=told)
                else:
                    strides = f"{text}.strides"
                    self._compare(f"{strides} == {value.strides}", f"{label} has strides ", strides, f"{value.strides}")
            return
        self._class(text, label, value, self.bound(type(value), "kind"))

    def _class(self, text: str, label: str, value: Any, kind: str) -> None:
        now, was = f"type({text}).__name__", type(value).__name__
        self._compare(f"type({text}) is {kind}", f"the class of {label} is ", now, was, basic=True)

    def _compare(self, text: str, words: str, now: str, was: str, basic: bool = False) -> None:
        """A guard on something that has a value: `words` come before it."""
        self.require(text, f"{words}{was}", now=now, told=(words, f", was {was}"), basic=basic)

    def _sizes(self) -> None:
        for guard in self.captured.recorder.sizes.guards:
            sides = [self._dim(side) for side in (guard.left, guard.right)]
            if None in sides:
                continue
            text = f"({sides[0]} {guard.relation} {sides[1]})"
            said = [side.expression() if isinstance(side, Dim) else str(side) for side in (guard.left, guard.right)]
            what = f"{said[0]} {guard.relation} {said[1]}"
            says, told = (what, " no longer holds") if guard.outcome else (f"not {what}", " holds now")
            now = self._atoms(guard.left, guard.right)
            test = text if guard.outcome else f"not {text}"
            self.require(test, says, now=now, told=("", f": {what}{told}"))

    def _atoms(self, *dims: Any) -> str:
        """An expression for a text that tells what the sizes in some are, and what they were."""
        atoms = {atom: None for dim in dims if isinstance(dim, Dim) for atom in dim.atoms()}
        parts = []
        for atom in atoms:
            kind, node, *axis = self._source(atom)
            text = self._expression(node) if kind == "node" else f"{self.names[node]}.shape[{axis[0]}]"
            parts.append(f"f'{atom.name} is {{{text}}}, was {atom.hint}'")
        return f"', '.join([{', '.join(parts)}])"

    def _source(self, atom: Any) -> tuple[Any, ...]:
        """Where a size is found; one of a copy's inputs is one of the graph's own."""
        kind, node, *axis = atom.source
        return (kind, self.captured.recorder.copied_inputs.get(node, node), *axis)

    def _dim(self, dim: Any) -> str | None:
        if not isinstance(dim, Dim):
            return str(dim)
        names = {}
        for atom in dim.atoms():
            kind, node, *axis = self._source(atom)
            text = self.names.get(node)
            if text is None:
                if kind != "node" or atom.hint is None:
                    return None
                text = self._expression(node)
            names[atom] = text if kind == "node" else f"{text}.shape[{axis[0]}]"
        return f"({dim.expression(names)})"

    def _values(self) -> None:
        for node, (hint, _) in self.captured.recorder.value_guards.items():
            text = self._expression(node)
            was = self.bound(hint, "value")
            given = self.captured.recorder.computed.get(node, ())
            tested = node.target is bool and given and isinstance(given[0], Node)
            label = self.labels.get(node, f"bool({given[0].name})" if tested else node.name)
            self._compare(f"{text} == {was}", f"{label} is ", f"repr({text})", repr(hint))

    def _expression(self, node: Any) -> str:
        if not isinstance(node, Node):
            return self.bound(node, "constant")
        node = self.captured.recorder.copied_inputs.get(node, node)
        if node in self.names:
            return self.names[node]
        lifted = self.captured.recorder.root.lifted.get(node)
        if lifted is not None:
            return self._expression(lifted)
        target = self.bound(node.target, "function")
        args = self.captured.recorder.computed.get(node, node.args)
        return f"{target}({', '.join(self._expression(arg) for arg in args)})"

    def _reads(self) -> None:
        reads = self.captured.recorder.reads
        for space, name, was in reads.names.values():
            if was[0] == "same" and isinstance(was[1], types.ModuleType):
                continue
            holder = self.bound(space, "space")
            text = f"{holder}.cell_contents" if isinstance(space, types.CellType) else f"{holder}.get({name!r}, MISS)"
            self._unchanged(text, was, name, snapshot_value(was))
        for owner, name, was in reads.attributes.values():
            holder = self.bound(owner, "owner")
            text = f"getattr({holder}, {name!r}, MISS)"
            called = isinstance(owner, (type, types.FunctionType))
            label = f".{name} of {owner.__name__ if called else f'a {type(owner).__name__}'}"
            if isinstance(owner, types.FunctionType) and name == "__code__":
                text = f"{holder}.__code__"
            if was[0] == "method":
                text, was = f"getattr({text}, '__func__', MISS)", ("same", was[1])
            # That functions and classes are the program's own ones goes without saying.
            self._unchanged(text, was, label, snapshot_value(was), basic=called)
        if reads.modules.known:
            test = f"{self.bound(tree_fits, 'fits')}({self.bound(reads.modules, 'modules')})"
            told = ("a module has other parts, hooks or another forward",)
            self.require(test, "modules have the same parts and hooks", told=told)

    def _unchanged(self, text: str, was: Any, label: str, value: Any, basic: bool = False) -> None:
        """A value is as its snapshot says; told without a call where that is as good."""
        words, now, shown = f"{label} is ", f"repr({text})", _short(value)
        if was[0] == "same":
            says, told = f"{label} is the same object", (f"{label} is another object",)
            self.require(f"{text} is {self.bound(was[1], 'was')}", says, told=told, basic=basic)
        elif was[0] == "data" and was[1] in (bool, type(None)):
            self._compare(f"{text} is {was[2]}", words, now, shown, basic)
        elif was[0] == "data" and was[1] in (int, str):
            held = self.variable(text)
            test = f"type({held}) is {was[1].__name__} and {held} == {self.bound(was[2], 'was')}"
            self._compare(test, words, f"repr({held})", shown, basic)
        elif was[0] == "data" and was[1] is float and math.isfinite(number := float(was[2])) and number:
            held = self.variable(text)
            test = f"type({held}) is float and {held} == {self.bound(number, 'was')}"
            self._compare(test, words, f"repr({held})", shown, basic)
        else:
            self._compare(f"unchanged({text}, {self.bound(was, 'was')})", words, now, shown, basic)

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
            for leaf in self.captured.arguments.leaves
            if leaf.node is not None and isinstance(leaf.value, (np.ndarray, Tensor))
        ]
        for (one, value), (other, other_value) in itertools.combinations(arrays, 2):
            same = value is other_value
            if same or self.captured.recorder.asked_identity:
                equal = "is" if same else "is not"
                who = f"{self.labels[one]} and {self.labels[other]}"
                text = f"{self.names[one]} {equal} {self.names[other]}"
                self.require(text, f"{who} {equal.replace('is', 'are')} one array")

    def _apart(self, one: _Memory, other: _Memory) -> None:
        who = f"{other.label} and {one.label}"
        if not one.outside:
            # An array given twice is captured as the one array it is.
            equal = "is" if one.value is other.value else "is not"
            self.require(f"{one.text} {equal} {other.text}", f"{who} {equal.replace('is', 'are')} one array")
            if one.value is other.value:
                return
        # Two arrays that own their memory do not share it.
        owned = f"{one.own} and {other.own} and {one.inside} is not {other.inside}"
        share = f"may_share({one.inside}, {other.inside})"
        self.require(f"({owned}) or not {share}", f"{who} share no memory", plain=True)

    def _memories(self) -> list[_Memory]:
        """The arrays that the graph reads or writes: arguments first, then those from outside."""
        made = [
            self._memory(leaf.node, leaf.value, self.names[leaf.node], self.labels[leaf.node])
            for leaf in self.captured.arguments.leaves
            if leaf.node is not None and isinstance(leaf.value, (np.ndarray, Tensor))
        ]
        for value, traced in self.captured.recorder.constants.values():
            if isinstance(traced, Opaque):
                continue
            node = traced.buffer.target
            label = f"an array from outside ({node.name})"
            made.append(self._memory(node, value, self.bound(value, "array"), label, outside=True))
        return made

    def _memory(self, node: Node, value: Any, text: str, label: str, outside: bool = False) -> _Memory:
        inside = f"{text}._array" if isinstance(value, Tensor) else text
        return _Memory(node, value, text, label, inside, self.variable(f"{inside}.flags.owndata"), outside)

    # The function

    def entry(self, run: Any) -> Any:
        """A function of the captured function's parameters: the result of `run`, or MISS."""
        self.space["run"] = run
        lines = []
        for condition, group in itertools.groupby(self.steps, lambda step: isinstance(step, Condition)):
            if condition:
                tests = " and ".join(f"({step.text})" for step in group if isinstance(step, Condition))
                lines += [f"if not ({tests}):", "    return MISS"]
            else:
                lines += [str(step) for step in group]
        return self._function("entry", [*lines, f"return run({', '.join(self.names.values())})"])

    def failing(self, values: tuple[Any, ...]) -> Condition | None:
        """The first guard that does not hold of a call, and what it says of that call; None where all hold."""
        if self._teller is None:
            lines = []
            for number, step in enumerate(self.steps):
                if isinstance(step, str):
                    lines.append(step)
                else:
                    lines += [f"if not ({step.text}):", f"    return {number}, {step.now}"]
            self._teller = self._function("failing", [*lines, "return None"])
        failed = self._teller(*values)
        if failed is None:
            return None
        found = self.steps[failed[0]]
        assert isinstance(found, Condition)
        return replace(found, says=found.failed(failed[1]), reached=failed[0])

    def _function(self, name: str, lines: list[str]) -> Any:
        parameters = ", ".join(f"p{number}" for number in range(len(self.captured.arguments.names)))
        exec("\n    ".join([f"def {name}({parameters}):", *lines]), self.space)
        return self.space[name]


@dataclass(frozen=True)
class _Memory:
    """An array of a call: how the entry reads it, and what a person calls it."""

    node: Node
    value: Any
    text: str
    label: str
    inside: str  # the array itself, where `text` is a Tensor
    own: str  # the variable that says whether it owns its memory
    outside: bool


def _flatten(value: Any, tree: Any) -> list[Any] | None:
    from weft.capture._arguments import _is_leaf

    leaves, found = pytree.flatten(value, is_leaf=_is_leaf)
    return leaves if found == tree else None


def _short(value: Any, show: Any = repr) -> str:
    text = show(value)
    return text if len(text) < 40 else f"{text[:37]}..."
