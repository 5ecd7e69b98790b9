"""Batching: a graph of one example becomes one of many, each value that varies with a new axis in front.

`Batch` walks the nodes of the graph and writes what they mean for all examples into another one. A value that is the
same for all stays as it is, one that is not is `Rows`. Ops have rules (`_batch_rules`, `_batch_index`), composite ops
are batched by their bodies, control flow is in `_batch_control`. What has no rule runs for one example after the other,
in a loop (`_batch_rows`); so does the whole graph where a value of it cannot be held for all examples at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.errors import CaptureError, NotDifferentiable, ShapeError, UnknownShape
from weft.graph import Graph, Node
from weft.graph._arguments import map_aggregate, map_copy
from weft.ops import Op, Spec
from weft.ops._dim import Dim, same_shape
from weft.ops._dim_algebra import from_factor
from weft.ops._families import spread_call
from weft.ops._op import TABLE
from weft.transform._builder import Builder, Value, retype
from weft.transform._calls import op_call
from weft.transform._split import _SYMBOLIC
from weft.transform._tape import Tape, Tapes


class Unbatchable(Exception):
    """A value, or a call, that cannot be held or run for all examples at once. Never leaves this room."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.node = node


class Rows:
    """A value that differs between examples: `value` has one in each row, `type` is the type of one."""

    __slots__ = ("type", "value")

    def __init__(self, value: Value, type_: Any = None) -> None:
        self.value = value
        self.type = Spec(value.shape[1:], value.dtype) if type_ is None or isinstance(type_, Spec) else type_

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of one example."""
        return self.value.shape[1:]

    @property
    def ndim(self) -> int:
        return len(self.value.shape) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    def __repr__(self) -> str:
        return f"<rows of {self.type}: {self.value!r}>"


class TapeRows:
    """A tape some of whose values differ between examples: `parts` tells which, `late` where rows of fewer turns are.

    Turns that a row does not have come last where the tape is not late, and first where it is.
    """

    __slots__ = ("late", "parts", "value")

    def __init__(self, value: Any, parts: tuple[Any, ...], late: bool | None) -> None:
        self.value, self.parts, self.late = value, parts, late


class TapesRows:
    """A tape that one of several branches has left, the same for all examples: `layouts` has that of each branch."""

    __slots__ = ("layouts", "value")

    def __init__(self, value: Any, layouts: tuple[Any, ...]) -> None:
        self.value, self.layouts = value, layouts


class Chosen:
    """A tape of each of several branches, where examples take different ones."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[Any, ...]) -> None:
        self.entries = entries


def is_plain(entry: Any) -> bool:
    """Whether a value is the same for all examples."""
    if isinstance(entry, tuple):
        return all(map(is_plain, entry))
    return not isinstance(entry, (Rows, TapeRows, TapesRows, Chosen))


NUMBERS = (bool, int, float, complex)


def kind_dtype(type_: Any) -> np.dtype[Any]:
    """The dtype of an array of values of a type."""
    return type_.dtype if isinstance(type_, Spec) else np.dtype(type_)


