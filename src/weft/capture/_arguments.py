"""The arguments of a captured call: which become inputs of the graph, and which are fixed."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft._module import Module
from weft.autograd import Tensor
from weft.capture._opaque import Opaque, is_traceable
from weft.capture._outside import refuse_iterator
from weft.capture._region import Buffer
from weft.capture._signatures import call_signature, signature_of_one_call
from weft.capture._values import Scalar
from weft.errors import TraceError
from weft.graph import Inputs, Node
from weft.ops import Spec
from weft.ops._dim import fits_a_hint
from weft.ops._dim_sizes import Imagined
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_NUMBERS = (int, float, complex)
_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass
class Leaf:
    """One leaf of an argument: `node` is its input of the graph, None where it is fixed to `value`."""

    parameter: str
    value: Any
    node: Node | None = None
    traced: Any = None


@dataclass
class Arguments:
    """A call of a function: parameters with their structures, and all leaves in order."""

    names: list[str] = field(default_factory=list)
    trees: list[Any] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    kinds: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)  # what the converted function is given for each parameter

    def call(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments to run the converted function with."""
        remaining = iter(self.leaves)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, tree, kind in zip(self.names, self.trees, self.kinds, strict=True):
            value = tree.unflatten([next(remaining).traced for _ in range(tree.leaf_count)])
            self.values.append(value)
            if kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def inputs(self, held: int = 0) -> Inputs | None:
        """How a call becomes the flat list of the graph's inputs; None where each parameter is one input.

        The first `held` parameters are bound to the function and no part of a call.
        """
        skipped = sum(tree.leaf_count for tree in self.trees[:held])
        leaves, trees = self.leaves[skipped:], self.trees[held:]
        constants = {k: leaf.value for k, leaf in enumerate(leaves) if leaf.node is None}
        if not constants and all(tree == LEAF for tree in trees):
            return None
        names = [_STARS.get(kind, "") + name for name, kind in zip(self.names, self.kinds, strict=True)]
        return Inputs(tuple(names[held:]), tuple(trees), constants)


def bind(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], held: int | None = None
) -> inspect.BoundArguments:
    """The arguments by the function's parameters, defaults filled in; Python's own error where they do not fit.

    Where it is said how many are bound to the function, the parameters may be those of calls of this form alone.
    """
    try:
        if held is None:
            signature = call_signature(function)
        else:
            signature = signature_of_one_call(function, args, kwargs, held)
    except (ValueError, TypeError):
        raise TraceError(
            f"{function!r} has no signature, so its inputs are not known",
            help="wrap it in a function with named parameters: lambda x: f(x)",
        ) from None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{getattr(function, '__name__', function)}() {error}") from None
    bound.apply_defaults()
    return bound


def placeholders(
    recorder: Recorder,
    bound: inspect.BoundArguments,
    *,
    dynamic: bool,
    numbers: tuple[type, ...],
    given: set[str],
    held: int | None = None,
    shares: bool = True,
    changing: Container[str] = (),
    objects: bool = False,
    whole: bool = False,
) -> Arguments:
    """Make the inputs of the graph. `numbers` are the types of Python's numbers that are inputs; others are fixed.

    Where the graph is called as the function is, inputs keep their defaults, and `held` says how many parameters are
    bound to the function: they are fixed whole, whatever they hold. `shares` says whether an array that is given twice
    is one array in later calls, too. With `whole` a large container of plain data is one input, of which nothing is
    known, and so are parameters that are `changing`: the program changes them. With `objects` those of other classes
    are what they are.
    """
    made = Arguments()
    starred = [name for name, parameter in bound.signature.parameters.items() if parameter.kind in _STARS]
    large = large_data([v for name, v in bound.arguments.items() if name not in starred]) if whole else ()
    shared: dict[int, Any] = {}
    for position, (name, value) in enumerate(bound.arguments.items()):
        fixed = held is not None and position < held
        as_one = fixed or name in changing or any(value is each for each in large)
        is_leaf = _is_whole if objects else _is_leaf
        leaves, tree = ([value], LEAF) if as_one else pytree.flatten(value, is_leaf=is_leaf)
        made.names.append(name)
        made.trees.append(tree)
        made.kinds.append(bound.signature.parameters[name].kind)
        for number, leaf in enumerate(leaves, 1):
            label = name if tree == LEAF else f"{name}_{number}"
            one = Leaf(name, leaf)
            if shares and isinstance(leaf, (np.ndarray, Tensor)) and id(leaf) in shared:
                one.traced = shared[id(leaf)]
            if name in changing or (any(leaf is each for each in large) and tree == LEAF):
                one.node = _placeholder(recorder, label)
                one.traced = Opaque(recorder, one.node)
            elif not fixed and (name in given or isinstance(leaf, (np.ndarray, Tensor))):
                input_of(recorder, one, label, dynamic=dynamic, numbers=numbers)
                if held is not None:
                    _default(one, tree, bound.signature.parameters[name].default)
            if one.node is None:
                refuse_iterator(recorder, leaf)
                one.traced = leaf
            elif shares and isinstance(leaf, (np.ndarray, Tensor)):
                one.traced = shared.setdefault(id(leaf), one.traced)
            made.leaves.append(one)
    if held is not None:
        _without_gaps(made, bound.signature.parameters)
    return made


_LARGE = 200  # parts of a container from which on it would cost more to look at each than most programs do
_DATA = frozenset({bool, int, float, complex, str, bytes, type(None)})
_OPENED: dict[type, Any] = {list: list, tuple: list, dict: lambda value: list(value.values())}


