"""What must hold of a later call for the graph of a training step to be the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.autograd import Tensor
from weft.capture._step_state import Stepped, _kind

if TYPE_CHECKING:
    from weft.capture._guards import Guards
    from weft.capture._steps import Training


def step_guards(guards: Guards, training: Training) -> None:
    """Add the guards of a step to those of a captured call."""
    if not training.used:
        return
    inputs = {id(value): guards.names[node] for node, value in training.inputs.items() if node in guards.names}
    labels = {id(value): guards.labels[node] for node, value in training.inputs.items() if node in guards.labels}
    outside = []
    for value, _ in training.buffers().values():
        if id(value) in inputs:
            text = inputs[id(value)]
            needs = value._requires_grad
            test = f"{text}._requires_grad is {needs}" + (f" and {text}._step is None" if needs else "")
            guards.require(test, f"{labels[id(value)]} {'requires' if needs else 'does not require'} a gradient")
        else:
            outside.append((value, value._requires_grad, value.dtype, value.shape))
    held = guards.bound(tuple(outside), "leaves")
    guards.require(
        f"{guards.bound(leaves_fit, 'fits')}({held})",
        "the same parameters require gradients, of the same shapes and dtypes",
    )
    asked = [grad for grad in training.grads.values() if grad.asked]
    was = {id(grad.tensor): None if grad.tensor.grad is None else _kind(grad.tensor.grad) for grad in asked}
    for grad in asked:
        if id(grad.tensor) in inputs:
            fits, before = guards.bound(grad_fits, "fits"), guards.bound(was[id(grad.tensor)], "was")
            guards.require(
                f"{fits}({inputs[id(grad.tensor)]}, {before})", "an argument has a gradient, or none, as before"
            )
    kept = tuple((grad.tensor, was[id(grad.tensor)]) for grad in asked if id(grad.tensor) not in inputs)
    if kept:
        text = f"{guards.bound(grads_fit, 'fits')}({guards.bound(kept, 'grads')})"
        has = "have" if kept[0][1] is not None else "have no"
        guards.require(text, f"the parameters {has} gradients when the step begins")
    for stepped in training.optimizers.values():
        text = f"{guards.bound(optimizer_fits, 'fits')}({guards.bound(_Was(stepped), 'optimizer')})"
        name = type(stepped.optimizer).__name__
        guards.require(text, f"{name} has the same parameters, options that decide, and kinds of state")


def leaves_fit(leaves: tuple[tuple[Tensor, bool, Any, Any], ...]) -> bool:
    """Whether the same Tensors require gradients, are what they were, and none has a hook."""
    return all(
        one._requires_grad is needs and one._array.dtype == dtype and one._array.shape == shape and not one._hooks
        for one, needs, dtype, shape in leaves
    )


def grad_fits(tensor: Tensor, was: Any) -> bool:
    """Whether a Tensor has a gradient of the same kind, or none, as before."""
    present = tensor.grad
    if present is None or was is None:
        return present is was
    return present.shape == was.shape and present.dtype == was.dtype and not present._requires_grad


def grads_fit(grads: tuple[tuple[Tensor, Any], ...]) -> bool:
    """The same for several."""
    return all(grad_fits(tensor, was) for tensor, was in grads)


class _Was:
    """What an optimiser was like when a step of it was captured."""

    def __init__(self, stepped: Stepped) -> None:
        self.optimizer = stepped.optimizer
        self.update = type(stepped.optimizer)._update
        self.groups = [group["params"] for group in stepped.optimizer.param_groups]
        self.parameters = stepped.groups
        self.fixed = stepped.fixed
        self.states = [(state.parameter, state.kinds, state.begun, state.plain) for state in stepped.states.values()]


def optimizer_fits(was: _Was) -> bool:
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
