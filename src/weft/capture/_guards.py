"""Guards: what must hold of a later call for a captured graph to be the right one, as one Python function.

The function takes the parameters of the captured one and gives the graph's result, or MISS where a guard fails.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._captured import Captured
from weft.capture._reads import snapshot, unchanged
from weft.graph import Node
from weft.ops._dim import Dim
from weft.pytree import LEAF

MISS: Any = object()
"""What an entry answers where it does not apply."""


@dataclass(frozen=True)
class Condition:
    """One guard: an expression over the names below, and what it says to a person."""

    text: str
    says: str


class Guards:
    """All guards of one captured call."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.space: dict[str, Any] = {"MISS": MISS, "ndarray": np.ndarray, "Tensor": Tensor, "unchanged": unchanged}
        self.names: dict[Node, str] = {}  # input of the graph → expression
        self.opening: list[str] = []
        self.conditions: list[Condition] = []
        self._arguments()
        self._sizes()
        self._values()
        self._sharing()
        self._reads()

    def bound(self, value: Any, hint: str) -> str:
        """A name under which the function finds a value."""
        name = f"{hint}_{len(self.space)}"
        self.space[name] = value
        return name

    def require(self, text: str, says: str) -> None:
        self.conditions.append(Condition(text, says))

    # What is guarded

    def _arguments(self) -> None:
        made = self.captured.arguments
        remaining = iter(made.leaves)
        for name, tree in zip(made.names, made.trees, strict=True):
            leaves = [next(remaining) for _ in range(tree.leaf_count)]
            if tree == LEAF:
                self._leaf(name, name, leaves[0])
                continue
            flat, wanted = f"_{name}_leaves", self.bound(tree, "tree")
            flatten = self.bound(_flatten, "flatten")
            self.opening.append(f"{flat} = {flatten}({name}, {wanted})")
            self.require(f"{flat} is not None", f"the structure of {name} is the same")
            for number, leaf in enumerate(leaves):
                self._leaf(f"{flat}[{number}]", f"{name}, leaf {number + 1}", leaf)

    def _leaf(self, text: str, label: str, leaf: Any) -> None:
        value, node = leaf.value, leaf.node
        if node is None:
            was = self.bound(snapshot(value), "was")
            if value is None or isinstance(value, bool):
                self.require(f"{text} is {value}", f"{label} is {value}")
            else:
                self.require(f"unchanged({text}, {was})", f"{label} is {_short(value)}")
            return
        self.names[node] = text
        if isinstance(value, (np.ndarray, Tensor)):
            kind = "ndarray" if isinstance(value, np.ndarray) else "Tensor"
            if type(value) not in (np.ndarray, Tensor):
                kind = self.bound(type(value), "kind")
            self.require(f"type({text}) is {kind}", f"{label} is a {type(value).__name__}")
            dtype = self.bound(value.dtype, "dtype")
            self.require(f"{text}.dtype == {dtype}", f"{label} has dtype {value.dtype}")
            self.require(f"{text}.ndim == {value.ndim}", f"{label} has {value.ndim} dimensions")
            for axis, dim in enumerate(node.meta["type"].shape):
                if not isinstance(dim, Dim):
                    self.require(f"{text}.shape[{axis}] == {dim}", f"size {axis} of {label} is {dim}")
            if isinstance(value, np.ndarray) and node.name in self.captured.recorder.layouts:
                if value.flags.c_contiguous:
                    self.require(f"{text}.flags.c_contiguous", f"{label} lies in order")
                else:
                    self.require(f"{text}.strides == {value.strides}", f"{label} has strides {value.strides}")
            return
        self.require(f"type({text}) is {self.bound(type(value), 'kind')}", f"{label} is a {type(value).__name__}")

    def _sizes(self) -> None:
        for guard in self.captured.recorder.sizes.guards:
            sides = [self._dim(side) for side in (guard.left, guard.right)]
            if None in sides:
                continue
            text = f"({sides[0]} {guard.relation} {sides[1]})"
            said = [side.expression() if isinstance(side, Dim) else str(side) for side in (guard.left, guard.right)]
            says = f"{said[0]} {guard.relation} {said[1]} is {guard.outcome}"
            self.require(text if guard.outcome else f"not {text}", says)

    def _dim(self, dim: Any) -> str | None:
        if not isinstance(dim, Dim):
            return str(dim)
        names = {}
        for atom in dim.atoms():
            kind, node, *axis = atom.source
            text = self.names.get(node)
            if text is None:
                return None
            names[atom] = text if kind == "node" else f"{text}.shape[{axis[0]}]"
        return f"({dim.expression(names)})"

    def _values(self) -> None:
        for node, (hint, _) in self.captured.recorder.value_guards.items():
            text = self._expression(node)
            was = self.bound(hint, "value")
            self.require(f"{text} == {was}", f"{node.name} is {hint!r}")

    def _expression(self, node: Any) -> str:
        if not isinstance(node, Node):
            return self.bound(node, "constant")
        if node in self.names:
            return self.names[node]
        target = self.bound(node.target, "function")
        return f"{target}({', '.join(self._expression(arg) for arg in node.args)})"

    def _sharing(self) -> None:
        """Arrays that are one and the same stay so; where any is written, others share no memory with it."""
        leaves = [leaf for leaf in self.captured.arguments.leaves if leaf.node is not None]
        arrays = [leaf for leaf in leaves if isinstance(leaf.value, (np.ndarray, Tensor))]
        written = {target for target, _ in self.captured.graph.output_node().kwargs.get("writes", ())}
        seen: list[Any] = []
        for leaf in arrays:
            text = self.names[leaf.node]
            for other in seen:
                before = self.names[other.node]
                if other.value is leaf.value:
                    if written:
                        self.require(f"{text} is {before}", f"{before} and {text} are one array")
                elif other.node in written or leaf.node in written:
                    share = self.bound(_may_share, "may_share")
                    self.require(f"not {share}({text}, {before})", f"{before} and {text} share no memory")
            seen.append(leaf)

    def _reads(self) -> None:
        reads = self.captured.recorder.reads
        for space, name, was in reads.names.values():
            if was[0] == "same" and isinstance(was[1], types.ModuleType):
                continue
            holder = self.bound(space, "space")
            text = f"{holder}.cell_contents" if isinstance(space, types.CellType) else f"{holder}.get({name!r}, MISS)"
            self._unchanged(text, was, name)
        for owner, name, was in reads.attributes.values():
            holder = self.bound(owner, "owner")
            get = self.bound(getattr, "getattr")
            self._unchanged(f"{get}({holder}, {name!r}, MISS)", was, f".{name} of a {type(owner).__name__}")

    def _unchanged(self, text: str, was: Any, label: str) -> None:
        if was[0] == "same":
            self.require(f"{text} is {self.bound(was[1], 'was')}", f"{label} is the same object")
        else:
            self.require(f"unchanged({text}, {self.bound(was, 'was')})", f"{label} has the same value")

    # The function

    def entry(self, run: Any) -> Any:
        """A function of the captured function's parameters: the result of `run`, or MISS."""
        self.space["run"] = run
        parameters = ", ".join(self.captured.arguments.names)
        inputs = ", ".join(self.names.values())
        tests = " or ".join(f"not ({c.text})" for c in self.conditions) or "False"
        lines = [f"def entry({parameters}):", *(f"    {line}" for line in self._safe_opening())]
        lines += [f"    if {tests}:", "        return MISS", f"    return run({inputs})"]
        exec("\n".join(lines), self.space)
        return self.space["entry"]

    def _safe_opening(self) -> list[str]:
        return self.opening

    def failing(self, arguments: dict[str, Any]) -> str | None:
        """What the first guard that does not hold says; None where all hold."""
        space = dict(self.space)
        space.update(arguments)
        for line in self.opening:
            exec(line, space)
        for condition in self.conditions:
            try:
                if not eval(condition.text, space):
                    return condition.says
            except Exception:  # what an earlier guard would have kept from being asked
                return condition.says
        return None


def _flatten(value: Any, tree: Any) -> list[Any] | None:
    from weft.capture._arguments import _is_leaf

    leaves, found = pytree.flatten(value, is_leaf=_is_leaf)
    return leaves if found == tree else None


def _may_share(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b
    return bool(np.may_share_memory(a, b))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:37]}..."
