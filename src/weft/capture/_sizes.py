"""Sizes and other integers of a captured program: expressions while it is captured, nodes where a value needs them.

`x.shape[0] - 1` is kept as an expression (`Dim`), so that shape rules can tell that two sizes are the same. A node is
made of it only where a call takes it as an argument.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._merge import refuse_mixed
from weft.capture._raising import Caught
from weft.capture._region import Region
from weft.capture._values import Array, Scalar
from weft.graph import Node
from weft.ops import Op, Spec
from weft.ops._dim import REASONED, Atom, Dim, Sizes

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


INTEGER_ARITHMETIC = frozenset(
    {operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg}
)
# Parameters of ops that are sizes or counts: below zero they are refused, but where -1 means what is left.
_SIZES = frozenset({"shape", "num", "n_rows", "n_cols", "n", "N", "M", "repetitions"})
_TAKING_LESS = frozenset({"reshape", "broadcast_to"})


class SizeNodes:
    """The part of a recorder that deals with integers."""

    sizes: Sizes
    region: Region
    root: Region
    trying: Caught
    value_guards: dict[Node, tuple[Any, Any]]
    computed: dict[Node, tuple[Any, ...]]  # number of Python's → what it was computed from, also where it is dead now

    def dim(self, value: Any) -> Any:
        """A Python integer as an expression of sizes."""
        if not isinstance(value, Scalar):
            return value
        if value.dim is None:
            name = value.name or value.node.name
            value.dim = self.sizes.value(name, value.hint if value.kind is int else None, ("node", value._node))
        return value.dim

    def refuses_size(self, op: Op, arguments: Sequence[Any]) -> bool:
        """Whether a size or count that an op is given may be below zero."""
        if op.name in _TAKING_LESS:
            return False
        named = zip(op.__signature__.parameters, arguments, strict=True)
        return any(self._may_be_negative(value) for name, value in named if name in _SIZES)

    def _may_be_negative(self, value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(map(self._may_be_negative, value))
        if isinstance(value, Scalar):
            return value.kind is int and not self.sizes.proved(">=", self.dim(value), 0)
        return isinstance(value, Array) or (isinstance(value, int) and value < 0)

    def computed_integer(self: Any, function: Any, args: tuple[Any, ...], dims: list[Any]) -> Any:
        """The integer that an operator gives: a node as the program wrote it, and what is known of it as a size.

        One that is the same whatever the arguments are, such as `n - n`, is a plain integer. What is too long to be
        reasoned about is a size of its own.
        """
        dim = function(*dims)
        if not isinstance(dim, Dim):
            return dim
        trying, self.trying = self.trying, ()  # which matters to what may raise
        node = self.create(function, args, {}, int)
        self.trying = trying
        if dim.weight > REASONED:
            return Scalar(self, int, node, hint=self._hint(function, args))
        self.region.sizes.setdefault(dim.key, node)
        return Scalar(self, int, node, dim=dim, hint=dim.hint)

    def integer(self, dim: Any) -> Any:
        """The traced integer of an expression; a plain one where it is constant."""
        return Scalar(self, int, None, dim=dim, hint=dim.hint) if isinstance(dim, Dim) else dim  # type: ignore[arg-type]  # self is the Recorder

    def size_node(self, dim: Any, name: str | None = None, written: Node | None = None) -> Any:
        """The node that computes an expression in the present region; a plain integer where it is constant.

        `written` is a node that a branch or loop has computed it by: it is computed in the same way where that goes.
        """
        if not isinstance(dim, Dim):
            return dim
        region = self.region
        known = region.sizes.get(dim.key)
        if known is None:
            known = None if written is None else self._as_written(written)
            known = dim.build(self._leaf, self._combine) if known is None else known
            if name is not None and isinstance(known, Node) and known.graph is region.graph and dim.atom is None:
                rename(known, name)
            region.sizes[dim.key] = known
        return known

    def _as_written(self: Any, node: Node) -> Node | None:
        """A number of a region that has ended, computed once more; None where it reads what is not known here."""
        while not self.region.sees(node) and node in self.region.lifted:
            node = self.region.lifted[node]
        if self.region.sees(node):
            return self.region.lift(node)  # type: ignore[no-any-return]  # a node
        args = self.computed.get(node)
        if args is None or node.target not in INTEGER_ARITHMETIC:
            return None
        again = [self._as_written(arg) if isinstance(arg, Node) else arg for arg in args]
        if None in again:
            return None
        made: Node = self.create(node.target, tuple(again), {}, int)
        made._position = node._position
        return made

    def _combine(self, function: Any, operands: tuple[Any, ...]) -> Any:
        if not any(isinstance(operand, Node) for operand in operands):
            return function(*operands)
        return self.create(function, operands, {}, int)

    def create(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], type_: Any) -> Node:
        raise NotImplementedError

    def _leaf(self, atom: Atom) -> Node:
        kind, node, *axis = atom.source
        if kind == "node":
            found = self.region.lift(node)
            # The size that a number of NumPy's gives is one of Python's.
            return self.create(int, (found,), {}, int) if isinstance(node.meta.get("type"), Spec) else found
        owner: Region | None = self.region
        while owner is not None and owner.graph is not node.graph:
            owner = owner.parent
        if owner is None or owner.virtual:
            shape = self.create(getattr, (self.region.lift(node), "shape"), {}, None)
            return self.create(operator.getitem, (shape, axis[0]), {}, int)
        key = (node, axis[0])
        size = owner.sizes.get(key)
        if size is None:
            size = owner.sizes[key] = self._size_after(owner, node, axis[0], atom.name)
        return self.region.lift(size)

    def _size_after(self, owner: Region, node: Node, axis: int, name: str) -> Node:
        """The size of a node's value, computed right after it: later its memory may serve another value."""
        place = node
        while place.next.op == "placeholder":
            place = place.next
        shape = owner.sizes.get(node)
        with owner.graph.inserting_before(place.next if shape is None else shape.next):
            if shape is None:
                shape = owner.graph.call_function(getattr, (node, "shape"), name=f"{node.name}_shape")
                owner.sizes[node] = shape
                shape._position = node._position
                place = shape
        with owner.graph.inserting_before(shape.next):
            size = owner.graph.call_function(operator.getitem, (shape, axis), name=name)
        self.computed[shape], self.computed[size] = (node, "shape"), (shape, axis)
        size._position = node._position
        size._meta = {"type": int}
        return size

    def bind_sizes(self, node: Node, spec: Spec) -> None:
        """Tell the sizes of a result which nobody knows yet that they are the sizes of this node's value."""
        for axis, dim in enumerate(spec.shape):
            if not isinstance(dim, Dim) or None not in [atom.source for atom in dim.atoms()]:
                continue
            if dim.atom is None:
                dim = self.sizes.fresh(node.name)
                spec.shape = (*spec.shape[:axis], dim, *spec.shape[axis + 1 :])
            assert dim.atom is not None
            dim.atom.source = ("size", node, axis)

    # Decisions

    def can_decide(self, value: Any) -> bool:
        """Whether a number is known in this call, so that the program may go by it under a guard."""
        return isinstance(value, Scalar) and value.hint is not None

    def decide(self: Any, value: Any) -> bool:
        """The truth of a value, where it can be told."""
        if isinstance(value, Scalar):
            if value.relation is not None:
                return bool(self.sizes.compare(*value.relation))
            if value.dim is not None and value.dim.hint is not None:
                return bool(value.dim)
            if value.hint is not None:
                if self.training.by_hints and value.kind is not bool:
                    value = self.truth(value)  # what decides is whether an option is zero, not which number it is
                self.value_guards[value.node] = (value.hint, value)
                return bool(value.hint)
        if isinstance(value, Array) and not _one_element(value):
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self.refuse_branch(value))

    def concrete(self: Any, value: Any, what: str) -> Any:
        """The number itself, under a guard that it stays the same."""
        if isinstance(value, Scalar):
            if value.dim is not None and value.dim.hint is not None:
                return int(value.dim)
            if value.hint is not None:
                self.value_guards[value.node] = (value.hint, value)
                return value.hint
        return self.refuse_value(value, what)

    def concrete_int(self, value: Any, what: str) -> int:
        if isinstance(value, Scalar) and value.kind is not int and np.dtype(value.kind).kind not in "iub":
            refuse_mixed(value)
            raise TypeError(f"'{value.kind}' object cannot be interpreted as an integer")
        return int(self.concrete(value, what))

    def known_size(self, dim: Any, what: str) -> int:
        """A size as a number, under a guard where it may vary."""
        return operator.index(dim)