class Batch:
    """The walk. `known` has for each node of the graph what stands for it.

    `mask`, where not None, tells the examples that count: what others compute is thrown away, and must not raise.
    """

    def __init__(self, builder: Builder, size: Any, known: dict[Node, Any], mask: Value | None = None) -> None:
        self.builder = builder
        self.size = size
        self.known = known
        self.mask = mask
        self.atoms: dict[Any, Any] = {}

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Write a call of an op."""
        return self.builder.call(TABLE[name], *args, **kwargs)

    # Nodes

    def run(self, nodes: Iterable[Node]) -> None:
        """Write what the nodes mean for all examples."""
        for node in nodes:
            if node.op not in ("placeholder", "output") and node not in self.known:
                with self.builder.at(node):
                    self.known[node] = self._entry(node)

    def _entry(self, node: Node) -> Any:
        from weft.transform._batch_calls import SPECIAL, draws, may_raise
        from weft.transform._batch_control import batch_control

        if node.op == "get_attr":
            return self._attribute(node)
        varies = not all(is_plain(self.known[each]) for each in node.all_input_nodes)
        if node.op != "call_function":
            if varies or self.mask is not None:
                raise Unbatchable(f"a {node.op} node", node)
            return self.copy(node)
        if node.bodies and (varies or draws(node) or self.mask is not None):
            return batch_control(self, node)
        if self.mask is not None and may_raise(node, varies):
            raise Unbatchable("what may raise runs only for the examples that come there", node)
        guarded = self.mask is not None and (reads_by_key(node) or is_composite(node))
        if not varies and not draws(node) and not guarded:
            return self.copy(node)
        special = _special(node.target, SPECIAL)
        if special is not None:
            found = special(self, node)
            if found is not NotImplemented:
                return found
        called = op_call(node) if node.target is not operator.getitem or guarded or varies else None
        if called is None:
            return self.row_by_row(node)
        return self._op(node, *called, varies)

    def _op(self, node: Node, op: Op, bound: tuple[Any, ...], varies: bool) -> Any:
        from weft.transform._batch_rules import rule_of

        type_ = self.type_of(node)
        arguments = self.entries(bound)
        if varies and any(isinstance(part, Value) and part.type is None for part in _leaves(arguments)):
            return self.row_by_row(node)  # its dimensions are not known, so rules cannot tell where to align it
        rule = rule_of(op) if varies or not op.composite else None
        try:
            found = NotImplemented if rule is None else rule(self, op, arguments, type_)
            if found is NotImplemented and op.composite:
                found = self._composite(op, arguments)
        except (CaptureError, ShapeError) as error:
            # The graph of one example is right. Not known here is which of its sizes are one, or where they are.
            raise Unbatchable(f"sizes that are known for one example only ({error})", node) from error
        if found is NotImplemented:
            return self.row_by_row(node)
        return self.finished(found, type_, op.name)

    def row_by_row(self, node: Node) -> Any:
        """Run a node for one example after the other."""
        from weft.transform._batch_rows import each_row

        if self.mask is not None:
            raise Unbatchable("what has no rule runs only for the examples that come there", node)
        return each_row(self, [node], node)

    def _composite(self, op: Op, arguments: Sequence[Any]) -> Any:
        """Batch the body of an op, recorded for one example."""
        scratch = Builder(Graph(), self.builder.sizes, self.builder)  # which can read the sizes there are
        inner = Batch(self.builder, self.size, {}, self.mask)

        def stand_in(entry: Any) -> Any:
            if not isinstance(entry, (Rows, Value)):
                return entry
            node = scratch.region.placeholder("x")
            node.meta["type"] = entry.type
            inner.known[node] = entry if isinstance(entry, Rows) else self.builder.argument(entry)
            return Value(scratch, node, entry.type)

        values = [_mapped(entry, stand_in) for entry in arguments]
        try:
            with scratch.recording():
                result = spread_call(op.body)(*values)  # type: ignore[arg-type]  # a composite has a body
        except (NotDifferentiable, UnknownShape, TypeError):  # what only arrays can answer
            return NotImplemented
        inner.known.update((place, outer) for outer, place in scratch.region.inputs.items())
        inner.run(scratch.graph.nodes)
        return _mapped(result, lambda part: inner.known[part.node] if isinstance(part, Value) else part)

    def _attribute(self, node: Node) -> Any:
        """A constant of the graph, or of what the graph is a part of."""
        root = self.builder.root.graph
        graph = node.graph
        if graph is root:
            return node
        if node.target in graph.constants:
            value = graph.constants[node.target]
            path = next((name for name, held in root.constants.items() if held is value), None)
            if path is None:
                path = node.target
                while path in root.constants:
                    path += "_"
                root.constants[path] = value
        else:
            path = node.target
        first = next((each for each in root.nodes if each.op != "placeholder"), None)
        with root.inserting_after() if first is None else root.inserting_before(first):
            made = root.create_node("get_attr", path, (), {})
        made._position = node._position
        made._meta = dict(node._meta) if node._meta is not None else {}
        return made

    def copy(self, node: Node) -> Any:
        """The same call, of values that are the same for all examples."""
        build = self.builder

        def plain(each: Node) -> Any:
            return build.argument(self.known[each])

        args, kwargs = map_copy(node.args, plain), map_copy(node.kwargs, plain)
        made = build.graph.create_node(node.op, node.target, args, kwargs, node.name)
        made._position = node._position
        made._meta = dict(node._meta) if node._meta is not None else {}
        self.known[node] = made
        made._meta["type"] = type_ = self.retyped(made._meta.get("type"), made)
        if isinstance(type_, Spec):
            build.bind_sizes(made, type_)
        for body in made.bodies:
            self._retype_body(body)
        return made

    # Entries

    def entries(self, argument: Any) -> Any:
        """An argument of a node with what stands for its nodes: Rows, or Values where all examples have the same."""
        return _mapped(argument, lambda part: self.entry(part) if isinstance(part, Node) else part)

    def held(self, argument: Any) -> Any:
        """An argument of a node with what stands for its nodes, as it is known."""
        if isinstance(argument, Node):
            return self.known[argument]
        return tuple(map(self.held, argument)) if type(argument) is tuple else argument

    def entry(self, node: Node) -> Any:
        """What stands for a node, as rules take it."""
        found = self.known[node]
        return found if not is_plain(found) else self.builder.value(found)

    def front(self, entry: Any) -> Value:
        """An array of all examples, also of a value that all have in common."""
        if isinstance(entry, Rows):
            return entry.value
        if isinstance(entry, (list, tuple)) and not any(isinstance(part, Value) for part in pytree.leaves_of(entry)):
            entry = np.asarray(entry)
        if isinstance(entry, (Value, np.ndarray)) and (isinstance(entry, np.ndarray) or isinstance(entry.type, Spec)):
            return self.call("broadcast_to", entry, (self.size, *entry.shape))  # type: ignore[no-any-return]  # a Value
        dtype = kind_dtype(entry.type) if isinstance(entry, Value) else np.asarray(entry).dtype
        return self.call("full", (self.size,), entry, dtype=dtype)  # type: ignore[no-any-return]  # a Value

    def aligned(self, entry: Any, ndim: int) -> Any:
        """An entry with as many dimensions as `ndim`, new ones in front of the example's: it broadcasts as it did."""
        if not isinstance(entry, Rows):
            return entry
        missing = ndim - entry.ndim
        if missing <= 0:
            return entry.value
        return self.call("expand_dims", entry.value, axis=tuple(range(1, missing + 1)))

    def finished(self, found: Any, type_: Any, name: str) -> Any:
        """A result as entries, checked against the type that one example has."""
        if isinstance(type_, (tuple, list)):
            return tuple(self.finished(part, each, name) for part, each in zip(found, type_, strict=True))
        if isinstance(found, tuple) and type_ is None:  # only running tells what one example gives
            parts = [self.finished(part, None, name) for part in found]
            return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        if not isinstance(found, (Rows, Value)):
            return found
        value = found.value if isinstance(found, Rows) else found
        if isinstance(found, Value) and value.node.graph is not self.builder.graph:
            value = Value(self.builder, self.builder.argument(value), value.type)
        wanted = type_.shape if isinstance(type_, Spec) else ()
        if len(value.shape) == 1 + len(wanted):
            wanted = tuple(map(self._met, wanted, value.shape[1:]))
        if type_ is not None and not same_shape(value.shape, (self.size, *wanted)):
            if not _may_be(value.shape, (self.size, *wanted)):
                raise AssertionError(f"{name}: batched to {value.shape}, examples have {wanted}, there are {self.size}")
            # The example's shape was known by values, which a mask in a graph no longer shows.
            value = Value(value.builder, value.node, Spec((self.size, *wanted), value.dtype))
            retype(value.node, value.type)
        if type_ is not None and value.dtype != kind_dtype(type_):
            value = self.call("astype", value, kind_dtype(type_))
        return Rows(value, type_)

    # Types

    def type_of(self, node: Node) -> Any:
        """The type of a node's value for one example, in terms of the sizes there are now."""
        return self.retyped(node.meta.get("type"))

    def retyped(self, type_: Any, node: Node | None = None) -> Any:
        """A type of the graph that is batched, in terms of the sizes there are now; `node` has sizes that are gone."""
        if isinstance(type_, Spec):
            if not any(isinstance(d, Dim) for d in type_.shape):
                return type_
            return Spec(tuple(self.dim(d, node, axis) for axis, d in enumerate(type_.shape)), type_.dtype)
        if isinstance(type_, Tape):
            return Tape(tuple(self.retyped(part) for part in type_.types), type_.places)
        if isinstance(type_, Tapes):
            return Tapes(tuple(self.retyped(part) for part in type_.types))
        if isinstance(type_, (tuple, list)):
            parts = [self.retyped(part) for part in type_]
            return type(type_)(*parts) if hasattr(type_, "_fields") else type(type_)(parts)
        return type_

    def dim(self, dim: Any, node: Node | None = None, axis: int = 0) -> Any:
        """A size of the graph that is batched, as one that there is now."""
        if not isinstance(dim, Dim):
            return dim
        if node is not None and any(self.is_gone(atom) for atom in dim.atoms()):
            fresh = self.builder.sizes.size(node.name, dim.hint, ("size", node, axis))
            if dim.atom is not None:
                self.atoms[dim.atom] = fresh
            return fresh
        return dim.build(self._leaf, lambda function, operands: _SYMBOLIC.get(function, function)(*operands))

    def is_gone(self, atom: Any) -> bool:
        """Whether a size is one of a node of the graph that is batched for which nothing stands yet."""
        if atom in self.atoms or atom.source is None:
            return False
        return atom.source[1] not in self.known and atom.source[1].graph not in self.builder.around()

    def _met(self, dim: Any, now: Any) -> Any:
        """A size of a result: one that the node itself brings, as `x[mask]` does, is the size that the result has."""
        if not isinstance(dim, Dim) or dim.atom is None or not self.is_gone(dim.atom):
            return dim
        return self.atoms.setdefault(dim.atom, now)

    def _leaf(self, atom: Any) -> Any:
        found = self.atoms.get(atom)
        if found is None:
            found = self._moved(atom)
            if not self.is_gone(atom):
                self.atoms[atom] = found
        return found

    def _moved(self, atom: Any) -> Any:
        if atom.source is None or atom.source[1] not in self.known:
            return from_factor(atom)
        kind, node, *axis = atom.source
        now = self.known[node]
        if isinstance(now, Rows):
            if kind == "node":
                raise Unbatchable("a size that differs between examples", node)
            return now.shape[axis[0]]
        if kind == "node":
            return self.builder.integer_of(now) if isinstance(now, Node) else getattr(now, "node", now)
        now = self.builder.argument(now)
        return self.builder.sizes.size(atom.name, atom.hint, ("size", now, *axis))

    def _retype_body(self, graph: Graph) -> None:
        for node in graph.nodes:
            if node._meta is not None and "type" in node._meta:
                node._meta["type"] = self.retyped(node._meta["type"], node)
            for inner in node.bodies:
                self._retype_body(inner)


