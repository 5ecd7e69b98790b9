"""Whether ops on tensors are recorded, here and now; kept in a context variable, so each thread decides for itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, TypeVar

Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])

recording: ContextVar[bool] = ContextVar("weft_recording", default=True)
"""Whether gradients are recorded for tensors that require them."""

anomaly: ContextVar[bool] = ContextVar("weft_anomaly", default=False)
"""Whether backward checks every gradient for NaN."""


class _Setting:
    """Sets a context variable inside a `with` block, or inside calls of a function it decorates."""

    def __init__(self, variable: ContextVar[bool], value: bool) -> None:
        self._variable = variable
        self._value = value
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._tokens.append(self._variable.set(self._value))

    def __exit__(self, *exc: object) -> None:
        self._variable.reset(self._tokens.pop())

    def __call__(self, function: Wrapped) -> Wrapped:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with _Setting(self._variable, self._value):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # the same signature, by functools.wraps


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """Record nothing inside a `with` block, or inside calls of a function it decorates.

    >>> import weft
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> with weft.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """
    setting = _Setting(recording, False)
    return setting if function is None else setting(function)


def enable_grad(function: Callable[..., Any] | None = None) -> Any:
    """Record again inside a `no_grad` block."""
    setting = _Setting(recording, True)
    return setting if function is None else setting(function)


def inference_mode(function: Callable[..., Any] | None = None) -> Any:
    """The same as `no_grad`: without a tape there is nothing further to save."""
    return no_grad(function)


def set_grad_enabled(mode: bool) -> _Setting:
    """Record or not, inside a `with` block, by a flag."""
    return _Setting(recording, bool(mode))


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded here."""
    return recording.get()


def detect_anomaly(check_nan: bool = True) -> _Setting:
    """Inside the block, backward stops at the first NaN gradient and names the line whose derivative made it."""
    return _Setting(anomaly, check_nan)
