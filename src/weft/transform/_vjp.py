"""`vjp` and `linearize`: a function's value, and its derivative there as a function of its own, to be called later.

The derivative is cut off the graph of the whole. What of the value's computation it needs is kept in between.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
from weft._step import to_array, to_tensor
from weft._tracing import current_recorder
from weft.autograd import Tensor
from weft.capture._anomaly import run_module
from weft.capture._numpy_targets import ask_nobody, call_numpy
from weft.capture._recorder import Recorder
from weft.errors import DtypeError, ShapeError, WeftError
from weft.graph import Graph, GraphModule, Node
from weft.ops._op import TABLE
from weft.passes import PassManager
from weft.transform._activity import activity
from weft.transform._builder import Value
from weft.transform._forward import Pushforward
from weft.transform._joint import Halves, Joint, cut, joint_of
from weft.transform._leaves import active_from, no_tangent, split_aux, tangent_of, traced_results, varies
from weft.transform._modules import open_modules, varying
from weft.transform._section import Section, inlined, is_leaf, wrapped
from weft.transform._split import gradient_type
from weft.transform._transformed import Transformed, made_once


@without_frames
def vjp(function: Any, *args: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function from a gradient of the value to the gradients of all arguments.

    The latter gives a tuple, with None for what has no derivative, such as integers. With `has_aux` the function
    returns a pair, and the second part of it comes as a third result.

    >>> import numpy as np, weft
    >>> value, pull = weft.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> pull(np.array([1.0, 10.0]))
    (array([ 3., 30.]), np.float64(21.0))
    """
    return _cut_call("vjp", function, args, has_aux, _reverse)


