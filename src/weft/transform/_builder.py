"""`Builder`: adds typed nodes to a graph; `Value` is what derivative rules compute with.

A rule calls ops on Values as it would on arrays, and each call becomes a node. So the rules of the op table, which
serve the tape, serve graphs as well.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft import pytree
from weft._tracing import current_tracer
from weft.capture._kinds import REPRESENTATIVES
from weft.capture._region import Region
from weft.capture._sizes import SizeNodes
from weft.graph import Graph, Node
from weft.ops import Op, Spec
from weft.ops._dim import REASONED, Dim, Sizes, same_shape, traced_sizes, unknown_sizes
from weft.ops._methods import Methods
from weft.ops._op import TABLE
from weft.transform._tape import EMPTY, Tape, Tapes


class Value(Methods):
    """The value of a node, of a known type: an array, or a number of Python's or NumPy's."""

    __slots__ = ("builder", "node", "type")
    __weft_priority__ = 60
    type: Any  # a Spec or a type of numbers; of Tensors it is a method
    _is_proxy = True  # so that a graph refuses it as a constant

    def __init__(self, builder: Builder, node: Node, type_: Any) -> None:
        self.builder = builder
        self.node = node
        self.type = type_

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]  # read only here
        return self.type.shape if isinstance(self.type, Spec) else ()

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # read only here
        return self.type.dtype if isinstance(self.type, Spec) else np.dtype(self.type)

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.builder.call(op, *args, **kwargs)

    def __weft_along__(self, step: Any, carries: Any, rows: Any, operands: Any, reverse: bool) -> Any:
        from weft.transform._along import along

        return along(self.builder, step, carries, rows, operands, reverse)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(int(self.shape[0]))])

    def __bool__(self) -> bool:
        raise TypeError(f"the value of {self.node.name} is known only when the graph runs")

    def __repr__(self) -> str:
        return f"<value of {self.node.name}: {self.type}>"


class Nothing(Value):
    """The gradient of a value that nothing reads: zeros, which a rule may leave out."""

    is_nothing = True


class Builder(SizeNodes):
    """Writes into one graph, or into the body of a control-flow node of the graph of its `parent`.

    `position` and `label` are where in the program the nodes now being made come from.
    """

    def __init__(self, graph: Graph, sizes: Sizes, parent: Builder | None = None, region: Region | None = None) -> None:
        self.region = Region(None if parent is None else parent.region) if region is None else region
        self.region.graph = graph
        self.root = self.region
        while self.root.parent is not None:
            self.root = self.root.parent
        self.sizes = sizes
        self.graph = graph
        self.position: Any = None
        self.integers: dict[Node, Any] = {}
        self.computed: dict[Node, tuple[Any, ...]] = {}
        self.equal: set[frozenset[Any]] = set()  # pairs of sizes that ops have required to be one
        self.seen = 0  # of the assumptions on sizes

    # Values

    def value(self, node: Any) -> Any:
        """The Value of a node; what holds nodes becomes the same of Values."""
        if isinstance(node, Node):
            node = self.region.lift(node)
            return self.wrap(node, node.meta.get("type"))
        if isinstance(node, (tuple, list)):
            parts = [self.value(part) for part in node]
            return type(node)(*parts) if hasattr(node, "_fields") else type(node)(parts)
        if isinstance(node, slice):
            return slice(self.value(node.start), self.value(node.stop), self.value(node.step))
        if isinstance(node, dict):
            return {key: self.value(part) for key, part in node.items()}
        return node

    def wrap(self, node: Node, type_: Any) -> Any:
        """The Value of a node of this type; a tuple of Values where it gives several."""
        if isinstance(type_, (tuple, list)):
            parts = [self.item(node, k, part) for k, part in enumerate(type_)]
            return type(type_)(*parts) if hasattr(type_, "_fields") else tuple(parts)
        return Value(self, node, type_)

    def item(self, node: Node, index: int, type_: Any) -> Any:
        """One of several results."""
        for user in node.users:
            if user.target is operator.getitem and user.args == (node, index) and user.graph is self.graph:
                return self.wrap(user, type_)
        made = self.create(operator.getitem, (node, index), {}, type_)
        if isinstance(type_, Spec):
            self.bind_sizes(made, type_)
        return self.wrap(made, type_)

    def argument(self, value: Any) -> Any:
        """What a value is as an argument of a node."""
        if isinstance(value, Value):
            return self.region.lift(value.node)
        if isinstance(value, Node):
            return self.region.lift(value)
        if isinstance(value, Dim):
            return self.size_node(value)
        if isinstance(value, (tuple, list)):
            parts = [self.argument(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, slice):
            return slice(self.argument(value.start), self.argument(value.stop), self.argument(value.step))
        if isinstance(value, dict):
            return {key: self.argument(part) for key, part in value.items()}
        if isinstance(value, np.ndarray):
            return self.constant(value)
        return value

    def constant(self, array: np.ndarray[Any, Any]) -> Any:
        """A node that gives an array: a call that makes it where all of its elements are one number."""
        if array.ndim == 0:
            return array[()]
        first = array.flat[0] if array.size else np.zeros((), array.dtype)[()]
        if array.size == 0 or (array == first).all():
            return self.call(TABLE["full"], array.shape, first.item(), dtype=array.dtype).node
        root = self.root.graph
        name = f"_array{len(root.constants)}"
        root.constants[name] = array
        first_call = next((node for node in root.nodes if node.op != "placeholder"), None)
        with root.inserting_after() if first_call is None else root.inserting_before(first_call):
            node = root.create_node("get_attr", name, (), {})
        node._meta = {"type": Spec(array.shape, array.dtype)}
        return self.region.lift(node)

    # Nodes

    def create(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], type_: Any, name: str | None = None
    ) -> Node:
        """A call of a function."""
        node_args = tuple([self.argument(a) for a in args])
        node_kwargs = {key: self.argument(a) for key, a in kwargs.items()} if kwargs else kwargs
        node = self.graph.create_node("call_function", target, node_args, node_kwargs, name)
        node._position = self.position
        node._meta = {"type": type_}
        return node

    def call(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Record a call of an op; the Value of its result, or a tuple of them."""
        arguments = op.bind(args, kwargs)
        names = op.__signature__.parameters
        rules = [
            self._counted(value)
            if name in _COUNTS
            else self.abstract(value)
            if is_array
            else self.structural(value, bound=name == "shape")
            for name, value, is_array in zip(names, arguments, op.takes_arrays, strict=True)
        ]
        type_ = self.inferred(op, rules)
        node = self.create(_operator(op, args, kwargs), args, kwargs, type_)
        if isinstance(type_, Spec):
            self.bind_sizes(node, type_)
            return Value(self, node, type_)
        return self.wrap(node, type_)

    def inferred(self, op: Op, rules: Any) -> Any:
        """What the shape rule of an op says. Where it had to guess at sizes, those of the result are left open."""
        guessed = len(self.sizes.assumed)
        token = current_tracer.set(None)
        try:
            with unknown_sizes(self.sizes):
                type_ = op.infer(*rules)
        finally:
            current_tracer.reset(token)
        if isinstance(type_, (np.ndarray, np.generic)):
            type_ = Spec(type_.shape, type_.dtype)
        if all(g.relation == "==" and g.outcome for g in self.sizes.assumed[guessed:]):
            return type_
        return pytree.map(lambda spec: self._opened(spec, op), type_)

    def _opened(self, spec: Any, op: Op) -> Any:
        if not isinstance(spec, Spec):
            return spec
        given = "shape" in op.__signature__.parameters  # so numbers in it are sizes of the result, whatever the others
        return Spec([d if given and type(d) is int else self.sizes.fresh(op.name) for d in spec.shape], spec.dtype)

    def abstract(self, value: Any) -> Any:
        """What a shape rule is given for an array."""
        if isinstance(value, Value):
            return value.type if isinstance(value.type, Spec) else REPRESENTATIVES.get(value.type, value.type)
        if isinstance(value, np.ndarray):
            return Spec(value.shape, value.dtype)
        if isinstance(value, (tuple, list)):
            return type(value)([self.abstract(part) for part in value])
        return value

    def structural(self, value: Any, bound: bool = False) -> Any:
        """What a shape rule is given for any other parameter: integers are expressions of sizes where they can be."""
        if isinstance(value, Value):
            if value.type is int or (bound and value.shape == () and value.dtype.kind in "iu"):
                return self.integer_of(value.node) if bound else Spec((), np.intp)
            return value.type if isinstance(value.type, Spec) else Spec((), np.dtype(value.type))
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, (tuple, list)):
            return type(value)([self.structural(part, bound) for part in value])
        if isinstance(value, slice):
            return slice(*(self.structural(part, True) for part in (value.start, value.stop, value.step)))
        return value

    def integer_of(self, node: Node) -> Any:
        """An integer as an expression of sizes."""
        known = self.integers.get(node)
        if known is None:
            known = self._size_of(node)
            if known is None:
                known = self.sizes.value(node.name, None, ("node", node))
            self.integers[node] = known
        return known

    def _size_of(self, node: Node) -> Any:
        """The expression that a node computes, where it computes a size; None otherwise."""
        if node.op != "call_function" or node.kwargs:
            return None
        if node.target is operator.getitem and isinstance(node.args[0], Node) and node.args[0].target is getattr:
            spec = node.args[0].args[0].meta.get("type")
            return spec.shape[node.args[1]] if node.args[0].args[1] == "shape" and isinstance(spec, Spec) else None
        if node.target not in _INTEGER_ARITHMETIC or node.meta.get("type") is not int:
            return None
        operands = [self.integer_of(each) if isinstance(each, Node) else each for each in node.args]
        if any(isinstance(each, Dim) and each.hint is None for each in operands):
            return None  # nothing is gained
        found = node.target(*operands)
        return None if isinstance(found, Dim) and found.weight > REASONED else found

    def parameters(self, op: Op, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a call as a derivative rule is given them: sizes of arrays are expressions, as in shapes."""
        names = op.__signature__.parameters
        return tuple(
            self.value(argument) if takes and name not in _COUNTS else self._sized(self.value(argument))
            for argument, takes, name in zip(arguments, op.takes_arrays, names, strict=True)
        )

    def _counted(self, value: Any) -> Any:
        """What a shape rule is given for an array, or the number that is a size."""
        if isinstance(value, Value) and value.type is int:
            return self.integer_of(value.node)
        if isinstance(value, (tuple, list)):
            return type(value)([self._counted(part) for part in value])
        return self.abstract(value)

    def _sized(self, value: Any) -> Any:
        if isinstance(value, Value):
            if value.type is not int:
                return value
            size = self.integer_of(value.node)
            found = isinstance(size, Dim) and size.hint is None and self._size_of(value.node) is None
            return value if found else size
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)([self._sized(part) for part in value])
        if isinstance(value, slice):
            return slice(self._sized(value.start), self._sized(value.stop), self._sized(value.step))
        return value

    def size_node(self, dim: Any, name: str | None = None, written: Node | None = None) -> Any:
        made = super().size_node(dim, name, written)
        if isinstance(made, Node):
            self.integers.setdefault(made, dim)
        return made

    def _combine(self, function: Any, operands: tuple[Any, ...]) -> Any:
        """Right after what it is computed from, since it serves every use of the size, wherever nodes are added."""
        here = [each for each in operands if isinstance(each, Node) and each.graph is self.graph]
        if not here:
            return super()._combine(function, operands)
        place = max(here)
        while place.next.op == "placeholder":
            place = place.next
        with self.graph.inserting_before(place.next):
            return super()._combine(function, operands)

    def number(self, function: Any, left: Any, right: Any) -> Any:
        """Arithmetic with sizes that gives no integer: `n / 2`."""
        return Value(self, self.create(function, (left, right), {}, float), float)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Calls of sizes and plain values that differ from run to run are recorded inside: `arange(n)`, draws."""
        token = current_tracer.set(self)
        try:
            with traced_sizes(self):
                yield
        finally:
            current_tracer.reset(token)

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a draw of random numbers that takes no value of the graph."""
        return self.call(target, *args, **kwargs)

    @contextmanager
    def at(self, node: Node) -> Iterator[None]:
        """Nodes made inside come from where another node comes from."""
        before, self.position = self.position, node._position
        try:
            yield
        finally:
            self.position = before

    def same(self, shape: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Whether two shapes are one: by proof, or since an op of the program would have failed if they were not."""
        if same_shape(shape, other):
            return True
        if len(shape) != len(other):
            return False
        assumed = self.sizes.assumed
        for guard in assumed[self.seen :]:
            if guard.relation == "==" and guard.outcome:
                self.equal.add(frozenset((_key(guard.left), _key(guard.right))))
        self.seen = len(assumed)
        pairs = zip(shape, other, strict=True)
        return all(same_shape((a,), (b,)) or frozenset((_key(a), _key(b))) in self.equal for a, b in pairs)

    def mark(self) -> Node:
        """The node after which the next one will stand, for `since`."""
        graph = self.graph
        return graph._after if graph._after is not None else graph._before._prev

    def since(self, mark: Node) -> list[Node]:
        """The nodes made after a mark, in order."""
        found = []
        node = self.mark()
        while node is not mark:
            found.append(node)
            node = node._prev
        return found[::-1]

    def zeros(self, type_: Any) -> Any:
        """The derivative of what does not vary."""
        if isinstance(type_, (Tape, Tapes)):
            return EMPTY  # of a tape used up
        spec = type_ if isinstance(type_, Spec) else Spec((), np.dtype(type_))
        return self.call(TABLE["zeros"], spec.shape, spec.dtype)

    def around(self) -> set[Graph]:
        """The graph that is written, and those around it."""
        found: set[Graph] = set()
        region: Region | None = self.region
        while region is not None:
            found.add(region.graph)
            region = region.parent
        return found


_COUNTS = frozenset({"bins", "repeats"})  # parameters that are an array, or a number that decides sizes
_INTEGER_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg})

