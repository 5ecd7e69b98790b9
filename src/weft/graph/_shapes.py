"""Shapes and dtypes of every value of a graph, found by running it on arrays or on Specs.

With Specs nothing is computed: ops answer with their shape rules, submodules run their `forward` on Specs. The result
is stored on each node, as `meta["type"]`:

    >>> import weft
    >>> graph = weft.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(weft.sum, (x,), {"axis": 0}))
    >>> graph.infer(weft.spec((3, 4), "float32"))
    Spec(shape=(4,), dtype='float32')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import pytree
from weft._where import package_name
from weft.errors import UnknownShape, WeftError
from weft.graph._control_shapes import Never, effect, has_rule, infer_control, is_effect
from weft.graph._graph import Graph
from weft.graph._interpreter import Interpreter
from weft.graph._node import Node
from weft.graph._print import target_name
from weft.graph._unknown import NUMBERS, Unknown, has_unknown, sizes
from weft.graph._unknown import call as call_unknown
from weft.ops._dim import Sizes
from weft.ops._numpy import op_call
from weft.ops._op import Op
from weft.ops._spec import Spec, spec_of


class ShapeProp(Interpreter):
    """Runs a graph and notes the shape and dtype of every value on its node."""

    _abstract = False  # whether to describe what is drawn at random instead of drawing it

    def propagate(self, *args: Any) -> Any:
        """Run on arrays or Specs and return the result; `meta["type"]` of each node tells its shape and dtype."""
        self._abstract = self._abstract or _has_spec(pytree.leaves_of(args))
        token = sizes.set(Sizes())
        try:
            return self.run(*(Unknown(arg) if self._abstract and _is_kind(arg) else arg for arg in args))
        finally:
            sizes.reset(token)

    def run_node(self, n: Node) -> Any:
        """Run one node and note the type of its result."""
        try:
            result = super().run_node(n)
        except WeftError as error:
            if n.location is None:
                raise
            raise type(error)(error.message, where=str(n.location), help=error.help) from None
        found = type_of(result)
        if found is not None:
            n.meta["type"] = n.meta["tensor_meta"] = found
        else:
            n.meta.pop("type", None)
            n.meta.pop("tensor_meta", None)
        return result

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function; NumPy's functions do not know Specs, the ops that mean the same do."""
        if has_rule(target, args):
            return self._control(target, args, kwargs)
        if self._abstract and is_effect(target):
            return effect(target)
        if self._abstract and has_unknown(args, kwargs):
            return call_unknown(target, args, kwargs)
        if self._abstract and isinstance(target, Op) and target.draws(args, kwargs):
            arguments = zip(target.__signature__.parameters, target.bind(args, kwargs), strict=True)
            return target.infer(*(spec_of(value) if name in target.arrays else value for name, value in arguments))
        if isinstance(target, Op) or not (_has_spec(args) or _has_spec(pytree.leaves_of((args, kwargs)))):
            return super().call_function(target, args, kwargs)
        meant = op_call(target, args, kwargs)
        if meant is not None:
            op, args, kwargs = meant
            return op(*args, **kwargs)
        if package_name(target) == "numpy":
            raise UnknownShape(
                f"{target_name(target)} has no shape rule for this call",
                help="propagate an example array, not a Spec",
            )
        return super().call_function(target, args, kwargs)

    def _control(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Control flow: on Specs by the shapes of its bodies, which are noted on their nodes; on arrays by running."""
        if self._abstract or _has_spec(pytree.leaves_of((args, kwargs))):
            was, self._abstract = self._abstract, True
            try:
                return infer_control(target, args, kwargs, self.run_body)
            finally:
                self._abstract = was
        return super().call_function(target, args, kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the run returns; nothing is written, for this is to look and not to run."""
        return args[0]


def infer(graph: Graph, *specs: Any) -> Any:
    """Shape and dtype of the result for inputs of these Specs (arrays count as theirs); every node's is noted."""
    abstract = [spec_tree(value) for value in specs]
    found = ShapeProp(graph.owning_module, graph=graph)
    found._abstract = True
    return pytree.map(_told, found.propagate(*abstract))


def _told(leaf: Any) -> Any:
    """What a caller is told of a value: of a number that only running can tell, its type."""
    return leaf.kind if isinstance(leaf, Unknown) else None if isinstance(leaf, Never) else leaf


def _is_kind(value: Any) -> bool:
    return isinstance(value, type) and value in NUMBERS


def spec_tree(value: Any) -> Any:
    """Specs in place of arrays in a nested value."""
    return pytree.map(_spec_or_value, value)


def type_of(value: Any) -> Any:
    """The Spec of an array, the Python type of a number that is not known, or a container of them; else None.

    In a container beside one of them, a number that is known counts by its type too.
    """
    if isinstance(value, Spec):
        return value
    leaves, tree = pytree.flatten(value)
    types = [_leaf_type(leaf) for leaf in leaves]
    if all(found is None for found in types):
        return None
    numbers = zip(types, leaves, strict=True)
    return tree.unflatten([type(leaf) if found is None and type(leaf) in NUMBERS else found for found, leaf in numbers])


def _leaf_type(leaf: Any) -> Any:
    if isinstance(leaf, Unknown):
        return leaf.kind
    found = _spec_or_value(leaf)
    return found if isinstance(found, Spec) else None


def _has_spec(values: Sequence[Any]) -> bool:
    return any(isinstance(value, Spec) for value in values)


def _spec_or_value(value: Any) -> Any:
    if isinstance(value, Spec) or not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return value
    return Spec(value.shape, value.dtype)
