"""Splitting a body that computes forward and backward in one: what the backward needs, and its own graph.

What is free in the backward too (a counter, an operand that every turn sees) costs nothing; of the rest, `saved` is put
on the tape, and what can be had from those by cheap calls is computed again.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.graph._arguments import map_copy
from weft.graph._looping import trip_count
from weft.ops import Spec
from weft.ops._dim import Dim, dim_max, dim_min, slice_length, sliced
from weft.ops._dim_algebra import from_factor
from weft.ops._op import SHOWN, VIEW
from weft.passes._changes import Changes
from weft.passes._kinds import has_writes
from weft.passes.cse import merge_twins
from weft.transform._builder import Builder
from weft.transform._calls import op_call
from weft.transform._mincut import cheapest_to_keep
from weft.transform._remat import Regions, is_unsteady
from weft.transform._tape import Tape, Tapes, touch

_QUICK = frozenset(
    {int, float, bool, complex, getattr, trip_count, min, max, len, operator.not_, operator.truth, touch}
)
_UNKNOWN_SIZE = 1000  # elements, of an array of which nobody knows


def cheap(node: Node) -> bool:
    """Whether a call costs next to nothing to run again, and gives the same."""
    if node.op != "call_function" or node.bodies or node.is_impure() or is_unsteady(node):
        return False
    if node.target in _QUICK:
        return True
    called = op_call(node)
    if called is None:
        return False
    op, _ = called
    return op.domain is not None or op.memory in (VIEW, SHOWN) or op.name == "getitem"


def bytes_of(type_: Any) -> float:
    """How much memory a value takes; infinite where it cannot be kept."""
    if isinstance(type_, Spec):
        count = 1.0
        for dim in type_.shape:
            count *= estimate(dim)
        return count * type_.dtype.itemsize + 8
    if isinstance(type_, (Tape, Tapes)):
        return 8.0
    return 16.0 if isinstance(type_, type) else float("inf")


def gradient_type(type_: Any) -> Any:
    """The type of the gradient of a value."""
    return type_ if isinstance(type_, (Spec, Tape, Tapes)) else Spec((), type_)


def estimate(dim: Any) -> float:
    """About how large a size is; what a slice of unknown bounds selects counts as half."""
    if not isinstance(dim, Dim):
        return float(dim)
    if dim.hint is not None:
        return float(dim.hint)

    def combine(function: Any, operands: tuple[Any, ...]) -> float:
        return operands[-1] / 2 if function is sliced else float(function(*operands))

    try:
        return max(float(dim.build(_example, combine)), 1.0)
    except (TypeError, ZeroDivisionError):  # None among the bounds of a slice inside, or nothing to divide by
        return float(_UNKNOWN_SIZE)


def _example(atom: Any) -> int:
    source = atom.source
    once = atom.env.examples.get(source[1]) if isinstance(source, tuple) and source[:1] == ("node",) else None
    return int(atom.hint or once or _UNKNOWN_SIZE)


def choose_saved(
    needed: Iterable[Node],
    costs: dict[Node, float],
    late: Collection[Node] = (),
    results: Collection[Any] = (),
) -> list[Node]:
    """What to save so that every needed value can be had; `costs` are those of inputs, 0 where they are there anyway.

    Any other input is saved whole, or what is read of it. Of calls of `checkpoint` nothing inside is saved: `late` are
    the nodes of the backward, `results` those of the forward that are given away.
    """
    needed = list(needed)
    regions = Regions(needed[0].graph.nodes if needed else (), late, results)

    def cost(node: Node) -> float:
        if regions.number and regions.inside(node):
            return float("inf")
        return costs[node] if node in costs else bytes_of(node.meta.get("type"))

    def repeatable(node: Node) -> bool:
        return not regions.gives(node) and (cheap(node) or regions.inside(node))

    return sorted(
        cheapest_to_keep(
            needed,
            inputs=lambda node: node.all_input_nodes,
            free=lambda node: costs.get(node) == 0,
            cost=cost,
            repeatable=repeatable if regions.number else cheap,
        )
    )


def computed_again(needed: Iterable[Node], free: set[Node], saved: Iterable[Node]) -> list[Node]:
    """The nodes that have to run again to get every needed value from what is free or saved, in order."""
    have = {*free, *saved}
    found: dict[Node, None] = {}
    waiting = [node for node in needed if node not in have]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found[node] = None
        waiting.extend(each for each in node.all_input_nodes if each not in have)
    return sorted(found)


def read_by(nodes: Sequence[Node], results: Iterable[Any]) -> list[Node]:
    """The nodes that some nodes read and that are not among them."""
    inside = set(nodes)
    found: dict[Node, None] = {}
    for node in nodes:
        found.update((each, None) for each in node.all_input_nodes if each not in inside)
    for node in results:
        if isinstance(node, Node) and node not in inside:
            found[node] = None
    return sorted(found)


def copy_nodes(types: Retyped, nodes: Iterable[Node]) -> None:
    """Copy nodes into the graph of a builder; `types` knows what stands for their inputs, and learns of copies."""
    known = types.known
    for node in nodes:
        made = types.builder.graph.create_node(
            node.op,
            node.target,
            map_copy(node.args, known.__getitem__),
            map_copy(node.kwargs, known.__getitem__),
            node.name,
        )
        made._position = node._position
        made._meta = dict(node._meta) if node._meta is not None else {}
        known[node] = made
        made._meta["type"] = types.of(made._meta.get("type"), made)
        for body, copied in zip(node.bodies, made.bodies, strict=True):
            _pair(body, copied, types.inside)
            types.body(copied)


def _pair_of(guard: Any) -> Any:
    """Both sides of a comparison, as something to look up: comparing sizes themselves would be a decision."""
    return tuple(side.key if isinstance(side, Dim) else side for side in (guard.left, guard.right))


def copy_body(body: Graph, outer: Builder, merge: bool = False) -> Graph:
    """A copy of a body whose types speak of sizes of its own nodes, or of those around it.

    With `merge`, what is computed twice is computed once.
    """
    made = body.clone()
    known: dict[Node, Any] = {}
    _pair(body, made, known)
    if merge and not has_writes(made):  # into a list: what is read before and after one differs
        merged = merge_twins(made, Changes())
        known.update((node, merged[copied]) for node, copied in known.items() if copied in merged)
    types = Retyped(outer, known)
    types.body(made)
    types.carry_over()
    return made


def _pair(one: Graph, other: Graph, known: dict[Node, Any]) -> None:
    """Note which node of a copied graph stands for which."""
    if one is other:
        return
    for a, b in zip(one.nodes, other.nodes, strict=True):
        known[a] = b
        for inner, copied in zip(a.bodies, b.bodies, strict=True):
            _pair(inner, copied, known)


_SYMBOLIC: dict[Any, Any] = {sliced: slice_length, min: dim_min, max: dim_max}


class Retyped:
    """Types of copied nodes: a size that was one of a copied node is now one of the copy.

    `known` says what stands for each node. A size of a node that is neither copied nor in a graph around is a new one.
    """

    def __init__(
        self,
        outer: Builder,
        known: dict[Node, Any],
        builder: Builder | None = None,
        computed: dict[Any, Any] | None = None,
    ) -> None:
        """`computed` has nodes that compute sizes, by the keys of those."""
        self.sizes = outer.sizes
        self.computed = {} if computed is None else computed
        self.known = known
        self._builder = builder
        self.around = outer.around()
        self.atoms: dict[Any, Any] = {}
        self.dims: dict[Any, Any] = {}  # by its key, what a size is now
        self.values: dict[Node, Any] = {}
        self.sources: dict[Any, Any] = {}  # sizes of copies, by what they are sizes of
        self.inside: dict[Node, Any] = {}  # what stands for nodes of bodies

    @property
    def builder(self) -> Builder:
        assert self._builder is not None
        return self._builder

    def of(self, type_: Any, node: Node | None = None) -> Any:
        """A type in terms of the sizes there are now; of a size that is gone, the node's own tells."""
        if isinstance(type_, Spec):
            if not any(isinstance(d, Dim) for d in type_.shape):
                return type_
            return Spec(tuple(self._dim(d, node, axis) for axis, d in enumerate(type_.shape)), type_.dtype)
        if isinstance(type_, (tuple, list)):
            parts = [self.of(part) for part in type_]
            return type(type_)(*parts) if hasattr(type_, "_fields") else type(type_)(parts)
        return type_

    def body(self, graph: Graph) -> None:
        """The same for the nodes of a body, in place."""
        self.around.add(graph)  # its own nodes are still there
        for node in graph.nodes:
            if node._meta is not None and "type" in node._meta:
                node._meta["type"] = self.of(node._meta["type"], node)
            for inner in node.bodies:
                self.body(inner)

    def carry_over(self) -> None:
        """Note of the new sizes what ops have required of the old ones: that two are the same."""
        known = self.sizes.assumed
        said = {_pair_of(guard) for guard in known}
        for guard in list(known):
            sides = (guard.left, guard.right)
            atoms = [atom for side in sides if isinstance(side, Dim) for atom in side.atoms()]
            if guard.relation == "==" and guard.outcome and any(atom in self.atoms for atom in atoms):
                made = guard._replace(left=self._substituted(guard.left), right=self._substituted(guard.right))
                if _pair_of(made) not in said:
                    said.add(_pair_of(made))
                    known.append(made)

    def _substituted(self, dim: Any) -> Any:
        if not isinstance(dim, Dim):
            return dim
        return dim.build(self._leaf, lambda function, operands: _SYMBOLIC.get(function, function)(*operands))

    def _dim(self, dim: Any, node: Node | None, axis: int) -> Any:
        if not isinstance(dim, Dim):
            return dim
        known = self.dims.get(dim.key)
        if known is not None:
            return known
        if any(self._is_gone(atom) for atom in dim.atoms()):
            by = self.computed.get(dim.key)
            if isinstance(by, Node) and isinstance(self.known.get(by), Node):
                return self._value_of(dim, by)
            if node is None:
                return dim
            fresh = self.sizes.again(self.sizes.size(node.name, dim.hint, ("size", node, axis)), dim)
            if dim.atom is not None:
                self.atoms[dim.atom] = fresh
            return fresh
        made = self.dims[dim.key] = self._substituted(dim)
        return made

    def _value_of(self, dim: Dim, node: Node) -> Any:
        """A size that a copied node computes."""
        found = self.values.get(node)
        if found is None:
            made = self.sizes.value(node.name, dim.hint, ("node", self.known[node]), 0)
            found = self.values[node] = self.sizes.again(made, dim)
        return found

    def _is_gone(self, atom: Any) -> bool:
        if atom in self.atoms:
            return False
        source = self._source(atom)
        return source is not None and self._now(source) is None and source.graph not in self.around

    def _now(self, node: Node) -> Any:
        """What stands for a node; None where it was not copied."""
        return self.known.get(node, self.inside.get(node))

    def _source(self, atom: Any) -> Any:
        """The node that an atom is a size or the value of: of several that have the same value, the one copied."""
        if atom.source is None:
            return None
        node = atom.source[1]
        return next((each for each in self.sizes.stands_for.get(node, ()) if self._now(each) is not None), node)

    def _leaf(self, atom: Any) -> Any:
        found = self.atoms.get(atom)
        if found is None:
            found = self._moved(atom)
            if found is None:
                return from_factor(atom)  # not noted: the node it comes from may be copied later
            self.atoms[atom] = found
        return found

    def _moved(self, atom: Any) -> Any:
        source = self._source(atom)
        now = None if source is None else self._now(source)
        if now is None:
            return None
        kind, _, *axis = atom.source
        if not isinstance(now, Node):
            return now if kind == "node" else None
        source = (kind, now, *axis)
        found = self.sources.get(source)
        if found is None:
            make = self.sizes.value if kind == "node" else self.sizes.size
            found = self.sources[source] = self.sizes.again(make(atom.name, atom.hint, source), from_factor(atom))
        return found
