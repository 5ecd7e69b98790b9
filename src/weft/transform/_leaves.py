"""Arguments and results of a function that is transformed: which of their leaves take part, and in which structure."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from weft import _where, pytree
from weft._objects import dict_of, new_object
from weft.autograd import Tensor
from weft.capture._opaque import Opaque
from weft.capture._recorder import Recorder
from weft.capture._refusals import known_sizes
from weft.capture._signatures import call_signature
from weft.capture._values import Array, Scalar
from weft.errors import NotDifferentiable
from weft.graph import Node
from weft.graph._control_checks import leaf_paths
from weft.ops import Spec
from weft.transform._activity import activity
from weft.transform._builder import Builder
from weft.transform._calls import refuse_unknown
from weft.transform._section import Section, is_leaf, wrapped
from weft.transform._split import gradient_type

Numbers = int | Sequence[int]


def checked(name: str, argnums: Any) -> Numbers:
    """Positions of arguments as Python's integers; an error where they are something else."""
    try:
        if isinstance(argnums, (bool, np.bool_, str)):
            raise TypeError
        return index(argnums) if hasattr(argnums, "__index__") else tuple(map(index, argnums))
    except TypeError:
        raise TypeError(f"{name}: argnums is an integer or a sequence of them, got {_told(argnums)}") from None


def _told(argnums: Any) -> str:
    if isinstance(argnums, (np.ndarray, Tensor)):
        return "an array\n  help: a derivative is a function, which is then given the arguments: weft.grad(f)(x)"
    return repr(argnums)


def several(argnums: Numbers) -> tuple[int, ...]:
    """Positions of arguments, as a tuple."""
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def positions(name: str, args: tuple[Any, ...], argnums: Numbers) -> list[int]:
    """Positions of arguments, counted from the front; each is one of an argument there is, and none comes twice."""
    found: list[int] = []
    for number in several(argnums):
        at = number + len(args) if number < 0 else number
        if not 0 <= at < len(args):
            raise ValueError(f"{name}: argnums is {number}, and the call has {len(args)} arguments, counted from 0")
        if at in found:
            raise ValueError(f"{name}: argnums {argnums} names argument {at} twice")
        found.append(at)
    return found


def chosen_leaves(name: str, args: tuple[Any, ...], argnums: Numbers) -> list[int]:
    """The numbers of the leaves of the chosen arguments, among all leaves of all arguments; None is no leaf here."""
    count = 0
    numbered: list[list[int]] = []
    for argument in args:
        leaves = pytree.flatten(argument, is_leaf=is_leaf)[0]
        numbered.append([count + k for k, leaf in enumerate(leaves) if leaf is not None])
        count += len(leaves)
    return [number for at in positions(name, args, argnums) for number in numbered[at]]


def in_structure(args: tuple[Any, ...], argnums: Numbers, leaves: Sequence[Any]) -> Any:
    """Values for the leaves of the chosen arguments, in their structure; a tuple where several were chosen."""
    remaining = iter(leaves)
    made = []
    for number in several(argnums):
        flat, tree = pytree.flatten(args[number], is_leaf=is_leaf)
        made.append(tree.unflatten([None if leaf is None else next(remaining) for leaf in flat]))
    return made[0] if isinstance(argnums, int) else tuple(made)


def varies(section: Section, number: int) -> bool:
    """Whether a leaf of the arguments can vary: an array or a number of floating point."""
    place = section.places[number]
    return place is not None and gradient_type(place.meta["type"]).dtype.kind in "fc"


def must_vary(section: Section, args: tuple[Any, ...], numbers: Sequence[int]) -> list[Node]:
    """The inputs of some leaves of arguments; an error for one that has no derivative."""
    found = []
    for number in numbers:
        place, leaf = section.places[number], section.given[number]
        if place is None or not varies(section, number):
            raise no_derivative(leaf, leaf_names(section.program, args, [number])[0])
        assert place is not None
        found.append(place)
    return found


def no_derivative(leaf: Any, name: str, or_else: str = "name another argument in argnums") -> NotDifferentiable:
    """The error for a leaf of an argument that a function is to be differentiated by, and that does not vary."""
    help = "give floating point numbers"
    if gives_array(leaf):
        help = f"give the array it stands for: np.asarray({name}, dtype=float)"
    elif _is_object(leaf):
        help = (
            "make its class a dataclass or a Module, or name its parts with weft.pytree.register; they are "
            "differentiated then"
        )
    return NotDifferentiable(
        f"no derivative by {name}: it is {spoken(leaf)}, and does not vary continuously",
        where=_where.user_line(),
        help=f"{help}; or {or_else}",
    )


def _is_object(leaf: Any) -> bool:
    """Whether a leaf is an object of a class of the program's own, which may hold what varies."""
    return dict_of(leaf) is not None and not isinstance(leaf, (Array, Scalar, type)) and not callable(leaf)


def gives_array(leaf: Any) -> bool:
    """Whether a leaf is an object of another library that NumPy makes an array of: a table's column, an image."""
    return not isinstance(leaf, (Array, Scalar, np.ndarray, type)) and (
        hasattr(type(leaf), "__array__") or hasattr(type(leaf), "__array_interface__")
    )