@without_frames
def linearize(function: Any, *args: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function from tangents of the arguments to the tangent of the value.

    What the tangents do not decide is computed once, here.

    >>> import weft
    >>> value, push = weft.linearize(weft.sin, 0.0)
    >>> push(2.0), push(3.0)
    (np.float64(2.0), np.float64(3.0))
    """
    return _cut_call("linearize", function, args, has_aux, _forward)


Make = Callable[[Section, int], Joint]


def _cut_call(name: str, function: Any, args: tuple[Any, ...], has_aux: bool, make: Make) -> Any:
    recorder = current_recorder.get()
    if recorder is not None:
        return _inside(name, recorder, function, args, has_aux, make)
    made: Any = made_once(function, (name, has_aux), lambda: _Outside(name, function, has_aux, make))
    return made.cut(args)


def _reverse(section: Section, count: int) -> Joint:
    """Gradients of the arguments from those of the results."""
    places = [section.places[k] for k in range(len(section.given)) if varies(section, k)]
    return joint_of(section, section.leaves[:count], active_from(section, places), places)  # type: ignore[arg-type]  # those that vary have places


def _forward(section: Section, count: int) -> Joint:
    """Tangents of the results from those of the arguments."""
    builder = section.builder
    seeds: list[Node | None] = []
    push = Pushforward(builder, apart=True)
    nodes = list(section.graph.nodes)
    for k in range(len(section.given)):
        place = section.places[k]
        if place is None or not varies(section, k):
            continue
        seed = builder.region.placeholder(f"t_{place.name}")
        seed.meta["type"] = gradient_type(place.meta["type"])
        push.tangents[place] = Value(builder, seed, seed.meta["type"])
        seeds.append(seed)
    activity(nodes, dict.fromkeys(push.tangents, True))  # refuses what no derivative follows
    push.run(nodes)
    results = section.leaves[:count]
    tangents = [push.of(leaf) for leaf in results]
    filled = [
        no_tangent(builder, leaf) if found is None else found for found, leaf in zip(tangents, results, strict=True)
    ]
    return Joint(builder, results, seeds, filled, None)


class _Call:
    """A derivative to be called: where its arguments go, and how its results are put together."""

    def __init__(self, name: str, section: Section, joint: Joint, count: int, tree: Any, args: Any) -> None:
        self.name, self.reverse = name, name == "vjp"
        self.types = [None if seed is None else seed.meta["type"] for seed in joint.seeds]
        self.result = tree
        self.arguments = pytree.flatten(args, is_leaf=is_leaf)[1]
        self.varied = [varies(section, k) for k in range(len(section.given))]

    def given(self, values: tuple[Any, ...]) -> list[Any]:
        """The leaves of what the derivative is called with, one for each seed."""
        if self.reverse:
            if len(values) != 1:
                raise TypeError(f"the pullback takes the gradient of the value, got {len(values)} arguments")
            leaves, tree = pytree.flatten(values[0], is_leaf=_is_end)
            if tree != self.result:
                raise TypeError("the gradient given to the pullback has another structure than the value")
            return leaves
        leaves, tree = pytree.flatten(values, is_leaf=_is_end)
        if tree != self.arguments:
            raise TypeError("the tangents have another structure than the arguments")
        return [leaf for leaf, each in zip(leaves, self.varied, strict=True) if each]

    def shaped(self, found: list[Any]) -> Any:
        """The results of the derivative in their structure."""
        if not self.reverse:
            return self.result.unflatten(found)
        remaining = iter(found)
        return self.arguments.unflatten([next(remaining) if each else None for each in self.varied])


def _is_end(value: Any) -> bool:
    return value is None or is_leaf(value)


def _captured(name: str, recorder: Recorder, function: Any, args: Any, has_aux: bool, make: Make) -> Any:
    function, args = open_modules(recorder, function, args, list(range(len(args))))
    count = len(pytree.flatten(args, is_leaf=is_leaf)[0])
    section = Section(recorder, function, args, {}, vary=range(count))
    count, tree, rest = split_aux(recorder, section, has_aux)
    joint = make(section, count)
    return section, joint, _Call(name, section, joint, count, tree, args), rest, count


def _inside(name: str, recorder: Recorder, function: Any, args: Any, has_aux: bool, make: Make) -> Any:
    """In a captured program: the nodes of the derivative are written where it is called."""
    section, joint, call, rest, count = _captured(name, recorder, function, args, has_aux, make)
    after = joint.later_nodes()
    late = set(after)
    known: dict[Node, Any] = {}
    made = section.inline(section.leaves, [node for node in section.graph.nodes if node not in late], known)
    leaves = traced_results(section, made)
    likes = section.given if call.reverse else section.results[:count]
    likes = [like for like, each in zip(likes, call.varied, strict=True) if each] if call.reverse else likes

    def derivative(*values: Any) -> Any:
        here = {node: recorder.region.lift(at) if isinstance(at, Node) else at for node, at in known.items()}
        for seed, value in zip(joint.seeds, call.given(values), strict=True):
            if seed is not None:
                here[seed] = tangent_of(recorder, name, value, seed.meta["type"])
        inlined(recorder, after, here)
        found = [
            wrapped(recorder, here[value.node], value.type, like) if isinstance(value, Value) else value
            for value, like in zip(joint.gradients, likes, strict=True)
        ]
        return call.shaped(found)

    value = call.result.unflatten(leaves[:count])
    return (value, derivative) if rest is None else (value, derivative, rest.unflatten(leaves[count:]))


def _seed(name: str, value: Any, like: Any, dtype: Any) -> Any:
    """A gradient or tangent given for a value, in its dtype; an error where it does not fit, zeros for None."""
    if value is None:
        return TABLE["zeros"](np.shape(like), dtype)
    value = value if isinstance(value, Tensor) else np.asarray(value)
    if tuple(value.shape) != tuple(np.shape(like)):
        raise ShapeError(f"{name}: a derivative of shape {tuple(value.shape)} for a value of shape {np.shape(like)}")
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise DtypeError(f"{name}: a complex derivative for a value of {dtype}", help="give its real part")
    return value if value.dtype == dtype else TABLE["astype"](value, dtype)


class _Outside(Transformed):
    """The compiled forward of a function. It gives the value, what is kept, and which derivative takes it."""

    def __init__(self, name: str, function: Any, has_aux: bool, make: Make) -> None:
        self._later: list[tuple[GraphModule, _Call]] = []
        super().__init__(function, functools.partial(self._halve, name, has_aux, make), name)

    def _halve(
        self, name: str, has_aux: bool, make: Make, recorder: Recorder, function: Any, args: Any, kwargs: Any
    ) -> Any:
        section, joint, call, rest, count = _captured(name, recorder, function, args, has_aux, make)
        halves: Halves = cut(joint)
        late = set(joint.later_nodes())
        kept: list[Any] = list(halves.kept)
        made = section.inline([*section.leaves, *kept], [node for node in section.graph.nodes if node not in late])
        leaves = traced_results(section, made[: len(section.leaves)])
        held = [
            recorder.wrap(node, old.meta.get("type"), array=True) if isinstance(node, Node) else node
            for node, old in zip(made[len(leaves) :], kept, strict=True)
        ]
        PassManager(restore=False).run(halves.backward)
        call_numpy(halves.backward, not recorder.tensors)
        module = GraphModule(dict(halves.backward.constants), halves.backward)._told_in_user_lines()
        if not recorder.tensors:
            ask_nobody(type(module).forward)
        self._later.append((module, call))
        value = call.result.unflatten(leaves[:count])
        return value, () if rest is None else (rest.unflatten(leaves[count:]),), held, len(self._later) - 1

    def cut(self, args: tuple[Any, ...]) -> Any:
        """The value and the derivative."""
        value, rest, held, number = self(*args)
        module, call = self._later[number]
        leaves = pytree.flatten([varying(argument) for argument in args], is_leaf=is_leaf)[0]
        likes = [leaf for leaf, each in zip(leaves, call.varied, strict=True) if each]
        results = pytree.flatten(value, is_leaf=_is_end)[0]
        sides = (results, likes) if call.reverse else (likes, results)
        return (value, Derivative(self._about(), module, call, held, *sides), *rest)


class Derivative:
    """The derivative of a function at the arguments of one call, as `vjp` and `linearize` give it.

    `graph` is what a call runs, and `code` that graph as Python: its first inputs are values that were kept, the others
    what it is called with.
    """

    def __init__(
        self, about: str, module: GraphModule, call: _Call, held: list[Any], likes: list[Any], results: list[Any]
    ) -> None:
        self._about, self._module, self._call, self._held = about, module, call, held
        self._likes, self._results = likes, results

    @without_frames
    def __call__(self, *values: Any) -> Any:
        call = self._call
        if current_recorder.get() is not None:
            raise WeftError(
                "a derivative made outside of a captured function is called inside it",
                help=f"call weft.{call.name} inside, too",
            )
        given = zip(call.given(values), self._likes, call.types, strict=True)
        seeds = [_seed(call.name, value, like, type_.dtype) for value, like, type_ in given if type_ is not None]
        found = zip(run_module(self._module, *self._held, *seeds), self._results, strict=True)
        return call.shaped([to_tensor(one) if isinstance(like, Tensor) else to_array(one) for one, like in found])

    @property
    def graph(self) -> Graph:
        """The graph that a call runs."""
        return self._module.graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self._module.source_code

    def save(self, path: Any) -> None:
        """Raise: what was computed for one call is no function of a file."""
        raise WeftError(
            f"{self!r} holds what was computed for the arguments of one call, and is not saved",
            help=f"save a compiled function that calls weft.{self._call.name}, or the graph: .graph.save(path)",
        )

    def __repr__(self) -> str:
        return f"<{self._about} at the arguments of one call>"