def _one_element(value: Array) -> bool:
    return all(not isinstance(d, Dim) and d == 1 for d in value.spec.shape) or any(
        isinstance(d, Dim) for d in value.spec.shape
    )


def rename(node: Node, name: str) -> None:
    """Give a node the name of the program's variable."""
    node.name = node.graph._names.create(name)


def abstract_key(recorder: Recorder, key: Any) -> Any:
    """A key as shape rules take it: traced integers as integer arrays of no dimensions, other arrays as Specs."""
    if isinstance(key, tuple):
        return tuple([abstract_key(recorder, part) for part in key])
    if isinstance(key, Array):
        return key.spec
    if isinstance(key, Scalar):
        return Spec((), np.intp) if key.kind is int else key.spec
    if isinstance(key, slice):
        return slice(*(_bound(recorder, bound) for bound in (key.start, key.stop, key.step)))
    if isinstance(key, list):
        return [abstract_key(recorder, part) for part in key]
    if isinstance(key, np.integer):
        return int(key)
    return key


def _bound(recorder: Recorder, bound: Any) -> Any:
    if isinstance(bound, Scalar):
        if bound.kind is int:
            return recorder.dim(bound)
        if bound.kind is bool or np.dtype(bound.kind).kind in "iu":
            if bound.dim is None:
                bound.dim = recorder.sizes.value(bound.node.name, None, ("node", bound._node))
            return bound.dim
        refuse_mixed(bound)
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    if isinstance(bound, Array):
        return _bound(recorder, recorder.numpy.item(bound))
    return bound