def is_composite(node: Node) -> bool:
    """Whether a node calls an op that has a body."""
    called = op_call(node)
    return called is not None and called[0].composite


def reads_by_key(node: Node) -> bool:
    """Whether a node reads or writes a part of an array at a place that only running tells."""
    called = op_call(node)
    if called is None or called[0].name not in ("getitem", "index_update", "index_add", "place_at"):
        return False
    source = node.args[0] if node.args else None
    if isinstance(source, Node) and not isinstance(source.meta.get("type"), Spec):
        return False
    found: list[Node] = []
    map_aggregate(called[1][1], lambda part: found.append(part) if isinstance(part, Node) else part)
    return bool(found)


def _special(target: Any, table: dict[Any, Callable[..., Any]]) -> Callable[..., Any] | None:
    try:
        return table.get(target)
    except TypeError:
        return None


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the leaves of tuples, lists, dicts and slices."""
    if isinstance(value, (tuple, list)):
        parts = [_mapped(part, function) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _mapped(part, function) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(_mapped(value.start, function), _mapped(value.stop, function), _mapped(value.step, function))
    return function(value)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    _mapped(value, found.append)
    return found


def _may_be(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether two shapes can be one: only sizes that are both known tell that they are not."""
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(isinstance(a, Dim) or isinstance(b, Dim) or a == b for a, b in pairs)


