"""`jacfwd`, `jacrev` and `hessian`: all derivatives of a function's results by its arguments.

>>> import numpy as np, weft
>>> weft.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
array([[10.,  6.],
       [ 6.,  0.]])
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
from weft.capture._memory import is_tensor
from weft.capture._recorder import Recorder
from weft.capture._region import Buffer
from weft.capture._values import Array, Scalar
from weft.ops._dim import Dim
from weft.transform._leaves import (
    Numbers,
    checked,
    chosen_leaves,
    in_structure,
    leaf_names,
    no_derivative,
    positions,
)
from weft.transform._modules import open_modules
from weft.transform._section import is_leaf, traced
from weft.transform._transformed import Transformed
from weft.transform._vjp import linearize, vjp
from weft.transform._vmap import record_vmap


@without_frames
def jacrev(function: Any, argnums: Numbers = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The Jacobian of a function, row by row in reverse mode: cheap where there are fewer results than arguments.

    For each leaf of the result there is, for each leaf of the arguments at `argnums`, an array whose first axes are
    those of the result and whose last ones are those of the argument. A complex function must be `holomorphic`.

    >>> import numpy as np, weft
    >>> weft.jacrev(np.cumsum)(np.ones(3))
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    numbers = checked("jacrev", argnums)
    return Transformed(function, functools.partial(_jacrev, numbers, has_aux, holomorphic), "jacrev")


@without_frames
def jacfwd(function: Any, argnums: Numbers = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The Jacobian of a function, column by column in forward mode: see `jacrev`."""
    numbers = checked("jacfwd", argnums)
    return Transformed(function, functools.partial(_jacfwd, numbers, has_aux, holomorphic), "jacfwd")


@without_frames
def hessian(function: Any, argnums: Numbers = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The second derivatives of a function that gives one number, or of each of its results.

    >>> import numpy as np, weft
    >>> weft.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 1.0]))
    array([[2., 6.],
           [6., 0.]])
    """
    argnums = checked("hessian", argnums)
    inner = jacrev(function, argnums, has_aux, holomorphic)
    made = jacfwd(inner, argnums, has_aux, holomorphic)
    made._made_by, made._of = "hessian of", function
    return made


def _chosen(
    name: str, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Numbers
) -> tuple[Any, Any, tuple[Any, ...]]:
    """A function of the chosen arguments alone, those, and all arguments, Modules among the chosen ones as dicts."""
    places = positions(name, args, argnums)
    function, args = open_modules(recorder, function, args, places)
    leaves, tree = pytree.flatten((args, kwargs), is_leaf=is_leaf)
    leaves = [traced(recorder, leaf) for leaf in leaves]
    args = tree.unflatten(leaves)[0]
    for number in chosen_leaves(name, args, argnums):
        leaf = leaves[number]
        if not isinstance(leaf, (Array, Scalar, int, float, complex, np.number)):
            raise no_derivative(leaf, leaf_names(function, args, [number])[0])

    def call(*chosen: Any) -> Any:
        given, named = tree.unflatten([_own(recorder, leaf) for leaf in leaves])
        given = dict(enumerate(given)) | dict(zip(places, chosen, strict=True))
        return recorder.run(function, tuple(given.values()), named)

    return call, tuple(args[place] for place in places), args


def _own(recorder: Recorder, leaf: Any) -> Any:
    """An array of the function's own that begins as another one, so that what it writes stays inside."""
    if not isinstance(leaf, Array):
        return leaf
    buffer = Buffer(leaf.spec, leaf.buffer.name, layout=leaf)
    recorder.region.make(buffer, recorder.arg(leaf))
    return type(leaf)(recorder, buffer, (), leaf.spec)


