"""`with` blocks of a captured program."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import _mode
from weft.capture._values import Traced
from weft.graph._effects import has_side_effect

if TYPE_CHECKING:
    from weft.capture._hooks import Hooks
    from weft.capture._recorder import Recorder

_MODES = tuple(kind for kind in vars(_mode).values() if isinstance(kind, type) and hasattr(kind, "__enter__"))
_PLAIN = (contextlib.nullcontext, contextlib.suppress, contextlib.ExitStack)


@has_side_effect
def set_errors(**how: Any) -> None:
    """`np.seterr(**how)` of a captured `with np.errstate(...)`; whoever runs the graph restores it in the end."""
    np.seterr(**how)


class _ErrorState:
    """`with np.errstate(...)`: set where the block begins, set back where it ends."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager
        self.before: Any = {}

    def __enter__(self) -> None:
        self.before = np.geterr()
        self.manager.__enter__()
        self.recorder.create(set_errors, (), dict(np.geterr()), None)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.manager.__exit__(kind, *rest)
        if kind is None:
            self.recorder.create(set_errors, (), dict(self.before), None)


class _Recording:
    """`with weft.no_grad()` and its kin: no gradient goes through what Tensors give inside."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager
        self.before = False

    def __enter__(self) -> Any:
        self.before = self.recorder.no_grad
        entered = self.manager.__enter__()
        self.recorder.no_grad = not _mode.is_grad_enabled()
        return entered

    def __exit__(self, *exception: Any) -> Any:
        self.recorder.no_grad = self.before
        return self.manager.__exit__(*exception)


class _Captured:
    """A context manager of the program's own class: its methods are captured."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.hooks = hooks
        self.manager = manager

    def __enter__(self) -> Any:
        return self.hooks.recorder.run(type(self.manager).__enter__, (self.manager,), {})

    def __exit__(self, *exception: Any) -> Any:
        if exception[0] is not None and not issubclass(exception[0], Exception):
            return None
        return self.hooks.recorder.run(type(self.manager).__exit__, (self.manager, *exception), {})


def _is_numpy(manager: Any) -> bool:
    made_by = getattr(manager, "func", None)
    return str(getattr(made_by, "__module__", "")).startswith("numpy")


def captured_context(hooks: Hooks, manager: Any) -> Any:
    """What a `with` of a captured program enters."""
    if isinstance(manager, Traced):
        return _refuse(hooks, "a traced value")
    if isinstance(manager, np.errstate):
        return _ErrorState(hooks, manager)
    if isinstance(manager, _MODES):
        return _Recording(hooks, manager)
    if isinstance(manager, _PLAIN):
        return manager
    if isinstance(manager, contextlib._GeneratorContextManager) and not _is_numpy(manager):
        return manager  # made by a call of the program, which has captured its function
    module = str(getattr(type(manager), "__module__", ""))
    if type(manager).__enter__.__class__.__name__ == "function" and not module.startswith(
        ("contextlib", "weft", "numpy", "warnings")
    ):
        return _Captured(hooks, manager)
    return _refuse(hooks, f"np.{manager.func.__name__}" if _is_numpy(manager) else f"a {type(manager).__name__}")


def _refuse(hooks: Hooks, what: str) -> Any:
    return hooks.recorder.refuse(
        f"`with` {what}: it would be entered once, when the program is captured",
        help="put it around the call of the captured function",
    )


class Trying:
    """The body of a `try` with handlers: nothing traced may happen there."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> None:
        self.recorder.trying += 1

    def __exit__(self, *exception: object) -> None:
        self.recorder.trying -= 1
