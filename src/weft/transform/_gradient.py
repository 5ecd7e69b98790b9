"""`grad` and `value_and_grad`: the gradient of a function that gives one number.

>>> import numpy as np, weft
>>> def loss(x):
...     total = 0.0
...     for i in range(1, len(x)):
...         total += (x[i] - x[i - 1] ** 2) ** 2
...     return total
>>> weft.grad(loss)(np.array([1.0, 2.0, 3.0]))
array([-4., 10., -2.])
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft._frames import without_frames
from weft.capture._recorder import Recorder
from weft.capture._refusals import known_sizes
from weft.graph import Node
from weft.transform._dependence import tell_independent
from weft.transform._joint import joint_of, repeat_marked
from weft.transform._leaves import (
    Numbers,
    active_from,
    checked,
    chosen_leaves,
    in_structure,
    leaf_names,
    must_vary,
    positions,
    split_aux,
    traced_results,
)
from weft.transform._modules import open_modules
from weft.transform._section import Section, wrapped
from weft.transform._split import gradient_type
from weft.transform._transformed import Transformed


@without_frames
def grad(function: Any, argnums: Numbers = 0, has_aux: bool = False, *, strict: bool = False) -> Any:
    """The gradient of a function that gives one real number, with respect to the arguments at `argnums`.

    The function is plain NumPy code, with loops, branches and writes, or code of weft's; arguments are arrays, numbers,
    Tensors and containers of them. A sequence of `argnums` gives a tuple of gradients. With `has_aux` the function
    returns a pair, and so does its gradient: the gradient of the first part, and the second part as it is. Where the
    result does not depend on an argument, a warning says why, and the gradient is zeros; `strict` makes it an error.
    What the function writes into its arguments is not seen outside.

    >>> import numpy as np, weft
    >>> weft.grad(lambda x, scale: scale * np.sum(x**2))(np.array([1.0, 2.0]), 3.0)
    array([ 6., 12.])
    """
    record = functools.partial(_grad, "grad", checked("grad", argnums), has_aux, strict)
    return Transformed(function, record, "grad")


@without_frames
def value_and_grad(function: Any, argnums: Numbers = 0, has_aux: bool = False, *, strict: bool = False) -> Any:
    """The value of a function and its gradient, as a pair: see `grad`.

    >>> import weft
    >>> weft.value_and_grad(lambda x: x**3)(2.0)
    (8.0, np.float64(12.0))
    """
    record = functools.partial(_grad, "value_and_grad", checked("value_and_grad", argnums), has_aux, strict)
    return Transformed(function, record, "value_and_grad")


def _grad(
    name: str, argnums: Any, has_aux: bool, strict: bool, recorder: Recorder, function: Any, args: Any, kwargs: Any
) -> Any:
    function, args = open_modules(recorder, function, args, positions(name, args, argnums))
    wanted = chosen_leaves(name, args, argnums)
    section = Section(recorder, function, args, kwargs, vary=wanted)
    places = must_vary(section, args, wanted)
    result = _number(recorder, section, has_aux)
    joint = joint_of(section, [result], active_from(section, places), places)
    repeat_marked(joint)
    called = dict(zip(places, leaf_names(section.program, args, wanted), strict=True)) if joint.missing else {}
    tell_independent(name, {place: called[place] for place in joint.missing}, [result], strict)
    known: dict[Node, Any] = {}
    for seed in joint.seeds:
        if seed is not None:
            dtype = seed.meta["type"].dtype
            known[seed] = recorder.arg(recorder.numpy.function(np.ones, ((), dtype), {}))
    made = section.inline([*section.leaves, *(each.node for each in joint.gradients)], None, known)
    count = len(section.leaves)
    answer = section.tree.unflatten(traced_results(section, made[:count]))
    gradients = [
        wrapped(recorder, node, each.type, section.given[number])
        for node, each, number in zip(made[count:], joint.gradients, wanted, strict=True)
    ]
    shaped = in_structure(args, argnums, gradients)
    if name == "value_and_grad":
        return answer, shaped
    return (shaped, answer[1]) if has_aux else shaped


def _number(recorder: Recorder, section: Section, has_aux: bool) -> Any:
    """The one real number that a function gives."""
    _, tree, _ = split_aux(recorder, section, has_aux)
    if tree.kind is not None:
        recorder.refuse(
            f"the gradient is that of one number; the function returns a {tree.kind.__name__}",
            help="return one number, and the rest with has_aux=True; or use weft.jacrev",
            result_of=section.program,
        )
    result = section.leaves[0]
    if isinstance(result, Node):
        spec = gradient_type(result.meta["type"])
        if spec.shape:
            shape = known_sizes(spec.shape)
            recorder.refuse(
                f"the gradient is that of one number; the function returns an array of shape {shape}",
                help="sum it, or use weft.jacrev",
                result_of=section.program,
            )
        if spec.dtype.kind != "f":
            by_steps = "an integer does not vary continuously: return what it was computed from"
            recorder.refuse(
                f"the gradient is that of a real number; the function returns {spec.dtype}",
                help="return the real part, or the absolute value" if spec.dtype.kind == "c" else by_steps,
                result_of=section.program,
            )
    elif not isinstance(result, float):
        recorder.refuse(
            f"the gradient is that of a real number; the function returns {result!r}",
            help="a function without `return` gives None" if result is None else "return a float",
            result_of=section.program,
        )
    return result
