"""Hooks: functions kept under a number, so that each can be taken off again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class HookHandle:
    """Takes a hook off again: call `remove()`, or use it in a `with` statement."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks
        self.id = next(HookHandle._ids)

    def remove(self) -> None:
        """Take the hook off; once is enough, twice does no harm."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], entry: Any, prepend: bool = False) -> HookHandle:
    """Add a hook after the others, or before them."""
    handle = HookHandle(hooks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = entry
    hooks.update(others)
    return handle


full_backward_hook: Callable[[Any, Callable[..., Any], bool], HookHandle]
"""Puts a hook on the gradients of a module; `nn` provides it, because modules themselves know no tape."""