def large_data(values: Iterable[Any]) -> list[Any]:
    """Those among arguments that are large containers of numbers and texts, and share no part with others."""
    found: list[tuple[Any, set[int]]] = []
    for value in values:
        inside = _inside(value) if type(value) in _OPENED else None
        if inside is not None:
            found.append((value, inside))
    if not found:
        return []
    counts = Counter(key for _, inside in found for key in inside)
    others = [value for value in values if not any(value is each for each, _ in found)]
    parts = {id(part) for value in others for part in _containers(value)}
    return [value for value, inside in found if not any(counts[key] > 1 or key in parts for key in inside)]


def _inside(value: Any) -> set[int] | None:
    """The ids of a container and those in it; None of one that is small, or holds more than numbers and texts."""
    count, ids, waiting = 0, {id(value)}, [value]
    while waiting:
        parts = _OPENED[type(waiting[-1])](waiting.pop())
        count += len(parts)
        if _DATA.issuperset(map(type, parts)):
            continue
        for part in parts:
            if type(part) in _OPENED:
                if id(part) in ids:
                    return None
                ids.add(id(part))
                waiting.append(part)
            elif type(part) not in _DATA:
                return None
    return ids if count > _LARGE else None


def _containers(value: Any) -> Iterator[Any]:
    """A container and all in it."""
    waiting = [value]
    while waiting:
        opened = pytree.parts_of(waiting[-1])
        yield waiting.pop()
        waiting += [] if opened is None else opened[0]


def _default(leaf: Leaf, tree: Any, default: Any) -> None:
    """Let an input keep the default of its parameter, where that is a number of the type the graph is for."""
    if leaf.node is not None and tree == LEAF and type(default) in _NUMBERS and type(default) is type(leaf.value):
        leaf.node.args = (default,)


def _without_gaps(made: Arguments, parameters: Mapping[str, inspect.Parameter]) -> None:
    """Leave defaults out that stand before an input without one, so that all are given by position as before."""
    required = False
    for leaf in reversed(made.leaves):
        if leaf.node is None or parameters[leaf.parameter].kind is inspect.Parameter.KEYWORD_ONLY:
            continue
        required = required or not leaf.node.args
        if required and leaf.node.args:
            leaf.node.args = ()


def _is_leaf(value: Any) -> bool:
    return isinstance(value, (np.ndarray, Tensor, Spec, Module))


def _is_whole(value: Any) -> bool:
    """Whether a value is an object of a class of the program's own, and no container of Python's."""
    return _is_leaf(value) or dataclasses.is_dataclass(value) or pytree.is_registered(type(value))


def input_of(
    recorder: Recorder, leaf: Leaf, label: str, *, dynamic: bool, numbers: tuple[type, ...], make: Any = None
) -> None:
    """Make a leaf an input of the graph, where it is of a kind that may be one; `make` makes its placeholder."""
    from weft.capture._layouts import layout_of

    value, place = leaf.value, make or functools.partial(_placeholder, recorder)
    if isinstance(value, (np.ndarray, Tensor, Spec)):
        leaf.node = place(label)
        if not isinstance(value, Spec) and not is_traceable(value):
            leaf.traced = Opaque(recorder, leaf.node)
            return
        spec = Spec(_sizes(recorder, leaf.node, label, value.shape, dynamic), value.dtype)
        leaf.node.meta["type"] = spec
        buffer = Buffer(spec, label, leaf.node, layout=layout_of(value, label))
        recorder.root.make(buffer, leaf.node)
        leaf.traced = recorder.array_class(isinstance(value, Tensor))(recorder, buffer, (), spec)
    elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
        leaf.node = place(label)
        leaf.node.meta["type"] = Spec((), value.dtype)
        leaf.traced = Scalar(recorder, value.dtype, leaf.node)
    elif type(value) in numbers:
        leaf.node = place(label)
        leaf.node.meta["type"] = type(value)
        hint = value if dynamic and (type(value) is not int or fits_a_hint(value)) else None
        leaf.traced = Scalar(recorder, type(value), leaf.node, hint=hint)
        leaf.traced.name = label
        if type(value) is int:
            leaf.traced.dim = recorder.sizes.value(label, hint, ("node", leaf.node))
    elif isinstance(value, (np.random.Generator, np.random.RandomState)):
        leaf.node = place(label)
        leaf.traced = Opaque(recorder, leaf.node, copy.deepcopy(value))


def _placeholder(recorder: Recorder, label: str) -> Node:
    node = recorder.root.graph.create_node("placeholder", label, (), {}, label)
    node._position = recorder.start
    return node


def _sizes(recorder: Recorder, node: Node, label: str, shape: Any, dynamic: bool) -> list[Any]:
    """The sizes of an input: symbolic where they may differ in another call; 0 and 1 mean something of their own."""
    from weft.ops._dim import Dim

    if not dynamic:
        return [_rebound(recorder, node, axis, d) if isinstance(d, Dim) else d for axis, d in enumerate(shape)]
    return [
        d if d in (0, 1) else recorder.sizes.size(f"{label}_{axis}", int(d), ("size", node, axis))
        for axis, d in enumerate(shape)
    ]


def _rebound(recorder: Recorder, node: Node, axis: int, dim: Any) -> Any:
    """A size that a Spec names by a string, as a size of this capture: the first input that has it tells it."""
    known = recorder.named_sizes
    if dim.key not in known:
        known[dim.key] = recorder.sizes.size(str(dim), Imagined(dim.hint), ("size", node, axis))
    return known[dim.key]
