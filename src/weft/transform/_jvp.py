"""`jvp` and `hvp`: derivatives along a direction.

>>> import numpy as np, weft
>>> weft.jvp(np.sin, (0.0,), (2.0,))
(np.float64(0.0), np.float64(2.0))
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
from weft._tracing import current_recorder
from weft.capture._callables import check_callable, check_gives_at_once
from weft.capture._recorder import Recorder
from weft.graph import Node
from weft.transform._activity import activity
from weft.transform._builder import Value
from weft.transform._forward import Pushforward
from weft.transform._gradient import grad
from weft.transform._leaves import leaf_names, no_derivative, no_tangent, split_aux, tangent_of, traced_results, varies
from weft.transform._modules import open_modules, varying
from weft.transform._section import Section, is_leaf, wrapped
from weft.transform._split import gradient_type
from weft.transform._transformed import Transformed, made_once


@without_frames
def jvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of a function at `primals`, a tuple of arguments, and its derivative along `tangents`, one for each.

    A tangent is None where the argument does not vary. With `has_aux` the function returns a pair, and the second part
    of it comes as a third result.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: {name} is a tuple of values, one for each argument; got {type(given).__name__}")
    if len(primals) != len(tangents):
        raise TypeError(f"jvp: {len(primals)} primals and {len(tangents)} tangents")
    recorder = current_recorder.get()
    if recorder is not None:
        return _jvp(has_aux, recorder, function, tuple(primals), tuple(tangents))
    made = made_once(function, ("jvp", has_aux), lambda: _along(function, functools.partial(_jvp, has_aux), "jvp"))
    return made(tuple(primals), tuple(tangents))


@without_frames
def hvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a function of one number at `primals` times a direction: the derivative of its gradient.

    Of several primals there are as many results, None for one that does not vary, such as an integer.

    >>> import numpy as np, weft
    >>> weft.hvp(lambda x: (x**3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    varied = tuple(k for k, primal in enumerate(primals) if len(primals) == 1 or _may_vary(primal))
    made = made_once(function, ("hvp", len(primals), varied), lambda: grad(function, varied))
    found = iter(jvp(made, primals, tangents)[1])
    along = tuple(next(found) if k in varied else None for k in range(len(primals)))
    return along[0] if len(primals) == 1 else along


def _may_vary(value: Any) -> bool:
    """Whether an argument has a leaf of floating point."""
    for leaf in pytree.flatten(varying(value), is_leaf=is_leaf)[0]:
        kind = getattr(leaf, "dtype", None) or getattr(leaf, "kind", type(leaf))
        if kind in (float, complex) or (isinstance(kind, np.dtype) and kind.kind in "fc"):
            return True
    return False


def _along(function: Any, record: Any, name: str) -> Transformed:
    """A function of primals and tangents."""
    check_callable(name, function)
    check_gives_at_once(function)

    def call(primals: Any, tangents: Any) -> Any:
        raise AssertionError("recorded, never run")

    call.__name__ = call.__qualname__ = getattr(function, "__name__", name)
    return Transformed(
        call, lambda recorder, _, args, kwargs: record(recorder, function, *args, **kwargs), name, function
    )


def _jvp(has_aux: bool, recorder: Recorder, function: Any, primals: Any, tangents: Any) -> Any:
    moving = [k for k, tangent in enumerate(tangents) if tangent is not None]
    function, primals = open_modules(recorder, function, primals, moving)
    matched = _matched(recorder, primals, tangents)
    vary = [k for k, tangent in enumerate(matched) if tangent is not None]
    section = Section(recorder, function, primals, {}, vary=vary)
    count, tree, rest = split_aux(recorder, section, has_aux)
    builder, push = section.builder, Pushforward(section.builder)
    nodes = list(section.graph.nodes)
    known: dict[Node, Any] = {}
    for k, tangent in enumerate(matched):
        place = section.places[k]
        if tangent is None:
            continue
        if place is None or not varies(section, k):
            name = leaf_names(section.program, primals, [k])[0]
            raise no_derivative(section.given[k], name, "give None for its tangent")
        seed = builder.region.placeholder(f"t_{place.name}")
        seed.meta["type"] = gradient_type(place.meta["type"])
        known[seed] = tangent_of(recorder, "jvp", tangent, seed.meta["type"])
        push.tangents[place] = Value(builder, seed, seed.meta["type"])
    activity(nodes, dict.fromkeys(push.tangents, True))  # refuses what no derivative follows
    push.run(nodes)
    found = []
    for leaf in section.leaves[:count]:
        tangent = push.of(leaf)
        found.append(no_tangent(builder, leaf) if tangent is None else tangent)
    made = section.inline([*section.leaves, *(getattr(each, "node", each) for each in found)], None, known)
    leaves = traced_results(section, made[: len(section.leaves)])
    along = [
        wrapped(recorder, node, each.type, like) if isinstance(each, Value) else node
        for node, each, like in zip(made[len(leaves) :], found, section.results, strict=False)
    ]
    value = tree.unflatten(leaves[:count]), tree.unflatten(along)
    return value if rest is None else (*value, rest.unflatten(leaves[count:]))


def _matched(recorder: Recorder, primals: Any, tangents: Any) -> list[Any]:
    """A tangent, or None, for each leaf of the primals."""
    found: list[Any] = []
    for primal, tangent in zip(primals, tangents, strict=True):
        leaves, tree = pytree.flatten(primal, is_leaf=is_leaf)
        if tangent is None:
            found += [None] * len(leaves)
            continue
        given, other = pytree.flatten(tangent, is_leaf=lambda value: value is None or is_leaf(value))
        if other != tree:
            recorder.refuse(
                "jvp: a tangent has another structure than its primal",
                help="give the tangent the containers of the argument, with one array or number for each of its own",
            )
        found += given
    return found
