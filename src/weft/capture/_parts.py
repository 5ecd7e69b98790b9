"""Modules, optimisers and schedules that a captured program meets.

What a module is made of counts as it was at capture, and is guarded. What would change one of them, or ask a schedule
or an optimiser for what the running graph changes, is refused: it would happen once, when the program is captured.
"""

from __future__ import annotations

import types
from typing import Any

from weft._module import Module
from weft.capture._outside import made_in

_CHANGING = frozenset(
    {
        *("load_state_dict", "to", "float", "double", "half", "apply", "add_module", "register_module"),
        *("register_parameter", "register_buffer", "register_forward_hook", "register_forward_pre_hook"),
        *("register_full_backward_hook", "append", "extend", "insert", "pop", "update", "clear"),
    }
)


def parts(module: Module) -> tuple[Any, ...]:
    """What tells whether a module is made of the same parts, has the same hooks, and the same `forward` of its own."""
    children, held = module._modules, module._parameters
    return (
        *(*children, *map(id, children.values())),
        *(*held, *map(id, held.values())),
        *(*module._forward_hooks, *module._forward_pre_hooks),
        id(module.__dict__.get("forward")),
    )


class Tree:
    """The modules that a program met, and all inside of them."""

    def __init__(self) -> None:
        self.seen: dict[int, Module] = {}
        self.kept: list[Any] = []  # whose ids are remembered
        self.known: list[tuple[Module, tuple[Any, ...]]] = []

    def meet(self, module: Module) -> None:
        """Remember what a module, and each inside of it, is made of."""
        waiting = [module]
        while waiting:
            one = waiting.pop()
            if id(one) not in self.seen:
                self.seen[id(one)] = one
                self.known.append((one, parts(one)))
                self.kept += [*one._modules.values(), *one._parameters.values(), one.__dict__.get("forward")]
                waiting += [child for child in one._modules.values() if child is not None]


def tree_fits(tree: Tree) -> bool:
    """Whether all modules are made of what they were."""
    return all(parts(module) == was for module, was in tree.known)


def refuse_changes(recorder: Any, function: Any) -> None:
    """Refuse a method that changes a module, or tells what an optimiser or a schedule holds."""
    if not isinstance(function, types.MethodType):
        return
    owner, name = function.__self__, function.__name__
    if isinstance(owner, Module):
        if name in _CHANGING and _is_wefts(function) and not made_in(recorder, owner):
            help = "call it outside; with no_grad(): q.copy_(p) writes what one parameter holds into another"
            _refuse(recorder, owner, name, help)
        return
    if name in getattr(type(owner), "__weft_outside__", ()) and _is_wefts(function):
        _refuse(recorder, owner, name, "call it outside; an option such as the learning rate is read in param_groups")


def _refuse(recorder: Any, owner: Any, name: str, help: str) -> None:
    recorder.refuse(
        f"{type(owner).__name__}.{name}(): it would be called once, when the program is captured", help=help
    )


def _is_wefts(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("weft.")