_OPERATORS = {
    TABLE[name]: getattr(operator, function)
    for name, function in {
        "add": "add",
        "subtract": "sub",
        "multiply": "mul",
        "divide": "truediv",
        "negative": "neg",
        "pow": "pow",
        "matmul": "matmul",
        "greater": "gt",
        "greater_equal": "ge",
        "less": "lt",
        "less_equal": "le",
        "equal": "eq",
        "not_equal": "ne",
        "getitem": "getitem",
    }.items()
}


def retype(node: Node, type_: Any) -> None:
    """Note what is known of the type of a node; of one of several results, with the node that gives them, too."""
    node.meta["type"] = type_
    if node.target is operator.getitem and isinstance(node.args[0], Node) and isinstance(node.args[1], int):
        whole = node.args[0].meta.get("type")
        if isinstance(whole, (tuple, list)) and not hasattr(whole, "_fields"):
            retype(node.args[0], type(whole)(type_ if k == node.args[1] else each for k, each in enumerate(whole)))


def _operator(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator of Python's that means an op, where one of its operands is NumPy's."""
    if kwargs or op not in _OPERATORS:
        return op
    return _OPERATORS[op] if any(isinstance(a, Value) and isinstance(a.type, Spec) for a in args) else op


def _key(size: Any) -> Any:
    return size.key if isinstance(size, Dim) else size