def spoken(leaf: Any) -> str:
    """What a leaf of an argument is, in words."""
    if isinstance(leaf, Opaque):
        leaf = leaf.example if leaf.example is not None else leaf
    if isinstance(leaf, (Array, np.ndarray, Tensor)):
        shape, dtype = (leaf.spec.shape, leaf.spec.dtype) if isinstance(leaf, Array) else (leaf.shape, leaf.dtype)
        kind = "an array" if type(leaf) in (Array, np.ndarray, Tensor) else f"a {type(leaf).__name__}"
        return f"{kind} of {dtype}" if len(shape) else f"{kind} of {dtype} without dimensions"
    if isinstance(leaf, Scalar):
        leaf = leaf.kind
        return f"one {leaf.__name__ if isinstance(leaf, type) else leaf}"
    if leaf is None or isinstance(leaf, (str, bytes, bool)):
        return repr(leaf)
    if isinstance(leaf, Opaque):
        return "an array of objects or texts, or of a class of its own"
    return f"an object of class {type(leaf).__name__}"


def leaf_names(
    function: Any, args: tuple[Any, ...], numbers: Sequence[int], kwargs: dict[str, Any] | None = None
) -> list[str]:
    """What a person calls the leaves of arguments that have these numbers: `weights['bias']`."""
    try:
        parameters = list(call_signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    several = next((k for k, each in enumerate(parameters) if each.kind is each.VAR_POSITIONAL), len(parameters))
    names: list[str] = []
    for k, argument in enumerate(args):
        called = parameters[k].name if k < several else f"argument {k}"
        names += leaf_paths(pytree.flatten(argument, is_leaf=is_leaf)[1], called)
    for called, argument in (kwargs or {}).items():
        names += leaf_paths(pytree.flatten(argument, is_leaf=is_leaf)[1], called)
    return [names[number] for number in numbers]


def active_from(section: Section, places: Sequence[Node]) -> dict[Node, Any]:
    """Which nodes vary with some inputs."""
    return activity(section.graph.nodes, dict.fromkeys(places, True))


def traced_results(section: Section, made: Sequence[Any], leaves: slice = slice(None)) -> list[Any]:
    """The results of a call that was inlined, as traced values."""
    return [
        wrapped(section.recorder, node, leaf.meta.get("type"), like) if isinstance(leaf, Node) else leaf
        for node, leaf, like in zip(made, section.leaves[leaves], section.results[leaves], strict=True)
    ]


def split_aux(recorder: Recorder, section: Section, has_aux: bool) -> tuple[int, Any, Any]:
    """How many leaves the result proper has, its structure, and that of the rest, where `has_aux` says there is one."""
    main, rest = section.tree, None
    if has_aux:
        if main.kind is not tuple or len(main.children) != 2:
            recorder.refuse(
                "with has_aux the function returns a pair: its result, and anything else", help="return a pair"
            )
        main, rest = main.children
    for leaf, result in zip(section.leaves[: main.leaf_count], section.results, strict=False):
        if isinstance(leaf, Node):
            if leaf.target is new_object or (leaf.op == "placeholder" and "type" not in leaf.meta):
                recorder.refuse(
                    f"the function returns an object of class {type(result).__name__}, which has no derivative",
                    help="return its numbers and arrays; or make its class a dataclass, or name its parts with "
                    "weft.pytree.register",
                    result_of=section.program,
                )
            refuse_unknown(leaf, is_result=True)
    return main.leaf_count, main, rest


def no_tangent(builder: Builder, leaf: Any) -> Any:
    """The tangent of a result that does not vary; None where it is no number."""
    if isinstance(leaf, Node):
        return builder.zeros(leaf.meta["type"])
    return 0.0 if isinstance(leaf, (int, float, complex, np.number)) else None


def tangent_of(recorder: Recorder, name: str, value: Any, type_: Any) -> Any:
    """A tangent or gradient given for a value of a type, as a node or a number; an error where it does not fit."""
    spec: Spec = gradient_type(type_)
    if value is None:
        return recorder.arg(recorder.numpy.function(np.zeros, (spec.shape, spec.dtype), {}))
    kind = getattr(getattr(value, "dtype", None), "kind", None) or np.dtype(getattr(value, "kind", type(value))).kind
    if kind == "c" and spec.dtype.kind != "c":
        recorder.refuse(f"{name}: a complex derivative for a value of {spec.dtype}", help="give its real part")
    found = recorder.numpy.function(np.asarray, (value,), {"dtype": spec.dtype})
    if not spec.shape:
        found = found[()]  # a number: sums of arrays of no dimensions take ten times as long
    got = found.spec.shape if isinstance(found, Array) else ()
    if len(got) != len(spec.shape) or any(a != b for a, b in zip(got, spec.shape, strict=True)):
        shapes = known_sizes((tuple(got), tuple(spec.shape)))
        recorder.refuse(
            f"{name}: a derivative of shape {shapes[0]} for a value of shape {shapes[1]}",
            help="a tangent, or a gradient given, has the shape of its value",
        )
    return recorder.arg(found)
