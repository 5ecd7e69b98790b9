"""What must hold of a later call for the graph of a training step to be the right one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.capture._checks import Expr, both, call, form, same
from weft.capture._step_state import Stepped, _kind

if TYPE_CHECKING:
    from weft.capture._guards import Guards
    from weft.capture._steps import Training


def step_guards(guards: Guards, training: Training) -> None:
    """Add the guards of a step to those of a captured call."""
    if not training.used and not training.optimizers:
        return
    inputs = {id(value): guards.names[node] for node, value in training.inputs.items() if node in guards.names}
    labels = {id(value): guards.labels[node] for node, value in training.inputs.items() if node in guards.labels}
    outside = []
    for value, _ in training.buffers().values():
        if id(value) in inputs:
            given, needs = inputs[id(value)], value._requires_grad
            test = same(form("requires_grad", given), needs)
            if needs:
                test = both(test, same(form("step", given), None), form("not", form("hooks", given)))
            guards.require(test, f"{labels[id(value)]} {'requires' if needs else 'does not require'} a gradient")
        else:
            outside.append((value, value._requires_grad, value.dtype, value.shape, bool(value._hooks)))
            if value._hooks:  # what they do is in the graph
                says = "the parameters have the same hooks"
                guards.require(call(hooks_fit, value, _hooks(value)), says, outside=True)
    guards.require(
        call(leaves_fit, tuple(outside)),
        "the same parameters require gradients, of the same shapes, dtypes and hooks",
    )
    asked = [grad for grad in training.grads.values() if grad.asked]
    was = {id(grad.tensor): None if grad.tensor.grad is None else _kind(grad.tensor.grad) for grad in asked}
    for grad in asked:
        if id(grad.tensor) in inputs:
            test = call(grad_fits, inputs[id(grad.tensor)], was[id(grad.tensor)])
            guards.require(test, "an argument has a gradient, or none, as before")
    kept = tuple((grad.tensor, was[id(grad.tensor)]) for grad in asked if id(grad.tensor) not in inputs)
    if kept:
        has = "have" if kept[0][1] is not None else "have no"
        guards.require(call(grads_fit, kept), f"the parameters {has} gradients when the step begins")
    _sharing(guards, training, inputs)
    for stepped in training.optimizers.values():
        name = type(stepped.optimizer).__name__
        says = f"{name} has the same parameters, options that decide, and kinds of state"
        guards.require(call(optimizer_fits, _was(stepped)), says)


def _sharing(guards: Guards, training: Training, inputs: dict[int, Expr]) -> None:
    """What the step writes shares no memory with anything else: the graph takes each for itself."""
    if not training.put:
        return
    given = [(value, inputs[id(value)]) for value in training.inputs.values() if id(value) in inputs]
    given = [(value, found) for value, found in given if isinstance(value, (np.ndarray, Tensor))]
    outside: list[Any] = [value for value, _ in training.buffers().values() if id(value) not in inputs]
    outside += [value for value, _ in training.recorder.constants.values() if isinstance(value, np.ndarray)]
    written = tuple(id(value) in training.put for value in (*outside, *(value for value, _ in given)))
    test = call(apart, tuple(outside), written, *(found for _, found in given))
    guards.require(test, "what the step writes shares no memory with anything else", plain=True)


def apart(outside: tuple[Any, ...], written: tuple[bool, ...], *given: Any) -> bool:
    """Whether of some arrays those that are written share no memory with others."""
    owners: dict[int, Any] = {}  # by the id of what has the memory, all arrays in it
    for value, changes in zip((*outside, *given), written, strict=True):
        array = value._array if isinstance(value, Tensor) else value
        base = array.base
        owners.setdefault(id(array if base is None else base), []).append((array, changes))
    return not any(
        (changes or others_change) and np.may_share_memory(array, other)
        for arrays in owners.values()
        if len(arrays) > 1
        for (array, changes), (other, others_change) in itertools.combinations(arrays, 2)
    )


def leaves_fit(leaves: tuple[tuple[Tensor, bool, Any, Any, bool], ...]) -> bool:
    """Whether the same Tensors require gradients, are what they were, and have no hooks that are not in the graph."""
    return all(
        one._requires_grad is needs
        and one._array.dtype == dtype
        and one._array.shape == shape
        and (has or not one._hooks)
        for one, needs, dtype, shape, has in leaves
    )


def hooks_fit(tensor: Tensor, hooks: tuple[Any, ...]) -> bool:
    """Whether a Tensor has the hooks that it had."""
    return _hooks(tensor) == hooks


def _hooks(tensor: Tensor) -> tuple[Any, ...]:
    return tuple((tensor._hooks or {}).values())


def grad_fits(tensor: Tensor, was: Any) -> bool:
    """Whether a Tensor has a gradient of the same kind, or none, as before."""
    present = tensor.grad
    if present is None or was is None:
        return present is was
    return present.shape == was.shape and present.dtype == was.dtype and not present._requires_grad


def grads_fit(grads: tuple[tuple[Tensor, Any], ...]) -> bool:
    """The same for several."""
    return all(grad_fits(tensor, was) for tensor, was in grads)


class Was:
    """What an optimiser was like when a step of it was captured."""

    def __init__(self, optimizer: Any, parameters: Any, fixed: dict[tuple[int, str], Any], states: list[Any]) -> None:
        self.optimizer = optimizer
        self.update = type(optimizer)._update
        self.parameters = parameters
        self.fixed = fixed
        self.states = states


def _was(stepped: Stepped) -> Was:
    states = [(state.parameter, state.kinds, state.begun, state.plain) for state in stepped.states.values()]
    return Was(stepped.optimizer, stepped.groups, stepped.fixed, states)


def optimizer_fits(was: Was) -> bool:
    """Whether an optimiser is as it was, but for numbers."""
    optimizer = was.optimizer
    groups = optimizer.param_groups
    if type(optimizer)._update is not was.update or len(groups) != len(was.parameters):
        return False
    for group, parameters in zip(groups, was.parameters, strict=True):
        given = group["params"]
        if len(given) != len(parameters) or not all(map(_same, given, parameters)):
            return False
    if any(groups[number].get(name, _same) != value for (number, name), value in was.fixed.items()):
        return False
    casts = optimizer._buffers
    return all(_state_fits(optimizer.state.get(parameter), casts, *rest) for parameter, *rest in was.states)


def _same(one: Any, other: Any) -> bool:
    return one is other


def _state_fits(state: Any, casts: Any, kinds: Any, begun: Any, plain: Any) -> bool:
    """Whether what an optimiser remembers of a parameter is of the same kinds.

    What it begins itself may be missing; what follows the dtype of its parameter is brought to it when the step begins.
    """
    state = state or {}
    for name, kind in kinds.items():
        if name not in state:
            if name not in begun:
                return False
        elif isinstance(kind, type):
            if type(state[name]) is not kind:
                return False
        elif kind is None:
            if state[name] is not plain[name] and state[name] != plain[name]:
                return False
        else:
            value = state[name]
            if not isinstance(value, Tensor) or value.shape != kind.shape:
                return False
            if value.dtype != kind.dtype and name not in casts:
                return False
    return len(state) <= len(kinds) and all(name in kinds for name in state)
