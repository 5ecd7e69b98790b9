"""Modules, optimisers and schedules that a captured program meets.

What a module is made of counts as it was at capture, and is guarded. What would change one of them, or ask a schedule
or an optimiser for what the running graph changes, is refused: it would happen once, when the program is captured.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from weft._module import Module, _before
from weft.capture._outside import made_in

_CHANGING = frozenset(
    {
        *("load_state_dict", "to", "float", "double", "half", "apply", "add_module", "register_module"),
        *("register_parameter", "register_buffer", "register_forward_hook", "register_forward_pre_hook"),
        *("register_full_backward_hook", "append", "extend", "insert", "pop", "update", "clear"),
    }
)


class Tree:
    """The modules that a program met, and all inside of them."""

    def __init__(self) -> None:
        self.kept: list[Any] = []  # whose ids are remembered
        self.seen: set[int] = set()
        self.known: list[tuple[Any, ...]] = []  # the dict of each module, and what was in it

    def meet(self, module: Module) -> None:
        """Remember what a module, and each inside of it, is made of."""
        waiting = [module]
        while waiting:
            one = waiting.pop()
            if id(one) in self.seen or "_modules" not in one.__dict__:  # one that is not made yet has no parts
                continue
            self.seen.add(id(one))
            own = one.__dict__
            modules, parameters, forward = own["_modules"], own["_parameters"], own.get("forward")
            self.kept += [one, *modules.values(), *parameters.values()]
            parts = ([*modules], [*map(id, modules.values())], [*parameters], [*map(id, parameters.values())])
            self.known.append((own, *parts, [*own["_forward_hooks"], *own["_forward_pre_hooks"]], forward))
            waiting += [child for child in modules.values() if child is not None]


def tree_fits(tree: Tree) -> bool:
    """Whether all modules have the parts, the hooks and the `forward` of their own that they had."""
    for own, names, children, named, held, hooks, forward in tree.known:
        modules, parameters = own["_modules"], own["_parameters"]
        if (modules or children) and ([*map(id, modules.values())] != children or [*modules] != names):
            return False
        if (parameters or held) and ([*map(id, parameters.values())] != held or [*parameters] != named):
            return False
        first, last = own["_forward_hooks"], own["_forward_pre_hooks"]
        if (first or last or hooks) and [*first, *last] != hooks:
            return False
        if own.get("forward") is not forward:
            return False
    return True


def call_module(recorder: Any, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `forward` of a module, and the hooks around it."""
    before, after = [*module._forward_pre_hooks.values()], [*module._forward_hooks.values()]
    if any(getattr(hook, "__module__", "") == "weft.nn._backward_hooks" for hook, *_ in (*before, *after)):
        recorder.refuse(
            f"a backward hook of {type(module).__name__}", help="remove it; a weft.custom_vjp changes a gradient"
        )
    for hook, with_kwargs in before:
        run = functools.partial(_run, recorder, hook)
        args, kwargs = _before(run, with_kwargs, module, args, kwargs)
    result = recorder.run(recorder.reads.attribute(module, "forward"), args, kwargs)
    for hook, with_kwargs, _ in after:
        changed = recorder.run(hook, (module, args, kwargs, result) if with_kwargs else (module, args, result), {})
        result = result if changed is None else changed
    return result


def _run(recorder: Any, function: Any, *args: Any) -> Any:
    return recorder.run(function, args, {})


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
