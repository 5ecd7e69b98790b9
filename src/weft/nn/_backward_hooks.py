"""Hooks that see the gradients at both ends of a module: `Module.register_full_backward_hook`.

What goes into the module, and what comes out, passes through a step of the tape that does nothing but look on: the one
at the end notes the gradients of the results, the one at the beginning shows both ends to the hook.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft import _hooks, pytree
from weft._hooks import HookHandle
from weft.autograd import Function, Tensor

Hook = Callable[..., Any]


class _Call:
    """One call of a module on its way through the tape."""

    def __init__(self, module: Any, hook: Hook) -> None:
        self.module = module
        self.hook = hook
        self.inputs: list[bool] = []  # of each value given, whether it wants a gradient
        self.outputs: list[bool] = []
        self.arrived: tuple[Any, ...] = ()

    def show(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the hook see both ends, and change the gradients of the inputs by returning others."""
        inputs = _spread(gradients, self.inputs)
        changed = self.hook(self.module, inputs, _spread(self.arrived, self.outputs))
        if changed is None:
            return gradients
        changed = changed if isinstance(changed, tuple) else (changed,)
        if len(changed) != len(inputs):
            raise RuntimeError(f"a backward hook got {len(inputs)} gradients of inputs and returned {len(changed)}")
        return tuple(g for g, wanted in zip(changed, self.inputs, strict=True) if wanted)


def _spread(gradients: tuple[Any, ...], wanted: list[bool]) -> tuple[Any, ...]:
    """A gradient, or None, for every value."""
    remaining = iter(gradients)
    return tuple(next(remaining) if each else None for each in wanted)


class _Beginning(Function):
    """The inputs of a call, as they are."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The inputs."""
        ctx.call = call
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """Their gradients, or what the hook makes of them."""
        return (None, *ctx.call.show(gradients))


class _End(Function):
    """The results of a call, as they are."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The results."""
        ctx.call = call
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """Their gradients, noted on the way."""
        ctx.call.arrived = gradients
        if not any(ctx.call.inputs):
            ctx.call.show(())
        return (None, *gradients)


class _Both(HookHandle):
    """Takes off the two hooks that make up one."""

    def __init__(self, first: HookHandle, second: HookHandle) -> None:
        self._handles = first, second
        self.id = second.id

    def remove(self) -> None:
        """Take the hook off."""
        for handle in self._handles:
            handle.remove()


def full_backward_hook(module: Any, hook: Hook, prepend: bool = False) -> HookHandle:
    """Put steps that look on around every call of a module from now on."""
    running = threading.local()  # the calls under way; a module may call itself

    def before(module: Any, args: tuple[Any, ...]) -> Any:
        call = _Call(module, hook)
        running.__dict__.setdefault("calls", []).append(call)
        passed, call.inputs = _through(_Beginning, call, args)
        return passed

    def after(module: Any, args: Any, result: Any) -> Any:
        if not running.__dict__.get("calls"):  # the call failed before it came here
            return None
        call = running.calls.pop()
        passed, call.outputs = _through(_End, call, result)
        return passed

    first = module.register_forward_pre_hook(before)
    return _Both(first, module.register_forward_hook(after, prepend=prepend, always_call=True))


def _through(step: type[Function], call: _Call, values: Any) -> tuple[Any, list[bool]]:
    """The values with every tensor that wants a gradient led through a step, and which of them that are."""
    leaves, tree = pytree.flatten(values)
    wanted = [isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves]
    if any(wanted):
        passed = iter(step.apply(call, *(leaf for leaf, each in zip(leaves, wanted, strict=True) if each)))
        leaves = [next(passed) if each else leaf for leaf, each in zip(leaves, wanted, strict=True)]
    return tree.unflatten(leaves), wanted


_hooks.full_backward_hook = full_backward_hook
