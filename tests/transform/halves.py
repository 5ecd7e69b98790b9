"""Running the halves of a joint graph, and the same on the tape, to be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft import pytree
from weft.nn import Module
from weft.transform._partition import Partition
from weft.transform._partition_measure import arrays_in

POLICIES = ("keep", "default", "checkpoint")


def as_array(value: Any) -> np.ndarray:
    return np.asarray(value._array if isinstance(value, weft.Tensor) else value)


def gradients_of(results: list[Any]) -> list[np.ndarray]:
    """Some gradients for results, the same each time."""
    rng = np.random.default_rng(7)
    return [rng.standard_normal(np.shape(as_array(each))).astype(as_array(each).dtype) for each in results]


def on_the_tape(function: Any, args: tuple[Any, ...], names: list[str]) -> tuple[list[Any], list[np.ndarray]]:
    """Results and gradients of arguments and parameters as the tape computes them."""
    flat, tree = pytree.flatten(args)
    tensors = [
        weft.tensor(np.array(leaf), requires_grad=True) if np.asarray(leaf).dtype.kind in "fc" else leaf
        for leaf in flat
    ]
    parameters = dict(function.named_parameters()) if isinstance(function, Module) else {}
    for parameter in parameters.values():
        parameter.grad = None
    result = function(*tree.unflatten(tensors))
    leaves = pytree.flatten(result, is_leaf=lambda value: isinstance(value, weft.Tensor))[0]
    varied = [leaf for leaf in leaves if isinstance(leaf, weft.Tensor) and leaf.requires_grad]
    seeds = gradients_of(varied)
    weft.autograd.backward(varied, [weft.tensor(seed) for seed in seeds])
    found = [t for t in tensors if isinstance(t, weft.Tensor)] + [
        parameters[name] for name in names if name in parameters
    ]
    grads = [np.zeros(t.shape, t.dtype) if t.grad is None else as_array(t.grad) for t in found]
    return [as_array(leaf) for leaf in leaves], grads


def in_halves(halves: Partition, args: tuple[Any, ...]) -> tuple[list[Any], list[np.ndarray]]:
    """The same from the two graphs."""
    value, pull = halves(*args)
    leaves, tree = pytree.flatten(value, is_leaf=lambda value: isinstance(value, weft.Tensor))
    varied = iter(gradients_of([leaf for leaf, s in zip(leaves, halves.joint.seeds, strict=True) if s is not None]))
    given = [None if seed is None else next(varied) for seed in halves.joint.seeds]
    return [as_array(leaf) for leaf in leaves], [as_array(each) for each in pull(tree.unflatten(given))]


def check_alike(function: Any, *args: Any, seed: int | None = None, **how: Any) -> Partition:
    """The halves give what the tape gives, and what is kept is what is told."""
    joint = weft.joint_graph(function, *args)
    joint.graph.lint()
    halves = weft.partition(joint, **how)
    for module in (halves.forward, halves.backward, halves.whole()):
        module.graph.lint()
    if seed is not None:
        weft.manual_seed(seed)
    values, gradients = in_halves(halves, args)
    if seed is not None:
        weft.manual_seed(seed)
    expected, wanted = on_the_tape(function, args, halves.names)
    assert len(values) == len(expected) and len(gradients) == len(wanted) == len(halves.names)
    for got, want in zip([*values, *gradients], [*expected, *wanted], strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        # The order of sums differs between tape and graph.
        single = got.dtype in (np.dtype("float32"), np.dtype("complex64"))
        np.testing.assert_allclose(got, want, rtol=2e-4 if single else 1e-9, atol=1e-5 if single else 1e-11)
    return halves


def kept_bytes(halves: Partition, args: tuple[Any, ...]) -> int:
    """Bytes of the arrays that the forward really gives to the backward, but those of arguments and parameters."""
    with weft.no_grad():
        made = halves.forward(*halves.joint.leaves(args, {}))
    states = [each for _, each in (*halves.forward.named_parameters(), *halves.forward.named_buffers())]
    theirs = {_owner(array) for array in arrays_in([*halves.joint.leaves(args, {}), *states])}
    owners = {_owner(array): array for array in arrays_in(list(made[len(halves.joint.results) :]))}
    return sum(size for _, size in {owner for owner in owners if owner not in theirs})


def _owner(array: np.ndarray) -> tuple[int, int]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array), array.nbytes
