"""Whether ops on tensors are recorded, here and now; kept in a context variable, so each thread decides for itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator
from contextvars import ContextVar
from typing import Any, TypeVar

Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])

recording: ContextVar[bool] = ContextVar("weft_recording", default=True)
"""Whether gradients are recorded for tensors that require them."""

anomaly: ContextVar[bool] = ContextVar("weft_anomaly", default=False)
"""Whether backward, and captured programs, stop at a NaN."""

NAN_CAUSES = (
    "look at the values on this line; NaN comes of 0/0, inf - inf, log and sqrt of negative numbers, "
    "sqrt's derivative at 0"
)


class _Setting:
    """Sets a context variable inside a `with` block, or inside calls of a function it decorates."""

    def __init__(self, variable: ContextVar[bool], value: bool) -> None:
        self._variable = variable
        self._value = value
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(self._variable.get())
        self._variable.set(self._value)

    def __exit__(self, *exc: object) -> None:
        # Not by a token: a generator may be closed in another context than the one it began in.
        self._variable.set(self._before.pop())

    def __call__(self, function: Wrapped) -> Wrapped:
        again = functools.partial(_Setting, self._variable, self._value)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with again():
                return function(*args, **kwargs)

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with again():
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def generated(*args: Any, **kwargs: Any) -> Any:
            return (yield from _steps(again, function(*args, **kwargs)))

        @functools.wraps(function)
        def generated_later(*args: Any, **kwargs: Any) -> Any:
            return _later_steps(again, function(*args, **kwargs))

        # A generator runs when it is asked for values, not when it is called; the one who asks keeps their own mode.
        wrapped: Any = inside
        if inspect.isgeneratorfunction(function):
            wrapped = generated
        elif inspect.iscoroutinefunction(function):
            wrapped = awaited
        elif inspect.isasyncgenfunction(function):
            wrapped = generated_later
        return wrapped  # type: ignore[no-any-return]  # the same signature, by functools.wraps


class _Immediate(_Setting):
    """Sets its variable when it is made; the end of a `with` block takes that back, and so does decorating."""

    def __init__(self, variable: ContextVar[bool], value: bool) -> None:
        super().__init__(variable, value)
        self._first = variable.get()
        variable.set(value)

    def __enter__(self) -> None:
        self._variable.set(self._value)

    def __exit__(self, *exc: object) -> None:
        self._variable.set(self._first)

    def __call__(self, function: Wrapped) -> Wrapped:
        self._variable.set(self._first)
        return super().__call__(function)


def _steps(setting: Callable[[], _Setting], run: Any) -> Generator[Any, Any, Any]:
    """What a generator yields, each step of it run inside the setting."""
    step, value = run.send, None
    while True:
        try:
            with setting():
                made = step(value)
        except StopIteration as done:
            return done.value
        try:
            value = yield made
            step = run.send
        except GeneratorExit:
            with setting():
                run.close()
            raise
        except BaseException as error:  # whatever was thrown in is the generator's to handle
            step, value = run.throw, error


async def _later_steps(setting: Callable[[], _Setting], run: Any) -> AsyncIterator[Any]:
    """The same for an asynchronous generator."""
    step, value = run.asend, None
    while True:
        try:
            with setting():
                made = await step(value)
        except StopAsyncIteration:
            return
        try:
            value = yield made
            step = run.asend
        except GeneratorExit:
            with setting():
                await run.aclose()
            raise
        except BaseException as error:  # as above
            step, value = run.athrow, error


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


def inference_mode(mode: Callable[..., Any] | bool = True) -> Any:
    """The same as `no_grad`: without a tape there is nothing further to save. `inference_mode(False)` does nothing."""
    if callable(mode):
        return no_grad(mode)
    return no_grad() if mode else _Setting(recording, recording.get())


def set_grad_enabled(mode: bool) -> _Setting:
    """Record or not from here on, by a flag; in a `with` statement until the end of its block.

    >>> import weft
    >>> with weft.set_grad_enabled(False):
    ...     weft.autograd.is_grad_enabled()
    False
    """
    return _Immediate(recording, bool(mode))


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded here."""
    return recording.get()


def detect_anomaly(check_nan: bool = True) -> _Setting:
    """Inside the block, the first NaN is an error that names the line it comes from.

    On the tape that is the first NaN gradient, with the line whose derivative made it. Compiled functions, derivatives
    and training steps run node by node there, and stop at a NaN of any value.
    """
    return _Setting(anomaly, check_nan)