def batch_nodes(
    builder: Builder, nodes: Iterable[Node], known: dict[Node, Any], results: Sequence[Any], size: Any
) -> list[Any]:
    """Write nodes of one example for all; what stands for each result: Rows where examples differ.

    `known` tells what stands for the inputs: Rows, or a node where all examples have the same. Where something cannot
    be batched, the examples run one after the other.
    """
    from weft.transform._batch_bodies import take_back
    from weft.transform._batch_calls import seeds
    from weft.transform._batch_rows import each_row

    nodes = [node for node in nodes if node.op not in ("placeholder", "output")]
    batch = Batch(builder, size, dict(known))
    mark = builder.mark()
    try:
        if any(map(seeds, nodes)):
            raise Unbatchable("random numbers that each example seeds")
        batch.run(nodes)
        entries = [batch.held(each) for each in results]
        for entry, each in zip(entries, results, strict=True):
            if not _is_result(entry) or (entry is None and each is not None):
                raise Unbatchable("a result of no known type")
    except Unbatchable:
        take_back(builder, mark)
        entries = each_row(Batch(builder, size, dict(known)), nodes, list(results))
    return entries


def _is_result(entry: Any) -> bool:
    if isinstance(entry, tuple):
        return all(map(_is_result, entry))
    type_ = entry.meta.get("type") if isinstance(entry, Node) else bool
    return isinstance(entry, Rows) or (is_plain(entry) and (isinstance(type_, Spec) or type_ in NUMBERS))
