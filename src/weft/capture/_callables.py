"""What is no function that can be captured: classes, builtins, generators, values. The errors say what to give."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from weft import _where
from weft._module import Module
from weft.errors import CaptureError, TraceError
from weft.ops import Op


def check_callable(name: str, function: Any) -> None:
    """Raise unless `function` can be called; `name` is the function of weft's that it was given to."""
    given: Any = function
    if callable(given) or isinstance(given, (classmethod, staticmethod)):  # these have an error of their own
        return
    takes = f"{name} takes a function or a Module, got {type(function).__name__}"
    raise TypeError(f"{takes}\n  help: give the function itself, not what it returns: weft.{name}(f), then (x)")


def no_source(function: Any, kind: type[TraceError] = CaptureError) -> TraceError:
    """The error for what can be called but is no function of Python's: a class, a builtin, a ufunc."""
    if isinstance(function, type):
        what = "a Module" if issubclass(function, Module) else "a class"
        return kind(
            f"{function.__name__} is {what}, and calling it makes an object"
            if what == "a class"
            else f"{function.__name__} is the class of {what}, not one that was made",
            help=f"give an object of it, {function.__name__}(...), one of its methods, or a function that makes one",
        )
    if type(function).__module__ == "functools" and hasattr(function, "__wrapped__"):
        return kind(
            f"{_called(function)} is a function with a cache around it, which has no source of its own",
            help=f"give the function inside: {_called(function)}.__wrapped__",
        )
    return kind(
        f"{_called(function)} is no function written in Python: there is no source to capture",
        help=f"write a function that calls it: lambda x: {_called(function)}(x)",
    )


def check_gives_at_once(function: Any) -> None:
    """Refuse generators and coroutines: what they give is made piece by piece, after the call."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        what, help = "a coroutine, which runs when it is awaited", "make it a plain function: def, without async"
    elif inspect.isgeneratorfunction(function):
        what, help = "a generator, which gives one value after the other", "put the values into a list and return it"
    else:
        return
    code = getattr(function, "__code__", None)
    raise CaptureError(
        f"{function.__name__} is {what}: a graph gives its result at once",
        where=None if code is None else str(_where.locate((code, 0, None))),
        help=help,
    )


def class_name(function: Any) -> str:
    """What the class of a GraphModule is called: as the function or the class of the Module that it was made of."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def _called(function: Any) -> str:
    """What a person writes for a function: np.sin, weft.relu, len."""
    name = getattr(function, "__name__", None) or type(function).__name__
    if isinstance(function, np.ufunc):
        return f"np.{name}"
    if isinstance(function, Op):
        return f"weft.{name}"
    owner = getattr(function, "__objclass__", None)
    if owner is not None:
        return f"{owner.__module__}.{owner.__name__}.{name}".replace("numpy.", "np.", 1).removeprefix("builtins.")
    module = getattr(function, "__module__", None) or "builtins"
    return name if module in ("builtins", "__main__") else f"{module}.{name}".replace("numpy.", "np.", 1)


__all__ = ["check_callable", "check_gives_at_once", "class_name", "no_source"]