def _jacrev(
    argnums: Any, has_aux: bool, holomorphic: bool, recorder: Recorder, function: Any, args: Any, kwargs: Any
) -> Any:
    call, chosen, args = _chosen("jacrev", recorder, function, args, kwargs, argnums)
    value, pull, *aux = vjp(call, *chosen, has_aux=has_aux)
    outputs, tree = pytree.flatten(value, is_leaf=is_leaf)
    _check_kinds(recorder, "jacrev", outputs, holomorphic)
    rows = []
    for k, output in enumerate(outputs):
        if isinstance(output, Array) and any(isinstance(d, Dim) and d.hint is None for d in output.spec.shape):
            recorder.refuse("jacrev of a result whose size depends on values", help="use weft.jacfwd, or np.where")
        shape, dtype = _shape(output), _dtype(output)

        def one(direction: Any, k: int = k) -> Any:
            given = [
                direction if j == k else recorder.numpy.function(np.zeros, (_shape(each), _dtype(each)), {})
                for j, each in enumerate(outputs)
            ]
            return pull(tree.unflatten(given))

        found = record_vmap(0, 0, recorder, one, (_basis(recorder, shape, dtype),), {})
        leaves = pytree.flatten(found, is_leaf=is_leaf)[0]
        inputs = pytree.flatten(chosen, is_leaf=is_leaf)[0]
        rows.append(
            [
                _reshaped(recorder, _conjugate(recorder, leaf, holomorphic), (*shape, *_shape(x)), x)
                for leaf, x in zip(leaves, inputs, strict=True)
                if x is not None
            ]
        )
    made = tree.unflatten([in_structure(args, argnums, row) for row in rows])
    return (made, aux[0]) if has_aux else made


def _jacfwd(
    argnums: Any, has_aux: bool, holomorphic: bool, recorder: Recorder, function: Any, args: Any, kwargs: Any
) -> Any:
    call, chosen, args = _chosen("jacfwd", recorder, function, args, kwargs, argnums)
    inputs, shape_of_inputs = pytree.flatten(chosen, is_leaf=is_leaf)
    _check_kinds(recorder, "jacfwd", [x for x in inputs if x is not None], holomorphic)
    value, push, *aux = linearize(call, *chosen, has_aux=has_aux)
    tree = pytree.flatten(value, is_leaf=is_leaf)[1]
    columns: list[list[Any]] = []
    for k, x in enumerate(inputs):
        if x is None:
            continue
        shape, dtype = _shape(x), _dtype(x)

        def one(direction: Any, k: int = k) -> Any:
            tangents = shape_of_inputs.unflatten([direction if j == k else None for j in range(len(inputs))])
            return push(*tangents)

        found = record_vmap(0, -1, recorder, one, (_basis(recorder, shape, dtype),), {})
        leaves = pytree.flatten(found, is_leaf=is_leaf)[0]
        columns.append([_reshaped(recorder, leaf, (*_shape(leaf)[:-1], *shape), x) for leaf in leaves])
    rows = [in_structure(args, argnums, [column[k] for column in columns]) for k in range(tree.leaf_count)]
    made = tree.unflatten(rows)
    return (made, aux[0]) if has_aux else made


def _reshaped(recorder: Recorder, value: Any, shape: tuple[Any, ...], like: Any) -> Any:
    """A derivative in the shape that it has with respect to an argument, and of the class of that."""
    made = recorder.numpy.function(np.reshape, (value, shape), {})
    node = made.node
    node.meta["as_traced"] = True
    return recorder.wrap(node, made.spec, array=True, tensor=is_tensor(like))


def _shape(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape) if isinstance(value, (Array, np.ndarray)) else ()


def _dtype(value: Any) -> np.dtype[Any]:
    if isinstance(value, Scalar):
        return np.dtype(value.kind)
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _basis(recorder: Recorder, shape: tuple[Any, ...], dtype: Any) -> Any:
    """All directions in which an array of a shape can vary, one after the other."""
    count: Any = 1
    for size in shape:
        count = count * size
    made = recorder.numpy.function(np.eye, (count,), {"dtype": dtype})
    return recorder.numpy.function(np.reshape, (made, (count, *shape)), {})


def _conjugate(recorder: Recorder, value: Any, holomorphic: bool) -> Any:
    """A derivative, of a gradient: the two are conjugates of each other."""
    return recorder.numpy.function(np.conj, (value,), {}) if holomorphic else value


def _check_kinds(recorder: Recorder, name: str, values: Any, holomorphic: bool) -> None:
    for value in values:
        kind = _dtype(value).kind
        if kind != ("c" if holomorphic else "f"):
            of_complex = "of a function of complex numbers say holomorphic=True, or take real and imaginary parts apart"
            recorder.refuse(
                f"{name}: {'complex' if holomorphic else 'real'} values are expected, got {_dtype(value)}",
                help=of_complex
                if kind in "cf"
                else "an integer does not vary continuously: give floating point numbers",
            )
